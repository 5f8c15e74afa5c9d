import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  isLabelKey,
  isLabelValue,
  isName,
  isSubdomain,
  labelKeyProblem,
  labelValueProblem,
  nameProblem,
} from './names.ts';

const cases = (check: (text: string) => boolean, good: readonly string[], bad: readonly string[]): void => {
  for (const text of good) assert.equal(check(text), true, JSON.stringify(text));
  for (const text of bad) assert.equal(check(text), false, JSON.stringify(text));
};

test('spec: Naming rules - metadata.name has lower-case letters, digits and "-", a letter or digit at both ends', () => {
  cases(isName, ['a', '0', 'a-b', 'a--b', '0a9'], ['', '-a', 'a-', 'A', 'a.b', 'a_b', 'ä', 'a b', 'a\n']);
});

test('spec: Limits - metadata.name has at most 253 characters', () => {
  cases(isName, ['a'.repeat(253)], ['a'.repeat(254)]);
});

test('spec: Naming rules - the prefix of a key is a DNS sub-domain', () => {
  cases(isLabelKey, ['demo.example.com/a', 'a/b', 'a-b.c/d'], ['/a', 'A/b', 'a..b/c', '-a/b', 'a_b/c', 'a/b/c']);
  cases(isSubdomain, ['a', 'a.b-c.d', `${'a'.repeat(64)}.b`], ['', '.', 'a.', '.a', 'a.-b', 'a-.b', 'a.b\n']);
});

test('spec: Limits - the prefix of a key has at most 253 characters, its name part at most 63', () => {
  const prefix = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`;
  assert.equal(prefix.length, 253);
  cases(
    isLabelKey,
    [`${prefix}/x`, `${'a'.repeat(253)}/x`, 'x'.repeat(63), `a/${'x'.repeat(63)}`],
    [`${prefix}d/x`, 'x'.repeat(64), `a/${'x'.repeat(64)}`],
  );
  assert.deepEqual(
    [labelKeyProblem(`${prefix}d/x`), labelKeyProblem(`a/${'x'.repeat(64)}`)].map((one) => [
      one?.keyword,
      one?.limit,
      one?.length,
    ]),
    [
      ['maxLength', 253, 254],
      ['maxLength', 63, 64],
    ],
  );
});

test('spec: Naming rules - the name part of a key has letters, digits, "-", "." and "_"', () => {
  cases(isLabelKey, ['a', 'A.b_c-9', '9'], ['', 'a/', '-a', 'a-', '_a', 'a.', 'a b', 'ä']);
});

test('objects: a label value is empty or at most 63 of letters, digits, "-", "_", "."', () => {
  cases(isLabelValue, ['', 'a', 'A_b.c-9', 'x'.repeat(63)], ['x'.repeat(64), '-a', 'a-', 'a b', 'ä', ' ']);
});

test('objects: the violation of a name or value that is too long names the limit', () => {
  assert.equal(nameProblem('a'.repeat(253)), undefined);
  const { keyword, limit } = nameProblem('a'.repeat(254))!;
  assert.deepEqual([keyword, limit], ['maxLength', 253]);
  assert.equal(labelValueProblem('x'.repeat(63)), undefined);
  const value = labelValueProblem('x'.repeat(64))!;
  assert.deepEqual([value.keyword, value.limit], ['maxLength', 63]);
});
