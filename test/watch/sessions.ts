/**
 * Watch sessions against an oracle: every stream must be the slice of the change log that its selection sees, no gap, no
 * repeat, in order. Sessions are inside the process and over HTTP, they come back again and again, read slowly, begin at
 * revisions that may no longer be kept, change the replica, and see the service restart.
 * `node --import ./test/sources.ts test/watch/sessions.ts [--sessions 20000] [--seed 1] [--width 500] [--restart 2000] [--keep 3000]
 * [--database URL --replicas 2]`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Service } from 'kindred';
import { createService, defineModel, KindredError, ListOptions, Type } from 'kindred';
import { pino } from 'pino';
import type { StreamEvent } from './stream.ts';
import { Frames } from './stream.ts';

const Item = defineModel({
  gvk: { group: 'watch.example.com', version: 'v1', kind: 'Item', singular: 'item', plural: 'items' },
  spec: Type.Object({ color: Type.Optional(Type.String()), size: Type.Integer(), tags: Type.Array(Type.String()) }),
  indexes: (index) => [
    index.single('spec.color', String, (item) => item.spec.color),
    index.single('spec.size', Number, (item) => item.spec.size),
    index.multi('spec.tags', String, (item) => item.spec.tags),
  ],
});

interface ItemObject {
  metadata: {
    name: string;
    version?: number;
    labels?: Record<string, string>;
    finalizers?: string[];
    deletionTimestamp?: string;
  };
  spec: { color?: string; size: number; tags: string[] };
}

interface LogLine {
  revision: number;
  name: string;
  before: ItemObject | undefined;
  after: ItemObject | undefined;
  /** What DELETED carries. */
  final: ItemObject;
  /** JSON of it. */
  text: string;
}

interface Selection {
  labels?: string;
  fields?: string;
  sees(item: ItemObject): boolean;
}

const colors = ['red', 'green', 'blue'];
const envLabel = 'watch.example.com/env';

const selections: Selection[] = [
  { sees: () => true },
  { fields: 'spec.color=red', sees: ({ spec }) => spec.color === 'red' },
  { fields: 'spec.color!=red', sees: ({ spec }) => spec.color !== 'red' },
  {
    fields: 'spec.color in (red,green),spec.size>=3',
    sees: ({ spec }) => (spec.color === 'red' || spec.color === 'green') && spec.size >= 3,
  },
  { fields: '!spec.color', sees: ({ spec }) => spec.color === undefined },
  { fields: 'spec.tags=a', sees: ({ spec }) => spec.tags.includes('a') },
  { fields: 'spec.size<2', sees: ({ spec }) => spec.size < 2 },
  {
    labels: 'watch.example.com/env=prod',
    sees: ({ metadata }) => metadata.labels?.['watch.example.com/env'] === 'prod',
  },
  {
    labels: '!watch.example.com/env',
    sees: ({ metadata }) => metadata.labels?.['watch.example.com/env'] === undefined,
  },
  {
    labels: 'watch.example.com/env in (prod,test)',
    fields: 'spec.tags=b',
    sees: ({ metadata, spec }) =>
      ['prod', 'test'].includes(metadata.labels?.['watch.example.com/env'] ?? '') && spec.tags.includes('b'),
  },
];

/** Numbers from 0 to 1 that the seed alone decides (mulberry32). */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface SessionsOptions {
  sessions: number;
  seed: number;
  /** Default a SQLite file that is removed afterwards. */
  database?: string;
  /** Sessions at the same time. Default 50. */
  width?: number;
  /** The service restarts after about so many sessions, in the middle of some. Default never. */
  restart?: number;
  /** Processes on one database, of a kind that can be shared; here all in this process. Default 1. */
  replicas?: number;
  /** Changes that the log keeps, so that some sessions begin at a revision that is gone. Default all of them. */
  keep?: number;
}

export interface SessionsResult {
  sessions: number;
  /** Of these over HTTP. */
  http: number;
  events: number;
  /** Streams that went on after another one. */
  resumed: number;
  /** Streams that were refused because their revision was no longer kept. */
  expired: number;
  /** Sessions that read slowly. */
  slow: number;
  restarts: number;
  changes: number;
}

type Got = { type: string; revision: number; name: string; object: unknown };

/** Throws on the first stream that differs from the oracle. */
export async function runSessions(options: SessionsOptions): Promise<SessionsResult> {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-sessions-'));
  const database = options.database ?? `sqlite:${join(folder, 'sessions.db')}`;
  const run = new Run({ width: 50, ...options, database });
  try {
    return await run.run();
  } finally {
    await run.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What one session asks for, and what it has seen. */
interface Session {
  readonly selection: Selection;
  since: number;
  sendInitial: boolean;
  /** Where its slice of the log begins; -1 until the initial list is complete. */
  begin: number;
  readonly world: Map<string, string>;
  readonly got: Got[];
}

class Run {
  readonly #options: SessionsOptions & { database: string; width: number };
  readonly #random: () => number;
  readonly #log: LogLine[] = [];
  readonly #state = new Map<string, ItemObject>();
  readonly #result: SessionsResult = {
    sessions: 0,
    http: 0,
    events: 0,
    resumed: 0,
    expired: 0,
    slow: 0,
    restarts: 0,
    changes: 0,
  };
  #replicas: { readonly service: Service }[] = [];
  /** The same before and after a restart. */
  readonly #ports: { readonly port: number }[] = [];
  #first = -1;
  #recording!: Promise<void>;
  #writing: Promise<void> | undefined;
  #isWriting = true;
  #restarting: Promise<void> | undefined;
  #failure: unknown;

  constructor(options: SessionsOptions & { database: string; width: number }) {
    this.#options = options;
    this.#random = generator(options.seed);
  }

  async run(): Promise<SessionsResult> {
    const { sessions, width, restart = Number.POSITIVE_INFINITY } = this.#options;
    await this.#start();
    this.#writing = this.#write();
    let nextRestart = restart;
    for (let done = 0; done < sessions; done += width) {
      const number = Math.min(width, sessions - done);
      const restarts = done >= nextRestart;
      if (restarts) nextRestart += restart;
      // Those inside the process end with it: during a restart all are clients over HTTP.
      const isHttp = () => restarts || this.#random() < 0.5;
      const under = Array.from({ length: number }, () => (isHttp() ? this.#http() : this.#local()));
      if (restarts) this.#restarting = this.#restart();
      await Promise.all([...under, this.#restarting]);
      if (this.#failure) throw this.#failure;
      this.#result.sessions += number;
      // The oracle's log need not reach back further than a session begins.
      if (this.#log.length > 20_000) this.#log.splice(0, 10_000);
    }
    return this.#result;
  }

  async stop(): Promise<void> {
    this.#isWriting = false;
    await this.#writing;
    await Promise.all(this.#replicas.map(({ service }) => service.stop()));
    await this.#recording;
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)]!;
  }

  // ── the service ────────────────────────────────────────────────────────────────────────────────────────

  async #start(): Promise<void> {
    const { database, keep, replicas = 1 } = this.#options;
    const changeLog = keep === undefined ? {} : { maxCount: keep, maxAge: 0 };
    // Refusals are a part of every restart.
    const logger = pino({ level: 'silent' });
    this.#replicas = [];
    for (let i = 0; i < replicas; i++) {
      const service = await createService({
        database,
        port: this.#ports[i]?.port ?? 0,
        auth: false,
        changeLog,
        logger,
      });
      service.schemeManager.register(Item);
      const { url } = await service.start();
      const port = Number(new URL(url).port);
      this.#replicas.push({ service });
      this.#ports[i] = { port };
    }
    const begun = Promise.withResolvers<void>();
    this.#recording = this.#record(begun.resolve).catch((error: unknown) => {
      if (!(error instanceof KindredError && error.code === 'ShuttingDown')) this.#failure = error;
      begun.resolve();
    });
    await begun.promise;
  }

  async #restart(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 50));
    this.#isWriting = false;
    await this.#writing;
    await Promise.all(this.#replicas.map(({ service }) => service.stop()));
    await this.#recording;
    await this.#start();
    this.#isWriting = true;
    this.#writing = this.#write();
    this.#result.restarts++;
    this.#restarting = undefined;
  }

  async #write(): Promise<void> {
    while (this.#isWriting) {
      await Promise.all(Array.from({ length: 4 }, () => this.#mutate().catch(ignoreRaces)));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async #mutate(): Promise<void> {
    const { client } = this.#pick(this.#replicas).service;
    const random = this.#random;
    const name = `item-${Math.floor(random() * 30)}`;
    const spec = (): ItemObject['spec'] => ({
      ...(random() < 0.8 && { color: this.#pick(colors) }),
      size: Math.floor(random() * 6),
      tags: ['a', 'b', 'c'].filter(() => random() < 0.4),
    });
    const env = (values: readonly string[]) => ({ [envLabel]: this.#pick(values) });
    const current = (await client.fetch(Item, name)) as unknown as ItemObject | undefined;
    if (!current) {
      const finalizers = random() < 0.3 ? ['watch.example.com/hold'] : [];
      const labels = random() < 0.6 ? env(['prod', 'test', 'dev']) : {};
      await client.create(Item, { metadata: { name, labels, finalizers }, spec: spec() });
    } else if (current.metadata.deletionTimestamp) {
      await client.patch(Item, name, { metadata: { finalizers: null } });
    } else if (random() < 0.25) await client.delete(Item, name);
    else if (random() < 0.3) {
      const labels = random() < 0.5 ? { [envLabel]: null } : env(['prod', 'test']);
      await client.patch(Item, name, { metadata: { labels } });
    } else await client.patch(Item, name, { spec: spec() });
    this.#result.changes++;
  }

  /** The oracle's log, from an unfiltered stream; this stream itself is held against the versions of the objects. */
  async #record(begun: () => void): Promise<void> {
    const last = this.#log.at(-1)?.revision;
    const position = last === undefined ? { sendInitial: true } : { since: String(last) };
    if (last !== undefined) begun();
    for await (const event of this.#replicas[0]!.service.client.watch(Item, position)) {
      if (event.type === 'BOOKMARK') {
        if (event.initial) {
          this.#first = Number(event.revision);
          begun();
        }
        continue;
      }
      const revision = Number(event.revision);
      const object = event.object as unknown as ItemObject;
      const { name } = object.metadata;
      const before = this.#state.get(name);
      const after = event.type === 'DELETED' ? undefined : object;
      const version = before ? before.metadata.version! + 1 : 0;
      if (object.metadata.version !== version)
        throw new Error(`${name}: version ${object.metadata.version}, expected ${version}`);
      this.#log.push({ revision, name, before, after, final: object, text: JSON.stringify(object) });
      if (after) this.#state.set(name, after);
      else this.#state.delete(name);
    }
  }

  get #newest(): number {
    return this.#log.at(-1)?.revision ?? this.#first;
  }

  /** The oracle reads a stream of its own: it may be a turn behind. */
  async #reached(revision: number): Promise<void> {
    while (this.#newest < revision) {
      if (this.#failure) throw this.#failure;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  // ── sessions ───────────────────────────────────────────────────────────────────────────────────────────

  #begin(): Session {
    const mode = this.#random();
    const newest = this.#newest;
    const oldest = this.#log[0]?.revision ?? newest;
    const back = Math.floor(this.#random() * (this.#random() < 0.1 ? 6_000 : 600));
    const since = mode < 0.4 ? Math.max(oldest, newest - back) : newest;
    const sendInitial = mode > 0.7;
    const selection = this.#pick(selections);
    return { selection, since, sendInitial, begin: sendInitial ? -1 : since, world: new Map(), got: [] };
  }

  /** One event of a session. */
  async #see(
    session: Session,
    event: { type: string; revision: number | string; object?: unknown; initial?: true },
  ): Promise<void> {
    const revision = Number(event.revision);
    if (event.type === 'BOOKMARK') {
      if (event.initial) {
        session.begin = revision;
        await this.#reached(revision);
        this.#checkInitial(session);
      }
      session.since = revision;
      return;
    }
    const object = event.object as ItemObject;
    if (event.initial) session.world.set(object.metadata.name, JSON.stringify(object));
    else {
      session.got.push({ type: event.type, revision, name: object.metadata.name, object });
      session.since = revision;
    }
  }

  async #end(session: Session): Promise<void> {
    await this.#reached(session.since);
    compare(expected(this.#log, session.selection, session.begin, session.since), session.got);
    this.#result.events += session.got.length;
  }

  /** A refusal is right only when the log need not reach back so far. */
  #checkExpired(session: Session): void {
    const { keep = Number.POSITIVE_INFINITY } = this.#options;
    if (session.since > this.#newest - keep)
      throw new Error(`Expired at ${session.since}, the newest is ${this.#newest}`);
    this.#result.expired++;
  }

  async #local(): Promise<void> {
    const session = this.#begin();
    const { labels, fields } = session.selection;
    const select = ListOptions.parse({ labelSelector: labels, fieldSelector: fields });
    for (let part = 0, parts = 1 + Math.floor(this.#random() * 3); part < parts; part++) {
      const wanted = 1 + Math.floor(this.#random() * 30);
      const abort = new AbortController();
      const position = session.begin < 0 ? { sendInitial: true } : { since: String(session.since) };
      let count = 0;
      try {
        const { client } = this.#pick(this.#replicas).service;
        for await (const event of client.watch(Item, { select, signal: abort.signal, ...position })) {
          await this.#see(session, event);
          if (++count >= wanted && session.begin >= 0) abort.abort();
        }
      } catch (error) {
        if (!(error instanceof KindredError && error.code === 'Expired')) throw error;
        return this.#checkExpired(session);
      }
      if (part > 0) this.#result.resumed++;
    }
    await this.#end(session);
  }

  async #http(): Promise<void> {
    const session = this.#begin();
    const isSlow = this.#random() < 0.1;
    this.#result.http++;
    if (isSlow) this.#result.slow++;
    const sse = this.#random() < 0.5;
    let connections = 0;
    for (let part = 0, parts = 1 + Math.floor(this.#random() * 3); part < parts; ) {
      if (connections++ > 0) this.#result.resumed++;
      const ended = await this.#stream(session, { sse, isSlow, wanted: 1 + Math.floor(this.#random() * 30) });
      if (ended === 'expired') return;
      if (ended === 'enough') part++;
    }
    await this.#end(session);
  }

  /** One connection: until it has seen enough and goes away, or is broken off. */
  async #stream(
    session: Session,
    { sse, isSlow, wanted }: { sse: boolean; isSlow: boolean; wanted: number },
  ): Promise<'enough' | 'broken' | 'expired'> {
    const { labels, fields } = session.selection;
    const query = new URLSearchParams({ watch: 'true' });
    if (labels) query.set('labelSelector', labels);
    if (fields) query.set('fieldSelector', fields);
    const headers: Record<string, string> = { accept: sse ? 'text/event-stream' : 'application/x-ndjson' };
    const isInitial = session.begin < 0;
    if (isInitial) {
      query.set('sendInitial', 'true');
      session.world.clear();
    } else if (sse) {
      // As a browser does: the query stays what it was.
      headers['last-event-id'] = String(session.since);
      query.set(this.#random() < 0.5 ? 'sendInitial' : 'watch', 'true');
    } else query.set('since', String(session.since));
    let count = 0;
    try {
      const { port } = this.#pick(this.#ports);
      const url = `http://127.0.0.1:${port}/apis/watch.example.com/v1/items?${query}`;
      const response = await fetch(url, { headers });
      if (response.status === 410) {
        await response.body?.cancel();
        this.#checkExpired(session);
        return 'expired';
      }
      if (!response.ok) throw new TypeError(`${response.status}: ${await response.text()}`);
      const frames = new Frames(sse);
      const decoder = new TextDecoder();
      for await (const chunk of response.body!) {
        if (isSlow) await new Promise((resolve) => setTimeout(resolve, 10));
        for (const event of frames.take(decoder.decode(chunk, { stream: true }))) {
          if (event.type === 'ERROR') return this.#broken(event);
          checkFrame(event, sse);
          await this.#see(session, event);
          // Going away in the middle of the loop breaks the connection off.
          if (++count >= wanted && session.begin >= 0) return 'enough';
        }
      }
      return 'broken';
    } catch (error) {
      // Nobody listens while the service restarts.
      if (error instanceof Error && error.message.startsWith('event')) throw error;
      if (!this.#restarting && !(error instanceof TypeError)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return 'broken';
    }
  }

  #broken({ error }: StreamEvent): 'broken' {
    if (error.code !== 'ShuttingDown' && error.code !== 'SlowConsumer')
      throw new Error(`event ERROR: ${JSON.stringify(error)}`);
    return 'broken';
  }

  #checkInitial({ selection, begin, world }: Session): void {
    // Only a log that reaches back to the first revision tells the whole state.
    if (this.#log.length > 0 && this.#log[0]!.revision > this.#first + 1) return;
    const state = new Map<string, string>();
    for (const line of this.#log) {
      if (line.revision > begin) break;
      if (line.after && selection.sees(line.after)) state.set(line.name, line.text);
      else state.delete(line.name);
    }
    const [wanted, got] = [state, world].map((map) => JSON.stringify([...map].sort()));
    if (wanted !== got) throw new Error(`event: initial state at ${begin}: expected ${wanted}, got ${got}`);
  }
}

function checkFrame({ type, id, revision, initial }: StreamEvent, sse: boolean): void {
  const wanted = sse && !(initial && type === 'ADDED') ? String(revision) : undefined;
  if (id !== wanted) throw new Error(`event ${type} of revision ${revision} has the id ${id}, expected ${wanted}`);
}

function expected(log: readonly LogLine[], { sees }: Selection, since: number, until: number) {
  return log.flatMap(({ revision, name, before, after, final }) => {
    if (revision <= since || revision > until) return [];
    const was = before !== undefined && sees(before);
    const is = after !== undefined && sees(after);
    if (!was && !is) return [];
    const type = was && is ? 'MODIFIED' : is ? 'ADDED' : 'DELETED';
    return [{ type, revision, name, object: final as unknown }];
  });
}

function compare(wanted: readonly object[], got: readonly object[]): void {
  for (let i = 0; i < Math.max(wanted.length, got.length); i++) {
    const [a, b] = [JSON.stringify(wanted[i]), JSON.stringify(got[i])];
    if (a !== b) throw new Error(`event ${i} of ${wanted.length}: expected ${a}, got ${b}`);
  }
}

function ignoreRaces(error: unknown): void {
  const code = (error as { code?: string }).code;
  // What became of a write whose answer came too late, the oracle's stream tells.
  if (!['AlreadyExists', 'NotFound', 'Deleting', 'UnknownOutcome'].includes(code!)) throw error;
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: {
      sessions: { type: 'string', default: '20000' },
      seed: { type: 'string', default: String(Date.now() % 1e6) },
      database: { type: 'string' },
      width: { type: 'string', default: '500' },
      restart: { type: 'string', default: '2000' },
      keep: { type: 'string', default: '3000' },
      replicas: { type: 'string', default: '1' },
    },
  });
  const { database } = values;
  const { sessions, seed, width, restart, keep, replicas } = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, Number(value)]),
  ) as Record<'sessions' | 'seed' | 'width' | 'restart' | 'keep' | 'replicas', number>;
  console.log(`seed ${seed}`);
  const started = performance.now();
  const result = await runSessions({ sessions, seed, width, restart, keep, replicas, database });
  console.log({ ...result, seconds: Math.round((performance.now() - started) / 1000) });
}
