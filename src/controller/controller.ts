/**
 * Runs one reconciler. A *term* is the time between taking the controller's lease and losing it: each term has its own
 * queue, and it begins with a listing of everything, so a term needs to know nothing of what another replica did.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf } from '../errors.ts';
import type { ModelType } from '../model/model-type.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import { typeNameOf } from '../model/scheme.ts';
import type { AppliedChange } from '../resource/change.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';
import type { Feed } from '../resource/feed.ts';
import { Backoff } from '../runtime/backoff.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Timers } from '../runtime/timers.ts';
import { endsWithin, pause } from '../runtime/timers.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { Fence, LeaseStore, LeaseTimes } from './lease.ts';
import { Leader, leaseTimes } from './lease.ts';
import type { ControllerSpec, Reconciler, Result } from './reconciler.ts';

export interface ControllerDependencies {
  readonly spec: ControllerSpec;
  readonly reconciler: Reconciler;
  /** Names the controller in logs, metrics and the lease. */
  readonly id: string;
  readonly feed: Pick<Feed, 'subscribe'>;
  /** The registered scheme of a type. Throws `NotFound`. */
  readonly schemeOf: (type: ModelType) => Scheme;
  /** Acts as the service: what is listed at the start does not depend on the plugin's rights. */
  readonly client: Pick<ExtensionClient, 'listNames' | 'listAll'>;
  readonly store: LeaseStore;
  readonly holder: string;
  readonly leaseTimes?: Partial<LeaseTimes>;
  readonly timers: Timers;
  /** Calls the plugin's code so that its writes carry the fence. */
  readonly run: <T>(fence: Fence, work: () => T) => T;
  readonly logger: Pick<Logger, 'warn'>;
  /** A name fails again and again, or a call does not end. Undefined: nothing is wrong any more. */
  readonly onTrouble: (trouble: { reason: string; message: string } | undefined) => void;
  readonly observe?: ControllerObserver;
  /** Undefined: calls have no spans. */
  readonly tracing?: Tracing | undefined;
}

/** Told of every call that ended; for histograms. Milliseconds. */
export type ControllerObserver = (call: {
  readonly controller: string;
  readonly outcome: Outcome;
  /** From the change to the call. */
  readonly latency: number;
  readonly duration: number;
}) => void;

export type Outcome = 'done' | 'requeued' | 'failed';

/** A controller as metrics and the harness see it. */
export interface ControllerStatus {
  readonly id: string;
  /** This replica holds the lease. */
  readonly leading: boolean;
  /** Names that wait for a worker. */
  readonly queueDepth: number;
  /** Names that wait for their time. */
  readonly delayed: number;
  readonly running: number;
  /** Calls that ended. */
  readonly calls: Readonly<Record<Outcome, number>>;
  /** Calls that followed a failure of the same name. */
  readonly retries: number;
  readonly lastError: { readonly name: string; readonly message: string; readonly time: number } | undefined;
}

/** Failures of one name in a row after which the plugin is said to be in trouble: one conflict or two are everyday life. */
const troubleAfter = 5;
/** Milliseconds after which a call is said to hang. */
const hangAfter = 30_000;
/** Changes that wait for the plugin's matchers and mappings, at most. */
const pendingLimit = 50_000;
/** Calls after which other work of the process gets its turn. */
const callsInARow = 32;

type ToNames = ControllerSpec['watched'][number]['toNames'];

interface Term {
  readonly fence: Fence;
  readonly queue: WorkQueue;
  readonly backoff: Backoff;
  readonly abort: AbortController;
  /** Changes whose matchers and mappings have not been asked yet. */
  pending: AppliedChange[];
  scheduled: boolean;
  settling: boolean;
  /** Listings under way. */
  listings: number;
  readonly running: Set<Promise<void>>;
}

export class RunningController {
  readonly #dependencies: ControllerDependencies;
  readonly #leader: Leader;
  readonly #scheme: Scheme;
  readonly #watched: readonly { readonly scheme: Scheme; readonly toNames: ToNames }[];
  #unsubscribe: (() => void) | undefined;
  #term: Term | undefined;
  /** While another replica leads: what was deleted of late, with the time, in case that replica died before it saw it. */
  readonly #deleted = new Map<string, number>();
  readonly #quietWaiters = new Set<() => void>();
  readonly #calls: Record<Outcome, number> = { done: 0, requeued: 0, failed: 0 };
  #retries = 0;
  #lastError: ControllerStatus['lastError'];
  #troubled = false;

  /** Throws `NotFound` when one of the models is not registered. */
  constructor(dependencies: ControllerDependencies) {
    this.#dependencies = dependencies;
    this.#scheme = dependencies.schemeOf(dependencies.spec.type);
    this.#watched = dependencies.spec.watched.map(({ type, toNames }) => ({
      scheme: dependencies.schemeOf(type),
      toNames,
    }));
    this.#leader = new Leader({
      store: dependencies.store,
      name: `controller/${dependencies.id}`,
      holder: dependencies.holder,
      timers: dependencies.timers,
      times: dependencies.leaseTimes,
      onAcquired: (fence) => this.#begin(fence),
      onLost: () => {
        dependencies.logger.warn({ controller: dependencies.id }, 'The lease of the controller is lost');
        void this.#end();
      },
      onError: (err) =>
        dependencies.logger.warn(
          { err, controller: dependencies.id },
          'The lease of the controller could not be taken',
        ),
    });
  }

  /** The model that is reconciled. */
  get scheme(): Scheme {
    return this.#scheme;
  }

  /** Resolves when it is known whether this replica leads. */
  async start(): Promise<void> {
    this.#unsubscribe = this.#dependencies.feed.subscribe({ change: (change) => this.#take(change) });
    await this.#leader.start();
  }

  /** Nothing is queued or running; names may wait for their time. */
  get #quiet(): boolean {
    const term = this.#term;
    return (
      !term ||
      (term.listings === 0 &&
        !term.scheduled &&
        !term.settling &&
        term.pending.length === 0 &&
        term.queue.length === 0 &&
        term.running.size === 0)
    );
  }

  /** Resolves when every change so far was looked at once, or after so many milliseconds. */
  async whenQuiet(milliseconds: number): Promise<void> {
    if (this.#quiet) return;
    const quiet = Promise.withResolvers<void>();
    this.#quietWaiters.add(quiet.resolve);
    await endsWithin(this.#dependencies.timers, milliseconds, quiet.promise);
    this.#quietWaiters.delete(quiet.resolve);
  }

  /**
   * No call begins any more, those under way see their signal aborted; resolves when they have ended, at the latest
   * after so many milliseconds. Writes of a call that goes on even then are refused.
   */
  async stop(milliseconds: number): Promise<void> {
    this.#unsubscribe?.();
    await endsWithin(this.#dependencies.timers, milliseconds, this.#end());
    await this.#leader.stop();
  }

  /** Changes went past unseen: everything there is is looked at again. */
  resync(): void {
    if (this.#term) void this.#sync(this.#term, true);
  }

  status(): ControllerStatus {
    const term = this.#term;
    return {
      id: this.#dependencies.id,
      leading: term !== undefined,
      queueDepth: term?.queue.length ?? 0,
      delayed: term?.queue.delayed ?? 0,
      running: term?.running.size ?? 0,
      calls: { ...this.#calls },
      retries: this.#retries,
      lastError: this.#lastError,
    };
  }

  #begin(fence: Fence): void {
    const { spec, timers } = this.#dependencies;
    const term: Term = {
      fence,
      queue: new WorkQueue(timers, () => this.#schedule(term)),
      backoff: new Backoff(spec),
      abort: new AbortController(),
      pending: [],
      scheduled: false,
      settling: false,
      listings: 0,
      running: new Set(),
    };
    this.#term = term;
    const since = timers.now() - 2 * leaseTimes.ttl;
    for (const [name, time] of this.#deleted) if (time >= since) term.queue.add(name);
    this.#deleted.clear();
    void this.#sync(term, spec.syncAllOnStart);
  }

  async #end(): Promise<void> {
    const term = this.#term;
    this.#term = undefined;
    if (!term) return;
    term.queue.close();
    term.pending = [];
    term.abort.abort();
    this.#tellQuiet();
    await Promise.all(term.running);
  }

  /** Puts everything there is into the queue. The feed is subscribed to already, so no change falls between. */
  async #sync(term: Term, everything: boolean): Promise<void> {
    const { spec, client, timers } = this.#dependencies;
    term.listings += 1;
    const again = new Backoff({ minDelay: 50, maxDelay: 10_000 });
    const wait = () => pause(timers, again.next(''));
    /** What a mapping threw for. */
    let unmapped: { toNames: ToNames; object: ExtensionObject }[] = [];
    while (everything && this.#term === term) {
      unmapped = [];
      try {
        for (const name of await client.listNames(spec.type, spec.syncAllListOptions)) term.queue.add(name);
        for (const { type, toNames } of spec.watched) {
          for await (const object of client.listAll<ExtensionObject>(type)) {
            if (this.#term !== term) return;
            if (!(await this.#map(term, toNames, object))) unmapped.push({ toNames, object });
          }
        }
        break;
      } catch (error) {
        if (this.#term !== term) return;
        this.#fail('the listing at the start', error);
        if (again.failures('') >= troubleAfter) this.#trouble('ListFailed', messageOf(error));
        await wait();
      }
    }
    term.listings -= 1;
    this.#tellQuiet();
    // Those alone: listing everything again would reconcile everything again.
    while (unmapped.length > 0) {
      await wait();
      if (this.#term !== term) return;
      const asked = unmapped;
      unmapped = [];
      for (const one of asked) if (!(await this.#map(term, one.toNames, one.object))) unmapped.push(one);
    }
  }

  /** Inside the feed: only what is quick; the plugin's matchers and mappings are asked later. */
  #take(change: AppliedChange): void {
    const own = sameModel(change.model.scheme, this.#scheme);
    const term = this.#term;
    if (!term) {
      if (own && change.type === 'delete') this.#remember(change);
      return;
    }
    const asked = own && this.#matcherOf(change.type) !== undefined;
    if (own && !asked) term.queue.add(change.name);
    if (!asked && !this.#watched.some(({ scheme }) => sameModel(change.model.scheme, scheme))) return;
    if (term.pending.length < pendingLimit) {
      term.pending.push(change);
      this.#schedule(term);
    } else {
      // The plugin's functions are slower than the changes: everything there is covers every one of them, but what is gone.
      for (const { type, name, model } of [...term.pending, change]) {
        if (type === 'delete' && sameModel(model.scheme, this.#scheme)) term.queue.add(name);
      }
      term.pending = [];
      void this.#sync(term, true);
    }
  }

  #matcherOf(type: AppliedChange['type']): ControllerSpec['onUpdate'] {
    const { onAdd, onUpdate, onDelete } = this.#dependencies.spec;
    return type === 'create' ? onAdd : type === 'update' ? onUpdate : onDelete;
  }

  #remember({ name, time }: AppliedChange): void {
    const since = time - 2 * leaseTimes.ttl;
    for (const [old, deleted] of this.#deleted) {
      if (deleted >= since) break;
      this.#deleted.delete(old);
    }
    this.#deleted.delete(name);
    this.#deleted.set(name, time);
  }

  #schedule(term: Term): void {
    if (term.scheduled) return;
    term.scheduled = true;
    setImmediate(() => {
      term.scheduled = false;
      if (this.#term !== term) return;
      if (term.pending.length > 0 && !term.settling) void this.#settle(term);
      this.#work(term);
      this.#tellQuiet();
    });
  }

  /** Asks matchers and mappings about the changes that came in. */
  async #settle(term: Term): Promise<void> {
    term.settling = true;
    const changes = term.pending;
    term.pending = [];
    for (const [i, change] of changes.entries()) {
      if (this.#term !== term) return;
      const { scheme } = change.model;
      const asked = sameModel(scheme, this.#scheme) && this.#matcherOf(change.type) !== undefined;
      if (asked && this.#matches(term, change)) term.queue.add(change.name);
      for (const watched of this.#watched) {
        if (!sameModel(scheme, watched.scheme)) continue;
        await this.#map(term, watched.toNames, change.objectBefore());
        await this.#map(term, watched.toNames, change.object());
      }
      if (i % callsInARow === callsInARow - 1) await nextTurn();
    }
    term.settling = false;
    if (term.pending.length > 0) this.#schedule(term);
    this.#tellQuiet();
  }

  #matches(term: Term, change: AppliedChange): boolean {
    const { onAdd, onUpdate, onDelete } = this.#dependencies.spec;
    try {
      return this.#dependencies.run(term.fence, () => {
        if (change.type === 'create') return onAdd?.(change.object()) ?? true;
        if (change.type === 'update') return onUpdate?.(change.objectBefore(), change.object()) ?? true;
        return onDelete?.(change.object()) ?? true;
      });
    } catch (error) {
      this.#fail(`a matcher, asked about ${change.name}`, error);
      return true;
    }
  }

  /** False when the mapping threw. */
  async #map(term: Term, toNames: ToNames, object: ExtensionObject | undefined): Promise<boolean> {
    if (!object) return true;
    try {
      const names = this.#dependencies.run(term.fence, () => toNames(object));
      for (const name of names instanceof Promise ? await names : (names as Iterable<string>)) term.queue.add(name);
      return true;
    } catch (error) {
      this.#fail(`watches(), asked about ${object.metadata.name}`, error);
      this.#trouble('WatchFailed', messageOf(error));
      return false;
    }
  }

  #work(term: Term): void {
    while (this.#term === term && term.running.size < this.#dependencies.spec.workerCount && term.queue.length > 0) {
      const worker = this.#drain(term);
      term.running.add(worker);
      void worker.finally(() => {
        term.running.delete(worker);
        this.#tellQuiet();
      });
    }
  }

  /** One worker: takes names until there are none. */
  async #drain(term: Term): Promise<void> {
    for (let calls = 1; this.#term === term; calls += 1) {
      const next = term.queue.take();
      if (!next) return;
      await this.#call(term, next.name, next.waited);
      if (calls % callsInARow === 0) await nextTurn();
    }
  }

  async #call(term: Term, name: string, latency: number): Promise<void> {
    const { timers, reconciler, tracing, id } = this.#dependencies;
    const began = timers.now();
    const cancel = timers.after(hangAfter, () => {
      if (this.#term !== term) return;
      this.#trouble('ReconcileHangs', `reconcile of "${name}" has not ended after ${hangAfter / 1_000} s`);
    });
    if (term.backoff.failures(name) > 0) this.#retries += 1;
    let outcome: Outcome = 'done';
    let after: number | undefined;
    try {
      const call = () =>
        this.#dependencies.run(term.fence, () => reconciler.reconcile({ name, signal: term.abort.signal }));
      const result = await (tracing ? tracing.reconcile(id, typeNameOf(this.#scheme), name, call) : call());
      if (asksAgain(result)) {
        outcome = 'requeued';
        after = result.after ?? term.backoff.next(name);
      }
      if (!asksAgain(result) || result.after !== undefined) this.#succeed(term, name);
    } catch (error) {
      // Whoever is told to stop may say so by throwing.
      if (this.#term !== term) return;
      outcome = 'failed';
      after = term.backoff.next(name);
      this.#fail(name, error);
      if (term.backoff.failures(name) >= troubleAfter) {
        this.#trouble(
          'ReconcileFailed',
          `reconcile of "${name}" failed ${term.backoff.failures(name)} times: ${messageOf(error)}`,
        );
      }
    } finally {
      cancel();
      term.queue.done(name, after);
    }
    this.#calls[outcome] += 1;
    this.#dependencies.observe?.({
      controller: this.#dependencies.id,
      outcome,
      latency,
      duration: Math.max(0, timers.now() - began),
    });
  }

  #succeed(term: Term, name: string): void {
    term.backoff.reset(name);
    if (!this.#troubled || term.backoff.size > 0) return;
    this.#troubled = false;
    this.#dependencies.onTrouble(undefined);
  }

  #fail(name: string, error: unknown): void {
    this.#lastError = { name, message: messageOf(error), time: this.#dependencies.timers.now() };
    this.#dependencies.logger.warn({ err: error, controller: this.#dependencies.id, name }, 'reconcile failed');
  }

  #trouble(reason: string, message: string): void {
    this.#troubled = true;
    this.#dependencies.onTrouble({ reason, message: `controller "${this.#dependencies.spec.name}": ${message}` });
  }

  #tellQuiet(): void {
    if (this.#quietWaiters.size === 0 || !this.#quiet) return;
    for (const waiter of this.#quietWaiters) waiter();
  }
}

function sameModel(a: Scheme, b: Scheme): boolean {
  return (
    a === b ||
    (a.groupVersionKind.kind === b.groupVersionKind.kind && a.groupVersionKind.group === b.groupVersionKind.group)
  );
}

/** By shape: the result may come from another copy of the class. */
function asksAgain(result: unknown): result is Result {
  return typeof result === 'object' && result !== null && (result as Result).requeue === true;
}
