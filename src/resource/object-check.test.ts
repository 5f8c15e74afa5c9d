import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { defineModel } from '../model/define.ts';
import { IndexSpecs } from '../model/index-spec.ts';
import { Scheme } from '../model/scheme.ts';
import { Type } from '../model/type.ts';
import { checkObjects, ObjectCheck, SeenKeys } from './object-check.ts';

const gvk = { group: 'demo.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' };
const scheme = Scheme.buildFromType(
  defineModel({ gvk, spec: Type.Object({ n: Type.Integer({ maximum: 9 }), key: Type.Optional(Type.String()) }) }),
  (specs) => specs.add(IndexSpecs.single('spec.key', String).unique()),
);

const lineOf = (name: string, spec: object): string =>
  JSON.stringify({ apiVersion: 'demo.example.com/v1', kind: 'Thing', metadata: { name }, spec });

test('keys that were seen are known, however many there are', () => {
  const hashOf = (i: number) => createHash('sha256').update(String(i)).digest();
  const seen = new SeenKeys();
  for (let i = 0; i < 50_000; i++) assert.equal(seen.add(hashOf(i)), false);
  for (let i = 0; i < 50_000; i += 7) assert.equal(seen.add(hashOf(i)), true);
  assert.equal(seen.add(hashOf(50_000)), false);
});

test('objects are counted once, each offence is named, and shared values by all who have them', async () => {
  const lines = [
    lineOf('a', { n: 10, key: 'x' }),
    lineOf('b', { n: 1, key: 'x' }),
    lineOf('c', { n: 1, key: 'x' }),
    lineOf('d', { n: 'one', more: 1 }),
    lineOf('e', { n: 1, key: 'y' }),
  ];
  const read = async function* () {
    yield* lines;
  };
  const { objects, failing, offences } = await checkObjects(scheme, read, 1, () => {});
  assert.deepEqual([objects, failing], [5, 4]);
  assert.deepEqual(
    offences.map(({ names, pointer, keyword }) => `${names.join(',')} ${pointer} ${keyword}`),
    ['a /spec/n maximum', 'd /spec/n type', 'd /spec/more additionalProperties', 'a,b,c spec.key unique'],
  );
});

test('what the active model refuses too is no reason to refuse the next one, and the newest state of an object counts', () => {
  const active = Scheme.buildFromType(
    defineModel({ gvk, spec: Type.Object({ n: Type.Integer({ maximum: 5 }), key: Type.Optional(Type.String()) }) }),
  );
  const check = new ObjectCheck(scheme, {
    validator: active.validator,
    keepsIndex: () => true,
    keepsKeys: () => true,
    converts: () => false,
  });
  check.addText(lineOf('known', { n: 10 }));
  assert.equal(check.failing, 0);
  const strict = Scheme.buildFromType(defineModel({ gvk, spec: Type.Object({ n: Type.Integer({ minimum: 3 }) }) }));
  const other = new ObjectCheck(strict, {
    validator: active.validator,
    keepsIndex: () => true,
    keepsKeys: () => true,
    converts: () => false,
  });
  other.addText(lineOf('a', { n: 1 }));
  other.addText(lineOf('b', { n: 1 }));
  other.addText(lineOf('c', { n: 1 }));
  other.addText(lineOf('a', { n: 4 }));
  other.remove('b');
  assert.deepEqual(
    other.offences().map(({ names }) => names),
    [['c']],
  );
});

test('in another hub, values that objects share are new, also of an index that both models have', () => {
  const { validator } = scheme;
  for (const keeps of [true, false]) {
    const active = { validator, keepsIndex: () => true, keepsKeys: () => keeps, converts: () => true };
    const check = new ObjectCheck(scheme, active);
    check.addDuplicate('spec.key', 'x', ['a', 'b']);
    assert.equal(check.failing, keeps ? 0 : 2);
  }
});

test('stored objects are held against rules, each of them on its own', () => {
  const ruled = (...rules: string[]) =>
    Scheme.buildFromType(
      defineModel({ gvk, rules: rules.map((rule) => ({ rule })), spec: Type.Object({ n: Type.Integer() }) }),
    );
  const active = ruled('self.spec.n < 10');
  for (const [rules, failing] of [
    [['self.spec.n < 10'], 0],
    [['self.spec.n < 10', 'self.spec.n % 2 == 1'], 1],
    [['self == oldSelf'], 0],
  ] as const) {
    const check = new ObjectCheck(ruled(...rules), {
      validator: active.validator,
      keepsIndex: () => true,
      keepsKeys: () => true,
      converts: () => false,
    });
    check.addText(lineOf('a', { n: 12 }));
    check.addText(lineOf('b', { n: 1 }));
    assert.equal(check.failing, failing, rules.join(' '));
  }
});

test('objects of another scope would become invalid', async () => {
  const spec = Type.Object({ n: Type.Integer() });
  const inside = JSON.stringify({
    apiVersion: 'demo.example.com/v1',
    kind: 'Thing',
    metadata: { name: 'a', namespace: 'team' },
    spec: { n: 1 },
  });
  for (const [scope, lines] of [
    ['Cluster', [inside, lineOf('b', { n: 1 })]],
    ['Namespaced', [lineOf('b', { n: 1 }), inside]],
  ] as const) {
    const scoped = Scheme.buildFromType(defineModel({ gvk, spec, scope }));
    const { failing, offences } = await checkObjects(
      scoped,
      async function* () {
        yield* lines;
      },
      lines.length,
      () => {},
    );
    assert.deepEqual([failing, offences.map(({ pointer }) => pointer)], [1, ['/metadata/namespace']], scope);
  }
});

test('objects of one name in two namespaces are two objects', async () => {
  const spec = Type.Object({ n: Type.Integer({ maximum: 9 }) });
  const within = Scheme.buildFromType(
    defineModel({
      gvk,
      scope: 'Namespaced',
      spec,
      evolution: { migrate: ({ spec: { n }, ...rest }: any) => (n === 5 ? { ...rest, spec: { n: 6 } } : undefined) },
    }),
  );
  const line = (namespace: string, n: number) =>
    JSON.stringify({
      apiVersion: 'demo.example.com/v1',
      kind: 'Thing',
      metadata: { name: 'x', namespace },
      spec: { n },
    });
  const lines = [line('a', 10), line('b', 5)];
  const read = async function* () {
    yield* lines;
  };
  const { failing, offences } = await checkObjects(within, read, 2, () => {});
  assert.deepEqual([failing, offences.map(({ names }) => names)], [1, [['a/x']]]);
  // As the rows of a start name them, and then the changes.
  const check = new ObjectCheck(within);
  check.add('a/x', JSON.parse(lines[0]!), []);
  check.replace(line('b', 1));
  assert.equal(check.failing, 1);
  check.replace(line('a', 1));
  assert.equal(check.failing, 0);
  check.replace(line('b', 10));
  check.remove('b/x');
  assert.equal(check.failing, 0);
});

test('shared values are found by the hub, in whatever version objects are stored', async () => {
  const hub = Scheme.buildFromType(
    defineModel({
      gvk: { ...gvk, version: 'v2' },
      spec: Type.Object({ key: Type.String() }),
      versions: {
        v1: {
          spec: Type.Object({ n: Type.Integer(), key: Type.String() }),
          toHub: ({ key }) => ({ key: key.toLowerCase() }),
          fromHub: ({ key }) => ({ n: 1, key }),
        },
      },
      indexes: (index) => [index.single('spec.key', String, (one) => one.spec.key, { unique: true })],
    }),
  );
  const read = async function* () {
    yield lineOf('a', { n: 1, key: 'X' });
    yield lineOf('b', { n: 1, key: 'x' });
  };
  const { failing, offences } = await checkObjects(hub, read, 2, () => {});
  assert.deepEqual([failing, offences.map(({ names }) => names)], [2, [['a', 'b']]]);
});
