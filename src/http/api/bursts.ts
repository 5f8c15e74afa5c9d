/**
 * What watches send in one turn of the event loop: frames that follow each other are joined, once for all the streams that
 * send the same, and written by one call for each stream. Many streams are written to in slices of several turns.
 */
import { TimeSlice } from '../../runtime/time-slice.ts';

/** Bytes from which on nothing is joined any more: the call that writes them costs less than they do. */
const burstSize = 64 * 1024;

/** Frames that follow each other. */
export class Burst {
  readonly length: number;
  readonly #before: Burst | undefined;
  readonly #frame: Buffer;
  /** The last that was made by `with`. */
  #after: Burst | undefined;
  #bytes: Buffer | undefined;

  constructor(frame: Buffer = Buffer.alloc(0), before?: Burst) {
    this.length = (before ? before.length : 0) + frame.length;
    this.#frame = frame;
    this.#before = before;
  }

  hasRoomFor(frame: Buffer): boolean {
    return this.length + frame.length <= burstSize;
  }

  /** With one frame more: the same burst for all streams that ask with the same frame, one after another. */
  with(frame: Buffer): Burst {
    const after = this.#after;
    if (after && after.#frame === frame) return after;
    this.#after = new Burst(frame, this);
    return this.#after;
  }

  get bytes(): Buffer {
    this.#bytes ??= this.#join();
    return this.#bytes;
  }

  #join(): Buffer {
    if (this.#frame.length === this.length) return this.#frame;
    const frames: Buffer[] = [];
    for (let burst: Burst | undefined = this; burst; burst = burst.#before) frames.push(burst.#frame);
    return Buffer.concat(frames.reverse(), this.length);
  }
}

interface Stream {
  /** Writes what waits in it. */
  flush(): void;
}

/** The streams in which something waits to be written at the end of the turn. */
export class BurstQueue<Format extends string> {
  readonly #now: () => number;
  readonly #empty = new Map<Format, Burst>();
  readonly #streams = new Set<Stream>();
  #isFlushing = false;

  /** @param now milliseconds, never going back */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Where the bursts of a format begin. */
  empty(format: Format): Burst {
    const known = this.#empty.get(format);
    if (known) return known;
    const empty = new Burst();
    this.#empty.set(format, empty);
    return empty;
  }

  /** `flush` is called at the end of this turn, or of one of the next when many wait. */
  add(stream: Stream): void {
    this.#streams.add(stream);
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    setImmediate(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    const slice = new TimeSlice(this.#now);
    for (const stream of this.#streams) {
      this.#streams.delete(stream);
      stream.flush();
      if (slice.isOver) await slice.renew();
    }
    this.#isFlushing = false;
    // What was sent is not kept.
    this.#empty.clear();
  }
}
