import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { until } from '../../src/testing/until.ts';
import type { Call } from './harness.ts';
import { allWidgets, Facade, gadgets, widgets } from './harness.ts';

const file = join(tmpdir(), `kube-audit-${process.pid}.ndjson`);
const facade = new Facade({ auth: { audit: { file, reads: false } } });
let reader = '';

before(async () => {
  await facade.start();
  const role = (name: string, rules: object[]) => ({ metadata: { name }, rules });
  const group = 'shop.example.com';
  await native(
    'roles',
    role('reader', [{ apiGroups: [group], resources: ['gadgets'], verbs: ['get', 'list', 'watch'] }]),
  );
  await native(
    'roles',
    role('one', [
      { apiGroups: [group], resources: ['gadgets'], resourceNames: ['a'], verbs: ['list', 'watch', 'delete'] },
    ]),
  );
  await native('roles', role('team', [{ apiGroups: [group], resources: ['widgets'], verbs: ['*'] }]));
  for (const name of ['ada', 'bob', 'cyd']) await native('users', { metadata: { name }, spec: {} });
  const bind = (name: string, user: string, roleName: string, more: object = {}) =>
    native('rolebindings', {
      metadata: { name },
      subjects: [{ kind: 'User', name: user }],
      roleRef: { kind: 'Role', name: roleName },
      ...more,
    });
  await bind('ada', 'ada', 'reader');
  await bind('bob', 'bob', 'one');
  await bind('cyd', 'cyd', 'team', { namespaces: ['default'] });
  for (const name of ['a', 'b']) {
    const { status } = await facade.kube(gadgets, { body: { metadata: { name }, spec: {} } });
    assert.equal(status, 201);
  }
  reader = await tokenOf('ada');
});
after(() => facade.stop());

async function native(plural: string, body: object): Promise<any> {
  const reply = await facade.send(`/api/v1alpha1/${plural}`, { body });
  assert.equal(reply.status, 201, reply.text);
  return reply.json;
}

async function tokenOf(user: string): Promise<string> {
  const made = await native('personalaccesstokens', { metadata: { generateName: 't-' }, spec: { user } });
  return made.spec.token ?? made.status?.token ?? made.metadata.annotations?.token;
}

const as = (token: string) => ({ authorization: `Bearer ${token}` });

test('nobody: 401 as a Status, but the version and health are for everybody', async () => {
  const nobody = { authorization: '' };
  for (const path of [gadgets, `${gadgets}/a`, '/apis', '/nothing']) {
    const { status, json, headers } = await facade.kube(path, { headers: nobody });
    assert.equal(status, 401, path);
    assert.equal(json.reason, 'Unauthorized');
    assert.equal(json.message, 'Unauthorized');
    assert.match(headers.get('www-authenticate')!, /^Bearer/);
  }
  for (const path of ['/version', '/healthz', '/livez', '/readyz']) {
    assert.equal((await facade.kube(path, { headers: nobody })).status, 200, path);
  }
});

test('who may only read', async () => {
  assert.equal((await facade.kube(`${gadgets}/a`, { headers: as(reader) })).status, 200);
  const { status, json } = await facade.kube(`${gadgets}/a`, { method: 'DELETE', headers: as(reader) });
  assert.equal(status, 403);
  assert.deepEqual(json, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message:
      'gadgets.shop.example.com "a" is forbidden: User "ada" cannot delete resource "gadgets" in API group "shop.example.com" at the cluster scope',
    reason: 'Forbidden',
    details: { name: 'a', group: 'shop.example.com', kind: 'gadgets' },
    code: 403,
  });
  const collection = await facade.kube(gadgets, { method: 'DELETE', headers: as(reader) });
  assert.equal(collection.status, 403);
});

test('nobody acts as somebody else', async () => {
  const asked: [string, Call][] = [
    [`${gadgets}/a`, {}],
    [`${gadgets}/a`, { method: 'DELETE' }],
    ['/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { body: { spec: {} } }],
    ['/version', {}],
    ['/nothing', {}],
  ];
  for (const [path, call] of asked) {
    const { status, json } = await facade.kube(path, { ...call, headers: { 'Impersonate-User': 'ada' } });
    assert.equal(status, 403, path);
    assert.deepEqual(json.details, { name: 'ada', kind: 'users' });
    assert.match(
      json.message,
      /^users "ada" is forbidden: User "\S+" cannot impersonate resource "users" in API group ""/,
    );
  }
  for (const header of ['Impersonate-Group', 'Impersonate-Uid', 'Impersonate-Extra-scopes']) {
    const { status, json } = await facade.kube(`${gadgets}/a`, { headers: { [header]: 'x' } });
    assert.deepEqual([status, json.reason], [403, 'Forbidden'], header);
  }
});

test('who may list named objects sees these alone, and deletes these alone', async () => {
  const token = await tokenOf('bob');
  const { json } = await facade.kube(`${gadgets}?limit=5`, { headers: as(token) });
  assert.deepEqual(
    json.items.map((one: { metadata: { name: string } }) => one.metadata.name),
    ['a'],
  );
  const stream = await facade.watch(`${gadgets}?watch=true&timeoutSeconds=1`, as(token));
  await stream.ended;
  assert.deepEqual(stream.told, ['ADDED a']);
  await facade.kube(gadgets, { method: 'DELETE', headers: as(token) });
  assert.equal((await facade.kube(`${gadgets}/a`)).status, 404);
  assert.equal((await facade.kube(`${gadgets}/b`)).status, 200);
});

test('who may list and delete deletes a collection, however large the answer is', async () => {
  await native('roles', {
    metadata: { name: 'cleaner' },
    rules: [{ apiGroups: ['shop.example.com'], resources: ['gadgets'], verbs: ['list', 'delete'] }],
  });
  await native('users', { metadata: { name: 'eve' }, spec: {} });
  await native('rolebindings', {
    metadata: { name: 'eve' },
    subjects: [{ kind: 'User', name: 'eve' }],
    roleRef: { kind: 'Role', name: 'cleaner' },
  });
  // More than one portion of the list, and the first is sent before the next is read.
  const names = Array.from({ length: 70 }, (_, i) => `old-${String(i).padStart(2, '0')}`);
  const labels = { age: 'old' };
  const lines = names.map((name) => JSON.stringify({ metadata: { name, labels }, spec: { note: 'x'.repeat(10_000) } }));
  const made = await facade.send(gadgets, {
    headers: { 'content-type': 'application/x-ndjson' },
    body: lines.join('\n'),
  });
  assert.equal(made.status, 200, made.text);
  const headers = as(await tokenOf('eve'));
  const { json } = await facade.kube(`${gadgets}?labelSelector=age=old`, { method: 'DELETE', headers });
  assert.deepEqual(
    json.items.map((one: { metadata: { name: string } }) => one.metadata.name),
    names,
  );
  assert.deepEqual((await facade.kube(`${gadgets}?labelSelector=age=old`)).json.items, []);
});

test('rights in one namespace', async () => {
  const headers = as(await tokenOf('cyd'));
  const body = { metadata: { name: 'mine' }, spec: {} };
  assert.equal((await facade.kube(widgets, { headers, body })).status, 201);
  assert.equal((await facade.kube(widgets, { headers })).json.items.length, 1);
  const other = widgets.replace('default', 'other');
  const refused = await facade.kube(other, { headers, body });
  assert.equal(refused.status, 403);
  assert.match(
    refused.json.message,
    /User "cyd" cannot create resource "widgets" in API group "shop\.example\.com" in the namespace "other"/,
  );
  assert.equal((await facade.kube(allWidgets, { headers })).status, 403);
});

test('an apply that would make an object needs the right to create it', async () => {
  await native('roles', {
    metadata: { name: 'patcher' },
    rules: [{ apiGroups: ['shop.example.com'], resources: ['gadgets'], verbs: ['patch'] }],
  });
  await native('users', { metadata: { name: 'dan' }, spec: {} });
  await native('rolebindings', {
    metadata: { name: 'dan' },
    subjects: [{ kind: 'User', name: 'dan' }],
    roleRef: { kind: 'Role', name: 'patcher' },
  });
  const { status, json } = await facade.kube(`${gadgets}/new?fieldManager=dan`, {
    method: 'PATCH',
    headers: { ...as(await tokenOf('dan')), 'content-type': 'application/apply-patch+yaml' },
    body: { apiVersion: 'shop.example.com/v1', kind: 'Gadget', metadata: { name: 'new' }, spec: {} },
  });
  assert.equal(status, 403);
  assert.equal(
    json.message,
    'gadgets.shop.example.com "new" is forbidden: User "dan" cannot create resource "gadgets" in API group "shop.example.com" at the cluster scope',
  );
});

test('the audit log has writes and refusals', async () => {
  const lines = async () =>
    (await readFile(file, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  const find = async (test: (line: any) => boolean) => (await lines()).some(test);
  await until(() =>
    find(({ verb, resource, identity }) => verb === 'create' && resource === 'gadgets' && identity !== 'ada'),
  );
  await until(() => find(({ verb, name, status }) => verb === 'delete' && name === 'a' && status === 403));
  await until(() => find(({ verb, namespace }) => verb === 'create' && namespace === 'other'));
});
