/** One model in its store, with its indexes in memory: how they are built, leave, come back, move and are replaced. */

import { isPassing, KindredError } from '../errors.ts';
import type { Scheme } from '../model/scheme.ts';
import { retry } from '../runtime/retry.ts';
import type { TurnQueue } from '../runtime/time-slice.ts';
import { awaitedTimers, endsWithin, systemTimers } from '../runtime/timers.ts';
import type { Store } from '../store/store.ts';
import type { Admissions } from './admission.ts';
import { buildIndexes, checkClaims } from './builder.ts';
import type { ByteCache } from './byte-cache.ts';
import { keepsClaims } from './claims.ts';
import type { Feed } from './feed.ts';
import type { ModelHooks } from './hooks.ts';
import type { IndexSnapshots } from './index-snapshots.ts';
import { KnownClaims } from './known-claims.ts';
import { ModelMemory } from './memory.ts';
import type { Placement } from './placement.ts';
import { ObjectReader } from './reader.ts';
import { RegisteredModel } from './registered-model.ts';
import { Replacement } from './replacement.ts';
import { ownRules } from './rules.ts';
import { unsealed } from './seal.ts';
import { TargetIndexes } from './target-indexes.ts';
import type { WriteLimits } from './write.ts';
import type { WriterDependencies } from './writer.ts';
import { Writer } from './writer.ts';

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

export interface ResourceDependencies extends Omit<WriterDependencies, 'memory' | 'reader' | 'current'> {
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
  readonly onReplaced: (model: RegisteredModel, built: ReadonlySet<string>) => void;
  readonly logger: {
    info(details: object, message: string): void;
    warn(details: object, message: string): void;
    error(details: object, message: string): void;
  };
}

/** Milliseconds for which a request waits until the objects of an idle model are in memory again. */
const wakeLimit = 5_000;

/** A model in its store: others take their place when the model moves to another store. */
interface Parts {
  readonly dependencies: ResourceDependencies;
  readonly memory: ModelMemory;
  readonly reader: ObjectReader;
  readonly writer: Writer;
}

export class IndexedModel {
  readonly model: RegisteredModel;
  #parts: Parts;
  #built: Promise<void> | undefined;
  /** While an idle model is read again: what those wait for who ask for its objects. */
  #waking: Promise<void> | undefined;
  /** The same after its objects have moved to another store. */
  #arriving: Promise<void> | undefined;
  /** The records of the default store have to be read before the next read. */
  #mayHaveMoved = false;
  /** While its objects are copied to another store. */
  #target: TargetIndexes | undefined;
  #replaced: Promise<void> | undefined;
  /** The claims of the store with the indexes. */
  #isComparing = false;
  /** Grows with each build; an older one that is still under way comes to nothing. */
  #builds = 0;

  constructor(scheme: Scheme, dependencies: ResourceDependencies, hooks?: ModelHooks) {
    this.model = new RegisteredModel(scheme, hooks, dependencies.onShown);
    this.#parts = this.#partsIn(dependencies);
  }

  /** Other ones after each move to another store. */
  get parts(): Parts {
    return this.#parts;
  }

  #partsIn(dependencies: ResourceDependencies): Parts {
    const memory = new ModelMemory(this.model, dependencies.cache);
    const reader = new ObjectReader({ ...dependencies, memory });
    const writer = new Writer({ ...dependencies, memory, reader, current: () => this.current() });
    return { dependencies, memory, reader, writer };
  }

  get #memory(): ModelMemory {
    return this.#parts.memory;
  }

  get #dependencies(): ResourceDependencies {
    return this.#parts.dependencies;
  }

  /** Resolves when the indexes are built; the first to ask starts the build. */
  get ready(): Promise<void> {
    this.#built ??= this.#build();
    return this.#built;
  }

  /**
   * The objects are in memory, or are about to be read again.
   * @throws NotReady with the progress while the indexes are being built; NotFound when the model is no longer registered; MisdirectedRequest
   */
  assertReady(): void {
    const { memory } = this.#parts;
    memory.isWanted = true;
    if (!memory.isIdle && !this.#waking) memory.assertReady();
  }

  /** For what waits (`wanted`): passes also while the objects have just moved to another store. @throws as `assertReady` */
  assertReadySoon(): void {
    if (!this.#arriving) this.assertReady();
    else this.#memory.isWanted = true;
  }

  /**
   * Before objects are asked for.
   * @returns what to wait for first, while they are not in memory because nobody asked for them, or because they have just moved
   * @throws as `assertReady`
   */
  wanted(): Promise<void> | undefined {
    const { memory } = this.#parts;
    memory.isWanted = true;
    if (memory.isReady) return undefined;
    if (memory.isIdle) this.wake().catch(() => {});
    const coming = this.#waking ?? this.#arriving;
    if (!coming) memory.assertReady();
    return coming;
  }

  /** The change log of the store says that a move has sealed the model: the next read checks where the objects are. */
  doubtPlace(): void {
    this.#mayHaveMoved = true;
  }

  /** Before what is stored is read: as `Feed.current`, of the store where the objects are. @throws NotReady within 2 s */
  current(): Promise<void> | undefined {
    const { feed, recordsFeed } = this.#dependencies;
    const behind = feed.current();
    return behind && feed !== recordsFeed ? behind.then(() => this.#learnPlace()) : behind;
  }

  /** Waits for the records of the default store when another replica may already serve the objects from another store. */
  async #learnPlace(): Promise<void> {
    const { placement, recordsFeed } = this.#dependencies;
    if (!this.#mayHaveMoved && !placement?.recordOf(this.model.scheme)?.moving) return;
    await recordsFeed.newest();
    this.#mayHaveMoved = false;
  }

  /** The objects leave memory until somebody asks for them. False: the model has something to do. */
  rest(): boolean {
    const { memory } = this.#parts;
    const { admissions, underWay, logger } = this.#dependencies;
    const isBusy = memory.replacement || memory.held || this.#isComparing || !underWay.none;
    if (isBusy || memory.state().state !== 'ready' || !(admissions?.isSettled(this.model.scheme) ?? true)) return false;
    const { group, kind } = this.model.scheme.groupVersionKind;
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
    this.#memory.assertReady();
  }

  /** The indexes are read again from the store. */
  rebuild(): void {
    this.#memory.reset();
    this.#built = this.#build();
    this.#logFailure(this.#built);
  }

  /** The objects are being copied to another store: the indexes are built there too. */
  prepareMove({ place, logger }: ResourceDependencies): void {
    const { memory } = this.#parts;
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
    const { memory } = this.#parts;
    this.#parts = this.#partsIn(dependencies);
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
    this.#memory.close();
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
      if (this.#memory.isClosed) return;
      const { group, kind } = this.model.scheme.groupVersionKind;
      this.#dependencies.logger.error({ err, group, kind }, 'The indexes could not be built');
    });
  }

  /** @param isAgain what this process has compared with the store already is not compared again */
  async #build(isAgain = false): Promise<void> {
    const build = ++this.#builds;
    const isOver = () => this.#memory.isClosed || this.#builds !== build;
    const { group, kind } = this.model.scheme.groupVersionKind;
    const failed = (err: unknown) => {
      if (isOver() || !mayPass(err)) throw err;
      this.#dependencies.logger.warn({ err, group, kind }, 'The indexes could not be built; trying again');
    };
    const isReplaced = () => !this.#memory.isClosed && this.#builds !== build;
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
    const { memory } = this.#parts;
    const { place, placement, store, feed, underWay, admissions, snapshots, logger, monotonicNow } = this.#dependencies;
    const { group, kind } = this.model.scheme.groupVersionKind;
    const elsewhere = this.#dependencies.elsewhere(this.model.scheme);
    if (elsewhere !== undefined) {
      const number = await store.modelNumber(group, kind);
      if (!isOver()) memory.stayElsewhere(number, feed.applied, elsewhere);
      return;
    }
    // What an earlier registration has under way took unique values of its own indexes.
    await underWay.ended();
    await placement?.settle(this.model.scheme, place);
    if (isOver()) return;
    const number = await store.modelNumber(group, kind);
    if (isOver()) return;
    const admitted = await admissions?.of(this.model.scheme, memory, false);
    if (isOver()) return;
    const { rules, admission } = admitted ?? {};
    if (rules) this.model.rules = rules;
    // Of what is placed by now: the generation of a model grows when it leaves its store.
    const fence = store.shared && placement?.isPlaceable(this.model.scheme) ? await store.models(number) : [];
    memory.follow(number, feed.applied, fence[0] && unsealed(fence[0]).generation);
    const known = this.#takeTarget(place);
    // Another contract needs a check of every object.
    const moved = admission ? undefined : known;
    await feed.newest();
    // Who begins with a model that is sealed learns that it is: its record was there first.
    if (fence.length > 0) await placement!.refresh();
    await placement?.settle(this.model.scheme, place);
    if (isOver()) return;
    memory.isSealed = placement?.isSealed(this.model.scheme) ?? false;
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
    admissions?.opened(this.model.scheme);
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
    const { model } = this;
    const { memory } = this.#parts;
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
    return this.#memory.replacement ? this.#replaced! : this.ready;
  }

  /** It answers by this declaration, and no other is about to take its place. */
  serves(scheme: Scheme): boolean {
    return this.#memory.isReady && !this.#memory.replacement && this.model.scheme === scheme;
  }

  async #replace(first: Replacement): Promise<void> {
    const { model } = this;
    const { memory } = this.#parts;
    const { group, kind } = this.model.scheme.groupVersionKind;
    let replacement = first;
    const isOver = () => memory.isClosed || memory.replacement !== replacement;
    const failed = (err: unknown) => {
      if (isOver() || !mayPass(err)) throw err;
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
    const { model } = this;
    const { memory } = this.#parts;
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
      this.#dependencies.onReplaced(model, new Set([...replacement.built, ...gone.map(({ name }) => name)]));
    } finally {
      release();
    }
    snapshots?.replaced(memory);
    admissions?.replaced(scheme, before);
    const ms = Math.round(performance.now() - started);
    const indexes = [...replacement.built];
    logger.info({ group, kind, indexes, objects: memory.index.size, ms }, 'The declaration of the model was replaced');
  }

  /** While the model serves: every write of this process keeps the claims. */
  async #checkClaims(number: number, isOver: () => boolean): Promise<void> {
    const { store, feed, logger } = this.#dependencies;
    const { model } = this;
    const { memory } = this.#parts;
    if (!keepsClaims(store)) return;
    const { group, kind } = this.model.scheme.groupVersionKind;
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
      // Replicas with the active hub keep the claims. This one claims all values when its own hub becomes active.
      if (rules.hasOtherHub) return;
      await checkClaims(memory.index, () => memory.changes, { store, number, model, rules, isOver, newest });
    });
    this.#isComparing = false;
  }

  async #reclaimLeftovers(): Promise<void> {
    for (const name of this.#memory.index.deletingNames()) {
      await this.#parts.writer
        .reclaim(name)
        .catch((error: unknown) =>
          this.#dependencies.logger.warn({ err: error, name }, 'A deleted object could not be reclaimed'),
        );
    }
  }
}

/** Another attempt at a build may succeed: the database was away, or had no room. */
function mayPass(error: unknown): boolean {
  return isPassing(error) || (error instanceof KindredError && error.code === 'StorageFull');
}
