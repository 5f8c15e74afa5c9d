/**
 * In which version the objects of a model are stored: until the model is *finalized*, in the one of before, so that the
 * plugin of before can read them; then in the hub. What is stored in another version is rewritten. Then the declaration may
 * change objects (docs/guide/changing-models.md).
 */
import type { Fence } from '../controller/lease.ts';
import { Leader } from '../controller/lease.ts';
import { ActivationRefused } from '../resource/commits.ts';
import type { MigrationUpdate } from '../resource/content-migration.ts';
import { migrateObjects } from '../resource/content-migration.ts';
import type { Feed } from '../resource/feed.ts';
import type { ModelMemory } from '../resource/memory.ts';
import { lossesIn, rewriteObjects } from '../resource/stored-version.ts';
import { delayAfter } from '../runtime/backoff.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Timers } from '../runtime/timers.ts';
import type { Store } from '../store/store.ts';
import type { ContentMigration, Finalize, Migration, ModelStateObject, Status } from './model-state.ts';

/** What is to be done next about the storage version of a model. */
type Step =
  /** Nothing before the state changes, or so many milliseconds are over. */
  | { readonly do: 'wait'; readonly for?: number }
  /** The request of `spec.finalize` is done: what stands there then. */
  | { readonly do: 'obeyed'; readonly finalize: Finalize }
  | {
      readonly do: 'start clock' | 'stop clock' | 'finalize' | 'roll back' | 'rewrite' | 'migrate' | 'forget versions';
    };

type State = Pick<ModelStateObject, 'spec'> & {
  readonly status: Pick<
    Status,
    'storageVersion' | 'storedVersions' | 'formerVersion' | 'finalizesAt' | 'migration' | 'contentMigration'
  > & {
    readonly contract: { readonly hub: string; readonly versions: object; readonly migrate?: string };
  };
};

/** @param now milliseconds since the epoch */
export function nextStep({ spec: { finalize = 'auto' }, status }: State, now: number): Step {
  const { storageVersion, contract, finalizesAt, formerVersion } = status;
  const isFinalized = storageVersion === contract.hub;
  const isWhole = isRewritten(status);
  if (finalize === 'now') return isFinalized ? { do: 'obeyed', finalize: 'auto' } : { do: 'finalize' };
  if (finalize === 'rollback') {
    const isPossible = formerVersion !== undefined && formerVersion in contract.versions;
    if (isFinalized && isPossible) return { do: 'roll back' };
    if (isFinalized || isWhole) return { do: 'obeyed', finalize: 'hold' };
  }
  if (finalize === 'auto' && !isFinalized) {
    if (finalizesAt === undefined) return { do: 'start clock' };
    if (Date.parse(finalizesAt) <= now) return { do: 'finalize' };
  } else if (finalizesAt !== undefined) return { do: 'stop clock' };
  // Before what cannot be rewritten is tried again.
  const migrates = isFinalized && contract.migrate !== undefined && finalize !== 'rollback';
  if (migrates && status.contentMigration?.isOver !== true) return { do: 'migrate' };
  const converts = Object.keys(contract.versions).length > 1;
  if (!isWhole && converts) return { do: 'rewrite' };
  if (isWhole && storedVersionsOf(status).length > 1) return { do: 'forget versions' };
  return { do: 'wait', ...(finalizesAt !== undefined && { for: Date.parse(finalizesAt) - now }) };
}

/** Every version that objects, or what the change log has of them, may be in. */
export function storedVersionsOf({
  storedVersions,
  storageVersion,
  contract,
}: Partial<Pick<Status, 'storedVersions' | 'storageVersion'>> & {
  readonly contract?: { readonly versions: object };
}): readonly string[] {
  // Of a state that an earlier version of the service kept.
  const known = storedVersions ?? Object.keys(contract?.versions ?? {});
  return storageVersion === undefined || known.includes(storageVersion) ? known : [...known, storageVersion];
}

/** The status when objects are stored in another version from now on. */
export function movedTo(storageVersion: string, status: Status): Status {
  const { finalizesAt: _over, migration: _former, rollback: _refused, ...kept } = status;
  return {
    ...kept,
    storageVersion,
    storedVersions: [...new Set([...storedVersionsOf(status), storageVersion])],
    formerVersion: status.storageVersion,
    generation: status.generation + 1,
  };
}

/**
 * The status without progress that was made in another store, which the objects have left since: they have other revisions here. What
 * the declaration changed in all of them stays changed.
 */
export function progressIn(store: string | undefined, { migration, contentMigration, ...status }: Status): Status {
  const isHere = (progress: Migration | ContentMigration) => progress.store === store;
  return {
    ...status,
    ...(migration && isHere(migration) && { migration }),
    ...(contentMigration && (contentMigration.isOver || isHere(contentMigration)) && { contentMigration }),
  };
}

/** No object is in another version than the storage version. */
function isRewritten(status: Parameters<typeof storedVersionsOf>[0] & { migration?: Migration | undefined }) {
  return storedVersionsOf(status).length <= 1 || status.migration?.revision !== undefined;
}

interface StorageVersionDependencies {
  readonly store: Store;
  /** Undefined: the default one. */
  readonly storeName?: string | undefined;
  /** Names this process among the replicas. */
  readonly replica: string;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly feed: Feed;
  /** Objects that are rewritten in a second, at most. */
  readonly rate: number;
}

type ReadState = ModelStateObject & { readonly status: Status };

/** One model, as far as this is about it. */
interface StoredModel {
  /** The store's number of it. */
  readonly number: number;
  readonly kind: string;
  readonly memory: ModelMemory;
  /** Milliseconds until it is finalized. */
  readonly finalizeAfter: number;
  /** Undefined while its declaration is not the active one here. */
  state(): Promise<ReadState | undefined>;
  /**
   * Gives the revision of the change, or of what it leaves as it is; undefined: there is no status, or `next` gives none.
   * @param storageVersion another one, which becomes that with the change
   */
  write(
    next: (status: Status, spec: ModelStateObject['spec']) => Status | undefined,
    storageVersion?: string,
  ): Promise<number | undefined>;
  /** Takes the place of what is requested. */
  obey(request: Finalize, finalize: Finalize): Promise<void>;
  /** Replicas that declare another contract. */
  others(): Promise<readonly string[]>;
  /** As a client would, in the hub. */
  readonly update: MigrationUpdate;
}

/** Milliseconds between two looks while something is to be done, and at the longest. */
const interval = 1_000;
const longest = 10_000;
/** Milliseconds between two notes of how far a rewrite is. */
const noteInterval = 5_000;
/** Milliseconds until objects that could not be rewritten are looked at again. */
const retryAfter = 600_000;
/** Objects that are named. */
const keptSamples = 10;
/** The last moment that a date can be. */
const lastTime = 8.64e15;

export class StorageVersion {
  readonly #dependencies: StorageVersionDependencies;
  readonly #model: StoredModel;
  #leader: Leader | undefined;
  #running: Promise<void> | undefined;
  #cancel: (() => void) | undefined;
  #isWanted = false;
  #stopped = false;
  /** Looks in a row that failed. */
  #failures = 0;
  /** The last rewrite that left objects: of which generation, and when it ended. */
  #failed: { readonly generation: number; readonly at: number } | undefined;
  /** What `migrate` left is tried again once. */
  #triesAgain = true;

  constructor(dependencies: StorageVersionDependencies, model: StoredModel) {
    this.#dependencies = dependencies;
    this.#model = model;
  }

  /** The state of the model may be another one. */
  look(): void {
    this.#isWanted = true;
    if (this.#stopped || this.#running) return;
    this.#cancel?.();
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#isWanted) this.look();
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#running;
    await this.#leader?.stop();
  }

  async #run(): Promise<void> {
    this.#isWanted = false;
    let pause: number | undefined;
    try {
      pause = await this.#step();
      this.#failures = 0;
    } catch (err) {
      const { kind } = this.#model;
      this.#dependencies.logger.warn({ err, kind }, 'The storage version of the model could not be looked after');
      pause = delayAfter(++this.#failures, { minDelay: interval, maxDelay: longest });
    }
    if (pause === undefined) {
      await this.#leader?.stop();
      this.#leader = undefined;
    } else if (!this.#stopped) this.#cancel = this.#dependencies.timers.after(pause, () => this.look());
  }

  /** Milliseconds until the next look; undefined: when the state changes. */
  async #step(): Promise<number | undefined> {
    const { timers } = this.#dependencies;
    const stored = await this.#model.state();
    if (!stored || this.#stopped) return undefined;
    const state = { ...stored, status: progressIn(this.#dependencies.storeName, stored.status) };
    const { contentMigration: { failing: left = 0 } = {} } = state.status;
    const isAgain = this.#triesAgain && left > 0;
    const status = isAgain ? { ...state.status, contentMigration: undefined } : state.status;
    const next = nextStep({ ...state, status }, timers.now());
    if (next.do === 'wait') {
      if (next.for === undefined) return undefined;
      await this.#leader?.stop();
      this.#leader = undefined;
      return Math.min(Math.max(next.for, 0) + 1, longest);
    }
    if (!(await this.#lead())) return interval;
    switch (next.do) {
      case 'obeyed':
        await this.#model.obey(state.spec.finalize!, next.finalize);
        return interval;
      case 'start clock':
        return this.#startClock();
      case 'stop clock':
        await this.#model.write(({ finalizesAt: _stopped, ...status }) => status);
        return interval;
      case 'finalize':
        return this.#finalize(state);
      case 'roll back':
        return this.#rollBack(state);
      case 'rewrite':
        return this.#rewrite(state);
      case 'migrate':
        return this.#migrate(status);
      case 'forget versions':
        return this.#forget(state.status);
    }
  }

  /** One replica at a time. */
  async #lead(): Promise<Fence | undefined> {
    if (!this.#leader) {
      const { store, replica, timers, logger } = this.#dependencies;
      const { number, kind } = this.#model;
      this.#leader = new Leader({
        store,
        name: `model-migration/${number}`,
        holder: replica,
        timers,
        onAcquired: () => this.look(),
        onLost: () => {},
        onError: (err) => logger.warn({ err, kind }, 'The lease on the storage version could not be asked for'),
      });
      await this.#leader.start();
    }
    return this.#leader.fence;
  }

  async #startClock(): Promise<number> {
    const { timers } = this.#dependencies;
    const others = await this.#model.others();
    if (others.length > 0) return interval;
    const time = Math.min(timers.now() + this.#model.finalizeAfter, lastTime);
    await this.#model.write((status) => ({ ...status, finalizesAt: new Date(time).toISOString() }));
    return interval;
  }

  async #finalize(state: ReadState): Promise<number> {
    const others = await this.#model.others();
    if (others.length === 0) await this.#move(state, state.status.contract.hub);
    // They could not read what is written then. The clock starts again when they are gone.
    else if (state.spec.finalize !== 'now') await this.#model.write(({ finalizesAt: _stopped, ...status }) => status);
    return interval;
  }

  /**
   * Every write has another storage version from here on.
   * @param state on which that was decided
   * @returns false when another one holds by now, on which it is to be decided again
   */
  async #move({ spec: { finalize }, status: { generation } }: ReadState, storageVersion: string): Promise<boolean> {
    const { feed } = this.#dependencies;
    const { memory } = this.#model;
    const release = memory.hold();
    try {
      await feed.newest();
      const revision = await this.#model.write((status, spec) => {
        const isSame = status.generation === generation && spec.finalize === finalize;
        return isSame ? movedTo(storageVersion, status) : undefined;
      }, storageVersion);
      await feed.newest();
      return revision !== undefined;
    } catch (error) {
      if (!(error instanceof ActivationRefused)) throw error;
      await feed.newest();
      return false;
    } finally {
      release();
    }
  }

  async #rollBack(state: ReadState): Promise<number> {
    const { memory } = this.#model;
    const { rules, scheme } = memory.model;
    const former = state.status.formerVersion!;
    const storage = scheme.inVersion(former)!.apiVersion;
    const found = await lossesIn({ ...this.#reading(), rules: { ...rules, storage } });
    if (this.#isOver()) return interval;
    if (found.failing > 0) await this.#refuse(state.status.generation, found);
    else await this.#move(state, former);
    return interval;
  }

  /** Objects cannot be stored in the former version. @param generation for which a rollback was asked */
  async #refuse(generation: number, { failing, samples }: Pick<Migration, 'failing' | 'samples'>): Promise<void> {
    const revision = await this.#model.write((status, { finalize }) => {
      const isAsked = status.generation === generation && finalize === 'rollback';
      return isAsked ? { ...status, rollback: { failing, samples } } : undefined;
    });
    if (revision !== undefined) await this.#model.obey('rollback', 'hold');
  }

  #reading() {
    const { store } = this.#dependencies;
    const { number, memory } = this.#model;
    return { store, number, model: memory.model, isOver: () => this.#isOver() };
  }

  /** Of progress that is noted. */
  get #ofStore(): { readonly store?: string } {
    const { storeName: store } = this.#dependencies;
    return store === undefined ? {} : { store };
  }

  #isOver(): boolean {
    return this.#stopped || this.#model.memory.isClosed || !this.#model.memory.isReady || !this.#leader?.fence;
  }

  async #rewrite(state: ReadState): Promise<number> {
    const { spec, status } = state;
    const { timers, rate, store, logger } = this.#dependencies;
    const { kind, number, memory } = this.#model;
    const { rules } = memory.model;
    if (this.#failed?.generation === status.generation && spec.finalize !== 'rollback') {
      const wait = this.#failed.at + retryAfter - timers.now();
      if (wait > 0) return Math.min(wait, longest);
    }
    const { failing: left = 0, done = 0, after = 0, total = await store.count(number) } = status.migration ?? {};
    // What was left before may be repaired by now.
    let migration: Migration = {
      total,
      done: 0,
      after: 0,
      failing: 0,
      samples: [],
      ...this.#ofStore,
      ...(left === 0 && { done, after }),
    };
    let noted = timers.now();
    const note = (): Promise<number | undefined> => {
      noted = timers.now();
      return this.#model.write((current) =>
        current.generation === status.generation ? { ...current, migration } : current,
      );
    };
    const isWhole = await rewriteObjects({
      ...this.#reading(),
      rules,
      after: migration.after,
      rate,
      timers,
      onProgress: async (progress) => {
        migration = {
          ...migration,
          done: migration.done + progress.done,
          after: progress.after,
          failing: migration.failing + progress.failing,
          samples: [...migration.samples, ...progress.samples].slice(0, keptSamples),
        };
        migration.total = Math.max(migration.total, migration.done + migration.failing);
        if (timers.now() - noted >= noteInterval) await note();
      },
    });
    if (!isWhole) return interval;
    if (migration.failing > 0) {
      await note();
      if (spec.finalize === 'rollback') {
        // Before the refusal: a client that reads it must find the hub as the storage version, also after a crash.
        const isMoved = await this.#move(state, status.contract.hub);
        if (isMoved) await this.#refuse(status.generation + 1, migration);
        return interval;
      }
      this.#failed = { generation: status.generation, at: timers.now() };
      logger.warn({ kind, objects: migration.failing }, 'Stored objects could not be converted to the storage version');
      return longest;
    }
    migration = { ...migration, total: migration.done };
    // A commit that was under way while the last rows were rewritten has a lower revision than this note.
    const revision = await note();
    if (revision === undefined) return interval;
    migration = { ...migration, revision };
    await note();
    return interval;
  }

  /** What the declaration changes in stored objects, as updates of the service. */
  async #migrate(status: Status): Promise<number> {
    const { timers, rate, store, logger } = this.#dependencies;
    const { kind, number, update } = this.#model;
    let found: ContentMigration = status.contentMigration ?? {
      total: await store.count(number),
      done: 0,
      changed: 0,
      after: 0,
      failing: 0,
      samples: [],
      ...this.#ofStore,
    };
    let noted = timers.now();
    const note = (): Promise<number | undefined> => {
      noted = timers.now();
      return this.#model.write((current) =>
        current.generation === status.generation ? { ...current, contentMigration: found } : current,
      );
    };
    const isWhole = await migrateObjects({
      ...this.#reading(),
      rules: this.#model.memory.model.rules,
      after: found.after,
      rate,
      timers,
      update,
      onProgress: async (progress) => {
        found = {
          ...found,
          done: found.done + progress.done,
          changed: found.changed + progress.changed,
          after: progress.after,
          failing: found.failing + progress.failing,
          samples: [...found.samples, ...progress.samples].slice(0, keptSamples),
        };
        found.total = Math.max(found.total, found.done + found.failing);
        if (timers.now() - noted >= noteInterval) await note();
      },
    });
    if (!isWhole) return interval;
    this.#triesAgain = false;
    if (found.failing > 0)
      logger.warn({ kind, objects: found.failing }, 'Stored objects could not be changed by evolution.migrate');
    found = { ...found, total: found.done + found.failing, isOver: true };
    await note();
    return interval;
  }

  /** A version that is neither in objects nor in the change log any more. */
  async #forget({ storageVersion, migration }: Status): Promise<number> {
    if ((await this.#dependencies.store.oldest()) < migration!.revision!) return longest;
    await this.#model.write(({ migration: _done, ...status }) => ({ ...status, storedVersions: [storageVersion] }));
    return interval;
  }
}
