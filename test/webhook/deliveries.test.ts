/** The newest deliveries of a webhook, one of them again, and a test. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { expect, live, until } from '../auth/live.ts';
import { Book, books } from '../auth/models.ts';
import { Receiver } from './receiver.ts';

const core = '/api/v1alpha1';
const hooks = '/apis/webhook.platform.run/v1alpha1/webhooks';
const deliveries = `${hooks}/hook/deliveries`;

async function library(t: TestContext, changeLog = {}) {
  const receiver = new Receiver();
  await receiver.start();
  const webhook = { allowPrivateAddresses: true, minDelay: 20, maxDelay: 200 };
  const world = await live({ webhook, changeLog }, (service) => service.schemeManager.register(Book));
  t.after(async () => {
    await world.service.stop();
    await receiver.stop();
  });
  const { admin } = world;
  await expect(201, admin('POST', `${core}/secrets`, { metadata: { name: 'signing' }, stringData: { key: 'k' } }));
  const spec = { url: receiver.url, resources: ['books.library.example'], secretName: 'signing' };
  await expect(201, admin('POST', hooks, { metadata: { name: 'hook' }, spec }));
  const add = (name: string) => expect(201, admin('POST', books, { metadata: { name }, spec: { title: name } }));
  const list = async (): Promise<any[]> => (await expect(200, admin('GET', deliveries))).body.deliveries;
  const listed = async (count: number) => {
    await until(async () => (await list()).length >= count, `${count} deliveries`);
    return list();
  };
  return { ...world, receiver, spec, add, list, listed };
}

test('webhooks: attempts are listed newest first, with outcome and status', async (t) => {
  const { receiver, add, listed } = await library(t);
  receiver.reply = () => ({ status: receiver.attempts.length === 1 ? 500 : 204 });
  await add('emma');
  const [accepted, refused] = await listed(2);
  assert.equal(accepted.outcome, 'accepted');
  assert.equal(accepted.status, 204);
  assert.equal(refused.outcome, 'refused');
  assert.equal(refused.status, 500);
  assert.equal(refused.error, 'the receiver answered 500');
  assert.deepEqual([accepted.name, accepted.type, accepted.kind], ['emma', 'ADDED', 'change']);
  assert.equal(accepted.webhookId, receiver.accepted[0]!.headers['webhook-id']);
  assert.ok(accepted.duration >= 0 && accepted.id !== refused.id);
});

test('webhooks: a delivery can be sent again, as the change was then', async (t) => {
  const { admin, receiver, add, listed } = await library(t);
  await add('emma');
  const [first] = await listed(1);
  await expect(200, admin('PUT', `${books}/emma`, { metadata: { name: 'emma' }, spec: { title: 'Later' } }));
  await listed(2);
  const again = (await expect(200, admin('POST', `${deliveries}/${first.id}/replay`))).body;
  assert.deepEqual([again.kind, again.outcome, again.revision], ['replay', 'accepted', first.revision]);
  assert.equal(receiver.accepted.at(-1)!.body, receiver.accepted[0]!.body);
  assert.equal(receiver.accepted.at(-1)!.headers['webhook-id'], first.webhookId);
  await expect(404, admin('POST', `${deliveries}/nothing/replay`));
  await expect(404, admin('POST', `${hooks}/nothing/deliveries/${first.id}/replay`));
  receiver.reply = () => ({ status: 418 });
  const refused = (await expect(200, admin('POST', `${deliveries}/${first.id}/replay`))).body;
  assert.deepEqual([refused.outcome, refused.status], ['refused', 418]);
  const { status } = (await admin('GET', `${hooks}/hook`)).body;
  assert.equal(status.failures, 0);
});

test('webhooks: what the webhook is no longer about is not sent again', async (t) => {
  const { admin, spec, add, listed } = await library(t);
  await add('emma');
  const [first] = await listed(1);
  const changed = { metadata: { name: 'hook' }, spec: { ...spec, resources: ['users'] } };
  await expect(200, admin('PUT', `${hooks}/hook`, changed));
  await until(async () => (await admin('POST', `${deliveries}/${first.id}/replay`)).status === 400, 'a refusal');
});

test('webhooks: a test is signed, and says whether the receiver took it', async (t) => {
  const { admin, receiver, list } = await library(t);
  const sent = (await expect(200, admin('POST', `${hooks}/hook/test`))).body;
  assert.deepEqual([sent.kind, sent.type, sent.outcome, sent.status], ['test', 'TEST', 'accepted', 204]);
  const [received] = receiver.accepted;
  assert.equal(received!.event.type, 'TEST');
  assert.ok(received!.headers['webhook-signature']);
  assert.equal((await list())[0].id, sent.id);
  await receiver.stop();
  const failed = (await expect(200, admin('POST', `${hooks}/hook/test`))).body;
  assert.equal(failed.outcome, 'failed');
  assert.match(failed.error, /ECONNREFUSED/);
  await receiver.start();
  await expect(404, admin('POST', `${hooks}/nothing/test`));
});

test('webhooks: no more deliveries are asked for at once than are made', async (t) => {
  const { admin, receiver } = await library(t);
  const { promise, resolve } = Promise.withResolvers<void>();
  receiver.reply = () => ({ until: promise });
  const sent = Array.from({ length: 12 }, () => admin('POST', `${hooks}/hook/test`));
  await until(() => receiver.open === 8, 'eight at once');
  setTimeout(resolve, 50);
  const statuses = (await Promise.all(sent)).map(({ status }) => status);
  assert.deepEqual(
    [statuses.filter((one) => one === 200).length, statuses.filter((one) => one === 429).length],
    [8, 4],
  );
});

test('permissions: deliveries, replays and tests have rights of their own, and names are for those who may read them', async (t) => {
  const { admin, anonymous, person, add, listed } = await library(t);
  await add('emma');
  const [first] = await listed(1);
  const rule = (resource: string, verbs: string[]) => ({
    apiGroups: ['webhook.platform.run'],
    resources: [resource],
    verbs,
  });
  const role = (name: string, rules: object[]) =>
    expect(201, admin('POST', `${core}/roles`, { metadata: { name }, rules }));
  await role('looks', [rule('webhooks/deliveries', ['get'])]);
  await role('sends', [rule('webhooks/deliveries/replay', ['create']), rule('webhooks/test', ['create'])]);
  const looks = (await person('looks', ['looks'])).send;
  const sends = (await person('sends', ['sends'])).send;
  await expect(401, anonymous('GET', deliveries));
  const [shown] = (await expect(200, looks('GET', deliveries))).body.deliveries;
  assert.equal(shown.id, first.id);
  assert.equal('name' in shown, false);
  await expect(403, looks('POST', `${deliveries}/${first.id}/replay`));
  await expect(403, looks('POST', `${hooks}/hook/test`));
  await expect(403, sends('GET', deliveries));
  const again = (await expect(200, sends('POST', `${deliveries}/${first.id}/replay`))).body;
  assert.equal('name' in again, false);
  await expect(200, sends('POST', `${hooks}/hook/test`));
});
