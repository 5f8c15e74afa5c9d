/**
 * Deletes what has nothing to be there for any more: objects whose owners are gone, what is in a Namespace that is being
 * deleted, and Events that are old. One replica does it, the holder of a lease. Every task looks at what there is now, so that
 * one that runs twice, or again after a crash, does no harm; a finalizer is taken away last.
 */
import type { Fence, LeaseStore, LeaseTimes } from '../controller/lease.ts';
import { Leader } from '../controller/lease.ts';
import { ifFound } from '../errors.ts';
import { fullNameOf } from '../model/full-name.ts';
import type { ExtensionObject, OwnerReference } from '../model/object.ts';
import type { SchemeRegistry } from '../model/registry.ts';
import type { Condition } from '../query/condition.ts';
import { Queries } from '../query/condition.ts';
import { system } from '../resource/access.ts';
import type { AppliedChange } from '../resource/change.ts';
import type { Stored } from '../resource/registered-model.ts';
import type { ResourceRegistry } from '../resource/registry.ts';
import type { ModelResource } from '../resource/resource.ts';
import type { Logger } from '../runtime/logger.ts';
import { readJson } from '../runtime/read-json.ts';
import { TaskQueue } from '../runtime/task-queue.ts';
import type { Timers } from '../runtime/timers.ts';
import { isEqual } from '../schema/json-value.ts';
import { lastSeenIndex } from './events.ts';
import type { BuiltInKinds } from './kinds.ts';
import { contentFinalizer, coreGroup, foregroundFinalizer, orphanFinalizer } from './kinds.ts';

export interface CollectorDependencies {
  readonly registry: SchemeRegistry;
  readonly resources: ResourceRegistry;
  readonly store: LeaseStore;
  readonly kinds: BuiltInKinds;
  readonly reservedDomain: string;
  /** Names this process among the replicas. */
  readonly replica: string;
  readonly timers: Timers;
  readonly logger: Pick<Logger, 'warn'>;
  /** Milliseconds that an Event is kept after it was seen last. */
  readonly eventTtl: number;
  readonly leaseTimes?: Partial<LeaseTimes>;
}

export class Collector {
  readonly #dependencies: CollectorDependencies;
  readonly #leader: Leader;
  #term: Term | undefined;
  #ended: Promise<void> = Promise.resolve();
  #unsubscribe: (() => void) | undefined;

  constructor(dependencies: CollectorDependencies) {
    this.#dependencies = dependencies;
    const { store, replica: holder, timers, leaseTimes: times, logger } = dependencies;
    this.#leader = new Leader({
      store,
      name: 'collector',
      holder,
      timers,
      times,
      onAcquired: (fence) => this.#begin(fence),
      onLost: () => this.#end(),
      onError: (err) => logger.warn({ err }, 'The lease of the collector could not be taken'),
    });
  }

  /** Once the models are registered and their indexes are built. */
  async start(): Promise<void> {
    this.#unsubscribe = this.#dependencies.resources.subscribe({
      change: (change) => this.#term?.change(change),
      resync: () => this.#term?.reviewAll(),
    });
    await this.#leader.start();
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    this.#end();
    await this.#ended;
    await this.#leader.stop();
  }

  #begin(fence: Fence): void {
    this.#term = new Term(this.#dependencies, fence);
    this.#term.reviewAll();
  }

  #end(): void {
    const term = this.#term;
    this.#term = undefined;
    if (term) this.#ended = term.stop();
  }
}

/** What an owner is to its dependents. `leaving`: it goes once those that block it are gone. */
type OwnerState = 'there' | 'leaving' | 'gone' | 'unknown';

interface Found {
  readonly stored: Stored;
  readonly object: ExtensionObject;
}

/** Tasks at the same time. */
const concurrency = 16;
/** Milliseconds between two looks at what is still in a Namespace. */
const contentDelay = 1_000;
/** Milliseconds between two looks for Events that are old, at most. */
const expiryInterval = 60_000;
/** Objects of one portion of work. */
const portion = 500;

/** The time for which this replica holds the lease. */
class Term {
  readonly #dependencies: CollectorDependencies;
  readonly #fence: Fence;
  readonly #tasks: TaskQueue;
  readonly #core: string;
  #cancelExpiry = (): void => {};
  #isOver = false;

  constructor(dependencies: CollectorDependencies, fence: Fence) {
    this.#dependencies = dependencies;
    this.#fence = fence;
    this.#core = coreGroup(dependencies.reservedDomain);
    const { timers, logger } = dependencies;
    this.#tasks = new TaskQueue({
      timers,
      concurrency,
      minDelay: 100,
      maxDelay: 30_000,
      // An object that changed in between is the usual case.
      failed: (err, task, failures) =>
        failures > 3 &&
        logger.warn({ err, task, failures }, 'The collector could not do something yet; it tries again'),
    });
    this.#expireLater();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    this.#cancelExpiry();
    await this.#tasks.stop();
  }

  /** Everything is looked at once: what happened before this replica had the lease is not told again. */
  reviewAll(): void {
    for (const resource of this.#dependencies.resources.all()) {
      this.#tasks.add(`model ${resource.scheme.apiVersion} ${resource.kind}`, () => this.#review(resource));
    }
  }

  async #review(resource: ModelResource): Promise<void> {
    await resource.ready;
    for (const name of resource.memory.index.dependents.names) this.#addDependent(resource, name);
    for (const name of await this.#names(resource, Queries.isNotNull('metadata.deletionTimestamp'))) {
      this.#addLeaving(resource, name);
    }
  }

  change(change: AppliedChange): void {
    const resource = this.#dependencies.resources.model(change.model.scheme);
    const { metadata } = change.object();
    const { ownerReferences = [], namespace } = metadata;
    if (change.type === 'delete') {
      const uid = resource.model.uidOf(change, metadata);
      for (const one of this.#dependentsOf(uid)) this.#addDependent(one.resource, one.name);
      return this.#addOwners(ownerReferences, namespace);
    }
    const before = change.objectBefore()?.metadata.ownerReferences ?? [];
    if (!isEqual(ownerReferences, before)) {
      this.#addDependent(resource, change.name);
      this.#addOwners(before, namespace);
    }
    if (metadata.deletionTimestamp !== undefined) this.#addLeaving(resource, change.name);
  }

  /** They may wait for a dependent that is gone, or is theirs no more. */
  #addOwners(references: readonly OwnerReference[], namespace: string | undefined): void {
    for (const reference of references) {
      const owner = this.#placeOf(reference, namespace);
      if (owner) this.#addLeaving(owner.resource, owner.name);
    }
  }

  #addDependent(resource: ModelResource, name: string): void {
    const { apiVersion } = resource.scheme;
    this.#tasks.add(`dependent ${apiVersion} ${resource.kind} ${name}`, () => this.#judge(resource, name));
  }

  #addLeaving(resource: ModelResource, name: string, after = 0): void {
    const { apiVersion } = resource.scheme;
    const leave = () => (this.#isNamespace(resource) ? this.#empty(resource, name) : this.#leave(resource, name));
    this.#tasks.add(`leaving ${apiVersion} ${resource.kind} ${name}`, leave, after);
  }

  #isNamespace({ scheme }: ModelResource): boolean {
    return scheme.groupVersionKind.group === this.#core && scheme.groupVersionKind.kind === 'Namespace';
  }

  /** An object goes when none of its owners stays; otherwise it keeps the references to those that do. */
  async #judge(resource: ModelResource, name: string): Promise<void> {
    const found = await this.#find(resource, name);
    const { metadata } = found?.object ?? {};
    if (!found || !metadata?.ownerReferences || metadata.deletionTimestamp !== undefined) return;
    const references = metadata.ownerReferences;
    const states = await Promise.all(references.map((one) => this.#stateOf(one, metadata.namespace)));
    const ownerReferences = references.filter((_, i) => states[i] === 'there' || states[i] === 'unknown');
    if (ownerReferences.length === references.length) return;
    if (ownerReferences.length > 0) return this.#patch(resource, found, { ownerReferences });
    await resource.delete(name, { ...this.#write, expect: { revision: found.stored.revision } });
  }

  async #stateOf(reference: OwnerReference, namespace: string | undefined): Promise<OwnerState> {
    const place = this.#placeOf(reference, namespace);
    if (!place) return 'unknown';
    const found = await this.#find(place.resource, place.name);
    if (!found || place.resource.model.uidOf(found.stored, found.object.metadata) !== reference.uid) return 'gone';
    const { deletionTimestamp, finalizers } = found.object.metadata;
    return deletionTimestamp !== undefined && finalizers?.includes(foregroundFinalizer) ? 'leaving' : 'there';
  }

  /** Where the owner is looked for; undefined when its kind is not registered, or it would be in a namespace and its dependent is in none. */
  #placeOf(
    { apiVersion, kind, name }: OwnerReference,
    namespace: string | undefined,
  ): { resource: ModelResource; name: string } | undefined {
    const slash = apiVersion.indexOf('/');
    const group = slash < 0 ? this.#core : apiVersion.slice(0, slash);
    const resource = this.#dependencies.resources
      .all()
      .find(({ scheme: { groupVersionKind: gvk } }) => gvk.group === group && gvk.kind === kind);
    if (!resource?.scheme.isNamespaced) return resource && { resource, name };
    return namespace === undefined ? undefined : { resource, name: fullNameOf({ name, namespace }) };
  }

  /** An object that is held until its dependents let go, or are gone. */
  async #leave(resource: ModelResource, name: string): Promise<void> {
    const found = await this.#find(resource, name);
    if (found?.object.metadata.deletionTimestamp === undefined) return;
    const { finalizers = [] } = found.object.metadata;
    const uid = resource.model.uidOf(found.stored, found.object.metadata);
    if (finalizers.includes(orphanFinalizer)) {
      for (const one of this.#dependentsOf(uid)) await this.#release(one.resource, one.name, uid);
      return this.#unhold(resource, found, orphanFinalizer);
    }
    if (!finalizers.includes(foregroundFinalizer)) return;
    let isBlocked = false;
    for (const one of this.#dependentsOf(uid)) {
      this.#addDependent(one.resource, one.name);
      const dependent = await this.#find(one.resource, one.name);
      const reference = dependent?.object.metadata.ownerReferences?.find((owner) => owner.uid === uid);
      isBlocked ||= reference?.blockOwnerDeletion === true;
    }
    // The last one that goes tells of it.
    if (!isBlocked) await this.#unhold(resource, found, foregroundFinalizer);
  }

  /** The dependent stays without this owner. */
  async #release(resource: ModelResource, name: string, uid: string): Promise<void> {
    const found = await this.#find(resource, name);
    const references = found?.object.metadata.ownerReferences;
    if (!found || !references) return;
    await this.#patch(resource, found, { ownerReferences: references.filter((one) => one.uid !== uid) });
  }

  /** A Namespace goes when nothing is left in it. */
  async #empty(resource: ModelResource, name: string): Promise<void> {
    const found = await this.#find(resource, name);
    if (found?.object.metadata.deletionTimestamp === undefined) return;
    const finalizer = contentFinalizer(this.#dependencies.reservedDomain);
    if (!found.object.metadata.finalizers?.includes(finalizer)) return;
    if ((await this.#removeContent(name)) > 0) return this.#addLeaving(resource, name, contentDelay);
    const now = await this.#find(resource, name);
    if (now) await this.#unhold(resource, now, finalizer);
  }

  /** @returns how many objects are left */
  async #removeContent(namespace: string): Promise<number> {
    let left = 0;
    for (const resource of this.#dependencies.resources.all()) {
      if (!resource.scheme.isNamespaced) continue;
      const where = Queries.equal('metadata.namespace', namespace);
      await this.#remove(resource, await this.#names(resource, where));
      left += await resource.count({ where });
    }
    return left;
  }

  #expireLater(): void {
    const { timers, eventTtl } = this.#dependencies;
    const after = Math.max(1_000, Math.min(expiryInterval, eventTtl / 10));
    this.#cancelExpiry = timers.after(after, () => {
      this.#tasks.add('events', () => this.#expire());
      if (!this.#isOver) this.#expireLater();
    });
  }

  async #expire(): Promise<void> {
    const { registry, resources, kinds, timers, eventTtl } = this.#dependencies;
    const resource = resources.model(registry.schemeOf(kinds.event));
    const before = new Date(timers.now() - eventTtl);
    await this.#remove(resource, await this.#names(resource, Queries.lessThan(lastSeenIndex, before)));
  }

  #names(resource: ModelResource, where: Condition): Promise<string[]> {
    return resource.names({ where, sort: [] });
  }

  async #remove(resource: ModelResource, names: readonly string[]): Promise<void> {
    for (let at = 0; at < names.length && !this.#isOver; at += portion) {
      const some = names.slice(at, at + portion);
      await Promise.all(some.map((name) => ifFound(() => resource.delete(name, this.#write))));
    }
  }

  #dependentsOf(uid: string): { resource: ModelResource; name: string }[] {
    return this.#dependencies.resources
      .all()
      .flatMap((resource) => [...resource.memory.index.dependents.of(uid)].map((name) => ({ resource, name })));
  }

  async #find(resource: ModelResource, name: string): Promise<Found | undefined> {
    const read = await ifFound(async () => resource.get(name));
    return read && { stored: read.stored, object: readJson(read.stored.bytes.toString()) as ExtensionObject };
  }

  #unhold(resource: ModelResource, found: Found, finalizer: string): Promise<void> {
    const finalizers = found.object.metadata.finalizers?.filter((one) => one !== finalizer) ?? [];
    return this.#patch(resource, found, { finalizers });
  }

  /** @throws KindredError VersionConflict when the object is another by now: the task is done again */
  async #patch(resource: ModelResource, { stored }: Found, metadata: object): Promise<void> {
    const options = { ...this.#write, kind: 'merge', expect: { revision: stored.revision } } as const;
    await ifFound(() => resource.patch(stored.name, { metadata }, options));
  }

  get #write() {
    return { caller: system, fence: this.#fence } as const;
  }
}
