/**
 * Watch sessions against an oracle: every stream must be the slice of the change log that its selection sees, no gap, no
 * repeat, in order. `node --import tsx test/watch/sessions.ts --sessions 20000 --seed 1 [--database URL]` runs many.
 */
import { parseArgs } from 'node:util';
import type { ExtensionClient, Service } from 'kindred';
import { createService, defineModel, ListOptions, Type } from 'kindred';

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
}

interface Selection {
  labels?: string;
  fields?: string;
  sees(item: ItemObject): boolean;
}

const colors = ['red', 'green', 'blue'];

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
  database?: string;
  /** Sessions at the same time. Default 50. */
  width?: number;
}

export interface SessionsResult {
  sessions: number;
  events: number;
  resumed: number;
  changes: number;
}

/** Throws on the first stream that differs from the oracle. */
export async function runSessions({
  sessions,
  seed,
  database = 'sqlite::memory:',
  width = 50,
}: SessionsOptions): Promise<SessionsResult> {
  const random = generator(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const service: Service = await createService({ database, port: 0, auth: false });
  service.schemeManager.register(Item);
  await service.start();
  const { client } = service;
  const log: LogLine[] = [];
  const result: SessionsResult = { sessions: 0, events: 0, resumed: 0, changes: 0 };

  const recording = new AbortController();
  const first = await record(client, log, recording.signal);

  const names = Array.from({ length: 30 }, (_, i) => `item-${i}`);
  const randomSpec = (): ItemObject['spec'] => ({
    ...(random() < 0.8 && { color: pick(colors) }),
    size: Math.floor(random() * 6),
    tags: ['a', 'b', 'c'].filter(() => random() < 0.4),
  });
  const randomLabels = (): Record<string, string> =>
    random() < 0.6 ? { 'watch.example.com/env': pick(['prod', 'test', 'dev']) } : {};

  async function mutate(): Promise<void> {
    const name = pick(names);
    const current = (await client.fetch(Item, name)) as unknown as ItemObject | undefined;
    if (!current) {
      const finalizers = random() < 0.3 ? ['watch.example.com/hold'] : [];
      await client.create(Item, { metadata: { name, labels: randomLabels(), finalizers }, spec: randomSpec() });
    } else if (current.metadata.deletionTimestamp) {
      await client.patch(Item, name, { metadata: { finalizers: null } });
    } else if (random() < 0.25) await client.delete(Item, name);
    else if (random() < 0.3)
      await client.patch(Item, name, {
        metadata: { labels: { 'watch.example.com/env': random() < 0.5 ? null : pick(['prod', 'test']) } },
      });
    else await client.patch(Item, name, { spec: randomSpec() });
    result.changes++;
  }

  let writing = true;
  const writer = (async () => {
    while (writing) {
      await Promise.all(Array.from({ length: 4 }, () => mutate().catch(ignoreRaces)));
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();

  /** The oracle reads a stream of its own: it may be a turn behind. */
  async function reached(revision: number): Promise<void> {
    while ((log.at(-1)?.revision ?? first) < revision) await new Promise((resolve) => setImmediate(resolve));
  }

  async function session(): Promise<void> {
    const selection = pick(selections);
    const options = ListOptions.parse({ labelSelector: selection.labels, fieldSelector: selection.fields });
    const mode = random();
    const newest = log.at(-1)?.revision ?? first;
    let since = mode < 0.4 ? Math.max(first, newest - Math.floor(random() * 600)) : newest;
    let sendInitial = mode > 0.7;
    const world = new Map<string, string>();
    const got: { type: string; revision: number; name: string; object: unknown }[] = [];
    let begin = sendInitial ? -1 : since;
    for (let part = 0, parts = 1 + Math.floor(random() * 3); part < parts; part++) {
      const wanted = 1 + Math.floor(random() * 30);
      const abort = new AbortController();
      const stream = client.watch(Item, {
        select: options,
        signal: abort.signal,
        ...(sendInitial ? { sendInitial } : { since: String(since) }),
      });
      let count = 0;
      for await (const event of stream) {
        if (event.type === 'BOOKMARK') {
          if (event.initial) {
            begin = Number(event.revision);
            since = begin;
            await reached(begin);
            checkInitial(log, first, selection, begin, world);
          }
        } else if (event.initial)
          world.set((event.object as unknown as ItemObject).metadata.name, JSON.stringify(event.object));
        else {
          got.push({
            type: event.type,
            revision: Number(event.revision),
            name: (event.object as unknown as ItemObject).metadata.name,
            object: event.object,
          });
          since = Number(event.revision);
        }
        count++;
        if (count >= wanted && begin >= 0) abort.abort();
      }
      sendInitial = false;
      if (part > 0) result.resumed++;
    }
    await reached(since);
    compare(expected(log, selection, begin, since), got);
    result.sessions++;
    result.events += got.length;
  }

  try {
    for (let left = sessions; left > 0; ) {
      const now = Math.min(width, left);
      await Promise.all(Array.from({ length: now }, session));
      left -= now;
      // The oracle's log need not reach back further than a session begins.
      if (log.length > 20_000) log.splice(0, 10_000);
    }
  } finally {
    writing = false;
    await writer;
    recording.abort();
    await service.stop();
  }
  return result;
}

/** The log as the oracle keeps it, from an unfiltered stream; this stream itself is held against the versions of the objects. */
async function record(client: ExtensionClient, log: LogLine[], signal: AbortSignal): Promise<number> {
  const state = new Map<string, ItemObject>();
  const begun = Promise.withResolvers<number>();
  void (async () => {
    for await (const event of client.watch(Item, { sendInitial: true, signal })) {
      if (event.type === 'BOOKMARK') {
        if (event.initial) begun.resolve(Number(event.revision));
        continue;
      }
      const object = event.object as unknown as ItemObject;
      const { name } = object.metadata;
      const before = state.get(name);
      const after = event.type === 'DELETED' ? undefined : object;
      const version = before ? before.metadata.version! + 1 : 0;
      if (object.metadata.version !== version)
        throw new Error(`${name}: version ${object.metadata.version}, expected ${version}`);
      const last = log.at(-1)?.revision;
      if (last !== undefined && Number(event.revision) !== last + 1)
        throw new Error(`revision ${event.revision} after ${last}`);
      log.push({ revision: Number(event.revision), name, before, after, final: object });
      if (after) state.set(name, after);
      else state.delete(name);
    }
  })().catch((error: unknown) => begun.reject(error));
  return begun.promise;
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

function checkInitial(
  log: readonly LogLine[],
  first: number,
  { sees }: Selection,
  revision: number,
  world: ReadonlyMap<string, string>,
): void {
  // Only a log that reaches back to the first revision tells the whole state.
  if (log.length > 0 && log[0]!.revision > first + 1) return;
  const state = new Map<string, string>();
  for (const line of log) {
    if (line.revision > revision) break;
    if (line.after && sees(line.after)) state.set(line.name, JSON.stringify(line.after));
    else state.delete(line.name);
  }
  const [wanted, got] = [state, world].map((map) => JSON.stringify([...map].sort()));
  if (wanted !== got) throw new Error(`initial state at ${revision}: expected ${wanted}, got ${got}`);
}

function ignoreRaces(error: unknown): void {
  const code = (error as { code?: string }).code;
  if (code !== 'AlreadyExists' && code !== 'NotFound' && code !== 'Deleting') throw error;
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: {
      sessions: { type: 'string', default: '20000' },
      seed: { type: 'string', default: String(Date.now() % 1e6) },
      database: { type: 'string' },
    },
  });
  console.log(`seed ${values.seed}`);
  const started = performance.now();
  const result = await runSessions({
    sessions: Number(values.sessions),
    seed: Number(values.seed),
    database: values.database,
  });
  console.log({ ...result, seconds: Math.round((performance.now() - started) / 1000) });
}
