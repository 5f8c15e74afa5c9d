/**
 * Requests from a process of their own: bytes that are ready before the clock starts, written to plain sockets, the next
 * one as soon as the answer before it is complete. A general load generator in Node.js spends more on a request than
 * `node:http` does on its answer, so the limit would be the generator's and every ratio too good.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { createHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { answer } from './remote.ts';

export interface Request {
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly body?: string;
}

export interface Load {
  readonly url: string;
  /** Seconds. */
  readonly duration: number;
  /** Default 32. */
  readonly connections?: number;
  /** In turn, over all connections; what was not sent in one run comes in the next one of the same list. */
  readonly list: string;
}

export interface LoadResult {
  /** Answers a second. */
  readonly rate: number;
  readonly answered: number;
  /** Milliseconds from the first byte of a request to the last of its answer, of those with a 2xx. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Of those with another status. */
  readonly refusedP99: number;
  /** Answers with a 2xx a second that came within a second. */
  readonly timely: number;
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
}

export interface Flood extends Load {
  /** At most so many requests are under way; what is due while all of them are busy is not sent. */
  readonly connections: number;
  /** Requests a second. */
  readonly arrivals: number;
}

export interface FloodResult extends LoadResult {
  /** Requests a second that were due. */
  readonly offered: number;
  /** Those of them that were not sent. */
  readonly unsent: number;
}

const lists = new Map<string, { readonly requests: readonly Buffer[]; next: number }>();

/** Keeps requests under a name, ready to be written. */
function prepare({ list, requests }: { list: string; requests: readonly Request[] }): void {
  const bytes = requests.map(({ method = 'GET', path, body }) => {
    const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n`;
    if (body === undefined) return Buffer.from(`${head}\r\n`);
    const length = Buffer.byteLength(body);
    return Buffer.from(`${head}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`);
  });
  lists.set(list, { requests: bytes, next: 0 });
}

const headEnd = Buffer.from('\r\n\r\n');

/** What is read is looked at before anything else is read, so that all connections share it. */
const readBuffer = Buffer.alloc(64 * 1024);

/** Connections that are opened at the same time: fewer than a server keeps waiting. */
const portion = 256;

/** One request at a time. */
class Connection {
  /** When its request was due, by `performance.now()`. */
  due = 0;
  /** Told of every complete answer. */
  answered: (connection: Connection, status: string) => void = () => {};
  readonly #socket: Socket;
  /** Bytes of the answer that are still to come; -1 while its head is. */
  #missing = -1;
  #status = '';

  static async open(port: number): Promise<Connection> {
    const connection = new Connection(port);
    await once(connection.#socket, 'connect');
    return connection;
  }

  private constructor(port: number) {
    const callback = (count: number): boolean => this.#taken(count);
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true, onread: { buffer: readBuffer, callback } });
  }

  send(bytes: Buffer, due: number): void {
    this.due = due;
    this.#missing = -1;
    this.#socket.write(bytes);
  }

  close(): void {
    this.#socket.destroy();
  }

  #taken(count: number): boolean {
    if (this.#missing < 0) {
      // The head of an answer is written at once, and small.
      const chunk = readBuffer.subarray(0, count);
      const end = chunk.indexOf(headEnd);
      const head = chunk.toString('latin1', 0, end);
      this.#status = head.slice(9, 12);
      const at = head.search(/content-length: /i);
      this.#missing = (at < 0 ? 0 : Number.parseInt(head.slice(at + 16), 10)) - (count - end - 4);
    } else this.#missing -= count;
    if (this.#missing <= 0) this.answered(this, this.#status);
    return true;
  }
}

/** Those of the next load, opened beforehand. */
let opened: Connection[] | undefined;

/** So that what connections cost is not counted as the cost of requests. */
async function open({ url, connections: count }: { url: string; connections: number }): Promise<void> {
  opened = await connections(url, count);
}

async function connections(url: string, count: number): Promise<Connection[]> {
  const port = Number(new URL(url).port);
  const result = opened ?? [];
  opened = undefined;
  while (result.length < count) {
    const length = Math.min(portion, count - result.length);
    result.push(...(await Promise.all(Array.from({ length }, () => Connection.open(port)))));
  }
  return result;
}

/** Once whoever asked has looked at the service. */
function close(connections: readonly Connection[]): void {
  setTimeout(() => {
    for (const connection of connections) connection.close();
  }, 100);
}

/** Answers by status, and how long they took. */
class Answers {
  readonly statuses: Record<string, number> = {};
  answered = 0;
  #timely = 0;
  readonly #accepted = createHistogram();
  readonly #refused = createHistogram();

  add(status: string, due: number): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    this.answered++;
    const isAccepted = status[0] === '2';
    const time = performance.now() - due;
    if (isAccepted && time <= 1_000) this.#timely++;
    (isAccepted ? this.#accepted : this.#refused).record(Math.max(1, Math.round(time * 1_000)));
  }

  result(seconds: number): LoadResult {
    const at = (percent: number): number => this.#accepted.percentile(percent) / 1_000;
    const { answered, statuses } = this;
    return {
      rate: answered / seconds,
      answered,
      p50: at(50),
      p99: at(99),
      max: this.#accepted.max / 1_000,
      refusedP99: this.#refused.percentile(99) / 1_000,
      timely: this.#timely / seconds,
      statuses,
    };
  }
}

/** As many requests under way as there are connections: the next one is sent when its predecessor is answered. */
async function load({ url, duration, connections: count = 32, list }: Load): Promise<LoadResult> {
  const source = lists.get(list)!;
  const answers = new Answers();
  let over = false;
  const next = (connection: Connection): void =>
    connection.send(source.requests[source.next++ % source.requests.length]!, performance.now());
  const all = await connections(url, count);
  const begin = performance.now();
  for (const one of all) {
    one.answered = (connection, status) => {
      if (over) return;
      answers.add(status, connection.due);
      next(connection);
    };
    next(one);
  }
  await sleep(duration * 1_000);
  over = true;
  const seconds = (performance.now() - begin) / 1_000;
  close(all);
  return answers.result(seconds);
}

/** Milliseconds between looks at what is due. */
const tick = 1;

/** Requests at their times, whether those before them are answered or not, as long as a connection is free. */
async function flood({ url, duration, connections: count, list, arrivals }: Flood): Promise<FloodResult> {
  const source = lists.get(list)!;
  const answers = new Answers();
  let over = false;
  const all = await connections(url, count);
  const free = [...all];
  for (const one of all) {
    one.answered = (connection, status) => {
      if (over) return;
      answers.add(status, connection.due);
      free.push(connection);
    };
  }
  let due = 0;
  let unsent = 0;
  const begin = performance.now();
  const end = begin + duration * 1_000;
  for (let now = begin; now < end; now = performance.now()) {
    for (const until = ((now - begin) / 1_000) * arrivals; due < until; due++) {
      const connection = free.pop();
      if (connection) {
        const bytes = source.requests[source.next++ % source.requests.length]!;
        connection.send(bytes, begin + (due / arrivals) * 1_000);
      } else unsent++;
    }
    await sleep(tick);
  }
  over = true;
  const seconds = (performance.now() - begin) / 1_000;
  close(all);
  return { ...answers.result(seconds), offered: due / seconds, unsent: unsent / seconds };
}

answer({ prepare, open, load, flood });
