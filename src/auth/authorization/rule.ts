/** One rule of a role, with the meaning that Kubernetes gives it (docs/reference/permissions.md). */
import type { Access } from '../../resource/access.ts';

/** As it is stored. */
export interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  /** None or an empty list: every object. */
  readonly resourceNames?: readonly string[];
  readonly verbs?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** The smallest things that a rule allows; wildcards stay wildcards. */
export type Grant =
  | {
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      readonly namespace?: string;
      readonly name?: string;
    }
  | { readonly verb: string; readonly path: string };

/** A rule made ready for questions. */
export class CompiledRule {
  readonly rule: Rule;
  readonly verbs: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  #resources: ReadonlySet<string> | undefined;

  constructor(rule: Rule) {
    this.rule = rule;
    this.verbs = new Set(rule.verbs);
    this.groups = new Set(rule.apiGroups);
  }

  get resources(): ReadonlySet<string> {
    this.#resources ??= new Set(this.rule.resources);
    return this.#resources;
  }

  get names(): readonly string[] {
    return this.rule.resourceNames ?? none;
  }

  get paths(): readonly string[] {
    return this.rule.nonResourceURLs ?? none;
  }

  /** False: its resources are given for every name. */
  get isNamed(): boolean {
    return this.names.length > 0;
  }
}

const none: readonly string[] = [];

/** How many grants a rule is made of. */
export function countGrants({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: Rule): number {
  const objects = (apiGroups?.length ?? 0) * (resources?.length ?? 0) * (resourceNames?.length || 1);
  return (verbs?.length ?? 0) * (objects + (nonResourceURLs?.length ?? 0));
}

/** The entries of all lists of a rule: what compiling it and asking about it takes. */
export function countEntries(rule: Rule): number {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule;
  return [verbs, apiGroups, resources, resourceNames, nonResourceURLs].reduce(
    (sum, list) => sum + (list?.length ?? 0),
    0,
  );
}

/** The first of the grants. */
export function firstGrant({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: Rule): Grant | undefined {
  const verb = verbs?.[0];
  const path = nonResourceURLs?.[0];
  const group = apiGroups?.[0];
  const resource = resources?.[0];
  if (verb === undefined) return undefined;
  if (path !== undefined) return { verb, path };
  if (group === undefined || resource === undefined) return undefined;
  const name = resourceNames?.[0];
  return name === undefined ? { verb, group, resource } : { verb, group, resource, name };
}

/**
 * The entries of `resources` that cover a resource. `persons/friends/x`: the third part comes from a custom route's seventh
 * segment and belongs to the sub-resource (docs/reference/custom-routes.md), so a rule for `persons/friends` gives it too.
 */
export function entriesFor(resource: string): readonly string[] {
  const slash = resource.indexOf('/');
  if (slash === -1) return [resource, '*'];
  const entries = [resource, '*', `*${resource.slice(slash)}`];
  const item = resource.indexOf('/', slash + 1);
  if (item !== -1) entries.push(resource.slice(0, item), `*${resource.slice(slash, item)}`);
  return entries;
}

/** `*` at the end of a pattern stands for any rest; a pattern is itself a path that a wider one covers. */
export function coversPath(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : pattern === path;
}

/** Whether a list has the value, or the wildcard for all of them. */
export function gives(list: ReadonlySet<string>, value: string): boolean {
  return list.has(value) || list.has('*');
}

/** Words for a message. */
export function inWords(access: Access | Grant): string {
  if ('path' in access) return `${access.verb} ${access.path}`;
  const name = access.name === undefined ? '' : ` "${access.name}"`;
  const namespace = access.namespace === undefined ? '' : ` in the namespace "${access.namespace}"`;
  return `${access.verb} ${access.resource}${access.group === '' ? '' : `.${access.group}`}${name}${namespace}`;
}
