/**
 * What is active of the plugins' models: their contracts, kept as objects of the built-in model `ModelState`, and the check
 * of stored objects before another declaration takes the place of one (docs/guide/changing-models.md).
 */

import { isDeepStrictEqual } from 'node:util';
import type { Text } from '../errors.ts';
import { ifFound, KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { Contract } from '../model/contract.ts';
import {
  compareContracts,
  contractHash,
  contractOf,
  keepsIndex,
  needsData,
  schemeOfContract,
  strongest,
} from '../model/contract.ts';
import { apiVersionOf } from '../model/gvk.ts';
import type { SchemeRegistry } from '../model/registry.ts';
import type { Scheme } from '../model/scheme.ts';
import { system } from '../resource/access.ts';
import type { Admission, Admissions, Admitted } from '../resource/admission.ts';
import { claimAll } from '../resource/builder.ts';
import type { AppliedChange } from '../resource/change.ts';
import { keepsClaims } from '../resource/claims.ts';
import { ActivationRefused } from '../resource/commits.ts';
import type { ModelHooks } from '../resource/hooks.ts';
import type { ModelPlace } from '../resource/indexed-model.ts';
import { putMark } from '../resource/marks.ts';
import type { ModelMemory } from '../resource/memory.ts';
import type { ActiveModel, Offence } from '../resource/object-check.ts';
import { ObjectCheck } from '../resource/object-check.ts';
import type { RegisteredModel } from '../resource/registered-model.ts';
import type { ResourceRegistry } from '../resource/registry.ts';
import type { Rules } from '../resource/rules.ts';
import { emulatedRules, ownRules } from '../resource/rules.ts';
import type { Logger } from '../runtime/logger.ts';
import { readJson } from '../runtime/read-json.ts';
import type { Timers } from '../runtime/timers.ts';
import { pause } from '../runtime/timers.ts';
import type { Activation, Lease, ModelRow, Replicas as ReplicaStore, Store } from '../store/store.ts';
import { modelStateName } from './kind.ts';
import type { Finalize, ModelStateObject, Sample, Status } from './model-state.ts';
import { modelStateModel } from './model-state.ts';
import type { ServingReplica } from './replicas.ts';
import { Replicas } from './replicas.ts';
import { PluginStartError } from './start-error.ts';
import { StorageVersion, storedVersionsOf } from './storage-version.ts';

interface ModelStatesDependencies {
  readonly registry: SchemeRegistry;
  readonly reservedDomain: string;
  /** The default one: of the replicas, and of the leases on looking after models. */
  readonly store: Store;
  /** Names this process among the replicas. */
  readonly replica: string;
  readonly timers: Timers;
  readonly logger: Logger;
  /** Objects that are rewritten to another storage version in a second, at most. */
  readonly rewriteRate: number;
  /** A plugin cannot start beside these replicas; undefined: it can. */
  readonly onWaiting: (plugin: string, kind: string, replicas: readonly string[] | undefined) => void;
}

type Duplicates = ReturnType<ModelMemory['duplicates']>;

/** A declaration of this process, beside the contract that is active. */
interface Declared {
  readonly scheme: Scheme;
  readonly memory: ModelMemory;
  /** Where the objects of the model are. */
  readonly place: ModelPlace;
  /** The number of the model in that store. */
  readonly number: number;
  /** The number of the model in the default store, by which replicas know it. */
  readonly id: number;
  readonly contract: Contract;
  readonly hash: string;
  /** Resolves when this contract is the active one. */
  readonly activated: PromiseWithResolvers<void>;
  /** The model generation that is active, as far as this process knows. */
  generation: number;
  active: Contract | undefined;
  isActive: boolean;
  /** By which this process writes the objects. */
  rules: Rules;
  /** Something is to be recorded when the contract becomes active. */
  isNew: boolean;
  /** It can become active as soon as the other replicas let it. */
  isWaiting: boolean;
  /** Stored objects against this contract, until it is active. */
  check?: ObjectCheck | undefined;
  degraded?: { readonly failing: number; readonly samples: readonly Sample[] } | undefined;
  /** The model generation of which this process has claimed every unique value. */
  claimed?: number;
  /** The replicas that the ModelState names, as far as this process knows. */
  replicas?: readonly ServingReplica[];
  /** Of a model with several versions, once its indexes are there. */
  storage?: StorageVersion;
}

const texts = {
  incompatible: localized(
    '{kind}: {failing} of {objects} stored {objectCount|object|objects} would become invalid ({samples}): repair them, add a conversion, or start with evolution.onInvalid: degrade',
  ),
  statusOfHost: localized('The service alone writes the status of a ModelState'),
} satisfies Record<string, Text>;

/** Offences that a message names, and those that an object has. */
const namedOffences = 3;
const keptOffences = 10;
/** Attempts at an object that other replicas write too, and at a contract while objects are changed. */
const attempts = 20;
/** Milliseconds between two looks at what other replicas declare. */
const interval = 1_000;
/** Milliseconds that a lease on looking after a model lasts. */
const leaseTime = 10_000;

/** The status says which writes the store takes: nobody but the service makes it up. */
export const modelStateHooks: ModelHooks = {
  prepareWrite(object, before, caller) {
    if (caller.origin !== 'host' && !isDeepStrictEqual(object.status, before?.status))
      throw new KindredError('Forbidden', texts.statusOfHost);
    return object;
  },
};

export class ModelStates implements Admissions {
  readonly #dependencies: ModelStatesDependencies;
  readonly #scheme: Scheme;
  readonly #declared = new Map<Scheme, Declared>();
  readonly #replicas: Replicas | undefined;
  /** Those whose check follows the changes of their objects. */
  readonly #following = new Map<RegisteredModel, ObjectCheck>();
  /** Those that wait until other replicas are gone. */
  readonly #heldUp = new WeakSet<Scheme>();
  readonly #leases = new Map<number, Lease>();
  readonly #stopping = new AbortController();
  #resources!: ResourceRegistry;
  #cancel: (() => void) | undefined;
  #looking: Promise<void> = Promise.resolve();
  #keeping: Promise<void> | undefined;

  constructor(dependencies: ModelStatesDependencies) {
    const { registry, reservedDomain, store } = dependencies;
    this.#dependencies = dependencies;
    this.#scheme = registry.register(modelStateModel(reservedDomain), undefined, '');
    this.#replicas = keepsReplicas(store)
      ? new Replicas({ ...dependencies, store, onRenewed: () => this.#keepReplicas() })
      : undefined;
    registry.onUnregister((scheme) => this.#forget(scheme));
  }

  /** Before the first build. */
  use(resources: ResourceRegistry): void {
    this.#resources = resources;
    resources.subscribe({ change: (change) => this.#changed(change) });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancel?.();
    await this.#looking;
    await this.#keeping;
    await Promise.all([...this.#declared.values()].map(({ storage }) => storage?.stop()));
    await this.#replicas?.stop();
    for (const number of this.#leases.keys()) await this.#release(number);
  }

  isHeldUp(scheme: Scheme): boolean {
    return this.#heldUp.has(scheme);
  }

  /** The generations that are active of the plugins' models. */
  active(): { readonly scheme: Scheme; readonly generation: number; readonly isActive: boolean }[] {
    return [...this.#declared.values()];
  }

  async of(scheme: Scheme, memory: ModelMemory, isReplacing: boolean): Promise<Admitted> {
    // The models of the service and of the program around it come with no plugin that could be held back.
    if (!this.#isOfPlugin(scheme)) return { rules: undefined, admission: undefined };
    const known = this.#declared.get(scheme);
    const found = await this.#declare(scheme, memory, isReplacing);
    if (!found) return { rules: undefined, admission: undefined };
    const admission = await this.#admissionOf(found, known);
    return {
      // Another replica may activate the contract before the caller takes them.
      get rules() {
        return found.rules;
      },
      admission,
    };
  }

  isSettled(scheme: Scheme): boolean {
    const declared = this.#declared.get(scheme);
    if (!declared) return true;
    const { isActive, isWaiting, check, degraded, storage } = declared;
    return isActive && !isWaiting && !check && !degraded && !storage && !isClaiming(declared);
  }

  /** Another declaration serves: this process can write by its contract from here on. */
  replaced(scheme: Scheme, before: Scheme): void {
    const former = this.#declared.get(before);
    this.#declared.delete(before);
    void former?.storage?.stop();
    const declared = this.#declared.get(scheme);
    if (!declared) return;
    // Those that were given up before they served.
    for (const one of [...this.#declared.values()])
      if (one.memory === declared.memory && one !== declared) this.#declared.delete(one.scheme);
    if (former?.check) this.#following.delete(former.memory.model);
    if (declared.check && !declared.isActive) this.#following.set(declared.memory.model, declared.check);
    const announced = this.#replicas?.announce(declared.id, declared.hash) ?? Promise.resolve();
    announced.then(() => this.opened(scheme)).catch((err: unknown) => this.#failed(scheme, err));
  }

  async #admissionOf(declared: Declared, known: Declared | undefined): Promise<Admission | undefined> {
    const { scheme, memory } = declared;
    const { contract, hash, active } = declared;
    if (known?.isActive && !declared.isActive) {
      this.#outdate(declared, declared.generation);
      return undefined;
    }
    const stored = await this.#read(scheme);
    const status = stored?.status;
    if (declared.isActive && status?.contractHash === hash) {
      if (status.pending && !(await this.#replicas?.has(declared.id, status.pending.hash)))
        await this.#write(scheme, ({ pending: _refused, ...rest }) => rest);
      if (!status.degraded) return undefined;
    }
    declared.isNew = true;
    if (!active || !stored) return undefined;
    const changes = compareContracts(active, contract);
    if (!status?.degraded && !needsData(changes)) return undefined;
    const accepted = declared.isActive ? undefined : this.#activeOf(active, contract);
    const check = new ObjectCheck(scheme, accepted, lackingIn(contract, active));
    declared.check = check;
    const decide: Admission['decide'] = async (index) => {
      for (const { type, name, bytes } of memory.backlog) {
        if (type === 'delete') check.remove(name);
        else check.replace(bytes.toString());
      }
      if (!declared.isActive) this.#following.set(memory.model, check);
      return this.#decide(declared, index.duplicates(), check);
    };
    return { check, decide };
  }

  /** What the store has of a model, and by which rules this process writes it. Undefined when it is no longer registered. */
  async #declare(scheme: Scheme, memory: ModelMemory, isReplacing: boolean): Promise<Declared | undefined> {
    const { store, registry, onWaiting } = this.#dependencies;
    const { group, kind } = scheme.groupVersionKind;
    const contract = contractOf(scheme);
    const hash = contractHash(contract);
    const { place } = this.#resources.model(scheme);
    const [id, number] = [await store.modelNumber(group, kind), await place.store.modelNumber(group, kind)];
    // While another declaration serves, this process writes by that one.
    if (!isReplacing) await this.#replicas?.announce(id, hash);
    const owner = registry.ownerOf(scheme) ?? '';
    for (let waits = false, looks = 0; ; looks++) {
      const row = withoutEmpty((await place.store.models(number))[0]!);
      const stored = await this.#read(scheme);
      if (memory.isClosed || this.#stopping.signal.aborted) return undefined;
      // Another contract became active in between.
      const isBehind = row.contract !== undefined && (stored?.status?.generation ?? 0) > row.generation;
      if (isBehind && looks < attempts) continue;
      const active = row.contract === undefined ? stored?.status?.contract : (readJson(row.contract) as Contract);
      const { generation } = row;
      const isActive = active !== undefined && contractHash(active) === hash && row.contract !== undefined;
      const isEmulated = this.#replicas !== undefined && active !== undefined && contractHash(active) !== hash;
      const claiming = claimingOf(stored?.status);
      const rules = isEmulated
        ? emulatedRules(scheme, contract, {
            contract: active,
            generation,
            claiming,
            storageVersion: row.storageVersion,
          })
        : ownRules(scheme, { generation, claiming, storageVersion: row.storageVersion });
      const others = rules.isBlocked ? await this.#replicas!.others(id, hash) : [];
      if (others.length > 0) {
        waits = true;
        this.#heldUp.add(scheme);
        onWaiting(owner, kind, others);
        await pause(this.#dependencies.timers, interval, this.#stopping.signal);
        continue;
      }
      this.#heldUp.delete(scheme);
      if (waits) onWaiting(owner, kind, undefined);
      const activated = this.#declared.get(scheme)?.activated ?? Promise.withResolvers<void>();
      const declared: Declared = {
        scheme,
        memory,
        place,
        number,
        id,
        contract,
        hash,
        activated,
        generation,
        active,
        isActive,
        rules,
        isNew: false,
        isWaiting: false,
      };
      void this.#declared.get(scheme)?.storage?.stop();
      this.#declared.set(scheme, declared);
      if (isActive) activated.resolve();
      return declared;
    }
  }

  /**
   * Gives what is wrong with objects that are accepted in spite of it. Rejects when the declaration is refused.
   * @param check also when another replica has activated the contract, which then needs none any more
   */
  async #decide(declared: Declared, duplicates: Duplicates, check = declared.check!): Promise<Map<string, string>> {
    const { scheme } = declared;
    const { failing, invalid, objects } = this.#found(check, duplicates);
    if (failing > 0 && (await this.#isRefused(declared))) {
      const offences = check.offences(true);
      await this.#writePending(declared, { failing, samples: samplesOf(offences) });
      // The former declaration stays.
      if (declared.memory.replacement?.scheme === scheme) this.#declared.delete(scheme);
      throw new PluginStartError('IncompatibleModel', texts.incompatible, {
        kind: scheme.groupVersionKind.kind,
        failing: failing.toLocaleString('en'),
        objects: objects.toLocaleString('en'),
        objectCount: objects,
        samples: shownSamples(offences),
      });
    }
    const offences = check.offences();
    declared.degraded = invalid > 0 ? { failing: invalid, samples: samplesOf(offences) } : undefined;
    return problemsOf(offences);
  }

  #found(check: ObjectCheck, duplicates: Duplicates) {
    check.setDuplicates(duplicates.map(({ index, key, names }) => ({ index, key: JSON.stringify(key), names })));
    const { failing, invalid, objects } = check;
    return { check, failing, invalid, objects };
  }

  async #isRefused({ scheme, isActive, check }: Declared): Promise<boolean> {
    if (isActive) return false;
    if (check!.unreadable > 0) return true;
    return ((await this.#read(scheme))?.spec.onInvalid ?? scheme.onInvalid) === 'refuse';
  }

  opened(scheme: Scheme): void {
    const declared = this.#declared.get(scheme);
    if (declared) this.#lookAfterStorage(declared);
    if (!declared?.isNew) return;
    const owner = this.#dependencies.registry.ownerOf(scheme);
    // Of a plugin that starts, all models become active together.
    if (owner === undefined || this.#dependencies.registry.starting.has(owner)) return;
    this.activate([scheme]).catch((err: unknown) => this.#failed(scheme, err));
  }

  /** Goes on for as long as the model is registered. */
  #lookAfterStorage(declared: Declared): void {
    const { scheme, memory, place, number, id, hash } = declared;
    if (this.#stopping.signal.aborted) return;
    declared.storage ??= new StorageVersion(
      { ...this.#dependencies, store: place.store, rate: this.#dependencies.rewriteRate, feed: this.#resources.feed },
      {
        number,
        kind: scheme.groupVersionKind.kind,
        memory,
        finalizeAfter: scheme.finalizeAfter,
        state: async () => {
          const state = declared.isActive && memory.isReady ? await this.#read(scheme) : undefined;
          const { status } = state ?? {};
          return state && status?.generation === declared.generation ? { ...state, status } : undefined;
        },
        write: (next, storageVersion) =>
          this.#write(
            scheme,
            (status) => (status.generation === undefined ? undefined : next(status)),
            storageVersion === undefined
              ? undefined
              : ({ generation }) => activationOf(declared, { from: generation - 1, to: generation, storageVersion }),
          ),
        obey: (request, finalize) => this.#obey(scheme, request, finalize),
        update: (name, object, options) =>
          this.#resources.model(scheme).update(name, object, { ...options, caller: system }),
        others: async () => (await this.#replicas?.others(id, hash)) ?? [],
      },
    );
    declared.storage.look();
  }

  /** What was requested in `spec.finalize` is done. */
  async #obey(scheme: Scheme, request: Finalize, finalize: Finalize): Promise<void> {
    const patch = [
      { op: 'test', path: '/spec/finalize', value: request },
      { op: 'replace', path: '/spec/finalize', value: finalize },
    ];
    try {
      await this.#resources.model(this.#scheme).patch(nameOf(scheme), patch, { caller: system, kind: 'json' });
    } catch (error) {
      // Something else is requested by now.
      if (!(error instanceof KindredError && ['PatchTestFailed', 'NotFound'].includes(error.code))) throw error;
    }
  }

  /**
   * What was checked is what is active from now on; while other replicas declare another contract, what was active stays so.
   * @returns what ends when they are gone; undefined when all are active
   */
  async activate(schemes: readonly Scheme[]): Promise<{ readonly done: Promise<unknown> } | undefined> {
    const waiting: Declared[] = [];
    for (const scheme of schemes) {
      const declared = this.#declared.get(scheme);
      if (!declared?.isNew || (await this.#activate(declared))) continue;
      declared.isWaiting = true;
      waiting.push(declared);
    }
    this.#look();
    if (waiting.length === 0) return undefined;
    return { done: Promise.all(waiting.map(({ activated }) => activated.promise)) };
  }

  /** True when the contract is active. */
  async #activate(declared: Declared): Promise<boolean> {
    const { scheme, memory, place, id, hash } = declared;
    const { feed } = place;
    for (let attempt = 0; attempt < attempts && !memory.isClosed; attempt++) {
      if (declared.isActive) {
        await this.#write(scheme, (status, spec) => statusOf(declared, status, this.#replicas !== undefined, spec));
        declared.isNew = false;
        return true;
      }
      const others = (await this.#replicas?.others(id, hash)) ?? [];
      if (others.length > 0) return false;
      const release = memory.hold();
      try {
        await feed.newest();
        // Decided with what is newest, and refused when that is no longer so.
        const checked = this.#replicas && declared.check ? feed.applied : undefined;
        if (checked !== undefined) await this.#decide(declared, memory.index.duplicates());
        await this.#write(
          scheme,
          (status, spec) => statusOf(declared, status, this.#replicas !== undefined, spec),
          ({ generation: to, storageVersion }) => ({
            ...activationOf(declared, { from: declared.generation, to, storageVersion }),
            ...(checked !== undefined && { checked }),
          }),
        );
        await this.#resources.feed.newest();
        declared.isNew = false;
        return true;
      } catch (error) {
        if (error instanceof PluginStartError) return false;
        if (!(error instanceof ActivationRefused)) throw error;
        if (error.reason === 'unchecked') continue;
        await this.#resources.feed.newest();
        if (declared.isActive) continue;
        // Another contract is active by now than the one that was emulated.
        this.#resources.model(scheme).indexed.rebuild();
        return false;
      } finally {
        release();
      }
    }
    return false;
  }

  /** In revision order, in the turn in which the memory shows the change: from here on every write has the new rules. */
  #changed(change: AppliedChange): void {
    if (this.#following.size > 0) {
      const check = this.#following.get(change.model);
      if (change.type === 'delete') check?.remove(change.name);
      else check?.replace(change.bytes.toString());
    }
    if (change.type === 'delete' || change.model.scheme !== this.#scheme) return;
    const declared = [...this.#declared.values()].find(({ scheme }) => nameOf(scheme) === change.name);
    const { status } = change.object() as unknown as ModelStateObject;
    if (!declared || !status || status.generation < declared.generation) return;
    const { memory, scheme, hash } = declared;
    if (declared.storage) queueMicrotask(() => this.#lookAfterStorage(declared));
    if (status.generation === declared.generation) {
      if (declared.isActive) memory.model.rules = declared.rules = rulesOf(scheme, status);
      return;
    }
    if (status.contractHash !== hash) {
      if (this.#emulatesStill(declared, status)) return;
      // Whoever is still building begins again, by the contract that is active now.
      if (memory.isReady) this.#outdate(declared, status.generation);
      else if (!memory.isOutdated) this.#resources.model(scheme).indexed.rebuild();
      return;
    }
    declared.generation = status.generation;
    declared.active = declared.contract;
    declared.isActive = true;
    declared.isWaiting = false;
    declared.check = undefined;
    this.#following.delete(memory.model);
    memory.model.rules = declared.rules = rulesOf(scheme, status);
    declared.activated.resolve();
    if (memory.isOutdated) this.#resources.model(scheme).indexed.rebuild();
    this.#look();
  }

  /** The contract that is emulated stays the active one, with another storage version. */
  #emulatesStill(declared: Declared, status: Status): boolean {
    const { scheme, memory, contract, active } = declared;
    if (!active || declared.isActive || !memory.isReady || contractHash(active) !== status.contractHash) return false;
    const { generation, storageVersion } = status;
    declared.generation = generation;
    const emulated = { contract: active, generation, claiming: claimingOf(status), storageVersion };
    memory.model.rules = declared.rules = emulatedRules(scheme, contract, emulated);
    return true;
  }

  /** The model answers nobody here any more, and holds no other replica up. */
  #outdate({ memory, id }: Declared, generation: number): void {
    this.#resources.watches.endAll(memory.outdate(generation), memory.model);
    this.#replicas?.withdraw(id);
  }

  // ── while contracts wait, and unique values are claimed ────────────────────────────────────────────────

  #look(): void {
    if (!this.#replicas || this.#stopping.signal.aborted) return;
    const isBusy = [...this.#declared.values()].some((one) => one.isWaiting || isClaiming(one));
    if (!isBusy || this.#cancel) return;
    this.#cancel = this.#dependencies.timers.after(interval, () => {
      this.#looking = this.#lookOnce().finally(() => {
        this.#cancel = undefined;
        this.#look();
      });
    });
  }

  async #lookOnce(): Promise<void> {
    for (const declared of [...this.#declared.values()]) {
      const { scheme, memory, id } = declared;
      const isBusy = memory.isReady && (declared.isWaiting || isClaiming(declared));
      try {
        if (!isBusy) await this.#release(id);
        else if (await this.#lead(id)) await this.#lookAt(declared);
      } catch (err) {
        this.#failed(scheme, err);
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

  async #lookAt(declared: Declared): Promise<void> {
    const { memory, id, hash } = declared;
    if (!declared.isWaiting) return this.#claim(declared);
    const waitsFor = await this.#replicas!.others(id, hash);
    if (waitsFor.length === 0 && (await this.#activate(declared))) return;
    if (!declared.isWaiting || !memory.isReady) return;
    const found = declared.check && this.#found(declared.check, memory.index.duplicates());
    const samples = found ? samplesOf(found.check.offences(true)) : [];
    const waits = waitsFor.length > 0 && { waitsFor };
    await this.#writePending(declared, { failing: found?.failing ?? 0, samples, ...waits });
  }

  /** The ModelStates name the replicas that serve. */
  #keepReplicas(): void {
    if (this.#keeping || this.#stopping.signal.aborted) return;
    this.#keeping = this.#keepAll().finally(() => {
      this.#keeping = undefined;
    });
  }

  async #keepAll(): Promise<void> {
    for (const declared of [...this.#declared.values()]) {
      const { scheme, memory, id } = declared;
      if (!memory.isReady) continue;
      try {
        const { isKeeper, replicas } = await this.#replicas!.serving(id);
        if (!isKeeper || isDeepStrictEqual(replicas, declared.replicas)) continue;
        await this.#write(scheme, (status) => {
          const isKnown = !status.contract || isDeepStrictEqual(status.replicas, replicas);
          return isKnown ? undefined : { ...status, replicas };
        });
        declared.replicas = replicas;
      } catch (err) {
        this.#failed(scheme, err);
      }
    }
  }

  /** Every unique value of the active contract, also those of older objects. */
  async #claim(declared: Declared): Promise<void> {
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
    await this.#write(scheme, (status) => {
      if (status.generation !== rules.generation) return undefined;
      const indexes = status.indexes?.map((one) =>
        enforced.includes(one.name) ? ({ ...one, state: 'enforced' } as const) : one,
      );
      return { ...status, indexes: indexes ?? [] };
    });
  }

  async #writePending(
    declared: Declared,
    found: Pick<NonNullable<Status['pending']>, 'failing' | 'samples' | 'waitsFor'>,
  ) {
    const { scheme, contract, hash, active } = declared;
    const changes = active ? compareContracts(active, contract) : [];
    const pending = { hash, class: strongest(changes) ?? 'docs', ...found };
    const building = contract.indexes
      .filter(({ unique, name }) => unique && !active?.indexes.some((one) => one.unique && one.name === name))
      .map(({ name }) => ({ name, state: 'building' as const }));
    await this.#write(scheme, (status) => {
      if (!status.contract) return undefined;
      const indexes = [
        ...(status.indexes ?? []).filter(({ state }) => state !== 'building'),
        ...(found.waitsFor ? building : []),
      ];
      const next = { ...status, indexes, pending };
      return isDeepStrictEqual(next, status) ? undefined : next;
    });
  }

  #failed(scheme: Scheme, err: unknown): void {
    const { kind } = scheme.groupVersionKind;
    this.#dependencies.logger.warn({ err, kind }, 'The model could not be recorded');
  }

  #forget(scheme: Scheme): void {
    const declared = this.#declared.get(scheme);
    if (!declared) return;
    for (const { scheme: one, memory } of [...this.#declared.values()])
      if (memory === declared.memory) this.#declared.delete(one);
    void declared.storage?.stop();
    this.#following.delete(declared.memory.model);
    this.#replicas?.withdraw(declared.id);
  }

  #isOfPlugin(scheme: Scheme): boolean {
    const owner = this.#dependencies.registry.ownerOf(scheme);
    return owner !== undefined && owner !== '' && !scheme.definition;
  }

  #activeOf(active: Contract, next: Contract): ActiveModel | undefined {
    try {
      const { validator } = schemeOfContract(active);
      return {
        validator,
        keepsIndex: (name) => keepsIndex(active, next, name),
        converts: (version) =>
          active.hub === next.hub &&
          Object.keys(active.versions).some((one) => apiVersionOf({ ...active, version: one }) === version),
      };
    } catch (err) {
      this.#dependencies.logger.warn({ err, kind: next.kind }, 'The active contract of the model cannot be read');
      return undefined;
    }
  }

  async #read(scheme: Scheme): Promise<ModelStateObject | undefined> {
    const resource = this.#resources.model(this.#scheme);
    await resource.ready;
    const found = await ifFound(() => resource.get(nameOf(scheme)));
    return found && (readJson(found.stored.bytes.toString()) as ModelStateObject);
  }

  /**
   * @param next of the status that is stored; undefined: nothing is written
   * @param activate the contract that becomes active with it
   * @returns the revision of the change, or that of what it leaves as it is
   */
  async #write(
    scheme: Scheme,
    next: (status: Status, spec: ModelStateObject['spec']) => Status | undefined,
    activate?: (status: Status) => Activation,
  ): Promise<number | undefined> {
    const { place } = this.#resources.model(scheme);
    const resource = this.#resources.model(this.#scheme);
    const name = nameOf(scheme);
    for (let attempt = 1; ; attempt++) {
      try {
        let stored = await this.#read(scheme);
        if (!stored) {
          const { stored: created } = await resource.create({ metadata: { name }, spec: {} }, { caller: system });
          stored = readJson(created.bytes.toString()) as ModelStateObject;
        }
        const status = next(stored.status ?? ({} as Status), stored.spec);
        if (!status) return undefined;
        const options = { caller: system, subresource: 'status' as const };
        const activation = activate?.(status);
        const isHere = place === resource.place;
        if (activation && !isHere) await activateIn(place, name, activation, this.#dependencies.timers.now());
        const answer = await resource.update(
          name,
          { ...stored, status },
          activation && isHere ? { ...options, activate: activation } : options,
        );
        if (isHere) return answer.revision;
        await place.feed.newest();
        return place.feed.applied;
      } catch (error) {
        const isOvertaken =
          error instanceof KindredError && ['AlreadyExists', 'VersionConflict', 'NotFound'].includes(error.code);
        if (!isOvertaken || attempt === attempts) throw error;
      }
    }
  }
}

function activationOf(
  { number, contract }: Declared,
  moved: Pick<Activation, 'from' | 'to' | 'storageVersion'>,
): Activation {
  return { model: number, contract: JSON.stringify(contract), ...moved };
}

/**
 * In the store of the model, before the ModelState in the default store tells of it. Who writes by the former contract meanwhile
 * is refused by the store, and tries again.
 * @throws ActivationRefused
 */
async function activateIn(place: ModelPlace, name: string, activate: Activation, now: number): Promise<void> {
  const result = await putMark(place.store, 'contract', name, { generation: activate.to }, { activate, now });
  if (result.ok) return place.feed.newest();
  throw new ActivationRefused(result.reason === 'unchecked' ? 'unchecked' : 'outdated');
}

/** A model that had no contract when it was moved has an empty one. */
function withoutEmpty(row: ModelRow): ModelRow {
  if (row.contract !== '') return row;
  const { contract: _contract, storageVersion: _storageVersion, ...rest } = row;
  return rest;
}

function keepsReplicas(store: Store): store is Store & ReplicaStore {
  return store.shared;
}

function isClaiming({ isActive, memory }: Declared): boolean {
  return isActive && memory.model.rules.claiming.size > 0;
}

function claimingOf(status: Status | undefined): ReadonlySet<string> {
  return new Set(status?.indexes?.filter(({ state }) => state === 'claiming').map(({ name }) => name));
}

/** Of the declaration, when its contract is the active one. */
function rulesOf(scheme: Scheme, status: Status): Rules {
  const { generation, storageVersion } = status;
  return ownRules(scheme, { generation, claiming: claimingOf(status), storageVersion });
}

function nameOf({ plural, groupVersionKind: { group } }: Scheme): string {
  return modelStateName(plural, group);
}

/** @param claims the store keeps claims, which older objects may not have */
function statusOf(
  { scheme, contract, hash, degraded, generation: known, active, isActive }: Declared,
  before: Partial<Status>,
  claims: boolean,
  { finalize }: ModelStateObject['spec'],
): Status {
  const { group, kind } = scheme.groupVersionKind;
  const newest = Math.max(known, before.generation ?? 0);
  const generation = isActive ? known : before.contractHash === hash && newest > 0 ? newest : newest + 1;
  const claimed = (name: string) =>
    !claims ||
    !active ||
    (keepsIndex(active, contract, name) && before.indexes?.find((one) => one.name === name)?.state !== 'claiming');
  return {
    model: { group, kind, plural: scheme.plural },
    generation,
    contractHash: hash,
    contract,
    ...storageOf(scheme, contract, before, isActive, finalize),
    indexes: contract.indexes
      .filter(({ unique }) => unique)
      .map(({ name }) => ({ name, state: claimed(name) ? ('enforced' as const) : ('claiming' as const) })),
    ...(before.replicas && { replicas: before.replicas }),
    ...(degraded && { degraded }),
  };
}

/** How objects are stored once a contract is active. Until it is finalized, in the version of before where it has that one. */
function storageOf(
  { finalizeAfter }: Scheme,
  { hub, versions }: Contract,
  before: Partial<Status>,
  isActive: boolean,
  finalize: Finalize = 'auto',
): Pick<
  Status,
  'storageVersion' | 'storedVersions' | 'formerVersion' | 'finalizesAt' | 'migration' | 'contentMigration'
> {
  const { storageVersion: former, formerVersion, finalizesAt, migration, contentMigration } = before;
  const isKept = former !== undefined && former in versions && (finalizeAfter > 0 || finalize !== 'auto');
  const storageVersion = former !== undefined && (isActive || isKept) ? former : hub;
  const isSame = storageVersion === former;
  return {
    storageVersion,
    storedVersions: [...new Set([...storedVersionsOf(before), storageVersion])],
    ...(isSame ? formerVersion !== undefined && { formerVersion } : former !== undefined && { formerVersion: former }),
    ...(isActive && finalizesAt !== undefined && { finalizesAt }),
    ...(isSame && migration && { migration }),
    ...(isActive && contentMigration && { contentMigration }),
  };
}

/** Versions from which the active contract converts and the next one does not, as `apiVersion`. */
function lackingIn({ versions: next }: Contract, { group, versions }: Contract): ReadonlySet<string> {
  const all = Object.keys(versions);
  const lacking = all.length > 1 ? all.filter((version) => !(version in next)) : [];
  return new Set(lacking.map((version) => apiVersionOf({ group, version })));
}

function samplesOf(offences: readonly Offence[]): Sample[] {
  return offences
    .slice(0, keptOffences)
    .map(({ names, pointer, keyword, message }) => ({ names, pointer, keyword, message }));
}

/** `ada: /spec/email format; …` */
function shownSamples(offences: readonly Offence[]): string {
  const shown = offences
    .slice(0, namedOffences)
    .map(({ names, pointer, keyword }) => `${names.join(', ')}: ${pointer || 'the object'} ${keyword}`);
  return [...shown, ...(offences.length > namedOffences ? ['…'] : [])].join('; ');
}

function problemsOf(offences: readonly Offence[]): Map<string, string> {
  const problems = new Map<string, string>();
  for (const { names, pointer, keyword, message } of offences) {
    // Shared values are listed as long as they are shared.
    if (keyword !== 'unique') problems.set(names[0]!, `${pointer || 'the object'} ${message}`);
  }
  return problems;
}
