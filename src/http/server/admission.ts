/**
 * Who waits when there is more to do than can be done, and who is refused. Requests are begun as they come for a slice of
 * time in each turn of the event loop; the others wait in line, so that timers, watches, new connections and health have
 * their turn too. Who waited too long in a line that does not get shorter is refused ("controlled delay": Nichols and
 * Jacobson, RFC 8289; with two fixed limits as in Maurer, "Fail at Scale", ACM Queue 13, 8).
 */
import type { Exchange } from './exchange.ts';
import { ndjson } from './exchange.ts';
import type { AdmissionLimits } from './limits.ts';
import { mediaType } from './negotiate.ts';
import { Refusals } from './refusals.ts';

export interface AdmissionDependencies {
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

/** Requests that are begun one after the other, and how often in a turn: enough to fill a slice with the cheapest. */
const portion = 16;
const mostPortions = 128;

/** Places of those who left a line, before its list is made anew. */
const mostLeft = 1_024;

export class Admission {
  readonly #dependencies: AdmissionDependencies;
  readonly #refusals: Refusals<'requests' | 'writes'>;
  /** When the first request of this turn came; undefined before that. */
  #turnBegan: number | undefined;
  readonly #line = new Fifo();
  /** Those who waited too long, until there is time to tell them. */
  readonly #late = new Fifo();
  /** When there was nobody in line last. */
  #emptyAt = 0;
  /** When this turn begins no more of those in line. */
  #sliceEnd = 0;
  readonly #work = () => this.#beginSome();

  constructor(dependencies: AdmissionDependencies) {
    this.#dependencies = dependencies;
    this.#refusals = new Refusals(['requests', 'writes'], dependencies.warn);
  }

  /** Requests in line. */
  get waiting(): number {
    return this.#line.length + this.#late.length;
  }

  /** Refused since the start: because there were too many `requests` at once, or too many `writes` waited for the store. */
  get refused(): Readonly<Record<'requests' | 'writes', number>> {
    return this.#refusals.counts;
  }

  /** True: begin it now. False: it waits in line, or is refused already. */
  admits(exchange: Exchange): boolean {
    const { started } = exchange;
    if (this.#turnBegan === undefined) {
      this.#turnBegan = started;
      this.#dependencies.awaitEnd();
    }
    if (this.#line.length === 0) {
      if (started - this.#turnBegan <= this.#dependencies.limits.slice) return !this.#isWriteTooMany(exchange, started);
      if (this.#late.length === 0) this.#emptyAt = started;
    }
    this.#line.push(exchange);
    return false;
  }

  /** The first of what comes after the I/O of a turn: here the slice of those in line begins. */
  endTurn(): void {
    this.#turnBegan = undefined;
    if (this.waiting === 0) return;
    const { limits, now, awaitEnd } = this.#dependencies;
    this.#refuseSome(now() + limits.slice / 4);
    this.#sliceEnd = now() + limits.slice;
    awaitEnd();
    // They run in the next turn. What a request does after its first promise is done between two of them, and so counts.
    const portions = Math.min(Math.ceil(this.#line.length / portion), mostPortions);
    for (let i = 0; i < portions; i++) setImmediate(this.#work);
  }

  #beginSome(): void {
    const { now, begin } = this.#dependencies;
    for (let i = 0; i < portion; i++) {
      const time = now();
      if (time > this.#sliceEnd) return;
      this.#passOver(time);
      const exchange = this.#line.shift();
      if (!exchange) return;
      if (isGone(exchange)) exchange.finish(499);
      else if (!this.#isWriteTooMany(exchange, time)) begin(exchange);
    }
  }

  /** Those who waited too long give way to those to whom an answer is still of use. */
  #passOver(now: number): void {
    const { crowd } = this.#dependencies.limits;
    if (this.#line.length <= crowd) return;
    const patience = this.#patience(now);
    while (this.#line.length > crowd && now - this.#line.first!.started > patience)
      this.#late.push(this.#line.shift()!);
  }

  /** A refusal costs a good part of an answer; a flood of them must not take the time of the answers. */
  #refuseSome(end: number): void {
    for (let time = this.#dependencies.now(); this.#late.length > 0 && time <= end; time = this.#dependencies.now()) {
      const exchange = this.#late.shift()!;
      if (isGone(exchange)) exchange.finish(499);
      else this.#refuse(exchange, 'requests', time);
    }
  }

  /** Milliseconds that a request may have waited: a burst is worked off, a line that stands is kept short. */
  #patience(now: number): number {
    const { burst, standing } = this.#dependencies.limits;
    return now - this.#emptyAt > burst ? standing : burst;
  }

  #isWriteTooMany(exchange: Exchange, now: number): boolean {
    const { limits, writes } = this.#dependencies;
    if (writes.length <= limits.crowd || !isWrite(exchange) || writes.age <= limits.writes) return false;
    this.#refuse(exchange, 'writes', now);
    return true;
  }

  #refuse(exchange: Exchange, tooMany: 'requests' | 'writes', now: number): void {
    this.#dependencies.refuse(exchange);
    this.#refusals.add(tooMany, now);
  }
}

/** First in, first out. */
class Fifo {
  #list: Exchange[] = [];
  /** Place of the first; those before it have left. */
  #start = 0;

  get length(): number {
    return this.#list.length - this.#start;
  }

  get first(): Exchange | undefined {
    return this.#list[this.#start];
  }

  push(exchange: Exchange): void {
    this.#list.push(exchange);
  }

  shift(): Exchange | undefined {
    if (this.length === 0) return undefined;
    const exchange = this.#list[this.#start++];
    if (this.#start === this.#list.length || this.#start === mostLeft) {
      this.#list = this.#list.slice(this.#start);
      this.#start = 0;
    }
    return exchange;
  }
}

/** Nobody is there to read the answer. */
function isGone({ request }: Exchange): boolean {
  return request.socket.destroyed;
}

/** One that cannot wait once it has begun: the lines of a bulk request can (`line-gate.ts`). */
function isWrite({ method, request }: Exchange): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  return method !== 'POST' || mediaType(request.headers['content-type']) !== ndjson;
}
