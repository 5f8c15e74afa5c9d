/**
 * The façade: the objects of every model in the form of the Kubernetes API, below a prefix (docs/guide/kubernetes.md). A
 * request comes here after the limits, admission and identification of `http/app.ts`, and its errors are Statuses.
 */

import type { IncomingHttpHeaders } from 'node:http';
import { anonymous, isAnonymous, unauthenticated } from '../auth/authentication/identity.ts';
import type { KindredError } from '../errors.ts';
import type { ErrorAnswer, Exchange } from '../http/server/exchange.ts';
import { segmentsOf } from '../http/server/path.ts';
import { warningHeader } from '../http/server/warning.ts';
import type { Access } from '../resource/access.ts';
import { PastStates } from '../resource/past-states.ts';
import type { MaybePromise } from '../store/store.ts';
import { authorise, noToken } from './authorise.ts';
import type { DescribeDependencies } from './describe.ts';
import { describingRoutes } from './describe.ts';
import type { ListsDependencies } from './lists.ts';
import { KubeLists } from './lists.ts';
import type { ModelsDependencies } from './models.ts';
import { KubeModels } from './models.ts';
import type { ObjectsDependencies } from './objects.ts';
import { KubeObjects } from './objects.ts';
import { flag } from './parameters.ts';
import { resourcePath } from './path.ts';
import { reviewRoutes } from './review.ts';
import type { FacadeRoute, RouteMatch } from './routes.ts';
import { FacadeRoutes } from './routes.ts';
import type { ServiceDependencies } from './service.ts';
import { serviceRoutes } from './service.ts';
import { shownModel } from './shown.ts';
import { cannotImpersonate, failureAnswer, noResource, notAllowed } from './status.ts';
import type { ResourceTarget } from './target.ts';
import { targetOf } from './target.ts';
import type { WatchDependencies } from './watch.ts';
import { KubeWatches } from './watch.ts';

export interface KubeDependencies
  extends ModelsDependencies,
    ServiceDependencies,
    Omit<ListsDependencies, 'past' | 'objects'>,
    ObjectsDependencies,
    WatchDependencies,
    DescribeDependencies {
  /** Milliseconds for which the pages of a list show one moment (option `kube.continueTtl`). */
  readonly continueTtl: number;
}

/** What a request was matched with. */
export interface KubeMatch {
  /** What the authoriser is asked, and what the audit log tells. */
  readonly access: Access;
  readonly at: RouteMatch | ResourceTarget | undefined;
}

export class Kube {
  readonly #dependencies: KubeDependencies;
  readonly #prefix: string;
  readonly #below: string;
  readonly #models: KubeModels;
  readonly #objects: KubeObjects;
  readonly #lists: KubeLists;
  readonly #watches: KubeWatches;
  readonly #routes: FacadeRoutes;

  constructor(dependencies: KubeDependencies) {
    this.#dependencies = dependencies;
    this.#prefix = dependencies.prefix;
    this.#below = `${dependencies.prefix}/`;
    this.#models = new KubeModels(dependencies);
    const { places } = dependencies.resources;
    const past = new Map(
      places.map(({ name, feed }) => [name, new PastStates({ ...dependencies, feed }, dependencies.continueTtl)]),
    );
    this.#objects = new KubeObjects(dependencies);
    this.#lists = new KubeLists({ ...dependencies, past, objects: this.#objects });
    this.#watches = new KubeWatches(dependencies);
    const routes: FacadeRoute[] = [
      ...serviceRoutes(dependencies),
      ...describingRoutes(dependencies, this.#models),
      ...reviewRoutes(dependencies, this.#models),
    ];
    this.#routes = new FacadeRoutes(routes);
  }

  /** Whether the façade answers this path; its errors are Statuses then, from the first on. */
  owns(exchange: Exchange): boolean {
    const { path } = exchange;
    if (!path.startsWith(this.#below) && path !== this.#prefix) return false;
    exchange.errorForm = told;
    return true;
  }

  /** Answered without a token, however much there is to do. */
  isOpen({ path }: Exchange): boolean {
    return this.#routes.isOpen(this.#behindPrefix(path));
  }

  /** @throws KindredError BadRequest when the path is not well-formed */
  match({ method, path }: Exchange): KubeMatch {
    const segments = segmentsOf(this.#behindPrefix(path));
    const route = this.#routes.find(method, segments);
    if (route) return { access: { verb: method.toLowerCase(), path }, at: route };
    const place = resourcePath(segments);
    const target = place && targetOf(this.#models, method, place);
    return { access: target?.access ?? { verb: method.toLowerCase(), path }, at: target };
  }

  /** Some clients end paths with a slash. */
  #behindPrefix(path: string): string {
    const end = path.endsWith('/') ? -1 : undefined;
    return path.slice(this.#prefix.length, end) || '/';
  }

  /** Throws (or rejects with) what becomes the Status. */
  serve(exchange: Exchange, { access, at }: KubeMatch = this.match(exchange)): MaybePromise<void> {
    const { identity = anonymous, request } = exchange;
    if (impersonates(request.headers)) {
      exchange.access = access;
      throw cannotImpersonate(identity, request.headers['impersonate-user']);
    }
    if (!at) {
      if (isAnonymous(exchange.identity!)) throw unauthenticated(noToken);
      throw noResource();
    }
    if ('allow' in at) throw notAllowed(at.allow);
    if ('route' in at) {
      const { route, segments } = at;
      exchange.route = `${this.#prefix}${route.path}`;
      if (!route.open && isAnonymous(exchange.identity!)) throw unauthenticated(noToken);
      return route.serve(exchange, segments);
    }
    const { model, name } = at;
    const { group, storedGroup, plural, kind, warning } = model;
    if (warning !== undefined) exchange.extra.push('Warning', warningHeader(warning));
    exchange.route = `${this.#prefix}/${group}/${plural}`;
    exchange.errorForm = (error) => failureAnswer(error, { group, storedGroup, plural, kind, name });
    return name === undefined ? this.#collection(exchange, at) : this.#object(exchange, at);
  }

  #object(exchange: Exchange, target: ResourceTarget): MaybePromise<void> {
    this.#authorise(exchange, target, target.access.verb);
    const allow = target.sub === undefined ? ['GET', 'PUT', 'PATCH', 'DELETE'] : ['GET', 'PUT', 'PATCH'];
    assertMethod(exchange, allow);
    return this.#objects.serve(exchange, target);
  }

  #collection(exchange: Exchange, target: ResourceTarget): MaybePromise<void> {
    const { verb } = target.access;
    if (verb === 'list') {
      const isWatch = exchange.query.includes('watch') && flag(new URLSearchParams(exchange.query), 'watch') === true;
      if (isWatch) return this.#watches.watch(exchange, target, this.#authorise(exchange, target, 'watch'));
      return this.#lists.list(exchange, target, () => this.#authorise(exchange, target, 'list'));
    }
    const isOfAll = target.model.scheme.isNamespaced && target.namespace === undefined;
    const isDeletable = shownModel(target.model).verbs.includes('deletecollection');
    const allow = isOfAll ? ['GET'] : isDeletable ? ['GET', 'POST', 'DELETE'] : ['GET', 'POST'];
    if (verb === 'deletecollection') {
      const allowed = () => {
        const listed = this.#authorise(exchange, target, 'list');
        const deleted = this.#authorise(exchange, target, 'delete');
        exchange.access = target.access;
        return listed && deleted ? listed.intersection(deleted) : (listed ?? deleted);
      };
      allowed();
      assertMethod(exchange, allow);
      return this.#lists.deleteCollection(exchange, target, allowed);
    }
    this.#authorise(exchange, target, verb);
    assertMethod(exchange, allow);
    return this.#objects.create(exchange, target);
  }

  /** Names of the objects that alone are allowed. @throws KindredError Unauthenticated, Forbidden, NotReady */
  #authorise(exchange: Exchange, target: ResourceTarget, verb: string): ReadonlySet<string> | undefined {
    const { authorizer, registry } = this.#dependencies;
    const names = authorise(authorizer, exchange, target, { ...target.access, verb });
    registry.assertOpen(target.model.scheme);
    return names;
  }
}

/** Whether the caller asks to act as somebody else. Nobody may. */
function impersonates(headers: IncomingHttpHeaders): boolean {
  for (const name in headers) if (name.startsWith('impersonate-')) return true;
  return false;
}

function assertMethod({ method }: Exchange, allow: readonly string[]): void {
  if (!allow.includes(method === 'HEAD' ? 'GET' : method)) throw notAllowed(allow);
}

function told(error: KindredError): ErrorAnswer {
  return failureAnswer(error);
}
