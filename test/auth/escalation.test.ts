import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Principal } from '../../src/auth/authentication/identity.ts';
import { pluginIdentity } from '../../src/auth/authentication/identity.ts';
import type { WriteChecks } from '../../src/auth/authorization/escalation.ts';
import { writeChecks } from '../../src/auth/authorization/escalation.ts';
import { roleKeys } from '../../src/auth/authorization/keys.ts';
import { Rbac } from '../../src/auth/authorization/rbac.ts';
import type { Rule } from '../../src/auth/authorization/rule.ts';
import { KindredError } from '../../src/errors.ts';
import type { ExtensionObject } from '../../src/model/object.ts';
import type { Access, Caller, Identity } from '../../src/resource/access.ts';
import { system } from '../../src/resource/access.ts';

const keys = roleKeys('platform.run');
const all: Rule = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };
const viewPersons: Rule = { apiGroups: ['a.example'], resources: ['persons'], verbs: ['get', 'list', 'watch'] };
const managePersons: Rule = { apiGroups: ['a.example'], resources: ['persons', 'persons/status'], verbs: ['*'] };
const writeRoles: Rule = {
  apiGroups: [''],
  resources: ['roles', 'rolebindings', 'personalaccesstokens', 'users'],
  verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
};
const impersonate: Rule = { apiGroups: [''], resources: ['users'], verbs: ['impersonate'] };

interface RoleOptions {
  dependencies?: string[] | string;
  aggregatesTo?: string[];
}

function role(name: string, rules: Rule[], { dependencies, aggregatesTo = [] }: RoleOptions = {}): ExtensionObject {
  const text = typeof dependencies === 'string' ? dependencies : JSON.stringify(dependencies ?? []);
  return {
    apiVersion: 'v1alpha1',
    kind: 'Role',
    metadata: {
      name,
      labels: Object.fromEntries(aggregatesTo.map((target) => [`${keys.aggregateTo}${target}`, 'true'])),
      annotations: dependencies === undefined ? {} : { [keys.dependencies]: text },
    },
    rules,
  };
}

function binding(roleName: string, ...subjects: string[]): ExtensionObject {
  return {
    apiVersion: 'v1alpha1',
    kind: 'RoleBinding',
    metadata: { name: `${roleName}-binding` },
    roleRef: { kind: 'Role', name: roleName },
    subjects: subjects.map((name) => ({ kind: 'User', name })),
  };
}

function user(name: string, spec: object = {}): ExtensionObject {
  return {
    apiVersion: 'v1alpha1',
    kind: 'User',
    metadata: { name, creationTimestamp: '2026-01-01T00:00:00.000Z' },
    spec,
  };
}

function token(spec: { user: string; roles?: string[]; expiresAt?: string }): ExtensionObject {
  return { apiVersion: 'v1alpha1', kind: 'PersonalAccessToken', metadata: { name: 't' }, spec };
}

/**
 * `editor` manages persons and may write roles; `viewer` sees persons; `root` has super-role; `deputy` may write roles and
 * impersonate `root`; `keeper` everything with users; `nobody` nothing.
 */
function world(): { rbac: Rbac; checks: WriteChecks } {
  const timers = { after: () => () => {} };
  const owned = () => [{ group: 'plugin.example', resource: 'things' }];
  const rbac = new Rbac({
    keys,
    now: () => 0,
    timers,
    current: (principal) => principal,
    logger: { warn: () => {} },
    owned,
  });
  const roles = [
    role('authenticated', []),
    role('persons-view', [viewPersons]),
    role('editors', [managePersons, writeRoles]),
    role('secrets-view', [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]),
    role('one-person', [{ ...managePersons, resourceNames: ['ada'] }]),
    role('deputies', [writeRoles, { ...impersonate, resourceNames: ['root'] }]),
    role('keepers', [writeRoles, { apiGroups: [''], resources: ['users'], verbs: ['*'] }]),
  ];
  for (const one of roles) rbac.setRole(one.metadata.name, one);
  for (const [name, one] of [
    ['b1', binding('editors', 'editor')],
    ['b2', binding('persons-view', 'viewer')],
    ['b3', binding('super-role', 'root')],
    ['b4', binding('one-person', 'narrow')],
    ['b5', binding('deputies', 'deputy')],
    ['b6', binding('keepers', 'keeper')],
  ] as const) {
    rbac.setBinding(name, one, 1);
  }
  return { rbac, checks: writeChecks(rbac, keys, false) };
}

function caller(name: string, more: Partial<Principal> = {}): Caller {
  const identity: Principal = { name, roles: [], kind: 'User', subject: name, granted: ['authenticated'], ...more };
  return { identity, origin: 'http' };
}

type Check = keyof WriteChecks;

interface Case {
  name: string;
  check: Check;
  caller: Caller;
  before?: ExtensionObject;
  next: ExtensionObject;
  /** Undefined: allowed. */
  refused?: { code: 'Forbidden' | 'Invalid'; message: RegExp };
}

const lacks = (what: string): Case['refused'] => ({
  code: 'Forbidden',
  message: new RegExp(`it would allow "${what}`),
});
const editor = caller('editor');
const root = caller('root');
const viewer = caller('viewer');
const deputy = caller('deputy');
const keeper = caller('keeper');
const needsImpersonate = (user: string): Case['refused'] => ({
  code: 'Forbidden',
  message: new RegExp(`needs the right to impersonate users "${user}"`),
});

const cases: Case[] = [
  { name: 'a role within the own rights', check: 'role', caller: editor, next: role('r', [viewPersons]) },
  {
    name: 'a role beyond the own rights',
    check: 'role',
    caller: editor,
    next: role('r', [{ ...viewPersons, resources: ['books'] }]),
    refused: lacks('get books.a.example'),
  },
  {
    name: 'a wildcard needs the wildcard',
    check: 'role',
    caller: editor,
    next: role('r', [{ ...viewPersons, apiGroups: ['*'] }]),
    refused: lacks('get persons.\\*'),
  },
  {
    name: 'all sub-resources need all sub-resources',
    check: 'role',
    caller: editor,
    next: role('r', [{ ...managePersons, resources: ['*/status'] }]),
    refused: lacks('\\* \\*/status'),
  },
  {
    name: 'paths too',
    check: 'role',
    caller: editor,
    next: role('r', [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }]),
    refused: lacks('get /metrics'),
  },
  {
    name: 'everything, by who has everything',
    check: 'role',
    caller: root,
    next: role('r', [all, { nonResourceURLs: ['*'], verbs: ['*'] }]),
  },
  {
    name: 'one object, by who has all',
    check: 'role',
    caller: editor,
    next: role('r', [{ ...viewPersons, resourceNames: ['x'] }]),
  },
  {
    name: 'all objects, by who has one',
    check: 'role',
    caller: caller('narrow'),
    next: role('r', [viewPersons]),
    refused: lacks('get persons.a.example'),
  },
  {
    name: 'that one object, by who has it',
    check: 'role',
    caller: caller('narrow'),
    next: role('r', [{ ...viewPersons, resourceNames: ['ada'] }]),
  },
  {
    name: 'another object, by who has one',
    check: 'role',
    caller: caller('narrow'),
    next: role('r', [{ ...viewPersons, resourceNames: ['ada', 'bob'] }]),
    refused: lacks('get persons.a.example "bob"'),
  },
  {
    name: 'a dependency on a role beyond the own rights',
    check: 'role',
    caller: editor,
    next: role('r', [], { dependencies: ['secrets-view'] }),
    refused: lacks('get secrets'),
  },
  {
    name: 'a dependency on super-role',
    check: 'role',
    caller: editor,
    next: role('r', [], { dependencies: ['super-role'] }),
    refused: lacks('\\* \\*'),
  },
  {
    name: 'a dependency within the own rights',
    check: 'role',
    caller: editor,
    next: role('r', [], { dependencies: ['persons-view'] }),
  },
  {
    name: 'a dependency on a role that does not exist yet',
    check: 'role',
    caller: editor,
    next: role('r', [], { dependencies: ['comes-later'] }),
    refused: { code: 'Forbidden', message: /"comes-later" does not exist/ },
  },
  {
    name: 'the same by who has everything',
    check: 'role',
    caller: root,
    next: role('r', [], { dependencies: ['comes-later'] }),
  },
  {
    name: 'a list of dependencies that is no JSON',
    check: 'role',
    caller: root,
    next: role('r', [], { dependencies: 'persons-view' }),
    refused: { code: 'Invalid', message: /rbac\.platform\.run~1dependencies/ },
  },
  {
    name: 'adding a dependency to an existing role',
    check: 'role',
    caller: editor,
    before: role('persons-view', [viewPersons]),
    next: role('persons-view', [viewPersons], { dependencies: ['secrets-view'] }),
    refused: lacks('get secrets'),
  },
  {
    name: 'a label on a role that is beyond the own rights',
    check: 'role',
    caller: editor,
    before: role('secrets-view', [all]),
    next: { ...role('secrets-view', [all]), metadata: { name: 'secrets-view', labels: { team: 'a' } } },
  },
  {
    name: 'aggregating a role beyond the own rights into another',
    check: 'role',
    caller: editor,
    before: role('secrets-view', [all]),
    next: role('secrets-view', [all], { aggregatesTo: ['editors'] }),
    refused: lacks('\\* \\*'),
  },
  {
    name: 'taking an aggregation back',
    check: 'role',
    caller: editor,
    before: role('secrets-view', [all], { aggregatesTo: ['editors'] }),
    next: role('secrets-view', [all]),
  },
  {
    name: 'aggregating own rights',
    check: 'role',
    caller: editor,
    next: role('r', [viewPersons], { aggregatesTo: ['persons-view'] }),
  },
  {
    name: 'changing super-role',
    check: 'role',
    caller: root,
    before: role('super-role', [all]),
    next: role('super-role', []),
    refused: { code: 'Forbidden', message: /cannot be changed/ },
  },
  { name: 'the service itself', check: 'role', caller: system, next: role('r', [all]) },

  {
    name: 'binding a role within the own rights',
    check: 'binding',
    caller: editor,
    next: binding('persons-view', 'bob'),
  },
  {
    name: 'binding a role beyond the own rights',
    check: 'binding',
    caller: editor,
    next: binding('secrets-view', 'bob'),
    refused: lacks('get secrets'),
  },
  {
    name: 'binding a role beyond the own rights to oneself',
    check: 'binding',
    caller: editor,
    next: binding('super-role', 'editor'),
    refused: lacks('\\* \\*'),
  },
  {
    name: 'binding a role that does not exist yet',
    check: 'binding',
    caller: editor,
    next: binding('comes-later', 'bob'),
    refused: { code: 'Forbidden', message: /does not exist/ },
  },
  { name: 'binding it by who has everything', check: 'binding', caller: root, next: binding('comes-later', 'bob') },
  {
    name: 'adding a subject',
    check: 'binding',
    caller: editor,
    before: binding('super-role', 'root'),
    next: binding('super-role', 'root', 'editor'),
    refused: lacks('\\* \\*'),
  },
  {
    name: 'taking a subject away',
    check: 'binding',
    caller: editor,
    before: binding('super-role', 'root', 'bob'),
    next: binding('super-role', 'root'),
  },
  {
    name: 'another role in an existing binding',
    check: 'binding',
    caller: editor,
    before: binding('persons-view', 'editor'),
    next: { ...binding('persons-view', 'editor'), roleRef: { kind: 'Role', name: 'secrets-view' } },
    refused: lacks('get secrets'),
  },

  { name: 'a token of oneself', check: 'token', caller: viewer, next: token({ user: 'viewer' }) },
  {
    name: 'a token of oneself, narrowed',
    check: 'token',
    caller: viewer,
    next: token({ user: 'viewer', roles: ['persons-view'] }),
  },
  {
    name: 'a token of somebody with more',
    check: 'token',
    caller: editor,
    next: token({ user: 'root' }),
    refused: needsImpersonate('root'),
  },
  {
    name: 'a narrow token of somebody with more',
    check: 'token',
    caller: editor,
    next: token({ user: 'root', roles: ['persons-view'] }),
    refused: needsImpersonate('root'),
  },
  {
    name: 'a token of somebody with less, who may have more later',
    check: 'token',
    caller: editor,
    next: token({ user: 'viewer' }),
    refused: needsImpersonate('viewer'),
  },
  {
    name: 'a token of somebody who is not there yet',
    check: 'token',
    caller: editor,
    next: token({ user: 'boss@corp' }),
    refused: needsImpersonate('boss@corp'),
  },
  {
    name: 'a token of the user whom somebody may impersonate',
    check: 'token',
    caller: deputy,
    next: token({ user: 'root' }),
  },
  {
    name: 'a token of another user than the one whom somebody may impersonate',
    check: 'token',
    caller: deputy,
    next: token({ user: 'viewer' }),
    refused: needsImpersonate('viewer'),
  },
  {
    name: 'a token of a user, with a token narrowed to roles without that right',
    check: 'token',
    caller: caller('deputy', { scope: ['persons-view'], credential: 'x' }),
    next: token({ user: 'root' }),
    refused: needsImpersonate('root'),
  },
  {
    name: 'a token of anybody, by who may do everything with users',
    check: 'token',
    caller: keeper,
    next: token({ user: 'root' }),
  },
  { name: 'a token of anybody, by who has everything', check: 'token', caller: root, next: token({ user: 'nobody' }) },
  {
    name: 'a role to impersonate',
    check: 'role',
    caller: editor,
    next: role('r', [{ ...impersonate, resourceNames: ['viewer'] }]),
    refused: lacks('impersonate users "viewer"'),
  },
  {
    name: 'a role to impersonate whom one may impersonate',
    check: 'role',
    caller: deputy,
    next: role('r', [{ ...impersonate, resourceNames: ['root'] }]),
  },
  {
    name: 'a role to impersonate others too',
    check: 'role',
    caller: deputy,
    next: role('r', [{ ...impersonate, resourceNames: ['root', 'viewer'] }]),
    refused: lacks('impersonate users "viewer"'),
  },
  {
    name: 'a role to impersonate everybody, without names',
    check: 'role',
    caller: deputy,
    next: role('r', [impersonate]),
    refused: lacks('impersonate users"'),
  },
  {
    name: 'every verb on users, by who has all but one of them',
    check: 'role',
    caller: deputy,
    next: role('r', [{ ...impersonate, verbs: ['*'] }]),
    refused: lacks('\\* users'),
  },
  {
    name: 'impersonating on every resource',
    check: 'role',
    caller: keeper,
    next: role('r', [{ ...impersonate, resources: ['*'] }]),
    refused: lacks('impersonate \\*'),
  },
  {
    name: 'a role to impersonate, by who may do everything with users',
    check: 'role',
    caller: keeper,
    next: role('r', [impersonate]),
  },
  {
    name: 'a dependency on a role to impersonate',
    check: 'role',
    caller: editor,
    next: role('r', [], { dependencies: ['deputies'] }),
    refused: lacks('impersonate users "root"'),
  },
  {
    name: 'aggregating a role to impersonate into the own one',
    check: 'role',
    caller: editor,
    before: role('deputies', [{ ...impersonate, resourceNames: ['root'] }]),
    next: role('deputies', [{ ...impersonate, resourceNames: ['root'] }], { aggregatesTo: ['editors'] }),
    refused: lacks('impersonate users "root"'),
  },
  {
    name: 'binding a role to impersonate to oneself',
    check: 'binding',
    caller: editor,
    next: binding('deputies', 'editor'),
    refused: lacks('impersonate users "root"'),
  },
  {
    name: 'a token with a role that does not exist',
    check: 'token',
    caller: root,
    next: token({ user: 'viewer', roles: ['persons-view', 'typo'] }),
    refused: { code: 'Invalid', message: /\/spec\/roles\/1/ },
  },
  {
    name: 'a token for another user than it was made for',
    check: 'token',
    caller: root,
    before: token({ user: 'viewer' }),
    next: token({ user: 'root' }),
    refused: { code: 'Invalid', message: /\/spec\/user/ },
  },
  {
    name: 'a narrowed token cannot make a wide one',
    check: 'token',
    caller: caller('editor', { scope: ['persons-view'], credential: 'x' }),
    next: token({ user: 'editor' }),
    refused: lacks('\\* persons.a.example'),
  },
  {
    name: 'a narrowed token can make one as narrow',
    check: 'token',
    caller: caller('editor', { scope: ['persons-view'], credential: 'x' }),
    next: token({ user: 'editor', roles: ['persons-view'] }),
  },
  {
    name: 'a token cannot make one that outlives it',
    check: 'token',
    caller: caller('viewer', { credential: 'x', expiresAt: 1_000 }),
    next: token({ user: 'viewer' }),
    refused: { code: 'Forbidden', message: /cannot outlive/ },
  },
  {
    name: 'a token can make one that ends with it',
    check: 'token',
    caller: caller('viewer', { credential: 'x', expiresAt: 1_000 }),
    next: token({ user: 'viewer', expiresAt: '1970-01-01T00:00:01.000Z' }),
  },
  {
    name: 'a token without end, made with a JWT',
    check: 'token',
    caller: caller('viewer', { expiresAt: 300_000, tokenMaxAge: 5_000 }),
    next: token({ user: 'viewer' }),
    refused: {
      code: 'Forbidden',
      message: /created with a JWT must expire; "expiresAt" must be at most 1970-01-01T00:00:05.000Z/,
    },
  },
  {
    name: 'a token for longer than a JWT can make one',
    check: 'token',
    caller: caller('viewer', { expiresAt: 300_000, tokenMaxAge: 5_000 }),
    next: token({ user: 'viewer', expiresAt: '1970-01-01T00:00:05.001Z' }),
    refused: { code: 'Forbidden', message: /must expire/ },
  },
  {
    name: 'a token for as long as a JWT can make one',
    check: 'token',
    caller: caller('viewer', { expiresAt: 300_000, tokenMaxAge: 5_000 }),
    next: token({ user: 'viewer', expiresAt: '1970-01-01T00:00:05.000Z' }),
  },
  {
    name: 'a token for somebody else without end, made with a JWT',
    check: 'token',
    caller: caller('deputy', { tokenMaxAge: 5_000 }),
    next: token({ user: 'root' }),
    refused: { code: 'Forbidden', message: /must expire/ },
  },
  {
    name: 'widening a token of somebody with more',
    check: 'token',
    caller: editor,
    before: token({ user: 'root', roles: ['persons-view'] }),
    next: token({ user: 'root' }),
    refused: needsImpersonate('root'),
  },
  {
    name: 'a longer life for a token of somebody else',
    check: 'token',
    caller: editor,
    before: token({ user: 'viewer', expiresAt: '2026-01-01T00:00:00Z' }),
    next: token({ user: 'viewer' }),
    refused: needsImpersonate('viewer'),
  },
  {
    name: 'a label on a token of somebody with more',
    check: 'token',
    caller: editor,
    before: token({ user: 'root' }),
    next: token({ user: 'root' }),
  },

  {
    name: 'a token in a name of the service itself',
    check: 'token',
    caller: root,
    next: token({ user: 'system:anonymous' }),
    refused: { code: 'Invalid', message: /\/spec\/user/ },
  },
  { name: 'a new user', check: 'user', caller: editor, next: user('new') },
  {
    name: 'a user whose name is bound to more already',
    check: 'user',
    caller: editor,
    next: user('root'),
    refused: lacks('\\* \\*'),
  },
  {
    name: 'enabling a user with more',
    check: 'user',
    caller: editor,
    before: user('root', { disabled: true }),
    next: user('root'),
    refused: lacks('\\* \\*'),
  },
  {
    name: 'disabling a user with more',
    check: 'user',
    caller: editor,
    before: user('root'),
    next: user('root', { disabled: true }),
  },
  {
    name: 'renaming a user with more',
    check: 'user',
    caller: editor,
    before: user('root'),
    next: user('root', { displayName: 'R' }),
  },
  {
    name: 'the name of the service itself',
    check: 'user',
    caller: root,
    next: user('system'),
    refused: { code: 'Invalid', message: /\/metadata\/name/ },
  },

  {
    name: 'a plugin: a role for its own model',
    check: 'role',
    caller: { identity: pluginIdentity('p'), origin: 'plugin', plugin: 'p' },
    next: role('r', [{ apiGroups: ['plugin.example'], resources: ['things'], verbs: ['*'] }]),
  },
  {
    name: 'a plugin: a role for what is not its own',
    check: 'role',
    caller: { identity: pluginIdentity('p'), origin: 'plugin', plugin: 'p' },
    next: role('r', [viewPersons]),
    refused: lacks('get persons.a.example'),
  },
];

for (const one of cases) {
  test(`permissions: nobody grants what they lack: ${one.name} is ${one.refused ? 'refused' : 'allowed'}`, () => {
    const { checks } = world();
    const act = () => checks[one.check](one.caller, one.before, one.next);
    if (!one.refused) return act();
    assert.throws(act, (error: unknown) => {
      assert.ok(error instanceof KindredError);
      assert.equal(error.code, one.refused!.code);
      assert.match(error.message, one.refused!.message);
      assert.notEqual(error.problem('zh').detail, error.problem('en').detail, 'told in Chinese too');
      return true;
    });
  });
}

test('permissions: rights that are bound to a name do not let a stale binding give a new role more: the role as it will be counts', () => {
  const { rbac, checks } = world();
  rbac.setRole('more', role('more', [all], { aggregatesTo: ['empty'] }));
  assert.throws(() => checks.role(editor, undefined, role('empty', [])), /it would allow/);
});

test('permissions: whatever sequence of allowed writes a group of callers makes, they never have more than they had together', () => {
  const resources = ['persons', 'persons/status', 'books', 'secrets', 'users'];
  const some = <T>(values: readonly T[], max = 2) => fc.array(fc.constantFrom(...values), { maxLength: max });
  const anyRule = fc.record({
    apiGroups: some(['', 'a.example', '*']),
    resources: some([...resources, '*', '*/status']),
    verbs: some(['get', 'create', 'impersonate', '*']),
    resourceNames: fc.constantFrom<string[]>([], ['ada']),
  });
  const roleName = fc.constantFrom('r1', 'r2', 'persons-view', 'editors', 'secrets-view', 'one-person');
  const person = fc.constantFrom('editor', 'viewer', 'narrow');
  const write = fc.oneof(
    fc.record({
      kind: fc.constant('role' as const),
      by: person,
      name: roleName,
      rules: fc.array(anyRule, { maxLength: 2 }),
      dependencies: some(['r1', 'r2', 'secrets-view', 'super-role']),
      aggregatesTo: some(['r1', 'editors']),
    }),
    fc.record({
      kind: fc.constant('binding' as const),
      by: person,
      role: fc.oneof(roleName, fc.constant('super-role')),
      to: fc.array(person, { maxLength: 2 }),
    }),
  );
  const atoms: Access[] = ['', 'a.example', 'other.example'].flatMap((group) =>
    [...resources, 'books/status'].flatMap((resource) =>
      ['get', 'create', 'delete', 'impersonate'].flatMap((verb) => [
        { verb, group, resource, name: 'ada' },
        { verb, group, resource, name: 'bob' },
      ]),
    ),
  );
  let accepted = 0;
  fc.assert(
    fc.property(fc.array(write, { minLength: 5, maxLength: 40, size: 'max' }), (writes) => {
      const { rbac, checks } = world();
      const people = ['editor', 'viewer', 'narrow'].map((name) => caller(name).identity);
      const together = (identities: Identity[]) =>
        atoms.map((atom) => identities.some((one) => rbac.decide(one, atom).allowed));
      const atFirst = together(people);
      const stored = new Map<string, ExtensionObject>();
      for (const [i, one] of writes.entries()) {
        const by = caller(one.by);
        try {
          if (one.kind === 'role') {
            const { name, rules, dependencies, aggregatesTo } = one;
            const next = role(name, rules, { dependencies, aggregatesTo });
            checks.role(by, stored.get(name), next);
            stored.set(name, next);
            rbac.setRole(name, next);
          } else {
            const next = binding(one.role, ...one.to);
            checks.binding(by, undefined, next);
            rbac.setBinding(`new-${i}`, next, i + 2);
          }
          accepted++;
        } catch (error) {
          assert.ok(error instanceof KindredError && error.code === 'Forbidden');
        }
        assert.deepEqual(
          together(people).map((now, at) => now && !atFirst[at]),
          atoms.map(() => false),
        );
      }
    }),
    { numRuns: 300, seed: 5 },
  );
  console.log(`${accepted} writes accepted, seed 5`);
  assert.ok(accepted > 300);
});
