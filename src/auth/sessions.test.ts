import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { KindredError } from '../errors.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { StoredToken, Tokens } from './authentication/tokens.ts';
import type { Rbac } from './authorization/rbac.ts';
import { Sessions } from './sessions.ts';

test('permissions: a one-time code that another request has used in the same moment begins no session', async () => {
  const code = { name: 'code', user: 'ada', roles: [], session: { kind: 'code' } } as unknown as StoredToken;
  const created: unknown[] = [];
  const client = {
    delete: () => Promise.reject(new KindredError('NotFound', 'gone')),
    create: async (_: unknown, object: unknown) => created.push(object),
  } as unknown as ExtensionClient;
  const clock = new FakeClock();
  const sessions = new Sessions({
    rbac: { user: () => undefined } as unknown as Rbac,
    tokens: { findCode: () => code, findSession: () => ({}), ofUser: () => [] } as unknown as Tokens,
    clientOf: () => client,
    current: () => undefined,
    random: randomBytes,
    timeToLive: 60_000,
    reservedDomain: 'platform.run',
    timers: clock,
    logger: { warn: () => {} },
  });
  await assert.rejects(
    sessions.redeem('code', {}),
    (error) => error instanceof KindredError && error.code === 'Unauthenticated',
  );
  assert.deepEqual(created, []);
});
