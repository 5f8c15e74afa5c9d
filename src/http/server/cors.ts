/** Cross-origin requests from browsers (Fetch standard, "CORS protocol"): off unless origins are listed. */
import type { Exchange } from './exchange.ts';

const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const requestHeaders =
  'Accept, Accept-Language, Authorization, Baggage, Content-Type, If-Match, If-None-Match, Last-Event-ID, Mcp-Protocol-Version, Traceparent, Tracestate, X-Request-Id';
const exposedHeaders =
  'Accept-Patch, Allow, Content-Language, ETag, Kindred-Dry-Run, Kindred-Revision, Kindred-Total, Kindred-Warning, Location, Retry-After, WWW-Authenticate, X-Request-Id';
/** Seconds that a browser may keep the answer to a preflight. */
const maxAge = '600';

export class Cors {
  readonly #origins: ReadonlySet<string>;

  /** @param origins such as `https://console.example.com`, or `*` */
  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** Every origin, and so requests of which no origin is known. */
  get allowsAll(): boolean {
    return this.#origins.has('*');
  }

  allows(origin: string): boolean {
    return this.allowsAll || this.#origins.has(origin);
  }

  /** Adds the headers to the exchange; true when the request was a preflight and is answered. */
  answer(exchange: Exchange): boolean {
    const { headers } = exchange.request;
    const { origin } = headers;
    const any = this.allowsAll;
    if (!any) exchange.extra.push('Vary', 'Origin');
    if (origin === undefined) return false;
    const allowed = this.allows(origin);
    if (allowed) exchange.extra.push('Access-Control-Allow-Origin', any ? '*' : origin);
    if (exchange.method === 'OPTIONS' && headers['access-control-request-method'] !== undefined) {
      exchange.route = 'preflight';
      const answer = allowed
        ? [
            'Access-Control-Allow-Methods',
            methods,
            'Access-Control-Allow-Headers',
            requestHeaders,
            'Access-Control-Max-Age',
            maxAge,
          ]
        : [];
      exchange.send(204, answer);
      return true;
    }
    if (allowed) exchange.extra.push('Access-Control-Expose-Headers', exposedHeaders);
    return false;
  }
}
