/**
 * All plugins of one process: their order, their states, their objects of the model `Plugin` (contract section 9).
 * `run.ts` is one life of one plugin; this file decides when one begins and ends.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { existsSync, watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join, resolve, sep } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { ControllerStatus } from '../controller/controller.ts';
import type { Fence } from '../controller/lease.ts';
import { Leader } from '../controller/lease.ts';
import type { Text } from '../errors.ts';
import { KindredError, messageOf } from '../errors.ts';
import type { Model } from '../model/model-type.ts';
import { system } from '../resource/access.ts';
import type { ModelResource } from '../resource/resource.ts';
import { delayAfter } from '../runtime/backoff.ts';
import { endsWithin, pause } from '../runtime/timers.ts';
import type { PluginScope } from './faults.ts';
import { watchFaults } from './faults.ts';
import type { RunOptions, RunParts, Trouble } from './instance.ts';
import { PluginRun } from './instance.ts';
import { findPackage, PluginLoader } from './loader.ts';
import type { Manifest } from './manifest.ts';
import { checkEngine, nameFromPackage, parseManifest, readManifest, satisfies } from './manifest.ts';
import type { PluginObject, PluginState } from './model.ts';
import { pluginModel } from './model.ts';
import type { Declared } from './predeclared.ts';
import { PreDeclared, readDeclared } from './predeclared.ts';
import { Refusal, reasonOf } from './refusal.ts';
import { reloadEndpoint } from './reload.ts';
import type { CodePlugin } from './source.ts';

export interface PluginHostParts extends RunParts {}

export interface PluginHostOptions extends RunOptions {
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

const texts = {
  twice: {
    en: 'The plugin at {second} has the name "{name}" of the one at {first}, and is not loaded',
    zh: '位于 {second} 的插件与位于 {first} 的插件同名 "{name}"，因此未加载',
  },
  missing: {
    en: 'It depends on the plugin "{dependency}" ({range}), which is not there',
    zh: '它依赖插件 "{dependency}"（{range}），但该插件不存在',
  },
  version: {
    en: 'It depends on the plugin "{dependency}" in a version of the range {range}; there is version {version}',
    zh: '它依赖插件 "{dependency}" 的版本范围 {range}；实际版本为 {version}',
  },
  cycle: { en: 'Its dependencies form a cycle: {cycle}', zh: '其依赖关系形成循环：{cycle}' },
  notStarted: {
    en: 'It depends on the plugin "{dependency}", which is {state}',
    zh: '它依赖插件 "{dependency}"，而该插件处于 {state} 状态',
  },
  loadTimeout: { en: 'Its modules did not load within {limit} ms', zh: '其模块在 {limit} 毫秒后仍未加载完成' },
  noFolder: {
    en: 'The folder of plugins "{folder}" cannot be read: {reason}',
    zh: '无法读取插件文件夹 "{folder}"：{reason}',
  },
  unknown: { en: 'There is no plugin "{name}"', zh: '没有名为 "{name}" 的插件' },
} satisfies Record<string, Text>;

const messageLimit = 1_000;
/** Milliseconds between two writes of troubles to a Plugin object. */
const troubleInterval = 1_000;
/** Milliseconds that a plugin has to stop when those before it took all the time. */
const shutDownLeast = 100;
/** Milliseconds between two looks at what another replica does. */
const leadInterval = 250;

interface Entry {
  readonly name: string;
  readonly source: string | CodePlugin;
  /** Undefined for plugins in code. */
  folder: string | undefined;
  manifest: Manifest | undefined;
  /** Why the package cannot be a plugin at all. */
  broken: Trouble | undefined;
  enabled: boolean;
  state: PluginState;
  trouble: Trouble | undefined;
  /** What goes wrong while it runs, by what it is about. */
  readonly troubles: Map<string, Trouble>;
  run: PluginRun | undefined;
  /** Starts and stops, one after the other. */
  work: Promise<unknown>;
  /** The start under way or to come. */
  starting: Promise<unknown>;
  /** Says whether this replica writes the Plugin object and applies what is pre-declared. */
  leader: Leader | undefined;
  writing: Promise<void> | undefined;
  dirty: boolean;
  troubleWritten: number;
  cancelWrite: (() => void) | undefined;
}

export class PluginHost {
  readonly #parts: PluginHostParts;
  readonly #options: PluginHostOptions;
  #loader: PluginLoader | undefined;
  readonly #model: Model<PluginObject>;
  readonly #entries = new Map<string, Entry>();
  /** Plugins that are not loaded because another has their name. */
  readonly #duplicates: PluginSummary[] = [];
  readonly #scope = new AsyncLocalStorage<PluginScope>();
  readonly #closing: (() => void)[] = [];
  #stopFaults = () => {};
  #resource!: ModelResource;
  #stopping = false;

  constructor(parts: PluginHostParts, options: PluginHostOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#model = pluginModel(parts.reservedDomain);
  }

  /** Resolves when every enabled plugin is STARTED or FAILED and their objects say so. */
  async start(): Promise<void> {
    const { registry, resources, custom, client, reservedDomain } = this.#parts;
    this.#resource = resources.model(registry.register(this.#model, undefined, ''));
    custom.register(
      '',
      reloadEndpoint(reservedDomain, this.#model, async (name) => {
        await this.reload(name);
        return client.get(this.#model, name);
      }),
    );
    this.#loader = new PluginLoader({ dev: this.#options.dev });
    this.#stopFaults = watchFaults({
      scope: this.#scope,
      pluginOf: (file) => this.#pluginOf(file),
      onFault: (plugin, reason, error) => this.report(plugin, reason, error),
    });
    for (const source of await this.#sources()) await this.#add(source);
    await this.#resource.ready;
    this.#closing.push(
      resources.feed.subscribe({
        change: (change) => {
          if (change.model === this.#resource.model)
            this.#changed(change.name, change.type, change.object() as unknown as PluginObject);
        },
        resync: () => this.#resync(),
      }),
    );
    await Promise.all([...this.#entries.values()].map((entry) => this.#readEnabled(entry)));
    for (const entry of this.#entries.values()) this.#enqueue(entry);
    for (const entry of this.#options.dev ? this.#entries.values() : []) {
      if (entry.folder !== undefined) this.#watchSources(entry, entry.folder);
    }
    await this.#settled();
    for (const entry of this.#entries.values()) {
      if (!entry.enabled && entry.manifest) await this.#removeLeftovers(entry);
    }
    await this.#markAbsent();
  }

  /** The process ends: `stop()` of every plugin, dependents first, within so many milliseconds altogether; nothing is removed. */
  async stop(milliseconds: number): Promise<void> {
    this.#stopping = true;
    for (const close of this.#closing.splice(0).reverse()) close();
    const end = this.#parts.timers.now() + milliseconds;
    const stopped = new Map<Entry, Promise<void>>();
    const shutDown = (entry: Entry): Promise<void> => {
      const known = stopped.get(entry);
      if (known) return known;
      // Plugins that depend on each other never started: whichever comes first waits for nobody.
      stopped.set(entry, Promise.resolve());
      const running = this.#shutDown(entry, this.#dependents(entry).map(shutDown), end);
      stopped.set(entry, running);
      return running;
    };
    const all = [...this.#entries.values()];
    await Promise.all(all.map(shutDown));
    await Promise.all(all.map((entry) => this.#close(entry)));
    this.#loader?.close();
    this.#stopFaults();
  }

  /** This replica fell behind what the change log keeps: what it did not see is looked up. */
  #resync(): void {
    for (const entry of this.#entries.values()) {
      entry.run?.resync();
      const before = entry.enabled;
      this.#readEnabled(entry).then(
        () => {
          if (entry.enabled !== before) this.#enqueue(entry);
        },
        (err: unknown) =>
          this.#parts.logger.warn({ err, plugin: entry.name }, 'Whether the plugin is enabled could not be read'),
      );
    }
  }

  states(): PluginSummary[] {
    const all = [...this.#entries.values()].map((entry) => ({ name: entry.name, ...statusOf(entry) }));
    return [...all, ...this.#duplicates];
  }

  /** Of the controllers that run in this process. */
  controllers(): ControllerStatus[] {
    return [...this.#entries.values()].flatMap(({ run }) => run?.controllers() ?? []);
  }

  /** Stops the plugin, loads its code anew and starts it, if it is enabled; resolves when that is done. */
  async reload(name: string): Promise<void> {
    const entry = this.#entry(name);
    entry.work = entry.work.then(async () => {
      if (entry.run) await this.#stopEntry(entry);
    });
    this.#enqueue(entry);
    await entry.work;
    await entry.writing;
  }

  /** Something of this plugin went wrong while it ran: a route that throws, for example. Shown on its Plugin object until its next start. */
  report(name: string, reason: string, error: unknown): void {
    const entry = this.#entries.get(name);
    if (!entry) return;
    const message = messageOf(error);
    this.#parts.logger.error({ err: error, plugin: name, reason }, 'Error in a plugin');
    this.#setTrouble(entry, reason, { reason, message });
  }

  #entry(name: string): Entry {
    const entry = this.#entries.get(name);
    if (!entry) throw new KindredError('NotFound', texts.unknown, { name });
    return entry;
  }

  // ── finding ────────────────────────────────────────────────────────────────────────────────────────────

  async #sources(): Promise<(string | CodePlugin)[]> {
    const { sources, folder, base } = this.#options;
    if (folder === undefined) return [...sources];
    const found: string[] = [];
    const names = await readdir(resolve(base, folder)).catch((cause: Error) => {
      throw new KindredError('InvalidPlugin', texts.noFolder, { folder, reason: cause.message }, {}, { cause });
    });
    for (const name of names.sort()) {
      const path = join(resolve(base, folder), name);
      if (existsSync(join(path, 'package.json'))) found.push(path);
    }
    return [...sources, ...found];
  }

  async #add(source: string | CodePlugin): Promise<void> {
    let folder: string | undefined;
    let manifest: Manifest | undefined;
    let broken: Trouble | undefined;
    try {
      if (typeof source === 'string') {
        folder = findPackage(source, this.#options.base);
        manifest = await readManifest(folder);
      } else manifest = codeManifest(source);
    } catch (error) {
      broken = { reason: 'InvalidPackage', message: messageOf(error) };
    }
    const name = manifest?.name ?? nameOfBroken(source);
    const same = this.#entries.get(name);
    if (same) {
      if (folder !== undefined && folder === same.folder) return;
      const error = new Refusal('DuplicateName', texts.twice, {
        name,
        first: placeOf(same.source),
        second: placeOf(source),
      });
      this.#duplicates.push({ name, state: 'FAILED', reason: error.reason, message: error.message });
      this.#setTrouble(same, 'name', { reason: error.reason, message: error.message });
      this.#parts.logger.error({ plugin: name }, error.message);
      return;
    }
    this.#entries.set(name, {
      name,
      source,
      folder,
      manifest,
      broken,
      enabled: manifest?.enabled ?? true,
      state: 'RESOLVED',
      trouble: undefined,
      troubles: new Map(),
      run: undefined,
      work: Promise.resolve(),
      starting: Promise.resolve(),
      leader: undefined,
      writing: undefined,
      dirty: false,
      troubleWritten: 0,
      cancelWrite: undefined,
    });
  }

  #pluginOf(file: string): string | undefined {
    for (const { name, folder } of this.#entries.values()) {
      if (folder !== undefined && file.startsWith(folder + sep)) return name;
    }
    return undefined;
  }

  // ── enabled or not ─────────────────────────────────────────────────────────────────────────────────────

  async #readEnabled(entry: Entry): Promise<void> {
    const stored = await this.#parts.client.fetch(this.#model, entry.name);
    entry.enabled = stored?.spec.enabled ?? entry.manifest?.enabled ?? true;
  }

  /** Inside the feed. */
  #changed(name: string, type: 'create' | 'update' | 'delete', object: PluginObject): void {
    const entry = this.#entries.get(name);
    if (!entry) {
      if (type === 'create') setImmediate(() => void this.#markAbsent());
      return;
    }
    const { displayName, version } = entry.manifest ?? {};
    const isWrong =
      object.spec.displayName !== displayName ||
      object.spec.version !== version ||
      // Only the replica that writes the object knows better than what is written.
      (entry.leader?.fence !== undefined && !isDeepStrictEqual(object.status, statusOf(entry)));
    if (type === 'delete' || isWrong) this.#touch(entry);
    const enabled = type === 'delete' ? (entry.manifest?.enabled ?? true) : (object.spec.enabled ?? true);
    if (enabled === entry.enabled) return;
    entry.enabled = enabled;
    this.#enqueue(entry);
  }

  #enqueue(entry: Entry): void {
    entry.work = entry.work.then(() => this.#settle(entry));
    if (entry.enabled) entry.starting = entry.work;
  }

  async #settled(): Promise<void> {
    for (const entry of this.#entries.values()) {
      await entry.work;
      await entry.writing;
    }
  }

  async #settle(entry: Entry): Promise<void> {
    if (this.#stopping) return;
    if (entry.enabled && !entry.run) await this.#startEntry(entry);
    else if (!entry.enabled && entry.run) await this.#stopEntry(entry);
    else if (!entry.enabled && entry.state !== 'STOPPED') {
      entry.troubles.clear();
      this.#set(entry, 'STOPPED');
    }
  }

  // ── start and stop ─────────────────────────────────────────────────────────────────────────────────────

  async #startEntry(entry: Entry): Promise<void> {
    entry.troubles.clear();
    const clash = this.#duplicates.find(({ name }) => name === entry.name);
    if (clash) entry.troubles.set('name', { reason: clash.reason!, message: clash.message! });
    try {
      if (entry.folder !== undefined) await this.#readAgain(entry);
      if (entry.broken) {
        this.#set(entry, 'FAILED', entry.broken);
        this.#parts.logger.error({ plugin: entry.name, ...entry.broken }, 'The plugin could not be started');
        return;
      }
      const manifest = entry.manifest!;
      checkEngine(manifest, this.#options.version);
      await this.#checkDependencies(entry);
      if (this.#stopping) return;
      this.#set(entry, 'STARTING');
      const run = await this.#inTime(this.#load(entry, manifest));
      entry.run = run;
      await run.start(() => this.#lead(entry));
    } catch (error) {
      entry.run = undefined;
      if (this.#stopping) return;
      this.#set(entry, 'FAILED', { reason: reasonOf(error), message: messageOf(error) });
      this.#parts.logger.error({ err: error, plugin: entry.name }, 'The plugin could not be started');
      await entry.writing;
      await this.#giveUpLead(entry);
      return;
    }
    this.#set(entry, 'STARTED');
    this.#parts.logger.info({ plugin: entry.name, version: entry.manifest?.version }, 'Plugin started');
    for (const dependent of this.#dependents(entry)) {
      if (dependent.state === 'FAILED' && dependent.trouble?.reason === 'DependencyNotStarted')
        this.#enqueue(dependent);
    }
  }

  /** The package may be another one than when it was last looked at. */
  async #readAgain(entry: Entry): Promise<void> {
    try {
      const manifest = await readManifest(entry.folder!);
      if (manifest.name === entry.name) {
        entry.manifest = manifest;
        entry.broken = undefined;
      }
    } catch (error) {
      entry.broken = { reason: 'InvalidPackage', message: messageOf(error) };
    }
  }

  async #load(entry: Entry, manifest: Manifest): Promise<PluginRun> {
    const { folder, source, name } = entry;
    let declared: Declared[] = [];
    let exported: unknown;
    if (folder === undefined) exported = (source as CodePlugin).plugin;
    else {
      declared = await readDeclared(folder);
      exported = await this.#scope.run({ plugin: name }, () => this.#loader!.load(folder, manifest));
    }
    return new PluginRun({
      manifest,
      exported,
      declared,
      config: this.#options.config[name],
      parts: this.#parts,
      options: this.#options,
      scope: this.#scope,
      isPlugin: (other) => this.#entries.has(other),
      onTrouble: (about, trouble) => this.#setTrouble(entry, about, trouble),
    });
  }

  /** Code that is loaded runs already: a module can wait for ever. */
  async #inTime<T>(loading: Promise<T>): Promise<T> {
    const limit = this.#options.startTimeout;
    if (await endsWithin(this.#parts.timers, limit, loading)) return loading;
    throw new Refusal('StartTimeout', texts.loadTimeout, { limit });
  }

  async #checkDependencies(entry: Entry): Promise<void> {
    const cycle = this.#cycleThrough(entry);
    if (cycle) throw new Refusal('DependencyCycle', texts.cycle, { cycle: cycle.join(' → ') });
    for (const [dependency, range] of Object.entries(entry.manifest!.dependencies)) {
      const other = this.#entries.get(dependency);
      if (!other?.manifest) throw new Refusal('DependencyMissing', texts.missing, { dependency, range });
      const { version } = other.manifest;
      if (!satisfies(version, range))
        throw new Refusal('DependencyVersion', texts.version, { dependency, range, version });
      if (other.enabled && (other.state === 'RESOLVED' || other.state === 'STARTING')) await other.starting;
      if (other.state !== 'STARTED')
        throw new Refusal('DependencyNotStarted', texts.notStarted, { dependency, state: other.state });
    }
  }

  /** Names from the plugin back to itself, if its dependencies lead there. */
  #cycleThrough(entry: Entry): string[] | undefined {
    const seen = new Set<string>();
    const search = (name: string, trail: readonly string[]): string[] | undefined => {
      if (trail.length > 1 && name === entry.name) return [...trail];
      if (seen.has(name)) return undefined;
      seen.add(name);
      for (const next of Object.keys(this.#entries.get(name)?.manifest?.dependencies ?? {})) {
        const found = search(next, [...trail, next]);
        if (found) return found;
      }
      return undefined;
    };
    return search(entry.name, [entry.name]);
  }

  #dependents({ name }: Entry): Entry[] {
    return [...this.#entries.values()].filter(
      (one) => one.name !== name && Object.hasOwn(one.manifest?.dependencies ?? {}, name),
    );
  }

  /** Dependents are stopped first; they start again when this plugin does. */
  async #stopEntry(entry: Entry): Promise<void> {
    const stops = this.#dependents(entry).map((dependent) => {
      dependent.work = dependent.work.then(async () => {
        if (!dependent.run) return;
        await this.#stopEntry(dependent);
        if (!dependent.enabled) return;
        const error = new Refusal('DependencyNotStarted', texts.notStarted, {
          dependency: entry.name,
          state: 'STOPPED',
        });
        this.#set(dependent, 'FAILED', { reason: error.reason, message: error.message });
      });
      return dependent.work;
    });
    await Promise.all(stops);
    const { run } = entry;
    if (!run) return;
    this.#set(entry, 'STOPPING');
    const trouble = await run.stop();
    entry.run = undefined;
    entry.troubles.clear();
    this.#set(entry, 'STOPPED', trouble);
    this.#parts.logger.info({ plugin: entry.name, ...trouble }, 'Plugin stopped');
  }

  /** Of a plugin that is switched off, what it had declared: a process died in the middle of its stop, or it was switched off while none ran. */
  async #removeLeftovers(entry: Entry): Promise<void> {
    const fence = await this.#takeLead(entry);
    if (!fence) return;
    const { registry, resources, reservedDomain, logger } = this.#parts;
    const parts = {
      plugin: entry.name,
      documents: [],
      registry,
      resources,
      reservedDomain,
      isPlugin: () => false,
      logger,
    };
    await new PreDeclared(parts).remove(fence).catch((err: unknown) => {
      logger.warn({ err, plugin: entry.name }, 'What the stopped plugin had declared could not be removed');
    });
  }

  async #shutDown(entry: Entry, dependents: readonly Promise<void>[], end: number): Promise<void> {
    await Promise.all(dependents);
    await entry.run?.shutDown(Math.max(shutDownLeast, end - this.#parts.timers.now())).catch((err: unknown) => {
      this.#parts.logger.warn({ err, plugin: entry.name }, 'The plugin did not stop as it should');
    });
  }

  async #close(entry: Entry): Promise<void> {
    entry.cancelWrite?.();
    await entry.writing;
    await entry.leader?.stop();
  }

  // ── one replica leads ──────────────────────────────────────────────────────────────────────────────────

  async #takeLead(entry: Entry): Promise<Fence | undefined> {
    if (!entry.leader) {
      const { store, timers, logger } = this.#parts;
      entry.leader = new Leader({
        store,
        name: `plugin/${entry.name}`,
        holder: this.#options.replica,
        timers,
        times: this.#options.leaseTimes,
        onAcquired: (fence) => {
          entry.run?.lead(fence);
          this.#touch(entry);
        },
        onLost: () => entry.run?.lead(undefined),
        onError: (err) => logger.warn({ err, plugin: entry.name }, 'The lease of the plugin could not be taken'),
      });
      await entry.leader.start();
    }
    return entry.leader.fence;
  }

  async #giveUpLead(entry: Entry): Promise<void> {
    if (!this.#parts.store.shared) return;
    await entry.leader?.stop();
    entry.leader = undefined;
  }

  /** Whether this replica applies what is pre-declared: not when another one has, with this same version. */
  async #lead(entry: Entry): Promise<Fence | 'done elsewhere' | undefined> {
    for (;;) {
      const fence = await this.#takeLead(entry);
      if (fence) return fence;
      const stored = await this.#parts.client.fetch(this.#model, entry.name);
      if (stored && stored.spec.version !== entry.manifest!.version) return undefined;
      if (stored?.status?.state === 'STARTED') return 'done elsewhere';
      await pause(this.#parts.timers, leadInterval);
      if (this.#stopping) return 'done elsewhere';
    }
  }

  // ── Plugin objects ─────────────────────────────────────────────────────────────────────────────────────

  #set(entry: Entry, state: PluginState, trouble?: Trouble): void {
    entry.state = state;
    entry.trouble = trouble;
    this.#touch(entry);
  }

  #setTrouble(entry: Entry, about: string, trouble: Trouble | undefined): void {
    const before = entry.troubles.get(about);
    if (before?.reason === trouble?.reason && before?.message === trouble?.message) return;
    if (trouble) entry.troubles.set(about, trouble);
    else entry.troubles.delete(about);
    const wait = entry.troubleWritten + troubleInterval - this.#parts.timers.now();
    if (wait <= 0) {
      entry.troubleWritten = this.#parts.timers.now();
      this.#touch(entry);
    } else {
      entry.cancelWrite ??= this.#parts.timers.after(wait, () => {
        entry.cancelWrite = undefined;
        entry.troubleWritten = this.#parts.timers.now();
        this.#touch(entry);
      });
    }
  }

  /** The object is to say what is true now. */
  #touch(entry: Entry): void {
    entry.dirty = true;
    if (this.#stopping || !this.#resource) return;
    entry.writing ??= this.#write(entry).finally(() => {
      entry.writing = undefined;
      if (entry.dirty && !this.#stopping) this.#touch(entry);
    });
  }

  async #write(entry: Entry): Promise<void> {
    for (let attempt = 1; entry.dirty; attempt += 1) {
      try {
        const fence = await this.#takeLead(entry);
        if (!fence) {
          entry.dirty = false;
          return;
        }
        entry.dirty = false;
        await this.#writeObject(entry, fence);
      } catch (err) {
        entry.dirty = true;
        if (this.#stopping) return;
        if (attempt % 10 === 0)
          this.#parts.logger.warn({ err, plugin: entry.name }, 'The Plugin object could not be written');
        await pause(this.#parts.timers, delayAfter(attempt, { minDelay: 20, maxDelay: 5_000 }));
      }
    }
  }

  async #writeObject(entry: Entry, fence: Fence): Promise<void> {
    const { name, manifest } = entry;
    const options = { caller: system, fence };
    const described = { displayName: manifest?.displayName ?? name, version: manifest?.version };
    let stored = await this.#parts.client.fetch(this.#model, name);
    if (!stored) {
      const spec = { enabled: entry.enabled, ...described };
      stored = parse((await this.#resource.create({ metadata: { name }, spec }, options)).stored.bytes);
    } else if (stored.spec.displayName !== described.displayName || stored.spec.version !== described.version) {
      stored = parse(
        (await this.#resource.patch(name, { spec: described }, { ...options, kind: 'merge' })).stored.bytes,
      );
    }
    const status = statusOf(entry);
    const { status: before } = stored;
    if (before?.state === status.state && before.reason === status.reason && before.message === status.message) return;
    await this.#resource.update(name, { ...stored, metadata: { name }, status }, { ...options, status: true });
  }

  /** Objects of plugins that are not installed say so, unless another replica has them. */
  async #markAbsent(): Promise<void> {
    const { client, logger } = this.#parts;
    if (this.#parts.store.shared || this.#stopping) return;
    try {
      for await (const { metadata, status } of client.listAll(this.#model)) {
        if (this.#entries.has(metadata.name) || status?.reason === 'NotInstalled') continue;
        const absent = { state: 'STOPPED', reason: 'NotInstalled', message: 'There is no plugin of this name' };
        await this.#resource.patch(metadata.name, { status: absent }, { caller: system, kind: 'merge', status: true });
      }
    } catch (err) {
      logger.warn({ err }, 'Objects of plugins that are not installed could not be marked');
    }
  }

  // ── development ────────────────────────────────────────────────────────────────────────────────────────

  /** Loads a plugin again soon after one of its files changed. */
  #watchSources(entry: Entry, folder: string): void {
    const { timers, logger } = this.#parts;
    let cancel = () => {};
    const watcher = watch(folder, { recursive: true }, (_event, file) => {
      if (file === null || isNoSource(file)) return;
      cancel();
      cancel = timers.after(reloadDelay, () => {
        logger.info({ plugin: entry.name, file }, 'A source changed: the plugin is loaded again');
        void this.reload(entry.name);
      });
    });
    watcher.on('error', (err) =>
      logger.warn({ err, plugin: entry.name }, 'The sources of the plugin are no longer watched'),
    );
    this.#closing.push(() => {
      cancel();
      watcher.close();
    });
  }
}

/** Editors write a file in several steps. Milliseconds. */
const reloadDelay = 100;

/** Installed packages, hidden files, editors' and databases' own ones. */
function isNoSource(file: string): boolean {
  return (
    file.split(sep).some((part) => part === 'node_modules' || part.startsWith('.')) ||
    /(~|\.(swp|tmp|log|db|db-\w+))$/.test(file)
  );
}

function statusOf(entry: Entry): NonNullable<PluginObject['status']> {
  const [first] = entry.troubles.values();
  const trouble = entry.trouble ?? first;
  if (!trouble) return { state: entry.state };
  return { state: entry.state, reason: trouble.reason, message: trouble.message.slice(0, messageLimit) };
}

function codeManifest({ name, version, displayName, dependencies, enabled }: CodePlugin): Manifest {
  return parseManifest({ name, version, kindred: { name, displayName, dependencies, enabled } }, `plugin "${name}"`);
}

/** A name for a package that has none: as much of its folder's as a name can have. */
function nameOfBroken(source: string | CodePlugin): string {
  const text = typeof source === 'string' ? basename(source) : String(source.name);
  const name = nameFromPackage(text)
    .slice(0, 63)
    .replace(/^-+|-+$/g, '');
  return name === '' ? 'plugin' : name;
}

function placeOf(source: string | CodePlugin): string {
  return typeof source === 'string' ? source : 'code';
}

function parse(bytes: Buffer): PluginObject {
  return JSON.parse(bytes.toString()) as PluginObject;
}
