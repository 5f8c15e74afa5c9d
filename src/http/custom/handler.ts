/** One request to a custom route: readiness, parameters, body, handler, answer. Knows nothing of the HTTP framework. */

import { requestUrl } from '../../auth/authentication/request-url.ts';
import type { Locale } from '../../errors.ts';
import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import type { Identity } from '../../resource/access.ts';
import type { ExtensionClient } from '../../resource/extension-client.ts';
import type { JsonLimits } from '../server/json.ts';
import { parseJson } from '../server/json.ts';
import { mediaType } from '../server/negotiate.ts';
import type { CustomRequest } from './declaration.ts';
import { listLimits } from './list.ts';
import type { CustomMatch, CustomRoute, CustomRoutes } from './routes.ts';

/** The raw pieces of a request. */
export interface CustomCall {
  readonly method: string;
  /** Path and query as they came, or an absolute URL. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body when its type is JSON (`isJson`); undefined when there is none, or one of another type, which `web` then gives. */
  readonly rawBody: Buffer | undefined;
  readonly identity: Identity;
  readonly locale: Locale;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  /** Acts as the caller. */
  readonly client: ExtensionClient;
  web(): globalThis.Request;
}

export interface CustomAnswer {
  readonly status: number;
  /** Names in lower case; several values for `set-cookie` alone. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Of the answer to HEAD too, which goes without it. A stream that is not wanted (any more) is to be ended by `return`. */
  readonly body: Buffer | string | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> | null;
}

export interface CustomHandlerOptions {
  /** Milliseconds until a handler's result must be there; a stream may go on for longer. Default 30,000. */
  timeLimit?: number;
  json?: JsonLimits;
  /** Largest `size` of a list (option `list.maxSize`). Default 1,000. */
  maxListSize?: number;
}

/** Whether a Content-Type is JSON in UTF-8: `application/json` or any `…+json`. */
export function isJson(contentType: string | undefined): boolean {
  const type = mediaType(contentType);
  return type === 'application/json' || /^[\w.-]+\/[\w.-]+\+json$/.test(type);
}

/**
 * To be called after the authoriser allowed `match.access`.
 *
 * @throws what the handler throws; NotReady while the owner's indexes are being built; InvalidParameter, BadRequest,
 * UnsupportedMediaType, Invalid for what the route declares; over the time limit QueryLimit for a GET, UnknownOutcome else.
 */
export async function handleCustom(
  routes: CustomRoutes,
  match: CustomMatch,
  call: CustomCall,
  options: CustomHandlerOptions = {},
): Promise<CustomAnswer> {
  const { route } = match;
  routes.assertOpen(route);
  const limit = new AbortController();
  const request = new ReceivedRequest(match, call, AbortSignal.any([call.signal, limit.signal]), options.maxListSize);
  request.parameters = route.checks.parameters(request);
  request.body = await bodyOf(route, call, options.json);
  const timer = setTimeout(() => limit.abort(tooSlow(route)), options.timeLimit ?? 30_000);
  let result: unknown;
  try {
    result = await unlessAborted(request.signal, () => route.handler(request));
  } finally {
    clearTimeout(timer);
  }
  return answerOf(result);
}

class ReceivedRequest implements CustomRequest {
  readonly method: string;
  readonly url: URL;
  readonly signal: AbortSignal;
  readonly params: Readonly<Record<string, string>>;
  readonly identity: Identity;
  readonly locale: Locale;
  readonly client: ExtensionClient;
  readonly [listLimits]: { readonly maxSize: number };
  parameters: Readonly<Record<string, any>> = {};
  body: any;
  readonly #call: CustomCall;
  #headers: Headers | undefined;
  #web: globalThis.Request | undefined;

  constructor(match: CustomMatch, call: CustomCall, signal: AbortSignal, maxListSize = 1000) {
    this.#call = call;
    this[listLimits] = { maxSize: maxListSize };
    this.method = call.method;
    this.url = requestUrl(call.url, call.headers.host);
    this.signal = signal;
    this.params = match.params;
    // A handler may answer with it: what the authoriser keeps beside, the digest of a token among it, stays here.
    this.identity = { name: call.identity.name, roles: [...call.identity.roles] };
    this.locale = call.locale;
    this.client = call.client;
  }

  get query(): URLSearchParams {
    return this.url.searchParams;
  }

  get headers(): Headers {
    if (!this.#headers) {
      this.#headers = new Headers();
      for (const [name, value] of Object.entries(this.#call.headers)) {
        for (const one of [value ?? []].flat()) this.#headers.append(name, one);
      }
    }
    return this.#headers;
  }

  get web(): globalThis.Request {
    this.#web ??= this.#call.web();
    return this.#web;
  }
}

async function bodyOf(route: CustomRoute, call: CustomCall, limits: JsonLimits | undefined): Promise<unknown> {
  const { body } = route.operation;
  const given = call.rawBody !== undefined && call.rawBody.length > 0;
  if (given) {
    const value = parseJson(call.rawBody, limits);
    return route.checks.body ? await route.checks.body(value) : value;
  }
  const type = call.headers['content-type'];
  if (body && type !== undefined && !isJson(String(type))) {
    throw new KindredError(
      'UnsupportedMediaType',
      localized('The body of this route is JSON (application/json), not {type}'),
      { params: { type } },
    );
  }
  const { 'content-length': length, 'transfer-encoding': encoding } = call.headers;
  if (body && type === undefined && (encoding !== undefined || Number(length ?? 0) > 0)) {
    throw new KindredError(
      'UnsupportedMediaType',
      localized('The body of this route is JSON: send it with "Content-Type: application/json"'),
    );
  }
  if (body?.required) {
    throw new KindredError('BadRequest', localized('The request body is empty; this route expects JSON'));
  }
  return undefined;
}

function tooSlow(route: CustomRoute): KindredError {
  return route.method === 'GET'
    ? new KindredError('QueryLimit', localized('The route did not answer within its time limit'))
    : new KindredError(
        'UnknownOutcome',
        localized('The route did not answer within its time limit; its outcome is unknown'),
      );
}

/** A handler that does not look at the signal is left alone, its late result dropped. */
function unlessAborted(signal: AbortSignal, work: () => unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    const settled = (): void => signal.removeEventListener('abort', abort);
    new Promise((done) => done(work())).then(resolve, reject).finally(settled);
  });
}

async function answerOf(result: unknown): Promise<CustomAnswer> {
  if (result === undefined) return { status: 204, headers: {}, body: null };
  if (typeof result === 'string') return ok('text/plain; charset=utf-8', result);
  if (isTagged<Response>(result, 'Response')) return answerOfResponse(result);
  if (isTagged<ReadableStream<Uint8Array>>(result, 'ReadableStream')) return ok('application/octet-stream', result);
  if (ArrayBuffer.isView(result)) {
    return ok('application/octet-stream', Buffer.from(result.buffer, result.byteOffset, result.byteLength));
  }
  if (typeof result === 'object' && result !== null && Symbol.asyncIterator in result) {
    return await streamOf(result as AsyncIterable<unknown>);
  }
  const text = JSON.stringify(result);
  if (text === undefined) throw new Error(`A route returned a ${typeof result}, which is no JSON value`);
  return ok('application/json', text);
}

function ok(type: string, body: CustomAnswer['body']): CustomAnswer {
  return { status: 200, headers: { 'content-type': type }, body };
}

/** By tag, because the plugin may have its classes from another realm or a polyfill. */
function isTagged<T>(value: unknown, tag: string): value is T {
  return Object.prototype.toString.call(value) === `[object ${tag}]`;
}

const hopByHop = ['connection', 'keep-alive', 'transfer-encoding', 'upgrade'];

function answerOfResponse(response: Response): CustomAnswer {
  if (response.status < 200) throw new Error(`A route returned a Response with status ${response.status}`);
  const headers: Record<string, string | readonly string[]> = Object.fromEntries(response.headers);
  for (const name of hopByHop) delete headers[name];
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) headers['set-cookie'] = cookies;
  return { status: response.status, headers, body: response.body };
}

/** Text, bytes, or anything else as lines of NDJSON: the first chunk tells. An error before it still becomes a problem document. */
async function streamOf(iterable: AsyncIterable<unknown>): Promise<CustomAnswer> {
  const iterator = iterable[Symbol.asyncIterator]();
  const first = await iterator.next();
  const type = first.done || ArrayBuffer.isView(first.value) ? 'application/octet-stream' : typeTexts(first.value);
  return ok(type, chunks(first, iterator));
}

function typeTexts(first: unknown): string {
  return typeof first === 'string' ? 'text/plain; charset=utf-8' : 'application/x-ndjson';
}

/** No generator: `return` before the first `next` must reach the handler's iterator too. */
function chunks(first: IteratorResult<unknown>, iterator: AsyncIterator<unknown>): AsyncIterableIterator<Uint8Array> {
  let peeked: IteratorResult<unknown> | undefined = first;
  return {
    async next() {
      const next = peeked ?? (await iterator.next());
      peeked = undefined;
      return next.done ? { done: true, value: undefined } : { done: false, value: bytesOf(next.value) };
    },
    async return() {
      await iterator.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function bytesOf(chunk: unknown): Uint8Array {
  if (typeof chunk === 'string') return Buffer.from(chunk);
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return Buffer.from(`${JSON.stringify(chunk)}\n`);
}
