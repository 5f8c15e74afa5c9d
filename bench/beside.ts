/**
 * The service beside what somebody would write by hand instead, in turns: a table in SQLite and Fastify (`process-table.ts`).
 *   npm run build && node bench/beside.ts [--objects 10000] [--starts 3] [--rounds 2] [--seconds 2] [--write]
 * `--before FOLDER` takes another checkout of the service, which must be built, instead of the table: what a change has gained.
 * `--write` puts the figures into README.md.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { article, collection, deepListPaths, listPaths, nameOf, scattered } from './articles.ts';
import { figure } from './figures.ts';
import type { Work } from './http.ts';
import { works } from './http.ts';
import type { Memory, Usage } from './meter.ts';
import type { LoadResult, Request } from './process-load.ts';
import { Remote } from './remote.ts';

const { values } = parseArgs({
  options: {
    objects: { type: 'string', default: '10000' },
    starts: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '2' },
    before: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});
const objects = Number(values.objects);
const seconds = Number(values.seconds);
const sides = {
  service: 'process-service.ts',
  other:
    values.before === undefined
      ? 'process-table.ts'
      : pathToFileURL(resolve(values.before, 'bench/process-service.ts')).href,
};
type Side = keyof typeof sides;
const isTable = (side: Side): boolean => side === 'other' && values.before === undefined;

interface Turn {
  readonly rate: number;
  readonly p99: number;
  /** Microseconds of processor time for one response. */
  readonly cpu: number;
}

const turns = Object.fromEntries(works.map((work) => [work, { service: [], other: [] }])) as unknown as Record<
  Work,
  Record<Side, Turn[]>
>;

/** More than can be sent in one turn. */
const enough = Math.ceil(seconds * 20_000);

class Served {
  readonly #remote: Remote;
  readonly #folder = mkdtempSync(join(tmpdir(), 'kindred-bench-'));
  #url = '';
  #created = objects;
  #edition = 0;
  /** Mebibytes that were resident with all objects there. */
  filled = 0;

  constructor(side: Side) {
    const file = join(this.#folder, 'bench.db');
    this.#remote = new Remote(sides[side], [isTable(side) ? file : `sqlite:${file}`]);
  }

  async fill(): Promise<void> {
    this.#url = await this.#remote.ask<string>('ready');
    await this.#remote.ask('fill', { from: 0, to: objects });
    this.filled = (await this.#remote.ask<Memory>('memory', { collect: false })).rss / 2 ** 20;
  }

  async turn(load: Remote, work: Work): Promise<Turn> {
    await load.ask('prepare', { list: work, requests: this.#requests(work) });
    const before = await this.#remote.ask<Usage>('usage');
    const result = await load.ask<LoadResult>('load', { url: this.#url, duration: seconds, list: work });
    const after = await this.#remote.ask<Usage>('usage');
    const wanted = work === 'CREATE' ? '201' : '200';
    if (Object.keys(result.statuses).some((status) => status !== wanted))
      throw new Error(`${work}: ${JSON.stringify(result.statuses)}`);
    if (work === 'CREATE') {
      await this.#remote.ask('remove', { from: this.#created, to: this.#created + enough });
      this.#created += enough;
    }
    return { rate: result.rate, p99: result.p99, cpu: (after.cpu - before.cpu) / result.answered };
  }

  #requests(work: Work): readonly Request[] {
    if (work === 'LIST') return listPaths.map((path) => ({ path }));
    if (work === 'LIST2')
      return deepListPaths(Math.max(1, Math.min(50, Math.floor(objects / 60 / 20)))).map((path) => ({ path }));
    if (work === 'GET') {
      const path = (i: number) => `${collection}/${nameOf(scattered(i, 90, objects))}`;
      return Array.from({ length: Math.max(objects, 20_000) }, (_, i) => ({ path: path(i) }));
    }
    if (work === 'CREATE') {
      const body = (i: number) => JSON.stringify(article(this.#created + i));
      return Array.from({ length: enough }, (_, i) => ({ method: 'POST', path: collection, body: body(i) }));
    }
    // Each with a content of its own: the service writes nothing for a PUT that changes nothing.
    return Array.from({ length: enough }, () => {
      const edition = ++this.#edition;
      const number = scattered(edition, 91, objects);
      return { method: 'PUT', path: `${collection}/${nameOf(number)}`, body: JSON.stringify(article(number, edition)) };
    });
  }

  async end(): Promise<void> {
    await this.#remote.end();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const names = Object.keys(sides) as Side[];
const filled: Record<Side, number[]> = { service: [], other: [] };
for (let start = 0; start < Number(values.starts); start++) {
  const load = new Remote('process-load.ts');
  const served = Object.fromEntries(names.map((side) => [side, new Served(side)])) as Record<Side, Served>;
  for (const side of names) {
    await served[side].fill();
    filled[side].push(served[side].filled);
  }
  // The first round is for the compiler.
  for (let round = -1; round < Number(values.rounds); round++) {
    for (const work of works) {
      for (const side of (start + round) % 2 === 0 ? names : names.toReversed()) {
        const turn = await served[side].turn(load, work);
        if (round >= 0) turns[work][side].push(turn);
      }
    }
  }
  await Promise.all([load.end(), ...names.map((side) => served[side].end())]);
}

const cell = (list: readonly Turn[], of: (turn: Turn) => number, digits = 0): string =>
  figure(list.map(of)).median.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
const rows = works.map((work) => {
  const { service, other } = turns[work];
  const both = (of: (turn: Turn) => number, digits?: number) =>
    `${cell(service, of, digits)} | ${cell(other, of, digits)}`;
  return `| ${work} | ${both(({ rate }) => rate)} | ${both(({ p99 }) => p99, 1)} | ${both(({ cpu }) => cpu)} |`;
});
const other = values.before === undefined ? 'By hand' : 'Before';
const memory = names.map((side) => Math.round(figure(filled[side]).median));
const section = `<!-- beside -->
${objects.toLocaleString('en')} objects, 32 connections, ${availableParallelism()} cores shared with the load, Node.js ${process.versions.node}, load average ${loadavg()[1]!.toFixed(1)}; medians of ${turns.GET.service.length} turns with ${values.starts} processes each.

| | A second: service | ${other} | p99, ms: service | ${other} | Processor time, µs: service | ${other} |
|---|---|---|---|---|---|---|
${rows.join('\n')}

Resident with all objects there: ${memory[0]} MiB and ${memory[1]} MiB.
<!-- /beside -->`;
console.log(section);
if (values.write && values.before === undefined) {
  const file = join(import.meta.dirname, 'README.md');
  const text = readFileSync(file, 'utf8');
  writeFileSync(
    file,
    text.replace(/<!-- beside -->.*<!-- \/beside -->/s, () => section),
  );
}
