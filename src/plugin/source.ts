/** Where a plugin comes from: a package, or code that is there already (tests, embedders). */
import { nameFromPackage } from './manifest.ts';
import type { DefinedPlugin, Plugin } from './plugin.ts';
import { isPlugin } from './plugin.ts';

/** A plugin in code. */
export interface CodePlugin {
  readonly name: string;
  /** A class extending `Plugin`, or what `definePlugin` gives. */
  readonly plugin: object;
  /** Default "0.0.0". */
  readonly version?: string;
  readonly displayName?: string;
  /** Names of other plugins, each with its range of versions. */
  readonly dependencies?: Readonly<Record<string, string>>;
  /** Default true; a plugin that is not enabled is known and not started. */
  readonly enabled?: boolean;
}

/**
 * A package's folder or the name of an installed npm package; a plugin in code with its name; a class extending `Plugin`, whose
 * name is the class's in lower case with `-`; what `definePlugin` gives when its `name` is said there.
 */
export type PluginSource = string | CodePlugin | DefinedPlugin | (new () => Plugin);

/** @param place names the source in messages. Throws a plain error that says what a plugin can be. */
export function readSource(given: PluginSource, place: string): string | CodePlugin {
  if (typeof given === 'string') return given;
  if (isPlugin(given)) {
    const name = typeof given === 'function' ? nameOfClass(given.name) : given.name;
    if (name !== undefined) return { name, plugin: given };
    throw new TypeError(
      `${place} is a plugin without a name: give it as { name: "todo", plugin }, name the class, or name it in definePlugin({ name: "todo", start() … })`,
    );
  }
  const { name, plugin } = (given ?? {}) as Partial<CodePlugin>;
  if (typeof name === 'string' && plugin !== undefined) return given as CodePlugin;
  throw new TypeError(
    `${place} is no plugin: it must be a folder, the name of an installed package, { name, plugin }, a class that extends Plugin, or what definePlugin gives`,
  );
}

/** `TodoList` as `todo-list`; undefined for a class without a name of its own. */
function nameOfClass(name: string): string | undefined {
  if (name === '' || name === 'default') return undefined;
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1-$2').replace(/([A-Z]+)([A-Z][a-z])/g, '$1-$2');
  return nameFromPackage(words).replace(/^-+|-+$/g, '') || undefined;
}
