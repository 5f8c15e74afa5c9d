/** JSON Web Tokens of OpenID Connect issuers (RFC 7519; OpenID Connect Discovery 1.0; RFC 7517 for the keys). */

import { hash } from 'node:crypto';
import type { JWTPayload } from 'jose';
import * as errors from 'jose/errors';
import type { createRemoteJWKSet } from 'jose/jwks/remote';
import { decodeJwt } from 'jose/jwt/decode';
import { LRUCache } from 'lru-cache';
import type { Text } from '../../errors.ts';
import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import type { Principal } from './identity.ts';
import { authenticatedRole, isReservedName, unauthenticated } from './identity.ts';

/** One issuer whose tokens are accepted. */
export interface IssuerOptions {
  /** As in the claim `iss`, to the letter. `https:`, or `http:` on a loopback address. */
  readonly url: string;
  /** The claim `aud` must hold one of these. */
  readonly audience: string | readonly string[];
  readonly claims?: {
    /** The user's name; a path with dots for a nested claim. Default `sub`. */
    readonly user?: string;
    /** A list of roles, or a text with spaces between them; a path with dots for a nested claim. Default none. */
    readonly roles?: string;
  };
  /** With the claim `email` as the name, `email_verified` beside it must be true. Default true. */
  readonly requireVerifiedEmail?: boolean;
  /** Put before the user's name, so that two issuers, or an issuer and local users, cannot share names. Default ''. */
  readonly userPrefix?: string;
  /** Without `userPrefix`: a token may name a User of this service, and is that user then. Default false. */
  readonly localUsers?: boolean;
  /** How long a personal access token may be valid that is made with a token of the issuer, milliseconds; false: for ever. Default 30 days. */
  readonly tokenMaxAge?: number | false;
  /** Only these values of the roles claim count, as the roles named here. Default: each value is the name of a role. */
  readonly roleMapping?: Readonly<Record<string, readonly string[]>>;
  /** How far the clocks may differ, milliseconds. Default 30 s. */
  readonly clockSkew?: number;
  /** Accepted signature algorithms. Default: the asymmetric ones. */
  readonly algorithms?: readonly string[];
  /** People sign in to the console there. Default: they do not. */
  readonly login?: IssuerLoginOptions;
  /** How long fetched keys are used, milliseconds. Default 10 min. */
  readonly keysMaxAge?: number;
  /** Least time between two fetches for a key that is not known, milliseconds. Default 5 s. */
  readonly keysCooldown?: number;
  /** Time limit of a fetch, milliseconds. Default 5 s. */
  readonly timeout?: number;
}

/** How people sign in at an issuer; without it, only its tokens are accepted. */
export interface IssuerLoginOptions {
  /** As the issuer knows this service. There, `<address>/v3/session/callback` must be a redirect URI. */
  readonly clientId: string;
  /** Without one, the issuer must know this service as a public client. */
  readonly clientSecret?: string;
  /** What is asked for. Default `openid profile email`. */
  readonly scopes?: readonly string[];
  /** On the button. Default the host of the issuer. */
  readonly displayName?: string;
}

const asymmetric = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** Media types of the header `typ`, without `application/`: a JWT of no special kind, and an access token (RFC 9068). */
const acceptedTypes = [undefined, 'jwt', 'at+jwt'];
const discoveryMaxAge = 3_600_000;
const verifiedMaxAge = 60_000;
const thirtyDays = 30 * 24 * 3_600_000;
const rememberedTokens = 10_000;

const issuerText: Text = localized('The issuer {issuer} cannot be reached, so its tokens cannot be checked now');

export class JwtAuthenticator {
  readonly #issuers: ReadonlyMap<string, Issuer>;
  readonly #now: () => number;
  readonly #isLocalUser: (name: string) => boolean;
  /** By SHA-256 of the token, so that no token is kept; for a minute at most, so that a withdrawn key counts soon. */
  readonly #verified = new LRUCache<string, { principal: Principal; until: number }>({ max: rememberedTokens });

  /** @param isLocalUser whether this service has a User of the name */
  constructor(options: readonly IssuerOptions[], now: () => number, isLocalUser: (name: string) => boolean) {
    this.#issuers = new Map(options.map((one) => [one.url, new Issuer(one, now)]));
    this.#now = now;
    this.#isLocalUser = isLocalUser;
  }

  /** Whether the text is a JWT that names one of the issuers. Nothing else is ever fetched from. */
  accepts(token: string): boolean {
    if (this.#issuers.size === 0 || token.split('.').length !== 3) return false;
    try {
      return this.#issuers.has(decodeJwt(token).iss ?? '');
    } catch {
      return false;
    }
  }

  /** Throws Unauthenticated when the token does not hold, NotReady when the issuer cannot be asked. */
  authenticate(token: string): Principal | Promise<Principal> {
    const digest = hash('sha256', token, 'base64url');
    const known = this.#verified.get(digest);
    if (known && known.until > this.#now()) return this.#admitted(known.principal);
    const issuer = this.#issuers.get(decodeJwt(token).iss ?? '')!;
    return issuer.verify(token).then((principal) => {
      const until = Math.min(principal.expiresAt ?? Number.POSITIVE_INFINITY, this.#now() + verifiedMaxAge);
      this.#verified.set(digest, { principal, until });
      return this.#admitted(principal);
    });
  }

  /** Whether claims say who it is and what the roles are, as far as the issuer's options ask for it. */
  hasClaims(issuer: string, claims: Readonly<Record<string, unknown>>): boolean {
    return this.#issuers.get(issuer)!.hasClaims(claims);
  }

  /**
   * Who signed in at an issuer, by claims that were verified.
   * @throws Unauthenticated when they name nobody
   */
  principalOf(issuer: string, claims: Readonly<Record<string, unknown>>): Principal {
    return this.#admitted(this.#issuers.get(issuer)!.principalOf(claims, 0));
  }

  /** A User of the name may have been made since the token was verified. */
  #admitted(principal: Principal): Principal {
    const { name, isForeign } = principal;
    if (!isForeign || !this.#isLocalUser(name)) return principal;
    throw invalidToken({
      en: `the name "${name}" belongs to a User of this service`,
      zh: `名称 "${name}" 属于本服务中的 User`,
    });
  }
}

type Keys = ReturnType<typeof createRemoteJWKSet>;

class Issuer {
  readonly #options: IssuerOptions;
  readonly #now: () => number;
  #keys: { readonly at: number; readonly promise: Promise<Keys> } | undefined;

  constructor(options: IssuerOptions, now: () => number) {
    const url = new URL(options.url);
    const loopback = ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback)) {
      throw new Error(`the issuer ${options.url} must be an https address`);
    }
    if (options.audience === undefined || options.audience.length === 0) {
      throw new Error(
        `the issuer ${options.url} needs an audience: without one, a token made for any other service would count`,
      );
    }
    this.#options = options;
    this.#now = now;
  }

  async verify(token: string): Promise<Principal> {
    const { url, audience, clockSkew = 30_000, algorithms = asymmetric } = this.#options;
    const [keys, { jwtVerify }] = await Promise.all([this.#keySet(), import('jose/jwt/verify')]);
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        issuer: url,
        audience: audience as string | string[],
        algorithms: [...algorithms],
        clockTolerance: clockSkew / 1000,
        currentDate: new Date(this.#now()),
        requiredClaims: ['exp'],
      });
      checkType(protectedHeader.typ);
      return { ...this.principalOf(payload, clockSkew), expiresAt: payload.exp! * 1000 + clockSkew };
    } catch (error) {
      throw this.#translated(error);
    }
  }

  hasClaims(payload: JWTPayload): boolean {
    const { claims: { user = 'sub', roles } = {}, requireVerifiedEmail = true } = this.#options;
    const verified = requireVerifiedEmail && isEmail(user) ? `${user}_verified` : undefined;
    return [user, roles, verified].every((claim) => claim === undefined || claimAt(payload, claim) !== undefined);
  }

  principalOf(payload: JWTPayload, clockSkew: number): Principal {
    const { claims = {}, userPrefix = '', roleMapping, localUsers = false, tokenMaxAge = thirtyDays } = this.#options;
    const claim = claims.user ?? 'sub';
    const user = claimAt(payload, claim);
    if (typeof user !== 'string' || user === '') {
      throw invalidToken({ en: `its claim "${claim}" is no name`, zh: `其声明 "${claim}" 不是名称` });
    }
    if (this.#options.requireVerifiedEmail !== false) checkEmail(payload, claim);
    const name = userPrefix + user;
    if (isReservedName(name)) {
      throw invalidToken({
        en: `the name "${name}" belongs to the service itself`,
        zh: `名称 "${name}" 由服务自身保留`,
      });
    }
    const values = claims.roles === undefined ? [] : textsOf(claimAt(payload, claims.roles));
    const roles = roleMapping
      ? values.flatMap((value) => (Object.hasOwn(roleMapping, value) ? roleMapping[value]! : []))
      : values;
    const granted = [...new Set([...roles, authenticatedRole])];
    return {
      name,
      roles: granted,
      kind: 'User',
      subject: name,
      granted,
      ...(userPrefix === '' && !localUsers && { isForeign: true }),
      ...(tokenMaxAge !== false && { tokenMaxAge: tokenMaxAge + clockSkew }),
    };
  }

  #translated(error: unknown): unknown {
    if (error instanceof KindredError) return error;
    if (error instanceof errors.JWTExpired) return invalidToken(localized('it has expired'));
    if (error instanceof errors.JWTClaimValidationFailed) {
      return invalidToken({ en: `its claim "${error.claim}" does not hold`, zh: `其声明 "${error.claim}" 不成立` });
    }
    const ours = [
      errors.JWSSignatureVerificationFailed,
      errors.JWSInvalid,
      errors.JWTInvalid,
      errors.JOSEAlgNotAllowed,
      errors.JOSENotSupported,
      errors.JWKSNoMatchingKey,
      errors.JWKSMultipleMatchingKeys,
    ];
    if (ours.some((type) => error instanceof type)) {
      return invalidToken(localized('its signature is invalid'));
    }
    return this.#unreachable(error);
  }

  #unreachable(cause: unknown): KindredError {
    return issuerUnreachable(this.#options.url, cause);
  }

  #keySet(): Promise<Keys> {
    const { keysCooldown = 5_000 } = this.#options;
    const known = this.#keys;
    if (known && this.#now() - known.at < discoveryMaxAge) return known.promise;
    const promise = this.#discover();
    this.#keys = { at: this.#now(), promise };
    // A failure is remembered for the cooldown, so that many tokens at once do not become many fetches.
    promise.catch(() => {
      if (this.#keys?.promise === promise) this.#keys = { at: this.#now() - discoveryMaxAge + keysCooldown, promise };
    });
    return promise;
  }

  async #discover(): Promise<Keys> {
    const { url, keysMaxAge = 600_000, keysCooldown = 5_000, timeout = 5_000 } = this.#options;
    try {
      const address = `${url.replace(/\/$/, '')}/.well-known/openid-configuration`;
      const response = await fetch(address, { signal: AbortSignal.timeout(timeout), redirect: 'error' });
      if (!response.ok) throw new Error(`${address} answered ${response.status}`);
      const document = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown };
      if (document.issuer !== url) throw new Error(`${address} names the issuer ${String(document.issuer)}`);
      const options = { cacheMaxAge: keysMaxAge, cooldownDuration: keysCooldown, timeoutDuration: timeout };
      const { createRemoteJWKSet } = await import('jose/jwks/remote');
      return createRemoteJWKSet(new URL(String(document.jwks_uri)), options);
    } catch (error) {
      throw this.#unreachable(error);
    }
  }
}

export function issuerUnreachable(issuer: string, cause: unknown): KindredError {
  return new KindredError('NotReady', issuerText, { params: { issuer }, cause, headers: { 'Retry-After': '5' } });
}

function invalidToken(reason: Text): KindredError {
  return unauthenticated(reason, 'invalid_token');
}

/** Tokens for other purposes are signed with the same keys (RFC 8725, section 3.11): a `logout+jwt` logs nobody in. */
function checkType(typ: string | undefined): void {
  if (acceptedTypes.includes(typ?.toLowerCase().replace(/^application\//, ''))) return;
  throw invalidToken({ en: `its type "${typ}" is not for access`, zh: `其类型 "${typ}" 不用于访问` });
}

/** Anybody can claim an address; `email_verified` says that the issuer has seen that it is theirs (OpenID Connect Core, section 5.1). */
function checkEmail(payload: JWTPayload, claim: string): void {
  if (!isEmail(claim) || claimAt(payload, `${claim}_verified`) === true) return;
  throw invalidToken({
    en: `its claim "${claim}_verified" is not true`,
    zh: `其声明 "${claim}_verified" 不为 true`,
  });
}

const isEmail = (claim: string): boolean => /(?:^|\.)email$/.test(claim);

/** `realm.roles` as `payload.realm.roles`, unless a claim has that very name. */
function claimAt(payload: JWTPayload, path: string): unknown {
  if (Object.hasOwn(payload, path)) return payload[path];
  let value: unknown = payload;
  for (const member of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) return undefined;
    value = (value as Record<string, unknown>)[member];
  }
  return value;
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return value.split(' ').filter((one) => one !== '');
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string' && one !== '') : [];
}
