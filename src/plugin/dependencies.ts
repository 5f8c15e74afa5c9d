/** Which plugin starts after which: what their manifests say of each other. */

import type { Text } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { Manifest } from './manifest.ts';
import { satisfies } from './manifest.ts';
import type { PluginState } from './model.ts';
import { PluginStartError } from './start-error.ts';

const texts = {
  missing: localized('It depends on the plugin "{dependency}" ({range}), which is not there'),
  version: localized(
    'It depends on the plugin "{dependency}" in a version of the range {range}; there is version {version}',
  ),
  cycle: localized('Its dependencies form a cycle: {cycle}'),
  notStarted: localized('It depends on the plugin "{dependency}", which is {state}'),
} satisfies Record<string, Text>;

/** A plugin as others depend on it. */
interface Node {
  readonly name: string;
  readonly manifest: Manifest | undefined;
}

/**
 * What the plugin depends on; each is there in the version that is asked for.
 * @throws PluginStartError for a cycle, a missing plugin, another version
 */
export function dependenciesOf<N extends Node>(plugin: Node, all: ReadonlyMap<string, N>): N[] {
  const cycle = cycleThrough(plugin.name, all);
  if (cycle) throw new PluginStartError('DependencyCycle', texts.cycle, { cycle: cycle.join(' → ') });
  return Object.entries(plugin.manifest?.dependencies ?? {}).map(([dependency, range]) => {
    const other = all.get(dependency);
    if (!other?.manifest) throw new PluginStartError('DependencyMissing', texts.missing, { dependency, range });
    const { version } = other.manifest;
    if (satisfies(version, range)) return other;
    throw new PluginStartError('DependencyVersion', texts.version, { dependency, range, version });
  });
}

/** Why a plugin does not run whose dependency does not. */
export function notStarted(dependency: string, state: PluginState): PluginStartError {
  return new PluginStartError('DependencyNotStarted', texts.notStarted, { dependency, state });
}

export function dependentsOf<N extends Node>(name: string, all: ReadonlyMap<string, N>): N[] {
  return [...all.values()].filter((one) => one.name !== name && Object.hasOwn(one.manifest?.dependencies ?? {}, name));
}

/** Names from the plugin back to itself, if its dependencies lead there. */
function cycleThrough(start: string, all: ReadonlyMap<string, Node>): string[] | undefined {
  const seen = new Set<string>();
  const search = (name: string, trail: readonly string[]): string[] | undefined => {
    if (trail.length > 1 && name === start) return [...trail];
    if (seen.has(name)) return undefined;
    seen.add(name);
    for (const next of Object.keys(all.get(name)?.manifest?.dependencies ?? {})) {
      const found = search(next, [...trail, next]);
      if (found) return found;
    }
    return undefined;
  };
  return search(start, [start]);
}
