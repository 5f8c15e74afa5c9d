import { forbidden, isAnonymous, unauthenticated } from '../../auth/authentication/identity.ts';
import { localized } from '../../locales/localized.ts';
import type { Access, Authorizer, Decision } from '../../resource/access.ts';
import type { Exchange } from '../server/exchange.ts';

const noCredentials = localized('no token was sent');

/**
 * Asks whether the caller of the request may do this, for the audit log too.
 * @throws KindredError Unauthenticated for an anonymous caller, Forbidden for a known one
 */
export function authorise(
  authorizer: Authorizer,
  exchange: Exchange,
  access: Access,
): Decision & { readonly allowed: true } {
  const identity = exchange.identity!;
  exchange.access = access;
  const decision = authorizer.decide(identity, access);
  if (decision.allowed) return decision;
  throw isAnonymous(identity) ? unauthenticated(noCredentials) : forbidden(identity, decision.reason);
}
