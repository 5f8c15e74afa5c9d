import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codecOf } from './key.ts';

test('contract 4: a value that does not convert to the key type of the index is refused, one that a double would change too', () => {
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

test('contract 1: dates are ordered by instant, below the millisecond too', () => {
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
