import type { ErrorCode, ProblemMembers, Text } from '../errors.ts';
import { errorCodes, KindredError } from '../errors.ts';

export interface ConnectionOptions {
  /** Where the service is, `http://127.0.0.1:8090`; a path in it is kept as a prefix. */
  url: string | URL;
  /** Bearer token, or a function that gives the current one; absent: anonymous. */
  token?: string | (() => string | undefined | Promise<string | undefined>);
  /** Stands in for the global `fetch`. */
  fetch?: typeof globalThis.fetch;
  /** Sent with every request, such as `Accept-Language`. */
  headers?: Readonly<Record<string, string>>;
  /** Ends everything this client has under way. */
  signal?: AbortSignal;
}

export interface Call {
  query?: URLSearchParams;
  headers?: Readonly<Record<string, string>>;
  body?: string;
  signal?: AbortSignal;
}

const unreachable: Text = {
  en: 'The service at {url} could not be reached: {reason}',
  zh: '无法连接位于 {url} 的服务：{reason}',
};
const broken: Text = {
  en: 'The connection to {url} broke before the answer was complete: {reason}',
  zh: '与 {url} 的连接在应答完整之前中断：{reason}',
};
const unexpected: Text = {
  en: '{url} answered {status} with {type}, which is no answer of this service',
  zh: '{url} 返回了 {status}（{type}），这不是本服务的应答',
};

/** The wire: one request, one answer, and every failure of either as a `KindredError`. */
export class Connection {
  readonly url: string;
  readonly signal: AbortSignal | undefined;
  readonly #options: ConnectionOptions;
  readonly #fetch: typeof globalThis.fetch;

  constructor(options: ConnectionOptions) {
    this.url = String(options.url).replace(/\/+$/, '');
    this.signal = options.signal;
    this.#options = options;
    // Called detached: a browser's fetch refuses any other `this` than the global object.
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  /** The answer when it is a 2xx; anything else is thrown. */
  async send(method: string, path: string, call: Call = {}): Promise<Response> {
    const { token, headers } = this.#options;
    const bearer = typeof token === 'function' ? await token() : token;
    const query = call.query?.toString();
    const signals = [this.signal, call.signal].filter((signal) => signal !== undefined);
    let response: Response;
    try {
      response = await this.#fetch(`${this.url}${path}${query ? `?${query}` : ''}`, {
        method,
        headers: { ...headers, ...(bearer && { authorization: `Bearer ${bearer}` }), ...call.headers },
        ...(call.body !== undefined && { body: call.body }),
        ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
      });
    } catch (error) {
      if (signals.some((signal) => signal.aborted)) throw error;
      // A write may have been applied when the connection broke after the request left.
      const sent = method !== 'GET' && method !== 'HEAD' && !neverConnected(error);
      throw new KindredError(
        sent ? 'UnknownOutcome' : 'NotReady',
        sent ? broken : unreachable,
        { url: this.url, reason: reasonOf(error) },
        {},
        { cause: error },
      );
    }
    if (response.ok) return response;
    throw await errorOf(response, this.url);
  }

  async json<T>(method: string, path: string, call: Call = {}): Promise<T> {
    const response = await this.send(method, path, {
      ...call,
      headers: { accept: 'application/json', ...call.headers },
    });
    if (response.status === 204) return undefined as T;
    try {
      return (await response.json()) as T;
    } catch (error) {
      if (this.signal?.aborted || call.signal?.aborted) throw error;
      throw error instanceof SyntaxError ? notOurs(response, this.url) : this.broken(error, method !== 'GET');
    }
  }

  /** The error for a body that ended early. */
  broken(error: unknown, written = false): KindredError {
    return new KindredError(
      written ? 'UnknownOutcome' : 'NotReady',
      broken,
      { url: this.url, reason: reasonOf(error) },
      {},
      { cause: error },
    );
  }
}

/** The `KindredError` that a problem document stands for (contract section 5), members included. */
export function errorFrom(problem: Record<string, unknown>, headers?: Readonly<Record<string, string>>): KindredError {
  const { type, title, status, detail, instance, timestamp, code, ...members } = problem;
  const text = String(detail ?? title ?? status);
  return new KindredError(
    known(code) ? code : codeOf(Number(status)),
    { en: text, zh: text },
    {},
    members as ProblemMembers,
    headers && { headers },
  );
}

async function errorOf(response: Response, url: string): Promise<KindredError> {
  const type = response.headers.get('content-type') ?? '';
  if (!/^application\/(problem\+)?json\b/.test(type)) {
    await response.body?.cancel();
    return notOurs(response, url);
  }
  const problem: unknown = await response.json().catch(() => undefined);
  if (typeof problem !== 'object' || problem === null) return notOurs(response, url);
  const retryAfter = response.headers.get('retry-after');
  return errorFrom(
    { status: response.status, ...problem },
    retryAfter === null ? undefined : { 'Retry-After': retryAfter },
  );
}

function notOurs(response: Response, url: string): KindredError {
  const type = response.headers.get('content-type') ?? 'no content type';
  return new KindredError(codeOf(response.status), unexpected, { url, status: response.status, type });
}

function known(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(errorCodes, code);
}

/** For answers of proxies and of newer services: the first code with that status. */
function codeOf(status: number): ErrorCode {
  if (status === 502 || status === 503) return 'NotReady';
  const found = (Object.keys(errorCodes) as ErrorCode[]).find((code) => errorCodes[code].status === status);
  return found ?? (status >= 400 && status < 500 ? 'BadRequest' : 'InternalError');
}

function reasonOf(error: unknown): string {
  const cause = (error as { cause?: { code?: unknown; message?: unknown } }).cause;
  return String(cause?.code ?? cause?.message ?? (error as { message?: unknown }).message ?? error);
}

/** Codes of Node's sockets; a browser does not tell, so there a write's outcome counts as unknown. */
function neverConnected(error: unknown): boolean {
  const code = (error as { cause?: { code?: unknown } }).cause?.code;
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'UND_ERR_CONNECT_TIMEOUT';
}
