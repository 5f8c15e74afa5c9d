/**
 * Personal access tokens (docs/reference/permissions.md). A token is 256 random bits, so a plain SHA-256 of it is all that is stored:
 * neither a salt, a key nor a slow hash would make it harder to guess, and the check costs a microsecond per request.
 * The digests are looked up in memory, which the feed keeps current: a revoked token ends with the change that revokes it.
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
  /** Milliseconds since the epoch; Infinity without a limit. */
  readonly expiresAt: number;
  /** Store revision of its creation; 0 for what was there at the start. */
  readonly id: number;
}

const prefix = 'knd_';
const syntax = /^knd_[A-Za-z0-9_-]{43}$/;

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
    const digest = digestOf(token);
    const found = this.#byHash.get(digest);
    if (!found || !timingSafeEqual(Buffer.from(found.hash), Buffer.from(digest))) return undefined;
    if (found.expiresAt <= this.#now() || !this.#counts(found)) return undefined;
    return this.#principal(found);
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

  #counts(token: StoredToken): boolean {
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
    const scoped = token.roles.length > 0;
    const bound = scoped ? token.roles : rbac.boundRoles('User', token.user);
    const principal: Principal = {
      name: token.user,
      roles: [...new Set([...bound, authenticatedRole])],
      kind: 'User',
      subject: token.user,
      granted: [authenticatedRole],
      credential: token.hash,
      ...(scoped && { scope: token.roles }),
      ...(token.expiresAt !== Number.POSITIVE_INFINITY && { expiresAt: token.expiresAt }),
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
  };
}
