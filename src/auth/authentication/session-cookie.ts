/**
 * The cookie that a browser's session is kept in, and when it counts. A browser sends it with requests that the person did
 * not ask for, so a request must show that a page of this service sent it: by `Sec-Fetch-Site`, which no page can forge, and,
 * where something may change, by a header that no page of another origin can send without a preflight, which is never granted.
 */

import type { Text } from '../../errors.ts';
import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import type { Credentials } from './credentials.ts';
import type { PendingLogin } from './issuer-login.ts';

export interface SessionCookieOptions {
  /** Address at which people see the service, such as `https://kindred.example.com`; behind a proxy that ends TLS. */
  readonly publicUrl?: string | undefined;
  /** How the service itself listens. */
  readonly scheme: 'http' | 'https';
  /** Over plain http on other machines too. */
  readonly insecure: boolean;
}

/** With this value it says that a script of the service's own pages sends the request. */
const consoleHeader = 'kindred-console';

const texts = {
  site: localized(
    'This request carries the session of a browser and comes from another site; only pages of this service may use it',
  ),
  header: localized(
    'A request with the session of a browser that changes something needs the header "Kindred-Console: 1", which shows that a page of this service sends it',
  ),
  origin: localized('Only pages of this service may sign in or out; this request comes from {origin}'),
  insecure: localized(
    'A browser can sign in over https, or over http on the machine of the service itself, not at {host}: set "console.publicUrl" to the https address that people use, or "console.insecureCookie"',
  ),
} satisfies Record<string, Text>;

/** Seconds that a person may take at the issuer. */
const loginLife = 600;

const loopbackNames = new Set(['localhost', '127.0.0.1', '[::1]']);

export class SessionCookie {
  readonly #options: SessionCookieOptions;
  readonly #public: URL | undefined;
  readonly #isSecure: boolean;
  readonly #name: string;
  readonly #attributes: string;
  readonly #loginName: string;
  readonly #loginAttributes: string;

  constructor(options: SessionCookieOptions) {
    this.#options = options;
    this.#public = options.publicUrl === undefined ? undefined : new URL(options.publicUrl);
    this.#isSecure = (this.#public?.protocol ?? `${options.scheme}:`) === 'https:';
    this.#name = this.#isSecure ? '__Host-kindred' : 'kindred-session';
    this.#attributes = `; Path=/; HttpOnly; SameSite=Strict${this.#isSecure ? '; Secure' : ''}`;
    this.#loginName = this.#isSecure ? '__Host-kindred-login' : 'kindred-login';
    // The issuer, which is another site, sends the browser back with it.
    this.#loginAttributes = this.#attributes.replace('Strict', 'Lax');
  }

  /**
   * The session's secret; undefined without one.
   * @throws Forbidden when another site may have sent the request
   */
  of(request: Credentials): string | undefined {
    const secret = this.#valueOf(request, this.#name);
    if (secret === undefined) return undefined;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const site = request.headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin' && !(isRead && site === 'none')) {
      throw new KindredError('Forbidden', texts.site);
    }
    if (!isRead && request.headers[consoleHeader] !== '1') throw new KindredError('Forbidden', texts.header);
    return secret;
  }

  /** @throws Forbidden when a page of another origin may have sent the request to sign in */
  assertOwnPage({ headers }: Credentials, authority: string | undefined): void {
    const site = headers['sec-fetch-site'];
    const origin = headers.origin;
    const isOwn =
      site === undefined ? origin === undefined || this.#isOwn(String(origin), authority) : site === 'same-origin';
    if (!isOwn) throw new KindredError('Forbidden', texts.origin, { params: { origin: String(origin ?? site) } });
  }

  /** @throws Forbidden when the cookie would go over the network in plain text */
  assertPrivate(authority: string | undefined): void {
    if (this.#isSecure || this.#options.insecure) return;
    const host = this.#public?.hostname ?? (authority ?? '').replace(/:\d*$/, '').toLowerCase();
    if (!loopbackNames.has(host)) throw new KindredError('Forbidden', texts.insecure, { params: { host } });
  }

  /** Of `Set-Cookie`. @param seconds until the session ends */
  begun(secret: string, seconds: number): string {
    return `${this.#name}=${secret}${this.#attributes}; Max-Age=${seconds}`;
  }

  /** Of `Set-Cookie`: the browser forgets it. */
  ended(): string {
    return `${this.#name}=${this.#attributes}; Max-Age=0`;
  }

  /** Of `Set-Cookie`: what the browser brings back from an issuer. */
  loginBegun(pending: PendingLogin): string {
    const value = Buffer.from(JSON.stringify(pending)).toString('base64url');
    return `${this.#loginName}=${value}${this.#loginAttributes}; Max-Age=${loginLife}`;
  }

  /** Of `Set-Cookie` */
  loginEnded(): string {
    return `${this.#loginName}=${this.#loginAttributes}; Max-Age=0`;
  }

  /** Undefined for a browser that did not begin here, or more than ten minutes ago. */
  pendingLogin(request: Credentials): PendingLogin | undefined {
    const value = this.#valueOf(request, this.#loginName);
    if (value === undefined) return undefined;
    try {
      return JSON.parse(Buffer.from(value, 'base64url').toString()) as PendingLogin;
    } catch {
      // Not what this service wrote.
      return undefined;
    }
  }

  /** Address that people see, without a slash at its end. */
  base(authority: string | undefined, otherwise: string): string {
    return this.#public?.origin ?? (authority === undefined ? otherwise : `${this.#options.scheme}://${authority}`);
  }

  /** A name that stands there twice may have been planted, by a page of another port or of a sub-domain: none of them counts. */
  #valueOf({ headers }: Credentials, wanted: string): string | undefined {
    const header = headers.cookie;
    if (typeof header !== 'string') return undefined;
    const values = header.split(';').flatMap((pair) => {
      const [name, value] = pair.split('=', 2).map((text) => text.trim());
      return name === wanted && value ? [value] : [];
    });
    return values.length === 1 ? values[0] : undefined;
  }

  #isOwn(origin: string, authority: string | undefined): boolean {
    return (
      origin === this.#public?.origin || (authority !== undefined && origin.replace(/^https?:\/\//, '') === authority)
    );
  }
}
