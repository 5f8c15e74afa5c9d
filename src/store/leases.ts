/**
 * Leases that count in several stores. A write is fenced in the transaction of its store, so the holder has a lease of the
 * same name in each; what it is told is the one of the first store, and its token stands for those of the others.
 */
import type { Lease, Store, Write } from './store.ts';

type Fence = NonNullable<Write['fence']>;

export class Leases {
  readonly #stores: readonly Store[];
  /** By name: the token of the first store, and the leases of the others. */
  readonly #held = new Map<string, { token: number; others: Map<Store, Lease> }>();

  /** @param stores the first decides who holds a lease */
  constructor(stores: readonly Store[]) {
    this.#stores = stores;
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
    if (rest.length === 0) return lease;
    const others = new Map<Store, Lease>();
    let isHeldElsewhere = false;
    await Promise.all(
      rest.map(async (store) => {
        try {
          const one = await store.acquireLease(name, holder, ttl, now);
          if (one) others.set(store, one);
          else isHeldElsewhere = true;
        } catch (error) {
          if ((error as { code?: unknown }).code !== 'NotReady') throw error;
        }
      }),
    );
    this.#held.set(name, { token: lease.token, others });
    if (!isHeldElsewhere) return lease;
    await this.releaseLease(lease);
    return undefined;
  }

  /** Gives a lease back in every store; does nothing where another has taken it meanwhile. */
  async releaseLease(lease: Lease): Promise<void> {
    const held = this.#held.get(lease.name);
    if (held?.token === lease.token) this.#held.delete(lease.name);
    const others = held?.token === lease.token ? [...held.others] : [];
    // The first store last: whoever takes it there finds the others free.
    await Promise.all(others.map(([store, one]) => store.releaseLease(one)));
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
