/** One request and its answer: what is known of the caller, and the ways to answer. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorCode, KindredError, Locale } from '../../errors.ts';
import type { Access, Caller, Identity } from '../../resource/access.ts';
import { matchesEtag, parseEtags } from '../../resource/etag.ts';
import { isLoopback, sourceOf } from '../../runtime/source-address.ts';
import type { TimeSlice, TurnQueue } from '../../runtime/time-slice.ts';
import type { RequestSpan } from '../../telemetry/tracing.ts';
import type { AnswerQueue } from './answer-queue.ts';
import { dropRest, hasBody } from './body.ts';
import { preferredLocale } from './negotiate.ts';
import { asKindredError, problemBytes, problemOf } from './problem.ts';
import { sliceSize, writeSlices } from './slices.ts';
import type { Hold, WaitingAnswers } from './waiting-answers.ts';

/** Told once of every answered request. */
export interface ExchangeObserver {
  /** Milliseconds, never going back. */
  monotonicNow(): number;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Where complete answers go. */
  readonly answers: AnswerQueue;
  /** What clients have not taken yet. */
  readonly waiting: WaitingAnswers;
  /** Milliseconds that a client may leave what was written to it unread. */
  readonly readTimeout: number;
  /** Where the writing of large answers asks for its next turn of the event loop. */
  readonly turns: TurnQueue;
  /** True while the service stops: connections are closed after their answer. */
  readonly closing: boolean;
  finished(exchange: Exchange, status: number): void;
  /** A 5xx with a reason that is not the caller's to see: the log alone gets it. */
  unexpected(exchange: Exchange, error: unknown): void;
}

/** Header names and values in turn, as `writeHead` takes them. */
export type HeaderList = string[];

/** How the failure of an exchange is told. */
export interface ErrorAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

export const json = 'application/json';
export const ndjson = 'application/x-ndjson';
const problemJson = 'application/problem+json';

/** The route of a request that no route was found for. */
export const unmatched = 'unmatched';

const wellFormedId = /^[A-Za-z0-9._-]{1,128}$/;

export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  /** Path as it came, percent-encoded. */
  readonly path: string;
  /** Query string as it came, without the question mark. */
  readonly query: string;
  /** Host and port that the request is for: of an absolute target, else of the header Host. */
  readonly authority: string | undefined;
  /** From a well-formed `X-Request-Id`, or made. */
  readonly id: string;
  readonly started: number;
  /** Template of the route, for metrics: `/apis/<group>/<version>/<plural>/{name}`. */
  route = unmatched;
  identity: Identity | undefined;
  /** Undefined: there are no traces, or none of this request. */
  span: RequestSpan | undefined;
  /** What the authoriser was asked last. */
  access: Access | undefined;
  /** Of the error that was the answer. */
  code: ErrorCode | undefined;
  /** Undefined: a failure is told by a problem document. */
  errorForm: ((error: KindredError) => ErrorAnswer) | undefined;
  /** Headers of every answer, such as those of CORS. */
  readonly extra: HeaderList = [];
  readonly #observer: ExchangeObserver;
  #locale: Locale | undefined;
  #finished = false;

  constructor(request: IncomingMessage, response: ServerResponse, makeId: () => string, observer: ExchangeObserver) {
    this.request = request;
    this.response = response;
    this.method = request.method!;
    this.#observer = observer;
    this.started = observer.monotonicNow();
    const url = request.url!;
    let target = url;
    this.authority = request.headers.host;
    if (url.charCodeAt(0) !== 0x2f) [target, this.authority] = absoluteForm(url) ?? [url, this.authority];
    const mark = target.indexOf('?');
    this.path = mark < 0 ? target : target.slice(0, mark);
    this.query = mark < 0 ? '' : target.slice(mark + 1);
    const given = request.headers['x-request-id'];
    this.id = typeof given === 'string' && wellFormedId.test(given) ? given : makeId();
  }

  /** The service stops. */
  get closing(): boolean {
    return this.#observer.closing;
  }

  /** For work on this request that takes long. */
  timeSlice(): TimeSlice {
    return this.#observer.turns.slice();
  }

  get locale(): Locale {
    this.#locale ??= preferredLocale(this.request.headers['accept-language']);
    return this.#locale;
  }

  /** Writes over HTTP are made in the name of the identity. */
  get caller(): Caller {
    return { identity: this.identity!, origin: 'http', requestId: this.id, address: this.address };
  }

  get address(): string | undefined {
    return this.request.socket.remoteAddress;
  }

  /** Whose part of what all have together the answer takes; undefined when that cannot be told. */
  get owner(): string | undefined {
    const { identity, address } = this;
    // Names that begin so stand for many.
    if (identity && !identity.name.startsWith('system:')) return `identity ${identity.name}`;
    // The connections of a proxy on the same machine are those of everybody.
    return address === undefined || isLoopback(address) ? undefined : `address ${sourceOf(address)}`;
  }

  get isHead(): boolean {
    return this.method === 'HEAD';
  }

  /**
   * The whole answer. Without a body there is no Content-Type; a HEAD gets the headers alone.
   * @param taken called when nobody reads the bytes of the body any more; never when the connection breaks before that
   */
  send(status: number, headers: HeaderList, body?: Buffer, taken?: () => void): void {
    if (body && body.length > sliceSize) return this.sendLarge(status, headers, body.length, [body]);
    if (body) headers.push('Content-Length', String(body.length));
    else if (status !== 304 && status !== 204) headers.push('Content-Length', '0');
    this.#head(status, headers);
    const ended = taken && ((error?: Error | null) => error ?? taken());
    this.#observer.answers.end(this.response, this, this.method === 'HEAD' ? undefined : body, ended);
    this.finish(status);
  }

  /**
   * An answer whose body is written slice by slice as the client takes it.
   * @param length bytes of all pieces
   */
  sendLarge(
    status: number,
    headers: HeaderList,
    length: number,
    pieces: Iterable<Buffer>,
    hold: Hold = this.hold(),
  ): void {
    const { response } = this;
    headers.push('Content-Length', String(length));
    this.open(status, headers);
    // All of it, until the end: what was written is not given up before.
    hold.set(this.isHead ? 0 : length);
    const writing = { timeout: this.#observer.readTimeout, slice: this.timeSlice() };
    const end = (): void => {
      response.end();
      this.finish(response.destroyed ? 499 : status);
    };
    writeSlices(response, this.isHead ? [] : pieces, writing).then(end, (error: unknown) => this.fail(error));
  }

  /** @throws KindredError NotReady when too much waits for other clients to put so many bytes more in memory */
  assertRoom(bytes?: number): void {
    this.#observer.waiting.assertRoom(bytes, this.owner);
  }

  /** For bytes of the answer that are not written yet. */
  hold(): Hold {
    return this.#observer.waiting.hold(this.response, this.owner);
  }

  sendJson(status: number, value: unknown, headers: HeaderList = []): void {
    headers.push('Content-Type', json);
    this.send(status, headers, Buffer.from(JSON.stringify(value)));
  }

  /** A JSON answer with an entity tag: 304 when the caller has it already. */
  sendTagged(etag: string, body: Buffer): void {
    const ifNoneMatch = this.request.headers['if-none-match'];
    const known = ifNoneMatch !== undefined && matchesEtag(parseEtags(ifNoneMatch), etag, 'weak');
    if (known) this.send(304, ['ETag', etag]);
    else this.send(200, ['ETag', etag, 'Content-Type', json], body);
  }

  /** The head of a streamed answer; `finish` is called by whoever ends it. */
  open(status: number, headers: HeaderList): void {
    this.#head(status, headers);
    this.#observer.waiting.follow(this.response, this.owner);
    this.response.flushHeaders();
  }

  /** An error; after the head was sent the connection is reset instead, so that nobody takes a part for the whole. */
  fail(error: unknown): void {
    const known = asKindredError(error);
    this.code = known.code;
    if (hasHiddenReason(known)) this.#observer.unexpected(this, error);
    if (this.response.headersSent || this.response.destroyed) {
      this.reset();
      this.finish(this.response.headersSent ? this.response.statusCode : 499);
      return;
    }
    try {
      this.#sendError(known);
    } catch (unwritable) {
      // What cannot be written is a header, and the error to come has none.
      this.extra.length = 0;
      this.fail(unwritable);
    }
  }

  /** An error for a request that was not begun, and the observer is not told. */
  refuse(error: KindredError): void {
    this.#finished = true;
    this.#sendError(error);
    this.#dropRest();
  }

  /** The members of the problem document of an error of this request, for places inside a stream. */
  problem(error: unknown): Record<string, unknown> {
    const known = asKindredError(error);
    if (hasHiddenReason(known)) this.#observer.unexpected(this, error);
    return problemOf(known, this.#problemContext());
  }

  /** Cuts the connection so that the client sees an incomplete answer. */
  reset(): void {
    // A response behind others of its connection has no socket of its own yet.
    const { socket } = this.request;
    // Over TLS there is no reset, and what ends without its last chunk is incomplete all the same.
    if ('encrypted' in socket) socket.destroy();
    else if ('resetAndDestroy' in socket && !socket.destroyed) socket.resetAndDestroy();
    else this.response.destroy();
  }

  /** The answer is complete (or will never be): metrics and log, once. */
  finish(status: number): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#dropRest();
    this.#observer.finished(this, status);
  }

  #dropRest(): void {
    if (!this.request.complete && hasBody(this.request)) dropRest(this.request);
  }

  #sendError(error: KindredError): void {
    if (this.errorForm) {
      const { status, headers, body } = this.errorForm(error);
      return this.send(status, headers, body);
    }
    const headers: HeaderList = ['Content-Type', problemJson, 'Content-Language', this.locale];
    for (const [name, value] of Object.entries(error.headers ?? {})) headers.push(name, value);
    if (error.status === 503 && !hasHeader(headers, 'retry-after')) headers.push('Retry-After', '1');
    if (error.revision !== undefined) headers.push('Kindred-Revision', String(error.revision));
    this.send(error.status, headers, problemBytes(error, this.#problemContext()));
  }

  #problemContext() {
    return { instance: this.path, requestId: this.id, time: this.#observer.now(), locale: this.locale };
  }

  #head(status: number, headers: HeaderList): void {
    headers.push('X-Request-Id', this.id, 'X-Content-Type-Options', 'nosniff');
    for (const text of this.extra) headers.push(text);
    if (this.closing && !hasHeader(headers, 'connection')) headers.push('Connection', 'close');
    this.response.writeHead(status, headers);
  }
}

/** A 5xx whose text alone does not tell an operator enough. */
function hasHiddenReason(error: KindredError): boolean {
  return error.code === 'InternalError' || (error.status >= 500 && error.cause !== undefined);
}

function hasHeader(headers: HeaderList, name: string): boolean {
  for (let i = 0; i < headers.length; i += 2) if (headers[i]!.toLowerCase() === name) return true;
  return false;
}

/** Path with query, and authority, of an absolute request target (RFC 9112, section 3.2.2); undefined for `*`. */
function absoluteForm(url: string): [string, string] | undefined {
  const match = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)(.*)$/i.exec(url);
  if (!match) return undefined;
  const rest = match[2]!;
  return [rest.startsWith('/') ? rest : `/${rest}`, match[1]!];
}
