/** What there is, in the words of Kubernetes: groups, versions, resources; as lists, or aggregated in one answer (KEP-3352). */
import { createHash } from 'node:crypto';
import { byPriority } from '../http/api/discovery.ts';
import { apiVersionOf } from './path.ts';
import type { ShownModel } from './shown.ts';
import { subresourceVerbs } from './shown.ts';

interface GroupVersion {
  readonly groupVersion: string;
  readonly version: string;
}

interface ApiGroup {
  readonly name: string;
  readonly versions: readonly GroupVersion[];
  readonly preferredVersion: GroupVersion;
}

/** `/api`. @param serverAddress host and port by which the client reached the service */
export function apiVersions(serverAddress: string): object {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  };
}

/** `/apis` */
export function apiGroupList(models: readonly ShownModel[]): object {
  const groups = [...groupsOf(models)].filter(([name]) => name !== '');
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(([name, own]) => groupOf(name, own)) };
}

/** `/apis/<group>`; undefined for a group that there is not. */
export function apiGroup(models: readonly ShownModel[], group: string): object | undefined {
  const own = models.filter((one) => one.group === group);
  if (group === '' || own.length === 0) return undefined;
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(group, versionsOf(own)) };
}

/** `/api/v1`, `/apis/<group>/<version>`; undefined for a version that there is not, but for that of the core group. */
export function apiResourceList(models: readonly ShownModel[], group: string, version: string): object | undefined {
  const own = models.filter((one) => one.group === group && one.version === version).sort(byPlural);
  if (own.length === 0 && !(group === '' && version === 'v1')) return undefined;
  const groupVersion = apiVersionOf(group, version);
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources: own.flatMap(resourcesOf) };
}

export type AggregatedVersion = 'v2' | 'v2beta1';

/** What an aggregated answer is called in `Accept` and `Content-Type`. */
export function aggregatedType(version: AggregatedVersion): string {
  return `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
}

/** `/api` and `/apis` in one go: every group with its versions and resources. */
export function aggregated(models: readonly ShownModel[], root: 'api' | 'apis', version: AggregatedVersion): object {
  const groups = [...groupsOf(models)].filter(([name]) => (name === '') === (root === 'api'));
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map(([name, versions]) => ({
      metadata: { ...(name !== '' && { name }), creationTimestamp: null },
      versions: [...versions].map(([one, own]) => ({
        version: one,
        resources: own.map(discoveredResource),
        freshness: 'Current',
      })),
    })),
  };
}

type Versions = ReadonlyMap<string, readonly ShownModel[]>;

/** By name; the core group is first, and always there. */
function groupsOf(models: readonly ShownModel[]): ReadonlyMap<string, Versions> {
  const byGroup = Map.groupBy(models, ({ group }) => group);
  const names = [...byGroup.keys()].filter((name) => name !== '').sort();
  const core = versionsOf(byGroup.get('') ?? []);
  return new Map([
    ['', core.size > 0 ? core : new Map([['v1', []]])],
    ...names.map((name) => [name, versionsOf(byGroup.get(name)!)] as const),
  ]);
}

/** In the order of their priority. */
function versionsOf(models: readonly ShownModel[]): Versions {
  const byVersion = Map.groupBy(models, ({ version }) => version);
  return new Map([...byVersion].sort(([a], [b]) => byPriority(a, b)).map(([one, own]) => [one, own.sort(byPlural)]));
}

function groupOf(name: string, own: Versions): ApiGroup {
  const versions = [...own.keys()].map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions, preferredVersion: versions[0]! };
}

function resourcesOf(model: ShownModel): object[] {
  const { plural, singular, namespaced, kind, verbs, subresources } = model;
  const main = {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...namesOf(model),
    ...(verbs.includes('get') && { storageVersionHash: storageVersionHash(model) }),
  };
  const below = { singularName: '', namespaced };
  return [
    main,
    ...(subresources.status ? [{ name: `${plural}/status`, ...below, kind, verbs: subresourceVerbs }] : []),
    ...(subresources.scale
      ? [
          {
            name: `${plural}/scale`,
            ...below,
            group: scale.group,
            version: scale.version,
            kind: scale.kind,
            verbs: subresourceVerbs,
          },
        ]
      : []),
  ];
}

function discoveredResource(model: ShownModel): object {
  const { group, version, kind, plural, singular, namespaced, verbs, subresources } = model;
  const responseKind = { group, version, kind };
  const below = [
    ...(subresources.status ? [{ subresource: 'status', responseKind, verbs: subresourceVerbs }] : []),
    ...(subresources.scale ? [{ subresource: 'scale', responseKind: scale, verbs: subresourceVerbs }] : []),
  ];
  return {
    resource: plural,
    responseKind,
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs,
    ...namesOf(model),
    ...(below.length > 0 && { subresources: below }),
  };
}

const scale = { group: 'autoscaling', version: 'v1', kind: 'Scale' };

function namesOf({ shortNames, categories }: ShownModel): object {
  return { ...(shortNames.length > 0 && { shortNames }), ...(categories.length > 0 && { categories }) };
}

/** Clients that store objects elsewhere tell by it whether an object must be stored again. */
function storageVersionHash({ group, version, kind }: ShownModel): string {
  return createHash('sha256').update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString('base64');
}

function byPlural(a: ShownModel, b: ShownModel): number {
  return a.plural < b.plural ? -1 : 1;
}
