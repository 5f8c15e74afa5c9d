import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { Queries } from '../query/condition.ts';
import { difference, openLivePage } from './live-page.ts';
import type { ListRequest, ModelResource, Window } from './resource.ts';
import type { Watches } from './watch.ts';

/** A page of objects given as [id, revision]. */
function pageOf(rows: readonly (readonly [number, number])[], total: number): Window {
  return {
    revision: 1,
    total,
    refs: rows.map(([id, revision]) => ({ slot: id, id, revision, name: `n${id}` })),
    items: rows.map(([id, revision]) => Buffer.from(JSON.stringify({ name: `n${id}`, revision }))),
  };
}

const texts = (page: Window) => page.items.map(String);

it('contract 13: removed, inserted and updated, applied in this order, turn the window into the one of the new revision', () => {
  const rows = fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 2 })), {
    selector: ([id]) => id,
    maxLength: 10,
  });
  fc.assert(
    fc.property(rows, rows, fc.nat(20), fc.nat(20), (before, after, totalBefore, totalAfter) => {
      const from = pageOf(before, totalBefore);
      const to = pageOf(after, totalAfter);
      const change = difference(from, to);
      if (!change) {
        assert.deepEqual([texts(from), from.total], [texts(to), to.total]);
        return;
      }
      const removed = new Set(change.removed);
      const window = from.items.filter((item) => !removed.has(JSON.parse(String(item)).name)).map(String);
      for (const { index, object } of change.inserted) window.splice(index, 0, String(object));
      for (const object of change.updated) {
        const { name } = JSON.parse(String(object));
        const place = window.findIndex((item) => JSON.parse(item).name === name);
        assert.notEqual(place, -1);
        window[place] = String(object);
      }
      assert.deepEqual([window, change.total], [texts(to), to.total]);
    }),
    { numRuns: 2_000 },
  );
});

it('one object that moves is one removal and one insertion', () => {
  const before = pageOf(
    [
      [1, 1],
      [2, 1],
      [3, 1],
      [4, 1],
    ],
    4,
  );
  const after = pageOf(
    [
      [4, 2],
      [1, 1],
      [2, 1],
      [3, 1],
    ],
    4,
  );
  const change = difference(before, after)!;
  assert.deepEqual(change.removed, ['n4']);
  assert.deepEqual(
    change.inserted.map(({ index }) => index),
    [0],
  );
  assert.equal(change.updated.length, 0);
});

it('equal pages differ in nothing', () => {
  const page = pageOf([[1, 1]], 1);
  assert.equal(difference(page, pageOf([[1, 1]], 1)), undefined);
});

it('between two events the objects of the page are not kept', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const kept: WeakRef<Buffer>[] = [];
  const resource = {
    scheme: { indexes: [] },
    window: async () => {
      const page = pageOf([[1, 1]], 1);
      kept.push(new WeakRef(page.items[0]!));
      return page;
    },
  } as unknown as ModelResource;
  const watches = { join: () => () => {} } as unknown as Watches;
  const request: ListRequest = { where: Queries.all(), sort: [], page: 1, size: 20 };
  let snapshots = 0;
  const close = openLivePage(watches, resource, request, {
    snapshot: () => snapshots++,
    window: () => {},
    bookmark: () => {},
    drained: async () => {},
    end: (error) => assert.ifError(error),
  });
  for (let i = 0; i < 3; i++) await nextTurn();
  collectGarbage();
  assert.equal(snapshots, 1);
  assert.equal(kept[0]!.deref(), undefined);
  close();
});
