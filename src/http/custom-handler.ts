/** One request to a custom route: body, parameters, handler, answer; knows nothing of the HTTP framework. */
import type { Locale } from '../errors.ts';
import type { Identity } from '../resource/access.ts';
import type { CustomMatch, CustomRoutes } from './custom.ts';

/** The raw pieces of a request. */
export interface CustomCall {
  readonly method: string;
  /** Path and query as they came, or an absolute URL. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body when its type is JSON (`application/json`, `…+json`); undefined for none, or for another type, which `web()` then streams. */
  readonly rawBody: Buffer | undefined;
  readonly identity: Identity;
  readonly locale: Locale;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  /** `ExtensionClient` that acts as the caller. */
  readonly client: unknown;
  web(): globalThis.Request;
}

export interface CustomAnswer {
  readonly status: number;
  /** Names in lower case; several values only for `set-cookie`. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Buffer | string | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> | null;
}

export interface CustomHandlerOptions {
  /** Milliseconds that a handler may take until its result is there (a stream may go on); default 30,000. */
  timeLimit?: number;
  /** JSON limits of the body. */
  json?: { maxDepth: number; maxMembers: number };
}

/**
 * Throws what the route throws, `NotReady` while the owner is paused, `InvalidParameter`, `Invalid`, `BadRequest`, `UnsupportedMediaType`,
 * and over the time limit `QueryLimit` for GET, `UnknownOutcome` for the others. The order of a request is the app's: match, identify, authorise, then this.
 */
export declare function handleCustom(routes: CustomRoutes, match: CustomMatch, call: CustomCall, options?: CustomHandlerOptions): Promise<CustomAnswer>;
