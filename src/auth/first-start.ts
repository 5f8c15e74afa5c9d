/** What a new service needs before anybody can do anything: the built-in roles and an administrator (contract section 12). */
import { KindredError } from '../errors.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';
import { superRole } from './identity.ts';
import { PersonalAccessToken, Role, RoleBinding, User } from './models.ts';
import type { Rbac } from './rbac.ts';
import { builtInRoles, subjectKey } from './rbac.ts';
import type { Tokens } from './tokens.ts';

const administrator = 'admin';
const administratorObject = 'administrator';

/** Creates the built-in roles that are missing; what operators made of `authenticated` and `anonymous` stays. */
export async function createBuiltInRoles(client: ExtensionClient): Promise<void> {
  for (const { name, rules } of builtInRoles) {
    await unlessThere(() => client.create(Role, { metadata: { name }, rules: rules as Role['rules'] }));
  }
}

/**
 * The first administrator: User `admin`, bound to `super-role`, with a token, which is given back this once. Undefined when
 * there is a token already, or somebody else has `super-role`. What a start that died left half done is completed.
 */
export async function createAdministrator(
  client: ExtensionClient,
  rbac: Rbac,
  tokens: Tokens,
): Promise<string | undefined> {
  const others = rbac.holders(superRole).filter((holder) => holder !== subjectKey('User', administrator));
  if (tokens.size > 0 || others.length > 0) return undefined;
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
    if (error instanceof KindredError && error.code === 'AlreadyExists') return undefined;
    throw error;
  }
}
