/** The event loop in turns: *work* that takes long is done in parts, and other work of the process gets its turn in between. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Milliseconds that work may go on without giving the event loop back. */
export const slice = 5;

/** Of one work: `if (turns.isDue) await turns.take()` stands between its parts. */
export class Turns {
  readonly #now: () => number;
  readonly #length: number;
  readonly #next: () => Promise<void>;
  #end: number;

  /**
   * @param now milliseconds, never going back
   * @param next resolves in a later turn of the event loop
   */
  constructor(now: () => number, length = slice, next: () => Promise<void> = nextTurn) {
    this.#now = now;
    this.#length = length;
    this.#next = next;
    this.#end = now() + length;
  }

  get isDue(): boolean {
    return this.#now() >= this.#end;
  }

  async take(): Promise<void> {
    await this.#next();
    this.#end = this.#now() + this.#length;
  }
}

/**
 * Where the works of many requests ask for their next turn: those that ask at the same time go on one after another, so
 * that many of them hold the event loop no longer than one.
 */
export class TurnQueue {
  readonly #now: () => number;
  readonly #waiting: (() => void)[] = [];
  #isOpen = false;
  #sliceEnd = 0;

  /** @param now milliseconds, never going back */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Resolves in a later turn of the event loop. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#open();
    });
  }

  /** For one work, from now on. */
  turns(): Turns {
    return new Turns(this.#now, slice, () => this.next());
  }

  #open(): void {
    if (this.#isOpen || this.#waiting.length === 0) return;
    this.#isOpen = true;
    setImmediate(() => {
      this.#sliceEnd = this.#now() + slice;
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
