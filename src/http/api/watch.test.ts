import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { KindredError } from '../../errors.ts';
import { Queries } from '../../query/condition.ts';
import type { Authorizer } from '../../resource/access.ts';
import { allowAll } from '../../resource/access.ts';
import type { AppliedChange } from '../../resource/change.ts';
import type { ModelResource } from '../../resource/resource.ts';
import type { ChangeEvent, Sink } from '../../resource/watch/events.ts';
import type { LivePageSink, LivePages, WindowContent } from '../../resource/watch/live-page.ts';
import type { PlacedWatches } from '../../resource/watch/placed-watches.ts';
import { until } from '../../testing/until.ts';
import type { Exchange } from '../server/exchange.ts';
import type { WatchContext } from './resources.ts';
import { createWatchRoute } from './watch.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const one of cleanUps.splice(0).reverse()) await one();
});

const resource = { scheme: { groupVersionKind: { group: 'g' }, plural: 'things' } } as unknown as ModelResource;

interface Opened {
  /** Where the events go. */
  readonly sink: Sink & LivePageSink;
  readonly response: IncomingMessage;
  /** What came. */
  readonly text: () => string;
  readonly isClosed: () => boolean;
  readonly finished: () => number | undefined;
}

/** A watch route over a real socket, whose events the test makes. */
async function open({
  accept = 'application/x-ndjson',
  paged = false,
  maxBufferBytes = 100_000,
  stallTimeout = 60_000,
  authorizer = allowAll as Authorizer,
} = {}): Promise<Opened> {
  let sink: Sink | LivePageSink | undefined;
  let closed = false;
  let finished: number | undefined;
  const opened = { revision: 7, start() {}, close: () => (closed = true) };
  const take = async (...parameters: unknown[]) => {
    sink = parameters.at(-1) as Sink;
    return opened;
  };
  const route = createWatchRoute({
    watches: { open: take, onStop: () => () => {} } as unknown as PlacedWatches,
    livePages: { open: take } as unknown as LivePages,
    authorizer,
    maxBufferBytes,
    stallTimeout,
    maxListBytes: 32 * 2 ** 20,
    monotonicNow: () => performance.now(),
  });
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const exchange = {
      request,
      response,
      isHead: false,
      identity: { name: 'ada', roles: [] },
      open: (status: number, headers: string[]) => response.writeHead(status, headers).flushHeaders(),
      finish: (status: number) => {
        finished ??= status;
      },
      problem: ({ code }: KindredError) => ({ code }),
    } as unknown as Exchange;
    const parameters = { where: Queries.all(), sort: [], page: 1, size: 20, paged, others: new Map() };
    void route({ exchange, resource, parameters, names: undefined } as unknown as WatchContext);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { agent: new Agent(), headers: { accept } }, resolve).on('error', reject);
  });
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return {
    sink: sink as Sink & LivePageSink,
    response,
    text: () => text,
    isClosed: () => closed,
    finished: () => finished,
  };
}

const change = (revision: number, json: string) => ({ revision, bytes: Buffer.from(json) });
const event = (revision: number, bytes = 1_000): ChangeEvent => ({
  type: 'ADDED',
  ...change(revision, JSON.stringify('x'.repeat(bytes))),
});

/** Gives events until there are so many bytes of them. */
function give(sink: Sink, bytes: number): void {
  for (let given = 0, revision = 8; given < bytes; given += 60_000, revision++) sink.event(event(revision, 60_000));
}

/** Waits until the client took what is there for it; says whether that is over. */
function waitFor(sink: Sink): () => boolean {
  let isOver = false;
  void sink.drained().then(() => {
    isOver = true;
  });
  return () => isOver;
}

/** More than the kernel keeps for both sides of a connection. */
const flood = 30 * 2 ** 20;

test('watch: what waits for a client is counted, until it has taken it', async () => {
  const { sink, response, text } = await open();
  assert.deepEqual([sink.isBehind, sink.isFull], [false, false]);
  await sink.drained();
  response.pause();
  sink.event(event(8, 90_000));
  assert.equal(sink.isFull, false, 'just under the bound');
  sink.event(event(9, 20_000));
  assert.deepEqual([sink.isBehind, sink.isFull], [true, true], 'just over it');
  // The socket has its chance in a later turn.
  await sink.drained();
  assert.deepEqual([sink.isBehind, sink.isFull], [false, false]);
  give(sink, flood);
  await nextTurn();
  assert.deepEqual([sink.isBehind, sink.isFull], [true, true]);
  const isDrained = waitFor(sink);
  await nextTurn();
  assert.equal(isDrained(), false);
  response.resume();
  await until(isDrained);
  assert.deepEqual([sink.isBehind, sink.isFull], [false, false]);
  await until(() => text().length > flood);
});

test('watch: a client that takes nothing for the time allowed is ended, others are not', async () => {
  const { sink, response, text, isClosed, finished } = await open({ stallTimeout: 100 });
  const idle = await open({ stallTimeout: 100 });
  idle.sink.event(event(8));
  response.pause();
  give(sink, flood);
  const isDrained = waitFor(sink);
  await until(() => isClosed());
  await until(isDrained);
  assert.equal(finished(), 200);
  assert.deepEqual([sink.isBehind, sink.isFull], [false, false], 'nothing is waited for any more');
  sink.event(event(99));
  response.resume();
  await until(() => text().includes('SlowConsumer'));
  const lines = text().trimEnd().split('\n');
  const last = JSON.parse(lines.at(-1)!);
  const before = JSON.parse(lines.at(-2)!);
  assert.deepEqual(last, { type: 'ERROR', error: { code: 'SlowConsumer' }, revision: before.revision });
  assert.equal(idle.isClosed(), false, 'for whom nothing waits');
});

test('a client that goes away is waited for no longer', async () => {
  const { sink, response, isClosed } = await open();
  response.pause();
  give(sink, flood);
  const isDrained = waitFor(sink);
  response.destroy();
  await until(isDrained);
  await until(() => isClosed());
  assert.deepEqual([sink.isBehind, sink.isFull], [false, false]);
});

test('the frame of a change is made once for all streams of a format, for each type and each version of its own', async () => {
  const shared = { revision: 9 } as unknown as AppliedChange;
  const { sink, text } = await open({ accept: 'text/event-stream' });
  const [one, two] = [Buffer.from('{"a":1}'), Buffer.from('{"b":2}')];
  const send = (type: ChangeEvent['type'], bytes: Buffer) => sink.event({ type, revision: 9, bytes, change: shared });
  send('ADDED', one);
  send('MODIFIED', one);
  // Nobody looks at the bytes again.
  one.fill('-');
  send('ADDED', one);
  send('ADDED', two);
  const data = (type: string, json: string) =>
    `event: ${type}\nid: 9\ndata: {"type":"${type}","revision":9,"object":${json}}\n\n`;
  const expected = [
    data('ADDED', '{"a":1}'),
    data('MODIFIED', '{"a":1}'),
    data('ADDED', '{"a":1}'),
    data('ADDED', '{"b":2}'),
  ];
  await until(() => text() === expected.join(''));
});

test('watch: events of one turn of the event loop are written together at its end', async () => {
  const { sink, response, text } = await open();
  const pieces: string[] = [];
  response.on('data', (piece: string) => pieces.push(piece));
  for (let revision = 8; revision < 28; revision++) sink.event(event(revision));
  assert.deepEqual([sink.isBehind, sink.isFull], [false, false]);
  await until(() => text().split('\n').length === 21);
  assert.equal(pieces.length, 1);
  const lines = text().trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).revision),
    Array.from({ length: 20 }, (_, i) => i + 8),
  );
});

test('watch: a client is behind, and in the end full, by what waits for the end of the turn', async () => {
  const { sink } = await open();
  for (let revision = 8; revision < 60; revision++) sink.event(event(revision));
  assert.deepEqual([sink.isBehind, sink.isFull], [false, false]);
  for (let revision = 60; revision < 80; revision++) sink.event(event(revision));
  assert.deepEqual([sink.isBehind, sink.isFull], [true, false]);
  for (let revision = 80; revision < 120; revision++) sink.event(event(revision));
  assert.deepEqual([sink.isBehind, sink.isFull], [true, true]);
  await sink.drained();
  assert.deepEqual([sink.isBehind, sink.isFull], [false, false]);
});

test('watch: the end of a stream follows the events of the same turn', async () => {
  const { sink, text } = await open();
  sink.event(event(8));
  sink.event(event(9));
  sink.end(new KindredError('Expired', { en: 'gone', zh: 'gone' }));
  sink.event(event(10));
  await until(() => text().includes('ERROR'));
  const lines = text()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.map(({ type, revision }) => `${type} ${revision}`),
    ['ADDED 8', 'ADDED 9', 'ERROR 9'],
  );
});

test('watch: initial events carry no id, what closes them and all others do', async () => {
  const { sink, text } = await open({ accept: 'text/event-stream' });
  sink.event({ type: 'ADDED', ...change(7, '{}'), initial: true });
  sink.event({ type: 'BOOKMARK', revision: 7, initial: true });
  sink.event({ type: 'DELETED', ...change(8, '{}') });
  sink.event({ type: 'BOOKMARK', revision: 9 });
  await until(() => text().includes('"revision":9'));
  const frames = text().trimEnd().split('\n\n');
  assert.deepEqual(
    frames.map((frame) => /^id: (\d+)$/m.exec(frame)?.[1]),
    [undefined, '7', '8', '9'],
  );
  assert.deepEqual(
    frames.map((frame) => frame.includes('"initial":true')),
    [true, true, false, false],
  );
});

test('watch: events of a live page', async () => {
  const { sink, text } = await open({ paged: true });
  sink.snapshot({ revision: 7, total: 1, items: [Buffer.from('{"n":1}')] });
  const content: WindowContent = {
    total: 3,
    removed: ['a"'],
    inserted: [
      { index: 0, object: Buffer.from('{"n":2}') },
      { index: 2, object: Buffer.from('{"n":3}') },
    ],
    updated: [Buffer.from('{"n":4}'), Buffer.from('{"n":5}')],
  };
  sink.window(8, content);
  sink.bookmark(9);
  await until(() => text().split('\n').length === 4);
  const [snapshot, window, bookmark] = text()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual([snapshot.type, snapshot.revision, snapshot.object.items], ['SNAPSHOT', 7, [{ n: 1 }]]);
  const inserted = [
    { index: 0, object: { n: 2 } },
    { index: 2, object: { n: 3 } },
  ];
  const object = { total: 3, removed: ['a"'], inserted, updated: [{ n: 4 }, { n: 5 }] };
  assert.deepEqual(window, { type: 'WINDOW', revision: 8, object });
  assert.deepEqual(bookmark, { type: 'BOOKMARK', revision: 9 });
});

test('watch: rights that are gone by the time the watch is opened end it', async () => {
  const looks: (() => void)[] = [];
  let isAllowed = true;
  const authorizer = {
    decide: () => (isAllowed ? { allowed: true, reason: '' } : { allowed: false, reason: 'no' }),
    onChange: (look: () => void) => {
      looks.push(look);
      return () => {};
    },
  } as unknown as Authorizer;
  const later = await open({ authorizer });
  isAllowed = false;
  const early = await open({ authorizer });
  assert.equal(early.isClosed(), true);
  await until(() => early.text().includes('Forbidden'));
  assert.equal(later.isClosed(), false);
  looks[0]!();
  assert.equal(later.isClosed(), true);
});
