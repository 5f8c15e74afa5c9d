import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KindredError } from '../errors.ts';
import { defineModel } from '../model/define.ts';
import type { ConnectionOptions } from './client.ts';
import { createClient } from './client.ts';
import { isNotApplied, Patience, retryAfterOf, waitAfter } from './retry.ts';

const Thing = defineModel({
  gvk: { group: 'demo.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' },
  spec: { type: 'object' },
});
const thing = { metadata: { name: 'a' }, spec: {} };
const stored = { apiVersion: 'demo.example.com/v1', kind: 'Thing', metadata: { name: 'a', version: 0 }, spec: {} };

type Answer = () => Response | Promise<Response>;

function problem(status: number, code: string, headers: Record<string, string> = {}): Answer {
  return () => Response.json({ status, code, detail: code }, { status, headers });
}
const ok: Answer = () => Response.json(stored);
const html = (status: number, headers: Record<string, string> = {}): Answer => {
  return () => new Response('<html>', { status, headers: { 'content-type': 'text/html', ...headers } });
};
const failed = (code: string): Answer => {
  return () => Promise.reject(new TypeError('fetch failed', { cause: { code } }));
};

/** A client whose requests are answered one after the other, and how many were made. */
function answering(answers: Answer[], options: Partial<ConnectionOptions> = {}) {
  const methods: string[] = [];
  const fetch: typeof globalThis.fetch = async (_input, init) => {
    methods.push(init!.method!);
    const answer = answers.shift();
    if (!answer) throw new Error('more requests than expected');
    return answer();
  };
  const retry = { minDelay: 1, maxDelay: 2, patience: 2_000 };
  return { client: createClient({ url: 'http://service', fetch, retry, ...options }), methods };
}

async function outcome(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'ok',
    (error) => (error as KindredError).code ?? String(error),
  );
}

const writes: { name: string; answers: Answer[]; expected: string; requests: number }[] = [
  { name: '503 NotReady', answers: [problem(503, 'NotReady'), ok], expected: 'ok', requests: 2 },
  { name: '429', answers: [problem(429, 'TooManyRequests'), ok], expected: 'ok', requests: 2 },
  { name: '429 of a proxy', answers: [html(429), ok], expected: 'ok', requests: 2 },
  {
    name: '503 of a proxy that says when to come again',
    answers: [html(503, { 'retry-after': '0' }), ok],
    expected: 'ok',
    requests: 2,
  },
  {
    name: 'a refused connection after an answer',
    answers: [problem(503, 'NotReady'), failed('ECONNREFUSED'), ok],
    expected: 'ok',
    requests: 3,
  },
  { name: '504 UnknownOutcome', answers: [problem(504, 'UnknownOutcome')], expected: 'UnknownOutcome', requests: 1 },
  { name: '503 of a proxy', answers: [html(503)], expected: 'UnknownOutcome', requests: 1 },
  { name: '502 of a proxy', answers: [html(502)], expected: 'UnknownOutcome', requests: 1 },
  { name: '504 of a proxy', answers: [html(504)], expected: 'UnknownOutcome', requests: 1 },
  { name: 'a connection that breaks', answers: [failed('ECONNRESET')], expected: 'UnknownOutcome', requests: 1 },
  { name: '503 QueryLimit', answers: [problem(503, 'QueryLimit')], expected: 'QueryLimit', requests: 1 },
  { name: '507 StorageFull', answers: [problem(507, 'StorageFull')], expected: 'StorageFull', requests: 1 },
  {
    name: 'an address where nothing ever answered',
    answers: [failed('ECONNREFUSED')],
    expected: 'NotReady',
    requests: 1,
  },
];
for (const { name, answers, expected, requests } of writes) {
  test(`errors: a write is sent again when it certainly was not applied, and only then - ${name}`, async () => {
    const { client, methods } = answering([...answers]);
    assert.equal(await outcome(client.create(Thing, thing)), expected);
    assert.equal(methods.length, requests);
  });
}

const reads: Record<string, Answer> = {
  '502 of a proxy': html(502),
  '503 of a proxy': html(503),
  '504 of a proxy': html(504),
  'a connection that breaks': failed('ECONNRESET'),
  '503 NotReady': problem(503, 'NotReady'),
};
for (const [name, answer] of Object.entries(reads)) {
  test(`errors: a read is sent again - ${name}`, async () => {
    const { client, methods } = answering([answer, ok]);
    assert.equal(await outcome(client.get(Thing, 'a')), 'ok');
    assert.deepEqual(methods, ['GET', 'GET']);
  });
}

test('errors: a read whose answer breaks off is sent again, a write is not', async () => {
  const cut: Answer = () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) });
    return new Response(body, { headers: { 'content-type': 'application/json' } });
  };
  const reading = answering([cut, ok]);
  assert.equal(await outcome(reading.client.get(Thing, 'a')), 'ok');
  const writing = answering([cut, ok]);
  assert.equal(await outcome(writing.client.create(Thing, thing)), 'UnknownOutcome');
  assert.equal(writing.methods.length, 1);
});

test('retry: false and a patience of 0 make one attempt; patience ends the attempts', async (context) => {
  for (const retry of [false, { patience: 0 }] as const) {
    const { client, methods } = answering([problem(503, 'NotReady'), ok], { retry });
    assert.equal(await outcome(client.get(Thing, 'a')), 'NotReady');
    assert.equal(methods.length, 1);
  }
  // Each attempt takes 10 ms: the first fails at 10, the one at 50 has no patience left.
  let now = 0;
  context.mock.method(performance, 'now', () => now);
  const slow: Answer = () => {
    now += 10;
    return problem(503, 'NotReady')();
  };
  const endless = Array.from({ length: 1_000 }, () => slow);
  const { client, methods } = answering(endless, { retry: { minDelay: 1, maxDelay: 5, patience: 40 } });
  assert.equal(await outcome(client.get(Thing, 'a')), 'NotReady');
  assert.equal(methods.length, 5);
});

test('errors: a client gives up at once when the service asks to wait longer than it has patience', async () => {
  const { client, methods } = answering([problem(503, 'NotReady', { 'retry-after': '60' }), ok]);
  assert.equal(await outcome(client.create(Thing, thing)), 'NotReady');
  assert.equal(methods.length, 1);
});

test('a signal ends a call while it waits, with its reason', async () => {
  const { client } = answering([problem(503, 'NotReady'), ok], { retry: { minDelay: 60_000, patience: 120_000 } });
  const controller = new AbortController();
  const call = client.with({ signal: controller.signal }).create(Thing, thing);
  controller.abort(new Error('enough'));
  assert.equal(await outcome(call), 'Error: enough');
});

test('a request without an answer is given up after the timeout: a read may be sent again, a write has an unknown outcome', async () => {
  const silent: typeof globalThis.fetch = (_input, init) =>
    new Promise((_resolve, reject) => {
      init!.signal!.addEventListener('abort', () => reject(init!.signal!.reason));
    });
  const client = createClient({ url: 'http://service', fetch: silent, timeout: 20, retry: false });
  assert.equal(await outcome(client.create(Thing, thing)), 'UnknownOutcome');
  await assert.rejects(client.get(Thing, 'a'), { code: 'NotReady', message: /nothing arrived for 20 ms/ });
});

test('an answer that falls silent midway is given up after the timeout', async () => {
  const halfway: Answer = () => {
    const head = new TextEncoder().encode('{"metadata":');
    return new Response(new ReadableStream({ start: (controller) => controller.enqueue(head) }));
  };
  const fetch: typeof globalThis.fetch = async (_input, init) => {
    const response = await halfway();
    const reader = response.body!.getReader();
    const body = new ReadableStream({
      async pull(controller) {
        init!.signal!.addEventListener('abort', () => controller.error(init!.signal!.reason));
        const { value } = await reader.read();
        controller.enqueue(value);
      },
    });
    return new Response(body, { headers: { 'content-type': 'application/json' } });
  };
  const client = createClient({ url: 'http://service', fetch, timeout: 20, retry: false });
  assert.equal(await outcome(client.get(Thing, 'a')), 'NotReady');
  assert.equal(await outcome(Array.fromAsync(client.exportLines(Thing))), 'NotReady');
});

test('waits double up to the longest one, with jitter, on top of what the service asks for', () => {
  const options = { minDelay: 100, maxDelay: 1_000, random: () => 1 };
  assert.deepEqual(
    [1, 2, 3, 4, 5, 9].map((failures) => waitAfter(failures, options)),
    [100, 200, 400, 800, 1_000, 1_000],
  );
  assert.equal(waitAfter(1, { ...options, random: () => 0 }), 50);
  const error = new KindredError('NotReady', { en: '', zh: '' }, { headers: { 'Retry-After': '3' } });
  assert.equal(waitAfter(1, options, error), 3_100);
});

test('Retry-After is seconds or a date', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  const after = (text: string) =>
    retryAfterOf(new KindredError('NotReady', { en: '', zh: '' }, { headers: { 'retry-after': text } }), now);
  assert.deepEqual(
    ['0', '7', 'Thu, 01 Jan 2026 00:00:05 GMT', 'Wed, 31 Dec 2025 00:00:00 GMT', 'soon'].map(after),
    [0, 7_000, 5_000, 0, 0],
  );
  assert.equal(retryAfterOf(new Error('x')), 0);
});

test('patience counts from the first failure after a success', async () => {
  const error = new KindredError('NotReady', { en: 'away', zh: '' });
  const patience = new Patience({ minDelay: 1, maxDelay: 1, patience: 60 });
  await new Promise((resolve) => setTimeout(resolve, 80));
  await patience.wait(error, 1);
  patience.progress();
  await new Promise((resolve) => setTimeout(resolve, 80));
  await patience.wait(error, 1);
  await new Promise((resolve) => setTimeout(resolve, 80));
  await assert.rejects(patience.wait(error, 1), error);
});

test('a stopped patience throws the failure, in a wait and at the next one', async () => {
  const error = new KindredError('NotReady', { en: 'away', zh: '' });
  const stop = new AbortController();
  const patience = new Patience({ minDelay: 60_000, patience: 120_000, stop: stop.signal });
  const waiting = patience.wait(error, 1);
  stop.abort(new Error('another'));
  await assert.rejects(waiting, error);
  await assert.rejects(patience.wait(error, 1), error);
});

test('errors: which requests were certainly not applied', () => {
  const codes = [
    'NotReady',
    'TooManyRequests',
    'UnknownOutcome',
    'QueryLimit',
    'InternalError',
    'StorageFull',
  ] as const;
  const found = codes.filter((code) => isNotApplied(new KindredError(code, { en: '', zh: '' })));
  assert.deepEqual(found, ['NotReady', 'TooManyRequests']);
});
