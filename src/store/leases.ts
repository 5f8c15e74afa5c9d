/**
 * Leases that count in several stores. A write is fenced in the transaction of its store, so the holder has a lease of the
 * same name in each; what it is told is the one of the first store, and its token stands for those of the others.
 */
import type { Timers } from '../runtime/timers.ts';
import { awaitedTimers, endsWithin } from '../runtime/timers.ts';
import type { Lease, Store, Write } from './store.ts';

type Fence = NonNullable<Write['fence']>;

/** A lease that is held in the first store. */
interface Held {
  readonly token: number;
  /** Those of the other stores. */
  readonly others: Map<Store, Lease>;
  /** Stores whose answer is awaited. */
  readonly asked: Set<Store>;
}

/** Milliseconds for which another store than the first is waited for: one that takes longer counts as away. */
const patience = 2_000;

export class Leases {
  readonly #stores: readonly Store[];
  readonly #timers: Pick<Timers, 'after'>;
  /** By name. */
  readonly #held = new Map<string, Held>();

  /** @param stores the first decides who holds a lease */
  constructor(stores: readonly Store[], timers: Pick<Timers, 'after'> = awaitedTimers) {
    this.#stores = stores;
    this.#timers = timers;
  }

  get shared(): boolean {
    return this.#stores[0]!.shared;
  }

  /**
   * As that of a store, in all of them or in none. A store that is away is left out: nothing can be written there, and the
   * next renewal asks it again.
   */
  async acquireLease(name: string, holder: string, ttl: number, now: number): Promise<Lease | undefined> {
    const [first, ...rest] = this.#stores;
    const lease = await first!.acquireLease(name, holder, ttl, now);
    if (!lease) {
      this.#held.delete(name);
      return undefined;
    }
    const { token } = lease;
    const before = this.#held.get(name);
    const held = before?.token === token ? before : { token, others: new Map(), asked: new Set<Store>() };
    this.#held.set(name, held);
    let isHeldElsewhere = false;
    const ask = async (store: Store): Promise<void> => {
      try {
        const one = await store.acquireLease(name, holder, ttl, now);
        if (!one) isHeldElsewhere = true;
        else if (this.#held.get(name) === held) held.others.set(store, one);
        // Given up while the answer was awaited.
        else if (!this.#held.has(name)) await store.releaseLease(one);
      } catch (error) {
        held.others.delete(store);
        if ((error as { code?: unknown }).code !== 'NotReady') throw error;
      } finally {
        held.asked.delete(store);
      }
    };
    await Promise.all(
      rest.map(async (store) => {
        if (held.asked.has(store)) return;
        held.asked.add(store);
        if (!(await endsWithin(this.#timers, patience, ask(store)))) held.others.delete(store);
      }),
    );
    if (!isHeldElsewhere) return lease;
    await this.releaseLease(lease);
    return undefined;
  }

  /** Gives a lease back in every store; does nothing where another has taken it meanwhile. */
  async releaseLease(lease: Lease): Promise<void> {
    const held = this.#held.get(lease.name);
    if (held?.token === lease.token) this.#held.delete(lease.name);
    const others = held?.token === lease.token ? [...held.others] : [];
    // The first store last: whoever takes it there finds the others free. In one that is away, the lease runs out.
    await Promise.all(
      others.map(([store, one]) => endsWithin(this.#timers, patience, store.releaseLease(one)).catch(() => false)),
    );
    await this.#stores[0]!.releaseLease(lease);
  }

  /** What fences a write to one of the stores; undefined when the lease is not held there. */
  fenceIn(store: Store, fence: Fence): Fence | undefined {
    if (store === this.#stores[0]) return fence;
    const held = this.#held.get(fence.lease);
    const lease = held?.token === fence.token ? held.others.get(store) : undefined;
    return lease && { lease: lease.name, token: lease.token };
  }
}
