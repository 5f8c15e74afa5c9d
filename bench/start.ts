/**
 * Starts of the command with many objects in SQLite: from a snapshot of the indexes, from one with changes to replay, and without,
 * one after the other in each round; and the memory after some seconds of requests.
 * `npm run build && node bench/start.ts [--objects 1000000] [--rounds 5] [--seconds 10] [--keep FOLDER]`.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createClient } from 'kindred/client';
import { openSqlite } from '../src/store/sqlite/store.ts';
import { Article, collection, deepListPaths, listPaths, nameOf } from './articles.ts';
import { figure, shown } from './figures.ts';
import { storeArticles, writePlugin } from './stored.ts';

const { values } = parseArgs({
  options: {
    objects: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '5' },
    changes: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '10' },
    keep: { type: 'string' },
    'skip-build': { type: 'boolean', default: false },
  },
});
const objects = Number(values.objects);
const changes = Number(values.changes);
const command = resolve(import.meta.dirname, '../dist/cli/main.js');

interface Served {
  readonly process: ChildProcess;
  readonly url: string;
  /** Milliseconds from the start of the process to ready. */
  readonly ready: number;
  /** Milliseconds of processor time of its main thread by then. */
  readonly cpu: number;
  /** Mebibytes. */
  readonly memory: number;
}

/** The folder with the plugin and the database. */
async function prepare(): Promise<string> {
  const folder = values.keep ?? mkdtempSync(join(tmpdir(), 'kindred-start-'));
  const plugin = join(folder, 'plugin');
  if (existsSync(join(folder, 'articles.db'))) return folder;
  writePlugin(plugin);
  const store = await openSqlite(join(folder, 'articles.db'));
  await storeArticles(store, objects, { inLog: true });
  await store.close();
  return folder;
}

/** Services that have not been ended. */
const running = new Set<ChildProcess>();

async function serve(folder: string, ...settings: string[]): Promise<Served> {
  const begin = performance.now();
  const args = ['serve', '--database', `sqlite:${join(folder, 'articles.db')}`, '--plugin', join(folder, 'plugin')];
  const child = spawn(process.execPath, [command, ...args, '--port', '0', '--insecure-no-auth', ...settings], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, KINDRED_LOG_LEVEL: 'warn' },
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^Kindred is ready at (\S+)$/.exec(line)?.[1];
    if (!url) continue;
    const ready = performance.now() - begin;
    const fields = readFileSync(`/proc/${child.pid}/task/${child.pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    const cpu = (Number(fields[11]) + Number(fields[12])) * 10;
    return { process: child, url, ready, cpu, memory: memoryOf(child) };
  }
  throw new Error('the service ended before it was ready');
}

/** Mebibytes. */
function memoryOf({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) / 1024;
}

/** Lists of every kind, objects all over the model, and changes, for some seconds. Gives the memory then, and the number of requests. */
async function load({ process: child, url }: Served): Promise<{ memory: number; requests: number }> {
  const until = performance.now() + Number(values.seconds) * 1_000;
  let requests = 0;
  const ask = async (path: string, init?: RequestInit): Promise<void> => {
    const answer = await fetch(url + path, init);
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    await answer.arrayBuffer();
    requests++;
  };
  const headers = { 'content-type': 'application/merge-patch+json' };
  const client = async (seed: number): Promise<void> => {
    for (let i = seed; performance.now() < until; i += 16) {
      const name = nameOf((i * 7_919) % objects);
      await ask(listPaths[i % listPaths.length]!);
      const deep = deepListPaths(1 + (i % 50));
      await ask(deep[i % deep.length]!);
      await ask(`${collection}?sort=spec.tags&size=20&page=${1 + (i % 1_000)}`);
      await ask(`${collection}/${name}`);
      await ask(`${collection}/${name}`, { method: 'PATCH', headers, body: JSON.stringify({ spec: { views: i } }) });
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, i) => client(i)));
  return { memory: memoryOf(child), requests };
}

async function end({ process: child }: Served, signal: NodeJS.Signals): Promise<void> {
  const ended = new Promise((done) => child.once('exit', done));
  child.kill(signal);
  await ended;
}

async function startOf({ url }: Served): Promise<{ from: string; replayed: number }> {
  const { models } = (await (await fetch(`${url}/readyz`)).json()) as {
    models: { kind: string; start: { from: string; replayed: number } }[];
  };
  return models.find(({ kind }) => kind === 'Article')!.start;
}

const folder = await prepare();
const index = join(folder, 'articles.db.index');
const snapshotIsThere = () =>
  existsSync(index) && readdirSync(index).some((file) => file.startsWith('Article') && file.endsWith('.index'));
try {
  if (!snapshotIsThere()) {
    const first = await serve(folder, '--set', 'indexSnapshots.interval=1s');
    while (!snapshotIsThere()) await pause(200);
    await end(first, 'SIGKILL');
  }
  const [file] = readdirSync(index).filter((name) => name.startsWith('Article'));
  console.log(`${objects} objects, snapshot of ${Math.round(statSync(join(index, file!)).size / 2 ** 20)} MiB`);
  const found: Record<string, Served[]> = { 'no objects': [], snapshot: [], replay: [], build: [] };
  const one = async (what: string, expected: string, ...settings: string[]): Promise<void> => {
    const served = await serve(folder, '--set', 'indexSnapshots.interval=1h', ...settings);
    const { from, replayed } = await startOf(served);
    if (from !== expected || (what === 'replay') !== replayed > 0)
      throw new Error(`${what}: from ${from}, ${replayed} replayed`);
    found[what]!.push(served);
    await end(served, 'SIGKILL');
  };
  for (let round = 0; round < Number(values.rounds); round++) {
    const none = mkdtempSync(join(tmpdir(), 'kindred-start-'));
    cpSync(join(folder, 'plugin'), join(none, 'plugin'), { recursive: true });
    const empty = await serve(none);
    found['no objects']!.push(empty);
    await end(empty, 'SIGKILL');
    rmSync(none, { recursive: true, force: true });
    await one('snapshot', 'snapshot');
    if (!values['skip-build']) await one('build', 'build', '--set', 'indexSnapshots.enabled=false');
    console.log(`round ${round + 1}, load ${loadavg()[0]!.toFixed(1)}`);
  }
  const writer = await serve(folder, '--set', 'indexSnapshots.interval=1h');
  const client = createClient({ url: writer.url });
  const articles = client.for(Article);
  for (let at = 0; at < changes; at += 100) {
    await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        articles.patch(nameOf(((at + i) * 7) % objects), { spec: { views: at + i } }),
      ),
    );
  }
  await end(writer, 'SIGKILL');
  for (let round = 0; round < Number(values.rounds); round++) await one('replay', 'snapshot');
  const row = (name: string, of: (served: Served) => number, digits: number) =>
    console.log(
      name.padEnd(24),
      Object.entries(found)
        .filter(([, list]) => list.length > 0)
        .map(([what, list]) => `${what} ${shown(figure(list.map(of)), digits)}`)
        .join('; '),
    );
  row('ready, seconds', ({ ready }) => ready / 1_000, 2);
  row('main thread, seconds', ({ cpu }) => cpu / 1_000, 2);
  row('resident, MiB', ({ memory }) => memory, 0);
  const writing = ['--set', 'indexSnapshots.interval=1h'];
  for (const [what, ...settings] of [['snapshot'], ['build', '--set', 'indexSnapshots.enabled=false']]) {
    if (what === 'build' && values['skip-build']) continue;
    const served = await serve(folder, ...writing, ...settings);
    const { memory, requests } = await load(served);
    console.log(`serving, from ${what}: ${Math.round(memory)} MiB after ${requests} requests in ${values.seconds} s`);
    await end(served, 'SIGKILL');
  }
} finally {
  for (const child of running) child.kill('SIGKILL');
  if (values.keep === undefined) rmSync(folder, { recursive: true, force: true });
}
