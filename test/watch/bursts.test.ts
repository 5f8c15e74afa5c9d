/** docs/reference/watch.md: a client that takes what it is sent is not slow, however much others write at once. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { Service, ServiceOptions } from 'kindred';
import { createService, defineModel, Type } from 'kindred';
import { until } from 'kindred/testing';
import { databaseAdapters } from '../servers.ts';
import type { StreamEvent } from './stream.ts';
import { Stream } from './stream.ts';

const Note = defineModel({
  gvk: { group: 'watch.example.com', version: 'v1', kind: 'Note', singular: 'note', plural: 'notes' },
  spec: Type.Object({ number: Type.Integer(), text: Type.String() }),
});
const notes = '/apis/watch.example.com/v1/notes';

interface Running {
  readonly service: Service;
  readonly url: string;
}

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const one of cleanUps.splice(0).reverse()) await one();
});

async function serve(database: string, options: ServiceOptions = {}): Promise<Running> {
  const service = await createService({ port: 0, auth: false, ...options, database });
  cleanUps.push(() => service.stop());
  service.schemeManager.register(Note);
  const { url } = await service.start();
  return { service, url };
}

async function follow({ url }: Running, query = '', sse = false): Promise<Stream> {
  const stream = await Stream.open(`${url}${notes}?watch=true${query}`, { sse });
  cleanUps.push(() => stream.close());
  return stream;
}

/** One bulk request. */
async function write({ url }: Running, count: number, bytes: number): Promise<void> {
  const text = 'x'.repeat(bytes);
  const lines = Array.from({ length: count }, (_, number) =>
    JSON.stringify({ metadata: { name: `note-${number}` }, spec: { number, text } }),
  );
  const headers = { 'content-type': 'application/x-ndjson' };
  const answer = await fetch(url + notes, { method: 'POST', headers, body: lines.join('\n') });
  assert.equal((await answer.text()).match(/"status":201/g)?.length, count);
}

/** Each note once, in the order of the revisions. */
function assertComplete(events: readonly StreamEvent[], count: number): void {
  assert.deepEqual(
    events.map(({ type }) => type).filter((type) => type !== 'ADDED' && type !== 'BOOKMARK'),
    [],
  );
  const added = events.filter(({ type }) => type === 'ADDED');
  assert.equal(new Set(added.map(({ object }) => object.spec.number)).size, count);
  assert.equal(added.length, count);
  assert.ok(added.every(({ revision }, i) => i === 0 || revision > added[i - 1]!.revision));
}

/** So much that a burst is many times what may wait. */
const burst = { count: 400, bytes: 18_000 };

for (const adapter of databaseAdapters()) {
  test(`watch: a burst cuts no client that reads, on ${adapter.name}`, async () => {
    const database = await adapter.create();
    cleanUps.push(() => database.drop());
    const options = { watch: { maxBufferBytes: 128 * 1024 } };
    const first = await serve(database.url, options);
    const replicas = adapter.kind === 'sqlite' ? [first] : [first, await serve(database.url, options)];
    const streams = await Promise.all(
      replicas.flatMap((replica) => [follow(replica), follow(replica, '', true), follow(replica, '&since=0')]),
    );
    const pages = await Promise.all(replicas.map((replica) => follow(replica, '&page=1&size=300&sort=metadata.name')));
    await write(first, burst.count, burst.bytes);
    for (const stream of streams) assertComplete(await stream.changes(burst.count), burst.count);
    for (const page of pages) {
      await until(() => page.ended || page.events.at(-1)?.object.total === burst.count);
      assert.equal(page.ended, undefined);
    }
  });
}

test('watch: a client that does not read keeps no more than may wait for it, and goes on where it was when it reads', async () => {
  const running = await serve('sqlite::memory:', { watch: { maxBufferBytes: 128 * 1024 } });
  const [slow, quick] = [await follow(running), await follow(running)];
  slow.pause();
  await write(running, burst.count, 60_000);
  assertComplete(await quick.changes(burst.count), burst.count);
  slow.resume();
  assertComplete(await slow.changes(burst.count), burst.count);
});

test('watch: a client that takes nothing for watch.stallTimeout is ended with SlowConsumer, and may go on from there', async () => {
  const running = await serve('sqlite::memory:', { watch: { stallTimeout: 300 } });
  await write(running, burst.count, 60_000);
  const queries = ['&since=0', '&sendInitial=true', '&page=1&size=200'];
  const stuck = await Promise.all(queries.map((query) => follow(running, query)));
  for (const stream of stuck) stream.pause();
  const quick = await follow(running, '&since=0');
  assertComplete(await quick.changes(burst.count), burst.count);
  const watches = async () =>
    Number(/^kindred_watches (\d+)$/m.exec(await (await fetch(`${running.url}/metrics`)).text())![1]);
  await until(async () => (await watches()) === 1);
  for (const stream of stuck) stream.resume();
  const [replay, list, page] = await Promise.all(stuck.map((stream) => stream.last()));
  for (const last of [replay!, list!, page!]) {
    assert.deepEqual([last.type, last.error.code, last.error.status], ['ERROR', 'SlowConsumer', 503]);
  }
  const [since] = stuck;
  assert.equal(replay!.revision, since!.events.at(-2)!.revision, 'the last delivered');
  const rest = await follow(running, `&since=${replay!.revision}`);
  const given = since!.events.length - 1;
  assertComplete([...since!.events.slice(0, -1), ...(await rest.changes(burst.count - given))], burst.count);
});

test('watch: a client that takes a little now and then is not cut', async () => {
  const running = await serve('sqlite::memory:', { watch: { stallTimeout: 500 } });
  await write(running, burst.count, 60_000);
  const stream = await follow(running, '&since=0');
  let seen = 0;
  while (stream.events.length < burst.count && !stream.ended) {
    stream.pause();
    await new Promise((resolve) => setTimeout(resolve, 250));
    stream.resume();
    // More than the kernel keeps for both sides: the service sees that something was taken.
    await until(() => stream.ended || stream.events.length >= Math.min(seen + 100, burst.count));
    seen = stream.events.length;
  }
  assertComplete(stream.events, burst.count);
});

test('watch: a burst cuts no reader inside the process, nor is it kept for one that does not read', async () => {
  const { service, ...running } = await serve('sqlite::memory:');
  const watch = service.client.watch(Note)[Symbol.asyncIterator]();
  const first = watch.next();
  await until(async () => /^kindred_watches 1$/m.test(await (await fetch(`${running.url}/metrics`)).text()));
  await write({ service, ...running }, 1_500, 20_000);
  const numbers: number[] = [];
  let next = await first;
  while (numbers.length < 1_500) {
    const event = next.value!;
    if (event.type === 'ADDED') numbers.push(event.object.spec.number);
    if (numbers.length < 1_500) next = await watch.next();
  }
  assert.deepEqual(
    numbers.toSorted((a, b) => a - b),
    Array.from({ length: 1_500 }, (_, i) => i),
  );
  await watch.return!(undefined);
});
