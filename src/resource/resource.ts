/** One model's objects: its memory, reads from it and from the store; writes are those of `writer.ts`. */
import { setTimeout as pause } from 'node:timers/promises';
import { KindredError } from '../errors.ts';
import { fieldNames } from '../indexes/field.ts';
import type { Place } from '../indexes/model-index.ts';
import { ModelIndex } from '../indexes/model-index.ts';
import type { IndexDefinition, IndexEntry } from '../model/index-entry.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import type { Plan, QueryResult, Ref } from '../query/execute.ts';
import { explain, refsOf, run, runIds, runSlots } from '../query/execute.ts';
import type { Condition, Query, SortTerm } from '../query/query.ts';
import type { TurnQueue } from '../runtime/turns.ts';
import type { CommitQueue } from '../store/commit-queue.ts';
import type { MaybePromise, Row, Snapshot, Store } from '../store/store.ts';
import type { Caller } from './access.ts';
import type { ModelBehaviour, Showing } from './behaviour.ts';
import { buildIndexes } from './builder.ts';
import type { ByteCache, Shelf } from './byte-cache.ts';
import { storedEntry } from './entries.ts';
import type { AppliedChange, Feed } from './feed.ts';
import { asBuffer, ownBytes } from './feed.ts';
import type { PatchLimits } from './patch.ts';
import type { Outline } from './watch/window-change.ts';
import { Writer } from './writer.ts';

/** An object as it is stored and sent. */
export interface Stored {
  /** Revision of its creation: the identity of this incarnation of the name. */
  readonly id: number;
  /** Revision of its last change. */
  readonly revision: number;
  readonly name: string;
  /** JSON, UTF-8. */
  readonly bytes: Buffer;
}

export interface Answer {
  /** For a write the revision of that change, for a read or a no-op the revision it reflects. */
  readonly revision: number;
  readonly stored: Stored;
  readonly changed: boolean;
}

export interface WriteOptions {
  readonly caller: Caller;
  /** Entity tags of `If-Match` as sent, or `*`. */
  readonly ifMatch?: readonly string[] | '*';
  /** Called when the write is handed to the store: what is begun then comes after it. */
  readonly onHanded?: () => void;
  /** The write fails unless this lease is held. */
  readonly fence?: { readonly lease: string; readonly token: number };
}

export interface Selection {
  readonly where: Condition;
  readonly sort: readonly SortTerm[];
  /** Only these objects are seen and counted. */
  readonly names?: ReadonlySet<string>;
}

export interface ListRequest extends Selection {
  /** From 1. */
  readonly page: number;
  readonly size: number;
  /** Bytes that the objects of the page may have together. Over it: QueryLimit, before any of them is read. Default no bound. */
  readonly maxBytes?: number;
  /** Told of their bytes before they are read, again when they have to be read again; throws when there is no room for them. */
  readonly reserve?: (bytes: number) => void;
}

export interface Export {
  readonly revision: number;
  readonly total: number;
  /** In portions. */
  readonly objects: AsyncGenerator<readonly Buffer[]>;
  /** Gives the snapshot back, whether all, some or none of the objects were read. */
  close(): Promise<void>;
}

export interface Page {
  readonly revision: number;
  readonly total: number;
  /** Those of a large page are in memory of their own; others perhaps in that of the cache, all of which they would keep. */
  readonly items: readonly Buffer[];
}

/** A page of which is known what each item is, with the bytes of some of them. */
export interface Window {
  readonly revision: number;
  readonly outline: Outline;
  /** By place in the outline; as those of a page. */
  readonly items: ReadonlyMap<number, Buffer>;
}

/** An object that the store has in another state than the memory. */
interface Missing {
  /** Revision of that state; undefined when the object is gone. */
  readonly seen: number | undefined;
}

/** Objects that a build of indexes has read, and those that it has to read. */
export interface BuildProgress {
  readonly done: number;
  readonly objects: number;
}

/** Why an object of a model needs repair. */
export interface Problem {
  readonly name: string;
  readonly reason: string;
}

export interface ResourceLimits {
  /** Milliseconds that one query may take. */
  readonly queryTimeout: number;
  /** Bytes of one object. */
  readonly objectBytes: number;
  readonly patch: PatchLimits;
}

export interface ResourceParts {
  readonly store: Store;
  readonly queue: CommitQueue;
  readonly feed: Feed;
  readonly cache: ByteCache;
  readonly turns: TurnQueue;
  readonly now: () => number;
  readonly monotonicNow: () => number;
  readonly limits: ResourceLimits;
  readonly reservedDomain: string;
  readonly logger: {
    info(details: object, message: string): void;
    warn(details: object, message: string): void;
    error(details: object, message: string): void;
  };
}

const texts = {
  building: { en: 'The indexes of {kind} are being built: {percent} %', zh: '正在构建 {kind} 的索引：{percent} %' },
  differs: {
    en: 'What is stored of {kind} differs from the indexes of this replica; try again',
    zh: '{kind} 的存储内容与此副本的索引不一致，请重试',
  },
  unregistered: { en: 'The model {kind} is no longer registered', zh: '模型 {kind} 已注销' },
  large: {
    en: 'The objects of this page have {bytes} bytes, more than the {limit} that a page may have; ask for a smaller "size"',
    zh: '此页的对象共 {bytes} 字节，超过一页允许的 {limit} 字节；请减小 "size"',
  },
  absent: { en: 'There is no {kind} "{name}"', zh: '不存在名为 "{name}" 的 {kind}' },
};

/** Rows that an export reads at once: at first, then at most, and of what size about if they are as large as those before. */
const exportPortion = { first: 16, most: 256, bytes: 2 ** 20 };

/** Bytes of objects from which on a page is large. */
export const largePage = 2 ** 20;

/** Objects that a window reads of the store at once. */
const windowPortion = 100;

/** A window of which some items have yet to be read. */
interface OpenWindow extends Window {
  readonly isLarge: boolean;
  readonly items: Map<number, Buffer>;
  readonly missing: readonly (Place & { readonly place: number })[];
}

function queryOf({ where, sort, names, page, size }: ListRequest): Query {
  return { where, sort, offset: (page - 1) * size, limit: size, ...(names && { names }) };
}

export class ModelResource {
  readonly scheme: Scheme;
  readonly apiVersion: string;
  readonly kind: string;
  readonly #parts: ResourceParts;
  readonly #behaviour: ModelBehaviour | undefined;
  readonly #uniques: readonly IndexDefinition[];
  readonly #writer: Writer;
  readonly #shelf: Shelf;
  #index: ModelIndex;
  #number = -1;
  #followedSince = Number.POSITIVE_INFINITY;
  #built: Promise<void> | undefined;
  /** Grows with each build; an older one that is still under way comes to nothing. */
  #builds = 0;
  #ready = false;
  #closed = false;
  #building: BuildProgress = { done: 0, objects: 0 };
  #backlog: AppliedChange[] | undefined;
  #problems = new Map<string, string>();

  constructor(scheme: Scheme, parts: ResourceParts, behaviour?: ModelBehaviour) {
    this.scheme = scheme;
    this.#parts = parts;
    this.#behaviour = behaviour;
    this.apiVersion = scheme.apiVersion;
    this.kind = scheme.groupVersionKind.kind;
    this.#uniques = scheme.indexes.filter((definition) => definition.unique);
    this.#shelf = parts.cache.shelf();
    this.#index = new ModelIndex(scheme.indexes);
    this.#writer = new Writer({
      ...parts,
      resource: this,
      behaviour,
      place: (name) => this.#index.find(name),
      holders: (definition, key) => this.#index.holders(definition, key),
      read: (name) => this.#read(name),
      shown: (stored, how, object) => this.#shown(stored, how, object),
    });
  }

  // ── readiness ──────────────────────────────────────────────────────────────────────────────────────────

  /** The store's number of the model; -1 before its indexes are being built. */
  get number(): number {
    return this.#number;
  }

  get size(): number {
    return this.#index.size;
  }

  /** The feed's later changes of the model name this resource; earlier ones none, or one from before the model was registered anew. */
  get followedSince(): number {
    return this.#followedSince;
  }

  /** The revision that the memory reflects. */
  get revision(): number {
    return this.#parts.feed.applied;
  }

  /** Only who may `get` an object sees its values. */
  get hidesValues(): boolean {
    return this.#behaviour?.hidesValues === true;
  }

  /** An object may be shown with what nobody is to keep: the values of a Secret, a token that was just made. */
  get isConfidential(): boolean {
    return this.#behaviour?.show !== undefined;
  }

  /** What selectors and sorts can name. */
  get fieldNames(): readonly string[] {
    return fieldNames(this.scheme.indexes);
  }

  /** The model is no longer registered, or was registered anew. */
  get isClosed(): boolean {
    return this.#closed;
  }

  get isReady(): boolean {
    return this.#ready && !this.#closed;
  }

  /** Resolves when the indexes are built; the first to ask starts the build. */
  get ready(): Promise<void> {
    this.#built ??= this.#build();
    return this.#built;
  }

  /** @throws NotReady with the progress while the indexes are being built */
  assertReady(): void {
    if (this.#ready) return;
    if (this.#closed) throw new KindredError('NotFound', texts.unregistered, { kind: this.kind });
    void this.ready.catch(() => {});
    const percent = Math.floor(this.#progress * 100);
    const headers = { 'retry-after': '1' };
    throw new KindredError(
      'NotReady',
      texts.building,
      { kind: this.kind, percent },
      { progress: this.#progress },
      { headers },
    );
  }

  state(): { state: 'building' | 'ready' | 'degraded'; progress: number; problems: Problem[] } {
    const problems: Problem[] = [...this.#problems].map(([name, reason]) => ({ name, reason }));
    if (this.#ready) problems.push(...this.#duplicates());
    const state = !this.#ready ? 'building' : problems.length > 0 ? 'degraded' : 'ready';
    return { state, progress: this.#progress, problems };
  }

  get #progress(): number {
    const { done, objects } = this.#building;
    return this.#ready ? 1 : done / Math.max(objects, 1);
  }

  /** How far the build of the indexes is, or was when it ended. */
  get building(): BuildProgress {
    return this.#building;
  }

  /** The model is no longer registered: every later call is NotFound. */
  close(): void {
    this.#closed = true;
    this.#ready = false;
    this.#shelf.clear();
  }

  /** The indexes are read anew from the store. */
  rebuild(): void {
    this.#ready = false;
    this.#shelf.clear();
    this.#index = new ModelIndex(this.scheme.indexes);
    this.#built = this.#build();
    this.#built.catch(() => {});
  }

  async #build(): Promise<void> {
    const build = ++this.#builds;
    const isOver = () => this.#closed || this.#builds !== build;
    for (let wait = 100; ; wait = Math.min(wait * 2, 5_000)) {
      try {
        await this.#buildOnce(isOver);
        // Who waits for this one waits for the one that took its place.
        return this.#closed || this.#builds === build ? undefined : await this.#built;
      } catch (error) {
        if (isOver() || !(error instanceof KindredError && error.code === 'NotReady')) throw error;
        const { group, kind } = this.scheme.groupVersionKind;
        this.#parts.logger.warn({ err: error, group, kind }, 'The indexes could not be built; trying again');
      }
      await pause(wait, undefined, { ref: false });
    }
  }

  async #buildOnce(isOver: () => boolean): Promise<void> {
    const { store, feed, logger } = this.#parts;
    const { group, kind } = this.scheme.groupVersionKind;
    const number = await store.modelNumber(group, kind);
    if (isOver()) return;
    this.#number = number;
    this.#followedSince = feed.applied;
    // Changes from here on are kept and applied after the scan, which may or may not have seen them.
    const backlog: AppliedChange[] = [];
    this.#backlog = backlog;
    await feed.current();
    const started = this.#parts.monotonicNow();
    const { index, problems } = await buildIndexes({
      store,
      number,
      newest: feed.applied,
      scheme: this.scheme,
      uniques: this.#uniques,
      isOver,
      onProgress: (done, objects) => {
        this.#building = { done, objects };
      },
    });
    if (isOver()) return;
    this.#index = index;
    this.#problems = problems;
    for (const change of backlog) {
      const known = index.find(change.name);
      if (!known || known.revision < change.revision) this.#applyToIndex(change);
    }
    this.#backlog = undefined;
    this.#ready = true;
    const ms = Math.round(this.#parts.monotonicNow() - started);
    logger.info({ group, kind, objects: index.size, ms }, 'Indexes built');
    if (problems.size > 0)
      logger.warn({ group, kind, problems: problems.size }, 'The model is degraded: stored objects need repair');
    await this.#reclaimLeftovers();
  }

  async #reclaimLeftovers(): Promise<void> {
    for (const name of this.#index.deletingNames()) {
      await this.#writer
        .reclaim(name)
        .catch((error: unknown) =>
          this.#parts.logger.warn({ err: error, name }, 'A deleted object could not be reclaimed'),
        );
    }
  }

  #duplicates(): Problem[] {
    return this.#index.duplicates().flatMap(({ index, key, names }) =>
      names.map((name) => ({
        name,
        reason: `the unique index "${index}" has the value ${JSON.stringify(key)} more than once`,
      })),
    );
  }

  // ── reads ──────────────────────────────────────────────────────────────────────────────────────────────

  /** @throws NotFound, NotReady */
  get(name: string): MaybePromise<{ revision: number; stored: Stored }> {
    this.assertReady();
    const behind = this.#parts.feed.current();
    const read = behind ? behind.then(() => this.#read(name)) : this.#read(name);
    if (!this.#behaviour?.show) return read;
    return Promise.resolve(read).then(({ revision, stored }) => ({ revision, stored: this.#shown(stored, 'get') }));
  }

  /** As the built-in model shows it: a Secret in a list without its values, for example. */
  #shown(stored: Stored, how: Showing, object?: ExtensionObject): Stored {
    if (!this.#behaviour?.show) return stored;
    const shown = this.#behaviour.show(object ?? this.parse(stored.bytes, stored.name), how);
    return { ...stored, bytes: Buffer.from(JSON.stringify(shown)) };
  }

  /** One object's bytes as lists, exports and watches show them. */
  shownInList(bytes: Buffer): Buffer {
    if (!this.#behaviour?.show) return bytes;
    return Buffer.from(JSON.stringify(this.#behaviour.show(JSON.parse(bytes.toString()) as ExtensionObject, 'list')));
  }

  /** @param since when it was overtaken first */
  #read(name: string, since?: number): MaybePromise<{ revision: number; stored: Stored }> {
    this.assertReady();
    const revision = this.#parts.feed.applied;
    const slot = this.#index.slotOf(name);
    if (slot === undefined) throw this.#absent(name);
    const cached = this.#shelf.get(slot);
    if (cached) return { revision, stored: { id: cached.id, revision: cached.revision, name, bytes: cached.bytes } };
    const ref = this.#index.at(slot);
    const rows = this.#parts.store.get(this.#number, [ref.id]);
    return rows instanceof Promise
      ? rows.then((found) => this.#readRow(name, ref, found, revision, since))
      : this.#readRow(name, ref, rows, revision, since);
  }

  #readRow(
    name: string,
    ref: Place,
    rows: readonly Row[],
    revision: number,
    since: number | undefined,
  ): MaybePromise<{ revision: number; stored: Stored }> {
    const stored = this.#keep(ref, rows[0]);
    if (stored) return { revision, stored };
    return this.#overtaken(rows[0]?.revision, since).then((first) => this.#read(name, first));
  }

  /** The row as it is to be sent, unless it changed after the memory was asked. */
  #keep(ref: Place, row: Row | undefined): Stored | undefined {
    if (!row || row.revision !== ref.revision) return undefined;
    const stored = { id: row.id, revision: row.revision, name: row.name, bytes: asBuffer(row.bytes) };
    const now = this.#index.at(ref.slot);
    if (this.isReady && now.id === ref.id && now.revision === ref.revision) this.#shelf.set(ref.slot, stored);
    return stored;
  }

  /**
   * The store is ahead of the memory: waits until the memory has what was seen.
   * @param since when the read was overtaken first
   * @returns the same
   * @throws NotReady when it has been overtaken for the time of a query: then the memory may never have what is stored
   */
  async #overtaken(revision: number | undefined, since = this.#parts.monotonicNow()): Promise<number> {
    const { feed, turns, logger, limits, monotonicNow } = this.#parts;
    await (revision === undefined ? feed.newest() : feed.reach(revision));
    // On a store that answers at once, the read would go on in microtasks alone.
    await turns.next();
    if (monotonicNow() - since < limits.queryTimeout) return since;
    const { group, kind } = this.scheme.groupVersionKind;
    logger.error({ group, kind, applied: feed.applied, seen: revision }, 'What is stored differs from the indexes');
    throw new KindredError('NotReady', texts.differs, { kind: this.kind });
  }

  #absent(name: string): KindredError {
    return new KindredError(
      'NotFound',
      texts.absent,
      { kind: this.kind, name },
      {},
      { revision: this.#parts.feed.applied },
    );
  }

  /** One page and the exact total, of one revision. @throws NotReady, QueryLimit, InvalidSelector, InvalidParameter */
  list(request: ListRequest): MaybePromise<Page> {
    this.assertReady();
    const behind = this.#parts.feed.current();
    return behind ? behind.then(() => this.#list(request)) : this.#list(request);
  }

  /** @param since when it was overtaken first */
  #list(request: ListRequest, since?: number): MaybePromise<Page> {
    this.assertReady();
    const index = this.#index;
    return runSlots(index, queryOf(request), this.#queryLimits(), (total, slots) => {
      this.assertReady();
      // Built anew while the query was answered in slices.
      return index === this.#index ? this.#page(request, total, slots, since) : this.#list(request, since);
    });
  }

  /** @throws NotReady when the indexes are built anew by now: those that were asked are of an older state than the memory */
  #query(query: Query): MaybePromise<QueryResult> {
    this.assertReady();
    const index = this.#index;
    const result = run(index, query, this.#queryLimits());
    if (!(result instanceof Promise)) return result;
    return result.then((found) => {
      this.assertReady();
      return index === this.#index ? found : this.#query(query);
    });
  }

  #queryLimits() {
    const { monotonicNow: now, turns, limits } = this.#parts;
    return { now, nextTurn: () => turns.next(), timeLimit: limits.queryTimeout };
  }

  #page(request: ListRequest, total: number, slots: readonly number[], since?: number): MaybePromise<Page> {
    const bytes = this.#admitted(request, slots);
    const revision = this.#parts.feed.applied;
    const items: (Buffer | undefined)[] = [];
    let isComplete = true;
    for (let i = 0; i < slots.length; i++) {
      const cached = this.#shelf.bytes(slots[i]!);
      items.push(cached);
      isComplete &&= cached !== undefined;
    }
    const page = { revision, total, items: items as Buffer[] };
    if (isComplete) return this.#shownPage(page, bytes);
    const finish = (missing: Missing | undefined): MaybePromise<Page> => {
      if (missing) return this.#overtaken(missing.seen, since).then((first) => this.#list(request, first));
      return this.#shownPage(page, bytes);
    };
    const read = this.#fill(refsOf(this.#index, slots), items);
    return read instanceof Promise ? read.then(finish) : finish(read);
  }

  /** Puts what is not there yet in its place. Gives the first object that is not in the store as the memory has it. */
  #fill(refs: readonly Ref[], items: (Buffer | undefined)[]): MaybePromise<Missing | undefined> {
    const put = (rows: readonly Row[]): Missing | undefined => {
      const byId = new Map(rows.map((row) => [row.id, row]));
      for (const [i, ref] of refs.entries()) {
        const row = byId.get(ref.id);
        items[i] ??= this.#keep(ref, row)?.bytes;
        if (!items[i]) return { seen: row?.revision };
      }
      return undefined;
    };
    const wanted = refs.filter((_, i) => !items[i]).map((ref) => ref.id);
    const rows = this.#parts.store.get(this.#number, wanted);
    return rows instanceof Promise ? rows.then(put) : put(rows);
  }

  #shownPage(page: Page, bytes: number): MaybePromise<Page> {
    if (bytes > largePage) return this.#shownLargePage(page);
    if (!this.#behaviour?.show) return page;
    return { ...page, items: page.items.map((item) => this.shownInList(item)) };
  }

  async #shownLargePage(page: Page): Promise<Page> {
    const items: Buffer[] = [];
    const turns = this.#parts.turns.turns();
    for (const item of page.items) {
      if (turns.isDue) await turns.take();
      items.push(this.shownInList(ownBytes(item)));
    }
    return { ...page, items };
  }

  /** Bytes of the objects of a page. @throws QueryLimit */
  #admitted({ maxBytes: limit = Number.POSITIVE_INFINITY, reserve }: ListRequest, slots: readonly number[]): number {
    const { lengths } = this.#index;
    let bytes = 0;
    for (let i = 0; i < slots.length; i++) bytes += lengths[slots[i]!]!;
    if (bytes > limit) throw new KindredError('QueryLimit', texts.large, { bytes, limit }, { parameter: 'size' });
    reserve?.(bytes);
    return bytes;
  }

  /**
   * As `list`, of one revision too, with the bytes of those items alone whose places `wanted` gives; it may be called
   * again when the page was overtaken by a change.
   */
  async window(request: ListRequest, wanted: (outline: Outline) => Iterable<number>): Promise<Window> {
    this.assertReady();
    await this.#parts.feed.current();
    for (let since: number | undefined; ; ) {
      this.assertReady();
      const index = this.#index;
      const found = await runSlots(index, queryOf(request), this.#queryLimits(), (total, slots) => {
        this.assertReady();
        // Otherwise built anew while the query was answered in slices.
        return index === this.#index ? this.#outlined(request, total, slots, wanted) : undefined;
      });
      const overtaken = found && (await this.#readMissing(found));
      if (overtaken) since = await this.#overtaken(overtaken.seen, since);
      else if (found) return found;
    }
  }

  #outlined(
    request: ListRequest,
    total: number,
    slots: readonly number[],
    wanted: (outline: Outline) => Iterable<number>,
  ): OpenWindow {
    const index = this.#index;
    const isLarge = this.#admitted(request, slots) > largePage;
    const outline = {
      total,
      ids: Float64Array.from(slots, (slot) => index.ids[slot]!),
      revisions: Float64Array.from(slots, (slot) => index.revisions[slot]!),
      names: slots.map((slot) => index.names[slot]!),
    };
    const items = new Map<number, Buffer>();
    const missing: (Place & { readonly place: number })[] = [];
    for (const place of wanted(outline)) {
      const slot = slots[place]!;
      const bytes = this.#shelf.bytes(slot);
      if (bytes) items.set(place, bytes);
      else missing.push({ place, ...this.#index.at(slot) });
    }
    return { revision: this.#parts.feed.applied, outline, items, missing, isLarge };
  }

  /** Gives the first object that is another by now. */
  async #readMissing({ items, missing, isLarge }: OpenWindow): Promise<Missing | undefined> {
    for (let at = 0; at < missing.length; at += windowPortion) {
      const portion = missing.slice(at, at + windowPortion);
      const rows = await this.#parts.store.get(
        this.#number,
        portion.map(({ id }) => id),
      );
      const byId = new Map(rows.map((row) => [row.id, row]));
      for (const one of portion) {
        const row = byId.get(one.id);
        const stored = this.#keep(one, row);
        if (!stored) return { seen: row?.revision };
        items.set(one.place, stored.bytes);
      }
    }
    const turns = this.#parts.turns.turns();
    for (const [place, bytes] of items) {
      if (isLarge && turns.isDue) await turns.take();
      items.set(place, this.shownInList(isLarge ? ownBytes(bytes) : bytes));
    }
    return undefined;
  }

  /** Names of all matches, in order. */
  async names(selection: Selection): Promise<string[]> {
    this.assertReady();
    await this.#parts.feed.current();
    const result = await this.#query({ ...selection, offset: 0, limit: this.#index.size });
    return result.refs.map((ref) => ref.name);
  }

  async count(selection: Omit<Selection, 'sort'>): Promise<number> {
    this.assertReady();
    await this.#parts.feed.current();
    const { total } = await this.#query({ ...selection, sort: [], offset: 0, limit: 0 });
    return total;
  }

  /** How a list would be answered. */
  explain(request: ListRequest): MaybePromise<Plan> {
    this.assertReady();
    return explain(this.#index, queryOf(request), this.#queryLimits());
  }

  /** Every match in order at one revision, read in portions while writes go on. */
  async export(selection: Selection): Promise<Export> {
    this.assertReady();
    await this.#parts.feed.current();
    let snapshot: Snapshot | undefined;
    try {
      const ids = await this.#parts.feed.hold(
        async () => {
          snapshot = await this.#parts.store.snapshot();
          return snapshot;
        },
        () => {
          this.assertReady();
          return runIds(this.#index, selection, this.#queryLimits());
        },
      );
      const opened = snapshot!;
      const objects = this.#portions(opened, ids);
      return {
        revision: opened.revision,
        total: ids.length,
        objects,
        close: async () => {
          // Ends a read that is under way; a generator that never began has no end of its own.
          await objects.return(undefined);
          await opened.close();
        },
      };
    } catch (error) {
      await snapshot?.close();
      throw error;
    }
  }

  async *#portions(snapshot: Snapshot, ids: Float64Array): AsyncGenerator<readonly Buffer[]> {
    // A store that answers at once would let a reader who never waits keep the event loop to himself.
    const turns = this.#parts.turns.turns();
    for (let at = 0, count = exportPortion.first; at < ids.length; ) {
      if (turns.isDue) await turns.take();
      const wanted = [...ids.subarray(at, at + count)];
      const rows = await snapshot.get(this.#number, wanted);
      if (rows.length !== wanted.length)
        throw new Error(`snapshot of ${this.kind}: ${wanted.length - rows.length} rows missing`);
      yield rows.map((row) => this.shownInList(asBuffer(row.bytes)));
      at += wanted.length;
      const bytes = rows.reduce((sum, row) => sum + row.bytes.byteLength, 0) / rows.length;
      count = Math.max(1, Math.min(exportPortion.most, Math.floor(exportPortion.bytes / bytes)));
    }
  }

  // ── writes ─────────────────────────────────────────────────────────────────────────────────────────────

  /** @throws Invalid, AlreadyExists, UniqueViolation, NotReady, StorageFull, UnknownOutcome */
  async create(body: unknown, options: WriteOptions): Promise<Answer> {
    this.assertReady();
    return this.#writer.create(body, options);
  }

  /** Full replace; with `status` the status alone (the sub-resource). @throws as `create`, NotFound, VersionConflict, PreconditionFailed, Deleting */
  update(name: string, body: unknown, options: WriteOptions & { status?: boolean }): Promise<Answer> {
    this.assertReady();
    return this.#writer.update(name, body, options);
  }

  /** @throws as `update`, and PatchTestFailed, BadRequest (malformed patch) */
  patch(
    name: string,
    patch: unknown,
    options: WriteOptions & { kind: 'merge' | 'json'; status?: boolean },
  ): Promise<Answer> {
    this.assertReady();
    return this.#writer.patch(name, patch, options);
  }

  /** The object as it was marked. @throws NotFound, VersionConflict, PreconditionFailed */
  delete(name: string, options: WriteOptions & { version?: number }): Promise<Answer> {
    this.assertReady();
    return this.#writer.delete(name, options);
  }

  /** Stored bytes; an empty object of this name when they are no JSON. */
  parse(bytes: Buffer, name: string): ExtensionObject {
    try {
      return JSON.parse(bytes.toString()) as ExtensionObject;
    } catch {
      const { apiVersion, kind } = this;
      return { apiVersion, kind, metadata: { name, version: 0 } };
    }
  }

  // ── memory ─────────────────────────────────────────────────────────────────────────────────────────────

  /** Called by the feed, in revision order. */
  apply(change: AppliedChange): void {
    if (this.#closed) return;
    if (this.#backlog) this.#backlog.push(change);
    else if (this.#ready) this.#applyToIndex(change);
  }

  #applyToIndex(change: AppliedChange): void {
    if (change.type === 'delete') {
      const slot = this.#index.remove(change.name);
      if (slot !== undefined) this.#shelf.delete(slot);
      this.#problems.delete(change.name);
      return;
    }
    const slot = this.#index.put(change.entry(), change.id, change.revision, change.bytes.length);
    this.#shelf.set(slot, change);
    if (this.#problems.size > 0 && change.object().apiVersion === this.apiVersion) this.#problems.delete(change.name);
  }

  /** The entry of a stored object; where an index function fails on it, that index has no value for it. */
  entryOf(object: ExtensionObject, name: string): IndexEntry {
    return storedEntry(this.scheme, object, name).entry;
  }
}
