/** `/apis`, `/apis/<group>`, `/apis/<group>/<version>`, `/api/<version>` (docs/reference/api-description.md). */
import type { Scheme } from '../../model/scheme.ts';
import type { MayUse } from '../../resource/access.ts';
import { someNamespace } from '../../resource/access.ts';
import { places, routesOf } from './routes.ts';

export interface ApiGroup {
  name: string;
  /** Stable ones first, then beta, then alpha; the newest first in each. */
  versions: { groupVersion: string; version: string }[];
}

interface ApiResource {
  /** The plural; `persons/status` for the sub-resource. */
  name: string;
  singularName: string;
  kind: string;
  /** Absent: its objects belong to no namespace. */
  namespaced?: true;
  shortNames?: readonly string[];
  verbs: string[];
}

export interface ApiResources {
  groupVersion: string;
  resources: ApiResource[];
}

/** A version of a model that clients can use. */
export interface ServedVersion {
  readonly scheme: Scheme;
  /** As clients see it, by the contract that is active. */
  readonly shown: Scheme;
}

/**
 * The answer for a path (without query): undefined when it is no discovery path, or when there is nothing below it that
 * the caller may use, which is a 404. `/apis` itself is always there.
 */
export function discover(
  served: readonly ServedVersion[],
  path: string,
  mayUse: MayUse = () => true,
): { groups: ApiGroup[] } | ApiGroup | ApiResources | undefined {
  const [, root, ...rest] = path.split('/') as [string, string, ...string[]];
  if (root === 'api' && rest.length === 1) return resourcesOf(served, '', rest[0]!, mayUse);
  if (root !== 'apis') return undefined;
  const [group, version, ...more] = rest;
  if (more.length > 0 || group === '') return undefined;
  if (group !== undefined && version !== undefined) return resourcesOf(served, group, version, mayUse);
  const groups = groupsOf(served, mayUse);
  return group === undefined ? { groups } : groups.find((one) => one.name === group);
}

function groupsOf(served: readonly ServedVersion[], mayUse: MayUse): ApiGroup[] {
  const versions = new Map<string, Set<string>>();
  for (const one of served) {
    const { group, version } = one.scheme.groupVersionKind;
    if (group === '' || resources(one, mayUse).length === 0) continue;
    versions.set(group, (versions.get(group) ?? new Set()).add(version));
  }
  return [...versions]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, all]) => ({
      name,
      versions: [...all].sort(byPriority).map((version) => ({ groupVersion: `${name}/${version}`, version })),
    }));
}

function resourcesOf(
  served: readonly ServedVersion[],
  group: string,
  version: string,
  mayUse: MayUse,
): ApiResources | undefined {
  const found = served
    .filter(({ scheme: { groupVersionKind: gvk } }) => gvk.group === group && gvk.version === version)
    .sort((a, b) => (a.scheme.plural < b.scheme.plural ? -1 : 1))
    .flatMap((one) => resources(one, mayUse));
  return found.length === 0
    ? undefined
    : { groupVersion: group === '' ? version : `${group}/${version}`, resources: found };
}

function resources({ scheme, shown }: ServedVersion, mayUse: MayUse): ApiResource[] {
  const { group, kind } = scheme.groupVersionKind;
  const { isNamespaced, shortNames } = scheme;
  const where = isNamespaced ? { namespace: someNamespace } : {};
  const found = new Map<string, ApiResource>();
  for (const route of routesOf(shown)) {
    const name = `${scheme.plural}${places[route.at].resource}`;
    const resource = found.get(name) ?? {
      name,
      singularName: scheme.singular,
      kind,
      ...(isNamespaced && { namespaced: true as const }),
      ...(shortNames.length > 0 && route.at !== 'status' && { shortNames }),
      verbs: [],
    };
    found.set(name, resource);
    for (const verb of 'streamed' in route ? [route.verb, route.streamed] : [route.verb]) {
      if (mayUse({ verb, group, resource: name, ...where })) resource.verbs.push(verb);
    }
  }
  return [...found.values()].filter((one) => one.verbs.length > 0);
}

/** As Kubernetes orders versions: v2, v1, v2beta1, v1beta2, v1alpha1, and behind these what has another form, by its letters. */
export function byPriority(a: string, b: string): number {
  const [x, y] = [a, b].map((text) => /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(text));
  if (!x || !y) return x ? -1 : y ? 1 : a < b ? -1 : 1;
  const stability = (parts: RegExpExecArray): number => ['alpha', 'beta', undefined].indexOf(parts[2]);
  return stability(y) - stability(x) || Number(y[1]) - Number(x[1]) || Number(y[3] ?? 0) - Number(x[3] ?? 0);
}
