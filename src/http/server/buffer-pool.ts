/**
 * Buffers that are used again once what they held is sent. Memory that is new for each answer costs more than filling
 * it: the pages of the operating system behind it come and go with the garbage collector.
 */
export class BufferPool {
  readonly #size: number;
  readonly #most: number;
  readonly #free: Buffer[] = [];

  /**
   * @param size bytes of each buffer
   * @param most buffers that are kept while nobody needs them
   */
  constructor(size: number, most: number) {
    this.#size = size;
    this.#most = most;
  }

  /** With whatever it held before. One longer than those of the pool is made for this call alone. */
  take(length: number): Buffer {
    if (length > this.#size) return Buffer.allocUnsafeSlow(length);
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#size);
  }

  /** What was taken and is no longer read by anybody; one that never comes back is the garbage collector's. */
  give(buffer: Buffer): void {
    if (buffer.length === this.#size && this.#free.length < this.#most) this.#free.push(buffer);
  }
}
