/** One model's objects, in one of its versions: reads and writes of them. */

import { KindredError } from '../errors.ts';
import { fieldNames } from '../indexes/field.ts';
import type { Place } from '../indexes/model-index.ts';
import { localized } from '../locales/localized.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import type { Plan, QueryResult } from '../query/execute.ts';
import { execute, explain, runIds, runSlots } from '../query/execute.ts';
import type { Condition, Query, SortTerm } from '../query/query.ts';
import type { Values, ValuesRequest } from '../query/values.ts';
import { valuesOf } from '../query/values.ts';
import type { MaybePromise, Snapshot } from '../store/store.ts';
import { ownBytes } from './bytes.ts';
import { etagOf, shownEtagOf } from './etag.ts';
import type { Export } from './export.ts';
import { exportOf } from './export.ts';
import type { IndexedModel, ModelPlace, ResourceDependencies } from './indexed-model.ts';
import type { ModelMemory } from './memory.ts';
import type { Moment } from './moment.ts';
import { isUnchanged, momentOf } from './moment.ts';
import type { Missing, ObjectReader, ReadObject } from './reader.ts';
import type { RegisteredModel, Stored } from './registered-model.ts';
import type { Versions } from './versions.ts';
import type { Outline } from './watch/window-change.ts';
import type { Answer, ApplyOptions, CreateOptions, DeleteOptions, PatchOptions, WriteOptions } from './write.ts';
import type { Writer } from './writer.ts';

export interface Selection {
  readonly where: Condition;
  readonly sort: readonly SortTerm[];
  /** Only these objects are seen and counted. */
  readonly names?: ReadonlySet<string>;
  /** An export shows values that lists leave out (`hidden.ts`). */
  readonly withValues?: boolean;
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

export interface Page {
  readonly revision: number;
  readonly total: number;
  /** Those of a large page are in memory that may be kept (`bytes.ts`); others perhaps in that of the cache, all of which they would keep. */
  readonly items: readonly Buffer[];
}

/** A page of which is known what each item is, with the bytes of some of them. */
export interface Window {
  readonly revision: number;
  readonly outline: Outline;
  /** By place in the outline; as those of a page. */
  readonly items: ReadonlyMap<number, Buffer>;
}

const tooLarge = localized(
  'The objects of this page have {bytes} bytes, more than the {limit} that a page may have; ask for a smaller "size"',
);

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

export class ModelResource {
  readonly model: RegisteredModel;
  /** Of all versions of the model. */
  readonly indexed: IndexedModel;
  /** Of the model in another version than the hub: the version, and what has the indexes and objects of both. */
  readonly #spoke: { readonly scheme: Scheme; readonly hub: ModelResource } | undefined;
  readonly #inVersions = new WeakMap<Scheme, ModelResource>();

  /** @param spoke of which version of which hub it is; undefined: of the hub itself */
  constructor(indexed: IndexedModel, spoke?: { readonly scheme: Scheme; readonly hub: ModelResource }) {
    this.indexed = indexed;
    this.model = indexed.model;
    this.#spoke = spoke;
  }

  /** Another one after each move to another store. */
  get memory(): ModelMemory {
    return this.indexed.parts.memory;
  }

  get #dependencies(): ResourceDependencies {
    return this.indexed.parts.dependencies;
  }

  get #reader(): ObjectReader {
    return this.indexed.parts.reader;
  }

  get #writer(): Writer {
    return this.indexed.parts.writer;
  }

  /** Of the version that this is; another one when the declaration of the model is replaced, unless that lacks the version. */
  get scheme(): Scheme {
    const { scheme } = this.model;
    if (!this.#spoke) return scheme;
    return scheme.inVersion(this.#spoke.scheme.groupVersionKind.version) ?? this.#spoke.scheme;
  }

  get apiVersion(): string {
    return this.#spoke?.scheme.apiVersion ?? this.model.apiVersion;
  }

  /** Of a model with several versions: which one this is. */
  get version(): string | undefined {
    return this.#spoke || this.model.versions ? this.scheme.groupVersionKind.version : undefined;
  }

  /** The entity tag of an object as this shows it. */
  etagOf(stored: Stored): string {
    const { version } = this.scheme.groupVersionKind;
    const isStoredSo = !this.#spoke && !this.model.versions && !this.scheme.definition;
    return isStoredSo ? etagOf(stored) : shownEtagOf(stored, version);
  }

  /** What clients see of it, by the contract that is active; undefined for a version that this contract does not serve. */
  get shown(): Scheme | undefined {
    return this.model.rules.shown(this.scheme.groupVersionKind.version);
  }

  /** The status has a route of its own. */
  get hasStatus(): boolean {
    return this.model.rules.hasStatus;
  }

  /** The same objects in another version of the model. */
  inVersion(scheme: Scheme): ModelResource {
    const hub = this.#spoke?.hub ?? this;
    if (scheme === hub.scheme) return hub;
    let resource = hub.#inVersions.get(scheme);
    if (!resource) {
      resource = new ModelResource(hub.indexed, { scheme, hub });
      hub.#inVersions.set(scheme, resource);
    }
    return resource;
  }

  /** It is of the hub of the model; a model with one version is its own hub. */
  get isHub(): boolean {
    return this.#spoke === undefined;
  }

  get kind(): string {
    return this.model.kind;
  }

  /** Where its objects are. */
  get place(): ModelPlace {
    return this.#dependencies.place;
  }

  /** The revision of its store that this process reflects. */
  get revision(): number {
    return this.#dependencies.feed.applied;
  }

  get size(): number {
    return this.memory.size;
  }

  /** Only who may `get` an object sees its values. */
  get hidesValues(): boolean {
    return this.model.hooks?.hidesValues === true;
  }

  /** An object may be shown with what nobody is to keep: the values of a Secret, a token that was just made. */
  get isConfidential(): boolean {
    return this.model.hooks?.show !== undefined;
  }

  /** Who may list all objects sees the same as everybody else who may, and this process makes every change itself. */
  get isShownToAll(): boolean {
    return !this.isConfidential && !this.#dependencies.store.shared;
  }

  /** Of a list that is read from now on. */
  get moment(): Moment {
    return momentOf(this.memory, this.#dependencies.feed);
  }

  /**
   * Whether lists of this condition still show what they showed at that moment. False also when there were too many changes to look at
   * each of them. Only for objects that are shown to all.
   * @param where the condition of a list that was read then
   */
  isUnchanged(where: Condition, moment: Moment): boolean {
    return isUnchanged(this.memory, this.#dependencies.feed, { where, indexes: this.scheme.indexes }, moment);
  }

  /** The names that this version has for indexes. @param names in the hub */
  indexNames(names: ReadonlySet<string>): ReadonlySet<string> {
    if (!this.#spoke) return names;
    const { indexes } = this.scheme;
    return new Set(this.model.scheme.indexes.flatMap(({ name }, i) => (names.has(name) ? [indexes[i]!.name] : [])));
  }

  /** What selectors and sorts can name. */
  get fieldNames(): readonly string[] {
    return fieldNames(this.scheme.indexes);
  }

  get isReady(): boolean {
    return this.memory.isReady;
  }

  /** As `IndexedModel.ready`. */
  get ready(): Promise<void> {
    return this.indexed.ready;
  }

  /** @throws IndexBuilding */
  assertBuilt(where: Condition | undefined, sort: readonly Pick<SortTerm, 'field'>[] = []): void {
    this.memory.replacement?.assertBuilt(
      where,
      sort.map(({ field }) => field),
    );
  }

  // ── reads ──────────────────────────────────────────────────────────────────────────────────────────────

  /** @throws NotFound, NotReady */
  get(name: string): MaybePromise<ReadObject> {
    const waking = this.indexed.wanted();
    if (waking) return waking.then(() => this.get(name));
    const behind = this.indexed.current();
    const read = behind
      ? behind.then(() => {
          const arriving = this.indexed.wanted();
          return arriving ? arriving.then(() => this.#reader.read(name)) : this.#reader.read(name);
        })
      : this.#reader.read(name);
    const { versions } = this.model;
    if (versions) {
      if (!(read instanceof Promise)) return this.#converted(versions, name, read);
      return read.then((found) => this.#converted(versions, name, found));
    }
    if (!this.isConfidential) return read;
    return Promise.resolve(read).then(({ revision, stored }) => ({
      revision,
      stored: this.model.view(stored, 'get'),
    }));
  }

  #converted(versions: Versions, name: string, { revision, stored }: ReadObject): ReadObject {
    const slot = this.memory.index.slotOf(name);
    const bytes =
      slot === undefined
        ? versions.bytes(stored.bytes, this.apiVersion)
        : this.memory.inVersion(versions, this.apiVersion, slot, stored);
    return { revision, stored: { ...stored, bytes } };
  }

  /** One page and the exact total, of one revision. @throws NotReady, QueryLimit, InvalidSelector, InvalidParameter */
  list(request: ListRequest): MaybePromise<Page> {
    const waking = this.indexed.wanted();
    if (waking) return waking.then(() => this.list(request));
    this.assertBuilt(request.where, request.sort);
    const behind = this.indexed.current();
    return behind ? behind.then(() => this.#list(request)) : this.#list(request);
  }

  /** Keys of an index. @throws NotReady, InvalidParameter */
  values(request: ValuesRequest): MaybePromise<Values> {
    const waking = this.indexed.wanted();
    if (waking) return waking.then(() => this.values(request));
    this.assertBuilt(undefined, [{ field: request.index }]);
    const read = (): MaybePromise<Values> => {
      const arriving = this.indexed.wanted();
      if (arriving) return arriving.then(read);
      return valuesOf(this.memory.index, request, this.#spoke && this.scheme.indexes);
    };
    const behind = this.indexed.current();
    return behind ? behind.then(read) : read();
  }

  /** @param since when the memory was found to lag first */
  #list(request: ListRequest, since?: number): MaybePromise<Page> {
    const arriving = this.indexed.wanted();
    if (arriving) return arriving.then(() => this.#list(request, since));
    const index = this.memory.index;
    return runSlots(index, this.#queryOf(request), this.#queryLimits(), (total, slots) => {
      // Built anew while the query was answered in slices.
      if (index !== this.memory.index) return this.#list(request, since);
      this.memory.assertReady();
      return this.#page(request, total, slots, since);
    });
  }

  /** @throws NotReady when the indexes are built anew by now: those that were asked are of an older state than the memory */
  #query(query: Query): MaybePromise<QueryResult> {
    const arriving = this.indexed.wanted();
    if (arriving) return arriving.then(() => this.#query(query));
    this.assertBuilt(query.where, query.sort);
    const index = this.memory.index;
    const result = execute(index, query, this.#queryLimits());
    if (!(result instanceof Promise)) return result;
    return result.then((found) => {
      if (index !== this.memory.index) return this.#query(query);
      this.memory.assertReady();
      return found;
    });
  }

  #queryOf({ where, sort, names, page, size }: ListRequest): Query {
    return this.#named({ where, sort, offset: (page - 1) * size, limit: size, ...(names && { names }) });
  }

  /** With the names that clients of this version have for indexes. */
  #named<Q extends Omit<Query, 'offset' | 'limit'>>(query: Q): Q {
    return this.#spoke ? { ...query, definitions: this.scheme.indexes } : query;
  }

  #queryLimits() {
    const { monotonicNow: now, turns, limits } = this.#dependencies;
    return { now, nextTurn: () => turns.next(), timeLimit: limits.queryTimeout };
  }

  #page(request: ListRequest, total: number, slots: readonly number[], since?: number): MaybePromise<Page> {
    const bytes = this.#admitted(request, slots);
    const revision = this.#dependencies.feed.applied;
    const { index, cache } = this.memory;
    const items: Buffer[] = [];
    const missing: (Place & { readonly at: number })[] = [];
    const places = this.model.versions && slots.map((slot) => index.at(slot));
    for (let at = 0; at < slots.length; at++) {
      const slot = slots[at]!;
      const cached = cache.bytes(slot);
      if (cached) items[at] = cached;
      else missing.push({ at, ...index.at(slot) });
    }
    const page = { revision, total, items };
    if (missing.length === 0) return this.#shownPage(page, bytes, places);
    const finish = (read: readonly Buffer[] | Missing): MaybePromise<Page> => {
      if ('seen' in read) return this.#reader.catchUp(read, since).then((first) => this.#list(request, first));
      for (const [i, { at }] of missing.entries()) items[at] = read[i]!;
      return this.#shownPage(page, bytes, places);
    };
    const read = this.#reader.readAll(missing);
    return read instanceof Promise ? read.then(finish) : finish(read);
  }

  #shownPage(page: Page, bytes: number, places: readonly Place[] | undefined): MaybePromise<Page> {
    const { versions } = this.model;
    if (versions) return this.#pageIn(versions, page, bytes, places!);
    if (bytes > largePage) return this.#shownLargePage(page);
    if (!this.isConfidential) return page;
    return { ...page, items: page.items.map((item) => this.model.listView(item)) };
  }

  async #pageIn(versions: Versions, page: Page, bytes: number, places: readonly Place[]): Promise<Page> {
    const items: Buffer[] = [];
    const slice = this.#dependencies.turns.slice();
    for (const [at, stored] of page.items.entries()) {
      if (slice.isOver) await slice.renew();
      const { slot, id, revision } = places[at]!;
      const item = this.memory.inVersion(versions, this.apiVersion, slot, { id, revision, bytes: stored });
      items.push(bytes > largePage ? ownBytes(item) : item);
    }
    return { ...page, items };
  }

  async #shownLargePage(page: Page): Promise<Page> {
    const items: Buffer[] = [];
    const slice = this.#dependencies.turns.slice();
    for (const item of page.items) {
      if (slice.isOver) await slice.renew();
      items.push(this.model.listView(ownBytes(item)));
    }
    return { ...page, items };
  }

  /** Bytes of the objects of a page. @throws QueryLimit */
  #admitted({ maxBytes: limit = Number.POSITIVE_INFINITY, reserve }: ListRequest, slots: readonly number[]): number {
    const { lengths } = this.memory.index;
    let bytes = 0;
    for (let i = 0; i < slots.length; i++) bytes += lengths[slots[i]!]!;
    if (bytes > limit) throw new KindredError('QueryLimit', tooLarge, { params: { bytes, limit }, parameter: 'size' });
    reserve?.(bytes);
    return bytes;
  }

  /**
   * As `list`, of one revision too, with the bytes of those items alone whose places `wanted` gives; it may be called
   * again when the page was overtaken by a change.
   */
  async window(request: ListRequest, wanted: (outline: Outline) => Iterable<number>): Promise<Window> {
    const waking = this.indexed.wanted();
    if (waking) await waking;
    await this.indexed.current();
    for (let since: number | undefined; ; ) {
      const arriving = this.indexed.wanted();
      if (arriving) await arriving;
      // Of one store: ids of another one are of other objects.
      const { memory, reader } = this.indexed.parts;
      const { index } = memory;
      const found = await runSlots(index, this.#queryOf(request), this.#queryLimits(), (total, slots) => {
        // Otherwise built anew while the query was answered in slices.
        if (index !== this.memory.index) return undefined;
        memory.assertReady();
        return this.#outlined(request, total, slots, wanted);
      });
      const lag = found && (await this.#readMissing(found, reader));
      if (lag) since = await reader.catchUp(lag, since);
      else if (found) return found;
    }
  }

  #outlined(
    request: ListRequest,
    total: number,
    slots: readonly number[],
    wanted: (outline: Outline) => Iterable<number>,
  ): OpenWindow {
    const index = this.memory.index;
    const isLarge = this.#admitted(request, slots) > largePage;
    const outline = {
      total,
      ids: Float64Array.from(slots, (slot) => index.ids[slot]!),
      revisions: Float64Array.from(slots, (slot) => index.revisions[slot]!),
      names: slots.map((slot) => index.names.get(slot)!),
    };
    const items = new Map<number, Buffer>();
    const missing: (Place & { readonly place: number })[] = [];
    for (const place of wanted(outline)) {
      const slot = slots[place]!;
      const bytes = this.memory.cache.bytes(slot);
      if (bytes) items.set(place, bytes);
      else missing.push({ place, ...this.memory.index.at(slot) });
    }
    return { revision: this.#dependencies.feed.applied, outline, items, missing, isLarge };
  }

  /** Gives the first object that is another by now. */
  async #readMissing({ items, missing, isLarge }: OpenWindow, reader: ObjectReader): Promise<Missing | undefined> {
    for (let at = 0; at < missing.length; at += windowPortion) {
      const portion = missing.slice(at, at + windowPortion);
      const read = await reader.readAll(portion);
      if ('seen' in read) return read;
      for (const [i, { place }] of portion.entries()) items.set(place, read[i]!);
    }
    const slice = this.#dependencies.turns.slice();
    for (const [place, bytes] of items) {
      if (isLarge && slice.isOver) await slice.renew();
      const own = isLarge ? ownBytes(bytes) : bytes;
      items.set(place, this.#shown(own));
    }
    return undefined;
  }

  /** One object's bytes as lists, exports and watches show them. @throws InternalError when it cannot be converted */
  #shown(bytes: Buffer): Buffer {
    const { versions } = this.model;
    return versions ? versions.bytes(bytes, this.apiVersion) : this.model.listView(bytes);
  }

  /** An object as this version shows it. */
  parse({ bytes, name }: Pick<Stored, 'bytes' | 'name'>): ExtensionObject {
    return this.model.parseIn(this.apiVersion, bytes, name);
  }

  /** As it is shown to those who may see its values: an object in a state that it had. @throws as `get` */
  shownAsOf(stored: Stored): Stored {
    const { versions } = this.model;
    const bytes = this.model.current(stored.bytes, stored);
    return this.model.view({ ...stored, bytes: versions ? versions.bytes(bytes, this.apiVersion) : bytes }, 'get');
  }

  /** Names of all matches, in order. */
  async names(selection: Selection): Promise<string[]> {
    const waking = this.indexed.wanted();
    if (waking) await waking;
    await this.indexed.current();
    const result = await this.#query(this.#named({ ...selection, offset: 0, limit: this.memory.index.size }));
    return result.refs.map((ref) => ref.name);
  }

  async count(selection: Omit<Selection, 'sort'>): Promise<number> {
    const waking = this.indexed.wanted();
    if (waking) await waking;
    await this.indexed.current();
    const { total } = await this.#query(this.#named({ ...selection, sort: [], offset: 0, limit: 0 }));
    return total;
  }

  /**
   * How a list would be answered.
   * @param among the objects that the request is limited to (`limited`); undefined: all
   */
  explain(request: ListRequest, among?: Condition): MaybePromise<Plan> {
    const waking = this.indexed.wanted();
    if (waking) return waking.then(() => this.explain(request, among));
    this.assertBuilt(request.where, request.sort);
    return explain(this.memory.index, this.#queryOf(request), this.#queryLimits(), among);
  }

  /** Every match in order at one revision, read in portions while writes go on. */
  async export(selection: Selection): Promise<Export> {
    const waking = this.indexed.wanted();
    if (waking) await waking;
    await this.indexed.current();
    // Of one store: ids of another one are of other objects.
    const { dependencies, memory } = this.indexed.parts;
    const { feed, store, exportTurns } = dependencies;
    let snapshot: Snapshot | undefined;
    try {
      const ids = await feed.hold(
        async () => {
          snapshot = await store.snapshot();
          return snapshot;
        },
        () => {
          memory.assertReady();
          this.assertBuilt(selection.where, selection.sort);
          return runIds(memory.index, this.#named(selection), this.#queryLimits());
        },
      );
      const { withValues = false } = selection;
      return exportOf({
        snapshot: snapshot!,
        model: this.model,
        number: memory.number,
        ids,
        withValues,
        turns: exportTurns,
        shown: (bytes) => (withValues && this.hidesValues && !this.model.versions ? bytes : this.#shown(bytes)),
      });
    } catch (error) {
      await snapshot?.close();
      throw error;
    }
  }

  // ── writes ─────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * @param options with the namespace of the path, which the object need not repeat
   * @throws Invalid, AlreadyExists, UniqueViolation, NotReady, StorageFull, UnknownOutcome
   */
  create(body: unknown, options: CreateOptions): Promise<Answer> {
    const waking = this.indexed.wanted();
    if (waking) return waking.then(() => this.create(body, options));
    return this.#answered(this.#writer.create(body, this.#via(options)));
  }

  /** Full replace, or of the status alone (the sub-resource). @throws as `create`, NotFound, VersionConflict, PreconditionFailed, Deleting */
  update(name: string, body: unknown, options: WriteOptions): Promise<Answer> {
    const waking = this.indexed.wanted();
    if (waking) return waking.then(() => this.update(name, body, options));
    return this.#answered(this.#writer.update(name, body, this.#via(options)));
  }

  /** @throws as `update`, and PatchTestFailed, BadRequest (malformed patch) */
  patch(name: string, patch: unknown, options: PatchOptions): Promise<Answer> {
    const waking = this.indexed.wanted();
    if (waking) return waking.then(() => this.patch(name, patch, options));
    return this.#answered(this.#writer.patch(name, patch, this.#via(options)));
  }

  /** Server-side apply. @throws as `update`, and FieldConflict */
  async apply(name: string, body: unknown, options: ApplyOptions): Promise<Answer> {
    const waking = this.indexed.wanted();
    if (waking) await waking;
    return this.#answered(this.#writer.apply(name, body, this.#via(options)));
  }

  /** The object as it was marked. @throws NotFound, VersionConflict, PreconditionFailed */
  delete(name: string, options: DeleteOptions): Promise<Answer> {
    const waking = this.indexed.wanted();
    if (waking) return waking.then(() => this.delete(name, options));
    return this.#answered(this.#writer.delete(name, this.#via(options)));
  }

  /** The version in which a write is computed and answered. */
  #via<O extends WriteOptions>(options: O): O {
    return this.#spoke ? { ...options, via: this.scheme } : options;
  }

  #answered(answer: Promise<Answer>): Promise<Answer> {
    const { versions } = this.model;
    if (!versions) return answer;
    return answer.then(({ stored, ...rest }) => ({
      ...rest,
      stored: { ...stored, bytes: versions.bytesToTell(stored.bytes, this.apiVersion) },
    }));
  }
}
