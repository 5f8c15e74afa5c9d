/** Signing browsers in and out (docs/reference/console.md): what `/v3/session` and the paths below it answer. */

import type { Answered } from '../auth/audit.ts';
import type { Credentials } from '../auth/authentication/credentials.ts';
import type { Principal } from '../auth/authentication/identity.ts';
import { anonymous, isAnonymous, isPrincipal, unauthenticated } from '../auth/authentication/identity.ts';
import type { IssuerLogins, LoginRefusal } from '../auth/authentication/issuer-login.ts';
import { refusalOf } from '../auth/authentication/issuer-login.ts';
import type { RateLimiter } from '../auth/authentication/rate-limit.ts';
import type { SessionCookie } from '../auth/authentication/session-cookie.ts';
import type { BegunSession, Sessions } from '../auth/sessions.ts';
import { invalid, KindredError, violation } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { isRecord } from '../model/object.ts';
import type { Identity } from '../resource/access.ts';
import type { Logger } from '../runtime/logger.ts';
import type { MaybePromise } from '../store/store.ts';
import { readBody } from './server/body.ts';
import type { Exchange } from './server/exchange.ts';
import { parseJson } from './server/json.ts';
import type { HttpLimits } from './server/limits.ts';
import { jsonLimits } from './server/limits.ts';
import { mediaType } from './server/negotiate.ts';
import { asKindredError, unsupportedType } from './server/problem.ts';

export interface SignInDependencies {
  /** There once the service has read what is stored. */
  readonly sessions: () => Sessions;
  readonly cookie: SessionCookie;
  readonly logins: IssuerLogins;
  readonly logger: Pick<Logger, 'warn'>;
  readonly authenticate: (request: Credentials) => MaybePromise<Identity>;
  readonly limiter: RateLimiter;
  /** Address of the service, for callers that do not say by which they have reached it. */
  readonly url: () => string;
  readonly now: () => number;
  readonly limits: HttpLimits;
}

const texts = {
  off: localized('Authentication is off: there is nothing to sign in to'),
  body: localized('must be an object with either "token" or "code", a text'),
  unknown: localized('nobody is known by this token'),
  outdated: localized('this browser has not begun to sign in, or more than ten minutes ago'),
};

/** For answers about one caller alone. */
const unkept = ['Cache-Control', 'no-store'];

/** Characters of a path to come back to: it travels in a cookie. */
const longestReturn = 1_500;

export class SignIn {
  readonly #dependencies: SignInDependencies | undefined;
  readonly #answered: ((answer: Answered) => void) | undefined;

  /**
   * @param dependencies undefined: authentication is off
   * @param answered told of attempts whose answer does not say that they failed
   */
  constructor(dependencies: SignInDependencies | undefined, answered?: (answer: Answered) => void) {
    this.#dependencies = dependencies;
    this.#answered = answered;
  }

  /** @param identity of the caller, `anonymous` for credentials that do not hold */
  show(exchange: Exchange, identity: Identity): void {
    exchange.sendJson(200, this.#state(identity), [...unkept]);
  }

  async begin(exchange: Exchange): Promise<void> {
    const { request, authority, address = '' } = exchange;
    exchange.identity = anonymous;
    exchange.access = { verb: 'post', path: '/v3/session' };
    const { cookie, limiter, now, limits } = this.#on();
    limiter.admitAddress(address);
    cookie.assertOwnPage(request, authority);
    const type = request.headers['content-type'];
    if (mediaType(type) !== 'application/json') throw unsupportedType(type, ['application/json'], false);
    const shown = parseShown(parseJson(await readBody(request, limits), jsonLimits(limits)));
    cookie.assertPrivate(authority);
    const before = await this.#known(exchange);
    limiter.beginSignIn(address);
    const session = await this.#attempt(exchange, shown);
    exchange.identity = session.identity;
    if (before) await this.#on().sessions().end(before, behind(exchange));
    const seconds = Math.max(1, Math.floor((session.expiresAt - now()) / 1000));
    exchange.sendJson(201, this.#state(session.identity), [
      ...unkept,
      'Set-Cookie',
      cookie.begun(session.secret, seconds),
    ]);
  }

  async end(exchange: Exchange): Promise<void> {
    exchange.identity = anonymous;
    exchange.access = { verb: 'delete', path: '/v3/session' };
    const headers = [...unkept];
    if (this.#dependencies) {
      const { cookie, sessions, limiter } = this.#dependencies;
      limiter.admitAddress(exchange.address ?? '');
      const secret = cookie.of(exchange.request);
      const identity = secret === undefined ? undefined : await sessions().find(secret);
      if (identity) {
        exchange.identity = identity;
        await sessions().end(identity, behind(exchange));
      }
      headers.push('Set-Cookie', cookie.ended());
    }
    exchange.send(204, headers);
  }

  async makeCode(exchange: Exchange): Promise<void> {
    const { cookie, sessions, url } = this.#on();
    const identity = exchange.identity!;
    if (!isPrincipal(identity) || isAnonymous(identity)) throw unauthenticated(texts.unknown);
    const { code, expiresAt } = await sessions().code(identity, behind(exchange));
    const base = cookie.base(exchange.authority, url());
    // What stands behind `#` is never sent.
    const body = { code, url: `${base}/console/#code=${code}`, expiresAt: new Date(expiresAt).toISOString() };
    exchange.sendJson(201, body, [...unkept]);
  }

  /** Sends the browser to an issuer. */
  async visitIssuer(exchange: Exchange): Promise<void> {
    exchange.identity = anonymous;
    const { cookie, limiter, logins } = this.#on();
    limiter.admitAddress(exchange.address ?? '');
    cookie.assertPrivate(exchange.authority);
    const query = new URLSearchParams(exchange.query);
    const to = returnPath(query.get('return'));
    try {
      const { url, pending } = await logins.begin(query.get('issuer') ?? '', this.#callback(exchange), to);
      exchange.send(303, [...unkept, 'Location', url.href, 'Set-Cookie', cookie.loginBegun(pending)]);
    } catch (error) {
      if (asKindredError(error).code !== 'NotReady') throw error;
      this.#refuse(exchange, error, 'unreachable', to);
    }
  }

  /** The browser is back from the issuer. */
  async finishLogin(exchange: Exchange): Promise<void> {
    exchange.identity = anonymous;
    const { cookie, limiter, logins, sessions, now } = this.#on();
    const { address = '' } = exchange;
    limiter.admitAddress(address);
    const pending = cookie.pendingLogin(exchange.request);
    const to = returnPath(pending?.return);
    if (!pending) return this.#refuse(exchange, unauthenticated(texts.outdated), 'outdated', to);
    // Without the cookie nothing is guessed, and any page can send its visitors here.
    limiter.beginSignIn(address);
    try {
      const url = new URL(`${this.#callback(exchange)}?${exchange.query}`);
      const session = await sessions().begin(await logins.finish(url, pending), behind(exchange));
      limiter.signedIn(address);
      exchange.identity = session.identity;
      exchange.access = { verb: 'post', path: '/v3/session' };
      const seconds = Math.max(1, Math.floor((session.expiresAt - now()) / 1000));
      const cookies = ['Set-Cookie', cookie.begun(session.secret, seconds), 'Set-Cookie', cookie.loginEnded()];
      exchange.send(303, [...unkept, 'Location', `/console${to}`, ...cookies]);
    } catch (error) {
      this.#refuse(exchange, error, await refusalOf(error), to);
    }
  }

  /** A person is there, so the page says why; the log has what the service knows, and the audit log that it was tried. */
  #refuse(exchange: Exchange, error: unknown, reason: LoginRefusal, to: string): void {
    const { cookie, limiter, logger } = this.#on();
    const { id: requestId, address } = exchange;
    const isAway = reason === 'unreachable';
    // No fault of the person's.
    if (isAway) limiter.signedIn(address ?? '');
    logger.warn({ err: error, requestId, reason }, 'Nobody was signed in by an issuer');
    this.#answered?.({
      ...behind(exchange),
      identity: anonymous,
      access: { verb: 'post', path: '/v3/session' },
      ...(isAway ? { status: 503, code: 'NotReady' } : { status: 401, code: 'Unauthenticated' }),
    });
    const query = new URLSearchParams({ ...(to !== '/' && { return: to }), refused: reason, request: requestId });
    exchange.send(303, [...unkept, 'Location', `/console/sign-in?${query}`, 'Set-Cookie', cookie.loginEnded()]);
  }

  #callback({ authority }: Exchange): string {
    const { cookie, url } = this.#on();
    return `${cookie.base(authority, url())}/v3/session/callback`;
  }

  #on(): SignInDependencies {
    if (!this.#dependencies) throw new KindredError('BadRequest', texts.off);
    return this.#dependencies;
  }

  /** Failures that are none of the caller's do not count as attempts. */
  async #attempt(exchange: Exchange, shown: Shown): Promise<BegunSession> {
    const { limiter } = this.#on();
    try {
      const session = await this.#trade(exchange, shown);
      limiter.signedIn(exchange.address ?? '');
      return session;
    } catch (error) {
      if (asKindredError(error).code !== 'Unauthenticated') limiter.signedIn(exchange.address ?? '');
      throw error;
    }
  }

  async #trade(exchange: Exchange, shown: Shown): Promise<BegunSession> {
    const { sessions, authenticate } = this.#on();
    if (shown.code !== undefined) return sessions().redeem(shown.code, behind(exchange));
    const { host } = exchange.request.headers;
    const headers = { authorization: `Bearer ${shown.token}`, ...(host !== undefined && { host }) };
    const identity = await authenticate({ method: 'POST', url: '/v3/session', headers });
    if (!isPrincipal(identity) || isAnonymous(identity)) throw unauthenticated(texts.unknown, 'invalid_token');
    return sessions().begin(identity, behind(exchange));
  }

  /** Who the browser is signed in as already: that session ends with the next. */
  async #known(exchange: Exchange): Promise<Principal | undefined> {
    const { cookie, sessions } = this.#on();
    try {
      const secret = cookie.of(exchange.request);
      return secret === undefined ? undefined : await sessions().find(secret);
    } catch {
      return undefined;
    }
  }

  #state(identity: Identity): object {
    const principal = isPrincipal(identity) ? identity : undefined;
    const { name, roles } = identity;
    const expiresAt = principal?.expiresAt;
    return {
      authentication: this.#dependencies !== undefined,
      ...(!isAnonymous(identity) && {
        identity: {
          name,
          kind: principal?.kind ?? 'User',
          roles,
          ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
        },
      }),
      signIn: { token: this.#dependencies !== undefined, issuers: this.#dependencies?.logins.shown ?? [] },
    };
  }
}

type Shown =
  | { readonly token: string; readonly code?: undefined }
  | { readonly code: string; readonly token?: undefined };

/** @throws Invalid */
function parseShown(body: unknown): Shown {
  const [first, ...more] = isRecord(body) ? Object.entries(body) : [];
  if (first && more.length === 0 && typeof first[1] === 'string') {
    if (first[0] === 'token') return { token: first[1] };
    if (first[0] === 'code') return { code: first[1] };
  }
  throw invalid([violation('', 'oneOf', texts.body)]);
}

/** A path below `/console`, without that; `/` for anything else. */
function returnPath(wanted: unknown): string {
  if (typeof wanted !== 'string' || wanted.length > longestReturn) return '/';
  const origin = 'http://localhost';
  const url = URL.parse(`/console${wanted}`, origin);
  if (url?.origin !== origin || !url.pathname.startsWith('/console/') || url.username !== '') return '/';
  return url.href.slice(`${origin}/console`.length);
}

function behind({ id, address }: Exchange) {
  return { requestId: id, ...(address !== undefined && { address }) };
}
