/**
 * Watches of one process, over HTTP on loopback: the service in a process of its own, its watchers in another.
 * `npm run build && node bench/watch.ts [--watchers 10000] [--busy 1000] [--rate 1000] [--seconds 10] [--database sqlite::memory:]
 * [--out bench/results/watch.json]`. Each watcher needs a file descriptor in both processes (`ulimit -n`).
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { cpus, loadavg } from 'node:os';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createService, defineModel, Type } from 'kindred';
import { answer, Remote } from './remote.ts';

const { values: options } = parseArgs({
  options: {
    role: { type: 'string' },
    watchers: { type: 'string', default: '10000' },
    busy: { type: 'string', default: '1000' },
    rate: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '30' },
    database: { type: 'string', default: 'sqlite::memory:' },
    out: { type: 'string', default: 'bench/results/watch.json' },
  },
});

const Article = defineModel({
  gvk: { group: 'bench.example.com', version: 'v1', kind: 'Article', singular: 'article', plural: 'articles' },
  spec: Type.Object({ sent: Type.Number(), bucket: Type.String(), text: Type.String() }),
  indexes: (index) => [index.single('spec.bucket', String, (article) => article.spec.bucket)],
});
const list = '/apis/bench.example.com/v1/articles';

/** Milliseconds since the epoch with microseconds, the same clock in every process. */
const now = (): number => performance.timeOrigin + performance.now();
const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

interface Memory {
  readonly rss: number;
  /** Heap in use and what it holds outside. */
  readonly heap: number;
}

interface WriteOrder {
  readonly count: number;
  /** A second; 0: one after the other. */
  readonly rate: number;
  /** Changes go to the buckets in turn. */
  readonly buckets: number;
}

interface Written {
  readonly seconds: number;
  /** Processor time of the service, microseconds a write. */
  readonly cpu: number;
}

// ── the service ────────────────────────────────────────────────────────────────────────────────────────────

async function serve(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const service = await createService({ database: options.database, port: 0, auth: false });
  service.schemeManager.register(Article);
  const { url } = await service.start();
  const names = 500;
  const article = (i: number, buckets: number) => ({
    metadata: { name: `article-${i % names}` },
    spec: { sent: now(), bucket: `bucket-${i % buckets}`, text: 'x'.repeat(600) },
  });
  for (let i = 0; i < names; i++) await service.client.create(Article, article(i, 1));

  async function write({ count, rate, buckets }: WriteOrder): Promise<Written> {
    const started = performance.now();
    const cpu = process.cpuUsage();
    const waiting = new Set<Promise<unknown>>();
    for (let i = 0; i < count; i++) {
      const one = article(i, buckets);
      // Of one name only the newest write matters here; a patch needs no version.
      const written = service.client.patch(Article, one.metadata.name, { spec: one.spec });
      if (rate === 0) {
        await written;
        continue;
      }
      waiting.add(written);
      void written.finally(() => waiting.delete(written));
      const due = started + ((i + 1) * 1_000) / rate;
      if (due > performance.now() + 1) await pause(due - performance.now());
    }
    await Promise.all(waiting);
    const { user, system } = process.cpuUsage(cpu);
    return { seconds: (performance.now() - started) / 1_000, cpu: (user + system) / count };
  }

  async function memory(): Promise<Memory> {
    for (let i = 0; i < 3; i++) {
      collectGarbage();
      await pause(100);
    }
    const { rss, heapUsed, external } = process.memoryUsage();
    return { rss, heap: heapUsed + external };
  }

  answer({ url: () => url, write, memory }, () => service.stop());
}

// ── the watchers ───────────────────────────────────────────────────────────────────────────────────────────

interface WatchOrder {
  readonly port: number;
  /** A query string for each watcher. */
  readonly queries: readonly string[];
}

async function watch(): Promise<void> {
  let sockets: Socket[] = [];
  let events = 0;
  let latencies: number[] = [];
  const mark = Buffer.from('"sent":');
  const taken = (chunk: Buffer): void => {
    const arrived = now();
    for (let at = chunk.indexOf(mark); at >= 0; at = chunk.indexOf(mark, at + 1)) {
      events++;
      latencies.push(arrived - Number.parseFloat(chunk.toString('latin1', at + mark.length, at + mark.length + 20)));
    }
  };

  async function open({ port, queries }: WatchOrder): Promise<void> {
    for (let at = 0; at < queries.length; at += 200) {
      await Promise.all(
        queries.slice(at, at + 200).map(
          (query) =>
            new Promise<void>((resolve, reject) => {
              const socket = connect(port, '127.0.0.1');
              socket.write(
                `GET ${list}?watch=true${query} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/x-ndjson\r\n\r\n`,
              );
              socket.once('data', (head) => {
                if (!head.includes('HTTP/1.1 200')) reject(new Error(head.toString()));
                socket.on('data', taken);
                resolve();
              });
              socket.on('error', reject);
              sockets.push(socket);
            }),
        ),
      );
    }
  }

  answer({
    open,
    async close() {
      await Promise.all(
        sockets.map(
          (socket) =>
            new Promise((resolve) => {
              socket.once('close', resolve);
              socket.destroy();
            }),
        ),
      );
      sockets = [];
    },
    /** Waits for so many events and gives their latencies in milliseconds; the count begins anew. */
    async collect({ expected, timeout }: { expected: number; timeout: number }) {
      const until = performance.now() + timeout;
      while (events < expected && performance.now() < until) await pause(5);
      const result = { events, ...figures(latencies) };
      events = 0;
      latencies = [];
      return result;
    },
  });
}

function figures(values: number[]): { p50: number; p99: number; max: number } {
  values.sort((a, b) => a - b);
  const at = (part: number) => values[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

// ── the run ────────────────────────────────────────────────────────────────────────────────────────────────

/** This file again, in a process of its own. */
function start(role: string): Remote {
  return new Remote('watch.ts', ['--role', role, '--database', options.database], process.execArgv);
}

type Collected = ReturnType<typeof figures> & { events: number };

async function run(): Promise<void> {
  const [watchers, busy, rate, seconds, rounds] = [
    options.watchers,
    options.busy,
    options.rate,
    options.seconds,
    options.rounds,
  ].map(Number) as [number, number, number, number, number];
  const service = start('service');
  const clients = start('clients');
  const port = Number(new URL(await service.ask<string>('url')).port);
  const open = (count: number, query: (i: number) => string) =>
    clients.ask('open', { port, queries: Array.from({ length: count }, (_, i) => query(i)) });
  const selector = (text: string) => `&fieldSelector=${encodeURIComponent(text)}`;

  // What the first watches load and compile is not theirs.
  await open(500, () => '');
  await service.ask('write', { count: 500, rate: 0, buckets: 100 });
  await clients.ask('close');
  await pause(500);

  // What a further watcher takes: the first ones make the process grow in large steps.
  const first = Math.round(watchers / 5);
  await open(first, () => '');
  const before = await service.ask<Memory>('memory');
  await open(watchers - first, () => '');
  const idle = await service.ask<Memory>('memory');
  const each = {
    rss: (idle.rss - before.rss) / (watchers - first),
    heap: (idle.heap - before.heap) / (watchers - first),
  };

  await clients.ask('collect', { expected: 0, timeout: 0 });
  const reach: Collected[] = [];
  for (let round = 0; round < rounds; round++) {
    await service.ask('write', { count: 1, rate: 0, buckets: 1 });
    reach.push(await clients.ask<Collected>('collect', { expected: watchers, timeout: 30_000 }));
    await pause(50);
  }
  await clients.ask('close');

  const cost: Record<string, Written> = {};
  for (const uninterested of [10, watchers, 10, watchers]) {
    await open(uninterested, (i) => selector(`spec.bucket=nobody-${i}`));
    await service.ask('write', { count: 2_000, rate: 0, buckets: 100 });
    cost[uninterested] = await service.ask<Written>('write', { count: 10_000, rate: 0, buckets: 100 });
    await clients.ask('close');
    await pause(500);
  }

  await open(busy, (i) => selector(`spec.bucket=bucket-${i % 100}`));
  await clients.ask('collect', { expected: 0, timeout: 0 });
  const count = rate * seconds;
  const written = await service.ask<Written>('write', { count, rate, buckets: 100 });
  // A patch that leaves the bucket as it is gives one event; one that moves it gives two watchers one each.
  const stream = await clients.ask<Collected>('collect', { expected: (count * busy) / 100, timeout: 10_000 });
  await clients.ask('close');
  await Promise.all([service.end(), clients.end()]);

  const all = {
    p50: figures(reach.map((one) => one.p50)).p50,
    p99: figures(reach.map((one) => one.p99)).p50,
    last: figures(reach.map((one) => one.max)).p50,
    worst: Math.max(...reach.map((one) => one.max)),
    lost: reach.reduce((sum, one) => sum + watchers - one.events, 0),
  };
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  console.table({
    [`memory of a further idle watcher, up to ${watchers}: resident`]: {
      figure: `${Math.round(each.rss)} B`,
      goal: '< 10 kB',
    },
    [`memory of a further idle watcher, up to ${watchers}: heap and external`]: {
      figure: `${Math.round(each.heap)} B`,
    },
    [`one change reaches ${watchers} watchers: half of them`]: { figure: ms(all.p50) },
    [`one change reaches ${watchers} watchers: 99 %`]: { figure: ms(all.p99), goal: '< 100 ms' },
    [`one change reaches ${watchers} watchers: all (median, worst of ${rounds})`]: {
      figure: `${ms(all.last)}, ${ms(all.worst)}`,
      goal: '< 1 s',
    },
    'events that did not arrive': { figure: all.lost, goal: 0 },
    'a write, with 10 uninterested watchers': { figure: `${cost[10]!.cpu.toFixed(0)} µs of processor time` },
    [`a write, with ${watchers} uninterested watchers`]: {
      figure: `${cost[watchers]!.cpu.toFixed(0)} µs of processor time`,
      goal: 'the same',
    },
    [`${rate} changes/s to ${busy} watchers of 1 % each: reached`]: {
      figure: `${(count / written.seconds).toFixed(0)} changes/s, ${stream.events} events in ${written.seconds.toFixed(1)} s`,
    },
    [`${rate} changes/s to ${busy} watchers of 1 % each: p50, p99`]: {
      figure: `${ms(stream.p50)}, ${ms(stream.p99)}`,
      goal: 'p99 < 100 ms',
    },
    [`${rate} changes/s to ${busy} watchers of 1 % each: a change`]: {
      figure: `${written.cpu.toFixed(0)} µs of processor time`,
    },
  });
  mkdirSync(dirname(options.out), { recursive: true });
  const machine = {
    cpu: cpus()[0]!.model,
    cores: cpus().length,
    node: process.version,
    time: new Date().toISOString(),
    // Of the last minute: what else the machine was doing.
    load: loadavg()[0],
  };
  const result = { machine, watchers, memory: each, reach: all, cost, stream: { ...stream, rate, busy, written } };
  writeFileSync(options.out, `${JSON.stringify(result, null, 2)}\n`);
}

if (options.role === 'service') await serve();
else if (options.role === 'clients') await watch();
else await run();
