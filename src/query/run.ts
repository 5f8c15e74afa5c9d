/** Answers queries from the indexes in memory. */
import type { ModelIndex } from '../indexes/model-index.ts';
import type { Query } from './query.ts';

/** One object of an answer. */
export interface Ref {
  /** Revision of its creation. */
  readonly id: number;
  /** Revision of its last change. */
  readonly revision: number;
  readonly name: string;
}

export interface QueryResult {
  /** All matches, exactly. */
  readonly total: number;
  /** The page asked for. */
  readonly refs: readonly Ref[];
}

export interface QueryLimits {
  /** Milliseconds, monotonic. */
  now(): number;
  /** Milliseconds that a query may take from call to answer; over it: QueryLimit. */
  readonly timeLimit: number;
  /** Milliseconds that a query may hold the event loop at once; default 8. */
  readonly slice?: number;
}

/** How a query was answered (contract section 4, `explain`). */
export interface Plan {
  /** `index`: straight from the order of the sort; `walk`: along it, testing; `rank`: matches counted along it, then the page alone. */
  readonly strategy: 'none' | 'index' | 'walk' | 'rank' | 'sort';
  readonly indexes: readonly {
    readonly name: string;
    readonly use: 'filter' | 'sort';
    readonly estimatedRows: number;
  }[];
  readonly estimatedRows: number;
  readonly touchedRows: number;
  readonly total: number;
  /** Milliseconds. */
  readonly time: number;
}

export declare function run(index: ModelIndex, query: Query, limits: QueryLimits): QueryResult | Promise<QueryResult>;
export declare function explain(index: ModelIndex, query: Query, limits: QueryLimits): Plan | Promise<Plan>;
/** Ids of all matches in the order of the sort, for exports: `offset` and `limit` do not count. */
export declare function runIds(
  index: ModelIndex,
  query: Pick<Query, 'where' | 'sort' | 'names'>,
  limits: QueryLimits,
): Float64Array | Promise<Float64Array>;
