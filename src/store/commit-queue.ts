/**
 * Group commit: writes that arrive while a commit is under way go into the next one, so that one transaction and one
 * fsync serve all of them. One queue has at most one commit under way; the next begins before the callers of the one
 * before are told, so that store and memory work at the same time.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TimeSlice } from '../runtime/time-slice.ts';
import type { Timers } from '../runtime/timers.ts';
import { awaitedTimers } from '../runtime/timers.ts';
import { notReady, tooManyWrites, unknownOutcome } from './failure.ts';
import type { Commits, Write, WriteResult } from './store.ts';

export interface CommittedWrite {
  readonly write: Write;
  readonly result: Extract<WriteResult, { ok: true }>;
}

/** A store that works in another thread can have answered before the event loop comes to the answer. */
export interface CommittingStore extends Commits {
  /** Resolves the promises of those commits to which the answer is there by now; false when there is none. */
  receive?(): boolean;
}

export interface CommitQueueOptions {
  /** Milliseconds since the epoch, for the change log. */
  readonly now: () => number;
  /** Milliseconds, never going back, for the time-out. Default `performance.now`. */
  readonly monotonicNow?: () => number;
  /** Writes in one transaction, at most. Default 1,000. */
  readonly maxWrites?: number;
  /** Bytes of content in one transaction, at most (a single write may have more). Default 4 MiB. */
  readonly maxBytes?: number;
  /** Writes that may wait; one more is refused with NotReady. Default 20,000. */
  readonly maxWaiting?: number;
  /** Bytes of content that may wait. Default 64 MiB. */
  readonly maxWaitingBytes?: number;
  /** Milliseconds after which a write is answered even though its commit is not: UnknownOutcome, NotReady when it was not sent. Default 10,000. */
  readonly timeout?: number;
  /** Default: the machine's. */
  readonly timers?: Pick<Timers, 'after'>;
  /**
   * The successful writes of a transaction in revision order, before their promises resolve; also of writes whose
   * callers were told UnknownOutcome in the meantime. A large transaction is told in several calls. Must not throw.
   */
  readonly onCommitted?: (batch: readonly CommittedWrite[], time: number) => void;
  /** A transaction's outcome is not known: whoever mirrors the store must read the change log before going on. The next one starts when the promise resolves. */
  readonly onUnknown?: () => void | Promise<void>;
  /** Milliseconds that a transaction took, how many writes it made durable, and how many were in it. Must not throw. */
  readonly onDuration?: (milliseconds: number, stored: number, writes: number) => void;
}

interface Waiting {
  readonly write: Write;
  /** On the monotonic clock. */
  readonly deadline: number;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: unknown) => void;
  readonly settled: (result?: WriteResult) => void;
  answered: boolean;
}

/**
 * Writes that are told about in one time slice, at most: each is brought into the indexes, sent to whoever watches,
 * answered, and followed by the next of its caller.
 */
const writesInARow = 32;
/** Writes that are told about at once, and their bytes: a single one may have more. */
const handful = { writes: 8, bytes: 16 * 2 ** 10 };

export class CommitQueue {
  readonly #store: CommittingStore;
  readonly #options: Required<Omit<CommitQueueOptions, 'onCommitted' | 'onUnknown' | 'onDuration'>> &
    CommitQueueOptions;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #underWay: Waiting[] = [];
  #running: Promise<void> | undefined;
  /** In this turn of the event loop. */
  #hasReceived = false;
  #cancelTimer: (() => void) | undefined;
  #stopped = false;

  constructor(store: CommittingStore, options: CommitQueueOptions) {
    this.#store = store;
    this.#options = {
      maxWrites: 1_000,
      maxBytes: 4 * 2 ** 20,
      maxWaiting: 20_000,
      maxWaitingBytes: 64 * 2 ** 20,
      timeout: 10_000,
      timers: awaitedTimers,
      monotonicNow: () => performance.now(),
      ...options,
    };
  }

  /** Writes that wait for a transaction or are in one. */
  get length(): number {
    return this.#waiting.length + this.#underWay.length;
  }

  /** Milliseconds for which the oldest of them has been there; 0 without any. */
  get age(): number {
    const oldest = this.#underWay[0] ?? this.#waiting[0];
    return oldest ? this.#options.monotonicNow() - (oldest.deadline - this.#options.timeout) : 0;
  }

  /**
   * Resolves when the write is durable, or was refused for a reason of its own (`ok: false`). Rejects with NotReady
   * and StorageFull (not applied) or UnknownOutcome.
   * @param settled called once when nothing more comes of the write, which may be long after it was answered: with its
   * result after `onCommitted`, without one when it failed or was not sent, or after `onUnknown`. Must not throw
   */
  commit(write: Write, settled: (result?: WriteResult) => void = () => {}): Promise<WriteResult> {
    if (this.#stopped) {
      settled();
      return Promise.reject(notReady('the service is stopping'));
    }
    const bytes = this.#waitingBytes + write.bytes.byteLength;
    if (
      this.#waiting.length >= this.#options.maxWaiting ||
      (this.#waiting.length > 0 && bytes > this.#options.maxWaitingBytes)
    ) {
      settled();
      return Promise.reject(tooManyWrites());
    }
    return new Promise((resolve, reject) => {
      const deadline = this.#options.monotonicNow() + this.#options.timeout;
      this.#waiting.push({ write, deadline, resolve, reject, settled, answered: false });
      this.#waitingBytes = bytes;
      this.#cancelTimer ??= this.#options.timers.after(this.#options.timeout, () => this.#expire());
      // Once the I/O that is at hand has been dealt with.
      this.#running ??= nextTurn().then(() => this.#run());
      this.#receive();
    });
  }

  /**
   * A turn of the event loop can take longer than a commit. Once in a turn, the next commit begins in it, when as many writes wait as
   * are under way: smaller ones would be many, and without turns between them nothing else would be done.
   */
  #receive(): void {
    const isDue = this.#underWay.length > 0 && this.#waiting.length >= this.#underWay.length;
    if (!isDue || this.#hasReceived || !this.#store.receive?.()) return;
    this.#hasReceived = true;
    setImmediate(() => {
      this.#hasReceived = false;
    });
  }

  /** Refuses further writes and resolves when those accepted so far are answered. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    let sent = this.#send();
    while (sent) {
      const { batch, time, outcome } = sent;
      const answer = await outcome;
      sent = undefined;
      if ('results' in answer) {
        const slice = new TimeSlice(this.#options.monotonicNow);
        let sliceStart = 0;
        for (let at = 0; at < batch.length; ) {
          // The store works on the next batch while this one is told about.
          sent ??= this.#send();
          if (at > 0 && (at - sliceStart >= writesInARow || slice.isOver)) {
            await slice.renew();
            sliceStart = at;
          }
          const end = handfulEnd(batch, at);
          this.#settle(batch.slice(at, end), answer.results.slice(at, end), time);
          at = end;
        }
      } else await this.#fail(batch, answer.failure);
      sent ??= this.#send();
    }
    this.#running = undefined;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** Begins a transaction with what waits; undefined when nothing does. */
  #send() {
    const batch = this.#take();
    this.#underWay = batch;
    if (batch.length === 0) return undefined;
    const time = this.#options.now();
    const writes = batch.map((one) => one.write);
    const began = this.#options.monotonicNow();
    const told = (stored: number) =>
      this.#options.onDuration?.(this.#options.monotonicNow() - began, stored, writes.length);
    const outcome = Promise.try(() => this.#store.commit(writes, time)).then(
      (results) => {
        told(results.reduce((sum, { ok }) => (ok ? sum + 1 : sum), 0));
        return { results };
      },
      (failure: unknown) => {
        told(0);
        return { failure };
      },
    );
    return { batch, time, outcome };
  }

  #take(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const one of this.#waiting) {
      const more = bytes + one.write.bytes.byteLength;
      if (count === this.#options.maxWrites || (count > 0 && more > this.#options.maxBytes)) break;
      bytes = more;
      count++;
    }
    const batch = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    this.#waitingBytes -= bytes;
    return batch;
  }

  #settle(batch: readonly Waiting[], results: readonly WriteResult[], time: number): void {
    const committed: CommittedWrite[] = [];
    for (let i = 0; i < batch.length; i++) {
      const result = results[i]!;
      if (result.ok) committed.push({ write: batch[i]!.write, result });
    }
    if (committed.length > 0) this.#options.onCommitted?.(committed, time);
    for (let i = 0; i < batch.length; i++) {
      batch[i]!.answered = true;
      batch[i]!.settled(results[i]!);
      batch[i]!.resolve(results[i]!);
    }
  }

  async #fail(batch: readonly Waiting[], failure: unknown): Promise<void> {
    const unknown = (failure as { code?: unknown }).code === 'UnknownOutcome';
    if (unknown) await this.#options.onUnknown?.();
    for (const one of batch) {
      one.answered = true;
      one.settled();
      one.reject(failure);
    }
  }

  #expire(): void {
    const now = this.#options.monotonicNow();
    for (const one of this.#underWay) {
      if (one.answered || one.deadline > now) continue;
      one.answered = true;
      one.reject(unknownOutcome('the database did not answer in time'));
    }
    const late = this.#waiting.filter((one) => one.deadline <= now);
    if (late.length > 0) {
      this.#waiting = this.#waiting.filter((one) => one.deadline > now);
      for (const one of late) {
        this.#waitingBytes -= one.write.bytes.byteLength;
        one.settled();
        one.reject(notReady('the database did not take further writes in time'));
      }
    }
    const next = this.#underWay.find((one) => !one.answered) ?? this.#waiting[0];
    const { timers } = this.#options;
    this.#cancelTimer = next && timers.after(Math.max(next.deadline - now, 1), () => this.#expire());
  }
}

/** Where the writes that are told about together end. */
function handfulEnd(batch: readonly Waiting[], start: number): number {
  let bytes = 0;
  for (let at = start; at < batch.length; at++) {
    bytes += batch[at]!.write.bytes.byteLength;
    if (at > start && (at === start + handful.writes || bytes > handful.bytes)) return at;
  }
  return batch.length;
}
