/** Waits between attempts. Milliseconds. */
export interface Delays {
  /** Before the second attempt. */
  readonly minDelay: number;
  readonly maxDelay: number;
}

/** How long to wait after so many failures in a row: `minDelay`, doubled each time, at most `maxDelay` (docs/reference/controllers.md). */
export function delayAfter(failures: number, { minDelay, maxDelay }: Delays): number {
  return Math.min(maxDelay, minDelay * 2 ** Math.min(failures - 1, 1_000));
}

/** The failures of names, and how long each waits after its latest. */
export class Backoff {
  readonly #delays: Delays;
  readonly #failures = new Map<string, number>();

  constructor(delays: Delays) {
    this.#delays = delays;
  }

  /** Counts one more failure and says how many milliseconds to wait. */
  next(name: string): number {
    const failures = this.failures(name) + 1;
    this.#failures.set(name, failures);
    return delayAfter(failures, this.#delays);
  }

  /** Failures in a row. */
  failures(name: string): number {
    return this.#failures.get(name) ?? 0;
  }

  reset(name: string): void {
    this.#failures.delete(name);
  }

  /** Names whose last call failed. */
  get size(): number {
    return this.#failures.size;
  }
}
