/** Which contracts the replicas of a shared store can serve: each says so before it serves, and as long as it lives. */
import { hostname } from 'node:os';
import { leaseTimes } from '../controller/lease.ts';
import type { Logger } from '../runtime/logger.ts';
import { SerialQueue } from '../runtime/serial-queue.ts';
import type { Timers } from '../runtime/timers.ts';
import type { Replicas as ReplicaStore } from '../store/store.ts';

interface ReplicasDependencies {
  readonly store: ReplicaStore;
  /** Names this process among the replicas. */
  readonly replica: string;
  readonly timers: Timers;
  readonly logger: Logger;
  /** Called each time after this process has said again that it is there. */
  readonly onRenewed: () => void;
}

/** A replica that serves a model. */
export interface ServingReplica {
  readonly name: string;
  /** Hash of the contract that it declares. */
  readonly supports: string;
  /** When it began to serve, RFC 3339; absent for one with an earlier version of the service. */
  readonly since?: string;
}

/** What a replica says, as JSON. */
interface Supports {
  /** For people. */
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly since?: number;
  /** Hashes of contracts, by the store's number of the model. */
  readonly models: Readonly<Record<number, string>>;
  /** As `models`, of contracts that were refused; absent: none. */
  readonly refused?: Readonly<Record<number, string>>;
}

export class Replicas {
  readonly #dependencies: ReplicasDependencies;
  readonly #models = new Map<number, string>();
  readonly #refused = new Map<number, string>();
  /** One statement after another: the last one counts. */
  readonly #writes = new SerialQueue();
  /** A statement that has not begun. */
  #next: Promise<void> | undefined;
  readonly #since: number;
  #cancel: (() => void) | undefined;
  #stopped = false;

  constructor(dependencies: ReplicasDependencies) {
    this.#dependencies = dependencies;
    this.#since = dependencies.timers.now();
  }

  /** Resolves when the others can know. @param hash of the contract that this process declares */
  async announce(model: number, hash: string): Promise<void> {
    this.#models.set(model, hash);
    this.#refused.delete(model);
    await this.#write();
  }

  /** The contract is refused; others see that until this process ends or declares the model again. */
  async refuse(model: number, hash: string): Promise<void> {
    this.#refused.set(model, hash);
    await this.#write();
  }

  /** The model is no longer served here. */
  withdraw(model: number): void {
    if (!this.#models.delete(model) || this.#stopped) return;
    this.#write().catch((err: unknown) => this.#failed(err));
  }

  /** Names of the other replicas that serve the model and declare another contract of it. */
  async others(model: number, hash: string): Promise<string[]> {
    const { store, replica, timers } = this.#dependencies;
    const rows = await store.replicas(timers.now());
    return rows
      .filter(({ id }) => id !== replica)
      .map(({ supports }) => JSON.parse(supports) as Supports)
      .filter(({ models }) => (models[model] ?? hash) !== hash)
      .map(({ name }) => name);
  }

  /** Whether a replica is there that declares this contract of the model, or was refused with it. */
  async has(model: number, hash: string): Promise<boolean> {
    const { store, timers } = this.#dependencies;
    const rows = await store.replicas(timers.now());
    return rows.some(({ supports }) => {
      const { models, refused } = JSON.parse(supports) as Supports;
      return models[model] === hash || refused?.[model] === hash;
    });
  }

  /** Every replica that serves the model, what others were refused with, and whether this process is the one that keeps the list. */
  async serving(model: number): Promise<{
    readonly isKeeper: boolean;
    readonly replicas: readonly ServingReplica[];
    readonly refused: readonly string[];
  }> {
    const { store, replica, timers } = this.#dependencies;
    const rows = await store.replicas(timers.now());
    const all = rows.map(({ id, supports }) => ({ id, ...(JSON.parse(supports) as Supports) }));
    const found = all.flatMap(({ id, name, since, models }) => {
      const hash = models[model];
      const at = since !== undefined && { since: new Date(since).toISOString() };
      return hash === undefined ? [] : [{ id, name, supports: hash, ...at }];
    });
    found.sort((a, b) => (a.id < b.id ? -1 : 1));
    const refused = all.flatMap((one) => one.refused?.[model] ?? []).sort();
    return { isKeeper: found[0]?.id === replica, replicas: found.map(({ id: _id, ...one }) => one), refused };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    if (!this.#cancel) return;
    const { store, replica } = this.#dependencies;
    await this.#writes.run(() => store.withdraw(replica)).catch((err: unknown) => this.#failed(err));
  }

  #write(): Promise<void> {
    const { store, replica, timers } = this.#dependencies;
    this.#next ??= this.#writes.run(async () => {
      this.#next = undefined;
      if (this.#stopped) return;
      const name = `${hostname()}-${replica.slice(0, 8)}`;
      const supports: Supports = {
        name,
        since: this.#since,
        models: Object.fromEntries(this.#models),
        ...(this.#refused.size > 0 && { refused: Object.fromEntries(this.#refused) }),
      };
      await store.announce({ id: replica, supports: JSON.stringify(supports) }, leaseTimes.ttl, timers.now());
      this.#cancel ??= this.#renewLater();
    });
    return this.#next;
  }

  #renewLater(): () => void {
    return this.#dependencies.timers.after(leaseTimes.renew, () => {
      this.#cancel = this.#renewLater();
      this.#write().then(this.#dependencies.onRenewed, (err: unknown) => this.#failed(err));
    });
  }

  #failed(err: unknown): void {
    this.#dependencies.logger.warn({ err }, 'What this replica can serve could not be announced');
  }
}
