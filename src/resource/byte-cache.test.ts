import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ByteCache } from './byte-cache.ts';

/** Bytes that no other object has. */
const bytesOf = (id: number, length: number) => Buffer.from(`${id} `.repeat(length).slice(0, length));
const object = (id: number, length = 480, revision = id) => ({ id, revision, bytes: bytesOf(id, length) });

test('an object is found in its slot, until another is put there or it is taken out', () => {
  const shelf = new ByteCache(10_000).objectCache();
  shelf.set(3, object(7, 100, 9));
  assert.deepEqual(shelf.get(3), object(7, 100, 9));
  assert.deepEqual(shelf.bytes(3), bytesOf(7, 100));
  shelf.set(3, object(8, 90, 10));
  assert.deepEqual(shelf.get(3), object(8, 90, 10));
  for (const slot of [2, 1_000]) assert.equal(shelf.get(slot) ?? shelf.bytes(slot), undefined);
  shelf.delete(3);
  assert.equal(shelf.get(3) ?? shelf.bytes(3), undefined);
});

test('looks are counted by whether they found the object', () => {
  const cache = new ByteCache(10_000);
  const shelf = cache.objectCache();
  shelf.set(3, object(7, 100, 9));
  shelf.get(3);
  shelf.bytes(3);
  shelf.bytes(4);
  assert.deepEqual(cache.reads, { hits: 2, misses: 1 });
});

test('eviction keeps entries that were used and removes the others, oldest first', () => {
  // 16 segments of 4,096 bytes, 8 objects in each.
  const shelf = new ByteCache(65_536).objectCache();
  for (let slot = 0; slot < 128; slot++) shelf.set(slot, object(slot));
  for (const slot of [0, 3, 9]) assert(shelf.bytes(slot));
  for (let slot = 128; slot < 140; slot++) shelf.set(slot, object(slot));
  const gone = Array.from({ length: 140 }, (_, slot) => slot).filter((slot) => !shelf.bytes(slot));
  assert.deepEqual(gone, [1, 2, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15]);
});

test('use counts once: an entry that was not used since the last eviction is removed by the next', () => {
  const shelf = new ByteCache(65_536).objectCache();
  shelf.set(0, object(0));
  assert(shelf.get(0));
  for (let slot = 1; slot < 140; slot++) shelf.set(slot, object(slot));
  for (let slot = 140; slot < 400; slot++) shelf.set(slot, object(slot));
  assert.equal(shelf.get(0), undefined);
});

test('an entry that is changed repeatedly takes no room from the others, nor much itself', () => {
  const cache = new ByteCache(2 ** 20);
  const shelf = cache.objectCache();
  for (let slot = 0; slot < 500; slot++) shelf.set(slot, object(slot));
  for (let revision = 0; revision < 20_000; revision++) shelf.set(revision % 50, object(revision % 50, 480, revision));
  for (let slot = 50; slot < 500; slot++) assert(shelf.bytes(slot), `object ${slot}`);
  for (let slot = 0; slot < 50; slot++) assert.equal(shelf.get(slot)?.revision, 19_950 + slot);
  assert(cache.bytes < 2.5 * 500 * 512 + 2 * 65_536, `${cache.bytes} bytes for 500 objects`);
});

test('a view keeps its bytes, whatever happens to the cache', () => {
  const shelf = new ByteCache(65_536).objectCache();
  shelf.set(0, object(0));
  const view = shelf.bytes(0)!;
  for (let id = 1; id < 2_000; id++) shelf.set(id % 300, object(id));
  assert.deepEqual(view, bytesOf(0, 480));
});

test('an object larger than the cache is not kept, nor the entry that it replaces', () => {
  const shelf = new ByteCache(1_000).objectCache();
  shelf.set(0, object(1, 100));
  shelf.set(0, object(2, 2_000));
  assert.equal(shelf.get(0), undefined);
});

test('a cache of no bytes keeps nothing', () => {
  const shelf = new ByteCache(0).objectCache();
  shelf.set(0, object(1, 0));
  assert.equal(shelf.get(0), undefined);
});

test('after any changes an entry is the one that was put last, and the size limit holds', () => {
  const change = fc.record({
    shelf: fc.nat(1),
    slot: fc.nat(30),
    length: fc.oneof(fc.nat(900), fc.nat(4_000)),
    action: fc.nat(19),
    read: fc.nat(30),
  });
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 400, size: 'max' }),
      fc.integer({ min: 600, max: 40_000 }),
      (changes, maxBytes) => {
        const cache = new ByteCache(maxBytes);
        const shelves = [cache.objectCache(), cache.objectCache()];
        const known = [
          new Map<number, { id: number; length: number }>(),
          new Map<number, { id: number; length: number }>(),
        ];
        for (const [id, { shelf, slot, length, action, read }] of changes.entries()) {
          const one = shelves[shelf]!;
          if (action === 0) {
            one.clear();
            known[shelf]!.clear();
          } else if (action < 4) {
            one.delete(slot);
            known[shelf]!.delete(slot);
          } else {
            one.set(slot, object(id, length));
            known[shelf]!.set(slot, { id, length });
            if (length + 64 < maxBytes / 2) assert(one.get(slot), 'what was put last is there');
          }
          const asked = known[shelf]!.get(read);
          const found = one.get(read);
          if (found) assert.deepEqual(found, object(asked!.id, asked!.length));
          assert.deepEqual(one.bytes(read), found?.bytes);
          assert(cache.bytes <= maxBytes);
        }
        for (const shelf of shelves) shelf.clear();
        assert(cache.bytes <= Math.max(maxBytes / 16, 512) + 4_096, 'at most the one that is being filled is left');
      },
    ),
    { numRuns: 500 },
  );
});
