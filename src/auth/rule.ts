/** One rule of a role, with the meaning that Kubernetes gives it (contract section 12). */
import type { Access } from '../resource/access.ts';

export interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  /** None or an empty list: every object. */
  readonly resourceNames?: readonly string[];
  readonly verbs?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** How much of an access a rule gives: nothing, all objects, or these. */
export type Extent = undefined | 'all' | readonly string[];

const none: readonly string[] = [];

export function extentOf(rule: Rule, access: Access): Extent {
  if (!has(rule.verbs, access.verb)) return undefined;
  if ('path' in access) {
    return (rule.nonResourceURLs ?? none).some((pattern) => coversPath(pattern, access.path)) ? 'all' : undefined;
  }
  if (!has(rule.apiGroups, access.group) || !hasResource(rule.resources, access.resource)) return undefined;
  return rule.resourceNames?.length ? rule.resourceNames : 'all';
}

/** The smallest grants that a rule is made of; wildcards stay wildcards. */
export type Grant =
  | { readonly verb: string; readonly group: string; readonly resource: string; readonly name?: string }
  | { readonly verb: string; readonly path: string };

export function* grantsOf(rule: Rule): Generator<Grant> {
  for (const verb of rule.verbs ?? none) {
    for (const path of rule.nonResourceURLs ?? none) yield { verb, path };
    for (const group of rule.apiGroups ?? none) {
      for (const resource of rule.resources ?? none) {
        if (!rule.resourceNames?.length) yield { verb, group, resource };
        for (const name of rule.resourceNames ?? none) yield { verb, group, resource, name };
      }
    }
  }
}

/** True when the rule gives all of the grant; a wildcard is covered by the same or a wider wildcard alone. */
export function covers(rule: Rule, grant: Grant): boolean {
  const extent = extentOf(rule, grant);
  if (extent === undefined || extent === 'all') return extent === 'all';
  return 'name' in grant && grant.name !== undefined && extent.includes(grant.name);
}

function has(list: readonly string[] | undefined, value: string): boolean {
  return list !== undefined && (list.includes(value) || list.includes('*'));
}

/**
 * `persons/friends/x`: the third part comes from a custom route's seventh segment and belongs to the sub-resource
 * (contract section 10), so a rule for `persons/friends` gives it too.
 */
function hasResource(list: readonly string[] | undefined, resource: string): boolean {
  if (list === undefined) return false;
  if (list.includes(resource) || list.includes('*')) return true;
  const slash = resource.indexOf('/');
  if (slash === -1) return false;
  if (list.includes(`*${resource.slice(slash)}`)) return true;
  const item = resource.indexOf('/', slash + 1);
  return item !== -1 && hasResource(list, resource.slice(0, item));
}

/** `*` at the end of a pattern stands for any rest; a pattern is itself a path that a wider one covers. */
function coversPath(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : pattern === path;
}
