/**
 * Writes of this process that are under way: handed to the store, and not yet in the indexes or known to have failed. On a
 * store that no other process writes to, the indexes and these writes together say who has a unique value.
 */
export class WritesUnderWay {
  readonly #writes = new Set<Promise<void>>();
  /** By the unique values that a write takes or gives up. */
  readonly #byKey = new Map<string, Promise<void>>();

  /** The end of a write that takes or gives up one of these unique values. */
  with(keys: readonly string[]): Promise<void> | undefined {
    for (const key of keys) {
      const ended = this.#byKey.get(key);
      if (ended) return ended;
    }
    return undefined;
  }

  /**
   * A write is about to be handed over.
   * @param keys unique values that it takes or gives up, and that no other write under way does
   * @returns to be called when the indexes tell its outcome, or it certainly has none
   */
  begin(keys: readonly string[]): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#writes.add(promise);
    for (const key of keys) this.#byKey.set(key, promise);
    return () => {
      this.#writes.delete(promise);
      for (const key of keys) this.#byKey.delete(key);
      resolve();
    };
  }

  get none(): boolean {
    return this.#writes.size === 0;
  }

  /** Resolves when those that are under way now have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#writes);
  }
}
