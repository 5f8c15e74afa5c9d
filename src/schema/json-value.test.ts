import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { canonicalText, isEqual, Multiples } from './json-value.ts';

const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false, 0, 1, '', '0', 'a', '__proto__'),
    fc.array(tie('value'), { maxLength: 3, size: 'max' }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', 'toString'), tie('value'), {
      maxKeys: 3,
      size: 'max',
      noNullPrototype: true,
    }),
  ),
})).value;

/** The same value with the members of every object in the opposite order. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, one]) => [name, turned(one)]),
  );
}

test('law: equal values are those that are deeply equal, whatever the order of members', () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      const expected = isDeepStrictEqual(a, b);
      assert.equal(isEqual(a, b), expected);
      assert.equal(isEqual(b, a), expected);
      assert.equal(canonicalText(a) === canonicalText(b), expected);
      assert.ok(isEqual(a, turned(a)));
      assert.equal(canonicalText(a), canonicalText(turned(a)));
    }),
    { numRuns: 2_000 },
  );
});

test('values that differ in one place are not equal', () => {
  for (const [a, b] of [
    [{ a: 1 }, { a: 1, b: 1 }],
    [{ a: 1 }, { b: 1 }],
    [[1], [1, 2]],
    [[], {}],
    [{ a: { b: [1, { c: 2 }] } }, { a: { b: [1, { c: 3 }] } }],
    [JSON.parse('{"__proto__":1}'), {}],
    [{ toString: 1 }, {}],
    [null, {}],
    ['1', 1],
  ]) {
    assert.equal(isEqual(a, b), false, `${JSON.stringify(a)} ${JSON.stringify(b)}`);
    assert.equal(isEqual(b, a), false, `${JSON.stringify(b)} ${JSON.stringify(a)}`);
  }
});

test('a member that is undefined is absent', () => {
  assert.ok(isEqual({ a: 1, b: undefined }, { a: 1 }));
  assert.ok(isEqual({ a: 1 }, { a: 1, b: undefined }));
});

test('objects: multiples are exact in decimal, told quickly or not', () => {
  const divisors = fc.constantFrom(1, 2, 3, 7, 0.1, 0.01, 0.05, 0.3, 1.5, 100, 1e10, 1e-7, 1e25, 2.5e-8);
  const numbers = fc.oneof(
    fc.integer(),
    fc.integer({ min: -1_000, max: 1_000 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.tuple(fc.integer({ min: -1e6, max: 1e6 }), fc.nat(9)).map(([digits, places]) => Number(`${digits}e-${places}`)),
  );
  let quickly = 0;
  fc.assert(
    fc.property(divisors, numbers, (divisor, value) => {
      const multiples = new Multiples(divisor);
      const quick = multiples.hasQuickly(value);
      if (quick === undefined) return;
      quickly++;
      assert.equal(quick, multiples.has(value), `${value} of ${divisor}`);
    }),
    { numRuns: 5_000 },
  );
  assert.ok(quickly > 1_000, `${quickly} were told quickly`);
  for (const [value, divisor, expected] of [
    [0.3, 0.1, true],
    [0.07, 0.01, true],
    [0.071, 0.01, false],
    [1e300, 1e-300, true],
    [7.5, 2.5, true],
    [-0.3, 0.1, true],
    [0, 0.1, true],
  ] as const) {
    const multiples = new Multiples(divisor);
    assert.equal(multiples.has(value), expected, `${value} of ${divisor}`);
  }
});
