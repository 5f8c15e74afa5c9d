/** A model in several versions: read, listed, watched and written in each of them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { PluginContext } from 'kindred';
import { defineModel, definePlugin, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';

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

test('versions: an object that was stored in one version is read and listed in each', async () => {
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
  assert.match(one!, /-v1"$/);
  assert.equal(one!.replace('-v1"', '-v2"'), two);
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
  }
  assert.equal((await harness.fetch(`${path('v1')}?fieldSelector=spec.name=Lovelace`)).status, 400);
  assert.equal((await harness.fetch(path('v1beta1', 'ada'))).status, 404);
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

test('declaration: mistakes in versions are named', () => {
  const declare = (versions: object) => () => defineModel({ gvk, spec: Type.Object({}), versions: versions as never });
  assert.throws(declare({ one: {} }), /a version must be of the form v1/);
  assert.throws(declare({ v1: { spec: {}, toHub: (spec: object) => spec } }), /has "toHub" and lacks "fromHub"/);
  assert.throws(declare({ v2: { spec: {} } }), /is the one in "gvk"/);
  assert.throws(declare({ v1: { schema: {} } }), /must have "spec" and perhaps "status"/);
  assert.throws(declare({ v1: { spec: {}, sreved: true } }), /knows no member "sreved"/);
});
