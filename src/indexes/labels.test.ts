import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Labels } from './labels.ts';
import { indexMemory } from './memory/index-memory.ts';

const keys = ['a', 'b', 'c'];
const values = ['', 'x', 'y'];

test('labels: after any changes, the objects with a label are those that have it', () => {
  const labels = fc.option(
    fc
      .shuffledSubarray(keys)
      .chain((some) => fc.tuple(...some.map((key) => fc.constantFrom(...values).map((value) => [key, value] as const))))
      .map((pairs) => Object.fromEntries(pairs) as Record<string, string>),
    { nil: undefined },
  );
  const changes = fc.array(fc.tuple(fc.nat(9), labels), { maxLength: 60, size: 'max' });
  fc.assert(
    fc.property(changes, (all) => {
      const index = new Labels(indexMemory);
      const model = new Map<number, Record<string, string>>();
      for (const [slot, one] of all) {
        index.set(slot, one);
        model.set(slot, one ?? {});
      }
      const slotsOf = (key: string, value?: string) => {
        const found: number[] = [];
        index.having(key, value)?.forEachChunk((slots, count) => found.push(...slots.subarray(0, count)));
        return found.sort((a, b) => a - b);
      };
      const expected = (has: (one: Record<string, string>) => boolean) =>
        [...model]
          .filter(([, one]) => has(one))
          .map(([slot]) => slot)
          .sort((a, b) => a - b);
      for (const key of keys) {
        const having = expected((one) => Object.hasOwn(one, key));
        assert.deepEqual(slotsOf(key), having);
        assert.equal(index.having(key)?.count, having.length || undefined, 'a key that no object has is gone');
        for (const value of values)
          assert.deepEqual(
            slotsOf(key, value),
            expected((one) => one[key] === value),
          );
      }
      for (const [slot, one] of model) {
        assert.ok(index.hasExactly(slot, one));
        assert.ok(!index.hasExactly(slot, { ...one, other: 'x' }));
      }
    }),
    { numRuns: 500 },
  );
});

/** Of each list of labels that objects have, or had. */
function lists(labels: Labels, slots: number): number {
  let count = 0;
  for (const { of } of labels.pieces(slots, 100)) if (of === 'labels.groups') count++;
  return count;
}

test('labels: a list of labels is kept once, and as long as an object has it', () => {
  const index = new Labels(indexMemory);
  for (let slot = 0; slot < 10; slot++) index.set(slot, { a: 'x', b: String(slot % 2) });
  assert.equal(lists(index, 10), 2);
  for (let slot = 0; slot < 10; slot++) index.set(slot, { a: 'x' });
  assert.equal(lists(index, 10), 1);
  assert.equal(index.having('b'), undefined);
  for (let slot = 0; slot < 10; slot++) index.set(slot, undefined);
  assert.equal(lists(index, 10), 0);
  assert.equal(index.having('a'), undefined);
});
