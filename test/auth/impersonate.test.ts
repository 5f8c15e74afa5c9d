import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pino } from 'pino';
import { digestOf, newToken } from '../../src/auth/authentication/tokens.ts';
import { PersonalAccessToken } from '../../src/auth/models.ts';
import type { PluginContext } from '../../src/plugin/plugin.ts';
import { definePlugin } from '../../src/plugin/plugin.ts';
import { openStore } from '../../src/store/open.ts';
import type { Live } from './live.ts';
import { bindingOf, expect, live, until } from './live.ts';
import { Book, books } from './models.ts';

const core = '/api/v1alpha1';
const library = (options = {}): Promise<Live> => live(options, (service) => service.schemeManager.register(Book));
const tokenFor = (user: string, name?: string) => ({
  metadata: name === undefined ? { generateName: 't-' } : { name },
  spec: { user },
});
const role = (name: string, ...rules: object[]) => ({ metadata: { name }, rules });
const making = { apiGroups: [''], resources: ['personalaccesstokens'], verbs: ['create'] };
const impersonate = (...resourceNames: string[]) => ({
  apiGroups: [''],
  resources: ['users'],
  verbs: ['impersonate'],
  resourceNames,
});

test('permissions: nobody makes a token for somebody else without the right to impersonate them, whatever they may do today', async () => {
  await using world = await library();
  await expect(201, world.admin('POST', `${core}/roles`, role('maker', making)));
  const { send } = await world.person('maker', ['maker']);
  await world.person('bob', []);
  for (const user of ['alice', 'bob', 'boss@corp', 'admin']) {
    const answer = await expect(403, send('POST', `${core}/personalaccesstokens`, tokenFor(user)));
    assert.equal(answer.body.code, 'Forbidden');
    assert.ok(answer.body.detail.includes(`needs the right to impersonate users "${user}"`));
  }
  const lines = [tokenFor('alice'), tokenFor('maker')].map((line) => JSON.stringify(line)).join('\n');
  const bulk = send('POST', `${core}/personalaccesstokens`, lines, { 'content-type': 'application/x-ndjson' });
  const results = (await expect(200, bulk)).text.trim().split('\n');
  assert.deepEqual(
    results.map((line) => JSON.parse(line).status),
    [403, 201],
  );
  const own = await expect(201, send('POST', `${core}/personalaccesstokens`, tokenFor('maker')));
  await expect(200, world.as(own.body.status.token)('GET', '/apis'));
});

test('permissions: who may impersonate a user makes tokens for this one, which do what the user may do', async () => {
  await using world = await library();
  await expect(201, world.admin('POST', `${core}/roles`, role('deputy', making, impersonate('alice', 'boss@corp'))));
  const { send } = await world.person('deputy', ['deputy']);
  const ask = (name: string) => send('POST', '/v3/can-i', { verb: 'impersonate', resource: 'users', name });
  assert.deepEqual([(await ask('alice')).body.allowed, (await ask('bob')).body.allowed], [true, false]);
  await world.person('alice', ['books-library-example-view']);
  const made = await expect(201, send('POST', `${core}/personalaccesstokens`, tokenFor('alice')));
  const alice = world.as(made.body.status.token);
  await expect(200, alice('GET', books));
  await expect(403, send('GET', books));
  await expect(403, send('POST', `${core}/personalaccesstokens`, tokenFor('bob')));
  // A user who is known by JWT has no User.
  const boss = await expect(201, send('POST', `${core}/personalaccesstokens`, tokenFor('boss@corp')));
  await expect(200, world.as(boss.body.status.token)('GET', '/apis'));
});

test('permissions: the right to impersonate is granted by nobody who lacks it', async () => {
  await using world = await library();
  const keeping = [
    { apiGroups: [''], resources: ['roles', 'rolebindings', 'personalaccesstokens'], verbs: ['*'] },
    { apiGroups: [''], resources: ['users'], verbs: ['get', 'list', 'create', 'update', 'patch', 'delete'] },
  ];
  await expect(201, world.admin('POST', `${core}/roles`, role('keeper', ...keeping)));
  await expect(201, world.admin('POST', `${core}/roles`, role('deputy', impersonate('alice'))));
  const { send } = await world.person('keeper', ['keeper']);
  const refused = async (method: string, path: string, body: unknown, type?: string) => {
    const answer = await send(method, path, body, type === undefined ? {} : { 'content-type': type });
    assert.equal(answer.status, 403, `${method} ${path} ${JSON.stringify(body)}: ${answer.text}`);
  };
  for (const rule of [
    impersonate(),
    impersonate('alice'),
    { ...impersonate(), verbs: ['*'] },
    { ...impersonate('alice'), verbs: ['get', '*'] },
    { ...impersonate(), resources: ['*'] },
    { ...impersonate(), apiGroups: ['*'] },
  ]) {
    await refused('POST', `${core}/roles`, role('mine', rule));
  }
  const dependencies = { 'rbac.platform.run/dependencies': '["deputy"]' };
  await refused('POST', `${core}/roles`, { metadata: { name: 'mine', annotations: dependencies }, rules: [] });
  const aggregated = { metadata: { labels: { 'rbac.platform.run/aggregate-to-keeper': 'true' } } };
  await refused('PATCH', `${core}/roles/deputy`, aggregated, 'application/merge-patch+json');
  await refused('POST', `${core}/rolebindings`, bindingOf('deputy', 'keeper'));
  const add = [{ op: 'add', path: '/rules/1/verbs/-', value: 'impersonate' }];
  await refused('PATCH', `${core}/roles/keeper`, add, 'application/json-patch+json');
});

test('permissions: who manages users and tokens cannot act as another user by that', async () => {
  await using world = await library();
  const { send } = await world.person('help', ['users-manage', 'personalaccesstokens-manage']);
  await expect(201, send('POST', `${core}/users`, { metadata: { name: 'new' } }));
  await expect(403, send('POST', `${core}/personalaccesstokens`, tokenFor('admin')));
  await expect(403, send('POST', `${core}/personalaccesstokens`, tokenFor('new')));
  const { rules } = (await expect(200, world.admin('GET', `${core}/roles/users-manage`))).body;
  assert.deepEqual(rules[0].verbs, ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'explain']);
});

/** Knows whom a header names, as a plugin does whose users have no User objects. */
const porter = definePlugin({
  start(context: PluginContext) {
    context.registerAuthenticator(async (request) => {
      const name = request.headers.get('x-name');
      return name === null ? undefined : { name, roles: ['personalaccesstokens-manage'] };
    });
  },
});

test('permissions: a token that somebody made for themselves ends when a User of their name is made, whoever that is', async () => {
  await using world = await library({ plugins: [{ name: 'porter', plugin: porter }] });
  const made = await expect(
    201,
    world.anonymous('POST', `${core}/personalaccesstokens`, tokenFor('later', 'own'), { 'x-name': 'later' }),
  );
  const early = world.as(made.body.status.token);
  await expect(200, early('GET', '/apis'));
  await expect(201, world.admin('POST', `${core}/users`, { metadata: { name: 'later' } }));
  await expect(401, early('GET', '/apis'));
  await expect(201, world.admin('POST', `${core}/rolebindings`, bindingOf('super-role', 'later')));
  await expect(401, early('GET', `${core}/secrets`));
  await until(
    async () => (await world.admin('GET', `${core}/personalaccesstokens/own`)).status === 404,
    'the token is removed',
  );
  await expect(200, world.admin('DELETE', `${core}/users/later`));
  await expect(401, early('GET', '/apis'));
});

test('permissions: of tokens from before it was kept who made them, those for names without a User no longer count', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kindred-tokens-'));
  const database = `sqlite:${join(folder, 'kindred.db')}`;
  const [bound, unbound] = [newToken(), newToken()];
  const told: { msg: string; tokens?: string[] }[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void told.push(JSON.parse(line)) });
  try {
    let admin: string;
    {
      await using world = await library({ database, logger });
      admin = world.token!;
      await world.person('ada', []);
      const { creationTimestamp } = (await world.admin('GET', `${core}/users/ada`)).body.metadata;
      // As an earlier version stored them.
      const { client } = world.service;
      const { metadata } = await client.create(PersonalAccessToken, { metadata: { name: 'old' }, spec: { user: 'x' } });
      await world.service.stop();
      const store = await openStore(database);
      const old = (name: string, user: string, status: object) => ({
        type: 'create' as const,
        model: 0,
        name,
        bytes: Buffer.from(
          JSON.stringify({
            apiVersion: 'v1alpha1',
            kind: 'PersonalAccessToken',
            metadata: { ...metadata, name },
            spec: { user },
            status,
          }),
        ),
      });
      const model = await store.modelNumber('', 'PersonalAccessToken');
      const writes = [
        old('bound', 'ada', { hash: digestOf(bound), userCreated: creationTimestamp }),
        old('unbound', 'boss@corp', { hash: digestOf(unbound) }),
      ];
      await store.commit(
        writes.map((write) => ({ ...write, model })),
        Date.now(),
      );
      await store.close();
    }
    await using world = await library({ database, logger });
    await expect(200, world.as(bound)('GET', '/apis'));
    await expect(401, world.as(unbound)('GET', '/apis'));
    const names = (await expect(200, world.as(admin)('GET', `${core}/personalaccesstokens?size=100`))).body.items.map(
      (one: { metadata: { name: string } }) => one.metadata.name,
    );
    assert.ok(names.includes('bound') && !names.includes('unbound'), names.join());
    const [line] = told.filter(({ msg }) => msg.startsWith('Some tokens are from before'));
    assert.deepEqual(line?.tokens, ['bound']);
  } finally {
    await rm(folder, { recursive: true });
  }
});
