/** What a plugin is written with (docs/reference/plugins.md). */

import type { Reconciler } from '../controller/reconciler.ts';
import { KindredError } from '../errors.ts';
import type { CustomEndpoint } from '../http/custom/routes.ts';
import { localized } from '../locales/localized.ts';
import type { SchemeManager } from '../model/registry.ts';
import type { Identity } from '../resource/access.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';

/** Writes lines that carry the plugin's name. Arguments as `console.log` takes them. */
export interface PluginLogger {
  debug(...a: any[]): void;
  info(...a: any[]): void;
  warn(...a: any[]): void;
  error(...a: any[]): void;
}

/** Undefined: not mine, ask the next one. */
export type Authenticate = (request: globalThis.Request) => Promise<Identity | undefined>;

/** Everything the service gives to a plugin. What is registered here is taken down when the plugin stops. */
export interface PluginContext {
  /** The plugin's name in the service. */
  readonly name: string;
  readonly version: string;
  /** `plugins.<name>` of the configuration; undefined when there is none. */
  readonly config: unknown;
  readonly schemeManager: SchemeManager;
  /** Acts as the plugin: everything on its own models and bundled objects, else what its roles allow. */
  readonly client: ExtensionClient;
  readonly logger: PluginLogger;
  /** Runs when the plugin has started. Throws `InvalidPlugin`. */
  registerController(reconciler: Reconciler): void;
  /** A `CustomEndpoint`, or an annotated controller as class or instance. Throws `InvalidPlugin`. */
  registerEndpoint(endpoint: CustomEndpoint | object): void;
  /** Asked in order, after the built-in ones. */
  registerAuthenticator(authenticate: Authenticate): void;
}

const brand: unique symbol = Symbol.for('kindred.plugin') as never;

export interface Plugin extends PluginContext {}

/**
 * The default export of a plugin package, as a class. It is made without arguments; the members of the context are on
 * `this` before `start` is called, not yet in the constructor.
 *
 * @example
 * ```ts
 * export default class BookPlugin extends Plugin {
 *   override start() { this.schemeManager.register(Book); }
 * }
 * ```
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the host defines the context's members on every instance before start().
export abstract class Plugin {
  static readonly [brand] = true;

  /** Registers models, controllers and routes. Must end within `plugins.startTimeout`; a throw fails the plugin's start. */
  start(): void | Promise<void> {}

  /** Gives back what `start` took elsewhere. Must end within `plugins.stopTimeout`. */
  stop(): void | Promise<void> {}
}

/** The functions of a plugin. */
export interface PluginFunctions {
  /** For plugins that are handed in as code (`createService({ plugins: [todo] })`); a package has its own. */
  readonly name?: string;
  start(context: PluginContext): void | Promise<void>;
  stop?(context: PluginContext): void | Promise<void>;
}

/** What `definePlugin` gives. */
export interface DefinedPlugin {
  readonly [brand]: true;
  readonly name?: string;
}

/**
 * The default export of a plugin package, without a class.
 *
 * @example
 * ```ts
 * export default definePlugin({
 *   start({ schemeManager, logger }) {
 *     schemeManager.register(Book);
 *     logger.info('the library is open');
 *   },
 * });
 * ```
 */
export function definePlugin({ name, start, stop }: PluginFunctions): DefinedPlugin {
  return Object.defineProperty({ name, start, stop }, brand, { value: true }) as unknown as DefinedPlugin;
}

const notAPlugin = localized(
  'The default export must be a class extending Plugin or what definePlugin gives, not {value}',
);

/** One plugin's functions, bound to its context, from what its package exports by default. */
export function instantiate(exported: unknown, context: PluginContext): { start(): unknown; stop(): unknown } {
  // A CommonJS package that was compiled from ES modules has its default export one level down.
  const candidate = isPlugin(exported) ? exported : (exported as { default?: unknown } | undefined)?.default;
  if (!isPlugin(candidate))
    throw new KindredError('InvalidPlugin', notAPlugin, { params: { value: described(exported) } });
  if (typeof candidate !== 'function') {
    const { start, stop } = candidate as unknown as PluginFunctions;
    return { start: () => start(context), stop: () => stop?.(context) };
  }
  const plugin = new candidate();
  Object.defineProperties(plugin, Object.getOwnPropertyDescriptors(context));
  return { start: () => plugin.start(), stop: () => plugin.stop() };
}

/** True for those of another copy of this module too. */
export function isPlugin(value: unknown): value is DefinedPlugin | (new () => Plugin) {
  return ((typeof value === 'object' && value !== null) || typeof value === 'function') && brand in value;
}

function described(value: unknown): string {
  if (value === undefined) return 'nothing (there is no default export)';
  if (typeof value === 'function')
    return `the ${/^class\b/.test(String(value)) ? 'class' : 'function'} ${value.name || 'without a name'}`;
  return value === null ? 'null' : `a value of type ${typeof value}`;
}
