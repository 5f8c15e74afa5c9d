import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExtensionObject } from '../model/object.ts';
import { columnsOf } from './columns.ts';

const createdAt = '1970-01-01T00:00:00.000Z';

function object(kind: string, name: string, rest: object): ExtensionObject {
  return {
    apiVersion: 'x.example.com/v1',
    kind,
    metadata: { name, creationTimestamp: createdAt, version: 2 },
    ...rest,
  };
}

function shown(objects: ExtensionObject[], { wide = false, now = 600_000 } = {}): string[] {
  const columns = columnsOf(objects, { wide, now });
  return [columns.map(({ head }) => head), ...objects.map((one) => columns.map((column) => column.cell(one)))].map(
    (cells) => cells.join(' | '),
  );
}

const country = (code: string, common: string, rest: object = {}) =>
  object('Country', code.toLowerCase(), {
    spec: { code, name: { official: `The ${common}`, common }, area: 2, ...rest },
  });

const tables: { name: string; objects: ExtensionObject[]; expected: string[] }[] = [
  {
    name: 'the name for people comes first, of an object its first text; what repeats the name is left out',
    objects: [country('MC', 'Monaco'), country('AD', 'Andorra')],
    expected: [
      'NAME | COUNTRY NAME | AREA | AGE | VERSION',
      'mc | The Monaco | 2 | 10m | 2',
      'ad | The Andorra | 2 | 10m | 2',
    ],
  },
  {
    name: 'a number that is the end of the name repeats it',
    objects: [object('City', 'city-17', { spec: { id: 17, rank: 7 } })],
    expected: ['NAME | RANK | AGE | VERSION', 'city-17 | 7 | 10m | 2'],
  },
  {
    name: 'a member that repeats only some names is shown',
    objects: [object('City', 'a', { spec: { code: 'A' } }), object('City', 'b', { spec: { code: 'x' } })],
    expected: ['NAME | CODE | AGE | VERSION', 'a | A | 10m | 2', 'b | x | 10m | 2'],
  },
  {
    name: 'each heading once, in words, also for a model with a name, an age or a version of its own',
    objects: [
      object('PluginRun', 'a', { spec: { name: 'Ada', age: 36, version: '1.0', featureCode: 'X', displayName: 'L' } }),
    ],
    expected: [
      'NAME | DISPLAY NAME | PLUGIN RUN NAME | PLUGIN RUN AGE | PLUGIN RUN VERSION | FEATURE CODE | AGE | VERSION',
      'a | L | Ada | 36 | 1.0 | X | 10m | 2',
    ],
  },
  {
    name: 'at most five, the state among them, long texts last',
    objects: [
      object('Job', 'a', {
        spec: { text: 'x'.repeat(50), b: 1, c: 2, d: 3, e: 4, f: 5 },
        status: { phase: 'Open', other: 1 },
      }),
    ],
    expected: ['NAME | B | C | D | E | PHASE | AGE | VERSION', 'a | 1 | 2 | 3 | 4 | Open | 10m | 2'],
  },
  {
    name: 'a long text is cut, not in the middle of a character',
    objects: [object('Note', 'a', { spec: { text: `${'x'.repeat(38)}😀😀` } })],
    expected: ['NAME | TEXT | AGE | VERSION', `a | ${'x'.repeat(38)}… | 10m | 2`],
  },
  {
    name: 'members beside metadata, of models without spec',
    objects: [
      object('RoleBinding', 'a', { roleRef: { kind: 'Role', name: 'super-role' }, subjects: [], active: true }),
    ],
    expected: ['NAME | ROLE REF | ACTIVE | AGE | VERSION', 'a | super-role | true | 10m | 2'],
  },
  {
    name: 'a member that some objects lack',
    objects: [object('Note', 'a', { spec: {} }), object('Note', 'b', { spec: { size: 0, tags: ['x'] } })],
    expected: ['NAME | SIZE | AGE | VERSION', 'a | - | 10m | 2', 'b | 0 | 10m | 2'],
  },
];
for (const { name, objects, expected } of tables) {
  test(`command-line: the columns of a table are chosen by what the objects have - ${name}`, () => {
    assert.deepEqual(shown(objects), expected);
  });
}

test('command-line: a wide table has every simple member, whole', () => {
  const text = 'x'.repeat(50);
  const one = object('Job', 'a', { spec: { id: 'a', b: 1, c: 2, d: 3, e: 4, f: 5, text }, status: { phase: 'Open' } });
  assert.deepEqual(shown([one], { wide: true }), [
    'NAME | ID | B | C | D | E | F | TEXT | PHASE | AGE | VERSION',
    `a | a | 1 | 2 | 3 | 4 | 5 | ${text} | Open | 10m | 2`,
  ]);
});

const ages: [number, string][] = [
  [0, '0s'],
  [119, '119s'],
  [120, '2m'],
  [7_199, '119m'],
  [7_200, '2h'],
  [172_799, '47h'],
  [172_800, '2d'],
];
for (const [seconds, expected] of ages) {
  test(`command-line: the age of an object - ${seconds} s`, () => {
    assert.equal(shown([object('K', 'a', {})], { now: seconds * 1000 })[1], `a | ${expected} | 2`);
  });
}

test('command-line: an object that is being deleted says so', () => {
  const one = object('K', 'a', {});
  one.metadata.deletionTimestamp = createdAt;
  assert.equal(shown([one])[1], 'a | 10m (deleting) | 2');
});
