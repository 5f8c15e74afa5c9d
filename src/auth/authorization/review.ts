/** `POST /v3/can-i`: whether the caller, or somebody else, may do something, and which rules say so. */

import type { Text, Violation } from '../../errors.ts';
import { escapeToken, invalid, violation } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import { isRecord } from '../../model/object.ts';
import type { SchemeRegistry } from '../../model/registry.ts';
import type { Scheme } from '../../model/scheme.ts';
import { versionNamed } from '../../model/scheme.ts';
import type { Access, Identity } from '../../resource/access.ts';
import { someNamespace } from '../../resource/access.ts';
import type { Principal } from '../authentication/identity.ts';
import { anonymous, forbidden } from '../authentication/identity.ts';
import type { SourcedRule } from './policy.ts';
import type { Rbac } from './rbac.ts';

/** The request body: a verb, and either a type, a group and resource, or a path. */
export interface ReviewRequest {
  readonly verb: string;
  /** `plural`, `plural.group` or `plural.version.group`, each with `/status` or another sub-resource behind it. */
  readonly type?: string;
  readonly group?: string;
  /** Plural, with `/status` or another sub-resource behind it. */
  readonly resource?: string;
  /** Of an object, or of a list; none: all of them. */
  readonly namespace?: string;
  readonly name?: string;
  /** Instead of a resource. */
  readonly path?: string;
  /** About this user rather than the caller; needs the right to list roles and role bindings. */
  readonly user?: string;
}

export interface ReviewAnswer {
  readonly allowed: boolean;
  readonly reason: string;
  /** Only these objects. */
  readonly names?: readonly string[];
  readonly because: readonly SourcedRule[];
}

const texts = {
  body: localized('must be an object'),
  text: localized('must be a text'),
  list: localized('must be a list'),
  tooMany: localized('must have at most {limit} questions; these are {count}'),
  required: localized('is required'),
  unknown: localized('is unknown; expected one of {known}'),
  target: localized('expected exactly one of "type", "resource" and "path"'),
  severalTypes: localized('"{type}" is a plural in several groups: {known}'),
} satisfies Record<string, Text>;

/** Questions of one request. */
const mostReviews = 100;

const members = ['verb', 'type', 'group', 'resource', 'namespace', 'name', 'path', 'user'] as const;

/** One question, or `{ reviews: [...] }` with several. @throws Invalid */
export function parseReviews(body: unknown): ReviewRequest | readonly ReviewRequest[] {
  const isSeveral = isRecord(body) && Object.hasOwn(body, 'reviews');
  const found = isSeveral ? mistakesOfAll(body) : mistakesOf(body, '');
  if (found.length > 0) throw invalid(found);
  return isSeveral ? (body.reviews as ReviewRequest[]) : (body as ReviewRequest);
}

function mistakesOfAll({ reviews, ...more }: Record<string, unknown>): Violation[] {
  const found = Object.keys(more).map((member) =>
    violation(`/${escapeToken(member)}`, 'additionalProperties', texts.unknown, { known: 'reviews' }),
  );
  if (!Array.isArray(reviews)) return [...found, violation('/reviews', 'type', texts.list)];
  if (reviews.length > mostReviews) {
    return [...found, violation('/reviews', 'maxItems', texts.tooMany, { limit: mostReviews, count: reviews.length })];
  }
  return [...found, ...reviews.flatMap((one: unknown, i) => mistakesOf(one, `/reviews/${i}`))];
}

function mistakesOf(body: unknown, at: string): Violation[] {
  if (!isRecord(body)) return [violation(at, 'type', texts.body)];
  const found: Violation[] = [];
  for (const [member, value] of Object.entries(body)) {
    const pointer = `${at}/${escapeToken(member)}`;
    if (!(members as readonly string[]).includes(member)) {
      found.push(violation(pointer, 'additionalProperties', texts.unknown, { known: members.join(', ') }));
    } else if (typeof value !== 'string') found.push(violation(pointer, 'type', texts.text));
  }
  if (body.verb === undefined) found.push(violation(`${at}/verb`, 'required', texts.required));
  const targets = [body.type, body.resource, body.path].filter((target) => target !== undefined);
  if (targets.length !== 1) found.push(violation(at, 'oneOf', texts.target));
  return found;
}

/**
 * @param at pointer of the question in the body
 * @throws Invalid when several types that the caller may use have the plural, Forbidden when the caller may not ask about others
 */
export function review(
  rbac: Rbac,
  registry: SchemeRegistry,
  caller: Identity,
  request: ReviewRequest,
  at = '',
): ReviewAnswer {
  const isOther = request.user !== undefined && request.user !== caller.name;
  if (isOther) {
    for (const resource of ['roles', 'rolebindings']) {
      const decision = rbac.decide(caller, { verb: 'list', group: '', resource });
      if (!decision.allowed || decision.names) throw forbidden(caller, `it needs to list ${resource}`);
    }
  }
  // Who sees all roles sees the templates of all types.
  const access = accessOf(registry, request, at, (scheme, asked) => isOther || mayUse(rbac, caller, scheme, asked));
  // The same whether there is such a type or not.
  if (!access) return { allowed: false, reason: `there is no type "${request.type}" that you may use`, because: [] };
  return rbac.explain(isOther ? somebody(rbac, request.user!) : caller, access);
}

/** As a user of this name is after logging in. */
function somebody(rbac: Rbac, user: string): Principal {
  if (user === anonymous.name) return anonymous;
  return { name: user, roles: rbac.boundRoles('User', user), kind: 'User', subject: user, granted: [] };
}

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];

/** Whether the caller may do what they ask about, or anything by which discovery shows them the type. */
function mayUse(rbac: Rbac, caller: Identity, scheme: Scheme, asked: Access): boolean {
  const { plural, groupVersionKind, isNamespaced } = scheme;
  const { group } = groupVersionKind;
  const where = isNamespaced ? { namespace: someNamespace } : {};
  const accesses = [plural, `${plural}/status`].flatMap((resource) =>
    verbs.map((verb): Access => ({ verb, group, resource, ...where })),
  );
  return [asked, ...accesses].some((access) => rbac.decide(caller, access).allowed);
}

/** Undefined when no type that may be used has the name. */
function accessOf(
  registry: SchemeRegistry,
  request: ReviewRequest,
  at: string,
  isUsable: (scheme: Scheme, access: Access) => boolean,
): Access | undefined {
  const { verb, type, group, resource, namespace, name, path } = request;
  if (path !== undefined) return { verb, path };
  const place = { ...(namespace && { namespace }), ...(name !== undefined && { name }) };
  if (resource !== undefined) return { verb, group: group ?? '', resource, ...place };
  const [plainType, ...sub] = type!.split('/');
  const accessTo = ({ plural, groupVersionKind }: Scheme): Access => ({
    verb,
    group: groupVersionKind.group,
    resource: [plural, ...sub].join('/'),
    ...place,
  });
  const known = registry.schemes().filter((scheme) => {
    const { plural, groupVersionKind } = scheme;
    const isNamed =
      [plural, `${plural}.${groupVersionKind.group}`].includes(plainType!) ||
      versionNamed(plainType!, scheme) !== undefined;
    return isNamed && isUsable(scheme, accessTo(scheme));
  });
  // The built-in models keep their short names, whatever plugins bring.
  const scheme = known.length > 1 ? known.find((one) => one.groupVersionKind.group === '') : known[0];
  if (scheme) return accessTo(scheme);
  if (known.length === 0) return undefined;
  const choices = known.map((one) => `${one.plural}.${one.groupVersionKind.group}`).join(', ');
  throw invalid([violation(`${at}/type`, 'type', texts.severalTypes, { type, known: choices })]);
}
