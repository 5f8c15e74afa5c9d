/** What a new service needs before anybody can do anything: the built-in roles and an administrator (docs/reference/permissions.md). */
import { isDeepStrictEqual } from 'node:util';
import { KindredError } from '../errors.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';
import { authenticatedRole, superRole } from './authentication/identity.ts';
import type { Tokens } from './authentication/tokens.ts';
import type { Rbac } from './authorization/rbac.ts';
import { builtInRoles, earlierAuthenticatedRules, subjectKey } from './authorization/rbac.ts';
import { PersonalAccessToken, Role, RoleBinding, User } from './models.ts';

const administrator = 'admin';
const administratorObject = 'administrator';

/**
 * Creates the built-in roles that are missing; what operators made of `authenticated` and `anonymous` stays. An
 * `authenticated` that nobody has changed gets what it allows today.
 */
export async function createBuiltInRoles(client: ExtensionClient): Promise<void> {
  for (const { name, rules } of builtInRoles) {
    await unlessThere(() => client.create(Role, { metadata: { name }, rules: rules as Role['rules'] }));
  }
  const role = await client.fetch(Role, authenticatedRole);
  if (!role || !isDeepStrictEqual(role.rules, earlierAuthenticatedRules)) return;
  const { rules } = builtInRoles.find(({ name }) => name === authenticatedRole)!;
  await unlessThere(() => client.update(Role, { ...role, rules: rules as Role['rules'] }));
}

/**
 * Whether nobody can come in yet: there is no token, and no user but `admin` has `super-role`. To be asked before plugins
 * start, so that nothing they bring along keeps the administrator out; and only where no first start is remembered: later
 * somebody may have taken all this away on purpose.
 */
export function needsAdministrator(rbac: Rbac, tokens: Tokens): boolean {
  const others = rbac
    .holders(superRole)
    .filter((holder) => holder.startsWith(subjectKey('User', '')) && holder !== subjectKey('User', administrator));
  return tokens.size === 0 && others.length === 0;
}

/**
 * The first administrator: User `admin`, bound to `super-role`, with a token, which is given back this once; undefined when
 * another replica was quicker. What a start that died left half done is completed.
 */
export async function createAdministrator(client: ExtensionClient): Promise<string | undefined> {
  await unlessThere(() =>
    client.create(User, { metadata: { name: administrator }, spec: { displayName: 'Administrator' } }),
  );
  await unlessThere(() =>
    client.create(RoleBinding, {
      metadata: { name: administratorObject },
      roleRef: { kind: 'Role', name: superRole },
      subjects: [{ kind: 'User', name: administrator }],
    }),
  );
  const created = await unlessThere(() =>
    client.create(PersonalAccessToken, { metadata: { name: administratorObject }, spec: { user: administrator } }),
  );
  return created?.status?.token;
}

/** Undefined when another replica was quicker. */
async function unlessThere<T>(create: () => Promise<T>): Promise<T | undefined> {
  try {
    return await create();
  } catch (error) {
    if (error instanceof KindredError && ['AlreadyExists', 'VersionConflict', 'NotFound'].includes(error.code))
      return undefined;
    throw error;
  }
}
