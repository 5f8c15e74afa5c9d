/** All models' objects: one `ModelResource` for each registered model, the feed and the commit queue behind them. */

import { ifFound, KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { fullNameOf } from '../model/full-name.ts';
import type { GroupVersionKind } from '../model/gvk.ts';
import type { OwnerReference } from '../model/object.ts';
import type { SchemeRegistry } from '../model/registry.ts';
import type { Scheme } from '../model/scheme.ts';
import { typeNameOf } from '../model/scheme.ts';
import { TurnQueue } from '../runtime/time-slice.ts';
import { defaultStore } from '../store/options.ts';
import type { Store } from '../store/store.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { Authorizer, Caller } from './access.ts';
import type { Admissions } from './admission.ts';
import { Background } from './background.ts';
import { ByteCache } from './byte-cache.ts';
import type { Fence, ModelCommits } from './commits.ts';
import { exportSlice } from './export.ts';
import type { Feed, FeedSubscriber } from './feed.ts';
import type { ModelHooks } from './hooks.ts';
import type { IndexSnapshots } from './index-snapshots.ts';
import type { ResourceDependencies, ResourceLimits } from './indexed-model.ts';
import { IndexedModel } from './indexed-model.ts';
import type { IndexProgress, MemoryState, ModelMemory, Problem, StartOfModel } from './memory.ts';
import { movedAway } from './memory.ts';
import type { Namespaces } from './namespaces.ts';
import type { NamedStore } from './place.ts';
import { StorePlace } from './place.ts';
import type { Placement, PlaceRecord } from './placement.ts';
import { ModelResource } from './resource.ts';
import type { LivePagesDependencies } from './watch/live-page.ts';
import { LivePages } from './watch/live-page.ts';
import { PlacedWatches } from './watch/placed-watches.ts';

export interface ResourceRegistryDependencies {
  /** Told of each transaction: its milliseconds, the writes that it made durable, and all in it. */
  readonly observeCommit?: (milliseconds: number, stored: number, writes: number) => void;
  /** Undefined: commits have no spans. */
  readonly tracing?: Tracing | undefined;
  /** The default store. */
  readonly store: Store;
  /** The other stores of the service. Default none. */
  readonly stores?: readonly NamedStore[];
  /** Which models are in which store; undefined: all are in the default store. */
  readonly placement?: Placement | undefined;
  readonly registry: SchemeRegistry;
  /** Decides which owners a caller may name without their uid. */
  readonly authorizer: Pick<Authorizer, 'decide'>;
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
  /** Of the default store. Undefined: indexes are always built. */
  readonly snapshots?: IndexSnapshots | undefined;
  /** The models that this process serves, as text, for one that it does not serve. Default: it serves all. */
  readonly elsewhere?: ((scheme: Scheme) => string | undefined) | undefined;
  /** What fences a write to a store; undefined when the lease is not held there. Default: the fence itself. */
  readonly fenceIn?: (store: Store, fence: Fence) => Fence | undefined;
  readonly reservedDomain: string;
  readonly logger: ResourceDependencies['logger'];
  /** Of built-in models, by `<kind>.<group>`. */
  readonly hooks: ReadonlyMap<string, ModelHooks>;
  /** Undefined: objects may be made in any namespace. */
  readonly namespaces?: Namespaces | undefined;
}

export interface ModelState extends GroupVersionKind {
  /** With several stores: where its objects are. */
  readonly store?: string;
  readonly state: MemoryState;
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
  /** The first is that of the default store. */
  readonly places: readonly StorePlace[];
  readonly #cache: ByteCache;
  readonly watches: PlacedWatches;
  readonly turns: TurnQueue;
  readonly livePages: LivePages;
  readonly #dependencies: ResourceRegistryDependencies;
  readonly #dependenciesIn: (place: StorePlace) => ResourceDependencies;
  readonly #byScheme = new Map<Scheme, ModelResource>();
  /** Declarations that were replaced. */
  readonly #former = new WeakMap<Scheme, ModelResource>();
  readonly #shownListeners = new Set<() => void>();
  readonly #movedListeners = new Set<() => void>();
  readonly #stopListening: (() => void)[];

  constructor(dependencies: ResourceRegistryDependencies) {
    this.#dependencies = dependencies;
    const { store, stores = [], registry, now, monotonicNow, limits, admissions, snapshots } = dependencies;
    const { placement, fenceIn, reservedDomain, logger, observeCommit, tracing } = dependencies;
    this.turns = new TurnQueue(monotonicNow);
    const exportTurns = new TurnQueue(monotonicNow, exportSlice);
    const background = new Background({ width: 2, now: monotonicNow });
    this.places = [{ name: defaultStore, store, snapshots }, ...stores].map((one) => {
      const place = new StorePlace(one, {
        now,
        monotonicNow,
        logger,
        background,
        bookmarkInterval: limits.bookmarkInterval,
        timeout: limits.writeTimeout,
        memoryOf: (number) => this.#memoryOf(place, number),
        ...(observeCommit && { onDuration: observeCommit }),
      });
      place.feed.subscribe({
        resync: () => {
          for (const resource of this.#byScheme.values()) if (resource.place === place) resource.indexed.rebuild();
        },
        // A move that seals a model writes a mark with its name.
        unregistered: ({ name }) => {
          if (place !== this.places[0]) this.#placedIn(place, name)?.indexed.doubtPlace();
        },
      });
      return place;
    });
    this.watches = new PlacedWatches(this.places);
    this.livePages = new LivePages({ watches: this.watches, background, limits: limits.livePages });
    const cache = new ByteCache(limits.cacheBytes);
    this.#cache = cache;
    this.#dependenciesIn = (place) => ({
      place,
      store: place.store,
      queue: tracing ? tracedCommits(place, tracing) : place.queue,
      underWay: place.underWay,
      feed: place.feed,
      snapshots: place.snapshots,
      elsewhere: (scheme) => dependencies.elsewhere?.(scheme),
      cache,
      turns: this.turns,
      exportTurns,
      now,
      monotonicNow,
      limits,
      admissions,
      placement,
      recordsFeed: this.feed,
      fenceIn: (fence) => (fenceIn ? fenceIn(place.store, fence) : fence),
      reservedDomain,
      namespaces: dependencies.namespaces,
      onShown: () => {
        for (const listener of this.#shownListeners) listener();
      },
      onReplaced: (model, built) => place.watches.replaced(model, built),
      owners: { uidOf: (reference, namespace, caller) => this.#ownerUid(reference, namespace, caller) },
      logger,
    });
    this.#stopListening = [
      registry.onRegister((scheme) => this.#add(scheme)),
      registry.onUnregister((scheme) => this.#remove(scheme)),
      registry.onReplace((scheme, before) => this.#replace(scheme, before)),
    ];
    for (const scheme of registry.schemes()) this.#add(scheme);
    placement?.onChanged((model, record) => this.#placed(model, record));
  }

  /** Of the default store. */
  get feed(): Feed {
    return this.places[0]!.feed;
  }

  /** What waits for commits; the age is that of the store that is quickest among those with anything to do. */
  get writes(): { readonly length: number; readonly age: number } {
    const { places } = this;
    return {
      get length() {
        return places.reduce((sum, { queue }) => sum + queue.length, 0);
      },
      get age() {
        const ages = places.filter(({ queue }) => queue.length > 0).map(({ queue }) => queue.age);
        return ages.length > 0 ? Math.min(...ages) : 0;
      },
    };
  }

  /** To the changes of all stores: those of one in its order. @returns ends the subscription */
  subscribe(subscriber: FeedSubscriber): () => void {
    const ends = this.places.map(({ feed }) => feed.subscribe(subscriber));
    return () => {
      for (const end of ends) end();
    };
  }

  /** Follows the stores from here on. */
  async start(): Promise<void> {
    await Promise.all(this.places.map(({ feed }) => feed.start()));
    // What was recorded since the records were read, and before the feed.
    await this.#dependencies.placement?.load();
  }

  /** Bytes of hot objects in memory. */
  get cacheBytes(): number {
    return this.#cache.bytes;
  }

  /** How often a hot object was read from memory, and how often from the store instead; since the start. */
  get cacheReads(): { readonly hits: number; readonly misses: number } {
    return this.#cache.reads;
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
    return this.all().map((resource) => ({
      ...resource.scheme.groupVersionKind,
      ...(this.places.length > 1 && { store: resource.place.name }),
      ...resource.memory.state(),
    }));
  }

  /** Refuses further writes and resolves when those accepted are answered. */
  async stop(): Promise<void> {
    for (const stop of this.#stopListening) stop();
    this.#dependencies.placement?.stop();
    this.watches.stop();
    await Promise.all(this.places.map((place) => place.stop()));
    for (const resource of this.#byScheme.values()) resource.indexed.close();
  }

  #add(scheme: Scheme): void {
    const { group, kind } = scheme.groupVersionKind;
    const hooks = this.#dependencies.hooks.get(`${kind}.${group}`);
    const resource = new ModelResource(new IndexedModel(scheme, this.#dependenciesIn(this.#placeOf(scheme)), hooks));
    this.#byScheme.set(scheme, resource);
    // Who registers waits for nothing; the indexes are built once its own code has returned.
    setImmediate(() => {
      if (this.#byScheme.get(scheme) !== resource) return;
      resource.ready.then(
        () => {
          // A process that starts while the objects are being moved.
          const record = this.#dependencies.placement?.recordOf(scheme);
          if (record) this.#placed(typeNameOf(scheme), record);
        },
        (error: unknown) =>
          this.#dependencies.logger.error({ err: error, group, kind }, 'The indexes could not be built'),
      );
    });
  }

  #remove(scheme: Scheme): void {
    const resource = this.#byScheme.get(scheme);
    if (!resource) return;
    this.#byScheme.delete(scheme);
    resource.indexed.close();
    this.watches.endUnregistered(resource);
  }

  #replace(scheme: Scheme, before: Scheme): void {
    const resource = this.#byScheme.get(before);
    if (!resource) return;
    this.#byScheme.delete(before);
    this.#byScheme.set(scheme, resource);
    this.#former.set(before, resource);
    if (resource.indexed.serves(scheme)) return;
    const { group, kind } = scheme.groupVersionKind;
    const { memory, scheme: served } = resource;
    const isServing = memory.isReady;
    resource.indexed.replace(scheme).catch((err: unknown) => {
      if (memory.isClosed) return;
      this.#dependencies.logger.error({ err, group, kind }, 'The declaration of the model could not be replaced');
      if (isServing) this.#dependencies.registry.takeBack(scheme, served);
    });
  }

  /** A model whose store is not configured is refused when its indexes are to be built. */
  #placeOf(scheme: Scheme): StorePlace {
    const name = this.#dependencies.placement?.storeOf(scheme) ?? defaultStore;
    return this.places.find((place) => place.name === name) ?? this.places[0]!;
  }

  /** Called when a model is ready in another store: changes of its objects may have gone past unseen. */
  onMoved(listener: () => void): () => void {
    this.#movedListeners.add(listener);
    return () => this.#movedListeners.delete(listener);
  }

  /** @param type `<plural>.<group>` */
  #placedIn(place: StorePlace, type: string): ModelResource | undefined {
    return this.all().find((resource) => resource.place === place && typeNameOf(resource.scheme) === type);
  }

  /** Something else is recorded about where the objects of a model are. */
  #placed(type: string, { store, moving }: PlaceRecord): void {
    const resource = this.all().find(({ scheme }) => typeNameOf(scheme) === type);
    if (!resource) return;
    if (resource.place.name === store) {
      resource.memory.isSealed = moving?.sealed !== undefined;
      const target = this.places.find(({ name }) => name === moving?.to);
      if (target) resource.indexed.prepareMove(this.#dependenciesIn(target));
      else resource.indexed.endMove();
      return;
    }
    resource.indexed.moveTo(this.#dependenciesIn(this.#placeOf(resource.scheme)));
    // Who is told of changes lists again.
    this.watches.endAll(movedAway(resource.kind), resource.model);
    resource.ready.then(
      () => {
        for (const listener of this.#movedListeners) listener();
      },
      // It is logged, and the model answers nobody.
      () => undefined,
    );
  }

  async #ownerUid({ apiVersion, kind, name }: OwnerReference, namespace: string | undefined, caller: Caller) {
    const slash = apiVersion.indexOf('/');
    const gvk = { group: apiVersion.slice(0, Math.max(slash, 0)), version: apiVersion.slice(slash + 1), kind };
    const scheme = this.#dependencies.registry.fetch(gvk);
    if (!scheme || (scheme.isNamespaced && namespace === undefined)) return undefined;
    const { plural, groupVersionKind } = scheme;
    const place = { name, ...(scheme.isNamespaced && { namespace }) };
    const access = { verb: 'get', group: groupVersionKind.group, resource: plural, ...place };
    // Whoever may not see the owner is not told that it is there.
    if (caller.origin !== 'host' && !this.#dependencies.authorizer.decide(caller.identity, access).allowed)
      return undefined;
    const resource = this.model(scheme);
    const found = await ifFound(() => resource.get(fullNameOf(place)));
    return found && resource.model.uidOf(found.stored, resource.model.parse(found.stored.bytes, name).metadata);
  }

  #memoryOf(place: StorePlace, number: number): ModelMemory | undefined {
    for (const resource of this.#byScheme.values())
      if (resource.memory.number === number && resource.place === place) return resource.memory;
    return undefined;
  }
}

/** A hub is the resource itself, also while a replaced declaration still serves in its place. */
function inVersion(resource: ModelResource | undefined, scheme: Scheme): ModelResource | undefined {
  return scheme === scheme.hub ? resource : resource?.inVersion(scheme);
}

function tracedCommits({ queue }: StorePlace, tracing: Tracing): ModelCommits {
  return {
    commit: (write, settled) => {
      const type = typeNameOf(write.memory.model.scheme);
      return tracing.commit(`${type}/${write.name}`, () => queue.commit(write, settled));
    },
  };
}
