/**
 * Keeps web pages away from a service without authentication. A browser on the same machine reaches the service, and any
 * page can have it send requests: to a name of the page's own that leads here ("DNS rebinding"), or from another origin
 * ("cross-site request forgery"). With authentication there is no need: a bearer token is never sent by a browser alone.
 */

import type { Text } from '../../errors.ts';
import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import type { Cors } from './cors.ts';
import type { Exchange } from './exchange.ts';

const texts = {
  host: localized(
    'The service runs without authentication and answers requests for {allowed} only, not for "{host}". Turn on authentication, or add the name to the setting "hosts"',
  ),
  origin: localized(
    'The service runs without authentication and refuses requests from web pages of another origin, here {origin}. Turn on authentication, or add the origin to the setting "cors"',
  ),
  site: localized(
    'The service runs without authentication and refuses requests that a web page of another origin leads to. Open the address directly, or turn on authentication',
  ),
} satisfies Record<string, Text>;

const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];

export class BrowserGuard {
  readonly #hosts: ReadonlySet<string>;
  readonly #cors: Cors | undefined;

  /** @param hosts names and addresses besides those of the own machine, without a port; `*` for any */
  constructor(hosts: readonly string[], cors: Cors | undefined) {
    this.#hosts = new Set([...loopbackNames, ...hosts.map(inAuthority)]);
    this.#cors = cors;
  }

  /**
   * @param isPublic whether the answer holds no data and the request changes nothing: a link on any page may lead there
   * @throws KindredError Forbidden
   */
  admit(exchange: Exchange, isPublic: (exchange: Exchange) => boolean): void {
    const { request, authority } = exchange;
    const { origin, 'sec-fetch-site': site } = request.headers;
    if (authority !== undefined && !this.#isOwn(authority)) {
      const allowed = [...this.#hosts].join(', ');
      throw new KindredError('Forbidden', texts.host, { params: { host: authority, allowed } });
    }
    if (origin !== undefined) {
      if (isSameOrigin(origin, authority) || this.#cors?.allows(origin)) return;
      throw new KindredError('Forbidden', texts.origin, { params: { origin } });
    }
    // `same-site` is another port of the own machine, whose pages are somebody else's too; `none` is the user.
    if (site === undefined || site === 'same-origin' || site === 'none') return;
    if (!this.#cors?.allowsAll && !isPublic(exchange)) throw new KindredError('Forbidden', texts.site);
  }

  #isOwn(authority: string): boolean {
    return this.#hosts.has(authority.replace(/:\d*$/, '').toLowerCase()) || this.#hosts.has('*');
  }
}

/** As it stands before the port: an IPv6 address in brackets. */
function inAuthority(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host.toLowerCase()}]` : host.toLowerCase();
}

/** The scheme does not count: a proxy on the same machine may take it from https to http. */
function isSameOrigin(origin: string, authority: string | undefined): boolean {
  return authority !== undefined && (origin === `http://${authority}` || origin === `https://${authority}`);
}
