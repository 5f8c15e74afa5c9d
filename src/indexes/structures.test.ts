import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { codecOf, compareText } from '../model/key.ts';
import { none } from './arrays.ts';
import { NumberColumn, ValueColumn } from './column.ts';
import { IndexMemory } from './memory/index-memory.ts';
import { NameTable } from './name-table.ts';
import { Order } from './order.ts';
import { SlotSet } from './slot-set.ts';
import type { Steps } from './sort.ts';
import { sortByComparison, sortByNumber, sortByText } from './sort.ts';
import { TextColumn } from './text-column.ts';

function columnOf(texts: readonly string[]): TextColumn {
  const column = new TextColumn();
  for (const [item, text] of texts.entries()) column.set(item, text);
  return column;
}

function finish(steps: Steps): void {
  for (const _ of steps);
}

const slot = fc.nat(5000);

/** With arrays of all sizes in one memory, and with all of their own. */
const memories = [new IndexMemory({ leastBytes: 16 }), new IndexMemory({ kernels: false })];

test('a set of slots behaves like a Set, sparse and dense and in between', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.boolean(), slot), { maxLength: 300, size: 'max' }),
      fc.nat(9000),
      fc.nat(9000),
      fc.constantFrom(...memories),
      (changes, dense, gone, memory) => {
        const set = new SlotSet(memory);
        const expected = new Set<number>();
        for (let i = 0; i < dense; i++) assert.equal(set.add(i), !expected.has(i) && !!expected.add(i));
        for (let i = 0; i < gone; i++) assert.equal(set.remove(i), expected.delete(i));
        for (const [add, one] of changes) {
          if (add) assert.equal(set.add(one), !expected.has(one) && !!expected.add(one));
          else assert.equal(set.remove(one), expected.delete(one));
        }
        assert.equal(set.count, expected.size);
        const found: number[] = [];
        set.forEachChunk((slots, count) => found.push(...slots.subarray(0, count)));
        for (const one of found) assert(set.has(one));
        assert.deepEqual(
          found,
          [...expected].sort((a, b) => a - b),
        );
        for (let i = 0; i < 5100; i += 7) assert.equal(set.has(i), expected.has(i));
      },
    ),
    { numRuns: 60 },
  );
});

test('the table of names behaves like a Map through thousands of additions and removals', () => {
  const names = new TextColumn();
  const table = new NameTable(names);
  const expected = new Map<string, number>();
  let state = 1;
  const random = (n: number) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state % n;
  };
  for (let i = 0; i < 60_000; i++) {
    const name = `n-${random(9000)}`;
    const known = expected.get(name);
    assert.equal(table.find(name), known ?? none);
    if (known === undefined) {
      expected.set(name, names.length);
      names.set(names.length, name);
      table.add(names.length - 1, name);
    } else {
      table.remove(known);
      expected.delete(name);
    }
  }
  const filled = new NameTable(columnOf([...expected.keys()]));
  finish(filled.addAll());
  for (const [at, name] of filled.names.entries()) assert.equal(filled.find(name), at);
  assert.equal(filled.names.length, expected.size);
  assert.equal(filled.find('absent'), none);
});

/** Keys of a few thousand items, with what short keys cannot tell apart: long common parts, units beyond a byte, infinite numbers. */
const keyKinds = {
  number: (n: number) => (n === 7 ? Number.NEGATIVE_INFINITY : n === 9 ? Number.POSITIVE_INFINITY : n - 1.5),
  text: (n: number) => `${['', 'the same beginning ', 'the same beginning of ', '\u00fe', '\ue000', '😀'][n % 6]}${n}`,
};

test('an order behaves like a sorted array through splits, merges and bulk fills', () => {
  for (const [kind, keyFor] of Object.entries(keyKinds)) {
    for (const [i, keys] of [1, 3, 20, 500, 1_000_000].entries())
      checkOrder(kind === 'text', keys, keyFor, memories[(i + kind.length) % 2]!);
  }
});

function checkOrder(isText: boolean, keys: number, keyFor: (n: number) => unknown, memory: IndexMemory): void {
  const column = isText ? new TextColumn() : new NumberColumn();
  const order = new Order(column, memory);
  let live: number[] = [];
  let state = keys;
  const random = (n: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  const compare = (a: number, b: number) => column.compare(a, b) || a - b;
  const check = () => {
    const sorted = live.toSorted(compare);
    assert.equal(order.size, sorted.length);
    for (let rank = 0; rank < sorted.length; rank += 1 + random(80)) {
      const item = sorted[rank]!;
      assert.equal(order.at(rank), item);
      const low = sorted.findIndex((other) => column.compare(other, item) === 0);
      const high = sorted.findLastIndex((other) => column.compare(other, item) === 0) + 1;
      assert.deepEqual(order.equalRange(item), [low, high]);
      const key = column.get(item);
      if (key === undefined) continue;
      assert.equal(order.rankOf(key, false), low);
      assert.equal(order.rankOf(key, true), high);
      assert.equal(order.rankAfter(key, item), rank + 1);
      const other = keyFor(random(keys * 2)) as string & number;
      const before = sorted.filter((one) => column.compareTo(one, other) < 0).length;
      assert.equal(order.rankOf(other, false), before);
      assert.equal(order.rankOf(other, true), sorted.filter((one) => column.compareTo(one, other) <= 0).length);
    }
  };
  const add = (item: number) => {
    column.set(item, random(10) === 0 ? undefined : keyFor(random(keys)));
  };
  for (let item = 0; item < 3000; item++) {
    add(item);
    live.push(item);
  }
  const sorted = Uint32Array.from(live).sort(compare);
  order.fill(sorted, sorted.length);
  check();
  const known = new Set(live.map((item) => column.get(item)));
  for (let item = 3000; item < 6000; item++) {
    add(item);
    live.push(item);
    order.insert(item);
    const found = [order.previous, order.next].some((one) => one !== none && column.compare(one, item) === 0);
    assert.equal(found, known.has(column.get(item)));
    known.add(column.get(item));
  }
  check();
  for (const share of [0.7, 0.9, 1]) {
    const gone = live.filter(() => random(1000) < share * 1000);
    const left = new Set(live);
    for (const item of gone) {
      order.remove(item);
      left.delete(item);
    }
    live = [...left];
    check();
  }
  for (let item = 0; item < 2000; item++) {
    add(item);
    live.push(item);
    order.insert(item);
  }
  check();
}

test('bulk sorts are the sort by comparison, and stable', () => {
  const number = fc.oneof(fc.double({ noNaN: true }), fc.integer({ min: -3, max: 3 }));
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12, size: 'max' }),
    fc.constantFrom('', 'a', 'ab', 'common prefix 1', 'common prefix 2', '\ue000', '😀'),
  );
  fc.assert(
    fc.property(
      fc.array(number, { maxLength: 400, size: 'max' }),
      fc.array(text, { maxLength: 400, size: 'max' }),
      fc.boolean(),
      (numbers, texts, repeat) => {
        const values = repeat ? [...numbers, ...numbers, ...numbers] : numbers;
        const column = Float64Array.from(values, (value) => value + 0);
        const byNumber = Uint32Array.from(values.keys());
        finish(sortByNumber(byNumber, byNumber.length, column));
        assert.deepEqual(byNumber, Uint32Array.from([...values.keys()].sort((a, b) => column[a]! - column[b]! || 0)));
        const all = repeat ? [...texts, ...texts, ...texts] : texts;
        const expected = Uint32Array.from([...all.keys()].sort((a, b) => compareText(all[a]!, all[b]!)));
        const byText = Uint32Array.from(all.keys());
        finish(sortByText(byText, byText.length, columnOf(all)));
        assert.deepEqual(byText, expected);
        const compared = Uint32Array.from(all.keys());
        finish(sortByComparison(compared, compared.length, (a, b) => compareText(all[a]!, all[b]!)));
        assert.deepEqual(compared, expected);
      },
    ),
    { numRuns: 200 },
  );
});

test('a key of an own type is found in its column by comparison', () => {
  const codec = codecOf({
    compare: (a: string, b: string) => a.length - b.length,
    parse: (text) => text,
    format: (key) => String(key.length),
  });
  const column = new ValueColumn(codec);
  column.set(3, 'abc');
  assert.equal(column.compareTo(3, 'xyz'), 0);
  assert(column.compareTo(0, 'x') < 0);
  assert.equal(column.get(1), undefined);
});

test('a copy of an order in which no item has a key has none, whatever comes while it is made', () => {
  const order = new Order(new NumberColumn(), memories[0]!);
  order.insert(0);
  const pieces = order.pieces('order', 8, order.size);
  const first = pieces.next().value;
  order.insert(1);
  assert.deepEqual([first && [...first.values], pieces.next().done], [[], true]);
});
