/**
 * Random requests to a service with authentication and several identities, and what must hold of every answer: no 5xx, no
 * word of what is inside, a body that parses, the headers of the contract, little processor time, and memory that stays.
 */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { GroupVersion, route } from '../../src/http/custom/declaration.ts';
import type { PluginContext } from '../../src/plugin/plugin.ts';
import { definePlugin } from '../../src/plugin/plugin.ts';
import { Random } from '../query/random.ts';
import { slowness, threadTime } from '../slowness.ts';
import type { Collection, Grammar } from './fuzz-grammar.ts';
import { Grammar as RequestGrammar } from './fuzz-grammar.ts';
import { Api, Job, jobs, Note, notes, Person, persons } from './harness.ts';
import { LoopGuard } from './loop-guard.ts';
import type { RemoteReply, RemoteRequest } from './remote.ts';
import { Remote } from './remote.ts';

export interface FuzzOptions {
  readonly seed: number;
  readonly requests: number;
  /** Of them, sent as bytes that are not quite HTTP. */
  readonly raw: number;
  readonly onProgress?: (report: FuzzReport) => void;
}

export interface FuzzReport {
  readonly seed: number;
  sent: number;
  readonly statuses: Record<string, number>;
  /** Of answers to requests by grammar: 401 and 403. */
  refused: number;
  /** Milliseconds of processor time: the longest turn of the event loop, and the most that up to eight requests took together. */
  longestTurn: number;
  /** The requests of that turn, cut. */
  longestBatch: string;
  slowest: number;
  /** Bytes of the heap after a collection: when a fifth was sent, and at the end. */
  heap: number[];
}

const plugin = definePlugin({
  start(context: PluginContext) {
    context.registerEndpoint({
      groupVersion: () => GroupVersion.parse('api.demo.example.com/v1alpha1'),
      endpoint: () =>
        route()
          .GET(
            '/persons',
            () => ({ items: [] }),
            (d) => d.operationId('ListThem'),
          )
          .POST('/persons', ({ body }) => ({ body: body ?? null }))
          .GET(
            '/persons/-/random',
            () => 'random',
            (d) => d.operationId('AnyOne'),
          )
          .POST('/persons/{name}/greetings', ({ params }) => ({ hello: params.name }))
          .build(),
    });
  },
});

const pool = (prefix: string, count = 15) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
const group = (name: string) => `/apis/${name}.platform.run/v1alpha1`;
const core = '/api/v1alpha1';
const rule = (verbs: string[], resourceNames?: string[]) => ({
  apiGroups: ['demo.example.com', '', 'api.demo.example.com'],
  resources: [
    'persons',
    'persons/status',
    'persons/random',
    'persons/greetings',
    'jobs',
    'jobs/status',
    'notes',
    'configmaps',
  ],
  verbs,
  ...(resourceNames && { resourceNames }),
});

const metadataFields = ['metadata.name', 'metadata.creationTimestamp', 'name'];
const collections: readonly Collection[] = [
  ...[1, 2, 3].map(() => ({
    path: persons,
    names: pool('p'),
    fields: [...metadataFields, 'spec.name', 'spec.age', 'spec.born', 'spec.active', 'spec.tags'],
    members: ({ random }: Grammar) => ({
      spec: {
        name: `Name ${random.below(60)}`,
        ...(random.chance(0.5) && { age: random.below(150) }),
        ...(random.chance(0.5) && { tags: ['a', `t${random.below(9)}`] }),
        ...(random.chance(0.2) && { email: 'a@b.example', gender: 'MALE', born: '2026-01-31T13:00:00Z' }),
      },
    }),
  })),
  {
    path: jobs,
    names: pool('j'),
    fields: metadataFields,
    members: () => ({ spec: { command: 'x' }, status: { phase: 'y' } }),
  },
  {
    path: notes,
    names: pool('n'),
    fields: metadataFields,
    members: (grammar) => ({ text: 'x', ...(grammar.random.chance(0.3) && { extra: grammar.tree(4) }) }),
  },
  { path: `${core}/configmaps`, names: pool('c'), fields: metadataFields, members: () => ({ data: { a: 'b' } }) },
  {
    path: `${core}/secrets`,
    names: pool('s'),
    fields: metadataFields,
    members: () => ({ stringData: { a: 'hidden-value' } }),
  },
  {
    path: `${core}/roles`,
    names: pool('r'),
    fields: metadataFields,
    members: ({ random }) => ({ rules: [rule([random.pick(['get', '*', 'list', 'watch'])])] }),
  },
  {
    path: `${core}/rolebindings`,
    names: pool('b'),
    fields: metadataFields,
    members: ({ random }) => ({
      roleRef: { kind: 'Role', name: random.pick(pool('r')) },
      subjects: [{ kind: 'User', name: random.pick(pool('u')) }],
    }),
  },
  { path: `${core}/users`, names: pool('u'), fields: metadataFields, members: () => ({ spec: { displayName: 'U' } }) },
  {
    path: `${core}/personalaccesstokens`,
    names: pool('t'),
    fields: metadataFields,
    members: ({ random }) => ({ spec: { user: random.pick(pool('u')), roles: [] } }),
  },
  {
    path: `${group('webhook')}/webhooks`,
    names: pool('w', 4),
    fields: metadataFields,
    // Never delivered: such addresses are not allowed.
    members: () => ({ spec: { url: 'http://127.0.0.1:9/x', resources: ['notes'] } }),
  },
  {
    path: `${group('plugin')}/plugins`,
    names: ['x', 'y'],
    fields: metadataFields,
    members: () => ({ spec: { enabled: true } }),
  },
];
const resourcePaths = [...new Set(collections.map(({ path }) => path))];

/** Words of the inside: paths, stacks, drivers, texts of the engine. */
const innards =
  /node_modules|node:internal|\.(?:ts|js|mjs):\d+|\bat \S+ \(|SQLITE_|TypeError|RangeError|Cannot read prop/;
/** Of a Secret, which only its own answers have. */
const hidden = /hidden-value|aGlkZGVuLXZhbHVl/;

/** Who asks, each as often as the number says: most requests get to what they ask for. */
const identities = Object.entries({
  admin: 31,
  editor: 10,
  viewer: 3,
  named: 3,
  nobody: 1,
  anonymous: 1,
  wrong: 1,
}).flatMap(([name, times]) => Array<string>(times).fill(name));

export async function fuzz({ seed, requests, raw, onProgress }: FuzzOptions): Promise<FuzzReport> {
  const report: FuzzReport = {
    seed,
    sent: 0,
    statuses: {},
    refused: 0,
    longestTurn: 0,
    longestBatch: '',
    slowest: 0,
    heap: [],
  };
  const service = new FuzzedService();
  await service.start();
  try {
    const random = new Random(seed);
    const grammar = new RequestGrammar(random, collections);
    const all = requests - raw;
    while (report.sent < all) {
      const batch = Array.from({ length: 1 + random.below(8) }, () =>
        service.as(random, grammar.request(), report.sent > all * 0.95),
      );
      await service.exchange(batch, report);
      if (report.heap.length === 0 && report.sent > all / 5) report.heap.push(await service.heap());
      if (report.sent % 1_000 < batch.length) {
        await service.tidy();
        onProgress?.(report);
      }
    }
    for (let sent = 0; sent < raw; sent += 16)
      await service.exchangeRaw(
        Array.from({ length: 16 }, () => grammar.bytes(service.authorization('admin')!)),
        report,
      );
    await service.tidy();
    report.heap.push(await service.heap());
    const [before, after] = report.heap;
    assert.ok(after! < before! * 1.2 + 16e6, `seed ${seed}: the heap grew from ${before} to ${after} bytes`);
    return report;
  } finally {
    await service.stop();
  }
}

class FuzzedService {
  readonly #api = new Api({
    auth: {},
    plugins: [{ name: 'fuzzed', plugin }],
    watch: { bookmarkInterval: 20 },
    query: { timeout: 60_000 },
    write: { timeout: 60_000 },
    changeLog: { maxCount: 1_000, maxAge: 0 },
  });
  readonly #tokens = new Map<string, string>();
  /** Paths of what the identities stand on. */
  readonly #protected = new Set<string>();
  #remote!: Remote;
  #guard!: LoopGuard;
  /** Of the newest write that is acknowledged. */
  #revision = 0;

  async start(): Promise<void> {
    await this.#api.start(({ schemeManager }) => {
      for (const model of [Person, Job, Note]) schemeManager.register(model);
    });
    this.#remote = new Remote(this.#api.url);
    this.#guard = new LoopGuard();
    this.#tokens.set('admin', this.#api.token!);
    const roles = {
      editor: [rule(['*'])],
      viewer: [rule(['get', 'list', 'watch'])],
      named: [rule(['*'], ['p-1', 'n-1', 'j-1'])],
      nobody: [],
    };
    for (const [name, rules] of Object.entries(roles)) {
      await this.#make('users', { metadata: { name } });
      await this.#make('roles', { metadata: { name }, rules });
      await this.#make('rolebindings', {
        metadata: { name },
        roleRef: { kind: 'Role', name },
        subjects: [{ kind: 'User', name }],
      });
      const token = await this.#make('personalaccesstokens', { metadata: { name }, spec: { user: name } });
      this.#tokens.set(name, token.status.token);
    }
    for (const path of resourcePaths) {
      const [page] = await this.#send([{ path: `${path}?size=1000` }], 'admin');
      for (const { metadata } of JSON.parse(page!.text).items) this.#protected.add(`${path}/${metadata.name}`);
    }
  }

  async stop(): Promise<void> {
    this.#guard.stop();
    await this.#remote.close();
    await this.#api.stop();
  }

  authorization(identity: string): string | undefined {
    if (identity === 'wrong') return 'Bearer kindred_wrong';
    return identity === 'anonymous' ? undefined : `Bearer ${this.#tokens.get(identity)}`;
  }

  /** In the name of somebody. What the identities stand on is only read, but for the end. */
  as(random: Random, request: RemoteRequest, isEnd: boolean): RemoteRequest {
    const identity = random.pick(identities);
    const authorization = this.authorization(identity);
    const headers = { ...(authorization && { authorization }), ...request.headers };
    const [path = ''] = request.path.split('?');
    const isKept = !isEnd && [...this.#protected].some((one) => path === one || path.startsWith(`${one}/`));
    return isKept ? { path: request.path, headers } : { ...request, headers };
  }

  async exchange(batch: readonly RemoteRequest[], report: FuzzReport): Promise<void> {
    this.#guard.take();
    const started = threadTime();
    const replies = await this.#remote.send(batch);
    const time = threadTime() - started;
    const turn = this.#guard.take();
    const about = () => `seed ${report.seed}, after ${report.sent} requests: ${JSON.stringify(batch).slice(0, 3_000)}`;
    if (time > 500) assert.ok(time <= 500 * slowness(), `${time} ms of processor time; ${about()}`);
    report.slowest = Math.max(report.slowest, time);
    if (turn > report.longestTurn) {
      report.longestTurn = turn;
      report.longestBatch = JSON.stringify(batch).slice(0, 3_000);
    }
    const known = this.#revision;
    for (const [i, reply] of replies.entries()) {
      const request = batch[i]!;
      report.sent++;
      report.statuses[reply.status] = (report.statuses[reply.status] ?? 0) + 1;
      if (reply.status === 401 || reply.status === 403) report.refused++;
      try {
        this.#check(request, reply, known);
      } catch (error) {
        throw new Error(
          `${(error as Error).message}\n${JSON.stringify(request).slice(0, 2_000)}\n${reply.status} ${reply.text.slice(0, 1_000)}\n${about()}`,
        );
      }
    }
  }

  #check(
    { method = 'GET', path, body }: RemoteRequest,
    { status, headers, text, length }: RemoteReply,
    known: number,
  ): void {
    assert.ok(status >= 200 && status < 500, `status ${status}`);
    assert.match(String(headers['x-request-id']), /^[A-Za-z0-9._-]{1,128}$/, 'X-Request-Id');
    // What somebody sent may come back to them.
    const found = innards.exec(text);
    assert.ok(!found || body?.includes(found[0]), `the answer tells of its inside: ${found?.[0]}`);
    if (method === 'HEAD') assert.equal(length, 0, 'a HEAD has no body');
    const isSecret = path.startsWith(`${core}/secrets/`) || (method === 'POST' && path === `${core}/secrets`);
    assert.ok(isSecret || !hidden.test(text), 'a value of a Secret');
    const type = String(headers['content-type'] ?? '');
    const isWhole = length < 1024 * 1024 && text !== '';
    if (status >= 400) {
      assert.equal(type, 'application/problem+json');
      if (method !== 'HEAD') {
        const problem = JSON.parse(text);
        assert.equal(problem.status, status);
        assert.equal(problem.requestId, headers['x-request-id']);
        assert.match(problem.code, /^[A-Z][A-Za-z]+$/);
        assert.ok(problem.detail.length > 0 && problem.title.length > 0 && problem.instance.startsWith('/'));
        if (problem.code === 'Invalid') for (const one of problem.errors) assert.match(one.pointer, /^(?:\/|$)/);
      }
    } else if (type === 'application/json' && isWhole) JSON.parse(text);
    const base = resourcePaths.find((one) => path === one || path.startsWith(`${one}/`) || path.startsWith(`${one}?`));
    // The head of a watch tells where it begins.
    if (base === undefined || status >= 300 || path.includes('watch=true')) return;
    const revision = Number(headers['kindred-revision']);
    assert.ok(Number.isInteger(revision) && revision >= known, `Kindred-Revision ${revision}, known is ${known}`);
    if (method !== 'GET' && method !== 'HEAD') this.#revision = Math.max(this.#revision, revision);
  }

  async exchangeRaw(messages: readonly Buffer[], report: FuzzReport): Promise<void> {
    this.#guard.take();
    const answers = await Promise.all(messages.map((bytes) => answerTo(this.#api.port, bytes)));
    const turn = this.#guard.take();
    if (turn > report.longestTurn) {
      report.longestTurn = turn;
      report.longestBatch = 'bytes that are not quite HTTP';
    }
    for (const [i, answer] of answers.entries()) {
      report.sent++;
      const about = () =>
        `seed ${report.seed}: ${JSON.stringify(messages[i]!.toString('latin1').slice(0, 2_000))}\n${answer.slice(0, 1_000)}`;
      const found = innards.exec(answer);
      assert.ok(!found || messages[i]!.includes(found[0]), `the answer tells of its inside; ${about()}`);
      for (const [, status] of answer.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)) {
        report.statuses[`raw ${status}`] = (report.statuses[`raw ${status}`] ?? 0) + 1;
        assert.ok(Number(status) < 500, about());
      }
    }
  }

  /** Takes away what has names of the service's making, so that there are never many objects. */
  async tidy(): Promise<void> {
    for (const path of resourcePaths) {
      const [page] = await this.#send([{ path: `${path}?size=1000` }], 'admin');
      if (page!.status !== 200) return;
      const names: string[] = JSON.parse(page!.text).items.map((one: any) => one.metadata.name);
      for (const name of names.filter((one) => one.startsWith('g-'))) {
        const type = { 'content-type': 'application/merge-patch+json' };
        const body = '{"metadata":{"finalizers":[]}}';
        await this.#send([{ method: 'PATCH', path: `${path}/${name}`, headers: type, body }], 'admin');
        await this.#send([{ method: 'DELETE', path: `${path}/${name}` }], 'admin');
      }
    }
  }

  async heap(): Promise<number> {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    for (let i = 0; i < 3; i++) {
      collect();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  }

  async #make(plural: string, object: object): Promise<any> {
    const body = JSON.stringify(object);
    const headers = { 'content-type': 'application/json' };
    const [reply] = await this.#send([{ method: 'POST', path: `${core}/${plural}`, headers, body }], 'admin');
    assert.equal(reply!.status, 201, reply!.text);
    return JSON.parse(reply!.text);
  }

  #send(requests: readonly RemoteRequest[], identity: string): Promise<readonly RemoteReply[]> {
    const authorization = this.authorization(identity)!;
    return this.#remote.send(requests.map((one) => ({ ...one, headers: { authorization, ...one.headers } })));
  }
}

/** Milliseconds after which an answer that does not end is cut, as that of a watch. */
const rawPatience = 2_000;

/** What comes back for these bytes and the end of the connection. */
function answerTo(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const timer = setTimeout(() => socket.destroy(), rawPatience);
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      if (text.length < 100_000) text += chunk;
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(text);
    });
    socket.end(bytes);
  });
}
