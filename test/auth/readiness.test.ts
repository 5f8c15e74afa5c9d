/** `/readyz` looks at credentials, so it counts and reports them as any other route does (docs/reference/errors.md, permissions.md and command-line.md). */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pino } from 'pino';
import { definePlugin } from '../../src/plugin/plugin.ts';
import type { Live } from './live.ts';
import { expect, live } from './live.ts';

interface Line {
  readonly requestId: string;
  readonly identity: string;
  readonly address: string;
  readonly verb: string;
  readonly path: string;
  readonly outcome: string;
  readonly status: number;
  readonly code?: string;
}

const as = (world: Live, token: string, id: string) =>
  world.as(token)('GET', '/readyz', undefined, { 'x-request-id': id });

for (const reads of [false, true]) {
  test(`permissions: who shows a wrong credential to /readyz stands in the audit log, ${reads ? 'with' : 'without'} reads`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kindred-readiness-'));
    const file = join(folder, 'audit.log');
    try {
      {
        await using world = await live({ auth: { audit: { file, reads } } });
        const { send } = await world.person('ada', []);
        assert.deepEqual((await expect(200, as(world, 'wrong', 'wrong-1'))).body, { status: 'ready' });
        assert.deepEqual((await expect(200, as(world, world.token!.slice(0, -1), 'wrong-2'))).body, {
          status: 'ready',
        });
        assert.deepEqual(
          (await expect(200, world.anonymous('GET', '/readyz', undefined, { 'x-request-id': 'nobody' }))).body,
          { status: 'ready' },
        );
        assert.deepEqual((await expect(200, send('GET', '/readyz', undefined, { 'x-request-id': 'ada' }))).body, {
          status: 'ready',
        });
        assert.ok((await expect(200, as(world, world.token!, 'admin'))).body.models);
      }
      const all = (await readFile(file, 'utf8')).split('\n').slice(0, -1);
      const lines = all.map((line) => JSON.parse(line) as Line).filter(({ path }) => path === '/readyz');
      const about = (one: Line) => [one.requestId, one.identity, one.verb, one.outcome, one.status, one.code];
      const refused = ['system:anonymous', 'get', 'refused', 401, 'Unauthenticated'];
      assert.deepEqual(lines.map(about), [
        ['wrong-1', ...refused],
        ['wrong-2', ...refused],
        ...(reads
          ? [
              ['ada', 'ada', 'get', 'done', 200, undefined],
              ['admin', 'admin', 'get', 'done', 200, undefined],
            ]
          : []),
      ]);
      assert.match(lines[0]!.address, /127\.0\.0\.1/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
}

describe('rates', () => {
  const bucket = { perSecond: 0.001, burst: 40 };
  let world: Live;
  before(async () => {
    world = await live({ auth: { rateLimit: { perIdentity: false, perAddress: bucket, exemptLoopback: false } } });
  });
  after(() => world[Symbol.asyncDispose]());

  test('errors: wrong credentials at /readyz use up what the address may send, there and elsewhere; a probe is answered on', async () => {
    const statuses: number[] = [];
    for (let i = 0; i < bucket.burst + 5; i++) statuses.push((await as(world, 'wrong', `wrong-${i}`)).status);
    assert.deepEqual(statuses, [...Array(bucket.burst).fill(200), ...Array(5).fill(429)]);
    const refused = await expect(429, as(world, world.token!, 'admin'));
    assert.equal(refused.body.code, 'TooManyRequests');
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    await expect(429, world.admin('GET', '/api/v1alpha1/users'));
    for (let i = 0; i < 5; i++)
      assert.deepEqual((await expect(200, world.anonymous('GET', '/readyz'))).body, { status: 'ready' });
    await expect(200, world.anonymous('GET', '/livez'));
  });
});

test('errors: an identity that has used up what it may send is refused at /readyz too', async () => {
  const perIdentity = { perSecond: 0.001, burst: 20 };
  await using world = await live({ auth: { rateLimit: { perIdentity, perAddress: false, exemptLoopback: false } } });
  for (let i = 0; i < perIdentity.burst; i++) await expect(200, world.admin('GET', '/readyz'));
  await expect(429, world.admin('GET', '/readyz'));
  await expect(429, world.admin('GET', '/api/v1alpha1/users'));
  await expect(200, world.anonymous('GET', '/readyz'));
});

test('command-line: an authenticator that fails does not keep /readyz from answering', async () => {
  const plugin = definePlugin({
    start: (context) =>
      context.registerAuthenticator(async () => {
        throw new Error('the directory is away');
      }),
  });
  await using world = await live({ plugins: [{ name: 'directory', plugin }], logger: pino({ level: 'silent' }) });
  assert.deepEqual((await expect(200, world.anonymous('GET', '/readyz'))).body, { status: 'ready' });
  await expect(500, world.anonymous('GET', '/api/v1alpha1/users'));
});
