/**
 * The façade: the objects of every model in the form of the Kubernetes API, below a prefix (docs/guide/kubernetes.md). A
 * request comes here after the limits, admission and identification of `http/app.ts`, and its errors are Statuses.
 */

import { isAnonymous, unauthenticated } from '../auth/authentication/identity.ts';
import type { KindredError } from '../errors.ts';
import type { ErrorAnswer, Exchange } from '../http/server/exchange.ts';
import { segmentsOf } from '../http/server/path.ts';
import { localized } from '../locales/localized.ts';
import type { Access } from '../resource/access.ts';
import type { MaybePromise } from '../store/store.ts';
import type { DescribeDependencies } from './describe.ts';
import { describingRoutes } from './describe.ts';
import type { ModelsDependencies } from './models.ts';
import { KubeModels } from './models.ts';
import type { ObjectsDependencies } from './objects.ts';
import { KubeObjects } from './objects.ts';
import { resourcePath } from './path.ts';
import type { FacadeRoute, RouteMatch } from './routes.ts';
import { FacadeRoutes } from './routes.ts';
import type { ServiceDependencies } from './service.ts';
import { serviceRoutes } from './service.ts';
import { failureAnswer, noResource, notAllowed } from './status.ts';
import type { ResourceTarget } from './target.ts';
import { targetOf } from './target.ts';

export interface KubeDependencies
  extends ModelsDependencies,
    ServiceDependencies,
    ObjectsDependencies,
    DescribeDependencies {}

/** What a request was matched with. */
export interface KubeMatch {
  /** What the authoriser is asked, and what the audit log tells. */
  readonly access: Access;
  readonly at: RouteMatch | ResourceTarget | undefined;
}

const texts = { token: localized('no token was sent') };

export class Kube {
  readonly #prefix: string;
  readonly #below: string;
  readonly #models: KubeModels;
  readonly #objects: KubeObjects;
  readonly #routes: FacadeRoutes;

  constructor(dependencies: KubeDependencies) {
    this.#prefix = dependencies.prefix;
    this.#below = `${dependencies.prefix}/`;
    this.#models = new KubeModels(dependencies);
    this.#objects = new KubeObjects(dependencies);
    const routes: FacadeRoute[] = [...serviceRoutes(dependencies), ...describingRoutes(dependencies, this.#models)];
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
    return this.#routes.isOpen(path.slice(this.#prefix.length));
  }

  /** @throws KindredError BadRequest when the path is not well-formed */
  match({ method, path }: Exchange): KubeMatch {
    const segments = segmentsOf(path.slice(this.#prefix.length) || '/');
    const route = this.#routes.find(method, segments);
    if (route) return { access: { verb: method.toLowerCase(), path }, at: route };
    const place = resourcePath(segments);
    const target = place && targetOf(this.#models, method, place);
    return { access: target?.access ?? { verb: method.toLowerCase(), path }, at: target };
  }

  /** Throws (or rejects with) what becomes the Status. */
  serve(exchange: Exchange, { at }: KubeMatch = this.match(exchange)): MaybePromise<void> {
    if (!at) {
      if (isAnonymous(exchange.identity!)) throw unauthenticated(texts.token);
      throw noResource();
    }
    if ('allow' in at) throw notAllowed(at.allow);
    if ('route' in at) {
      const { route, segments } = at;
      exchange.route = `${this.#prefix}${route.path}`;
      if (!route.open && isAnonymous(exchange.identity!)) throw unauthenticated(texts.token);
      return route.serve(exchange, segments);
    }
    const { model, name } = at;
    const { group, plural, kind } = model;
    exchange.route = `${this.#prefix}/${group}/${plural}`;
    exchange.errorForm = (error) => failureAnswer(error, { group, plural, kind, name });
    return this.#objects.serve(exchange, at);
  }
}

function told(error: KindredError): ErrorAnswer {
  return failureAnswer(error);
}
