/** Who sends a request: personal access tokens, then JWT issuers, then what plugins registered; without any, the session of a browser (docs/reference/permissions.md). */

import type { KindredError, Text } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import type { Identity } from '../../resource/access.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Credentials } from './credentials.ts';
import type { Principal } from './identity.ts';
import { anonymous, authenticatedRole, isReservedName, unauthenticated } from './identity.ts';
import type { JwtAuthenticator } from './jwt.ts';
import { requestUrl } from './request-url.ts';
import type { SessionCookie } from './session-cookie.ts';
import type { Tokens } from './tokens.ts';
import { looksLikeToken } from './tokens.ts';

export type PluginAuthenticator = (request: globalThis.Request) => Promise<Identity | undefined>;

export interface AuthenticatorDependencies {
  readonly tokens: Tokens;
  readonly jwt: JwtAuthenticator;
  readonly current: () => Promise<void> | undefined;
  readonly cookie: SessionCookie;
  readonly logger: Pick<Logger, 'error'>;
}

/** RFC 6750 section 2.1; the scheme in any case. */
const bearer = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

const texts = {
  unknown: localized('unknown token'),
  ended: localized('the session has ended'),
  malformed: localized('the header "Authorization" must have the form "Bearer <token>"'),
} satisfies Record<string, Text>;

export class Authenticator {
  readonly #dependencies: AuthenticatorDependencies;
  #plugins: readonly { readonly owner: string; readonly authenticate: PluginAuthenticator }[] = [];

  constructor(dependencies: AuthenticatorDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * `anonymous` for a request without credentials. Synchronous for personal access tokens that are known here.
   * @throws Unauthenticated for credentials that nobody knows, with `WWW-Authenticate`; Forbidden for a session's cookie that
   * another site may have sent
   */
  authenticate(request: Credentials): Identity | Promise<Identity> {
    const header = request.headers.authorization;
    if (header === undefined) {
      const session = request.headers.cookie === undefined ? undefined : this.#dependencies.cookie.of(request);
      if (session !== undefined)
        return this.#dependencies.tokens.findSession(session) ?? this.#laterSession(request, session);
      return this.#plugins.length > 0 ? this.#byPlugins(request) : anonymous;
    }
    const token = typeof header === 'string' ? bearer.exec(header)?.[1] : undefined;
    if (token === undefined) return this.#otherwise(request, unauthenticated(texts.malformed, 'invalid_request'));
    if (looksLikeToken(token)) return this.#dependencies.tokens.find(token) ?? this.#later(request, token);
    if (this.#dependencies.jwt.accepts(token)) return this.#dependencies.jwt.authenticate(token);
    return this.#otherwise(request, unauthenticated(texts.unknown, 'invalid_token'));
  }

  /** Asked in the order of registration, after the built-in ones. */
  register(owner: string, authenticate: PluginAuthenticator): void {
    this.#plugins = [...this.#plugins, { owner, authenticate }];
  }

  /** Takes away all that a plugin registered. */
  remove(owner: string): void {
    this.#plugins = this.#plugins.filter((one) => one.owner !== owner);
  }

  /** A token that was made on another replica a moment ago. */
  async #later(request: Credentials, token: string): Promise<Identity> {
    const current = this.#dependencies.current();
    if (current) {
      await current;
      const found = this.#dependencies.tokens.find(token);
      if (found) return found;
    }
    return this.#otherwise(request, unauthenticated(texts.unknown, 'invalid_token'));
  }

  async #laterSession(request: Credentials, session: string): Promise<Identity> {
    await this.#dependencies.current();
    const found = this.#dependencies.tokens.findSession(session);
    return found ?? this.#otherwise(request, unauthenticated(texts.ended, 'invalid_token'));
  }

  async #byPlugins(request: Credentials): Promise<Identity> {
    return (await this.#askPlugins(request)) ?? anonymous;
  }

  async #otherwise(request: Credentials, error: KindredError): Promise<Identity> {
    const found = this.#plugins.length > 0 ? await this.#askPlugins(request) : undefined;
    if (found) return found;
    throw error;
  }

  /** One that fails says nothing about who it is, so it must not let anybody in: the request fails. */
  async #askPlugins(request: Credentials): Promise<Principal | undefined> {
    if (request.method !== undefined && forbiddenMethods.has(request.method)) return undefined;
    for (const { owner, authenticate } of this.#plugins) {
      const identity = await authenticate(webRequest(request));
      if (!identity) continue;
      if (typeof identity.name !== 'string' || identity.name === '' || isReservedName(identity.name)) {
        this.#dependencies.logger.error({ plugin: owner }, 'A plugin authenticator gave a name that it may not give');
        throw unauthenticated(texts.unknown, 'invalid_token');
      }
      const granted = [...new Set([...(identity.roles ?? []), authenticatedRole])];
      return { name: identity.name, roles: granted, kind: 'User', subject: identity.name, granted };
    }
    return undefined;
  }
}

/** Methods that no `Request` can have (Fetch standard, "forbidden method"). */
const forbiddenMethods = new Set(['CONNECT', 'TRACE', 'TRACK']);

function webRequest({ method, url = '/', headers }: Credentials): globalThis.Request {
  const copy = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    for (const one of Array.isArray(value) ? value : value === undefined ? [] : [value]) copy.append(name, one);
  }
  return new Request(requestUrl(url, headers.host), { method, headers: copy });
}
