/** When snapshots of the indexes are written, and what is known of them; `restore.ts` is how a start goes on from one. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Scheme } from '../model/scheme.ts';
import { TimeSlice } from '../runtime/time-slice.ts';
import { awaitedTimers, endsWithin, pause, systemTimers } from '../runtime/timers.ts';
import type { SnapshotFolder } from '../snapshots/folder.ts';
import type { SharedFile, SharedFiles, Store } from '../store/store.ts';
import type { Feed } from './feed.ts';
import type { ModelMemory } from './memory.ts';
import type { RegisteredModel } from './registered-model.ts';
import type { Identity, RejectionReason, Restored, RestoreOptions, SnapshotContent } from './restore.ts';
import { anchorAt, definitionHash, Rejection, restoreIndexes } from './restore.ts';

export interface IndexSnapshotOptions {
  /** Milliseconds between two snapshots of a model, at least. */
  readonly interval: number;
  /** Models with fewer objects have none: they are built as quickly. */
  readonly minObjects: number;
  /** Changes since the last snapshot, or a hundredth of the objects, that call for another. */
  readonly minChanges: number;
  /** Milliseconds after which a model that nobody asks for leaves memory; 0: never. */
  readonly idleAfter: number;
  /** In the database, too, where it is that of several processes. */
  readonly shared: boolean;
}

export interface IndexSnapshotsDependencies {
  readonly folder: SnapshotFolder;
  readonly store: Store;
  /** Of the code that the index functions of a model are in; undefined where that is not known. */
  readonly codeOf: (scheme: Scheme) => string | undefined;
  /** Revision of the record that says where the objects of a model are; undefined when there is none. */
  readonly placeOf: (scheme: Scheme) => number | undefined;
  readonly options: IndexSnapshotOptions;
  /** Changes that the log keeps at least. */
  readonly keptChanges: number;
  /** Names this process among the replicas. */
  readonly replica: string;
  /** False for models whose objects the service itself looks at at any time. */
  readonly mayRest: (scheme: Scheme) => boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly logger: {
    info(details: object, message: string): void;
    warn(details: object, message: string): void;
  };
}

/** A model whose objects are in memory. */
interface Resource {
  readonly memory: ModelMemory;
  readonly model: RegisteredModel;
  readonly indexed: { rest(): boolean; wake(): Promise<void> };
}

/** The last snapshot of a model. */
interface Saved {
  /** `changes` of the memory that it has. */
  readonly changes: number;
  /** The log is read from here on. */
  readonly revision: number;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly bytes: number;
}

/** Milliseconds that copying may hold the event loop at once, and that it pauses then. */
const copying = { slice: 1, pause: 4 };
/** Bytes a second that are written on average, at most. */
const writeRate = 2 * 2 ** 20;
/** Models with fewer times `minObjects` stay in memory: there is nothing to be gained. */
const leastResting = 10;
/** Part of an idle model's objects whose changes are read at once when somebody asks for it, at most. */
const mostReplayed = 0.1;
/** Milliseconds between two snapshots of a model in the database, at least; for how long one process alone writes one; between two parts. */
const sharing = { interval: 3_600_000, lease: 120_000, pause: 20 };
/** Milliseconds that a stop waits for its snapshots. */
const stopLimit = 2_000;

export class IndexSnapshots {
  readonly #dependencies: IndexSnapshotsDependencies;
  readonly #identities = new WeakMap<ModelMemory, Identity | undefined>();
  readonly #saved = new WeakMap<ModelMemory, Saved>();
  /** Milliseconds since the epoch at which a model became ready without one. */
  readonly #readySince = new WeakMap<ModelMemory, number>();
  readonly #restoreMs = new WeakMap<ModelMemory, number>();
  /** Milliseconds since the epoch at which it was seen that nobody had asked for a model. */
  readonly #quietSince = new WeakMap<ModelMemory, number>();
  /** Milliseconds since the epoch of the snapshot that the database had when it was looked at last. */
  readonly #sharedAt = new WeakMap<ModelMemory, number>();
  #shareFailedAt = 0;
  readonly #rejected = new Map<RejectionReason, number>();
  readonly #stopping = new AbortController();
  #saving: Promise<void> = Promise.resolve();
  #reported = '';

  constructor(dependencies: IndexSnapshotsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * The indexes of a model from its snapshot, or why not; undefined when there is none.
   * @param readsAll the stored objects are read anyway, to be checked
   */
  async restore(
    memory: ModelMemory,
    options: RestoreOptions,
    readsAll: boolean,
  ): Promise<(Restored & { readonly via?: 'database' }) | { readonly rejected: RejectionReason } | undefined> {
    const { folder, logger } = this.#dependencies;
    const { scheme } = options.model;
    const identity = await this.#identityOf(scheme);
    // What the plugin imports later has no part in the keys.
    this.#identities.set(memory, identity);
    let found = identity && (await folder.take(fileOf(scheme)));
    if (!identity || readsAll || options.isOver()) return undefined;
    const isFetched = !found && (await this.#fetch(memory, scheme, identity));
    if (isFetched) found = await folder.take(fileOf(scheme));
    if (!found || options.isOver()) return undefined;
    const started = performance.now();
    try {
      const restored = await restoreIndexes(found, identity, options);
      this.#restoreMs.set(memory, performance.now() - started);
      return isFetched ? { ...restored, via: 'database' } : restored;
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      const { reason, message } = error;
      this.#rejected.set(reason, (this.#rejected.get(reason) ?? 0) + 1);
      const { group, kind } = scheme.groupVersionKind;
      const details = { group, kind, reason, detail: message };
      const isExpected = ['format', 'definition', 'function', 'expired', 'behind'].includes(reason);
      logger[isExpected ? 'info' : 'warn'](details, 'The snapshot of the indexes is not used; they are built');
      return { rejected: reason };
    }
  }

  /** What the keys of a model depend on; undefined where that is not known. */
  identityOf(memory: ModelMemory): Identity | undefined {
    return this.#identities.get(memory);
  }

  /** The model is ready. @param restored what it began with; undefined when its indexes were built */
  opened(memory: ModelMemory, restored: Restored | undefined): void {
    const { folder, now } = this.#dependencies;
    this.#readySince.set(memory, now());
    const file = restored && fileAt(folder, memory.model.scheme);
    if (!file) return;
    const { revision, replayed } = restored;
    this.#saved.set(memory, { ...file, revision, changes: memory.changes - replayed });
  }

  /** Another declaration serves: what was written is of the former one. */
  replaced(memory: ModelMemory): void {
    this.#identities.delete(memory);
    this.#saved.delete(memory);
    this.#readySince.set(memory, this.#dependencies.now());
    const { scheme } = memory.model;
    this.#identityOf(scheme).then(
      (identity) => memory.model.scheme === scheme && this.#identities.set(memory, identity),
      () => {},
    );
  }

  /** Writes from now on what has changed enough. @param resources all there are by then */
  start(feed: Feed, resources: () => readonly Resource[]): void {
    const { signal } = this.#stopping;
    const run = async (): Promise<void> => {
      while (!signal.aborted) {
        await pause(systemTimers, this.#tick(), signal);
        for (const resource of resources()) {
          if (!signal.aborted) await this.#look(resource, feed);
        }
      }
    };
    this.#saving = run();
    // What nobody took is of models that are not there.
    this.#dependencies.folder.release();
  }

  /** For a process whose disk is empty: the file that another one left in the database. False: there is none that is of use. */
  async #fetch(memory: ModelMemory, scheme: Scheme, identity: Identity): Promise<boolean> {
    const { folder, store, options, logger } = this.#dependencies;
    if (!options.shared || !sharesFiles(store)) return false;
    const name = fileOf(scheme);
    const { group, kind } = scheme.groupVersionKind;
    try {
      const file = await store.sharedFile(name);
      if (!file || file.about !== JSON.stringify(identity)) return false;
      this.#sharedAt.set(memory, file.edition);
      await folder.unpack(name, partsOf(store, name, file));
      return true;
    } catch (err) {
      logger.warn({ err, group, kind }, 'The snapshot of the indexes in the database could not be read');
      return false;
    }
  }

  /** Puts the file of a model into the database, when that has none or an old one and no other process is about to. */
  async #share(memory: ModelMemory): Promise<void> {
    const { folder, store, options, now, replica, logger } = this.#dependencies;
    const identity = this.#identities.get(memory);
    const saved = this.#saved.get(memory);
    if (!options.shared || !sharesFiles(store) || !identity || !saved) return;
    const isDue = (): boolean => {
      const edition = this.#sharedAt.get(memory) ?? 0;
      return saved.time > edition && now() - Math.max(edition, this.#shareFailedAt) >= sharing.interval;
    };
    if (!isDue()) return;
    const { group, kind } = memory.model.scheme.groupVersionKind;
    const name = fileOf(memory.model.scheme);
    try {
      const acquire = () => store.acquireLease(`snapshot/${name}`, replica, sharing.lease, now());
      const lease = await acquire();
      if (!lease) return;
      try {
        this.#sharedAt.set(memory, (await store.sharedFile(name))?.edition ?? 0);
        if (!isDue()) return;
        const edition = now();
        let parts = 0;
        for await (const bytes of folder.pack(name)) {
          if (this.#stopping.signal.aborted) return;
          await store.sharePart(name, edition, parts++, bytes);
          // Another process that had the lease meanwhile has removed parts of this edition.
          if ((await acquire())?.token !== lease.token) return;
          await pause(systemTimers, sharing.pause, this.#stopping.signal);
        }
        await store.shareFile(name, { edition, parts, about: JSON.stringify(identity) });
        this.#sharedAt.set(memory, edition);
        logger.info({ group, kind, parts }, 'The snapshot of the indexes is in the database');
      } finally {
        await store.releaseLease(lease);
      }
    } catch (err) {
      this.#shareFailedAt = now();
      logger.warn({ err, group, kind }, 'The snapshot of the indexes could not be put into the database');
    }
  }

  async #look(resource: Resource, feed: Feed): Promise<void> {
    const { memory } = resource;
    // Its snapshot would soon be of no use: it is read, written again, and leaves memory again.
    if (memory.isIdle && this.#isFading(memory, feed)) await resource.indexed.wake().catch(() => {});
    if (this.#isDue(resource, feed)) await this.#save(resource, feed);
    await this.#share(memory);
    if (!this.#isQuiet(memory)) return;
    if (this.#isWorthIt(resource)) await this.#save(resource, feed);
    if (!this.#isWorthIt(resource) && !memory.isWanted) resource.indexed.rest();
  }

  /** Nobody has asked for the model for so long that it may leave memory. */
  #isQuiet(memory: ModelMemory): boolean {
    const { options, now, mayRest } = this.#dependencies;
    const since = this.#quietSince.get(memory);
    if (memory.isWanted || since === undefined) {
      memory.isWanted = false;
      this.#quietSince.set(memory, now());
      return false;
    }
    const isOver = options.idleAfter > 0 && now() - since >= options.idleAfter;
    const isLarge = memory.size >= options.minObjects * leastResting;
    return isOver && isLarge && this.#isPossible(memory) && mayRest(memory.model.scheme);
  }

  /** Of an idle model: there are about to be more changes than can be read at once, or than the log keeps. */
  #isFading(memory: ModelMemory, feed: Feed): boolean {
    const saved = this.#saved.get(memory);
    const most = Math.max(this.#dependencies.options.minChanges, memory.size * mostReplayed);
    return !saved || memory.changes - saved.changes > most || this.#isBehind(saved, feed);
  }

  /** Half of the log is newer than the snapshot: what the log no longer has cannot be read from it. */
  #isBehind({ revision }: Saved, feed: Feed): boolean {
    const { keptChanges, options } = this.#dependencies;
    return feed.applied - revision > Math.max(keptChanges / 2, options.minChanges);
  }

  /** Ends the writing under way and writes what is worth it. */
  async stop(feed: Feed, resources: readonly Resource[]): Promise<void> {
    this.#stopping.abort();
    await this.#saving;
    const giveUp = new AbortController();
    const work = (async () => {
      for (const resource of resources) {
        if (!giveUp.signal.aborted && this.#isWorthIt(resource)) await this.#save(resource, feed, giveUp.signal);
      }
    })();
    if (await endsWithin(awaitedTimers, stopLimit, work)) return;
    giveUp.abort();
    await work;
  }

  get rejected(): ReadonlyMap<RejectionReason, number> {
    return this.#rejected;
  }

  /** The last snapshot of a model, and how long its start from one took; for metrics. */
  describe(memory: ModelMemory): { bytes?: number; age?: number; restoreMs?: number; sharedAge?: number } {
    const saved = this.#saved.get(memory);
    const restoreMs = this.#restoreMs.get(memory);
    const shared = this.#sharedAt.get(memory);
    return {
      ...(shared && { sharedAge: Math.max(0, this.#dependencies.now() - shared) }),
      ...(saved && { bytes: saved.bytes, age: Math.max(0, this.#dependencies.now() - saved.time) }),
      ...(restoreMs !== undefined && { restoreMs }),
    };
  }

  /** Not the same in all processes that share the folder. */
  #tick(): number {
    const { interval } = this.#dependencies.options;
    return Math.min(interval, 30_000) * (0.5 + Math.random() / 2);
  }

  #isDue(resource: Resource, feed: Feed): boolean {
    const { memory } = resource;
    const { options, now } = this.#dependencies;
    const saved = this.#ofOthers(resource, feed) ?? this.#saved.get(memory);
    if (!this.#isPossible(memory)) return false;
    if (!saved) return now() - this.#readySince.get(memory)! >= options.interval / 2;
    const elapsed = now() - saved.time;
    if (elapsed < Math.max(options.interval, (saved.bytes / writeRate) * 1_000)) return false;
    const changed = memory.changes - saved.changes > Math.max(options.minChanges, memory.index.size / 100);
    return changed || this.#isBehind(saved, feed);
  }

  #isWorthIt({ memory }: Resource): boolean {
    if (!this.#isPossible(memory)) return false;
    const saved = this.#saved.get(memory);
    return !saved || memory.changes - saved.changes > this.#dependencies.options.minChanges / 5;
  }

  #isPossible(memory: ModelMemory): boolean {
    const isLarge = memory.isReady && memory.index.size >= this.#dependencies.options.minObjects;
    return isLarge && this.#readySince.has(memory) && this.#identities.get(memory) !== undefined;
  }

  /** A file that another process put there since: as good as one of this process. */
  #ofOthers({ memory }: Resource, feed: Feed): Saved | undefined {
    const { folder, store } = this.#dependencies;
    const known = this.#saved.get(memory);
    const file = store.shared && fileAt(folder, memory.model.scheme);
    if (!file || file.time <= (known?.time ?? this.#readySince.get(memory) ?? Number.POSITIVE_INFINITY))
      return undefined;
    const saved = { ...file, revision: feed.applied, changes: memory.changes };
    this.#saved.set(memory, saved);
    return saved;
  }

  async #identityOf(scheme: Scheme): Promise<Identity | undefined> {
    const { folder, codeOf, placeOf } = this.#dependencies;
    const code = codeOf(scheme);
    const runtime = code === undefined ? undefined : await folder.runtime;
    if (code === undefined || runtime === undefined) return undefined;
    const place = placeOf(scheme);
    return { runtime, definition: definitionHash(scheme), code, ...(place !== undefined && { place }) };
  }

  async #save({ memory, model }: Resource, feed: Feed, giveUp?: AbortSignal): Promise<void> {
    const { folder, store, now, logger } = this.#dependencies;
    const { group, kind } = model.scheme.groupVersionKind;
    const identity = this.#identities.get(memory);
    const { index } = memory;
    // What a build has read is as new as the store was then.
    if (!identity || !this.#isPossible(memory) || feed.applied < memory.readThrough) return;
    const [revision, changes] = [feed.applied, memory.changes];
    const writing = folder.write(fileOf(model.scheme));
    const observed = index.observe();
    const stop = () => void writing.giveUp();
    giveUp?.addEventListener('abort', stop);
    try {
      const slice = giveUp ? hurriedSlice() : politeSlice();
      for (const piece of index.pieces()) {
        writing.add(piece);
        if (!slice.isOver) continue;
        await slice.renew();
        const isOver = memory.index !== index || !memory.isReady || giveUp?.aborted;
        // So many objects change that their changes would take longer to read than their rows.
        if (isOver || observed.touched.size > index.size / 4 || (!giveUp && this.#stopping.signal.aborted)) return;
      }
      const touched = new Set(observed.touched);
      const anchor = await anchorAt(store, feed.applied);
      if (!anchor) return;
      const content: SnapshotContent = {
        format: 2,
        identity,
        model: { number: memory.number, group, kind },
        revision,
        anchor,
        problems: [...memory.problems],
      };
      const shapes = index.fields.map(({ shape }) => shape);
      const { bytes } = await writing.finish(content, shapes, touched);
      this.#saved.set(memory, { changes, revision, time: now(), bytes });
      this.#reported = '';
    } catch (err) {
      const message = String(err);
      if (message !== this.#reported && !giveUp?.aborted)
        logger.warn({ err, group, kind }, 'A snapshot of the indexes could not be written');
      this.#reported = message;
    } finally {
      giveUp?.removeEventListener('abort', stop);
      observed.stop();
      await writing.giveUp();
    }
  }
}

function sharesFiles(store: Store): store is Store & SharedFiles {
  return store.shared && store.sharedFile !== undefined;
}

async function* partsOf(store: SharedFiles, name: string, { edition, parts }: SharedFile): AsyncGenerator<Uint8Array> {
  for (let part = 0; part < parts; part++) {
    const bytes = await store.sharedPart(name, edition, part);
    if (!bytes) throw new Error('another one has taken its place');
    yield bytes;
  }
}

function fileAt(folder: SnapshotFolder, scheme: Scheme): Pick<Saved, 'time' | 'bytes'> | undefined {
  try {
    const { mtimeMs, size } = statSync(join(folder.path, fileOf(scheme)));
    return { time: mtimeMs, bytes: size };
  } catch {
    return undefined;
  }
}

/** Files of other models cannot have this name: a kind has no dot. */
function fileOf({ groupVersionKind: { group, kind } }: Scheme): string {
  return `${kind}.${group}.index`;
}

/** Leaves most of the time to requests. */
function politeSlice(): TimeSlice {
  return new TimeSlice(
    () => performance.now(),
    copying.slice,
    () => pause(awaitedTimers, copying.pause),
  );
}

function hurriedSlice(): TimeSlice {
  return new TimeSlice(() => performance.now());
}
