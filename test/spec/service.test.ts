/** Rows of the specification that only the whole service shows. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { ExtensionObject, PluginContext } from 'kindred';
import {
  createService,
  defineModel,
  definePlugin,
  IndexSpec,
  IndexSpecs,
  ListOptions,
  multiValueAttribute,
  simpleAttribute,
  Type,
} from 'kindred';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';

const gvk = { group: 'depot.example.com', version: 'v1alpha1', kind: 'Parcel', singular: 'parcel', plural: 'parcels' };
const Parcel = defineModel({
  gvk,
  spec: Type.Object({
    code: Type.String(),
    release: Type.String(),
    tags: Type.Array(Type.String()),
    weight: Type.Integer(),
  }),
  status: Type.Object({ phase: Type.String() }),
});

/** A type of key of one's own: `1.10` comes after `1.9`. */
const Release = {
  compare: (a: number[], b: number[]) => a[0]! - b[0]! || a[1]! - b[1]!,
  parse: (text: string) => text.split('.').map(Number),
  format: (key: number[]) => key.join('.'),
};

type ParcelObject = { spec: { code: string; release: string; tags: string[]; weight: number } };

let harness: Harness;

const plugin = definePlugin({
  start({ schemeManager }: PluginContext) {
    schemeManager.register(Parcel, (indexSpecs) => {
      indexSpecs.add(
        IndexSpecs.single('spec.release', Release).indexFunc((parcel: ParcelObject) =>
          Release.parse(parcel.spec.release),
        ),
      );
      indexSpecs.add(IndexSpecs.single('spec.weight', Number).indexFunc((parcel: ParcelObject) => parcel.spec.weight));
      indexSpecs.add(
        new IndexSpec({ name: 'spec.code', unique: true, indexFunc: simpleAttribute(Parcel, ({ spec }) => spec.code) }),
      );
      indexSpecs.add(
        new IndexSpec({ name: 'spec.tags', indexFunc: multiValueAttribute(Parcel, ({ spec }) => spec.tags) }),
      );
    });
  },
});

before(async () => {
  harness = await startHarness({ plugins: [{ name: 'depot', plugin }], persistent: true });
  const parcels: [string, string, number][] = [
    ['1.9', 'b', 3],
    ['1.10', 'a', 2],
    ['1.2', 'c', 10],
  ];
  for (const [release, code, weight] of parcels) {
    const answer = await post({
      metadata: { name: `parcel-${code}` },
      spec: { code, release, weight, tags: [code, 'all'] },
    });
    assert.equal(answer.status, 201);
  }
});
after(() => harness.stop());

const path = '/apis/depot.example.com/v1alpha1/parcels';
const post = (json: object) => harness.fetch(path, { method: 'POST', json });

async function names(query: string): Promise<string[]> {
  const answer = await harness.fetch(`${path}?${query}`);
  const { items } = (await answer.json()) as { items: ExtensionObject[] };
  return items.map(({ metadata }) => metadata.name);
}

test('spec: What the service does - a plugin declares a model and registers it: storage, validation, indexes and CRUD API follow', async () => {
  const created = await post({ metadata: { name: 'whole' }, spec: { code: 'w', release: '2.0', weight: 1, tags: [] } });
  assert.equal(created.status, 201);
  const object = (await created.json()) as ParcelObject & ExtensionObject;
  assert.equal(
    (await post({ metadata: { name: 'light' }, spec: { code: 'l', release: '2.0', weight: 0.5, tags: [] } })).status,
    422,
  );
  assert.deepEqual(await names('fieldSelector=spec.code=w'), ['whole']);
  const put = await harness.fetch(`${path}/whole`, {
    method: 'PUT',
    json: { ...object, spec: { ...object.spec, code: 'x' } },
  });
  assert.equal(put.status, 200);
  assert.deepEqual(
    [await names('fieldSelector=spec.code=w'), await names('fieldSelector=spec.code=x')],
    [[], ['whole']],
  );
  await harness.restart();
  assert.deepEqual(await (await harness.fetch(`${path}/whole`)).json(), await put.json());
  assert.equal((await harness.fetch(`${path}/whole`, { method: 'DELETE' })).status, 200);
  assert.equal((await harness.fetch(`${path}/whole`)).status, 404);
});

test('spec: What the service does - registration alone implements no behaviour: the status is what controllers make it', async () => {
  const parcel = (await (await harness.fetch(`${path}/parcel-a`)).json()) as ExtensionObject;
  assert.equal('status' in parcel, false);
});

test('spec: Top-level structure of an object - apiVersion, kind, metadata, spec, and status when it is set', async () => {
  const answer = await harness.fetch(`${path}/parcel-a`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ status: { phase: 'Sent' } }),
  });
  const parcel = (await answer.json()) as ExtensionObject;
  assert.deepEqual(Object.keys(parcel).sort(), ['apiVersion', 'kind', 'metadata', 'spec', 'status']);
  assert.deepEqual(
    [parcel.apiVersion, parcel.kind, parcel.status],
    ['depot.example.com/v1alpha1', 'Parcel', { phase: 'Sent' }],
  );
});

test('spec: Versioning - the version is part of apiVersion and of the path', async () => {
  assert.equal((await harness.fetch('/apis/depot.example.com/v1/parcels')).status, 404);
  const other = await post({
    apiVersion: 'depot.example.com/v1',
    metadata: { name: 'x' },
    spec: { code: 'x', release: '1.0', weight: 1, tags: [] },
  });
  assert.equal(other.status, 422);
});

test('spec: Index specification - values are strings, or of a type that can be compared', async () => {
  assert.deepEqual(await names('sort=spec.release,asc'), ['parcel-c', 'parcel-b', 'parcel-a']);
  assert.deepEqual(await names('sort=spec.weight,asc'), ['parcel-a', 'parcel-b', 'parcel-c']);
  assert.deepEqual(await names('fieldSelector=spec.release>1.9'), ['parcel-a']);
});

test('spec: Versioning - indexes of before 2.22.0: IndexSpec, simpleAttribute, multiValueAttribute', async () => {
  assert.deepEqual(await names('fieldSelector=spec.tags=b'), ['parcel-b']);
  assert.deepEqual(await names('fieldSelector=spec.tags=all&sort=spec.code,desc'), [
    'parcel-c',
    'parcel-b',
    'parcel-a',
  ]);
  const taken = await post({ metadata: { name: 'second' }, spec: { code: 'a', release: '1.0', weight: 1, tags: [] } });
  assert.deepEqual([taken.status, ((await taken.json()) as { index: string }).index], [409, 'spec.code']);
});

test('spec: Index specification - built while the plugin starts: a client call in start() waits for them, and only then it is STARTED', async () => {
  let during: { total: number; state: string | undefined } | undefined;
  const building = definePlugin({
    async start({ schemeManager, client }: PluginContext) {
      schemeManager.register(Parcel, (indexSpecs) => {
        indexSpecs.add(
          IndexSpecs.single('spec.weight', Number).indexFunc((parcel: ParcelObject) => parcel.spec.weight),
        );
      });
      const { total } = await client.list(Parcel, ListOptions.parse({ fieldSelector: 'spec.weight>2' }));
      during = { total, state: service.readiness().plugins[0]?.state };
    },
  });
  const folder = mkdtempSync(join(tmpdir(), 'kindred-spec-'));
  const database = `sqlite:${join(folder, 'depot.db')}`;
  const filled = await createService({ database, port: 0, auth: false, plugins: [{ name: 'depot', plugin }] });
  await filled.start();
  for (const weight of [1, 3, 5]) {
    await filled.client.create(Parcel, {
      metadata: { generateName: 'p-' },
      spec: { code: String(weight), release: '1.0', weight, tags: [] },
    });
  }
  await filled.stop();
  const service = await createService({
    database,
    port: 0,
    auth: false,
    plugins: [{ name: 'depot', plugin: building }],
  });
  try {
    await service.start();
    assert.deepEqual(during, { total: 2, state: 'STARTING' });
    assert.equal(service.readiness().plugins[0]?.state, 'STARTED');
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true });
  }
});

test('spec: Limits - index names are unique within one model', async () => {
  const twice = definePlugin({
    start({ schemeManager }: PluginContext) {
      schemeManager.register(Parcel, (indexSpecs) => {
        for (let i = 0; i < 2; i++) indexSpecs.add(IndexSpecs.single('spec.weight', Number));
      });
    },
  });
  const other = await startHarness({ plugins: [{ name: 'twice', plugin: twice }] });
  try {
    const { plugins } = (await (await other.fetch('/readyz')).json()) as {
      plugins: { state: string; reason: string; message: string }[];
    };
    assert.deepEqual([plugins[0]?.state, plugins[0]?.reason], ['FAILED', 'InvalidModel']);
    assert.match(plugins[0]!.message, /spec\.weight/);
  } finally {
    await other.stop();
  }
});
