import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { IndexMemory } from './index-memory.ts';

const blocks = new IndexMemory({ leastBytes: 16 });
const loops = new IndexMemory({ kernels: false });

const bitmap = fc
  .tuple(fc.integer({ min: 1, max: 700 }), fc.integer({ min: 1, max: 300 }), fc.integer())
  .map(([length, gap, seed]) => ({ length, gap, seed }));

type Bitmap = { readonly length: number; readonly gap: number; readonly seed: number };

/** One slot in so many, about; in runs, so that some vectors are empty and some full. */
function fill(words: Uint32Array, { length, gap, seed }: Bitmap): Uint32Array {
  let state = seed >>> 0;
  for (let slot = 0; slot < length * 32; slot++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    if (Math.floor(state / 2 ** 12) % gap === 0 || ((seed ^ slot) & 0x1f80) === 0)
      words[slot >>> 5]! |= 1 << (slot & 31);
  }
  return words;
}

const array = (memory: IndexMemory, one: Bitmap) => fill(memory.array(Uint32Array, one.length), one);
const bit = (words: Uint32Array, slot: number) => ((words[slot >>> 5] ?? 0) >>> (slot & 31)) & 1;
const most = 705 * 32;

/** The slots of a bitmap. */
function slotsIn(words: Uint32Array): number[] {
  const slots: number[] = [];
  for (let slot = 0; slot < words.length * 32; slot++) if (bit(words, slot)) slots.push(slot);
  return slots;
}

test('kernels and loops give what a test of each bit gives, for bitmaps of any lengths and results in place of operands', () => {
  fc.assert(
    fc.property(
      bitmap,
      bitmap,
      bitmap,
      fc.nat(700),
      fc.constantFrom('new', 'used', 'first'),
      (a, b, c, length, into) => {
        for (const memory of [blocks, loops]) {
          const [x, y, z] = [array(memory, a), array(memory, b), array(memory, c)];
          const used: Uint32Array[] = [x, y, z];
          const result = (): Uint32Array => {
            const words = into === 'first' ? array(memory, a) : memory.array(Uint32Array, length + 5);
            if (into === 'used') words.fill(0xffffffff);
            used.push(words);
            return words;
          };
          const check = (words: Uint32Array, count: number, expected: (slot: number) => number) => {
            const slots = [];
            for (let slot = 0; slot < words.length * 32; slot++) if (expected(slot)) slots.push(slot);
            assert.deepEqual(slotsIn(words), slots);
            assert.equal(count, slots.length);
            assert.equal(memory.count(words), slots.length);
          };
          const all = result();
          const first = into === 'first' ? all : x;
          check(all, memory.intersect(first, y, z, all), (slot) => bit(x, slot) & bit(y, slot) & bit(z, slot));
          const without = result();
          const from = into === 'first' ? without : x;
          check(without, memory.subtract(from, y, without), (slot) => bit(x, slot) & ~bit(y, slot));
          const before = without.slice();
          memory.unite(without, z);
          check(without, memory.count(without), (slot) => bit(before, slot) | bit(z, slot));
          const found: number[] = [];
          memory.forEachChunk(x, y, z, (slots, count) => found.push(...slots.subarray(0, count)));
          const expected = slotsIn(x).filter((slot) => bit(y, slot) && bit(z, slot));
          assert.deepEqual(found, expected);
          for (const words of used) memory.free(words);
        }
      },
    ),
    { numRuns: 150 },
  );
});

test('kernels and loops count the slots of leaves and the items in a bitmap', () => {
  fc.assert(
    fc.property(bitmap, fc.integer({ min: 1, max: 5000 }), fc.nat(), fc.nat(), (one, leaves, first, second) => {
      for (const memory of [blocks, loops]) {
        for (const type of [Uint16Array, Uint32Array]) {
          const words = array(memory, one);
          const leafOf: Uint16Array | Uint32Array = memory.array<Uint16Array | Uint32Array>(type, most);
          for (let slot = 0; slot < most; slot++) leafOf[slot] = (slot * 7919) % leaves;
          const expected = new Array<number>(leaves).fill(0);
          for (const slot of slotsIn(words)) expected[leafOf[slot]!]!++;
          assert.deepEqual([...memory.countByLeaf(words, leafOf, leaves).subarray(0, leaves)], expected);
          const items = memory.array(Uint32Array, 512);
          for (let at = 0; at < items.length; at++) items[at] = (at * 7919) % (words.length * 32);
          const [from, to] = [first % 513, second % 513].sort((a, b) => a - b) as [number, number];
          const among = items.subarray(from, to).reduce((sum, item) => sum + bit(words, item), 0);
          assert.equal(memory.countAmong(words, items, from, to), among);
          for (const used of [words, leafOf, items]) memory.free(used);
        }
      }
    }),
    { numRuns: 30 },
  );
});

test('arrays do not share memory, keep what they have as they and others grow, and are zero where they are new', () => {
  const memory = new IndexMemory({ leastBytes: 64 });
  let state = 7;
  const random = (n: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  const live: { array: Uint16Array | Uint32Array; mark: number; length: number }[] = [];
  const check = ({ array, mark, length }: (typeof live)[number]) => {
    assert(array.subarray(0, length).every((value) => value === mark));
    assert(array.subarray(length).every((value) => value === 0));
  };
  for (let step = 0; step < 4_000; step++) {
    const at = random(live.length);
    const one = live[at];
    const choice = random(10);
    if (!one || choice < 4) {
      const length = 1 + random(random(8) === 0 ? 100_000 : 600);
      const array = memory.array<Uint16Array | Uint32Array>(random(2) ? Uint16Array : Uint32Array, length);
      assert(array.length >= length && array.every((value) => value === 0));
      const mark = 1 + (step % 65_000);
      live.push({ array: array.fill(mark, 0, length), mark, length });
    } else if (choice < 6) {
      check(one);
      one.array = memory.grown(one.array, one.array.length + 1 + random(400));
      check(one);
      if (random(2)) one.array = memory.copy(one.array);
      check(one);
    } else {
      check(one);
      memory.free(one.array);
      if (random(3) === 0) memory.free(one.array);
      live.splice(at, 1);
    }
  }
  for (const one of live) {
    check(one);
    memory.free(one.array);
  }
});

test('the memory of arrays that nobody has any more is used again', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const memory = new IndexMemory();
  let size = 0;
  for (let i = 0; i < 100; i++) size = memory.array(Uint32Array, 10_000).buffer.byteLength;
  assert.equal(memory.used, 4_000_000);
  for (let turn = 0; turn < 100 && memory.used > 0; turn++) {
    collectGarbage();
    await nextTurn();
  }
  assert.equal(memory.used, 0);
  assert.equal(memory.array(Uint32Array, size / 4).buffer.byteLength, size, 'free blocks are one again');
});

test('short arrays, and all without kernels, are arrays of their own', () => {
  const memory = new IndexMemory();
  assert(memory.array(Uint32Array, 1_000).buffer instanceof ArrayBuffer);
  assert.equal(memory.used, 0);
  const grown = memory.grown(memory.array(Uint32Array, 1_000).fill(3), 1_030);
  assert(grown.buffer instanceof SharedArrayBuffer);
  assert.deepEqual([grown[999], grown[1_000], memory.used], [3, 0, grown.byteLength]);
  assert(loops.array(Uint32Array, 100_000).buffer instanceof ArrayBuffer);
});

test('where the machine gives no more memory, arrays are of their own', (context) => {
  const memory = new IndexMemory();
  const first = memory.array(Uint32Array, 2_000).fill(1);
  const { Memory } = (globalThis as unknown as { WebAssembly: { Memory: { prototype: { grow(): number } } } })
    .WebAssembly;
  context.mock.method(Memory.prototype, 'grow', () => {
    throw new RangeError('no memory');
  });
  const second = memory.array(Uint32Array, 2 ** 20);
  assert(second.buffer instanceof ArrayBuffer);
  second.fill(1, 0, 1_000);
  const result = memory.array(Uint32Array, 2_000);
  assert(result.buffer instanceof SharedArrayBuffer);
  assert.equal(memory.intersect(first, second, second, result), 1_000);
  assert.equal(memory.count(result), 1_000);
});
