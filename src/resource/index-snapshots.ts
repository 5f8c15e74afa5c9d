/** When snapshots of the indexes are written, and what is known of them; `restore.ts` is how a start goes on from one. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Scheme } from '../model/scheme.ts';
import { TimeSlice } from '../runtime/time-slice.ts';
import { awaitedTimers, endsWithin, pause, systemTimers } from '../runtime/timers.ts';
import type { SnapshotFolder } from '../snapshots/folder.ts';
import type { Store } from '../store/store.ts';
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
}

export interface IndexSnapshotsDependencies {
  readonly folder: SnapshotFolder;
  readonly store: Store;
  /** Of the code that the index functions of a model are in; undefined where that is not known. */
  readonly codeOf: (scheme: Scheme) => string | undefined;
  readonly options: IndexSnapshotOptions;
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
}

/** The last snapshot of a model. */
interface Saved {
  /** `changes` of the memory that it has. */
  readonly changes: number;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly bytes: number;
}

/** Milliseconds that copying may hold the event loop at once, and that it pauses then. */
const copying = { slice: 1, pause: 4 };
/** Bytes a second that are written on average, at most. */
const writeRate = 2 * 2 ** 20;
/** Milliseconds that a stop waits for its snapshots. */
const stopLimit = 2_000;

export class IndexSnapshots {
  readonly #dependencies: IndexSnapshotsDependencies;
  readonly #identities = new WeakMap<ModelMemory, Identity | undefined>();
  readonly #saved = new WeakMap<ModelMemory, Saved>();
  /** Milliseconds since the epoch at which a model became ready without one. */
  readonly #readySince = new WeakMap<ModelMemory, number>();
  readonly #restoreMs = new WeakMap<ModelMemory, number>();
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
  ): Promise<Restored | { readonly rejected: RejectionReason } | undefined> {
    const { folder, logger } = this.#dependencies;
    const { scheme } = options.model;
    const identity = await this.#identityOf(scheme);
    // What the plugin imports later has no part in the keys.
    this.#identities.set(memory, identity);
    const found = identity && (await folder.take(fileOf(scheme)));
    if (!identity || !found || readsAll || options.isOver()) return undefined;
    const started = performance.now();
    try {
      const restored = await restoreIndexes(found, identity, options);
      this.#restoreMs.set(memory, performance.now() - started);
      return restored;
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      const { reason, message } = error;
      this.#rejected.set(reason, (this.#rejected.get(reason) ?? 0) + 1);
      const { group, kind } = scheme.groupVersionKind;
      const details = { group, kind, reason, detail: message };
      const isExpected = ['format', 'definition', 'code', 'expired', 'behind'].includes(reason);
      logger[isExpected ? 'info' : 'warn'](details, 'The snapshot of the indexes is not used; they are built');
      return { rejected: reason };
    }
  }

  /** The model is ready. @param replayed changes that its snapshot lacked; undefined when it began without one */
  opened(memory: ModelMemory, replayed: number | undefined): void {
    const { folder, now } = this.#dependencies;
    this.#readySince.set(memory, now());
    const file = replayed !== undefined && fileAt(folder, memory.model.scheme);
    if (file) this.#saved.set(memory, { ...file, changes: memory.changes - replayed });
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
          if (!signal.aborted && this.#isDue(resource)) await this.#save(resource, feed);
        }
      }
    };
    this.#saving = run();
    // What nobody took is of models that are not there.
    this.#dependencies.folder.release();
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
  describe(memory: ModelMemory): { bytes?: number; age?: number; restoreMs?: number } {
    const saved = this.#saved.get(memory);
    const restoreMs = this.#restoreMs.get(memory);
    return {
      ...(saved && { bytes: saved.bytes, age: Math.max(0, this.#dependencies.now() - saved.time) }),
      ...(restoreMs !== undefined && { restoreMs }),
    };
  }

  /** Not the same in all processes that share the folder. */
  #tick(): number {
    const { interval } = this.#dependencies.options;
    return Math.min(interval, 30_000) * (0.5 + Math.random() / 2);
  }

  #isDue(resource: Resource): boolean {
    const { memory } = resource;
    const { options, now } = this.#dependencies;
    const saved = this.#ofOthers(resource) ?? this.#saved.get(memory);
    if (!this.#isPossible(memory)) return false;
    if (!saved) return now() - this.#readySince.get(memory)! >= options.interval / 2;
    const elapsed = now() - saved.time;
    if (elapsed < Math.max(options.interval, (saved.bytes / writeRate) * 1_000)) return false;
    return memory.changes - saved.changes > Math.max(options.minChanges, memory.index.size / 100);
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
  #ofOthers({ memory }: Resource): Saved | undefined {
    const { folder, store } = this.#dependencies;
    const known = this.#saved.get(memory);
    const file = store.shared && fileAt(folder, memory.model.scheme);
    if (!file || file.time <= (known?.time ?? this.#readySince.get(memory) ?? Number.POSITIVE_INFINITY))
      return undefined;
    const saved = { ...file, changes: memory.changes };
    this.#saved.set(memory, saved);
    return saved;
  }

  async #identityOf(scheme: Scheme): Promise<Identity | undefined> {
    const { folder, codeOf } = this.#dependencies;
    const code = codeOf(scheme);
    const runtime = code === undefined ? undefined : await folder.runtime;
    return code === undefined || runtime === undefined
      ? undefined
      : { runtime, definition: definitionHash(scheme), code };
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
      this.#saved.set(memory, { changes, time: now(), bytes });
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

function fileAt(folder: SnapshotFolder, scheme: Scheme): Omit<Saved, 'changes'> | undefined {
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
