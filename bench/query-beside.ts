/**
 * The query engine of this checkout beside that of another, in one process and in turns, so that what the machine does besides meets both:
 * `git worktree add ../before COMMIT && node bench/query-beside.ts --before ../before [--size 1000000] [--only PART-OF-NAME]`
 */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { IndexRow, ModelIndex } from '../src/indexes/model-index.ts';
import type { IndexEntry } from '../src/model/index-entry.ts';
import type { Query } from '../src/query/query.ts';
import type { Bench } from './query-work.ts';
import { below, benches, definitions, entryFor } from './query-work.ts';

const { values: options } = parseArgs({
  options: {
    before: { type: 'string' },
    size: { type: 'string', default: '1000000' },
    only: { type: 'string', default: '' },
  },
});
if (options.before === undefined) throw new Error('--before FOLDER: a checkout to compare with');
const size = Number(options.size);

/** A slice that is never over. */
const atOnce = { now: () => performance.now(), timeLimit: 60_000, slice: 60_000 };
/** Calls of one engine before it is the other's turn. */
const turn = 32;
/** Quick queries are asked often: until their code is compiled, it is the compiler that is measured. */
const calls = { least: 2_048, most: 65_536, microseconds: 1_000_000 };

interface Engine {
  readonly index: ModelIndex;
  page(query: Query): number;
}

async function engineOf(folder: string): Promise<Engine> {
  const load = (file: string) => import(pathToFileURL(resolve(folder, 'src', file)).href);
  const { ModelIndex: Index } = (await load(
    'indexes/model-index.ts',
  )) as typeof import('../src/indexes/model-index.ts');
  const { runSlots } = (await load('query/execute.ts')) as typeof import('../src/query/execute.ts');
  const index = new Index(definitions);
  return {
    index,
    page: (query) => {
      let total = 0;
      const answer = runSlots(index, query, atOnce, (count) => {
        total = count;
      });
      if (answer instanceof Promise) throw new Error('expected an answer at once');
      return total;
    },
  };
}

async function build(index: ModelIndex, entries: readonly IndexEntry[]): Promise<void> {
  async function* rows(): AsyncGenerator<IndexRow[]> {
    for (let at = 0; at < entries.length; at += 5000)
      yield entries.slice(at, at + 5000).map((entry, i) => ({ entry, id: at + i + 1, revision: at + i + 1 }));
  }
  await index.build(rows(), { onProgress: () => {} });
}

const engines = [await engineOf(options.before), await engineOf('.')] as const;

/** Calls in turns; of each engine the times in microseconds, without those of the first tenth. */
function measure(
  calls: number,
  call: (engine: Engine, i: number) => unknown,
): readonly [before: number[], after: number[]] {
  const times: [number[], number[]] = [[], []];
  for (let from = 0; from < calls; from += turn) {
    const order = (from / turn) % 2 === 0 ? [0, 1] : [1, 0];
    for (const which of order) {
      for (let i = from; i < Math.min(from + turn, calls); i++) {
        const started = performance.now();
        call(engines[which]!, i);
        const time = (performance.now() - started) * 1000;
        if (i >= calls / 10) times[which]!.push(time);
      }
    }
  }
  return times;
}

function show(name: string, [before, after]: readonly [number[], number[]]): void {
  const at = (times: number[], part: number) => times[Math.floor(times.length * part)]!;
  for (const times of [before, after]) times.sort((a, b) => a - b);
  const cells = [at(before, 0.5), at(after, 0.5), at(after, 0.5) / at(before, 0.5), at(before, 0.99), at(after, 0.99)];
  console.log(name.padEnd(54) + cells.map((cell, i) => cell.toFixed(i === 2 ? 2 : 1).padStart(10)).join(''));
}

function measureQueries({ name, where, sort, page }: Bench): void {
  const queries = Array.from({ length: 512 }, () => {
    const condition = where();
    const total = engines[0].page({ where: condition, sort: [], offset: 0, limit: 0 });
    const number = page(Math.max(1, Math.ceil(total / 20)));
    return { where: condition, sort, offset: (number - 1) * 20, limit: 20 };
  });
  for (const query of queries.slice(0, 64)) {
    const totals = engines.map((engine) => engine.page(query));
    if (totals[0] !== totals[1]) throw new Error(`${name}: ${totals.join(' and ')} matches`);
  }
  const started = performance.now();
  for (const query of queries.slice(0, 64)) engines[0].page(query);
  const each = ((performance.now() - started) * 1000) / 64;
  const count = Math.min(calls.most, Math.max(calls.least, Math.round(calls.microseconds / each)));
  show(
    name,
    measure(count, (engine, i) => engine.page(queries[i % queries.length]!)),
  );
}

function measureUpkeep(): void {
  const numbers = Array.from({ length: 8_000 }, () => below(size));
  const [first, second] = [0, 1].map(() => numbers.map((number) => entryFor(number))) as [IndexEntry[], IndexEntry[]];
  for (const { index } of engines) for (const [i, entry] of first.entries()) index.put(entry, numbers[i]! + 1, i);
  const oneField = first.map((entry) => ({ ...entry, keys: entry.keys.with(1, [below(1_000_000)]) }));
  show(
    'update of one indexed field',
    measure(8_000, ({ index }, i) => index.put(oneField[i]!, numbers[i]! + 1, i)),
  );
  show(
    'update of all',
    measure(8_000, ({ index }, i) => index.put(second[i]!, numbers[i]! + 1, i)),
  );
  const more = Array.from({ length: 20_000 }, (_, i) => entryFor(size + i));
  show(
    'insert',
    measure(20_000, ({ index }, i) => index.put(more[i]!, size + i + 1, size + i + 1)),
  );
  show(
    'remove what was inserted last',
    measure(8_000, ({ index }, i) => index.remove(more[i]!.name)),
  );
  const gone = [...new Set(numbers)].map((number) => entryFor(number).name);
  show(
    'remove at random',
    measure(gone.length, ({ index }, i) => index.remove(gone[i]!)),
  );
  // A request has a text of its own, not that of the index.
  const names = more.slice(8_000).map(({ name }) => Buffer.from(name).toString());
  show(
    'find 32 by name',
    measure(8_000, ({ index }, i) => {
      for (let at = 0; at < 32; at++) index.find(names[(i * 32 + at) % names.length]!);
    }),
  );
}

const entries = Array.from({ length: size }, (_, i) => entryFor(i));
for (const [i, { index }] of engines.entries()) {
  const started = performance.now();
  await build(index, entries);
  console.log(
    `${i === 0 ? 'before' : 'after'}: ${size} objects built in ${Math.round(performance.now() - started)} ms`,
  );
}
entries.length = 0;
console.log(
  `${''.padEnd(54)}${['before µs', 'after µs', 'ratio', 'p99', 'p99'].map((head) => head.padStart(10)).join('')}`,
);
for (const bench of benches) if (bench.name.includes(options.only)) measureQueries(bench);
if ('upkeep'.includes(options.only)) measureUpkeep();
