/** The only wiring: who gets what, the order of start and stop. */

import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
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
import { definedSchemes } from './kube/crds/stored.ts';
import type { BuiltInKinds } from './kube/kinds.ts';
import { builtInKindHooks, builtInKinds, coordinationGroup } from './kube/kinds.ts';
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
import { modelStateKind, modelStateName } from './plugin/kind.ts';
import type { ModelStateObject } from './plugin/model-state.ts';
import { ModelStates, modelStateHooks } from './plugin/model-states.ts';
import type { CodePlugin } from './plugin/source.ts';
import { readSource } from './plugin/source.ts';
import type { Caller, Identity } from './resource/access.ts';
import { allowAll, system } from './resource/access.ts';
import type { CheckProgress, CheckReport } from './resource/check.ts';
import { checkStore } from './resource/check.ts';
import { createLocalClient } from './resource/client.ts';
import type { ExtensionClient } from './resource/extension-client.ts';
import type { ModelHooks } from './resource/hooks.ts';
import { IndexSnapshots } from './resource/index-snapshots.ts';
import type { BuildProgress } from './resource/memory.ts';
import type { MoveOptions, MoveResult } from './resource/move.ts';
import { moveModel } from './resource/move.ts';
import type { StorePlace } from './resource/place.ts';
import { Placement } from './resource/placement.ts';
import { ResourceRegistry } from './resource/registry.ts';
import { startRetention } from './resource/retention.ts';
import { systemTimers } from './runtime/timers.ts';
import { SnapshotFolder } from './snapshots/folder.ts';
import { snapshotPath } from './snapshots/place.ts';
import { Leases } from './store/leases.ts';
import { openStore } from './store/open.ts';
import type { StoreOptions } from './store/options.ts';
import { defaultStore } from './store/options.ts';
import { sqliteFile } from './store/sqlite-file.ts';
import type { MaybePromise, Store } from './store/store.ts';
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
/** Bytes of list pages that are kept while their model is unchanged, at most as many as of objects. */
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
      isPlaceable: ({ groupVersionKind: { group } }) => !isOfService(group, reservedDomain),
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

/** Whether the models of a group are those of the service itself, and not of plugins or of the program around it. */
function isOfService(group: string, reservedDomain: string): boolean {
  return (
    group === '' || isReservedGroup(group, reservedDomain) || group === coordinationGroup || group === definitionGroup
  );
}

/**
 * Compares what a database holds with the models of these plugins and of the service, and changes nothing: objects with
 * their schemas and index functions, unique values with the objects that have them. No service may use a SQLite file
 * meanwhile. The plugins are started on an empty database in memory, which is how their models become known.
 */
export async function check(
  options: Declaring & Pick<ServiceOptions, 'database'>,
  onProgress?: CheckProgress,
): Promise<CheckReport> {
  const { database } = resolveOptions(options);
  if (typeof database === 'string' && database.startsWith('sqlite:') && !existsSync(sqliteFile(database))) {
    throw new Error(`there is no database ${sqliteFile(database)}`);
  }
  return withModels(options, async (schemes) => {
    const store = await openStore(database);
    try {
      return await checkStore(store, [...schemes, ...(await definedSchemes(store))], onProgress);
    } finally {
      await store.close();
    }
  });
}

/** Of a move: what `moveModel` takes, with the stores as the service is configured. */
export type MoveRequest = Pick<ServiceOptions, 'database' | 'stores' | 'allowUnsafeDurability' | 'reservedDomain'> &
  Pick<MoveOptions, 'model' | 'to' | 'onProgress' | 'attempt' | 'signal' | 'settling'> & {
    /** As the model names it; default: that of the model in the store. */
    readonly kind?: string | undefined;
    /** Told of what an operator should know. */
    readonly warn?: (message: string) => void;
  };

/** Moves the objects of a model to another store, while replicas serve it from database servers. */
export async function move(request: MoveRequest): Promise<MoveResult> {
  const { model, to, kind, onProgress, attempt, signal, settling, warn, ...options } = request;
  const { database, stores: others, allowUnsafeDurability, reservedDomain } = resolveOptions(options);
  const stores = new Map<string, Store>();
  try {
    for (const [name, one] of Object.entries({ [defaultStore]: { database }, ...others }))
      stores.set(name, await openStore(one.database, { allowUnsafeDurability, ...(warn && { warn }) }));
    return await moveModel({
      model,
      to,
      stores,
      kind: kind ?? (await storedKind(stores.values(), model, reservedDomain)),
      now: Date.now,
      ...(onProgress && { onProgress }),
      ...(attempt && { attempt }),
      ...(signal && { signal }),
      ...(settling !== undefined && { settling }),
    });
  } finally {
    await Promise.all([...stores.values()].map((store) => store.close()));
  }
}

/** @param stores the default one first. Throws a plain error when it cannot be known */
async function storedKind(stores: Iterable<Store>, model: string, reservedDomain: string): Promise<string> {
  const dot = model.indexOf('.');
  const [plural, group] = [model.slice(0, dot), model.slice(dot + 1)];
  const [main] = stores;
  const { kind, group: own } = modelStateKind(reservedDomain);
  const models = await main!.models();
  const states = models.find((row) => row.kind === kind && row.group === own);
  for (let after = 0; states !== undefined; ) {
    const rows = await main!.scan(states.number, after, 500);
    const found = rows.find(({ name }) => name === modelStateName(plural, group));
    if (found) return (JSON.parse(Buffer.from(found.bytes).toString()) as ModelStateObject).status!.model.kind;
    if (rows.length === 0) break;
    after = rows.at(-1)!.id;
  }
  const kinds = models.filter((row) => row.group === group).map((row) => row.kind);
  if (kinds.length === 1) return kinds[0]!;
  if (kinds.length === 0) throw new Error(`no store has a model of the group "${group}"`);
  throw new Error(`the group "${group}" has several models (${kinds.join(', ')}): name the one with --kind`);
}

/** The models of plugins, without those of the service. The plugins are started on an empty database in memory. */
export function declaredModels(options: Declaring): Promise<readonly Scheme[]> {
  const { reservedDomain } = resolveOptions(options);
  return withModels(options, async (schemes) =>
    schemes.filter(({ groupVersionKind: { group } }) => !isOfService(group, reservedDomain)),
  );
}

type Declaring = Pick<ServiceOptions, 'plugins' | 'pluginFolder' | 'pluginConfig' | 'pluginHost' | 'reservedDomain'>;

/** Starts plugins on an empty database in memory, which is how their models become known. */
async function withModels<T>(options: Declaring, use: (schemes: readonly Scheme[]) => Promise<T>): Promise<T> {
  const { plugins, pluginFolder, pluginConfig, pluginHost, reservedDomain } = options;
  const declaring = await createService({
    ...(plugins && { plugins }),
    ...(pluginFolder !== undefined && { pluginFolder }),
    ...(pluginConfig && { pluginConfig }),
    ...(pluginHost && { pluginHost }),
    ...(reservedDomain !== undefined && { reservedDomain }),
    database: 'sqlite::memory:',
    port: 0,
    auth: false,
    logger: pino({ level: 'silent' }),
  });
  try {
    await declaring.start();
    const failed = declaring.readiness().plugins.find(({ state }) => state === 'FAILED');
    if (failed) throw new Error(`the plugin ${failed.name} cannot be started: ${failed.message ?? failed.reason}`);
    return await use(declaring.schemeManager.schemes());
  } finally {
    await declaring.stop();
  }
}

export { findPackage } from './plugin/loader.ts';
export type { CheckReport } from './resource/check.ts';
export { type ConversionReport, tryConversions } from './resource/conversion-trial.ts';
export { checkObjects, type ObjectReport, type Offence } from './resource/object-check.ts';
export { shownUrl } from './runtime/shown-url.ts';
export { type MigrateProgress, migrate } from './store/migrate.ts';
/** Copies of a database: a SQLite file at one moment, and back; from one database into another. */
export { afterRestore, backup, restore } from './store/sqlite/backup.ts';

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
        options: options.indexSnapshots,
        keptChanges: changeLog.maxCount,
        replica,
        mayRest: ({ groupVersionKind: { group } }: Scheme) => !isOfService(group, reservedDomain),
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
    resources.feed.subscribe({ unregistered: (change) => placement.changed(change) });
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
    this.#measure();
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
    await this.#webhooks.start();
    await this.#collector?.start();
    await this.#definitions?.lead();
    const administratorToken = await this.#auth.bootstrap();
    await this.#auth.tried();
    if (this.#stopping) throw new Error('the service was stopped during its start');
    this.#status = 'ready';
    for (const { snapshots, feed } of this.#resources.places)
      snapshots?.start(feed, () => this.#resources.all().filter(({ place }) => place.feed === feed));
    if (listenWhenReady) await listen();
    return { url: this.#url, ...(administratorToken !== undefined && { administratorToken }) };
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
    if (models.length === 0 || isOfService(group, reservedDomain)) return true;
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

  #measure(): void {
    const resources = this.#resources;
    const metrics = this.#metrics;
    metrics.gauge('kindred_objects', 'Stored objects by model', ['group', 'kind'], () =>
      resources.all().flatMap((resource) => {
        const { group, kind } = resource.scheme.groupVersionKind;
        return resource.memory.isElsewhere ? [] : [{ labels: { group, kind }, value: resource.size }];
      }),
    );
    metrics.gauge('kindred_index_build_progress', 'From 0 to 1; 1 when the indexes are built', ['group', 'kind'], () =>
      resources.state().map(({ group, kind, progress }) => ({ labels: { group, kind }, value: progress })),
    );
    metrics.gauge(
      'kindred_model_idle',
      '1 while the objects of the model are not in memory because nobody asks for them',
      ['group', 'kind'],
      () =>
        resources.all().map(({ memory, scheme: { groupVersionKind } }) => {
          const { group, kind } = groupVersionKind;
          return { labels: { group, kind }, value: memory.isIdle ? 1 : 0 };
        }),
    );
    metrics.gauge(
      'kindred_index_online_progress',
      'From 0 to 1, of indexes that are built while their model serves',
      ['group', 'kind', 'index'],
      () =>
        resources
          .state()
          .flatMap(({ group, kind, indexes }) =>
            indexes.map(({ name, progress }) => ({ labels: { group, kind, index: name }, value: progress })),
          ),
    );
    this.#measureSnapshots();
    metrics.gauge('kindred_model_problems', 'Stored objects that need repair', ['group', 'kind'], () =>
      resources.state().map(({ group, kind, problems }) => ({ labels: { group, kind }, value: problems.length })),
    );
    metrics.gauge(
      'kindred_model_generation',
      'How often another contract of a model became active',
      ['group', 'kind'],
      () =>
        this.#modelStates.active().map(({ scheme, generation }) => {
          const { group, kind } = scheme.groupVersionKind;
          return { labels: { group, kind }, value: generation };
        }),
    );
    metrics.gauge(
      'kindred_model_pending',
      '1 while this process declares another contract than the active one',
      ['group', 'kind'],
      () =>
        this.#modelStates.active().map(({ scheme, isActive }) => {
          const { group, kind } = scheme.groupVersionKind;
          return { labels: { group, kind }, value: isActive ? 0 : 1 };
        }),
    );
    const { places } = resources;
    const of = ({ name }: StorePlace) => ({ labels: { store: name } });
    // While a store is away it has no sample, and the other figures are told all the same.
    const ofStore = (ask: (place: StorePlace) => MaybePromise<number>) => async () => {
      const asked = places.map(async (place) =>
        place.feed.reachable
          ? Promise.try(() => ask(place)).then(
              (value) => [{ ...of(place), value }],
              () => [],
            )
          : [],
      );
      return (await Promise.all(asked)).flat();
    };
    metrics.gauge('kindred_revision', 'Newest revision that this process reflects', ['store'], () =>
      places.map((place) => ({ ...of(place), value: place.feed.applied })),
    );
    metrics.gauge(
      'kindred_feed_lag_revisions',
      'Revisions that the database has and this process does not reflect yet',
      ['store'],
      ofStore(async ({ store, feed }) => Math.max(0, (await store.revision()) - feed.applied)),
    );
    metrics.gauge(
      'kindred_oldest_revision',
      'Oldest revision that a watch can resume after',
      ['store'],
      ofStore(({ store }) => store.oldest()),
    );
    metrics.gauge('kindred_store_reachable', '1 while the store answers', ['store'], () =>
      places.map((place) => ({ ...of(place), value: place.feed.reachable ? 1 : 0 })),
    );
    metrics.counter(
      'kindred_read_anew_total',
      'Times that everything was read anew: the change log did not reach back, or the database had another history',
      ['because', 'store'],
      () =>
        places.flatMap((place) =>
          Object.entries(place.feed.readAnew).map(([because, value]) => ({
            labels: { because, store: place.name },
            value,
          })),
        ),
    );
    metrics.gauge('kindred_writes_waiting', 'Writes that wait for a commit or are in one', ['store'], () =>
      places.map((place) => ({ ...of(place), value: place.queue.length })),
    );
    metrics.gauge('kindred_watches', 'Open watches', [], () => [{ value: resources.watches.size }]);
    if (this.#agents) {
      metrics.gauge('kindred_agent_calls', 'Calls of agents under way', [], () => [{ value: this.#agents!.underWay }]);
    }
    metrics.gauge('kindred_live_page_rows', 'Rows of all live pages that are open', [], () => [
      { value: resources.livePages.rows },
    ]);
    metrics.gauge(
      'kindred_controller_queue',
      'Names that wait for a worker, or for their time',
      ['controller', 'state'],
      () =>
        this.#plugins.controllers().flatMap(({ id, queueDepth, delayed, running }) =>
          Object.entries({ waiting: queueDepth, delayed, running }).map(([state, value]) => ({
            labels: { controller: id, state },
            value,
          })),
        ),
    );
    metrics.gauge('kindred_controller_retries', 'Calls that followed a failure of the same name', ['controller'], () =>
      this.#plugins.controllers().map(({ id, retries }) => ({ labels: { controller: id }, value: retries })),
    );
    metrics.gauge(
      'kindred_controller_last_error',
      'When a call failed last, seconds since the epoch',
      ['controller'],
      () =>
        this.#plugins
          .controllers()
          .flatMap(({ id, lastError }) =>
            lastError ? [{ labels: { controller: id }, value: lastError.time / 1000 }] : [],
          ),
    );
    this.#measureWebhooks();
    metrics.gauge('kindred_store', 'What the store says of itself', ['name', 'store'], () =>
      places.flatMap((place) =>
        Object.entries(place.store.describe()).flatMap(([name, value]) =>
          typeof value === 'number' ? [{ labels: { name, store: place.name }, value }] : [],
        ),
      ),
    );
  }

  #measureWebhooks(): void {
    const metrics = this.#metrics;
    metrics.counter(
      'kindred_webhook_attempts_total',
      'Attempts at deliveries since this process delivers',
      ['webhook', 'outcome'],
      () =>
        this.#webhooks
          .figures()
          .flatMap(({ webhook, attempts }) =>
            Object.entries(attempts).map(([outcome, value]) => ({ labels: { webhook, outcome }, value })),
          ),
    );
    metrics.gauge(
      'kindred_webhook_deliveries_waiting',
      'Deliveries that were read and are not accepted yet',
      ['webhook'],
      () => this.#webhooks.figures().map(({ webhook, waiting }) => ({ labels: { webhook }, value: waiting })),
    );
    metrics.counter('kindred_webhook_deliveries_dropped_total', 'Deliveries that were given up', ['webhook'], () =>
      this.#webhooks.figures().map(({ webhook, dropped }) => ({ labels: { webhook }, value: dropped })),
    );
  }

  #measureSnapshots(): void {
    const { places } = this.#resources;
    if (!places.some(({ snapshots }) => snapshots)) return;
    const perModel = (of: (known: ReturnType<IndexSnapshots['describe']>) => number | undefined) => () =>
      this.#resources.all().flatMap(({ memory, place: { snapshots }, scheme: { groupVersionKind } }) => {
        const value = snapshots && of(snapshots.describe(memory));
        const { group, kind } = groupVersionKind;
        return value === undefined ? [] : [{ labels: { group, kind }, value }];
      });
    const metrics = this.#metrics;
    metrics.gauge(
      'kindred_index_snapshot_bytes',
      'Size of the last snapshot of the indexes',
      ['group', 'kind'],
      perModel(({ bytes }) => bytes),
    );
    metrics.gauge(
      'kindred_index_snapshot_age_seconds',
      'Time since the last snapshot of the indexes was written',
      ['group', 'kind'],
      perModel(({ age }) => age && age / 1_000),
    );
    metrics.gauge(
      'kindred_index_snapshot_restore_seconds',
      'How long the start from a snapshot of the indexes took',
      ['group', 'kind'],
      perModel(({ restoreMs }) => restoreMs && restoreMs / 1_000),
    );
    metrics.gauge(
      'kindred_index_snapshot_shared_age_seconds',
      'Time since the snapshot was made that is in the database',
      ['group', 'kind'],
      perModel(({ sharedAge }) => sharedAge && sharedAge / 1_000),
    );
    metrics.counter(
      'kindred_index_snapshot_rejected_total',
      'Snapshots of the indexes that were not used, by why',
      ['reason', 'store'],
      () =>
        places.flatMap(({ name, snapshots }) =>
          [...(snapshots?.rejected ?? [])].map(([reason, value]) => ({
            labels: { reason, store: name },
            value,
          })),
        ),
    );
  }
}

function snapshotFolder(
  { models, indexSnapshots: { enabled, dir } }: ResolvedOptions,
  database: ResolvedOptions['database'],
): SnapshotFolder | undefined {
  const path = enabled ? snapshotPath(typeof database === 'string' ? database : undefined, dir) : undefined;
  return path === undefined ? undefined : SnapshotFolder.open(path, models);
}
