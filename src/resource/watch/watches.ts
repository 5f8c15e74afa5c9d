/**
 * Watches (contract section 13): every change that a selection sees, once, in order. A *watch* is one client's request,
 * its *sink* is where its events go. A watch is *live* when it is told of each change as it is applied; before that, and
 * whenever its client is too far behind, it goes on by a replay (`replay.ts`).
 */
import { KindredError } from '../../errors.ts';
import type { Bound } from '../../query/bind.ts';
import { bind, bindSort } from '../../query/bind.ts';
import { matches } from '../../query/match.ts';
import type { Access, Authorizer, Decision, Identity } from '../access.ts';
import type { Background } from '../background.ts';
import type { AppliedChange, Feed } from '../feed.ts';
import type { ModelResource, Selection } from '../resource.ts';
import { Fanout } from './fanout.ts';
import { Replays } from './replay.ts';

export interface WatchRequest extends Selection {
  /** Who watches: where many wait for a replay, every identity has its turn. */
  readonly identity: string;
  /** Exclusive; undefined: from now. */
  readonly since?: number;
  /** The list first; not together with `since`. */
  readonly sendInitial?: boolean;
}

export interface ChangeEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  readonly bytes: Buffer;
  /** The change behind it, shared by all watches that see it; absent with `initial`. */
  readonly change?: AppliedChange;
  readonly initial?: true;
}

export interface Bookmark {
  readonly type: 'BOOKMARK';
  readonly revision: number;
  readonly initial?: true;
}

export type WatchEvent = ChangeEvent | Bookmark;

export interface Sink {
  event(event: WatchEvent): void;
  /** The client has not taken yet what a replay waits for. */
  readonly isBehind: boolean;
  /** So much waits for the client that nothing may be added. */
  readonly isFull: boolean;
  /** Resolves when the client is no longer behind, or is gone. */
  drained(): Promise<void>;
  /** The service ends the watch: no more events come. */
  end(error: KindredError): void;
}

export interface OpenWatch {
  /** The revision that the watch begins after. */
  readonly revision: number;
  /** Starts the events. */
  start(): void;
  /** The client is gone. */
  close(): void;
}

/** Another reader of one model's changes: a live page. Told of changes as they are applied; must be quick. */
export interface Reader {
  /** Clients behind it. */
  readonly size: number;
  change(change: AppliedChange): void;
  /** Comes at least every `bookmarkInterval`; everything up to this revision was told. */
  bookmark(revision: number): void;
  /** The service ends the reading: nothing comes any more. */
  end(error: KindredError): void;
}

export interface WatchesParts {
  readonly feed: Feed;
  readonly background: Background;
  /** Milliseconds between bookmarks on an idle watch, at most. */
  readonly bookmarkInterval: number;
}

const texts = {
  future: { en: 'The revision {since} is greater than the newest, {newest}', zh: '修订号 {since} 大于最新的 {newest}' },
  expired: { en: 'This replica fell behind the change log; list again', zh: '此副本落后于变更日志；请重新列出' },
  unregistered: { en: 'The model {kind} is no longer registered', zh: '模型 {kind} 已注销' },
  stopping: { en: 'The service is shutting down', zh: '服务正在关闭' },
  rights: { en: 'What "{identity}" may see has changed; watch again', zh: '"{identity}" 可见的内容已变化；请重新监视' },
  failed: { en: 'The watch failed', zh: '监视失败' },
};

/** Bookmarks that are sent before other work of the process gets its turn. */
const bookmarksInARow = 250;
/** Part of the bookmark interval between two rounds: an idle stream waits for at most two of them. */
const bookmarkRound = 0.45;

export class Watches {
  readonly #parts: WatchesParts;
  readonly #replays: Replays;
  readonly #byResource = new Map<ModelResource, Fanout>();
  readonly #open = new Set<Watch>();
  readonly #atStop = new Set<() => void>();
  readonly #unsubscribe: () => void;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(parts: WatchesParts) {
    this.#parts = parts;
    this.#replays = new Replays(parts.feed, parts.background);
    this.#unsubscribe = parts.feed.subscribe((change) => this.#deliver(change));
  }

  /** Open watches. */
  get size(): number {
    let size = this.#open.size;
    for (const { readers } of this.#byResource.values()) for (const reader of readers) size += reader.size;
    return size;
  }

  /** @throws Expired when `since` is no longer, or not yet, there; InvalidSelector; InvalidParameter; NotReady; ShuttingDown */
  async open(resource: ModelResource, request: WatchRequest, sink: Sink): Promise<OpenWatch> {
    this.#assertOpen(resource);
    const bound = bind(request.where, resource.scheme.indexes);
    bindSort(request.sort, resource.scheme.indexes);
    await this.#parts.feed.current();
    const { since } = request;
    if (since !== undefined) await this.#checkSince(since);
    const revision = since ?? this.#parts.feed.applied;
    const { names, identity } = request;
    return new Watch(this, { resource, bound, names, identity, sink, revision }, request);
  }

  /** Used by `Watch` alone. */
  start(watch: Watch, request: WatchRequest): void {
    this.#open.add(watch);
    this.#startBookmarks();
    this.#endOnFailure(watch, this.#begin(watch, request));
  }

  /** Used by `Watch` alone: it goes on by a replay. */
  fallBehind(watch: Watch): void {
    this.#byResource.get(watch.resource)?.remove(watch);
    this.#tidy(watch.resource);
    watch.isLive = false;
    this.#endOnFailure(watch, this.#catchUp(watch));
  }

  /** Used by `Watch` alone. */
  remove(watch: Watch): void {
    watch.closed = true;
    this.#open.delete(watch);
    this.#byResource.get(watch.resource)?.remove(watch);
    this.#tidy(watch.resource);
  }

  /** From now on, without a gap. Ended at once when the model or the service is no longer there. @returns stops it */
  join(resource: ModelResource, reader: Reader): () => void {
    try {
      this.#assertOpen(resource);
    } catch (error) {
      reader.end(asEnd(error));
      return () => {};
    }
    this.#fanoutOf(resource).readers.add(reader);
    this.#startBookmarks();
    return () => this.#leave(resource, reader);
  }

  /** Called when the service stops, after every watch was ended. */
  onStop(callback: () => void): () => void {
    this.#atStop.add(callback);
    return () => this.#atStop.delete(callback);
  }

  /** Ends every watch of a model, or all of them. */
  endAll(error: KindredError, resource?: ModelResource): void {
    for (const watch of [...this.#open]) {
      if (resource === undefined || watch.resource === resource) this.#end(watch, error);
    }
    for (const [of, { readers }] of [...this.#byResource]) {
      if (resource !== undefined && of !== resource) continue;
      for (const reader of [...readers]) {
        this.#leave(of, reader);
        reader.end(error);
      }
    }
  }

  endUnregistered(resource: ModelResource): void {
    this.endAll(new KindredError('NotFound', texts.unregistered, { kind: resource.kind }), resource);
  }

  endOvertaken(): void {
    this.#replays.forget();
    this.endAll(new KindredError('Expired', texts.expired));
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
    resource.assertReady();
  }

  async #checkSince(since: number): Promise<void> {
    const { feed } = this.#parts;
    if (since > feed.applied) await feed.newest();
    if (since > feed.applied) throw new KindredError('Expired', texts.future, { since, newest: feed.applied });
    // The store decides what is kept, whatever is still in memory.
    if (since < feed.applied) await feed.changes(since, 1);
  }

  #deliver(change: AppliedChange): void {
    try {
      this.#byResource.get(change.resource)?.deliver(change);
    } catch (error) {
      // Nobody goes on behind a change that could not be told.
      this.endAll(asEnd(error), change.resource);
    }
  }

  async #begin(watch: Watch, request: WatchRequest): Promise<void> {
    // The model, or the service, may have gone since the watch was opened.
    this.#assertOpen(watch.resource);
    if (request.sendInitial) await this.#replays.sendInitial(watch, request);
    await this.#catchUp(watch);
  }

  #catchUp(watch: Watch): Promise<void> {
    return this.#replays.catchUp(watch, () => {
      watch.isLive = true;
      this.#fanoutOf(watch.resource).add(watch);
    });
  }

  #endOnFailure(watch: Watch, work: Promise<void>): void {
    work.catch((error: unknown) => this.#end(watch, asEnd(error)));
  }

  #fanoutOf(resource: ModelResource): Fanout {
    let fanout = this.#byResource.get(resource);
    if (!fanout) {
      fanout = new Fanout(resource.scheme.indexes);
      this.#byResource.set(resource, fanout);
    }
    return fanout;
  }

  #end(watch: Watch, error: KindredError): void {
    if (watch.closed) return;
    this.remove(watch);
    watch.sink.end(error);
  }

  #leave(resource: ModelResource, reader: Reader): void {
    this.#byResource.get(resource)?.readers.delete(reader);
    this.#tidy(resource);
  }

  #tidy(resource: ModelResource): void {
    if (this.#byResource.get(resource)?.isEmpty) this.#byResource.delete(resource);
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
    }, this.#parts.bookmarkInterval * bookmarkRound).unref();
  }

  async #sendBookmarks(): Promise<void> {
    let sent = 0;
    for (const stream of this.#streams()) {
      stream.bookmark(this.#parts.feed.applied);
      if (++sent % bookmarksInARow === 0) await new Promise((resolve) => setImmediate(resolve));
      if (this.#stopped) return;
    }
  }

  *#streams(): Generator<Watch | Reader> {
    yield* this.#open;
    for (const { readers } of this.#byResource.values()) yield* readers;
  }
}

/** How a watch ends that cannot go on. */
function asEnd(error: unknown): KindredError {
  if (error instanceof KindredError) return error;
  return new KindredError('InternalError', texts.failed, {}, {}, { cause: error });
}

/**
 * Calls back with Forbidden once what the identity may list and watch of a model is no longer what it was: all of it, or
 * these names. @returns stops it
 */
export function followRights(
  {
    authorizer,
    identity,
    resource,
    names,
  }: {
    readonly authorizer: Authorizer;
    readonly identity: Identity;
    readonly resource: ModelResource;
    readonly names: ReadonlySet<string> | undefined;
  },
  end: (error: KindredError) => void,
): () => void {
  const { group } = resource.scheme.groupVersionKind;
  const list: Access = { verb: 'list', group, resource: resource.scheme.plural };
  const watch: Access = { ...list, verb: 'watch' };
  const look = () => {
    const listed = authorizer.decide(identity, list);
    const watched = authorizer.decide(identity, watch);
    if (listed.allowed && watched.allowed && sameNames(seenNames(listed, watched), names)) return;
    end(new KindredError('Forbidden', texts.rights, { identity: identity.name }));
  };
  const stop = authorizer.onChange(look);
  // Rights may have changed since the caller asked.
  look();
  return stop;
}

type Allowed = Decision & { readonly allowed: true };

/** Of two decisions that both hold: the names they leave; undefined: all. */
export function seenNames({ names: a }: Allowed, { names: b }: Allowed): ReadonlySet<string> | undefined {
  return a && b ? a.intersection(b) : (a ?? b);
}

/** Whether two decisions show the same objects. */
export function sameNames(a: ReadonlySet<string> | undefined, b: ReadonlySet<string> | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.size === b.size && a.isSubsetOf(b));
}

interface WatchParts {
  readonly resource: ModelResource;
  readonly bound: Bound;
  readonly names: ReadonlySet<string> | undefined;
  readonly identity: string;
  readonly sink: Sink;
  readonly revision: number;
}

export class Watch implements OpenWatch {
  readonly resource: ModelResource;
  readonly bound: Bound;
  readonly names: ReadonlySet<string> | undefined;
  readonly identity: string;
  readonly sink: Sink;
  readonly revision: number;
  closed = false;
  isLive = false;
  /** While it is not live: everything up to this revision was told; -1 as long as the list is not complete. */
  position: number;
  /** Had an event since the last round of bookmarks. */
  #busy = false;
  readonly #watches: Watches;
  /** Until it is started: there may be many watches, and each is kept for long. */
  #request: WatchRequest | undefined;

  constructor(
    watches: Watches,
    { resource, bound, names, identity, sink, revision }: WatchParts,
    request: WatchRequest,
  ) {
    this.resource = resource;
    this.bound = bound;
    this.names = names;
    this.identity = identity;
    this.sink = sink;
    this.revision = revision;
    this.position = request.sendInitial ? -1 : revision;
    this.#watches = watches;
    this.#request = request;
  }

  start(): void {
    const request = this.#request;
    this.#request = undefined;
    if (request && !this.closed) this.#watches.start(this, request);
  }

  close(): void {
    this.#watches.remove(this);
  }

  /** A change that was just applied. */
  deliver(change: AppliedChange): void {
    const type = this.#typeOf(change);
    if (!type) return;
    if (!this.sink.isFull) return this.#send(type, change);
    this.position = change.revision - 1;
    this.#watches.fallBehind(this);
  }

  /** The next change of a replay. */
  tell(change: AppliedChange): void {
    const type = this.#typeOf(change);
    if (type) this.#send(type, change);
  }

  bookmark(applied: number): void {
    // Whatever is applied was delivered to live watches in the same turn.
    const revision = this.isLive ? applied : this.position;
    if (!this.#busy && revision >= 0 && !this.sink.isFull) this.sink.event({ type: 'BOOKMARK', revision });
    this.#busy = false;
  }

  #typeOf(change: AppliedChange): ChangeEvent['type'] | undefined {
    return this.names && !this.names.has(change.name) ? undefined : eventTypeOf(this.bound, change);
  }

  #send(type: ChangeEvent['type'], change: AppliedChange): void {
    this.#busy = true;
    this.sink.event({ type, revision: change.revision, bytes: change.shown(), change });
  }
}

/** What a selection sees of a change: an object that starts to match is added, one that stops is deleted. */
export function eventTypeOf(bound: Bound, change: AppliedChange): ChangeEvent['type'] | undefined {
  const matchesAll = bound.op === 'all';
  const matched = change.type !== 'create' && (matchesAll || matches(bound, change.entryBefore()!));
  if (change.type === 'delete') return matched ? 'DELETED' : undefined;
  const isMatch = matchesAll || matches(bound, change.entry());
  if (isMatch) return matched ? 'MODIFIED' : 'ADDED';
  return matched ? 'DELETED' : undefined;
}
