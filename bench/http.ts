/** Reads and writes over HTTP, side by side and in turn with what the runtime can do at all in the same minutes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { article, collection, deepListPaths, listPaths, nameOf, scattered } from './articles.ts';
import type { Delay, Memory, Usage } from './meter.ts';
import type { Flood, FloodResult, Load, LoadResult, Request } from './process-load.ts';
import { Remote } from './remote.ts';

export const works = ['GET', 'LIST', 'LIST2', 'CREATE', 'UPDATE'] as const;
export type Work = (typeof works)[number];

interface Variant {
  readonly work: Work;
  /** Default 32. */
  readonly connections?: number;
  /** UPDATEs a second beside it, over connections of their own. */
  readonly updates?: number;
}

/** The same works under other conditions. */
export const variants = {
  'CREATE, 8 connections': { work: 'CREATE', connections: 8 },
  'CREATE, 128 connections': { work: 'CREATE', connections: 128 },
  'UPDATE, 8 connections': { work: 'UPDATE', connections: 8 },
  'UPDATE, 128 connections': { work: 'UPDATE', connections: 128 },
  'LIST, 100 UPDATEs a second beside': { work: 'LIST', updates: 100 },
  'LIST2, 100 UPDATEs a second beside': { work: 'LIST2', updates: 100 },
} as const satisfies Record<string, Variant>;
export type VariantName = keyof typeof variants;

/** One turn of one work: the service, and the limit right before it. */
export interface Turn {
  readonly service: LoadResult;
  readonly limit: LoadResult;
  /** Microseconds of processor time for one answer, threads included. */
  readonly serviceCpu: number;
  readonly limitCpu: number;
}

export interface HttpResult {
  readonly objects: number;
  readonly turns: Readonly<Record<Work, readonly Turn[]>>;
  /** Those that were measured. */
  readonly variants: Readonly<Partial<Record<VariantName, readonly Turn[]>>>;
  /** Of the service, under reads and writes at the same time, and of the limit under the same number of connections. */
  readonly mixed: readonly { readonly delay: Delay; readonly limitDelay: Delay; readonly rate: number }[];
  /** One request of NDJSON with a tenth of the objects, at least 10,000: acknowledged a second, and the event loop meanwhile. */
  readonly bulk: readonly { readonly rate: number; readonly delay: Delay }[];
  /** With the objects there, before anything else: what the first measurements find. */
  readonly filled: readonly Memory[];
  /** After all of it, garbage collected. */
  readonly memory: readonly Memory[];
  /** Milliseconds from the start of a process to ready, on the database with all objects. */
  readonly start: readonly number[];
  /** Batches of 32 straight into SQLite, objects a second. */
  readonly storeLimit: readonly number[];
}

export interface HttpOptions {
  readonly objects: number;
  /** Processes of the service, one after the other: on a busy machine one does a fifth more or less than the next. */
  readonly starts: number;
  /** With each of them. */
  readonly rounds: number;
  /** Seconds of one turn. */
  readonly seconds: number;
  readonly works?: readonly Work[];
  /** Default none. */
  readonly variants?: readonly VariantName[];
  /** Flags of the Node.js that runs the service, for profiles. */
  readonly flags?: readonly string[];
}

export async function measureHttp(options: HttpOptions): Promise<HttpResult> {
  const results: HttpResult[] = [];
  for (let start = 0; start < options.starts; start++) results.push(await measureStarted(options));
  const turns = works.map((work) => [work, results.flatMap((result) => result.turns[work])] as const);
  const names = options.variants ?? [];
  return {
    objects: options.objects,
    turns: Object.fromEntries(turns) as Record<Work, Turn[]>,
    variants: Object.fromEntries(names.map((name) => [name, results.flatMap((result) => result.variants[name] ?? [])])),
    mixed: results.flatMap(({ mixed }) => mixed),
    bulk: results.flatMap(({ bulk }) => bulk),
    filled: results.flatMap(({ filled }) => filled),
    memory: results.flatMap(({ memory }) => memory),
    start: results.flatMap(({ start }) => start),
    storeLimit: results.flatMap(({ storeLimit }) => storeLimit),
  };
}

async function measureStarted(options: HttpOptions): Promise<HttpResult> {
  const { objects, rounds, seconds } = options;
  const folder = mkdtempSync(join(tmpdir(), 'kindred-bench-'));
  const database = `sqlite:${join(folder, 'bench.db')}`;
  const service = new Remote('process-service.ts', [database], options.flags);
  const limit = new Remote('process-limit.ts');
  const load = new Remote('process-load.ts');
  try {
    const [url, limitUrl] = await Promise.all([service.ask<string>('ready'), limit.ask<string>('url')]);
    await service.ask('fill', { from: 0, to: objects });
    const filled = await service.ask<Memory>('memory', { collect: false });
    const pages = await pagesOf(`${url}${deepListPaths(1)[0]}`);
    const reads: Record<string, readonly Request[]> = {
      // As many as there are objects: fewer names would come round again and be in every cache.
      GET: Array.from({ length: Math.max(objects, 20_000) }, (_, i) => ({
        path: `${collection}/${nameOf(scattered(i, 90, objects))}`,
      })),
      LIST: listPaths.map((path) => ({ path })),
      LIST2: deepListPaths(Math.min(50, pages)).map((path) => ({ path })),
    };
    for (const [list, requests] of Object.entries(reads)) await load.ask('prepare', { list, requests });

    let created = objects;
    let edition = 1;
    /** More than can be sent in one turn: no name comes twice. */
    const enough = Math.ceil(seconds * 16_000);
    const prepare = async (work: Work): Promise<void> => {
      if (work === 'CREATE') {
        const requests = Array.from({ length: enough }, (_, i) => post(created + i));
        await load.ask('prepare', { list: work, requests });
      } else if (work === 'UPDATE') {
        // Each with a content of its own: a PUT that changes nothing writes nothing.
        const requests = Array.from({ length: enough }, (_, i) =>
          put(scattered(edition + i, 91, objects), edition + i),
        );
        edition += enough;
        await load.ask('prepare', { list: work, requests });
      }
    };

    const turns = Object.fromEntries(works.map((work) => [work, [] as Turn[]])) as Record<Work, Turn[]>;
    const measure = async ({ work, connections = 32, updates = 0 }: Variant, duration: number): Promise<Turn> => {
      await prepare(work);
      if (updates > 0) await prepare('UPDATE');
      // The limit of a write is a GET of one object: what the runtime does for a request that changes nothing.
      const read = work in reads ? work : 'GET';
      const answer = await fetch(url + reads[read]![0]!.path);
      await limit.ask('prepare', { bytes: new Uint8Array(await answer.arrayBuffer()) });
      const bare = await turn(limit, load, { url: limitUrl, duration, connections, list: read });
      const flood: Flood = { url, duration, connections: 8, list: 'UPDATE', arrivals: updates };
      const beside = updates > 0 ? load.ask<FloodResult>('flood', flood) : undefined;
      const own = await turn(service, load, { url, duration, connections, list: work });
      const wanted = work === 'CREATE' ? '201' : '200';
      const statuses = Object.keys(own.result.statuses).filter((status) => status !== wanted);
      if (beside) statuses.push(...Object.keys((await beside).statuses).filter((status) => status !== '200'));
      if (statuses.length > 0) throw new Error(`${work} was answered with ${statuses.join()}`);
      if (work === 'CREATE') {
        await service.ask('remove', { from: created, to: created + own.result.answered + connections * 2 });
        created += enough;
      }
      return { service: own.result, limit: bare.result, serviceCpu: own.cpu, limitCpu: bare.cpu };
    };
    const others = Object.fromEntries((options.variants ?? []).map((name) => [name, [] as Turn[]]));
    // The first round is for the compiler.
    for (let round = -1; round < rounds; round++) {
      const duration = round < 0 ? Math.min(1, seconds) : seconds;
      for (const work of options.works ?? works) {
        const measured = await measure({ work }, duration);
        if (round >= 0) turns[work].push(measured);
      }
      if (round < 0) continue;
      for (const name of options.variants ?? []) others[name]!.push(await measure(variants[name], duration));
    }
    const mixed = await measureMixed({ service, limit, load }, { url, limitUrl, seconds: seconds * 3 }, async () => {
      await prepare('CREATE');
      await prepare('UPDATE');
    });
    const bulk: HttpResult['bulk'][number][] = [];
    created += enough;
    const count = Math.max(Math.min(10_000, objects), objects / 10);
    for (let round = 0; round < Math.min(rounds, 2); round++) {
      bulk.push(await measureBulk(service, url, created, count));
      await service.ask('remove', { from: created, to: created + count });
      created += count;
    }
    const memory = await service.ask<Memory>('memory', { collect: true });
    const batch = { file: join(folder, 'limit.db'), count: Math.min(objects, 20_000), batch: 32 };
    const storeLimit: number[] = [];
    for (let round = 0; round < Math.min(rounds, 2); round++)
      storeLimit.push(await limit.ask<number>('storeRate', batch));
    await service.end();
    const start: number[] = [];
    for (let round = 0; round < Math.min(rounds, 2); round++) start.push(await measureStart(database));
    return {
      objects,
      turns,
      variants: others,
      mixed: [mixed],
      bulk,
      filled: [filled],
      memory: [memory],
      storeLimit,
      start,
    };
  } finally {
    await Promise.all([service, limit, load].map((process) => process.end()));
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureStart(database: string): Promise<number> {
  const begin = performance.now();
  const service = new Remote('process-service.ts', [database]);
  await service.ask('ready');
  const time = performance.now() - begin;
  await service.end();
  return time;
}

async function measureBulk(
  service: Remote,
  url: string,
  from: number,
  count: number,
): Promise<HttpResult['bulk'][number]> {
  const body = Array.from({ length: count }, (_, i) => `${JSON.stringify(article(from + i))}\n`).join('');
  await service.ask('delay');
  const begin = performance.now();
  const response = await fetch(url + collection, {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body,
  });
  const lines = (await response.text()).trimEnd().split('\n');
  const seconds = (performance.now() - begin) / 1_000;
  const delay = await service.ask<Delay>('delay');
  const refused = lines.find((line) => !line.includes('"status":201'));
  if (refused !== undefined || lines.length !== count)
    throw new Error(`bulk import: ${refused ?? `${lines.length} lines`}`);
  return { rate: count / seconds, delay };
}

async function turn(server: Remote, load: Remote, order: Load): Promise<{ result: LoadResult; cpu: number }> {
  const before = await server.ask<Usage>('usage');
  const result = await load.ask<LoadResult>('load', order);
  const after = await server.ask<Usage>('usage');
  return { result, cpu: (after.cpu - before.cpu) / result.answered };
}

/** Delay of the event loop while 16 connections read one, 8 list, 4 create and 4 update. */
async function measureMixed(
  { service, limit, load }: Record<'service' | 'limit' | 'load', Remote>,
  { url, limitUrl, seconds }: { url: string; limitUrl: string; seconds: number },
  prepareWrites: () => Promise<void>,
): Promise<HttpResult['mixed'][number]> {
  await prepareWrites();
  await limit.ask('delay');
  await load.ask('load', { url: limitUrl, duration: seconds, list: 'GET' });
  const limitDelay = await limit.ask<Delay>('delay');
  await service.ask('delay');
  const parts: readonly (readonly [list: string, connections: number])[] = [
    ['GET', 16],
    ['LIST', 4],
    ['LIST2', 4],
    ['CREATE', 4],
    ['UPDATE', 4],
  ];
  const results = await Promise.all(
    parts.map(([list, connections]) =>
      load.ask<LoadResult>('load', { url, duration: seconds, list, connections } satisfies Load),
    ),
  );
  const delay = await service.ask<Delay>('delay');
  return { delay, limitDelay, rate: results.reduce((sum, { rate }) => sum + rate, 0) };
}

async function pagesOf(url: string): Promise<number> {
  const page = (await (await fetch(url)).json()) as { totalPages: number };
  return page.totalPages;
}

function post(number: number): Request {
  return { method: 'POST', path: collection, body: JSON.stringify(article(number)) };
}

function put(number: number, edition: number): Request {
  return { method: 'PUT', path: `${collection}/${nameOf(number)}`, body: JSON.stringify(article(number, edition)) };
}
