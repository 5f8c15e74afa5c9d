import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareWithSql } from './differential.ts';

test('the engine gives the items, the order and the total that plain SQL over JSON gives', async (context) => {
  const seed = Number(process.env.KINDRED_TEST_SEED ?? Date.now() % 1_000_000_000);
  context.diagnostic(`seed ${seed}`);
  const result = await compareWithSql({ queries: 50_000, seed });
  context.diagnostic(JSON.stringify(result));
  assert(result.queries >= 50_000);
  assert(result.sliced > 500, 'queries in slices were among them');
});
