import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ByteCache } from './byte-cache.ts';

const object = (id: number, length = 550, revision = id) => ({
  id,
  revision,
  name: `object-${id}`,
  bytes: Buffer.alloc(length, id & 255),
});

test('an object is found in its slot in the revision that was put there, and in no other', () => {
  const shelf = new ByteCache(10_000).shelf();
  shelf.set(3, object(7, 100, 9));
  assert.equal(shelf.get(3, 7, 9)?.bytes[0], 7);
  assert.equal(shelf.get(3, 7, 10), undefined, 'a later revision');
  assert.equal(shelf.get(3, 8, 9), undefined, 'another object that has the slot now');
  assert.equal(shelf.get(2, 7, 9), undefined);
});

test('what was used since the last round stays, what was not goes', () => {
  const shelf = new ByteCache(10_000).shelf();
  for (let slot = 0; slot < 10; slot++) shelf.set(slot, object(slot));
  for (const slot of [0, 1, 2]) assert(shelf.get(slot, slot, slot));
  for (let slot = 10; slot < 17; slot++) shelf.set(slot, object(slot));
  const kept = Array.from({ length: 17 }, (_, slot) => slot).filter((slot) => shelf.get(slot, slot, slot));
  assert.deepEqual(kept, [0, 1, 2, 10, 11, 12, 13, 14, 15, 16]);
});

test('an object larger than the cache is not kept, nor what it replaces', () => {
  const cache = new ByteCache(1_000);
  const shelf = cache.shelf();
  shelf.set(0, object(1, 100));
  shelf.set(0, object(2, 2_000));
  assert.equal(shelf.get(0, 1, 1), undefined);
  assert.equal(shelf.get(0, 2, 2), undefined);
  assert.equal(cache.bytes, 0);
});

test('a piece of a larger buffer does not keep the rest of it', () => {
  const shelf = new ByteCache(10_000).shelf();
  const packet = Buffer.alloc(100_000, 7);
  shelf.set(0, { ...object(1), bytes: packet.subarray(100, 200) });
  const kept = shelf.get(0, 1, 1)!.bytes;
  assert.deepEqual(kept, Buffer.alloc(100, 7));
  assert(kept.buffer.byteLength < 200);
});

test('over any changes the bytes are those of what is kept, and never more than allowed', () => {
  const change = fc.record({
    shelf: fc.nat(1),
    slot: fc.nat(30),
    length: fc.nat(900),
    drop: fc.nat(9),
    read: fc.nat(30),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 400 }), (changes) => {
      const cache = new ByteCache(9_000);
      const shelves = [cache.shelf(), cache.shelf()];
      const known = new Map<string, { id: number; length: number }>();
      for (const [id, { shelf, slot, length, drop, read }] of changes.entries()) {
        const one = shelves[shelf]!;
        if (drop === 0) {
          one.delete(slot);
          known.delete(`${shelf}/${slot}`);
        } else {
          one.set(slot, object(id, length));
          known.set(`${shelf}/${slot}`, { id, length });
          assert(one.get(slot, id, id), 'what was put last is there');
        }
        const asked = known.get(`${shelf}/${read}`);
        if (asked) one.get(read, asked.id, asked.id);
        assert(cache.bytes <= 9_000);
      }
      let bytes = 0;
      for (const [place, { id, length }] of known) {
        const [shelf, slot] = place.split('/').map(Number);
        if (shelves[shelf!]!.get(slot!, id, id)) bytes += length + 450;
      }
      assert.equal(cache.bytes, bytes);
      for (const shelf of shelves) shelf.clear();
      assert.equal(cache.bytes, 0);
    }),
  );
});
