/**
 * The generated routes of a model. What is matched, what the authoriser is asked, what discovery lists and what the API
 * description has follows from the table. The routes of the service itself are in `openapi/service.ts`, those of plugins in
 * `custom/routes.ts`.
 */
import type { Scheme } from '../../model/scheme.ts';
import type { Access } from '../../resource/access.ts';

/** Where a route is: its path from that of the collection on, and what its resource has behind the plural. */
export const places = {
  collection: { path: '', resource: '' },
  object: { path: '/{name}', resource: '' },
  status: { path: '/{name}/status', resource: '/status' },
} as const;

export type Place = keyof typeof places;

/**
 * GET answers HEAD too. The verb is what the authoriser is asked, and begins the operationId; `resources.ts` has a function
 * that serves it, `openapi/model.ts` its description. `streamed` is the verb with `watch=true`. Discovery has the verbs in
 * this order.
 */
const modelRoutes = [
  { at: 'object', method: 'GET', verb: 'get' },
  { at: 'collection', method: 'GET', verb: 'list', streamed: 'watch' },
  { at: 'collection', method: 'POST', verb: 'create' },
  { at: 'object', method: 'PUT', verb: 'update' },
  { at: 'object', method: 'PATCH', verb: 'patch' },
  { at: 'object', method: 'DELETE', verb: 'delete' },
  { at: 'status', method: 'GET', verb: 'get' },
  { at: 'status', method: 'PUT', verb: 'update' },
  { at: 'status', method: 'PATCH', verb: 'patch' },
] as const;

export type ModelRoute = (typeof modelRoutes)[number];
export type Verb = ModelRoute['verb'];
/** `object get` */
export type RouteName = keyof { [R in ModelRoute as `${R['at']} ${R['verb']}`]: never };

export function routesOf({ subresources }: Scheme): readonly ModelRoute[] {
  return subresources.status ? modelRoutes : modelRoutes.filter(({ at }) => at !== 'status');
}

/** The verbs by method. */
function verbsAt(place: Place): ReadonlyMap<string, Verb> {
  const own = modelRoutes.filter(({ at }) => at === place);
  return new Map(
    own.flatMap(({ method, verb }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]).map((one) => [one, verb])),
  );
}

/** What there is at each place. */
export const verbs: Readonly<Record<Place, ReadonlyMap<string, Verb>>> = {
  collection: verbsAt('collection'),
  object: verbsAt('object'),
  status: verbsAt('status'),
};

const writeVerbs = new Map<string, Verb>(modelRoutes.map(({ method, verb }) => [method, verb]));

/** The verb of a request by the path rule, whether there is such a route or not; an unknown method is its own verb. */
export function verbOf(method: string, named: boolean): string {
  if (method === 'GET' || method === 'HEAD') return named ? 'get' : 'list';
  return writeVerbs.get(method) ?? method.toLowerCase();
}

/** Path of a collection: of all objects, or of one namespace. */
export function collectionPath(group: string, version: string, plural: string, namespace?: string): string {
  const base = `${group === '' ? '/api' : `/apis/${group}`}/${version}`;
  return namespace === undefined ? `${base}/${plural}` : `${base}/namespaces/${namespace}/${plural}`;
}

/** @param suffix tells models of one kind apart */
export function operationId({ at, verb }: ModelRoute, { groupVersionKind }: Scheme, suffix: string): string {
  return `${verb}${groupVersionKind.kind}${at === 'status' ? 'Status' : ''}${suffix}`;
}

/** Of the list over all namespaces. */
export function operationIdOfAll(scheme: Scheme, suffix: string): string {
  return `list${scheme.groupVersionKind.kind}ForAllNamespaces${suffix}`;
}

/** Those of a model's generated API. */
export function operationIds(scheme: Scheme, suffix: string): string[] {
  const ids = routesOf(scheme).map((route) => operationId(route, scheme, suffix));
  return scheme.isNamespaced ? [...ids, operationIdOfAll(scheme, suffix)] : ids;
}

/** The methods of a collection of several namespaces: an object is created in one. */
export const methodsOverNamespaces: readonly string[] = ['GET', 'HEAD'];

/**
 * What the authoriser is asked by the path rule `/apis/<group>/<version>/<resource>/{name}/<sub-resource>` (specification,
 * "Endpoints"), with `/api/<version>/…` for the empty group. `-` is no name.
 */
export function accessOf(
  method: string,
  [group, , resource, name, ...sub]: readonly string[],
): Extract<Access, { resource: string }> {
  const named = name !== undefined && name !== '' && name !== '-';
  return {
    verb: verbOf(method, named),
    group: group!,
    resource: [resource, ...sub].join('/'),
    ...(named && { name }),
  };
}

/** The same for a path that no route answers, or that is no resource. */
export function accessOfPath(method: string, path: string, segments: readonly string[]): Access {
  const core = segments[0] === 'api';
  const [group, version, resource, name, sub] = core ? ['', ...segments.slice(1)] : segments.slice(1);
  if ((segments[0] !== 'apis' && !core) || group === undefined || (group === '' && !core) || !version || !resource) {
    return { verb: method === 'HEAD' ? 'get' : method.toLowerCase(), path };
  }
  const [inner, ...below] = segments.slice(core ? 4 : 5);
  if (resource === 'namespaces' && name && inner && inner !== 'status')
    return {
      ...accessOf(method, [group, version, inner, below[0] ?? '', ...(below[1] ? [below[1]] : [])]),
      namespace: name,
    };
  return accessOf(method, [group, version, resource, name ?? '', ...(sub ? [sub] : [])]);
}
