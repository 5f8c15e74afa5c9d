/** The service's own routes: discovery, models, API descriptions, health, sessions, permissions, the audit log, metrics. */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Answered } from '../auth/audit.ts';
import { anonymous, forbidden, isAnonymous } from '../auth/authentication/identity.ts';
import type { RateLimiter } from '../auth/authentication/rate-limit.ts';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { SchemeRegistry } from '../model/registry.ts';
import type { Access, Authorizer, Identity, MayUse } from '../resource/access.ts';
import type { ResourceRegistry } from '../resource/registry.ts';
import type { MaybePromise } from '../store/store.ts';
import { discover } from './api/discovery.ts';
import type { ModelsDependencies } from './api/models.ts';
import { describeModel, listModels, listValues } from './api/models.ts';
import { actionsOf } from './custom/actions.ts';
import { isJson } from './custom/handler.ts';
import type { CustomRoutes } from './custom/routes.ts';
import type { ApiDocuments } from './openapi/documents.ts';
import type { OwnRoutes, ServiceOperation } from './openapi/service.ts';
import { ownRoutesAt } from './openapi/service.ts';
import { swaggerFile } from './openapi/swagger.ts';
import type { AccessLog } from './server/access-log.ts';
import { readBody } from './server/body.ts';
import type { Exchange } from './server/exchange.ts';
import type { Readiness } from './server/health.ts';
import { parseJson } from './server/json.ts';
import type { HttpLimits } from './server/limits.ts';
import { jsonLimits } from './server/limits.ts';
import type { Metrics } from './server/metrics.ts';
import { segmentsOf } from './server/path.ts';
import { asKindredError, methodNotAllowed, noRoute, unsupportedType } from './server/problem.ts';
import type { Samples } from './server/samples.ts';
import { sliceSize } from './server/slices.ts';
import type { SignInDependencies } from './session.ts';
import { SignIn } from './session.ts';

/** What the service tells those who operate it, without secrets. */
interface OperatorView {
  readonly options: () => readonly object[];
  readonly about: () => object;
  /** Undefined when there is no plugin of this name. */
  readonly plugin: (name: string) => object | undefined;
}

export interface ServiceRoutesDependencies {
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
  readonly health: () => Readiness;
  readonly metrics: Metrics;
  readonly samples: Samples;
  readonly limits: HttpLimits;
  /** The answer to `POST /v3/can-i` with this body. */
  readonly canI?: (identity: Identity, body: unknown, renewed: () => Promise<void> | undefined) => Promise<object>;
  /** Undefined: authentication is off. */
  readonly signIn?: SignInDependencies;
  readonly audit: (exchange: Exchange) => void;
  readonly operator: OperatorView;
  /** Throws TooManyRequests. */
  readonly limiter?: RateLimiter;
  /** Told of every answer to a caller who is known and whose access is, for the audit log. */
  readonly answered?: (answer: Answered) => void;
}

export class ServiceRoutes {
  readonly #dependencies: ServiceRoutesDependencies;
  readonly #log: AccessLog;
  readonly #signIn: SignIn;
  readonly #operations: Readonly<Record<ServiceOperation, (exchange: Exchange) => MaybePromise<void>>> = {
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
    showValues: (exchange) => this.#values(exchange),
    showSession: (exchange) => this.#session(exchange),
    beginSession: (exchange) => this.#signIn.begin(exchange),
    endSession: (exchange) => this.#signIn.end(exchange),
    visitIssuer: (exchange) => this.#signIn.visitIssuer(exchange),
    finishIssuerLogin: (exchange) => this.#signIn.finishLogin(exchange),
    makeSessionCode: (exchange) => this.#signIn.makeCode(exchange),
    explainAccess: (exchange) => this.#canI(exchange),
    showAudit: (exchange) => this.#dependencies.audit(exchange),
    showOptions: (exchange) => exchange.sendJson(200, { options: this.#dependencies.operator.options() }),
    showAbout: (exchange) => exchange.sendJson(200, this.#dependencies.operator.about()),
    showPlugin: (exchange) => this.#plugin(exchange),
    showSamples: (exchange) => this.#samples(exchange),
    showMetrics: (exchange) => this.#metrics(exchange),
  };

  constructor(dependencies: ServiceRoutesDependencies, log: AccessLog) {
    this.#dependencies = dependencies;
    this.#log = log;
    this.#signIn = new SignIn(dependencies.signIn, dependencies.answered);
  }

  /** Undefined when there is none at this path. */
  at(path: string): OwnRoutes | undefined {
    const route = ownRoutesAt(path);
    return route && this.#has(route, path) ? route : undefined;
  }

  /** @throws KindredError MethodNotAllowed */
  serve(exchange: Exchange, { path, operations, methods }: OwnRoutes): MaybePromise<void> {
    exchange.route = path;
    const operation = operations.get(exchange.method);
    if (operation === undefined) throw methodNotAllowed(exchange.method, exchange.path, methods);
    return this.#operations[operation](exchange);
  }

  #has({ path: template }: OwnRoutes, path: string): boolean {
    if (template === '/v3/can-i') return this.#dependencies.canI !== undefined;
    return !path.startsWith('/api') || discover(this.#dependencies.resources.servedVersions(), path) !== undefined;
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
      if (code === 'InternalError') this.#log.unexpected(exchange, error);
      return anonymous;
    }
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

  #plugin(exchange: Exchange): void {
    const found = this.#dependencies.operator.plugin(segmentsOf(exchange.path).at(-1)!);
    if (!found) throw noRoute(exchange.path);
    exchange.sendJson(200, found);
  }

  async #values(exchange: Exchange): Promise<void> {
    const type = segmentsOf(exchange.path).at(-2)!;
    const forbid = (reason: string) => forbidden(exchange.identity!, reason);
    const found = await listValues({ ...this.#models(exchange), forbid }, type, exchange.query);
    if (!found) throw noRoute(exchange.path);
    exchange.sendJson(200, found);
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

  /** @throws InvalidParameter */
  #samples(exchange: Exchange): void {
    const range = new URLSearchParams(exchange.query).get('range') ?? '15m';
    const [, count, unit] = /^(\d{1,6})(s|m|h)$/.exec(range) ?? [];
    const milliseconds = Number(count) * { s: 1_000, m: 60_000, h: 3_600_000 }[unit ?? 's']!;
    if (!(milliseconds > 0)) {
      throw new KindredError('InvalidParameter', rangeText, { params: { value: range }, parameter: 'range' });
    }
    exchange.sendJson(200, this.#dependencies.samples.within(milliseconds));
  }

  #mayUse(exchange: Exchange, access: Access): boolean {
    return this.#dependencies.authorizer.decide(exchange.identity!, access).allowed;
  }

  /** Which of these the caller may use. A question of many roles takes long, so they are asked in slices. */
  async #rightsTo(exchange: Exchange, accesses: Iterable<Access>): Promise<MayUse> {
    const keyOf = (access: Access) =>
      'path' in access
        ? `${access.verb} ${access.path}`
        : `${access.verb} ${access.resource} ${access.group} ${access.namespace ?? ''}`;
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
    if (name === '') return this.#operations.showApiDocuments(exchange);
    const { documents } = this.#dependencies;
    const document = documents.document(name, await this.#rightsTo(exchange, documents.accesses(name)));
    if (!document) throw noRoute(exchange.path);
    exchange.sendTagged(document.etag, document.json);
  }

  async #discovery(exchange: Exchange): Promise<void> {
    const served = this.#dependencies.resources.servedVersions();
    const accesses: Access[] = [];
    discover(served, exchange.path, (access) => accesses.push(access) > 0);
    const found = discover(served, exchange.path, await this.#rightsTo(exchange, accesses));
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
    const { status: known, ...all } = this.#dependencies.health();
    const status = exchange.closing ? 'stopping' : known;
    const details = decision.allowed ? all : {};
    if (status === 'ready') {
      exchange.sendJson(200, { status, ...details });
      return;
    }
    exchange.fail(new KindredError('NotReady', readinessTexts[status], details));
  }
}

const rangeText = localized('"range" is a time such as 30s, 15m or 1h, not "{value}"');

const readinessTexts = {
  starting: localized('The service is starting'),
  stopping: localized('The service is shutting down'),
  unavailable: localized('The database cannot be reached'),
  outdated: localized('Other replicas serve models by contracts that this one cannot serve by'),
} as const;

/** A model that is not there yet may be one of a plugin that is starting. */
export function starting(): KindredError {
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
