/** Records a history: clients against several replicas over HTTP, while replicas are killed, paused and started again. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { Agent, request as send } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import type { Event, History, Item, Operation, Outcome, Request, Stream } from './history.ts';
import { isWrite, itemOf } from './history.ts';
import { inventRequest } from './invented.ts';
import { itemsPath } from './item.ts';

/** How a process runs the sources; without it, the package is the one that is built. */
const fromSources = ['--import', 'tsx'];

/** A replica in a process of its own. It keeps its port when it is started again. */
export class Replica {
  readonly #database: string;
  readonly #program: string;
  readonly #node: readonly string[];
  #process: ChildProcess | undefined;
  #port = 0;

  constructor(database: string, program = new URL('./replica.ts', import.meta.url).pathname, isBuilt = false) {
    this.#database = database;
    this.#program = program;
    this.#node = isBuilt ? [] : fromSources;
  }

  get port(): number {
    return this.#port;
  }

  /** Resolves when it is ready. */
  async start(...more: readonly string[]): Promise<void> {
    const given = [this.#program, this.#database, String(this.#port), ...more];
    const child = spawn(process.execPath, [...this.#node, ...given], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#process = child;
    const url = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).once('line', resolve);
      child.once('exit', (code, signal) =>
        reject(new Error(`a replica ended at its start: ${code ?? signal}`, { cause: code ?? signal })),
      );
    });
    this.#port = Number(new URL(url).port);
  }

  /** @param signal SIGTERM: it may finish what it does */
  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const child = this.#process!;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await gone;
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process!.kill(signal);
  }
}

export interface Recording {
  readonly replicas: readonly Replica[];
  /** Unlike that of any other history in this database. */
  readonly history: string;
  readonly operations: number;
  readonly clients?: number;
  readonly watches?: number;
  /** Whether replicas are killed and paused meanwhile. */
  readonly faults: boolean;
}

export interface Recorded extends History {
  readonly kills: number;
  readonly pauses: number;
}

const names = 12;

export async function record(recording: Recording): Promise<Recorded> {
  const { replicas, history, operations: count, clients = 16, watches = 4, faults } = recording;
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const base = (await call(agent, replicas[0]!.port, 'GET', `${itemsPath}?size=1`)).revision!;
  const operations: Operation[] = [];
  const versions = new Map<string, number>();
  let left = count;
  let through: number | undefined;

  const client = async (number: number): Promise<void> => {
    for (let i = 0; left > 0; i++) {
      left--;
      const replica = oneOf(replicas);
      const invented = inventRequest(below, `${history}.${number}.${i}`, names);
      // Half of the versions that are sent are the last ones seen.
      const version = 'version' in invented && below(2) === 0 ? versions.get(invented.name) : undefined;
      const request = version === undefined ? invented : { ...invented, version };
      const start = performance.now();
      const outcome = await perform(agent, replica.port, history, request);
      operations.push({ client: number, start, end: performance.now(), request, outcome });
      if (outcome.kind === 'ok' && outcome.item) versions.set(outcome.item.name, outcome.item.version);
      // A replica that is away would otherwise take most of the operations.
      if (outcome.kind === 'none') await pause(20);
    }
  };

  const watcher = async (number: number): Promise<Stream> => {
    const slug = number % 2 === 0 ? undefined : `s${below(5)}`;
    const since = base;
    const events: Stream['events'][number][] = [];
    let last = since;
    const isDone = (): boolean => through !== undefined && last >= through;
    while (!isDone()) {
      await follow(oneOf(replicas).port, history, last, slug, (event) => {
        events.push(event);
        last = event.revision;
        return !isDone();
      });
      if (!isDone()) await pause(20);
    }
    return { since, ...(slug && { slug }), events, through: through! };
  };

  const tally = { kills: 0, pauses: 0 };
  let over = false;
  const making = faults ? makeFaults(replicas, tally, () => over) : Promise.resolve();
  const streams = Array.from({ length: watches }, (_, number) => watcher(number));
  for (const stream of streams) stream.catch(() => {});
  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
  over = true;
  await making;
  // A batch of a replica that was killed may still be finishing in the database: what comes after it has its revision.
  const newest = await settle(agent, replicas, history, operations);
  through = newest;
  const log = await logOf(oneOf(replicas).port, history, base, newest);
  const done = await Promise.all(streams);
  agent.destroy();
  return { base, newest, operations, log, streams: done, ...tally };
}

/** A write after all others. @returns its revision */
async function settle(
  agent: Agent,
  replicas: readonly Replica[],
  history: string,
  operations: Operation[],
): Promise<number> {
  for (let i = 0; i < 20; i++) {
    const request: Request = { kind: 'create', name: `last${i}`, value: `${history}.last.${i}` };
    const start = performance.now();
    const outcome = await perform(agent, oneOf(replicas).port, history, request);
    operations.push({ client: -1, start, end: performance.now(), request, outcome });
    if (outcome.kind === 'ok') return outcome.revision;
    await pause(250);
  }
  throw new Error('no replica takes a write');
}

async function makeFaults(
  replicas: readonly Replica[],
  tally: { kills: number; pauses: number },
  isOver: () => boolean,
): Promise<void> {
  await pause(below(200));
  while (!isOver() || tally.kills === 0 || tally.pauses === 0) {
    const replica = oneOf(replicas);
    const isKill = tally.kills === 0 ? tally.pauses > 1 : below(20) === 0;
    if (isKill) {
      await replica.kill();
      tally.kills++;
      await replica.start();
    } else {
      replica.signal('SIGSTOP');
      await pause(below(20) === 0 ? 2_000 + below(500) : 20 + below(300));
      replica.signal('SIGCONT');
      tally.pauses++;
    }
    if (!isOver()) await pause(below(300));
  }
}

async function perform(agent: Agent, port: number, history: string, request: Request): Promise<Outcome> {
  try {
    const answer = await callFor(agent, port, history, request);
    const { status, revision, body } = answer;
    if (status < 300) {
      if (request.kind !== 'list') return { kind: 'ok', revision: revision!, item: itemIn(body as Body, history) };
      const { items, total } = body as { items: Body[]; total: number };
      return { kind: 'ok', revision: revision!, items: items.map((item) => itemIn(item, history)), total };
    }
    const { code, currentVersion } = body as { code: string; currentVersion?: number };
    if (code === 'UnknownOutcome') return { kind: 'unknown' };
    if (code === 'NotReady' || (!isWrite(request) && status >= 500)) return { kind: 'none' };
    if (status >= 500) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
    return {
      kind: 'refused',
      code,
      ...(revision !== undefined && { revision }),
      ...(currentVersion !== undefined && { currentVersion }),
    };
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    return { kind: error.isSent && isWrite(request) ? 'unknown' : 'none' };
  }
}

function callFor(agent: Agent, port: number, history: string, request: Request): Promise<Answer> {
  if (request.kind === 'list') {
    const slug = request.slug === undefined ? '' : `,spec.slug=${history}.${request.slug}`;
    const query = `size=1000&sort=metadata.name,asc&fieldSelector=${encodeURIComponent(`spec.history=${history}${slug}`)}`;
    return call(agent, port, 'GET', `${itemsPath}?${query}`);
  }
  const name = `${history}-${request.name}`;
  const one = `${itemsPath}/${name}`;
  const spec = 'value' in request && {
    history,
    value: request.value,
    ...('slug' in request && request.slug !== undefined && { slug: `${history}.${request.slug}` }),
  };
  switch (request.kind) {
    case 'create':
      return call(agent, port, 'POST', itemsPath, { metadata: { name }, spec });
    case 'put': {
      const { version } = request;
      return call(agent, port, 'PUT', one, { metadata: { name, ...(version !== undefined && { version }) }, spec });
    }
    case 'patch':
      return call(agent, port, 'PATCH', one, { spec: { value: request.value } });
    case 'delete':
      return call(agent, port, 'DELETE', one);
    case 'get':
      return call(agent, port, 'GET', one);
  }
}

interface Body {
  readonly metadata: { readonly name: string; readonly version: number };
  readonly spec: { readonly history: string; readonly value: string; readonly slug?: string };
}

function itemIn({ metadata, spec }: Body, history: string): Item {
  return itemOf(
    metadata.name.slice(history.length + 1),
    metadata.version,
    spec.value,
    spec.slug?.slice(history.length + 1),
  );
}

interface Answer {
  readonly status: number;
  readonly revision: number | undefined;
  readonly body: unknown;
}

class Broken extends Error {
  /** False when the service cannot have seen the request. */
  readonly isSent: boolean;

  constructor(isSent: boolean, cause: unknown) {
    super('the connection broke', { cause });
    this.isSent = isSent;
  }
}

/** Milliseconds; longer than any pause and than the service's own limits. */
const timeout = 20_000;

function call(agent: Agent, port: number, method: string, path: string, body?: unknown): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  return new Promise((resolve, reject) => {
    const headers = text === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(text) };
    const request = send({ agent, host: '127.0.0.1', port, method, path, headers, timeout }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.once('error', (error) => reject(new Broken(true, error)));
      response.once('end', () => {
        const revision = response.headers['kindred-revision'];
        const status = response.statusCode!;
        try {
          const answered = JSON.parse(Buffer.concat(parts).toString()) as unknown;
          resolve({ status, revision: revision === undefined ? undefined : Number(revision), body: answered });
        } catch (error) {
          reject(new Broken(true, error));
        }
      });
    });
    request.once('timeout', () => request.destroy(new Error('no answer in time')));
    request.once('error', (error: NodeJS.ErrnoException) => {
      reject(new Broken(error.code !== 'ECONNREFUSED', error));
    });
    request.end(text);
  });
}

type StreamEvent = Event | { readonly type: 'BOOKMARK'; readonly revision: number };

/** Follows a watch until it is cut, or `take` returns false. Bookmarks come all the time: silence is an error. */
function follow(
  port: number,
  history: string,
  since: number,
  slug: string | undefined,
  take: (event: StreamEvent) => boolean,
): Promise<void> {
  const selector = `spec.history=${history}${slug === undefined ? '' : `,spec.slug=${history}.${slug}`}`;
  const path = `${itemsPath}?watch=true&since=${since}&fieldSelector=${encodeURIComponent(selector)}`;
  return new Promise((resolve, reject) => {
    let over = false;
    const end = (error?: Error): void => {
      if (over) return;
      over = true;
      clearTimeout(silence);
      request.destroy();
      if (error) reject(error);
      else resolve();
    };
    const silence = setTimeout(() => end(new Error(`a watch from ${since} on port ${port} fell silent`)), timeout);
    const request = send({ host: '127.0.0.1', port, path }, (response) => {
      if (response.statusCode !== 200) {
        response.resume();
        end(response.statusCode === 503 ? undefined : new Error(`a watch was answered ${response.statusCode}`));
        return;
      }
      const lines = createInterface({ input: response });
      lines.on('line', (line) => {
        const event = parsed(line);
        if (over || !event) return;
        silence.refresh();
        if (event.type === 'ERROR') return end();
        const { type, revision, object } = event;
        const isMore = take(
          type === 'BOOKMARK' ? { type, revision } : { type, revision, item: itemIn(object!, history) },
        );
        if (!isMore) end();
      });
      lines.once('close', () => end());
      lines.on('error', () => end());
      response.on('error', () => end());
    });
    request.on('error', () => end());
    request.end();
  });
}

interface Told {
  readonly type: Event['type'] | 'BOOKMARK' | 'ERROR';
  readonly revision: number;
  readonly object?: Body;
}

function parsed(line: string): Told | undefined {
  try {
    return JSON.parse(line) as Told;
  } catch {
    // The last line of a replica that was killed.
    return undefined;
  }
}

/** Every change after `base` up to `newest`. */
async function logOf(port: number, history: string, base: number, newest: number): Promise<Event[]> {
  const log: Event[] = [];
  await follow(port, history, base, undefined, (event) => {
    if (event.type !== 'BOOKMARK' && event.revision <= newest) log.push(event);
    return event.revision < newest;
  });
  return log;
}

function below(limit: number): number {
  return Math.floor(Math.random() * limit);
}

function oneOf<T>(list: readonly T[]): T {
  return list[below(list.length)]!;
}
