/** Every way that is known to get more rights than one has, tried over HTTP by somebody who may write roles, bindings, tokens and users. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Live } from './live.ts';
import { bindingOf, expect, live } from './live.ts';
import { Book } from './models.ts';

const core = '/api/v1alpha1';
const merge = 'application/merge-patch+json';
const json = 'application/json-patch+json';
const view = { apiGroups: ['library.example'], resources: ['books'], verbs: ['get', 'list', 'watch'] };
const everything = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };
const keeping = [
  { apiGroups: [''], resources: ['roles', 'rolebindings', 'personalaccesstokens'], verbs: ['*'] },
  { apiGroups: [''], resources: ['users'], verbs: ['get', 'list', 'create', 'update', 'patch', 'delete'] },
];

const role = (rules: object[], metadata: object = {}) => ({ metadata: { name: 'new', ...metadata }, rules });
const annotations = (names: readonly string[]) => ({
  annotations: { 'rbac.platform.run/dependencies': JSON.stringify(names) },
});
const aggregatesTo = (name: string) => ({ labels: { [`rbac.platform.run/aggregate-to-${name}`]: 'true' } });
const token = (spec: object) => ({ metadata: { generateName: 't-' }, spec });

interface Attempt {
  readonly name: string;
  readonly method: 'POST' | 'PUT' | 'PATCH';
  readonly path: string;
  readonly body: unknown;
  readonly type?: string;
  /** Default 403. */
  readonly status?: number;
}

const attempts: readonly Attempt[] = [
  ...Object.entries({
    'another verb': { ...view, verbs: ['delete'] },
    'every verb': { ...view, verbs: ['*'] },
    'another resource': { ...view, resources: ['shelves'] },
    'every resource': { ...view, resources: ['*'] },
    'a sub-resource': { ...view, resources: ['books/pages'] },
    'every sub-resource of a kind': { ...view, resources: ['*/status'] },
    'another group': { ...view, apiGroups: ['other.example'] },
    'every group': { ...view, apiGroups: ['*'] },
    everything: everything,
    'one object of another resource': { ...view, resources: ['shelves'], resourceNames: ['a'] },
    'a path': { nonResourceURLs: ['/metrics'], verbs: ['get'] },
    'every path': { nonResourceURLs: ['*'], verbs: ['get'] },
    'a path behind one that is allowed': { nonResourceURLs: ['/apis*'], verbs: ['get'] },
  }).map(
    ([name, rule]): Attempt => ({ name: `a role with ${name}`, method: 'POST', path: 'roles', body: role([rule]) }),
  ),
  { name: 'a role with a rule in between', method: 'POST', path: 'roles', body: role([view, everything, view]) },
  {
    name: 'a role that depends on super-role',
    method: 'POST',
    path: 'roles',
    body: role([], annotations(['super-role'])),
  },
  {
    name: 'a role that depends on another with more',
    method: 'POST',
    path: 'roles',
    body: role([], annotations(['secrets-view'])),
  },
  {
    name: 'a role that depends on one that is not there yet',
    method: 'POST',
    path: 'roles',
    body: role([], annotations(['later'])),
  },
  {
    name: 'a role that aggregates to the own one',
    method: 'POST',
    path: 'roles',
    body: role([everything], aggregatesTo('keeper')),
  },
  {
    name: 'a role with the name to which others aggregate',
    method: 'POST',
    path: 'roles',
    body: role([], { name: 'collected' }),
  },
  {
    name: 'a list of dependencies that is none',
    method: 'POST',
    path: 'roles',
    body: role([], { annotations: { 'rbac.platform.run/dependencies': '"secrets-view"' } }),
    status: 422,
  },
  {
    name: 'a role that claims to be a template',
    method: 'POST',
    path: 'roles',
    body: role([], { annotations: { 'rbac.platform.run/model': 'books.library.example' } }),
    status: 422,
  },
  {
    name: 'the own role, replaced',
    method: 'PUT',
    path: 'roles/keeper',
    body: role([...keeping, everything], { name: 'keeper' }),
  },
  { name: 'the own role, merged', method: 'PATCH', path: 'roles/keeper', body: { rules: [everything] }, type: merge },
  {
    name: 'the own role, patched',
    method: 'PATCH',
    path: 'roles/keeper',
    body: [{ op: 'add', path: '/rules/-', value: everything }],
    type: json,
  },
  {
    name: 'the own role, given dependencies',
    method: 'PATCH',
    path: 'roles/keeper',
    body: { metadata: annotations(['secrets-view']) },
    type: merge,
  },
  {
    name: 'a template, aggregated to the own role',
    method: 'PATCH',
    path: 'roles/secrets-view',
    body: { metadata: aggregatesTo('keeper') },
    type: merge,
  },
  {
    name: 'super-role, aggregated to the own role',
    method: 'PATCH',
    path: 'roles/super-role',
    body: { metadata: aggregatesTo('keeper') },
    type: merge,
  },
  { name: 'super-role, changed', method: 'PATCH', path: 'roles/super-role', body: { rules: [] }, type: merge },
  {
    name: 'the role of everybody',
    method: 'PATCH',
    path: 'roles/authenticated',
    body: { rules: [everything] },
    type: merge,
  },
  { name: 'the role of nobody', method: 'PATCH', path: 'roles/anonymous', body: { rules: [everything] }, type: merge },
  { name: 'super-role, bound', method: 'POST', path: 'rolebindings', body: bindingOf('super-role', 'keeper') },
  { name: 'a role with more, bound', method: 'POST', path: 'rolebindings', body: bindingOf('secrets-view', 'keeper') },
  {
    name: 'a role with more, bound to a plugin',
    method: 'POST',
    path: 'rolebindings',
    body: { ...bindingOf('secrets-view', 'x'), subjects: [{ kind: 'Plugin', name: 'x' }] },
  },
  {
    name: 'a role that is not there yet, bound',
    method: 'POST',
    path: 'rolebindings',
    body: bindingOf('later', 'keeper'),
  },
  {
    name: 'the binding of the administrator, with one more',
    method: 'PATCH',
    path: 'rolebindings/administrator',
    body: [{ op: 'add', path: '/subjects/-', value: { kind: 'User', name: 'keeper' } }],
    type: json,
  },
  {
    name: 'the own binding, to another role',
    method: 'PATCH',
    path: 'rolebindings/own',
    body: { roleRef: { name: 'super-role' } },
    type: merge,
  },
  {
    name: 'a token of the administrator',
    method: 'POST',
    path: 'personalaccesstokens',
    body: token({ user: 'admin' }),
  },
  {
    name: 'a narrow token of the administrator',
    method: 'POST',
    path: 'personalaccesstokens',
    body: token({ user: 'admin', roles: ['authenticated'] }),
  },
  { name: 'a token of nobody yet', method: 'POST', path: 'personalaccesstokens', body: token({ user: 'later' }) },
  {
    name: 'a token of the service itself',
    method: 'POST',
    path: 'personalaccesstokens',
    body: token({ user: 'system' }),
    status: 422,
  },
  {
    name: 'a token of a plugin',
    method: 'POST',
    path: 'personalaccesstokens',
    body: token({ user: 'system:plugin:atlas' }),
    status: 422,
  },
  {
    name: 'the token of the administrator, for oneself',
    method: 'PATCH',
    path: 'personalaccesstokens/administrator',
    body: { spec: { user: 'keeper' } },
    type: merge,
    status: 422,
  },
  {
    name: 'a disabled user with more, enabled',
    method: 'PATCH',
    path: 'users/sleeper',
    body: { spec: { disabled: false } },
    type: merge,
  },
  {
    name: 'a user whose name is bound to more',
    method: 'POST',
    path: 'users',
    body: { metadata: { name: 'awaited' } },
  },
  {
    name: 'a user of the service itself',
    method: 'POST',
    path: 'users',
    body: { metadata: { name: 'system' } },
    status: 422,
  },
];

async function world(): Promise<Live> {
  const one = await live({}, (service) => service.schemeManager.register(Book));
  await expect(201, one.admin('POST', `${core}/roles`, role(keeping, { name: 'keeper' })));
  await expect(
    201,
    one.admin('POST', `${core}/roles`, role([everything], { name: 'source', ...aggregatesTo('collected') })),
  );
  await one.person('sleeper', ['super-role']);
  await expect(
    200,
    one.admin('PATCH', `${core}/users/sleeper`, { spec: { disabled: true } }, { 'content-type': merge }),
  );
  await expect(201, one.admin('POST', `${core}/rolebindings`, bindingOf('super-role', 'awaited')));
  return one;
}

test('permissions: nobody gets more than they have, whatever they try', async (t) => {
  await using one = await world();
  const { send } = await one.person('keeper', ['books-library-example-view']);
  const own = { ...bindingOf('keeper', 'keeper'), metadata: { name: 'own' } };
  await expect(201, one.admin('POST', `${core}/rolebindings`, own));
  const state = async () => {
    const lists = ['roles', 'rolebindings', 'users', 'personalaccesstokens'];
    return Promise.all(
      lists.map(async (plural) => (await one.admin('GET', `${core}/${plural}?size=1000&sort=name,asc`)).text),
    );
  };
  const before = await state();
  for (const { name, method, path, body, type, status = 403 } of attempts) {
    await t.test(name, async () => {
      const answer = await send(method, `${core}/${path}`, body, type === undefined ? {} : { 'content-type': type });
      assert.equal(answer.status, status, answer.text);
      if (method !== 'POST') return;
      const bulk = await send(method, `${core}/${path}`, `${JSON.stringify(body)}\n`, {
        'content-type': 'application/x-ndjson',
      });
      assert.equal(JSON.parse(bulk.text).status, status, 'as a line of many');
    });
  }
  assert.deepEqual(await state(), before);
});

test('permissions: a token gives no more than itself, by a narrower, wider or later one', async () => {
  await using one = await world();
  await one.person('keeper', ['keeper', 'books-library-example-view']);
  const expiresAt = new Date(Date.now() + 60_000).toISOString();
  const later = new Date(Date.now() + 120_000).toISOString();
  const narrow = ['personalaccesstokens-manage'];
  const { send } = await one.person('keeper', [], { roles: narrow, expiresAt });
  const make = (spec: object) => send('POST', `${core}/personalaccesstokens`, token({ user: 'keeper', ...spec }));
  await expect(403, make({}));
  await expect(403, make({ expiresAt }));
  await expect(403, make({ expiresAt, roles: ['keeper'] }));
  await expect(403, make({ expiresAt, roles: [...narrow, 'books-library-example-view'] }));
  await expect(403, make({ expiresAt: later, roles: narrow }));
  await expect(403, make({ roles: narrow }));
  const made = await expect(201, make({ expiresAt, roles: narrow }));
  const { name } = made.body.metadata;
  const patch = (spec: object) =>
    send('PATCH', `${core}/personalaccesstokens/${name}`, { spec }, { 'content-type': merge });
  await expect(403, patch({ expiresAt: later }));
  await expect(403, patch({ expiresAt: null }));
  await expect(403, patch({ roles: null }));
  await expect(403, patch({ roles: ['keeper'] }));
});
