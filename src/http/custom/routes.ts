/** The registry of custom routes: registration, finding the route of a request, and what the authoriser is asked (docs/reference/custom-routes.md and permissions.md). */

import findMyWay from 'find-my-way';
import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import { isVersion } from '../../model/gvk.ts';
import { isDisplayText } from '../../model/presentation.ts';
import type { SchemeRegistry } from '../../model/registry.ts';
import type { Scheme } from '../../model/scheme.ts';
import type { Access } from '../../resource/access.ts';
import { accessOf, operationIds } from '../api/routes.ts';
import type { Action, CustomEndpoint, CustomMethod, Handler, OperationDescription, Route } from './declaration.ts';
import { customMethods, GroupVersion } from './declaration.ts';
import { controllerOf } from './mapping.ts';
import type { RouteChecks } from './schema.ts';
import { compileChecks } from './schema.ts';

export type { CustomEndpoint } from './declaration.ts';

/** One registered route. */
export interface CustomRoute {
  /** Name of the plugin, '' for the service itself. */
  readonly owner: string;
  readonly method: CustomMethod;
  readonly group: string;
  readonly version: string;
  /** With its prefix, parameters as `{name}`. */
  readonly path: string;
  readonly handler: Handler;
  readonly operation: OperationDescription;
  readonly checks: RouteChecks;
  /** Of the route as a whole, without a name; that of a request is in `CustomMatch.access`. */
  readonly access: Access;
}

export interface CustomMatch {
  readonly route: CustomRoute;
  readonly params: Readonly<Record<string, string>>;
  /** By the path as requested: with the name of the object in it. */
  readonly access: Access;
}

export interface CustomRoutesOptions {
  registry: SchemeRegistry;
  reservedDomain: string;
  warn(message: string): void;
}

type Router = findMyWay.Instance<findMyWay.HTTPVersion.V1>;

/** Counted from `apis`; what is longer could not be named in a role (specification, "Limits"). */
const maxSegments = 7;
/** Of the name, counted from the group. */
const nameAt = 3;
const segmentSyntax = /^(?:[A-Za-z0-9._~-]+|\{[A-Za-z_][A-Za-z0-9_-]*\})$/;

/** Where an endpoint is served and who says so, for messages. */
interface Place {
  readonly owner: string;
  readonly group: string;
  readonly version: string;
  /** Before the route's own path, with `/apis`. */
  readonly prefix: string;
}

export class CustomRoutes {
  readonly #options: CustomRoutesOptions;
  /** By method and path with nameless parameters: two routes of one key would clash. */
  readonly #routes = new Map<string, CustomRoute>();
  readonly #scopes = new Map<string, (handle: () => unknown) => unknown>();
  readonly #listeners = new Set<() => void>();
  /** Built at the first request after a change, so that a start with many plugins builds it once. */
  #router: Router | undefined;

  constructor(options: CustomRoutesOptions) {
    this.#options = options;
    // A model may come after a route that has the path of its generated API: the generated API then has it.
    options.registry.onRegister((scheme) => {
      for (const route of this.#routes.values()) {
        if (belongsTo(scheme, route)) {
          options.warn(`${nameOf(route)} is hidden: its path now belongs to the generated API of ${kindOf(scheme)}`);
        }
      }
      this.#warnOfIds([...this.#routes.values()], [scheme]);
      this.#changed();
    });
    options.registry.onUnregister(() => this.#changed());
  }

  /**
   * A `CustomEndpoint`, or an annotated controller as class or instance. A controller without `ApiVersion` is not
   * registered; a warning says so.
   *
   * @throws InvalidPlugin for a path of more than 7 segments, a clash, a schema that cannot be checked and the like; then
   * nothing of the endpoint is registered.
   */
  register(owner: string, endpoint: CustomEndpoint | object): void {
    const declared = isEndpoint(endpoint) ? this.#readEndpoint(owner, endpoint) : this.#readController(owner, endpoint);
    if (!declared) return;
    const fresh = new Map<string, CustomRoute>();
    this.#warnOfGroup(declared.place);
    for (const one of declared.routes) {
      const route = this.#scoped(resolve(declared.place, one));
      const key = `${route.method} ${route.path.replaceAll(/\{[^}]*\}/g, '{}')}`;
      const other = this.#routes.get(key) ?? fresh.get(key);
      if (other) throw clash(nameOf(route), nameOf(other));
      const scheme = this.#modelOf(route);
      if (scheme) throw clash(nameOf(route), `the generated API of ${kindOf(scheme)}`);
      fresh.set(key, route);
    }
    for (const [key, route] of fresh) this.#routes.set(key, route);
    this.#warnOfIds([...fresh.values()], this.#options.registry.schemes());
    this.#changed();
  }

  /** Generators of clients ignore case, so the API description gives other names to operations that differ in nothing else. */
  #warnOfIds(routes: readonly CustomRoute[], schemes: readonly Scheme[]): void {
    const others = new Map<string, string>();
    for (const scheme of schemes) {
      for (const id of operationIds(scheme, '')) others.set(id.toLowerCase(), `"${id}" of ${kindOf(scheme)}`);
    }
    for (const route of routes) {
      const id = route.operation.operationId;
      const other = id === undefined ? undefined : others.get(id.toLowerCase());
      if (other === undefined) continue;
      this.#options.warn(
        `${nameOf(route)}: its operationId "${id}" is the generated ${other} but for case, which generators of clients ignore; the API description appends version and group to it`,
      );
    }
  }

  #warnOfGroup({ owner, group }: Place): void {
    if (owner === '' || audienceOf(group) !== undefined || group === this.#pluginGroup) return;
    this.#options.warn(
      `The routes of the group "${group}"${by(owner)} are in the aggregated API description alone: groups for an audience are console.api.<group>, uc.api.<group> and api.<group>`,
    );
  }

  /** Of annotated controllers with a version alone. */
  get #pluginGroup(): string {
    return `plugin.api.${this.#options.reservedDomain}`;
  }

  /** Handlers that this owner registers from now on are called by `run`; the plugin host knows by that whose code it is. */
  runInScope(owner: string, run: (handle: () => unknown) => unknown): void {
    this.#scopes.set(owner, run);
  }

  #scoped(route: CustomRoute): CustomRoute {
    const run = this.#scopes.get(route.owner);
    return run ? { ...route, handler: (request) => run(() => route.handler(request)) } : route;
  }

  /** At once: the next request finds none of them. */
  remove(owner: string): void {
    this.#scopes.delete(owner);
    for (const [key, route] of this.#routes) if (route.owner === owner) this.#routes.delete(key);
    this.#changed();
  }

  /** @throws NotReady while the route's owner is starting */
  assertOpen({ owner }: CustomRoute): void {
    this.#options.registry.starting.assertDone(owner);
  }

  /**
   * `path` is the requested one, still percent-encoded, without the query. HEAD finds GET. `allow`: the path is there,
   * the method is not. Never answers for a path of a registered model's generated API.
   */
  find(method: string, path: string): CustomMatch | { readonly allow: readonly string[] } | undefined {
    this.#router ??= this.#build();
    const wanted = method === 'HEAD' ? 'GET' : method;
    const found = isCustomMethod(wanted) ? lookUp(this.#router, wanted, path) : undefined;
    if (found) return found;
    const router = this.#router;
    const allow = customMethods.filter((one) => one !== wanted && lookUp(router, one, path));
    if (allow.length === 0) return undefined;
    return { allow: allow[0] === 'GET' ? ['GET', 'HEAD', ...allow.slice(1)] : allow };
  }

  /** Those that are served, by path, then method. */
  all(): readonly CustomRoute[] {
    const order = (a: CustomRoute, b: CustomRoute): number =>
      a.path < b.path ? -1 : a.path > b.path ? 1 : customMethods.indexOf(a.method) - customMethods.indexOf(b.method);
    return [...this.#routes.values()].filter((route) => !this.#modelOf(route)).sort(order);
  }

  /** Called when `all` could have changed. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #readEndpoint(owner: string, endpoint: CustomEndpoint): { place: Place; routes: readonly Route[] } {
    const { group, version } = GroupVersion.parse(String(endpoint.groupVersion()));
    return { place: this.#place(owner, group, version), routes: endpoint.endpoint().routes };
  }

  #readController(owner: string, candidate: unknown): { place: Place; routes: readonly Route[] } | undefined {
    const controller = isObject(candidate) ? controllerOf(candidate) : undefined;
    if (!controller) {
      throw new KindredError(
        'InvalidPlugin',
        localized(
          'registerEndpoint takes a CustomEndpoint (endpoint() and groupVersion()) or an annotated controller, as class or instance',
        ),
      );
    }
    const { name, apiVersion, routes } = controller;
    if (apiVersion === undefined) {
      this.#options.warn(
        `The controller ${name}${by(owner)} carries no ApiVersion: it is not registered, its routes do not exist`,
      );
      return undefined;
    }
    if (!isVersion(apiVersion)) {
      const { group, version } = GroupVersion.parse(apiVersion);
      return { place: this.#place(owner, group, version), routes };
    }
    const group = this.#pluginGroup;
    return {
      place: { owner, group, version: apiVersion, prefix: `/apis/${group}/${apiVersion}/plugins/${owner}` },
      routes,
    };
  }

  #place(owner: string, group: string, version: string): Place {
    const { reservedDomain } = this.#options;
    if (owner !== '' && (group === reservedDomain || group.endsWith(`.${reservedDomain}`))) {
      throw new KindredError(
        'InvalidPlugin',
        localized(
          'The group "{group}" is reserved for the service itself, as is every group ending in ".{reservedDomain}"',
        ),
        { params: { group, reservedDomain } },
      );
    }
    return { owner, group, version, prefix: `/apis/${group}/${version}` };
  }

  /** The model whose generated API has the path of this route. */
  #modelOf(route: CustomRoute): Scheme | undefined {
    const { registry } = this.#options;
    const resource = route.path.split('/')[4]!;
    const candidates = resource.startsWith('{')
      ? registry.schemes()
      : [registry.find(route.group, route.version, resource)];
    return candidates.find((scheme) => scheme && belongsTo(scheme, route));
  }

  #build(): Router {
    const router = findMyWay({ maxParamLength: 1024 });
    for (const route of this.all()) {
      let count = 0;
      const path = route.path.replaceAll(/\{[^}]*\}/g, () => `:p${count++}`);
      router.on(route.method, path, () => {}, { route, names: [...parameterNames(route.path)] });
    }
    return router;
  }

  #changed(): void {
    this.#router = undefined;
    for (const listener of this.#listeners) listener();
  }
}

export type Audience = 'console' | 'uc' | 'public';

/** By the form of the group (specification, "Custom API" 2); undefined for another form. */
export function audienceOf(group: string): Audience | undefined {
  if (group.startsWith('console.api.')) return 'console';
  if (group.startsWith('uc.api.')) return 'uc';
  return group.startsWith('api.') ? 'public' : undefined;
}

/** The names of the `{name}` segments of a path, in order. */
export function parameterNames(path: string): string[] {
  return [...path.matchAll(/\{([^}]*)\}/g)].map((match) => match[1]!);
}

function isObject(candidate: unknown): candidate is object {
  return typeof candidate === 'function' || (typeof candidate === 'object' && candidate !== null);
}

function isEndpoint(candidate: unknown): candidate is CustomEndpoint {
  return (
    isObject(candidate) &&
    'endpoint' in candidate &&
    typeof candidate.endpoint === 'function' &&
    'groupVersion' in candidate
  );
}

function isCustomMethod(method: string): method is CustomMethod {
  return (customMethods as readonly string[]).includes(method);
}

function resolve({ owner, group, version, prefix }: Place, route: Route): CustomRoute {
  const path = `${prefix}${route.path}`;
  const segments = path.split('/').slice(1);
  const wrong = (text: { en: string; zh: string }, params: Record<string, unknown> = {}): never => {
    const { en, zh } = text;
    const where = `${route.method} ${route.path.startsWith('/') ? path : `"${route.path}"`}${by(owner)}`;
    throw new KindredError(
      'InvalidPlugin',
      { en: `{where}: ${en}`, zh: `{where}：${zh}` },
      { params: { where, ...params } },
    );
  };
  const own = route.path.split('/').slice(1);
  if (!route.path.startsWith('/') || own.length === 0 || !own.every((one) => segmentSyntax.test(one))) {
    wrong(
      localized(
        'a path begins with "/" and its segments are texts of letters, digits, "-._~" or parameters such as {name}',
      ),
    );
  }
  // The service's own routes are named in roles without the parameters behind the name.
  if (owner !== '' && segments.length > maxSegments) {
    wrong(localized('the path has {count} segments, at most {max} are possible; hand over the rest as parameters'), {
      count: segments.length,
      max: maxSegments,
    });
  }
  const names = parameterNames(path);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    wrong(localized('the path contains the parameter {parameter} twice'), { parameter: twice });
  }
  const { operation } = route;
  const lost = operation.parameters.find((one) => one.in === 'path' && !names.includes(one.name));
  if (lost) {
    wrong(localized('the path parameter {parameter} is described but is not in the path'), { parameter: lost.name });
  }
  if (operation.body && route.method === 'GET') {
    wrong(localized('a GET request has no body'));
  }
  if (operation.operationId !== undefined && !/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(operation.operationId)) {
    wrong(localized('the operationId "{id}" is not made of letters, digits, "_.-" with a letter first'), {
      id: operation.operationId,
    });
  }
  if (operation.action) checkAction(operation.action, names, wrong);
  const checks = compileChecks(`${route.method} ${path}`, operation);
  const { verb, resource } = accessOf(route.method, namedSegments(segments.slice(1), { owner, path }));
  const access = { verb, group, resource };
  return { owner, method: route.method, group, version, path, handler: route.handler, operation, checks, access };
}

function checkAction(
  { title, on, confirm }: Action,
  names: readonly string[],
  wrong: (text: { en: string; zh: string }) => never,
): void {
  if (!isDisplayText(title) || !(confirm === undefined || isDisplayText(confirm))) {
    wrong(localized('the title of an action, and what it asks before, are texts, or objects of texts by language'));
  }
  const [first, ...more] = names;
  const isFitting = on === 'list' ? first === undefined : on === 'object' && first === 'name' && more.length === 0;
  if (!isFitting) {
    wrong(
      localized('an action is on: "object", with the one parameter {name} in its path, or on: "list", without any'),
    );
  }
}

function lookUp(router: Router, method: CustomMethod, path: string): CustomMatch | undefined {
  // The router would stop reading there, and the authoriser would see another path than the route.
  if (!path.startsWith('/') || /[?#]/.test(path)) return undefined;
  const found = router.find(method, path);
  // The router has no routes for "bad URL" and "parameter too long" either: both are just not there.
  const { route, names } = (found?.store ?? {}) as { route?: CustomRoute; names: string[] };
  if (!found || !route) return undefined;
  const values = names.map((_, i) => found.params[`p${i}`]);
  if (values.some((value) => !value)) return undefined;
  const params = Object.fromEntries(names.map((name, i) => [name, values[i]!]));
  // A slash inside a value must not look like the border of a segment to a role.
  const segments = path
    .split('/')
    .slice(2)
    .map((one) => decodeURIComponent(one).replaceAll('/', '%2F'));
  return { route, params, access: accessOf(method, namedSegments(segments, route)) };
}

/** Group, version, resource, name and what a role names behind them; of a route of the service no parameters. */
function namedSegments(segments: readonly string[], { owner, path }: Pick<CustomRoute, 'owner' | 'path'>): string[] {
  const template = path.split('/').slice(2);
  return segments.filter((_, i) => owner !== '' || i <= nameAt || !template[i]!.startsWith('{'));
}

/** Whether the path is one of the model's generated API: the list, an object, the status of an object. `-` is no object. */
function belongsTo(scheme: Scheme, route: { readonly path: string }): boolean {
  const [, group, version, resource, name, sub, ...more] = route.path.split('/').slice(1) as [
    string,
    string,
    string,
    string,
    ...string[],
  ];
  const gvk = scheme.groupVersionKind;
  if (group !== gvk.group || version !== gvk.version || more.length > 0) return false;
  const matches = (segment: string, text: string): boolean => segment === text || segment.startsWith('{');
  if (!matches(resource, scheme.plural)) return false;
  return name !== '-' && (sub === undefined || matches(sub, 'status'));
}

function clash(one: string, other: string): KindredError {
  return new KindredError('InvalidPlugin', localized('{one} clashes with {other}'), { params: { one, other } });
}

function by(owner: string): string {
  return owner === '' ? '' : ` of the plugin ${owner}`;
}

function nameOf(route: CustomRoute): string {
  return `${route.method} ${route.path}${by(route.owner)}`;
}

function kindOf(scheme: Scheme): string {
  const { group, version, kind } = scheme.groupVersionKind;
  return `${kind} (${group}/${version})`;
}
