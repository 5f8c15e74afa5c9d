/** The goals and what was measured of them. */
import type { Figure } from './figures.ts';
import { figure, shown } from './figures.ts';
import type { HttpResult, VariantName, Work } from './http.ts';
import { works } from './http.ts';
import type { Idle } from './idle.ts';

export interface Results {
  readonly machine: Readonly<Record<string, string | number>>;
  readonly http: readonly HttpResult[];
  readonly idle: readonly Idle[];
  /** What bench/query.ts writes. */
  readonly query: Readonly<Record<string, any>>;
}

export interface Row {
  readonly what: string;
  readonly goal: string;
  readonly measured: string;
  /** Undefined: there is no goal, or the run was too small to say. */
  readonly isMet?: boolean;
}

const ratios: Readonly<Record<Work, number>> = { GET: 0.7, LIST: 0.45, LIST2: 0.4, CREATE: 0.2, UPDATE: 0.15 };

const variantGoals: Readonly<Partial<Record<VariantName, number>>> = {
  'LIST, 100 UPDATEs a second beside': 0.6,
  'LIST2, 100 UPDATEs a second beside': 0.4,
};

const mebibytes = (bytes: readonly number[]): string => `${shown(figure(bytes.map((one) => one / 2 ** 20)), 0)} MiB`;

function atLeast(what: string, goal: number, measured: Figure, digits: number, more = ''): Row {
  const text = `≥ ${goal.toLocaleString('en')}`;
  return { what, goal: text, measured: shown(measured, digits) + more, isMet: measured.median >= goal };
}

function atMost(what: string, goal: number, measured: Figure, digits: number, unit: string): Row {
  const isMet = measured.median <= goal;
  return { what, goal: `≤ ${goal} ${unit}`, measured: `${shown(measured, digits)} ${unit}`, isMet };
}

export function goalRows({ http, idle, query }: Results): Row[] {
  const rows = http.flatMap((result) => httpRows(result));
  const start = figure(idle.map((one) => one.start / 1_000));
  rows.push(atMost('start to ready, empty', 0.5, start, 2, 's'));
  rows.push(atMost('memory at rest', 90, figure(idle.map(({ memory }) => memory)), 0, 'MiB'));
  for (const [size, one] of Object.entries(query)) {
    if (typeof one !== 'object' || !one.queries) continue;
    const objects = `${Number(size).toLocaleString('en')} objects`;
    for (const [name, { p50, p99, goal }] of Object.entries(one.queries as Record<string, QueryFigure>)) {
      if (!goal) continue;
      rows.push({
        what: `query in process, ${objects}: ${name}, p50 / p99`,
        goal: `≤ ${goal[0]} / ${goal[1]} µs`,
        measured: `${p50.toFixed(1)} / ${p99.toFixed(1)} µs`,
        isMet: p50 <= goal[0] && p99 <= goal[1],
      });
    }
    const upkeep = one.upkeep as Record<string, QueryFigure>;
    for (const [name, goal] of [
      ['update of one indexed field', 5],
      ['update of all', 40],
      ['insert', 10],
    ] as const) {
      if (upkeep?.[name])
        rows.push(atMost(`index upkeep, ${objects}: ${name}`, goal, figure([upkeep[name].p50]), 1, 'µs'));
    }
    rows.push(atMost(`memory of the indexes, ${objects}`, 300, figure([one.bytes]), 0, 'bytes an object'));
    if (Number(size) === 1_000_000)
      rows.push(atMost(`bulk build, ${objects}`, 3, figure([one.buildTime / 1_000]), 1, 's'));
  }
  return rows;
}

/** What bench/store.ts writes. */
export interface StoreResult {
  readonly runs: readonly {
    readonly database: string;
    readonly batch: number;
    readonly raw: readonly number[];
    readonly create: readonly number[];
  }[];
}

/** What bench/watch.ts writes. */
export interface WatchResult {
  readonly watchers: number;
  readonly memory: { readonly rss: number; readonly heap: number };
  /** Processor time of a write by number of watchers that it does not interest, microseconds. */
  readonly cost: Readonly<Record<string, { readonly cpu: number }>>;
}

export function storeRows({ runs }: StoreResult): Row[] {
  const servers = runs.filter(({ database }) => database !== 'sqlite');
  return servers.map(({ database, batch, raw, create }) => {
    const ratio = figure(create.map((rate, i) => rate / raw[i]!));
    const what = `durable creates, ${database}, batches of ${batch}: ratio to the same rows put straight into it`;
    return atLeast(what, 0.6, ratio, 2, `; ${shown(figure(create), 0)} a second`);
  });
}

export function watchRows({ watchers, memory, cost }: WatchResult): Row[] {
  const many = String(watchers);
  const times = Object.keys(cost).map(
    (count) => `${cost[count]!.cpu.toFixed(0)} µs with ${Number(count).toLocaleString('en')}`,
  );
  return [
    {
      what: 'a write, beside watchers that it does not interest, of processor time',
      goal: 'the same',
      measured: times.join(', '),
      isMet: cost[many]!.cpu <= cost['10']!.cpu * 1.1,
    },
    atMost('idle watcher, resident', 10, figure([memory.rss / 1_000]), 1, 'kB'),
  ];
}

interface QueryFigure {
  readonly p50: number;
  readonly p99: number;
  readonly goal?: readonly [p50: number, p99: number];
}

function httpRows({
  objects,
  turns,
  variants = {},
  mixed,
  bulk,
  filled,
  memory,
  start,
  storeLimit,
}: HttpResult): Row[] {
  const of = `${objects.toLocaleString('en')} objects`;
  const bare = figure(turns.GET.map(({ limit }) => limit.rate));
  const rows: Row[] = [{ what: `node:http alone, ${of}: answers to GET a second`, goal: '', measured: shown(bare, 0) }];
  for (const work of works) {
    const ratio = figure(turns[work].map(({ service, limit }) => service.rate / limit.rate));
    const cpu = figure(turns[work].map(({ serviceCpu, limitCpu }) => limitCpu / serviceCpu));
    const rate = figure(turns[work].map(({ service }) => service.rate));
    const more = `; of processor time ${shown(cpu, 2)}; ${shown(rate, 0)} a second`;
    rows.push(atLeast(`${work}, ${of}: ratio to node:http`, ratios[work], ratio, 2, more));
  }
  for (const [name, measured] of Object.entries(variants) as [VariantName, HttpResult['turns'][Work]][]) {
    const ratio = figure(measured.map(({ service, limit }) => service.rate / limit.rate));
    const p99 = shown(figure(measured.map(({ service }) => service.p99)), 1);
    const rate = shown(figure(measured.map(({ service }) => service.rate)), 0);
    const what = `${name}, ${of}: ratio to node:http`;
    const more = `; ${rate} a second, p99 ${p99} ms`;
    const goal = variantGoals[name];
    rows.push(
      goal === undefined ? { what, goal: '', measured: shown(ratio, 2) + more } : atLeast(what, goal, ratio, 2, more),
    );
  }
  const writes = [...turns.CREATE, ...turns.UPDATE].map(({ service }) => service.p99);
  rows.push(atMost(`writes, ${of}: p99`, 10, figure(writes), 1, 'ms'));
  rows.push(atLeast(`bulk import over HTTP, ${of}: a second`, 15_000, figure(bulk.map(({ rate }) => rate)), 0));
  const bulkDelay = figure(bulk.map(({ delay }) => delay.p99));
  rows.push(atMost(`event loop under bulk import, ${of}: p99`, 5, bulkDelay, 1, 'ms'));
  const delays = (of: (one: HttpResult['mixed'][number]) => number): Figure => figure(mixed.map(of));
  const [p99, p999] = [delays(({ delay }) => delay.p99), delays(({ delay }) => delay.p999)];
  const without = [delays(({ limitDelay }) => limitDelay.p99), delays(({ limitDelay }) => limitDelay.p999)];
  rows.push({
    what: `event loop under mixed load, ${of}: p99 / p99.9`,
    goal: '≤ 5 / 20 ms',
    measured: `${shown(p99, 1)} / ${shown(p999, 1)} ms; node:http alone ${without.map((one) => shown(one, 1)).join(' / ')} ms`,
    isMet: p99.median <= 5 && p999.median <= 20,
  });
  rows.push(atMost(`start to ready, ${of}`, 2, figure(start.map((time) => time / 1_000)), 2, 's'));
  rows.push({
    what: `memory, ${of}: just filled; heap after all of the above`,
    goal: '',
    measured: `${mebibytes(filled.map(({ rss }) => rss))}; ${mebibytes(memory.map(({ heap }) => heap))}`,
  });
  const batches = shown(figure(storeLimit), 0);
  rows.push({ what: `SQLite alone, batches of 32: objects a second`, goal: '', measured: batches });
  return rows;
}

/** As Markdown, which reads as text too. */
export function table(rows: readonly Row[]): string {
  const cells = rows.map(({ what, goal, measured, isMet }) => {
    return [what, goal, measured, isMet === undefined ? '' : isMet ? 'yes' : '**no**'];
  });
  const head = ['', 'Goal', 'Measured', 'Met'];
  const widths = head.map((title, i) => Math.max(title.length, 3, ...cells.map((row) => row[i]!.length)));
  const line = (row: readonly string[]): string => `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...cells.map(line)].join('\n');
}
