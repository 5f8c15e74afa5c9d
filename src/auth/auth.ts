/** Everything about who may do what, put together: what `service.ts` wires. */
import { randomBytes } from 'node:crypto';
import type { ModelType } from '../model/model-type.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { SchemeRegistry } from '../model/registry.ts';
import type { Authors, Caller, Identity } from '../resource/access.ts';
import { allowAll, system } from '../resource/access.ts';
import type { AppliedChange } from '../resource/change.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';
import type { Feed } from '../resource/feed.ts';
import type { ModelHooks } from '../resource/hooks.ts';
import type { Logger } from '../runtime/logger.ts';
import { readJson } from '../runtime/read-json.ts';
import { TimeSlice } from '../runtime/time-slice.ts';
import type { Timers } from '../runtime/timers.ts';
import { AuditLog } from './audit.ts';
import type { PluginAuthenticator } from './authentication/authenticator.ts';
import { Authenticator } from './authentication/authenticator.ts';
import type { Credentials } from './authentication/credentials.ts';
import { IssuerLogins } from './authentication/issuer-login.ts';
import { JwtAuthenticator } from './authentication/jwt.ts';
import { RateLimiter } from './authentication/rate-limit.ts';
import { SessionCookie } from './authentication/session-cookie.ts';
import { Tokens } from './authentication/tokens.ts';
import { writeChecks } from './authorization/escalation.ts';
import type { RoleKeys } from './authorization/keys.ts';
import { roleKeys } from './authorization/keys.ts';
import type { OwnedResource } from './authorization/rbac.ts';
import { Rbac } from './authorization/rbac.ts';
import type { ReviewAnswer, ReviewRequest } from './authorization/review.ts';
import { parseReviews, review } from './authorization/review.ts';
import { createAdministrator, createBuiltInRoles, needsAdministrator } from './first-start.ts';
import { builtInHooks } from './model-hooks.ts';
import { builtInModels, PersonalAccessToken, Role, RoleBinding, User } from './models.ts';
import type { AuthOptions } from './options.ts';
import { OutageLog } from './outage-log.ts';
import { Sessions } from './sessions.ts';
import { Templates } from './templates.ts';
import { UserCleanup } from './user-cleanup.ts';

export interface AuthDependencies {
  readonly options: AuthOptions;
  readonly console: {
    /** Milliseconds that the session of a browser may last. */
    readonly sessionTtl: number;
    /** Over plain http on other machines too. */
    readonly insecureCookie: boolean;
    readonly publicUrl?: string | undefined;
  };
  /** How the service listens. */
  readonly scheme: 'http' | 'https';
  /** Authentication is off: no administrator is made, and nothing is refused at writes. Default false. */
  readonly open?: boolean;
  readonly reservedDomain: string;
  readonly registry: SchemeRegistry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Milliseconds, never going back. */
  readonly monotonicNow: () => number;
  readonly timers: Timers;
  readonly random?: (size: number) => Uint8Array;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
}

/** One stored object, as it is stored. */
interface StoredRow {
  /** Store revision of its creation. */
  readonly id: number;
  readonly bytes: Uint8Array;
}

export interface AuthRuntime {
  readonly feed: Feed;
  /** Acts as the service itself: origin `host`, nothing is checked. */
  readonly client: ExtensionClient;
  /** The same in the name of a caller whose origin is `host`. */
  readonly clientOf: (caller: Caller) => ExtensionClient;
  /** What the store keeps, and no API changes: that this service was started with authentication before. */
  readonly firstStart: {
    isPast(): Promise<boolean>;
    remember(): Promise<void>;
  };
  /** Stored objects of a model with an id above `after`, by id, at most `limit`. */
  scan(type: ModelType, after: number, limit: number): readonly StoredRow[] | Promise<readonly StoredRow[]>;
}

export class Auth {
  /** The one authoriser. */
  readonly authorizer: Rbac;
  /** What authors may do while what they made goes on. */
  readonly authors: Authors;
  /** To be registered with owner '' before `start`. */
  readonly models = builtInModels;
  /** What the built-in models do at writes and how they are shown, by `<kind>.<group>`. */
  readonly hooks: ReadonlyMap<string, ModelHooks>;
  readonly rateLimiter: RateLimiter;
  readonly cookie: SessionCookie;
  readonly logins: IssuerLogins;
  readonly audit: AuditLog;
  readonly #dependencies: AuthDependencies;
  readonly #keys: RoleKeys;
  readonly #tokens: Tokens;
  readonly #authenticator: Authenticator;
  readonly #outage: OutageLog;
  readonly #declared = new Map<string, readonly OwnedResource[]>();
  readonly #stopListening: (() => void)[] = [];
  #runtime: AuthRuntime | undefined;
  #templates: Templates | undefined;
  #userCleanup: UserCleanup | undefined;
  #sessions: Sessions | undefined;
  #hadFirstStart = false;
  #needsAdministrator = false;
  /** Changes that arrive while the stored state is read. */
  #waiting: AppliedChange[] | undefined = [];

  constructor(dependencies: AuthDependencies) {
    this.#dependencies = dependencies;
    const { options, now, logger } = dependencies;
    this.#outage = new OutageLog(logger, {
      begins: 'Roles, bindings, users and tokens cannot be read at the moment; trying until they can',
      over: 'Roles, bindings, users and tokens are read',
    });
    this.#keys = roleKeys(dependencies.reservedDomain);
    this.authorizer = new Rbac({
      keys: this.#keys,
      now,
      timers: dependencies.timers,
      current: (principal) => this.#tokens.current(principal),
      owned: (plugin) => this.#owned(plugin),
      logger,
    });
    this.authors = {
      of: (caller) => this.authorizer.authorOf(caller),
      decide: (author, access) =>
        dependencies.open ? allowAll.decide(system.identity, access) : this.authorizer.decideFor(author, access),
    };
    this.#tokens = new Tokens(() => this.authorizer, now);
    const current = (): Promise<void> | undefined => this.#runtime?.feed.current();
    const { publicUrl, insecureCookie } = dependencies.console;
    this.cookie = new SessionCookie({ publicUrl, scheme: dependencies.scheme, insecure: insecureCookie });
    const issuers = options.issuers ?? [];
    const jwt = new JwtAuthenticator(issuers, now, (name) => this.authorizer.user(name) !== undefined);
    this.logins = new IssuerLogins(issuers, jwt, now);
    this.#authenticator = new Authenticator({
      cookie: this.cookie,
      tokens: this.#tokens,
      jwt,
      current,
      logger,
    });
    this.hooks = builtInHooks({
      rbac: this.authorizer,
      checks: writeChecks(this.authorizer, this.#keys, dependencies.open ?? false),
      current,
      random: dependencies.random ?? randomBytes,
    });
    this.rateLimiter = new RateLimiter(options.rateLimit ?? {}, dependencies.monotonicNow);
    this.audit = new AuditLog(options.audit ?? {}, now);
  }

  /**
   * Who sends a request; `anonymous` when it carries no credentials.
   * @throws Unauthenticated (401 with `WWW-Authenticate`) for credentials that do not hold
   */
  readonly authenticate = (request: Credentials): Identity | Promise<Identity> =>
    this.#authenticator.authenticate(request);

  /** Of browsers; there after `start`. */
  get sessions(): Sessions {
    return this.#sessions!;
  }

  /** Reads the stored roles, bindings, users and tokens, and follows them from here on. The built-in models must be registered. */
  async start(runtime: AuthRuntime): Promise<void> {
    this.#runtime = runtime;
    const { registry, timers, logger } = this.#dependencies;
    this.#stopListening.push(
      runtime.feed.subscribe({ change: (change) => this.#follow(change), resync: () => this.#resync() }),
      registry.onRegister((_, owner) => owner !== '' && this.authorizer.changed()),
      registry.onUnregister((_, owner) => owner !== '' && this.authorizer.changed()),
    );
    const common = { client: runtime.client, timers, logger };
    this.#userCleanup = new UserCleanup({ ...common, rbac: this.authorizer, tokens: this.#tokens });
    this.#sessions = new Sessions({
      rbac: this.authorizer,
      tokens: this.#tokens,
      clientOf: runtime.clientOf,
      current: () => runtime.feed.current(),
      random: this.#dependencies.random ?? randomBytes,
      timeToLive: this.#dependencies.console.sessionTtl,
      reservedDomain: this.#dependencies.reservedDomain,
      timers,
      logger,
    });
    await this.#reload();
    this.#hadFirstStart = await runtime.firstStart.isPast();
    this.#needsAdministrator = !this.#hadFirstStart && needsAdministrator(this.authorizer, this.#tokens);
    await createBuiltInRoles(runtime.client);
    this.#sessions.start();
    this.#templates = new Templates({ ...common, keys: this.#keys, registry });
  }

  /** The feed lost its place in the log: everything is read anew, again until that works. */
  #resync(): void {
    this.#waiting ??= [];
    this.#reload().then(
      () => this.#outage.succeeded(this),
      (error: unknown) => {
        this.#outage.failed(this, error);
        this.#dependencies.timers.after(reloadDelay, () => this.#resync());
      },
    );
  }

  async #reload(): Promise<void> {
    const { feed } = this.#runtime!;
    for (const [type, kind] of followed) {
      const seen = new Set<string>();
      for await (const { id, object } of this.#stored(type)) {
        seen.add(object.metadata.name);
        this.#set(kind, object.metadata.name, living(object), id, 0);
      }
      for (const name of this.#known(kind)) if (!seen.has(name)) this.#set(kind, name, undefined, 0, feed.applied);
    }
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const change of waiting) this.#apply(change);
    this.#userCleanup!.resume();
  }

  /** The first administrator's token, once; undefined when there was a start with authentication before. */
  async bootstrap(): Promise<string | undefined> {
    const { open, options, logger } = this.#dependencies;
    if (open) return undefined;
    const { client, firstStart } = this.#runtime!;
    const isWanted = this.#needsAdministrator && options.administratorToken !== false;
    const token = isWanted ? await createAdministrator(client) : undefined;
    if (!this.#hadFirstStart) {
      // Without it the token must be told all the same; the next start remembers, as long as anybody has a token.
      await firstStart.remember().catch((err: unknown) => {
        logger.warn({ err }, 'That there was a first start could not be stored; the next start tries again');
      });
    }
    return token;
  }

  /**
   * Resolves when the role templates of all registered models are stored, and deleted users' grants are gone; what cannot be
   * done at the moment is tried again later, and keeps no service from starting.
   */
  async tried(): Promise<void> {
    await this.#templates?.tried();
    await this.#userCleanup?.tried();
  }

  /** The plugin's bundled objects, all of them: the plugin may do everything with these. An empty list takes that away. */
  declareObjects(plugin: string, objects: readonly { group: string; resource: string; name: string }[]): void {
    const byResource = Map.groupBy(objects, ({ group, resource }) => `${group}/${resource}`);
    const owned = [...byResource.values()].map((list) => {
      const { group, resource } = list[0]!;
      return { group, resource, names: list.map((one) => one.name) };
    });
    if (owned.length > 0) this.#declared.set(plugin, owned);
    else this.#declared.delete(plugin);
    this.authorizer.changed();
  }

  registerAuthenticator(plugin: string, authenticate: PluginAuthenticator): void {
    this.#authenticator.register(plugin, authenticate);
  }

  removeAuthenticators(plugin: string): void {
    this.#authenticator.remove(plugin);
  }

  /**
   * The answer to `POST /v3/can-i`.
   * @param renewed resolves when there is time for one more question
   * @throws Invalid, Forbidden
   */
  async canI(
    identity: Identity,
    body: unknown,
    renewed: () => Promise<void> | undefined,
  ): Promise<ReviewAnswer | { answers: readonly ReviewAnswer[] }> {
    const requests = parseReviews(body);
    if ('verb' in requests) return this.#review(identity, requests);
    const answers: ReviewAnswer[] = [];
    for (const [i, request] of requests.entries()) {
      await renewed();
      answers.push(this.#review(identity, request, `/reviews/${i}`));
    }
    return { answers };
  }

  #review(identity: Identity, request: ReviewRequest, at?: string): ReviewAnswer {
    if (this.#dependencies.open) return { allowed: true, reason: 'authentication is off', because: [] };
    return review(this.authorizer, this.#dependencies.registry, identity, request, at);
  }

  /** The process begins to stop: models that go from now on keep their role templates. To be called before plugins are stopped. */
  drain(): void {
    this.#templates?.drain();
  }

  async stop(): Promise<void> {
    for (const stop of this.#stopListening) stop();
    await Promise.all([this.#templates?.stop(), this.#userCleanup?.stop(), this.#sessions?.stop(), this.audit.close()]);
    this.authorizer.stop();
  }

  #follow(change: AppliedChange): void {
    this.audit.changed(change);
    if (this.#waiting) this.#waiting.push(change);
    else this.#apply(change);
  }

  #apply(change: AppliedChange): void {
    const { group, kind } = change.model.scheme.groupVersionKind;
    if (group !== '' || !isFollowed(kind)) return;
    const object = change.type === 'delete' ? undefined : living(change.object());
    this.#set(kind, change.name, object, change.id, change.revision);
  }

  /** @param id store revision of the creation  @param revision that of this change; 0 for what was there at the start */
  #set(kind: FollowedKind, name: string, object: ExtensionObject | undefined, id: number, revision: number): void {
    switch (kind) {
      case 'Role':
        return this.authorizer.setRole(name, object);
      case 'RoleBinding':
        return this.authorizer.setBinding(name, object, revision);
      case 'PersonalAccessToken':
        return this.#tokens.set(name, object, id);
      case 'User': {
        const was = this.authorizer.user(name);
        this.authorizer.setUser(name, object, revision);
        const is = this.authorizer.user(name);
        if (was && !is) this.#userCleanup?.onDeleted(name, revision);
        if (is && was?.created !== is.created) this.#userCleanup?.onCreated(name);
      }
    }
  }

  #known(kind: FollowedKind): string[] {
    return kind === 'PersonalAccessToken'
      ? [...this.#tokens.all()].map((token) => token.name)
      : this.authorizer.names(kind);
  }

  async *#stored(type: ModelType): AsyncGenerator<{ id: number; object: ExtensionObject }> {
    const slice = new TimeSlice(this.#dependencies.monotonicNow);
    for (let after = 0; ; ) {
      const rows = await this.#runtime!.scan(type, after, scanLimit);
      for (const { id, bytes } of rows) {
        yield { id, object: readJson(Buffer.from(bytes).toString()) as ExtensionObject };
        after = id;
        if (slice.isOver) await slice.renew();
      }
      if (rows.length === 0) return;
    }
  }

  #owned(plugin: string): readonly OwnedResource[] {
    const { registry } = this.#dependencies;
    const models = registry.schemes().filter((scheme) => registry.ownerOf(scheme) === plugin);
    const own = models.map((scheme) => ({ group: scheme.groupVersionKind.group, resource: scheme.plural }));
    return [...own, ...(this.#declared.get(plugin) ?? [])];
  }
}

const scanLimit = 1_000;
const reloadDelay = 1_000;

/** Users before what refers to them. */
const followed = [
  [User, 'User'],
  [Role, 'Role'],
  [RoleBinding, 'RoleBinding'],
  [PersonalAccessToken, 'PersonalAccessToken'],
] as const;

type FollowedKind = (typeof followed)[number][1];

function isFollowed(kind: string): kind is FollowedKind {
  return followed.some(([, followedKind]) => followedKind === kind);
}

/** An object that is being deleted gives nothing any more, whatever its finalizers wait for. */
function living(object: ExtensionObject): ExtensionObject | undefined {
  return object.metadata.deletionTimestamp === undefined ? object : undefined;
}

export function createAuth(dependencies: AuthDependencies): Auth {
  return new Auth(dependencies);
}
