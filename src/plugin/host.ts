/**
 * All plugins of one process: when each starts and stops (docs/reference/plugins.md). `instance.ts` is one life of one plugin,
 * `sources.ts` where it comes from, `dependencies.ts` what it waits for, `status.ts` what is told of it.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ControllerStatus } from '../controller/controller.ts';
import type { Fence } from '../controller/lease.ts';
import type { Text } from '../errors.ts';
import { KindredError, messageOf } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { typeNameOf } from '../model/scheme.ts';
import type { Logger } from '../runtime/logger.ts';
import { withoutSecrets } from '../runtime/redact.ts';
import { endsWithin, pause } from '../runtime/timers.ts';
import { dependenciesOf, dependentsOf, notStarted } from './dependencies.ts';
import type { PluginScope } from './faults.ts';
import { watchFaults } from './faults.ts';
import type { DeclaredObject, InstanceOptions, PluginDependencies, Trouble } from './instance.ts';
import { PluginInstance } from './instance.ts';
import { PluginLoader } from './loader.ts';
import { PluginLog } from './log.ts';
import type { Manifest } from './manifest.ts';
import { checkEngine } from './manifest.ts';
import type { PluginObject, PluginState } from './model.ts';
import type { Declared } from './predeclared.ts';
import { PreDeclared, readDeclared } from './predeclared.ts';
import { reloadEndpoint } from './reload.ts';
import type { CodePlugin } from './source.ts';
import { findSources, PluginPackage, watchSources } from './sources.ts';
import { PluginStartError, reasonOf } from './start-error.ts';
import { PluginLease, PluginObjects, PluginStatus } from './status.ts';

export interface PluginHostOptions extends InstanceOptions {
  readonly sources: readonly (string | CodePlugin)[];
  /** Every folder in it that has a `package.json` is a plugin. */
  readonly folder?: string;
  /** Relative sources start here. */
  readonly base: string;
  /** Sources in TypeScript are transformed, and a plugin is reloaded when its sources change. */
  readonly dev: boolean;
  /** Version of the service, for `engines.kindred`. */
  readonly version: string;
  /** `plugins` of the configuration: by name of the plugin. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** One plugin, for `/readyz`. */
export interface PluginSummary {
  readonly name: string;
  readonly state: PluginState;
  readonly reason?: string;
  readonly message?: string;
}

/** One plugin with all that this process knows of it, for `/v3/plugins/<name>`. */
export interface PluginDescription extends PluginSummary {
  readonly displayName?: string;
  readonly version?: string;
  /** The folder or package that it came from; `code` when the program has handed it in. */
  readonly place: string;
  readonly enabled: boolean;
  readonly dependencies: readonly { readonly name: string; readonly range: string; readonly state?: PluginState }[];
  /** Plugins that depend on it. */
  readonly dependents: readonly string[];
  /** `plural.group`. */
  readonly models: readonly string[];
  readonly routes: readonly { readonly method: string; readonly path: string; readonly description?: string }[];
  /** That it brings along. */
  readonly objects: readonly DeclaredObject[];
  readonly controllers: readonly object[];
  /** Without secrets. */
  readonly config?: unknown;
  /** Oldest first. */
  readonly log: readonly object[];
}

const texts = {
  twice: localized('The plugin at {second} has the name "{name}" of the one at {first}, and is not loaded'),
  loadTimeout: localized('Its modules did not load within {limit} ms'),
  unknown: localized('There is no plugin "{name}"'),
} satisfies Record<string, Text>;

/** Milliseconds that a plugin has to stop when those before it took all the time. */
const shutDownLeast = 100;
/** Milliseconds between two looks at what another replica does. */
const leadInterval = 250;

/** One plugin that is known. */
class Installed {
  readonly package: PluginPackage;
  readonly status: PluginStatus;
  readonly lease: PluginLease;
  /** With what its earlier lives have logged. */
  readonly log: PluginLog;
  /** With the lines of the service about it. */
  readonly logger: Logger;
  enabled: boolean;
  /** While it runs. */
  instance: PluginInstance | undefined;
  /** What runs is not the code that was loaded last. */
  isFormer = false;
  /** Starts and stops, one after the other. */
  work: Promise<unknown> = Promise.resolve();
  /** The start under way or to come. */
  starting: Promise<unknown> = Promise.resolve();

  constructor(
    plugin: PluginPackage,
    objects: PluginObjects,
    dependencies: PluginDependencies,
    options: InstanceOptions,
  ) {
    this.package = plugin;
    this.enabled = plugin.manifest?.enabled ?? true;
    this.lease = new PluginLease(plugin.name, dependencies, options, (fence) => {
      this.instance?.lead(fence);
      if (fence) this.status.touch();
    });
    const now = () => dependencies.timers.now();
    this.log = new PluginLog(now);
    this.logger = this.log.around(dependencies.logger);
    this.status = new PluginStatus(plugin, { objects, now, lease: this.lease, isEnabled: () => this.enabled });
  }

  get name(): string {
    return this.package.name;
  }

  get manifest(): Manifest | undefined {
    return this.package.manifest;
  }

  /** What the stored object says of `spec.enabled`, and without one the manifest. */
  isEnabledBy(object: PluginObject | undefined): boolean {
    return object?.spec.enabled ?? this.manifest?.enabled ?? true;
  }
}

export class PluginHost {
  readonly #dependencies: PluginDependencies;
  readonly #options: PluginHostOptions;
  readonly #plugins = new Map<string, Installed>();
  /** Plugins that are not loaded because another has their name. */
  readonly #duplicates: Required<PluginSummary>[] = [];
  readonly #scope = new AsyncLocalStorage<PluginScope>();
  readonly #closing: (() => void)[] = [];
  #loader: PluginLoader | undefined;
  #stopFaults = () => {};
  #objects!: PluginObjects;
  #stopping = false;

  constructor(dependencies: PluginDependencies, options: PluginHostOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /** Resolves when every enabled plugin is STARTED or FAILED and their objects say so. */
  async start(): Promise<void> {
    const { resources, custom, client, reservedDomain, timers, logger } = this.#dependencies;
    const { sources, folder, base, dev } = this.#options;
    const objects = new PluginObjects(this.#dependencies);
    this.#objects = objects;
    custom.register(
      '',
      reloadEndpoint(reservedDomain, objects.model, async (name) => {
        await this.reload(name);
        return client.get(objects.model, name);
      }),
    );
    this.#loader = new PluginLoader({ dev });
    this.#stopFaults = watchFaults({
      scope: this.#scope,
      pluginOf: (file) => this.#all.find((plugin) => plugin.package.has(file))?.name,
      onFault: (plugin, reason, error) => this.report(plugin, reason, error),
    });
    for (const source of await findSources(sources, folder, base)) this.#add(await PluginPackage.read(source, base));
    await objects.resource.ready;
    this.#closing.push(
      resources.feed.subscribe({
        change: (change) => {
          if (change.model === objects.resource.model)
            this.#changed(change.name, change.type, change.object() as unknown as PluginObject);
        },
        resync: () => this.#resync(),
      }),
      resources.onMoved(() => this.#resyncControllers()),
    );
    await Promise.all(this.#all.map((plugin) => this.#readEnabled(plugin)));
    for (const plugin of this.#all) this.#enqueue(plugin);
    for (const {
      name,
      package: { folder },
    } of dev ? this.#all : []) {
      if (folder === undefined) continue;
      const onChange = (file: string) => {
        logger.info({ plugin: name, file }, 'A source changed: the plugin is loaded again');
        void this.reload(name);
      };
      this.#closing.push(watchSources(folder, { timers, logger, onChange }));
    }
    for (const plugin of this.#all) {
      await plugin.work;
      await plugin.status.written();
    }
    for (const plugin of this.#all) {
      if (!plugin.enabled && plugin.manifest) await this.#removeLeftovers(plugin);
    }
    await this.#markAbsent();
  }

  /** The process ends: `stop()` of every plugin, dependents first, within so many milliseconds altogether; nothing is removed. */
  async stop(milliseconds: number): Promise<void> {
    this.#stopping = true;
    const written = this.#objects?.tasks.stop();
    for (const close of this.#closing.splice(0).reverse()) close();
    const end = this.#dependencies.timers.now() + milliseconds;
    const stopped = new Map<Installed, Promise<void>>();
    const shutDown = (plugin: Installed): Promise<void> => {
      const known = stopped.get(plugin);
      if (known) return known;
      // Plugins that depend on each other never started: whichever comes first waits for nobody.
      stopped.set(plugin, Promise.resolve());
      const running = this.#shutDown(plugin, dependentsOf(plugin.name, this.#plugins).map(shutDown), end);
      stopped.set(plugin, running);
      return running;
    };
    await Promise.all(this.#all.map(shutDown));
    await written;
    await Promise.all(this.#all.map(({ lease }) => lease.giveUp()));
    this.#loader?.close();
    this.#stopFaults();
  }

  /** Changes of objects went past unseen. */
  #resyncControllers(): void {
    for (const { instance } of this.#all) instance?.resync();
  }

  /** This replica fell behind what the change log keeps: what it did not see is looked up. */
  #resync(): void {
    this.#resyncControllers();
    for (const plugin of this.#all) {
      const before = plugin.enabled;
      this.#readEnabled(plugin).then(
        () => {
          if (plugin.enabled !== before) this.#enqueue(plugin);
        },
        (err: unknown) =>
          this.#dependencies.logger.warn(
            { err, plugin: plugin.name },
            'Whether the plugin is enabled could not be read',
          ),
      );
    }
  }

  states(): PluginSummary[] {
    return [...this.#all.map(({ name, status }) => ({ name, ...status.shown })), ...this.#duplicates];
  }

  /** One plugin as this process knows it; undefined when there is none of this name. */
  describe(name: string): PluginDescription | undefined {
    const plugin = this.#plugins.get(name);
    if (!plugin) return undefined;
    const { registry, custom } = this.#dependencies;
    const { manifest, instance, status, log } = plugin;
    const { displayName, version, dependencies = {} } = manifest ?? {};
    const config = withoutSecrets(this.#options.config[name]);
    return {
      name,
      ...(displayName !== undefined && { displayName }),
      ...(version !== undefined && { version }),
      place: plugin.package.place,
      enabled: plugin.enabled,
      ...status.shown,
      dependencies: Object.entries(dependencies).map(([other, range]) => {
        const state = this.#plugins.get(other)?.status.state;
        return { name: other, range, ...(state && { state }) };
      }),
      dependents: dependentsOf(name, this.#plugins).map((other) => other.name),
      models: registry.schemes().flatMap((scheme) => (registry.ownerOf(scheme) === name ? [typeNameOf(scheme)] : [])),
      routes: custom.all().flatMap(({ owner, method, path, operation }) => {
        const { description } = operation;
        return owner === name ? [{ method, path, ...(description !== undefined && { description }) }] : [];
      }),
      objects: instance?.declared() ?? [],
      controllers: (instance?.controllers() ?? []).map(({ lastError, ...controller }) => ({
        ...controller,
        ...(lastError && { lastError: { ...lastError, time: new Date(lastError.time).toISOString() } }),
      })),
      ...(config !== undefined && { config }),
      log: log.lines.map((line) => ({ ...line, time: new Date(line.time).toISOString() })),
    };
  }

  /** The same as long as a plugin's code and its configuration are; undefined where the code is in no files. */
  codeOf(name: string): string | undefined {
    const plugin = this.#plugins.get(name);
    const folder = plugin?.package.folder;
    const code = folder === undefined || plugin?.isFormer ? undefined : this.#loader?.codeOf(folder);
    return code && hash('sha256', JSON.stringify([code, this.#options.config[name] ?? null]));
  }

  /** Of the controllers that run in this process. */
  controllers(): ControllerStatus[] {
    return this.#all.flatMap(({ instance }) => instance?.controllers() ?? []);
  }

  /**
   * Loads the plugin's code anew, stops it and starts the new code, if it is enabled; resolves when that is done. Its models go on
   * serving meanwhile. When the new code cannot be started, the former one is started again.
   */
  async reload(name: string): Promise<void> {
    const plugin = this.#plugins.get(name);
    if (!plugin) throw new KindredError('NotFound', texts.unknown, { params: { name } });
    this.#enqueueReload(plugin);
    await plugin.work;
    await plugin.status.written();
  }

  /** Something of this plugin went wrong while it ran: a route that throws, for example. Shown on its Plugin object until its next start. */
  report(name: string, reason: string, error: unknown): void {
    const plugin = this.#plugins.get(name);
    if (!plugin) return;
    plugin.logger.error({ err: error, plugin: name, reason }, 'Error in a plugin');
    plugin.status.report(reason, { reason, message: messageOf(error) });
  }

  /** It starts when these replicas are gone; undefined: it starts. */
  waits(name: string, kind: string, replicas: readonly string[] | undefined): void {
    const message =
      replicas && `${kind} cannot be served beside replicas with another version of the plugin: ${replicas.join(', ')}`;
    this.#plugins
      .get(name)
      ?.status.report(`replicas ${kind}`, message === undefined ? undefined : { reason: 'WaitsForReplicas', message });
  }

  get #all(): Installed[] {
    return [...this.#plugins.values()];
  }

  #add(plugin: PluginPackage): void {
    const { name, folder } = plugin;
    const same = this.#plugins.get(name);
    if (!same) {
      this.#plugins.set(name, new Installed(plugin, this.#objects, this.#dependencies, this.#options));
      return;
    }
    if (folder !== undefined && folder === same.package.folder) return;
    const places = { name, first: same.package.place, second: plugin.place };
    const { reason, message } = new PluginStartError('DuplicateName', texts.twice, places);
    this.#duplicates.push({ name, state: 'FAILED', reason, message });
    same.status.report('name', { reason, message });
    this.#dependencies.logger.error({ plugin: name }, message);
  }

  async #readEnabled(plugin: Installed): Promise<void> {
    plugin.enabled = plugin.isEnabledBy(await this.#objects.read(plugin.name));
  }

  /** Inside the feed. */
  #changed(name: string, type: 'create' | 'update' | 'delete', object: PluginObject): void {
    const plugin = this.#plugins.get(name);
    if (!plugin) {
      if (type === 'create') setImmediate(() => void this.#markAbsent());
      return;
    }
    const { displayName, version } = plugin.manifest ?? {};
    const isWrong =
      object.spec.displayName !== displayName ||
      object.spec.version !== version ||
      // Only the replica that writes the object knows better than what is written.
      (plugin.lease.fence !== undefined && !isDeepStrictEqual(object.status, plugin.status.shown));
    if (type === 'delete' || isWrong) plugin.status.touch();
    const enabled = plugin.isEnabledBy(type === 'delete' ? undefined : object);
    if (enabled === plugin.enabled) return;
    plugin.enabled = enabled;
    this.#enqueue(plugin);
  }

  async #markAbsent(): Promise<void> {
    if (!this.#stopping) await this.#objects.markAbsent((name) => this.#plugins.has(name));
  }

  #enqueue(plugin: Installed): void {
    plugin.work = plugin.work.then(() => this.#settle(plugin));
    if (plugin.enabled) plugin.starting = plugin.work;
  }

  #enqueueReload(plugin: Installed): void {
    plugin.work = plugin.work.then(async () => {
      if (!this.#stopping && plugin.instance && plugin.enabled) await this.#reload(plugin, plugin.instance);
    });
    this.#enqueue(plugin);
  }

  async #settle(plugin: Installed): Promise<void> {
    if (this.#stopping) return;
    if (plugin.enabled && !plugin.instance) await this.#startPlugin(plugin);
    else if (!plugin.enabled && plugin.instance) await this.#stopPlugin(plugin);
    else if (!plugin.enabled && plugin.status.state !== 'STOPPED') {
      plugin.status.forgetTroubles();
      plugin.status.set('STOPPED');
    }
  }

  async #startPlugin(plugin: Installed): Promise<void> {
    this.#forgetTroubles(plugin);
    try {
      await plugin.package.readAgain();
      const { broken, manifest } = plugin.package;
      if (broken) {
        plugin.status.set('FAILED', broken);
        plugin.logger.error({ plugin: plugin.name, ...broken }, 'The plugin could not be started');
        return;
      }
      checkEngine(manifest!, this.#options.version);
      await this.#whenDependenciesRun(plugin);
      if (this.#stopping) return;
      plugin.status.set('STARTING');
      const instance = await this.#inTime(this.#load(plugin, manifest!));
      // Its shutdown had no instance to stop.
      if (this.#stopping) return;
      plugin.instance = instance;
      await instance.start(() => this.#lead(plugin));
    } catch (error) {
      await this.#startFailed(plugin, error);
      return;
    }
    this.#started(plugin);
  }

  #forgetTroubles({ name, status }: Installed): void {
    status.forgetTroubles();
    const clash = this.#duplicates.find((one) => one.name === name);
    if (clash) status.report('name', { reason: clash.reason, message: clash.message });
  }

  async #startFailed(plugin: Installed, error: unknown): Promise<void> {
    const { name, status, logger, lease } = plugin;
    plugin.instance = undefined;
    if (this.#stopping) return;
    status.set('FAILED', troubleOf(error));
    logger.error({ err: error, plugin: name }, 'The plugin could not be started');
    await status.written();
    if (this.#dependencies.store.shared) await lease.giveUp();
  }

  #started({ name, status, logger, manifest }: Installed): void {
    status.set('STARTED');
    logger.info({ plugin: name, version: manifest?.version }, 'Plugin started');
    for (const dependent of dependentsOf(name, this.#plugins)) {
      const { state, reason } = dependent.status.shown;
      if (state === 'FAILED' && reason === 'DependencyNotStarted') this.#enqueue(dependent);
    }
  }

  async #reload(plugin: Installed, former: PluginInstance): Promise<void> {
    const { name, status, logger } = plugin;
    const runs = plugin.manifest;
    const lead = () => this.#lead(plugin);
    const goesOn = ({ reason, message }: Trouble) => {
      plugin.package.keep(runs);
      plugin.isFormer = true;
      logger.error({ plugin: name, reason, message }, 'The plugin could not be loaded again: what ran before goes on');
      status.report('reload', { reason, message: `the new code was not started, what ran before goes on: ${message}` });
      status.set('STARTED');
    };
    let next: PluginInstance;
    try {
      await plugin.package.readAgain();
      const { broken, manifest } = plugin.package;
      if (broken) return goesOn(broken);
      checkEngine(manifest!, this.#options.version);
      await this.#whenDependenciesRun(plugin);
      next = await this.#inTime(this.#load(plugin, manifest!));
    } catch (error) {
      goesOn(troubleOf(error));
      // What ran before goes on only with what it depends on.
      if (!(await this.#dependenciesRun(plugin))) await this.#stopPlugin(plugin);
      return;
    }
    if (this.#stopping) return;
    this.#forgetTroubles(plugin);
    status.set('STARTING');
    await former.handOver();
    if (this.#stopping) return;
    try {
      plugin.instance = next;
      await next.start(lead, former);
    } catch (error) {
      if (this.#stopping) return;
      plugin.instance = former.again();
      try {
        await plugin.instance.start(lead, next);
      } catch (err) {
        if (this.#stopping) return;
        plugin.instance.takeDown();
        logger.error({ err, plugin: name }, 'Nor could what ran before be started again');
        await this.#startFailed(plugin, error);
        return this.#stopDependents(plugin);
      }
      return goesOn(troubleOf(error));
    }
    plugin.isFormer = false;
    this.#started(plugin);
    for (const dependent of dependentsOf(name, this.#plugins)) if (dependent.instance) this.#enqueueReload(dependent);
  }

  async #dependenciesRun(plugin: Installed): Promise<boolean> {
    return this.#whenDependenciesRun(plugin).then(
      () => true,
      () => false,
    );
  }

  /** @throws PluginStartError when one of them cannot run */
  async #whenDependenciesRun(plugin: Installed): Promise<void> {
    for (const other of dependenciesOf(plugin, this.#plugins)) {
      const { status } = other;
      if (other.enabled && (status.state === 'RESOLVED' || status.state === 'STARTING')) await other.starting;
      if (status.state !== 'STARTED') throw notStarted(other.name, status.state);
    }
  }

  async #load(plugin: Installed, manifest: Manifest): Promise<PluginInstance> {
    const { name, status } = plugin;
    const { folder, source } = plugin.package;
    let declared: Declared[] = [];
    let exported: unknown;
    if (folder === undefined) exported = (source as CodePlugin).plugin;
    else {
      declared = await readDeclared(folder);
      exported = await this.#scope.run({ plugin: name }, () => this.#loader!.load(folder, manifest));
    }
    return new PluginInstance({
      ...this.#dependencies,
      logger: plugin.logger,
      manifest,
      exported,
      declared,
      config: this.#options.config[name],
      options: this.#options,
      scope: this.#scope,
      isPlugin: (other) => this.#plugins.has(other),
      onTrouble: (about, trouble) => status.report(about, trouble),
    });
  }

  /** Code that is loaded runs already: a module can wait for ever. */
  async #inTime<T>(loading: Promise<T>): Promise<T> {
    const limit = this.#options.startTimeout;
    if (await endsWithin(this.#dependencies.timers, limit, loading)) return loading;
    throw new PluginStartError('StartTimeout', texts.loadTimeout, { limit });
  }

  /** Whether this replica applies what is pre-declared: not when another one has, with this same version. */
  async #lead(plugin: Installed): Promise<Fence | 'done elsewhere' | undefined> {
    for (;;) {
      const fence = await plugin.lease.take();
      if (fence) return fence;
      const stored = await this.#objects.read(plugin.name);
      if (stored && stored.spec.version !== plugin.manifest!.version) return undefined;
      if (stored?.status?.state === 'STARTED') return 'done elsewhere';
      await pause(this.#dependencies.timers, leadInterval);
      if (this.#stopping) return 'done elsewhere';
    }
  }

  /** They start again when this plugin does. */
  async #stopDependents(plugin: Installed): Promise<void> {
    const stops = dependentsOf(plugin.name, this.#plugins).map((dependent) => {
      dependent.work = dependent.work.then(async () => {
        if (!dependent.instance) return;
        await this.#stopPlugin(dependent);
        if (!dependent.enabled) return;
        const { reason, message } = notStarted(plugin.name, 'STOPPED');
        dependent.status.set('FAILED', { reason, message });
      });
      return dependent.work;
    });
    await Promise.all(stops);
  }

  async #stopPlugin(plugin: Installed): Promise<void> {
    await this.#stopDependents(plugin);
    const { instance, status } = plugin;
    if (!instance) return;
    status.set('STOPPING');
    const trouble = await instance.stop();
    plugin.instance = undefined;
    status.forgetTroubles();
    status.set('STOPPED', trouble);
    plugin.logger.info({ plugin: plugin.name, ...trouble }, 'Plugin stopped');
  }

  /** Of a plugin that is switched off, what it had declared: a process died in the middle of its stop, or it was switched off while none ran. */
  async #removeLeftovers({ name, lease }: Installed): Promise<void> {
    const fence = await lease.take();
    if (!fence) return;
    const { registry, resources, reservedDomain, logger } = this.#dependencies;
    const dependencies = {
      plugin: name,
      documents: [],
      registry,
      resources,
      reservedDomain,
      isPlugin: () => false,
      onWaiting: () => {},
      logger,
    };
    await new PreDeclared(dependencies).remove(fence).catch((err: unknown) => {
      logger.warn({ err, plugin: name }, 'What the stopped plugin had declared could not be removed');
    });
  }

  async #shutDown(plugin: Installed, dependents: readonly Promise<void>[], end: number): Promise<void> {
    const { timers, logger } = this.#dependencies;
    await Promise.all(dependents);
    await plugin.instance?.shutDown(Math.max(shutDownLeast, end - timers.now())).catch((err: unknown) => {
      logger.warn({ err, plugin: plugin.name }, 'The plugin did not stop as it should');
    });
  }
}

function troubleOf(error: unknown): Trouble {
  return { reason: reasonOf(error), message: messageOf(error) };
}
