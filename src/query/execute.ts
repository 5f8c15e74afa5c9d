/**
 * Answers queries from the indexes in memory. A query that fits into one slice of time is answered at once. Of any other, the costly
 * conditions are first collected in slices; what changes meanwhile is looked at again, so that the answer is of one state, the last.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ModelIndex, Place } from '../indexes/model-index.ts';
import { SlotSet } from '../indexes/slot-set.ts';
import { andThen } from '../runtime/and-then.ts';
import type { Bound, BoundSort, KeyCondition } from './bind.ts';
import { bind, numberSort } from './bind.ts';
import type { Condition } from './condition.ts';
import type { Matches } from './evaluate.ts';
import { Evaluation, isSingleKey, markAccepted, rankRangeOf, tester } from './evaluate.ts';
import type { Strategy } from './page/pager.ts';
import { Pager } from './page/pager.ts';
import type { Query } from './query.ts';
import type { QueryLimits } from './work.ts';
import { SliceOver, Work } from './work.ts';

export type { QueryLimits } from './work.ts';

/** One object of an answer. */
interface Ref extends Place {
  readonly name: string;
}

export interface QueryResult {
  /** All matches, exactly. */
  readonly total: number;
  /** The page asked for. */
  readonly refs: readonly Ref[];
}

/**
 * How a query was answered (docs/reference/lists.md, `explain`). Of a query that is limited to some names or to a namespace,
 * the rows are the number of these names or of its objects throughout: what other objects hold is not told.
 */
export interface Plan {
  /**
   * How the page was found. `index`: read from the order of the sort; `walk`: along that order, testing each object;
   * `rank`: the matches were counted along that order first; `sort`: matches sorted by comparison; `none`: an empty page.
   */
  readonly strategy: Strategy;
  /** The sort's and the conditions' indexes, `metadata.labels` for labels, with the rows the planner expected from each. */
  readonly indexes: readonly {
    readonly name: string;
    readonly use: 'filter' | 'sort';
    readonly estimatedRows: number;
  }[];
  /** Rows expected to match: those of the smallest condition. */
  readonly estimatedRows: number;
  /** Rows of indexes that were looked at. */
  readonly touchedRows: number;
  readonly total: number;
  /** Milliseconds. */
  readonly time: number;
}

interface Found {
  readonly total: number;
  readonly slots: readonly number[];
  /** Of a query about a part of the objects, with their number. */
  readonly plan: (among?: number) => Plan;
}

/**
 * A page and the exact total. A promise only when the query does not fit into one slice.
 * Throws (or rejects with) InvalidSelector, InvalidParameter, QueryLimit.
 */
export function execute(index: ModelIndex, query: Query, limits: QueryLimits): QueryResult | Promise<QueryResult> {
  return runSlots(index, query, limits, (total, slots) => ({ total, refs: refsOf(index, slots) }));
}

/** As `execute`, with the slots of the page for a callback in the turn in which they were found: the next change may make them others'. */
export function runSlots<T>(
  index: ModelIndex,
  query: Query,
  limits: QueryLimits,
  use: (total: number, slots: readonly number[]) => T,
): T | Promise<Awaited<T>> {
  return then(find(index, query, limits), ({ total, slots }) => use(total, slots));
}

/**
 * Answers the query and tells how.
 * @param among what the caller may know of, when the query is limited to it: all rows of the plan are the number of these objects
 */
export function explain(index: ModelIndex, query: Query, limits: QueryLimits, among?: Condition): Plan | Promise<Plan> {
  if (!among) return then(find(index, query, limits), ({ plan }) => plan());
  const all = { where: among, sort: [], offset: 0, limit: 0 };
  return andThen(
    then(find(index, all, limits), ({ total }) => total),
    (total) => then(find(index, query, limits), ({ plan }) => plan(total)),
  ) as Plan | Promise<Plan>;
}

/** Matches that are put in order at once. */
const idsAtOnce = 8_192;

/**
 * Ids of all matches in the order of the sort, for an export. When that is a promise, the index must stay as it is until
 * it is resolved.
 */
export function runIds(
  index: ModelIndex,
  query: Pick<Query, 'where' | 'sort' | 'names' | 'definitions'>,
  limits: QueryLimits,
): Float64Array | Promise<Float64Array> {
  const everything = { ...query, offset: 0, limit: Number.POSITIVE_INFINITY };
  const found = find(index, everything, limits);
  return found instanceof SlicedQuery ? found.ids() : Float64Array.from(found.slots, (slot) => index.ids[slot]!);
}

function refsOf(index: ModelIndex, slots: readonly number[]): Ref[] {
  return slots.map((slot) => ({
    slot,
    id: index.ids[slot]!,
    revision: index.revisions[slot]!,
    name: index.names.get(slot)!,
  }));
}

/** The callback runs in the same turn as the answer is found: slots are only good until the next change. */
function then<T>(found: Found | SlicedQuery, use: (found: Found) => T): T | Promise<Awaited<T>> {
  return found instanceof SlicedQuery ? found.finish(use) : use(found);
}

function find(index: ModelIndex, query: Query, limits: QueryLimits): Found | SlicedQuery {
  const where = bind(query.where, query.definitions ?? index.definitions);
  const sort = numberSort(query.sort, query.definitions ?? index.definitions);
  const started = limits.now();
  try {
    return evaluate(index, query, where, sort, new Work(limits, true, started), started, limits);
  } catch (error) {
    if (!(error instanceof SliceOver)) throw error;
    return new SlicedQuery(index, query, where, sort, started, limits);
  }
}

function evaluate(
  index: ModelIndex,
  query: Query,
  where: Bound,
  sort: readonly BoundSort[],
  work: Work,
  started: number,
  limits: QueryLimits,
  prepared?: ReadonlyMap<KeyCondition, SlotSet>,
): Found {
  const evaluation = new Evaluation(index, work, prepared);
  try {
    const matches = evaluation.evaluate(where, query.names);
    const { uses } = evaluation;
    const { count: total } = matches;
    let strategy: Strategy = 'none';
    let slots: readonly number[] = [];
    if (query.limit > 0 && query.offset < total) {
      const range = rankRangeOfMatches(index, where, sort, query, matches);
      const pager = new Pager(index, evaluation, work, matches, sort, range);
      slots = pager.page(query.offset, query.limit);
      strategy = pager.strategy;
    }
    const plan = (among?: number) =>
      planOf(index, sort, strategy, uses, work.touched, total, limits.now() - started, query.names?.size ?? among);
    return { total, slots, plan };
  } finally {
    evaluation.release();
  }
}

/** Ranks of the sort's order that are exactly the matches: a condition on the sort's own field. */
function rankRangeOfMatches(
  index: ModelIndex,
  where: Bound,
  [first]: readonly BoundSort[],
  { names }: Query,
  { negated }: Matches,
): readonly [low: number, high: number] | undefined {
  if (where.op !== 'keys' || where.field !== first!.field || names || negated) return undefined;
  if (where.ranges.length !== 1 || where.text) return undefined;
  const field = index.fields[where.field]!;
  if (field.slotOfItem) return undefined;
  field.sortOrder(first!.descending);
  return rankRangeOf(field, where.ranges[0]!);
}

function planOf(
  index: ModelIndex,
  sort: readonly BoundSort[],
  strategy: Strategy,
  uses: Evaluation['uses'],
  touchedRows: number,
  total: number,
  time: number,
  among: number | undefined,
): Plan {
  const filters = uses.map(({ field, rows }) => ({
    name: field,
    use: 'filter' as const,
    estimatedRows: among ?? rows,
  }));
  const sorts = sort.map(({ field }) => ({
    name: index.fields[field]!.field.name,
    use: 'sort' as const,
    estimatedRows: among ?? index.size,
  }));
  const estimatedRows = among ?? Math.min(index.size, ...filters.map((filter) => filter.estimatedRows));
  return {
    strategy,
    indexes: [...filters, ...sorts],
    estimatedRows,
    touchedRows: among ?? touchedRows,
    total,
    time,
  };
}

/** A query that is answered in slices. */
class SlicedQuery {
  readonly #index: ModelIndex;
  readonly #query: Query;
  readonly #where: Bound;
  readonly #sort: readonly BoundSort[];
  readonly #started: number;
  readonly #limits: QueryLimits;
  readonly #work: Work;

  constructor(
    index: ModelIndex,
    query: Query,
    where: Bound,
    sort: readonly BoundSort[],
    started: number,
    limits: QueryLimits,
  ) {
    this.#index = index;
    this.#query = query;
    this.#where = where;
    this.#sort = sort;
    this.#started = started;
    this.#limits = limits;
    this.#work = new Work(limits, false, started);
  }

  async finish<T>(use: (found: Found) => T): Promise<Awaited<T>> {
    const prepared = await this.#prepare();
    const answer = evaluate(
      this.#index,
      this.#query,
      this.#where,
      this.#sort,
      this.#work,
      this.#started,
      this.#limits,
      prepared,
    );
    this.#giveBack(prepared);
    return await use(answer);
  }

  /** As `runIds`. */
  async ids(): Promise<Float64Array> {
    const index = this.#index;
    const prepared = await this.#prepare();
    const evaluation = new Evaluation(index, this.#work, prepared);
    const observer = index.observe();
    try {
      const matches = evaluation.evaluate(this.#where, this.#query.names);
      const range = rankRangeOfMatches(index, this.#where, this.#sort, this.#query, matches);
      const ids = new Float64Array(matches.count);
      const pager = new Pager(index, evaluation, this.#work, matches, this.#sort, range);
      for (let at = 0; at < ids.length; ) {
        for (const slot of pager.page(at, idsAtOnce)) ids[at++] = index.ids[slot]!;
        if (at < ids.length && this.#work.sliceIsOver) await this.#letOthers();
        if (observer.touched.size > 0) throw new Error('an index changed while its ids were put in order');
      }
      return ids;
    } finally {
      observer.stop();
      evaluation.release();
      this.#giveBack(prepared);
    }
  }

  #giveBack(prepared: ReadonlyMap<KeyCondition, SlotSet>): void {
    for (const { words } of prepared.values()) if (words) this.#index.scratch.release(words);
  }

  /** What satisfies the costly conditions, collected in slices, as it is now. */
  async #prepare(): Promise<ReadonlyMap<KeyCondition, SlotSet>> {
    const index = this.#index;
    const prepared = new Map<KeyCondition, SlotSet>();
    const observer = index.observe();
    try {
      for (const condition of costlyConditions(this.#where)) prepared.set(condition, await this.#collect(condition));
      await this.#letOthers();
      for (const [condition, set] of prepared) {
        const test = tester(index.fields[condition.field]!, condition);
        for (const slot of observer.touched) {
          if (index.names.has(slot) && test(slot)) set.add(slot);
          else set.remove(slot);
        }
      }
    } finally {
      observer.stop();
    }
    return prepared;
  }

  /** Everything that satisfies the condition, but for what changes while this goes on. */
  async #collect(condition: KeyCondition): Promise<SlotSet> {
    const index = this.#index;
    const field = index.fields[condition.field]!;
    const { memory } = index;
    let words = index.scratch.take(index.limit);
    for (const range of condition.ranges) {
      let [low, high] = rankRangeOf(field, range);
      while (low < high) {
        const to = Math.min(low + this.#work.portion, high);
        markAccepted(field, condition, low, to, words);
        this.#work.spend(to - low);
        low = to;
        if (low === high || !this.#work.sliceIsOver) continue;
        const item = field.order.at(low - 1);
        const key = field.column.get(item);
        await this.#letOthers();
        // The order has changed: go on behind the last key and item that were seen.
        [, high] = rankRangeOf(field, range);
        low = field.order.rankAfter(key, item);
        words = memory.grown(words, (index.limit >>> 5) + 1);
      }
      if (this.#work.sliceIsOver) await this.#letOthers();
    }
    const count = memory.count(words);
    if (count * 2 > words.length) return SlotSet.ofWords(memory, words, count);
    const few = SlotSet.copyOf(memory, words, count);
    index.scratch.release(words);
    return few;
  }

  async #letOthers(): Promise<void> {
    await (this.#limits.nextTurn?.() ?? nextTurn());
    this.#work.nextSlice();
  }
}

/** Conditions whose objects have to be read from the order: all but single keys. */
function* costlyConditions(bound: Bound): Generator<KeyCondition> {
  if (bound.op === 'not') yield* costlyConditions(bound.of);
  else if (bound.op === 'and' || bound.op === 'or') for (const one of bound.of) yield* costlyConditions(one);
  else if (bound.op === 'keys' && !(bound.ranges.length === 1 && isSingleKey(bound.ranges[0]!))) yield bound;
}
