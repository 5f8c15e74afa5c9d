/**
 * The one change feed. The *log* is what the store keeps; the *memory* is what the indexes of this process reflect.
 * Every change, own or another replica's, is applied to memory in revision order and then published to the subscribers.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { delayAfter } from '../runtime/backoff.ts';
import { TimeSlice } from '../runtime/time-slice.ts';
import type { Timers } from '../runtime/timers.ts';
import { awaitedTimers, pause, systemTimers } from '../runtime/timers.ts';
import type { CommittedWrite } from '../store/commit-queue.ts';
import type { Change, ChangesNarrowing, Store, Write } from '../store/store.ts';
import { asBuffer } from './bytes.ts';
import type { KnownChange } from './change.ts';
import { AppliedChange } from './change.ts';
import type { ModelMemory } from './memory.ts';
import { readAtStart } from './read-at-start.ts';

/** A write with the memory that it is applied to. */
export interface ModelWrite extends Write, KnownChange {
  readonly memory: ModelMemory;
}

/** Called in the order of subscription; must be quick and must not throw. */
export interface FeedSubscriber {
  /** In revision order, right after a change was applied. */
  change?(change: AppliedChange): void;
  /** As `change`, of an object of a model that is not registered. */
  unregistered?(change: Change): void;
  /**
   * The feed lost its place in the log: what the subscriber knows of the store is to be read again.
   * @param newest where the feed continues; `applied` is still the revision from before
   */
  resync?(newest: number): void;
}

export interface FeedDependencies {
  readonly store: Store;
  readonly memoryOf: (model: number) => ModelMemory | undefined;
  /** Milliseconds, never going back. */
  readonly monotonicNow: () => number;
  readonly logger: { error(details: object, message: string): void };
  /** Default: the machine's. */
  readonly timers?: Pick<Timers, 'after'>;
}

/** A part of the log as it was read. */
export interface LogPortion {
  readonly changes: readonly AppliedChange[];
  /** Of models that are not registered. */
  readonly unregistered: readonly Change[];
  /** There are no other changes up to this revision. */
  readonly through: number;
}

/** How long a read may wait for the newest revision on a shared store, milliseconds: 2 s in all (docs/reference/api.md). */
const currentTimeout = 1_800;

/**
 * Milliseconds between questions for the newest revision of a shared store that nobody's read asks: they tell whether
 * the database is there, and bound the delay of watches when a notice of the database is lost.
 */
const heartbeat = 500;

/** Milliseconds between tries to read a log that is away, or has not yet what is known to be committed. */
const retryDelays = { minDelay: 10, maxDelay: 1_000 };

/** Recent changes for joining watches. Only the newest `parsed` keep parsed objects; older ones keep bytes and are parsed on demand. */
const recentLimit = { changes: 512, bytes: 8 * 2 ** 20, parsed: 64 };

const behind = localized('This replica cannot read the newest state of the store at the moment');

const resyncReasons = {
  log: 'The change log no longer reaches back; reading everything anew',
  history: 'The database has another history than the one that was applied; reading everything anew',
};

interface OwnChange {
  readonly write: ModelWrite;
  readonly revision: number;
  readonly id: number;
  readonly time: number;
}

/** By what a change is known again. */
type Mark = Pick<Change, 'revision' | 'type' | 'id' | 'name' | 'time' | 'bytes'>;

export class Feed {
  readonly #dependencies: FeedDependencies;
  readonly #timers: Pick<Timers, 'after'>;
  readonly #subscribers = new Set<FeedSubscriber>();
  /**
   * Changes of this process that are committed and not yet applied, in revision order. A `Map` would keep what it had: V8 links its
   * tables, and one that is old keeps all later ones until the next full collection, with what they had when they were replaced
   * (docs/decisions/performance.md).
   */
  readonly #own: OwnChange[] = [];
  #waiters: { revision: number; resolve: () => void }[] = [];
  /** The last changes that were applied, for watches that are about to join. */
  #recent: AppliedChange[] = [];
  #recentBytes = 0;
  #recentSince = 0;
  #applied = 0;
  /** The change of `#applied`; undefined when the log had it no longer. */
  #last: Mark | undefined;
  /** Connections of the store when its log was last found to have `#last`. */
  #recognisedAt: number | undefined;
  /** The newest revision of the store went back. */
  #isDoubted = false;
  #readAnew = { log: 0, history: 0 };
  /** Newest revision known to be committed. */
  #target = 0;
  /** Nothing after it is applied while an export opens its snapshot. */
  #ceiling = Number.POSITIVE_INFINITY;
  #pumping: Promise<void> | undefined;
  #asking: Promise<number> | undefined;
  #askingNext: Promise<number> | undefined;
  #cancelBeat: (() => void) | undefined;
  #reachable = true;
  #held: Promise<unknown> = Promise.resolve();
  #unsubscribe: (() => void) | undefined;
  #stopped = false;

  constructor(dependencies: FeedDependencies) {
    this.#dependencies = dependencies;
    this.#timers = dependencies.timers ?? awaitedTimers;
  }

  /** The revision that the memory reflects. */
  get applied(): number {
    return this.#applied;
  }

  /** Times that everything was read anew: the log did not reach back, or the store had another history. */
  get readAnew(): { readonly log: number; readonly history: number } {
    return this.#readAnew;
  }

  /** @throws NotReady when the store cannot be reached for more than 3 s */
  async start(): Promise<void> {
    const { store } = this.#dependencies;
    const read = async () => {
      this.#recognisedAt = store.connections;
      this.#applied = await store.revision();
      this.#last = store.shared ? await changeOf(store, this.#applied) : undefined;
    };
    await readAtStart(store, read, this.#timers, () => this.#stopped);
    if (this.#stopped) return;
    this.#target = this.#applied;
    this.#recentSince = this.#applied;
    this.#unsubscribe = store.onCommit(() => void this.newest().catch(() => {}));
    if (store.shared) this.#awaitBeat();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelBeat?.();
    this.#unsubscribe?.();
    this.#subscribers.clear();
  }

  /** False while a shared store does not answer, or its changes cannot be followed. */
  get reachable(): boolean {
    return this.#reachable;
  }

  /** @returns ends the subscription */
  subscribe(subscriber: FeedSubscriber): () => void {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }

  /** One commit of this process: its successful writes, all of them `ModelWrite`s, in revision order. */
  committed(batch: readonly CommittedWrite[], time: number): void {
    for (const { write, result } of batch) {
      // The log may have told of it before the answer to the commit came.
      if (result.revision <= this.#applied) continue;
      this.#target = Math.max(this.#target, result.revision);
      const { revision, id } = result;
      const at = this.#own.findLastIndex((own) => own.revision < revision) + 1;
      this.#own.splice(at, 0, { write: write as ModelWrite, revision, id, time });
    }
    this.#applyOwn();
    if (this.#applied < this.#target) void this.#pump();
  }

  /**
   * Before a read: undefined when the memory is the truth, else a promise that resolves when every write acknowledged
   * anywhere before this call is applied.
   * @throws NotReady after 2 s
   */
  current(): Promise<void> | undefined {
    return this.#dependencies.store.shared ? this.newest() : undefined;
  }

  /** Learns the newest revision from the store and resolves when it is applied. @throws NotReady within 2 s */
  newest(): Promise<void> {
    return this.#inTime(this.#question().then((revision) => this.at(revision)));
  }

  /** As `at`. @throws NotReady within 2 s */
  reach(revision: number): Promise<void> {
    return this.#inTime(this.at(revision));
  }

  /**
   * After a write of this process: resolves when reads of this process show it. On a shared store they wait for what is
   * newest themselves, so that the write is answered within 2 s also while the log is away.
   */
  async shown(revision: number): Promise<void> {
    if (this.#dependencies.store.shared) await this.reach(revision).catch(() => {});
    else await this.at(revision);
  }

  /** Resolves when the memory reflects this revision. */
  at(revision: number): Promise<void> {
    if (this.#applied >= revision && this.#isRecognised) return Promise.resolve();
    const reached = new Promise<void>((resolve) => this.#waiters.push({ revision, resolve }));
    if (revision > this.#target) this.#target = revision;
    void this.#pump();
    return reached;
  }

  /**
   * Runs `inside` while the memory stands exactly at the revision that `open` gives; writes go on in the store and are
   * applied afterwards.
   */
  hold<T>(open: () => Promise<{ revision: number }>, inside: () => T | Promise<T>): Promise<T> {
    const turn = this.#held.then(async () => {
      this.#ceiling = this.#applied;
      try {
        const { revision } = await open();
        this.#ceiling = revision;
        await this.reach(revision);
        return await inside();
      } finally {
        this.#ceiling = Number.POSITIVE_INFINITY;
        this.#applyOwn();
        if (this.#applied < this.#target) void this.#pump();
      }
    });
    // What is done inside may take a while: other work of the process has its turn before the next.
    this.#held = turn.then(...twice(() => nextTurn()));
    return turn;
  }

  /** The applied changes after `since` when all of them are still in memory, else undefined. */
  recent(since: number): readonly AppliedChange[] | undefined {
    if (since < this.#recentSince) return undefined;
    return this.#recent.slice(this.#recent.findLastIndex(({ revision }) => revision <= since) + 1);
  }

  /**
   * Changes after `since` from the log, at most `limit` of them; there are no others up to `through`.
   * @param narrow one model, or fewer bytes
   * @throws Expired
   */
  async changes(since: number, limit: number, narrow?: ChangesNarrowing): Promise<LogPortion> {
    // Everything that is applied is in the log already.
    const inLog = this.#applied;
    const log = await this.#dependencies.store.changes(since, limit, narrow);
    const changes: AppliedChange[] = [];
    const unregistered: Change[] = [];
    for (const change of log) {
      const memory = this.#dependencies.memoryOf(change.model);
      if (memory) changes.push(new AppliedChange(change, memory.model));
      else unregistered.push(change);
    }
    return { changes, unregistered, through: log.at(-1)?.revision ?? Math.max(since, inLog) };
  }

  /** The oldest revision from which `changes` can go on. */
  async oldest(): Promise<number> {
    return this.#dependencies.store.oldest();
  }

  /** @param model number of the model in the store */
  isRegistered(model: number): boolean {
    return this.#dependencies.memoryOf(model) !== undefined;
  }

  /** The newest revision of the store, asked after this call and shared by all who ask meanwhile. */
  #question(): Promise<number> {
    // A question already under way may have been answered before a write that this caller knows of.
    if (this.#asking) this.#askingNext ??= this.#asking.then(...twice(() => this.#ask()));
    return this.#askingNext ?? this.#ask();
  }

  #ask(): Promise<number> {
    const applied = this.#applied;
    const asked = Promise.try(() => this.#dependencies.store.revision()).then((newest) => {
      if (newest < applied) this.#isDoubted = true;
      return newest;
    });
    this.#asking = asked;
    this.#askingNext = undefined;
    asked.then(
      ...twice(() => {
        if (this.#asking === asked) this.#asking = undefined;
      }),
    );
    return asked;
  }

  async #beat(): Promise<void> {
    this.#reachable = await this.newest().then(
      () => true,
      () => false,
    );
    if (!this.#stopped) this.#awaitBeat();
  }

  #awaitBeat(): void {
    const timers = this.#dependencies.timers ?? systemTimers;
    this.#cancelBeat = timers.after(heartbeat, () => void this.#beat());
  }

  async #inTime<T>(work: Promise<T>): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const cancel = this.#timers.after(currentTimeout, () => {
      reject(new KindredError('NotReady', behind, { headers: { 'retry-after': '1' } }));
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      cancel();
    }
  }

  #applyOwn(): void {
    while (this.#isRecognised) {
      const next = this.#applied + 1;
      if (next > this.#ceiling) return;
      const own = this.#takeOwn(next);
      if (!own) return;
      const { write, id, time } = own;
      const change = { ...write, before: write.before?.bytes, revision: next, id, time } satisfies Change;
      this.#applyChange(change, write);
    }
  }

  /** Applies what is known to be committed, reading other replicas' changes from the log. */
  #pump(): Promise<void> {
    this.#pumping ??= this.#catchUp().finally(() => {
      this.#pumping = undefined;
      if (!this.#stopped && !this.#isCaughtUp) void this.#pump();
    });
    return this.#pumping;
  }

  get #isCaughtUp(): boolean {
    return this.#isRecognised && this.#applied >= Math.min(this.#target, this.#ceiling);
  }

  async #catchUp(): Promise<void> {
    let failures = 0;
    let reported = '';
    for (;;) {
      this.#applyOwn();
      if (this.#stopped || this.#isCaughtUp) return;
      try {
        const isNew = this.#isRecognised ? await this.#readLog() : await this.#recognise();
        reported = '';
        if (isNew) {
          failures = 0;
          continue;
        }
      } catch (error) {
        if (this.#stopped) return;
        const reason = String(error);
        if (reason !== reported)
          this.#dependencies.logger.error({ err: error }, 'The change log could not be read; trying again');
        reported = reason;
      }
      await pause(this.#timers, delayAfter(++failures, retryDelays));
    }
  }

  /** True when there was something. */
  async #readLog(): Promise<boolean> {
    try {
      const changes = await this.#dependencies.store.changes(this.#applied, 1_000);
      const slice = new TimeSlice(this.#dependencies.monotonicNow);
      for (const change of changes) {
        if (slice.isOver) await slice.renew();
        // What was read may be of the server before. What a held revision keeps back is read again: it may be let go before the
        // next change of this portion, which must not come first.
        if (!this.#isRecognised || this.#stopped || change.revision > this.#ceiling) return true;
        this.#applyForeign(change);
      }
      return changes.length > 0;
    } catch (error) {
      if (!isExpired(error)) throw error;
      await this.#resync('log');
      return true;
    }
  }

  /** True when the log of the store is, as far as it was applied, the one that was applied. */
  get #isRecognised(): boolean {
    return !this.#isDoubted && this.#recognisedAt === this.#dependencies.store.connections;
  }

  /**
   * Behind a new connection may be a server with another history: after a failover or a restore that lost what had been
   * shown, the change that was applied last is not in the log, or another one has its revision. @returns true
   */
  async #recognise(): Promise<true> {
    const { store } = this.#dependencies;
    const { connections } = store;
    if (await hasApplied(store, this.#applied, this.#last)) {
      this.#recognisedAt = connections;
      this.#isDoubted = false;
      this.#advance(this.#applied);
    } else await this.#resync('history');
    return true;
  }

  #applyForeign(change: Change): void {
    if (change.revision <= this.#applied) return;
    this.#applyChange(change, this.#takeOwn(change.revision)?.write);
  }

  /** The change of this process that has this revision, which is applied next. */
  #takeOwn(revision: number): OwnChange | undefined {
    while (this.#own[0] && this.#own[0].revision < revision) this.#own.shift();
    return this.#own[0]?.revision === revision ? this.#own.shift() : undefined;
  }

  #applyChange(change: Change, write: ModelWrite | undefined): void {
    // What was written before the model was registered anew counts for the model as it is now.
    const known = write && !write.memory.isClosed ? write : undefined;
    const memory = known?.memory ?? this.#dependencies.memoryOf(change.model);
    const applied = memory && new AppliedChange(change, memory.model, known);
    this.#last = applied ?? change;
    if (!applied) {
      this.#advance(change.revision);
      for (const subscriber of this.#subscribers) subscriber.unregistered?.(change);
      return;
    }
    memory.apply(applied);
    this.#remember(applied);
    this.#advance(applied.revision);
    for (const subscriber of this.#subscribers) subscriber.change?.(applied);
  }

  #remember(change: AppliedChange): void {
    this.#recent.push(change);
    this.#recent.at(-recentLimit.parsed - 1)?.shrink();
    this.#recentBytes += sizeOf(change);
    if (this.#recent.length < recentLimit.changes && this.#recentBytes < recentLimit.bytes) return;
    const dropped = this.#recent.splice(0, Math.ceil(this.#recent.length / 2));
    this.#recentSince = dropped.at(-1)!.revision;
    this.#recentBytes = this.#recent.reduce((sum, kept) => sum + sizeOf(kept), 0);
  }

  #advance(revision: number): void {
    this.#applied = revision;
    if (this.#target < revision) this.#target = revision;
    if (this.#waiters.length === 0) return;
    const due = this.#waiters.filter((waiter) => waiter.revision <= revision);
    if (due.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => waiter.revision > revision);
    for (const waiter of due) waiter.resolve();
  }

  /** The memory is of no use any more: all that follows the feed is read again. */
  async #resync(because: 'log' | 'history'): Promise<void> {
    const { store, logger } = this.#dependencies;
    const { connections } = store;
    const newest = await store.revision();
    const last = await changeOf(store, newest);
    logger.error({ applied: this.#applied, newest }, resyncReasons[because]);
    this.#readAnew[because]++;
    for (const subscriber of this.#subscribers) subscriber.resync?.(newest);
    this.#own.length = 0;
    this.#recent = [];
    this.#recentBytes = 0;
    this.#recentSince = newest;
    this.#last = last;
    this.#recognisedAt = connections;
    this.#isDoubted = false;
    this.#target = newest;
    this.#advance(newest);
  }
}

/** The change with this revision; undefined when the log has none, or has it no longer. */
async function changeOf(store: Store, revision: number): Promise<Mark | undefined> {
  try {
    const [change] = await store.changes(revision - 1, 1);
    return change?.revision === revision ? change : undefined;
  } catch (error) {
    if (isExpired(error)) return undefined;
    throw error;
  }
}

/** False when the store certainly has not what was applied up to this revision; `last` is its change. */
async function hasApplied(store: Store, revision: number, last: Mark | undefined): Promise<boolean> {
  if (!last) return (await store.revision()) >= revision;
  try {
    const [found] = await store.changes(last.revision - 1, 1);
    return found !== undefined && isSame(found, last);
  } catch (error) {
    // It was compacted, or the log was: then reading on tells.
    if (isExpired(error)) return true;
    throw error;
  }
}

function isSame(a: Mark, b: Mark): boolean {
  return (
    a.revision === b.revision &&
    a.type === b.type &&
    a.id === b.id &&
    a.name === b.name &&
    a.time === b.time &&
    asBuffer(a.bytes).equals(b.bytes)
  );
}

function isExpired(error: unknown): boolean {
  return error instanceof KindredError && error.code === 'Expired';
}

function sizeOf({ bytes, before }: AppliedChange): number {
  return bytes.length + (before?.length ?? 0);
}

/** For `then`: does the same whether the promise was kept or not. */
function twice<T>(body: () => T): [() => T, () => T] {
  return [body, body];
}
