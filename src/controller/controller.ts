/**
 * Runs one reconciler. A *term* is the time between taking the controller's lease and losing it. It begins with a listing
 * of everything, so it needs to know nothing of what another replica did. The queue outlives the terms: what one of them
 * left undone is left to the next, and a call that outlives its term keeps its name.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf } from '../errors.ts';
import type { ModelType } from '../model/model-type.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import { typeNameOf } from '../model/scheme.ts';
import type { ListOptions } from '../query/query.ts';
import type { AppliedChange } from '../resource/change.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';
import type { Feed } from '../resource/feed.ts';
import type { Delays } from '../runtime/backoff.ts';
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
/** Changes that wait for the plugin's matchers and mappings, or for a term, at most. */
const pendingLimit = 50_000;
/** Calls after which other work of the process gets its turn. */
const callsInARow = 32;

/** Before what failed is listed, or mapped, once more. */
const repeatDelays: Delays = { minDelay: 50, maxDelay: 10_000 };

type ToNames = ControllerSpec['watched'][number]['toNames'];

interface Term {
  readonly fence: Fence;
  readonly abort: AbortController;
  settling: boolean;
  /** Listings under way. */
  listings: number;
  /** Those of them that make good for changes that went past unseen. */
  repairs: number;
  remapping: boolean;
}

export class RunningController {
  readonly #dependencies: ControllerDependencies;
  readonly #leader: Leader;
  readonly #scheme: Scheme;
  readonly #watched: readonly { readonly scheme: Scheme; readonly toNames: ToNames }[];
  #unsubscribe: (() => void) | undefined;
  #isStopping = false;
  #term: Term | undefined;
  readonly #queue: WorkQueue;
  readonly #backoff: Backoff;
  readonly #running = new Set<Promise<void>>();
  #scheduled = false;
  /** Changes whose matchers and mappings have not been asked yet. */
  #pending: AppliedChange[] = [];
  /** What a mapping threw for. */
  readonly #unmapped: { readonly toNames: ToNames; readonly object: ExtensionObject }[] = [];
  /** Without a term: recent changes that a listing does not show, in case the leading replica died before it saw them. */
  readonly #missed = new Set<AppliedChange>();
  /** Changes went past unseen, and no listing has made good for them yet. */
  #isIncomplete = false;
  readonly #quietWaiters = new Set<() => void>();
  readonly #calls: Record<Outcome, number> = { done: 0, requeued: 0, failed: 0 };
  #retries = 0;
  #lastError: ControllerStatus['lastError'];
  #troubled = false;

  /** Throws `NotFound` when one of the models is not registered. */
  constructor(dependencies: ControllerDependencies) {
    this.#dependencies = dependencies;
    this.#queue = new WorkQueue(dependencies.timers, () => this.#schedule());
    this.#backoff = new Backoff(dependencies.spec);
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
      onAcquired: (fence) => {
        if (!this.#isStopping) this.#begin(fence);
      },
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
        !this.#scheduled &&
        !term.settling &&
        this.#pending.length === 0 &&
        this.#queue.length === 0 &&
        this.#running.size === 0)
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
    this.#isStopping = true;
    this.#unsubscribe?.();
    this.#queue.close();
    // The lease is kept until then: calls that end may write.
    await endsWithin(this.#dependencies.timers, milliseconds, this.#end());
    await this.#leader.stop();
  }

  /** Changes went past unseen: everything there is is looked at again. */
  resync(): void {
    if (this.#term) void this.#repair(this.#term);
    else this.#isIncomplete = true;
  }

  status(): ControllerStatus {
    const term = this.#term;
    return {
      id: this.#dependencies.id,
      leading: term !== undefined,
      queueDepth: term ? this.#queue.length : 0,
      delayed: term ? this.#queue.delayed : 0,
      running: this.#running.size,
      calls: { ...this.#calls },
      retries: this.#retries,
      lastError: this.#lastError,
    };
  }

  #begin(fence: Fence): void {
    const { spec, timers } = this.#dependencies;
    const term: Term = {
      fence,
      abort: new AbortController(),
      settling: false,
      listings: 0,
      repairs: 0,
      remapping: false,
    };
    this.#term = term;
    const since = timers.now() - 2 * leaseTimes.ttl;
    for (const change of this.#missed) if (change.time >= since) this.#take(change);
    this.#missed.clear();
    if (this.#isIncomplete) void this.#repair(term);
    else if (spec.syncAllOnStart) void this.#sync(term, spec.syncAllListOptions);
    void this.#remap(term);
    this.#schedule();
  }

  async #end(): Promise<void> {
    const term = this.#term;
    this.#term = undefined;
    if (term) {
      if (term.repairs > 0) this.#isIncomplete = true;
      term.abort.abort();
      this.#tellQuiet();
    }
    await Promise.all(this.#running);
  }

  async #repair(term: Term): Promise<void> {
    this.#isIncomplete = false;
    term.repairs += 1;
    await this.#sync(term);
    term.repairs -= 1;
  }

  /** Puts everything that the options choose into the queue. The feed is subscribed to already, so no change falls between. */
  async #sync(term: Term, options?: ListOptions): Promise<void> {
    const { spec, client, timers } = this.#dependencies;
    term.listings += 1;
    const again = new Backoff(repeatDelays);
    while (this.#term === term) {
      try {
        for (const name of await client.listNames(spec.type, options)) this.#queue.add(name);
        for (const { type, toNames } of spec.watched) {
          for await (const object of client.listAll<ExtensionObject>(type)) {
            if (this.#term !== term) return;
            await this.#map(term, toNames, object);
          }
        }
        break;
      } catch (error) {
        if (this.#term !== term) return;
        this.#fail('the listing at the start', error);
        if (again.failures('') >= troubleAfter) this.#trouble('ListFailed', messageOf(error));
        await pause(timers, again.next(''));
      }
    }
    term.listings -= 1;
    this.#tellQuiet();
  }

  /** Asks again what a mapping threw for, that alone: listing everything again would reconcile everything again. */
  async #remap(term: Term): Promise<void> {
    if (term.remapping) return;
    term.remapping = true;
    const again = new Backoff(repeatDelays);
    while (this.#unmapped.length > 0) {
      await pause(this.#dependencies.timers, again.next(''));
      for (let left = this.#unmapped.length; left > 0; left -= 1) {
        if (this.#term !== term) return;
        const { toNames, object } = this.#unmapped.shift()!;
        await this.#map(term, toNames, object);
      }
    }
    term.remapping = false;
    if (this.#isIncomplete && this.#term === term) void this.#repair(term);
  }

  /** Inside the feed: only what is quick; the plugin's matchers and mappings are asked later. */
  #take(change: AppliedChange): void {
    const { scheme } = change.model;
    const own = sameModel(scheme, this.#scheme);
    const watched = this.#watched.some((one) => sameModel(scheme, one.scheme));
    if (!own && !watched) return;
    const term = this.#term;
    if (!term) {
      this.#remember(change, watched);
      return;
    }
    const asked = own && this.#matcherOf(change.type) !== undefined;
    if (own && !asked) this.#queue.add(change.name);
    if (!asked && !watched) return;
    if (this.#pending.length < pendingLimit) {
      this.#pending.push(change);
      this.#schedule();
    } else {
      // The plugin's functions are slower than the changes: everything there is covers every one of them, but what is gone.
      for (const { type, name, model } of [...this.#pending, change]) {
        if (type === 'delete' && sameModel(model.scheme, this.#scheme)) this.#queue.add(name);
      }
      this.#pending = [];
      void this.#repair(term);
    }
  }

  #matcherOf(type: AppliedChange['type']): ControllerSpec['onUpdate'] {
    const { onAdd, onUpdate, onDelete } = this.#dependencies.spec;
    return type === 'create' ? onAdd : type === 'update' ? onUpdate : onDelete;
  }

  #remember(change: AppliedChange, watched: boolean): void {
    const { syncAllOnStart, syncAllListOptions } = this.#dependencies.spec;
    const since = change.time - 2 * leaseTimes.ttl;
    for (const old of this.#missed) {
      if (old.time >= since) break;
      this.#missed.delete(old);
    }
    const isListed = syncAllOnStart && !syncAllListOptions && change.type !== 'delete';
    // A listing does not show a watched object as it was before an update.
    if (isListed && !(watched && change.type === 'update')) return;
    if (this.#missed.size >= pendingLimit) {
      for (const old of this.#missed) if (old.type !== 'delete') this.#missed.delete(old);
      this.#isIncomplete = true;
    }
    this.#missed.add(change);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const term = this.#term;
      if (!term) return;
      if (this.#pending.length > 0 && !term.settling) void this.#settle(term);
      this.#work();
      this.#tellQuiet();
    });
  }

  /** Asks matchers and mappings about the changes that came in. */
  async #settle(term: Term): Promise<void> {
    term.settling = true;
    const changes = this.#pending;
    this.#pending = [];
    for (const [i, change] of changes.entries()) {
      if (this.#term !== term) {
        this.#pending = [...changes.slice(i), ...this.#pending];
        this.#schedule();
        return;
      }
      const { scheme } = change.model;
      const asked = sameModel(scheme, this.#scheme) && this.#matcherOf(change.type) !== undefined;
      if (asked && this.#matches(term, change)) this.#queue.add(change.name);
      for (const watched of this.#watched) {
        if (!sameModel(scheme, watched.scheme)) continue;
        await this.#map(term, watched.toNames, change.objectBefore());
        await this.#map(term, watched.toNames, change.object());
      }
      if (i % callsInARow === callsInARow - 1) await nextTurn();
    }
    term.settling = false;
    if (this.#pending.length > 0) this.#schedule();
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

  /** When the mapping throws, it is asked again later. */
  async #map(term: Term, toNames: ToNames, object: ExtensionObject | undefined): Promise<void> {
    if (!object) return;
    try {
      const names = this.#dependencies.run(term.fence, () => toNames(object));
      for (const name of names instanceof Promise ? await names : (names as Iterable<string>)) this.#queue.add(name);
    } catch (error) {
      if (this.#unmapped.length < pendingLimit) this.#unmapped.push({ toNames, object });
      else this.#isIncomplete = true;
      if (this.#term) void this.#remap(this.#term);
      this.#fail(`watches(), asked about ${object.metadata.name}`, error);
      this.#trouble('WatchFailed', messageOf(error));
    }
  }

  #work(): void {
    while (this.#term && this.#running.size < this.#dependencies.spec.workerCount && this.#queue.length > 0) {
      const worker = this.#drain();
      this.#running.add(worker);
      void worker.finally(() => {
        this.#running.delete(worker);
        this.#tellQuiet();
      });
    }
  }

  /** One worker: takes names until there are none. */
  async #drain(): Promise<void> {
    for (let calls = 1; this.#term; calls += 1) {
      const next = this.#queue.take();
      if (!next) return;
      await this.#call(this.#term, next.name, next.waited);
      if (calls % callsInARow === 0) await nextTurn();
    }
  }

  async #call(term: Term, name: string, latency: number): Promise<void> {
    const { timers, reconciler, tracing, id } = this.#dependencies;
    const began = timers.now();
    const cancel = timers.after(hangAfter, () => {
      if (!this.#term) return;
      this.#trouble('ReconcileHangs', `reconcile of "${name}" has not ended after ${hangAfter / 1_000} s`);
    });
    if (this.#backoff.failures(name) > 0) this.#retries += 1;
    let outcome: Outcome = 'done';
    let after: number | undefined;
    try {
      const call = () =>
        this.#dependencies.run(term.fence, () => reconciler.reconcile({ name, signal: term.abort.signal }));
      const result = await (tracing ? tracing.reconcile(id, typeNameOf(this.#scheme), name, call) : call());
      if (asksAgain(result)) {
        outcome = 'requeued';
        after = result.after ?? this.#backoff.next(name);
      }
      if (!asksAgain(result) || result.after !== undefined) this.#succeed(name);
    } catch (error) {
      // A call that was aborted may throw.
      if (this.#term !== term) return;
      outcome = 'failed';
      after = this.#backoff.next(name);
      this.#fail(name, error);
      if (this.#backoff.failures(name) >= troubleAfter) {
        this.#trouble(
          'ReconcileFailed',
          `reconcile of "${name}" failed ${this.#backoff.failures(name)} times: ${messageOf(error)}`,
        );
      }
    } finally {
      cancel();
      // A call that was aborted may also return as if it had done everything.
      this.#queue.done(name, this.#term === term ? after : 0);
    }
    this.#calls[outcome] += 1;
    this.#dependencies.observe?.({
      controller: this.#dependencies.id,
      outcome,
      latency,
      duration: Math.max(0, timers.now() - began),
    });
  }

  #succeed(name: string): void {
    this.#backoff.reset(name);
    if (!this.#troubled || this.#backoff.size > 0) return;
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
