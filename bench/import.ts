/**
 * The 135,233 cities of the atlas through the public API of the built service, each acknowledged when it is durable; then
 * the restart with them. `npm run build && node bench/import.ts [--runs 5] [--write]`; `--write` puts the figures into README.md.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, platform, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { createClient, modelOf } from 'kindred/client';
import { cities, cityCount } from '../examples/atlas/data.ts';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '5' }, write: { type: 'boolean', default: false } },
});
const root = resolve(import.meta.dirname, '..');
const City = modelOf({
  group: 'atlas.example.com',
  version: 'v1alpha1',
  kind: 'City',
  singular: 'city',
  plural: 'cities',
});
/** Made before the clock starts: what is measured is the service, not how fast this process reads its data. */
const lines = Array.from(cities(), (city) => JSON.stringify(city));

interface Run {
  readonly rate: number;
  readonly restart: number;
  /** Mebibytes, of the service's process. */
  readonly afterImport: number;
  readonly peak: number;
  readonly afterRestart: number;
  readonly file: number;
}

interface Served {
  readonly process: ChildProcess;
  readonly url: string;
  /** Milliseconds from the start of the process to the line that says it is ready. */
  readonly ready: number;
}

async function serve(database: string): Promise<Served> {
  const begin = performance.now();
  const child = spawn(
    process.execPath,
    [
      join(root, 'dist/cli/main.js'),
      'serve',
      '--database',
      `sqlite:${database}`,
      '--plugin',
      join(root, 'examples/atlas'),
      '--port',
      '0',
      '--insecure-no-auth',
    ],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, KINDRED_LOG_LEVEL: 'warn' } },
  );
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /^Kindred is ready at (\S+)$/.exec(line)?.[1];
    if (url) return { process: child, url, ready: performance.now() - begin };
  }
  throw new Error('the service ended before it was ready');
}

async function stop({ process: child }: Served): Promise<void> {
  const ended = new Promise((done) => child.once('exit', done));
  child.kill('SIGTERM');
  await ended;
}

function memory({ process: child }: Served, member: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(new RegExp(`^${member}:\\s+(\\d+) kB$`, 'm').exec(status)![1]) / 1024;
}

async function once(): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-bench-'));
  const database = join(folder, 'atlas.db');
  try {
    const first = await serve(database);
    const client = createClient({ url: first.url });
    const begin = performance.now();
    let acknowledged = 0;
    for await (const result of client.import(City, lines)) {
      if (!result.ok) throw result.error;
      acknowledged++;
    }
    const rate = acknowledged / ((performance.now() - begin) / 1000);
    const afterImport = memory(first, 'VmRSS');
    const peak = memory(first, 'VmHWM');
    await stop(first);
    const second = await serve(database);
    const total = await createClient({ url: second.url }).count(City);
    if (acknowledged !== cityCount || total !== cityCount)
      throw new Error(`${total} of ${acknowledged} acknowledged are there`);
    const afterRestart = memory(second, 'VmRSS');
    await stop(second);
    return {
      rate,
      restart: second.ready / 1000,
      afterImport,
      peak,
      afterRestart,
      file: statSync(database).size / 2 ** 20,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const runs: Run[] = [];
for (let i = 0; i < Number(values.runs); i++) {
  const run = await once();
  runs.push(run);
  console.log(
    Object.entries(run)
      .map(([name, value]) => `${name} ${value.toFixed(1)}`)
      .join(', '),
  );
}

const figure = (name: keyof Run, digits: number): string => {
  const sorted = runs.map((run) => run[name]).sort((a, b) => a - b);
  const show = (value: number) =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${show(sorted[Math.floor(sorted.length / 2)]!)} | ${show(sorted[0]!)} to ${show(sorted.at(-1)!)}`;
};
const section = `<!-- import -->
${cityCount.toLocaleString('en')} cities, ${runs.length} runs on ${availableParallelism()} cores (${platform()}, Node.js ${process.versions.node}), shared with the process that sends them; SQLite, every object durable before it is acknowledged.

| | Median | Range |
|---|---|---|
| objects acknowledged a second | ${figure('rate', 0)} |
| restart to ready, seconds | ${figure('restart', 2)} |
| memory after the import, MiB | ${figure('afterImport', 0)} |
| largest memory while importing, MiB | ${figure('peak', 0)} |
| memory after the restart, MiB | ${figure('afterRestart', 0)} |
| database file, MiB | ${figure('file', 0)} |
<!-- /import -->`;
console.log(section);
if (values.write) {
  const file = join(import.meta.dirname, 'README.md');
  const text = readFileSync(file, 'utf8');
  writeFileSync(
    file,
    text.replace(/<!-- import -->.*<!-- \/import -->/s, () => section),
  );
}
