/**
 * How many lines of all bulk requests together are worked on at the same time. A sender of lines is never told that there is
 * too much to do: its lines are read later. What it has not sent yet waits at its end of the connection.
 */

export interface LineGateLimits {
  /** Lines worked on at the same time: two full transactions, so that the store never waits for the next. */
  readonly lines: number;
  /** Bytes of these lines. */
  readonly bytes: number;
  /** Lines that are worked on however slow the store is. */
  readonly few: number;
  /** Milliseconds for which the oldest write may wait for the store while there are more than a few. */
  readonly age: number;
}

interface Waiting {
  readonly bytes: number;
  readonly enter: () => void;
}

export class LineGate {
  readonly #limits: LineGateLimits;
  readonly #writes: { readonly age: number };
  readonly #waiting: Waiting[] = [];
  #lines = 0;
  #bytes = 0;

  /** @param writes the commit queue */
  constructor(limits: LineGateLimits, writes: { readonly age: number }) {
    this.#limits = limits;
    this.#writes = writes;
  }

  /** Counts a line in. Undefined: it may be begun; else the promise resolves when it may, in the order of the calls. */
  enter(bytes: number): Promise<void> | undefined {
    if (this.#waiting.length > 0 || !this.#isOpen()) {
      return new Promise((enter) => {
        this.#waiting.push({ bytes, enter });
      });
    }
    this.#take(bytes);
    return undefined;
  }

  /** Counts a line out that was let in, with the bytes that it came in with. */
  leave(bytes: number): void {
    this.#lines--;
    this.#bytes -= bytes;
    while (this.#waiting.length > 0 && this.#isOpen()) {
      const next = this.#waiting.shift()!;
      this.#take(next.bytes);
      next.enter();
    }
  }

  #take(bytes: number): void {
    this.#lines++;
    this.#bytes += bytes;
  }

  /** Never shut without a line that will leave. */
  #isOpen(): boolean {
    const { lines, bytes, few, age } = this.#limits;
    if (this.#lines === 0) return true;
    if (this.#lines >= lines || this.#bytes >= bytes) return false;
    return this.#lines < few || this.#writes.age <= age;
  }
}
