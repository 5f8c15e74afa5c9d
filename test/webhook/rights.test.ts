import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import type { ServiceOptions } from '../../src/options.ts';
import type { PluginContext } from '../../src/plugin/plugin.ts';
import { definePlugin } from '../../src/plugin/plugin.ts';
import { openStore } from '../../src/store/open.ts';
import type { WebhookStatus } from '../../src/webhook/model.ts';
import type { Live, Send } from '../auth/live.ts';
import { bindingOf, expect, live, until } from '../auth/live.ts';
import { Book, books } from '../auth/models.ts';
import { Receiver } from './receiver.ts';

const core = '/api/v1alpha1';
const hooks = '/apis/webhook.platform.run/v1alpha1/webhooks';
const merge = { 'content-type': 'application/merge-patch+json' };

/** Knows whom a header names, and gives them roles that are bound to nobody. */
const porter = definePlugin({
  start(context: PluginContext) {
    context.registerAuthenticator(async (request) => {
      const name = request.headers.get('x-name');
      return name === null ? undefined : { name, roles: ['super-role'] };
    });
  },
});

interface Library {
  readonly world: Live;
  readonly receiver: Receiver;
  readonly admin: Send;
  /** `ada`, who may list and watch books, and make webhooks. */
  readonly ada: Send;
  readonly tokens: { readonly admin: string; readonly ada: string };
  /** Makes a webhook as somebody. @param resource by default books in any version */
  hook(send: Send, resource?: string): ReturnType<Send>;
  status(): Promise<WebhookStatus>;
  /** Titles of the books that were delivered. */
  titles(): string[];
  add(title: string): Promise<void>;
  /** Waits until nothing is delivered for want of rights, and says why. */
  forbidden(): Promise<string>;
}

/** @param tokens of an earlier run on the same database */
async function library(t: TestContext, options: ServiceOptions = {}, tokens?: Library['tokens']): Promise<Library> {
  const receiver = new Receiver();
  await receiver.start();
  const webhook = { allowPrivateAddresses: true, minDelay: 20, maxDelay: 200 };
  const plugins = [{ name: 'porter', plugin: porter }];
  const world = await live({ webhook, plugins, ...options }, (service) => service.schemeManager.register(Book));
  t.after(async () => {
    await world.service.stop();
    await receiver.stop();
  });
  const known = tokens ?? { admin: world.token!, ada: await populate(world) };
  const admin = world.as(known.admin);
  const status = async () => (await expect(200, admin('GET', `${hooks}/hook`))).body.status;
  return {
    world,
    receiver,
    admin,
    ada: world.as(known.ada),
    tokens: known,
    hook: (send, resource = 'books.library.example') =>
      send('POST', hooks, {
        metadata: { name: 'hook' },
        spec: { url: receiver.url, resources: [resource], secretName: 'signing' },
      }),
    status,
    titles: () => receiver.accepted.map(({ event }) => event.object.spec.title),
    async add(title) {
      await expect(201, admin('POST', books, { metadata: { name: title.toLowerCase() }, spec: { title } }));
    },
    async forbidden() {
      const isTold = () => receiver.attempts.some(({ event }) => event.object.spec.title === 'Hidden');
      let message: string | undefined;
      await until(async () => {
        const ready = (await status()).conditions.find(({ type }: { type: string }) => type === 'Ready');
        if (ready?.reason === 'Forbidden') message = ready.message;
        return message !== undefined || isTold();
      }, 'forbidden, or told');
      assert.ok(!isTold(), 'nothing is told');
      return message!;
    },
  };
}

/** The Secret, the role of those who make webhooks, and `ada`, whose token it gives. */
async function populate(world: Live): Promise<string> {
  const rules = [
    { apiGroups: ['webhook.platform.run'], resources: ['webhooks', 'webhooks/status'], verbs: ['*'] },
    { apiGroups: [''], resources: ['secrets'], resourceNames: ['signing'], verbs: ['get'] },
  ];
  await expect(201, world.admin('POST', `${core}/roles`, { metadata: { name: 'hooker' }, rules }));
  const key = { key: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' };
  await expect(201, world.admin('POST', `${core}/secrets`, { metadata: { name: 'signing' }, stringData: key }));
  return (await world.person('ada', ['hooker', 'books-library-example-view'])).token;
}

const bindingsOf = async ({ world }: Library, role: string): Promise<string[]> => {
  const selector = encodeURIComponent(`roleRef.name=${role},subjects.name=ada`);
  const list = await expect(200, world.admin('GET', `${core}/rolebindings?fieldSelector=${selector}`));
  return list.body.items.map((one: { metadata: { name: string } }) => one.metadata.name);
};

interface Way {
  readonly name: string;
  take(shop: Library): Promise<unknown>;
  /** Gives the rights back; none: they cannot come back to this author. */
  giveBack?(shop: Library): Promise<unknown>;
  readonly message: RegExp;
}

const view = { apiGroups: ['library.example'], resources: ['books'] };
const changeRole =
  (verbs: string[]) =>
  ({ world }: Library) =>
    expect(200, world.admin('PATCH', `${core}/roles/extra`, { rules: [{ ...view, verbs }] }, merge));
const ways: readonly Way[] = [
  {
    name: 'its binding is deleted',
    async take(shop) {
      for (const one of await bindingsOf(shop, 'books-library-example-view'))
        await expect(200, shop.world.admin('DELETE', `${core}/rolebindings/${one}`));
    },
    giveBack: ({ world }) =>
      expect(201, world.admin('POST', `${core}/rolebindings`, bindingOf('books-library-example-view', 'ada'))),
    message: /author "ada" may not list books: no rule allows/,
  },
  {
    name: 'its role loses a verb',
    async take(shop) {
      const rules = [{ ...view, verbs: ['list', 'watch'] }];
      await expect(201, shop.world.admin('POST', `${core}/roles`, { metadata: { name: 'extra' }, rules }));
      await expect(201, shop.world.admin('POST', `${core}/rolebindings`, bindingOf('extra', 'ada')));
      await ways[0]!.take(shop);
      await changeRole(['list'])(shop);
    },
    giveBack: changeRole(['list', 'watch']),
    message: /may not watch books/,
  },
  {
    name: 'it may see some objects alone',
    async take(shop) {
      const rules = [{ ...view, verbs: ['list', 'watch'], resourceNames: ['first'] }];
      await expect(201, shop.world.admin('POST', `${core}/roles`, { metadata: { name: 'extra' }, rules }));
      await expect(201, shop.world.admin('POST', `${core}/rolebindings`, bindingOf('extra', 'ada')));
      await ways[0]!.take(shop);
    },
    message: /may not list books/,
  },
  {
    name: 'it may not read the Secret any more',
    take: ({ world }) => expect(200, world.admin('PATCH', `${core}/roles/hooker`, { rules: [] }, merge)),
    message: /may not get secrets/,
  },
  {
    name: 'the user is disabled',
    take: ({ world }) => expect(200, world.admin('PATCH', `${core}/users/ada`, { spec: { disabled: true } }, merge)),
    giveBack: ({ world }) =>
      expect(200, world.admin('PATCH', `${core}/users/ada`, { spec: { disabled: false } }, merge)),
    message: /user "ada" is disabled/,
  },
  {
    name: 'the user is deleted, and another comes with the same name and rights',
    async take({ world }) {
      await expect(200, world.admin('DELETE', `${core}/users/ada`));
      await world.person('ada', ['hooker', 'books-library-example-view']);
    },
    message: /user "ada" of then is gone/,
  },
];
for (const way of ways) {
  test(`permissions: a webhook delivers only what its author may see: not when ${way.name}`, async (t) => {
    const shop = await library(t);
    await expect(201, shop.hook(shop.ada));
    await shop.add('First');
    await until(() => shop.titles().length === 1, 'first delivery');
    await way.take(shop);
    await shop.add('Hidden');
    assert.match(await shop.forbidden(), way.message);
    assert.deepEqual(
      shop.receiver.attempts.map(({ event }) => event.object.spec.title),
      ['First'],
    );
    if (!way.giveBack) return;
    await way.giveBack(shop);
    await until(() => shop.titles().length === 2, 'delivered when the rights are back');
    assert.deepEqual(shop.titles(), ['First', 'Hidden']);
  });
}

test('permissions: a webhook on one version of a model needs the rights to the model', async (t) => {
  const shop = await library(t);
  const { token } = await shop.world.person('carl', ['hooker']);
  const refused = await expect(403, shop.hook(shop.world.as(token), 'books.v1alpha1.library.example'));
  assert.match(refused.body.detail, /may not list books: /);
  await expect(201, shop.hook(shop.ada, 'books.v1alpha1.library.example'));
  await shop.add('First');
  await until(() => shop.titles().length === 1, 'delivered');
  await ways[0]!.take(shop);
  await shop.add('Hidden');
  assert.match(await shop.forbidden(), ways[0]!.message);
});

test('permissions: a webhook on a version that is not served needs the rights to a group of that name', async (t) => {
  const shop = await library(t);
  const refused = await expect(403, shop.hook(shop.ada, 'books.v2.library.example'));
  assert.match(refused.body.detail, /may not list books: /);
  const rules = [{ apiGroups: ['v2.library.example'], resources: ['books'], verbs: ['list', 'watch'] }];
  await expect(201, shop.world.admin('POST', `${core}/roles`, { metadata: { name: 'other' }, rules }));
  await expect(201, shop.world.admin('POST', `${core}/rolebindings`, bindingOf('other', 'ada')));
  await expect(201, shop.hook(shop.ada, 'books.v2.library.example'));
});

test('permissions: a webhook tells nothing from before it was made', async (t) => {
  const shop = await library(t);
  await shop.add('Before');
  await expect(201, shop.hook(shop.ada));
  await shop.add('After');
  await until(() => shop.titles().includes('After'), 'delivered');
  assert.deepEqual(shop.titles(), ['After']);
});

test('permissions: whoever changes what a webhook delivers, or where to, is its author from then on; a label does not make one', async (t) => {
  const shop = await library(t);
  await expect(201, shop.hook(shop.ada));
  const author = async () => (await shop.status()).author;
  assert.deepEqual((await author())?.name, 'ada');
  await shop.world.person('bob', ['hooker', 'books-library-example-view']);
  const label = { metadata: { labels: { team: 'a' } } };
  await expect(200, shop.world.admin('PATCH', `${hooks}/hook`, label, merge));
  assert.equal((await author())?.name, 'ada');
  await expect(200, shop.world.admin('PATCH', `${hooks}/hook`, { spec: { events: ['ADDED'] } }, merge));
  assert.equal((await author())?.name, 'admin');
  await expect(200, shop.world.admin('DELETE', `${core}/users/ada`));
  await shop.add('First');
  await until(() => shop.titles().length === 1, 'delivered for the new author');
});

test('permissions: whoever takes a webhook over gets none of the waiting changes of what it named before', async (t) => {
  const shop = await library(t);
  await expect(201, shop.hook(shop.ada));
  shop.receiver.reply = () => ({ status: 503 });
  await shop.add('Hidden');
  await until(async () => (await shop.status()).failures > 0, 'a waiting change');
  const own = new Receiver();
  await own.start();
  t.after(() => own.stop());
  const boris = (await shop.world.person('boris', ['hooker'])).send;
  const spec = { url: own.url, resources: ['webhooks.webhook.platform.run'] };
  await expect(200, boris('PATCH', `${hooks}/hook`, { spec }, merge));
  await until(async () => (await shop.status()).dropped === 1, 'the waiting change is dropped');
  await until(() => own.accepted.length > 0, 'a change of what the webhook names');
  const told = new Set(own.attempts.map(({ event }) => event.resource));
  assert.deepEqual([...told], ['webhooks.webhook.platform.run']);
});

test('permissions: nobody writes the author of a webhook but the service', async (t) => {
  const shop = await library(t);
  const forged = { kind: 'System', name: 'system' };
  const made = await expect(201, shop.hook(shop.ada));
  assert.equal(made.body.status.author.name, 'ada');
  const status = { author: forged, lastRevision: 0, failures: 0, dropped: 0, conditions: [] };
  const object = { ...made.body, status };
  await expect(200, shop.ada('PUT', `${hooks}/hook/status`, { ...object, metadata: { name: 'hook' } }));
  await expect(200, shop.ada('PATCH', `${hooks}/hook/status`, { status: { author: forged } }, merge));
  await expect(200, shop.ada('PATCH', `${hooks}/hook/status`, { status: null }, merge));
  await shop.add('First');
  await until(() => shop.titles().length === 1, 'delivered');
  const { author } = await shop.status();
  assert.deepEqual([author?.kind, author?.name], ['User', 'ada']);
});

test('permissions: a webhook goes on without a credential, so rights that only a credential gives make none', async (t) => {
  const shop = await library(t);
  const eve: Send = (method, path, body, headers) =>
    shop.world.anonymous(method, path, body, { ...headers, 'x-name': 'eve' });
  const refused = await expect(403, shop.hook(eve));
  assert.match(refused.body.detail, /only as long as the credential lasts/);
  for (const role of ['hooker', 'books-library-example-view'])
    await expect(201, shop.world.admin('POST', `${core}/rolebindings`, bindingOf(role, 'eve')));
  await expect(201, shop.hook(eve));
  await shop.add('First');
  await until(() => shop.titles().length === 1, 'delivered');
});

test('permissions: a webhook whose author is not known delivers nothing until somebody changes its specification', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'kindred-authors-'));
  t.after(() => rm(folder, { recursive: true }));
  const database = `sqlite:${join(folder, 'kindred.db')}`;
  const first = await library(t, { database });
  await expect(201, first.hook(first.ada));
  await first.world.service.stop();
  // As an earlier version stored it.
  const store = await openStore(database);
  const model = await store.modelNumber('webhook.platform.run', 'Webhook');
  const [row] = await store.scan(model, 0, 1);
  const { status: _status, ...object } = JSON.parse(Buffer.from(row!.bytes).toString());
  const { id, revision, name } = row!;
  const bytes = Buffer.from(JSON.stringify(object));
  await store.commit([{ type: 'update', model, name, bytes, expected: { id, revision } }], Date.now());
  await store.close();
  const shop = await library(t, { database }, first.tokens);
  await shop.add('First');
  assert.match(await shop.forbidden(), /not known who made it/);
  assert.deepEqual(shop.receiver.attempts, []);
  const change = { spec: { url: shop.receiver.url } };
  await expect(200, shop.ada('PATCH', `${hooks}/hook`, change, merge));
  await until(() => shop.titles().length === 1, 'delivered for its new author');
});
