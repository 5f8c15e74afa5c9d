/**
 * What is active of the plugins' models: their contracts, kept as objects of the built-in model `ModelState`, and the check
 * of stored objects before another declaration takes the place of one (docs/guide/changing-models.md).
 */

import { isDeepStrictEqual } from 'node:util';
import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { Contract } from '../model/contract.ts';
import {
  compareContracts,
  contractHash,
  contractOf,
  keepsIndex,
  keepsKeys,
  needsData,
  schemeOfContract,
} from '../model/contract.ts';
import { apiVersionOf } from '../model/gvk.ts';
import type { SchemeRegistry } from '../model/registry.ts';
import type { Scheme } from '../model/scheme.ts';
import { system } from '../resource/access.ts';
import type { Admission, Admissions, Admitted } from '../resource/admission.ts';
import type { AppliedChange } from '../resource/change.ts';
import { ActivationRefused } from '../resource/commits.ts';
import type { ModelHooks } from '../resource/hooks.ts';
import type { ModelMemory } from '../resource/memory.ts';
import type { ActiveModel, Offence } from '../resource/object-check.ts';
import { ObjectCheck } from '../resource/object-check.ts';
import type { RegisteredModel } from '../resource/registered-model.ts';
import type { ResourceRegistry } from '../resource/registry.ts';
import { emulatedRules, ownRules } from '../resource/rules.ts';
import { unsealed } from '../resource/seal.ts';
import type { Logger } from '../runtime/logger.ts';
import { readJson } from '../runtime/read-json.ts';
import type { Timers } from '../runtime/timers.ts';
import { pause } from '../runtime/timers.ts';
import type { ModelRow, Replicas as ReplicaStore, Store } from '../store/store.ts';
import type { DeclaredModel, Duplicates } from './declared-model.ts';
import {
  activationOf,
  claimingOf,
  countsOf,
  isClaiming,
  pendingOf,
  rulesOf,
  samplesOf,
  statusOf,
  withoutPending,
} from './declared-model.ts';
import type { ModelStateObject, Status } from './model-state.ts';
import { modelStateModel } from './model-state.ts';
import { ModelUpkeep } from './model-upkeep.ts';
import { Replicas } from './replicas.ts';
import { PluginStartError } from './start-error.ts';
import { StateObjects, stateNameOf } from './state-objects.ts';
import { StorageVersion } from './storage-version.ts';

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

const texts = {
  incompatible: localized(
    '{kind}: {failing} of {objects} stored {objectCount|object|objects} would become invalid ({samples}): repair them, add a conversion, or start with evolution.onInvalid: degrade',
  ),
  statusOfHost: localized('The service alone writes the status of a ModelState'),
} satisfies Record<string, Text>;

/** Offences that a message names. */
const namedOffences = 3;
/** Attempts at a contract while objects are changed, and looks at what is active while that changes. */
const attempts = 20;
/** Milliseconds between two looks at the replicas that a plugin cannot start beside. */
const interval = 1_000;

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
  readonly #declared = new Map<Scheme, DeclaredModel>();
  readonly #replicas: Replicas | undefined;
  /** Those whose check follows the changes of their objects. */
  readonly #following = new Map<RegisteredModel, ObjectCheck>();
  /** Those that wait until other replicas are gone. */
  readonly #heldUp = new WeakSet<Scheme>();
  readonly #stopping = new AbortController();
  #resources!: ResourceRegistry;
  #states!: StateObjects;
  #upkeep: ModelUpkeep | undefined;

  constructor(dependencies: ModelStatesDependencies) {
    const { registry, reservedDomain, store } = dependencies;
    this.#dependencies = dependencies;
    this.#scheme = registry.register(modelStateModel(reservedDomain), undefined, '');
    this.#replicas = keepsReplicas(store)
      ? new Replicas({ ...dependencies, store, onRenewed: () => this.#upkeep?.keepReplicas() })
      : undefined;
    registry.onUnregister((scheme) => this.#forget(scheme));
  }

  /** Before the first build. */
  use(resources: ResourceRegistry): void {
    const { timers } = this.#dependencies;
    this.#resources = resources;
    this.#states = new StateObjects({ resources, scheme: this.#scheme, timers });
    this.#upkeep =
      this.#replicas &&
      new ModelUpkeep({
        ...this.#dependencies,
        declared: this.#declared,
        states: this.#states,
        replicas: this.#replicas,
        activate: (declared) => this.#activate(declared),
        failed: (scheme, error) => this.#failed(scheme, error),
      });
    resources.subscribe({
      change: (change) => this.#changed(change),
      resync: () => {
        for (const scheme of this.#declared.keys())
          this.#relearn(scheme).catch((err: unknown) => this.#failed(scheme, err));
      },
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#upkeep?.stop();
    await Promise.all([...this.#declared.values()].map(({ storage }) => storage?.stop()));
    await this.#replicas?.stop();
    await this.#upkeep?.release();
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

  async #admissionOf(declared: DeclaredModel, known: DeclaredModel | undefined): Promise<Admission | undefined> {
    const { scheme, memory } = declared;
    const { contract, hash, active } = declared;
    if (known?.isActive && !declared.isActive) {
      this.#outdate(declared, declared.generation);
      return undefined;
    }
    const stored = await this.#states.read(scheme);
    const status = stored?.status;
    if (declared.isActive && status?.contractHash === hash) {
      if (status.pending && !(await this.#replicas?.has(declared.id, status.pending.hash)))
        await this.#states.write(scheme, withoutPending);
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
  async #declare(scheme: Scheme, memory: ModelMemory, isReplacing: boolean): Promise<DeclaredModel | undefined> {
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
      const row = withoutEmpty(unsealed((await place.store.models(number))[0]!));
      const stored = await this.#states.read(scheme, row);
      if (memory.isClosed || this.#stopping.signal.aborted) return undefined;
      // Another contract became active in between, or the state is of a time when the rows had none, and still has none at a second look.
      const isBehind = (stored?.status?.generation ?? 0) > row.generation;
      if (isBehind && looks < (row.contract === undefined ? 1 : attempts)) continue;
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
      const declared: DeclaredModel = {
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
  async #decide(
    declared: DeclaredModel,
    duplicates: Duplicates,
    check = declared.check!,
  ): Promise<Map<string, string>> {
    const { scheme } = declared;
    const { failing, invalid, objects } = countsOf(check, duplicates);
    if (failing > 0 && (await this.#isRefused(declared))) {
      const offences = check.offences(true);
      if (!declared.isWaiting) await this.#replicas?.refuse(declared.id, declared.hash);
      await this.#states.write(scheme, pendingOf(declared, { failing, samples: samplesOf(offences) }));
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

  async #isRefused({ scheme, isActive, check }: DeclaredModel): Promise<boolean> {
    if (isActive) return false;
    if (check!.unreadable > 0) return true;
    return ((await this.#states.read(scheme))?.spec.onInvalid ?? scheme.onInvalid) === 'refuse';
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
  #lookAfterStorage(declared: DeclaredModel): void {
    const { scheme, memory, place, number, id, hash } = declared;
    if (this.#stopping.signal.aborted) return;
    declared.storage ??= new StorageVersion(
      {
        ...this.#dependencies,
        store: place.store,
        storeName: place.store === this.#dependencies.store ? undefined : place.name,
        rate: this.#dependencies.rewriteRate,
        feed: this.#resources.feed,
      },
      {
        number,
        kind: scheme.groupVersionKind.kind,
        memory,
        finalizeAfter: scheme.finalizeAfter,
        state: async () => {
          if (!declared.isActive || !memory.isReady) return undefined;
          // The default store changes both in one transaction.
          const isOne = place.store === this.#dependencies.store;
          const [row] = isOne ? [] : await place.store.models(number);
          const state = await this.#states.read(scheme, row);
          const { status } = state ?? {};
          return state && status?.generation === declared.generation ? { ...state, status } : undefined;
        },
        write: (next, storageVersion) =>
          this.#states.write(
            scheme,
            (status, spec) => (status.generation === undefined ? undefined : next(status, spec)),
            storageVersion === undefined
              ? undefined
              : ({ generation }) => activationOf(declared, { from: generation - 1, to: generation, storageVersion }),
          ),
        obey: (request, finalize) => this.#states.obeyed(scheme, request, finalize),
        update: (name, object, options) =>
          this.#resources.model(scheme).update(name, object, { ...options, caller: system }),
        others: async () => (await this.#replicas?.others(id, hash)) ?? [],
      },
    );
    declared.storage.look();
  }

  /**
   * What was checked is what is active from now on; while other replicas declare another contract, what was active stays so.
   * @returns what ends when they are gone; undefined when all are active
   */
  async activate(schemes: readonly Scheme[]): Promise<{ readonly done: Promise<unknown> } | undefined> {
    const waiting: DeclaredModel[] = [];
    for (const scheme of schemes) {
      const declared = this.#declared.get(scheme);
      if (!declared?.isNew || (await this.#activate(declared))) continue;
      declared.isWaiting = true;
      waiting.push(declared);
    }
    this.#upkeep?.look();
    if (waiting.length === 0) return undefined;
    return { done: Promise.all(waiting.map(({ activated }) => activated.promise)) };
  }

  /** True when the contract is active. */
  async #activate(declared: DeclaredModel): Promise<boolean> {
    const { scheme, memory, place, id, hash } = declared;
    const { feed } = place;
    for (let attempt = 0; attempt < attempts && !memory.isClosed; attempt++) {
      if (declared.isActive) {
        await this.#states.write(scheme, (status, spec) =>
          statusOf(declared, status, this.#replicas !== undefined, spec),
        );
        declared.isNew = false;
        return true;
      }
      const others = (await this.#replicas?.others(id, hash)) ?? [];
      // Others are waited for by whoever can serve by what is active; of first contracts, the store takes one. It would refuse it
      // before a move of the objects is over.
      if ((others.length > 0 && declared.active) || memory.isSealed) return false;
      const release = memory.hold();
      try {
        await feed.newest();
        // Decided with what is newest, and refused when that is no longer so.
        const checked = this.#replicas && declared.check ? feed.applied : undefined;
        if (checked !== undefined) await this.#decide(declared, memory.index.duplicates());
        await this.#states.write(
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
    const declared = [...this.#declared.values()].find(({ scheme }) => stateNameOf(scheme) === change.name);
    const { status } = change.object() as unknown as ModelStateObject;
    if (declared && status) this.#learn(declared, status);
  }

  /** The feed of a store passed over changes: what it does not tell of may be active by now. */
  async #relearn(scheme: Scheme): Promise<void> {
    const { status } = (await this.#states.read(scheme)) ?? {};
    const declared = this.#declared.get(scheme);
    if (declared && status) this.#learn(declared, status);
  }

  #learn(declared: DeclaredModel, status: Status): void {
    if (status.generation < declared.generation) return;
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
    this.#upkeep?.look();
  }

  /** The contract that is emulated stays the active one, with another storage version. */
  #emulatesStill(declared: DeclaredModel, status: Status): boolean {
    const { scheme, memory, contract, active } = declared;
    if (!active || declared.isActive || !memory.isReady || contractHash(active) !== status.contractHash) return false;
    const { generation, storageVersion } = status;
    declared.generation = generation;
    const emulated = { contract: active, generation, claiming: claimingOf(status), storageVersion };
    memory.model.rules = declared.rules = emulatedRules(scheme, contract, emulated);
    return true;
  }

  /** The model answers nobody here any more, and holds no other replica up. */
  #outdate({ memory, id }: DeclaredModel, generation: number): void {
    this.#resources.watches.endAll(memory.outdate(generation), memory.model);
    this.#replicas?.withdraw(id);
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
        keepsKeys: (name) => keepsKeys(active, next, name),
        converts: (version) =>
          active.hub === next.hub &&
          Object.keys(active.versions).some((one) => apiVersionOf({ ...active, version: one }) === version),
      };
    } catch (err) {
      this.#dependencies.logger.warn({ err, kind: next.kind }, 'The active contract of the model cannot be read');
      return undefined;
    }
  }
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

/** Whether the active contract reads objects in a version, an `apiVersion`, and the next one does not. */
function lackingIn(next: Contract, active: Contract): (version: string) => boolean {
  const versionsOf = ({ group, versions }: Contract) =>
    new Set(Object.keys(versions).map((version) => apiVersionOf({ group, version })));
  const [is, was] = [versionsOf(next), versionsOf(active)];
  // A contract with one version reads everything as its own.
  return (version) => !is.has(version) && (was.size > 1 ? was.has(version) : is.size > 1);
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
