/** Models in several versions, declared by code and by definitions: what clients of Kubernetes and of the service see of each. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Type } from 'typebox';
import { defineModel } from '../../src/model/define.ts';
import { until } from '../../src/testing/until.ts';
import { definitions, isEstablished } from './crds/definitions.ts';
import { Facade } from './harness.ts';

const facade = new Facade();
const table = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };
const apply = { 'content-type': 'application/apply-patch+yaml' };

const Track = defineModel({
  gvk: { group: 'rail.example.com', version: 'v2', kind: 'Track', singular: 'track', plural: 'tracks' },
  spec: Type.Object({ gauge: Type.Object({ millimetres: Type.Integer() }) }),
  columns: [{ name: 'Gauge', type: 'integer', path: '.spec.gauge.millimetres' }],
  indexes: (index) => [index.single('spec.gauge', Number, ({ spec }) => spec.gauge.millimetres)],
  versions: {
    v1: {
      spec: Type.Object({ width: Type.Integer() }),
      toHub: ({ width }) => ({ gauge: { millimetres: width } }),
      fromHub: ({ gauge }) => ({ width: gauge.millimetres }),
      deprecated: 'Use v2',
      indexNames: { 'spec.width': 'spec.gauge' },
      columns: [{ name: 'Width', type: 'integer', path: '.spec.width' }],
    },
  },
});

const train = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'trains.rail.example.com' },
  spec: {
    group: 'rail.example.com',
    names: { plural: 'trains', kind: 'Train' },
    scope: 'Namespaced',
    versions: [
      versionOf('v1', {
        storage: true,
        properties: {
          cars: { type: 'integer', minimum: 1 },
          colour: { type: 'string', default: 'red' },
          driver: { type: 'string' },
        },
        selectableFields: [{ jsonPath: '.spec.cars' }],
      }),
      versionOf('v1beta1', {
        deprecated: true,
        properties: { cars: { type: 'integer', maximum: 20 }, crew: { type: 'integer', default: 2 } },
      }),
      versionOf('v1alpha1', { served: false, properties: {} }),
    ],
  },
};

function versionOf(
  name: string,
  { properties, ...more }: { properties: object; storage?: true; [member: string]: unknown },
) {
  const spec = { type: 'object', properties };
  return {
    name,
    served: true,
    storage: false,
    ...more,
    schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
  };
}

const tracks = (version: string) => `/apis/rail.example.com/${version}/tracks`;
const trains = (version: string) => `/apis/rail.example.com/${version}/namespaces/default/trains`;
const named = (name: string, spec: object) => ({ metadata: { name }, spec });

before(async () => {
  await facade.start();
  facade.service.schemeManager.register(Track);
  await until(async () => (await facade.send(tracks('v2'))).status === 200);
  assert.equal((await facade.kube(definitions, { body: train })).status, 201);
  const path = `${definitions}/${train.metadata.name}`;
  await until(async () => isEstablished((await facade.kube(path)).json));
});
after(() => facade.stop());

describe('a model of code in several versions, as clients of Kubernetes see it', () => {
  before(async () => {
    for (const [i, name] of ['a', 'b', 'c'].entries())
      assert.equal(
        (await facade.send(tracks('v2'), { body: named(name, { gauge: { millimetres: 1_000 + i } }) })).status,
        201,
      );
  });

  it('is discovered, described and deprecated in each', async () => {
    const { json } = await facade.kube('/apis/rail.example.com');
    assert.deepEqual(
      json.versions.map(({ version }: any) => version),
      ['v2', 'v1', 'v1beta1'],
    );
    for (const version of ['v1', 'v2']) {
      const { resources } = (await facade.kube(`/apis/rail.example.com/${version}`)).json;
      assert.ok(
        resources.some(({ name }: any) => name === 'tracks'),
        version,
      );
      const { components } = (await facade.kube(`/openapi/v3/apis/rail.example.com/${version}`)).json;
      const schema: any = Object.entries(components.schemas).find(([name]) => name.endsWith('.Track'))![1];
      assert.deepEqual(Object.keys(schema.properties.spec.properties), [version === 'v1' ? 'width' : 'gauge']);
    }
    const { headers } = await facade.kube(`${tracks('v1')}/a`);
    assert.equal(headers.get('warning'), '299 - "Use v2"');
  });

  it('has the columns and the fields of each', async () => {
    const { columnDefinitions, rows } = (await facade.kube(tracks('v1'), { headers: table })).json;
    assert.deepEqual(
      [columnDefinitions.map(({ name }: any) => name), rows.map(({ cells }: any) => cells.slice(0, 2))],
      [
        ['Name', 'Width', 'Age'],
        [
          ['a', 1_000],
          ['b', 1_001],
          ['c', 1_002],
        ],
      ],
    );
    const { items } = (await facade.kube(`${tracks('v1')}?fieldSelector=spec.width%3D1001`)).json;
    assert.deepEqual([items[0].apiVersion, items[0].spec], ['rail.example.com/v1', { width: 1_001 }]);
  });

  it('has pages of one moment in each', async () => {
    const query = 'fieldSelector=spec.width%21%3D7&limit=1';
    const first = (await facade.kube(`${tracks('v1')}?${query}`)).json;
    assert.equal((await facade.send(`${tracks('v2')}/c`, { method: 'DELETE' })).status, 200);
    await facade.send(`${tracks('v2')}/b`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { spec: { gauge: { millimetres: 7 } } },
    });
    const rest = (
      await facade.kube(`${tracks('v1')}?${query.replace('limit=1', 'limit=9')}&continue=${first.metadata.continue}`)
    ).json;
    const all = [...first.items, ...rest.items].map(({ apiVersion, metadata, spec }: any) => [
      apiVersion,
      metadata.name,
      spec,
    ]);
    assert.deepEqual(all, [
      ['rail.example.com/v1', 'a', { width: 1_000 }],
      ['rail.example.com/v1', 'b', { width: 1_001 }],
      ['rail.example.com/v1', 'c', { width: 1_002 }],
    ]);
  });

  it('is watched in each', async () => {
    const watch = await facade.watch(`${tracks('v1')}?watch=true&fieldSelector=metadata.name%3Dd`);
    assert.equal((await facade.send(tracks('v2'), { body: named('d', { gauge: { millimetres: 5 } }) })).status, 201);
    assert.equal((await facade.send(`${tracks('v2')}/d`, { method: 'DELETE' })).status, 200);
    await until(() => watch.events.length === 2);
    watch.close();
    assert.deepEqual(
      watch.events.map(({ type, object }) => [type, object.apiVersion, object.spec]),
      [
        ['ADDED', 'rail.example.com/v1', { width: 5 }],
        ['DELETED', 'rail.example.com/v1', { width: 5 }],
      ],
    );
  });
});

describe('a definition in several versions', () => {
  it('is served natively in each that is served', async () => {
    const made = await facade.send(trains('v1'), { body: named('one', { cars: 3, driver: 'Ada' }) });
    assert.equal(made.status, 201, made.text);
    const old = await facade.send(`${trains('v1beta1')}/one`);
    assert.deepEqual([old.json.apiVersion, old.json.spec], ['rail.example.com/v1beta1', { cars: 3, crew: 2 }]);
    assert.equal(old.headers.get('warning'), '299 - "rail.example.com/v1beta1 Train is deprecated"');
    assert.equal((await facade.send(trains('v1alpha1'))).status, 404);
    const { json } = await facade.send(`${trains('v1beta1')}?sort=spec.cars,desc&fieldSelector=spec.cars%3E2`);
    assert.deepEqual([json.total, json.items[0].spec], [1, { cars: 3, crew: 2 }]);
    const document = (await facade.send('/v3/api-docs/apis_aggregated.api_v1alpha1')).json;
    assert.ok(JSON.stringify(document).includes('"crew"'));
  });

  it('is written in each by its schema, and keeps what that does not know', async () => {
    for (const [send, headers] of [
      [facade.send.bind(facade), { 'content-type': 'application/merge-patch+json' }],
      [facade.kube.bind(facade), { 'content-type': 'application/merge-patch+json' }],
    ] as const) {
      const body = { spec: { cars: 5, driver: 'nobody' } };
      const patched = await send(`${trains('v1beta1')}/one`, { method: 'PATCH', headers, body });
      assert.equal(patched.status, 200, patched.text);
      assert.match(patched.headers.get('warning') ?? '', /unknown field .*spec\.driver/);
      assert.deepEqual(patched.json.spec, { cars: 5, crew: 2 });
      const refused = await send(`${trains('v1beta1')}/one`, {
        method: 'PATCH',
        headers,
        body: { spec: { cars: 50 } },
      });
      assert.equal(refused.status, 422, refused.text);
      const { spec } = (await facade.send(`${trains('v1')}/one`)).json;
      assert.deepEqual(spec, { cars: 5, colour: 'red', driver: 'Ada' });
    }
  });

  it('is applied in each', async () => {
    const body = { apiVersion: 'rail.example.com/v1beta1', kind: 'Train', ...named('two', { cars: 4 }) };
    const query = '?fieldManager=m';
    const made = await facade.kube(`${trains('v1beta1')}/two${query}`, { method: 'PATCH', headers: apply, body });
    assert.equal(made.status, 201, made.text);
    assert.deepEqual([made.json.apiVersion, made.json.spec], ['rail.example.com/v1beta1', { cars: 4, crew: 2 }]);
    const again = { ...body, spec: { cars: 6 } };
    const native = await facade.send(`${trains('v1beta1')}/two${query}`, {
      method: 'PATCH',
      headers: apply,
      body: again,
    });
    assert.deepEqual([native.status, native.json.spec], [200, { cars: 6, crew: 2 }]);
    const other = { ...body, apiVersion: 'rail.example.com/v1' };
    const refused = await facade.send(`${trains('v1beta1')}/two${query}`, {
      method: 'PATCH',
      headers: apply,
      body: other,
    });
    assert.equal(refused.status, 422);
  });

  it('is watched in each over a change of its schema', async () => {
    const watch = await facade.watch(`${trains('v1beta1')}?watch=true&fieldSelector=metadata.name%3Dthree`);
    const path = `${definitions}/${train.metadata.name}`;
    assert.equal((await facade.send(trains('v1'), { body: named('three', { cars: 1 }) })).status, 201);
    const definition = (await facade.kube(path)).json;
    definition.spec.versions[1].schema.openAPIV3Schema.properties.spec.properties.crew.default = 3;
    assert.equal((await facade.kube(path, { method: 'PUT', body: definition })).status, 200);
    await until(async () => (await facade.send(`${trains('v1beta1')}/three`)).json.spec.crew === 3);
    assert.equal((await facade.send(`${trains('v1')}/three`, { method: 'DELETE' })).status, 200);
    await until(() => watch.events.length === 2);
    watch.close();
    assert.deepEqual(
      watch.events.map(({ type, object }) => [type, object.spec]),
      [
        ['ADDED', { cars: 1, crew: 2 }],
        ['DELETED', { cars: 1, crew: 3 }],
      ],
    );
  });

  it('is stored in another version from the change on', async () => {
    const path = `${definitions}/${train.metadata.name}`;
    const definition = (await facade.kube(path)).json;
    const [v1, v1beta1] = definition.spec.versions;
    v1.storage = false;
    v1beta1.storage = true;
    assert.equal((await facade.kube(path, { method: 'PUT', body: definition })).status, 200);
    const stored = async () => (await facade.kube(path)).json.status.storedVersions;
    await until(async () => (await stored()).join() === 'v1,v1beta1');
    await until(async () => (await facade.send(trains('v1'))).status === 200);
    assert.deepEqual((await facade.send(`${trains('v1')}/one`)).json.spec, { cars: 5, colour: 'red' });
    assert.deepEqual((await facade.send(`${trains('v1beta1')}/one`)).json.spec, { cars: 5, crew: 3 });
    const { total } = (await facade.send(`${trains('v1')}?fieldSelector=spec.cars%3D5`)).json;
    assert.equal(total, 1);
  });
});
