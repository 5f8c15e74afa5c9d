import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { RateLimiter } from '../../src/auth/authentication/rate-limit.ts';
import { PersonalAccessToken, RoleBinding, Secret } from '../../src/auth/models.ts';
import { KindredError } from '../../src/errors.ts';
import { GroupVersion, route } from '../../src/http/custom/declaration.ts';
import type { PluginContext } from '../../src/plugin/plugin.ts';
import { definePlugin } from '../../src/plugin/plugin.ts';
import type { ExtensionClient } from '../../src/resource/extension-client.ts';
import { expect, live } from './live.ts';
import { Book, books } from './models.ts';

const core = '/api/v1alpha1';

/** A plugin that owns Book and shows what its own client and the caller's may do. */
function bookshop(seen: { client?: ExtensionClient }) {
  const plugin = definePlugin({
    start(context: PluginContext) {
      context.schemeManager.register(Book);
      seen.client = context.client;
      context.registerAuthenticator(async (request) => {
        const name = request.headers.get('x-bookshop');
        if (name === null) return undefined;
        return { name, roles: name === 'keeper' ? ['books-library-example-manage'] : [] };
      });
      context.registerEndpoint({
        groupVersion: () => GroupVersion.parse('api.library.example/v1alpha1'),
        endpoint: () =>
          route()
            .GET('/books/-/mine', async (request) => (await request.client.list(Book)).total)
            .GET('/books/{name}/author/{part}', (request) => request.params)
            .GET('/books/-/me', (request) => request.identity)
            .POST('/books/-/lend', (request) => request.identity.name)
            .build(),
      });
    },
  });
  return { name: 'bookshop', plugin };
}

test('plugins: context.client acts as the plugin: everything with its own models, nothing else without a role', async () => {
  const seen: { client?: ExtensionClient } = {};
  await using world = await live({ plugins: [bookshop(seen)] });
  const client = seen.client!;
  await client.create(Book, { metadata: { name: 'a' }, spec: { title: 'A' } } as never);
  await expect(200, world.admin('GET', `${books}/a`));
  const isForbidden = (error: unknown) => error instanceof KindredError && error.code === 'Forbidden';
  await assert.rejects(client.list(Secret), isForbidden);
  await assert.rejects(
    client.create(PersonalAccessToken, { metadata: { name: 't' }, spec: { user: 'admin' } }),
    isForbidden,
  );
  const superBinding = {
    metadata: { name: 'up' },
    roleRef: { kind: 'Role' as const, name: 'super-role' },
    subjects: [{ kind: 'Plugin' as const, name: 'bookshop' }],
  };
  await assert.rejects(client.create(RoleBinding, superBinding), isForbidden);
  const binding = {
    metadata: { name: 'b' },
    roleRef: { kind: 'Role', name: 'secrets-view' },
    subjects: [{ kind: 'Plugin', name: 'bookshop' }],
  };
  await expect(201, world.admin('POST', `${core}/rolebindings`, binding));
  assert.equal((await client.list(Secret)).total, 0);
  await expect(200, world.admin('DELETE', `${core}/rolebindings/b`));
  await assert.rejects(client.list(Secret), isForbidden);
});

test('permissions: with a plugin authenticator, whatever host, target and method a client sends, it is 401 like any other', async () => {
  await using world = await live({ plugins: [bookshop({})] });
  const status = async (head: string) => {
    const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
    socket.end(`${head}\r\nConnection: close\r\n\r\n`);
    return (await text(socket)).split('\r\n')[0];
  };
  for (const head of [
    `GET ${books} HTTP/1.1\r\nHost: a b`,
    `GET ${books} HTTP/1.1\r\nHost: ada:secret@example.com`,
    `GET ${books} HTTP/1.1\r\nHost: x:99999999`,
    `GET http://[${books} HTTP/1.1\r\nHost: x`,
    'GET // HTTP/1.1\r\nHost: x',
    'OPTIONS * HTTP/1.1\r\nHost: x',
    `TRACE ${books} HTTP/1.1\r\nHost: x`,
  ]) {
    assert.equal(await status(head), 'HTTP/1.1 401 Unauthorized', head);
  }
  assert.equal(
    await status(
      'POST http://ada:secret@x/apis/api.library.example/v1alpha1/books/-/lend HTTP/1.1\r\nHost: a b\r\nx-bookshop: keeper',
    ),
    'HTTP/1.1 403 Forbidden',
  );
});

test('custom-routes: request.identity is the caller, as name and roles and nothing of the credential', async () => {
  await using world = await live({ plugins: [bookshop({})] });
  const { body } = await expect(200, world.admin('GET', '/apis/api.library.example/v1alpha1/books/-/me'));
  assert.deepEqual(body, { name: 'admin', roles: ['super-role', 'authenticated'] });
});

test('permissions: custom routes map by the path rule to group, resource, name, sub-resource and verb', async () => {
  await using world = await live({ plugins: [bookshop({})] });
  const rules = [
    { apiGroups: ['api.library.example'], resources: ['books/mine', 'books/author'], verbs: ['get', 'list'] },
  ];
  await expect(201, world.admin('POST', `${core}/roles`, { metadata: { name: 'routes' }, rules }));
  const { send } = await world.person('ada', ['routes']);
  const base = '/apis/api.library.example/v1alpha1/books';
  await expect(403, send('POST', `${base}/-/lend`, {}));
  await expect(200, send('GET', `${base}/a/author/first`));
  assert.equal(
    (await expect(403, send('GET', `${base}/-/mine`))).body.code,
    'Forbidden',
    'request.client acts as the caller',
  );
  const both = await world.person('bob', ['routes', 'books-library-example-view']);
  await expect(200, both.send('GET', `${base}/-/mine`));
  await expect(401, world.anonymous('GET', `${base}/-/mine`));
});

test('permissions: an authenticator that a plugin registers is asked after the built-in ones, and goes with the plugin', async () => {
  await using world = await live({ plugins: [bookshop({})] });
  await expect(200, world.anonymous('GET', books, undefined, { 'x-bookshop': 'keeper' }));
  await expect(403, world.anonymous('GET', books, undefined, { 'x-bookshop': 'guest' }));
  await expect(401, world.anonymous('GET', books, undefined, { 'x-bookshop': 'system' }));
  await expect(401, world.anonymous('GET', books));
  const off = { metadata: { name: 'bookshop' }, spec: { enabled: false } };
  await expect(
    200,
    world.admin('PATCH', '/apis/plugin.platform.run/v1alpha1/plugins/bookshop', off, {
      'content-type': 'application/merge-patch+json',
    }),
  );
  let status = 0;
  for (let i = 0; i < 500 && status !== 401; i++)
    status = (await world.anonymous('GET', '/apis', undefined, { 'x-bookshop': 'keeper' })).status;
  assert.equal(status, 401);
});

test('permissions: the answer of can-i says what a caller may do and why, of others only to who may list roles and bindings', async () => {
  await using world = await live({}, (service) => service.schemeManager.register(Book));
  const { send } = await world.person('ada', ['books-library-example-view']);
  const yes = (await expect(200, send('POST', '/v3/can-i', { verb: 'get', type: 'books', name: 'a' }))).body;
  assert.equal(yes.allowed, true);
  assert.deepEqual(yes.because[0].roles, ['books-library-example-view']);
  assert.equal(
    (await expect(200, send('POST', '/v3/can-i', { verb: 'delete', type: 'books.library.example' }))).body.allowed,
    false,
  );
  assert.equal((await expect(200, send('POST', '/v3/can-i', { verb: 'get', path: '/apis' }))).body.allowed, true);
  await expect(403, send('POST', '/v3/can-i', { verb: 'get', type: 'books', user: 'admin' }));
  assert.equal(
    (await expect(200, world.admin('POST', '/v3/can-i', { verb: 'get', type: 'books', user: 'ada' }))).body.allowed,
    true,
  );
  assert.equal(
    (await expect(200, world.admin('POST', '/v3/can-i', { verb: 'get', type: 'secrets', user: 'ada' }))).body.allowed,
    false,
  );
  const wrong = (await expect(422, send('POST', '/v3/can-i', { verb: 7, kind: 'Book' }))).body;
  assert.deepEqual(wrong.errors.map((one: any) => one.pointer).sort(), ['', '/kind', '/verb']);
  await expect(401, world.anonymous('POST', '/v3/can-i', { verb: 'get', type: 'books' }));
  assert.equal((await expect(405, world.admin('GET', '/v3/can-i'))).headers.get('allow'), 'POST');
});

test('permissions: the audit log tells who, what, when, outcome, versions and request id; never a value, a token or a query', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kindred-audit-'));
  const file = join(folder, 'audit.log');
  try {
    const seen: { client?: ExtensionClient } = {};
    const secretText = 'a value that must not be told';
    let token = '';
    {
      await using world = await live({ plugins: [bookshop(seen)], auth: { audit: { file } } });
      const ada = await world.person('ada', ['books-library-example-manage']);
      token = ada.token;
      await expect(
        201,
        world.admin(
          'POST',
          `${core}/secrets`,
          { metadata: { name: 's' }, stringData: { key: secretText } },
          { 'x-request-id': 'request-1' },
        ),
      );
      await expect(201, ada.send('POST', books, { metadata: { name: 'a' }, spec: { title: 'A' } }));
      await expect(
        200,
        ada.send(
          'PUT',
          `${books}/a`,
          { metadata: { name: 'a' }, spec: { title: 'B' } },
          { 'x-request-id': 'request-2' },
        ),
      );
      await expect(
        200,
        ada.send(
          'PUT',
          `${books}/a`,
          { metadata: { name: 'a' }, spec: { title: 'B' } },
          { 'x-request-id': 'request-unchanged' },
        ),
      );
      await expect(200, ada.send('GET', `${books}?fieldSelector=${encodeURIComponent('spec.title=B')}`));
      await expect(
        403,
        ada.send('GET', `${core}/secrets?labelSelector=hidden`, undefined, { 'x-request-id': 'request-3' }),
      );
      await expect(401, world.as(`knd_${'A'.repeat(43)}`)('GET', books, undefined, { 'x-request-id': 'request-4' }));
      await seen.client!.create(Book, { metadata: { name: 'b' }, spec: { title: 'B' } } as never);
      await expect(200, ada.send('DELETE', `${books}/a`));
    }
    const text = await readFile(file, 'utf8');
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.ok(!text.includes(secretText) && !text.includes(Buffer.from(secretText).toString('base64')));
    assert.ok(
      !text.includes('knd_') &&
        !text.includes(token.slice(4)) &&
        !text.includes('hidden') &&
        !text.includes('Selector'),
    );
    const made = lines.find((line) => line.requestId === 'request-1');
    assert.deepEqual(
      { ...made, time: 0, revision: 0, credential: 0, address: 0 },
      {
        time: 0,
        requestId: 'request-1',
        identity: 'admin',
        origin: 'http',
        credential: 0,
        address: 0,
        verb: 'create',
        group: '',
        resource: 'secrets',
        name: 's',
        outcome: 'done',
        after: 0,
        revision: 0,
      },
    );
    const put = lines.find((line) => line.requestId === 'request-2');
    assert.deepEqual([put.verb, put.before, put.after, put.identity], ['update', 0, 1, 'ada']);
    assert.equal(
      lines.find((line) => line.requestId === 'request-unchanged'),
      undefined,
      'nothing was changed',
    );
    const refused = lines.find((line) => line.requestId === 'request-3');
    assert.deepEqual(
      [refused.outcome, refused.status, refused.code, refused.resource],
      ['refused', 403, 'Forbidden', 'secrets'],
    );
    const unknown = lines.find((line) => line.requestId === 'request-4');
    assert.deepEqual(
      [unknown.outcome, unknown.status, unknown.identity, unknown.resource],
      ['refused', 401, 'system:anonymous', 'books'],
    );
    const byPlugin = lines.find((line) => line.name === 'b' && line.resource === 'books');
    assert.deepEqual(
      [byPlugin.origin, byPlugin.plugin, byPlugin.identity],
      ['plugin', 'bookshop', 'system:plugin:bookshop'],
    );
    assert.ok(lines.some((line) => line.origin === 'host' && line.resource === 'roles'));
    const gone = lines.filter((line) => line.name === 'a' && line.verb === 'delete');
    assert.deepEqual(
      gone.map((line) => [line.before, line.after]),
      [[1, 2]],
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('errors: too many requests of one identity are 429 with Retry-After; another identity is served on', async () => {
  const rateLimit = { perIdentity: { perSecond: 0.001, burst: 8 }, perAddress: false as const, exemptLoopback: false };
  await using world = await live({ auth: { rateLimit } }, (service) => service.schemeManager.register(Book));
  const { send } = await world.person('ada', ['books-library-example-view']);
  const answers = [];
  for (let i = 0; i < 10; i++) answers.push(await send('GET', books));
  assert.deepEqual(
    answers.map((answer) => answer.status),
    [...Array(8).fill(200), 429, 429],
  );
  const refused = answers.at(-1)!;
  assert.equal(refused.body.code, 'TooManyRequests');
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  await expect(200, world.admin('GET', books));
});

test('errors: the buckets fill again with time, are counted per address before log-in, and their number is bounded', () => {
  let now = 0;
  const limiter = new RateLimiter({ perAddress: { perSecond: 2, burst: 3 }, buckets: 2 }, () => now);
  const admitted = (address: string) => {
    try {
      limiter.admitAddress(address);
      return true;
    } catch (error) {
      assert.ok(error instanceof KindredError && error.code === 'TooManyRequests');
      return false;
    }
  };
  assert.deepEqual(
    [1, 2, 3, 4].map(() => admitted('10.0.0.1')),
    [true, true, true, false],
  );
  now = 500;
  assert.deepEqual(
    [1, 2].map(() => admitted('10.0.0.1')),
    [true, false],
  );
  now = 1_000_000;
  assert.deepEqual(
    [1, 2, 3, 4].map(() => admitted('10.0.0.1')),
    [true, true, true, false],
    'never more than the burst',
  );
  assert.ok(admitted('10.0.0.2') && admitted('10.0.0.3'));
  assert.ok(admitted('10.0.0.1'), 'the bucket unused for longest was forgotten');
  for (let i = 0; i < 100; i++) assert.ok(admitted('127.0.0.1') && admitted('::1'), 'the own machine');
  assert.deepEqual(
    ['2001:db8::1', '2001:db8::2', '2001:db8::3:0:0:0', '2001:db8::4', '2001:db8:0:1::1'].map(admitted),
    [true, true, true, false, true],
    'an IPv6 host has all addresses of its network',
  );
});
