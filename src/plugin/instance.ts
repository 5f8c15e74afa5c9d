/** One life of one plugin, from `start()` until everything it registered is taken down (docs/reference/plugins.md). */

import type { AsyncLocalStorage } from 'node:async_hooks';
import { format } from 'node:util';
import type { ControllerObserver, ControllerStatus } from '../controller/controller.ts';
import { RunningController } from '../controller/controller.ts';
import type { Fence, LeaseStore, LeaseTimes } from '../controller/lease.ts';
import type { ControllerSpec, Reconciler } from '../controller/reconciler.ts';
import { setUp } from '../controller/reconciler.ts';
import type { Text } from '../errors.ts';
import { isPassing, KindredError, messageOf } from '../errors.ts';
import type { CustomRoutes } from '../http/custom/routes.ts';
import { localized } from '../locales/localized.ts';
import type { SchemeManager, SchemeRegistry } from '../model/registry.ts';
import { Scheme, typeNameOf } from '../model/scheme.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';
import type { ResourceRegistry } from '../resource/registry.ts';
import type { Logger } from '../runtime/logger.ts';
import { retry } from '../runtime/retry.ts';
import type { Timers } from '../runtime/timers.ts';
import { endsWithin } from '../runtime/timers.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { PluginScope } from './faults.ts';
import type { Manifest } from './manifest.ts';
import type { Authenticate, PluginContext, PluginLogger } from './plugin.ts';
import { instantiate } from './plugin.ts';
import type { Declared } from './predeclared.ts';
import { PreDeclared } from './predeclared.ts';
import { PluginStartError, reasonOf } from './start-error.ts';

/** The authenticators that plugins bring, in the order in which they are asked. */
interface Authenticators {
  add(owner: string, authenticate: Authenticate): void;
  remove(owner: string): void;
}

/** What a plugin may do without any role, beside everything with its own models (docs/reference/plugins.md). */
interface Rights {
  /** The objects that it pre-declares, all of them; an empty list takes that away. */
  declare(plugin: string, objects: readonly { group: string; resource: string; name: string }[]): void;
}

/** What the host gives to every instance. */
export interface PluginDependencies {
  readonly registry: SchemeRegistry;
  readonly resources: ResourceRegistry;
  /** Makes declarations active that are checked. */
  readonly modelStates: {
    /** @returns what ends when other replicas let them be active; undefined when they are */
    activate(schemes: readonly Scheme[]): Promise<{ readonly done: Promise<unknown> } | undefined>;
    /** It cannot be served before other replicas are gone. */
    isHeldUp(scheme: Scheme): boolean;
  };
  readonly custom: CustomRoutes;
  readonly store: LeaseStore;
  /** Acts as the service. */
  readonly client: ExtensionClient;
  /** Acts as the plugin; `fence` is asked before every write and refuses it by throwing. */
  readonly clientOf: (plugin: string, fence: () => Fence | undefined) => ExtensionClient;
  readonly authenticators: Authenticators;
  readonly rights: Rights;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly reservedDomain: string;
  readonly observe?: ControllerObserver;
  readonly tracing?: Tracing | undefined;
}

export interface InstanceOptions {
  /** Milliseconds. */
  readonly startTimeout: number;
  /** Milliseconds, for the controllers to finish and for `stop()`, each. */
  readonly stopTimeout: number;
  readonly leaseTimes?: Partial<LeaseTimes>;
  /** Names this process among the replicas. */
  readonly replica: string;
}

/** An object that the plugin brings along. */
export interface DeclaredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** `plural.group`; absent while there is no such model. */
  readonly type?: string;
  /** Below the package's root. */
  readonly file: string;
  readonly line: number;
  /** As this process wrote it; absent where another one did, or where it is left alone. */
  readonly version?: number;
  readonly generation?: number;
}

/** A controller and what it is about. */
export interface DescribedController extends ControllerStatus {
  /** `plural.group` of the model that it reconciles, then of those that it watches besides. */
  readonly models: readonly string[];
}

export interface Trouble {
  readonly reason: string;
  readonly message: string;
}

const texts = {
  ended: localized('The plugin "{plugin}" is stopped: it can register and write nothing any more'),
  startTimeout: localized('start() did not finish within {limit} ms'),
  controllerTwice: localized(
    'The plugin has two controllers named "{name}": give one another name with builder.name()',
  ),
  authenticator: localized('registerAuthenticator takes a function'),
} satisfies Record<string, Text>;

/** Milliseconds that calls under way have to end when the controllers' time is over. */
const endingLeast = 1_000;

export interface InstanceDependencies extends PluginDependencies {
  readonly manifest: Manifest;
  /** What the package exports by default. */
  readonly exported: unknown;
  readonly declared: readonly Declared[];
  readonly config: unknown;
  readonly options: InstanceOptions;
  readonly scope: AsyncLocalStorage<PluginScope>;
  readonly isPlugin: (name: string) => boolean;
  /** Something goes wrong while the plugin runs; undefined: that is over. */
  readonly onTrouble: (about: string, trouble: Trouble | undefined) => void;
}

interface Registered {
  readonly spec: ControllerSpec;
  readonly reconciler: Reconciler;
  readonly id: string;
  readonly models: DescribedController['models'];
  running: RunningController | undefined;
}

export class PluginInstance {
  readonly #dependencies: InstanceDependencies;
  readonly #name: string;
  readonly #logger: Logger;
  readonly #preDeclared: PreDeclared;
  readonly #controllers: Registered[] = [];
  readonly #stopListening: () => void;
  /** Rejects when the process ends. */
  readonly #ending = Promise.withResolvers<never>();
  #functions: { start(): unknown; stop(): unknown } | undefined;
  /** The plugin may register and write. */
  #alive = true;
  #controllersRun = false;
  /** The leader's fence; undefined at other replicas. */
  #fence: Fence | undefined;
  /** Models of the former life that this one has not registered yet. */
  #left: Scheme[] = [];
  /** Models of the former life, which go on serving; by kind. */
  #serving: Set<string> = new Set();
  /** Declarations that are to take the place of those that serve. */
  readonly #replacing: Promise<void>[] = [];

  constructor(dependencies: InstanceDependencies) {
    this.#dependencies = dependencies;
    this.#name = dependencies.manifest.name;
    this.#logger = dependencies.logger.child({ plugin: this.#name });
    const { registry, resources, reservedDomain } = dependencies;
    this.#preDeclared = new PreDeclared({
      plugin: this.#name,
      documents: dependencies.declared,
      registry,
      resources,
      reservedDomain,
      isPlugin: dependencies.isPlugin,
      onWaiting: (documents) => this.#tellWaiting(documents),
      logger: this.#logger,
    });
    this.#stopListening = registry.onUnregister((scheme) => {
      this.#left = this.#left.filter((one) => one !== scheme);
      this.#serving.delete(kindOf(scheme));
      this.#forgetControllers(scheme);
    });
    this.#ending.promise.catch(() => {});
  }

  /**
   * `start()`, indexes, pre-declared objects, routes, controllers. When something fails, all of it is undone before the
   * error is thrown.
   * @param lead resolves when it is known whether this replica applies the pre-declared objects: with its fence when it does
   * @param before the life that was handed over, or failed after that: its models serve until this one replaces them or has started
   *   without them, and stay when this one fails
   */
  async start(lead: () => Promise<Fence | 'done elsewhere' | undefined>, before?: PluginInstance): Promise<void> {
    const { custom, registry, resources, modelStates, authenticators } = this.#dependencies;
    const unlessEnding = <T>(work: Promise<T>) => Promise.race([work, this.#ending.promise]);
    try {
      if (before) {
        this.#left = this.#schemes();
        this.#serving = new Set(before.#serving);
        authenticators.remove(this.#name);
        custom.remove(this.#name);
      }
      registry.starting.begin(
        this.#name,
        () => this.#progress(),
        (scheme) => this.#serving.has(kindOf(scheme)),
      );
      custom.runInScope(this.#name, (handle) => this.#handle(handle));
      await unlessEnding(this.#callStart());
      await unlessEnding(Promise.all(this.#replacing));
      for (const scheme of this.#left) registry.unregister(scheme, this.#name);
      await unlessEnding(Promise.all(this.#schemes().map((scheme) => resources.model(scheme).indexed.settled)));
      this.#nameDegraded();
      const waiting = await unlessEnding(this.#patiently(() => modelStates.activate(this.#schemes())));
      this.#dependencies.rights.declare(this.#name, this.#declaredObjects());
      // Until then, the objects of what is active stay.
      if (waiting) this.#declareAfter(waiting.done, lead);
      else await unlessEnding(this.#patiently(() => this.#declare(lead)));
      // Whatever can fail comes before the routes open.
      for (const controller of this.#controllers)
        if (this.#isHere(controller)) controller.running = this.#controllerOf(controller);
      registry.starting.end(this.#name);
      this.#controllersRun = true;
      await Promise.all(this.#controllers.map(({ running }) => running?.start()));
    } catch (error) {
      if (this.#alive) await this.#undo(before !== undefined);
      throw error;
    }
  }

  /** The same code for another life. */
  again(): PluginInstance {
    return new PluginInstance(this.#dependencies);
  }

  /**
   * Controllers get their time, then `stop()`. What is registered and declared stays for the life that comes next; until that has
   * started, the plugin's own routes answer `NotReady`.
   */
  async handOver(): Promise<void> {
    const { registry, options } = this.#dependencies;
    this.#serving = new Set(this.#schemes().map(kindOf));
    registry.starting.begin(
      this.#name,
      () => 0,
      () => true,
    );
    await this.#stopControllers(options.stopTimeout);
    await this.#callStop(options.stopTimeout);
    this.#end();
  }

  /** Again while the database is away, for as long as a start may take. @throws what `work` throws */
  #patiently<R>(work: () => Promise<R>): Promise<R | undefined> {
    const { timers, options } = this.#dependencies;
    const end = timers.now() + options.startTimeout;
    const failed = (err: unknown) => {
      if (!isPassing(err) || !this.#alive || timers.now() >= end) throw err;
      this.#logger.warn({ err }, 'The plugin could not be started; trying again');
    };
    return retry({ timers, minDelay: 100, maxDelay: 5_000, failed }, work);
  }

  async #declare(lead: () => Promise<Fence | 'done elsewhere' | undefined>): Promise<void> {
    // A process that serves all of their models applies them.
    if (!this.#alive || this.#declaresElsewhere()) return;
    const led = await lead();
    if (led === 'done elsewhere' || !this.#alive) return;
    this.#fence = led;
    await this.#preDeclared.apply(led);
  }

  #tellWaiting(documents: readonly Declared[]): void {
    const places = documents.map(({ file, line }) => `${file}:${line}`).join(', ');
    const message = `bundled objects wait until their models are finalized: ${places}`;
    const trouble = places === '' ? undefined : { reason: 'NotYetStorable', message };
    this.#dependencies.onTrouble('waiting objects', trouble);
  }

  #declareAfter(active: Promise<unknown>, lead: () => Promise<Fence | 'done elsewhere' | undefined>): void {
    active
      .then(() => this.#patiently(() => this.#declare(lead)))
      .catch((err: unknown) => {
        if (this.#alive)
          this.#dependencies.onTrouble('declared objects', { reason: reasonOf(err), message: messageOf(err) });
      });
  }

  /**
   * Routes go, pre-declared objects are deleted, controllers get their time, `stop()`, then what is left. Resolves in
   * bounded time; gives what did not go as it should.
   */
  async stop(): Promise<Trouble | undefined> {
    const { custom, logger, timers } = this.#dependencies;
    custom.remove(this.#name);
    try {
      if (this.#fence) await this.#preDeclared.remove(this.#fence);
    } catch (err) {
      logger.warn({ err, plugin: this.#name }, 'Bundled objects could not be removed');
    }
    const { stopTimeout } = this.#dependencies.options;
    const end = timers.now() + stopTimeout;
    await this.#finishFinalizers(end);
    await this.#stopControllers(Math.max(endingLeast, end - timers.now()));
    const trouble = await this.#callStop(stopTimeout);
    this.takeDown();
    return trouble;
  }

  /** The process ends: controllers and `stop()`, together within so many milliseconds. What is registered and declared stays. */
  async shutDown(milliseconds: number): Promise<void> {
    this.#preDeclared.close();
    await this.#stopControllers(milliseconds / 2);
    await this.#callStop(milliseconds / 2);
    this.#ending.reject(new KindredError('InvalidPlugin', texts.ended, { params: { plugin: this.#name } }));
    this.#end();
    this.#dependencies.authenticators.remove(this.#name);
  }

  /** This replica took over from one that died. */
  lead(fence: Fence | undefined): void {
    this.#fence = fence;
  }

  /** Changes went past unseen. */
  resync(): void {
    for (const { running } of this.#controllers) running?.resync();
  }

  /** What it pre-declares. */
  declared(): DeclaredObject[] {
    return this.#dependencies.declared.map((one) => {
      const { apiVersion, kind, name, file, line } = one;
      const scheme = this.#schemeOf(apiVersion, kind);
      const type = scheme && { type: typeNameOf(scheme) };
      return { apiVersion, kind, name, ...type, file, line, ...this.#preDeclared.writtenState(one) };
    });
  }

  controllers(): DescribedController[] {
    return this.#controllers.flatMap(({ running, models }) => (running ? [{ ...running.status(), models }] : []));
  }

  /** Runs the plugin's code so that what it starts is known to be the plugin's. */
  #inside<T>(work: () => T, fence?: Fence): T {
    return this.#dependencies.scope.run({ plugin: this.#name, fence }, work);
  }

  /** A handler of a route. What it throws but for errors that are meant for the caller is named on the Plugin object. */
  async #handle(handle: () => unknown): Promise<unknown> {
    try {
      return await this.#inside(handle);
    } catch (error) {
      if (!(error instanceof KindredError) && (error as Error | undefined)?.name !== 'AbortError') {
        this.#dependencies.onTrouble('route', {
          reason: 'RouteFailed',
          message: `a route failed: ${messageOf(error)}`,
        });
      }
      throw error;
    }
  }

  async #callStart(): Promise<void> {
    const { startTimeout } = this.#dependencies.options;
    const functions = this.#inside(() => instantiate(this.#dependencies.exported, this.#context()));
    const work = this.#inside(async () => functions.start());
    const ended = await this.#within(work, startTimeout, () => this.#isBuilding());
    if (!ended) throw new PluginStartError('StartTimeout', texts.startTimeout, { limit: startTimeout });
    this.#functions = functions;
  }

  async #callStop(limit: number): Promise<Trouble | undefined> {
    const functions = this.#functions;
    this.#functions = undefined;
    if (!functions) return undefined;
    try {
      const ended = await this.#within(
        this.#inside(async () => functions.stop()),
        limit,
      );
      if (ended) return undefined;
      this.#logger.warn({ limit }, 'stop() has not ended in time');
      return { reason: 'StopTimeout', message: `stop() has not ended after ${limit} ms` };
    } catch (err) {
      this.#logger.warn({ err }, 'stop() failed');
      return { reason: 'StopFailed', message: messageOf(err) };
    }
  }

  /** False when the time is over first. Time in which `free` says yes does not count. */
  async #within(work: Promise<unknown>, limit: number, free: () => boolean = () => false): Promise<boolean> {
    const { timers } = this.#dependencies;
    // Whoever comes too late is no longer listened to.
    work.catch(() => {});
    let cancel = () => {};
    const over = new Promise<false>((resolve) => {
      let left = limit;
      const tick = Math.max(1, Math.min(250, limit));
      const wait = () => {
        cancel = timers.after(Math.min(tick, left), () => {
          if (!free()) left -= tick;
          if (left > 0) wait();
          else resolve(false);
        });
      };
      wait();
    });
    try {
      return await Promise.race([work.then(() => true), over]);
    } finally {
      cancel();
    }
  }

  #schemes(): Scheme[] {
    const { registry } = this.#dependencies;
    return registry.schemes().filter((scheme) => registry.ownerOf(scheme) === this.#name);
  }

  #isBuilding(): boolean {
    return this.#schemes().some((scheme) => {
      const { modelStates, resources } = this.#dependencies;
      const { memory } = resources.model(scheme);
      const { state, progress } = memory.state();
      return (state === 'building' && progress > 0) || memory.replacement !== undefined || modelStates.isHeldUp(scheme);
    });
  }

  /** Of all indexes of the plugin's models together, 0 to 1. */
  #progress(): number {
    const schemes = this.#schemes();
    if (schemes.length === 0) return 0;
    const sum = schemes.reduce((total, scheme) => {
      const { memory } = this.#dependencies.resources.model(scheme);
      return total + (memory.replacement ?? memory.state()).progress;
    }, 0);
    return sum / schemes.length;
  }

  #nameDegraded(): void {
    for (const scheme of this.#schemes()) {
      const { kind } = scheme.groupVersionKind;
      const { problems } = this.#dependencies.resources.model(scheme).memory.state();
      const [first] = problems;
      if (!first) continue;
      const message =
        problems.length === 1
          ? `1 object of ${kind} needs repair, "${first.name}": ${first.reason}`
          : `${problems.length} objects of ${kind} need repair, "${first.name}" for one: ${first.reason}`;
      this.#dependencies.onTrouble(`model ${kind}`, { reason: 'Degraded', message });
    }
  }

  #context(): PluginContext {
    const dependencies = this.#dependencies;
    const { manifest, config } = dependencies;
    const manager = dependencies.registry.manager(this.#name);
    const schemeManager: SchemeManager = {
      register: (type, indexes) => {
        this.#assertAlive();
        return this.#left.length > 0 ? this.#registerAgain(type, indexes) : manager.register(type, indexes);
      },
      unregister: (scheme) => manager.unregister(scheme),
      schemes: () => manager.schemes(),
      fetch: (gvk) => manager.fetch(gvk),
      get: (gvk) => manager.get(gvk),
    };
    const client = dependencies.clientOf(this.#name, () => {
      this.#assertAlive();
      return this.#dependencies.scope.getStore()?.fence;
    });
    return {
      name: this.#name,
      version: manifest.version,
      config,
      schemeManager,
      client,
      logger: pluginLogger(this.#logger),
      registerController: (reconciler) => this.#registerController(reconciler),
      registerEndpoint: (endpoint) => {
        this.#assertAlive();
        dependencies.custom.register(this.#name, endpoint);
      },
      registerAuthenticator: (authenticate) => {
        this.#assertAlive();
        if (typeof authenticate !== 'function') throw new KindredError('InvalidPlugin', texts.authenticator);
        dependencies.authenticators.add(this.#name, (request) => this.#inside(() => authenticate(request)));
      },
    };
  }

  #registerAgain(...[type, indexes]: Parameters<SchemeManager['register']>): Scheme {
    const { registry, resources } = this.#dependencies;
    const scheme = registry.registerAgain(type, indexes, this.#name, this.#left);
    if (this.#serving.has(kindOf(scheme))) {
      this.#left = this.#left.filter((one) => kindOf(one) !== kindOf(scheme));
      const replaced = resources.model(scheme).indexed.settled;
      replaced.catch(() => {});
      this.#replacing.push(replaced);
    }
    return scheme;
  }

  #declaredObjects(): { group: string; resource: string; name: string }[] {
    return this.#dependencies.declared.flatMap(({ apiVersion, kind, name }) => {
      const scheme = this.#schemeOf(apiVersion, kind);
      return scheme ? [{ group: scheme.groupVersionKind.group, resource: scheme.plural, name }] : [];
    });
  }

  #declaresElsewhere(): boolean {
    return this.#dependencies.declared.some(({ apiVersion, kind }) => {
      const scheme = this.#schemeOf(apiVersion, kind);
      return scheme !== undefined && this.#dependencies.resources.model(scheme).memory.isElsewhere;
    });
  }

  #schemeOf(apiVersion: string, kind: string): Scheme | undefined {
    const [version, group = ''] = apiVersion.split('/').reverse() as [string, string | undefined];
    return this.#dependencies.registry.fetch({ group, version, kind });
  }

  #assertAlive(): void {
    if (!this.#alive) throw new KindredError('InvalidPlugin', texts.ended, { params: { plugin: this.#name } });
  }

  #registerController(reconciler: Reconciler): void {
    this.#assertAlive();
    const spec = setUp(reconciler);
    const scheme = this.#dependencies.registry.schemeOf(spec.type);
    const { plural } = scheme;
    const isTaken = (name: string) => this.#controllers.some((one) => one.spec.name === name);
    if (spec.named && isTaken(spec.name))
      throw new KindredError('InvalidPlugin', texts.controllerTwice, { params: { name: spec.name } });
    let name = spec.named ? spec.name : plural;
    for (let n = 2; !spec.named && isTaken(name); n += 1) name = `${plural}-${n}`;
    const registered: Registered = {
      spec: { ...spec, name },
      reconciler,
      id: `${this.#name}/${name}`,
      models: [scheme, ...spec.watched.map(({ type }) => Scheme.buildFromType(type))].map(typeNameOf),
      running: undefined,
    };
    this.#controllers.push(registered);
    if (!this.#controllersRun || !this.#isHere(registered)) return;
    Promise.try(() => {
      registered.running = this.#controllerOf(registered);
      return registered.running.start();
    }).catch((err: unknown) => {
      this.#dependencies.onTrouble(registered.id, { reason: 'ControllerFailed', message: messageOf(err) });
    });
  }

  /** A controller runs where its model is served. */
  #isHere({ spec }: Registered): boolean {
    const { registry, resources } = this.#dependencies;
    return !resources.model(registry.schemeOf(spec.type)).memory.isElsewhere;
  }

  /** @throws NotFound when one of its models is not registered */
  #controllerOf({ spec, reconciler, id }: Registered): RunningController {
    const dependencies = this.#dependencies;
    const { options, onTrouble } = dependencies;
    return new RunningController({
      spec,
      reconciler,
      id,
      feed: dependencies.resources,
      schemeOf: (type) => dependencies.registry.schemeOf(type),
      client: dependencies.client,
      store: dependencies.store,
      holder: options.replica,
      leaseTimes: options.leaseTimes,
      timers: dependencies.timers,
      run: (fence, work) => this.#inside(work, fence),
      logger: this.#logger,
      observe: dependencies.observe,
      tracing: dependencies.tracing,
      onTrouble: (trouble) => onTrouble(id, trouble),
    });
  }

  #forgetControllers(scheme: Scheme): void {
    for (const registered of this.#controllers) {
      if (!registered.running || kindOf(registered.running.scheme) !== kindOf(scheme)) continue;
      void registered.running.stop(this.#dependencies.options.stopTimeout);
      registered.running = undefined;
    }
  }

  /** Gives the controllers time until the deleted pre-declared objects are gone and nothing is left to do. */
  async #finishFinalizers(end: number): Promise<void> {
    const { timers, logger, resources } = this.#dependencies;
    let wake = () => {};
    const unsubscribe = resources.subscribe({
      change: ({ type }) => {
        if (type === 'delete') wake();
      },
    });
    try {
      for (let left = end - timers.now(); left > 0; left = end - timers.now()) {
        const gone = Promise.withResolvers<void>();
        wake = gone.resolve;
        if ((await this.#preDeclared.leaving()) === 0) {
          await Promise.all(this.#controllers.map(({ running }) => running?.whenQuiet(left)));
          return;
        }
        await endsWithin(timers, left, gone.promise);
      }
      logger.warn({ plugin: this.#name }, 'Some bundled objects keep their finalizers: they stay, marked for deletion');
    } catch (err) {
      logger.warn({ err, plugin: this.#name }, 'Whether the bundled objects are gone could not be learnt');
    } finally {
      unsubscribe();
    }
  }

  async #stopControllers(milliseconds: number): Promise<void> {
    this.#controllersRun = false;
    await Promise.all(this.#controllers.map(({ running }) => running?.stop(milliseconds)));
    this.#controllers.length = 0;
  }

  /** After a failed start. `stop()` is called only when `start()` succeeded. */
  async #undo(keepsModels: boolean): Promise<void> {
    if (!keepsModels) this.#dependencies.custom.remove(this.#name);
    await this.#preDeclared.undo();
    await this.#stopControllers(this.#dependencies.options.stopTimeout);
    await this.#callStop(this.#dependencies.options.stopTimeout);
    if (keepsModels) this.#end();
    else this.takeDown();
  }

  /** It may register and write nothing any more; what it has registered stays. */
  #end(): void {
    this.#alive = false;
    this.#stopListening();
    this.#preDeclared.close();
  }

  /** What is registered goes, also what lives before it have left. */
  takeDown(): void {
    const { registry, custom, authenticators, rights } = this.#dependencies;
    this.#end();
    custom.remove(this.#name);
    authenticators.remove(this.#name);
    rights.declare(this.#name, []);
    for (const scheme of this.#schemes()) registry.unregister(scheme, this.#name);
    registry.starting.end(this.#name);
  }
}

/** Names a model, whatever its declaration. */
function kindOf({ groupVersionKind: { group, kind } }: Scheme): string {
  return `${group}/${kind}`;
}

/** Arguments as `console.log` takes them; an error among them keeps its stack. */
function pluginLogger(logger: Logger): PluginLogger {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (...all: unknown[]) => {
      const err = all.find((one) => one instanceof Error);
      logger[level](err ? { err } : {}, format(...all));
    };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}
