/** Stored objects that today's declaration of their model does not fit: readable, listed as problems, and repairable. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ObjectOf, PluginContext } from 'kindred';
import { createService, defineModel, definePlugin, IndexSpecs, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';

const gvk = { group: 'depot.example.com', version: 'v1', kind: 'Crate', singular: 'crate', plural: 'crates' };
const First = defineModel({ gvk, spec: Type.Object({ label: Type.Optional(Type.String()) }) });
const Second = defineModel({
  gvk: { ...gvk, version: 'v2' },
  evolution: { onInvalid: 'degrade' },
  spec: Type.Object({ label: Type.String() }),
});
const Third = defineModel({
  gvk: Second.gvk,
  spec: Type.Object({ label: Type.String() }),
  indexes: (index) => [
    index.single('by-label', String, ({ spec }) => {
      if (spec.label === 'b') throw new Error('no such label');
      return spec.label;
    }),
  ],
});

const pluginWith = (model: typeof First | typeof Second) => ({
  name: 'depot',
  plugin: definePlugin({ start: ({ schemeManager }: PluginContext) => void schemeManager.register(model) }),
});

const crates = '/apis/depot.example.com/v2/crates';
let harness: Harness;

const send = (method: string, name: string, json: object) =>
  harness.fetch(`${crates}/${name}`, {
    method,
    json,
    headers: { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' },
  });

const problems = async () => {
  const { models } = (await (await harness.fetch('/readyz')).json()) as {
    models: { kind: string; state: string; problems: { name: string; reason: string }[] }[];
  };
  return models.find(({ kind }) => kind === 'Crate')!;
};

before(async () => {
  harness = await startHarness({ persistent: true, plugins: [pluginWith(First)] });
  for (const [name, spec] of Object.entries({
    plain: { label: 'a' },

    bare: {},
    held: {},
  })) {
    const finalizers = name === 'held' ? ['depot.example.com/a', 'depot.example.com/b'] : undefined;
    await harness.client.create(First, { metadata: { name, finalizers }, spec });
  }
  await harness.restart([pluginWith(Second)]);
});

after(() => harness.stop());

test('declaration: objects stored under another version of the kind are listed as degraded, not lost', async () => {
  const { state, problems: found } = await problems();
  assert.equal(state, 'degraded');
  assert.deepEqual(found.map(({ name }) => name).sort(), ['bare', 'held', 'plain']);
  assert.equal(((await (await harness.fetch(crates)).json()) as { total: number }).total, 3);
});

test('objects: an object of another version is repaired by a patch or a replacement', async () => {
  const patched = await send('PATCH', 'plain', { spec: { label: 'b' } });
  assert.equal(patched.status, 200);
  assert.equal(((await patched.json()) as { apiVersion: string }).apiVersion, 'depot.example.com/v2');
  const labelled = await send('PATCH', 'bare', { metadata: { labels: { 'example.com/a': 'b' } } });
  assert.equal(labelled.status, 200);
  assert.equal(labelled.headers.get('kindred-warning'), '1 stored violation at /spec/label');
  assert.equal((await send('PUT', 'bare', { spec: { label: 'c' } })).status, 200);
  assert.deepEqual(
    (await problems()).problems.map(({ name }) => name),
    ['held'],
  );
});

test('objects: an object of another version can be deleted and loses its finalizers, valid or not', async () => {
  assert.equal((await send('PATCH', 'held', { metadata: { finalizers: ['depot.example.com/b'] } })).status, 200);
  assert.equal((await harness.fetch(`${crates}/held`, { method: 'DELETE' })).status, 200);
  assert.equal((await send('PATCH', 'held', { metadata: { finalizers: null } })).status, 200);
  assert.equal((await harness.fetch(`${crates}/held`)).status, 404);
});

test('queries: an index function that throws while building makes the model degraded, the index and the reason are named', async () => {
  await harness.restart([pluginWith(Third)]);
  assert.deepEqual(await problems().then(({ state, problems: found }) => ({ state, found })), {
    state: 'degraded',
    found: [{ name: 'plain', reason: 'The function of the index "by-label" failed: no such label' }],
  });
  assert.equal((await send('PATCH', 'plain', { spec: { label: 'd' } })).status, 200);
  assert.equal((await problems()).state, 'ready');
});

test('queries: what cannot be written as JSON is Invalid, and nothing is stored', async () => {
  const object = { metadata: { name: 'big' }, spec: { label: 1n as never } };
  await assert.rejects(() => harness.client.create(Third, object), { name: 'KindredError', code: 'Invalid' });
  assert.equal(await harness.client.fetch(Third, 'big'), undefined);
});

test('queries: index functions that take long let the service answer while they build', async () => {
  const service = await createService({ database: 'sqlite::memory:', auth: false, port: 0 });
  await service.start();
  const scheme = service.schemeManager.register(Second);
  const names = Array.from({ length: 100 }, (_, i) => `many-${i}`);
  await Promise.all(names.map((name) => service.client.create(Second, { metadata: { name }, spec: { label: name } })));
  service.schemeManager.unregister(scheme);
  service.schemeManager.register(Second, (indexSpecs) => {
    indexSpecs.add(
      IndexSpecs.single('slow', String).indexFunc(({ spec }: ObjectOf<typeof Second>) => {
        const end = performance.now() + 15;
        while (performance.now() < end);
        return spec.label;
      }),
    );
  });
  let isBuilt = false;
  const counted = service.client.count(Second).finally(() => {
    isBuilt = true;
  });
  let turns = 0;
  for (; !isBuilt; turns++) await nextTurn();
  assert.equal(await counted, names.length);
  assert(turns >= names.length, `${turns} turns of the event loop for ${names.length} objects`);
  await service.stop();
});
