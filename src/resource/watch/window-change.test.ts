import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { Outline } from './window-change.ts';
import { difference } from './window-change.ts';

type Rows = readonly (readonly [id: number, revision: number])[];

const outlineOf = (rows: Rows, total: number): Outline => ({
  total,
  ids: Float64Array.from(rows, ([id]) => id),
  revisions: Float64Array.from(rows, ([, revision]) => revision),
  names: rows.map(([id]) => `n${id}`),
});

it('watch: removed, inserted and updated, applied in this order, turn the window into the one of the new revision', () => {
  const rows = fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 2 })), {
    selector: ([id]) => id,
    maxLength: 10,
    size: 'max',
  });
  fc.assert(
    fc.property(rows, rows, fc.nat(20), fc.nat(20), (before, after, totalBefore, totalAfter) => {
      const change = difference(outlineOf(before, totalBefore), outlineOf(after, totalAfter));
      if (!change) {
        assert.deepEqual([before, totalBefore], [after, totalAfter]);
        return;
      }
      const removed = new Set(change.removed);
      const window = before.filter(([id]) => !removed.has(`n${id}`));
      let last = -1;
      for (const place of change.inserted) {
        assert.ok(place > last, 'ascending');
        last = place;
        window.splice(place, 0, after[place]!);
      }
      for (const place of change.updated) {
        assert.deepEqual([window[place]![0], window[place]![1] === after[place]![1]], [after[place]![0], false]);
        window[place] = after[place]!;
      }
      assert.deepEqual([window, change.total], [after, totalAfter]);
    }),
    { numRuns: 2_000 },
  );
});

it('one object that moves is one removal and one insertion', () => {
  const before = outlineOf(
    [
      [1, 1],
      [2, 1],
      [3, 1],
      [4, 1],
    ],
    4,
  );
  const after = outlineOf(
    [
      [4, 2],
      [1, 1],
      [2, 1],
      [3, 1],
    ],
    4,
  );
  assert.deepEqual(difference(before, after), { total: 4, removed: ['n4'], inserted: [0], updated: [] });
});

it('an object that is deleted and made again under its name is another one', () => {
  const change = difference(outlineOf([[1, 1]], 1), { ...outlineOf([[5, 5]], 1), names: ['n1'] });
  assert.deepEqual(change, { total: 1, removed: ['n1'], inserted: [0], updated: [] });
});

it('equal pages differ in nothing; pages of which only the total differs, in that', () => {
  const page = outlineOf([[1, 1]], 1);
  assert.equal(difference(page, outlineOf([[1, 1]], 1)), undefined);
  assert.deepEqual(difference(page, outlineOf([[1, 1]], 2)), { total: 2, removed: [], inserted: [], updated: [] });
});
