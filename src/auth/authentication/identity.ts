/**
 * Words: an *identity* is what the rest of the service sees of somebody, a *principal* is an identity made here, with what
 * the authoriser needs beside the name. A *granted* role comes with the credential (a claim, a built-in role), a *bound*
 * role comes from a RoleBinding and is looked up at every decision, so that nothing stale is carried around.
 */

import type { Text } from '../../errors.ts';
import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import type { Identity } from '../../resource/access.ts';

export type SubjectKind = 'User' | 'Plugin';

/** Plain data, so that a copy means the same. */
export interface Principal extends Identity {
  readonly kind: SubjectKind;
  /** Name in a RoleBinding's subjects; differs from `name` for plugins. */
  readonly subject: string;
  /** Roles that count beside the bound ones. `roles` names the bound ones too, as they were when the identity was made. */
  readonly granted: readonly string[];
  /** Only what these roles allow as well (a personal access token's roles). */
  readonly scope?: readonly string[];
  /** Digest of the personal access token, or of the session of a browser; the principal can do nothing once that is revoked. */
  readonly credential?: string;
  /** Milliseconds since the epoch after which the principal can do nothing. */
  readonly expiresAt?: number;
  /** The name comes from elsewhere, and is nobody's when a User here has it. */
  readonly isForeign?: boolean;
  /** Milliseconds for which a personal access token that the principal makes may be valid. */
  readonly tokenMaxAge?: number;
  /** It is the session of a browser. */
  readonly isSession?: true;
  /** With a session: when a token that it makes must end, milliseconds since the epoch; that of the token it was begun with. */
  readonly tokensEnd?: number;
}

/** docs/reference/permissions.md: roles that every service has. */
export const superRole = 'super-role';
export const authenticatedRole = 'authenticated';
export const anonymousRole = 'anonymous';

/** Whoever shows no credential. */
export const anonymous: Principal = Object.freeze({
  name: 'system:anonymous',
  roles: Object.freeze([anonymousRole]),
  kind: 'User',
  subject: 'system:anonymous',
  granted: Object.freeze([anonymousRole]),
});

export function isAnonymous(identity: Identity): boolean {
  return identity.name === anonymous.name;
}

/** A plugin's own client acts as this one; nobody can log in under such a name. */
export function pluginIdentity(plugin: string): Principal {
  return { name: `system:plugin:${plugin}`, roles: [], kind: 'Plugin', subject: plugin, granted: [] };
}

/** `system` and `system:…` belong to the service: no credential may carry such a name. */
export function isReservedName(name: string): boolean {
  return name === 'system' || name.startsWith('system:');
}

const principalMembers: readonly (keyof Principal)[] = ['kind', 'subject', 'granted'];

export function isPrincipal(identity: Identity): identity is Principal {
  return principalMembers.every((member) => member in identity);
}

/** 401 with `WWW-Authenticate: Bearer` (RFC 6750 section 3). `reason` completes the sentence "… a valid bearer token: ". */
export function unauthenticated(reason: Text, kind?: 'invalid_token' | 'invalid_request'): KindredError {
  const text: Text = {
    en: `This request needs a valid bearer token: ${reason.en}`,
    zh: `该请求需要有效的 Bearer 令牌：${reason.zh}`,
  };
  const challenge = kind === undefined ? 'Bearer' : `Bearer error="${kind}"`;
  return new KindredError('Unauthenticated', text, { headers: { 'WWW-Authenticate': challenge } });
}

const forbiddenText: Text = localized('"{who}" may not do this: {reason}');

/** 403 with the reason. */
export function forbidden(identity: Identity, reason: string): KindredError {
  return new KindredError('Forbidden', forbiddenText, { params: { who: identity.name, reason } });
}
