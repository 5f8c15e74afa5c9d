/** What a query may cost, and what it did cost. */

import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';

export interface QueryLimits {
  /** Milliseconds, monotonic. */
  now(): number;
  /** Where a query that does not fit into one slice goes on; default the next turn of the event loop. */
  nextTurn?(): Promise<void>;
  /** Milliseconds that a query may take from call to answer; over it: QueryLimit. */
  readonly timeLimit: number;
  /** Milliseconds that a query may hold the event loop at once; default 8. */
  readonly slice?: number;
  /** Rows between two looks at the clock; default 2,048. */
  readonly portion?: number;
}

const text: Text = localized(
  'The query took longer than {limit} ms; request less, or add a condition that an index narrows',
);

/** Thrown when a query cannot be answered within one slice. */
export class SliceOver extends Error {}

export class Work {
  /** Rows looked at. */
  touched = 0;
  /** True: `spend` throws SliceOver when the slice is over. */
  readonly #whole: boolean;
  readonly #limits: QueryLimits;
  readonly #end: number;
  #sliceEnd: number;
  /** Rows between two looks at the clock. */
  readonly portion: number;
  #credit: number;

  constructor(limits: QueryLimits, whole: boolean, started = limits.now()) {
    this.#limits = limits;
    this.#whole = whole;
    this.portion = limits.portion ?? 2048;
    this.#credit = this.portion;
    this.#end = started + limits.timeLimit;
    this.#sliceEnd = started + (limits.slice ?? 8);
  }

  spend(rows: number): void {
    this.touched += rows;
    this.#credit -= rows;
    if (this.#credit > 0) return;
    this.#credit = this.portion;
    const now = this.#limits.now();
    if (now > this.#end) this.fail();
    if (this.#whole && now > this.#sliceEnd) throw new SliceOver();
  }

  /** True when it is time to let the event loop free. */
  get sliceIsOver(): boolean {
    const now = this.#limits.now();
    if (now > this.#end) this.fail();
    return now > this.#sliceEnd;
  }

  nextSlice(): void {
    const now = this.#limits.now();
    if (now > this.#end) this.fail();
    this.#sliceEnd = now + (this.#limits.slice ?? 8);
  }

  fail(): never {
    throw new KindredError('QueryLimit', text, {
      params: { limit: this.#limits.timeLimit },
      headers: { 'retry-after': '1' },
    });
  }
}
