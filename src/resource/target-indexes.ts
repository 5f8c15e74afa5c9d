/**
 * The indexes of a model in the store to which its objects are being copied. They are built while the former store still serves reads, and
 * follow the change log of the new one, so that reads continue when the move is complete (docs/decisions/placement.md).
 */
import { KindredError } from '../errors.ts';
import type { ModelIndex } from '../indexes/model-index.ts';
import type { Scheme } from '../model/scheme.ts';
import { retry } from '../runtime/retry.ts';
import { systemTimers } from '../runtime/timers.ts';
import type { Change, Store } from '../store/store.ts';
import { buildIndexes } from './builder.ts';
import { ByteCache } from './byte-cache.ts';
import { AppliedChange } from './change.ts';
import type { Feed } from './feed.ts';
import { ModelMemory } from './memory.ts';
import type { RegisteredModel } from './registered-model.ts';

interface TargetPlace {
  readonly store: Store;
  readonly feed: Feed;
}

interface Logger {
  warn(details: object, message: string): void;
}

export class TargetIndexes {
  readonly place: TargetPlace;
  readonly #model: RegisteredModel;
  /** The declaration by which they are built. */
  readonly #scheme: Scheme;
  readonly #logger: Logger;
  readonly #endSubscription: () => void;
  #memory: ModelMemory;

  constructor(place: TargetPlace, model: RegisteredModel, logger: Logger) {
    this.place = place;
    this.#model = model;
    this.#scheme = model.scheme;
    this.#logger = logger;
    this.#memory = this.#begin();
    this.#endSubscription = place.feed.subscribe({
      unregistered: (change) => this.#copied(change),
      resync: () => {
        this.#memory.close();
        this.#memory = this.#begin();
      },
    });
  }

  /** Ends it. @returns what is built, as of the last change that the feed of the store applied; undefined when it is not whole */
  take(): { readonly index: ModelIndex; readonly problems: Map<string, string> } | undefined {
    const { index, problems, isReady } = this.#memory;
    const isWhole = isReady && this.#model.scheme === this.#scheme;
    this.close();
    return isWhole ? { index, problems: new Map(problems) } : undefined;
  }

  close(): void {
    this.#endSubscription();
    this.#memory.close();
  }

  /** The bytes are those that the cache has of the objects where they are now. */
  #begin(): ModelMemory {
    const memory = new ModelMemory(this.#model, new ByteCache(0));
    this.#build(memory).catch((err: unknown) => {
      if (!memory.isClosed)
        this.#logger.warn({ err, kind: this.#model.kind }, 'The indexes are built when the objects have moved');
      memory.close();
    });
    return memory;
  }

  #build(memory: ModelMemory): Promise<void> {
    const { group, kind } = this.#scheme.groupVersionKind;
    const { store, feed } = this.place;
    const isOver = () => memory.isClosed || this.#model.scheme !== this.#scheme;
    const failed = (error: unknown) => {
      if (isOver() || !(error instanceof KindredError && error.code === 'NotReady')) throw error;
    };
    return retry({ timers: systemTimers, minDelay: 100, maxDelay: 5_000, failed }, async () => {
      const number = await store.modelNumber(group, kind);
      memory.follow(number, feed.applied);
      await feed.newest();
      const { index, problems } = await buildIndexes({
        store,
        number,
        newest: feed.applied,
        model: this.#model,
        isOver,
        // Whoever moves the objects makes them.
        claimsAreKnown: true,
        onProgress: (done, objects) => memory.progress({ done, objects }),
      });
      const readThrough = await store.revision();
      if (isOver()) return;
      memory.open(index, problems, { from: 'build', objects: index.size, replayed: 0, ms: 0 }, readThrough);
    });
  }

  #copied(change: Change): void {
    if (change.model !== this.#memory.number || this.#model.scheme !== this.#scheme) return;
    this.#memory.apply(new AppliedChange(change, this.#model));
  }
}
