/** Server-side apply: `PATCH` with `application/apply-patch+yaml`. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Type } from 'typebox';
import { defineModel } from '../../src/model/define.ts';
import { expect, live } from '../auth/live.ts';
import type { ApiCase, Request } from './harness.ts';
import { Job, jobs, Person, person, persons, runCases, withApi } from './harness.ts';

const apiVersion = 'demo.example.com/v1alpha1';
const headers = { 'content-type': 'application/apply-patch+yaml' };

/** A request that applies to a person. */
function applied(name: string, manager: string, members: object, more = ''): Request {
  const query = new URLSearchParams({ fieldManager: manager });
  const body = JSON.stringify({ apiVersion, kind: 'Person', metadata: { name }, ...members });
  return { method: 'PATCH', path: `${persons}/${name}?${query}${more}`, headers, body };
}

const cases: readonly ApiCase[] = [
  {
    name: "an object that is not there is created, with its defaults, which are nobody's",
    request: applied('ada', 'one', { spec: { name: 'Ada', age: 36 } }),
    status: 201,
    body: {
      kind: 'Person',
      metadata: {
        name: 'ada',
        version: 0,
        managedFields: [
          {
            manager: 'one',
            operation: 'Apply',
            apiVersion,
            time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:spec': { 'f:name': {}, 'f:age': {} } },
          },
        ],
      },
      spec: { name: 'Ada', age: 36, country: 'nowhere' },
    },
    revision: 5,
  },
  {
    name: 'the same again writes nothing',
    request: applied('ada', 'one', { spec: { name: 'Ada', age: 36 } }),
    status: 200,
    body: { metadata: { version: 0 } },
    revision: 5,
  },
  {
    name: 'another value of another manager is a conflict',
    request: applied('ada', 'two', { spec: { age: 37 } }),
    status: 409,
    body: {
      code: 'FieldConflict',
      title: 'Field conflict',
      detail: 'Apply failed with 1 conflict: conflict with "one": .spec.age',
      conflicts: [
        { manager: 'one', operation: 'Apply', apiVersion, field: '.spec.age', message: 'conflict with "one"' },
      ],
    },
  },
  {
    name: 'several conflicts are named by manager',
    request: applied('ada', 'two', { spec: { age: 37, name: 'Eve' } }),
    status: 409,
    body: {
      detail: 'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.name\n- .spec.age',
    },
  },
  {
    name: 'in Chinese the fields are named as they are',
    request: { ...applied('ada', 'two', { spec: { age: 37 } }), headers: { ...headers, 'accept-language': 'zh' } },
    status: 409,
    body: { title: '字段冲突', detail: /^应用失败，有 1 处冲突：conflict with "one": \.spec\.age$/ },
  },
  {
    name: 'force takes the field, in a dry run',
    request: applied('ada', 'two', { spec: { age: 37 } }, '&force=true&dryRun=true'),
    status: 200,
    headers: { 'kindred-dry-run': 'true' },
    body: {
      metadata: {
        version: 1,
        managedFields: [
          { manager: 'one', fieldsV1: { 'f:spec': { 'f:name': {} } } },
          { manager: 'two', fieldsV1: { 'f:spec': { 'f:age': {} } } },
        ],
      },
      spec: { age: 37 },
    },
    then: { [`${persons}/ada`]: { spec: { age: 36 } } },
  },
  {
    name: 'the same value is owned by both',
    request: applied('ada', 'two', {
      metadata: { name: 'ada', labels: { 'x.example.com/a': 'b' } },
      spec: { age: 36 },
    }),
    status: 200,
    body: { metadata: { version: 1, labels: { 'x.example.com/a': 'b' } }, spec: { age: 36 } },
    revision: 6,
  },
  {
    name: 'what a manager names no more stays while another owns it, and goes after that',
    request: applied('ada', 'one', { spec: { name: 'Ada' } }),
    status: 200,
    body: { spec: { name: 'Ada', age: 36, country: 'nowhere' } },
  },
  {
    name: 'YAML is read too',
    request: {
      ...applied('ada', 'two', {}),
      body: `# both gone\napiVersion: ${apiVersion}\nkind: Person\nmetadata:\n  name: ada\nspec:\n  email: ada@example.com\n`,
    },
    status: 200,
    body: { metadata: { labels: undefined }, spec: { name: 'Ada', age: undefined, email: 'ada@example.com' } },
  },
  {
    name: 'a PUT takes what it changes, as the manager kindred',
    request: {
      method: 'PUT',
      path: `${persons}/ada`,
      body: { metadata: { managedFields: [] }, spec: { name: 'Ada', email: 'new@example.com', country: 'nowhere' } },
    },
    status: 200,
    body: {
      metadata: {
        managedFields: [
          { manager: 'one', operation: 'Apply' },
          { manager: 'kindred', operation: 'Update', fieldsV1: { 'f:spec': { 'f:email': {} } } },
        ],
      },
    },
  },
  {
    name: 'a conflict with what a PUT changed names its operation',
    request: applied('ada', 'two', { spec: { email: 'ada@example.com' } }),
    status: 409,
    body: { detail: `Apply failed with 1 conflict: conflict with "kindred" using ${apiVersion}: .spec.email` },
  },
  {
    name: 'a body without apiVersion and kind',
    request: { ...applied('ada', 'one', {}), body: '{"metadata":{"name":"ada"}}' },
    status: 422,
    body: { code: 'Invalid', errors: [{ pointer: '/apiVersion' }, { pointer: '/kind' }] },
  },
  {
    name: 'a body with managers',
    request: applied('ada', 'one', { metadata: { name: 'ada', managedFields: [] } }),
    status: 400,
    body: { code: 'BadRequest', detail: 'metadata.managedFields must be nil' },
  },
  {
    name: 'another name in the body',
    request: applied('ada', 'one', { metadata: { name: 'eve' } }),
    status: 422,
    body: { errors: [{ pointer: '/metadata/name' }] },
  },
  {
    name: 'what makes the object invalid',
    request: applied('ada', 'one', { spec: { name: 'Ada', age: 200, colour: 'red' } }),
    status: 422,
    body: { errors: [{ pointer: '/spec/age' }, { pointer: '/spec/colour' }] },
  },
  {
    name: 'labels that are no object',
    request: applied('ada', 'one', { metadata: { name: 'ada', labels: 'x' } }),
    status: 422,
    body: { errors: [{ pointer: '/metadata/labels', keyword: 'type' }] },
  },
  {
    name: 'another version than the current one',
    request: applied('ada', 'one', { metadata: { name: 'ada', version: 1 }, spec: { name: 'Ada' } }),
    status: 409,
    body: { code: 'VersionConflict' },
  },
  {
    name: 'an entity tag creates nothing',
    request: { ...applied('bob', 'one', { spec: { name: 'Bob' } }), headers: { ...headers, 'if-match': '*' } },
    status: 404,
  },
  {
    name: 'a text that is neither YAML nor JSON',
    request: { ...applied('ada', 'one', {}), body: 'spec: [1\n' },
    status: 400,
    body: { code: 'BadRequest', detail: /neither YAML nor JSON/ },
  },
  {
    name: 'a number in YAML that cannot be kept',
    request: { ...applied('ada', 'one', {}), body: 'spec:\n  age: 9007199254740993\n' },
    status: 422,
    body: { errors: [{ pointer: '/spec/age', keyword: 'precision' }] },
  },
  ...[
    '',
    '?fieldManager=',
    '?fieldManager=a&fieldManager=b',
    `?fieldManager=${'x'.repeat(129)}`,
    '?fieldManager=a%0Ab',
  ].map(
    (query): ApiCase => ({
      name: `${query.slice(0, 40)} names no manager`,
      request: { ...applied('ada', 'one', {}), path: `${persons}/ada${query}` },
      status: 400,
      body: { code: 'InvalidParameter', parameter: 'fieldManager' },
    }),
  ),
  {
    name: 'force is true or false',
    request: applied('ada', 'one', {}, '&force=yes'),
    status: 400,
    body: { code: 'InvalidParameter', parameter: 'force' },
  },
  {
    name: 'an object from before its first apply belongs to before-first-apply',
    request: applied('old', 'one', { spec: { age: 2 } }),
    status: 409,
    body: {
      detail: `Apply failed with 1 conflict: conflict with "before-first-apply" using ${apiVersion}: .spec.age`,
    },
    then: { [`${persons}/old`]: { metadata: { managedFields: undefined } } },
  },
  {
    name: 'the status is a manager entry of its own',
    request: {
      method: 'PATCH',
      path: `${jobs}/one/status?fieldManager=m`,
      headers,
      body: { apiVersion, kind: 'Job', spec: { command: 'other' }, status: { phase: 'Done' } },
    },
    status: 200,
    body: {
      metadata: {
        managedFields: [
          { manager: 'before-first-apply', operation: 'Update' },
          { manager: 'm', operation: 'Apply', subresource: 'status', fieldsV1: { 'f:status': { 'f:phase': {} } } },
        ],
      },
      spec: { command: 'run' },
      status: { phase: 'Done' },
    },
  },
  {
    name: 'on the object itself the status is left out',
    request: {
      method: 'PATCH',
      path: `${jobs}/one?fieldManager=m`,
      headers,
      body: { apiVersion, kind: 'Job', spec: { command: 'run' }, status: { phase: 'Other' } },
    },
    status: 200,
    body: { status: { phase: 'Done' } },
  },
  {
    name: 'a status of nothing is not created',
    request: {
      method: 'PATCH',
      path: `${jobs}/two/status?fieldManager=m`,
      headers,
      body: { apiVersion, kind: 'Job', status: {} },
    },
    status: 404,
  },
  {
    name: 'while an object is deleted its content cannot be applied',
    request: applied('leaving', 'one', { spec: { age: 3 } }),
    status: 409,
    body: { code: 'Deleting' },
  },
];

runCases('server-side apply', cases, [
  { path: persons, body: person('old', { age: 1 }) },
  { path: jobs, body: { metadata: { name: 'one' }, spec: { command: 'run' } } },
  { path: persons, body: person('leaving', {}, { finalizers: ['x.example.com/f'] }) },
  { method: 'DELETE', path: `${persons}/leaving` },
]);

const Mesh = defineModel({
  gvk: { group: 'demo.example.com', version: 'v1alpha1', kind: 'Mesh', singular: 'mesh', plural: 'meshes' },
  spec: Type.Object({
    zones: Type.Optional(Type.Array(Type.String(), { 'x-kubernetes-list-type': 'set' })),
    ports: Type.Optional(
      Type.Array(
        Type.Object({
          port: Type.Integer(),
          protocol: Type.String({ default: 'TCP' }),
          name: Type.Optional(Type.String()),
        }),
        { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['port', 'protocol'] },
      ),
    ),
    limits: Type.Optional(Type.Record(Type.String(), Type.Integer(), { 'x-kubernetes-map-type': 'atomic' })),
  }),
});
const meshes = '/apis/demo.example.com/v1alpha1/meshes';

describe('lists and objects by their types', () => {
  const api = withApi({}, ({ schemeManager }) => schemeManager.register(Mesh));
  const put = async (manager: string, spec: object, more = '') =>
    await api.send({
      method: 'PATCH',
      path: `${meshes}/m?fieldManager=${manager}${more}`,
      headers,
      body: JSON.stringify({ apiVersion, kind: 'Mesh', metadata: { name: 'm' }, spec }),
    });

  test('managers share lists, item by item, and an absent key counts as its default', async () => {
    await put('one', { zones: ['a'], ports: [{ port: 80, name: 'http' }] });
    const { json } = await put('two', {
      zones: ['b'],
      ports: [
        { port: 80, protocol: 'UDP' },
        { port: 80, protocol: 'TCP' },
      ],
    });
    assert.deepEqual(json.spec, {
      zones: ['a', 'b'],
      ports: [
        { port: 80, protocol: 'UDP' },
        { port: 80, name: 'http', protocol: 'TCP' },
      ],
    });
    const conflict = await put('two', { ports: [{ port: 80, name: 'web' }] });
    assert.deepEqual(
      conflict.json.conflicts.map(({ field }: { field: string }) => field),
      ['.spec.ports[port=80,protocol="TCP"].name'],
    );
    const gone = await put('one', {});
    assert.deepEqual(gone.json.spec, {
      zones: ['b'],
      ports: [
        { port: 80, protocol: 'UDP' },
        { port: 80, protocol: 'TCP' },
      ],
    });
  });

  test('items twice are refused, by any write', async () => {
    const twice = await put('one', { zones: ['a', 'a'] });
    assert.equal(twice.status, 422);
    assert.deepEqual(
      twice.json.errors.map(({ pointer, keyword }: Record<string, string>) => `${pointer} ${keyword}`),
      ['/spec/zones/1 x-kubernetes-list-type'],
    );
    const ports = [{ port: 1 }, { port: 1, protocol: 'TCP' }];
    const created = await api.send({ path: meshes, body: { metadata: { name: 'x' }, spec: { ports } } });
    assert.equal(created.status, 422);
  });

  test('the largest object is applied in turns of at most 50 ms', async () => {
    const zones = Array.from({ length: 40_000 }, (_, i) => String(i));
    const first = await put('large', { zones });
    assert.equal(first.status, 200, first.text.slice(0, 500));
    assert.equal((await put('large', { zones: zones.slice(1) })).json.spec.zones.includes('0'), false);
    assert.equal((await put('other', { zones: zones.toReversed() })).status, 200);
    const many = Array.from({ length: 140_000 }, (_, i) => String(i));
    assert.equal((await put('large', { zones: many })).status, 413);
  });

  test('many applies at once by different managers lose nothing', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `z${i}`);
    await put('large', {});
    const answers = await Promise.all(
      names.map((name) =>
        api.fetch({
          method: 'PATCH',
          path: `${meshes}/n?fieldManager=${name}`,
          headers,
          body: JSON.stringify({ apiVersion, kind: 'Mesh', metadata: { name: 'n' }, spec: { zones: [name] } }),
        }),
      ),
    );
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [...Array(19).fill(200), 201]);
    const { json } = await api.send({ path: `${meshes}/n` });
    assert.deepEqual(json.spec.zones.toSorted(), names.toSorted());
    assert.equal(json.metadata.managedFields.length, 20);
  });
});

test('permissions: apply needs patch, and create for what is not there', async () => {
  await using at = await live({}, ({ schemeManager }) => {
    schemeManager.register(Person);
    schemeManager.register(Job);
  });
  const rule = (verbs: string[]) => ({ rules: [{ apiGroups: ['demo.example.com'], resources: ['persons'], verbs }] });
  for (const [name, verbs] of Object.entries({ patcher: ['patch'], maker: ['patch', 'create'], reader: ['get'] })) {
    await expect(201, at.admin('POST', '/api/v1alpha1/roles', { metadata: { name }, ...rule(verbs) }));
  }
  const [patcher, maker, reader] = await Promise.all(
    ['patcher', 'maker', 'reader'].map((role) => at.person(role, [role])),
  );
  const path = `${persons}/ada?fieldManager=m`;
  const body = { apiVersion, kind: 'Person', metadata: { name: 'ada' }, spec: { name: 'Ada' } };
  const refused = await expect(403, patcher!.send('PATCH', path, body, headers));
  assert.equal(refused.body.code, 'Forbidden');
  await expect(403, reader!.send('PATCH', path, body, headers));
  await expect(201, maker!.send('PATCH', path, body, headers));
  await expect(200, patcher!.send('PATCH', path, body, headers));
  const { entries } = (await expect(200, at.admin('GET', '/v3/audit?type=persons.demo.example.com'))).body;
  assert.deepEqual(
    entries.map(({ identity, verb, outcome, manager }: Record<string, string>) => [identity, verb, outcome, manager]),
    [
      ['maker', 'create', 'done', 'm'],
      ['reader', 'patch', 'refused', undefined],
      ['patcher', 'create', 'refused', undefined],
    ],
  );
});

test('permissions: who may not get a Secret cannot ask for its values by conflicts', async () => {
  await using at = await live();
  const secrets = '/api/v1alpha1/secrets';
  await expect(201, at.admin('POST', secrets, { metadata: { name: 's' }, stringData: { password: 'x' } }));
  const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['patch'] }];
  await expect(201, at.admin('POST', '/api/v1alpha1/roles', { metadata: { name: 'writer' }, rules }));
  const writer = await at.person('writer', ['writer']);
  const body = { apiVersion: 'v1alpha1', kind: 'Secret', metadata: { name: 's' }, data: { password: 'eA==' } };
  const path = `${secrets}/s?fieldManager=m`;
  assert.equal((await writer.send('PATCH', path, body, headers)).status, 403);
  const applied = await expect(200, at.admin('PATCH', path, body, headers));
  assert.deepEqual(applied.body.data, { password: 'eA==' });
});
