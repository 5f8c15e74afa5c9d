/**
 * Turns of the event loop for work in parts. Everything that takes long asks here between its parts, and those that ask
 * at the same time go one after another: many requests at once hold the loop no longer than one of them.
 */

/** Milliseconds for which parts are begun within one turn; a part that was begun ends as it may. */
const slice = 8;

export class Turns {
  readonly #now: () => number;
  readonly #waiting: (() => void)[] = [];
  #scheduled = false;
  #sliceEnd = 0;

  /** @param now milliseconds, never going back */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Resolves in a later turn of the event loop. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#schedule();
    });
  }

  /** For one piece of work, from now on. */
  pace(): Pace {
    return new Pace(this, this.#now);
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#sliceEnd = this.#now() + slice;
      this.#begin();
    });
  }

  #begin(): void {
    this.#waiting.shift()!();
    // Behind every microtask of the part that goes on now.
    queueMicrotask(() => process.nextTick(() => this.#ended()));
  }

  #ended(): void {
    if (this.#waiting.length > 0 && this.#now() < this.#sliceEnd) {
      this.#begin();
      return;
    }
    this.#scheduled = false;
    this.#schedule();
  }
}

/** One piece of work in parts: `if (pace.isOver) await pace.rest()` stands between them. */
export class Pace {
  readonly #turns: Turns;
  readonly #now: () => number;
  #end: number;

  constructor(turns: Turns, now: () => number) {
    this.#turns = turns;
    this.#now = now;
    this.#end = now() + slice;
  }

  /** True when the work has had the event loop for long enough. */
  get isOver(): boolean {
    return this.#now() >= this.#end;
  }

  async rest(): Promise<void> {
    await this.#turns.next();
    this.#end = this.#now() + slice;
  }
}
