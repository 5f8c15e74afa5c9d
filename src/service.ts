/** The only wiring: who gets what, the order of start and stop. */

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import type { Logger } from 'pino';
import { pino } from 'pino';
import type { Answered } from './auth/audit.ts';
import type { Auth } from './auth/auth.ts';
import { createAuth } from './auth/auth.ts';
import type { Credentials } from './auth/authentication/credentials.ts';
import { pluginIdentity } from './auth/authentication/identity.ts';
import { checkAuthOptions } from './auth/options.ts';
import { createClient } from './client/client.ts';
import type { Fence } from './controller/lease.ts';
import { createAuditRoute } from './http/api/audit.ts';
import { createWatchRoute } from './http/api/watch.ts';
import type { App } from './http/app.ts';
import { createApp } from './http/app.ts';
import { CustomRoutes } from './http/custom/routes.ts';
import { ApiDocuments } from './http/openapi/documents.ts';
import type { Readiness } from './http/server/health.ts';
import { Metrics } from './http/server/metrics.ts';
import { Samples } from './http/server/samples.ts';
import { Certificate } from './http/server/tls.ts';
import { YamlReader } from './http/server/yaml-body.ts';
import { viewModel } from './http/view.ts';
import { Collector } from './kube/collector.ts';
import { Definitions, definitionHooks } from './kube/crds/definitions.ts';
import { definitionGroup, definitionModel } from './kube/crds/kind.ts';
import type { BuiltInKinds } from './kube/kinds.ts';
import { builtInKindHooks, builtInKinds, isServiceGroup } from './kube/kinds.ts';
import { Kube } from './kube/kube.ts';
import { makeDefaultNamespace, openNamespaces } from './kube/namespaces.ts';
import { McpEndpoint } from './mcp/endpoint.ts';
import { isReservedGroup } from './model/gvk.ts';
import type { SchemeManager } from './model/registry.ts';
import { SchemeRegistry } from './model/registry.ts';
import type { Scheme } from './model/scheme.ts';
import type { ResolvedOptions, ServiceOptions } from './options.ts';
import { listOptions, resolveOptions } from './options.ts';
import { PluginHost } from './plugin/host.ts';
import { ModelStates, modelStateHooks } from './plugin/model-states.ts';
import type { CodePlugin } from './plugin/source.ts';
import { readSource } from './plugin/source.ts';
import type { Caller, Identity } from './resource/access.ts';
import { allowAll, system } from './resource/access.ts';
import { createLocalClient } from './resource/client.ts';
import type { ExtensionClient } from './resource/extension-client.ts';
import type { ModelHooks } from './resource/hooks.ts';
import { IndexSnapshots } from './resource/index-snapshots.ts';
import type { BuildProgress } from './resource/memory.ts';
import { Placement } from './resource/placement.ts';
import { ResourceRegistry } from './resource/registry.ts';
import { startRetention } from './resource/retention.ts';
import { keepTickShape } from './runtime/tick-shape.ts';
import { systemTimers } from './runtime/timers.ts';
import { measureService } from './service-metrics.ts';
import { SnapshotFolder } from './snapshots/folder.ts';
import { snapshotPath } from './snapshots/place.ts';
import { Leases } from './store/leases.ts';
import { openStore } from './store/open.ts';
import type { StoreOptions } from './store/options.ts';
import { defaultStore } from './store/options.ts';
import type { Store } from './store/store.ts';
import type { Telemetry } from './telemetry/telemetry.ts';
import { openTelemetry } from './telemetry/telemetry.ts';
import { Webhooks, webhookHooksByModel } from './webhook/webhooks.ts';

export interface Service {
  /**
   * Listens (at the end with `listenWhenReady`), starts the plugins, resolves when every enabled plugin is started or
   * failed. Rejects when the address cannot be had, and when the service is stopped meanwhile. `administratorToken` comes once: at the first start of a store with authentication.
   */
  start(): Promise<{ url: string; administratorToken?: string }>;
  /** What `/readyz` says in full; also during the start. */
  readiness(): Readiness;
  /** The last builds of the indexes of all models together: objects that are read, and all there are to read. */
  building(): BuildProgress;
  /** Graceful: requests finish, watches are told, writes are flushed, the store is closed. */
  stop(): Promise<void>;
  /** Models of the embedding program itself. */
  readonly schemeManager: SchemeManager;
  /** Acts as the system. */
  readonly client: ExtensionClient;
}

/** That it was ever taken tells that there was a start with authentication: the store keeps this, and nobody can delete it. */
const firstStartLease = 'first-start';
/** Bytes of list pages that are kept while no change concerns them, at most as many as of objects. */
const keptPageBytes = 8 * 2 ** 20;

/** Who everybody is without authentication. */
const everybody: Identity = { name: 'system:unauthenticated', roles: ['super-role'] };

/**
 * Everything the command line does, in code; nothing is read from the environment. The store is open when the promise
 * resolves, so that models can be registered before `start()`.
 *
 * @example
 * ```ts
 * const service = await createService({ database: 'sqlite:library.db', auth: false });
 * service.schemeManager.register(Book);
 * const { url } = await service.start();
 * console.log(url);
 * await service.stop();
 * ```
 */
export async function createService(options: ServiceOptions = {}): Promise<Service> {
  keepTickShape();
  const resolved = resolveOptions(options);
  // Before a database is made: a start that cannot succeed leaves nothing behind.
  checkAuthOptions(resolved.auth || {});
  const { cert, key } = resolved.tls;
  const certificate = cert !== undefined && key !== undefined ? new Certificate({ cert, key }) : undefined;
  const sources = resolved.plugins.map((source, i) => readSource(source, `plugins[${i}]`));
  const logger =
    resolved.logger ??
    pino(
      { level: 'warn', serializers: { err: pino.stdSerializers.errWithCause } },
      pino.destination({ dest: 2, sync: true }),
    );
  const telemetry = await openTelemetry(resolved.telemetry, version, (message) => logger.warn(message));
  const storeOptions: StoreOptions = {
    allowUnsafeDurability: resolved.allowUnsafeDurability,
    warn: (message) => logger.warn(message),
  };
  const store = await openStore(resolved.database, storeOptions);
  const stores = new Map([[defaultStore, store]]);
  let service: RunningService | undefined;
  try {
    for (const [name, { database }] of Object.entries(resolved.stores)) {
      const other = await openStore(database, storeOptions).catch((cause: Error) => {
        throw new Error(`the store "${name}" cannot be opened: ${cause.message}`, { cause });
      });
      stores.set(name, other);
      if (other.shared !== store.shared) {
        throw new Error(
          `the store "${name}" cannot stand beside the default store: either all stores are SQLite files, or all are on database servers`,
        );
      }
    }
    const { placement: rules, reservedDomain, timers } = resolved;
    const placement = await Placement.open({
      rules,
      stores: Object.keys(resolved.stores),
      store,
      isPlaceable: ({ groupVersionKind: { group } }) => !isServiceGroup(group, reservedDomain),
      now: () => timers.now(),
    });
    const settings = { ...resolved, given: options, sources, certificate };
    service = new RunningService(settings, { stores, placement }, logger, telemetry);
    await service.open();
    return service;
  } catch (error) {
    await (service ? service.stop() : Promise.all([...stores.values()].map((one) => one.close())));
    throw error;
  }
}

const version: string = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

interface ServiceSettings extends ResolvedOptions {
  /** As they were handed in. */
  readonly given: ServiceOptions;
  readonly sources: readonly (string | CodePlugin)[];
  readonly certificate: Certificate | undefined;
}

interface PlacedStores {
  /** By name, the default one first. */
  readonly stores: ReadonlyMap<string, Store>;
  readonly placement: Placement;
}

class RunningService implements Service {
  readonly schemeManager: SchemeManager;
  readonly client: ExtensionClient;
  readonly #options: ServiceSettings;
  /** The default one. */
  readonly #store: Store;
  readonly #logger: Logger;
  /** Undefined: Kubernetes clients are not served. */
  readonly #kinds: BuiltInKinds | undefined;
  readonly #registry: SchemeRegistry;
  readonly #resources: ResourceRegistry;
  readonly #auth: Auth;
  readonly #replica: string;
  readonly #modelStates: ModelStates;
  readonly #plugins: PluginHost;
  readonly #webhooks: Webhooks;
  readonly #definitions: Definitions | undefined;
  readonly #collector: Collector | undefined;
  /** Undefined: agents are not served. */
  readonly #agents: McpEndpoint | undefined;
  readonly #metrics: Metrics;
  readonly #samples: Samples;
  readonly #app: App;
  readonly #yaml = new YamlReader();
  readonly #stopRetention: readonly (() => void)[];
  #status: Readiness['status'] = 'starting';
  /** Where it listens, once it does. */
  #url = '';
  #stopping: Promise<void> | undefined;

  constructor(
    options: ServiceSettings,
    { stores, placement }: PlacedStores,
    logger: Logger,
    { tracing, meter }: Telemetry,
  ) {
    this.#options = options;
    const store = stores.get(defaultStore)!;
    this.#store = store;
    const leases = new Leases([...stores.values()]);
    this.#logger = logger;
    this.#metrics = new Metrics(meter);
    const { reservedDomain, list, query, patch, cache, write, watch, changeLog, pluginHost } = options;
    const now = () => options.timers.now();
    const monotonicNow = () => performance.now();
    const warn = (message: string) => logger.warn(message);
    const registry = new SchemeRegistry({ reservedDomain, warn });
    const open = options.auth === false;
    const auth = createAuth({
      options: options.auth || {},
      open,
      console: options.console,
      scheme: options.certificate ? 'https' : 'http',
      reservedDomain,
      registry,
      now,
      monotonicNow,
      timers: options.timers,
      logger,
    });
    for (const model of [...auth.models, viewModel(reservedDomain)]) registry.register(model, undefined, '');
    const kinds = options.kube.enabled ? builtInKinds(reservedDomain) : undefined;
    for (const model of Object.values(kinds ?? {})) registry.register(model, undefined, '');
    const definitions = kinds && definitionModel();
    if (definitions) registry.register(definitions, undefined, '');
    const namespaces = kinds && openNamespaces(() => resources.model(registry.schemeOf(kinds.namespace)));
    const authorizer = open ? allowAll : auth.authorizer;
    const patchLimits = {
      operations: patch.maxOperations,
      growth: patch.maxGrowth,
      depth: options.http.depth,
      members: options.http.members,
      containers: options.http.containers,
    };
    const replica = randomUUID();
    this.#replica = replica;
    this.#modelStates = new ModelStates({
      registry,
      reservedDomain,
      store,
      replica,
      timers: options.timers,
      logger,
      rewriteRate: options.modelRewrite.rate,
      onWaiting: (plugin, kind, replicas) => this.#plugins.waits(plugin, kind, replicas),
    });
    const codeOf = (scheme: Scheme) => this.#codeOf(scheme);
    const snapshotsOf = (name: string, of: Store): IndexSnapshots | undefined => {
      const folder = snapshotFolder(options, name === defaultStore ? options.database : options.stores[name]!.database);
      const written = {
        codeOf,
        placeOf: (scheme: Scheme) => placement.revisionOf(scheme),
        options: options.indexSnapshots,
        keptChanges: changeLog.maxCount,
        replica,
        mayRest: ({ groupVersionKind: { group } }: Scheme) => !isServiceGroup(group, reservedDomain),
        now: systemTimers.now,
        logger,
      };
      return folder && new IndexSnapshots({ folder, store: of, ...written });
    };
    const [main, ...others] = [...stores].map(([name, of]) => ({ name, store: of, snapshots: snapshotsOf(name, of) }));
    const hooks = new Map<string, ModelHooks>([
      ...auth.hooks,
      [`ModelState.plugin.${reservedDomain}`, modelStateHooks],
      ...webhookHooksByModel(reservedDomain, authorizer, auth.authors, () => registry.schemes()),
      ...builtInKindHooks(reservedDomain),
      [
        `CustomResourceDefinition.${definitionGroup}`,
        definitionHooks(
          reservedDomain,
          {
            bytes: options.kube.maxBodyBytes,
            growth: patch.maxGrowth,
            members: options.kube.maxMembers,
            count: options.kube.maxCrds,
          },
          () => (definitions ? resources.model(registry.schemeOf(definitions)).memory.index.size : 0),
        ),
      ],
    ]);
    const resources = new ResourceRegistry({
      tracing,
      store,
      stores: others,
      placement,
      fenceIn: (of, fence) => leases.fenceIn(of, fence),
      registry,
      authorizer,
      now,
      monotonicNow,
      limits: {
        queryTimeout: query.timeout,
        objectBytes: options.http.body + patch.maxGrowth,
        patch: patchLimits,
        cacheBytes: cache.maxBytes,
        writeTimeout: write.timeout,
        bookmarkInterval: watch.bookmarkInterval,
        livePages: { rows: watch.livePageRows, rowsPerIdentity: watch.livePageRowsPerIdentity },
      },
      reservedDomain,
      logger,
      admissions: this.#modelStates,
      observeCommit: (milliseconds, stored, writes) => {
        this.#metrics.observeCommit(milliseconds / 1_000, stored, writes);
        this.#samples.committed(milliseconds, stored);
      },
      snapshots: main!.snapshots,
      elsewhere: (scheme) => (this.#serves(scheme) ? undefined : options.models.join(', ')),
      hooks,
      namespaces,
    });
    this.#modelStates.use(resources);
    this.#samples = new Samples(
      () => ({
        revision: resources.feed.applied,
        watches: resources.watches.size,
        cacheBytes: resources.cacheBytes,
        cacheReads: { ...resources.cacheReads },
      }),
      now,
    );
    resources.feed.subscribe({
      unregistered: (change) => placement.changed(change),
      resync: () => placement.resync(),
    });
    const clientOf = (caller: Caller, fence?: () => Fence | undefined) =>
      createLocalClient({ resources, registry, authorizer, caller, fence });
    const client = createLocalClient({ resources, registry, authorizer, caller: system, unchecked: true });
    const custom = new CustomRoutes({ registry, reservedDomain, warn });
    const documents = new ApiDocuments({
      registry,
      custom,
      resources,
      version,
      authentication: !open,
      maxListSize: list.maxSize,
    });
    this.#kinds = kinds;
    this.#registry = registry;
    this.#resources = resources;
    this.#auth = auth;
    this.schemeManager = registry.manager('');
    this.client = client;
    this.#webhooks = new Webhooks({
      registry,
      resources,
      store: leases,
      clientOf: (fence) =>
        createLocalClient({ resources, registry, authorizer, caller: system, unchecked: true, fence }),
      authors: auth.authors,
      custom,
      authorizer,
      onRightsChange: (listener) => authorizer.onChange(listener),
      reservedDomain,
      replica,
      timers: options.timers,
      random: Math.random,
      logger,
      options: options.webhook,
      tracing,
    });
    this.#definitions =
      definitions &&
      new Definitions({
        registry,
        resources,
        store: leases,
        model: definitions,
        hooks,
        reservedDomain,
        replica,
        timers: options.timers,
        logger,
      });
    // It looks at the objects of all models.
    const collected = options.models.length === 0 ? kinds : undefined;
    this.#collector =
      collected &&
      new Collector({
        registry,
        resources,
        store: leases,
        kinds: collected,
        reservedDomain,
        replica,
        timers: options.timers,
        logger,
        eventTtl: options.kube.eventTtl,
      });
    this.#plugins = new PluginHost(
      {
        registry,
        resources,
        modelStates: this.#modelStates,
        custom,
        store: leases,
        client,
        clientOf: (plugin, fence) => clientOf({ identity: pluginIdentity(plugin), origin: 'plugin', plugin }, fence),
        authenticators: {
          add: (owner, authenticate) => auth.registerAuthenticator(owner, authenticate),
          remove: (owner) => auth.removeAuthenticators(owner),
        },
        rights: { declare: (plugin, objects) => auth.declareObjects(plugin, objects) },
        timers: options.timers,
        logger,
        reservedDomain,
        observe: ({ controller, outcome, latency, duration }) =>
          this.#metrics.observeReconcile(controller, outcome, latency / 1000, duration / 1000),
        tracing,
      },
      {
        ...pluginHost,
        sources: options.sources,
        folder: options.pluginFolder,
        base: process.cwd(),
        version,
        config: options.pluginConfig,
        replica,
      },
    );
    const { enabled, readOnly, maxCalls, maxAnswerBytes } = options.mcp;
    this.#agents = enabled
      ? new McpEndpoint({
          version,
          readOnly,
          maxCalls,
          limits: options.http,
          cors: options.cors,
          clientOf: ({ id, address, request, span }) =>
            createClient({
              url: 'http://localhost',
              fetch: this.#app.innerFetch({ address, maxAnswerBytes }),
              headers: {
                'accept-language': 'en',
                'x-request-id': id,
                ...span?.headers(),
                ...(request.headers.authorization !== undefined && { authorization: request.headers.authorization }),
              },
              timeout: options.http.requestTimeout,
              retry: false,
            }),
        })
      : undefined;
    this.#app = createApp({
      registry,
      resources,
      yaml: this.#yaml,
      custom,
      documents,
      authenticate: open ? () => everybody : (request) => auth.authenticate(request as Credentials),
      canI: (identity, body, renewed) => auth.canI(identity, body, renewed),
      limiter: auth.rateLimiter,
      console: options.console.enabled,
      kube: namespaces
        ? new Kube({
            namespaces,
            prefix: options.kube.path,
            version,
            registry,
            resources,
            authorizer,
            reservedDomain,
            health: () => this.readiness(),
            turns: resources.turns,
            watches: resources.watches,
            limits: { ...options.http, body: options.kube.maxBodyBytes },
            yaml: this.#yaml,
            patchLimits,
            continueTtl: options.kube.continueTtl,
            maxBufferBytes: watch.maxBufferBytes,
            stallTimeout: watch.stallTimeout,
            now,
            monotonicNow,
            random: Math.random,
          })
        : undefined,
      agents: this.#agents,
      tracing,
      ...(!open && {
        signIn: {
          sessions: () => auth.sessions,
          cookie: auth.cookie,
          logins: auth.logins,
          logger,
          authenticate: auth.authenticate,
          limiter: auth.rateLimiter,
          url: () => this.#url,
          now,
          limits: options.http,
        },
      }),
      ...(auth.audit.enabled && { answered: (answer: Answered) => auth.audit.answered(answer) }),
      operator: {
        options: () => listOptions(options.given),
        about: () => this.#about(),
        plugin: (name) => this.#plugins.describe(name),
      },
      audit: createAuditRoute({
        log: auth.audit,
        authorizer,
        onStop: (callback) => resources.watches.onStop(callback),
        maxBufferBytes: watch.maxBufferBytes,
        stallTimeout: watch.stallTimeout,
        bookmarkInterval: watch.bookmarkInterval,
        monotonicNow,
      }),
      authorizer,
      clientOf,
      health: () => this.readiness(),
      metrics: this.#metrics,
      samples: this.#samples,
      logger,
      clock: { now, monotonicNow },
      timers: options.timers,
      certificate: options.certificate,
      random: Math.random,
      limits: options.http,
      maxListSize: list.maxSize,
      maxListBytes: list.maxBytes,
      keptPageBytes: Math.min(keptPageBytes, cache.maxBytes),
      cors: options.cors,
      ...(open && { hosts: [options.host, ...options.hosts] }),
      accessLog: options.accessLog,
      watch: createWatchRoute({
        watches: resources.watches,
        livePages: resources.livePages,
        authorizer,
        maxBufferBytes: watch.maxBufferBytes,
        maxListBytes: list.maxBytes,
        stallTimeout: watch.stallTimeout,
        monotonicNow,
      }),
    });
    measureService(this.#metrics, {
      resources,
      modelStates: this.#modelStates,
      plugins: this.#plugins,
      webhooks: this.#webhooks,
      agents: this.#agents,
    });
    this.#stopRetention = [...stores.values()].map((one) => startRetention({ store: one, now, ...changeLog, logger }));
  }

  async open(): Promise<void> {
    await this.#agents?.load();
    const { feed } = this.#resources;
    await this.#resources.start();
    if (this.#kinds) await makeDefaultNamespace(this.client, this.#kinds);
    await this.#auth.start({
      feed,
      client: this.client,
      clientOf: (caller) =>
        createLocalClient({
          resources: this.#resources,
          registry: this.#registry,
          authorizer: this.#auth.authorizer,
          caller,
          unchecked: true,
        }),
      firstStart: {
        isPast: async () => (await this.#store.tokens()).leases.some(({ name }) => name === firstStartLease),
        remember: async () => {
          await this.#store.acquireLease(firstStartLease, this.#replica, 1, this.#options.timers.now());
        },
      },
      scan: async (type, after, limit) => {
        const resource = this.#resources.model(this.#registry.schemeOf(type));
        await resource.ready;
        return this.#store.scan(resource.memory.number, after, limit);
      },
    });
  }

  async start(): Promise<{ url: string; administratorToken?: string }> {
    const { host, port, listenWhenReady } = this.#options;
    const listen = async (): Promise<void> => {
      this.#url = (await this.#app.listen({ host, port })).url;
    };
    if (!listenWhenReady) await listen();
    await this.#definitions?.start();
    await this.#plugins.start();
    await Promise.all(this.#resources.all().map((resource) => resource.ready));
    this.#assertGoesOn();
    await this.#webhooks.start();
    this.#assertGoesOn();
    await this.#collector?.start();
    this.#assertGoesOn();
    await this.#definitions?.lead();
    const administratorToken = await this.#auth.bootstrap();
    await this.#auth.tried();
    this.#assertGoesOn();
    this.#status = 'ready';
    for (const { snapshots, feed } of this.#resources.places)
      snapshots?.start(feed, () => this.#resources.all().filter(({ place }) => place.feed === feed));
    if (listenWhenReady) await listen();
    return { url: this.#url, ...(administratorToken !== undefined && { administratorToken }) };
  }

  #assertGoesOn(): void {
    if (this.#stopping) throw new Error('the service was stopped during its start');
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#shutDown();
    return this.#stopping;
  }

  async #shutDown(): Promise<void> {
    this.#status = 'stopping';
    this.#app.drain();
    this.#auth.drain();
    for (const stop of this.#stopRetention) stop();
    this.#resources.watches.stop();
    const resources = this.#resources.all();
    await Promise.all([
      this.#app.stop(),
      this.#plugins.stop(this.#options.pluginHost.stopTimeout / 2),
      this.#webhooks.stop(),
      this.#collector?.stop(),
      this.#definitions?.stop(),
    ]);
    await this.#yaml.close();
    await this.#modelStates.stop();
    await this.#auth.stop();
    for (const { snapshots, feed } of this.#resources.places)
      await snapshots?.stop(
        feed,
        resources.filter(({ place }) => place.feed === feed),
      );
    await this.#resources.stop();
    await Promise.all(this.#resources.places.map(({ store }) => store.close()));
    this.#metrics.close();
    this.#samples.close();
    this.#logger.info('Stopped');
  }

  /** False: other processes do. */
  #serves({ plural, groupVersionKind: { group } }: Scheme): boolean {
    const { models, reservedDomain } = this.#options;
    if (models.length === 0 || isServiceGroup(group, reservedDomain)) return true;
    return models.includes(`${group}/*`) || models.includes(`${group}/${plural}`);
  }

  /** By what it is known that index functions are those of before. */
  #codeOf(scheme: Scheme): string | undefined {
    const { reservedDomain, indexSnapshots } = this.#options;
    if (scheme.definition) return scheme.definition.code;
    const owner = this.#registry.ownerOf(scheme) ?? '';
    if (owner !== '') return this.#plugins.codeOf(owner) ?? indexSnapshots.codeVersion;
    return isReservedGroup(scheme.groupVersionKind.group, reservedDomain) ? '' : indexSnapshots.codeVersion;
  }

  readiness(): Readiness {
    const plugins = this.#plugins.states();
    // With several replicas, the others go on with what is active: this one takes no part before it can.
    const models = this.#resources
      .state()
      .map(({ indexes, ...model }) => (indexes.length > 0 ? { ...model, indexes } : model));
    const isHeldBack =
      this.#store.shared && plugins.some(({ state, reason }) => state === 'FAILED' && reason === 'IncompatibleModel');
    const isOutdated = models.some(({ state }) => state === 'outdated');
    const isAway = !this.#resources.feed.reachable;
    const status = isAway ? 'unavailable' : isHeldBack || isOutdated ? 'outdated' : this.#status;
    const { places } = this.#resources;
    const stores = places.map(({ name, feed }) => ({
      name,
      state: feed.reachable ? ('ready' as const) : ('unavailable' as const),
    }));
    return {
      status: this.#status === 'ready' ? status : this.#status,
      models,
      plugins,
      ...(places.length > 1 && { stores }),
    };
  }

  #about(): object {
    const stores = this.#resources.places.slice(1);
    return {
      version,
      node: process.version,
      platform: `${process.platform} ${process.arch}`,
      replica: this.#replica,
      uptime: Math.floor(process.uptime()),
      authentication: this.#options.auth !== false,
      database: this.#store.describe(),
      ...(stores.length > 0 && {
        stores: Object.fromEntries(stores.map(({ name, store }) => [name, store.describe()])),
      }),
      shared: this.#store.shared,
      revision: this.#resources.feed.applied,
      readiness: this.readiness(),
    };
  }

  building(): BuildProgress {
    const all = this.#resources.all().map(({ memory }) => memory.building);
    return {
      done: all.reduce((sum, { done }) => sum + done, 0),
      objects: all.reduce((sum, { objects }) => sum + objects, 0),
    };
  }
}

function snapshotFolder(
  { models, indexSnapshots: { enabled, dir } }: ResolvedOptions,
  database: ResolvedOptions['database'],
): SnapshotFolder | undefined {
  const path = enabled ? snapshotPath(typeof database === 'string' ? database : undefined, dir) : undefined;
  return path === undefined ? undefined : SnapshotFolder.open(path, models);
}
