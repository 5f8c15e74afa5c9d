/** A short run of what shipped-run.ts does at length. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { Random } from '../query/random.ts';
import { cleanUp } from './kit.ts';
import { shippedRun } from './shipped-runs.ts';

afterEach(cleanUp);

const seed = Math.floor(Math.random() * 2 ** 31);
test('plugins: three updates of a plugin and users of its objects leave to both what field ownership says', async () => {
  const run = await shippedRun(60, new Random(seed), `seed ${seed}`);
  assert.ok(Math.min(run.edits, run.applies, run.conflicts) > 8, JSON.stringify(run));
});
