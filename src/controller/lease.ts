/**
 * Which replica runs a controller: the holder of a lease in the store. The lease's token is the *fence*: the store
 * refuses writes that carry a token which is no longer the newest, so a holder that does not know yet that it lost the
 * lease can harm nothing.
 */
import type { Timers } from '../runtime/timers.ts';
import type { Lease, Store } from '../store/store.ts';

export interface Fence {
  readonly lease: string;
  readonly token: number;
}

export type LeaseStore = Pick<Store, 'shared' | 'acquireLease' | 'releaseLease'>;

export interface LeaseTimes {
  /** A holder that has not renewed for so many milliseconds has lost the lease. Default 10,000. */
  readonly ttl: number;
  /** Milliseconds between renewals. Default 3,000. */
  readonly renew: number;
  /** Milliseconds between the attempts of a replica that waits. Default 2,000. */
  readonly retry: number;
}

/** With these another replica takes over at most 12 s after the holder died (docs/reference/controllers.md: within 15 s). */
export const leaseTimes: LeaseTimes = { ttl: 10_000, renew: 3_000, retry: 2_000 };

export interface LeaderOptions {
  readonly store: LeaseStore;
  readonly name: string;
  /** Names this process among the replicas. */
  readonly holder: string;
  readonly timers: Timers;
  readonly times?: Partial<LeaseTimes>;
  onAcquired(fence: Fence): void;
  /** Called once for each `onAcquired`, but not after `stop`. */
  onLost(): void;
  onError(error: unknown): void;
}

/** A store of one process: what it holds is free again only when it is given back, and after a crash it finds its own name there. */
const alone = { holder: 'local', ttl: 1_000 * 365 * 24 * 3_600 * 1_000 };

/** Takes a lease as soon as it is free and keeps it until `stop`. */
export class Leader {
  readonly #options: LeaderOptions;
  readonly #times: LeaseTimes;
  #lease: Lease | undefined;
  /** When the lease runs out unless it is renewed. */
  #until = 0;
  #cancel: (() => void) | undefined;
  #cancelEnd: (() => void) | undefined;
  #stopped = false;
  #asking: Promise<void> = Promise.resolve();

  constructor(options: LeaderOptions) {
    this.#options = options;
    this.#times = { ...leaseTimes, ...options.times };
  }

  /** Undefined while another replica holds the lease. */
  get fence(): Fence | undefined {
    return this.#lease && { lease: this.#lease.name, token: this.#lease.token };
  }

  /** Resolves after the first attempt. */
  start(): Promise<void> {
    this.#asking = this.#ask();
    return this.#asking;
  }

  /** Gives the lease up, so that another replica can take it at once. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#asking;
    this.#cancelEnd?.();
    const lease = this.#lease;
    this.#lease = undefined;
    if (!lease) return;
    try {
      await this.#options.store.releaseLease(lease);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  async #ask(): Promise<void> {
    const { store, name, holder, timers } = this.#options;
    const asked = timers.now();
    // The timer of the end stands still while the machine sleeps.
    if (store.shared && asked >= this.#until) this.#lose();
    let lease: Lease | undefined;
    try {
      lease = store.shared
        ? await store.acquireLease(name, holder, this.#times.ttl, asked)
        : await store.acquireLease(name, alone.holder, alone.ttl, asked);
      if (!lease) this.#lose();
    } catch (error) {
      if (!this.#stopped) this.#options.onError(error);
    }
    if (lease) this.#hold(lease, asked);
    if (this.#stopped || (this.#lease && !store.shared)) return;
    const pause =
      lease && this.#lease ? Math.max(0, Math.min(this.#times.renew, this.#until - timers.now())) : this.#times.retry;
    this.#cancel = timers.after(pause, () => {
      this.#asking = this.#ask();
    });
  }

  /** The store counts from the question, at the latest: from there the holder counts too, and while the next question is under way. */
  #hold(lease: Lease, asked: number): void {
    const { store, timers } = this.#options;
    if (this.#lease?.token !== lease.token) this.#lose();
    this.#until = asked + this.#times.ttl;
    if (store.shared) {
      const left = this.#until - timers.now();
      if (left <= 0) return this.#lose();
      this.#cancelEnd?.();
      this.#cancelEnd = timers.after(left, () => this.#lose());
    }
    const isNew = this.#lease === undefined;
    this.#lease = lease;
    if (isNew && !this.#stopped) this.#options.onAcquired({ lease: lease.name, token: lease.token });
  }

  #lose(): void {
    if (!this.#lease) return;
    this.#cancelEnd?.();
    this.#lease = undefined;
    if (!this.#stopped) this.#options.onLost();
  }
}
