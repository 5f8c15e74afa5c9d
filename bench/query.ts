/**
 * The query engine alone, in process, on the `articles` work: 5 indexes, 2 labels, about 900 bytes an object (of which the engine sees
 * the keys only), and the build of its indexes from stored bytes. `node bench/query.ts [--sizes 10000,100000,1000000] [--out bench/results/query.json]`
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { indexMemory } from '../src/indexes/memory/index-memory.ts';
import type { IndexRow } from '../src/indexes/model-index.ts';
import { ModelIndex } from '../src/indexes/model-index.ts';
import { entryOf } from '../src/model/index-spec.ts';
import type { ExtensionObject } from '../src/model/object.ts';
import type { Condition } from '../src/query/condition.ts';
import { Queries } from '../src/query/condition.ts';
import { execute, explain, runSlots } from '../src/query/execute.ts';
import type { Query, SortTerm } from '../src/query/query.ts';
import { parseFieldSelector } from '../src/query/selector.ts';
import { below, benches, definitions, entryFor, env, first, newest } from './query-work.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: '10000,100000,1000000' },
    out: { type: 'string', default: 'bench/results/query.json' },
  },
});

interface Figure {
  readonly p50: number;
  readonly p99: number;
}

/** Microseconds. */
function figures(times: number[]): Figure {
  times.sort((a, b) => a - b);
  const at = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))]!;
  return { p50: at(0.5), p99: at(0.99) };
}

function measure(repeat: number, once: () => unknown): Figure {
  for (let i = 0; i < Math.min(repeat, 300); i++) once();
  const times: number[] = [];
  for (let i = 0; i < repeat; i++) {
    const started = performance.now();
    once();
    times.push((performance.now() - started) * 1000);
  }
  return figures(times);
}

/** A slice that is never over: a measured query is answered at once, also when the machine gives the time to others. */
const atOnce = { now: () => performance.now(), timeLimit: 60_000, slice: 60_000 };
const limits = { now: () => performance.now(), timeLimit: 60_000 };

/** What a list asks of the engine: the total, and where the objects of the page are. */
function page(index: ModelIndex, query: Query): number {
  let count = 0;
  const answer = runSlots(index, query, atOnce, (total, slots) => {
    count = total + slots.length;
  });
  if (answer instanceof Promise) throw new Error('expected an answer at once');
  return count;
}

/** A process that has served for a while has its code compiled: everything that is measured runs on a small index first. */
async function warmUp(): Promise<void> {
  const size = 20_000;
  const index = new ModelIndex(definitions);
  await bulk(index, size);
  for (let round = 0; round < 1_000; round++) {
    for (const { where, sort } of benches) page(index, { where: where(), sort, offset: below(50) * 20, limit: 20 });
  }
  for (let i = 0; i < 20_000; i++) {
    const number = below(2 * size);
    if (i % 3 === 0) index.remove(entryFor(number).name);
    else index.put(entryFor(number), i + 1, i + 1);
  }
}

/** As many rows at a time as a build of the service reads (`src/resource/builder.ts`). */
const portionSize = 500;

async function bulk(index: ModelIndex, count: number): Promise<number> {
  let generating = 0;
  async function* rows(): AsyncGenerator<IndexRow[]> {
    for (let at = 0; at < count; at += portionSize) {
      const started = performance.now();
      const portion: IndexRow[] = [];
      for (let i = at; i < Math.min(at + portionSize, count); i++)
        portion.push({ entry: entryFor(i), id: i + 1, revision: i + 1 });
      generating += performance.now() - started;
      yield portion;
    }
  }
  const started = performance.now();
  await index.build(rows(), { expected: count, onProgress: () => {} });
  return performance.now() - started - generating;
}

/** Objects of about 900 bytes in a database in memory, as the store reads them: portions of 500. */
async function fromBytes(count: number): Promise<number> {
  const database = new DatabaseSync(':memory:');
  database.exec('CREATE TABLE o (id INTEGER PRIMARY KEY, name TEXT, bytes BLOB)');
  const add = database.prepare('INSERT INTO o VALUES (?, ?, ?)');
  const body = 'x'.repeat(600);
  database.exec('BEGIN');
  for (let i = 0; i < count; i++) {
    const { name, labels, keys } = entryFor(i);
    const [[slug], [views], [category], [published], tags] = keys as [[string], [number], [string], [number], string[]];
    const object = {
      apiVersion: 'demo.example.com/v1alpha1',
      kind: 'Article',
      metadata: { name, labels, version: 0, creationTimestamp: new Date(1_700_000_000_000 + i).toISOString() },
      spec: { slug, title: `Title ${i}`, views, category, publishedAt: new Date(published).toISOString(), tags, body },
    };
    add.run(i + 1, name, Buffer.from(JSON.stringify(object)));
  }
  database.exec('COMMIT');
  const scan = database.prepare('SELECT id, bytes FROM o WHERE id > ? ORDER BY id LIMIT 500');
  const decoder = new TextDecoder();
  async function* rows(): AsyncGenerator<IndexRow[]> {
    for (let after = 0; ; ) {
      const page = scan.all(after) as unknown as { id: number; bytes: Uint8Array }[];
      if (page.length === 0) return;
      after = page.at(-1)!.id;
      yield page.map(({ id, bytes }) => {
        const object = JSON.parse(decoder.decode(bytes)) as ExtensionObject;
        return { entry: entryOf({ indexes: definitions }, object), id, revision: id };
      });
      await nextTurn();
    }
  }
  const started = performance.now();
  await new ModelIndex(definitions).build(rows(), { expected: count, onProgress: () => {} });
  const time = performance.now() - started;
  database.close();
  return time;
}

function memory(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers + indexMemory.used;
}

/** Runs it beside a loop of turns; both in milliseconds. */
async function stalled(work: () => unknown): Promise<{ time: number; longestStall: number }> {
  let done = false;
  let longest = 0;
  let last = performance.now();
  const turns = (async () => {
    while (!done) {
      await nextTurn();
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    }
  })();
  await nextTurn();
  const started = performance.now();
  await work();
  const time = performance.now() - started;
  await nextTurn();
  done = true;
  await turns;
  return { time, longestStall: longest };
}

function pad(text: string | number, width: number): string {
  return typeof text === 'number' ? text.toFixed(1).padStart(width) : text.padEnd(width);
}

const results: Record<string, unknown> = {
  cpu: cpus()[0]?.model,
  cores: cpus().length,
  node: process.version,
  date: new Date().toISOString(),
};

// After the first build, whose memory is measured.
let isWarm = false;
for (const size of options.sizes.split(',').map(Number)) {
  const before = memory();
  const index = new ModelIndex(definitions);
  const buildTime = await bulk(index, size);
  const bytes = (memory() - before) / size;
  console.log(`\n${size} objects: built in ${Math.round(buildTime)} ms, ${Math.round(bytes)} bytes an object`);
  if (!isWarm) await warmUp();
  isWarm = true;
  console.log(`${pad('', 56)}${'p50 µs'.padStart(10)}${'p99 µs'.padStart(10)}  goal`);
  const queries: Record<string, unknown> = {};
  for (const bench of benches) {
    const totals = new Map<string, number>();
    const pages = (where: Condition) => {
      const key = JSON.stringify(where);
      const known = totals.get(key);
      if (known !== undefined) return known;
      const result = execute(index, { where, sort: [], offset: 0, limit: 0 }, atOnce);
      if (result instanceof Promise) throw new Error('expected an answer at once');
      const count = Math.max(1, Math.ceil(result.total / 20));
      totals.set(key, count);
      return count;
    };
    const needsPages = bench.page !== first;
    const prepared = Array.from({ length: 512 }, () => {
      const where = bench.where();
      const page = needsPages ? bench.page(pages(where)) : 1;
      return { where, sort: bench.sort, offset: (page - 1) * 20, limit: 20 };
    });
    let at = 0;
    const figure = measure(2000, () => page(index, prepared[at++ % prepared.length]!));
    const plan = explain(index, prepared[0]!, atOnce);
    const strategy = plan instanceof Promise ? 'slices' : plan.strategy;
    queries[bench.name] = { ...figure, strategy, goal: bench.goal };
    console.log(
      `${pad(bench.name, 56)}${pad(figure.p50, 10)}${pad(figure.p99, 10)}  ${bench.goal?.join(' / ') ?? ''}  ${strategy}`,
    );
  }

  const upkeep: Record<string, Figure> = {};
  let next = size;
  const names = Array.from({ length: 4000 }, () => below(size));
  let at = 0;
  const known = new Map(names.map((number) => [number, entryFor(number)]));
  for (const [number, entry] of known) index.put(entry, number + 1, number + 1);
  upkeep['update of one indexed field'] = measure(2000, () => {
    const number = names[at++ % names.length]!;
    const entry = known.get(number)!;
    const changed = { ...entry, keys: entry.keys.with(1, [below(1_000_000)]) };
    known.set(number, changed);
    index.put(changed, number + 1, at);
  });
  const fresh = Array.from({ length: 2300 }, (_, i) => entryFor(names[i]!));
  at = 0;
  upkeep['update of all'] = measure(2000, () => index.put(fresh[at++]!, 1, at));
  const inserts = Array.from({ length: 2300 }, () => entryFor(next++));
  at = 0;
  upkeep.insert = measure(2000, () => index.put(inserts[at++]!, next, next));
  at = 0;
  upkeep.remove = measure(2000, () => index.remove(inserts[at++]!.name));
  const findNames = Array.from({ length: 5000 }, () => `article-${String(below(size)).padStart(7, '0')}`);
  at = 0;
  upkeep['find by name'] = measure(5000, () => index.find(findNames[at++ % findNames.length]!));
  for (const [name, figure] of Object.entries(upkeep))
    console.log(`${pad(name, 56)}${pad(figure.p50, 10)}${pad(figure.p99, 10)}`);

  const worst: Record<string, unknown> = {};
  const list =
    (where: Condition, sort: SortTerm[], offset = 0) =>
    () =>
      execute(index, { where, sort, offset, limit: 20 }, limits);
  const manyLabels = new ModelIndex([]);
  for (let i = 0; i < 10_000; i++) {
    manyLabels.put(
      {
        name: `o-${i}`,
        created: i,
        deleted: null,
        labels: { [`label-${i}`]: 'x', [`other-${i % 100}`]: `v-${i}` },
        keys: [],
      },
      i + 1,
      i + 1,
    );
  }
  const cases: readonly (readonly [string, () => unknown])[] = [
    ['page 50,000', list(Queries.all(), [{ field: 'spec.views', direction: 'desc' }], Math.min(1_000_000, size - 20))],
    [
      'every object by two fields, last page',
      list(
        env(),
        [{ field: 'spec.category', direction: 'desc' }, { field: 'spec.publishedAt' }],
        Math.floor(size / 3.2),
      ),
    ],
    ['contains on every slug', list(Queries.contains('spec.slug', '77'), newest)],
    ['contains without a match, on every name', list(Queries.contains('metadata.name', 'nothing'), newest)],
    [
      '200 ranges',
      list(Queries.and(...Array.from({ length: 200 }, (_, i) => Queries.greaterThan('spec.views', i))), newest),
    ],
    [
      'OR of 20 text terms',
      list(Queries.or(...Array.from({ length: 20 }, (_, i) => Queries.endsWith('spec.slug', `${i}x`))), newest),
    ],
    [
      '200 terms of a selector',
      list(parseFieldSelector(Array.from({ length: 200 }, (_, i) => `spec.tags!=tag-${i}`).join(',')), newest),
    ],
    [
      'a list of 1,000 values',
      list(
        Queries.in(
          'spec.views',
          Array.from({ length: 1000 }, (_, i) => i * 997),
        ),
        newest,
      ),
    ],
    [
      'not in 1,000 slugs',
      list(
        Queries.notIn(
          'spec.slug',
          Array.from({ length: 1000 }, (_, i) => `slug-of-${i}`),
        ),
        newest,
      ),
    ],
    [
      'one of 10,000 labels',
      () =>
        execute(
          manyLabels,
          {
            where: Queries.labelExists('label-77').or(
              Queries.labelIn(
                'other-7',
                Array.from({ length: 1000 }, (_, i) => `v-${i}`),
              ),
            ),
            sort: [],
            offset: 0,
            limit: 20,
          },
          limits,
        ),
    ],
  ];
  console.log(`${pad('', 56)}${'ms'.padStart(10)}${'stall ms'.padStart(10)}`);
  for (const [name, work] of cases) {
    const runs: { time: number; longestStall: number }[] = [];
    for (let i = 0; i < 5; i++) runs.push(await stalled(work));
    const median = (of: (run: (typeof runs)[number]) => number) => runs.map(of).sort((a, b) => a - b)[2]!;
    const result = { time: median((one) => one.time), longestStall: median((one) => one.longestStall) };
    worst[name] = result;
    console.log(`${pad(name, 56)}${pad(result.time, 10)}${pad(result.longestStall, 10)}`);
  }
  const bytesTime = await fromBytes(size);
  console.log(`built from stored bytes in ${Math.round(bytesTime)} ms`);
  results[size] = { buildTime, bytesTime, bytes, queries, upkeep, worst };
}

mkdirSync(dirname(options.out), { recursive: true });
writeFileSync(options.out, `${JSON.stringify(results, undefined, 2)}\n`);
