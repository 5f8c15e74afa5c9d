import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { setByService } from '../api/object.ts';
import { changesBetween } from './diff.ts';
import { merge3 } from './merge3.ts';
import { isEqual, isObject, isWithin, valueAt } from './pointer.ts';

const cases: { name: string; base: unknown; mine: unknown; theirs: unknown; merged?: unknown; conflicts?: string[] }[] =
  [
    {
      name: 'a change of one side is taken',
      base: { spec: { title: 'Emma', year: 1815 } },
      mine: { spec: { title: 'Emma, a novel', year: 1815 } },
      theirs: { spec: { title: 'Emma', year: 1816 } },
      merged: { spec: { title: 'Emma, a novel', year: 1816 } },
    },
    {
      name: 'the same change of both is taken',
      base: { title: 'Emma' },
      mine: { title: 'EMMA' },
      theirs: { title: 'EMMA' },
      merged: { title: 'EMMA' },
    },
    {
      name: 'two different changes are a choice',
      base: { title: 'Emma' },
      mine: { title: 'Emma, a novel' },
      theirs: { title: 'EMMA' },
      conflicts: ['/title'],
    },
    {
      name: 'removed here, changed there',
      base: { a: { b: 1 } },
      mine: {},
      theirs: { a: { b: 2 } },
      conflicts: ['/a'],
    },
    {
      name: 'added on both sides, member by member',
      base: {},
      mine: { labels: { one: '1' } },
      theirs: { labels: { two: '2' } },
      merged: { labels: { two: '2', one: '1' } },
    },
    { name: 'a list is one value', base: [1], mine: [1, 2], theirs: [1, 3], conflicts: [''] },
    {
      name: 'a list of named items goes by the names',
      base: [{ name: 'a', at: 1 }, { name: 'b' }],
      mine: [{ name: 'a', at: 2 }, { name: 'b' }, { name: 'mine' }],
      theirs: [{ name: 'theirs' }, { name: 'a', at: 1 }],
      merged: [{ name: 'theirs' }, { name: 'a', at: 2 }, { name: 'mine' }],
    },
    {
      name: 'my order of named items, their new item',
      base: [{ name: 'a' }, { name: 'b' }],
      mine: [{ name: 'b' }, { name: 'a' }],
      theirs: [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
      merged: [{ name: 'b' }, { name: 'c' }, { name: 'a' }],
    },
    {
      name: 'two different orders are a choice',
      base: [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
      mine: [{ name: 'b' }, { name: 'a' }, { name: 'c' }],
      theirs: [{ name: 'a' }, { name: 'c' }, { name: 'b' }],
      conflicts: [''],
    },
    {
      name: 'a name twice makes the list one value',
      base: [{ name: 'a' }],
      mine: [{ name: 'a' }, { name: 'a' }],
      theirs: [{ name: 'a' }, { name: 'b' }],
      conflicts: [''],
    },
    {
      name: 'a member called __proto__ is a member',
      base: JSON.parse('{"a":1}'),
      mine: JSON.parse('{"a":1,"__proto__":{"x":1}}'),
      theirs: JSON.parse('{"a":2}'),
      merged: JSON.parse('{"a":2,"__proto__":{"x":1}}'),
    },
  ];

for (const { name, base, mine, theirs, merged, conflicts = [] } of cases) {
  test(`merge: ${name}`, () => {
    const result = merge3(base, mine, theirs);
    assert.deepEqual(
      result.conflicts.map((one) => one.pointer),
      conflicts,
    );
    if (conflicts.length === 0) assert.equal(JSON.stringify(result.merged), JSON.stringify(merged));
  });
}

test('merge: what was chosen is in the result, theirs until then', () => {
  const sides = [{ title: 'Emma' }, { title: 'Emma, a novel' }, { title: 'EMMA' }] as const;
  assert.deepEqual(merge3(...sides).merged, { title: 'EMMA' });
  const chosen = new Map<string, unknown>([['/title', 'Something else']]);
  assert.deepEqual(merge3(...sides, { chosen }).merged, { title: 'Something else' });
});

test('merge: version and times are theirs always', () => {
  const object = (version: number, title: string) => ({ metadata: { version }, spec: { title } });
  const { merged, conflicts } = merge3(object(3, 'a'), object(5, 'b'), object(4, 'a'), {
    theirs: new Set(setByService),
  });
  assert.deepEqual([merged, conflicts], [object(4, 'b'), []]);
});

const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.constantFrom('a', 'b', 1, 2, true, null),
    tie('object'),
    tie('list'),
    tie('named'),
  ),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('value'), { maxKeys: 3 }),
  list: fc.array(tie('value'), { maxLength: 2 }),
  named: fc.uniqueArray(fc.record({ name: fc.constantFrom('x', 'y', 'z'), v: tie('value') }), {
    selector: (one) => one.name,
    maxLength: 3,
  }),
}));
/** No lists of named items: their pointers shift. */
const simple = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.constantFrom('a', 'b', 1, 2, null),
    tie('object'),
    fc.array(fc.constantFrom(1, 2), { maxLength: 2 }),
  ),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('value'), { maxKeys: 3 }),
}));

test('merge: property - one side alone changes, and the result is that side', () => {
  fc.assert(
    fc.property(json.value, json.value, (base, next) => {
      assert.ok(isEqual(merge3(base, next, base).merged, next));
      assert.ok(isEqual(merge3(base, base, next).merged, next));
      assert.ok(isEqual(merge3(base, next, next).merged, next));
      assert.equal(merge3(base, next, base).conflicts.length + merge3(base, base, next).conflicts.length, 0);
    }),
    { numRuns: 2_000 },
  );
});

test('merge: property - the sides can be exchanged', () => {
  fc.assert(
    fc.property(json.value, json.value, json.value, (base, mine, theirs) => {
      const one = merge3(base, mine, theirs);
      const other = merge3(base, theirs, mine);
      assert.equal(one.conflicts.length, other.conflicts.length);
    }),
    { numRuns: 2_000 },
  );
});

test('merge: property - no change of either side is lost, none is invented', () => {
  fc.assert(
    fc.property(simple.object, simple.object, simple.object, (base, mine, theirs) => {
      const { merged, conflicts } = merge3(base, mine, theirs);
      const isChoice = (pointer: string) =>
        conflicts.some((one) => isWithin(pointer, one.pointer) || isWithin(one.pointer, pointer));
      for (const side of [mine, theirs]) {
        for (const { pointer, after } of changesBetween(base, side)) {
          // An object that came instead of something else is merged with the other side's, member by member.
          if (isChoice(pointer) || isObject(after)) continue;
          assert.ok(isEqual(valueAt(merged, pointer), after), `${pointer} was lost`);
        }
      }
      for (const { pointer, after } of changesBetween(base, merged)) {
        if (isChoice(pointer) || isObject(after)) continue;
        assert.ok(
          isEqual(valueAt(mine, pointer), after) || isEqual(valueAt(theirs, pointer), after),
          `${pointer} was invented`,
        );
      }
    }),
    { numRuns: 5_000 },
  );
});
