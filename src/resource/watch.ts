/**
 * Watches (contract section 13): every change that a selection sees, once, in order. A *watch* is one client's request,
 * its *sink* is where its events go; a *replay* brings a watch from a revision in the log up to the memory.
 */
import { KindredError } from '../errors.ts';
import { fieldAt, keysOf } from '../indexes/field.ts';
import type { IndexDefinition, IndexEntry } from '../model/index-entry.ts';
import type { Bound } from '../query/bind.ts';
import { bind } from '../query/bind.ts';
import { matches } from '../query/match.ts';
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

export interface WatchesParts {
  readonly feed: Feed;
  /** Milliseconds between bookmarks on an idle watch, at most. */
  readonly bookmarkInterval: number;
}

const texts = {
  future: { en: 'The revision {since} is greater than the newest, {newest}', zh: '修订号 {since} 大于最新的 {newest}' },
  expired: { en: 'This replica fell behind the change log; list again', zh: '此副本落后于变更日志；请重新列出' },
  unregistered: { en: 'The model {kind} is no longer registered', zh: '模型 {kind} 已注销' },
  stopping: { en: 'The service is shutting down', zh: '服务正在关闭' },
};

const replayPortion = 500;

export class Watches {
  readonly #parts: WatchesParts;
  readonly #byResource = new Map<ModelResource, Fanout>();
  readonly #open = new Set<Watch>();
  readonly #joined = new Set<{ readonly resource: ModelResource; readonly end: (error: KindredError) => void }>();
  readonly #unsubscribe: () => void;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(parts: WatchesParts) {
    this.#parts = parts;
    this.#unsubscribe = parts.feed.subscribe((change) => this.#byResource.get(change.resource)?.deliver(change));
  }

  /** Open watches. */
  get size(): number {
    return this.#open.size + this.#joined.size;
  }

  /** @throws Expired when `since` is no longer, or not yet, there; InvalidSelector; NotReady */
  async open(resource: ModelResource, request: WatchRequest, sink: Sink): Promise<OpenWatch> {
    if (this.#stopped) throw new KindredError('ShuttingDown', texts.stopping);
    resource.assertReady();
    const bound = bind(request.where, resource.scheme.indexes);
    await this.#parts.feed.current();
    const { since } = request;
    if (since !== undefined) await this.#checkSince(since);
    const revision = since ?? this.#parts.feed.applied;
    const watch = new Watch({ resource, bound, names: request.names, sink, revision });
    return {
      revision,
      start: () => {
        this.#open.add(watch);
        this.#startBookmarks();
        this.#run(watch, request).catch((error: unknown) => this.#end(watch, asEnd(error)));
      },
      close: () => this.#remove(watch),
    };
  }

  /** For other readers of the feed (live pages): `end` is called when the watches of the model are ended. */
  join(resource: ModelResource, end: (error: KindredError) => void): () => void {
    const member = { resource, end };
    this.#joined.add(member);
    return () => this.#joined.delete(member);
  }

  /** Ends every watch of a model, or all of them. */
  endAll(error: KindredError, resource?: ModelResource): void {
    for (const watch of [...this.#open]) {
      if (resource === undefined || watch.resource === resource) this.#end(watch, error);
    }
    for (const joined of [...this.#joined]) {
      if (resource === undefined || joined.resource === resource) joined.end(error);
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
  }

  async #checkSince(since: number): Promise<void> {
    const { feed } = this.#parts;
    if (since > feed.applied) await feed.newest();
    if (since > feed.applied) throw new KindredError('Expired', texts.future, { since, newest: feed.applied });
    if (since < feed.applied && !feed.recent(since)) await feed.changes(since, 1);
  }

  async #run(watch: Watch, request: WatchRequest): Promise<void> {
    let cursor = watch.revision;
    if (request.sendInitial) {
      const { revision, objects } = await watch.resource.export(request);
      for await (const portion of objects) {
        if (watch.closed) return;
        for (const bytes of portion) watch.sink.event({ type: 'ADDED', revision, bytes, initial: true });
        await watch.sink.drained();
      }
      watch.sink.event({ type: 'BOOKMARK', revision, initial: true });
      cursor = revision;
    }
    await this.#catchUp(watch, cursor);
  }

  /** Replays the log, then what the feed still has in memory, and joins the live watches in the same turn. */
  async #catchUp(watch: Watch, from: number): Promise<void> {
    const { feed } = this.#parts;
    for (let cursor = from; !watch.closed; ) {
      const recent = feed.recent(cursor);
      if (recent) {
        for (const change of recent) if (change.resource === watch.resource) watch.deliver(change);
        this.#fanoutOf(watch.resource).add(watch);
        return;
      }
      const { changes, through } = await feed.changes(cursor, replayPortion);
      for (const change of changes) if (change.resource === watch.resource) watch.deliver(change);
      cursor = through;
      await watch.sink.drained();
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
    this.#remove(watch);
    watch.sink.end(error);
  }

  #remove(watch: Watch): void {
    watch.closed = true;
    this.#open.delete(watch);
    const fanout = this.#byResource.get(watch.resource);
    fanout?.remove(watch);
    if (fanout?.size === 0) this.#byResource.delete(watch.resource);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #startBookmarks(): void {
    this.#timer ??= setInterval(() => {
      const revision = this.#parts.feed.applied;
      for (const fanout of this.#byResource.values()) fanout.bookmark(revision);
    }, this.#parts.bookmarkInterval / 2).unref();
  }
}

function asEnd(error: unknown): KindredError {
  if (error instanceof KindredError) return error;
  return new KindredError('InternalError', { en: 'The watch failed', zh: '监视失败' }, {}, {}, { cause: error });
}

interface WatchParts {
  readonly resource: ModelResource;
  readonly bound: Bound;
  readonly names: ReadonlySet<string> | undefined;
  readonly sink: Sink;
  readonly revision: number;
}

class Watch {
  readonly resource: ModelResource;
  readonly bound: Bound;
  readonly sink: Sink;
  readonly revision: number;
  closed = false;
  /** Had an event since the last look of the bookmark timer. */
  busy = false;
  readonly #names: ReadonlySet<string> | undefined;

  constructor({ resource, bound, names, sink, revision }: WatchParts) {
    this.resource = resource;
    this.bound = bound;
    this.#names = names;
    this.sink = sink;
    this.revision = revision;
  }

  deliver(change: AppliedChange): void {
    const type = this.#typeOf(change);
    if (!type) return;
    this.busy = true;
    this.sink.event({ type, revision: change.revision, bytes: change.shown(), change });
  }

  /** What this watch sees of a change: an object that starts to match is added, one that stops is deleted. */
  #typeOf(change: AppliedChange): ChangeEvent['type'] | undefined {
    if (this.#names && !this.#names.has(change.name)) return undefined;
    const before = change.entryBefore();
    const matched = before !== undefined && (this.bound.op === 'all' || matches(this.bound, before));
    if (change.type === 'delete') return matched ? 'DELETED' : undefined;
    const isMatch = this.bound.op === 'all' || matches(this.bound, change.entry());
    if (isMatch) return matched ? 'MODIFIED' : 'ADDED';
    return matched ? 'DELETED' : undefined;
  }
}

/**
 * Finds the watches that a change could concern without asking each: a watch whose condition demands one of a few
 * labels or keys is filed under these (its *anchors*), all others are asked every time.
 */
class Fanout {
  readonly #definitions: readonly IndexDefinition[];
  readonly #all = new Map<Watch, readonly string[]>();
  readonly #unanchored = new Set<Watch>();
  readonly #anchored = new Map<string, Set<Watch>>();
  /** How many watches use each label key, and each field, in their anchors. */
  readonly #labels = new Map<string, number>();
  readonly #fields = new Map<number, number>();

  constructor(definitions: readonly IndexDefinition[]) {
    this.#definitions = definitions;
  }

  get size(): number {
    return this.#all.size;
  }

  add(watch: Watch): void {
    const anchor = anchorOf(watch.bound, this.#definitions);
    this.#all.set(watch, anchor?.names ?? []);
    if (!anchor) {
      this.#unanchored.add(watch);
      return;
    }
    for (const name of anchor.names) {
      const filed = this.#anchored.get(name);
      if (filed) filed.add(watch);
      else this.#anchored.set(name, new Set([watch]));
    }
    if ('label' in anchor) count(this.#labels, anchor.label, 1);
    else count(this.#fields, anchor.field, 1);
  }

  remove(watch: Watch): void {
    const names = this.#all.get(watch);
    if (!names) return;
    this.#all.delete(watch);
    this.#unanchored.delete(watch);
    for (const name of names) {
      const filed = this.#anchored.get(name);
      filed?.delete(watch);
      if (filed?.size === 0) this.#anchored.delete(name);
    }
    const anchor = anchorOf(watch.bound, this.#definitions);
    if (!anchor) return;
    if ('label' in anchor) count(this.#labels, anchor.label, -1);
    else count(this.#fields, anchor.field, -1);
  }

  deliver(change: AppliedChange): void {
    for (const watch of this.#unanchored) watch.deliver(change);
    if (this.#anchored.size === 0) return;
    const found = new Set<Watch>();
    for (const entry of [change.entry(), change.entryBefore()]) {
      if (!entry) continue;
      for (const name of this.#anchorsOf(entry)) for (const watch of this.#anchored.get(name) ?? []) found.add(watch);
    }
    for (const watch of found) watch.deliver(change);
  }

  bookmark(revision: number): void {
    for (const watch of this.#all.keys()) {
      if (!watch.busy) watch.sink.event({ type: 'BOOKMARK', revision });
      watch.busy = false;
    }
  }

  *#anchorsOf(entry: IndexEntry): Generator<string> {
    for (const label of this.#labels.keys()) {
      if (Object.hasOwn(entry.labels, label)) yield labelAnchor(label, entry.labels[label]!);
    }
    for (const field of this.#fields.keys()) {
      const { codec } = fieldAt(this.#definitions, field);
      for (const key of keysOf(entry, field)) yield fieldAnchor(field, codec.format(key));
    }
  }
}

type Anchor = { readonly names: readonly string[] } & ({ readonly label: string } | { readonly field: number });

function anchorOf(bound: Bound, definitions: readonly IndexDefinition[]): Anchor | undefined {
  if (bound.op === 'and') {
    for (const one of bound.of) {
      const anchor = anchorOf(one, definitions);
      if (anchor) return anchor;
    }
    return undefined;
  }
  if (bound.op === 'label' && bound.values) {
    return { label: bound.key, names: [...bound.values].map((value) => labelAnchor(bound.key, value)) };
  }
  if (bound.op !== 'keys' || bound.text || !bound.ranges.every((range) => range.from !== undefined)) return undefined;
  const { codec } = fieldAt(definitions, bound.field);
  const isPoint = (range: (typeof bound.ranges)[number]) =>
    range.to !== undefined && codec.compare(range.from, range.to) === 0;
  if (!bound.ranges.every(isPoint)) return undefined;
  const names = bound.ranges.map((range) => fieldAnchor(bound.field, codec.format(range.from)));
  return { field: bound.field, names };
}

function labelAnchor(key: string, value: string): string {
  return `l${key}=${value}`;
}

function fieldAnchor(field: number, key: string): string {
  return `f${field}=${key}`;
}

function count<K>(counts: Map<K, number>, key: K, by: number): void {
  const now = (counts.get(key) ?? 0) + by;
  if (now === 0) counts.delete(key);
  else counts.set(key, now);
}
