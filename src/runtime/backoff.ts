/** How long a name waits after its n-th failure in a row: `minDelay`, doubled each time, at most `maxDelay` (contract section 8). */
export class Backoff {
  readonly #minDelay: number;
  readonly #maxDelay: number;
  readonly #failures = new Map<string, number>();

  constructor(options: { /** Milliseconds. */ minDelay: number; maxDelay: number }) {
    this.#minDelay = options.minDelay;
    this.#maxDelay = options.maxDelay;
  }

  /** Counts one more failure and says how many milliseconds to wait. */
  next(name: string): number {
    const before = this.#failures.get(name) ?? 0;
    this.#failures.set(name, before + 1);
    return Math.min(this.#maxDelay, this.#minDelay * 2 ** Math.min(before, 1_000));
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
