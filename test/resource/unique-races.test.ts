import assert from 'node:assert/strict';
import { test } from 'node:test';
import { killed, race } from './unique-races.ts';

test('queries: unique is exact - writers of one process race while commits fail, come late and end unknown', async (context) => {
  const seed = Number(process.env.KINDRED_TEST_SEED ?? Date.now() % 1_000_000_000);
  context.diagnostic(`seed ${seed}`);
  const tally = await race({ races: 100, seed });
  context.diagnostic(JSON.stringify(tally));
  for (const code of ['acknowledged', 'UniqueViolation', 'NotReady', 'UnknownOutcome', 'StorageFull']) {
    assert.ok((tally[code] ?? 0) > 20, `${code}: ${tally[code]}`);
  }
});

test('queries: unique is exact - also when the process is killed', async () => {
  assert.ok((await killed(3)) > 0);
});
