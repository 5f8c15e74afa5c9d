/**
 * Nobody grants what they do not have (docs/reference/permissions.md). Each check looks at one write of a built-in model before it
 * is stored and throws Forbidden when it would give somebody more than the caller has, Invalid when it makes no sense.
 * The service itself (origin `host`) is not asked.
 */

import type { Text, Violation } from '../../errors.ts';
import { escapeToken, invalid, KindredError, violation } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import type { ExtensionObject } from '../../model/object.ts';
import type { Caller } from '../../resource/access.ts';
import { isPrincipal, isReservedName, superRole } from '../authentication/identity.ts';
import type { TokenSpec, TokenStatus } from '../authentication/tokens.ts';
import { TooMuchToCompare } from './coverage.ts';
import type { RoleKeys } from './keys.ts';
import { Policy } from './policy.ts';
import type { Rbac } from './rbac.ts';
import { grantsOfRole, hasSameRules, namesIn, roleBounds } from './role.ts';
import type { Grant } from './rule.ts';
import { inWords } from './rule.ts';

/** `before` is the stored object, absent on creation. */
export type WriteCheck = (caller: Caller, before: ExtensionObject | undefined, next: ExtensionObject) => void;

export interface WriteChecks {
  readonly role: WriteCheck;
  readonly binding: WriteCheck;
  readonly token: WriteCheck;
  readonly user: WriteCheck;
}

const texts = {
  lacks: localized('"{who}" may not do this: it would allow "{what}", and nobody can grant what they do not have'),
  tooMuch: localized(
    '"{who}" may not do this: it allows too much at once to be compared with what they may do themselves; take fewer or smaller roles',
  ),
  grants: localized(
    'allow {count} grants together (verbs × (groups × resources × names + paths)); the limit for one role is {limit}: split it',
  ),
  manyDependencies: localized('must name at most {limit} roles; it names {count}'),
  unknownRole: localized(
    '"{who}" may not do this: the role "{role}" does not exist, so what it will allow is not known; create it first',
  ),
  superRole: localized('The role "super-role" allows everything and cannot be changed; bind another role instead'),
  impersonate: localized(
    '"{who}" may not do this: a token for another user needs the right to impersonate users "{user}"',
  ),
  outlives: localized(
    '"{who}" may not do this: a token created with a token cannot outlive it; "expiresAt" must be at most {limit}',
  ),
  endless: localized(
    '"{who}" may not do this: a token created with a JWT must expire; "expiresAt" must be at most {limit}',
  ),
  dependencies: localized('must be a JSON list of role names, such as ["persons-view"]'),
  userChanged: localized('cannot change: a token belongs to the user it was made for; create another token'),
  session: localized('The session of a browser cannot be changed, only deleted: that ends it'),
  noSuchRole: localized('must name a role that exists; there is no role "{role}"'),
  reservedName: localized('"{name}" belongs to the service itself; choose another name'),
} satisfies Record<string, Text>;

/** @param open authentication is off: what makes no sense is still refused, nothing else */
export function writeChecks(rbac: Rbac, keys: RoleKeys, open: boolean): WriteChecks {
  const isExempt = (caller: Caller): boolean => open || caller.origin === 'host';

  function mustHave(caller: Caller, policy: Policy): void {
    let missing: Grant | undefined;
    try {
      missing = rbac.policyOf(caller.identity).lacks(policy);
    } catch (error) {
      if (error instanceof TooMuchToCompare) throw refused(texts.tooMuch, caller);
      throw error;
    }
    if (missing) throw refused(texts.lacks, caller, { what: inWords(missing) });
  }

  /** All that the roles give, and no role that does not exist yet or lies too far to be seen, unless the caller has everything anyway. */
  function mustHaveRoles(
    caller: Caller,
    names: readonly string[],
    {
      as,
      namespaces,
    }: { as?: { name: string; role: ExtensionObject }; namespaces?: readonly string[] | undefined } = {},
  ): void {
    const { policy, missing, isCut } = rbac.policyOfRoles(names, as, namespaces);
    mustHave(caller, policy);
    const unknown = missing[0];
    if (unknown === undefined && !isCut) return;
    if (!rbac.policyOf(caller.identity).lacks(rbac.policyOfRoles([superRole]).policy)) return;
    throw isCut ? refused(texts.tooMuch, caller) : refused(texts.unknownRole, caller, { role: unknown! });
  }

  function mustImpersonate(caller: Caller, user: string): void {
    const access = { verb: 'impersonate', group: '', resource: 'users', name: user };
    if (!rbac.decide(caller.identity, access).allowed) throw refused(texts.impersonate, caller, { user });
  }

  return {
    role(caller, before, next) {
      const wrong = violationsOf(next, keys);
      if (wrong.length > 0) throw invalid(wrong);
      if (isExempt(caller)) return;
      const name = next.metadata.name;
      const was = before && rbac.roleRecord(before);
      const is = rbac.roleRecord(next);
      const sameRules = was !== undefined && hasSameRules(was, is);
      if (name === superRole && !sameRules) throw new KindredError('Forbidden', texts.superRole);
      if (sameRules && isWithin(is.aggregatesTo, was.aggregatesTo)) return;
      mustHaveRoles(caller, [name], { as: { name, role: next } });
    },

    binding(caller, before, next) {
      if (isExempt(caller)) return;
      const was = before && grantsOfBinding(before);
      const is = grantsOfBinding(next);
      if (is.subjects.length === 0) return;
      if (was && was.role === is.role && isWithin(is.subjects, was.subjects) && isNarrower(is, was)) return;
      mustHaveRoles(caller, [is.role], { namespaces: is.namespaces });
    },

    token(caller, before, next) {
      const was = before?.spec as TokenSpec | undefined;
      const is = next.spec as TokenSpec;
      if (was && was.user !== is.user) throw invalid([violation('/spec/user', 'immutable', texts.userChanged)]);
      const isSession = (before?.status as TokenStatus | undefined)?.session !== undefined;
      if (isSession && caller.origin !== 'host') throw new KindredError('Forbidden', texts.session);
      if (isReservedName(is.user)) {
        throw invalid([violation('/spec/user', 'reserved', texts.reservedName, { name: is.user })]);
      }
      if (isExempt(caller) || (was && JSON.stringify(was) === JSON.stringify(is))) return;
      const own = isOwn(caller, is.user);
      // What the other user may do today is not compared: they may get more later, or not be there yet.
      if (!own) mustImpersonate(caller, is.user);
      const unknown: Violation[] = [];
      is.roles?.forEach((role, i) => {
        if (!rbac.hasRole(role)) unknown.push(violation(`/spec/roles/${i}`, 'role', texts.noSuchRole, { role }));
      });
      if (unknown.length > 0) throw invalid(unknown);
      if (own) {
        const scope = is.roles?.length ? rbac.policyOfRoles(is.roles).policy.layers : [];
        mustHave(caller, new Policy([...rbac.policyOfSubject('User', is.user).layers, ...scope]));
      }
      const limit = rbac.tokenLimit(caller.identity);
      if (limit !== undefined && !(is.expiresAt !== undefined && Date.parse(is.expiresAt) <= limit)) {
        const { identity } = caller;
        const isByToken =
          isPrincipal(identity) && identity.credential !== undefined && identity.tokenMaxAge === undefined;
        throw refused(isByToken ? texts.outlives : texts.endless, caller, { limit: new Date(limit).toISOString() });
      }
    },

    user(caller, before, next) {
      const { name } = next.metadata;
      if (!before && isReservedName(name)) {
        throw invalid([violation('/metadata/name', 'reserved', texts.reservedName, { name })]);
      }
      if (isExempt(caller)) return;
      // Whoever makes or enables a user gives it what is bound to its name already.
      if (!isDisabled(next) && (!before || isDisabled(before))) mustHave(caller, rbac.policyOfSubject('User', name));
    },
  };
}

/** Whether the caller is this user. */
export function isOwn({ identity, origin }: Caller, user: string): boolean {
  if (origin === 'host') return false;
  return isPrincipal(identity) ? identity.kind === 'User' && identity.subject === user : identity.name === user;
}

/** What is wrong with a role whoever writes it, beside what its schema says. */
function violationsOf(role: ExtensionObject, keys: RoleKeys): Violation[] {
  const found: Violation[] = [];
  const pointer = `/metadata/annotations/${escapeToken(keys.dependencies)}`;
  const dependencies = namesIn(role.metadata.annotations?.[keys.dependencies]);
  if (!dependencies) found.push(violation(pointer, 'format', texts.dependencies));
  else if (dependencies.length > roleBounds.dependencies) {
    const params = { limit: roleBounds.dependencies, count: dependencies.length };
    found.push(violation(pointer, 'maxItems', texts.manyDependencies, params));
  }
  const grants = grantsOfRole(role);
  if (grants > roleBounds.grants) {
    found.push(violation('/rules', 'maxGrants', texts.grants, { limit: roleBounds.grants, count: grants }));
  }
  return found;
}

function isWithin(some: readonly string[], all: readonly string[]): boolean {
  return new Set(some).isSubsetOf(new Set(all));
}

function refused(text: Text, caller: Caller, params: Record<string, string> = {}): KindredError {
  return new KindredError('Forbidden', text, { params: { who: caller.identity.name, ...params } });
}

interface BindingGrants {
  readonly role: string;
  readonly subjects: readonly string[];
  /** Undefined: everywhere. */
  readonly namespaces: readonly string[] | undefined;
}

function grantsOfBinding(object: ExtensionObject): BindingGrants {
  const {
    roleRef,
    subjects = [],
    namespaces,
  } = object as ExtensionObject & {
    roleRef: { name: string };
    subjects?: readonly { kind: string; name: string }[];
    namespaces?: readonly string[];
  };
  return { role: roleRef.name, subjects: subjects.map((one) => `${one.kind}/${one.name}`), namespaces };
}

/** Whether the binding holds in no namespace in which it did not hold before. */
function isNarrower({ namespaces }: BindingGrants, before: BindingGrants): boolean {
  if (before.namespaces === undefined) return true;
  return namespaces !== undefined && isWithin(namespaces, before.namespaces);
}

function isDisabled(user: ExtensionObject): boolean {
  return (user.spec as { disabled?: boolean } | undefined)?.disabled === true;
}
