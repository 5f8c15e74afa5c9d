/**
 * One `kindred import` beside watchers that read: `npm run build && node bench/import-under-watch.ts [--objects 1000000]
 * [--watchers 200] [--database sqlite|postgres|mariadb] [--replicas 1]`. Every watcher must get every object once, in
 * order, without being cut; the import must end with exit code 0. Exit code 1 otherwise.
 */
import type { ChildProcess } from 'node:child_process';
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { databaseAdapters } from '../test/servers.ts';

const { values: options } = parseArgs({
  options: {
    role: { type: 'string' },
    urls: { type: 'string', default: '' },
    objects: { type: 'string', default: '1000000' },
    watchers: { type: 'string', default: '200' },
    database: { type: 'string', default: 'sqlite' },
    replicas: { type: 'string', default: '1' },
  },
});
const objects = Number(options.objects);
const watchers = Number(options.watchers);
const main = resolve(import.meta.dirname, '../dist/cli/main.js');
const list = '/apis/bench.example.com/v1/items';

/** What the watchers have seen, together. */
interface Seen {
  readonly opened: number;
  /** Watchers that have every object. */
  readonly complete: number;
  readonly events: number;
  /** Watchers that were ended, or saw something twice, out of order or not at all. */
  readonly wrong: readonly string[];
}

if (options.role === 'watchers') watch(options.urls.split(','));
else await run();

// ── the watchers ───────────────────────────────────────────────────────────────────────────────────────────

function watch(urls: readonly string[]): void {
  let opened = 0;
  let complete = 0;
  let events = 0;
  const wrong: string[] = [];
  const added = '{"type":"ADDED","revision":';
  for (let i = 0; i < watchers; i++) {
    get(`${urls[i % urls.length]}${list}?watch=true`, { headers: { accept: 'application/x-ndjson' } }, (response) => {
      opened++;
      let rest = '';
      let count = 0;
      let last = 0;
      const line = (text: string, start: number, end: number): void => {
        if (!text.startsWith(added, start)) {
          if (!text.startsWith('{"type":"BOOKMARK"', start))
            wrong.push(`watcher ${i} after ${count} events: ${text.slice(start, Math.min(end, start + 300))}`);
          return;
        }
        let revision = 0;
        for (let at = start + added.length; isDigit(text.charCodeAt(at)); at++)
          revision = revision * 10 + text.charCodeAt(at) - 0x30;
        if (revision <= last) wrong.push(`watcher ${i}: revision ${revision} after ${last}`);
        last = revision;
        events++;
        if (++count === objects) complete++;
      };
      response.setEncoding('latin1').on('data', (data: string) => {
        const text = rest + data;
        let start = 0;
        for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
          line(text, start, end);
          start = end + 1;
        }
        rest = text.slice(start);
      });
      const ended = () => {
        if (count < objects) wrong.push(`watcher ${i} was ended after ${count} events`);
      };
      response.on('end', ended).on('error', ended);
    }).on('error', (error) => wrong.push(`watcher ${i}: ${error.message}`));
  }
  process.on('message', () => process.send!({ opened, complete, events, wrong } satisfies Seen));
  process.on('disconnect', () => process.exit());
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

async function seenBy(child: ChildProcess): Promise<Seen> {
  const answer = once(child, 'message');
  child.send('seen');
  return (await answer)[0] as Seen;
}

// ── the run ────────────────────────────────────────────────────────────────────────────────────────────────

async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-bench-'));
  const adapter = databaseAdapters().find(({ kind }) => kind === options.database);
  if (!adapter) throw new Error(`${options.database} cannot run here`);
  const database = await adapter.create();
  const services: ChildProcess[] = [];
  let child: ChildProcess | undefined;
  try {
    makePlugin(join(folder, 'items'));
    const file = join(folder, 'items.ndjson');
    await makeObjects(file);
    const urls: string[] = [];
    for (let i = 0; i < Number(options.replicas); i++) {
      const service = spawn(
        process.execPath,
        [
          main,
          'serve',
          '--database',
          database.url,
          '--plugin',
          join(folder, 'items'),
          '--port',
          '0',
          '--insecure-no-auth',
        ],
        { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, KINDRED_LOG_LEVEL: 'warn' } },
      );
      services.push(service);
      urls.push(await readyUrl(service));
    }
    const own = process.argv.slice(2);
    child = fork(import.meta.filename, [...own, '--role', 'watchers', '--urls', urls.join(',')], {
      execArgv: process.execArgv,
    });
    while ((await seenBy(child)).opened < watchers) await pause(100);
    const waits: number[] = [];
    const prober = setInterval(() => urls.forEach((url) => void probe(url, waits)), 250);
    const begin = performance.now();
    const seconds = () => ((performance.now() - begin) / 1000).toFixed(0);
    const importing = spawn(process.execPath, [main, 'import', file, '--server', urls[0]!], {
      stdio: 'inherit',
    });
    const [code] = (await once(importing, 'exit')) as [number];
    console.log(`import: exit code ${code} after ${seconds()} s`);
    let seen = await seenBy(child);
    console.log(
      `at its end the watchers have ${seen.events.toLocaleString('en')} of ${(objects * watchers).toLocaleString('en')} events`,
    );
    for (let before = -1; seen.complete < watchers && seen.events > before; seen = await seenBy(child)) {
      before = seen.events;
      await pause(10_000);
    }
    clearInterval(prober);
    waits.sort((a, b) => a - b);
    const at = (share: number) => `${(waits[Math.floor((waits.length - 1) * share)] ?? 0).toFixed(0)} ms`;
    console.log(
      `${seen.complete} of ${watchers} watchers have every object after ${seconds()} s; ${seen.wrong.length} complaints`,
    );
    for (const one of seen.wrong.slice(0, 10)) console.log(one);
    console.log(`/livez, by the clock: median ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)} of ${waits.length}`);
    for (const { pid } of services) {
      const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1];
      const memory = `${Math.round(Number(peak) / 1024)} MiB of memory at most`;
      console.log(`a replica: ${processorTime(pid!)} s of processor time, ${memory}`);
    }
    console.log(`the process of the watchers: ${processorTime(child.pid!)} s of processor time`);
    if (code !== 0 || seen.complete < watchers || seen.wrong.length > 0) process.exitCode = 1;
  } finally {
    child?.disconnect();
    await Promise.all(services.map(stop));
    await database.drop();
    rmSync(folder, { recursive: true });
  }
}

/** Seconds since the process began, all of its threads together. */
function processorTime(pid: number): string {
  // Behind the name of the command, which may have spaces; in hundredths of a second.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
  return ((Number(fields[11]) + Number(fields[12])) / 100).toFixed(1);
}

function makePlugin(folder: string): void {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{"name":"items","version":"1.0.0","type":"module","main":"plugin.js"}');
  const gvk = { group: 'bench.example.com', version: 'v1', kind: 'Item', singular: 'item', plural: 'items' };
  writeFileSync(
    join(folder, 'plugin.js'),
    `import { defineModel, definePlugin, Type } from 'kindred';
const Item = defineModel({ gvk: ${JSON.stringify(gvk)}, spec: Type.Object({ n: Type.Integer() }),
  indexes: (index) => [index.single('spec.n', Number, (item) => item.spec.n, { unique: true })] });
export default definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Item) });`,
  );
}

async function makeObjects(file: string): Promise<void> {
  const stream = createWriteStream(file);
  for (let n = 0; n < objects; n++) {
    const line = `{"apiVersion":"bench.example.com/v1","kind":"Item","metadata":{"name":"item-${n}"},"spec":{"n":${n}}}\n`;
    if (!stream.write(line)) await once(stream, 'drain');
  }
  stream.end();
  await once(stream, 'finish');
}

async function readyUrl(service: ChildProcess): Promise<string> {
  const lines = createInterface({ input: service.stdout! });
  for await (const line of lines) {
    const url = /^Kindred is ready at (\S+)$/.exec(line)?.[1];
    if (url) return url;
  }
  throw new Error('the service ended before it was ready');
}

async function stop(service: ChildProcess): Promise<void> {
  const ended = once(service, 'exit');
  service.kill('SIGTERM');
  await ended;
}

async function probe(url: string, waits: number[]): Promise<void> {
  const begin = performance.now();
  const response = await new Promise<IncomingMessage>((done, fail) =>
    get(`${url}/livez`, done).on('error', fail),
  ).catch(() => undefined);
  response?.resume();
  if (response?.statusCode === 200) waits.push(performance.now() - begin);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}
