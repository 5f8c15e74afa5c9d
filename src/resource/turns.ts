import { setImmediate as nextTurn } from 'node:timers/promises';

/** Milliseconds that work may go on without giving the event loop back. */
export const slice = 5;

/** Of work that goes on for long: other work of the process gets its turn every few milliseconds. */
export class Turns {
  readonly #now: () => number;
  readonly #length: number;
  #end: number;

  /** @param now milliseconds, never going back */
  constructor(now: () => number, length = slice) {
    this.#now = now;
    this.#length = length;
    this.#end = now() + length;
  }

  get isDue(): boolean {
    return this.#now() >= this.#end;
  }

  async take(): Promise<void> {
    await nextTurn();
    this.#end = this.#now() + this.#length;
  }
}
