/** All models' objects: one `ModelResource` for each registered model, the feed and the commit queue behind them. */

import { ifFound, KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { fullNameOf } from '../model/full-name.ts';
import type { GroupVersionKind } from '../model/gvk.ts';
import type { OwnerReference } from '../model/object.ts';
import type { SchemeRegistry } from '../model/registry.ts';
import type { Scheme } from '../model/scheme.ts';
import { typeNameOf } from '../model/scheme.ts';
import { retry } from '../runtime/retry.ts';
import { TurnQueue } from '../runtime/time-slice.ts';
import { systemTimers } from '../runtime/timers.ts';
import { CommitQueue } from '../store/commit-queue.ts';
import type { Store } from '../store/store.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { Admissions } from './admission.ts';
import { Background } from './background.ts';
import { ByteCache } from './byte-cache.ts';
import { Feed } from './feed.ts';
import type { ModelHooks } from './hooks.ts';
import type { IndexSnapshots } from './index-snapshots.ts';
import type { IndexProgress, ModelMemory, Problem, StartOfModel } from './memory.ts';
import type { Namespaces } from './namespaces.ts';
import type { ResourceDependencies, ResourceLimits } from './resource.ts';
import { ModelResource } from './resource.ts';
import { WritesUnderWay } from './under-way.ts';
import type { LivePagesDependencies } from './watch/live-page.ts';
import { LivePages } from './watch/live-page.ts';
import { Watches } from './watch/watches.ts';
import type { ModelCommits } from './writer.ts';

export interface ResourceRegistryDependencies {
  /** Told of each transaction: its milliseconds, the writes that it made durable, and all in it. */
  readonly observeCommit?: (milliseconds: number, stored: number, writes: number) => void;
  /** Undefined: commits have no spans. */
  readonly tracing?: Tracing | undefined;
  readonly store: Store;
  readonly registry: SchemeRegistry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Milliseconds, never going back. */
  readonly monotonicNow: () => number;
  readonly limits: ResourceLimits & {
    /** Bytes of hot objects kept in memory. */
    readonly cacheBytes: number;
    /** Milliseconds between bookmarks on an idle watch, at most. */
    readonly bookmarkInterval: number;
    readonly livePages: LivePagesDependencies['limits'];
  };
  /** Undefined: every declaration is taken as it is. */
  readonly admissions?: Admissions;
  /** Undefined: indexes are always built. */
  readonly snapshots?: IndexSnapshots | undefined;
  readonly reservedDomain: string;
  readonly logger: ResourceDependencies['logger'];
  /** Of built-in models, by `<kind>.<group>`. */
  readonly hooks: ReadonlyMap<string, ModelHooks>;
  /** Undefined: objects may be made in any namespace. */
  readonly namespaces?: Namespaces | undefined;
}

export interface ModelState extends GroupVersionKind {
  readonly state: 'building' | 'ready' | 'degraded' | 'outdated';
  /** From 0 to 1. */
  readonly progress: number;
  readonly problems: readonly Problem[];
  /** Undefined until it is ready. */
  readonly start: StartOfModel | undefined;
  /** Those that are being built while the model serves. */
  readonly indexes: readonly IndexProgress[];
}

const notRegistered = localized('The model {kind} ({version}) is not registered');

export class ResourceRegistry {
  readonly feed: Feed;
  readonly queue: CommitQueue;
  readonly #cache: ByteCache;
  readonly watches: Watches;
  readonly turns: TurnQueue;
  readonly livePages: LivePages;
  readonly #dependencies: ResourceRegistryDependencies;
  readonly #resourceDependencies: ResourceDependencies;
  readonly #byScheme = new Map<Scheme, ModelResource>();
  /** Declarations that were replaced. */
  readonly #former = new WeakMap<Scheme, ModelResource>();
  readonly #shownListeners = new Set<() => void>();
  readonly #stopListening: (() => void)[];
  readonly #stopping = new AbortController();

  constructor(dependencies: ResourceRegistryDependencies) {
    this.#dependencies = dependencies;
    const { store, registry, now, monotonicNow, limits, admissions, snapshots, reservedDomain, logger } = dependencies;
    const { observeCommit, tracing } = dependencies;
    this.turns = new TurnQueue(monotonicNow);
    this.feed = new Feed({ store, monotonicNow, logger, memoryOf: (number) => this.#memoryOf(number) });
    const background = new Background({ width: 2, now: monotonicNow });
    this.watches = new Watches({ feed: this.feed, background, bookmarkInterval: limits.bookmarkInterval });
    this.livePages = new LivePages({ watches: this.watches, background, limits: limits.livePages });
    this.feed.subscribe({
      resync: () => {
        for (const resource of this.#byScheme.values()) resource.rebuild();
      },
    });
    this.queue = new CommitQueue(store, {
      now,
      monotonicNow,
      timeout: limits.writeTimeout,
      onCommitted: (batch, time) => this.feed.committed(batch, time),
      onUnknown: () => this.#learnOutcome(),
      ...(observeCommit && { onDuration: observeCommit }),
    });
    const cache = new ByteCache(limits.cacheBytes);
    this.#cache = cache;
    this.#resourceDependencies = {
      store,
      queue: tracing ? this.#traced(tracing) : this.queue,
      underWay: new WritesUnderWay(),
      feed: this.feed,
      cache,
      turns: this.turns,
      now,
      monotonicNow,
      limits,
      admissions,
      snapshots,
      reservedDomain,
      namespaces: dependencies.namespaces,
      onShown: () => {
        for (const listener of this.#shownListeners) listener();
      },
      onReplaced: (resource, built) => this.watches.replaced(resource, built),
      owners: { uidOf: (reference, namespace) => this.#ownerUid(reference, namespace) },
      logger,
    };
    this.#stopListening = [
      registry.onRegister((scheme) => this.#add(scheme)),
      registry.onUnregister((scheme) => this.#remove(scheme)),
      registry.onReplace((scheme, before) => this.#replace(scheme, before)),
    ];
    for (const scheme of registry.schemes()) this.#add(scheme);
  }

  /** Bytes of hot objects in memory. */
  get cacheBytes(): number {
    return this.#cache.bytes;
  }

  /** @throws NotFound when the model is not registered */
  model(scheme: Scheme): ModelResource {
    const resource = this.#byScheme.get(scheme.hub) ?? this.#former.get(scheme.hub);
    if (resource && !resource.memory.isClosed) return inVersion(resource, scheme)!;
    const { group, version, kind } = scheme.groupVersionKind;
    throw new KindredError('NotFound', notRegistered, { params: { kind, version: `${group}/${version}` } });
  }

  find(group: string, version: string, plural: string): ModelResource | undefined {
    const scheme = this.#dependencies.registry.find(group, version, plural);
    return scheme && inVersion(this.#byScheme.get(scheme.hub), scheme);
  }

  /** What clients see of a version, by the contract that is active; undefined for one that they cannot use. */
  shown(scheme: Scheme): Scheme | undefined {
    return inVersion(this.#byScheme.get(scheme.hub), scheme)?.shown;
  }

  /** Every version that clients can use. */
  servedVersions(): { readonly scheme: Scheme; readonly shown: Scheme }[] {
    const versions = this.#dependencies.registry.schemes().flatMap(({ servedVersions }) => servedVersions);
    return versions.flatMap((scheme) => {
      const shown = this.shown(scheme);
      return shown ? [{ scheme, shown }] : [];
    });
  }

  /** Called when `shown` could have changed. */
  onShown(listener: () => void): () => void {
    this.#shownListeners.add(listener);
    return () => this.#shownListeners.delete(listener);
  }

  all(): readonly ModelResource[] {
    return [...this.#byScheme.values()];
  }

  state(): ModelState[] {
    return this.all().map((resource) => ({ ...resource.scheme.groupVersionKind, ...resource.memory.state() }));
  }

  /** Refuses further writes and resolves when those accepted are answered. */
  async stop(): Promise<void> {
    for (const stop of this.#stopListening) stop();
    this.watches.stop();
    this.#stopping.abort();
    await this.queue.stop();
    this.feed.stop();
    for (const resource of this.#byScheme.values()) resource.memory.close();
  }

  #traced(tracing: Tracing): ModelCommits {
    return {
      commit: (write, settled) => {
        const type = typeNameOf(write.memory.model.scheme);
        return tracing.commit(`${type}/${write.name}`, () => this.queue.commit(write, settled));
      },
    };
  }

  #add(scheme: Scheme): void {
    const { group, kind } = scheme.groupVersionKind;
    const resource = new ModelResource(
      scheme,
      this.#resourceDependencies,
      this.#dependencies.hooks.get(`${kind}.${group}`),
    );
    this.#byScheme.set(scheme, resource);
    // Who registers waits for nothing; the indexes are built once its own code has returned.
    setImmediate(() => {
      if (this.#byScheme.get(scheme) !== resource) return;
      resource.ready.catch((error: unknown) =>
        this.#dependencies.logger.error({ err: error, group, kind }, 'The indexes could not be built'),
      );
    });
  }

  #remove(scheme: Scheme): void {
    const resource = this.#byScheme.get(scheme);
    if (!resource) return;
    this.#byScheme.delete(scheme);
    resource.memory.close();
    this.watches.endUnregistered(resource.model);
  }

  #replace(scheme: Scheme, before: Scheme): void {
    const resource = this.#byScheme.get(before);
    if (!resource) return;
    this.#byScheme.delete(before);
    this.#byScheme.set(scheme, resource);
    this.#former.set(before, resource);
    if (resource.serves(scheme)) return;
    const { group, kind } = scheme.groupVersionKind;
    const { memory, scheme: served } = resource;
    const isServing = memory.isReady;
    resource.replace(scheme).catch((err: unknown) => {
      if (memory.isClosed) return;
      this.#dependencies.logger.error({ err, group, kind }, 'The declaration of the model could not be replaced');
      if (isServing) this.#dependencies.registry.takeBack(scheme, served);
    });
  }

  /** A store that others write to too decides about unique values itself: there the next commit need not wait for this. */
  async #learnOutcome(): Promise<void> {
    const { store, logger } = this.#dependencies;
    if (store.shared) return this.feed.newest().catch(() => {});
    const failed = (error: unknown) =>
      logger.error({ err: error }, 'The outcome of writes is not known yet; trying again');
    const { signal } = this.#stopping;
    await retry({ timers: systemTimers, minDelay: 10, maxDelay: 1_000, signal, failed }, () => this.feed.newest());
  }

  async #ownerUid({ apiVersion, kind, name }: OwnerReference, namespace: string | undefined) {
    const slash = apiVersion.indexOf('/');
    const gvk = { group: apiVersion.slice(0, Math.max(slash, 0)), version: apiVersion.slice(slash + 1), kind };
    const scheme = this.#dependencies.registry.fetch(gvk);
    if (!scheme || (scheme.isNamespaced && namespace === undefined)) return undefined;
    const resource = this.model(scheme);
    const found = await ifFound(() => resource.get(fullNameOf({ name, ...(scheme.isNamespaced && { namespace }) })));
    return found && resource.model.uidOf(found.stored, resource.model.parse(found.stored.bytes, name).metadata);
  }

  #memoryOf(number: number): ModelMemory | undefined {
    for (const { memory } of this.#byScheme.values()) if (memory.number === number) return memory;
    return undefined;
  }
}

/** A hub is the resource itself, also while a replaced declaration still serves in its place. */
function inVersion(resource: ModelResource | undefined, scheme: Scheme): ModelResource | undefined {
  return scheme === scheme.hub ? resource : resource?.inVersion(scheme);
}
