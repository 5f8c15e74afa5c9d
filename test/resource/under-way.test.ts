/** Unique values of writes whose outcome is not known yet, on a store with one process. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IndexFactory, Service } from 'kindred';
import { createService, defineModel, KindredError, Type } from 'kindred';
import pino from 'pino';
import { openStore } from '../../src/store/open.ts';
import { until } from '../../src/testing/until.ts';
import { holdBack } from './held-store.ts';

const modelWith = (member: 'slug' | 'code') =>
  defineModel({
    gvk: { group: 'races.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' },
    spec: Type.Object({ slug: Type.String(), code: Type.Optional(Type.String()) }),
    indexes: (index: IndexFactory<{ spec: { slug: string; code?: string } }>) => [
      index.single(member, String, (thing) => thing.spec[member], { unique: true }),
    ],
  });
const Thing = modelWith('slug');

async function opened(timeout = 10_000) {
  const held = holdBack(await openStore('sqlite::memory:'));
  const service = await createService({
    database: async () => held.store,
    port: 0,
    auth: false,
    logger: pino({ level: 'silent' }),
    write: { timeout },
  });
  service.schemeManager.register(Thing);
  const { url } = await service.start();
  const create = (name: string, slug: string) => service.client.create(Thing, { metadata: { name }, spec: { slug } });
  await create('first', 'first');
  return { held, service, url, create };
}

/** Calls back when the service has done all that it can do now. */
const turns = () => new Promise<void>((resolve) => setTimeout(resolve, 20));

const violation = { code: 'UniqueViolation', index: 'slug' };
const lost = new KindredError('NotReady', { en: 'made by the test', zh: '测试' });

async function stopped(service: Service, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } finally {
    await service.stop();
  }
}

test('queries: unique is exact - who wants a value of a write under way waits, and gets it when that write fails', async () => {
  const { held, service, create } = await opened();
  await stopped(service, async () => {
    const hold = held.hold('commit', { before: true });
    const one = create('a', 'x');
    await until(() => hold.waiting === 1);
    let isAnswered = false;
    const two = create('b', 'x').finally(() => {
      isAnswered = true;
    });
    await turns();
    assert.equal(isAnswered, false);
    held.fail('commit', lost);
    hold.one();
    await assert.rejects(one, { code: 'NotReady' });
    held.fail('commit', undefined);
    hold.release();
    assert.equal((await two).metadata.name, 'b');
  });
});

test('queries: unique is exact - a write that wants a value of a write under way waits for its outcome', async () => {
  const { held, service, create } = await opened();
  await stopped(service, async () => {
    const hold = held.hold('commit', { before: true });
    const giving = service.client.patch(Thing, 'first', { spec: { slug: 'second' } });
    await until(() => hold.waiting === 1);
    const taking = create('a', 'x');
    const [refused, made] = [create('b', 'x'), create('c', 'first')];
    await turns();
    hold.release();
    await taking;
    await assert.rejects(refused, violation);
    await giving;
    assert.equal((await made).metadata.name, 'c');
  });
});

test('queries: unique is exact - a value is not free while its commit may come, though its writer was answered', async () => {
  const { held, service, create } = await opened(50);
  await stopped(service, async () => {
    const hold = held.hold('commit', { before: true });
    await assert.rejects(create('a', 'x'), { code: 'UnknownOutcome' });
    await assert.rejects(create('b', 'x'), { code: 'NotReady' });
    hold.release();
    await until(() => service.client.get(Thing, 'a'));
    await assert.rejects(create('b', 'x'), violation);
  });
});

test('queries: unique is exact - a value is taken from the commit on, also while an export keeps it from the indexes', async () => {
  const { held, service, url, create } = await opened();
  await stopped(service, async () => {
    const hold = held.hold('snapshot');
    const exporting = fetch(`${url}/apis/races.example.com/v1/things`, { headers: { accept: 'application/x-ndjson' } });
    await until(() => hold.waiting === 1);
    const before = await held.store.revision();
    const taking = create('a', 'x');
    await until(async () => (await held.store.revision()) > before);
    await turns();
    const refused = create('b', 'x');
    await turns();
    hold.release();
    await taking;
    await assert.rejects(refused, violation);
    assert.equal((await (await exporting).text()).trim().split('\n').length, 1);
  });
});

test('queries: unique is exact - a model that is registered with another index begins behind the writes of the former', async () => {
  const { held, service } = await opened();
  await stopped(service, async () => {
    const create = (name: string, slug: string) =>
      service.client.create(Thing, { metadata: { name }, spec: { slug, code: 'x' } });
    const hold = held.hold('commit', { before: true });
    const one = create('a', 'a');
    await until(() => hold.waiting === 1);
    const { schemeManager } = service;
    schemeManager.unregister(schemeManager.get({ group: 'races.example.com', version: 'v1', kind: 'Thing' }));
    const Other = modelWith('code');
    schemeManager.register(Other);
    await turns();
    const two = service.client.create(Other, { metadata: { name: 'b' }, spec: { slug: 'b', code: 'x' } });
    await turns();
    hold.release();
    await one;
    await assert.rejects(two, { code: 'UniqueViolation', index: 'code' });
  });
});
