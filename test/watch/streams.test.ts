/** docs/reference/watch.md, row by row, over a real socket. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { describe, test } from 'node:test';
import type { Service, ServiceOptions } from 'kindred';
import { createService, defineModel, Scheme, Type } from 'kindred';
import { until } from 'kindred/testing';
import type { StreamEvent, StreamOptions } from './stream.ts';
import { Stream } from './stream.ts';

const Item = defineModel({
  gvk: { group: 'watch.example.com', version: 'v1', kind: 'Item', singular: 'item', plural: 'items' },
  spec: Type.Object({ color: Type.String(), text: Type.Optional(Type.String()) }),
  indexes: (index) => [index.single('spec.color', String, (item) => item.spec.color)],
});
const Other = defineModel({
  gvk: { group: 'watch.example.com', version: 'v1', kind: 'Other', singular: 'other', plural: 'others' },
  spec: Type.Object({ color: Type.String() }),
});
const items = '/apis/watch.example.com/v1/items';

class Watched {
  readonly service: Service;
  readonly url: string;
  readonly token: string | undefined;
  readonly #streams: Stream[] = [];

  constructor(service: Service, url: string, token: string | undefined) {
    this.service = service;
    this.url = url;
    this.token = token;
  }

  async watch(query = '', options: StreamOptions & { path?: string } = {}): Promise<Stream> {
    const authorization = this.token && { authorization: `Bearer ${this.token}` };
    const headers = { ...authorization, ...options.headers };
    const stream = await Stream.open(`${this.url}${options.path ?? items}?watch=true${query}`, { ...options, headers });
    this.#streams.push(stream);
    return stream;
  }

  /** The status and code of a watch that does not begin. */
  async refused(query: string, options: StreamOptions = {}): Promise<{ status: number; problem: any; type: unknown }> {
    const stream = await this.watch(query, options);
    await until(() => stream.ended);
    return { status: stream.status, problem: JSON.parse(stream.text), type: stream.headers['content-type'] };
  }

  /** Its revision. */
  async write(
    name: string,
    color: string,
    more: { labels?: Record<string, string>; text?: string } = {},
  ): Promise<number> {
    const { labels, text } = more;
    const before = await this.service.client.fetch(Item, name);
    const object = { metadata: { name, labels }, spec: { color, ...(text !== undefined && { text }) } };
    if (before) await this.service.client.update(Item, object as never);
    else await this.service.client.create(Item, object);
    return this.revision();
  }

  async revision(): Promise<number> {
    return Number((await this.fetch(`${items}?size=1`)).headers.get('kindred-revision'));
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { ...(this.token && { authorization: `Bearer ${this.token}` }), ...init.headers };
    return fetch(this.url + path, { ...init, headers });
  }

  async gauge(name: string): Promise<number> {
    const text = await (await this.fetch('/metrics')).text();
    return Number(new RegExp(`^${name}(?:\\{store="default"\\})? (.*)$`, 'm').exec(text)![1]);
  }

  async post(path: string, body: object): Promise<any> {
    const headers = { 'content-type': 'application/json' };
    const response = await this.fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
    assert.equal(response.status, 201, await response.clone().text());
    return response.json();
  }

  async stop(): Promise<void> {
    for (const stream of this.#streams) stream.close();
    await this.service.stop();
  }
}

async function open(t: TestContext, options: ServiceOptions = {}): Promise<Watched> {
  const service = await createService({ port: 0, database: 'sqlite::memory:', auth: false, ...options });
  for (const model of [Item, Other]) service.schemeManager.register(model);
  const { url, administratorToken } = await service.start();
  const watched = new Watched(service, url, administratorToken);
  t.after(() => watched.stop());
  return watched;
}

/** Type, name and revision of each. */
function brief(events: readonly StreamEvent[]): unknown[] {
  return events.map(({ type, revision, object }) => [type, object.metadata.name, revision]);
}

describe('the stream', () => {
  for (const [accept, type] of [
    ['text/event-stream', 'text/event-stream'],
    ['application/x-ndjson', 'application/x-ndjson'],
    ['*/*', 'application/x-ndjson'],
    ['application/json', 'application/x-ndjson'],
    ['application/x-ndjson, Text/Event-Stream;q=0.5', 'text/event-stream'],
    ['text/event-stream;q=0, */*', 'application/x-ndjson'],
  ]) {
    test(`watch: Accept: ${accept} gets ${type}, the head at once with Kindred-Revision`, async (t) => {
      const watched = await open(t);
      const revision = await watched.write('a', 'red');
      const stream = await watched.watch('', { headers: { accept: accept! } });
      assert.equal(stream.status, 200);
      assert.equal(stream.headers['content-type'], type);
      assert.equal(stream.headers['kindred-revision'], String(revision));
      assert.match(stream.headers['cache-control']!, /no-store/);
      assert.equal(stream.text, '');
    });
  }

  test('watch: an event is a line of NDJSON, or a frame with event, id and data', async (t) => {
    const watched = await open(t);
    const [lines, frames] = [await watched.watch(), await watched.watch('', { sse: true })];
    const revision = await watched.write('a', 'red');
    const stored = await (await watched.fetch(`${items}/a`)).text();
    const json = `{"type":"ADDED","revision":${revision},"object":${stored}}`;
    await Promise.all([lines.changes(1), frames.changes(1)]);
    assert.equal(lines.text, `${json}\n`);
    assert.equal(frames.text, `event: ADDED\nid: ${revision}\ndata: ${json}\n\n`);
  });

  test('watch: HEAD answers as GET without a body, and ends', async (t) => {
    const watched = await open(t);
    const answer = await watched.fetch(`${items}?watch=true`, {
      method: 'HEAD',
      headers: { accept: 'text/event-stream' },
    });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'text/event-stream');
    assert.match(answer.headers.get('kindred-revision')!, /^\d+$/);
    assert.equal(answer.headers.get('content-length'), null);
    assert.equal(await answer.text(), '');
    assert.equal((await watched.fetch(`${items}?watch=true&since=999999`, { method: 'HEAD' })).status, 410);
    assert.equal(await watched.gauge('kindred_watches'), 0);
  });

  test('watch: who goes away is forgotten, in whatever moment', async (t) => {
    const watched = await open(t);
    const streams = await Promise.all(Array.from({ length: 20 }, (_, i) => watched.watch(i % 2 ? '' : '&size=5')));
    await until(async () => (await watched.gauge('kindred_watches')) === 20);
    for (const stream of streams) stream.close();
    const abort = new AbortController();
    const early = Array.from({ length: 50 }, () =>
      watched.fetch(`${items}?watch=true&since=0`, { signal: abort.signal }).catch(() => {}),
    );
    setImmediate(() => abort.abort());
    await Promise.all(early);
    await until(async () => (await watched.gauge('kindred_watches')) === 0);
  });

  for (const [query, parameter] of [
    ['&since=x', 'since'],
    ['&since=-1', 'since'],
    ['&since=1&since=2', 'since'],
    ['&sendInitial=yes', 'sendInitial'],
    ['&sendInitial=true&since=1', 'sendInitial'],
    ['&page=1&since=1', 'since'],
    ['&size=3&sendInitial=true', 'sendInitial'],
    ['&sort=spec.nothing', 'sort'],
    ['&sort=spec.nothing&sendInitial=true', 'sort'],
    ['&explain=true', 'explain'],
    ['&unknown=1', 'unknown'],
  ] as const) {
    test(`watch: watch=true${query} is refused before the stream begins, naming ${parameter}`, async (t) => {
      const watched = await open(t);
      const { status, problem, type } = await watched.refused(query, { sse: true });
      assert.equal(status, 400);
      assert.equal(type, 'application/problem+json');
      assert.equal(problem.parameter, parameter, problem.detail);
    });
  }

  test('watch: Last-Event-ID that is no revision is refused', async (t) => {
    const watched = await open(t);
    assert.equal((await watched.refused('', { headers: { 'last-event-id': 'abc' } })).status, 400);
  });
});

describe('selectors', () => {
  for (const sse of [false, true]) {
    test(`watch: an object that starts to match is ADDED, one that stops is DELETED with its new content (${sse ? 'SSE' : 'NDJSON'})`, async (t) => {
      const watched = await open(t);
      const red = await watched.watch(`&fieldSelector=${encodeURIComponent('spec.color=red')}`, { sse });
      const rest = await watched.watch(`&fieldSelector=${encodeURIComponent('spec.color!=red')}`, { sse });
      const gold = await watched.watch('&labelSelector=tier%3Dgold', { sse });
      const r1 = await watched.write('a', 'red');
      const r2 = await watched.write('a', 'red', { labels: { tier: 'gold' } });
      const r3 = await watched.write('a', 'blue', { labels: { tier: 'gold' } });
      const r4 = await watched.write('a', 'blue');
      const r5 = await watched.write('a', 'red');
      await watched.service.client.delete(Item, 'a');
      const r6 = await watched.revision();
      const seen = await red.changes(5);
      assert.deepEqual(brief(seen), [
        ['ADDED', 'a', r1],
        ['MODIFIED', 'a', r2],
        ['DELETED', 'a', r3],
        ['ADDED', 'a', r5],
        ['DELETED', 'a', r6],
      ]);
      assert.equal(seen[2]!.object.spec.color, 'blue', 'new content');
      assert.ok(seen[4]!.object.metadata.deletionTimestamp);
      assert.deepEqual(brief(await rest.changes(3)), [
        ['ADDED', 'a', r3],
        ['MODIFIED', 'a', r4],
        ['DELETED', 'a', r5],
      ]);
      assert.deepEqual(brief(await gold.changes(3)), [
        ['ADDED', 'a', r2],
        ['MODIFIED', 'a', r3],
        ['DELETED', 'a', r4],
      ]);
    });
  }

  test('watch: watches with few keys, with names and with none of both see the same', async (t) => {
    const watched = await open(t);
    const queries = [
      'spec.color in (red,green)',
      'spec.color in (red,green),metadata.name in (a,b)',
      'metadata.name=a',
      'spec.color>=green',
      'spec.color=red,spec.color!=blue',
    ];
    const streams = await Promise.all(
      queries.map((text) => watched.watch(`&fieldSelector=${encodeURIComponent(text)}`)),
    );
    for (const color of ['red', 'blue', 'green', 'red', 'yellow'])
      for (const name of ['a', 'b', 'c']) await watched.write(name, color);
    const sees: ((name: string, color: string) => boolean)[] = [
      (_, color) => ['red', 'green'].includes(color),
      (name, color) => ['red', 'green'].includes(color) && name !== 'c',
      (name) => name === 'a',
      (_, color) => color >= 'green',
      (_, color) => color === 'red',
    ];
    for (const [i, stream] of streams.entries()) {
      const colors = ['red', 'blue', 'green', 'red', 'yellow'];
      const expected = colors.flatMap((color, at) =>
        ['a', 'b', 'c'].flatMap((name) => {
          const was = at > 0 && sees[i]!(name, colors[at - 1]!);
          const is = sees[i]!(name, color);
          if (!was && !is) return [];
          return [`${was ? (is ? 'MODIFIED' : 'DELETED') : 'ADDED'} ${name} ${color}`];
        }),
      );
      const got = await stream.changes(expected.length);
      const texts = got.map(({ type, object }) => `${type} ${object.metadata.name} ${object.spec.color}`);
      assert.deepEqual(texts, expected, queries[i]!);
    }
  });
});

describe('resuming', () => {
  test('watch: since is exclusive, Last-Event-ID wins over it and over sendInitial', async (t) => {
    const watched = await open(t);
    const revisions: number[] = [];
    for (let i = 0; i < 6; i++) revisions.push(await watched.write(`i-${i}`, 'red'));
    const after = (from: number) => revisions.filter((revision) => revision > from);
    const since = await watched.watch(`&since=${revisions[2]}`);
    assert.equal(since.headers['kindred-revision'], String(revisions[2]));
    const won = await watched.watch(`&since=${revisions[0]}`, {
      sse: true,
      headers: { 'last-event-id': `${revisions[3]}` },
    });
    const listed = await watched.watch('&sendInitial=true', {
      sse: true,
      headers: { 'last-event-id': `${revisions[4]}` },
    });
    for (const [stream, from] of [
      [since, 2],
      [won, 3],
      [listed, 4],
    ] as const) {
      const got = await stream.changes(5 - from);
      assert.deepEqual(
        got.map(({ revision }) => revision),
        after(revisions[from]!),
      );
      assert.ok(got.every(({ initial }) => initial === undefined));
    }
    assert.equal(won.events[0]!.id, String(revisions[4]));
  });

  test('watch: a revision greater than the newest is 410 Expired before the stream begins', async (t) => {
    const watched = await open(t);
    const newest = await watched.write('a', 'red');
    const ahead = await watched.refused(`&since=${newest + 1}`, { sse: true });
    assert.deepEqual([ahead.status, ahead.problem.code, ahead.type], [410, 'Expired', 'application/problem+json']);
    for (const since of ['9007199254740993', '9'.repeat(40)]) {
      const { status, problem } = await watched.refused(`&since=${since}`);
      assert.deepEqual([status, problem.code], [410, 'Expired'], since);
    }
    assert.equal((await watched.watch(`&since=${newest}`)).status, 200);
  });

  test('watch: since=0 is the start of the log; once anything of it was compacted, 410', async (t) => {
    const watched = await open(t, { changeLog: { maxCount: 5, maxAge: 0 } });
    const whole = await watched.watch('&since=0');
    const revisions: number[] = [];
    for (let i = 0; i < 20; i++) revisions.push(await watched.write(`i-${i}`, 'red'));
    assert.deepEqual(
      (await whole.changes(20)).map(({ revision }) => revision),
      revisions,
    );
    const oldest = await until(() => watched.gauge('kindred_oldest_revision'), { timeout: 30_000 });
    assert.equal(oldest, revisions.at(-1)! - 5, 'what is kept at least is kept');
    for (const since of [0, 1, oldest - 1]) {
      const { status, problem } = await watched.refused(`&since=${since}`);
      assert.deepEqual([status, problem.code], [410, 'Expired'], `since=${since}, although it is in memory yet`);
    }
    const kept = await watched.watch(`&since=${oldest}`);
    assert.equal((await kept.changes(5)).length, 5);
  });

  test('watch: a long replay and a long list go at the pace of a client that reads slowly', async (t) => {
    const watched = await open(t, { watch: { maxBufferBytes: 64 * 1024 } });
    const from = await watched.revision();
    const text = 'x'.repeat(20_000);
    for (let i = 0; i < 300; i++)
      await watched.service.client.create(Item, { metadata: { name: `i-${i}` }, spec: { color: 'red', text } });
    for (const query of [`&since=${from}`, '&sendInitial=true']) {
      const stream = await watched.watch(query);
      stream.pause();
      // Far more than the buffers on the way hold, and written meanwhile.
      for (let i = 0; i < 20; i++)
        await watched.service.client.patch(Item, `i-${i}`, { spec: { color: `c-${query.length}-${i}` } });
      stream.resume();
      const got = await stream.changes(300);
      assert.ok(got.every(({ type }) => type !== 'ERROR'));
      assert.deepEqual(new Set(got.map(({ object }) => object.metadata.name)).size, 300);
      stream.close();
    }
  });

  test('watch: a model that is registered again has no gap, although its former self is still in memory', async (t) => {
    const watched = await open(t);
    const from = await watched.write('a', 'red');
    const before = await watched.watch();
    const second = await watched.write('b', 'red');
    await before.changes(1);
    watched.service.schemeManager.unregister(Scheme.buildFromType(Item));
    const last = await before.last();
    assert.deepEqual(
      [last.type, last.error.code, last.error.status, last.revision],
      ['ERROR', 'NotFound', 404, second],
    );
    assert.equal((await watched.fetch(`${items}?watch=true`)).status, 404);
    watched.service.schemeManager.register(Item);
    const third = await watched.write('c', 'red');
    const stream = await watched.watch(`&since=${from}`);
    assert.deepEqual(brief(await stream.changes(2)), [
      ['ADDED', 'b', second],
      ['ADDED', 'c', third],
    ]);
    const fourth = await watched.write('d', 'red');
    assert.deepEqual(brief((await stream.changes(3)).slice(2)), [['ADDED', 'd', fourth]]);
  });
});

describe('sendInitial', () => {
  for (const sse of [false, true]) {
    test(`watch: the list first, closed by a BOOKMARK, then the changes (${sse ? 'SSE' : 'NDJSON'})`, async (t) => {
      const watched = await open(t);
      for (const [name, color] of [
        ['a', 'red'],
        ['b', 'blue'],
        ['c', 'red'],
      ] as const)
        await watched.write(name, color);
      const revision = await watched.revision();
      const stream = await watched.watch(
        `&sendInitial=true&sort=metadata.name&fieldSelector=${encodeURIComponent('spec.color=red')}`,
        { sse },
      );
      const mark = await stream.bookmark();
      assert.equal(stream.events.length, 3);
      for (const [i, name] of ['a', 'c'].entries()) {
        const { type, initial, id, object, ...event } = stream.events[i]!;
        assert.deepEqual(
          [type, initial, id, object.metadata.name, event.revision],
          ['ADDED', true, undefined, name, revision],
        );
      }
      assert.deepEqual([mark.initial, mark.revision, mark.object], [true, revision, undefined]);
      assert.equal(mark.id, sse ? String(revision) : undefined);
      const next = await watched.write('b', 'red');
      assert.deepEqual(brief((await stream.changes(3)).slice(2)), [['ADDED', 'b', next]]);
    });
  }

  test('watch: no gap between the list and the changes, while writes go on', async (t) => {
    const watched = await open(t);
    let isWriting = true;
    const writing = (async () => {
      for (let i = 0; isWriting; i++) await watched.write(`i-${i % 50}`, `color-${i}`);
    })();
    for (let round = 0; round < 20; round++) {
      const stream = await watched.watch('&sendInitial=true');
      await stream.bookmark(({ initial }) => initial === true);
      await stream.changes(stream.events.length + 20);
      stream.close();
      const world = new Map<string, number>();
      let initial = true;
      let last = 0;
      for (const { type, object, revision, ...event } of stream.events) {
        if (type === 'BOOKMARK') initial = false;
        else {
          assert.equal(event.initial === true, initial);
          const { name, version } = object.metadata;
          if (!initial) {
            assert.ok(revision > last);
            assert.equal(version, (world.get(name) ?? -1) + 1, `a gap at ${name}`);
            last = revision;
          }
          world.set(name, version);
        }
      }
    }
    isWriting = false;
    await writing;
  });
});

describe('bookmarks', () => {
  for (const query of [
    '',
    `&fieldSelector=${encodeURIComponent('spec.color=nobody')}`,
    '&size=5',
    '&sendInitial=true',
  ]) {
    test(`watch: an idle stream (${query || 'everything'}) gets a BOOKMARK at least every watch.bookmarkInterval`, async (t) => {
      const bookmarkInterval = 400;
      const watched = await open(t, { watch: { bookmarkInterval } });
      const stream = await watched.watch(query, { sse: true });
      let busy = 0;
      const times: number[] = [];
      const began = performance.now();
      // Changes of another model, and of objects that do not match: the stream stays idle, the revision goes on.
      while (times.length < 6) {
        const seen = stream.events.filter(({ type, initial }) => type === 'BOOKMARK' && !initial).length;
        if (seen > times.length) times.push(performance.now());
        if (performance.now() - began > 200 * ++busy && query.startsWith('&field'))
          await watched.write('a', `color-${busy}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
        assert.ok(performance.now() - began < 20 * bookmarkInterval, 'too few bookmarks');
      }
      const marks = stream.events.filter(({ type, initial }) => type === 'BOOKMARK' && !initial);
      for (const mark of marks) assert.deepEqual(Object.keys(mark).sort(), ['id', 'revision', 'type']);
      const newest = await watched.revision();
      await stream.bookmark(({ revision }) => revision === newest);
    });
  }

  test('watch: a watch that resumes after a bookmark misses nothing', async (t) => {
    const watched = await open(t, { watch: { bookmarkInterval: 50 } });
    const red = `&fieldSelector=${encodeURIComponent('spec.color=red')}`;
    const first = await watched.watch(red);
    const passed = await watched.write('a', 'blue');
    const { revision } = await first.bookmark((mark) => mark.revision >= passed);
    first.close();
    const missed = await watched.write('b', 'red');
    const second = await watched.watch(`${red}&since=${revision}`);
    assert.deepEqual(brief(await second.changes(1)), [['ADDED', 'b', missed]]);
  });
});

describe('the last event', () => {
  for (const sse of [false, true]) {
    test(`watch: ShuttingDown when the service stops (${sse ? 'SSE' : 'NDJSON'})`, async (t) => {
      const watched = await open(t);
      const streams = [await watched.watch('', { sse }), await watched.watch('&size=5', { sse })];
      const revision = await watched.write('a', 'red');
      await streams[0]!.changes(1);
      await streams[1]!.changes(2);
      const began = performance.now();
      await watched.service.stop();
      assert.ok(performance.now() - began < 10_000);
      for (const stream of streams) {
        const { type, error, id, ...event } = await stream.last();
        assert.deepEqual([type, error.code, error.status, event.revision], ['ERROR', 'ShuttingDown', 503, revision]);
        assert.equal(id, undefined);
        for (const member of ['type', 'title', 'detail', 'instance', 'requestId', 'timestamp'])
          assert.equal(typeof error[member], 'string');
      }
    });
  }

  test('watch: a client that does not read holds up neither the others nor a stop', async (t) => {
    const watched = await open(t, { watch: { maxBufferBytes: 256 * 1024 } });
    const [slow, quick] = [await watched.watch(), await watched.watch()];
    slow.pause();
    const text = 'x'.repeat(50_000);
    // More than the kernel's buffers take.
    for (let written = 0; written < 300; written++) await watched.write('a', `c-${written}`, { text });
    const all = await quick.changes(300);
    assert.ok(all.every(({ type }) => type !== 'ERROR'));
    assert.equal(await watched.gauge('kindred_watches'), 2);
    const began = performance.now();
    await watched.service.stop();
    assert.ok(performance.now() - began < 10_000, 'stopped in time');
    slow.resume();
    await until(() => slow.ended !== undefined);
    assert.ok(slow.events.length < 300);
  });
});

describe('rights', () => {
  const subjects = [{ kind: 'User', name: 'ada' }];
  const rules = (verbs: readonly string[], resourceNames?: readonly string[]) => [
    { apiGroups: ['watch.example.com'], resources: ['items'], verbs, ...(resourceNames && { resourceNames }) },
  ];

  async function ada(
    t: TestContext,
    rule: readonly object[],
    expiresAt?: string,
  ): Promise<{ watched: Watched; headers: { authorization: string } }> {
    const watched = await open(t, { auth: {} });
    await watched.post('/api/v1alpha1/users', { metadata: { name: 'ada' } });
    await watched.post('/api/v1alpha1/roles', { metadata: { name: 'reader' }, rules: rule });
    await watched.post('/api/v1alpha1/rolebindings', {
      metadata: { name: 'ada' },
      roleRef: { kind: 'Role', name: 'reader' },
      subjects,
    });
    const token = await watched.post('/api/v1alpha1/personalaccesstokens', {
      metadata: { name: 'ada' },
      spec: { user: 'ada', ...(expiresAt && { expiresAt }) },
    });
    return { watched, headers: { authorization: `Bearer ${token.status.token}` } };
  }

  const remove = (watched: Watched, path: string) => watched.fetch(`/api/v1alpha1${path}`, { method: 'DELETE' });
  const change = (watched: Watched, path: string, body: object) =>
    watched.fetch(`/api/v1alpha1${path}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify(body),
    });

  for (const verbs of [['list'], ['watch'], ['get']]) {
    test(`permissions: a watch takes list and watch; ${verbs} alone is 403`, async (t) => {
      const { watched, headers } = await ada(t, rules(verbs));
      const { status, problem } = await watched.refused('', { headers });
      assert.deepEqual([status, problem.code], [403, 'Forbidden']);
    });
  }

  for (const [what, act] of [
    ['its role lacks it', (watched: Watched) => change(watched, '/roles/reader', { rules: rules(['list']) })],
    ['its binding goes', (watched: Watched) => remove(watched, '/rolebindings/ada')],
    ['its token is revoked', (watched: Watched) => remove(watched, '/personalaccesstokens/ada')],
    ['its user is disabled', (watched: Watched) => change(watched, '/users/ada', { spec: { disabled: true } })],
  ] as const) {
    test(`watch: Forbidden when ${what}`, async (t) => {
      const { watched, headers } = await ada(t, rules(['list', 'watch']));
      const streams = [await watched.watch('', { headers }), await watched.watch('&size=5', { headers, sse: true })];
      const mine = await watched.watch();
      const revision = await watched.write('a', 'red');
      await Promise.all(streams.map((stream, i) => stream.changes(1 + i)));
      const acted = await act(watched);
      assert.equal(acted.status, 200, await acted.clone().text());
      await watched.write('b', 'red');
      for (const stream of streams) {
        const last = await stream.last();
        assert.deepEqual(
          [last.type, last.error.code, last.error.status, last.revision],
          ['ERROR', 'Forbidden', 403, revision],
        );
      }
      assert.deepEqual(
        (await mine.changes(2)).map(({ type }) => type),
        ['ADDED', 'ADDED'],
        'others go on',
      );
    });
  }

  test('watch: Forbidden when the token expires', async (t) => {
    const { watched, headers } = await ada(t, rules(['list', 'watch']), new Date(Date.now() + 1_500).toISOString());
    const stream = await watched.watch('', { headers });
    assert.equal(stream.status, 200);
    const last = await stream.last();
    assert.deepEqual([last.type, last.error.code], ['ERROR', 'Forbidden']);
  });

  test('permissions: with resourceNames a watch sees the named objects alone, and ends when these are others', async (t) => {
    const { watched, headers } = await ada(t, rules(['list', 'watch'], ['a', 'c']));
    await watched.write('a', 'red');
    await watched.write('b', 'red');
    const stream = await watched.watch('&sendInitial=true', { headers });
    await stream.bookmark();
    for (const name of ['a', 'b', 'c']) await watched.write(name, 'blue');
    assert.deepEqual(
      (await stream.changes(3)).map(({ object }) => object.metadata.name),
      ['a', 'a', 'c'],
    );
    await change(watched, '/roles/reader', { rules: rules(['list', 'watch'], ['a', 'b']) });
    assert.equal((await stream.last()).error.code, 'Forbidden');
  });

  test('permissions: a watch shows Secrets with empty values', async (t) => {
    const watched = await open(t, { auth: {} });
    const stream = await watched.watch('', { path: '/api/v1alpha1/secrets' });
    await watched.post('/api/v1alpha1/secrets', { metadata: { name: 's' }, stringData: { password: 'hidden' } });
    const [event] = await stream.changes(1);
    assert.deepEqual(event!.object.data, { password: '' });
    assert.doesNotMatch(stream.text, /hidden|aGlkZGVu/);
  });
});

describe('live pages', () => {
  test('watch: a SNAPSHOT of the list, then WINDOW events with what changes in it', async (t) => {
    const watched = await open(t);
    for (const name of ['b', 'd', 'f', 'h']) await watched.write(name, 'red');
    const query = 'page=1&size=3&sort=metadata.name';
    const stream = await watched.watch(`&${query}`, { sse: true });
    const [snapshot] = await stream.changes(1);
    const list: any = await (await watched.fetch(`${items}?${query}`)).json();
    assert.deepEqual([snapshot!.type, snapshot!.object], ['SNAPSHOT', list]);
    const r1 = await watched.write('c', 'red');
    const r2 = await watched.write('d', 'blue');
    const r3 = await watched.write('z', 'red');
    await watched.service.client.delete(Item, 'b');
    const windows = (await stream.changes(5)).slice(1);
    const brief = windows.map(({ type, revision, object: { total, removed, inserted, updated } }) => [
      type,
      revision,
      total,
      removed,
      inserted.map(({ index, object }: any) => [index, object.metadata.name]),
      updated.map(({ metadata }: any) => metadata.name),
    ]);
    assert.deepEqual(brief, [
      ['WINDOW', r1, 5, ['f'], [[1, 'c']], []],
      ['WINDOW', r2, 5, [], [], ['d']],
      ['WINDOW', r3, 6, [], [], []],
      ['WINDOW', r3 + 1, 5, ['b'], [[2, 'f']], []],
    ]);
    assert.equal(windows[0]!.id, String(r1));
  });

  test('watch: a browser that connects again gets a new SNAPSHOT', async (t) => {
    const watched = await open(t);
    const revision = await watched.write('a', 'red');
    const stream = await watched.watch('&page=1', { sse: true, headers: { 'last-event-id': String(revision - 1) } });
    assert.equal((await stream.changes(1))[0]!.type, 'SNAPSHOT');
  });

  for (const limit of ['livePageRows', 'livePageRowsPerIdentity'] as const) {
    test(`watch: rows beyond watch.${limit} are refused with QueryLimit before the stream begins`, async (t) => {
      const watched = await open(t, { watch: { [limit]: 25 } });
      const first = await watched.watch('&size=20');
      const { status, problem } = await watched.refused('&size=6');
      assert.deepEqual([status, problem.code], [503, 'QueryLimit'], problem.detail);
      const head = await watched.fetch(`${items}?watch=true&size=5`, { method: 'HEAD' });
      assert.equal(head.status, 200);
      const second = await watched.watch('&size=5');
      assert.equal(await watched.gauge('kindred_live_page_rows'), 25);
      for (const stream of [first, second]) {
        assert.equal(stream.status, 200);
        stream.close();
      }
      await until(async () => (await watched.gauge('kindred_live_page_rows')) === 0);
      assert.equal((await watched.watch('&size=25')).status, 200);
    });
  }

  test('watch: equal live pages get the same events, whichever client reads slowly', async (t) => {
    const watched = await open(t);
    const query = '&page=1&size=50&sort=metadata.name';
    const streams = [await watched.watch(query), await watched.watch(query, { sse: true }), await watched.watch(query)];
    const [slow] = streams;
    slow!.pause();
    const text = 'x'.repeat(200_000);
    for (let i = 0; i < 40; i++) await watched.write(`i-${i}`, 'red', { text });
    const list: any = await (await watched.fetch(`${items}?${query.slice(1)}`)).json();
    const names = (stream: Stream): string[] => {
      let window: string[] = [];
      for (const { type, object } of stream.events) {
        if (type === 'SNAPSHOT') window = object.items.map((item: any) => item.metadata.name);
        if (type !== 'WINDOW') continue;
        window = window.filter((name) => !object.removed.includes(name));
        for (const inserted of object.inserted) window.splice(inserted.index, 0, inserted.object.metadata.name);
      }
      return window;
    };
    for (const stream of streams.slice(1)) await until(() => names(stream).length === 40);
    slow!.resume();
    await until(() => names(slow!).length === 40);
    for (const stream of streams) {
      assert.deepEqual(
        names(stream),
        list.items.map((item: any) => item.metadata.name),
      );
    }
  });

  test('watch: a live page of a model that is no longer registered ends with NotFound', async (t) => {
    const watched = await open(t);
    const stream = await watched.watch('&page=1');
    await stream.changes(1);
    watched.service.schemeManager.unregister(Scheme.buildFromType(Item));
    assert.equal((await stream.last()).error.code, 'NotFound');
  });
});
