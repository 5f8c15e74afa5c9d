import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { after, test } from 'node:test';
import type { Model, Service, ServiceOptions } from 'kindred';
import { createService, defineModel, Type } from 'kindred';
import { until } from 'kindred/testing';
import type { WebhookSpec, WebhookStatus } from '../../src/webhook/model.ts';
import { databaseAdapters } from '../servers.ts';
import { isSigned, Receiver } from './receiver.ts';

const Order = defineModel({
  gvk: { group: 'shop.example.com', version: 'v1', kind: 'Order', singular: 'order', plural: 'orders' },
  spec: Type.Object({ step: Type.Integer() }),
});
const orders = 'orders.shop.example.com';
const hooks = '/apis/webhook.platform.run/v1alpha1/webhooks';
const key = Buffer.from('a key that only the two of us know');

const folder = mkdtempSync(join(tmpdir(), 'kindred-webhook-'));
after(() => rmSync(folder, { recursive: true, force: true }));

class Shop {
  readonly receiver: Receiver;
  readonly options: ServiceOptions;
  service!: Service;
  url = '';
  token: string | undefined;

  constructor(receiver: Receiver, options: ServiceOptions) {
    this.receiver = receiver;
    this.options = options;
  }

  async start(...others: Model<any>[]): Promise<void> {
    this.service = await createService({ port: 0, database: 'sqlite::memory:', auth: false, ...this.options });
    for (const model of [Order, ...others]) this.service.schemeManager.register(model);
    const { url, administratorToken } = await this.service.start();
    this.url = url;
    this.token ??= administratorToken;
  }

  async send(method: string, path: string, body?: unknown, token = this.token) {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const response = await fetch(this.url + path, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': type }),
        ...(token && { authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const json: any = await response.json();
    return { status: response.status, json };
  }

  async secret(name = 'signing', data: Record<string, string> = { key: key.toString('base64') }): Promise<void> {
    const made = await this.send('POST', '/api/v1alpha1/secrets', { metadata: { name }, data });
    assert.equal(made.status, 201, JSON.stringify(made.json));
  }

  hook(spec: Partial<WebhookSpec> = {}, name = 'hook') {
    const whole = { url: this.receiver.url, resources: [orders], secretName: 'signing', ...spec };
    return this.send('POST', hooks, { metadata: { name }, spec: whole });
  }

  async status(name = 'hook'): Promise<WebhookStatus | undefined> {
    return (await this.send('GET', `${hooks}/${name}`)).json.status;
  }

  /** Creates the order at step 0, or moves it on. */
  async step(name: string, step: number, labels?: Record<string, string>): Promise<void> {
    const { client } = this.service;
    if (step === 0) await client.create(Order, { metadata: { name, labels }, spec: { step } });
    else await client.patch(Order, name, { spec: { step } });
  }

  steps(name: string): number[] {
    const own = this.receiver.accepted.filter(({ event }) => event.object.metadata.name === name);
    return own.map(({ event }) => event.object.spec.step);
  }
}

/** A receiver, and a service that may deliver to loopback, both gone after the test. */
async function open(t: TestContext, options: ServiceOptions = {}): Promise<Shop> {
  const receiver = new Receiver();
  await receiver.start();
  const webhook = { allowPrivateAddresses: true, minDelay: 20, maxDelay: 200, timeout: 2_000, ...options.webhook };
  const shop = new Shop(receiver, { ...options, webhook });
  await shop.start();
  t.after(async () => {
    await shop.service.stop();
    await receiver.stop();
  });
  return shop;
}

test('a delivery carries the event, is signed over id, timestamp and body, and its state is on the status', async (t) => {
  const shop = await open(t);
  await shop.secret();
  const made = await shop.hook();
  assert.equal(made.status, 201, JSON.stringify(made.json));
  await shop.step('a', 0);
  await shop.step('a', 1);
  await shop.service.client.delete(Order, 'a');
  const { accepted } = shop.receiver;
  await until(() => accepted.length === 3);
  assert.deepEqual(
    accepted.map(({ event: { type, resource, object } }) => [type, resource, object.spec.step]),
    [
      ['ADDED', orders, 0],
      ['MODIFIED', orders, 1],
      ['DELETED', orders, 1],
    ],
  );
  for (const received of accepted) {
    assert.ok(isSigned(received, key), received.body);
    assert.ok(!isSigned({ ...received, body: `${received.body} ` }, key));
    assert.equal(received.headers['webhook-id'], `hook-${received.event.revision}`);
    assert.ok(Math.abs(Number(received.headers['webhook-timestamp']) * 1_000 - Date.now()) < 60_000);
    assert.match(received.event.timestamp, /^\d{4}-.*Z$/);
  }
  const last = accepted.at(-1)!.event.revision;
  const status = await until(async () => {
    const now = await shop.status();
    return now && now.lastRevision >= last ? now : undefined;
  });
  assert.equal(status.failures, 0);
  assert.equal(status.nextTry, undefined);
  assert.ok(status.lastDelivery);
  assert.deepEqual(
    status.conditions.map(({ type, status: holds, reason }) => [type, holds, reason]),
    [['Ready', 'True', 'Delivering']],
  );
});

test('a resource without a model is named by a condition, until there is one', async (t) => {
  const shop = await open(t);
  await shop.secret();
  assert.equal((await shop.hook({ resources: ['orders', orders, 'todos.todo.example.com'] })).status, 201);
  const unknown = async () => (await shop.status())?.conditions.find(({ type }) => type === 'UnknownResource');
  const first = await until(unknown);
  assert.deepEqual([first.status, first.reason], ['True', 'NotRegistered']);
  assert.match(first.message, /"orders", "todos\.todo\.example\.com"; a resource is written plural\.group$/);
  // Those that are known are told all the same.
  await shop.step('a', 0);
  await until(() => shop.steps('a').length === 1);

  await shop.send('PATCH', `${hooks}/hook`, { spec: { resources: [orders, 'todos.todo.example.com'] } });
  const second = await until(async () => {
    const now = await unknown();
    return now && !now.message.includes('"orders"') && now;
  });
  assert.match((second as typeof first).message, /^no model is registered for "todos\.todo\.example\.com"$/);

  const Todo = defineModel({
    gvk: { group: 'todo.example.com', version: 'v1', kind: 'Todo', singular: 'todo', plural: 'todos' },
    spec: Type.Object({}),
  });
  const scheme = shop.service.schemeManager.register(Todo);
  await until(async () => (await unknown())?.status === 'False');
  shop.service.schemeManager.unregister(scheme);
  await until(async () => (await unknown())?.status === 'True');
  await shop.send('PATCH', `${hooks}/hook`, { spec: { resources: [orders] } });
  await until(async () => (await unknown())?.status === 'False');
  assert.equal((await unknown())?.reason, 'Registered');
});

test('labelSelector and events choose: entering is ADDED, leaving is DELETED', async (t) => {
  const shop = await open(t);
  await shop.secret();
  await shop.hook({ labelSelector: 'tier=gold', events: ['ADDED', 'DELETED'] });
  await shop.step('plain', 0);
  await shop.step('gold', 0, { tier: 'gold' });
  await shop.step('gold', 1);
  await shop.service.client.patch(Order, 'gold', { metadata: { labels: { tier: 'silver' } } });
  await shop.service.client.patch(Order, 'plain', { metadata: { labels: { tier: 'gold' } } });
  await until(() => shop.receiver.accepted.length === 3);
  assert.deepEqual(
    shop.receiver.accepted.map(({ event }) => [event.type, event.object.metadata.name]),
    [
      ['ADDED', 'gold'],
      ['DELETED', 'gold'],
      ['ADDED', 'plain'],
    ],
  );
});

test('in order for each object while its receiver refuses, and nothing is lost', async (t) => {
  const shop = await open(t);
  await shop.secret();
  await shop.hook();
  let asked = 0;
  shop.receiver.reply = () => (asked++ % 3 === 0 ? { status: 500 } : {});
  const names = Array.from({ length: 12 }, (_, i) => `o-${i}`);
  for (let step = 0; step < 8; step++) await Promise.all(names.map((name) => shop.step(name, step)));
  await until(() => shop.receiver.accepted.length >= 96, { timeout: 30_000 });
  for (const name of names) assert.deepEqual(shop.steps(name), [0, 1, 2, 3, 4, 5, 6, 7], name);
  assert.equal(shop.receiver.overlapped, false, 'two attempts for one object at once');
  assert.ok(shop.receiver.mostOpen <= 8, `${shop.receiver.mostOpen} attempts at once`);
});

test('one object that is refused holds up no other, and waits longer each time', async (t) => {
  const shop = await open(t);
  await shop.secret();
  await shop.hook();
  let isMended = false;
  shop.receiver.reply = ({ event }) => (event.object.metadata.name === 'bad' && !isMended ? { status: 503 } : {});
  await shop.step('bad', 0);
  await shop.step('bad', 1);
  for (let step = 0; step < 20; step++) await shop.step('good', step);
  await until(() => shop.steps('good').length === 20);
  assert.deepEqual(shop.steps('bad'), []);
  const failing = await until(async () => {
    const status = await shop.status();
    return status && status.failures > 0 && status.nextTry ? status : undefined;
  });
  const ready = failing.conditions.find(({ type }) => type === 'Ready')!;
  assert.deepEqual([ready.status, ready.reason], ['False', 'Refused']);
  assert.match(ready.message, /503/);
  const bad = shop.receiver.attempts.find(({ event }) => event.object.metadata.name === 'bad')!;
  assert.ok(failing.lastRevision < bad.event.revision, 'what is not delivered does not count as delivered');
  isMended = true;
  await until(() => shop.steps('bad').length === 2);
  assert.deepEqual(shop.steps('bad'), [0, 1]);
});

test('a receiver that is down gets everything when it is back, also after the service has restarted meanwhile', async (t) => {
  const shop = await open(t, { database: `sqlite:${join(folder, 'restart.db')}` });
  await shop.secret();
  await shop.hook();
  await shop.step('a', 0);
  await until(() => shop.receiver.accepted.length === 1);
  await shop.receiver.stop();
  for (let step = 1; step < 5; step++) await shop.step('a', step);
  const status = await until(async () => {
    const now = await shop.status();
    return now && now.failures > 0 ? now : undefined;
  });
  assert.equal(status.conditions.find(({ type }) => type === 'Ready')!.reason, 'Unreachable');
  await shop.service.stop();
  await shop.start();
  await shop.step('a', 5);
  await shop.receiver.start();
  await until(() => shop.steps('a').at(-1) === 5);
  const [first, ...rest] = shop.steps('a');
  assert.equal(first, 0);
  // What was accepted may come again, what was not may not be missing, and nothing comes out of order.
  assert.deepEqual(
    rest.filter((step, i) => step !== rest[i - 1] && step !== 0),
    [1, 2, 3, 4, 5],
  );
});

test('changes of a model that is missing after a restart wait for it, and those of others do not', async (t) => {
  const Todo = defineModel({
    gvk: { group: 'todo.example.com', version: 'v1', kind: 'Todo', singular: 'todo', plural: 'todos' },
    spec: Type.Object({ step: Type.Integer() }),
  });
  const shop = await open(t, { database: `sqlite:${join(folder, 'missing.db')}` });
  shop.service.schemeManager.register(Todo);
  await shop.secret();
  await shop.hook({ resources: [orders, 'todos.todo.example.com'] });
  await shop.receiver.stop();
  await shop.service.client.create(Todo, { metadata: { name: 'todo' }, spec: { step: 0 } });
  await shop.service.client.patch(Todo, 'todo', { spec: { step: 1 } });
  await shop.step('a', 0);
  await until(async () => (await shop.status())!.failures > 0);
  await shop.service.stop();
  await shop.receiver.start();
  for (const step of [1, 2]) {
    await shop.start();
    await shop.step('a', step);
    await until(() => shop.steps('a').at(-1) === step);
    assert.deepEqual(shop.steps('todo'), []);
    if (step === 1) await shop.service.stop();
  }
  shop.service.schemeManager.register(Todo);
  await until(() => shop.steps('todo').length === 2);
  assert.deepEqual(shop.steps('todo'), [0, 1]);
});

test('a slow receiver is broken off after the time-out and asked again', async (t) => {
  const shop = await open(t, { webhook: { timeout: 100 } });
  await shop.secret();
  await shop.hook();
  const { promise, resolve } = Promise.withResolvers<void>();
  let isSlow = true;
  shop.receiver.reply = () => (isSlow ? { until: promise } : {});
  await shop.step('a', 0);
  await until(async () => (await shop.status())?.conditions.some(({ message }) => message.includes('within 100 ms')));
  isSlow = false;
  await until(() => shop.receiver.accepted.length === 1);
  resolve();
});

test('a redirect is not followed', async (t) => {
  const shop = await open(t);
  await shop.secret();
  await shop.hook();
  shop.receiver.reply = () => ({ status: 307, headers: { location: `${shop.receiver.url}/elsewhere` } });
  await shop.step('a', 0);
  await until(async () => (await shop.status())?.conditions.some(({ message }) => message.includes('307')));
  assert.deepEqual(shop.receiver.accepted, []);
});

for (const url of [
  'http://127.0.0.1:PORT/',
  'http://localhost:PORT/',
  'http://[::1]:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://2130706433:PORT/',
]) {
  test(`nothing is sent to ${url} unless an option allows it`, async (t) => {
    const shop = await open(t, { webhook: { allowPrivateAddresses: false } });
    await shop.secret();
    const made = await shop.hook({ url: url.replace('PORT', new URL(shop.receiver.url).port) });
    assert.equal(made.status, 201, JSON.stringify(made.json));
    await shop.step('a', 0);
    await until(async () => (await shop.status())?.conditions.some(({ reason }) => reason === 'AddressNotAllowed'));
    assert.deepEqual(shop.receiver.attempts, []);
  });
}

test('without its Secret nothing is sent; it is once the Secret is there', async (t) => {
  const shop = await open(t, { webhook: { minDelay: 60_000, maxDelay: 60_000 } });
  await shop.hook();
  await shop.step('a', 0);
  await until(async () => (await shop.status())?.conditions.some(({ reason }) => reason === 'SecretMissing'));
  assert.deepEqual(shop.receiver.attempts, []);
  const whsec = `whsec_${key.toString('base64')}`;
  await shop.secret('signing', {
    key: Buffer.from(whsec).toString('base64'),
    previousKey: Buffer.from('old').toString('base64'),
  });
  await until(() => shop.receiver.accepted.length === 1);
  const [received] = shop.receiver.accepted;
  assert.ok(isSigned(received!, key) && isSigned(received!, Buffer.from('old')), 'both keys sign');
});

test('a webhook begins with its creation and ends with its deletion; a new one of the same name keeps nothing of the old', async (t) => {
  const shop = await open(t);
  await shop.secret();
  await shop.step('before', 0);
  await shop.hook();
  await shop.step('a', 0);
  await until(() => shop.receiver.accepted.length === 1);
  await shop.send('DELETE', `${hooks}/hook`);
  await shop.step('between', 0);
  await shop.hook();
  await shop.step('b', 0);
  await until(() => shop.receiver.accepted.length === 2);
  assert.deepEqual(
    shop.receiver.accepted.map(({ event }) => event.object.metadata.name),
    ['a', 'b'],
  );
});

test('a change of the specification counts from then on', async (t) => {
  const shop = await open(t);
  await shop.secret();
  await shop.hook({ url: 'http://127.0.0.1:1/' });
  await shop.step('a', 0);
  await until(async () => (await shop.status())?.failures);
  const changed = await shop.send('PATCH', `${hooks}/hook`, { spec: { url: shop.receiver.url } });
  assert.equal(changed.status, 200, JSON.stringify(changed.json));
  await until(() => shop.receiver.accepted.length === 1);
});

test('a webhook on webhooks is told of their specifications, not of its own deliveries', async (t) => {
  const shop = await open(t);
  await shop.secret();
  await shop.hook({ resources: ['webhooks.webhook.platform.run'] });
  await shop.hook({ resources: ['webhooks.webhook.platform.run'] }, 'second');
  await until(() => shop.receiver.accepted.length === 1);
  await until(async () => (await shop.status())?.lastDelivery);
  await shop.send('PATCH', `${hooks}/second`, { metadata: { annotations: { 'example.com/note': 'x' } } });
  await until(() => shop.receiver.accepted.length === 3);
  assert.deepEqual(shop.receiver.accepted.map(({ event }) => [event.type, event.object.metadata.name]).sort(), [
    ['ADDED', 'second'],
    ['MODIFIED', 'second'],
    ['MODIFIED', 'second'],
  ]);
});

test('a Secret goes out without its values', async (t) => {
  const shop = await open(t);
  await shop.secret();
  await shop.hook({ resources: ['secrets'] });
  await shop.secret('other', { password: Buffer.from('hidden').toString('base64') });
  await until(() => shop.receiver.accepted.length === 1);
  assert.deepEqual(shop.receiver.accepted[0]!.event.object.data, { password: '' });
});

test('a change that is refused for too long is given up, which the status tells', async (t) => {
  const shop = await open(t, { webhook: { giveUpAfter: 100, maxDelay: 50 } });
  await shop.secret();
  await shop.hook();
  shop.receiver.reply = ({ event }) => (event.object.spec.step === 0 ? { status: 400 } : {});
  await shop.step('a', 0);
  await shop.step('a', 1);
  await until(() => shop.steps('a').length === 1);
  assert.deepEqual(shop.steps('a'), [1]);
  const status = await until(async () => {
    const now = await shop.status();
    return now && now.dropped > 0 ? now : undefined;
  });
  assert.equal(status.dropped, 1);
  const complete = status.conditions.find(({ type }) => type === 'Complete')!;
  assert.deepEqual([complete.status, complete.reason], ['False', 'GivenUp']);
});

test('a specification that cannot work is refused with every reason', async (t) => {
  const shop = await open(t);
  const made = await shop.hook({ url: 'ftp://someone:secret@example.com/', labelSelector: 'a==,' });
  assert.equal(made.status, 422);
  assert.deepEqual(
    made.json.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/spec/url', '/spec/labelSelector'],
  );
  assert.equal((await shop.hook({ resources: [] })).status, 422);
});

test('a webhook on objects that its author may not see is refused', async (t) => {
  const shop = await open(t, { auth: {} });
  await shop.secret();
  const post = (path: string, body: unknown) => shop.send('POST', `/api/v1alpha1${path}`, body);
  const rule = (apiGroups: string[], resources: string[], verbs: string[]) => ({ apiGroups, resources, verbs });
  await post('/users', { metadata: { name: 'ada' } });
  const rules = [rule(['webhook.platform.run'], ['webhooks'], ['*']), rule(['shop.example.com'], ['orders'], ['get'])];
  await post('/roles', { metadata: { name: 'hooker' }, rules });
  await post('/rolebindings', {
    metadata: { name: 'ada' },
    roleRef: { kind: 'Role', name: 'hooker' },
    subjects: [{ kind: 'User', name: 'ada' }],
  });
  const { json } = await post('/personalaccesstokens', { metadata: { name: 'ada' }, spec: { user: 'ada' } });
  const administrator = shop.token;
  shop.token = json.status.token;
  const refused = await shop.hook();
  assert.equal(refused.status, 403, JSON.stringify(refused.json));
  assert.match(refused.json.detail, /list orders/);
  rules.push(rule(['shop.example.com'], ['orders'], ['list', 'watch']), rule([''], ['secrets'], ['get']));
  await shop.send('PATCH', '/api/v1alpha1/roles/hooker', { rules }, administrator);
  assert.equal((await shop.hook()).status, 201);
  shop.token = administrator;
});

const shared = databaseAdapters().find(({ kind }) => kind === 'postgres');
test('controllers: of two replicas one delivers; when it stops, the other continues from there', {
  skip: !shared && 'no PostgreSQL here',
}, async (t) => {
  const database = await shared!.create();
  const first = await open(t, { database: database.url });
  const second = new Shop(first.receiver, first.options);
  await second.start();
  t.after(() => second.service.stop());
  t.after(() => database.drop());
  await first.secret();
  await first.hook();
  for (let step = 0; step < 10; step++) await (step % 2 ? first : second).step('a', step);
  await until(() => first.steps('a').length === 10, { timeout: 30_000 });
  assert.deepEqual(
    first.steps('a'),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    'each change came once, though both replicas know the webhook',
  );
  await first.service.stop();
  for (let step = 10; step < 20; step++) await second.step('a', step);
  await until(() => second.steps('a').at(-1) === 19, { timeout: 30_000 });
  const steps = second.steps('a').slice(10);
  assert.deepEqual(steps.slice(steps.indexOf(10)), [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
});

test('a webhook that names a version gets objects in it, another one in the hub', async (t) => {
  const shop = await open(t);
  const spec = Type.Object({ text: Type.String() });
  const Note = defineModel({
    gvk: { group: 'shop.example.com', version: 'v2', kind: 'Note', singular: 'note', plural: 'notes' },
    spec: Type.Object({ lines: Type.Array(Type.String()) }),
    versions: {
      v1: {
        spec,
        toHub: ({ text }) => ({ lines: text.split('\n') }),
        fromHub: ({ lines }) => {
          if (lines[0] === 'broken') throw new Error('no such text');
          return { text: lines.join('\n') };
        },
      },
    },
  });
  shop.service.schemeManager.register(Note);
  await shop.secret();
  assert.equal((await shop.hook({ resources: ['notes.v1.shop.example.com'] }, 'first')).status, 201);
  assert.equal((await shop.hook({ resources: ['notes.shop.example.com'] }, 'second')).status, 201);
  assert.equal((await shop.hook({ resources: ['notes.v3.shop.example.com'] }, 'unknown')).status, 201);
  for (const [name, lines] of Object.entries({ broken: ['broken'], fine: ['a', 'b'] }))
    await shop.service.client.create(Note, { metadata: { name }, spec: { lines } });
  const { accepted } = shop.receiver;
  await until(() => accepted.length === 3);
  const got = accepted.map(({ event: { resource, object } }) => [resource, object.apiVersion, object.spec]);
  assert.deepEqual(
    got.toSorted(([, a], [, b]) => String(a).localeCompare(String(b))),
    [
      ['notes.shop.example.com', 'shop.example.com/v1', { text: 'a\nb' }],
      ['notes.shop.example.com', 'shop.example.com/v2', { lines: ['broken'] }],
      ['notes.shop.example.com', 'shop.example.com/v2', { lines: ['a', 'b'] }],
    ],
  );
  const conditions = async (name: string) => (await shop.status(name))?.conditions ?? [];
  await until(async () => (await shop.status('first'))?.dropped === 1);
  const { message } = (await conditions('first')).find(({ type }) => type === 'Complete')!;
  assert.match(message, /was not delivered: Note "broken" cannot be converted from v2 to v1: no such text/);
  await until(async () =>
    (await conditions('unknown')).some(({ type, status }) => type === 'UnknownResource' && status === 'True'),
  );
});

test('a change in a version that the model has no longer is not delivered, which the status tells; others are', async (t) => {
  const noteIn = (version: string) =>
    defineModel({
      gvk: { group: 'shop.example.com', version, kind: 'Note', singular: 'note', plural: 'notes' },
      spec: Type.Object({ text: Type.String() }),
    });
  const Note = noteIn('v2');
  const shop = await open(t, { database: `sqlite:${join(folder, 'versions.db')}` });
  shop.service.schemeManager.register(Note);
  await shop.secret();
  assert.equal((await shop.hook({ resources: ['notes.shop.example.com', orders] })).status, 201);
  await shop.receiver.stop();
  await shop.service.client.create(Note, { metadata: { name: 'a' }, spec: { text: 'a' } });
  await shop.step('b', 0);
  await shop.service.stop();
  await shop.receiver.start();
  await shop.start(noteIn('v1'));
  await until(async () => (await shop.status())?.dropped === 1);
  const { message } = (await shop.status())!.conditions.find(({ type }) => type === 'Complete')!;
  assert.match(message, /was not delivered: A change of Note is in a version that its declaration lacks/);
  await until(() => shop.receiver.accepted.length > 0);
  assert.deepEqual(
    shop.receiver.accepted.map(({ event: { resource } }) => resource),
    [orders],
  );
});
