/**
 * What goes on after a model is there, on a store that replicas share: contracts that wait for other replicas, unique values of
 * older objects that are claimed, and which replicas serve.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Scheme } from '../model/scheme.ts';
import { claimAll } from '../resource/builder.ts';
import { keepsClaims } from '../resource/claims.ts';
import type { Timers } from '../runtime/timers.ts';
import type { Lease, Store } from '../store/store.ts';
import type { DeclaredModel } from './declared-model.ts';
import { countsOf, isClaiming, pendingOf, samplesOf, withoutPending } from './declared-model.ts';
import type { Replicas } from './replicas.ts';
import type { StateObjects } from './state-objects.ts';

interface ModelUpkeepDependencies {
  readonly declared: ReadonlyMap<Scheme, DeclaredModel>;
  readonly states: StateObjects;
  readonly replicas: Replicas;
  /** The default one: of the leases on looking after models. */
  readonly store: Store;
  /** Names this process among the replicas. */
  readonly replica: string;
  readonly timers: Timers;
  /** Tries to make a waiting contract the active one. True when it is. */
  readonly activate: (declared: DeclaredModel) => Promise<boolean>;
  readonly failed: (scheme: Scheme, error: unknown) => void;
}

/** Milliseconds between two looks at what other replicas declare. */
const interval = 1_000;
/** Milliseconds that a lease on looking after a model lasts. */
const leaseTime = 10_000;

export class ModelUpkeep {
  readonly #dependencies: ModelUpkeepDependencies;
  readonly #leases = new Map<number, Lease>();
  #cancel: (() => void) | undefined;
  #looking: Promise<void> = Promise.resolve();
  #keeping: Promise<void> | undefined;
  #stopped = false;

  constructor(dependencies: ModelUpkeepDependencies) {
    this.#dependencies = dependencies;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#looking;
    await this.#keeping;
  }

  /** After `stop`: others may look after the models. */
  async release(): Promise<void> {
    for (const number of this.#leases.keys()) await this.#release(number);
  }

  /** Begins when a model waits or claims, and goes on for as long as one does. */
  look(): void {
    if (this.#stopped) return;
    const isBusy = [...this.#dependencies.declared.values()].some((one) => one.isWaiting || isClaiming(one));
    if (!isBusy || this.#cancel) return;
    this.#cancel = this.#dependencies.timers.after(interval, () => {
      this.#looking = this.#lookOnce().finally(() => {
        this.#cancel = undefined;
        this.look();
      });
    });
  }

  /** The ModelStates name the replicas that serve. */
  keepReplicas(): void {
    if (this.#keeping || this.#stopped) return;
    this.#keeping = this.#keepAll().finally(() => {
      this.#keeping = undefined;
    });
  }

  async #lookOnce(): Promise<void> {
    for (const declared of [...this.#dependencies.declared.values()]) {
      const { scheme, memory, id } = declared;
      const isBusy = memory.isReady && (declared.isWaiting || isClaiming(declared));
      try {
        if (!isBusy) await this.#release(id);
        else if (await this.#lead(id)) await this.#lookAt(declared);
      } catch (err) {
        this.#dependencies.failed(scheme, err);
      }
    }
  }

  /** One replica at a time looks after a model. */
  async #lead(number: number): Promise<boolean> {
    const { store, replica, timers } = this.#dependencies;
    const lease = await store.acquireLease(`model/${number}`, replica, leaseTime, timers.now());
    if (lease) this.#leases.set(number, lease);
    else this.#leases.delete(number);
    return lease !== undefined;
  }

  async #release(number: number): Promise<void> {
    const lease = this.#leases.get(number);
    this.#leases.delete(number);
    if (lease) await this.#dependencies.store.releaseLease(lease).catch(() => {});
  }

  async #lookAt(declared: DeclaredModel): Promise<void> {
    const { replicas, activate, states } = this.#dependencies;
    const { scheme, memory, id, hash } = declared;
    if (!declared.isWaiting) return this.#claim(declared);
    const waitsFor = await replicas.others(id, hash);
    if (waitsFor.length === 0 && (await activate(declared))) return;
    if (!declared.isWaiting || !memory.isReady || memory.isSealed) return;
    const { check } = declared;
    const { failing } = check ? countsOf(check, memory.index.duplicates()) : { failing: 0 };
    const samples = check ? samplesOf(check.offences(true)) : [];
    const waits = waitsFor.length > 0 && { waitsFor };
    await states.write(scheme, pendingOf(declared, { failing, samples, ...waits }));
  }

  async #keepAll(): Promise<void> {
    const { replicas, states } = this.#dependencies;
    for (const declared of [...this.#dependencies.declared.values()]) {
      const { scheme, memory, id } = declared;
      if (!memory.isReady) continue;
      try {
        const { isKeeper, ...found } = await replicas.serving(id);
        if (!isKeeper || isDeepStrictEqual(found, declared.replicas)) continue;
        const pending = (await states.read(scheme))?.status?.pending;
        const isGone = pending && !(await replicas.has(id, pending.hash));
        await states.write(scheme, (status) => {
          const kept = isGone && status.pending?.hash === pending.hash ? withoutPending(status) : status;
          const isKnown = !status.contract || (kept === status && isDeepStrictEqual(status.replicas, found.replicas));
          return isKnown ? undefined : { ...kept, replicas: found.replicas };
        });
        declared.replicas = found;
      } catch (err) {
        this.#dependencies.failed(scheme, err);
      }
    }
  }

  /** Every unique value of the active contract, also those of older objects. */
  async #claim(declared: DeclaredModel): Promise<void> {
    const { scheme, memory, number, place } = declared;
    const { store, feed } = place;
    const { rules } = memory.model;
    if (!keepsClaims(store)) return;
    await feed.newest();
    const { model } = memory;
    const isOver = () => memory.isClosed || model.rules.generation !== rules.generation;
    if (declared.claimed !== rules.generation) {
      if (!(await claimAll({ store, number, newest: feed.applied, model, rules, isOver }))) return;
      declared.claimed = rules.generation!;
    }
    await feed.newest();
    const shared = new Set(memory.duplicates().map(({ index }) => index));
    const enforced = [...rules.claiming].filter((name) => !shared.has(name));
    if (enforced.length === 0 || isOver()) return;
    await this.#dependencies.states.write(scheme, (status) => {
      if (status.generation !== rules.generation) return undefined;
      const indexes = status.indexes?.map((one) =>
        enforced.includes(one.name) ? ({ ...one, state: 'enforced' } as const) : one,
      );
      return { ...status, indexes: indexes ?? [] };
    });
  }
}
