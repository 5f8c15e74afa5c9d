/**
 * Sessions of browsers and the one-time codes for them (docs/reference/permissions.md). Both are PersonalAccessTokens with a
 * label, so that they are listed, revoked and known to every replica like tokens; the secret is no bearer token.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Text } from '../errors.ts';
import { ifFound, KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { Caller } from '../resource/access.ts';
import { system } from '../resource/access.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';
import type { Logger } from '../runtime/logger.ts';
import type { TaskQueue } from '../runtime/task-queue.ts';
import type { Timers } from '../runtime/timers.ts';
import type { Principal } from './authentication/identity.ts';
import { authenticatedRole, unauthenticated } from './authentication/identity.ts';
import type { SessionStatus, StoredToken, Tokens } from './authentication/tokens.ts';
import { digestOf } from './authentication/tokens.ts';
import type { Rbac } from './authorization/rbac.ts';
import { PersonalAccessToken } from './models.ts';
import { reportedTasks } from './outage-log.ts';

export interface SessionDependencies {
  readonly rbac: Rbac;
  readonly tokens: Tokens;
  /** Acts as the service itself, in the name of the caller. */
  readonly clientOf: (caller: Caller) => ExtensionClient;
  /** Resolves once what was acknowledged anywhere is known here; undefined when it already is. */
  readonly current: () => Promise<void> | undefined;
  readonly random: (size: number) => Uint8Array;
  /** Milliseconds that a session may last. */
  readonly timeToLive: number;
  readonly reservedDomain: string;
  readonly timers: Timers;
  readonly logger: Pick<Logger, 'warn'>;
}

/** The request behind what is done, for the audit log. */
export type Behind = Pick<Caller, 'requestId' | 'address'>;

export interface BegunSession {
  readonly identity: Principal;
  readonly secret: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface OneTimeCode {
  readonly code: string;
  readonly expiresAt: number;
}

/** Whose session it is to be, and what it has its rights from. */
interface Owner {
  readonly user: string;
  readonly roles: readonly string[];
  readonly session: Omit<SessionStatus, 'kind' | 'until'>;
  /** Milliseconds since the epoch; Infinity without a limit. */
  readonly until: number;
}

const sessionBytes = 32;
const codeBytes = 16;
const codeLife = 600_000;
/** Sessions and codes of one user at the same time; with one more the oldest ends. */
const mostPerUser = 100;
const cleaningInterval = 600_000;

const unknownCode: Text = localized('the code is unknown, was used, or is older than ten minutes');

export class Sessions {
  readonly #dependencies: SessionDependencies;
  readonly #label: string;
  /** By name of a session or code that is to be deleted. */
  readonly #cleaning: TaskQueue;
  #cancel: (() => void) | undefined;

  constructor(dependencies: SessionDependencies) {
    this.#dependencies = dependencies;
    this.#label = `console.${dependencies.reservedDomain}/session`;
    const texts = {
      begins: 'Ended sessions cannot be removed at the moment; trying until they can',
      over: 'Ended sessions are removed',
    };
    this.#cleaning = reportedTasks(dependencies, texts, { maxDelay: cleaningInterval, concurrency: 4 });
  }

  /** Removes what has ended, from now on. */
  start(): void {
    for (const { name } of this.#dependencies.tokens.endedSessions()) {
      this.#cleaning.add(name, () => this.#delete(name, system));
    }
    this.#cancel = this.#dependencies.timers.after(cleaningInterval, () => this.start());
  }

  async stop(): Promise<void> {
    this.#cancel?.();
    await this.#cleaning.stop();
  }

  /** Whoever a session's secret stands for. */
  async find(secret: string): Promise<Principal | undefined> {
    const { tokens, current } = this.#dependencies;
    const found = tokens.findSession(secret);
    if (found) return found;
    await current();
    return tokens.findSession(secret);
  }

  /** For somebody who has shown a credential. */
  begin(identity: Principal, behind: Behind): Promise<BegunSession> {
    return this.#begin(this.#ownerOf(identity), { ...behind, identity, origin: 'host' });
  }

  /** @throws Unauthenticated when the code does not count; it does once */
  async redeem(code: string, behind: Behind): Promise<BegunSession> {
    const { tokens, current } = this.#dependencies;
    if (!tokens.findCode(code)) await current();
    const found = tokens.findCode(code);
    if (!found) throw unauthenticated(unknownCode, 'invalid_token');
    const { user, roles } = found;
    const { kind: _, until, ...session } = found.session!;
    const caller: Caller = { ...behind, identity: { name: user, roles: [] }, origin: 'host' };
    // Whoever deletes it has used it, whatever other replicas do.
    await this.#dependencies
      .clientOf(caller)
      .delete(PersonalAccessToken, found.name)
      .catch((error: unknown) => {
        const isUsed = error instanceof KindredError && error.code === 'NotFound';
        throw isUsed ? unauthenticated(unknownCode, 'invalid_token') : error;
      });
    const limit = until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until);
    return this.#begin({ user, roles, session, until: limit }, caller);
  }

  /** A one-time code with which a browser signs in as the same. */
  code(identity: Principal, behind: Behind): Promise<OneTimeCode> {
    return this.#code(this.#ownerOf(identity), { ...behind, identity, origin: 'host' });
  }

  /** Signed out. */
  async end(identity: Principal, behind: Behind): Promise<void> {
    const stored = this.#dependencies.tokens.stored(identity);
    if (stored?.session) await this.#delete(stored.name, { ...behind, identity, origin: 'host' });
  }

  #ownerOf(identity: Principal): Owner {
    const { granted, isForeign, tokenMaxAge, subject: user, expiresAt: until = Number.POSITIVE_INFINITY } = identity;
    const stored = this.#dependencies.tokens.stored(identity);
    if (stored?.session) {
      const { kind: _, until: __, ...session } = stored.session;
      return { user, roles: stored.roles, session, until };
    }
    if (stored) return { user, roles: stored.roles, session: { token: stored.hash }, until };
    const session = {
      ...(!isDeepStrictEqual(granted, [authenticatedRole]) && { granted }),
      ...(isForeign && { isForeign }),
      ...(tokenMaxAge !== undefined && { tokenMaxAge }),
    };
    return { user, roles: [], session, until };
  }

  async #begin(owner: Owner, caller: Caller): Promise<BegunSession> {
    const { random, timeToLive, timers, tokens } = this.#dependencies;
    const secret = Buffer.from(random(sessionBytes)).toString('base64url');
    const expiresAt = Math.min(timers.now() + timeToLive, owner.until);
    await this.#store(owner, secret, expiresAt, { ...owner.session, kind: 'browser' }, caller);
    const identity = tokens.findSession(secret);
    // What it was begun with was revoked meanwhile.
    if (!identity) throw unauthenticated(localized('the session has ended'), 'invalid_token');
    return { identity, secret, expiresAt: identity.expiresAt ?? expiresAt };
  }

  async #code(owner: Owner, caller: Caller): Promise<OneTimeCode> {
    const { random, timers } = this.#dependencies;
    const code = Buffer.from(random(codeBytes)).toString('base64url');
    const expiresAt = Math.min(timers.now() + codeLife, owner.until);
    const until = owner.until === Number.POSITIVE_INFINITY ? {} : { until: new Date(owner.until).toISOString() };
    await this.#store(owner, code, expiresAt, { ...owner.session, ...until, kind: 'code' }, caller);
    return { code, expiresAt };
  }

  async #store(owner: Owner, secret: string, expiresAt: number, session: SessionStatus, caller: Caller): Promise<void> {
    const { rbac, clientOf } = this.#dependencies;
    const { user, roles } = owner;
    await this.#makeRoom(user, caller);
    const created = rbac.user(user)?.created;
    await clientOf(caller).create(PersonalAccessToken, {
      metadata: { generateName: `console-${session.kind}-`, labels: { [this.#label]: session.kind } },
      spec: {
        user,
        ...(roles.length > 0 && { roles: [...roles] }),
        expiresAt: new Date(expiresAt).toISOString(),
      },
      status: {
        hash: digestOf(secret),
        ...(created !== undefined && { userCreated: created }),
        maker: 'user',
        session: session as Mutable<SessionStatus>,
      },
    });
  }

  async #makeRoom(user: string, caller: Caller): Promise<void> {
    const mine = this.#dependencies.tokens.ofUser(user).filter((one) => one.session);
    if (mine.length < mostPerUser) return;
    const oldest = mine.reduce((a: StoredToken, b) => (b.id < a.id ? b : a));
    await this.#delete(oldest.name, caller);
  }

  async #delete(name: string, caller: Caller): Promise<void> {
    await ifFound(() => this.#dependencies.clientOf(caller).delete(PersonalAccessToken, name));
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] | undefined ? E[] : T[K] };
