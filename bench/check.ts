/**
 * `kindred model check` of many stored objects against a model that three of them violate: how long it takes, its memory, and the event
 * loop of the service meanwhile, beside a pause of the same length before it.
 * `npm run build && node bench/check.ts [--objects 1000000] [--rounds 3]`. Exit code 1 when an offender is not named, or a goal is missed.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { ModelReport } from '../src/cli/model-check.ts';
import { openSqlite } from '../src/store/sqlite/store.ts';
import { nameOf } from './articles.ts';
import { figure, shown } from './figures.ts';
import type { Delay } from './meter.ts';
import { Remote } from './remote.ts';
import { storeArticles } from './stored.ts';

const { values } = parseArgs({
  options: { objects: { type: 'string', default: '1000000' }, rounds: { type: 'string', default: '3' } },
});
const objects = Number(values.objects);
const command = resolve(import.meta.dirname, '../dist/cli/main.js');
/** Seconds for a million objects, milliseconds of the event loop, share by which memory may grow in the second half. */
const goals = { seconds: 30, delay: 2, growth: 0.1 };
/** Milliseconds between two looks at the process of the command. */
const interval = 100;

/** The title of one is too long, two have the same. */
const long = Math.floor(objects / 3);
const [one, other] = [Math.floor(objects / 2), objects - 2] as const;
const titles = new Map([long, one, other].map((number) => [number, number === long ? 'x'.repeat(150) : 'The same']));
const expected = [`${nameOf(long)} /spec/title maxLength`, `${nameOf(one)},${nameOf(other)} spec.title unique`];

const nextModel = `import { defineModel, definePlugin, Type } from 'kindred';
const Article = defineModel({
  gvk: { group: 'bench.example.com', version: 'v1', kind: 'Article', singular: 'article', plural: 'articles' },
  spec: Type.Object({
    slug: Type.String({ minLength: 1 }),
    title: Type.String({ maxLength: 100 }),
    views: Type.Integer({ minimum: 0 }),
    category: Type.String(),
    publishedAt: Type.String({ format: 'date-time' }),
    tags: Type.Array(Type.String(), { maxItems: 10 }),
    body: Type.String(),
  }),
  indexes: (index) => [
    index.single('spec.slug', String, (article) => article.spec.slug, { unique: true }),
    index.single('spec.title', String, (article) => article.spec.title, { unique: true }),
    index.multi('spec.tags', String, (article) => article.spec.tags),
  ],
});
export default definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Article) });
`;

async function prepare(folder: string): Promise<void> {
  const plugin = join(folder, 'next');
  mkdirSync(plugin);
  const manifest = { name: 'bench', version: '2.0.0', type: 'module', main: 'index.js' };
  writeFileSync(join(plugin, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(plugin, 'index.js'), nextModel);
  const store = await openSqlite(join(folder, 'articles.db'));
  await storeArticles(store, objects, {
    more: (number) => (titles.has(number) ? { title: titles.get(number) } : undefined),
  });
  await store.close();
}

interface Run {
  readonly seconds: number;
  readonly cpu: number;
  /** Mebibytes at each look. */
  readonly memory: readonly number[];
  readonly offences: readonly string[];
  readonly checked: number;
}

async function check(folder: string, url: string): Promise<Run> {
  const begin = performance.now();
  const args = ['model', 'check', '--plugin', join(folder, 'next'), '--server', url, '-o', 'json'];
  const child = spawn(process.execPath, [command, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const memory: number[] = [];
  let cpu = 0;
  const looking = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      memory.push(Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) / 1024);
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ');
      cpu = (Number(fields[11]) + Number(fields[12])) / 100;
    } catch {
      // It has just ended.
    }
  }, interval);
  const ended = new Promise<number | null>((done) => child.once('exit', done));
  const output = await text(child.stdout);
  const code = await ended;
  clearInterval(looking);
  if (code !== 1) throw new Error(`the command ended with ${code}`);
  const [report] = (JSON.parse(output) as { models: ModelReport[] }).models;
  return {
    seconds: (performance.now() - begin) / 1_000,
    cpu,
    memory,
    offences: report!.offences.map(({ names, pointer, keyword }) => `${names} ${pointer} ${keyword}`),
    checked: report!.objects,
  };
}

/** By how much it grew in the second half, as a share. */
function growth(memory: readonly number[]): number {
  const half = memory.length >> 1;
  return Math.max(...memory.slice(half)) / Math.max(...memory.slice(half >> 1, half)) - 1;
}

const folder = mkdtempSync(join(tmpdir(), 'kindred-check-'));
const missed: string[] = [];
try {
  await prepare(folder);
  const service = new Remote('process-service.ts', [`sqlite:${join(folder, 'articles.db')}`]);
  try {
    const url = await service.ask<string>('ready');
    while ((await service.ask<number>('count')) < objects) await pause(500);
    const runs: Run[] = [];
    const [without, during]: [Delay[], Delay[]] = [[], []];
    for (let round = 0; round <= Number(values.rounds); round++) {
      await pause(1_000);
      await service.ask('delay');
      await pause((runs.at(-1)?.seconds ?? 5) * 1_000);
      const quiet = await service.ask<Delay>('delay');
      const run = await check(folder, url);
      const busy = await service.ask<Delay>('delay');
      // The first one finds code that is not compiled yet.
      if (round === 0) continue;
      runs.push(run);
      without.push(quiet);
      during.push(busy);
      if (run.checked !== objects || run.offences.toSorted().join() !== expected.toSorted().join())
        missed.push(`found ${run.offences.join('; ')} among ${run.checked} objects`);
    }
    const seconds = figure(runs.map((run) => run.seconds));
    const difference = figure(during.map(({ p99 }, i) => p99 - without[i]!.p99));
    const grown = figure(runs.map(({ memory }) => growth(memory)));
    if (seconds.median > (goals.seconds * objects) / 1e6) missed.push('time');
    if (difference.median > goals.delay) missed.push('event loop');
    if (grown.median > goals.growth) missed.push('memory');
    const load = loadavg().map((one) => one.toFixed(1));
    console.log(`${objects.toLocaleString('en')} objects, load average ${load.join(', ')}`);
    console.log(`seconds                        ${shown(seconds, 1)}`);
    console.log(`seconds of processor time      ${shown(figure(runs.map(({ cpu }) => cpu)), 1)}`);
    console.log(`most memory, MiB               ${shown(figure(runs.map(({ memory }) => Math.max(...memory))), 0)}`);
    console.log(`grown in the second half       ${shown(grown, 2)}`);
    console.log(`event loop p99 without, ms     ${shown(figure(without.map(({ p99 }) => p99)), 1)}`);
    console.log(`event loop p99 meanwhile, ms   ${shown(figure(during.map(({ p99 }) => p99)), 1)}`);
    console.log(`difference, ms                 ${shown(difference, 1)}`);
    console.log(`named                          ${runs.at(-1)!.offences.join('; ')}`);
  } finally {
    await service.end();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const one of missed) console.log(`missed: ${one}`);
process.exit(missed.length > 0 ? 1 : 0);
