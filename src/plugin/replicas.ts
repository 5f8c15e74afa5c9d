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
}

/** What a replica says, as JSON. */
interface Supports {
  /** For people. */
  readonly name: string;
  /** Hashes of contracts, by the store's number of the model. */
  readonly models: Readonly<Record<number, string>>;
}

export class Replicas {
  readonly #dependencies: ReplicasDependencies;
  readonly #models = new Map<number, string>();
  /** One statement after another: the last one counts. */
  readonly #writes = new SerialQueue();
  /** A statement that has not begun. */
  #next: Promise<void> | undefined;
  #cancel: (() => void) | undefined;
  #stopped = false;

  constructor(dependencies: ReplicasDependencies) {
    this.#dependencies = dependencies;
  }

  /** Resolves when the others can know. @param hash of the contract that this process declares */
  async announce(model: number, hash: string): Promise<void> {
    this.#models.set(model, hash);
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

  /** Whether a replica is there that declares this contract of the model. */
  async has(model: number, hash: string): Promise<boolean> {
    const { store, timers } = this.#dependencies;
    const rows = await store.replicas(timers.now());
    return rows.some(({ supports }) => (JSON.parse(supports) as Supports).models[model] === hash);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    if (this.#models.size === 0) return;
    const { store, replica } = this.#dependencies;
    await this.#writes.run(() => store.withdraw(replica)).catch((err: unknown) => this.#failed(err));
  }

  #write(): Promise<void> {
    const { store, replica, timers } = this.#dependencies;
    this.#next ??= this.#writes.run(async () => {
      this.#next = undefined;
      if (this.#stopped) return;
      const name = `${hostname()}-${replica.slice(0, 8)}`;
      const supports: Supports = { name, models: Object.fromEntries(this.#models) };
      await store.announce({ id: replica, supports: JSON.stringify(supports) }, leaseTimes.ttl, timers.now());
      this.#cancel ??= this.#renewLater();
    });
    return this.#next;
  }

  #renewLater(): () => void {
    return this.#dependencies.timers.after(leaseTimes.renew, () => {
      this.#cancel = this.#renewLater();
      this.#write().catch((err: unknown) => this.#failed(err));
    });
  }

  #failed(err: unknown): void {
    this.#dependencies.logger.warn({ err }, 'What this replica can serve could not be announced');
  }
}
