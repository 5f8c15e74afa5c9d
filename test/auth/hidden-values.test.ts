/** Whoever may change a Secret and not `get` it learns nothing of its values by the change (docs/reference/api.md and permissions.md). */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ConfigMap, Secret } from '../../src/auth/models.ts';
import type { PluginContext } from '../../src/plugin/plugin.ts';
import { definePlugin } from '../../src/plugin/plugin.ts';
import type { Answer, Live, Send } from './live.ts';
import { bindingOf, expect, live } from './live.ts';

const secrets = '/api/v1alpha1/secrets';
const value = Buffer.from('the value').toString('base64');
const secret = (name: string) => {
  const applied = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ data: { key: value } }) };
  return { metadata: { name, annotations: { 'a.example/b': 'c', ...applied } }, data: { key: value } };
};
const json = { 'content-type': 'application/json-patch+json' };
const merge = { 'content-type': 'application/merge-patch+json' };

let context!: PluginContext;
const vault = definePlugin({
  start(given: PluginContext) {
    context = given;
  },
});

let world: Live;
let blind: Send;
let seeing: Send;
before(async () => {
  world = await live({ plugins: [{ name: 'vault', plugin: vault }] });
  const role = (name: string, verbs: readonly string[], more: object = {}) => {
    const rules = [{ apiGroups: [''], resources: ['secrets', 'configmaps'], verbs, ...more }];
    return expect(201, world.admin('POST', '/api/v1alpha1/roles', { metadata: { name }, rules }));
  };
  await role('changes', ['create', 'update', 'patch', 'delete']);
  await role('reads', ['get']);
  await role('reads-one', ['get'], { resourceNames: ['own'] });
  blind = (await world.person('blind', ['changes', 'reads-one'])).send;
  seeing = (await world.person('seeing', ['changes', 'reads'])).send;
  const binding = {
    ...bindingOf('changes', 'vault'),
    subjects: [{ kind: 'Plugin', name: 'vault' }],
  };
  await expect(201, world.admin('POST', '/api/v1alpha1/rolebindings', binding));
});
after(() => world[Symbol.asyncDispose]());

/** Each writes one Secret of its own, which is there already unless it is created. */
const writes: readonly {
  name: string;
  status: number;
  make?: true;
  send: (as: Send, name: string) => Promise<Answer>;
}[] = [
  { name: 'POST', status: 201, make: true, send: (as, name) => as('POST', secrets, secret(name)) },
  {
    name: 'PUT',
    status: 200,
    send: (as, name) => as('PUT', `${secrets}/${name}`, { ...secret(name), data: { key: value, more: '' } }),
  },
  { name: 'PUT of the same', status: 200, send: (as, name) => as('PUT', `${secrets}/${name}`, secret(name)) },
  {
    name: 'a merge patch',
    status: 200,
    send: (as, name) => as('PATCH', `${secrets}/${name}`, { data: { more: value } }, merge),
  },
  { name: 'an empty merge patch', status: 200, send: (as, name) => as('PATCH', `${secrets}/${name}`, {}, merge) },
  {
    name: 'a JSON patch',
    status: 200,
    send: (as, name) => as('PATCH', `${secrets}/${name}`, [{ op: 'add', path: '/data/more', value }], json),
  },
  { name: 'an empty JSON patch', status: 200, send: (as, name) => as('PATCH', `${secrets}/${name}`, [], json) },
  { name: 'DELETE', status: 200, send: (as, name) => as('DELETE', `${secrets}/${name}`) },
];

describe('answers to writes of a Secret', () => {
  for (const [i, { name, status, make, send }] of writes.entries()) {
    test(`permissions: ${name}: who may not get it sees the metadata alone`, async () => {
      const one = `blind-${i}`;
      if (!make) await expect(201, world.admin('POST', secrets, secret(one)));
      const { body, headers, text } = await expect(status, send(blind, one));
      assert.deepEqual(Object.keys(body), ['apiVersion', 'kind', 'metadata']);
      assert.deepEqual([body.metadata.name, body.metadata.annotations], [one, { 'a.example/b': 'c' }]);
      assert.ok(!text.includes(value));
      assert.match(headers.get('etag')!, /^"/);
      assert.match(headers.get('kindred-revision')!, /^\d+$/);
    });

    test(`api: ${name}: who may get it sees the stored object`, async () => {
      const one = `seeing-${i}`;
      if (!make) await expect(201, world.admin('POST', secrets, secret(one)));
      const { body } = await expect(status, send(seeing, one));
      assert.equal(body.data.key, value);
      if (name === 'DELETE') return;
      assert.deepEqual((await expect(200, seeing('GET', `${secrets}/${one}`))).body, body);
    });
  }

  test('permissions: the right to get one by name counts for that one', async () => {
    const { body } = await expect(201, blind('POST', secrets, secret('own')));
    assert.equal(body.data.key, value);
    const { body: other } = await expect(
      201,
      blind('POST', secrets, { ...secret(''), metadata: { generateName: 'own-' } }),
    );
    assert.equal(other.data, undefined);
  });

  test('permissions: a refused write says nothing of the values either', async () => {
    await expect(201, world.admin('POST', secrets, secret('refused')));
    const stale = { ...secret('refused'), metadata: { name: 'refused', version: 7 } };
    for (const answer of [
      await expect(409, blind('PUT', `${secrets}/refused`, stale)),
      await expect(422, blind('PATCH', `${secrets}/refused`, { data: { more: 'no base64!' } }, merge)),
      await expect(409, blind('POST', secrets, secret('refused'))),
    ]) {
      assert.ok(!answer.text.includes(value), answer.text);
    }
  });

  test('api: other models answer with the stored object whatever the caller may get', async () => {
    const map = { metadata: { name: 'plain' }, data: { key: 'text' } };
    const path = '/api/v1alpha1/configmaps';
    assert.equal((await expect(201, blind('POST', path, map))).body.data.key, 'text');
    assert.equal((await expect(200, blind('PATCH', `${path}/plain`, {}, merge))).body.data.key, 'text');
    assert.equal((await expect(200, blind('DELETE', `${path}/plain`))).body.data.key, 'text');
  });
});

describe('a JSON patch of a Secret by who may not get it', () => {
  const annotation = '/metadata/annotations/a.example~1b';
  const patches = [
    {
      name: 'copies a value to an annotation',
      refused: true,
      patch: [{ op: 'copy', from: '/data/key', path: annotation }],
    },
    {
      name: 'moves a value to an annotation',
      refused: true,
      patch: [{ op: 'move', from: '/data/key', path: annotation }],
    },
    { name: 'copies the whole object', refused: true, patch: [{ op: 'copy', from: '', path: '/data/x' }] },
    { name: 'tests a value', refused: true, patch: [{ op: 'test', path: '/data/key', value }] },
    {
      name: 'tests a value after something else',
      refused: true,
      at: 1,
      patch: [
        { op: 'add', path: '/data/x', value: '' },
        { op: 'test', path: '/data/key', value },
      ],
    },
    {
      name: 'tests what kubectl applied',
      refused: true,
      patch: [
        { op: 'test', path: '/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration', value: '{}' },
      ],
    },
    {
      name: 'copies what kubectl applied',
      refused: true,
      patch: [
        {
          op: 'copy',
          from: '/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration',
          path: annotation,
        },
      ],
    },
    {
      name: 'copies all annotations',
      refused: true,
      patch: [{ op: 'copy', from: '/metadata/annotations', path: '/metadata/labels' }],
    },
    {
      name: 'tests all metadata',
      refused: true,
      patch: [{ op: 'test', path: '/metadata', value: {} }],
    },
    { name: 'tests the metadata', refused: false, patch: [{ op: 'test', path: '/metadata/name', value: 'patched' }] },
    {
      name: 'copies metadata',
      refused: false,
      patch: [{ op: 'copy', from: annotation, path: '/metadata/annotations/d.example~1e' }],
    },
    {
      name: 'moves metadata',
      refused: false,
      patch: [{ op: 'move', from: annotation, path: '/metadata/annotations/f.example~1g' }],
    },
    { name: 'removes a value', refused: false, patch: [{ op: 'remove', path: '/data/key' }] },
  ];
  before(() => expect(201, world.admin('POST', secrets, secret('patched'))));
  for (const { name, refused, patch, at = 0 } of patches) {
    test(`permissions: ${refused ? '403' : '200'}: ${name}`, async () => {
      const path = `${secrets}/patched`;
      const before = (await world.admin('GET', path)).text;
      const { body, text } = await expect(refused ? 403 : 200, blind('PATCH', path, patch, json));
      assert.ok(!text.includes(value), text);
      if (!refused) return;
      assert.deepEqual([body.code, body.operation], ['Forbidden', at]);
      assert.equal((await world.admin('GET', path)).text, before);
      const known = await seeing('PATCH', path, [{ op: 'test', path: '/data/key', value }], json);
      assert.equal(known.status, 200, known.text);
    });
  }
});

test("permissions: a plugin's client is treated alike", async () => {
  await expect(201, world.admin('POST', secrets, secret('of-a-plugin')));
  const { client } = context;
  const isForbidden = { code: 'Forbidden' };
  await assert.rejects(client.get(Secret, 'of-a-plugin'), isForbidden);
  assert.equal((await client.patch(Secret, 'of-a-plugin', {})).data, undefined);
  const stored = { ...(await world.service.client.get(Secret, 'of-a-plugin')) };
  assert.equal((await client.update(Secret, stored)).data, undefined);
  const copy = [{ op: 'copy', from: '/data/key', path: '/metadata/annotations/a.example~1b' }];
  await assert.rejects(client.patch(Secret, 'of-a-plugin', copy), isForbidden);
  assert.equal((await client.delete(Secret, 'of-a-plugin')).data, undefined);
  assert.equal((await client.create(ConfigMap, { metadata: { name: 'p' }, data: { a: 'b' } })).data!.a, 'b');
});

describe('an owner that is named without its uid', () => {
  const path = '/api/v1alpha1/configmaps';
  const ownedBy = (owner: string) => ({
    metadata: { name: 'there', ownerReferences: [{ apiVersion: 'v1alpha1', kind: 'Secret', name: owner }] },
  });
  const ways: Record<string, (as: Send, owner: string) => Promise<Answer>> = {
    POST: (as, owner) =>
      as('POST', `${path}?dryRun=true`, { metadata: { ...ownedBy(owner).metadata, name: 'new' }, data: {} }),
    PUT: (as, owner) => as('PUT', `${path}/there?dryRun=true`, { ...ownedBy(owner), data: {} }),
    PATCH: (as, owner) => as('PATCH', `${path}/there?dryRun=true`, ownedBy(owner), merge),
    apply: (as, owner) =>
      as(
        'PATCH',
        `${path}/there?fieldManager=a&dryRun=true`,
        { apiVersion: 'v1alpha1', kind: 'ConfigMap', ...ownedBy(owner) },
        { 'content-type': 'application/apply-patch+yaml' },
      ),
  };
  before(async () => {
    await expect(201, world.admin('POST', secrets, secret('owner')));
    await expect(201, world.admin('POST', path, { metadata: { name: 'there' }, data: {} }));
  });
  for (const [name, write] of Object.entries(ways)) {
    test(`permissions: ${name}: who may not get it is not told whether it is there`, async () => {
      const [there, absent] = [await write(blind, 'owner'), await write(blind, 'other')];
      assert.deepEqual([there.status, absent.status], [422, 422], there.text);
      assert.deepEqual(there.body.errors, JSON.parse(JSON.stringify(absent.body.errors).replaceAll('other', 'owner')));
      const known = await write(seeing, 'owner');
      assert.ok(known.status < 300, known.text);
      assert.match(known.body.metadata.ownerReferences[0].uid, /^[0-9a-f-]{36}$/);
    });
  }
});

describe('headers', () => {
  const path = `${secrets}/headers`;
  before(() => expect(201, world.admin('POST', secrets, secret('headers'))));
  const cases: readonly { name: string; kept: boolean; send: () => Promise<Answer> }[] = [
    { name: 'a Secret', kept: false, send: () => world.admin('GET', path) },
    { name: 'a write of a Secret', kept: false, send: () => world.admin('PATCH', path, {}, merge) },
    {
      name: 'a token that was made',
      kept: false,
      send: () =>
        world.admin('POST', '/api/v1alpha1/personalaccesstokens', {
          metadata: { generateName: 't-' },
          spec: { user: 'admin' },
        }),
    },
    { name: 'a list of Secrets', kept: true, send: () => world.admin('GET', secrets) },
    { name: 'another object', kept: true, send: () => world.admin('GET', '/api/v1alpha1/users/admin') },
    { name: 'a refusal', kept: true, send: () => world.anonymous('GET', path) },
    {
      name: 'an export',
      kept: true,
      send: () => world.admin('GET', secrets, undefined, { accept: 'application/x-ndjson' }),
    },
    { name: 'health', kept: true, send: () => world.anonymous('GET', '/livez') },
    { name: 'the API page', kept: true, send: () => world.anonymous('GET', '/swagger-ui.html') },
  ];
  for (const { name, kept, send } of cases) {
    test(`permissions: ${name}: nosniff, and ${kept ? 'nothing' : 'no-store'} about keeping it`, async () => {
      const { headers } = await send();
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('cache-control') === 'no-store', !kept);
    });
  }

  test('api: an entity tag of a Secret is still one', async () => {
    const etag = (await world.admin('GET', path)).headers.get('etag')!;
    assert.equal((await world.admin('GET', path, undefined, { 'if-none-match': etag })).status, 304);
  });
});
