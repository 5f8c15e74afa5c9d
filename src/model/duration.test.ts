import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatDuration, parseDuration } from './duration.ts';

const cases: [unknown, number | undefined][] = [
  [0, 0],
  [1500, 1500],
  ['250', 250],
  ['250ms', 250],
  ['15s', 15_000],
  [' 1.5 m ', 90_000],
  ['1h', 3_600_000],
  ['30d', 2_592_000_000],
  ['', undefined],
  ['1w', undefined],
  ['-1s', undefined],
  [-1, undefined],
  [Number.NaN, undefined],
  [true, undefined],
  [undefined, undefined],
];

for (const [value, expected] of cases) {
  test(`command-line: durations are milliseconds or texts - ${JSON.stringify(value) ?? 'undefined'}`, () => {
    assert.equal(parseDuration(value), expected);
  });
}

for (const text of ['0ms', '1ms', '1500ms', '15s', '90s', '2m', '1h', '25h', '2d']) {
  test(`command-line: a duration is shown in the form in which it can be given - ${text}`, () => {
    assert.equal(formatDuration(parseDuration(text)!), text);
  });
}
