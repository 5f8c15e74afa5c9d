/** One model's objects: reads and writes of them, and the build of what the memory has of them. */

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
import { retry } from '../runtime/retry.ts';
import type { TurnQueue } from '../runtime/time-slice.ts';
import { awaitedTimers, endsWithin, systemTimers } from '../runtime/timers.ts';
import type { MaybePromise, Snapshot, Store } from '../store/store.ts';
import type { Admissions } from './admission.ts';
import { buildIndexes, checkClaims } from './builder.ts';
import type { ByteCache } from './byte-cache.ts';
import { ownBytes } from './bytes.ts';
import { keepsClaims } from './claims.ts';
import type { Export } from './export.ts';
import { exportOf } from './export.ts';
import type { Feed } from './feed.ts';
import type { ModelHooks } from './hooks.ts';
import type { IndexSnapshots } from './index-snapshots.ts';
import { KnownClaims } from './known-claims.ts';
import { ModelMemory } from './memory.ts';
import type { Placement } from './placement.ts';
import type { Missing, ReadObject } from './reader.ts';
import { ObjectReader } from './reader.ts';
import type { Stored } from './registered-model.ts';
import { RegisteredModel } from './registered-model.ts';
import { Replacement } from './replacement.ts';
import { ownRules } from './rules.ts';
import { TargetIndexes } from './target-indexes.ts';
import type { Versions } from './versions.ts';
import type { Outline } from './watch/window-change.ts';
import type { Answer, ApplyOptions, DeleteOptions, WriteLimits, WriteOptions, WriterDependencies } from './writer.ts';
import { Writer } from './writer.ts';

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

export interface ResourceLimits extends WriteLimits {
  /** Milliseconds that one query may take. */
  readonly queryTimeout: number;
}

/** The store of a model, and what follows it. */
export interface ModelPlace {
  readonly name: string;
  readonly store: Store;
  readonly feed: Feed;
  readonly snapshots: IndexSnapshots | undefined;
}

export interface ResourceDependencies extends Omit<WriterDependencies, 'memory' | 'reader'> {
  /** Whose store, feed and queue these are. */
  readonly place: ModelPlace;
  /** Undefined: every model is in the default store. */
  readonly placement: Placement | undefined;
  /** Of the default store, where it is recorded in which store a model is. */
  readonly recordsFeed: Feed;
  readonly cache: ByteCache;
  /** The turns of exports, which are shorter than those of other works. */
  readonly exportTurns: TurnQueue;
  /** Undefined: every declaration is taken as it is. */
  readonly admissions: Admissions | undefined;
  /** Undefined: the indexes are always built. */
  readonly snapshots: IndexSnapshots | undefined;
  /** The models that this process serves, as text, where it does not serve this one; undefined: it does. */
  readonly elsewhere: (scheme: Scheme) => string | undefined;
  readonly limits: ResourceLimits;
  /** Something of what clients see of a model may be another now. */
  readonly onShown: () => void;
  /** In the turn in which another declaration begins to serve. @param built names of the indexes that were built or are gone */
  readonly onReplaced: (resource: ModelResource, built: ReadonlySet<string>) => void;
  readonly logger: {
    info(details: object, message: string): void;
    warn(details: object, message: string): void;
    error(details: object, message: string): void;
  };
}

const tooLarge = localized(
  'The objects of this page have {bytes} bytes, more than the {limit} that a page may have; ask for a smaller "size"',
);

/** Milliseconds for which a request waits until the objects of an idle model are in memory again. */
const wakeLimit = 5_000;

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

/** A model in its store: others take their place when the model moves to another store. */
interface Parts {
  readonly dependencies: ResourceDependencies;
  readonly memory: ModelMemory;
  readonly reader: ObjectReader;
  readonly writer: Writer;
}

export class ModelResource {
  readonly model: RegisteredModel;
  /** Of the hub. */
  #parts: Parts | undefined;
  /** Of the model in another version than the hub: the version, and what has the indexes and objects of both. */
  readonly #spoke: { readonly scheme: Scheme; readonly hub: ModelResource } | undefined;
  readonly #inVersions = new WeakMap<Scheme, ModelResource>();
  #built: Promise<void> | undefined;
  /** While an idle model is read again: what those wait for who ask for its objects. */
  #waking: Promise<void> | undefined;
  /** The same after its objects have moved to another store. */
  #arriving: Promise<void> | undefined;
  /** Of the hub: the records of the default store have to be read before the next read. */
  #mayHaveMoved = false;
  /** While its objects are copied to another store. */
  #target: TargetIndexes | undefined;
  #replaced: Promise<void> | undefined;
  /** The claims of the store with the indexes. */
  #isComparing = false;
  /** Grows with each build; an older one that is still under way comes to nothing. */
  #builds = 0;

  /** @param hub of which this is another version */
  constructor(scheme: Scheme, dependencies: ResourceDependencies, hooks?: ModelHooks, hub?: ModelResource) {
    if (hub) {
      this.#spoke = { scheme, hub };
      this.model = hub.model;
      return;
    }
    this.model = new RegisteredModel(scheme, hooks, dependencies.onShown);
    this.#parts = partsOf(this.model, dependencies);
  }

  get #own(): Parts {
    return this.#parts ?? this.#spoke!.hub.#parts!;
  }

  /** Another one after each move to another store. */
  get memory(): ModelMemory {
    return this.#own.memory;
  }

  get #dependencies(): ResourceDependencies {
    return this.#own.dependencies;
  }

  get #reader(): ObjectReader {
    return this.#own.reader;
  }

  get #writer(): Writer {
    return this.#own.writer;
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
      resource = new ModelResource(scheme, hub.#dependencies, undefined, hub);
      hub.#inVersions.set(scheme, resource);
    }
    return resource;
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

  // ── readiness ──────────────────────────────────────────────────────────────────────────────────────────

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

  /**
   * Grows with every change of an object. While it is the same, a list has the same objects with the same bytes. Undefined where
   * nobody is to keep what is shown, and on a store to which other processes write.
   */
  get changes(): number | undefined {
    return this.isConfidential || this.#dependencies.store.shared ? undefined : this.memory.changes;
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

  /** Resolves when the indexes are built; the first to ask starts the build. */
  get ready(): Promise<void> {
    if (this.#spoke) return this.#spoke.hub.ready;
    this.#built ??= this.#build();
    return this.#built;
  }

  /**
   * @param waits whether what follows waits for objects that have just moved to another store
   * @throws NotReady with the progress while the indexes are being built; NotFound when the model is no longer registered; MisdirectedRequest
   */
  assertReady(waits = false): void {
    const { memory } = this;
    const hub = this.#spoke?.hub ?? this;
    memory.isWanted = true;
    if (!memory.isIdle && !hub.#waking && !(waits && hub.#arriving)) memory.assertReady();
  }

  /**
   * Before objects are asked for.
   * @returns what to wait for first, while they are not in memory because nobody asked for them, or because they have just moved
   * @throws as `assertReady`
   */
  #wanted(): Promise<void> | undefined {
    const { memory } = this;
    memory.isWanted = true;
    if (memory.isReady) return undefined;
    const hub = this.#spoke?.hub ?? this;
    if (memory.isIdle) hub.wake().catch(() => {});
    const coming = hub.#waking ?? hub.#arriving;
    if (!coming) memory.assertReady();
    return coming;
  }

  /** The change log of the store says that a move has sealed the model: the next read checks where the objects are. */
  doubtPlace(): void {
    this.#mayHaveMoved = true;
  }

  /** Before a read: as `Feed.current`, of the store where the objects are. @throws NotReady within 2 s */
  current(): Promise<void> | undefined {
    const { feed, recordsFeed } = this.#dependencies;
    const behind = feed.current();
    return behind && feed !== recordsFeed ? behind.then(() => this.#learnPlace()) : behind;
  }

  /** Waits for the records of the default store when another replica may already serve the objects from another store. */
  async #learnPlace(): Promise<void> {
    const { placement, recordsFeed } = this.#dependencies;
    const hub = this.#spoke?.hub ?? this;
    if (!hub.#mayHaveMoved && !placement?.recordOf(this.model.scheme)?.moving) return;
    await recordsFeed.newest();
    hub.#mayHaveMoved = false;
  }

  /** The objects leave memory until somebody asks for them. False: the model has something to do. */
  rest(): boolean {
    const { memory } = this;
    const { admissions, underWay, logger } = this.#dependencies;
    const isBusy = memory.replacement || memory.held || this.#isComparing || !underWay.none;
    if (isBusy || memory.state().state !== 'ready' || !(admissions?.isSettled(this.scheme) ?? true)) return false;
    const { group, kind } = this.scheme.groupVersionKind;
    logger.info({ group, kind, objects: memory.size }, 'Nobody asks for the model: its indexes leave memory');
    memory.rest();
    return true;
  }

  /** Reads the objects of an idle model again. @returns what waits for them for a while. @throws NotReady when it takes longer */
  wake(): Promise<void> {
    this.#waking ??= this.#wake().finally(() => {
      this.#waking = undefined;
    });
    return this.#waking;
  }

  async #wake(): Promise<void> {
    this.#built = this.#build(true);
    await this.#comes(this.#built);
  }

  /** Resolves when the build is complete. @throws NotReady when it takes long */
  async #comes(built: Promise<void>): Promise<void> {
    this.#logFailure(built);
    await endsWithin(awaitedTimers, wakeLimit, built).catch(() => {});
    this.memory.assertReady();
  }

  /** The indexes are read again from the store. */
  rebuild(): void {
    if (this.#spoke) return this.#spoke.hub.rebuild();
    this.memory.reset();
    this.#built = this.#build();
    this.#logFailure(this.#built);
  }

  /** The objects are being copied to another store: the indexes are built there too. */
  prepareMove({ place, logger }: ResourceDependencies): void {
    const { memory } = this;
    if (this.#target?.place === place || memory.isIdle || memory.isElsewhere) return;
    this.#target?.close();
    this.#target = new TargetIndexes(place, this.model, logger);
  }

  /** The objects are not copied any more, and stay. */
  endMove(): void {
    this.#target?.close();
    this.#target = undefined;
  }

  /**
   * The objects are in another store from this turn on. Who asks for them waits until the indexes are there; whatever else is under
   * way in the former store fails with NotReady.
   */
  moveTo(dependencies: ResourceDependencies): void {
    const { memory } = this;
    this.#parts = partsOf(this.model, dependencies);
    memory.leave();
    this.#built = this.#build();
    const arriving = this.#comes(this.#built).finally(() => {
      if (this.#arriving === arriving) this.#arriving = undefined;
    });
    arriving.catch(() => {});
    this.#arriving = arriving;
  }

  /** The model is no longer registered. */
  close(): void {
    this.endMove();
    this.memory.close();
  }

  /** In the turn in which the memory begins to follow the place. */
  #takeTarget(place: ModelPlace): ReturnType<TargetIndexes['take']> {
    const target = this.#target;
    this.#target = undefined;
    if (target?.place === place) return target.take();
    target?.close();
    return undefined;
  }

  #logFailure(built: Promise<void>): void {
    built.catch((err: unknown) => {
      if (this.memory.isClosed) return;
      const { group, kind } = this.scheme.groupVersionKind;
      this.#dependencies.logger.error({ err, group, kind }, 'The indexes could not be built');
    });
  }

  /** @param isAgain what this process has compared with the store already is not compared again */
  async #build(isAgain = false): Promise<void> {
    const build = ++this.#builds;
    const isOver = () => this.memory.isClosed || this.#builds !== build;
    const { group, kind } = this.scheme.groupVersionKind;
    const failed = (err: unknown) => {
      if (isOver() || !(err instanceof KindredError && err.code === 'NotReady')) throw err;
      this.#dependencies.logger.warn({ err, group, kind }, 'The indexes could not be built; trying again');
    };
    const isReplaced = () => !this.memory.isClosed && this.#builds !== build;
    try {
      await retry({ timers: systemTimers, minDelay: 100, maxDelay: 5_000, failed }, () =>
        this.#buildOnce(isOver, isAgain),
      );
    } catch (error) {
      if (!isReplaced()) throw error;
    }
    // Who waits for this one waits for the one that took its place.
    if (isReplaced()) await this.#built;
  }

  async #buildOnce(isOver: () => boolean, isAgain: boolean): Promise<void> {
    const { memory } = this;
    const { place, placement, store, feed, underWay, admissions, snapshots, logger, monotonicNow } = this.#dependencies;
    const { group, kind } = this.scheme.groupVersionKind;
    const elsewhere = this.#dependencies.elsewhere(this.scheme);
    if (elsewhere !== undefined) {
      const number = await store.modelNumber(group, kind);
      if (!isOver()) memory.stayElsewhere(number, feed.applied, elsewhere);
      return;
    }
    // What an earlier registration has under way took unique values of its own indexes.
    await underWay.ended();
    await placement?.settle(this.scheme, place);
    if (isOver()) return;
    const number = await store.modelNumber(group, kind);
    if (isOver()) return;
    const admitted = await admissions?.of(this.scheme, memory, false);
    if (isOver()) return;
    const { rules, admission } = admitted ?? {};
    if (rules) this.model.rules = rules;
    // Of what is placed by now: the generation of a model grows when it leaves its store.
    const fence = store.shared && placement?.isPlaceable(this.scheme) ? await store.models(number) : [];
    memory.follow(number, feed.applied, fence[0]?.generation);
    const known = this.#takeTarget(place);
    // Another contract needs a check of every object.
    const moved = admission ? undefined : known;
    await feed.newest();
    // Who has the generation of a model that is sealed learns that it is: its record was there first.
    if (fence.length > 0) await placement!.refresh();
    await placement?.settle(this.scheme, place);
    if (isOver()) return;
    memory.isSealed = placement?.isSealed(this.scheme) ?? false;
    const started = monotonicNow();
    const reading = { store, number, newest: feed.applied, model: this.model, isOver };
    const found = moved ? undefined : await snapshots?.restore(memory, reading, admission !== undefined);
    const restored = found && 'index' in found ? found : undefined;
    const claims = new KnownClaims(store, this.model, snapshots?.identityOf(memory));
    const complete = restored ?? moved;
    const claimsAreKnown = !complete && admission === undefined && (await claims.areKnown());
    const { index, problems } =
      complete ??
      (await buildIndexes({
        ...reading,
        admission,
        claimsAreKnown,
        onProgress: (done, objects) => memory.progress({ done, objects }),
      }));
    const readThrough = complete ? reading.newest : await store.revision();
    if (isOver()) return;
    const ms = Math.round(monotonicNow() - started);
    const objects = index.size;
    const start = {
      from: restored ? ('snapshot' as const) : ('build' as const),
      objects,
      replayed: restored?.replayed ?? 0,
      ms,
      ...(restored && 'via' in restored && { via: 'database' as const }),
      ...(found && 'rejected' in found && { reason: found.rejected }),
    };
    if (complete) memory.progress({ done: objects, objects });
    memory.open(index, problems, start, readThrough);
    this.model.since = readThrough;
    snapshots?.opened(memory, restored);
    admissions?.opened(this.scheme);
    if (restored)
      logger.info({ group, kind, objects, replayed: restored.replayed, ms }, 'Indexes read from a snapshot');
    else if (moved) logger.info({ group, kind, objects }, 'Indexes were built while the objects moved');
    else logger.info({ group, kind, objects, ms }, 'Indexes built');
    if (problems.size > 0)
      logger.warn({ group, kind, problems: problems.size }, 'The model is degraded: stored objects need repair');
    if (!complete && !claimsAreKnown) {
      await claims
        .remember(this.#dependencies.now())
        .catch((err: unknown) =>
          logger.warn({ err, group, kind }, 'That the claims were compared could not be recorded'),
        );
    } else if (!isAgain) void this.#checkClaims(number, isOver);
    await this.#reclaimLeftovers();
  }

  /**
   * Another declaration of the same version takes the place of the one that serves. What is asked meanwhile is answered by the former
   * one; only selectors and sorts of indexes that are new or changed are refused with `IndexBuilding`.
   * @returns resolves when it serves, or one that replaced it; rejects when it is refused, and the former one stays
   */
  replace(scheme: Scheme): Promise<void> {
    const { memory, model } = this;
    if (!memory.isReady) {
      memory.replacement = undefined;
      model.replace(scheme, ownRules(scheme));
      this.rebuild();
      return this.ready;
    }
    const replacement = new Replacement(scheme, model, memory.index);
    memory.replacement = replacement;
    const work = this.#replace(replacement);
    this.#replaced = work;
    return work;
  }

  /** Resolves when the declaration that was given last serves; rejects when it is refused. */
  get settled(): Promise<void> {
    if (this.#spoke) return this.#spoke.hub.settled;
    return this.memory.replacement ? this.#replaced! : this.ready;
  }

  /** It answers by this declaration, and no other is about to take its place. */
  serves(scheme: Scheme): boolean {
    return this.memory.isReady && !this.memory.replacement && this.model.scheme === scheme;
  }

  async #replace(first: Replacement): Promise<void> {
    const { memory, model } = this;
    const { group, kind } = this.scheme.groupVersionKind;
    let replacement = first;
    const isOver = () => memory.isClosed || memory.replacement !== replacement;
    const failed = (err: unknown) => {
      if (isOver() || !(err instanceof KindredError && err.code === 'NotReady')) throw err;
      this.#dependencies.logger.warn({ err, group, kind }, 'The indexes could not be built; trying again');
      // What it has read so far may be read twice.
      replacement = new Replacement(first.scheme, model, memory.index);
      memory.replacement = replacement;
    };
    try {
      await retry({ timers: systemTimers, minDelay: 100, maxDelay: 5_000, failed }, () =>
        this.#replaceOnce(replacement, isOver),
      );
    } catch (error) {
      if (!isOver()) {
        memory.replacement = undefined;
        throw error;
      }
    }
    memory.assertOpen();
    // Who waits for this one waits for the one that took its place.
    if (memory.replacement) await this.#replaced;
  }

  async #replaceOnce(replacement: Replacement, isReplaced: () => boolean): Promise<void> {
    const { memory, model } = this;
    const { store, feed, underWay, admissions, snapshots, logger } = this.#dependencies;
    const { scheme } = replacement;
    const before = model.scheme;
    const { index: former } = memory;
    const { group, kind } = scheme.groupVersionKind;
    const isOver = () => isReplaced() || !memory.isReady || memory.index !== former;
    const admitted = await admissions?.of(scheme, memory, true);
    const admission = admitted?.admission;
    const reading = { store, number: memory.number, admission, isOver };
    const started = performance.now();
    let problems = isOver() ? undefined : await replacement.read(reading);
    const release = memory.hold();
    try {
      for (;;) {
        if (!store.shared) await underWay.ended();
        const isSame = await replacement.settle(isOver);
        if (isOver()) break;
        if (!isSame) {
          problems = await replacement.read(reading);
          continue;
        }
        const { changes } = memory;
        const index = replacement.index();
        for (const [name, problem] of (await admission?.decide(index)) ?? []) {
          if (problems && !problems.has(name)) problems.set(name, problem);
        }
        const isStill = memory.changes === changes && replacement.isSettled && (store.shared || underWay.none);
        if (isStill || isOver()) break;
      }
      if (isReplaced()) return;
      memory.replacement = undefined;
      const rules = admitted?.rules ?? ownRules(scheme);
      if (!memory.isReady || memory.index !== former) {
        // What served is of no use any more: it is built by the new declaration.
        model.replace(scheme, rules);
        this.rebuild();
        return;
      }
      const gone = former.definitions.filter(({ name }) => scheme.indexes.every((one) => one.name !== name));
      memory.replace(replacement, rules, replacement.index(), problems);
      model.since = feed.applied;
      this.#dependencies.onReplaced(this, new Set([...replacement.built, ...gone.map(({ name }) => name)]));
    } finally {
      release();
    }
    snapshots?.replaced(memory);
    admissions?.replaced(scheme, before);
    const ms = Math.round(performance.now() - started);
    const indexes = [...replacement.built];
    logger.info({ group, kind, indexes, objects: memory.index.size, ms }, 'The declaration of the model was replaced');
  }

  /** @throws IndexBuilding */
  assertBuilt(where: Condition | undefined, sort: readonly Pick<SortTerm, 'field'>[] = []): void {
    this.memory.replacement?.assertBuilt(
      where,
      sort.map(({ field }) => field),
    );
  }

  /** While the model serves: every write of this process keeps the claims. */
  async #checkClaims(number: number, isOver: () => boolean): Promise<void> {
    const { store, feed, logger } = this.#dependencies;
    const { memory, model } = this;
    if (!keepsClaims(store)) return;
    const { group, kind } = this.scheme.groupVersionKind;
    const failed = (err: unknown) => {
      if (!isOver())
        logger.warn({ err, group, kind }, 'The claims could not be compared with the indexes; trying again');
    };
    const newest = async () => {
      await feed.newest();
      return feed.applied;
    };
    this.#isComparing = true;
    await retry({ timers: systemTimers, minDelay: 1_000, maxDelay: 30_000, failed }, async () => {
      if (isOver()) return;
      const { rules } = model;
      await checkClaims(memory.index, () => memory.changes, { store, number, model, rules, isOver, newest });
    });
    this.#isComparing = false;
  }

  async #reclaimLeftovers(): Promise<void> {
    for (const name of this.memory.index.deletingNames()) {
      await this.#writer
        .reclaim(name)
        .catch((error: unknown) =>
          this.#dependencies.logger.warn({ err: error, name }, 'A deleted object could not be reclaimed'),
        );
    }
  }

  // ── reads ──────────────────────────────────────────────────────────────────────────────────────────────

  /** @throws NotFound, NotReady */
  get(name: string): MaybePromise<ReadObject> {
    const waking = this.#wanted();
    if (waking) return waking.then(() => this.get(name));
    const behind = this.current();
    const read = behind
      ? behind.then(() => {
          const arriving = this.#wanted();
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
    const waking = this.#wanted();
    if (waking) return waking.then(() => this.list(request));
    this.assertBuilt(request.where, request.sort);
    const behind = this.current();
    return behind ? behind.then(() => this.#list(request)) : this.#list(request);
  }

  /** Keys of an index. @throws NotReady, InvalidParameter */
  values(request: ValuesRequest): MaybePromise<Values> {
    const waking = this.#wanted();
    if (waking) return waking.then(() => this.values(request));
    this.assertBuilt(undefined, [{ field: request.index }]);
    const read = (): MaybePromise<Values> => {
      const arriving = this.#wanted();
      if (arriving) return arriving.then(read);
      return valuesOf(this.memory.index, request, this.#spoke && this.scheme.indexes);
    };
    const behind = this.current();
    return behind ? behind.then(read) : read();
  }

  /** @param since when the memory was found to lag first */
  #list(request: ListRequest, since?: number): MaybePromise<Page> {
    const arriving = this.#wanted();
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
    const arriving = this.#wanted();
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
    const waking = this.#wanted();
    if (waking) await waking;
    await this.current();
    for (let since: number | undefined; ; ) {
      const arriving = this.#wanted();
      if (arriving) await arriving;
      // Of one store: ids of another one are of other objects.
      const { memory, reader } = this.#own;
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
    const waking = this.#wanted();
    if (waking) await waking;
    await this.current();
    const result = await this.#query(this.#named({ ...selection, offset: 0, limit: this.memory.index.size }));
    return result.refs.map((ref) => ref.name);
  }

  async count(selection: Omit<Selection, 'sort'>): Promise<number> {
    const waking = this.#wanted();
    if (waking) await waking;
    await this.current();
    const { total } = await this.#query(this.#named({ ...selection, sort: [], offset: 0, limit: 0 }));
    return total;
  }

  /**
   * How a list would be answered.
   * @param among the objects that the request is limited to (`limited`); undefined: all
   */
  explain(request: ListRequest, among?: Condition): MaybePromise<Plan> {
    const waking = this.#wanted();
    if (waking) return waking.then(() => this.explain(request, among));
    this.assertBuilt(request.where, request.sort);
    return explain(this.memory.index, this.#queryOf(request), this.#queryLimits(), among);
  }

  /** Every match in order at one revision, read in portions while writes go on. */
  async export(selection: Selection): Promise<Export> {
    const waking = this.#wanted();
    if (waking) await waking;
    await this.current();
    // Of one store: ids of another one are of other objects.
    const { dependencies, memory } = this.#own;
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
  async create(body: unknown, options: WriteOptions & { namespace?: string }): Promise<Answer> {
    const waking = this.#wanted();
    if (waking) await waking;
    return this.#answered(this.#writer.create(body, this.#via(options)));
  }

  /** Full replace, or of the status alone (the sub-resource). @throws as `create`, NotFound, VersionConflict, PreconditionFailed, Deleting */
  update(name: string, body: unknown, options: WriteOptions): Promise<Answer> {
    const waking = this.#wanted();
    if (waking) return waking.then(() => this.update(name, body, options));
    return this.#answered(this.#writer.update(name, body, this.#via(options)));
  }

  /** @throws as `update`, and PatchTestFailed, BadRequest (malformed patch) */
  patch(name: string, patch: unknown, options: WriteOptions & { kind: 'merge' | 'json' }): Promise<Answer> {
    const waking = this.#wanted();
    if (waking) return waking.then(() => this.patch(name, patch, options));
    return this.#answered(this.#writer.patch(name, patch, this.#via(options)));
  }

  /** Server-side apply. @throws as `update`, and FieldConflict */
  async apply(name: string, body: unknown, options: ApplyOptions): Promise<Answer> {
    const waking = this.#wanted();
    if (waking) await waking;
    return this.#answered(this.#writer.apply(name, body, this.#via(options)));
  }

  /** The object as it was marked. @throws NotFound, VersionConflict, PreconditionFailed */
  delete(name: string, options: DeleteOptions): Promise<Answer> {
    const waking = this.#wanted();
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
      stored: { ...stored, bytes: versions.bytes(stored.bytes, this.apiVersion) },
    }));
  }
}

function partsOf(model: RegisteredModel, dependencies: ResourceDependencies): Parts {
  const memory = new ModelMemory(model, dependencies.cache);
  const reader = new ObjectReader({ ...dependencies, memory });
  return { dependencies, memory, reader, writer: new Writer({ ...dependencies, memory, reader }) };
}
