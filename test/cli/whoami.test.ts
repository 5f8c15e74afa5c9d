import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHarness } from 'kindred/testing';
import { kindred } from './command.ts';

test('whoami names the identity, its roles, and why a token does not hold', async () => {
  const harness = await startHarness({ auth: {} });
  const as = (token: string | undefined, ...args: string[]) =>
    kindred(['whoami', ...args], { env: { KINDRED_SERVER: harness.url, KINDRED_TOKEN: token } });
  try {
    const known = await as(harness.token);
    assert.deepEqual([known.code, known.stderr], [0, '']);
    assert.match(known.stdout, /^User: \S+\nRoles: .*super-role/);
    const json = JSON.parse((await as(harness.token, '-o', 'json')).stdout);
    assert.deepEqual([json.authentication, json.identity.kind], [true, 'User']);
    const wrong = await as('knd_wrong');
    assert.deepEqual([wrong.code, wrong.stdout], [1, '']);
    assert.match(wrong.stderr, /needs a valid bearer token/);
    assert.equal((await as(undefined)).code, 1);
  } finally {
    await harness.stop();
  }
});

test('whoami says that a service has no authentication', async () => {
  const harness = await startHarness();
  const { code, stdout } = await kindred(['whoami'], { env: { KINDRED_SERVER: harness.url } });
  await harness.stop();
  assert.deepEqual([code, stdout], [0, 'The service runs without authentication: everybody may do everything\n']);
});
