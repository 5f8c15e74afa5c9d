/**
 * What a GET and a LIST cost one process on SQLite, and one, two and four workers on a database server, where every read asks the
 * server for the newest revision: processor time of the service and of the server.
 * `npm run build && node bench/workers.ts [--database postgres|mariadb] [--objects 10000] [--workers 1,2,4] [--rounds 3] [--seconds 3]`.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import type { TestAdapter, TestDatabase } from '../test/servers.ts';
import { databaseAdapters } from '../test/servers.ts';
import { collection, listPaths, nameOf, scattered } from './articles.ts';
import { figure, shown } from './figures.ts';
import type { LoadResult } from './process-load.ts';
import { Remote } from './remote.ts';
import { storeArticles, writePlugin } from './stored.ts';

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'postgres' },
    objects: { type: 'string', default: '10000' },
    workers: { type: 'string', default: '1,2,4' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
  },
});
const objects = Number(values.objects);
const duration = Number(values.seconds);
const works = ['GET', 'LIST'] as const;
const command = resolve(import.meta.dirname, '../dist/cli/main.js');
const folder = mkdtempSync(join(tmpdir(), 'kindred-workers-'));
const plugin = join(folder, 'plugin');

writePlugin(plugin);

interface Process {
  readonly parent: number;
  /** Milliseconds of processor time. */
  readonly cpu: number;
}

/** All that run, by number. */
function processes(): Map<number, Process> {
  const all = new Map<number, Process>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const [, parent, ...fields] = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ');
      all.set(Number(name), { parent: Number(parent), cpu: (Number(fields[9]) + Number(fields[10])) * 10 });
    } catch {
      // It has just ended.
    }
  }
  return all;
}

/** A process and those that it made, and theirs. */
function treeOf(root: number, all: ReadonlyMap<number, Process>): number[] {
  const children = [...all].filter(([, { parent }]) => parent === root).map(([pid]) => pid);
  return [root, ...children.flatMap((pid) => treeOf(pid, all))];
}

function cpuOf(roots: readonly number[], except: readonly number[] = []): number {
  const all = processes();
  const without = new Set(except.flatMap((root) => treeOf(root, all)));
  const pids = roots.flatMap((root) => treeOf(root, all)).filter((pid) => !without.has(pid));
  return pids.reduce((sum, pid) => sum + (all.get(pid)?.cpu ?? 0), 0);
}

/** Mebibytes of each worker. */
function memoryOf(root: number): number[] {
  const [first, ...others] = treeOf(root, processes());
  const workers = others.length > 0 ? others : [first!];
  return workers.map((pid) => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) / 1024;
  });
}

/** A service that is ready. */
async function serve(url: string, workers: number): Promise<{ child: ChildProcess; url: string }> {
  const args = ['serve', '--database', url, '--plugin', plugin, '--port', '0', '--insecure-no-auth'];
  if (workers > 1) args.push('--workers', String(workers));
  const child = spawn(process.execPath, [command, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, KINDRED_LOG_LEVEL: 'warn' },
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const ready = /^Kindred is ready at (\S+)$/.exec(line)?.[1];
    if (ready) return { child, url: ready };
  }
  throw new Error('the service ended before it was ready');
}

interface Cost {
  readonly rate: number;
  /** Microseconds of processor time for an answer. */
  readonly service: number;
  readonly database: number;
}

type Costs = Record<(typeof works)[number], Cost[]>;

const load = new Remote('process-load.ts');
await load.ask('prepare', { list: 'LIST', requests: listPaths.map((path) => ({ path })) });
const path = (i: number) => `${collection}/${nameOf(scattered(i, 90, objects))}`;
await load.ask('prepare', { list: 'GET', requests: Array.from({ length: 20_000 }, (_, i) => ({ path: path(i) })) });

async function measure(database: TestDatabase, workers: number, costs: Costs): Promise<number[]> {
  const { child, url } = await serve(database.url, workers);
  try {
    const own = [child.pid!];
    // The load has processor time too, and whatever else this process made is the server of the database.
    const others = [...own, load.pid];
    // The first turns find code that is not compiled yet.
    for (const list of works) await load.ask('load', { url, duration: duration * workers, list });
    for (const list of works) {
      const before = [cpuOf(own), cpuOf([process.pid], others)] as const;
      const result = await load.ask<LoadResult>('load', { url, duration, list });
      const after = [cpuOf(own), cpuOf([process.pid], others)] as const;
      if (Object.keys(result.statuses).join() !== '200') throw new Error(`${list}: ${JSON.stringify(result.statuses)}`);
      const cost = (i: 0 | 1) => ((after[i] - before[i]) * 1_000) / result.answered;
      costs[list].push({ rate: result.rate, service: cost(0), database: cost(1) });
    }
    return memoryOf(child.pid!);
  } finally {
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGTERM');
    await ended;
  }
}

const adapters = new Map(databaseAdapters().map((adapter): [string, TestAdapter] => [adapter.kind, adapter]));
const server = adapters.get(values.database);
if (!server || server.kind === 'sqlite')
  throw new Error(`no database "${values.database}" here: expected postgres or mariadb`);
const sides = [
  { name: 'sqlite, 1 process', adapter: adapters.get('sqlite')!, workers: 1 },
  ...values.workers.split(',').map((count) => ({
    name: `${values.database}, ${count} worker${count === '1' ? '' : 's'}`,
    adapter: server,
    workers: Number(count),
  })),
];
const databases = new Map<TestAdapter, TestDatabase>();
for (const adapter of new Set(sides.map((side) => side.adapter))) {
  const database = await adapter.create();
  const store = await database.open();
  await storeArticles(store, objects);
  await store.close();
  databases.set(adapter, database);
}
const found = sides.map(() => ({ costs: { GET: [], LIST: [] } as Costs, memory: [] as number[] }));
for (let round = 0; round < Number(values.rounds); round++)
  for (const [i, { adapter, workers }] of sides.entries())
    found[i]!.memory.push(...(await measure(databases.get(adapter)!, workers, found[i]!.costs)));
console.log(`${objects.toLocaleString('en')} objects, 32 connections, load average ${loadavg()[0]!.toFixed(1)}`);
for (const [i, { name }] of sides.entries()) {
  const { costs, memory } = found[i]!;
  for (const work of works) {
    const of = (member: keyof Cost, digits: number) => shown(figure(costs[work].map((cost) => cost[member])), digits);
    console.log(
      `${name}, ${work}: ${of('service', 0)} µs of the service, ${of('database', 0)} of the database, ${of('rate', 0)} a second`,
    );
  }
  console.log(`${name}: ${shown(figure(memory), 0)} MiB a worker`);
}
await load.end();
for (const database of databases.values()) await database.drop();
rmSync(folder, { recursive: true, force: true });
process.exit(0);
