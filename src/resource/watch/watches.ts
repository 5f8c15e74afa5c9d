/**
 * Watches (docs/reference/watch.md): every change that a selection sees, once, in order. A *watch* is one client's request,
 * its *sink* is where its events go. A watch is *live* when it is told of each change as it is applied; before that, and
 * whenever its client is too far behind, it goes on by a replay (`replay.ts`).
 */

import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import { bind, bindSort } from '../../query/bind.ts';
import { namesField } from '../../query/condition.ts';
import type { Background } from '../background.ts';
import type { AppliedChange } from '../change.ts';
import type { Feed } from '../feed.ts';
import type { RegisteredModel } from '../registered-model.ts';
import type { ModelResource } from '../resource.ts';
import type { Reader, Sink, WatchRequest } from './events.ts';
import { Fanout } from './fanout.ts';
import { Replays } from './replay.ts';
import type { OpenWatch, WatchSource } from './watch.ts';
import { Watch } from './watch.ts';

export interface WatchesDependencies {
  readonly feed: Feed;
  readonly background: Background;
  /** Milliseconds between bookmarks on an idle watch, at most. */
  readonly bookmarkInterval: number;
}

const texts = {
  future: localized('The revision {since} is greater than the newest, {newest}'),
  expired: localized('This replica fell behind the change log; list again'),
  unregistered: localized('The model {kind} is no longer registered'),
  stopping: localized('The service is shutting down'),
  failed: localized('The watch failed'),
  replaced: localized('An index of the selector was replaced; list again'),
};

/** Bookmarks that are sent before other work of the process gets its turn. */
const bookmarksInARow = 250;
/** Part of the bookmark interval between two rounds: an idle stream waits for at most two of them. */
const bookmarkRound = 0.45;

export class Watches implements WatchSource {
  readonly #dependencies: WatchesDependencies;
  readonly #replays: Replays;
  readonly #fanouts = new Map<RegisteredModel, Fanout>();
  readonly #open = new Set<Watch>();
  readonly #atStop = new Set<() => void>();
  readonly #unsubscribe: () => void;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(dependencies: WatchesDependencies) {
    this.#dependencies = dependencies;
    this.#replays = new Replays(dependencies.feed, dependencies.background);
    this.#unsubscribe = dependencies.feed.subscribe({
      change: (change) => this.#deliver(change),
      resync: () => this.#resync(),
    });
  }

  /** Open watches. */
  get size(): number {
    let size = this.#open.size;
    for (const { readers } of this.#fanouts.values()) for (const reader of readers) size += reader.size;
    return size;
  }

  /** The newest revision that a watch can begin after. */
  get applied(): number {
    return this.#dependencies.feed.applied;
  }

  /** @throws Expired when `since` is no longer, or not yet, there; InvalidSelector; InvalidParameter; NotReady; ShuttingDown */
  async open(resource: ModelResource, request: WatchRequest, sink: Sink): Promise<OpenWatch> {
    this.#assertOpen(resource);
    resource.assertBuilt(request.where, request.sort);
    const bound = bind(request.where, resource.scheme.indexes);
    bindSort(request.sort, resource.scheme.indexes);
    await this.#dependencies.feed.current();
    const { since } = request;
    if (since !== undefined) await this.#checkSince(since);
    const revision = since ?? this.#dependencies.feed.applied;
    const { names, identity } = request;
    return new Watch(this, { resource, bound, names, identity, sink, revision }, request);
  }

  start(watch: Watch, request: WatchRequest): void {
    this.#open.add(watch);
    this.#startBookmarks();
    this.#endOnFailure(watch, this.#begin(watch, request));
  }

  fallBehind(watch: Watch): void {
    this.#fanouts.get(watch.resource.model)?.remove(watch);
    this.#tidy(watch.resource.model);
    watch.isLive = false;
    this.#endOnFailure(watch, this.#catchUp(watch));
  }

  remove(watch: Watch): void {
    watch.closed = true;
    this.#open.delete(watch);
    this.#fanouts.get(watch.resource.model)?.remove(watch);
    this.#tidy(watch.resource.model);
  }

  fail(watch: Watch, error: unknown): void {
    this.#end(watch, asEnd(error));
  }

  /** From now on, without a gap. Ended at once when the model or the service is no longer there. @returns stops it */
  join(resource: ModelResource, reader: Reader): () => void {
    try {
      this.#assertOpen(resource);
    } catch (error) {
      reader.end(asEnd(error));
      return () => {};
    }
    this.#fanoutOf(resource.model).readers.add(reader);
    this.#startBookmarks();
    return () => this.#leave(resource.model, reader);
  }

  /** Called when the service stops, after every watch was ended. */
  onStop(callback: () => void): () => void {
    this.#atStop.add(callback);
    return () => this.#atStop.delete(callback);
  }

  /** Ends every watch of a model, or all of them. */
  endAll(error: KindredError, model?: RegisteredModel): void {
    for (const watch of [...this.#open]) {
      if (model === undefined || watch.resource.model === model) this.#end(watch, error);
    }
    for (const [of, { readers }] of [...this.#fanouts]) {
      if (model !== undefined && of !== model) continue;
      for (const reader of [...readers]) {
        this.#leave(of, reader);
        reader.end(error);
      }
    }
  }

  /**
   * Another declaration serves from this turn on: watches go on by it. Those of an index that is another one now end.
   * @param built names of the indexes that were built or are gone
   */
  replaced(model: RegisteredModel, built: ReadonlySet<string>): void {
    const former = this.#fanouts.get(model);
    this.#fanouts.delete(model);
    for (const watch of [...this.#open]) {
      const own = watch.resource;
      if (own.model !== model) continue;
      try {
        if (!own.isHub && !own.shown) throw unregistered(model);
        if (namesField(watch.where, own.indexNames(built))) throw new KindredError('Expired', texts.replaced);
        watch.rebind();
        if (watch.isLive) this.#fanoutOf(model).add(watch);
      } catch (error) {
        this.#end(watch, asEnd(error));
      }
    }
    if (!former || former.readers.size === 0) return;
    const { readers } = this.#fanoutOf(model);
    for (const reader of former.readers) readers.add(reader);
    for (const reader of [...readers]) reader.replaced();
  }

  endUnregistered(model: RegisteredModel): void {
    this.endAll(unregistered(model), model);
  }

  stop(): void {
    this.#stopped = true;
    this.#unsubscribe();
    clearInterval(this.#timer);
    this.endAll(new KindredError('ShuttingDown', texts.stopping));
    for (const callback of [...this.#atStop]) callback();
  }

  #assertOpen(resource: ModelResource): void {
    if (this.#stopped) throw new KindredError('ShuttingDown', texts.stopping);
    resource.indexed.assertReady();
  }

  async #checkSince(since: number): Promise<void> {
    const { feed } = this.#dependencies;
    if (since > feed.applied) await feed.newest();
    if (since > feed.applied)
      throw new KindredError('Expired', texts.future, { params: { since, newest: feed.applied } });
    // The store decides what is kept, whatever is still in memory.
    if (since < feed.applied) await feed.changes(since, 1);
  }

  #resync(): void {
    this.#replays.forget();
    this.endAll(new KindredError('Expired', texts.expired));
  }

  #deliver(change: AppliedChange): void {
    try {
      this.#fanouts.get(change.model)?.deliver(change);
    } catch (error) {
      // Nobody goes on behind a change that could not be told.
      this.endAll(asEnd(error), change.model);
    }
  }

  async #begin(watch: Watch, request: WatchRequest): Promise<void> {
    // The model, or the service, may have gone since the watch was opened.
    this.#assertOpen(watch.resource);
    // Its declaration may have been replaced since.
    watch.rebind();
    if (request.sendInitial) await this.#replays.sendInitial(watch, request);
    await this.#catchUp(watch);
  }

  #catchUp(watch: Watch): Promise<void> {
    return this.#replays.catchUp(watch, () => {
      watch.isLive = true;
      this.#fanoutOf(watch.resource.model).add(watch);
    });
  }

  #endOnFailure(watch: Watch, work: Promise<void>): void {
    work.catch((error: unknown) => this.#end(watch, asEnd(error)));
  }

  #fanoutOf(model: RegisteredModel): Fanout {
    let fanout = this.#fanouts.get(model);
    if (!fanout) {
      fanout = new Fanout(model.scheme.indexes);
      this.#fanouts.set(model, fanout);
    }
    return fanout;
  }

  #end(watch: Watch, error: KindredError): void {
    if (watch.closed) return;
    this.remove(watch);
    watch.sink.end(error);
  }

  #leave(model: RegisteredModel, reader: Reader): void {
    this.#fanouts.get(model)?.readers.delete(reader);
    this.#tidy(model);
  }

  #tidy(model: RegisteredModel): void {
    if (this.#fanouts.get(model)?.isEmpty) this.#fanouts.delete(model);
    if (this.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #startBookmarks(): void {
    let isSending = false;
    this.#timer ??= setInterval(async () => {
      if (isSending) return;
      isSending = true;
      await this.#sendBookmarks();
      isSending = false;
    }, this.#dependencies.bookmarkInterval * bookmarkRound).unref();
  }

  async #sendBookmarks(): Promise<void> {
    let sent = 0;
    for (const stream of this.#streams()) {
      stream.bookmark(this.#dependencies.feed.applied);
      if (++sent % bookmarksInARow === 0) await new Promise((resolve) => setImmediate(resolve));
      if (this.#stopped) return;
    }
  }

  *#streams(): Generator<Watch | Reader> {
    yield* this.#open;
    for (const { readers } of this.#fanouts.values()) yield* readers;
  }
}

/** How a watch ends that cannot go on. */
function asEnd(error: unknown): KindredError {
  if (error instanceof KindredError) return error;
  return new KindredError('InternalError', texts.failed, { cause: error });
}

function unregistered({ kind }: RegisteredModel): KindredError {
  return new KindredError('NotFound', texts.unregistered, { params: { kind } });
}
