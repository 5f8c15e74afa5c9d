/**
 * Spans by the semantic conventions of OpenTelemetry for HTTP. A *cause* is the span inside of which an object was last
 * written by this process: what follows from the write later is a trace of its own, which links to it. A span never has a
 * query string, a body, a token or the name of a caller.
 */
import type { Attributes, Context, Span, SpanContext, Tracer } from '@opentelemetry/api';
import { LRUCache } from 'lru-cache';

type Api = typeof import('@opentelemetry/api');

/** Writes whose cause is remembered. */
const mostCauses = 10_000;

/** Those that Node's parser knows, but that are no methods of HTTP semantics, are one: names of spans are few. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY']);

interface Incoming {
  readonly method: string;
  readonly path: string;
  /** Host and port that the request is for. */
  readonly authority: string | undefined;
  readonly address: string | undefined;
  readonly id: string;
  readonly request: { readonly headers: Readonly<Record<string, string | string[] | undefined>> };
}

/** A change that is about to be told to a receiver. */
interface Delivery {
  readonly webhook: string;
  readonly url: string;
  /** `plural.group`; undefined for a test, which is about no change. */
  readonly resource?: string | undefined;
  readonly revision: number;
}

/** What a write came to. */
type Committed = { readonly ok: true; readonly revision: number } | { readonly ok: false; readonly reason: string };

export class Tracing {
  readonly #api: Api;
  readonly #tracer: Tracer;
  /** By revision, and by `plural.group/name` for the newest one. */
  readonly #causes = new LRUCache<number | string, SpanContext>({ max: 2 * mostCauses });

  constructor(api: Api, tracer: Tracer) {
    this.#api = api;
    this.#tracer = tracer;
  }

  /** Goes on with the trace of the caller; inside of the span of an HTTP instrumentation, with that one. */
  request({ method, path, authority, address, id, request: { headers } }: Incoming, scheme: string): RequestSpan {
    const { context, propagation, trace, SpanKind } = this.#api;
    const active = context.active();
    const isInside = trace.getSpan(active) !== undefined;
    const parent = isInside ? active : propagation.extract(active, headers);
    const name = methods.has(method) ? method : 'HTTP';
    const { host: server, port } = splitAuthority(authority);
    const attributes: Attributes = {
      'http.request.method': methods.has(method) ? method : '_OTHER',
      'url.path': path,
      'url.scheme': scheme,
      'kindred.request_id': id,
      ...(server !== undefined && { 'server.address': server }),
      ...(port !== undefined && { 'server.port': port }),
      ...(address !== undefined && { 'client.address': address }),
      ...(typeof headers['user-agent'] === 'string' && { 'user_agent.original': headers['user-agent'] }),
    };
    const kind = isInside ? SpanKind.INTERNAL : SpanKind.SERVER;
    return new RequestSpan(this.#api, this.#tracer.startSpan(name, { kind, attributes }, parent), parent, name);
  }

  /**
   * Waiting for the database, and the transaction. Outside of a span it is none: nobody would find it.
   * @param object `plural.group/name`
   */
  async commit<T extends Committed>(object: string, commit: () => Promise<T>): Promise<T> {
    const cause = this.#api.trace.getActiveSpan();
    if (!cause) return commit();
    const span = this.#tracer.startSpan('commit', { attributes: { 'kindred.object': object } });
    try {
      const result = await commit();
      if (result.ok) {
        span.setAttribute('kindred.revision', result.revision);
        this.#causes.set(result.revision, cause.spanContext());
        this.#causes.set(object, cause.spanContext());
      } else this.#failed(span, result.reason);
      return result;
    } catch (error) {
      this.#failed(span, error);
      throw error;
    } finally {
      span.end();
    }
  }

  /** One call of a controller. @param type `plural.group` of its objects */
  async reconcile<T>(controller: string, type: string, name: string, call: () => T): Promise<Awaited<T>> {
    const { context, trace, ROOT_CONTEXT } = this.#api;
    const attributes = { 'kindred.controller': controller, 'kindred.object': `${type}/${name}` };
    const links = this.#linkTo(`${type}/${name}`);
    const span = this.#tracer.startSpan(`reconcile ${controller}`, { attributes, links }, ROOT_CONTEXT);
    try {
      return await context.with(trace.setSpan(ROOT_CONTEXT, span), call);
    } catch (error) {
      this.#failed(span, error);
      throw error;
    } finally {
      span.end();
    }
  }

  /** One attempt at a delivery. @param post is given the headers by which the receiver goes on with the trace; gives the status */
  async delivery(
    { webhook, url, resource, revision }: Delivery,
    post: (headers: Readonly<Record<string, string>>) => Promise<number>,
  ): Promise<number> {
    const { context, propagation, trace, ROOT_CONTEXT, SpanKind } = this.#api;
    const { hostname, port, protocol } = new URL(url);
    const attributes: Attributes = {
      'http.request.method': 'POST',
      'server.address': hostname,
      'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
      'url.scheme': protocol.slice(0, -1),
      'kindred.webhook': webhook,
      'kindred.revision': revision,
      ...(resource !== undefined && { 'kindred.resource': resource }),
    };
    const options = { kind: SpanKind.CLIENT, attributes, links: resource === undefined ? [] : this.#linkTo(revision) };
    const span = this.#tracer.startSpan(`deliver ${webhook}`, options, ROOT_CONTEXT);
    const inside = trace.setSpan(ROOT_CONTEXT, span);
    const headers: Record<string, string> = {};
    propagation.inject(inside, headers);
    try {
      const status = await context.with(inside, () => post(headers));
      span.setAttribute('http.response.status_code', status);
      return status;
    } catch (error) {
      const { status } = error as { readonly status?: unknown };
      if (typeof status === 'number') span.setAttribute('http.response.status_code', status);
      this.#failed(span, error);
      throw error;
    } finally {
      span.end();
    }
  }

  #linkTo(cause: number | string) {
    const context = this.#causes.get(cause);
    return context ? [{ context }] : [];
  }

  #failed(span: Span, error: unknown): void {
    const isError = error instanceof Error;
    const { code } = error as { readonly code?: unknown };
    if (isError) span.recordException(error);
    span.setAttribute('error.type', typeof code === 'string' ? code : isError ? error.name : String(error));
    span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: isError ? error.message : String(error) });
  }
}

/** The span of one request, from its head to the end of its answer. */
export class RequestSpan {
  readonly #api: Api;
  readonly #span: Span;
  readonly #context: Context;
  readonly #method: string;

  constructor(api: Api, span: Span, parent: Context, method: string) {
    this.#api = api;
    this.#span = span;
    this.#context = api.trace.setSpan(parent, span);
    this.#method = method;
  }

  /** For the log; undefined when no SDK is registered. */
  get ids(): { readonly traceId: string; readonly spanId: string } | undefined {
    const context = this.#span.spanContext();
    if (!this.#api.isSpanContextValid(context)) return undefined;
    return { traceId: context.traceId, spanId: context.spanId };
  }

  /** What is begun inside, and what that begins, is part of the trace. */
  run<T>(work: () => T): T {
    return this.#api.context.with(this.#context, work);
  }

  /** By which a request to somebody else goes on with the trace. */
  headers(): Record<string, string> {
    const headers: Record<string, string> = {};
    this.#api.propagation.inject(this.#context, headers);
    return headers;
  }

  /**
   * @param route its template; undefined when no route was found
   * @param code of the error that was the answer
   */
  end(route: string | undefined, status: number, code: string | undefined): void {
    this.#span.setAttribute('http.response.status_code', status);
    if (route !== undefined) {
      this.#span.updateName(`${this.#method} ${route}`);
      this.#span.setAttribute('http.route', route);
    }
    if (status >= 500) {
      this.#span.setAttribute('error.type', code ?? String(status));
      this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}

function splitAuthority(authority: string | undefined): { host?: string; port?: number } {
  const match = authority === undefined ? null : /^(.*?)(?::(\d{1,5}))?$/.exec(authority);
  if (!match?.[1]) return {};
  return { host: match[1], ...(match[2] !== undefined && { port: Number(match[2]) }) };
}
