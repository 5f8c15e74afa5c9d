/**
 * How long the event loop is held, in processor time of its thread: other programs on the machine do not count, what
 * Node does itself (garbage collection, compilation) does.
 */

/** Milliseconds of processor time that this thread has used; Linux counts in steps of up to 4 ms. */
export function threadTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Watches every turn of the event loop while it runs. One turn: from one `setImmediate` phase to the next. */
export class LoopGuard {
  #longest = 0;
  #last = threadTime();
  #next: NodeJS.Immediate;

  constructor() {
    this.#next = this.#await();
  }

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
