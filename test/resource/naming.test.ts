/** Models with the naming rules of Kubernetes: names with dots, free label keys, unknown members left out with a warning. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { defineModel, definePlugin, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';

const names = { group: 'bar.example.com', version: 'v1' };
const spec = Type.Object({
  size: Type.Integer(),
  ports: Type.Optional(Type.Array(Type.Object({ port: Type.Integer() }))),
  free: Type.Optional(Type.Record(Type.String(), Type.String())),
});
const Widget = defineModel({
  gvk: { ...names, kind: 'Widget', singular: 'widget', plural: 'widgets' },
  naming: 'kubernetes',
  spec,
});
const Strict = defineModel({ gvk: { ...names, kind: 'Strict', singular: 'strict', plural: 'stricts' }, spec });
const widgets = '/apis/bar.example.com/v1/widgets';
const stricts = '/apis/bar.example.com/v1/stricts';

let harness: Harness;
before(async () => {
  const plugin = definePlugin({
    start({ schemeManager }) {
      for (const model of [Widget, Strict]) schemeManager.register(model);
    },
  });
  harness = await startHarness({ plugins: [{ name: 'bar', plugin }] });
});
after(() => harness.stop());

async function send(method: string, path: string, json?: unknown, type = 'application/json') {
  const response = await harness.fetch(path, { method, json, headers: { 'content-type': type } });
  return { status: response.status, warning: response.headers.get('warning'), json: (await response.json()) as any };
}
const merge = 'application/merge-patch+json';

test('names may have dots, up to 253 characters', async () => {
  const long = `${'a'.repeat(100)}.${'b'.repeat(152)}`;
  for (const name of ['a', 'a.b-c.d', '1.2', long]) {
    assert.equal((await send('POST', widgets, { metadata: { name }, spec: { size: 1 } })).status, 201, name);
    assert.equal((await send('GET', `${widgets}/${name}`)).json.metadata.name, name);
  }
  for (const name of ['a..b', '.a', 'a.', 'a.-b', 'A.b', 'a_b', `${long}c`])
    assert.equal((await send('POST', widgets, { metadata: { name }, spec: { size: 1 } })).status, 422, name);
  const made = await send('POST', widgets, { metadata: { generateName: 'a.b-' }, spec: { size: 1 } });
  assert.match(made.json.metadata.name, /^a\.b-[a-z0-9]{8}$/);
  assert.equal((await send('POST', widgets, { metadata: { generateName: 'a.-' }, spec: { size: 1 } })).status, 422);
  assert.equal((await send('POST', stricts, { metadata: { name: 'a.b' }, spec: { size: 1 } })).status, 422);
});

test('label keys without a prefix are free for plugins too, those of the service stay reserved', async () => {
  const object = (labels: object) => ({ metadata: { generateName: 'l-', labels }, spec: { size: 1 } });
  assert.equal((await send('POST', widgets, object({ plain: 'x' }))).status, 201);
  const reserved = await send('POST', widgets, object({ 'platform.run/x': 'y' }));
  assert.deepEqual([reserved.status, reserved.json.errors[0].keyword], [422, 'reserved']);
});

test('unknown members are left out and named, at every depth', async () => {
  const object = {
    metadata: { name: 'u', other: 1, ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'u', odd: 1 }] },
    spec: { size: 1, wrong: true, ports: [{ port: 1, name: 'http' }], free: { 'any key': 'x' } },
    extra: {},
  };
  const made = await send('POST', widgets, object);
  assert.equal(made.status, 201);
  assert.deepEqual(made.json.spec, { size: 1, ports: [{ port: 1 }], free: { 'any key': 'x' } });
  assert.deepEqual([made.json.extra, made.json.metadata.other], [undefined, undefined]);
  assert.deepEqual(Object.keys(made.json.metadata.ownerReferences[0]), ['apiVersion', 'kind', 'name', 'uid']);
  for (const field of [
    'metadata.other',
    'metadata.ownerReferences[0].odd',
    'spec.wrong',
    'spec.ports[0].name',
    'extra',
  ])
    assert.ok(made.warning!.includes(`299 - "unknown field \\"${field}\\""`), `${field}: ${made.warning}`);
  const same = await send('PUT', `${widgets}/u`, object);
  assert.deepEqual([same.status, same.json.metadata.version, same.warning !== null], [200, 0, true]);
  const patched = await send('PATCH', `${widgets}/u`, { spec: { size: 2, 'wröng"': 1 } }, merge);
  assert.deepEqual([patched.status, patched.json.metadata.generation], [200, 2]);
  assert.equal(patched.warning, '299 - "unknown field \\"spec[wr%C3%B6ng\\\\\\"]\\""');
  assert.equal((await send('PATCH', `${widgets}/u`, { spec: { size: 3 } }, merge)).warning, null);
  const wrong = await send('PATCH', `${widgets}/u`, { spec: { size: 'x', odd: 1 } }, merge);
  assert.deepEqual([wrong.status, wrong.json.errors.map((one: any) => one.pointer)], [422, ['/spec/size']]);
  const strict = await send('POST', stricts, { metadata: { name: 'u' }, spec: { size: 1, wrong: true } });
  assert.deepEqual([strict.status, strict.warning], [422, null]);
});

test('thousands of unknown members are left out, ten are named', async () => {
  const members = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`x${i}`, i]));
  const made = await send('POST', widgets, { metadata: { name: 'many' }, spec: { size: 1, ...members } });
  assert.deepEqual(
    [made.status, made.json.spec, made.warning?.split('299').length],
    [201, { size: 1 }, 11],
    JSON.stringify(made.json).slice(0, 300),
  );
});

test('a finalizer without a domain passes with a warning', async () => {
  const made = await send('POST', widgets, {
    metadata: { name: 'f', finalizers: ['plain', 'a/b'] },
    spec: { size: 1 },
  });
  assert.equal(made.status, 201);
  assert.match(made.warning!, /^299 - "the finalizer \\"plain\\"[^,]*"$/);
});

test('while it is being deleted anything may change, but for new finalizers', async () => {
  assert.equal((await send('DELETE', `${widgets}/f`)).status, 200);
  const changed = await send('PATCH', `${widgets}/f`, { spec: { size: 5 } }, merge);
  assert.deepEqual([changed.status, changed.json.spec.size], [200, 5]);
  const added = await send('PATCH', `${widgets}/f`, { metadata: { finalizers: ['plain', 'a/b', 'c/d'] } }, merge);
  assert.deepEqual([added.status, added.json.errors[0].keyword], [422, 'forbidden']);
  assert.equal((await send('PATCH', `${widgets}/f`, { metadata: { finalizers: null } }, merge)).status, 200);
  assert.equal((await send('GET', `${widgets}/f`)).status, 404);
  await send('POST', stricts, { metadata: { name: 'f', finalizers: ['a/b'] }, spec: { size: 1 } });
  await send('DELETE', `${stricts}/f`);
  assert.equal((await send('PATCH', `${stricts}/f`, { spec: { size: 5 } }, merge)).json.code, 'Deleting');
});
