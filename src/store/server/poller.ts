/** Tells listeners that other processes may have committed, by asking for the revision while somebody listens. */
export class Poller {
  readonly #ask: () => Promise<number>;
  readonly #interval: number;
  readonly #listeners = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  #last: number | undefined;

  /** @param interval milliseconds between two questions */
  constructor(ask: () => Promise<number>, interval = 50) {
    this.#ask = ask;
    this.#interval = interval;
  }

  listen(listener: () => void): () => void {
    const own = (): void => listener();
    this.#listeners.add(own);
    if (!this.#timer) this.#schedule();
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size === 0) void this.stop();
    };
  }

  async stop(): Promise<void> {
    this.#listeners.clear();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#last = undefined;
  }

  #schedule(): void {
    this.#timer = setTimeout(() => void this.#poll(), this.#interval);
  }

  async #poll(): Promise<void> {
    try {
      const revision = await this.#ask();
      const moved = this.#last !== revision;
      this.#last = revision;
      if (moved) for (const listener of this.#listeners) listener();
    } catch {
      // The database cannot be reached: whoever reads learns it from the read; the next question comes all the same.
    }
    if (this.#timer) this.#schedule();
  }
}
