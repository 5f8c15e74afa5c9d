/**
 * `npm run bench`: everything of the goals table in one run of about ten minutes, ratios beside the limit of the same minutes.
 *   npm run bench [-- --write]        `--write` puts table and charts into bench/README.md
 *   npm run bench -- --last --write   the same with what is in bench/results, without measuring
 *   npm run bench -- --smoke          under a minute, small, judges nothing
 *   npm run bench -- --soak [--minutes 20]
 *   npm run bench -- --overload [--works GET,LIST2,SCAN,UPDATE] [--seconds 2]
 * The service runs compiled, in a process of its own, as do the limit and the load. Results: bench/results/*.json.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { barChart } from './chart.ts';
import { figure } from './figures.ts';
import type { HttpResult, VariantName } from './http.ts';
import { measureHttp, variants, works } from './http.ts';
import type { Idle } from './idle.ts';
import { measureIdle } from './idle.ts';
import { measureOverload, printed } from './overload.ts';
import type { Results, Row, StoreResult, WatchResult } from './report.ts';
import { goalRows, storeRows, table, watchRows } from './report.ts';
import { soak } from './soak.ts';

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    soak: { type: 'boolean', default: false },
    overload: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '20' },
    sizes: { type: 'string', default: '10000,100000' },
    queries: { type: 'string', default: '10000,100000,1000000' },
    starts: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '2' },
    works: { type: 'string', default: 'GET,LIST2,SCAN,UPDATE' },
    write: { type: 'boolean', default: false },
    last: { type: 'boolean', default: false },
  },
});
const results = join(import.meta.dirname, 'results');
mkdirSync(results, { recursive: true });

function machine(): Results['machine'] {
  return {
    cpu: cpus()[0]?.model ?? '',
    cores: availableParallelism(),
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    platform: platform(),
    node: process.version,
    date: new Date().toISOString(),
    /** How busy the machine was with everything, this run included. */
    load: Number(loadavg()[1]!.toFixed(1)),
  };
}

function save(name: string, content: unknown): void {
  writeFileSync(join(results, `${name}.json`), `${JSON.stringify(content, null, 2)}\n`);
}

function progress(text: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);
}

async function everything(): Promise<void> {
  const { smoke } = options;
  const sizes = smoke ? [2_000] : options.sizes.split(',').map(Number);
  const [starts, rounds, seconds] = smoke
    ? [1, 1, 0.5]
    : [Number(options.starts), Number(options.rounds), Number(options.seconds)];
  const http: HttpResult[] = [];
  for (const objects of sizes) {
    progress(`over HTTP, ${objects} objects`);
    const all = Object.keys(variants) as VariantName[];
    http.push(await measureHttp({ objects, starts, rounds, seconds, variants: all }));
  }
  progress('start and rest');
  const idle: Idle[] = [];
  for (let start = 0; start < starts; start++) idle.push(await measureIdle(smoke ? 100 : 2_000));
  progress('queries in process');
  const queryFile = join(results, smoke ? 'smoke-query.json' : 'query.json');
  const querySizes = smoke ? '2000' : options.queries;
  const script = join(import.meta.dirname, 'query.ts');
  execFileSync(process.execPath, [script, '--sizes', querySizes, '--out', queryFile], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const query = JSON.parse(readFileSync(queryFile, 'utf8')) as Results['query'];
  const all: Results = { machine: machine(), http, idle, query };
  save(smoke ? 'smoke' : 'bench', all);
  show(all);
}

function show(all: Results): void {
  const { smoke } = options;
  const rows = [...goalRows(all), ...(smoke ? [] : rowsOfOthers())];
  console.log(table(smoke ? rows.map((row) => ({ ...row, isMet: undefined })) : rows));
  if (options.write) publish(all, rows);
}

/** From the last runs of the benchmarks that have a command of their own. */
function rowsOfOthers(): Row[] {
  const read = <T>(name: string, rows: (result: T) => Row[]): Row[] => {
    const file = join(results, `${name}.json`);
    return existsSync(file) ? rows(JSON.parse(readFileSync(file, 'utf8')) as T) : [];
  };
  return [...read<StoreResult>('store', storeRows), ...read<WatchResult>('watch', watchRows)];
}

/** Table and charts for the README. */
function publish({ machine: { cpu, cores, memory, node, load }, http }: Results, rows: readonly Row[]): void {
  const charts = http.map(({ objects, turns }) => {
    const name = `http-${objects}.svg`;
    const title = `Requests beside node:http answering the same bytes, ${objects.toLocaleString('en')} objects`;
    const goals = { GET: 0.7, LIST: 0.45, LIST2: 0.4, CREATE: 0.2, UPDATE: 0.15 };
    const bars = works.map((work) => {
      const { median: value, low, high } = figure(turns[work].map((turn) => turn.service.rate / turn.limit.rate));
      return { label: work, value, low, high, goal: goals[work] };
    });
    writeFileSync(join(results, name), barChart(title, bars, 1, 2));
    return `![${title}](results/${name})`;
  });
  const section = `<!-- bench -->
${cores} cores (${cpu}), ${memory} of memory, Node.js ${node}, load average ${load}; median of ${http[0]?.turns.GET.length} turns with ${http[0]?.mixed.length} processes, lowest and highest in brackets. The load generator has the same cores.

${table(rows)}

${charts.join('\n\n')}
<!-- /bench -->`;
  const readme = join(import.meta.dirname, 'README.md');
  const text = readFileSync(readme, 'utf8');
  writeFileSync(
    readme,
    text.replace(/<!-- bench -->.*<!-- \/bench -->/s, () => section),
  );
}

if (options.soak) {
  const result = await soak(Number(options.minutes), progress);
  save('soak', { machine: machine(), ...result });
  if (result.isRising) {
    console.error('the heap rises');
    process.exitCode = 1;
  }
} else if (options.overload) {
  const result = await measureOverload(options.works.split(','), Number(options.seconds));
  save('overload', { machine: machine(), result });
  console.table(printed(result));
} else if (options.last) {
  show(JSON.parse(readFileSync(join(results, 'bench.json'), 'utf8')) as Results);
} else await everything();
