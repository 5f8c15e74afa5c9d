/** The built-in models of the empty group, `v1alpha1` (docs/reference/permissions.md). */
import { defineModel } from '../model/define.ts';
import type { ObjectOf } from '../model/model-type.ts';
import { namespaceLimit } from '../model/names.ts';
import { Type } from '../model/type.ts';
import { roleBounds } from './authorization/role.ts';
import { roleBindingKind, tokenKind, userKind } from './kinds.ts';

/** Of one RoleBinding: every replica goes through them at each change of it. */
const subjectsLimit = 1_000;
const name = Type.String({ minLength: 1, maxLength: 253 });
const version = 'v1alpha1';

/**
 * A person or a program known to the service. Whoever is known by a JWT needs none.
 *
 * @example
 * ```ts
 * await client.create(User, { metadata: { name: 'ada' }, spec: { displayName: 'Ada' } });
 * ```
 */
export const User = defineModel({
  gvk: userKind,
  spec: Type.Optional(
    Type.Object({
      displayName: Type.Optional(Type.String({ maxLength: 256 })),
      email: Type.Optional(Type.String({ format: 'email', maxLength: 320 })),
      disabled: Type.Optional(Type.Boolean({ description: 'Nothing is allowed to a disabled user.' })),
    }),
  ),
  indexes: (index) => [
    index.single('spec.email', String, (user: UserShape) => user.spec?.email),
    index.single('spec.displayName', String, (user: UserShape) => user.spec?.displayName),
    index.single('spec.disabled', Boolean, (user: UserShape) => user.spec?.disabled ?? false),
  ],
});

const entries = (description: string, maxItems: number = roleBounds.entries) =>
  Type.Optional(Type.Array(Type.String(), { maxItems, uniqueItems: true, description }));

/**
 * Rules with the meaning that Kubernetes gives them; each either for resources or for paths.
 *
 * @example
 * ```ts
 * await client.create(Role, {
 *   metadata: { name: 'librarian' },
 *   rules: [{ apiGroups: ['library.example.com'], resources: ['books'], verbs: ['*'] }],
 * });
 * ```
 */
export const Role = defineModel({
  gvk: { group: '', version, kind: 'Role', singular: 'role', plural: 'roles' },
  schema: Type.Object({
    rules: Type.Optional(
      Type.Array(
        Type.Object({
          apiGroups: entries('`*` for every group, "" for the empty one.'),
          resources: entries(
            'Plurals, `persons/status` for a sub-resource, `*/status` for that of every resource, `*` for all.',
          ),
          resourceNames: entries('Only these objects; none: every object.', roleBounds.resourceNames),
          verbs: entries(
            'get, list, watch, create, update, patch, delete, explain, or `*`; on users also impersonate: making tokens for them.',
          ),
          nonResourceURLs: entries(
            'Paths of no resource; a `*` at the end stands for any rest. The verbs are HTTP methods in lower case.',
          ),
        }),
        {
          maxItems: roleBounds.rules,
          description: `At most ${roleBounds.grants} grants together: verbs × (groups × resources × names + paths).`,
        },
      ),
    ),
  }),
});

/**
 * Gives a role to users and plugins.
 *
 * @example
 * ```ts
 * await client.create(RoleBinding, {
 *   metadata: { name: 'ada-librarian' },
 *   roleRef: { kind: 'Role', name: 'librarian' },
 *   subjects: [{ kind: 'User', name: 'ada' }],
 * });
 * ```
 */
export const RoleBinding = defineModel({
  gvk: roleBindingKind,
  schema: Type.Object({
    roleRef: Type.Object({ kind: Type.Literal('Role'), name }),
    subjects: Type.Optional(
      Type.Array(
        Type.Object({
          kind: Type.Union([Type.Literal('User'), Type.Literal('Plugin')]),
          name: Type.String({ minLength: 1, maxLength: 1024 }),
        }),
        { maxItems: subjectsLimit },
      ),
    ),
    namespaces: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: namespaceLimit }), {
        minItems: 1,
        maxItems: roleBounds.entries,
        uniqueItems: true,
        description:
          'What the role allows, it allows in these namespaces alone: no lists over all of them, no objects of models without namespaces, no paths. Absent: everywhere.',
      }),
    ),
  }),
  indexes: (index) => [
    index.single('roleRef.name', String, (binding: BindingShape) => binding.roleRef.name),
    index.multi('subjects.name', String, (binding: BindingShape) => binding.subjects?.map((subject) => subject.name)),
  ],
});

/**
 * A random token of a user; only its SHA-256 is stored, the token itself is told once, in the answer to its creation.
 *
 * @example
 * ```ts
 * const token = await client.create(PersonalAccessToken, { metadata: { name: 'ada-laptop' }, spec: { user: 'ada' } });
 * console.log(token.status?.token);
 * ```
 */
export const PersonalAccessToken = defineModel({
  gvk: tokenKind,
  spec: Type.Object({
    user: Type.String({ minLength: 1, maxLength: 1024 }),
    roles: Type.Optional(
      Type.Array(name, {
        maxItems: roleBounds.entries,
        uniqueItems: true,
        description: 'The token allows only what these roles allow too; none: all that the user may do.',
      }),
    ),
    expiresAt: Type.Optional(Type.String({ format: 'date-time' })),
  }),
  status: Type.Optional(
    Type.Object({
      token: Type.Optional(Type.String({ description: 'Only in the answer to the creation.' })),
      hash: Type.Optional(Type.String({ description: 'Never shown.' })),
      userCreated: Type.Optional(
        Type.String({ description: 'creationTimestamp of the User that the token is bound to. Never shown.' }),
      ),
      maker: Type.Optional(
        Type.Enum(['user', 'impersonator'], {
          description: 'Who made it: the user, or somebody who could impersonate the user. Never shown.',
        }),
      ),
      session: Type.Optional(
        Type.Object(
          {
            kind: Type.Enum(['browser', 'code']),
            token: Type.Optional(Type.String()),
            granted: Type.Optional(Type.Array(Type.String())),
            isForeign: Type.Optional(Type.Boolean()),
            tokenMaxAge: Type.Optional(Type.Number()),
            until: Type.Optional(Type.String()),
          },
          {
            description:
              'That it is the session of a browser or the one-time code for one, and of whom it has its rights. Never shown.',
          },
        ),
      ),
    }),
  ),
  indexes: (index) => [
    index.single('spec.user', String, (token: TokenShape) => token.spec.user),
    index.single('spec.expiresAt', Date, (token: TokenShape) => token.spec.expiresAt),
  ],
});

/**
 * Settings as text.
 *
 * @example
 * ```ts
 * await client.create(ConfigMap, { metadata: { name: 'greeting' }, data: { text: 'hello' } });
 * ```
 */
export const ConfigMap = defineModel({
  gvk: { group: '', version, kind: 'ConfigMap', singular: 'configmap', plural: 'configmaps' },
  schema: Type.Object({ data: Type.Optional(Type.Record(Type.String(), Type.String())) }),
});

/**
 * Values that are shown to whoever reads this one object, never in lists, exports, watches or logs.
 *
 * @example
 * ```ts
 * await client.create(Secret, { metadata: { name: 'mail' }, stringData: { password: 'correct horse' } });
 * ```
 */
export const Secret = defineModel({
  gvk: { group: '', version, kind: 'Secret', singular: 'secret', plural: 'secrets' },
  schema: Type.Object({
    data: Type.Optional(
      Type.Record(Type.String(), Type.String({ format: 'byte' }), { description: 'Values in base64.' }),
    ),
    stringData: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'Values as text, merged into `data`; never read back.',
      }),
    ),
  }),
});

export type User = ObjectOf<typeof User>;
export type Role = ObjectOf<typeof Role>;
export type RoleBinding = ObjectOf<typeof RoleBinding>;
export type PersonalAccessToken = ObjectOf<typeof PersonalAccessToken>;
export type ConfigMap = ObjectOf<typeof ConfigMap>;
export type Secret = ObjectOf<typeof Secret>;

// What the index functions above see; the objects' own types follow from the declarations and cannot be named inside them.
interface UserShape {
  spec?: { email?: string; displayName?: string; disabled?: boolean };
}
interface BindingShape {
  roleRef: { name: string };
  subjects?: readonly { name: string }[];
}
interface TokenShape {
  spec: { user: string; expiresAt?: string };
}

/** In the order in which they are registered. */
export const builtInModels = [User, Role, RoleBinding, PersonalAccessToken, ConfigMap, Secret] as const;
