/** What an identity may see of a model, and how that changes while it watches. */

import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import type { Access, Authorizer, Decision, Identity } from '../access.ts';
import type { ModelResource } from '../resource.ts';

const changed = localized('What "{identity}" may see has changed; watch again');

/**
 * Calls back with Forbidden once what the identity may list and watch of a model is no longer what it was: all of it, or
 * these names. @returns stops it
 */
export function followRights(
  {
    authorizer,
    identity,
    resource,
    namespace,
    names,
    verbs = ['list', 'watch'],
  }: {
    readonly authorizer: Authorizer;
    readonly identity: Identity;
    readonly resource: ModelResource;
    readonly namespace?: string | undefined;
    readonly names: ReadonlySet<string> | undefined;
    /** What the identity must be allowed. Default list and watch. */
    readonly verbs?: readonly ('list' | 'watch')[];
  },
  end: (error: KindredError) => void,
): () => void {
  const { group } = resource.scheme.groupVersionKind;
  const { plural } = resource.scheme;
  const where = namespace === undefined ? {} : { namespace };
  const accesses = verbs.map((verb): Access => ({ verb, group, resource: plural, ...where }));
  const look = () => {
    const decisions = accesses.map((access) => authorizer.decide(identity, access));
    if (decisions.every(isAllowed) && sameNames(decisions.reduce(both).names, names)) return;
    end(new KindredError('Forbidden', changed, { params: { identity: identity.name } }));
  };
  const stop = authorizer.onChange(look);
  // Rights may have changed since the caller asked.
  look();
  return stop;
}

type Allowed = Decision & { readonly allowed: true };

function isAllowed(decision: Decision): decision is Allowed {
  return decision.allowed;
}

function both(a: Allowed, b: Allowed): Allowed {
  const names = seenNames(a, b);
  return { allowed: true, reason: a.reason, ...(names && { names }) };
}

/** Of two decisions that both hold: the names they leave; undefined: all. */
export function seenNames({ names: a }: Allowed, { names: b }: Allowed): ReadonlySet<string> | undefined {
  return a && b ? a.intersection(b) : (a ?? b);
}

/** Whether two decisions show the same objects. */
export function sameNames(a: ReadonlySet<string> | undefined, b: ReadonlySet<string> | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.size === b.size && a.isSubsetOf(b));
}
