import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearest } from './nearest.ts';

const known = ['port', 'host', 'list.maxSize', 'cities', 'countries'];
const cases: [string, string | undefined][] = [
  ['prot', 'port'],
  ['PORT', 'port'],
  ['list.maxsize', 'list.maxSize'],
  ['maxSize', undefined],
  ['citys', 'cities'],
  ['contries', 'countries'],
  ['hostname', undefined],
  ['x', undefined],
  ['', undefined],
];
for (const [typed, meant] of cases) {
  test(`command-line: the error for a mistyped name suggests the nearest one, and no other - ${typed}`, () => {
    assert.equal(nearest(typed, known), meant);
  });
}
