/** RoleBindings that hold in some namespaces alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineModel, Type } from 'kindred';
import type { Live, Send } from './live.ts';
import { expect, live } from './live.ts';

const names = { group: 'bar.example.com', version: 'v1' };
const Widget = defineModel({
  gvk: { ...names, kind: 'Widget', singular: 'widget', plural: 'widgets' },
  scope: 'Namespaced',
  spec: Type.Object({ size: Type.Integer() }),
});
const Plan = defineModel({
  gvk: { ...names, kind: 'Plan', singular: 'plan', plural: 'plans' },
  spec: Type.Object({ size: Type.Integer() }),
});
const core = '/api/v1alpha1';
const base = '/apis/bar.example.com/v1';
const inside = (namespace: string) => `${base}/namespaces/${namespace}/widgets`;

const world = () =>
  live({}, ({ schemeManager }) => {
    for (const model of [Widget, Plan]) schemeManager.register(model);
  });

const binding = (role: string, user: string, namespaces?: readonly string[], name?: string) => ({
  metadata: name === undefined ? { generateName: `${user}-` } : { name },
  roleRef: { kind: 'Role', name: role },
  subjects: [{ kind: 'User', name: user }],
  ...(namespaces && { namespaces }),
});
const bind = (send: Send, ...of: Parameters<typeof binding>) => send('POST', `${core}/rolebindings`, binding(...of));
const role = (one: Live, name: string, rules: object[]) =>
  expect(201, one.admin('POST', `${core}/roles`, { metadata: { name }, rules }));
const rule = (more: object = {}) => ({ apiGroups: [names.group], resources: ['*'], verbs: ['*'], ...more });
const widget = (name: string, namespace?: string) => ({
  metadata: { name, ...(namespace && { namespace }) },
  spec: { size: 1 },
});

test('permissions: what a binding with namespaces grants holds in these alone', async () => {
  await using one = await world();
  await role(one, 'widgets', [rule({ nonResourceURLs: ['/livez/*'] })]);
  for (const namespace of ['a', 'b', 'c']) await expect(201, one.admin('POST', inside(namespace), widget('w')));
  await expect(201, one.admin('POST', `${base}/plans`, widget('p')));
  const { send } = await one.person('ada', []);
  assert.equal((await send('GET', inside('a'))).status, 403);
  await expect(201, bind(one.admin, 'widgets', 'ada', ['a', 'b'], 'ada-widgets'));
  const statuses = async (send: Send) =>
    Object.fromEntries(
      await Promise.all(
        [
          ['GET', inside('a')],
          ['GET', `${inside('b')}/w`],
          ['PUT', `${inside('a')}/w`, widget('w')],
          ['POST', inside('b'), widget('new')],
          ['GET', inside('c')],
          ['GET', `${inside('c')}/w`],
          ['PUT', `${inside('c')}/w`, widget('w')],
          ['POST', inside('c'), widget('new')],
          ['DELETE', `${inside('c')}/w`],
          ['GET', `${base}/widgets`],
          ['GET', `${base}/widgets?fieldSelector=metadata.namespace=a`],
          ['GET', `${base}/widgets?watch=true`],
          ['GET', `${base}/plans`],
          ['GET', `${base}/plans/p`],
        ].map(async ([method, path, body]) => [
          `${method} ${path}`,
          (await send(method as string, path as string, body)).status,
        ]),
      ),
    );
  const found = await statuses(send);
  assert.deepEqual(
    Object.values(found),
    [200, 200, 200, 201, 403, 403, 403, 403, 403, 403, 403, 403, 403, 403],
    JSON.stringify(found, null, 1),
  );
  const refused = await send('GET', inside('c'));
  assert.match(refused.body.detail, /list widgets\.bar\.example\.com in the namespace "c"/);
  assert.equal((await send('GET', '/livez/x')).status, 403);
  // Another binding without namespaces gives the same role everywhere, whatever order they come in.
  await expect(201, bind(one.admin, 'widgets', 'ada'));
  assert.equal((await send('GET', `${base}/widgets`)).body.total, 4);
  assert.equal((await send('GET', `${base}/plans`)).status, 200);
});

test('permissions: a binding may be narrowed and widened, and open watches end', async () => {
  await using one = await world();
  await role(one, 'widgets', [rule()]);
  const { send, token } = await one.person('ada', []);
  await expect(201, bind(one.admin, 'widgets', 'ada', ['a', 'b'], 'ada-widgets'));
  const response = await fetch(`${one.url}${inside('b')}?watch=true`, {
    headers: { authorization: `Bearer ${token}`, accept: 'application/x-ndjson' },
    signal: AbortSignal.timeout(10_000),
  });
  assert.equal(response.status, 200);
  const rest = response.text();
  await expect(
    200,
    one.admin('PUT', `${core}/rolebindings/ada-widgets`, binding('widgets', 'ada', ['a'], 'ada-widgets')),
  );
  assert.match(await rest, /"code":"Forbidden"/);
  assert.deepEqual([(await send('GET', inside('a'))).status, (await send('GET', inside('b'))).status], [200, 403]);
  for (const namespaces of [[], ['a', 'a'], ['a'.repeat(64)], 'a', Array.from({ length: 65 }, (_, i) => `n${i}`)]) {
    const malformed = { ...binding('widgets', 'ada'), namespaces };
    assert.equal((await one.admin('POST', `${core}/rolebindings`, malformed)).status, 422, JSON.stringify(namespaces));
  }
});

test('permissions: names of a rule stand for the objects of each namespace', async () => {
  await using one = await world();
  await role(one, 'named', [rule({ resources: ['widgets'], resourceNames: ['w'] })]);
  for (const namespace of ['a', 'b'])
    for (const name of ['w', 'x']) await expect(201, one.admin('POST', inside(namespace), widget(name)));
  const everywhere = (await one.person('eve', ['named'])).send;
  const somewhere = (await one.person('sam', [])).send;
  await expect(201, bind(one.admin, 'named', 'sam', ['a']));
  const seen = async (send: Send, path: string) => {
    const { status, body } = await send('GET', path);
    return status === 200
      ? body.items.map(({ metadata }: any) => `${metadata.namespace}/${metadata.name}`).sort()
      : status;
  };
  assert.deepEqual(await seen(everywhere, `${base}/widgets`), ['a/w', 'b/w']);
  assert.deepEqual(await seen(everywhere, inside('b')), ['b/w']);
  assert.deepEqual(await seen(somewhere, inside('a')), ['a/w']);
  assert.deepEqual(await seen(somewhere, inside('b')), 403);
  assert.equal((await everywhere('GET', `${inside('a')}/x`)).status, 403);
  assert.equal(
    (await everywhere('GET', `${base}/widgets`, undefined, { accept: 'application/x-ndjson' })).text.trim().split('\n')
      .length,
    2,
  );
});

test('permissions: can-i knows namespaces, and so do discovery, models and the description', async () => {
  await using one = await world();
  await role(one, 'widgets', [rule()]);
  const { send } = await one.person('ada', []);
  const nobody = (await one.person('nob', [])).send;
  await expect(201, bind(one.admin, 'widgets', 'ada', ['a'], 'ada-widgets'));
  const ask = async (more: object) =>
    (await expect(200, send('POST', '/v3/can-i', { verb: 'list', type: 'widgets', ...more }))).body;
  const { allowed, because } = await ask({ namespace: 'a' });
  assert.deepEqual([allowed, because[0].binding, because[0].namespaces], [true, 'ada-widgets', ['a']]);
  for (const more of [{}, { namespace: 'b' }, { namespace: '' }]) assert.equal((await ask(more)).allowed, false);
  assert.equal((await ask({ type: 'plans' })).allowed, false);
  const resources = (await send('GET', base)).body.resources.map((resource: any) => resource.name);
  assert.deepEqual(resources, ['widgets']);
  const models = (await send('GET', '/v3/models')).body.models.filter((model: any) => model.group === names.group);
  assert.deepEqual(
    models.map(({ plural, objects }: any) => [plural, objects]),
    [['widgets', undefined]],
  );
  const paths = (await send('GET', '/v3/api-docs/apis_extension.api_v1alpha1')).body.paths;
  assert.ok(Object.keys(paths).includes(`${base}/namespaces/{namespace}/widgets`));
  assert.ok(!Object.keys(paths).includes(`${base}/widgets`), 'the list over all is not theirs');
  assert.equal((await nobody('GET', base)).status, 404);
});

test('permissions: nobody grants beyond their namespaces', async () => {
  await using one = await world();
  await role(one, 'widgets', [rule()]);
  await role(one, 'viewer', [rule({ verbs: ['get'] })]);
  await role(one, 'binder', [{ apiGroups: [''], resources: ['roles', 'rolebindings'], verbs: ['*'] }]);
  const { send } = await one.person('ada', ['binder']);
  await expect(201, bind(one.admin, 'widgets', 'ada', ['a', 'b']));
  const tries: readonly [number, string, readonly string[] | undefined][] = [
    [201, 'widgets', ['a']],
    [201, 'viewer', ['b', 'a']],
    [403, 'viewer', ['a', 'c']],
    [403, 'viewer', undefined],
    [403, 'super-role', ['a']],
  ];
  for (const [status, name, namespaces] of tries)
    assert.equal((await bind(send, name, 'bob', namespaces)).status, status, `${name} in ${namespaces}`);
  const own = await expect(201, bind(send, 'viewer', 'bob', ['a'], 'bobs'));
  const widened = { ...own.body, namespaces: ['a', 'c'] };
  const refused = await send('PUT', `${core}/rolebindings/bobs`, widened);
  assert.equal(refused.status, 403);
  assert.match(refused.body.detail, /in the namespace "c"/);
  const { namespaces: _, ...everywhere } = own.body;
  assert.equal((await send('PUT', `${core}/rolebindings/bobs`, everywhere)).status, 403);
  // Somebody else's wider binding may be narrowed.
  await expect(201, bind(one.admin, 'viewer', 'bob', undefined, 'wide'));
  assert.equal((await send('PUT', `${core}/rolebindings/wide`, binding('viewer', 'bob', ['c'], 'wide'))).status, 200);
  // Who has everything in some namespaces has nothing of what is everywhere.
  const { send: zoe } = await one.person('zoe', ['binder']);
  await expect(201, bind(one.admin, 'super-role', 'zoe', ['a']));
  assert.equal((await bind(zoe, 'super-role', 'zoe', ['a', 'b'])).status, 403);
  assert.equal((await bind(zoe, 'super-role', 'zoe')).status, 403);
  assert.equal((await bind(zoe, 'widgets', 'bob', ['a'])).status, 201);
});

test('permissions: the plan of a list tells nothing of other namespaces, or of other names', async () => {
  await using one = await world();
  await role(one, 'widgets', [rule()]);
  await role(one, 'named', [rule({ resourceNames: ['w0'] })]);
  const others = Array.from({ length: 7 }, (_, i) => `b/w${i + 2}`);
  const made = ['a/w0', 'a/w1', 'b/w0', ...others].map((full) => full.split('/') as [string, string]);
  for (const [namespace, name] of made) await expect(201, one.admin('POST', inside(namespace), widget(name)));
  const ada = await one.person('ada', []);
  const bob = await one.person('bob', []);
  await expect(201, bind(one.admin, 'widgets', 'ada', ['a']));
  await expect(201, bind(one.admin, 'named', 'bob'));
  const query = 'explain=true&sort=metadata.name&fieldSelector=metadata.name!=w5';
  const rows = async (send: Send, path: string) => {
    const { body } = await expect(200, send('GET', `${path}?${query}`));
    const { indexes, estimatedRows, touchedRows, total } = body;
    const each = indexes.map((index: { estimatedRows: number }) => index.estimatedRows);
    return { rows: [...new Set([...each, estimatedRows, touchedRows])], total };
  };
  assert.deepEqual(await rows(ada.send, inside('a')), { rows: [2], total: 2 });
  assert.deepEqual(await rows(one.admin, inside('a')), { rows: [2], total: 2 });
  assert.deepEqual(await rows(one.admin, inside('none')), { rows: [0], total: 0 });
  assert.deepEqual(await rows(bob.send, `${base}/widgets`), { rows: [2], total: 2 });
  assert.deepEqual(await rows(bob.send, inside('a')), { rows: [1], total: 1 });
  const { rows: all } = await rows(one.admin, `${base}/widgets`);
  assert.ok(all.includes(10), `${all}`);
});
