import assert from 'node:assert/strict';
import { test } from 'node:test';
import { books } from './models.ts';
import { compareWorlds } from './two-worlds.ts';

const seed = Number(process.env.WORLDS_SEED ?? 17);

test('permissions: a list or selector never reveals what the caller may not read: two worlds answer with the same bytes', async (t) => {
  const { pairs, statuses, differences } = await compareWorlds(1_500, seed);
  t.diagnostic(`${pairs} pairs, seed ${seed}: ${JSON.stringify(statuses)}`);
  assert.deepEqual(differences[0], undefined);
  for (const status of ['200', '403', '400', '404', '409'])
    assert.ok(statuses[status]! > 0, `some answers are ${status}`);
});

test('the comparison of two worlds notices a leak', async () => {
  const { differences } = await compareWorlds(400, seed, async ({ live }) => {
    const visible = await live.admin('GET', `${books}/v1`);
    await live.admin('PUT', `${books}/v1`, { ...visible.body, spec: { ...visible.body.spec, title: 'Leak' } });
  });
  assert.ok(differences.length > 0);
});
