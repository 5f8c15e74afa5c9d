/**
 * The HTTP side of the service: every request takes the same way, in this order: request id, limits of the URL, admission,
 * match, identify, authorise, handler. Models are found in their registry and custom routes in theirs, because both come
 * and go while the service listens.
 */

import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Answered } from '../auth/audit.ts';
import { anonymous, forbidden, isAnonymous } from '../auth/authentication/identity.ts';
import type { RateLimiter } from '../auth/authentication/rate-limit.ts';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { SchemeRegistry } from '../model/registry.ts';
import type { Access, Authorizer, Caller, Identity, MayUse } from '../resource/access.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';
import type { ResourceRegistry } from '../resource/registry.ts';
import { http } from '../runtime/node-http.ts';
import type { TurnQueue } from '../runtime/time-slice.ts';
import type { MaybePromise } from '../store/store.ts';
import { authorise } from './api/authorise.ts';
import { discover } from './api/discovery.ts';
import type { ModelsDependencies } from './api/models.ts';
import { describeModel, listModels } from './api/models.ts';
import type { ResourceTarget, WatchContext } from './api/resources.ts';
import { ResourceRoutes } from './api/resources.ts';
import { accessOfPath } from './api/routes.ts';
import { ConsolePage, isConsolePath } from './console.ts';
import { actionsOf } from './custom/actions.ts';
import { serveCustom } from './custom/exchange.ts';
import { isJson } from './custom/handler.ts';
import type { CustomMatch, CustomRoutes } from './custom/routes.ts';
import type { ApiDocuments } from './openapi/documents.ts';
import type { OwnRoutes, ServiceOperation } from './openapi/service.ts';
import { ownRoutesAt } from './openapi/service.ts';
import { isSwaggerPath, swaggerFile } from './openapi/swagger.ts';
import type { AccessLogOptions } from './server/access-log.ts';
import { AccessLog } from './server/access-log.ts';
import { Admission } from './server/admission.ts';
import { AnswerQueue } from './server/answer-queue.ts';
import { readBody } from './server/body.ts';
import { BrowserGuard } from './server/browser-guard.ts';
import { Connections } from './server/connections.ts';
import { Cors } from './server/cors.ts';
import type { ExchangeObserver } from './server/exchange.ts';
import { Exchange } from './server/exchange.ts';
import type { Readiness } from './server/health.ts';
import { parseJson } from './server/json.ts';
import type { HttpLimits } from './server/limits.ts';
import { admissionLimits, jsonLimits } from './server/limits.ts';
import type { Address } from './server/listen.ts';
import { clientErrorHandler, listen, refuseConnect, stop } from './server/listen.ts';
import type { Metrics } from './server/metrics.ts';
import { segmentsOf } from './server/path.ts';
import {
  asKindredError,
  methodNotAllowed,
  noRoute,
  overloaded,
  queryTooLong,
  shuttingDown,
  unsupportedType,
  urlTooLong,
} from './server/problem.ts';
import { checkProtocol } from './server/protocol.ts';
import { sliceSize } from './server/slices.ts';
import { WaitingAnswers } from './server/waiting-answers.ts';
import type { SignInDependencies } from './session.ts';
import { SignIn } from './session.ts';

export interface AppDependencies {
  readonly registry: SchemeRegistry;
  readonly resources: ResourceRegistry;
  readonly custom: CustomRoutes;
  readonly documents: ApiDocuments;
  /**
   * Who sends this; undefined without credentials. Throws (or rejects with) Unauthenticated for bad ones.
   * Without authentication: everybody is the same all-powerful identity.
   */
  readonly authenticate: (request: IncomingMessage) => MaybePromise<Identity | undefined>;
  readonly authorizer: Authorizer;
  /** A client that acts as the caller, for custom routes. */
  readonly clientOf: (caller: Caller) => ExtensionClient;
  readonly health: () => Readiness;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly clock: { now(): number; monotonicNow(): number };
  /** A number from 0 (included) to 1 (excluded): the prefix of made request ids. */
  readonly random: () => number;
  readonly limits: HttpLimits;
  /** Largest `size` of a page (option `list.maxSize`). */
  readonly maxListSize: number;
  /** Bytes that the objects of a page may have together (option `list.maxBytes`). */
  readonly maxListBytes: number;
  /** Origins that browsers may call from, `*` for all; none: no CORS. */
  readonly cors?: readonly string[];
  /** Without authentication: names besides those of the own machine by which the service may be called, `*` for any. */
  readonly hosts?: readonly string[];
  readonly accessLog: Required<AccessLogOptions>;
  readonly watch?: (context: WatchContext) => MaybePromise<void>;
  /** The answer to `POST /v3/can-i` with this body. */
  readonly canI?: (identity: Identity, body: unknown, renewed: () => Promise<void> | undefined) => Promise<object>;
  /** Whether the page below `/console/` is served. */
  readonly console: boolean;
  /** Undefined: authentication is off. */
  readonly signIn?: SignInDependencies;
  /** Throws TooManyRequests. */
  readonly limiter?: RateLimiter;
  /** Told of every answer to a caller who is known and whose access is, for the audit log. */
  readonly answered?: (answer: Answered) => void;
}

export interface App {
  listen(address: Address): Promise<{ url: string }>;
  /** From now on new requests get 503 with `Connection: close`; `/livez` and `/readyz` answer on. */
  drain(): void;
  /** Drains, waits for requests under way (at most `limits.stopTimeout`), closes every connection. */
  stop(): Promise<void>;
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
  const server = http.createServer(options, handler.handle);
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
    (refused, address) => dependencies.logger.warn({ refused, address }, 'Too many connections: new ones are closed'),
  );
  dependencies.metrics.gauge('kindred_connections', 'Open connections', () => [{ value: connections.open }]);
  dependencies.metrics.counter(
    'kindred_connections_refused_total',
    'Connections that were closed at once, because there were too many of all or of one address',
    () => Object.entries(connections.refusals.counts).map(([of, value]) => ({ labels: { of }, value })),
  );
  server.on('clientError', clientErrorHandler(connection));
  // The bytes of all headers are bounded; a bound on their number would drop the last ones silently, If-Match among them.
  server.maxHeadersCount = 0;
  refuseConnect(server, connection);
  return {
    listen: (address) => listen(server, address),
    drain: () => handler.drain(),
    stop: async () => {
      handler.drain();
      await stop(server, limits.stopTimeout);
      handler.close();
    },
  };
}

/** What a request was matched with. */
type Match =
  | { readonly kind: 'resource'; readonly target: ResourceTarget }
  | { readonly kind: 'custom'; readonly match: CustomMatch }
  | { readonly kind: 'method'; readonly allow: readonly string[] }
  | { readonly kind: 'own'; readonly route: OwnRoutes }
  | undefined;

class Handler implements ExchangeObserver {
  readonly #dependencies: AppDependencies;
  readonly #routes: ResourceRoutes;
  readonly #log: AccessLog;
  readonly #cors: Cors | undefined;
  readonly #guard: BrowserGuard | undefined;
  readonly #admission: Admission;
  readonly #signIn: SignIn;
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

  /** The service's own routes. */
  readonly #own: Readonly<Record<ServiceOperation, (exchange: Exchange) => MaybePromise<void>>> = {
    discoverApiGroups: (exchange) => this.#discovery(exchange),
    discoverApiGroup: (exchange) => this.#discovery(exchange),
    discoverApiResources: (exchange) => this.#discovery(exchange),
    discoverCoreApiResources: (exchange) => this.#discovery(exchange),
    showApiDocuments: (exchange) => exchange.sendJson(200, { groups: this.#dependencies.documents.groups() }),
    showApiDocument: (exchange) => this.#document(exchange),
    showApiPage: serveSwagger,
    // Where it is served, it is before anything else.
    showConsole: ({ path }) => {
      throw noRoute(path);
    },
    checkLiveness: (exchange) => exchange.sendJson(200, { status: 'ok' }),
    checkReadiness: (exchange) => this.#ready(exchange),
    showModels: (exchange) => sendHashed(exchange, { models: listModels(this.#models(exchange)) }),
    showModel: (exchange) => this.#model(exchange),
    showSession: (exchange) => this.#session(exchange),
    beginSession: (exchange) => this.#signIn.begin(exchange),
    endSession: (exchange) => this.#signIn.end(exchange),
    makeSessionCode: (exchange) => this.#signIn.makeCode(exchange),
    explainAccess: (exchange) => this.#canI(exchange),
    showMetrics: (exchange) => this.#metrics(exchange),
  };

  constructor(dependencies: AppDependencies) {
    this.#dependencies = dependencies;
    const { registry, resources, authorizer, limits, maxListSize, maxListBytes, watch } = dependencies;
    this.waiting = new WaitingAnswers(limits);
    const routes = { registry, resources, limits, maxListSize, maxListBytes, authorizer };
    this.#routes = new ResourceRoutes({ ...routes, ...(watch && { watch }) });
    this.#signIn = new SignIn(dependencies.signIn);
    this.#console = dependencies.console ? new ConsolePage() : undefined;
    this.#log = new AccessLog(dependencies.logger, dependencies.accessLog);
    this.#cors = dependencies.cors && dependencies.cors.length > 0 ? new Cors(dependencies.cors) : undefined;
    this.#guard = dependencies.hosts && new BrowserGuard(dependencies.hosts, this.#cors);
    this.#admission = new Admission({
      limits: admissionLimits,
      now: () => this.monotonicNow(),
      awaitEnd: () => this.answers.awaitEnd(),
      writes: resources.queue,
      begin: (exchange) => this.#run(exchange, true),
      refuse: (exchange) => this.#refuse(exchange),
      warn: (refused) => dependencies.logger.warn({ refused }, 'Overloaded: requests are refused'),
    });
    dependencies.metrics.gauge('kindred_requests_waiting', 'Requests in line', () => [
      { value: this.#admission.waiting },
    ]);
    dependencies.metrics.gauge('kindred_answer_bytes_waiting', 'Bytes that clients have not taken yet', () => [
      { value: this.waiting.bytes },
    ]);
    dependencies.metrics.counter(
      'kindred_requests_refused_total',
      'Requests that were not begun, by what there was too much of',
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
    this.#log.finished(exchange, status, ms);
    const { id: requestId, identity, access, address, code } = exchange;
    if (identity && access) this.#dependencies.answered?.({ requestId, identity, access, address, status, code });
  }

  unexpected(exchange: Exchange, error: unknown): void {
    this.#log.unexpected(exchange, error);
  }

  /** Answers the request; never throws. */
  readonly handle = (request: IncomingMessage, response: ServerResponse): void =>
    this.#run(new Exchange(request, response, this.#makeId, this), false);

  #run(exchange: Exchange, isAdmitted: boolean): void {
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
    if (request.url!.length > limits.url) throw urlTooLong(limits.url);
    if (query.length > limits.query) throw queryTooLong(limits.query);
    checkProtocol(request);
    this.#guard?.admit(exchange, (one) => isPage(one, this.#console !== undefined));
    if (this.#cors?.answer(exchange)) return;
    if (this.#console && isConsolePath(exchange)) return this.#console.serve(exchange);
    const own = fixedRouteAt(path);
    if (own?.begun === 'always') return this.#open(exchange, own);
    if (this.#draining) throw shuttingDown();
    if (own?.begun !== 'unqueued' && !this.#admission.admits(exchange)) return;
    return this.#serve(exchange, own);
  }

  #serve(exchange: Exchange, own = fixedRouteAt(exchange.path)): MaybePromise<void> {
    const { request } = exchange;
    if (own?.open) return this.#open(exchange, own);
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
        : match?.kind === 'custom'
          ? match.match.access
          : { verb: method.toLowerCase(), path };
    return error;
  }

  /** Without a line in the log of requests, which would cost more than the answer; the metrics count it. */
  #refuse(exchange: Exchange): void {
    exchange.refuse(overloaded);
    const seconds = (this.monotonicNow() - exchange.started) / 1000;
    this.#dependencies.metrics.observe(exchange.method, exchange.route, overloaded.status, seconds);
  }

  /**
   * Nobody, when the credentials do not hold: counted and written to the audit log as at any other route.
   * @throws KindredError TooManyRequests for credentials; a probe, which shows none, is answered however many there are
   */
  async #whoever(exchange: Exchange, access: Access): Promise<Identity> {
    const { limiter, authenticate, answered } = this.#dependencies;
    const { request, id: requestId, address } = exchange;
    try {
      limiter?.admitAddress(address ?? '');
      const identity = (await authenticate(request)) ?? anonymous;
      if (!isAnonymous(identity)) limiter?.admitIdentity(identity.name, address ?? '');
      return identity;
    } catch (error) {
      const { status, code } = asKindredError(error);
      if (code !== 'TooManyRequests') answered?.({ requestId, identity: anonymous, access, address, status, code });
      else if (request.headers.authorization !== undefined) throw error;
      if (code === 'InternalError') this.unexpected(exchange, error);
      return anonymous;
    }
  }

  #open(exchange: Exchange, { path, operations, methods }: OwnRoutes): MaybePromise<void> {
    exchange.route = path;
    const operation = operations.get(exchange.method);
    if (operation === undefined) throw methodNotAllowed(exchange.method, exchange.path, methods);
    return this.#own[operation](exchange);
  }

  #match(exchange: Exchange): Match {
    const { method, path } = exchange;
    const target = this.#routes.find(path);
    if (target && target.name !== '-') return { kind: 'resource', target };
    const custom = this.#dependencies.custom.find(method, path);
    if (custom) return 'allow' in custom ? { kind: 'method', allow: custom.allow } : { kind: 'custom', match: custom };
    if (target) return { kind: 'resource', target };
    const route = ownRoutesAt(path);
    if (!route || !this.#has(route, path)) return undefined;
    return route.methods.includes(method) ? { kind: 'own', route } : { kind: 'method', allow: route.methods };
  }

  #has({ path: template }: OwnRoutes, path: string): boolean {
    if (template === '/v3/can-i') return this.#dependencies.canI !== undefined;
    return !path.startsWith('/api') || discover(this.#dependencies.registry, path) !== undefined;
  }

  #answer(exchange: Exchange, match: Match, identity: Identity | undefined): MaybePromise<void> {
    exchange.identity = identity ?? anonymous;
    if (!isAnonymous(exchange.identity))
      this.#dependencies.limiter?.admitIdentity(exchange.identity.name, exchange.address ?? '');
    if (match?.kind === 'resource') {
      exchange.route = this.#routes.template(match.target);
      return this.#routes.serve(exchange, match.target);
    }
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
    if (match) return this.#open(exchange, match.route);
    // A model that is not there yet may be one of a plugin that is starting.
    const isModelPath = path.startsWith('/apis/') || path.startsWith('/api/');
    throw isModelPath && this.#dependencies.health().status === 'starting' ? starting() : noRoute(path);
  }

  #models(exchange: Exchange): ModelsDependencies {
    const { registry, resources, authorizer } = this.#dependencies;
    return { registry, resources, decide: (access) => authorizer.decide(exchange.identity!, access) };
  }

  #model(exchange: Exchange): void {
    const found = describeModel(this.#models(exchange), segmentsOf(exchange.path).at(-1)!);
    if (!found) throw noRoute(exchange.path);
    const mayUse = (access: Access) => this.#dependencies.authorizer.decide(exchange.identity!, access).allowed;
    const actions = actionsOf(this.#dependencies.custom.all(), found.scheme, mayUse);
    sendHashed(exchange, { ...found.description, actions });
  }

  /** Everybody sees how one signs in, and who they are themselves. */
  async #session(exchange: Exchange): Promise<void> {
    exchange.identity = await this.#whoever(exchange, { verb: 'get', path: '/v3/session' });
    this.#signIn.show(exchange, exchange.identity);
  }

  async #canI(exchange: Exchange): Promise<void> {
    const { limits, canI } = this.#dependencies;
    const type = exchange.request.headers['content-type'];
    if (!isJson(type)) throw unsupportedType(type, ['application/json'], false);
    const body = parseJson(await readBody(exchange.request, limits), jsonLimits(limits));
    const slice = exchange.timeSlice();
    const renewed = () => (slice.isOver ? slice.renew() : undefined);
    exchange.sendJson(200, await canI!(exchange.identity!, body, renewed));
  }

  async #metrics(exchange: Exchange): Promise<void> {
    const { metrics } = this.#dependencies;
    const pieces = await metrics.text(exchange.timeSlice());
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    const headers = ['Content-Type', metrics.contentType];
    if (length > sliceSize) exchange.sendLarge(200, headers, length, pieces);
    else exchange.send(200, headers, Buffer.concat(pieces, length));
  }

  #mayUse(exchange: Exchange, access: Access): boolean {
    return this.#dependencies.authorizer.decide(exchange.identity!, access).allowed;
  }

  /** Which of these the caller may use. A question of many roles takes long, so they are asked in slices. */
  async #rightsTo(exchange: Exchange, accesses: Iterable<Access>): Promise<MayUse> {
    const keyOf = (access: Access) =>
      'path' in access ? `${access.verb} ${access.path}` : `${access.verb} ${access.resource} ${access.group}`;
    const allowed = new Set<string>();
    const slice = exchange.timeSlice();
    for (const access of accesses) {
      if (this.#mayUse(exchange, access)) allowed.add(keyOf(access));
      if (slice.isOver) await slice.renew();
    }
    return (access) => allowed.has(keyOf(access));
  }

  async #document(exchange: Exchange): Promise<void> {
    const name = segmentsOf(exchange.path).at(-1)!;
    if (name === '') return this.#own.showApiDocuments(exchange);
    const { documents } = this.#dependencies;
    const document = documents.document(name, await this.#rightsTo(exchange, documents.accesses(name)));
    if (!document) throw noRoute(exchange.path);
    exchange.sendTagged(document.etag, document.json);
  }

  async #discovery(exchange: Exchange): Promise<void> {
    const { registry } = this.#dependencies;
    const accesses: Access[] = [];
    discover(registry, exchange.path, (access) => accesses.push(access) > 0);
    const found = discover(registry, exchange.path, await this.#rightsTo(exchange, accesses));
    if (!found) throw noRoute(exchange.path);
    exchange.route = exchange.path;
    exchange.sendJson(200, found);
  }

  /** Everybody sees the status, also who is not identified; the rest is for those who may. */
  async #ready(exchange: Exchange): Promise<void> {
    const access = { verb: 'get', path: '/readyz' };
    exchange.identity = await this.#whoever(exchange, access);
    if (!isAnonymous(exchange.identity)) exchange.access = access;
    const decision = this.#dependencies.authorizer.decide(exchange.identity, access);
    const { models, plugins, ...known } = this.#dependencies.health();
    const status = this.#draining ? 'stopping' : known.status;
    const details = decision.allowed ? { models, plugins } : {};
    if (status === 'ready') {
      exchange.sendJson(200, { status, ...details });
      return;
    }
    exchange.fail(new KindredError('NotReady', readinessTexts[status], {}, details));
  }
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

const readinessTexts = {
  starting: localized('The service is starting'),
  stopping: localized('The service is shutting down'),
  unavailable: localized('The database cannot be reached'),
} as const;

function starting(): KindredError {
  return new KindredError('NotReady', readinessTexts.starting);
}

/** With an entity tag made of the content. */
function sendHashed(exchange: Exchange, content: object): void {
  const body = Buffer.from(JSON.stringify(content));
  exchange.sendTagged(`"${hash('sha256', body, 'base64url').slice(0, 22)}"`, body);
}

async function serveSwagger(exchange: Exchange): Promise<void> {
  exchange.route = '/swagger-ui';
  const file = (await swaggerFile(exchange.path))!;
  exchange.send(200, Object.entries(file.headers).flat(), file.body);
}
