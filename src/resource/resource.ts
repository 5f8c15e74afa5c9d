/** One model's objects: reads from memory and store, and the one write path. */
import { randomInt } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { Violation } from '../errors.ts';
import { invalid, KindredError } from '../errors.ts';
import { fieldNames } from '../indexes/field.ts';
import type { Place } from '../indexes/model-index.ts';
import { ModelIndex } from '../indexes/model-index.ts';
import { deepFreeze } from '../model/declaration.ts';
import type { IndexDefinition, IndexEntry } from '../model/index-entry.ts';
import { entryOf } from '../model/index-spec.ts';
import { checkMetadata, checkReservedKeys } from '../model/metadata.ts';
import type { ExtensionObject, Metadata } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import type { Condition, Query, SortTerm } from '../query/query.ts';
import type { Plan, QueryResult, Ref } from '../query/run.ts';
import { explain, run, runIds } from '../query/run.ts';
import type { CommitQueue } from '../store/batch.ts';
import type { MaybePromise, Row, Snapshot, Store, WriteResult } from '../store/store.ts';
import type { Caller } from './access.ts';
import type { ModelBehaviour, Showing } from './behaviour.ts';
import { buildIndexes } from './build.ts';
import type { ByteCache, Shelf } from './byte-cache.ts';
import { claimOf, claimsOf, haveSameKeys } from './claims.ts';
import { etagOf, matchesEtag } from './etag.ts';
import type { AppliedChange, Feed, ModelWrite } from './feed.ts';
import { asBuffer } from './feed.ts';
import {
  checkDeleting,
  checkName,
  createdMetadata,
  incoming,
  isObject,
  isReclaimable,
  onlyFinalizersWent,
  sameContent,
  updatedMetadata,
} from './lifecycle.ts';
import type { PatchLimits } from './patch.ts';
import { checkMergePatch, jsonPatch, mergePatch } from './patch.ts';

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
}

export interface Page {
  readonly revision: number;
  readonly total: number;
  readonly items: readonly Buffer[];
  readonly refs: readonly Ref[];
}

/** Why an object of a model needs repair. */
export interface Problem {
  readonly name: string;
  readonly reason: string;
}

export interface ResourceLimits {
  /** Milliseconds that one query may take. */
  readonly queryTimeout: number;
  readonly patch: PatchLimits;
}

export interface ResourceParts {
  readonly store: Store;
  readonly queue: CommitQueue;
  readonly feed: Feed;
  readonly cache: ByteCache;
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
  unregistered: { en: 'The model {kind} is no longer registered', zh: '模型 {kind} 已注销' },
  absent: { en: 'There is no {kind} "{name}"', zh: '不存在名为 "{name}" 的 {kind}' },
  exists: { en: 'There is a {kind} "{name}" already', zh: '名为 "{name}" 的 {kind} 已存在' },
  claimed: {
    en: 'Another {kind} has the value {value} in the unique index "{index}"',
    zh: '另一个 {kind} 在唯一索引 "{index}" 中已有值 {value}',
  },
  version: {
    en: 'The version in the request is {given}, the current version of "{name}" is {current}',
    zh: '请求中的版本为 {given}，"{name}" 的当前版本为 {current}',
  },
  ifMatch: {
    en: 'The entity tag of "{name}" is another than the one in If-Match',
    zh: '"{name}" 的实体标签与 If-Match 不符',
  },
  contended: { en: 'The object "{name}" is changing too quickly', zh: '对象 "{name}" 更改过于频繁' },
  fenced: { en: 'The lease "{lease}" is held by another replica', zh: '租约 "{lease}" 已由其他副本持有' },
  unreadable: {
    en: 'The stored object "{name}" is not valid JSON; replace it with PUT or delete it',
    zh: '已存储的对象 "{name}" 不是有效的 JSON；请用 PUT 替换或将其删除',
  },
};

/** Milliseconds that an export may go on without giving the event loop back. */
const exportSlice = 5;

/** Tries of a write that other replicas keep overtaking. */
const writeAttempts = 50;

interface Current extends Stored {
  readonly object: ExtensionObject;
}

/** What a write makes of the stored object; undefined: it stays as it is. `forced`: stored as it is, valid or not (deletion). */
type Compute = (stored: Current) => { next: ExtensionObject; violations: Violation[]; forced?: true } | undefined;

export class ModelResource {
  readonly scheme: Scheme;
  readonly apiVersion: string;
  readonly kind: string;
  readonly #parts: ResourceParts;
  readonly #behaviour: ModelBehaviour | undefined;
  readonly #uniques: readonly IndexDefinition[];
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #shelf: Shelf;
  #index: ModelIndex;
  #number = -1;
  #followedSince = Number.POSITIVE_INFINITY;
  #built: Promise<void> | undefined;
  /** Grows with each build; an older one that is still under way comes to nothing. */
  #builds = 0;
  #ready = false;
  #closed = false;
  #progress = 0;
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
    return { state, progress: this.#ready ? 1 : this.#progress, problems };
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
      entryOf: (object, name) => this.#entryOrProblem(object, name),
      isOver,
      onProgress: (progress) => {
        this.#progress = progress;
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
      await this.#mutate(name, { caller: hostCaller }, (stored) => {
        return isReclaimable(stored.object.metadata)
          ? { next: stored.object, violations: [], forced: true }
          : undefined;
      }).catch((error: unknown) =>
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

  #read(name: string): MaybePromise<{ revision: number; stored: Stored }> {
    this.assertReady();
    const revision = this.#parts.feed.applied;
    const ref = this.#index.find(name);
    if (!ref) throw this.#absent(name);
    const cached = this.#shelf.get(ref.slot, ref.id, ref.revision);
    if (cached) return { revision, stored: cached };
    const rows = this.#parts.store.get(this.#number, [ref.id]);
    return rows instanceof Promise
      ? rows.then((found) => this.#readRow(name, ref, found, revision))
      : this.#readRow(name, ref, rows, revision);
  }

  #readRow(
    name: string,
    ref: Place,
    rows: readonly Row[],
    revision: number,
  ): MaybePromise<{ revision: number; stored: Stored }> {
    const stored = this.#keep(ref, rows[0]);
    if (stored) return { revision, stored };
    return this.#overtaken(rows[0]?.revision).then(() => this.#read(name));
  }

  /** The row as it is to be sent, unless it changed after the memory was asked. */
  #keep(ref: Place, row: Row | undefined): Stored | undefined {
    if (!row || row.revision !== ref.revision) return undefined;
    const stored = { id: row.id, revision: row.revision, name: row.name, bytes: asBuffer(row.bytes) };
    this.#shelf.set(ref.slot, stored);
    return stored;
  }

  /** The store is ahead of the memory: waits until the memory has what was seen. */
  #overtaken(revision: number | undefined): Promise<void> {
    return revision === undefined ? this.#parts.feed.newest() : this.#parts.feed.reach(revision);
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
    const listed = behind ? behind.then(() => this.#list(request)) : this.#list(request);
    if (!this.#behaviour?.show) return listed;
    return Promise.resolve(listed).then((page) => ({
      ...page,
      items: page.items.map((bytes) => this.shownInList(bytes)),
    }));
  }

  #list(request: ListRequest): MaybePromise<Page> {
    const { where, sort, names, page, size } = request;
    const result = this.#query({ where, sort, names, offset: (page - 1) * size, limit: size });
    return result instanceof Promise
      ? result.then(({ total, refs }) => this.#page(request, this.#parts.feed.applied, total, refs))
      : this.#page(request, this.#parts.feed.applied, result.total, result.refs);
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
    return { now: this.#parts.monotonicNow, timeLimit: this.#parts.limits.queryTimeout };
  }

  #page(request: ListRequest, revision: number, total: number, refs: readonly Ref[]): MaybePromise<Page> {
    const items: (Buffer | undefined)[] = [];
    const missing: Ref[] = [];
    for (let i = 0; i < refs.length; i++) {
      const ref = refs[i]!;
      const bytes = this.#shelf.get(ref.slot, ref.id, ref.revision)?.bytes;
      items.push(bytes);
      if (!bytes) missing.push(ref);
    }
    if (missing.length === 0) return { revision, total, refs, items: items as Buffer[] };
    const fill = (rows: readonly Row[]): MaybePromise<Page> => {
      const byId = new Map(rows.map((row) => [row.id, row]));
      for (const [i, ref] of refs.entries()) {
        items[i] ??= this.#keep(ref, byId.get(ref.id))?.bytes;
        if (!items[i]) return this.#overtaken(byId.get(ref.id)?.revision).then(() => this.#list(request));
      }
      return { revision, total, refs, items: items as Buffer[] };
    };
    const rows = this.#parts.store.get(
      this.#number,
      missing.map((ref) => ref.id),
    );
    return rows instanceof Promise ? rows.then(fill) : fill(rows);
  }

  /** Names of all matches, in order, and the revision they are of. */
  async names(selection: Selection): Promise<{ revision: number; names: string[] }> {
    this.assertReady();
    await this.#parts.feed.current();
    const result = await this.#query({ ...selection, offset: 0, limit: this.#index.size });
    return { revision: this.#parts.feed.applied, names: result.refs.map((ref) => ref.name) };
  }

  async count(selection: Omit<Selection, 'sort'>): Promise<{ revision: number; total: number }> {
    this.assertReady();
    await this.#parts.feed.current();
    const { total } = await this.#query({ ...selection, sort: [], offset: 0, limit: 0 });
    return { revision: this.#parts.feed.applied, total };
  }

  /** How a list would be answered. */
  explain(request: ListRequest): MaybePromise<Plan> {
    this.assertReady();
    const { where, sort, names, page, size } = request;
    return explain(this.#index, { where, sort, names, offset: (page - 1) * size, limit: size }, this.#queryLimits());
  }

  /** Every match in order at one revision, read in portions while writes go on. */
  async export(selection: Selection): Promise<{ revision: number; objects: AsyncGenerator<readonly Buffer[]> }> {
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
      return { revision: snapshot!.revision, objects: this.#portions(snapshot!, ids) };
    } catch (error) {
      await snapshot?.close();
      throw error;
    }
  }

  async *#portions(snapshot: Snapshot, ids: Float64Array): AsyncGenerator<readonly Buffer[]> {
    const portion = 256;
    const { monotonicNow } = this.#parts;
    try {
      // A store that answers at once would let a reader who never waits keep the event loop to himself.
      for (let at = 0, sliceEnd = monotonicNow() + exportSlice; at < ids.length; at += portion) {
        if (monotonicNow() >= sliceEnd) {
          await nextTurn();
          sliceEnd = monotonicNow() + exportSlice;
        }
        const wanted = [...ids.subarray(at, at + portion)];
        const rows = await snapshot.get(this.#number, wanted);
        if (rows.length !== wanted.length)
          throw new Error(`snapshot of ${this.kind}: ${wanted.length - rows.length} rows missing`);
        yield rows.map((row) => this.shownInList(asBuffer(row.bytes)));
      }
    } finally {
      await snapshot.close();
    }
  }

  // ── writes ─────────────────────────────────────────────────────────────────────────────────────────────

  /** @throws Invalid, AlreadyExists, UniqueViolation, NotReady, StorageFull, UnknownOutcome */
  async create(body: unknown, options: WriteOptions): Promise<Answer> {
    this.assertReady();
    const { object, violations } = incoming(body, this.apiVersion, this.kind);
    const client = object.metadata;
    this.#dropPluginName(client, options.caller);
    violations.push(...this.#checkMetadata(client, undefined, options.caller));
    const generate = (client.name === undefined || client.name === '') && client.generateName !== undefined;
    this.scheme.validator.applyDefaults(object);
    if (this.scheme.subresources.status) delete object.status;
    for (let attempt = 1; ; attempt++) {
      const name = generate ? `${client.generateName}${randomSuffix()}` : client.name;
      const metadata = violations.length > 0 ? client : createdMetadata(client, name, this.#parts.now());
      const candidate = { ...object, metadata };
      violations.push(...this.scheme.validator.validate(candidate));
      if (violations.length > 0) throw invalid(violations);
      const made = (await this.#behaviour?.prepareWrite?.(candidate, undefined, options.caller)) ?? candidate;
      const answer = await this.#insert(made, options);
      if (answer) return { ...answer, stored: this.#shown(answer.stored, 'created', made) };
      if (!generate || attempt === writeAttempts)
        throw new KindredError('AlreadyExists', texts.exists, { kind: this.kind, name });
    }
  }

  /** Undefined when the name is taken. */
  async #insert(object: ExtensionObject, options: WriteOptions): Promise<Answer | undefined> {
    const name = object.metadata.name;
    if (this.#index.find(name) && !this.#parts.store.shared) return undefined;
    const entry = this.#strictEntry(object);
    const bytes = bytesOf(object);
    const claim = claimsOf(this.#uniques, this.scheme.indexes, entry);
    const write: ModelWrite = {
      type: 'create',
      model: this.#number,
      name,
      bytes,
      claim,
      fence: options.fence,
      caller: options.caller,
      resource: this,
      object,
      entry,
    };
    const result = await this.#commit(write);
    if (!result.ok) return undefined;
    return {
      revision: result.revision,
      stored: { id: result.id, revision: result.revision, name, bytes },
      changed: true,
    };
  }

  /** Full replace; with `status` the status alone (the sub-resource). */
  update(name: string, body: unknown, options: WriteOptions & { status?: boolean }): Promise<Answer> {
    this.assertReady();
    const { object, violations } = incoming(body, this.apiVersion, this.kind);
    violations.push(...checkName(object.metadata, name));
    return this.#mutate(name, options, (stored) => {
      this.#checkVersion(object.metadata, stored);
      return this.#replaced(stored, object, violations, options);
    });
  }

  /** @throws as `update`, and PatchTestFailed, BadRequest (malformed patch) */
  patch(
    name: string,
    patch: unknown,
    options: WriteOptions & { kind: 'merge' | 'json'; status?: boolean },
  ): Promise<Answer> {
    this.assertReady();
    if (options.kind === 'merge') checkMergePatch(patch);
    return this.#mutate(name, options, (stored) => {
      const base = structuredClone(this.#behaviour?.show?.(stored.object, 'get') ?? stored.object);
      base.apiVersion = this.apiVersion;
      const patched =
        options.kind === 'merge' ? mergePatch(base, patch) : jsonPatch(base, patch, this.#parts.limits.patch);
      const { object, violations } = incoming(patched, this.apiVersion, this.kind);
      violations.push(...checkName(object.metadata, name));
      this.#checkVersion(object.metadata, stored);
      return this.#replaced(stored, object, violations, options);
    });
  }

  /** The object as it was marked. @throws NotFound, VersionConflict, PreconditionFailed */
  delete(name: string, options: WriteOptions & { version?: number }): Promise<Answer> {
    this.assertReady();
    return this.#mutate(name, options, ({ object }) => {
      if (options.version !== undefined && options.version !== object.metadata.version)
        throw this.#conflict(name, options.version, object);
      if (object.metadata.deletionTimestamp !== undefined) return undefined;
      const deletionTimestamp = new Date(this.#parts.now()).toISOString();
      const metadata = updatedMetadata(object.metadata, { ...object.metadata, deletionTimestamp });
      return { next: { ...object, metadata }, violations: [], forced: true };
    });
  }

  /** What the stored object becomes when this is put in its place. */
  #replaced(
    stored: Current,
    object: ExtensionObject,
    earlier: readonly Violation[],
    options: WriteOptions & { status?: boolean },
  ): ReturnType<Compute> {
    const { caller } = options;
    if (options.status) {
      if (earlier.length > 0) throw invalid(earlier);
      const holder: ExtensionObject = { ...stored.object, spec: undefined, status: object.status };
      if (object.status !== undefined) this.scheme.validator.applyDefaults(holder);
      const { status: _status, ...rest } = stored.object;
      return { next: holder.status === undefined ? rest : { ...rest, status: holder.status }, violations: [] };
    }
    const client: Metadata = { ...object.metadata };
    const violations = [
      ...earlier,
      ...this.#checkMetadata({ ...client, name: stored.name }, stored.object.metadata, caller),
    ];
    this.#keepPluginName(client, stored.object.metadata, caller);
    const metadata = violations.length > 0 ? stored.object.metadata : updatedMetadata(client, stored.object.metadata);
    const next: ExtensionObject = { ...object, metadata };
    this.scheme.validator.applyDefaults(next);
    if (this.scheme.subresources.status) {
      if (stored.object.status === undefined) delete next.status;
      else next.status = stored.object.status;
    }
    return { next, violations };
  }

  /**
   * The object to store in place of the stored one; undefined when nothing changes.
   * @throws Invalid with every violation, Deleting
   */
  async #admitted(
    stored: Current,
    change: NonNullable<ReturnType<Compute>>,
    caller: Caller,
  ): Promise<ExtensionObject | undefined> {
    const { next } = change;
    if (change.violations.length === 0 && sameContent(stored.object, next)) return undefined;
    checkDeleting(stored.object, next);
    const isValid = onlyFinalizersWent(stored.object, next);
    const violations = isValid ? change.violations : [...change.violations, ...this.scheme.validator.validate(next)];
    if (violations.length > 0) throw invalid(violations);
    const prepared = (await this.#behaviour?.prepareWrite?.(next, stored.object, caller)) ?? next;
    return prepared !== next && sameContent(stored.object, prepared) ? undefined : prepared;
  }

  /** The write path: read, compute, number, index entries, commit, apply; in turn for each name, again when overtaken. */
  async #mutate(name: string, options: WriteOptions, compute: Compute): Promise<Answer> {
    const release = await this.#turn(name);
    try {
      for (let attempt = 0; attempt < writeAttempts; attempt++) {
        if (attempt > 0) await this.#parts.feed.newest();
        const stored = await this.#current(name);
        if (options.ifMatch && !matchesEtag(options.ifMatch, etagOf(stored), 'strong')) {
          throw new KindredError('PreconditionFailed', texts.ifMatch, { name });
        }
        const computed = compute(stored);
        const next =
          computed && (computed.forced ? computed.next : await this.#admitted(stored, computed, options.caller));
        if (!next) return { revision: this.#parts.feed.applied, stored: this.#shown(stored, 'get'), changed: false };
        const answer = await this.#store(stored, next, options);
        if (answer) return { ...answer, stored: this.#shown(answer.stored, 'get', next) };
      }
      throw new KindredError('NotReady', texts.contended, { name }, {}, { headers: { 'retry-after': '1' } });
    } finally {
      release();
    }
  }

  /** Undefined when another replica was quicker. */
  async #store(stored: Current, next: ExtensionObject, options: WriteOptions): Promise<Answer | undefined> {
    const { name, id } = stored;
    const metadata = { ...next.metadata, version: (stored.object.metadata.version ?? 0) + 1 };
    const object = { ...next, metadata };
    const gone = isReclaimable(metadata);
    const entryBefore = this.entryOf(stored.object, name);
    // What needs no valid object needs no key in every index either.
    const isLenient = metadata.deletionTimestamp !== undefined || onlyFinalizersWent(stored.object, next);
    const entry = isLenient ? this.entryOf(object, name) : this.#strictEntry(object);
    const bytes = bytesOf(object);
    const claims = this.#claims(name, entryBefore, gone ? undefined : entry);
    const write: ModelWrite = {
      type: gone ? 'delete' : 'update',
      model: this.#number,
      name,
      expected: { id, revision: stored.revision },
      bytes,
      ...claims,
      fence: options.fence,
      caller: options.caller,
      resource: this,
      object,
      entry,
      before: { bytes: stored.bytes, object: stored.object, entry: entryBefore },
    };
    const result = await this.#commit(write);
    if (!result.ok) return undefined;
    return { revision: result.revision, stored: { id, revision: result.revision, name, bytes }, changed: true };
  }

  /** Unique values taken and given up between two entries of one object. */
  #claims(name: string, before: IndexEntry, after: IndexEntry | undefined): Pick<ModelWrite, 'claim' | 'release'> {
    if (after && haveSameKeys(this.#uniques, this.scheme.indexes, before, after)) return { claim: [], release: [] };
    const held = claimsOf(this.#uniques, this.scheme.indexes, before);
    const wanted = after ? claimsOf(this.#uniques, this.scheme.indexes, after) : [];
    const isIn = (list: typeof held, hash: Uint8Array) => list.some((claim) => Buffer.compare(claim.hash, hash) === 0);
    const release = held
      .filter((claim) => !isIn(wanted, claim.hash))
      .map(({ hash, definition, value }) => {
        const others = this.#index.holders(definition, value).filter((other) => other !== name);
        const successor = others[0] === undefined ? undefined : this.#index.find(others[0]);
        return { hash, successor };
      });
    return { claim: wanted.filter((claim) => !isIn(held, claim.hash)), release };
  }

  /** Resolves when the change is durable and applied to memory; `ok: false` when another write was quicker. */
  async #commit(write: ModelWrite): Promise<WriteResult> {
    const result = await this.#parts.queue.commit(write);
    if (result.ok) {
      // It is durable whatever happens now: a replica that cannot follow for the moment answers it all the same.
      if (this.#parts.feed.applied < result.revision) await this.#parts.feed.reach(result.revision).catch(() => {});
      return result;
    }
    if (result.reason === 'fenced') {
      throw new KindredError('NotReady', texts.fenced, { lease: write.fence?.lease ?? '' });
    }
    if (result.reason === 'claimed') {
      const { index } = result;
      const value = claimOf(write.claim, index, result.key) ?? result.key;
      throw new KindredError('UniqueViolation', texts.claimed, { kind: this.kind, index, value }, { index, value });
    }
    return result;
  }

  /** @throws NotFound */
  async #current(name: string): Promise<Current> {
    const behind = this.#parts.feed.current();
    if (behind) await behind;
    const { stored } = await this.#read(name);
    return { ...stored, object: this.parse(stored.bytes, name) };
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

  /** One write at a time for each name, so that writers in this process do not overtake one another. */
  async #turn(name: string): Promise<() => void> {
    const earlier = this.#turns.get(name);
    let done!: () => void;
    const mine = new Promise<void>((resolve) => {
      done = resolve;
    });
    this.#turns.set(name, mine);
    await earlier;
    return () => {
      if (this.#turns.get(name) === mine) this.#turns.delete(name);
      done();
    };
  }

  #checkVersion(client: Metadata, stored: Current): void {
    if (typeof client.version !== 'number' || !Number.isInteger(client.version)) return;
    if (client.version !== stored.object.metadata.version)
      throw this.#conflict(stored.name, client.version, stored.object);
  }

  #conflict(name: string, given: number, stored: ExtensionObject): KindredError {
    const current = stored.metadata.version ?? 0;
    return new KindredError('VersionConflict', texts.version, { name, given, current }, { currentVersion: current });
  }

  #checkMetadata(client: Metadata, stored: Metadata | undefined, caller: Caller): Violation[] {
    return [...checkMetadata(client), ...checkReservedKeys(client, stored, caller.origin, this.#parts.reservedDomain)];
  }

  get #pluginNameKey(): string {
    return `plugin.${this.#parts.reservedDomain}/plugin-name`;
  }

  /** The host alone writes this label: on creation by others it is dropped, so that an export can be imported. */
  #dropPluginName(client: Metadata, caller: Caller): void {
    if (caller.origin === 'host' || !isObject(client.labels)) return;
    const { [this.#pluginNameKey]: _dropped, ...labels } = client.labels;
    client.labels = labels;
  }

  #keepPluginName(client: Metadata, stored: Metadata, caller: Caller): void {
    const key = this.#pluginNameKey;
    const kept = stored.labels?.[key];
    if (caller.origin === 'host' || kept === undefined || client.labels?.[key] !== undefined) return;
    client.labels = { ...client.labels, [key]: kept };
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
    const slot = this.#index.put(change.entry(), change.id, change.revision);
    this.#shelf.set(slot, { id: change.id, revision: change.revision, name: change.name, bytes: change.bytes });
    if (this.#problems.size > 0 && change.object().apiVersion === this.apiVersion) this.#problems.delete(change.name);
  }

  /** The entry of a stored object; where an index function fails on it, that index has no value for it. */
  entryOf(object: ExtensionObject, name: string): IndexEntry {
    return this.#entryOrProblem(object, name).entry;
  }

  #entryOrProblem(object: ExtensionObject, name: string): { entry: IndexEntry; problem?: string } {
    try {
      return { entry: this.#strictEntry(object) };
    } catch (error) {
      const violations = error instanceof KindredError ? error.errors : undefined;
      const problem = violations?.map((one) => one.message).join('; ') ?? String(error);
      return { entry: this.#lenientEntry(object, name), problem };
    }
  }

  /** Index functions are somebody else's code: what they get, they cannot change. */
  #strictEntry(object: ExtensionObject): IndexEntry {
    return entryOf(this.scheme, this.scheme.indexes.length > 0 ? deepFreeze(object) : object);
  }

  #lenientEntry(object: ExtensionObject, name: string): IndexEntry {
    const keys = this.scheme.indexes.map((definition) => {
      try {
        return entryOf({ indexes: [definition] }, object).keys[0]!;
      } catch {
        return [];
      }
    });
    return { ...entryOf({ indexes: [] }, object), name, keys };
  }
}

const encoder = new TextEncoder();

/** In memory of their own, since they are kept: `Buffer.from` would take a piece of a pool. */
function bytesOf(object: ExtensionObject): Buffer {
  return asBuffer(encoder.encode(JSON.stringify(object)));
}

const hostCaller: Caller = { identity: { name: 'system', roles: [] }, origin: 'host' };

const suffixAlphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';

function randomSuffix(): string {
  return Array.from({ length: 8 }, () => suffixAlphabet[randomInt(suffixAlphabet.length)]).join('');
}
