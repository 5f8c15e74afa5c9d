/** `-n` and `-A`: which namespace objects of namespaced models are in. Other models have none, whatever is said. */
import type { Command } from 'commander';
import { fullNameOf } from '../model/full-name.ts';
import type { ExtensionObject } from '../model/object.ts';
import { UsageError } from './io.ts';
import type { ResourceType } from './types.ts';

export interface NamespaceFlags {
  namespace?: string;
  allNamespaces?: boolean;
}

const defaultNamespace = 'default';

export function withNamespace(command: Command): Command {
  return command.option('-n, --namespace <name>', `of objects that are in namespaces (default: "${defaultNamespace}")`);
}

/** For commands that list. */
export function withNamespaces(command: Command): Command {
  return withNamespace(command).option('-A, --all-namespaces', 'the objects of all namespaces');
}

function isNamespaced({ model }: ResourceType): boolean {
  return model.gvk.scope === 'Namespaced';
}

/** As clients know an object. @throws UsageError for a name in all namespaces */
export function fullNameIn(type: ResourceType, name: string, flags: NamespaceFlags): string {
  if (!isNamespaced(type)) return name;
  if (flags.allNamespaces) throw new UsageError('a name is of one namespace: give -n with it, and -A without names');
  return fullNameOf({ namespace: flags.namespace ?? defaultNamespace, name });
}

/** Of a list: the one namespace that is meant. */
export function namespaceOf(type: ResourceType, flags: NamespaceFlags): { namespace?: string } {
  if (!isNamespaced(type) || flags.allNamespaces) return {};
  return { namespace: flags.namespace ?? defaultNamespace };
}

/** By name, and first by namespace where there are several. */
export function orderOf(type: ResourceType, flags: NamespaceFlags): ('metadata.name,asc' | 'metadata.namespace,asc')[] {
  const isOverAll = isNamespaced(type) && flags.allNamespaces;
  return [...(isOverAll ? (['metadata.namespace,asc'] as const) : []), 'metadata.name,asc'];
}

/** An object of a file, in the namespace that it or the command names. @throws UsageError when they name different ones */
export function placed(type: ResourceType, object: ExtensionObject, { namespace }: NamespaceFlags): ExtensionObject {
  const { metadata } = object;
  if (!isNamespaced(type) || typeof metadata !== 'object' || metadata === null) return object;
  const own = metadata.namespace || undefined;
  if (own !== undefined && namespace !== undefined && own !== namespace)
    throw new UsageError(`${metadata.name ?? 'an object'} is of the namespace "${own}", not "${namespace}"`);
  return { ...object, metadata: { ...metadata, namespace: own ?? namespace ?? defaultNamespace } };
}
