import { isAnonymous, unauthenticated } from '../auth/authentication/identity.ts';
import type { Exchange } from '../http/server/exchange.ts';
import { localized } from '../locales/localized.ts';
import type { Authorizer } from '../resource/access.ts';
import { forbidden } from './status.ts';
import type { ResourceTarget } from './target.ts';

export const noToken = localized('no token was sent');

/**
 * Asks whether the caller may do this to the target, for the audit log too.
 * @returns names of the objects that alone are allowed
 * @throws KindredError Unauthenticated for an anonymous caller, Forbidden for a known one
 */
export function authorise(
  authorizer: Authorizer,
  exchange: Exchange,
  target: ResourceTarget,
  access: ResourceTarget['access'],
): ReadonlySet<string> | undefined {
  const identity = exchange.identity!;
  exchange.access = access;
  const decision = authorizer.decide(identity, access);
  if (decision.allowed) return decision.names;
  throw isAnonymous(identity) ? unauthenticated(noToken) : forbidden(identity, target, access);
}
