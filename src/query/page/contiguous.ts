/** The matches of a query along the order of a sort, and the simplest of them: all objects between two ranks. */
import type { NumberRange } from '../number-range.ts';

/** Matches along an order; ranks are the order's own. */
export interface RankedMatches {
  readonly count: number;
  has(slot: number): boolean;
  /** The same as bits, where there are any: a match is a slot whose bit is not `absent`. */
  readonly bits: Uint32Array | undefined;
  readonly absent: 0 | 1;
  readonly range: NumberRange | undefined;
  /** Rank of the j-th match, j from 0. */
  select(j: number): number;
  /** Number of matches of lower rank. */
  countBefore(rank: number): number;
}

/** All objects between two ranks. */
export class Contiguous implements RankedMatches {
  readonly count: number;
  readonly bits = undefined;
  readonly absent = 0;
  readonly range = undefined;
  readonly #low: number;
  readonly #high: number;

  constructor(low: number, high: number) {
    this.#low = low;
    this.#high = high;
    this.count = high - low;
  }

  /** Only objects of matching runs are asked for. */
  has(): boolean {
    return true;
  }

  select(j: number): number {
    return this.#low + j;
  }

  countBefore(rank: number): number {
    return Math.min(Math.max(rank, this.#low), this.#high) - this.#low;
  }
}
