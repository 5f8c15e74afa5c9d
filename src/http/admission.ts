/**
 * Who waits when there is more to do than can be done, and who is refused. Requests are begun as they come for a slice of
 * time in each turn of the event loop; the others wait in line, so that timers, watches, new connections and health have
 * their turn too. Who waited too long in a line that does not get shorter is refused ("controlled delay": Nichols and
 * Jacobson, RFC 8289; with two fixed limits as in Maurer, "Fail at Scale", ACM Queue 13, 8).
 */
import type { Exchange } from './exchange.ts';
import type { AdmissionLimits } from './limits.ts';

export interface AdmissionParts {
  readonly limits: AdmissionLimits;
  /** Milliseconds, never going back. */
  readonly now: () => number;
  /** Asks that `endTurn` be called once the I/O that is at hand has been dealt with. */
  readonly awaitEnd: () => void;
  /** The commit queue. */
  readonly writes: { readonly length: number; readonly age: number };
  /** Serves a request that waited. Must not throw. */
  readonly begin: (exchange: Exchange) => void;
  readonly refuse: (exchange: Exchange) => void;
  /** Told now and then while requests are refused, with their number since it was told last. */
  readonly warn: (refused: number) => void;
}

/** Milliseconds between two warnings. */
const warningInterval = 10_000;

/** Requests that are begun one after the other, and how often in a turn: enough to fill a slice with the cheapest. */
const portion = 16;
const mostPortions = 128;

export class Admission {
  readonly #parts: AdmissionParts;
  readonly #refused = { requests: 0, writes: 0 };
  /** Of them, those that `warn` was told of. */
  #told = 0;
  #toldAt = Number.NEGATIVE_INFINITY;
  /** When the first request of this turn came; undefined before that. */
  #turnBegan: number | undefined;
  #line: Exchange[] = [];
  /** Place of the first of the line in the list; those before it have left. */
  #first = 0;
  /** When there was nobody in line last. */
  #emptyAt = 0;
  /** When this turn begins no more of those in line. */
  #sliceEnd = 0;
  readonly #work = () => this.#beginSome();

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /** Requests in line. */
  get waiting(): number {
    return this.#line.length - this.#first;
  }

  /** Refused since the start: because there were too many `requests` at once, or too many `writes` waited for the store. */
  get refused(): Readonly<Record<'requests' | 'writes', number>> {
    return this.#refused;
  }

  /** True: begin it now. False: it waits in line, or is refused already. */
  admits(exchange: Exchange): boolean {
    const { started } = exchange;
    if (this.#turnBegan === undefined) {
      this.#turnBegan = started;
      this.#parts.awaitEnd();
    }
    if (this.#line.length === 0) {
      if (started - this.#turnBegan <= this.#parts.limits.slice) return !this.#isWriteTooMany(exchange, started);
      this.#emptyAt = started;
    }
    this.#line.push(exchange);
    return false;
  }

  /** The first of what comes after the I/O of a turn: here the slice of those in line begins. */
  endTurn(): void {
    this.#turnBegan = undefined;
    if (this.#line.length === 0) return;
    const { limits, now, awaitEnd } = this.#parts;
    this.#line = this.#line.slice(this.#first);
    this.#first = 0;
    this.#sliceEnd = now() + limits.slice;
    awaitEnd();
    // They run in the next turn. What a request does after its first promise is done between two of them, and so counts.
    const portions = Math.min(Math.ceil(this.#line.length / portion), mostPortions);
    for (let i = 0; i < portions; i++) setImmediate(this.#work);
  }

  #beginSome(): void {
    const { limits, now, begin } = this.#parts;
    for (let i = 0; i < portion && this.waiting > 0; i++) {
      const time = now();
      if (time > this.#sliceEnd) return;
      const { waiting } = this;
      const exchange = this.#line[this.#first++]!;
      // Nobody is there to read the answer.
      if (exchange.request.socket.destroyed) exchange.finish(499);
      else if (waiting > limits.crowd && time - exchange.started > this.#patience(time)) {
        this.#refuse(exchange, 'requests', time);
      } else if (!this.#isWriteTooMany(exchange, time)) begin(exchange);
    }
    if (this.waiting > 0) return;
    this.#line = [];
    this.#first = 0;
  }

  /** Milliseconds that a request may have waited: a burst is worked off, a line that stands is kept short. */
  #patience(now: number): number {
    const { burst, standing } = this.#parts.limits;
    return now - this.#emptyAt > burst ? standing : burst;
  }

  #isWriteTooMany(exchange: Exchange, now: number): boolean {
    const { limits, writes } = this.#parts;
    if (writes.length <= limits.crowd || !isWrite(exchange.method) || writes.age <= limits.writes) return false;
    this.#refuse(exchange, 'writes', now);
    return true;
  }

  #refuse(exchange: Exchange, tooMany: 'requests' | 'writes', now: number): void {
    const { refuse, warn } = this.#parts;
    refuse(exchange);
    this.#refused[tooMany]++;
    if (now - this.#toldAt < warningInterval) return;
    const all = this.#refused.requests + this.#refused.writes;
    warn(all - this.#told);
    this.#told = all;
    this.#toldAt = now;
  }
}

function isWrite(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD';
}
