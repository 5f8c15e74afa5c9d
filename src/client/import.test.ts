import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineModel } from '../model/define.ts';
import type { ImportOptions, ImportResult } from './client.ts';
import { createClient } from './client.ts';

const Thing = defineModel({
  gvk: { group: 'demo.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' },
  spec: { type: 'object' },
});

interface Stored {
  metadata: { name: string; version: number; creationTimestamp: string; generateName?: string };
  spec?: object;
}

/**
 * What one bulk request meets. `lines`: answers in place of those of the service, by line; `applied` false: the service
 * does not see the line. `cutAfter`: so many answers arrive before the connection breaks; `seen`: lines that the service gets.
 */
interface Script {
  status?: number;
  code?: string;
  seen?: number;
  cutAfter?: number;
  lines?: Record<number, { status: number; code: string; applied: boolean }>;
  /** The service ends its answer at this line, which and those behind it it did not read. */
  unread?: number;
  /** One more answer than there were lines. */
  more?: boolean;
  /** Between this request and the next. */
  after?: (store: Map<string, Stored>) => void;
}

const now = '2026-05-01T00:00:00.000Z';

/** A service in memory that answers each bulk request by the next script, and by itself when there are none left. */
function service(scripts: Script[], stored: Stored[] = []) {
  const store = new Map(stored.map((one) => [one.metadata.name, one]));
  const bulks: string[][] = [];
  let generated = 0;
  const create = (text: string): object => {
    let object: { metadata?: { name?: string; generateName?: string }; spec?: object };
    try {
      object = JSON.parse(text);
    } catch {
      return { status: 400, code: 'BadRequest', detail: 'no JSON' };
    }
    const name = object.metadata?.name ?? `${object.metadata?.generateName}${generated++}`;
    if (store.has(name)) return { status: 409, code: 'AlreadyExists', detail: `${name} is there` };
    const metadata = { ...object.metadata, name, version: 0, creationTimestamp: now };
    store.set(name, { ...object, metadata });
    return { status: 201, name, version: 0 };
  };
  const fetch: typeof globalThis.fetch = async (input, init) => {
    init?.signal?.throwIfAborted();
    const headers = { date: new Date(Date.parse(now)).toUTCString() };
    const name = /things\/(.+)$/.exec(String(input))?.[1];
    if (name !== undefined) {
      const found = store.get(name);
      return found
        ? Response.json(found, { headers })
        : Response.json({ status: 404, code: 'NotFound', detail: name }, { status: 404, headers });
    }
    const lines = String(init!.body).split('\n').slice(0, -1);
    bulks.push(lines);
    const { status, code, seen = lines.length, cutAfter, lines: own = {}, unread, more, after } = scripts.shift() ?? {};
    if (status !== undefined) return Response.json({ status, code, detail: 'later' }, { status, headers });
    const answers = lines.slice(0, unread ?? seen).map((line, i) => {
      const answer = own[i]?.applied === false ? {} : create(line);
      return own[i] ? { status: own[i].status, code: own[i].code, detail: `line ${i}` } : answer;
    });
    after?.(store);
    if (unread !== undefined) answers.push({ status: 400, code: 'BadRequest', detail: 'no further', unread: true });
    if (more) answers.push({ status: 201, name: 'x', version: 0 });
    const shown = answers.slice(0, cutAfter).map((one) => `${JSON.stringify(one)}\n`);
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const text = shown.shift();
        if (text !== undefined) controller.enqueue(new TextEncoder().encode(text));
        else if (cutAfter === undefined) controller.close();
        else controller.error(new TypeError('terminated', { cause: { code: 'UND_ERR_SOCKET' } }));
      },
    });
    return new Response(body, { headers });
  };
  return { store, bulks, client: createClient({ url: 'http://service', fetch }) };
}

const thing = (name: string, n = 0) => ({ metadata: { name }, spec: { n } });
/** Changes an object after it was created. */
function touch(store: Map<string, Stored>, name: string, change: object): void {
  const { metadata, ...object } = store.get(name)!;
  store.set(name, { ...object, ...change, metadata: { ...metadata, version: metadata.version + 1 } });
}

const three = [thing('a', 1), thing('b', 2), thing('c', 3)];
const quick = { retry: { minDelay: 1, maxDelay: 2, patience: 2_000 } };

/** `a` for an acknowledged object, `b AlreadyExists` for a refused one. */
function told(results: readonly ImportResult[]): string[] {
  return results.map((one) => {
    if (one.ok) return one.name;
    const { metadata } = one.object as { metadata?: { name?: string } };
    return `${metadata?.name ?? '?'} ${one.error.code}`;
  });
}

const cases: {
  name: string;
  scripts: Script[];
  stored?: Stored[];
  objects?: (object | string)[];
  options?: ImportOptions;
  expected: string[];
  /** Lines of each request. */
  bulks: number[];
}[] = [
  {
    name: 'a batch that is refused',
    scripts: [{ status: 503, code: 'NotReady' }],
    expected: ['a', 'b', 'c'],
    bulks: [3, 3],
  },
  {
    name: 'too many requests',
    scripts: [{ status: 429, code: 'TooManyRequests' }],
    expected: ['a', 'b', 'c'],
    bulks: [3, 3],
  },
  {
    name: 'lines that are refused are sent again, and they alone',
    scripts: [
      {
        lines: {
          0: { status: 503, code: 'NotReady', applied: false },
          2: { status: 429, code: 'TooManyRequests', applied: false },
        },
      },
    ],
    expected: ['a', 'b', 'c'],
    bulks: [3, 2],
  },
  {
    name: 'a line with an unknown outcome that was applied',
    scripts: [{ lines: { 1: { status: 504, code: 'UnknownOutcome', applied: true } } }],
    expected: ['a', 'b', 'c'],
    bulks: [3, 1],
  },
  {
    name: 'a line with an unknown outcome that was not applied',
    scripts: [{ lines: { 1: { status: 504, code: 'UnknownOutcome', applied: false } } }],
    expected: ['a', 'b', 'c'],
    bulks: [3, 1],
  },
  { name: 'an answer that breaks off', scripts: [{ cutAfter: 1 }], expected: ['a', 'b', 'c'], bulks: [3, 2] },
  {
    name: 'an answer that breaks off again and again',
    scripts: [{ cutAfter: 0 }, { cutAfter: 0 }, { cutAfter: 1 }],
    expected: ['a', 'b', 'c'],
    bulks: [3, 3, 3, 2],
  },
  { name: 'a request that breaks off', scripts: [{ cutAfter: 0, seen: 2 }], expected: ['a', 'b', 'c'], bulks: [3, 3] },
  {
    name: 'an object that was there before is a conflict, also when the answer breaks off',
    scripts: [{ cutAfter: 0 }],
    stored: [{ metadata: { name: 'b', version: 0, creationTimestamp: '2026-04-30T00:00:00.000Z' }, spec: { n: 2 } }],
    expected: ['a', 'b AlreadyExists', 'c'],
    bulks: [3, 3],
  },
  {
    name: 'an object that somebody else created meanwhile is a conflict',
    scripts: [{ cutAfter: 0, seen: 1 }],
    stored: [{ metadata: { name: 'b', version: 0, creationTimestamp: now }, spec: { n: 77 } }],
    expected: ['a', 'b AlreadyExists', 'c'],
    bulks: [3, 3],
  },
  {
    name: 'an object that a controller touched meanwhile is its own',
    scripts: [{ cutAfter: 0, after: (store) => touch(store, 'b', { status: { seen: true } }) }],
    expected: ['a', 'b', 'c'],
    bulks: [3, 3],
  },
  {
    name: 'an object that somebody changed meanwhile is named',
    scripts: [{ cutAfter: 0, after: (store) => touch(store, 'b', { spec: { n: 78 } }) }],
    expected: ['a', 'b AlreadyExists', 'c'],
    bulks: [3, 3],
  },
  {
    name: 'an answer with more lines than the request',
    scripts: [{ more: true }],
    expected: ['a', 'b', 'c'],
    bulks: [3],
  },
  {
    name: 'a service that reads no further after many refusals',
    scripts: [{ unread: 2 }],
    objects: [thing('a'), '{', thing('b'), { metadata: { generateName: 'g-' } }],
    expected: ['a', '? BadRequest', 'b', 'g-0'],
    bulks: [4, 2],
  },
  {
    name: 'a service that reads nothing',
    scripts: [{ unread: 0 }],
    expected: ['a BadRequest', 'b', 'c'],
    bulks: [3, 2],
  },
  {
    name: 'the same name twice is stored once, also when the answer breaks off',
    scripts: [{ cutAfter: 0 }],
    objects: [thing('a', 1), thing('a', 1)],
    expected: ['a', 'a AlreadyExists'],
    bulks: [2, 2],
  },
  {
    name: 'the same name in two requests is stored once, also when the second answer is lost',
    scripts: [{}, { cutAfter: 0 }],
    objects: [thing('a', 1), thing('a', 1)],
    options: { ...quick, batch: 1, concurrency: 1 },
    expected: ['a', 'a AlreadyExists'],
    bulks: [1, 1, 1],
  },
  {
    name: 'objects without a name cannot be looked for',
    scripts: [{ cutAfter: 1 }],
    objects: [thing('a'), { metadata: { generateName: 'g-' } }, thing('b')],
    expected: ['a', '? UnknownOutcome', 'b'],
    bulks: [3, 1],
  },
  {
    name: 'objects without a name that were certainly not applied are sent again',
    scripts: [{ status: 503, code: 'NotReady' }],
    objects: [{ metadata: { generateName: 'g-' } }],
    expected: ['g-0'],
    bulks: [1, 1],
  },
  {
    name: 'no patience: what was not applied is refused as such, what may be stored as that',
    scripts: [{ cutAfter: 1 }, { status: 503, code: 'NotReady' }],
    options: { retry: { minDelay: 1, maxDelay: 1, patience: 0 } },
    expected: ['a', 'b UnknownOutcome', 'c UnknownOutcome'],
    bulks: [3],
  },
  {
    name: 'a refusal for all objects',
    scripts: [{ status: 403, code: 'Forbidden' }],
    expected: ['a Forbidden', 'b Forbidden', 'c Forbidden'],
    bulks: [3],
  },
  {
    name: 'a refusal after a lost answer: they may be stored all the same',
    scripts: [{ cutAfter: 1 }, { status: 403, code: 'Forbidden' }],
    expected: ['a', 'b UnknownOutcome', 'c UnknownOutcome'],
    bulks: [3, 2],
  },
  {
    name: 'texts that are empty or of several lines',
    scripts: [],
    objects: ['', ' \n', '{"metadata":\r\n{"name":\n"a"}}\n', '{'],
    expected: ['? BadRequest', '? BadRequest', 'a', '? BadRequest'],
    bulks: [2],
  },
];
for (const { name, scripts, stored, objects = three, options = quick, expected, bulks } of cases) {
  test(`api: an import has one answer for each object - ${name}`, async () => {
    const made = service([...scripts], stored);
    const results = await Array.fromAsync(made.client.import(Thing, objects, options));
    assert.deepEqual(told(results), expected);
    assert.deepEqual(
      results.map(({ index }) => index),
      objects.map((_, i) => i),
    );
    assert.deepEqual(
      made.bulks.map(({ length }) => length),
      bulks,
    );
    for (const one of results) if (one.ok) assert.ok(made.store.has(one.name), one.name);
  });
}

test("api: an object that may be the import's own and was changed since is reported as such", async () => {
  const { client } = service([{ cutAfter: 0, after: (store) => touch(store, 'b', { spec: { n: 78 } }) }]);
  const results = await Array.fromAsync(client.import(Thing, three, quick));
  assert.match(results[1]!.ok ? '' : results[1]!.error.message, /this import may have created it/);
});

test('api: large objects go in several requests', async () => {
  const { client, bulks } = service([]);
  const large = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ metadata: { name }, spec: { text: 'x'.repeat(2 ** 21) } }));
  assert.deepEqual(told(await Array.fromAsync(client.import(Thing, large))), ['a', 'b', 'c', 'd', 'e']);
  assert.deepEqual(
    bulks.map(({ length }) => length),
    [2, 2, 1],
  );
});

test('api: when the objects fail midway, those before have their results first', async () => {
  const { client } = service([]);
  async function* source() {
    yield* three;
    throw new Error('the file ends early');
  }
  const results: ImportResult[] = [];
  await assert.rejects(async () => {
    for await (const one of client.import(Thing, source(), { batch: 2 })) results.push(one);
  }, /the file ends early/);
  assert.deepEqual(told(results), ['a', 'b', 'c']);
});

test('api-description: a signal ends an import while it waits, and cuts off what is under way', async () => {
  const controller = new AbortController();
  const { client } = service([{ status: 503, code: 'NotReady' }]);
  const waiting = Array.fromAsync(
    client.import(Thing, three, {
      signal: controller.signal,
      retry: { minDelay: 60_000, onWait: () => controller.abort(new Error('enough')) },
    }),
  );
  await assert.rejects(waiting, /enough/);
});

test('api-description: a consumer that stops early leaves nothing under way', async () => {
  const signals: AbortSignal[] = [];
  const fetch: typeof globalThis.fetch = (_input, init) => {
    signals.push(init!.signal!);
    const isFirst = signals.length === 1;
    const body = new ReadableStream({
      start(stream) {
        init!.signal!.addEventListener('abort', () => stream.error(init!.signal!.reason));
        // The first is answered, the second never.
        if (isFirst) stream.enqueue(new TextEncoder().encode('{"status":201,"name":"a","version":0}\n'));
        if (isFirst) stream.close();
      },
    });
    return Promise.resolve(new Response(body));
  };
  const client = createClient({ url: 'http://service', fetch });
  for await (const _ of client.import(Thing, three, { batch: 1, concurrency: 2 })) break;
  assert.equal(signals.length, 2);
  assert.ok(signals[1]!.aborted);
});

test('api: an import goes on as long as something succeeds now and then', async () => {
  const objects = Array.from({ length: 30 }, (_, i) => thing(`t${i}`));
  // Each request takes one more line; between two of them patience would be nearly at its end.
  const refused = { status: 503, code: 'NotReady', applied: false };
  const scripts = Array.from({ length: 29 }, (_, i) => ({
    lines: Object.fromEntries(Array.from({ length: 29 - i }, (_, at) => [at + 1, refused])),
  }));
  const { client } = service(scripts);
  const retry = { minDelay: 10, maxDelay: 20, random: () => 1, patience: 100 };
  const results = await Array.fromAsync(client.import(Thing, objects, { retry }));
  assert.ok(results.every(({ ok }) => ok));
});
