import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { Validator } from '@seriousme/openapi-schema-validator';
import { defineModel } from '../model/define.ts';
import { Scheme } from '../model/scheme.ts';
import { TimeSlice } from '../runtime/time-slice.ts';
import type { KubeModel } from './models.ts';
import type { KubeDocument } from './openapi.ts';
import { KubeOpenApi } from './openapi.ts';
import type { ShownModel } from './shown.ts';
import { shownModel } from './shown.ts';

const City = defineModel({
  gvk: { group: 'demo.example.com', version: 'v1', kind: 'City', singular: 'city', plural: 'cities' },
  subresources: { status: true },
  spec: {
    type: 'object',
    description: 'What a city is',
    required: ['country'],
    properties: {
      country: { type: 'string', minLength: 2, description: 'ISO code' },
      size: { type: 'integer', exclusiveMinimum: 0 },
      parts: { type: 'array', items: { $ref: '#/$defs/part' } },
    },
    $defs: {
      part: { type: 'object', properties: { name: { type: ['string', 'null'] }, within: { $ref: '#/$defs/part' } } },
    },
  },
  status: { type: 'object', properties: { ready: { type: 'boolean' } } },
});

function shown(own: Partial<ShownModel> = {}): ShownModel {
  const scheme = Scheme.buildFromType(City);
  const { group, version, kind } = scheme.groupVersionKind;
  return {
    ...shownModel({ scheme, group, version, kind, plural: scheme.plural } as KubeModel),
    listKind: `${own.kind ?? kind}List`,
    ...own,
  };
}

const slice = () => new TimeSlice(() => performance.now());
const textOf = ({ pieces, length }: KubeDocument) => {
  const bytes = Buffer.concat(pieces);
  assert.equal(bytes.length, length);
  return bytes;
};
const jsonOf = (document: KubeDocument) => JSON.parse(textOf(document).toString());
const gvk = { group: 'demo.example.com', version: 'v1', kind: 'City' };
const everything = [
  shown(),
  shown({ kind: 'Town', plural: 'towns', namespaced: true, subresources: { status: false, scale: true } }),
  shown({ group: '', kind: 'Event', plural: 'events', namespaced: true }),
  shown({ kind: 'Review', plural: 'reviews', verbs: ['create'], subresources: { status: false, scale: false } }),
];

test('each document of version 3 is valid, and the index leads to it by its hash', async () => {
  const api = new KubeOpenApi('1.2.3');
  const { paths } = (await api.index(everything, '/kube', slice())) as {
    paths: Record<string, { serverRelativeURL: string }>;
  };
  assert.deepEqual(Object.keys(paths), ['api/v1', 'apis/demo.example.com/v1']);
  for (const [place, { serverRelativeURL }] of Object.entries(paths)) {
    const document = (await api.v3(everything, place, slice()))!;
    assert.equal(serverRelativeURL, `/kube/openapi/v3/${place}?hash=${document.hash}`);
    const json = jsonOf(document);
    assert.equal(json.openapi, '3.0.0');
    assert.deepEqual(await new Validator().validate(json), { valid: true });
  }
  assert.equal(await api.v3(everything, 'apis/demo.example.com/v2', slice()), undefined);
});

test('an object, its operations and parameters in version 3', async () => {
  const json = jsonOf((await new KubeOpenApi('1.2.3').v3(everything, 'apis/demo.example.com/v1', slice()))!);
  const city = json.components.schemas['com.example.demo.v1.City'];
  assert.deepEqual(city['x-kubernetes-group-version-kind'], [gvk]);
  assert.deepEqual(city.required, ['spec']);
  assert.deepEqual(Object.keys(city.properties), ['apiVersion', 'kind', 'metadata', 'spec', 'status']);
  assert.deepEqual(city.properties.apiVersion.const, undefined);
  assert.deepEqual(city.properties.metadata.allOf, [
    { $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' },
  ]);
  assert.deepEqual(city.properties.spec.properties.parts.items, {
    type: 'object',
    properties: { name: { type: 'string', nullable: true }, within: { 'x-kubernetes-preserve-unknown-fields': true } },
  });
  const object = '/apis/demo.example.com/v1/cities/{name}';
  assert.deepEqual(Object.keys(json.paths), [
    '/apis/demo.example.com/v1/cities',
    object,
    `${object}/status`,
    '/apis/demo.example.com/v1/towns',
    '/apis/demo.example.com/v1/namespaces/{namespace}/towns',
    '/apis/demo.example.com/v1/namespaces/{namespace}/towns/{name}',
    '/apis/demo.example.com/v1/namespaces/{namespace}/towns/{name}/scale',
    '/apis/demo.example.com/v1/reviews',
  ]);
  const { patch } = json.paths[object];
  assert.equal(patch['x-kubernetes-action'], 'patch');
  assert.deepEqual(patch['x-kubernetes-group-version-kind'], gvk);
  assert.deepEqual(
    patch.parameters.map(({ name }: { name: string }) => name),
    ['dryRun', 'fieldManager', 'fieldValidation', 'force'],
  );
  assert.deepEqual(Object.keys(json.paths['/apis/demo.example.com/v1/reviews']), ['post', 'parameters']);
  const ids = Object.values<Record<string, { operationId?: string }>>(json.paths).flatMap((item) =>
    Object.values(item).flatMap(({ operationId }) => operationId ?? []),
  );
  assert.equal(new Set(ids).size, ids.length);
});

test('the document of version 2 is valid, and the protobuf has the same definitions', async () => {
  const api = new KubeOpenApi('1.2.3');
  const json = jsonOf(await api.v2(everything, 'v2', slice()));
  assert.deepEqual(await new Validator().validate(structuredClone(json)), { valid: true });
  const { spec } = json.definitions['com.example.demo.v1.City'].properties;
  assert.deepEqual(spec.properties.size, { type: 'integer', minimum: 0, exclusiveMinimum: true });
  assert.deepEqual(spec.properties.parts.items.properties.name, {});
  const metadata = json.definitions['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'].properties;
  for (const list of ['finalizers', 'ownerReferences'])
    assert.equal(metadata[list]['x-kubernetes-patch-strategy'], 'merge', list);
  const names: string[] = [];
  for (const [field, bytes] of fieldsOf(textOf(await api.v2(everything, 'protobuf', slice())))) {
    if (field !== 9) continue;
    for (const [, entry] of fieldsOf(bytes)) names.push(Buffer.from(fieldsOf(entry)[0]![1]).toString());
  }
  assert.deepEqual(names, Object.keys(json.definitions));
});

test('a model is described once, and one more model costs one description', async () => {
  const api = new KubeOpenApi('1.2.3');
  let described = 0;
  const counted = (kind: string): ShownModel => {
    const { schema, ...rest } = shown({ kind, plural: `${kind.toLowerCase()}s` });
    return Object.defineProperty(rest, 'schema', { get: () => ++described && schema }) as ShownModel;
  };
  const many = Array.from({ length: 20 }, (_, i) => counted(`Kind${i}`));
  const all = async (models: readonly ShownModel[]) => {
    await api.index(models, '/kube', slice());
    const documents = [await api.v2(models, 'v2', slice()), await api.v2(models, 'protobuf', slice())];
    return documents.map((one) => one.hash);
  };
  const before = await all(many);
  assert.equal(described, 20);
  assert.deepEqual(await all(many), before);
  const after = await all([...many, counted('Last')]);
  assert.equal(described, 21);
  for (const [i, one] of after.entries()) assert.notEqual(one, before[i]);
});

/** The fields of a message, all of them with a length. */
function fieldsOf(bytes: Uint8Array): [number, Uint8Array][] {
  const reader = new BinaryReader(bytes);
  const fields: [number, Uint8Array][] = [];
  while (reader.pos < reader.len) fields.push([reader.tag()[0], reader.bytes()]);
  return fields;
}
