import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineModel } from '../model/define.ts';
import { createClient } from './client.ts';

const Thing = defineModel({
  gvk: { group: 'demo.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' },
  spec: { type: 'object' },
});

interface Script {
  /** Query that this connection must ask with. */
  expect: Record<string, string>;
  status?: number;
  revision?: number;
  events?: object[];
  /** How it ends: as the service ends it, broken, or not at all. */
  end?: 'close' | 'break' | 'hang';
}

/**
 * A service that answers each new connection by the next script. A connection that is not in the script ends the watch
 * through `deviation`, whose reason says why: as a failed request it would be tried again for ever.
 */
function scripted(scripts: Script[]): { fetch: typeof globalThis.fetch; deviation: AbortSignal } {
  const deviation = new AbortController();
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const script = scripts.shift();
    try {
      assert.ok(script, 'more connections than expected');
      const query = Object.fromEntries(new URL(String(input)).searchParams);
      assert.deepEqual(query, { watch: 'true', ...script.expect });
    } catch (error) {
      deviation.abort(error);
      throw error;
    }
    if (script.status !== undefined && script.status !== 200) {
      const code = script.status === 410 ? 'Expired' : 'NotReady';
      return Response.json({ status: script.status, code, detail: code }, { status: script.status });
    }
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const event of script.events ?? [])
          controller.enqueue(new TextEncoder().encode(`${JSON.stringify(event)}\n`));
        if (script.end === 'break') setImmediate(() => controller.error(new TypeError('terminated')));
        else if (script.end !== 'hang') controller.close();
        init?.signal?.addEventListener('abort', () => controller.error(init.signal!.reason));
      },
    });
    return new Response(body, { headers: { 'kindred-revision': String(script.revision ?? 0) } });
  };
  return { fetch, deviation: deviation.signal };
}

const object = (name: string, version = 0) => ({
  apiVersion: 'demo.example.com/v1',
  kind: 'Thing',
  metadata: { name, version, creationTimestamp: '2026-01-01T00:00:00.000Z' },
  spec: {},
});
const quick = { minDelay: 1, maxDelay: 2 };

async function collect(
  scripts: Script[],
  { signal, ...options }: { signal?: AbortSignal } & Record<string, unknown>,
  count: number,
): Promise<string[]> {
  const { fetch, deviation } = scripted(scripts);
  const client = createClient({ url: 'http://service', fetch });
  const seen: string[] = [];
  for await (const event of client
    .for(Thing)
    .watch({ ...quick, ...options, signal: AbortSignal.any([deviation, ...(signal ? [signal] : [])]) })) {
    const name = 'object' in event ? event.object.metadata.name : '';
    seen.push([event.type, event.revision, name, event.initial ? 'initial' : ''].filter(Boolean).join(' '));
    if (seen.length === count) break;
  }
  deviation.throwIfAborted();
  return seen;
}

test('watch: a broken watch goes on from the last revision seen', async () => {
  const seen = await collect(
    [
      { expect: {}, revision: 7, events: [{ type: 'ADDED', revision: 9, object: object('a') }], end: 'break' },
      { expect: { since: '9' }, status: 503 },
      { expect: { since: '9' }, events: [{ type: 'BOOKMARK', revision: 12 }] },
      { expect: { since: '12' }, events: [{ type: 'MODIFIED', revision: 13, object: object('a', 1) }], end: 'hang' },
    ],
    {},
    3,
  );
  assert.deepEqual(seen, ['ADDED 9 a', 'BOOKMARK 12', 'MODIFIED 13 a']);
});

test('watch: a watch that breaks before its first event goes on from the revision in the head', async () => {
  const seen = await collect(
    [
      { expect: {}, revision: 7, end: 'break' },
      { expect: { since: '7' }, events: [{ type: 'DELETED', revision: 8, object: object('a') }] },
    ],
    {},
    1,
  );
  assert.deepEqual(seen, ['DELETED 8 a']);
});

test('watch: an initial list that breaks is listed again, and only the differences are given', async () => {
  const initial = (name: string, version: number, revision: number) => ({
    type: 'ADDED',
    revision,
    object: object(name, version),
    initial: true,
  });
  const seen = await collect(
    [
      {
        expect: { sendInitial: 'true' },
        events: [initial('a', 0, 5), initial('b', 0, 5), initial('c', 0, 5)],
        end: 'break',
      },
      {
        expect: { sendInitial: 'true' },
        events: [
          initial('a', 0, 8),
          initial('b', 3, 8),
          initial('d', 0, 8),
          { type: 'BOOKMARK', revision: 8, initial: true },
        ],
      },
      { expect: { since: '8' }, events: [{ type: 'MODIFIED', revision: 9, object: object('d', 1) }] },
    ],
    { sendInitial: true },
    8,
  );
  assert.deepEqual(seen, [
    'ADDED 5 a initial',
    'ADDED 5 b initial',
    'ADDED 5 c initial',
    'MODIFIED 8 b initial',
    'ADDED 8 d initial',
    'DELETED 8 c',
    'BOOKMARK 8 initial',
    'MODIFIED 9 d',
  ]);
});

test('watch: an object that was deleted and created again while the list was interrupted is sent again', async () => {
  const initial = (name: string, creationTimestamp: string, revision: number, version = 0) => ({
    type: 'ADDED',
    revision,
    object: { ...object(name), metadata: { name, version, creationTimestamp } },
    initial: true,
  });
  const [before, after] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:01.000Z'];
  const seen = await collect(
    [
      {
        expect: { sendInitial: 'true' },
        events: [initial('same', before, 5), initial('remade', before, 5), initial('changed', before, 5)],
        end: 'break',
      },
      {
        expect: { sendInitial: 'true' },
        events: [
          initial('same', before, 9),
          initial('remade', after, 9),
          initial('changed', before, 9, 1),
          { type: 'BOOKMARK', revision: 9, initial: true },
        ],
      },
    ],
    { sendInitial: true },
    6,
  );
  assert.deepEqual(seen.slice(3), ['MODIFIED 9 remade initial', 'MODIFIED 9 changed initial', 'BOOKMARK 9 initial']);
});

test('watch: a list that breaks twice gives each object once, and tells what went meanwhile', async () => {
  const initial = (name: string, revision: number) => ({
    type: 'ADDED',
    revision,
    object: object(name),
    initial: true,
  });
  const bookmark = (revision: number) => ({ type: 'BOOKMARK', revision });
  const seen = await collect(
    [
      { expect: { sendInitial: 'true' }, events: [initial('a', 5), initial('b', 5), bookmark(5)], end: 'break' },
      { expect: { sendInitial: 'true' }, events: [initial('b', 6), initial('c', 6)], end: 'break' },
      {
        expect: { sendInitial: 'true' },
        events: [initial('c', 7), initial('d', 7), { ...bookmark(7), initial: true }, bookmark(8)],
      },
    ],
    { sendInitial: true },
    8,
  );
  assert.deepEqual(seen, [
    'ADDED 5 a initial',
    'ADDED 5 b initial',
    'ADDED 6 c initial',
    'ADDED 7 d initial',
    'DELETED 7 a',
    'DELETED 7 b',
    'BOOKMARK 7 initial',
    'BOOKMARK 8',
  ]);
});

test('watch: a service that ends each stream at once is asked less and less often', async (t) => {
  const delays: number[] = [];
  const { setTimeout } = globalThis;
  t.mock.method(globalThis, 'setTimeout', (run: () => void, milliseconds: number) => {
    if (milliseconds < 60_000) delays.push(milliseconds);
    return setTimeout(run, milliseconds < 60_000 ? 0 : milliseconds);
  });
  const ended = { type: 'ERROR', revision: 7, error: { status: 503, code: 'NotReady', detail: 'building' } };
  const seen = await collect(
    [
      { expect: {}, revision: 7, events: [ended] },
      { expect: { since: '7' }, events: [ended] },
      { expect: { since: '7' }, events: [ended] },
      {
        expect: { since: '7' },
        events: [
          { type: 'BOOKMARK', revision: 9 },
          { ...ended, revision: 9 },
        ],
      },
      { expect: { since: '9' }, events: [{ type: 'BOOKMARK', revision: 10 }] },
    ],
    { minDelay: 100, maxDelay: 10_000, random: () => 1 },
    2,
  );
  assert.deepEqual(seen, ['BOOKMARK 9', 'BOOKMARK 10']);
  assert.deepEqual(delays, [100, 200, 400, 100], 'and as before once something came');
});

test('watch: an initial list that ends with Expired is listed again', async () => {
  const expired = { type: 'ERROR', revision: 5, error: { status: 410, code: 'Expired', detail: 'list again' } };
  const initial = { type: 'ADDED', revision: 5, object: object('a'), initial: true };
  const seen = await collect(
    [
      { expect: { sendInitial: 'true' }, events: [initial, expired] },
      { expect: { sendInitial: 'true' }, events: [initial, { type: 'BOOKMARK', revision: 5, initial: true }] },
    ],
    { sendInitial: true },
    2,
  );
  assert.deepEqual(seen, ['ADDED 5 a initial', 'BOOKMARK 5 initial']);
});

test('watch: a service that stops or a moment too slow is waited out, a revision no longer kept is thrown', async () => {
  const ended = (code: string, status: number) => ({
    type: 'ERROR',
    revision: 9,
    error: { status, code, detail: code },
  });
  await assert.rejects(
    collect(
      [
        {
          expect: { since: '3' },
          events: [{ type: 'ADDED', revision: 9, object: object('a') }, ended('ShuttingDown', 503)],
        },
        { expect: { since: '9' }, events: [ended('SlowConsumer', 503)] },
        { expect: { since: '9' }, status: 410 },
      ],
      { since: '3' },
      2,
    ),
    { code: 'Expired', status: 410 },
  );
});

test('watch: without resume an ERROR event is thrown', async () => {
  const stopped = { type: 'ERROR', revision: 9, error: { status: 503, code: 'ShuttingDown', detail: 'stopping' } };
  await assert.rejects(collect([{ expect: {}, events: [stopped] }], { resume: false }, 1), { code: 'ShuttingDown' });
});

test('watch: a watch without a byte for too long counts as broken', async () => {
  const seen = await collect(
    [
      { expect: {}, revision: 7, end: 'hang' },
      { expect: { since: '7' }, events: [{ type: 'ADDED', revision: 8, object: object('a') }], end: 'hang' },
      { expect: { since: '8' }, events: [{ type: 'ADDED', revision: 9, object: object('b') }] },
    ],
    { idleTimeout: 20, signal: AbortSignal.timeout(5_000) },
    2,
  );
  assert.deepEqual(seen, ['ADDED 8 a', 'ADDED 9 b']);
});

test('watch: a signal ends a watch quietly', async () => {
  const { fetch } = scripted([{ expect: {}, end: 'hang' }]);
  const controller = new AbortController();
  const watch = createClient({ url: 'http://service', fetch }).watch(Thing, { ...quick, signal: controller.signal });
  setImmediate(() => controller.abort());
  for await (const event of watch) assert.fail(`no event was sent: ${event.type}`);
});

for (const kind of ['watch', 'watchPage'] as const) {
  test(`watch: the signal of the client ends the wait before another attempt - ${kind}`, async () => {
    const controller = new AbortController();
    let attempts = 0;
    const fetch: typeof globalThis.fetch = async () => {
      attempts++;
      setImmediate(() => controller.abort());
      return Response.json({ status: 503, code: 'NotReady', detail: 'not yet' }, { status: 503 });
    };
    const things = createClient({ url: 'http://service', fetch, signal: controller.signal }).for(Thing);
    const slow = { minDelay: 3_600_000, maxDelay: 3_600_000 };
    const events = kind === 'watch' ? things.watch(slow) : things.watchPage({}, undefined, slow);
    for await (const event of events) assert.fail(`no event was sent: ${event.type}`);
    assert.equal(attempts, 1);
  });
}
