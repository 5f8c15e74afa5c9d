/** Records a history: clients against several replicas over HTTP, while replicas are killed, paused and started again. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { Agent, request as send } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fromSources } from '../sources.ts';
import type { Answer } from './call.ts';
import { Broken, call, timeout } from './call.ts';
import type { Event, History, Item, Operation, Outcome, Request, Stream } from './history.ts';
import { isWrite, itemOf } from './history.ts';
import { inventRequest } from './invented.ts';
import { itemsPath } from './item.ts';

/** Milliseconds that a replica has to start, and to end: far more than either takes on a busy machine. */
const patience = 60_000;
/** Lines of a replica's standard error that are kept. */
const keptLines = 20;

/** A replica in a process of its own. It keeps its port when it is started again. */
export class Replica {
  readonly #database: string;
  readonly #program: string;
  readonly #node: readonly string[];
  #process: ChildProcess | undefined;
  #port = 0;
  #lines: string[] = [];

  constructor(database: string, program = new URL('./replica.ts', import.meta.url).pathname, isBuilt = false) {
    this.#database = database;
    this.#program = program;
    this.#node = isBuilt ? [] : fromSources;
  }

  get port(): number {
    return this.#port;
  }

  /** What it said last on standard error, of all its processes. */
  get lastLines(): readonly string[] {
    return this.#lines;
  }

  get #isRunning(): boolean {
    return this.#process !== undefined && this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** Resolves when it is ready. @throws Error when it ends instead, with exit code or signal as its cause, or is not ready in time */
  async start(...more: readonly string[]): Promise<void> {
    if (this.#isRunning) throw new Error(`the replica on port ${this.#port} runs already`);
    const given = [this.#program, this.#database, String(this.#port), ...more];
    const child = spawn(process.execPath, [...this.#node, ...given], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process = child;
    createInterface({ input: child.stderr }).on('line', (line) => {
      this.#lines = [...this.#lines.slice(1 - keptLines), line];
      process.stderr.write(`${line}\n`);
    });
    const ready = new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).once('line', resolve);
      child.once('exit', (code, signal) =>
        reject(
          new Error([`a replica ended at its start: ${code ?? signal}`, ...this.#lines].join('\n  '), {
            cause: code ?? signal,
          }),
        ),
      );
    });
    const url = await within(patience, `a replica to start ${more.join(' ')}`, ready, () => this.#lines);
    this.#port = Number(new URL(url).port);
  }

  /** @param signal SIGTERM: it may finish what it does */
  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    if (!this.#isRunning) return;
    const child = this.#process!;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await within(patience, `the replica on port ${this.#port} to end after ${signal}`, gone, () => this.#lines);
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process?.kill(signal);
  }
}

/** @param more lines that belong to the error. @throws Error that says for what it waited */
export async function within<T>(
  milliseconds: number,
  what: string,
  promise: Promise<T>,
  more: () => readonly string[],
): Promise<T> {
  let timer: NodeJS.Timeout;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error([`waited ${milliseconds / 1000} s for ${what}`, ...more()].join('\n  '))),
      milliseconds,
    );
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export interface Recording {
  readonly replicas: readonly Replica[];
  /** Unlike that of any other history in this database. */
  readonly history: string;
  /** At least. */
  readonly operations: number;
  readonly clients?: number;
  readonly watches?: number;
  /** Whether replicas are killed and paused meanwhile. */
  readonly faults: boolean;
  /** Something else that happens; the clients go on until it is over. */
  readonly meanwhile?: () => Promise<void>;
  /** Milliseconds from an answer to the next request of the client. Default 0. */
  readonly pace?: number;
  /** Of the objects. Default that of `ItemModel`. */
  readonly path?: string;
  /** Starts a replica that was killed. Default: once. */
  readonly restart?: (replica: Replica) => Promise<unknown>;
}

/** Where the objects of a history are. */
interface Objects {
  readonly agent: Agent;
  readonly path: string;
  readonly history: string;
}

export interface Recorded extends History {
  readonly kills: number;
  readonly pauses: number;
}

const names = 12;

export async function record(recording: Recording): Promise<Recorded> {
  const { replicas, history, operations: count, clients = 16, watches = 4, faults, meanwhile, pace = 0 } = recording;
  const { path = itemsPath, restart = (replica: Replica) => replica.start() } = recording;
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const objects = { agent, path, history };
  const base = (await call(agent, replicas[0]!.port, 'GET', `${path}?size=1`)).revision!;
  const operations: Operation[] = [];
  const versions = new Map<string, number>();
  let left = count;
  let isBusy = meanwhile !== undefined;
  let through: number | undefined;

  const client = async (number: number): Promise<void> => {
    for (let i = 0; left > 0 || isBusy; i++) {
      left--;
      const replica = oneOf(replicas);
      const invented = inventRequest(below, `${history}.${number}.${i}`, names);
      // Half of the versions that are sent are the last ones seen.
      const version = 'version' in invented && below(2) === 0 ? versions.get(invented.name) : undefined;
      const request = version === undefined ? invented : { ...invented, version };
      const start = performance.now();
      const outcome = await perform(objects, replica.port, request);
      operations.push({ client: number, start, end: performance.now(), request, outcome });
      if (outcome.kind === 'ok' && outcome.item) versions.set(outcome.item.name, outcome.item.version);
      // A replica that is away would otherwise take most of the operations.
      if (outcome.kind === 'none') await pause(20);
      if (pace > 0) await pause(pace);
    }
  };

  /** One stream; another one begins where one expires. */
  const watcher = async (number: number): Promise<Stream[]> => {
    const slug = number % 2 === 0 ? undefined : `s${below(5)}`;
    const streams: Stream[] = [];
    let since = base;
    for (;;) {
      const events: Stream['events'][number][] = [];
      let last = since;
      let isExpired = false;
      const isDone = (): boolean => through !== undefined && last >= through;
      while (!isDone() && !isExpired) {
        isExpired = await follow(objects, oneOf(replicas).port, last, slug, (event) => {
          events.push(event);
          last = event.revision;
          return !isDone();
        });
        if (!isDone()) await pause(20);
      }
      const stream = { since, ...(slug && { slug }), events };
      if (isDone()) return [...streams, { ...stream, through: through! }];
      streams.push({ ...stream, expired: true });
      since = await newestOf(objects, replicas);
    }
  };

  const tally = { kills: 0, pauses: 0 };
  let over = false;
  const making = faults ? makeFaults(replicas, tally, restart, () => over) : Promise.resolve();
  const streams = Array.from({ length: watches }, (_, number) => watcher(number));
  for (const stream of streams) stream.catch(() => {});
  const happening = meanwhile?.().finally(() => {
    isBusy = false;
  });
  await Promise.all([happening, ...Array.from({ length: clients }, (_, number) => client(number))]);
  over = true;
  await making;
  // A batch of a replica that was killed may still be finishing in the database: what comes after it has its revision.
  const newest = await settle(objects, replicas, operations);
  through = newest;
  const log = await logOf(objects, replicas, base, newest);
  const done = (await Promise.all(streams)).flat();
  agent.destroy();
  return { base, newest, operations, log, streams: done, ...tally };
}

/** The objects of a history as one replica lists them, by name. */
export async function readItems({ port }: Replica, history: string): Promise<readonly Item[]> {
  const agent = new Agent();
  const outcome = await perform({ agent, path: itemsPath, history }, port, { kind: 'list' });
  agent.destroy();
  if (outcome.kind !== 'ok') throw new Error(`a list was answered ${JSON.stringify(outcome)}`);
  return outcome.items!;
}

/** The newest revision, of the first replica that answers. */
async function newestOf({ agent, path }: Objects, replicas: readonly Replica[]): Promise<number> {
  for (;;) {
    const answer = await call(agent, oneOf(replicas).port, 'GET', `${path}?size=1`).catch(() => undefined);
    if (answer?.status === 200) return answer.revision!;
    await pause(20);
  }
}

/** A write after all others. @returns its revision */
async function settle(objects: Objects, replicas: readonly Replica[], operations: Operation[]): Promise<number> {
  for (let i = 0; i < 20; i++) {
    const request: Request = { kind: 'create', name: `last${i}`, value: `${objects.history}.last.${i}` };
    const start = performance.now();
    const outcome = await perform(objects, oneOf(replicas).port, request);
    operations.push({ client: -1, start, end: performance.now(), request, outcome });
    if (outcome.kind === 'ok') return outcome.revision;
    await pause(250);
  }
  throw new Error('no replica takes a write');
}

async function makeFaults(
  replicas: readonly Replica[],
  tally: { kills: number; pauses: number },
  restart: (replica: Replica) => Promise<unknown>,
  isOver: () => boolean,
): Promise<void> {
  await pause(below(200));
  while (!isOver() || tally.kills === 0 || tally.pauses === 0) {
    const replica = oneOf(replicas);
    const isKill = tally.kills === 0 ? tally.pauses > 1 : below(20) === 0;
    if (isKill) {
      await replica.kill();
      tally.kills++;
      await restart(replica);
    } else {
      replica.signal('SIGSTOP');
      await pause(below(20) === 0 ? 2_000 + below(500) : 20 + below(300));
      replica.signal('SIGCONT');
      tally.pauses++;
    }
    if (!isOver()) await pause(below(300));
  }
}

async function perform(objects: Objects, port: number, request: Request): Promise<Outcome> {
  const { history } = objects;
  try {
    const answer = await callFor(objects, port, request);
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

function callFor({ agent, path, history }: Objects, port: number, request: Request): Promise<Answer> {
  if (request.kind === 'list') {
    const slug = request.slug === undefined ? '' : `,spec.slug=${history}.${request.slug}`;
    const query = `size=1000&sort=metadata.name,asc&fieldSelector=${encodeURIComponent(`spec.history=${history}${slug}`)}`;
    return call(agent, port, 'GET', `${path}?${query}`);
  }
  const name = `${history}-${request.name}`;
  const one = `${path}/${name}`;
  const spec = 'value' in request && {
    history,
    value: request.value,
    ...('slug' in request && request.slug !== undefined && { slug: `${history}.${request.slug}` }),
  };
  switch (request.kind) {
    case 'create':
      return call(agent, port, 'POST', path, { metadata: { name }, spec });
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

type StreamEvent = Event | { readonly type: 'BOOKMARK'; readonly revision: number };

/**
 * Follows a watch until it is cut, or `take` returns false. Bookmarks come all the time: silence is an error.
 * @returns whether it is of no use to go on from where it ended
 */
function follow(
  { path, history }: Objects,
  port: number,
  since: number,
  slug: string | undefined,
  take: (event: StreamEvent) => boolean,
): Promise<boolean> {
  const selector = `spec.history=${history}${slug === undefined ? '' : `,spec.slug=${history}.${slug}`}`;
  const watch = `${path}?watch=true&since=${since}&fieldSelector=${encodeURIComponent(selector)}`;
  return new Promise((resolve, reject) => {
    let over = false;
    const end = (error?: Error, isExpired = false): void => {
      if (over) return;
      over = true;
      clearTimeout(silence);
      request.destroy();
      if (error) reject(error);
      else resolve(isExpired);
    };
    const silence = setTimeout(() => end(new Error(`a watch from ${since} on port ${port} fell silent`)), timeout);
    const request = send({ host: '127.0.0.1', port, path: watch }, (response) => {
      if (response.statusCode !== 200) {
        response.resume();
        const { statusCode } = response;
        if (statusCode === 503 || statusCode === 410) end(undefined, statusCode === 410);
        else end(new Error(`a watch was answered ${statusCode}`));
        return;
      }
      const lines = createInterface({ input: response });
      lines.on('line', (line) => {
        const event = parsed(line);
        if (over || !event) return;
        silence.refresh();
        if (event.type === 'ERROR') return end(undefined, event.error?.code === 'Expired');
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
  readonly error?: { readonly code: string };
}

function parsed(line: string): Told | undefined {
  try {
    return JSON.parse(line) as Told;
  } catch {
    // The last line of a replica that was killed.
    return undefined;
  }
}

/** Every change after `base` up to `newest`; a replica may be killed for another history meanwhile. */
async function logOf(objects: Objects, replicas: readonly Replica[], base: number, newest: number): Promise<Event[]> {
  const log: Event[] = [];
  for (let last = base; last < newest; ) {
    await follow(objects, oneOf(replicas).port, last, undefined, (event) => {
      last = event.revision;
      if (event.type !== 'BOOKMARK' && last <= newest) log.push(event);
      return last < newest;
    });
    if (last < newest) await pause(20);
  }
  return log;
}

function below(limit: number): number {
  return Math.floor(Math.random() * limit);
}

function oneOf<T>(list: readonly T[]): T {
  return list[below(list.length)]!;
}
