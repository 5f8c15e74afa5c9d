/** Watches while the database is away: they wait as a live watch does, or end so that their client lists again. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { ObjectOf, ServiceOptions, Snapshot, Store } from 'kindred';
import { createService, KindredError } from 'kindred';
import { createClient } from 'kindred/client';
import { until } from 'kindred/testing';
import pino from 'pino';
import { openStore } from '../../src/store/open.ts';
import { Counter } from './counter.ts';
import { Stream } from './stream.ts';

const { group, version, plural } = Counter.gvk;
const counters = `/apis/${group}/${version}/${plural}`;

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const one of cleanUps.splice(0).reverse()) await one();
});

/** What is asked of the database, which is away for as long as this says so. */
type Outage = (question: 'changes' | 'snapshot' | 'portion' | 'get', since: number) => boolean;

const outage: { isAway: Outage; refused: number } = { isAway: () => false, refused: 0 };

function ask<T>(question: Parameters<Outage>[0], since: number, answer: () => T): T {
  if (!outage.isAway(question, since)) return answer();
  outage.refused++;
  throw new KindredError('NotReady', { en: 'The database cannot be reached', zh: '数据库不可用' });
}

function interrupted(store: Store): Store {
  const snapshot = async (): Promise<Snapshot> => {
    const view = await ask('snapshot', 0, () => store.snapshot());
    return {
      revision: view.revision,
      get: (model, ids) => ask('portion', ids[0]!, () => view.get(model, ids)),
      close: () => view.close(),
    };
  };
  const methods: Partial<Store> = {
    changes: (since, limit) => ask('changes', since, () => store.changes(since, limit)),
    get: (model, ids) => ask('get', 0, () => store.get(model, ids)),
    snapshot,
  };
  return new Proxy(store, {
    get(target, name) {
      const own = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
}

/** More than the memory keeps: a replay of them begins in the log. */
const count = 1_200;

/** A service with many counters, and the revision before them. */
async function filled(options: ServiceOptions = {}): Promise<{ url: string; first: number }> {
  Object.assign(outage, { isAway: () => false, refused: 0 });
  const service = await createService({
    database: async (storeOptions) => interrupted(await openStore('sqlite::memory:', storeOptions)),
    port: 0,
    auth: false,
    logger: pino({ level: 'silent' }),
    ...options,
  });
  cleanUps.push(() => service.stop());
  service.schemeManager.register(Counter);
  const { url } = await service.start();
  const first = Number((await fetch(url + counters)).headers.get('kindred-revision'));
  const lines = Array.from({ length: count }, (_, i) =>
    JSON.stringify({ metadata: { name: `c-${i}` }, spec: { value: i } }),
  );
  const headers = { 'content-type': 'application/x-ndjson' };
  const response = await fetch(url + counters, { method: 'POST', headers, body: lines.join('\n') });
  assert.equal((await response.text()).match(/"status":201/g)?.length, count);
  return { url, first };
}

async function follow(url: string, query: string): Promise<Stream> {
  const stream = await Stream.open(`${url}${counters}?watch=true&${query}`);
  cleanUps.push(() => stream.close());
  return stream;
}

const all = Array.from({ length: count }, (_, i) => i);

test('watch: a replay that meets an outage waits for the database, with bookmarks, and loses and repeats nothing', async () => {
  const { url, first } = await filled({ watch: { bookmarkInterval: 200 } });
  let begun = 0;
  outage.isAway = (question, since) => {
    if (question !== 'changes' || since === first) return false;
    begun ||= Date.now();
    return Date.now() < begun + 600;
  };
  const stream = await follow(url, `since=${first}`);
  const events = await stream.changes(count);
  assert.ok(outage.refused > 2);
  assert.deepEqual(
    events.map(({ type, object }) => [type, object.spec.value]),
    all.map((value) => ['ADDED', value]),
  );
  const place = stream.events.findIndex(({ type }) => type === 'BOOKMARK');
  const [before, bookmark, after] = stream.events.slice(place - 1, place + 2);
  assert.equal(bookmark?.revision, before?.revision, 'a client may resume there');
  assert.ok(after);
});

test('watch: an initial list that cannot begin waits for the database', async () => {
  const { url } = await filled();
  outage.isAway = (question) => question === 'snapshot' && outage.refused < 4;
  const stream = await follow(url, 'sendInitial=true');
  const list = await stream.changes(count);
  assert.equal(outage.refused, 4);
  assert.equal(new Set(list.map(({ object }) => object.metadata.name)).size, count);
  assert.equal((await stream.bookmark(({ initial }) => initial === true)).type, 'BOOKMARK');
});

test('watch: an outage in the middle of the initial list ends the watch with Expired; the client lists again by itself', async () => {
  const { url } = await filled();
  let portions = 0;
  outage.isAway = (question) => question === 'portion' && ++portions === 2;
  const stream = await follow(url, 'sendInitial=true');
  const last = await stream.last();
  assert.deepEqual([last.type, last.error.code, last.error.status], ['ERROR', 'Expired', 410]);
  assert.ok(stream.events.length > 1);

  portions = 0;
  const names: string[] = [];
  const watch = createClient({ url }).watch(Counter, { sendInitial: true, minDelay: 1, maxDelay: 10 });
  for await (const event of watch) {
    if (event.type === 'BOOKMARK') break;
    names.push((event.object as ObjectOf<typeof Counter>).metadata.name);
  }
  assert.equal(names.length, count, 'each once');
  assert.equal(new Set(names).size, count);
});

test('watch: a live page that meets an outage waits for the database', async () => {
  const { url } = await filled({ cache: { maxBytes: 0 } });
  const stream = await follow(url, 'page=1&size=3&sort=name');
  await until(() => stream.events.some(({ type }) => type === 'SNAPSHOT'));
  outage.isAway = (question) => question === 'get' && outage.refused < 3;
  const created = await fetch(url + counters, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ metadata: { name: 'a' }, spec: { value: 0 } }),
  });
  assert.equal(created.status, 201);
  await until(() => stream.events.some(({ object }) => object?.inserted?.[0]?.object.metadata.name === 'a'));
  assert.equal(outage.refused, 3);
  assert.deepEqual(
    stream.events.map(({ type }) => type).filter((type) => type !== 'BOOKMARK'),
    ['SNAPSHOT', 'WINDOW'],
  );
});
