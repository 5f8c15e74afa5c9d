/** Objects of one model as bytes: from the memory where it has them, else from the store, never of another revision than the index knows. */

import { KindredError } from '../errors.ts';
import type { Place } from '../indexes/model-index.ts';
import { localized } from '../locales/localized.ts';
import type { TurnQueue } from '../runtime/time-slice.ts';
import type { MaybePromise, Row, Store } from '../store/store.ts';
import { asBuffer } from './bytes.ts';
import type { Feed } from './feed.ts';
import type { ModelMemory } from './memory.ts';
import type { Stored } from './registered-model.ts';

export interface ReaderDependencies {
  readonly memory: ModelMemory;
  readonly store: Store;
  readonly feed: Feed;
  readonly turns: TurnQueue;
  /** Milliseconds, never going back. */
  readonly monotonicNow: () => number;
  readonly limits: {
    /** Milliseconds that a read may be done again. */
    readonly queryTimeout: number;
  };
  readonly logger: { error(details: object, message: string): void };
}

/** An object, and the revision that the memory reflected when it was read. */
export interface ReadObject {
  readonly revision: number;
  readonly stored: Stored;
}

/** An object that the store has in another state than the memory. */
export interface Missing {
  /** Revision of that state; undefined when the object is gone. */
  readonly seen: number | undefined;
}

const texts = {
  absent: localized('There is no {kind} "{name}"'),
  differs: localized('What is stored of {kind} differs from the indexes of this replica; try again'),
};

export class ObjectReader {
  readonly #dependencies: ReaderDependencies;
  readonly #memory: ModelMemory;
  readonly #store: Store;
  readonly #feed: Feed;

  constructor(dependencies: ReaderDependencies) {
    this.#dependencies = dependencies;
    this.#memory = dependencies.memory;
    this.#store = dependencies.store;
    this.#feed = dependencies.feed;
  }

  /**
   * @param since when the memory was found to lag first
   * @throws NotFound, NotReady
   */
  read(name: string, since?: number): MaybePromise<ReadObject> {
    this.#memory.assertReady();
    const revision = this.#feed.applied;
    const { index, cache, number } = this.#memory;
    const slot = index.slotOf(name);
    if (slot === undefined) throw this.#absent(name);
    const cached = cache.get(slot);
    if (cached) return { revision, stored: { id: cached.id, revision: cached.revision, name, bytes: cached.bytes } };
    const ref = index.at(slot);
    const rows = this.#store.get(number, [ref.id]);
    return rows instanceof Promise
      ? rows.then((found) => this.#readRow(name, ref, found, revision, since))
      : this.#readRow(name, ref, rows, revision, since);
  }

  /** The bytes at these places of the index, in this order; or the first object that the store has in another state. */
  readAll(places: readonly Place[]): MaybePromise<readonly Buffer[] | Missing> {
    const take = (rows: readonly Row[]): readonly Buffer[] | Missing => {
      const byId = new Map(rows.map((row) => [row.id, row]));
      const found: Buffer[] = [];
      for (const place of places) {
        const row = byId.get(place.id);
        const stored = this.#keep(place, row);
        if (!stored) return { seen: row?.revision };
        found.push(stored.bytes);
      }
      return found;
    };
    const ids = places.map(({ id }) => id);
    const rows = this.#store.get(this.#memory.number, ids);
    return rows instanceof Promise ? rows.then(take) : take(rows);
  }

  /**
   * The memory lags behind the store: waits until it has what was seen.
   * @param since when it was found to lag first
   * @returns the same
   * @throws NotReady when it has lagged for the time of a query: then it may never have what is stored
   */
  async catchUp({ seen }: Missing, since = this.#dependencies.monotonicNow()): Promise<number> {
    const { turns, logger, limits, monotonicNow } = this.#dependencies;
    await (seen === undefined ? this.#feed.newest() : this.#feed.reach(seen));
    // On a store that answers at once, the read would go on in microtasks alone.
    await turns.next();
    if (monotonicNow() - since < limits.queryTimeout) return since;
    const { group, kind } = this.#memory.model.scheme.groupVersionKind;
    logger.error({ group, kind, applied: this.#feed.applied, seen }, 'What is stored differs from the indexes');
    throw new KindredError('NotReady', texts.differs, { params: { kind } });
  }

  #readRow(
    name: string,
    ref: Place,
    rows: readonly Row[],
    revision: number,
    since: number | undefined,
  ): MaybePromise<ReadObject> {
    const stored = this.#keep(ref, rows[0]);
    if (stored) return { revision, stored };
    return this.catchUp({ seen: rows[0]?.revision }, since).then((first) => this.read(name, first));
  }

  /** The row as it is to be sent, unless it changed after the memory was asked. */
  #keep(ref: Place, row: Row | undefined): Stored | undefined {
    if (!row || row.revision !== ref.revision) return undefined;
    const { index, cache, isReady, model } = this.#memory;
    const { id, revision, name } = row;
    const stored = { id, revision, name, bytes: model.current(asBuffer(row.bytes), row) };
    const now = index.at(ref.slot);
    if (isReady && now.id === ref.id && now.revision === ref.revision) cache.set(ref.slot, stored);
    return stored;
  }

  #absent(name: string): KindredError {
    const { kind } = this.#memory.model;
    return new KindredError('NotFound', texts.absent, { params: { kind, name }, revision: this.#feed.applied });
  }
}
