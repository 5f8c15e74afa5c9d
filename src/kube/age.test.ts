import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ageText } from './age.ts';

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000];

const cases: [number, string][] = [
  [-5, '0s'],
  [5 * second, '5s'],
  [119 * second, '119s'],
  [2 * minute, '2m'],
  [3 * minute + 7 * second, '3m7s'],
  [10 * minute + 7 * second, '10m'],
  [179 * minute, '179m'],
  [3 * hour, '3h'],
  [5 * hour + 20 * minute, '5h20m'],
  [47 * hour, '47h'],
  [2 * day, '2d'],
  [3 * day + 4 * hour, '3d4h'],
  [100 * day, '100d'],
  [730 * day + 3 * day, '2y3d'],
  [9 * 365 * day, '9y'],
];

for (const [passed, text] of cases) test(`${passed} ms are ${text}`, () => assert.equal(ageText(passed), text));
