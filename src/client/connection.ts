import type { ErrorCode, ProblemMembers, Text } from '../errors.ts';
import { errorCodes, KindredError } from '../errors.ts';
import { readJson } from '../runtime/read-json.ts';
import type { RetryPolicy } from './retry.ts';
import { isNotApplied, Patience, retrying } from './retry.ts';

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
  /** Milliseconds without an answer, or without the next bytes of it, after which a request is given up; default 60,000. */
  timeout?: number;
  /**
   * How requests that certainly did nothing (503 `NotReady`, 429 `TooManyRequests`) are sent again, and reads whose
   * connection broke. Default: each for 30 seconds. A `Patience` is shared by all requests of the client. False: never.
   */
  retry?: RetryPolicy | Patience | false;
}

export interface Call {
  query?: URLSearchParams;
  headers?: Readonly<Record<string, string>>;
  body?: string;
  signal?: AbortSignal;
  /** Told of the head of a successful answer. */
  onHead?: (headers: Headers) => void;
  /** Ends the request after its silence; default: one that ends with the head of the answer. */
  silence?: Silence;
}

const unreachable: Text = {
  en: 'The service at {url} could not be reached: {reason}',
  zh: '无法连接位于 {url} 的服务：{reason}',
};
const broken: Text = {
  en: 'The connection to {url} broke before the answer was complete: {reason}',
  zh: '与 {url} 的连接在应答完整之前中断：{reason}',
};
const moved: Text = {
  en: '{url} redirects a write to {location}, which is not followed: give the address of the service itself',
  zh: '{url} 将写入重定向到 {location}，客户端不会跟随：请提供服务本身的地址',
};
const unexpected: Text = {
  en: '{url} answered {status} with {type}, which is no answer of this service',
  zh: '{url} 返回了 {status}（{type}），这不是本服务的应答',
};

/** What the answers so far tell of a service. */
interface Acquaintance {
  answered: boolean;
  clockAhead: number | undefined;
}

/** Ends a request when nothing arrives for so many milliseconds. */
export class Silence {
  readonly #controller = new AbortController();
  readonly #milliseconds: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(milliseconds: number) {
    this.#milliseconds = milliseconds;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Something is waited for from now on. */
  begin(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const text = `nothing arrived for ${this.#milliseconds} ms`;
      this.#controller.abort(new DOMException(text, 'TimeoutError'));
    }, this.#milliseconds);
  }

  /** Nothing is waited for any more. */
  end(): void {
    clearTimeout(this.#timer);
  }
}

/** The wire: one request, one answer, and every failure of either as a `KindredError`. */
export class Connection {
  readonly url: string;
  readonly signal: AbortSignal | undefined;
  readonly timeout: number;
  readonly #options: ConnectionOptions;
  readonly #fetch: typeof globalThis.fetch;
  readonly #service: Acquaintance;

  /** @param service what is known of the service already */
  constructor(options: ConnectionOptions, service: Acquaintance = { answered: false, clockAhead: undefined }) {
    this.url = String(options.url).replace(/\/+$/, '');
    this.signal = options.signal;
    this.timeout = options.timeout ?? 60_000;
    this.#options = options;
    this.#service = service;
    // Called detached: a browser's fetch refuses any other `this` than the global object.
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  /** The same with some options of its own. */
  with(options: Partial<ConnectionOptions>): Connection {
    return new Connection({ ...this.#options, ...options }, this.#service);
  }

  /** Milliseconds by which the clock of the service is ahead of this one's, to the second; undefined while unknown. */
  get clockAhead(): number | undefined {
    return this.#service.clockAhead;
  }

  /** One attempt: the answer when it is a 2xx; anything else is thrown. */
  async send(method: string, path: string, call: Call = {}): Promise<Response> {
    const { token, headers } = this.#options;
    const bearer = typeof token === 'function' ? await token() : token;
    const query = call.query?.toString();
    const silence = call.silence ?? new Silence(this.timeout);
    const signals = [this.signal, call.signal].filter((signal) => signal !== undefined);
    const isWrite = method !== 'GET' && method !== 'HEAD';
    silence.begin();
    try {
      const response = await this.#fetch(`${this.url}${path}${query ? `?${query}` : ''}`, {
        method,
        headers: { ...headers, ...(bearer && { authorization: `Bearer ${bearer}` }), ...call.headers },
        ...(call.body !== undefined && { body: call.body }),
        // A write goes to no other address, and does not become a GET.
        ...(isWrite && { redirect: 'manual' }),
        signal: signals.length > 0 ? AbortSignal.any([...signals, silence.signal]) : silence.signal,
      });
      this.#service.answered = true;
      const date = Date.parse(response.headers.get('date') ?? '');
      if (date > 0) this.#service.clockAhead = date - Date.now();
      if (response.ok) return response;
      throw await errorOf(response, this.url, isWrite);
    } catch (error) {
      const aborted = signals.find((signal) => signal.aborted);
      if (aborted) throw aborted.reason;
      if (error instanceof KindredError) throw error;
      // A write may have been applied when the connection broke after the request left.
      const sent = isWrite && !neverConnected(error);
      throw new KindredError(sent ? 'UnknownOutcome' : 'NotReady', sent ? broken : unreachable, {
        params: { url: this.url, reason: reasonOf(error) },
        cause: error,
      });
    } finally {
      silence.end();
    }
  }

  /** The answer as JSON; undefined for 204. Sent again as `retry` says. */
  json<T>(method: string, path: string, call: Call = {}): Promise<T> {
    return this.retrying(() => this.jsonOnce(method, path, call), call.signal);
  }

  /** As `json`, with one attempt. */
  async jsonOnce<T>(method: string, path: string, call: Call): Promise<T> {
    const silence = new Silence(this.timeout);
    const response = await this.send(method, path, {
      ...call,
      silence,
      headers: { accept: 'application/json', ...call.headers },
    });
    call.onHead?.(response.headers);
    if (response.status === 204) return undefined as T;
    silence.begin();
    try {
      return readJson(await response.text()) as T;
    } catch (error) {
      if (this.signal?.aborted || call.signal?.aborted) throw error;
      throw error instanceof SyntaxError ? notOurs(response, this.url, false) : this.broken(error, method !== 'GET');
    } finally {
      silence.end();
    }
  }

  /** Calls `attempt` again as long as it fails as what may be sent again does, within the patience of this client. */
  retrying<R>(attempt: () => Promise<R>, signal?: AbortSignal): Promise<R> {
    const { retry } = this.#options;
    const patience = retry instanceof Patience ? retry : new Patience(retry === false ? { patience: 0 } : retry);
    return retrying(attempt, (error) => this.isWorthAnother(error), patience, this.eitherSignal(signal));
  }

  /** Of this client, and of the call. */
  eitherSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
    return this.signal && signal ? AbortSignal.any([this.signal, signal]) : (this.signal ?? signal);
  }

  /**
   * Whether the same request may be sent again, and it is of use: an address at which nothing ever answered is more
   * likely wrong than away for the moment.
   */
  isWorthAnother(error: KindredError): boolean {
    if (!isNotApplied(error)) return false;
    return error.cause === undefined || this.#service.answered || wasCut(error.cause);
  }

  /** The error for a body that ended early. */
  broken(error: unknown, written = false): KindredError {
    return new KindredError(written ? 'UnknownOutcome' : 'NotReady', broken, {
      params: { url: this.url, reason: reasonOf(error) },
      cause: error,
    });
  }
}

/** The `KindredError` that a problem document stands for (docs/reference/errors.md), members included. */
export function errorFrom(
  problem: Record<string, unknown>,
  headers?: Readonly<Record<string, string>>,
  fallback: ErrorCode = codeOf(Number(problem.status)),
): KindredError {
  const { type, title, status, detail, instance, timestamp, code, ...members } = problem;
  const text = String(detail ?? title ?? status);
  return new KindredError(
    known(code) ? code : fallback,
    { en: text, zh: text },
    { ...(members as ProblemMembers), ...(headers && { headers }) },
  );
}

async function errorOf(response: Response, url: string, isWrite: boolean): Promise<KindredError> {
  const type = response.headers.get('content-type') ?? '';
  if (!/^application\/(problem\+)?json\b/.test(type)) {
    await response.body?.cancel();
    return notOurs(response, url, isWrite);
  }
  const problem: unknown = await response.json().catch(() => undefined);
  if (typeof problem !== 'object' || problem === null) return notOurs(response, url, isWrite);
  return errorFrom({ ...problem, status: response.status }, waitOf(response), foreignCode(response, isWrite));
}

function notOurs(response: Response, url: string, isWrite: boolean): KindredError {
  const type = response.headers.get('content-type') ?? 'no content type';
  const headers = waitOf(response);
  const location = response.status < 400 ? response.headers.get('location') : null;
  return new KindredError(foreignCode(response, isWrite), location === null ? unexpected : moved, {
    params: { url, status: response.status, type, location },
    ...(headers && { headers }),
  });
}

function waitOf(response: Response): Readonly<Record<string, string>> | undefined {
  const retryAfter = response.headers.get('retry-after');
  return retryAfter === null ? undefined : { 'Retry-After': retryAfter };
}

function known(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(errorCodes, code);
}

/**
 * For answers of proxies. One that lost its connection to the service says 502, 503 or 504, and the write may have been
 * applied; one that says when to come again did not pass it on.
 */
function foreignCode({ status, headers }: Response, isWrite: boolean): ErrorCode {
  if (status === 502 || status === 503 || status === 504) {
    return isWrite && (status !== 503 || !headers.has('retry-after')) ? 'UnknownOutcome' : 'NotReady';
  }
  return codeOf(status);
}

/** For answers without a code that is known here, of newer services too: the first code with that status. */
function codeOf(status: number): ErrorCode {
  if (status === 503) return 'NotReady';
  const found = (Object.keys(errorCodes) as ErrorCode[]).find((code) => errorCodes[code].status === status);
  return found ?? (status >= 400 && status < 500 ? 'BadRequest' : 'InternalError');
}

function reasonOf(error: unknown): string {
  const cause = (error as { cause?: { code?: unknown; message?: unknown } }).cause;
  return String(cause?.code ?? cause?.message ?? (error as { message?: unknown }).message ?? error);
}

function socketCode(error: unknown): unknown {
  return (error as { cause?: { code?: unknown } }).cause?.code;
}

/** Codes of Node's sockets; a browser does not tell, so there a write's outcome counts as unknown. */
function neverConnected(error: unknown): boolean {
  const codes: unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'];
  return codes.includes(socketCode(error));
}

/** There was a connection, and it broke. */
function wasCut(error: unknown): boolean {
  const codes: unknown[] = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'];
  return codes.includes(socketCode(error));
}
