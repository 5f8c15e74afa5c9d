/** A short run of what import-run.ts does at length. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../query/random.ts';
import { importRun } from './import-runs.ts';

const seed = Math.floor(Math.random() * 2 ** 31);
for (let run = 1; run <= 5; run++) {
  test(`command-line: an import through a proxy that does harm has every object there, or names the difference - run ${run}`, async (context) => {
    context.diagnostic(`seed ${seed}`);
    const { wrong, outcome } = await importRun(3_000, new Random(seed * 100_003 + run));
    assert.equal(wrong, undefined, `seed ${seed}, run ${run}: ${wrong}\n${outcome.stderr.slice(0, 2_000)}`);
  });
}
