/**
 * The engine against an oracle written independently: plain SQL over JSON in SQLite. Random models, objects and queries; inserts,
 * updates and deletes in between; each model's index is built anew at the end and must equal the live one, and so must one that
 * begins with a snapshot that was copied in pieces while objects changed, through the form of the file, with the changes since.
 * Half of the indexes have all their bitmaps in one memory with kernels, the others have the loops in JavaScript; an index that was
 * built anew or restored has what the live one has not.
 * As a script: `node --import ./test/sources.ts test/query/differential.ts --queries 2000000 --seed 7`
 */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { IndexMemory } from '../../src/indexes/memory/index-memory.ts';
import type { IndexRow } from '../../src/indexes/model-index.ts';
import { ModelIndex } from '../../src/indexes/model-index.ts';
import { arrange } from '../../src/indexes/snapshot/arrange.ts';
import type { Piece } from '../../src/indexes/snapshot/piece.ts';
import type { IndexEntry } from '../../src/model/index-entry.ts';
import { bind } from '../../src/query/bind.ts';
import type { QueryResult } from '../../src/query/execute.ts';
import { execute, runIds } from '../../src/query/execute.ts';
import { matches } from '../../src/query/match.ts';
import { decode, encode } from '../../src/snapshots/format.ts';
import { compareEntries } from './order.ts';
import type { RandomQuery } from './random.ts';
import { Random, RandomModel } from './random.ts';

export interface DifferentialResult {
  /** Different queries; of each, several pages were compared. */
  readonly queries: number;
  readonly pages: number;
  readonly changes: number;
  readonly models: number;
  /** Queries that were answered in slices while objects changed. */
  readonly sliced: number;
  /** Indexes that began with a snapshot. */
  readonly restored: number;
}

/** Runs at least so many queries. Throws at the first difference, with the seed and the query. */
export async function compareWithSql(options: {
  queries: number;
  seed: number;
  onProgress?(queries: number): void;
}): Promise<DifferentialResult> {
  const result = { queries: 0, pages: 0, changes: 0, models: 0, sliced: 0, restored: 0 };
  for (let round = 0; result.queries < options.queries; round++) {
    const seed = options.seed + round;
    await new Round(seed, result).run();
    options.onProgress?.(result.queries);
  }
  return result;
}

const kernels = new IndexMemory({ leastBytes: 16 });
const loops = new IndexMemory({ kernels: false });

/** One model from its first object to its rebuilt index. */
class Round {
  readonly #seed: number;
  readonly #random: Random;
  readonly #model: RandomModel;
  readonly #entries = new Map<string, { entry: IndexEntry; id: number; revision: number }>();
  /** Every change since the bulk build. */
  readonly #log: { name: string; put?: { entry: IndexEntry; id: number; revision: number } }[] = [];
  readonly #database = new DatabaseSync(':memory:');
  readonly #statements;
  readonly #result: { -readonly [K in keyof DifferentialResult]: number };
  readonly #size: number;
  #index: ModelIndex;
  #revision = 0;

  constructor(seed: number, result: { -readonly [K in keyof DifferentialResult]: number }) {
    this.#seed = seed;
    this.#result = result;
    this.#random = new Random(seed);
    this.#size = this.#random.chance(0.04)
      ? 700 + this.#random.below(1800)
      : this.#random.below(this.#random.pick([8, 40, 150]));
    this.#model = new RandomModel(this.#random, Math.ceil(this.#size * 1.5) + 1);
    this.#index = new ModelIndex(this.#model.definitions, undefined, this.#random.pick([kernels, loops]));
    this.#database.exec('CREATE TABLE o (name TEXT PRIMARY KEY, doc TEXT)');
    this.#statements = {
      put: this.#database.prepare('INSERT INTO o VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET doc = excluded.doc'),
      remove: this.#database.prepare('DELETE FROM o WHERE name = ?'),
    };
  }

  async run(): Promise<void> {
    const random = this.#random;
    this.#result.models++;
    try {
      if (random.chance(0.5)) await this.#bulk();
      else for (let i = 0; i < this.#size; i++) this.#change();
      const queries = this.#size > 500 ? 30 : 60;
      for (let i = 0; i < queries; i++) {
        for (let changes = random.pick([0, 0, 1, 3]); changes > 0; changes--) this.#change();
        const query = this.#model.query();
        this.#result.queries++;
        if (random.chance(0.05)) await this.#checkInSlices(query);
        else this.#check(query);
        if (random.chance(0.05)) await this.#goOnFromSnapshot();
      }
      await this.#checkRebuilt();
    } finally {
      this.#database.close();
    }
  }

  async #bulk(): Promise<void> {
    const rows = new Map<string, IndexRow>();
    while (rows.size < this.#size) {
      const { entry, json } = this.#model.object(this.#model.name());
      this.#statements.put.run(entry.name, json);
      const id = ++this.#revision;
      rows.set(entry.name, { entry, id, revision: id, length: id % 1_000 });
    }
    for (const row of rows.values()) this.#entries.set(row.entry.name, row);
    await this.#index.build(batches([...rows.values()]), { onProgress: () => {} });
  }

  #change(): void {
    const name = this.#model.name();
    const known = this.#entries.get(name);
    const revision = ++this.#revision;
    this.#result.changes++;
    if (known && this.#random.chance(0.4)) {
      this.#index.remove(name);
      this.#log.push({ name });
      this.#statements.remove.run(name);
      this.#entries.delete(name);
      return;
    }
    const { entry, json } = this.#model.object(name);
    const id = known?.id ?? revision;
    this.#index.put(entry, id, revision, revision % 1_000);
    this.#log.push({ name, put: { entry, id, revision } });
    this.#statements.put.run(name, json);
    this.#entries.set(name, { entry, id, revision });
  }

  /** Names of all matches in order, by the oracle. */
  #expected({ sqlWhere, sqlOrder }: RandomQuery): string[] {
    const rows = this.#database
      .prepare(`SELECT name FROM o WHERE ${sqlWhere.text} ORDER BY ${sqlOrder}`)
      .all(...sqlWhere.params);
    return rows.map((row) => row.name as string);
  }

  #check(query: RandomQuery): void {
    const random = this.#random;
    const expected = this.#expected(query);
    for (let i = 0; i < 3; i++) {
      const size = random.pick([1, 2, 5, 20, 1000]);
      const page = 1 + (i === 0 ? 0 : random.below(Math.ceil(expected.length / size) + 2));
      const offset = (page - 1) * size;
      const answer = execute(this.#index, { ...query, offset, limit: size }, { now: () => 0, timeLimit: 1000 });
      assert(!(answer instanceof Promise));
      this.#compare(query, answer, expected, page, size);
    }
    if (random.chance(0.1)) this.#checkMatch(query, expected);
    if (random.chance(0.05)) {
      const ids = runIds(this.#index, query, { now: () => 0, timeLimit: 1000 });
      assert.deepEqual(
        [...(ids as Float64Array)],
        expected.map((name) => this.#entries.get(name)!.id),
        this.#about(query),
      );
    }
  }

  #compare(
    query: RandomQuery,
    answer: { total: number; refs: readonly { name: string; id: number; revision: number }[] },
    expected: readonly string[],
    page: number,
    size: number,
  ): void {
    this.#result.pages++;
    const about = this.#about(query, page, size);
    assert.equal(answer.total, expected.length, about);
    const names = expected.slice((page - 1) * size, page * size);
    assert.equal(answer.refs.map((ref) => ref.name).join(), names.join(), about);
    for (const ref of answer.refs) {
      const { id, revision } = this.#entries.get(ref.name)!;
      assert(ref.id === id && ref.revision === revision, about);
    }
  }

  /** The definition of a match and of the order, on entries alone. */
  #checkMatch(query: RandomQuery, expected: readonly string[]): void {
    const bound = bind(query.where, this.#model.definitions);
    const found = [...this.#entries.values()]
      .map((known) => known.entry)
      .filter((entry) => matches(bound, entry) && (!query.names || query.names.has(entry.name)))
      .sort(compareEntries(query.sort, this.#model.definitions));
    assert.deepEqual(
      found.map((entry) => entry.name),
      expected,
      `matches(): ${this.#about(query)}`,
    );
  }

  /** With no time at all for a slice, and changes between any two slices: the answer is of the last state. */
  async #checkInSlices(query: RandomQuery): Promise<void> {
    let time = 0;
    const now = () => ++time;
    const limits = { now, timeLimit: 1e9, slice: 0, portion: this.#random.pick([1, 3, 10]) };
    let done = false;
    const answer = execute(this.#index, { ...query, offset: 0, limit: 20 }, limits);
    if (!(answer instanceof Promise)) return this.#compare(query, answer, this.#expected(query), 1, 20);
    this.#result.sliced++;
    let expected: string[] | undefined;
    const finished = answer.then((found) => {
      done = true;
      expected = this.#expected(query);
      return found;
    });
    while (!done) {
      this.#change();
      await nextTurn();
    }
    this.#compare(query, await finished, expected!, 1, 20);
  }

  /** From here on, the index is one that began with a snapshot: every later query, change and snapshot is of it. */
  async #goOnFromSnapshot(): Promise<void> {
    const random = this.#random;
    const index = this.#index;
    const since = this.#log.length;
    const observed = index.observe();
    const pieces: Piece[] = [];
    const change = random.pick([0, 0.05, 0.5]);
    for (const piece of index.pieces(random.pick([1, 3, 17, 500]))) {
      pieces.push(piece);
      while (random.chance(change)) this.#change();
    }
    observed.stop();
    const shapes = index.fields.map(({ shape }) => shape);
    const { limit, size, sections } = arrange(pieces, shapes, observed.touched);
    for (let changes = random.pick([0, 1, 10]); changes > 0; changes--) this.#change();
    const file = encode({ limit, size }, sections);
    const read = decode(Buffer.concat(file));
    const restored = this.#emptyIndex();
    await restored.restore(read.sections, random.pick([0, 8]));
    assert.equal(restored.size, size);
    for (const { name, put } of this.#log.slice(since)) {
      if (put) restored.put(put.entry, put.id, put.revision, put.revision % 1_000);
      else restored.remove(name);
    }
    await this.#compareIndexes(restored, index, 'restored');
    this.#index = restored;
    this.#result.restored++;
  }

  /** Content and answers, not the slots. */
  async #compareIndexes(anew: ModelIndex, live: ModelIndex, what: string): Promise<void> {
    assert.equal(anew.size, live.size);
    for (let i = 0; i < 10; i++) {
      const query = { ...this.#model.query(), offset: 0, limit: this.#size + 100 };
      const limits = { now: () => 0, timeLimit: 1000 };
      const [a, b] = await Promise.all(
        [anew, live].map(async (index) => answerOf(await execute(index, query, limits))),
      );
      assert(a === b, `${what}: ${this.#about(query)}`);
    }
    for (const [name, { id, revision }] of this.#entries) {
      const found = anew.find(name)!;
      assert.deepEqual([found?.id, found?.revision], [id, revision]);
      assert.equal(anew.lengths[found.slot], revision % 1_000, `${what}: bytes of ${name}`);
    }
    assert.deepEqual(anew.deletingNames().toSorted(), live.deletingNames().toSorted());
    assert.deepEqual(duplicatesOf(anew), duplicatesOf(live), `${what}: seed ${this.#seed}`);
  }

  async #checkRebuilt(): Promise<void> {
    const rebuilt = this.#emptyIndex();
    const rows = [...this.#entries.values()].map((row) => ({ ...row, length: row.revision % 1_000 }));
    await rebuilt.build(batches(rows), {
      onProgress: () => {},
      slice: this.#random.pick([0, 8]),
    });
    await this.#compareIndexes(rebuilt, this.#index, 'rebuilt');
  }

  #emptyIndex(): ModelIndex {
    const { definitions } = this.#model;
    return new ModelIndex(definitions, undefined, this.#index.memory === kernels ? loops : kernels);
  }

  #about(query: RandomQuery, page?: number, size?: number): string {
    const sort = query.sort.map(({ field, direction }) => `${field} ${direction}`).join(', ');
    return `seed ${this.#seed}, ${this.#entries.size} objects, page ${page} of ${size}: ${query.sqlWhere.text} [${query.sqlWhere.params.join(' | ')}] sort ${sort} (${query.sqlOrder})`;
  }
}

async function* batches<T>(rows: readonly T[]): AsyncGenerator<readonly T[]> {
  for (let at = 0; at < rows.length; at += 100) yield rows.slice(at, at + 100);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { queries: { type: 'string', default: '50000' }, seed: { type: 'string' } },
  });
  const seed = Number(values.seed ?? Date.now() % 1e9);
  const queries = Number(values.queries);
  console.log(`seed ${seed}`);
  const started = performance.now();
  let shown = 0;
  const result = await compareWithSql({
    queries,
    seed,
    onProgress: (done) => {
      if (done < shown + 100_000) return;
      shown = done;
      console.log(`${done} queries, ${Math.round((performance.now() - started) / 1000)} s`);
    },
  });
  console.log({ ...result, differences: 0, seconds: Math.round((performance.now() - started) / 1000) });
}

/** What two indexes of the same objects have in common: not the slots. */
function answerOf({ total, refs }: QueryResult): string {
  return JSON.stringify([total, refs.map(({ name, id, revision }) => [name, id, revision])]);
}

/** Of an index, which objects share which unique values. */
function duplicatesOf(index: ModelIndex): string[] {
  const conflicts = index.fields.flatMap((one) =>
    one.conflicts().map(({ key, names }) => [one.field.name, one.field.codec.format(key), names]),
  );
  return conflicts.map((one) => JSON.stringify(one)).toSorted();
}
