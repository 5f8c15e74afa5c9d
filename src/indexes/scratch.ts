/** Bitmaps for the time of one query, used again and again: memory of this size is dear to allocate. */
export class Scratch {
  readonly #free: Uint32Array<ArrayBuffer>[] = [];

  /** All zero, long enough for slots below `limit`. */
  take(limit: number): Uint32Array<ArrayBuffer> {
    const length = (limit >>> 5) + 1;
    const words = this.#free.pop();
    if (!words || words.length < length) return new Uint32Array(length + (length >>> 3));
    return words.fill(0);
  }

  release(words: Uint32Array<ArrayBuffer>): void {
    if (this.#free.length < 8) this.#free.push(words);
  }
}
