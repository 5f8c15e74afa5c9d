/** Time slices of the event loop: *work* that takes long is done in parts, and other work of the process goes on in between. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Parts } from './parts.ts';

/** Milliseconds that work may go on without giving the event loop back. */
export const sliceLength = 5;

/** Of one work: `if (slice.isOver) await slice.renew()` stands between its parts. */
export class TimeSlice {
  readonly #now: () => number;
  readonly #length: number;
  readonly #next: () => Promise<void>;
  #end: number;

  /**
   * @param now milliseconds, never going back
   * @param next resolves in a later turn of the event loop
   */
  constructor(now: () => number, length = sliceLength, next: () => Promise<void> = nextTurn) {
    this.#now = now;
    this.#length = length;
    this.#next = next;
    this.#end = now() + length;
  }

  get isOver(): boolean {
    return this.#now() >= this.#end;
  }

  /** Resolves in a later turn of the event loop, in which the work may go on. */
  async renew(): Promise<void> {
    await this.#next();
    this.#end = this.#now() + this.#length;
  }

  async run<T>(work: Parts<T>): Promise<T> {
    for (;;) {
      const part = work.next();
      if (part.done) return part.value;
      if (this.isOver) await this.renew();
    }
  }
}

/**
 * Where the works of many requests ask for their next turn: those that ask at the same time go on one after another, so
 * that many of them hold the event loop no longer than one.
 */
export class TurnQueue {
  readonly #now: () => number;
  readonly #length: number;
  readonly #waiting: (() => void)[] = [];
  #isOpen = false;
  #sliceEnd = 0;

  /**
   * @param now milliseconds, never going back
   * @param length milliseconds of a turn that all works together may take
   */
  constructor(now: () => number, length = sliceLength) {
    this.#now = now;
    this.#length = length;
  }

  /** Resolves in a later turn of the event loop. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#open();
    });
  }

  /** For one work, from now on. */
  slice(): TimeSlice {
    return new TimeSlice(this.#now, this.#length, () => this.next());
  }

  #open(): void {
    if (this.#isOpen || this.#waiting.length === 0) return;
    this.#isOpen = true;
    setImmediate(() => {
      this.#sliceEnd = this.#now() + this.#length;
      this.#begin();
    });
  }

  #begin(): void {
    this.#waiting.shift()!();
    // Behind every microtask of the work that goes on now.
    queueMicrotask(() => process.nextTick(() => this.#ended()));
  }

  #ended(): void {
    if (this.#waiting.length > 0 && this.#now() < this.#sliceEnd) {
      this.#begin();
      return;
    }
    this.#isOpen = false;
    this.#open();
  }
}
