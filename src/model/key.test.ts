import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { codecOf, compareText } from './key.ts';

test('lists: a value that does not convert to the key type of the index is refused, one that a double would change too', () => {
  const { parse } = codecOf(Number);
  for (const [text, value] of [
    ['5', 5],
    ['-0', 0],
    ['5.50', 5.5],
    ['1e3', 1000],
    ['9007199254740992', 2 ** 53],
    ['1e21', 1e21],
  ] as const) {
    assert.equal(parse(text), value, text);
  }
  for (const text of ['', ' 5', '+5', '05', '0x5', '5n', 'NaN', 'Infinity', '1e999', '9007199254740993', '5,0']) {
    assert.throws(() => parse(text), TypeError, text);
  }
});

test('declaration: dates are ordered by instant, below the millisecond too', () => {
  const { parse, key, compare } = codecOf(Date);
  const ordered = [
    '2024-01-01T00:00:00Z',
    '2024-01-01T00:00:00.000001Z',
    '2024-01-01T01:00:00.000002+01:00',
    '2024-01-01T00:00:00.0005Z',
    '2024-01-01T00:00:00.001Z',
  ];
  assert.deepEqual(ordered.toReversed().map(parse).sort(compare), ordered.map(parse));
  assert.equal(new Set(ordered.map(parse)).size, ordered.length);
  assert.equal(compare(key(new Date(ordered[0]!)), parse('2023-12-31T19:00:00.000-05:00')), 0);
});

test('declaration: the plain form of a date is the same instant as for Date.parse, of every year', () => {
  const { parse } = codecOf(Date);
  const last = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
  const first = new Date(0).setUTCFullYear(0, 0, 1);
  fc.assert(
    fc.property(fc.integer({ min: first, max: last }), (time) => {
      const text = new Date(time).toISOString();
      assert.equal(parse(text), time, text);
      const seconds = text.replace(/\.\d+Z$/, 'Z');
      assert.equal(parse(seconds), Date.parse(seconds), seconds);
    }),
    { numRuns: 2_000 },
  );
  for (const text of ['2024-02-28T23:59:59.0x1Z', '2024-0-128T23:59:59.001Z', '2024-02-28T23:59:5 .001Z']) {
    assert.throws(() => parse(text), TypeError, text);
  }
});

test('declaration: a date is what RFC 3339 takes for one, also where Date.parse takes more', () => {
  const { parse } = codecOf(Date);
  const later = Date.UTC(2024, 1, 28, 23, 59, 59);
  for (const [text, instant] of [
    ['2024-02-28T23:59:59Z', later],
    ['2024-02-28T23:59:59.1Z', later + 100],
    ['2024-02-28T23:59:59.069Z', later + 69],
    ['2024-02-28t23:59:59z', later],
    ['2024-02-29T23:59:59Z', later + 86_400_000],
    ['2024-04-30T23:59:59Z', Date.UTC(2024, 3, 30, 23, 59, 59)],
    ['2024-03-31T23:59:59Z', Date.UTC(2024, 2, 31, 23, 59, 59)],
    ['2024-02-28T23:59:60Z', later + 1_000],
  ] as const) {
    assert.equal(parse(text), instant, text);
  }
  for (const text of [
    '2023-02-29T00:00:00Z',
    '2024-02-30T00:00:00Z',
    '2024-04-31T00:00:00Z',
    '2024-02-30T00:00:00Z',
    '2024-02-28T24:00:00Z',
    '2024-02-00T00:00:00Z',
    '2024-13-01T00:00:00Z',
    '2024-02-28T23:60:00Z',
    '2024-02-28T23:59:61Z',
    '2024-02-28T23:59:59.Z',
    '2024-02-28',
    '24-02-28T00:00:00Z',
  ]) {
    assert.throws(() => parse(text), TypeError, text);
  }
});

test('declaration: -0 and 0 are one key', () => {
  const { key, format } = codecOf(Number);
  assert.ok(Object.is(key(-0), 0));
  assert.equal(format(key(-0)), '0');
});

test('declaration: texts are ordered by code point, not by UTF-16 unit', () => {
  const { compare } = codecOf(String);
  const ordered = ['', 'a', 'ab', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}'];
  assert.deepEqual(ordered.toReversed().sort(compare), ordered);
  const long = ordered.map((text) => `${'x'.repeat(40)}${text}`);
  assert.deepEqual(long.toReversed().sort(compare), long);
});

test('lists: texts are ordered by code points, however long their common prefix', () => {
  const byPoints = (a: string, b: string): number => {
    const [x, y] = [Array.from(a, (one) => one.codePointAt(0)!), Array.from(b, (one) => one.codePointAt(0)!)];
    const at = x.findIndex((point, i) => point !== y[i]);
    return at < 0 ? x.length - y.length : at >= y.length ? 1 : x[at]! - y[at]!;
  };
  const tail = fc.array(fc.constantFrom('a', 'b', 'é', '\ud7ff', '\ue000', '\uffee', '😀', '𝒳'), {
    maxLength: 4,
    size: 'max',
  });
  const common = fc.constantFrom(
    '',
    'a',
    'x'.repeat(15),
    'x'.repeat(16),
    'x'.repeat(17),
    'é'.repeat(90),
    '😀'.repeat(20),
  );
  fc.assert(
    fc.property(common, tail, tail, (start, one, other) => {
      const [a, b] = [start + one.join(''), start + other.join('')];
      assert.equal(Math.sign(compareText(a, b)), Math.sign(byPoints(a, b)), `${a} ${b}`);
    }),
    { numRuns: 3_000 },
  );
});
