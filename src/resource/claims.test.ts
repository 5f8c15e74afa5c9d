import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkIndexes, indexFactory } from '../model/index-spec.ts';
import { claimOf, uniqueKeysOf } from './claims.ts';

test('queries: unique is exact - keys that differ in a lone surrogate alone are different keys', () => {
  const definitions = checkIndexes([indexFactory.single('slug', String, () => null, { unique: true })]);
  const hashes = ['\ud800', '\ud801', '\ufffd', '\ufffd\ufffd', 'a\ud800', '\ud800a'].map((key) => {
    const [unique] = uniqueKeysOf(definitions, definitions, {
      name: 'a',
      created: 0,
      deleted: null,
      labels: {},
      keys: [[key]],
    });
    return Buffer.from(claimOf(unique!).hash).toString('hex');
  });
  assert.equal(new Set(hashes).size, hashes.length);
});
