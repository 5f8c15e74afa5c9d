/**
 * Watches (contract section 13): every change that a selection sees, once, in order. A *watch* is one client's request,
 * its *sink* is where its events go; a *replay* brings a watch from a revision in the log up to the memory.
 */
import { KindredError } from '../errors.ts';
import { fieldAt, keysOf } from '../indexes/field.ts';
import type { IndexDefinition, IndexEntry } from '../model/index-entry.ts';
import type { Bound, KeyRange } from '../query/bind.ts';
import { bind, bindSort } from '../query/bind.ts';
import { matches } from '../query/match.ts';
import type { Access, Authorizer, Decision, Identity } from './access.ts';
import type { AppliedChange, Feed } from './feed.ts';
import type { ModelResource, Selection } from './resource.ts';

export interface WatchRequest extends Selection {
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
  /** Resolves when the client has taken enough for more; undefined when it may go on at once. */
  drained(): Promise<void> | undefined;
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
  change(change: AppliedChange): void;
  /** Comes at least every `bookmarkInterval`; everything up to this revision was told. */
  bookmark(revision: number): void;
  /** The service ends the reading: nothing comes any more. */
  end(error: KindredError): void;
}

export interface WatchesParts {
  readonly feed: Feed;
  /** Milliseconds between bookmarks on an idle watch, at most. */
  readonly bookmarkInterval: number;
}

const texts = {
  future: { en: 'The revision {since} is greater than the newest, {newest}', zh: '修订号 {since} 大于最新的 {newest}' },
  expired: { en: 'This replica fell behind the change log; list again', zh: '此副本落后于变更日志；请重新列出' },
  unlisted: {
    en: 'The database went away while the list was being sent; list again',
    zh: '发送列表期间数据库不可用；请重新列出',
  },
  unregistered: { en: 'The model {kind} is no longer registered', zh: '模型 {kind} 已注销' },
  stopping: { en: 'The service is shutting down', zh: '服务正在关闭' },
  rights: { en: 'What "{identity}" may see has changed; watch again', zh: '"{identity}" 可见的内容已变化；请重新监视' },
  failed: { en: 'The watch failed', zh: '监视失败' },
};

const replayPortion = 500;
/** Bookmarks that are sent before other work of the process gets its turn. */
const bookmarksInARow = 250;
/** Milliseconds between two attempts to read while the database is away. */
const awayPause = { shortest: 50, longest: 1_000 };
/** Part of the bookmark interval between two rounds: an idle stream waits for at most two of them. */
const bookmarkRound = 0.45;

export class Watches {
  readonly #parts: WatchesParts;
  readonly #byResource = new Map<ModelResource, Fanout>();
  readonly #open = new Set<Watch>();
  readonly #atStop = new Set<() => void>();
  readonly #unsubscribe: () => void;
  #readers = 0;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(parts: WatchesParts) {
    this.#parts = parts;
    this.#unsubscribe = parts.feed.subscribe((change) => this.#deliver(change));
  }

  /** Open watches. */
  get size(): number {
    return this.#open.size + this.#readers;
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
    return new Watch(this, { resource, bound, names: request.names, sink, revision }, request);
  }

  /** Used by `Watch` alone. */
  start(watch: Watch, request: WatchRequest): void {
    this.#open.add(watch);
    this.#startBookmarks();
    this.#run(watch, request).catch((error: unknown) => this.#end(watch, asEnd(error)));
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
    this.#readers++;
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

  async #run(watch: Watch, request: WatchRequest): Promise<void> {
    // The model, or the service, may have gone since the watch was opened.
    this.#assertOpen(watch.resource);
    await this.#catchUp(watch, request.sendInitial ? await this.#sendInitial(watch, request) : watch.revision);
  }

  async #sendInitial(watch: Watch, request: WatchRequest): Promise<number> {
    const { sink } = watch;
    let isSent = false;
    const send = async (): Promise<number> => {
      const { revision, objects } = await watch.resource.export(request);
      for await (const portion of objects) {
        for (const bytes of portion) {
          if (watch.closed) return revision;
          isSent = true;
          sink.event({ type: 'ADDED', revision, bytes, initial: true });
          const full = sink.drained();
          if (full) await full;
        }
      }
      if (!watch.closed) sink.event({ type: 'BOOKMARK', revision, initial: true });
      return revision;
    };
    return this.#patiently(watch, send, (error) => {
      // What is left can only be had at another revision.
      if (isSent) throw new KindredError('Expired', texts.unlisted, {}, {}, { cause: error });
    });
  }

  /**
   * Reads again while the database is away: a watch that is live waits for it in the same way.
   * @param away called before each pause with how long it will be, in milliseconds; may throw to give up
   */
  async #patiently<T>(watch: Watch, read: () => Promise<T>, away: (error: unknown, pause: number) => void): Promise<T> {
    for (let pause = awayPause.shortest; ; pause = Math.min(pause * 2, awayPause.longest)) {
      try {
        return await read();
      } catch (error) {
        if (!isAway(error) || watch.closed) throw error;
        away(error, pause);
        await new Promise<void>((resolve) => setTimeout(resolve, pause).unref());
      }
    }
  }

  /**
   * Replays the log, then what the feed still has in memory, and joins the live watches in the same turn. As long as it
   * replays, the watch goes at its client's pace.
   */
  async #catchUp(watch: Watch, from: number): Promise<void> {
    const { feed, bookmarkInterval } = this.#parts;
    const { resource, sink } = watch;
    let silent = 0;
    for (let cursor = from; !watch.closed; ) {
      // In memory, changes from before the model was registered (again) are missing, or belong to its former self.
      const recent = cursor >= resource.followedSince ? feed.recent(cursor) : undefined;
      const replayed = recent
        ? { changes: recent, through: feed.applied }
        : await this.#patiently(
            watch,
            () => feed.changes(cursor, replayPortion),
            (_, pause) => {
              silent += pause;
              if (silent < bookmarkInterval * bookmarkRound) return;
              sink.event({ type: 'BOOKMARK', revision: cursor });
              silent = 0;
            },
          );
      // The log may be ahead of the memory; nothing is told that a read would not show as well.
      if (replayed.through > feed.applied) await feed.at(replayed.through);
      let full: Promise<void> | undefined;
      for (const change of replayed.changes) {
        if (watch.closed) return;
        if (change.resource === resource) watch.deliver(change);
        cursor = change.revision;
        full = sink.drained();
        if (!full) continue;
        if (recent) break;
        await full;
      }
      if (full) {
        await full;
        continue;
      }
      if (recent) {
        this.#fanoutOf(resource).add(watch);
        return;
      }
      cursor = replayed.through;
    }
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
    if (this.#byResource.get(resource)?.readers.delete(reader)) this.#readers--;
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
    for (const fanout of this.#byResource.values()) {
      for (const reader of fanout.all()) {
        // Whatever is applied was delivered in the same turn.
        reader.bookmark(this.#parts.feed.applied);
        if (++sent % bookmarksInARow === 0) await new Promise((resolve) => setImmediate(resolve));
        if (this.#stopped) return;
      }
    }
  }
}

/** True while the database is away, or the indexes are being built: what was asked for can be had later. */
export function isAway(error: unknown): boolean {
  return error instanceof KindredError && error.code === 'NotReady';
}

/** How a watch ends that can neither go on nor wait: its client lists again, and is told there when it can. */
function asEnd(error: unknown): KindredError {
  if (isAway(error)) return new KindredError('Expired', texts.expired, {}, {}, { cause: error });
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
  readonly sink: Sink;
  readonly revision: number;
}

class Watch implements OpenWatch {
  readonly resource: ModelResource;
  readonly bound: Bound;
  readonly names: ReadonlySet<string> | undefined;
  readonly sink: Sink;
  readonly revision: number;
  closed = false;
  /** Had an event since the last round of bookmarks. */
  #busy = false;
  readonly #watches: Watches;
  /** Until it is started: there may be many watches, and each is kept for long. */
  #request: WatchRequest | undefined;

  constructor(watches: Watches, { resource, bound, names, sink, revision }: WatchParts, request: WatchRequest) {
    this.resource = resource;
    this.bound = bound;
    this.names = names;
    this.sink = sink;
    this.revision = revision;
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

  deliver(change: AppliedChange): void {
    if (this.names && !this.names.has(change.name)) return;
    const type = eventTypeOf(this.bound, change);
    if (!type) return;
    this.#busy = true;
    this.sink.event({ type, revision: change.revision, bytes: change.shown(), change });
  }

  bookmark(revision: number): void {
    if (!this.#busy) this.sink.event({ type: 'BOOKMARK', revision });
    this.#busy = false;
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

/**
 * Finds the watches that a change could concern without asking each: a watch whose condition demands one of a few
 * names, labels or keys is filed under these (its *anchors*), all others are asked every time.
 */
class Fanout {
  readonly readers = new Set<Reader>();
  readonly #definitions: readonly IndexDefinition[];
  readonly #anchors = new Map<Watch, readonly string[]>();
  readonly #unanchored = new Set<Watch>();
  readonly #anchored = new Map<string, Set<Watch>>();
  /** How many anchors there are for each label key, and for each field. */
  readonly #labels = new Map<string, number>();
  readonly #fields = new Map<number, number>();

  constructor(definitions: readonly IndexDefinition[]) {
    this.#definitions = definitions;
  }

  get isEmpty(): boolean {
    return this.#anchors.size === 0 && this.#unanchored.size === 0 && this.readers.size === 0;
  }

  *all(): Generator<Watch | Reader> {
    yield* this.#unanchored;
    yield* this.#anchors.keys();
    yield* this.readers;
  }

  add(watch: Watch): void {
    const anchors = this.#anchorsOf(watch);
    if (!anchors) {
      this.#unanchored.add(watch);
      return;
    }
    const files = anchors.map((anchor) => anchor.file);
    this.#anchors.set(watch, files);
    for (const file of files) {
      const filed = this.#anchored.get(file);
      if (filed) filed.add(watch);
      else this.#anchored.set(file, new Set([watch]));
    }
    this.#count(anchors, 1);
  }

  remove(watch: Watch): void {
    this.#unanchored.delete(watch);
    const files = this.#anchors.get(watch);
    if (!files) return;
    this.#anchors.delete(watch);
    for (const file of files) {
      const filed = this.#anchored.get(file);
      filed?.delete(watch);
      if (filed?.size === 0) this.#anchored.delete(file);
    }
    this.#count(this.#anchorsOf(watch)!, -1);
  }

  deliver(change: AppliedChange): void {
    for (const reader of this.readers) reader.change(change);
    for (const watch of this.#unanchored) watch.deliver(change);
    if (this.#anchored.size === 0) return;
    const found = new Set(this.#anchored.get(nameFile(change.name)));
    for (const entry of [change.entry(), change.entryBefore()]) {
      if (!entry) continue;
      for (const file of this.#filesOf(entry)) for (const watch of this.#anchored.get(file) ?? []) found.add(watch);
    }
    for (const watch of found) watch.deliver(change);
  }

  #anchorsOf({ names, bound }: Watch): readonly Anchor[] | undefined {
    if (names) return [...names].map((name) => ({ file: nameFile(name) }));
    return anchorsOf(bound, this.#definitions);
  }

  #count(anchors: readonly Anchor[], by: number): void {
    for (const { label, field } of anchors) {
      if (label !== undefined) count(this.#labels, label, by);
      if (field !== undefined) count(this.#fields, field, by);
    }
  }

  *#filesOf(entry: IndexEntry): Generator<string> {
    for (const label of this.#labels.keys()) {
      if (Object.hasOwn(entry.labels, label)) yield labelFile(label, entry.labels[label]!);
    }
    for (const field of this.#fields.keys()) {
      const { codec } = fieldAt(this.#definitions, field);
      for (const key of keysOf(entry, field)) yield fieldFile(field, codec.format(key));
    }
  }
}

/** Where a watch is filed, and the label key or field that leads there. */
interface Anchor {
  readonly file: string;
  readonly label?: string;
  readonly field?: number;
}

/** Whatever the condition holds for has one of these; undefined when there are no such few. */
function anchorsOf(bound: Bound, definitions: readonly IndexDefinition[]): readonly Anchor[] | undefined {
  switch (bound.op) {
    case 'and': {
      const found = bound.of.flatMap((one) => {
        const anchors = anchorsOf(one, definitions);
        return anchors ? [anchors] : [];
      });
      return found.toSorted((a, b) => a.length - b.length)[0];
    }
    case 'or': {
      const found = bound.of.map((one) => anchorsOf(one, definitions));
      return found.some((anchors) => !anchors) ? undefined : found.flatMap((anchors) => anchors!);
    }
    case 'label':
      return (
        bound.values && [...bound.values].map((value) => ({ file: labelFile(bound.key, value), label: bound.key }))
      );
    case 'keys': {
      const { codec } = fieldAt(definitions, bound.field);
      const isPoint = ({ from, to }: KeyRange) =>
        from !== undefined && to !== undefined && codec.compare(from, to) === 0;
      if (bound.text || !bound.ranges.every(isPoint)) return undefined;
      return bound.ranges.map(({ from }) => ({ file: fieldFile(bound.field, codec.format(from)), field: bound.field }));
    }
    default:
      return undefined;
  }
}

function nameFile(name: string): string {
  return `n${name}`;
}

function labelFile(key: string, value: string): string {
  return `l${key}=${value}`;
}

function fieldFile(field: number, key: string): string {
  return `f${field}=${key}`;
}

function count<K>(counts: Map<K, number>, key: K, by: number): void {
  const now = (counts.get(key) ?? 0) + by;
  if (now === 0) counts.delete(key);
  else counts.set(key, now);
}
