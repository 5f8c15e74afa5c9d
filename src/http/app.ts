/**
 * The HTTP side of the service: every request takes the same way, in this order: request id, limits of the URL, admission,
 * match, identify, authorise, handler. Models are found in their registry and custom routes in theirs, because both come
 * and go while the service listens.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Logger } from 'pino';
import { anonymous, forbidden, isAnonymous } from '../auth/authentication/identity.ts';
import type { Kube, KubeMatch } from '../kube/kube.ts';
import type { Caller, Identity } from '../resource/access.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';
import { http, https } from '../runtime/node-http.ts';
import type { TurnQueue } from '../runtime/time-slice.ts';
import type { Timers } from '../runtime/timers.ts';
import type { MaybePromise } from '../store/store.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import { authorise } from './api/authorise.ts';
import type { ResourceTarget, WatchContext } from './api/resources.ts';
import { ResourceRoutes } from './api/resources.ts';
import { accessOfPath } from './api/routes.ts';
import { ConsolePage, isConsolePath, pageHeaders } from './console.ts';
import { serveCustom } from './custom/exchange.ts';
import type { CustomMatch } from './custom/routes.ts';
import type { InnerCaller } from './inner.ts';
import { innerFetch } from './inner.ts';
import type { OwnRoutes } from './openapi/service.ts';
import { ownRoutesAt } from './openapi/service.ts';
import { isSwaggerPath } from './openapi/swagger.ts';
import type { AccessLogOptions } from './server/access-log.ts';
import { AccessLog } from './server/access-log.ts';
import { Admission } from './server/admission.ts';
import { AnswerQueue } from './server/answer-queue.ts';
import { BrowserGuard } from './server/browser-guard.ts';
import { Connections } from './server/connections.ts';
import { Cors } from './server/cors.ts';
import type { ExchangeObserver } from './server/exchange.ts';
import { Exchange, unmatched } from './server/exchange.ts';
import { admissionLimits } from './server/limits.ts';
import type { Address } from './server/listen.ts';
import { clientErrorHandler, listen, refuseConnect, stop } from './server/listen.ts';
import { segmentsOf } from './server/path.ts';
import { methodNotAllowed, noRoute, overloaded, queryTooLong, shuttingDown, urlTooLong } from './server/problem.ts';
import { checkProtocol } from './server/protocol.ts';
import type { Certificate } from './server/tls.ts';
import { WaitingAnswers } from './server/waiting-answers.ts';
import type { YamlReader } from './server/yaml-body.ts';
import type { ServiceRoutesDependencies } from './service-routes.ts';
import { ServiceRoutes, starting } from './service-routes.ts';

export interface AppDependencies extends ServiceRoutesDependencies {
  /** A client that acts as the caller, for custom routes. */
  readonly clientOf: (caller: Caller) => ExtensionClient;
  readonly logger: Logger;
  /** Reads bodies in YAML; its owner closes it. */
  readonly yaml: YamlReader;
  readonly clock: { now(): number; monotonicNow(): number };
  readonly timers: Pick<Timers, 'after'>;
  /** A number from 0 (included) to 1 (excluded): the prefix of made request ids. */
  readonly random: () => number;
  /** Largest `size` of a page (option `list.maxSize`). */
  readonly maxListSize: number;
  /** Bytes that the objects of a page may have together (option `list.maxBytes`). */
  readonly maxListBytes: number;
  /** Bytes of list pages that are kept while no change concerns them. */
  readonly keptPageBytes: number;
  /** Origins that browsers may call from, `*` for all; none: no CORS. */
  readonly cors?: readonly string[];
  /** Without authentication: names besides those of the own machine by which the service may be called, `*` for any. */
  readonly hosts?: readonly string[];
  readonly accessLog: Required<AccessLogOptions>;
  readonly watch?: (context: WatchContext) => MaybePromise<void>;
  /** Whether the page below `/console/` is served. */
  readonly console: boolean;
  /** Of the listening socket; without one it speaks plain http. */
  readonly certificate?: Certificate | undefined;
  /** Undefined: requests have no spans. */
  readonly tracing?: Tracing | undefined;
  /** What answers Kubernetes clients. */
  readonly kube?: Kube | undefined;
  /** What answers agents. */
  readonly agents?: { readonly path: string; serve(exchange: Exchange): Promise<void> } | undefined;
}

export interface App {
  listen(address: Address): Promise<{ url: string }>;
  /** From now on new requests get 503 with `Connection: close`; `/livez` and `/readyz` answer on. */
  drain(): void;
  /** Drains, waits for requests under way (at most `limits.stopTimeout`), closes every connection. */
  stop(): Promise<void>;
  /** Requests of the service to itself. */
  innerFetch(caller: InnerCaller): typeof globalThis.fetch;
}

export function createApp(dependencies: AppDependencies): App {
  const handler = new Handler(dependencies);
  const { limits } = dependencies;
  const options = {
    maxHeaderSize: limits.headers,
    headersTimeout: limits.headersTimeout,
    keepAliveTimeout: limits.keepAlive,
    // The body of a request has limits of its own, which know whether bytes still come.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(2_000, limits.headersTimeout),
    requireHostHeader: false,
  };
  const { certificate, timers, logger } = dependencies;
  const server = certificate
    ? https().createServer({ ...options, ...certificate.pair, handshakeTimeout: limits.headersTimeout }, handler.handle)
    : http.createServer(options, handler.handle);
  const stopFollowing = certificate?.follow((pair) => (server as TlsServer).setSecureContext(pair), timers, logger);
  const connection = {
    limits,
    now: () => dependencies.clock.now(),
    makeId: () => handler.makeId(),
    answers: handler.answers,
  };
  const connections = new Connections(
    server,
    limits,
    () => dependencies.clock.monotonicNow(),
    (refused, address) => logger.warn({ refused, address }, 'Too many connections: new ones are closed'),
  );
  dependencies.metrics.gauge('kindred_connections', 'Open connections', [], () => [{ value: connections.open }]);
  dependencies.metrics.counter(
    'kindred_connections_refused_total',
    'Connections that were closed at once, because there were too many of all or of one address',
    ['of'],
    () => Object.entries(connections.refusals.counts).map(([of, value]) => ({ labels: { of }, value })),
  );
  server.on('clientError', clientErrorHandler(connection));
  // The bytes of all headers are bounded; a bound on their number would drop the last ones silently, If-Match among them.
  server.maxHeadersCount = 0;
  const inner = http.createServer(options, handler.handle);
  refuseConnect(server, connection);
  return {
    listen: (address) => listen(server, address, certificate ? 'https' : 'http'),
    drain: () => handler.drain(),
    stop: async () => {
      handler.drain();
      stopFollowing?.();
      await stop(server, limits.stopTimeout, () => connections.closeAll());
      handler.close();
    },
    innerFetch: (caller) => innerFetch(inner, caller),
  };
}

/** What a request was matched with. */
type Match =
  | { readonly kind: 'resource'; readonly target: ResourceTarget }
  | { readonly kind: 'custom'; readonly match: CustomMatch }
  | { readonly kind: 'method'; readonly allow: readonly string[] }
  | { readonly kind: 'own'; readonly route: OwnRoutes }
  | { readonly kind: 'kube'; readonly match: KubeMatch }
  | { readonly kind: 'agents' }
  | undefined;

class Handler implements ExchangeObserver {
  readonly #dependencies: AppDependencies;
  readonly #routes: ResourceRoutes;
  readonly #log: AccessLog;
  readonly #cors: Cors | undefined;
  readonly #guard: BrowserGuard | undefined;
  readonly #admission: Admission;
  readonly #service: ServiceRoutes;
  readonly #console: ConsolePage | undefined;
  readonly #idPrefix: string;
  readonly #makeId = () => this.makeId();
  readonly waiting: WaitingAnswers;
  readonly answers = new AnswerQueue(
    () => this.#admission.endTurn(),
    (response, { owner }) => this.waiting.await(response, owner),
  );
  #made = 0;
  #draining = false;

  constructor(dependencies: AppDependencies) {
    this.#dependencies = dependencies;
    const { registry, resources, authorizer, limits, yaml, maxListSize, maxListBytes, keptPageBytes, watch } =
      dependencies;
    this.waiting = new WaitingAnswers(limits);
    const routes = { registry, resources, limits, yaml, maxListSize, maxListBytes, keptPageBytes, authorizer };
    this.#routes = new ResourceRoutes({ ...routes, ...(watch && { watch }) });
    this.#console = dependencies.console ? new ConsolePage() : undefined;
    this.#log = new AccessLog(dependencies.logger, dependencies.accessLog);
    this.#service = new ServiceRoutes(dependencies, this.#log);
    this.#cors = dependencies.cors && dependencies.cors.length > 0 ? new Cors(dependencies.cors) : undefined;
    this.#guard = dependencies.hosts && new BrowserGuard(dependencies.hosts, this.#cors);
    this.#admission = new Admission({
      limits: admissionLimits,
      now: () => this.monotonicNow(),
      awaitEnd: () => this.answers.awaitEnd(),
      writes: resources.writes,
      begin: (exchange) => this.#run(exchange, true),
      refuse: (exchange) => this.#refuse(exchange),
      warn: (refused) => dependencies.logger.warn({ refused }, 'Overloaded: requests are refused'),
    });
    dependencies.metrics.gauge('kindred_requests_waiting', 'Requests in line', [], () => [
      { value: this.#admission.waiting },
    ]);
    dependencies.metrics.gauge('kindred_answer_bytes_waiting', 'Bytes that clients have not taken yet', [], () => [
      { value: this.waiting.bytes },
    ]);
    dependencies.metrics.counter(
      'kindred_requests_refused_total',
      'Requests refused because of overload, by cause',
      ['of'],
      () => Object.entries(this.#admission.refused).map(([of, value]) => ({ labels: { of }, value })),
    );
    this.#idPrefix = Math.floor(dependencies.random() * 36 ** 8)
      .toString(36)
      .padStart(8, '0');
  }

  get closing(): boolean {
    return this.#draining;
  }

  get turns(): TurnQueue {
    return this.#dependencies.resources.turns;
  }

  get readTimeout(): number {
    return this.#dependencies.limits.requestTimeout;
  }

  now(): number {
    return this.#dependencies.clock.now();
  }

  monotonicNow(): number {
    return this.#dependencies.clock.monotonicNow();
  }

  makeId(): string {
    return `${this.#idPrefix}-${(this.#made++).toString(36)}`;
  }

  drain(): void {
    this.#draining = true;
  }

  close(): void {
    this.#routes.close();
  }

  finished(exchange: Exchange, status: number): void {
    const ms = this.monotonicNow() - exchange.started;
    this.#dependencies.metrics.observe(exchange.method, exchange.route, status, ms / 1000);
    this.#dependencies.samples.answered(status);
    this.#log.finished(exchange, status, ms);
    endSpan(exchange, status);
    const { id: requestId, identity, access, address, code } = exchange;
    if (identity && access) this.#dependencies.answered?.({ requestId, identity, access, address, status, code });
  }

  unexpected(exchange: Exchange, error: unknown): void {
    this.#log.unexpected(exchange, error);
  }

  /** Answers the request; never throws. */
  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    const exchange = new Exchange(request, response, this.#makeId, this);
    const { tracing, certificate } = this.#dependencies;
    // Probes and scrapes would be most of the spans of a quiet service.
    if (tracing && fixedRouteAt(exchange.path)?.begun === undefined) {
      exchange.span = tracing.request(exchange, certificate ? 'https' : 'http');
    }
    this.#run(exchange, false);
  };

  #run(exchange: Exchange, isAdmitted: boolean): void {
    // What waited in line is begun in the turn of another request.
    if (exchange.span) exchange.span.run(() => this.#begin(exchange, isAdmitted));
    else this.#begin(exchange, isAdmitted);
  }

  #begin(exchange: Exchange, isAdmitted: boolean): void {
    try {
      const served = isAdmitted ? this.#serve(exchange) : this.#receive(exchange);
      if (served instanceof Promise) served.catch((error: unknown) => exchange.fail(error));
    } catch (error) {
      exchange.fail(error);
    }
  }

  /** What is answered however much there is to do; the rest is begun when there is time for it. */
  #receive(exchange: Exchange): MaybePromise<void> {
    const { request, path, query } = exchange;
    const { limits } = this.#dependencies;
    const isKube = this.#dependencies.kube?.owns(exchange);
    const isConsole = this.#console !== undefined && isConsolePath(exchange);
    if (isConsole) exchange.extra.push(...pageHeaders);
    if (request.url!.length > limits.url) throw urlTooLong(limits.url);
    if (query.length > limits.query) throw queryTooLong(limits.query);
    checkProtocol(request);
    this.#guard?.admit(exchange, (one) => isPage(one, this.#console !== undefined));
    if (this.#cors?.answer(exchange)) return;
    if (isConsole) return this.#console!.serve(exchange);
    if (isKube && this.#dependencies.kube!.isOpen(exchange)) return this.#dependencies.kube!.serve(exchange);
    const own = fixedRouteAt(path);
    if (own?.begun === 'always') return this.#service.serve(exchange, own);
    if (this.#draining) throw shuttingDown();
    if (own?.begun !== 'unqueued' && !this.#admission.admits(exchange)) return;
    return this.#serve(exchange, own);
  }

  #serve(exchange: Exchange, own = fixedRouteAt(exchange.path)): MaybePromise<void> {
    const { request } = exchange;
    if (own?.open) return this.#service.serve(exchange, own);
    this.#dependencies.limiter?.admitAddress(exchange.address ?? '');
    const match = this.#match(exchange);
    let identity: MaybePromise<Identity | undefined>;
    try {
      identity = this.#dependencies.authenticate(request);
    } catch (error) {
      throw this.#unidentified(exchange, match, error);
    }
    if (!(identity instanceof Promise)) return this.#answer(exchange, match, identity);
    return identity.then(
      (known) => this.#answer(exchange, match, known),
      (error: unknown) => {
        throw this.#unidentified(exchange, match, error);
      },
    );
  }

  /** Whoever shows a credential that does not hold stands in the audit log too, as nobody. */
  #unidentified(exchange: Exchange, match: Match, error: unknown): unknown {
    const { method, path } = exchange;
    exchange.identity = anonymous;
    exchange.access =
      match?.kind === 'resource'
        ? this.#routes.access(method, match.target)
        : match?.kind === 'custom' || match?.kind === 'kube'
          ? match.match.access
          : { verb: method.toLowerCase(), path };
    return error;
  }

  /** Without a line in the log of requests, which would cost more than the answer; the metrics count it. */
  #refuse(exchange: Exchange): void {
    exchange.refuse(overloaded);
    const seconds = (this.monotonicNow() - exchange.started) / 1000;
    this.#dependencies.metrics.observe(exchange.method, exchange.route, overloaded.status, seconds);
    this.#dependencies.samples.answered(overloaded.status);
    endSpan(exchange, overloaded.status);
  }

  #match(exchange: Exchange): Match {
    const { method, path } = exchange;
    if (exchange.errorForm) return { kind: 'kube', match: this.#dependencies.kube!.match(exchange) };
    if (path === this.#dependencies.agents?.path) return { kind: 'agents' };
    const target = this.#routes.find(path);
    if (target && target.name !== '-') return { kind: 'resource', target };
    const custom = this.#dependencies.custom.find(method, path);
    if (custom) return 'allow' in custom ? { kind: 'method', allow: custom.allow } : { kind: 'custom', match: custom };
    if (target) return { kind: 'resource', target };
    const route = this.#service.at(path);
    if (!route) return undefined;
    return route.methods.includes(method) ? { kind: 'own', route } : { kind: 'method', allow: route.methods };
  }

  #answer(exchange: Exchange, match: Match, identity: Identity | undefined): MaybePromise<void> {
    exchange.identity = identity ?? anonymous;
    if (!isAnonymous(exchange.identity))
      this.#dependencies.limiter?.admitIdentity(exchange.identity.name, exchange.address ?? '');
    if (match?.kind === 'resource') {
      exchange.route = this.#routes.template(match.target);
      return this.#routes.serve(exchange, match.target);
    }
    if (match?.kind === 'kube') return this.#dependencies.kube!.serve(exchange, match.match);
    if (match?.kind === 'agents') return this.#dependencies.agents!.serve(exchange);
    const { method, path } = exchange;
    const { authorizer } = this.#dependencies;
    if (match?.kind === 'custom') {
      exchange.route = match.match.route.path;
      const { access } = match.match;
      const { names, reason } = authorise(authorizer, exchange, access);
      // What is allowed for named objects alone cannot be narrowed to them here.
      if (names && !('name' in access)) throw forbidden(identity ?? anonymous, reason);
      return serveCustom(exchange, match.match, this.#dependencies);
    }
    authorise(authorizer, exchange, accessOfPath(method, path, segmentsOf(path)));
    if (match?.kind === 'method') throw methodNotAllowed(method, path, match.allow);
    if (match) return this.#service.serve(exchange, match.route);
    // A model that is not there yet may be one of a plugin that is starting.
    const isModelPath = path.startsWith('/apis/') || path.startsWith('/api/');
    throw isModelPath && this.#dependencies.health().status === 'starting' ? starting() : noRoute(path);
  }
}

function endSpan({ span, route, code }: Exchange, status: number): void {
  span?.end(route === unmatched ? undefined : route, status, code);
}

/** Of the API description and its assets, and of the console. */
function isPage(exchange: Exchange, withConsole: boolean): boolean {
  return isRead(exchange.method) && (isSwaggerPath(exchange.path) || (withConsole && isConsolePath(exchange)));
}

/** The route of the service, unless models and custom routes come before it. */
function fixedRouteAt(path: string): OwnRoutes | undefined {
  return path.startsWith('/api') ? undefined : ownRoutesAt(path);
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}
