/**
 * Personal access tokens (docs/reference/permissions.md). A token is 256 random bits, so a plain SHA-256 of it is all that is stored:
 * neither a salt, a key nor a slow hash would make it harder to guess, and the check costs a microsecond per request.
 * The digests are looked up in memory, which the feed keeps current: a revoked token ends with the change that revokes it.
 *
 * The session of a browser and the one-time code for one are stored in the same way, with another secret: neither is a
 * bearer token, and a token is no session.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ExtensionObject } from '../../model/object.ts';
import type { Rbac } from '../authorization/rbac.ts';
import type { Principal } from './identity.ts';
import { authenticatedRole } from './identity.ts';

export interface TokenSpec {
  readonly user: string;
  readonly roles?: readonly string[];
  /** RFC 3339. */
  readonly expiresAt?: string;
}

export interface TokenStatus {
  /** SHA-256 of the token, base64url. */
  readonly hash?: string;
  /** creationTimestamp of the User, when there was one: the token dies with that User, also when the name is used again. */
  readonly userCreated?: string;
  readonly maker?: TokenMaker;
  /** Only of the session of a browser, and of the one-time code for one; the service alone makes these. */
  readonly session?: SessionStatus;
}

export interface SessionStatus {
  readonly kind: 'browser' | 'code';
  /** Hash of the token that was shown at sign-in: the session ends with it, and has its roles. Absent for somebody who has none. */
  readonly token?: string;
  /** Roles that came with the credential shown at sign-in (a claim of an issuer). */
  readonly granted?: readonly string[];
  /** As `isForeign` and `tokenMaxAge` of the principal that signed in. */
  readonly isForeign?: boolean;
  readonly tokenMaxAge?: number;
  /** With a code, RFC 3339: when the session must end at the latest. */
  readonly until?: string;
}

/** Who made a token: its user, or somebody with the right to impersonate the user. Absent on tokens from before that right was asked for. */
type TokenMaker = 'user' | 'impersonator';

export interface StoredToken {
  readonly name: string;
  readonly user: string;
  readonly roles: readonly string[];
  readonly hash: string;
  readonly userCreated?: string;
  readonly maker?: TokenMaker;
  readonly session?: SessionStatus;
  /** Milliseconds since the epoch; Infinity without a limit. */
  readonly expiresAt: number;
  /** Store revision of its creation; 0 for what was there at the start. */
  readonly id: number;
}

const prefix = 'knd_';
const syntax = /^knd_[A-Za-z0-9_-]{43}$/;
const longestSecret = 64;

/** A new token: `knd_` and 256 random bits in base64url. */
export function newToken(random: (size: number) => Uint8Array = randomBytes): string {
  return prefix + Buffer.from(random(32)).toString('base64url');
}

export function looksLikeToken(text: string): boolean {
  return syntax.test(text);
}

export function digestOf(token: string): string {
  return hash('sha256', token, 'base64url');
}

export class Tokens {
  readonly #rbac: () => Rbac;
  readonly #now: () => number;
  readonly #byHash = new Map<string, StoredToken>();
  readonly #byName = new Map<string, StoredToken>();
  readonly #byUser = new Map<string, Set<string>>();
  readonly #principals = new WeakMap<StoredToken, { epoch: number; principal: Principal }>();

  constructor(rbac: () => Rbac, now: () => number) {
    this.#rbac = rbac;
    this.#now = now;
  }

  get size(): number {
    return this.#byName.size;
  }

  set(name: string, object: ExtensionObject | undefined, id: number): void {
    const before = this.#byName.get(name);
    const next = object && stored(name, object, before?.id ?? id);
    if (before) {
      if (this.#byHash.get(before.hash) === before) this.#byHash.delete(before.hash);
      this.#byUser.get(before.user)?.delete(name);
      if (this.#byUser.get(before.user)?.size === 0) this.#byUser.delete(before.user);
      this.#byName.delete(name);
    }
    if (next) {
      this.#byName.set(name, next);
      this.#byHash.set(next.hash, next);
      const names = this.#byUser.get(next.user);
      if (names) names.add(name);
      else this.#byUser.set(next.user, new Set([name]));
    }
    if (before) this.#rbac().changed();
  }

  /** Tokens of a user, revoked or expired ones among them. */
  ofUser(user: string): StoredToken[] {
    return [...(this.#byUser.get(user) ?? [])].map((name) => this.#byName.get(name)!);
  }

  all(): Iterable<StoredToken> {
    return this.#byName.values();
  }

  /** Whoever the token stands for; undefined when it is unknown, expired, or its user is gone or disabled. */
  find(token: string): Principal | undefined {
    const found = this.#find(token, undefined);
    return found && this.#principal(found);
  }

  /** Whoever the session of a browser stands for, in the same way. */
  findSession(secret: string): Principal | undefined {
    const found = this.#find(secret, 'browser');
    return found && this.#principal(found);
  }

  /** The one-time code; undefined when it is unknown, was used, or does not count any more. */
  findCode(secret: string): StoredToken | undefined {
    return this.#find(secret, 'code');
  }

  /** What a principal's personal access token or session is stored as. */
  stored({ credential }: Principal): StoredToken | undefined {
    return credential === undefined ? undefined : this.#byHash.get(credential);
  }

  /** Sessions and codes that nobody can use any more. */
  endedSessions(): StoredToken[] {
    return [...this.#byName.values()].filter((one) => one.session && !this.#isUsable(one));
  }

  /** Whoever acts with a token, as the token is now; undefined when it is gone. Expiry is not looked at. */
  current({ credential }: Principal): Principal | undefined {
    const found = this.#byHash.get(credential!);
    return found && this.#counts(found) ? this.#principal(found) : undefined;
  }

  /** False for a digest that no token of a living user has any more; expiry is not looked at. */
  isAlive(digest: string): boolean {
    const found = this.#byHash.get(digest);
    return found !== undefined && this.#counts(found);
  }

  #find(secret: string, kind: SessionStatus['kind'] | undefined): StoredToken | undefined {
    if (secret.length > longestSecret) return undefined;
    const digest = digestOf(secret);
    const found = this.#byHash.get(digest);
    if (!found || !timingSafeEqual(Buffer.from(found.hash), Buffer.from(digest))) return undefined;
    return found.session?.kind === kind && this.#isUsable(found) ? found : undefined;
  }

  #isUsable(token: StoredToken): boolean {
    return this.#expiryOf(token) > this.#now() && this.#counts(token);
  }

  #expiryOf(token: StoredToken): number {
    return Math.min(token.expiresAt, this.#tokenOf(token)?.expiresAt ?? Number.POSITIVE_INFINITY);
  }

  /** The token that a session was begun with. */
  #tokenOf({ session }: StoredToken): StoredToken | undefined {
    return session?.token === undefined ? undefined : this.#byHash.get(session.token);
  }

  #counts(token: StoredToken): boolean {
    if (token.session?.token !== undefined) {
      const own = this.#tokenOf(token);
      return own !== undefined && own.session === undefined && this.#counts(own);
    }
    const user = this.#rbac().user(token.user);
    if (user?.disabled) return false;
    if (token.userCreated !== undefined) return user?.created === token.userCreated;
    // Made for a name without a User: whoever gets the name later is somebody else, unless the maker could impersonate them too.
    if (token.maker === undefined || (user && token.maker === 'user')) return false;
    const departed = this.#rbac().departedAt(token.user);
    return departed === undefined || token.id > departed;
  }

  #principal(token: StoredToken): Principal {
    const rbac = this.#rbac();
    const known = this.#principals.get(token);
    if (known?.epoch === rbac.epoch) return known.principal;
    const { session } = token;
    const own = this.#tokenOf(token);
    const scope = (own ?? token).roles;
    const bound = scope.length > 0 ? scope : rbac.boundRoles('User', token.user);
    const granted = session?.granted ?? [authenticatedRole];
    const expiresAt = this.#expiryOf(token);
    const principal: Principal = {
      name: token.user,
      roles: [...new Set([...bound, ...granted])],
      kind: 'User',
      subject: token.user,
      granted,
      credential: token.hash,
      ...(scope.length > 0 && { scope }),
      ...(expiresAt !== Number.POSITIVE_INFINITY && { expiresAt }),
      ...(session && { isSession: true, tokensEnd: own?.expiresAt ?? Number.POSITIVE_INFINITY }),
      ...(session?.isForeign && { isForeign: true }),
      ...(session?.tokenMaxAge !== undefined && { tokenMaxAge: session.tokenMaxAge }),
    };
    this.#principals.set(token, { epoch: rbac.epoch, principal });
    return principal;
  }
}

function stored(name: string, object: ExtensionObject, id: number): StoredToken | undefined {
  const spec = object.spec as TokenSpec;
  const status = (object.status ?? {}) as TokenStatus;
  if (status.hash === undefined) return undefined;
  return {
    name,
    user: spec.user,
    roles: spec.roles ?? [],
    hash: status.hash,
    expiresAt: spec.expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(spec.expiresAt),
    id,
    ...(status.userCreated !== undefined && { userCreated: status.userCreated }),
    ...(status.maker !== undefined && { maker: status.maker }),
    ...(status.session !== undefined && { session: status.session }),
  };
}
