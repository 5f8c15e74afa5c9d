/**
 * A *place* is one store of the service with what follows it: its feed, its commit queue, its watches. The models that are
 * placed there share its revisions; those of two places cannot be compared (docs/decisions/placement.md).
 */
import { retry } from '../runtime/retry.ts';
import { systemTimers } from '../runtime/timers.ts';
import type { CommitQueueOptions } from '../store/commit-queue.ts';
import { CommitQueue } from '../store/commit-queue.ts';
import type { Store } from '../store/store.ts';
import type { Background } from './background.ts';
import type { FeedDependencies } from './feed.ts';
import { Feed } from './feed.ts';
import type { IndexSnapshots } from './index-snapshots.ts';
import { WritesUnderWay } from './under-way.ts';
import { Watches } from './watch/watches.ts';

/** A store of the service, by its name. */
export interface NamedStore {
  readonly name: string;
  readonly store: Store;
  /** Undefined: indexes are always built. */
  readonly snapshots?: IndexSnapshots | undefined;
}

export interface StorePlaceDependencies
  extends Pick<FeedDependencies, 'memoryOf' | 'logger'>,
    Pick<CommitQueueOptions, 'now' | 'timeout' | 'onDuration'> {
  readonly monotonicNow: () => number;
  readonly background: Background;
  readonly bookmarkInterval: number;
}

export class StorePlace {
  readonly name: string;
  readonly store: Store;
  readonly snapshots: IndexSnapshots | undefined;
  readonly feed: Feed;
  readonly queue: CommitQueue;
  readonly watches: Watches;
  readonly underWay = new WritesUnderWay();
  readonly #logger: StorePlaceDependencies['logger'];
  readonly #stopping = new AbortController();

  constructor({ name, store, snapshots }: NamedStore, dependencies: StorePlaceDependencies) {
    const { memoryOf, monotonicNow, logger, background, bookmarkInterval, ...queue } = dependencies;
    this.name = name;
    this.store = store;
    this.snapshots = snapshots;
    this.#logger = logger;
    this.feed = new Feed({ store, monotonicNow, logger, memoryOf });
    this.watches = new Watches({ feed: this.feed, background, bookmarkInterval });
    this.queue = new CommitQueue(store, {
      ...queue,
      monotonicNow,
      onCommitted: (batch, time) => this.feed.committed(batch, time),
      onUnknown: () => this.#learnOutcome(),
    });
  }

  /** Refuses further writes and resolves when those accepted are answered. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.queue.stop();
    this.feed.stop();
  }

  /** A store that others write to too decides about unique values itself: there the next commit need not wait for this. */
  async #learnOutcome(): Promise<void> {
    if (this.store.shared) return this.feed.newest().catch(() => {});
    const failed = (error: unknown) =>
      this.#logger.error({ err: error }, 'The outcome of writes is not known yet; trying again');
    const { signal } = this.#stopping;
    await retry({ timers: systemTimers, minDelay: 10, maxDelay: 1_000, signal, failed }, () => this.feed.newest());
  }
}
