/**
 * How long the event loop is held, in processor time of its thread: what other programs do does not count, what Node does
 * itself (garbage collection, compilation) does.
 */
import { slowness, threadTime } from '../slowness.ts';

/** Milliseconds of processor time for which one turn of the event loop may go on. */
export const turnLimit = 50;

/** Watches every turn of the event loop while it runs. One turn: from one phase of `setImmediate` to the next. */
export class LoopGuard {
  #longest = 0;
  #last = threadTime();
  #next = this.#await();

  /** Does not keep the loop awake: it runs in turns that there are anyway. */
  #await(): NodeJS.Immediate {
    return setImmediate(() => {
      this.#count();
      this.#next = this.#await();
    }).unref();
  }

  #count(): void {
    const now = threadTime();
    this.#longest = Math.max(this.#longest, now - this.#last);
    this.#last = now;
  }

  /** The longest turn since the last call, the one under way included, in milliseconds of processor time. */
  take(): number {
    this.#count();
    const longest = this.#longest;
    this.#longest = 0;
    return longest;
  }

  stop(): void {
    clearImmediate(this.#next);
  }
}

/**
 * The longest turn of the shortest of up to three attempts: what is compiled or loaded once does not count, what is done
 * each time does.
 * @throws Error naming what was done, when that is longer than a turn may be
 */
export async function assertTurns(what: string, first: number, again: () => Promise<number>): Promise<void> {
  let longest = first;
  for (let attempt = 1; attempt < 3 && longest > turnLimit; attempt++) longest = Math.min(longest, await again());
  if (longest <= turnLimit || longest <= turnLimit * slowness()) return;
  throw new Error(
    `${what} held the event loop for ${Math.round(longest)} ms of processor time, ${turnLimit} are allowed`,
  );
}
