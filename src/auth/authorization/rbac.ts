/**
 * Who has which role, and what the roles allow: the state of Role, RoleBinding and User in memory, and the one authoriser
 * on top of it (docs/reference/permissions.md). The state is changed by the feed alone, so every replica follows every change.
 */
import { LRUCache } from 'lru-cache';
import type { ExtensionObject } from '../../model/object.ts';
import type { Access, Author, Authorizer, Caller, Decision, Identity } from '../../resource/access.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Timers } from '../../runtime/timers.ts';
import { longestTimer } from '../../runtime/timers.ts';
import type { Principal, SubjectKind } from '../authentication/identity.ts';
import { anonymousRole, authenticatedRole, isAnonymous, isPrincipal, superRole } from '../authentication/identity.ts';
import type { RoleKeys } from './keys.ts';
import type { Explanation, Source } from './policy.ts';
import { Layer, Policy } from './policy.ts';
import type { RoleRecord } from './role.ts';
import { isSameRole, roleRecord } from './role.ts';
import type { Root } from './role-graph.ts';
import { add, RoleGraph, remove } from './role-graph.ts';
import type { Rule } from './rule.ts';
import { everythingRule, RuleSet } from './rule-set.ts';

/** What a plugin may do without any role: everything with what it declared. */
export interface OwnedResource {
  readonly group: string;
  readonly resource: string;
  /** Only these objects; none: all of the resource and its sub-resources. */
  readonly names?: readonly string[];
}

export interface RbacDependencies {
  readonly keys: RoleKeys;
  readonly now: () => number;
  readonly timers: Pick<Timers, 'after'>;
  /** A principal with a personal access token, as that token is now: its roles and end may have changed. Undefined once it is revoked. */
  readonly current: (principal: Principal) => Principal | undefined;
  /** What belongs to a plugin. */
  readonly owned: (plugin: string) => readonly OwnedResource[];
  readonly logger: Pick<Logger, 'warn'>;
}

interface BindingRecord {
  readonly role: string;
  /** In which it gives the role; none: everywhere. */
  readonly namespaces?: readonly string[];
  /** By `subjectKey`: store revision at which the subject got this role here; 0 for what was there at the start. */
  readonly subjects: ReadonlyMap<string, number>;
}

interface UserRecord {
  readonly created: string;
  readonly disabled: boolean;
}

interface Seen {
  readonly epoch: number;
  readonly policy: Policy;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

const nothing = (reason: string): Policy => new Policy([], reason);
const rememberedPolicies = 5_000;

export class Rbac implements Authorizer {
  readonly #dependencies: RbacDependencies;
  readonly #roles = new RoleGraph();
  /** That roles lead too far is told once. */
  #isCut = false;
  readonly #bindings = new Map<string, BindingRecord>();
  readonly #bySubject = new Map<string, Set<string>>();
  readonly #users = new Map<string, UserRecord>();
  /** Users that were deleted, until their grants are gone from the store: revision of the deletion. */
  readonly #departed = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  readonly #policies = new LRUCache<string, Policy>({ max: rememberedPolicies });
  readonly #layers = new LRUCache<string, Layer>({ max: rememberedPolicies });
  #seen = new WeakMap<Identity, Seen>();
  #epoch = 0;
  #telling = false;
  #expiry: { readonly at: number; readonly cancel: () => void } | undefined;

  constructor(dependencies: RbacDependencies) {
    this.#dependencies = dependencies;
  }

  decide(identity: Identity, access: Access): Decision {
    let seen = this.#seen.get(identity);
    if (seen === undefined || seen.epoch !== this.#epoch) seen = this.#look(identity);
    if (seen.until !== Number.POSITIVE_INFINITY && seen.until <= this.#dependencies.now()) {
      return { allowed: false, reason: 'the credential has expired' };
    }
    return seen.policy.decide(access);
  }

  /** When a token that somebody makes must end at the latest, milliseconds since the epoch; undefined: whenever they like. */
  tokenLimit(identity: Identity): number | undefined {
    if (!isPrincipal(identity)) return undefined;
    const { credential, tokenMaxAge, isSession } = identity;
    if (tokenMaxAge !== undefined) return this.#dependencies.now() + tokenMaxAge;
    if (credential === undefined) return undefined;
    const current = this.#dependencies.current(identity);
    const limit = isSession ? current?.tokensEnd : current?.expiresAt;
    return limit === Number.POSITIVE_INFINITY ? undefined : limit;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Why `decide` says what it says. */
  explain(identity: Identity, access: Access): Explanation {
    const decision = this.decide(identity, access);
    if (!decision.allowed) return { allowed: false, reason: decision.reason, because: [] };
    return this.policyOf(identity).explain(access);
  }

  /** All that an identity may do; what the rules against giving more than one has are about. */
  policyOf(identity: Identity): Policy {
    const seen = this.#seen.get(identity);
    return (seen !== undefined && seen.epoch === this.#epoch ? seen : this.#look(identity)).policy;
  }

  /** What a user or plugin of this name may do by bindings and as somebody who has logged in, whatever the credential. */
  policyOfSubject(kind: SubjectKind, name: string): Policy {
    return this.#policyOf(kind, name, [authenticatedRole]);
  }

  /** Who it is that acts, for a time when the credential is gone. */
  authorOf({ identity, origin }: Caller): Author {
    if (origin === 'host') return { kind: 'System', name: identity.name };
    const { kind, subject } = isPrincipal(identity) ? identity : { kind: 'User' as const, subject: identity.name };
    const created = kind === 'User' ? this.#users.get(subject)?.created : undefined;
    return { kind, name: subject, ...(created !== undefined && { created }) };
  }

  decideFor({ kind, name, created }: Author, access: Access): Decision {
    if (kind === 'System') return { allowed: true, reason: 'it is the service itself' };
    const user = kind === 'User' ? this.#users.get(name) : undefined;
    if (user?.created !== created) return { allowed: false, reason: `the user "${name}" of then is gone` };
    if (user?.disabled) return { allowed: false, reason: `the user "${name}" is disabled` };
    return this.policyOfSubject(kind, name).decide(access);
  }

  /**
   * What roles give with all that comes through dependencies and aggregation, in these namespaces or everywhere. `as` is a role
   * as it would be after a write.
   * `missing`: roles named on the way that do not exist. `isCut`: there is more than is followed.
   */
  policyOfRoles(
    names: readonly string[],
    as?: { name: string; role: ExtensionObject },
    namespaces?: readonly string[],
  ): { policy: Policy; missing: readonly string[]; isCut: boolean } {
    const roots = names.map((name) => ({ name, ...(namespaces && { namespaces }) }));
    const override = as && { name: as.name, record: this.roleRecord(as.role) };
    const { sources, missing, isCut } = this.#roles.reach(roots, override);
    return { policy: new Policy([new Layer(sources)]), missing, isCut };
  }

  /** Names of the roles that bindings give to a subject, sorted. */
  boundRoles(kind: SubjectKind, name: string): string[] {
    return [...new Set(this.#boundTo(kind, name).map((one) => one.name))].sort();
  }

  /** Names of the bindings that name this subject, sorted. */
  bindingsOf(kind: SubjectKind, name: string): string[] {
    return [...(this.#bySubject.get(subjectKey(kind, name)) ?? [])].sort();
  }

  /** Whether a binding names a user since this revision or earlier. */
  isBoundSince(binding: string, user: string, revision: number): boolean {
    const since = this.#bindings.get(binding)?.subjects.get(subjectKey('User', user));
    return since !== undefined && since <= revision;
  }

  /** Users and plugins whom a role is bound to directly, everywhere. */
  holders(role: string): string[] {
    const holders = new Set<string>();
    for (const binding of this.#bindings.values()) {
      if (binding.role === role && !binding.namespaces)
        for (const subject of binding.subjects.keys()) holders.add(subject);
    }
    return [...holders].sort();
  }

  names(kind: 'User' | 'Role' | 'RoleBinding'): string[] {
    if (kind === 'Role') return this.#roles.names();
    return [...(kind === 'User' ? this.#users : this.#bindings).keys()];
  }

  hasRole(name: string): boolean {
    return name === superRole || this.#roles.get(name) !== undefined;
  }

  user(name: string): UserRecord | undefined {
    return this.#users.get(name);
  }

  /** Revision at which a user of this name was deleted, while grants may be left in the store. */
  departedAt(name: string): number | undefined {
    return this.#departed.get(name);
  }

  /** Nothing of a deleted user's grants is left in the store. */
  forgetDeparted(name: string, revision: number): void {
    if (this.#departed.get(name) === revision) this.#departed.delete(name);
  }

  /** Grows with every change of what anybody may do. */
  get epoch(): number {
    return this.#epoch;
  }

  setRole(name: string, object: ExtensionObject | undefined): void {
    const before = this.#roles.get(name);
    const next = object && this.roleRecord(object);
    if (isSameRole(before, next)) return;
    if (next?.cuts.length) {
      const message = 'A stored role is larger than a role may be; what is beyond the bounds gives nothing';
      this.#dependencies.logger.warn({ role: name, beyond: next.cuts }, message);
    }
    this.#roles.set(name, next);
    this.changed();
  }

  setBinding(name: string, object: ExtensionObject | undefined, revision: number): void {
    const before = this.#bindings.get(name);
    const next = object && bindingRecord(object, revision, before);
    if (before && next && sameGrants(before, next)) return;
    for (const subject of before?.subjects.keys() ?? []) remove(this.#bySubject, subject, name);
    if (next) this.#bindings.set(name, next);
    else this.#bindings.delete(name);
    for (const subject of next?.subjects.keys() ?? []) add(this.#bySubject, subject, name);
    this.changed();
  }

  setUser(name: string, object: ExtensionObject | undefined, revision: number): void {
    const before = this.#users.get(name);
    if (object) {
      const next = userRecord(object);
      if (before?.created === next.created && before.disabled === next.disabled) return;
      this.#users.set(name, next);
    } else {
      if (!before) return;
      this.#users.delete(name);
      this.#departed.set(name, revision);
    }
    this.changed();
  }

  /** Something that decisions depend on has changed; open watches are told once the current changes are applied. */
  changed(): void {
    this.#epoch++;
    this.#policies.clear();
    this.#layers.clear();
    if (this.#telling) return;
    this.#telling = true;
    queueMicrotask(() => {
      this.#telling = false;
      for (const listener of [...this.#listeners]) listener();
    });
  }

  stop(): void {
    this.#expiry?.cancel();
    this.#expiry = undefined;
    this.#listeners.clear();
  }

  roleRecord(object: ExtensionObject): RoleRecord {
    return roleRecord(object, this.#dependencies.keys);
  }

  #look(identity: Identity): Seen {
    const principal = isPrincipal(identity) ? identity : undefined;
    const isToken = principal?.credential !== undefined;
    const current = isToken ? this.#dependencies.current(principal) : principal;
    const until = current?.expiresAt ?? Number.POSITIVE_INFINITY;
    const policy = isToken && !current ? nothing('the token was revoked') : this.#policy(current ?? identity);
    const seen: Seen = { epoch: this.#epoch, until, policy };
    this.#seen.set(identity, seen);
    if (until !== Number.POSITIVE_INFINITY) this.#expectExpiry(until);
    return seen;
  }

  #policy(identity: Identity): Policy {
    const principal = isPrincipal(identity) ? identity : undefined;
    const kind = principal?.kind ?? 'User';
    const subject = principal?.subject ?? identity.name;
    if (principal?.isForeign && this.#users.has(subject)) return nothing(`"${subject}" is a User of this service`);
    if (kind === 'User' && this.#users.get(subject)?.disabled) return nothing(`the user "${subject}" is disabled`);
    const granted = [...(principal?.granted ?? identity.roles)];
    if (!isAnonymous(identity) && !granted.includes(authenticatedRole)) granted.push(authenticatedRole);
    return this.#policyOf(kind, subject, granted, principal?.scope);
  }

  #policyOf(kind: SubjectKind, subject: string, granted: readonly string[], scope?: readonly string[]): Policy {
    const key = JSON.stringify([kind, subject, granted, scope]);
    let policy = this.#policies.get(key);
    if (!policy) {
      const layers = [this.#layer(kind, subject, granted)];
      if (scope) {
        const roots = [...scope, authenticatedRole].map((name) => ({ name }));
        layers.push(new Layer(this.#reach(roots)));
      }
      policy = new Policy(layers);
      this.#policies.set(key, policy);
    }
    return policy;
  }

  #layer(kind: SubjectKind, subject: string, granted: readonly string[]): Layer {
    const key = JSON.stringify([kind, subject, granted]);
    let layer = this.#layers.get(key);
    if (!layer) {
      const roots = [...granted.map((name) => ({ name })), ...this.#boundTo(kind, subject)];
      const sources = this.#reach(roots);
      if (kind === 'Plugin')
        sources.push({ role: 'owner', rules: new RuleSet(this.#dependencies.owned(subject).map(ownRule)) });
      layer = new Layer(sources);
      this.#layers.set(key, layer);
    }
    return layer;
  }

  #boundTo(kind: SubjectKind, name: string): (Root & { binding: string })[] {
    const departed = kind === 'User' ? this.#departed.get(name) : undefined;
    const found: (Root & { binding: string })[] = [];
    const subject = subjectKey(kind, name);
    for (const binding of this.#bySubject.get(subject) ?? []) {
      const record = this.#bindings.get(binding)!;
      // What was bound to a deleted user does not come back to life with a new user of the same name.
      if (departed === undefined || record.subjects.get(subject)! > departed)
        found.push({ name: record.role, binding, ...(record.namespaces && { namespaces: record.namespaces }) });
    }
    return found;
  }

  #reach(roots: readonly Root[]): Source[] {
    const { sources, isCut } = this.#roles.reach(roots);
    if (isCut && !this.#isCut) {
      const message =
        'Some roles lead to more roles, or to more rules, than count for one identity; what lies beyond gives nothing';
      this.#dependencies.logger.warn({ roles: roots.slice(0, 10).map(({ name }) => name) }, message);
      this.#isCut = true;
    }
    return sources;
  }

  /** An open watch ends when its token does: the listeners are told at the first expiry among those who acted. */
  #expectExpiry(at: number): void {
    if (this.#expiry && this.#expiry.at <= at) return;
    const { now, timers } = this.#dependencies;
    if (at <= now()) return;
    this.#expiry?.cancel();
    const cancel = timers.after(Math.min(at - now(), longestTimer), () => {
      this.#expiry = undefined;
      this.changed();
    });
    this.#expiry = { at, cancel };
  }
}

export const builtInRoles: readonly { name: string; rules: readonly Rule[] }[] = [
  { name: superRole, rules: [everythingRule] },
  {
    name: authenticatedRole,
    rules: [
      {
        nonResourceURLs: [
          '/api',
          '/api/*',
          '/apis',
          '/apis/*',
          '/v3/api-docs',
          '/v3/api-docs/*',
          '/v3/models',
          '/v3/models/*',
        ],
        verbs: ['get'],
      },
      { nonResourceURLs: ['/v3/can-i', '/v3/session/codes'], verbs: ['post'] },
    ],
  },
  { name: anonymousRole, rules: [] },
];

/** What `authenticated` allowed in services that began before the console. */
export const earlierAuthenticatedRules: readonly Rule[] = [
  {
    nonResourceURLs: ['/api', '/api/*', '/apis', '/apis/*', '/v3/api-docs', '/v3/api-docs/*'],
    verbs: ['get'],
  },
  { nonResourceURLs: ['/v3/can-i'], verbs: ['post'] },
];

/** A subject that had this role here before keeps its revision: touching a binding does not renew it. */
function bindingRecord(object: ExtensionObject, revision: number, before: BindingRecord | undefined): BindingRecord {
  const {
    roleRef,
    subjects = [],
    namespaces,
  } = object as ExtensionObject & {
    roleRef: { name: string };
    subjects?: readonly { kind: SubjectKind; name: string }[];
    namespaces?: readonly string[];
  };
  const known = before?.role === roleRef.name ? before.subjects : undefined;
  const keys = subjects.map((one) => subjectKey(one.kind, one.name));
  return {
    role: roleRef.name,
    ...(namespaces && { namespaces }),
    subjects: new Map(keys.map((key) => [key, known?.get(key) ?? revision])),
  };
}

function sameGrants(a: BindingRecord, b: BindingRecord): boolean {
  return (
    a.role === b.role &&
    JSON.stringify(a.namespaces) === JSON.stringify(b.namespaces) &&
    a.subjects.size === b.subjects.size &&
    [...b.subjects.keys()].every((key) => a.subjects.has(key))
  );
}

function userRecord(object: ExtensionObject): UserRecord {
  const spec = object.spec as { disabled?: boolean } | undefined;
  return { created: object.metadata.creationTimestamp ?? '', disabled: spec?.disabled === true };
}

function ownRule(owned: OwnedResource): Rule {
  return {
    apiGroups: [owned.group],
    resources: [owned.resource, `${owned.resource}/status`],
    verbs: ['*'],
    ...(owned.names && { resourceNames: owned.names }),
  };
}

/** `User/ada`. */
export function subjectKey(kind: SubjectKind, name: string): string {
  return `${kind}/${name}`;
}
