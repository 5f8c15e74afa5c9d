import type { IndexMemory } from './memory/index-memory.ts';

/** Bitmaps for the time of one query, used again and again: memory of this size is dear to allocate. */
export class Scratch {
  readonly #memory: IndexMemory;
  readonly #free: Uint32Array[] = [];

  constructor(memory: IndexMemory) {
    this.#memory = memory;
  }

  /** All zero, long enough for slots below `limit`. */
  take(limit: number): Uint32Array {
    const words = this.takeUsed(limit);
    this.#memory.clear(words);
    return words;
  }

  /** As `take`, but for what is in it. */
  takeUsed(limit: number): Uint32Array {
    const length = (limit >>> 5) + 1;
    const words = this.#free.pop();
    if (words && words.length >= length) return words;
    if (words) this.#memory.free(words);
    return this.#memory.array(Uint32Array, length + (length >>> 3));
  }

  release(words: Uint32Array): void {
    if (this.#free.length < 8) this.#free.push(words);
    else this.#memory.free(words);
  }
}
