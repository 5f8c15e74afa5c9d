/** What one process has in memory of one model: its indexes and hot objects, as of the revision that the feed has applied. */

import { KindredError } from '../errors.ts';
import type { Duplicate } from '../indexes/model-index.ts';
import { ModelIndex } from '../indexes/model-index.ts';
import { localized } from '../locales/localized.ts';
import type { Scheme } from '../model/scheme.ts';
import type { Condition } from '../query/condition.ts';
import type { ByteCache, Cached, ObjectCache } from './byte-cache.ts';
import type { AppliedChange } from './change.ts';
import type { RegisteredModel } from './registered-model.ts';
import type { Rules } from './rules.ts';
import type { Versions } from './versions.ts';

/** What state the memory of a model is in; `idle`: its objects are read when somebody asks for them; `elsewhere`: other processes serve it. */
export type MemoryState = 'building' | 'ready' | 'degraded' | 'outdated' | 'idle' | 'elsewhere';

/** Objects that a build of indexes has read, and those that it has to read. */
export interface BuildProgress {
  readonly done: number;
  readonly objects: number;
}

/** Where the indexes came from when the model became ready. */
export interface StartOfModel {
  readonly from: 'snapshot' | 'build';
  readonly objects: number;
  /** Changes of the log that came on top of a snapshot. */
  readonly replayed: number;
  /** How long it took. */
  readonly ms: number;
  /** The snapshot was that of another process, which left it in the database. */
  readonly via?: 'database';
  /** Why a snapshot that was there was not used, in one word. */
  readonly reason?: string;
}

/** An index that is being built while its model serves. */
export interface IndexProgress {
  readonly name: string;
  /** From 0 to 1. */
  readonly progress: number;
}

/** Another declaration of a model that serves (`replacement.ts`). */
export interface NextDeclaration {
  readonly scheme: Scheme;
  /** Those that are built. */
  readonly indexes: readonly IndexProgress[];
  /** Of the objects that are read for it, from 0 to 1. */
  readonly progress: number;
  /** Since its indexes are being built, the last change of each name. */
  readonly changes: Iterable<AppliedChange>;
  /** @throws IndexBuilding when a condition or a field is of an index that is being built */
  assertBuilt(where: Condition | undefined, fields: readonly string[]): void;
  /** In the turn in which the index was told of a change. */
  changed(slot: number | undefined, change: AppliedChange): void;
}

/** Why an object of a model needs repair. */
export interface Problem {
  readonly name: string;
  readonly reason: string;
}

const texts = {
  moved: localized('The objects of {kind} have moved to another store'),
  moving: localized('The objects of {kind} are moving to another store: they can be read, and not changed'),
  building: localized('The indexes of {kind} are being built: {percent} %'),
  unregistered: localized('The model {kind} is no longer registered'),
  elsewhere: localized('{kind} is served by other processes: this one was started for {models}'),
  outdated: localized(
    'Another contract of {kind} became active (model generation {generation}), which this replica does not know: start it with the newer version of the plugin',
  ),
};

export class ModelMemory {
  readonly model: RegisteredModel;
  readonly cache: ObjectCache;
  /** Objects in other versions than the stored one, by `apiVersion`. What is here may be of an earlier revision. */
  readonly #converted = new Map<string, ObjectCache>();
  readonly #bytes: ByteCache;
  #index: ModelIndex;
  #number = -1;
  #generation: number | undefined;
  #followedSince = Number.POSITIVE_INFINITY;
  #changes = 0;
  #epoch = Symbol();
  #isReady = false;
  #isClosed = false;
  #hasLeft = false;
  #building: BuildProgress = { done: 0, objects: 0 };
  /** Changes that are applied when the build is complete. */
  #backlog: AppliedChange[] | undefined;
  #problems = new Map<string, string>();
  /** The model generation that this process cannot serve. */
  #outdatedBy: number | undefined;
  #start: StartOfModel | undefined;
  #readThrough = 0;
  /** Its objects are not in memory, and changes go on being told. */
  #resting: 'idle' | 'elsewhere' | undefined;
  /** Objects while they are not in memory. */
  #restingObjects = 0;
  /** From when the model left memory until its objects are there again. */
  #isCounting = false;
  #elsewhere: string | undefined;

  /** Set by whoever asks for objects, taken back by the one who looks for models that nobody asks for. */
  isWanted = true;

  /** While it is there, no write of this process begins that an active contract decides about. */
  held: Promise<void> | undefined;

  /** Another declaration, which is about to take the place of the one that serves. */
  replacement: NextDeclaration | undefined;

  /** No object may be changed: they are about to be in another store. */
  isSealed = false;

  constructor(model: RegisteredModel, cache: ByteCache) {
    this.model = model;
    this.#bytes = cache;
    this.cache = cache.objectCache();
    this.#index = new ModelIndex(model.scheme.indexes);
  }

  /** An object of a model with several versions in one of them. @throws InternalError when it cannot be converted */
  inVersion(versions: Versions, apiVersion: string, slot: number, stored: Cached): Buffer {
    const { bytes, id, revision } = stored;
    if (versions.isIn(bytes, apiVersion)) return bytes;
    let cache = this.#converted.get(apiVersion);
    if (!cache) {
      cache = this.#bytes.objectCache();
      this.#converted.set(apiVersion, cache);
    }
    const kept = cache.get(slot);
    if (kept?.id === id && kept.revision === revision) return kept.bytes;
    const converted = versions.bytes(bytes, apiVersion);
    if (this.#isReady) cache.set(slot, { id, revision, bytes: converted });
    return converted;
  }

  #clearCaches(): void {
    this.cache.clear();
    for (const cache of this.#converted.values()) cache.clear();
  }

  /** Another one after each build. */
  get index(): ModelIndex {
    return this.#index;
  }

  /** The store's number of the model; -1 before its indexes are being built. */
  get number(): number {
    return this.#number;
  }

  /** The generation that the model had in its store when the build began; undefined where nobody else writes there. */
  get generation(): number | undefined {
    return this.#generation;
  }

  /** Changes after this revision belong to this registration; earlier ones were made before the model was registered (again). */
  get followedSince(): number {
    return this.#followedSince;
  }

  /** Grows with every change of what the memory has of the model. */
  get changes(): number {
    return this.#changes;
  }

  /** Changes when all objects are read again, or when another declaration serves: the changes of single objects then do not tell what differs. */
  get epoch(): symbol {
    return this.#epoch;
  }

  /** The model is no longer registered, or was registered again. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Its objects have left memory until somebody asks for them. */
  get isIdle(): boolean {
    return this.#resting === 'idle';
  }

  /** Other processes serve the model. */
  get isElsewhere(): boolean {
    return this.#resting === 'elsewhere';
  }

  /** Number of objects. */
  get size(): number {
    return this.#isReady ? this.#index.size : this.#restingObjects;
  }

  /** How far the build of the indexes is, or was when it ended. */
  get building(): BuildProgress {
    return this.#building;
  }

  /** The indexes may show changes up to this revision before the feed comes to it. */
  get readThrough(): number {
    return this.#readThrough;
  }

  /** What is wrong with stored objects, by name, without what they share. */
  get problems(): ReadonlyMap<string, string> {
    return this.#problems;
  }

  /** @throws NotFound when the model is no longer registered; NotReady when its objects have moved to another store */
  assertOpen(): void {
    const { kind } = this.model;
    if (this.#hasLeft) throw movedAway(kind, 'NotReady');
    if (this.#isClosed) throw new KindredError('NotFound', texts.unregistered, { params: { kind } });
  }

  /** @throws NotReady with the progress while the indexes are being built; MisdirectedRequest */
  assertReady(): void {
    if (this.#isReady) return;
    this.assertOpen();
    const { kind } = this.model;
    if (this.isElsewhere)
      throw new KindredError('MisdirectedRequest', texts.elsewhere, { params: { kind, models: this.#elsewhere } });
    if (this.#outdatedBy !== undefined) throw this.#outdated(this.#outdatedBy);
    const progress = this.#progress;
    const percent = Math.floor(progress * 100);
    const headers = { 'retry-after': '1' };
    throw new KindredError('NotReady', texts.building, { params: { kind, percent }, progress, headers });
  }

  /** @throws NotReady while the objects move to another store */
  assertUnsealed(): void {
    if (this.isSealed)
      throw new KindredError('NotReady', texts.moving, {
        params: { kind: this.model.kind },
        headers: { 'retry-after': '1' },
      });
  }

  #outdated(generation: number): KindredError {
    const { kind } = this.model;
    return new KindredError('ModelOutdated', texts.outdated, {
      params: { kind, generation },
      headers: { 'retry-after': '1' },
    });
  }

  /** Another contract is active, which only a newer version of the plugin knows. @returns why the model answers nobody here */
  outdate(generation: number): KindredError {
    this.#renew();
    this.#isReady = false;
    this.#outdatedBy = generation;
    this.#resting = undefined;
    this.#clearCaches();
    return this.#outdated(generation);
  }

  get isOutdated(): boolean {
    return this.#outdatedBy !== undefined;
  }

  state(): {
    state: MemoryState;
    progress: number;
    problems: Problem[];
    start: StartOfModel | undefined;
    indexes: readonly IndexProgress[];
  } {
    const indexes = this.replacement?.indexes ?? [];
    if (this.isOutdated) return { state: 'outdated', progress: 1, problems: [], start: undefined, indexes };
    const problems: Problem[] = [...this.#problems].map(([name, reason]) => ({ name, reason }));
    if (this.#resting) return { state: this.#resting, progress: 1, problems, start: this.#start, indexes };
    if (this.#isReady) problems.push(...this.#duplicates());
    const state = !this.#isReady ? 'building' : problems.length > 0 ? 'degraded' : 'ready';
    return { state, progress: this.#progress, problems, start: this.#isReady ? this.#start : undefined, indexes };
  }

  /** A build begins: changes from here on are kept for the end of its scan, which may or may not see them. */
  follow(number: number, since: number, generation?: number): void {
    this.#number = number;
    this.#generation = generation;
    this.#followedSince = since;
    this.#backlog = [];
    this.#resting = undefined;
  }

  /** The objects leave memory; what names owners among them stays known. They are read again by another build. */
  rest(): void {
    const { dependents } = this.#index;
    this.#restingObjects = this.#index.size;
    this.#resting = 'idle';
    this.#isCounting = true;
    this.#building = { done: 0, objects: this.#restingObjects };
    this.#isReady = false;
    this.#clearCaches();
    this.#index = new ModelIndex(this.model.scheme.indexes, undefined, undefined, dependents);
  }

  /** Other processes serve the model; here, its changes are told alone. @param models that this process serves */
  stayElsewhere(number: number, since: number, models: string): void {
    this.#number = number;
    this.#followedSince = since;
    this.#resting = 'elsewhere';
    this.#elsewhere = models;
  }

  /** How far the build is. */
  progress(building: BuildProgress): void {
    this.#building = building;
  }

  /** The build is complete. @param readThrough newest revision of what it may have read */
  open(index: ModelIndex, problems: Map<string, string>, start: StartOfModel, readThrough: number): void {
    this.#renew();
    this.#index = index;
    this.#problems = problems;
    this.#start = start;
    this.#readThrough = readThrough;
    for (const change of this.#backlog ?? []) {
      const known = index.find(change.name);
      if (!known || known.revision < change.revision) this.#apply(change);
    }
    this.#backlog = undefined;
    this.#isCounting = false;
    this.#isReady = !this.isOutdated;
  }

  /** Another declaration serves from this turn on. @param problems of stored objects; undefined: they stay as they are */
  replace(
    { scheme }: NextDeclaration,
    rules: Rules,
    index: ModelIndex,
    problems: Map<string, string> | undefined,
  ): void {
    this.#renew();
    const hadVersions = this.model.versions !== undefined;
    this.model.replace(scheme, rules);
    // What is cached is in a former version, or as the former schema and the former conversions show it.
    if (scheme.definition || hadVersions || scheme.spokes.length > 0) this.#clearCaches();
    this.#index = index;
    if (problems) this.#problems = problems;
  }

  /** No write begins meanwhile that the contract decides about. @returns ends it */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.held = promise;
    return () => {
      if (this.held === promise) this.held = undefined;
      resolve();
    };
  }

  /** Everything is forgotten; another build follows. */
  reset(): void {
    this.#renew();
    this.#isReady = false;
    this.#outdatedBy = undefined;
    this.#resting = undefined;
    this.#restingObjects = 0;
    this.#isCounting = false;
    this.#clearCaches();
    this.#index = new ModelIndex(this.model.scheme.indexes);
  }

  /** The objects are in another store, and another memory follows them there: every later call is NotReady. */
  leave(): void {
    this.#hasLeft = true;
    this.close();
  }

  /** The model is no longer registered: every later call is NotFound. */
  close(): void {
    this.#isClosed = true;
    this.replacement = undefined;
    this.#isReady = false;
    this.#resting = undefined;
    this.#clearCaches();
  }

  /** Changes since the build began, which may be in what it read. */
  get backlog(): Iterable<AppliedChange> {
    return this.#backlog ?? this.replacement?.changes ?? [];
  }

  #renew(): void {
    this.#epoch = Symbol();
    this.#changes++;
  }

  /** Called by the feed, in revision order. */
  apply(change: AppliedChange): void {
    if (this.#isClosed) return;
    if (this.#backlog) this.#backlog.push(change);
    else if (this.#isReady) return this.#apply(change);
    if (this.#isCounting) this.#count(change);
  }

  /** What is known of objects that are not in memory. */
  #count(change: AppliedChange): void {
    this.#changes++;
    if (change.type === 'create') this.#restingObjects++;
    if (change.type === 'delete') this.#restingObjects--;
    this.#index.dependents.set(change.name, change.type === 'delete' ? undefined : change.entry().owners);
  }

  #apply(change: AppliedChange): void {
    this.#changes++;
    if (change.type !== 'create') change.previous = this.#index.find(change.name)?.revision;
    if (change.type === 'delete') {
      const slot = this.#index.remove(change.name);
      if (slot !== undefined) {
        this.cache.delete(slot);
        for (const cache of this.#converted.values()) cache.delete(slot);
      }
      this.replacement?.changed(slot, change);
      this.#problems.delete(change.name);
      return;
    }
    const slot = this.#index.put(change.entry(), change.id, change.revision, change.bytes.length);
    this.cache.set(slot, change);
    this.replacement?.changed(slot, change);
    if (this.#problems.size > 0 && change.object().apiVersion === this.model.apiVersion)
      this.#problems.delete(change.name);
  }

  /** Values of the unique indexes of the active contract that several objects have. */
  duplicates(): readonly Duplicate[] {
    const { uniques } = this.model.rules;
    return this.#index.duplicates().filter(({ index }) => uniques.some(({ name }) => name === index));
  }

  get #progress(): number {
    const { done, objects } = this.#building;
    return this.#isReady ? 1 : done / Math.max(objects, 1);
  }

  #duplicates(): Problem[] {
    return this.duplicates().flatMap(({ index, key, names }) =>
      names.map((name) => ({
        name,
        reason: `the unique index "${index}" has the value ${JSON.stringify(key)} more than once`,
      })),
    );
  }
}

/** For what is under way in the store that the objects of a model have left; watches end with `Expired`. */
export function movedAway(kind: string, code: 'NotReady' | 'Expired' = 'Expired'): KindredError {
  return new KindredError(code, texts.moved, { params: { kind }, headers: { 'retry-after': '1' } });
}
