import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compareText } from '../model/key.ts';
import { textNumber } from './column.ts';
import type { Piece } from './snapshot/piece.ts';
import { TextColumn } from './text-column.ts';

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12, size: 'max' }),
  fc.constantFrom('', 'a', 'ab', 'x'.repeat(300), '\u007f', '\u0080', '\u07ff', '\u0800', '\ud7ff'),
  fc.constantFrom('\ud800', '\udfff', '\ud800a', '\ud800\ue000', '\ue000', '\uffff', '😀', '😀😀'),
);
const change = fc.oneof(
  fc.record({ item: fc.nat(300), text }),
  fc.record({ item: fc.nat(300), text: fc.constant(undefined) }),
  fc.record({ item: fc.nat(300), like: fc.nat(300), soon: fc.boolean() }),
);

function check(column: TextColumn, expected: ReadonlyMap<number, string>): void {
  assert.deepEqual(
    [...column.entries()],
    [...expected].toSorted(([a], [b]) => a - b),
  );
  const sign = (difference: number) => Math.sign(difference);
  for (let a = 0; a < 300; a += 7) {
    const x = expected.get(a);
    assert.equal(column.has(a), x !== undefined);
    assert.equal(column.number(a, 1), x === undefined ? Number.NaN : textNumber(x, 1));
    for (let b = 0; b < 300; b += 41) {
      const y = expected.get(b);
      const order =
        x === undefined || y === undefined ? Number(x !== undefined) - Number(y !== undefined) : compareText(x, y);
      assert.equal(sign(column.compare(a, b)), sign(order));
      assert.equal(sign(column.compareTo(a, y)), sign(order));
      if (x === undefined || y === undefined) continue;
      assert.equal(column.finder(y.slice(1), 'anywhere')(a), x.includes(y.slice(1)));
      assert.equal(column.finder(y.slice(1), 'end')(a), x.endsWith(y.slice(1)));
    }
  }
}

test('a column of texts keeps every string and their order, whatever is shared and moves', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 400, size: 'max' }), fc.nat(5), (changes, rounds) => {
      const column = new TextColumn();
      const expected = new Map<number, string>();
      const put = (item: number, value: string | undefined): void => {
        column.set(item, value);
        if (value === undefined) expected.delete(item);
        else expected.set(item, value);
      };
      for (const one of changes) {
        if ('text' in one) put(one.item, one.text);
        else if (expected.has(one.like)) {
          const same = expected.get(one.like);
          const others = [...expected.keys()].filter((item) => expected.get(item) === same);
          put(one.item, same);
          if (one.soon) column.share(one.item, one.like);
          for (const other of others) column.share(one.like, other);
        }
      }
      check(column, expected);
      // Enough of what is nobody's for texts to move, while they change.
      for (let round = 0; round < rounds; round++) {
        for (let item = 0; item < 290; item++) put(item, `${'long '.repeat(20)}${(item * 7 + round) % 50}`);
        put(round, undefined);
        check(column, expected);
      }
      for (const _ of column.pack());
      check(column, expected);
      const pieces: Piece[] = [...column.pieces('x', 310, 64)];
      const copy = TextColumn.ofPieces(pieces);
      check(copy, expected);
      const restored = new TextColumn();
      for (const _ of restored.restore('x', new Map(copy.sections('x', 310))));
      assert.equal(restored.length, 310);
      check(restored, expected);
      restored.set(5, 'new');
      check(restored, new Map([...expected, [5, 'new']]));
    }),
    { numRuns: 100, endOnFailure: true },
  );
});

test('items share texts while these move', () => {
  const column = new TextColumn();
  const expected: string[] = [];
  let state = 1;
  const random = (n: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  for (let i = 0; i < 60_000; i++) {
    const item = random(3_000);
    expected[item] = `${'long '.repeat(5)}${random(900)}`;
    column.set(item, expected[item]);
    const other = expected.findIndex((text, at) => at !== item && text === expected[item]);
    if (other >= 0) column.share(item, other);
  }
  for (const [item, text] of expected.entries()) assert.equal(column.get(item), text);
});

test('texts that nobody has any more are given back', () => {
  const column = new TextColumn();
  const bytes = () => column.sections('x', 1_000).reduce((sum, [, { byteLength }]) => sum + byteLength, 0);
  for (let round = 0; round < 200; round++) {
    for (let item = 0; item < 1_000; item++) column.set(item, `text ${round} of ${item}`);
  }
  for (const _ of column.pack());
  assert(bytes() < 100_000, `${bytes()} bytes`);
  for (let item = 0; item < 1_000; item++) assert.equal(column.get(item), `text 199 of ${item}`);
});

test('a text that many items share is there once', () => {
  const column = new TextColumn();
  for (let item = 0; item < 10_000; item++) {
    column.set(item, 'the same text in each of them');
    if (item > 0) column.share(item, item - 1);
  }
  const [, texts] = column.sections('x', 10_000);
  assert.equal(texts![1].byteLength, 4 + 4 + 32);
  assert.equal(column.get(9_999), 'the same text in each of them');
});
