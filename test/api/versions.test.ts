/** A model in several versions: read, listed, watched and written in each of them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import type { PluginContext } from 'kindred';
import { defineModel, definePlugin, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { startHarness, until } from 'kindred/testing';
import { Stream } from '../watch/stream.ts';

const gvk = { group: 'versions.example.com', version: 'v2', kind: 'Person', singular: 'person', plural: 'persons' };
const v1Spec = Type.Object({ fullName: Type.String(), email: Type.Optional(Type.String()) });
const First = defineModel({ gvk: { ...gvk, version: 'v1' }, spec: v1Spec });
const Person = defineModel({
  gvk,
  spec: Type.Object({
    name: Type.Object({
      given: Type.String(),
      family: Type.String(),
      middle: Type.Optional(Type.String()),
    }),
    email: Type.Optional(Type.String()),
  }),
  versions: {
    v1: {
      spec: v1Spec,
      deprecated: 'Use v2',
      toHub: ({ fullName, ...rest }) => {
        if (fullName === 'broken') throw new Error('no such name');
        const [given = '', family = ''] = fullName.split(' ');
        return { ...rest, name: { given, family } };
      },
      fromHub: ({ name, ...rest }) => ({ ...rest, fullName: `${name.given} ${name.family}` }),
      indexNames: { 'spec.fullName': 'spec.name' },
    },
    v1beta1: {
      spec: v1Spec,
      served: false,
      toHub: () => ({ name: { given: '', family: '' } }),
      fromHub: () => ({ fullName: '' }),
    },
  },
  indexes: (index) => [index.single('spec.name', String, (person) => person.spec.name.family)],
  evolution: { finalizeAfter: 0 },
});

const pluginWith = (model: typeof Person | typeof First) => ({
  name: 'people',
  plugin: definePlugin({ start: ({ schemeManager }: PluginContext) => void schemeManager.register(model) }),
});

const path = (version: string, name = '') => `/apis/${gvk.group}/${version}/persons${name && `/${name}`}`;

interface Got {
  apiVersion: string;
  metadata: { version: number };
  spec: { fullName?: string; name?: { given: string; family: string; middle?: string }; email?: string };
}

let harness: Harness;

const get = async (version: string, name: string) => {
  const response = await harness.fetch(path(version, name));
  return { response, object: (await response.json()) as Got };
};
const put = (version: string, name: string, json: object, headers: Record<string, string> = {}) =>
  harness.fetch(path(version, name), {
    method: 'PUT',
    json,
    headers: { 'content-type': 'application/json', ...headers },
  });

before(async () => {
  harness = await startHarness({ persistent: true, plugins: [pluginWith(First)] });
  for (const [name, fullName] of Object.entries({ ada: 'Ada Lovelace', broken: 'fine name' }))
    await harness.client.create(First, { metadata: { name }, spec: { fullName } });
  await harness.restart([pluginWith(Person)]);
});

after(() => harness.stop());

test('versions: an object that was stored in one version is read, listed and exported in each', async () => {
  const first = await get('v1', 'ada');
  assert.deepEqual(
    [first.object.apiVersion, first.object.spec],
    ['versions.example.com/v1', { fullName: 'Ada Lovelace' }],
  );
  assert.equal(first.response.headers.get('warning'), '299 - "Use v2"');
  assert.equal(first.response.headers.get('deprecation'), 'true');
  const second = await get('v2', 'ada');
  assert.deepEqual(second.object.spec, { name: { given: 'Ada', family: 'Lovelace' } });
  assert.equal(second.response.headers.get('deprecation'), null);
  const [one, two] = [first, second].map(({ response }) => response.headers.get('etag')!);
  const [inFirst, inSecond] = [one!, two!].map((tag) => tag.split('-'));
  assert.deepEqual([inFirst![2], inSecond![2]], ['v1', 'v2']);
  assert.deepEqual(inFirst!.slice(0, 2), inSecond!.slice(0, 2));
  for (const [version, field] of [
    ['v1', 'spec.fullName'],
    ['v2', 'spec.name'],
  ]) {
    const response = await harness.fetch(`${path(version!)}?fieldSelector=${field}=Lovelace`);
    const { items } = (await response.json()) as { items: Got[] };
    assert.deepEqual(
      items.map(({ apiVersion }) => apiVersion),
      [`versions.example.com/${version}`],
    );
    const exported = await harness.fetch(`${path(version!)}?fieldSelector=name=ada`, {
      headers: { accept: 'application/x-ndjson' },
    });
    assert.deepEqual(JSON.parse(await exported.text()), items[0]);
  }
  assert.equal((await harness.fetch(`${path('v1')}?fieldSelector=spec.name=Lovelace`)).status, 400);
  assert.equal((await harness.fetch(path('v1beta1', 'ada'))).status, 404);
});

test('versions: watches and live pages that are open in two versions at once are told each in its own', async (t) => {
  const headers = { authorization: `Bearer ${harness.token}` };
  const spec = { name: { given: 'Mary', family: 'Watched' } };
  const shown = { v1: { fullName: 'Mary Watched' }, v2: spec };
  const opened = Object.entries(shown).flatMap(([version, expected]) =>
    ['', '&page=1&size=10'].map(async (more) => {
      const url = `${harness.url}${path(version)}?watch=true&fieldSelector=name=watched${more}`;
      const stream = await Stream.open(url, { headers });
      t.after(() => stream.close());
      return { version, expected, stream };
    }),
  );
  const watches = await Promise.all(opened);
  await harness.client.create(Person, { metadata: { name: 'watched' }, spec });
  for (const { version, expected, stream } of watches) {
    await until(() => stream.text.includes('Watched'));
    const { object } = stream.events.at(-1)!;
    const told: Got = object.inserted?.[0].object ?? object;
    assert.deepEqual([told.apiVersion, told.spec], [`${gvk.group}/${version}`, expected]);
  }
});

test('versions: a write through one version keeps what that version cannot say', async () => {
  const spec = { name: { given: 'Grace', family: 'Hopper', middle: 'Brewster' } };
  await harness.client.create(Person, { metadata: { name: 'grace' }, spec });
  const { object, response } = await get('v1', 'grace');
  const same = await put('v1', 'grace', object);
  assert.equal(same.status, 200);
  assert.equal(((await same.json()) as Got).metadata.version, object.metadata.version);
  const etag = response.headers.get('etag')!;
  const changed = await put('v1', 'grace', { spec: { ...object.spec, email: 'g@example.com' } }, { 'if-match': etag });
  assert.deepEqual(((await changed.json()) as Got).spec, { fullName: 'Grace Hopper', email: 'g@example.com' });
  assert.deepEqual((await get('v2', 'grace')).object.spec, { ...spec, email: 'g@example.com' });
  const patched = await harness.fetch(path('v1', 'grace'), {
    method: 'PATCH',
    json: { spec: { email: null } },
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  assert.equal(patched.status, 200);
  assert.deepEqual((await get('v2', 'grace')).object.spec, spec);
  const invalid = await put('v1', 'grace', { spec: { fullName: 1 } });
  assert.equal(invalid.status, 422);
});

test('versions: an object that cannot be converted is a 500 that names it, and changes nothing', async () => {
  const response = await put('v1', 'broken', { spec: { fullName: 'broken' } });
  assert.equal(response.status, 500);
  assert.match(await response.text(), /Person \\?"broken\\?" cannot be converted from v1 to v2: no such name/);
  assert.deepEqual((await get('v1', 'broken')).object.spec, { fullName: 'fine name' });
});

test('versions: discovery and OpenAPI list each served version with its own schema', async () => {
  const json = async (at: string) => (await (await harness.fetch(at)).json()) as any;
  const { versions } = await json(`/apis/${gvk.group}`);
  assert.deepEqual(
    versions.map(({ version }: { version: string }) => version),
    ['v2', 'v1'],
  );
  for (const { groupVersion } of versions) {
    const { resources } = await json(`/apis/${groupVersion}`);
    assert.deepEqual(
      resources.map(({ name }: { name: string }) => name),
      ['persons'],
    );
  }
  assert.equal((await harness.fetch(`/apis/${gvk.group}/v1beta1`)).status, 404);
  const { paths, components } = await json('/v3/api-docs/apis_extension.api_v1alpha1');
  const membersOf = (component: string) => Object.keys(components.schemas[`${component}.spec`].properties);
  assert.deepEqual(membersOf('Person'), ['name', 'email']);
  assert.deepEqual(membersOf('PersonV1VersionsExampleCom'), ['fullName', 'email']);
  const schemaOf = (version: string) =>
    paths[`${path(version)}/{name}`].get.responses['200'].content['application/json'].schema.$ref;
  assert.deepEqual(['v2', 'v1'].map(schemaOf), [
    '#/components/schemas/Person',
    '#/components/schemas/PersonV1VersionsExampleCom',
  ]);
  assert.equal(paths[path('v1beta1')], undefined);
  const patchesOf = (version: string) => Object.keys(paths[`${path(version)}/{name}`].patch.requestBody.content);
  assert.deepEqual(
    ['v2', 'v1'].map((version) => patchesOf(version).includes('application/apply-patch+yaml')),
    [true, false],
  );
});

test('versions: server-side apply through another version than the hub is refused', async () => {
  const apply = (version: string, spec: object) =>
    harness.fetch(`${path(version, 'applied')}?fieldManager=me`, {
      method: 'PATCH',
      json: { apiVersion: `${gvk.group}/${version}`, kind: 'Person', spec },
      headers: { 'content-type': 'application/apply-patch+yaml' },
    });
  const response = await apply('v1', { fullName: 'An Applied' });
  assert.equal(response.status, 422);
  const { errors } = (await response.json()) as { errors: { pointer: string; message: string }[] };
  assert.deepEqual(
    errors.map(({ pointer, message }) => [pointer, message]),
    [['/apiVersion', `must be ${gvk.group}/v2: server-side apply works in that version alone; got ${gvk.group}/v1`]],
  );
  assert.equal((await get('v2', 'applied')).response.status, 404);
  assert.equal((await apply('v2', { name: { given: 'An', family: 'Applied' } })).status, 201);
});

test('versions: what is read through any version and put back changes nothing', async () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 8 });
  const specs = fc.record(
    {
      name: fc.record({ given: text, family: text, middle: text }, { requiredKeys: ['given', 'family'] }),
      email: text,
    },
    { requiredKeys: ['name'] },
  );
  let count = 0;
  const run = async (spec: Got['spec'] & { name: NonNullable<Got['spec']['name']> }) => {
    const name = `random-${count++}`;
    await harness.client.create(Person, { metadata: { name }, spec });
    const { object: stored } = await get('v2', name);
    for (const version of ['v1', 'v2']) {
      const { object } = await get(version, name);
      const response = await put(version, name, object);
      assert.equal(response.status, 200);
      assert.deepEqual(await response.json(), object);
    }
    assert.deepEqual((await get('v2', name)).object, stored);
  };
  await fc.assert(fc.asyncProperty(specs, run), { numRuns: 100, seed: 7 });
});

test('versions: a declaration without the version in which objects are stored holds its plugin back', async (t) => {
  const own = await startHarness({ persistent: true, plugins: [pluginWith(First)] });
  t.after(() => own.stop());
  await own.client.create(First, { metadata: { name: 'ada' }, spec: { fullName: 'Ada Lovelace' } });
  const spec = Type.Object({ fullName: Type.String() });
  await own.restart([pluginWith(defineModel({ gvk, spec, versions: { v3: { spec } } }) as never)]);
  const plugin = await own.fetch('/apis/plugin.platform.run/v1alpha1/plugins/people');
  const { status } = (await plugin.json()) as { status: { reason: string; message: string } };
  assert.equal(status.reason, 'IncompatibleModel');
  assert.match(status.message, /1 of 1 stored object would become invalid \(ada: \/apiVersion version\)/);
  await own.restart([pluginWith(Person)]);
  const response = await own.fetch(path('v2', 'ada'));
  assert.deepEqual(((await response.json()) as Got).spec, { name: { given: 'Ada', family: 'Lovelace' } });
});

test('declaration: mistakes in versions are named', () => {
  const declare = (versions: object) => () => defineModel({ gvk, spec: Type.Object({}), versions: versions as never });
  assert.throws(declare({ one: {} }), /a version must be of the form v1/);
  assert.throws(declare({ v1: { spec: {}, toHub: (spec: object) => spec } }), /has "toHub" and lacks "fromHub"/);
  assert.throws(declare({ v2: { spec: {} } }), /is the one in "gvk"/);
  assert.throws(declare({ v1: { schema: {} } }), /must have "spec" and perhaps "status"/);
  assert.throws(declare({ v1: { spec: {}, sreved: true } }), /knows no member "sreved"/);
});
