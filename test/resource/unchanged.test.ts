/** A model that declares no attributes has what it had before there were any, byte for byte. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { defineModel, definePlugin, Type } from 'kindred';
import { startHarness } from 'kindred/testing';
import { describeModel } from '../../src/http/openapi/model.ts';
import { contractHash, contractOf } from '../../src/model/contract.ts';
import { Scheme } from '../../src/model/scheme.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';

// Made from its text, which is part of the contract and differs by what compiles this file.
const sizeOf = new Function('return thing=>thing.spec.size')() as (thing: { spec: { size: number } }) => number;
const Thing = defineModel({
  gvk: { group: 'old.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' },
  spec: Type.Object({ size: Type.Integer(), note: Type.Optional(Type.String()) }),
  status: Type.Object({ ready: Type.Boolean() }),
  subresources: { status: true },
  indexes: (index) => [index.single('spec.size', Number, sizeOf)],
});
const things = '/apis/old.example.com/v1/things';
const start = '{"apiVersion":"old.example.com/v1","kind":"Thing","metadata":';
const created = '"creationTimestamp":"2026-01-02T03:04:05.678Z"';
const facts = '"first":true,"last":true,"hasNext":false,"hasPrevious":false,"totalPages":1}';

test('answers and stored objects', async () => {
  const clock = new FakeClock(Date.parse('2026-01-02T03:04:05.678Z'));
  const plugin = definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Thing) });
  const harness = await startHarness({ plugins: [{ name: 'old', plugin }], clock });
  try {
    const text = async (method: string, path: string, body?: string, headers: Record<string, string> = {}) =>
      (await harness.fetch(path, { method, body, headers: { 'content-type': 'application/json', ...headers } })).text();
    const a = `${start}{"name":"a",${created},"version":0},"spec":{"size":1}}`;
    assert.equal(await text('POST', things, '{"metadata":{"name":"a"},"spec":{"size":1}}'), a);
    assert.equal(await text('GET', `${things}/a`), a);
    const full =
      '{"metadata":{"name":"b","finalizers":["x"],"labels":{"l":"v"},"annotations":{"n":"v"}},"spec":{"note":"n","size":2}}';
    const b = `${start}{"name":"b",${created},"version":0,"finalizers":["x"],"labels":{"l":"v"},"annotations":{"n":"v"}},"spec":{"note":"n","size":2}}`;
    assert.equal(await text('POST', things, full), b);
    assert.equal(
      await text('GET', `${things}?sort=spec.size`),
      `{"page":1,"size":20,"total":2,"items":[${a},${b}],${facts}`,
    );
    assert.equal(
      await text('GET', `${things}?sort=spec.size`, undefined, { accept: 'application/x-ndjson' }),
      `${a}\n${b}\n`,
    );
    const merge = { 'content-type': 'application/merge-patch+json' };
    assert.equal(
      await text('PATCH', `${things}/a`, '{"metadata":{"labels":{"l":"w"}}}', merge),
      `${start}{"name":"a",${created},"version":1,"labels":{"l":"w"}},"spec":{"size":1}}`,
    );
    assert.equal(
      await text('PATCH', `${things}/a/status`, '{"status":{"ready":true}}', merge),
      `${start}{"name":"a",${created},"version":2,"labels":{"l":"w"}},"spec":{"size":1},"status":{"ready":true}}`,
    );
    // The one addition: a generation, once more than metadata and status has changed.
    assert.equal(
      await text('PATCH', `${things}/a`, '{"spec":{"size":3}}', merge),
      `${start}{"name":"a",${created},"version":3,"generation":2,"labels":{"l":"w"}},"spec":{"size":3},"status":{"ready":true}}`,
    );
    const discovery = await text('GET', '/apis/old.example.com/v1');
    const verbs = '"get","list","watch","create","update","patch","delete"';
    assert.equal(
      discovery,
      `{"groupVersion":"old.example.com/v1","resources":[{"name":"things","singularName":"thing","kind":"Thing","verbs":[${verbs}]},{"name":"things/status","singularName":"thing","kind":"Thing","verbs":["get","update","patch"]}]}`,
    );
  } finally {
    await harness.stop();
  }
});

test('the description of the model, but for the members of metadata and for apply, and its contract', () => {
  const scheme = Scheme.buildFromType(Thing);
  const { operations, schemas } = describeModel(scheme, { component: 'Thing', suffix: '' });
  const texts = [
    ...operations.map(({ path, method, operationId, json }) => JSON.stringify([path, method, operationId, json])),
    ...[...schemas].map(([name, schema]) => name + schema),
  ];
  const hash = createHash('sha256').update(texts.join('\n')).digest('hex');
  assert.equal(hash, '4ba6b55d7a58feab61e72ceb94b12ebe4be05aa414cc3cc21499d33b1f44a7a9');
  // Otherwise the objects of every plugin would be checked again at the next start.
  assert.equal(contractHash(contractOf(scheme)), '8fe4210083121472addf3b7d6577827f532474318dd4339ff15f1e4aa83da264');
});
