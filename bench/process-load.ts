/**
 * Requests from a process of their own: bytes that are ready before the clock starts, written to plain sockets, the next
 * one as soon as the answer before it is complete. A general load generator in Node.js spends more on a request than
 * `node:http` does on its answer, so the limit would be the generator's and every ratio too good.
 */
import { connect } from 'node:net';
import { createHistogram } from 'node:perf_hooks';
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
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
}

const lists = new Map<string, { readonly requests: readonly Buffer[]; next: number }>();

/** Keeps requests under a name, ready to be written. */
function prepare({ list, requests }: { list: string; requests: readonly Request[] }): void {
  const bytes = requests.map(({ method = 'GET', path, body }) => {
    const head = `${method} ${path} HTTP/1.1\r\nHost: bench\r\n`;
    if (body === undefined) return Buffer.from(`${head}\r\n`);
    const length = Buffer.byteLength(body);
    return Buffer.from(`${head}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`);
  });
  lists.set(list, { requests: bytes, next: 0 });
}

const headEnd = Buffer.from('\r\n\r\n');

async function load({ url, duration, connections = 32, list }: Load): Promise<LoadResult> {
  const { port } = new URL(url);
  const source = lists.get(list)!;
  const latencies = createHistogram();
  const statuses: Record<string, number> = {};
  let answered = 0;
  let over = false;
  const begin = performance.now();

  const one = (): Promise<void> =>
    new Promise((resolve, reject) => {
      let sent = 0;
      /** Bytes of the answer that are still to come; -1 while its head is. */
      let missing = -1;
      let status = '';
      const next = (): void => {
        if (over) {
          socket.destroy();
          return;
        }
        missing = -1;
        sent = performance.now();
        socket.write(source.requests[source.next++ % source.requests.length]!);
      };
      const taken = (count: number, bytes: Uint8Array): boolean => {
        if (missing < 0) {
          const chunk = (bytes as Buffer).subarray(0, count);
          // The head of an answer is written at once, and small.
          const end = chunk.indexOf(headEnd);
          const head = chunk.toString('latin1', 0, end);
          status = head.slice(9, 12);
          const at = head.search(/content-length: /i);
          missing = (at < 0 ? 0 : Number.parseInt(head.slice(at + 16), 10)) - (count - end - 4);
        } else missing -= count;
        if (missing > 0) return true;
        if (!over) {
          statuses[status] = (statuses[status] ?? 0) + 1;
          answered++;
          if (status[0] === '2') latencies.record(Math.max(1, Math.round((performance.now() - sent) * 1_000)));
        }
        next();
        return true;
      };
      const socket = connect({
        host: '127.0.0.1',
        port: Number(port),
        noDelay: true,
        onread: { buffer: Buffer.alloc(64 * 1024), callback: taken },
      });
      socket.once('connect', next);
      socket.once('error', reject);
      socket.once('close', () => resolve());
    });

  const timer = setTimeout(() => {
    over = true;
  }, duration * 1_000);
  await Promise.all(Array.from({ length: connections }, one));
  clearTimeout(timer);
  const seconds = Math.min(duration, (performance.now() - begin) / 1_000);
  const at = (percent: number): number => latencies.percentile(percent) / 1_000;
  return { rate: answered / seconds, answered, p50: at(50), p99: at(99), max: latencies.max / 1_000, statuses };
}

answer({ prepare, load });
