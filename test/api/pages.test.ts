/** Pages with many bytes: how many there may be, and answers that nobody reads. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { until } from '../../src/testing/until.ts';
import type { Api, Request } from './harness.ts';
import { check, Note, notes, withApi } from './harness.ts';

const ndjson = { accept: 'application/x-ndjson' };
const byName = 'sort=metadata.name';

/** Creates a note of about so many characters; gives the bytes that are stored. */
async function make(api: Api, name: string, characters: number, character = 'x'): Promise<number> {
  const reply = await api.send({ path: notes, body: { metadata: { name }, text: character.repeat(characters) } });
  check(reply, { status: 201 });
  return Buffer.byteLength(reply.text);
}

const put = (name: string, text: string): Request => ({
  method: 'PUT',
  path: `${notes}/${name}`,
  body: { metadata: { name }, text },
});

describe('the bytes of a page', () => {
  let store: Store;
  let reads = 0;
  const database = async (options: object) => {
    store = await openStore('sqlite::memory:', options);
    const get = store.get.bind(store);
    store.get = (model, ids) => {
      reads++;
      return get(model, ids);
    };
    return store;
  };
  // Names and times are of equal length, so all have as many bytes.
  const bytes = 1_000;
  /** The text of a note of so many; each character has two in the store. */
  let full = '';
  const options = { list: { maxBytes: 3 * bytes } };
  const api = withApi({ database, cache: { maxBytes: 0 }, ...options });
  const page = (size: number): Request => ({ path: `${notes}?${byName}&size=${size}` });
  const refused = { status: 503, body: { code: 'QueryLimit', parameter: 'size', detail: /3001 bytes.*3000.*smaller/ } };

  before(async () => {
    full = 'é'.repeat((bytes - (await make(api, 'z', 0))) / 2);
    for (const name of ['a', 'b', 'c']) assert.equal(await make(api, name, full.length, 'é'), bytes);
  });

  for (const round of ['as they were created', 'after the indexes were built anew']) {
    test(`limits: ${round}: as many as allowed, and no more, before any object is read`, async () => {
      if (round.includes('anew')) {
        const { schemeManager } = api.service;
        schemeManager.unregister(schemeManager.schemes().find(({ plural }) => plural === 'notes')!);
        schemeManager.register(Note);
        await until(async () => (await api.fetch(page(1))).status === 200);
      }
      check(await api.send(page(3)), { status: 200, names: ['a', 'b', 'c'] });
      // 14 bytes less of text, and `,"generation":2`.
      check(await api.send(put('b', full.slice(7))), { status: 200 });
      const before = reads;
      check(await api.send(page(3)), refused);
      check(await api.send({ ...page(3), method: 'HEAD' }), { status: 503 });
      check(await api.send({ path: `${notes}?${byName}&size=3&watch=true` }), refused);
      assert.equal(reads, before);
      check(await api.send(page(2)), { status: 200, names: ['a', 'b'] });
      check(await api.send({ path: `${notes}?${byName}&size=2&page=2` }), { status: 200 });
      const { text } = await api.send({ path: notes, headers: ndjson });
      assert.equal(text.split('\n').length, 5);
      check(await api.send(put('b', `${full.slice(8)}x`)), { status: 200 });
    });
  }
});

describe('a large page', () => {
  // Some objects come from the cache, the others from the store.
  const api = withApi({ cache: { maxBytes: 2 ** 20 } });
  const secrets = '/api/v1alpha1/secrets';
  before(async () => {
    for (let i = 0; i < 60; i++) await make(api, `n-${i + 10}`, 50_000 + i, String.fromCharCode(97 + (i % 26)));
    for (let i = 0; i < 3; i++) {
      const data = { key: Buffer.alloc(400_000, i).toString('base64') };
      check(await api.send({ path: secrets, body: { metadata: { name: `s-${i}` }, data } }), { status: 201 });
    }
  });

  test('api: has every object as it is stored, in order', async () => {
    for (const name of ['n-60', 'n-12', 'n-69']) await api.send({ path: `${notes}/${name}` });
    const { text, json, headers } = await api.send({ path: `${notes}?${byName}&size=60` });
    assert.equal(json.items.length, 60);
    assert.equal(Number(headers.get('content-length')), text.length);
    const exported = await api.send({ path: `${notes}?${byName}`, headers: ndjson });
    const items = exported.text.split('\n').slice(0, -1);
    assert.equal(text.slice(text.indexOf('[') + 1, text.lastIndexOf(']')), items.join(','));
    const head = await api.send({ method: 'HEAD', path: `${notes}?${byName}&size=60` });
    assert.deepEqual([head.text, head.headers.get('content-length')], ['', headers.get('content-length')]);
  });

  test('permissions: of Secrets has no values', async () => {
    const { json, text } = await api.send({ path: `${secrets}?${byName}` });
    assert.deepEqual(
      json.items.map(({ data }: any) => data),
      [{ key: '' }, { key: '' }, { key: '' }],
    );
    assert.ok(text.length < 2_000);
  });

  test('watch: a live page has them too, as one event', async () => {
    const { json } = await api.send({ path: `${notes}?${byName}&size=60` });
    for (const accept of ['application/x-ndjson', 'text/event-stream']) {
      const response = await api.fetch({ path: `${notes}?${byName}&size=60&watch=true`, headers: { accept } });
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      const end = accept === 'text/event-stream' ? '\n\n' : '\n';
      while (!text.endsWith(end)) text += (await reader.read()).value!;
      const event = JSON.parse(text.slice(text.indexOf('{')));
      assert.deepEqual([event.type, event.object], ['SNAPSHOT', json]);
      await reader.cancel();
    }
  });
});

const sockets: Socket[] = [];
after(() => {
  for (const socket of sockets) socket.destroy();
});

/** Asks and reads nothing. */
async function leaveUnread(api: Api, ...paths: readonly string[]): Promise<Socket> {
  const socket = connect({ port: api.port, host: '127.0.0.1' });
  sockets.push(socket);
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.pause();
  for (const path of paths) socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  return socket;
}

async function metric(api: Api, name: string): Promise<number> {
  const { text } = await api.send({ path: '/metrics' });
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)![1]);
}

/** Notes of 1 MB: twelve of them are more than the system keeps for a client that does not read. */
const large = 12;
async function makeLarge(api: Api): Promise<void> {
  for (let i = 0; i < large; i++) await make(api, `l-${10 + i}`, 1_000_000);
  await make(api, 'm', 600_000);
  await make(api, 'n', 400_000);
}
const pageOf = (size: number) => `${notes}?${byName}&size=${size}`;

describe('answers that nobody reads', () => {
  const api = withApi({ http: { answerBuffer: 11_000_000 } });
  before(() => makeLarge(api));
  const crowded = {
    status: 503,
    headers: { 'retry-after': '1' },
    body: { code: 'NotReady', detail: /waiting for their clients/ },
  };

  test('limits: while they have more bytes than may wait, nothing large is begun; the rest goes on', async () => {
    const socket = await leaveUnread(api, pageOf(large));
    await until(async () => (await metric(api, 'kindred_answer_bytes_waiting')) > 11_000_000);
    for (const request of [
      { path: pageOf(1) },
      { path: `${notes}/m` },
      { path: notes, headers: ndjson },
      { path: `${notes}?watch=true` },
      { path: `${pageOf(1)}&watch=true` },
    ]) {
      check(await api.send(request), crowded);
    }
    check(await api.send({ path: `${notes}/n` }), { status: 200 });
    check(await api.send({ path: `${notes}?size=1&fieldSelector=name=n` }), { status: 200 });
    check(await api.send(put('m', 'x'.repeat(600_001))), { status: 200 });
    check(await api.send({ path: `${pageOf(1)}&explain=true` }), { status: 200 });
    socket.destroy();
    await until(async () => (await metric(api, 'kindred_answer_bytes_waiting')) === 0);
    check(await api.send({ path: pageOf(1) }), { status: 200 });
    check(await api.send({ path: pageOf(large) }), { status: 200 });
  });

  test('limits: a page that fits beside them is sent, one that does not is refused', async () => {
    const socket = await leaveUnread(api, pageOf(7));
    await until(async () => (await metric(api, 'kindred_answer_bytes_waiting')) > 7_000_000);
    check(await api.send({ path: pageOf(2) }), { status: 200 });
    check(await api.send({ path: pageOf(4) }), crowded);
    socket.destroy();
    await until(async () => (await api.send({ path: pageOf(4) })).status === 200);
  });
});

describe('answers that nobody reads in time', () => {
  const requestTimeout = 700;
  const api = withApi({ http: { requestTimeout } });
  before(async () => {
    await makeLarge(api);
    await make(api, 'small', 5_000);
  });
  const cases: readonly { name: string; paths: readonly string[] }[] = [
    { name: 'a large page', paths: [pageOf(large)] },
    { name: 'a large page behind another request', paths: [`${notes}/small`, pageOf(large)] },
    { name: 'many small answers on one connection', paths: Array<string>(3_000).fill(`${notes}/small`) },
    { name: 'objects of 600 KB on one connection', paths: Array<string>(20).fill(`${notes}/m`) },
  ];
  for (const { name, paths } of cases) {
    test(`limits: ${name}: the connection is cut`, async () => {
      const others = await metric(api, 'kindred_connections');
      await leaveUnread(api, ...paths);
      await until(async () => (await metric(api, 'kindred_answer_bytes_waiting')) > 0);
      await until(async () => (await metric(api, 'kindred_answer_bytes_waiting')) === 0);
      await until(async () => (await metric(api, 'kindred_connections')) <= others);
    });
  }

  test('limits: a client that keeps reading slowly gets the whole response', async () => {
    const started = performance.now();
    const response = await api.fetch({ path: pageOf(large) });
    const expected = Number(response.headers.get('content-length'));
    const reader = response.body!.getReader();
    let length = 0;
    for (let pause = 0; ; ) {
      const { done, value } = await reader.read();
      if (done) break;
      length += value.length;
      pause += value.length;
      if (pause < 250_000) continue;
      pause = 0;
      await sleep(50);
    }
    assert.equal(length, expected);
    assert.ok(performance.now() - started > 2 * requestTimeout, 'it took longer than one slice may');
  });
});
