import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Outcome } from '../cli/command.ts';
import { kindred } from '../cli/command.ts';
import { expect, live } from './live.ts';
import { Book, books } from './models.ts';

test('permissions: kindred token create prints the token alone, creates the user when absent, and its roles and lifetime hold', async () => {
  await using world = await live({}, (service) => service.schemeManager.register(Book));
  const run = (token: string, ...args: string[]): Promise<Outcome> =>
    kindred(args, { env: { KINDRED_SERVER: world.url, KINDRED_TOKEN: token } });
  const administrator = (await run(world.token!, 'token', 'create', '--user', 'admin')).stdout.trim();
  const made = await run(
    administrator,
    'token',
    'create',
    '--user',
    'robot',
    '--role',
    'books-library-example-view',
    '--ttl',
    '30d',
  );
  assert.equal(made.code, 0, made.stderr);
  assert.match(made.stdout, /^knd_[A-Za-z0-9_-]{43}\n$/);
  const token = made.stdout.trim();
  const robot = world.as(token);
  await expect(200, robot('GET', books));
  await expect(403, robot('POST', books, {}));
  const { spec } = (
    await expect(200, world.admin('GET', '/api/v1alpha1/personalaccesstokens?fieldSelector=spec.user%3Drobot'))
  ).body.items[0];
  assert.deepEqual(spec.roles, ['books-library-example-view']);
  const days = (Date.parse(spec.expiresAt) - Date.now()) / 86_400_000;
  assert.ok(days > 29.9 && days <= 30);

  const yes = await run(token, 'auth', 'can-i', 'list', 'books');
  assert.deepEqual([yes.code, yes.stdout.split(':')[0]], [0, 'yes'], yes.stderr);
  const no = await run(token, 'auth', 'can-i', 'delete', 'books.library.example', 'a');
  assert.deepEqual([no.code, no.stdout.split(':')[0]], [1, 'no'], no.stderr);

  const refused = await run(token, 'token', 'create', '--user', 'admin');
  assert.equal(refused.code, 1);
  assert.equal(refused.stdout, '');

  for (const ttl of ['0', '1y', '9999999d', '999999999999d']) {
    const wrong = await run(administrator, 'token', 'create', '--user', 'nobody', '--ttl', ttl);
    assert.deepEqual([wrong.code, wrong.stdout], [2, ''], ttl);
  }
  await expect(404, world.admin('GET', '/api/v1alpha1/users/nobody'));
  const foreign = await run(administrator, 'token', 'create', '--user', 'boss@corp');
  assert.deepEqual([foreign.code, foreign.stdout], [2, '']);
  assert.match(foreign.stderr, /--user needs the name of a User: .*, not "boss@corp"/);

  const unbound = await run(
    administrator,
    'token',
    'create',
    '--user',
    'second',
    '--role',
    'books-library-example-view',
    '--role',
    'No role',
  );
  assert.deepEqual([unbound.code, unbound.stdout], [1, ''], unbound.stderr);
  await expect(404, world.admin('GET', '/api/v1alpha1/users/second'));
  const again = await run(administrator, 'token', 'create', '--user', 'second', '--role', 'books-library-example-view');
  await expect(200, world.as(again.stdout.trim())('GET', books));

  const list = await run(administrator, 'token', 'list', '--user', 'robot', '-o', 'json');
  assert.ok(!list.stdout.includes(token) && !list.stdout.includes('hash'));
  const { name } = JSON.parse(list.stdout).items[0].metadata;
  assert.equal((await run(administrator, 'token', 'revoke', name)).code, 0);
  await expect(401, robot('GET', books));
});

test('permissions: kindred console prints a link that signs a browser in, once, or the page without authentication', async () => {
  await using world = await live();
  const run = (url: string, token?: string): Promise<Outcome> =>
    kindred(['console'], { env: { KINDRED_SERVER: url, KINDRED_TOKEN: token } });
  const printed = await run(world.url, world.token);
  assert.equal(printed.code, 0, printed.stderr);
  const [, page, code] = /^(.*)#code=([\w-]{22})\n$/.exec(printed.stdout)!;
  assert.equal(page, `${world.url}/console/`);
  await expect(201, world.anonymous('POST', '/v3/session', { code }));
  await expect(401, world.anonymous('POST', '/v3/session', { code }));
  assert.equal((await run(world.url)).code, 1);
  await using open = await live({ auth: false });
  assert.equal((await run(`${open.url}/`)).stdout, `${open.url}/console/\n`);
});
