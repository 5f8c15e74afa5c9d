import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { allWidgets, Facade, gadgets, widgets } from './harness.ts';

const facade = new Facade();
before(() => facade.start());
after(() => facade.stop());

let number = 0;
let name = '';
beforeEach(() => {
  name = `o${number++}`;
});

const merge = { 'content-type': 'application/merge-patch+json' };
const jsonPatch = { 'content-type': 'application/json-patch+json' };

async function made(spec: object = {}, metadata: object = {}) {
  const { status, json } = await facade.kube(gadgets, { body: { metadata: { name, ...metadata }, spec } });
  assert.equal(status, 201, JSON.stringify(json));
  return json;
}

test('an object is shown in the form of Kubernetes', async () => {
  const created = await made({ color: 'red' }, { labels: { 'a/b': 'c' } });
  const { uid, resourceVersion, creationTimestamp, managedFields } = created.metadata;
  const { time } = managedFields[0]!;
  assert.deepEqual(managedFields, [
    {
      manager: 'node',
      operation: 'Update',
      apiVersion: 'shop.example.com/v1',
      time,
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:metadata': { 'f:labels': { 'f:a/b': {} } }, 'f:spec': { 'f:color': {} } },
    },
  ]);
  assert.match(uid, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  for (const one of [creationTimestamp, time]) assert.match(one, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  assert.deepEqual(created, {
    apiVersion: 'shop.example.com/v1',
    kind: 'Gadget',
    metadata: { name, uid, resourceVersion, generation: 1, creationTimestamp, labels: { 'a/b': 'c' }, managedFields },
    spec: { color: 'red' },
  });
  assert.deepEqual((await facade.kube(`${gadgets}/${name}`)).json, created);
});

test('the resource version is the revision of the write, natively told', async () => {
  const native = await facade.send(gadgets, { body: { metadata: { name }, spec: {} } });
  const { json } = await facade.kube(`${gadgets}/${name}`);
  assert.equal(json.metadata.resourceVersion, native.headers.get('kindred-revision'));
});

test('what the service owns is not taken from clients', async () => {
  const metadata = { uid: 'u', generation: 7, creationTimestamp: null, managedFields: [], selfLink: '/x' };
  const created = await made({}, { ...metadata, deletionTimestamp: '2020-01-01T00:00:00Z' });
  assert.equal(created.metadata.generation, 1);
  assert.notEqual(created.metadata.uid, 'u');
  assert.equal(created.metadata.deletionTimestamp, undefined);
});

test('creation: what belongs to the path must fit', async () => {
  const refused: [object, RegExp][] = [
    [{ kind: 'Other' }, /kind in the data/],
    [{ apiVersion: 'shop.example.com/v2' }, /API version in the data/],
    [{ metadata: { name, resourceVersion: '7' } }, /resourceVersion should not be set/],
  ];
  for (const [body, message] of refused) {
    const { status, json } = await facade.kube(gadgets, { body: { metadata: { name }, spec: {}, ...body } });
    assert.equal(status, 400);
    assert.equal(json.reason, 'BadRequest');
    assert.match(json.message, message);
  }
});

test('the namespace in the body is that of the path, and dropped of what is in none', async () => {
  const refused = await facade.kube(widgets, { body: { metadata: { name, namespace: 'x' }, spec: {} } });
  assert.equal(refused.status, 400);
  assert.match(refused.json.message, /namespace of the provided object does not match/);
  const { metadata } = await made({}, { namespace: 'x' });
  assert.equal(metadata.namespace, undefined);
  const put = { metadata: { ...metadata, namespace: 'x' }, spec: { size: 1 } };
  const { status, json, headers } = await facade.kube(`${gadgets}/${name}`, { method: 'PUT', body: put });
  assert.deepEqual([status, json.metadata.namespace, headers.get('warning')], [200, undefined, null]);
});

test('a name that is taken, one that is not there, one that is malformed', async () => {
  await made();
  const taken = await facade.kube(gadgets, { body: { metadata: { name }, spec: {} } });
  assert.equal(taken.status, 409);
  assert.equal(taken.json.reason, 'AlreadyExists');
  assert.equal(taken.json.message, `gadgets.shop.example.com "${name}" already exists`);
  assert.deepEqual(taken.json.details, { name, group: 'shop.example.com', kind: 'gadgets' });
  const absent = await facade.kube(`${gadgets}/absent`);
  assert.equal(absent.status, 404);
  assert.equal(absent.json.message, 'gadgets.shop.example.com "absent" not found');
  const malformed = await facade.kube(gadgets, { body: { metadata: { name: 'a.b' }, spec: {} } });
  assert.equal(malformed.status, 422);
  assert.equal(malformed.json.details.causes[0].field, 'metadata.name');
});

test('an invalid object is told cause by cause', async () => {
  const { status, json } = await facade.kube(gadgets, { body: { metadata: { name }, spec: { size: -1, color: 7 } } });
  assert.equal(status, 422);
  assert.equal(json.reason, 'Invalid');
  assert.equal(json.details.kind, 'Gadget');
  assert.deepEqual(
    json.details.causes.toSorted((a: any, b: any) => a.field.localeCompare(b.field)),
    [
      {
        reason: 'FieldValueTypeInvalid',
        message: 'Invalid value: "integer": spec.color in body must be of type string: "integer"',
        field: 'spec.color',
      },
      {
        reason: 'FieldValueInvalid',
        message: 'Invalid value: -1: spec.size in body should be greater than or equal to 0',
        field: 'spec.size',
      },
    ],
  );
  assert.match(json.message, new RegExp(`^Gadget.shop.example.com "${name}" is invalid: \\[spec\\.`));
});

test('a unique value that is taken is invalid, so that clients do not try again', async () => {
  await made({ serial: `s-${name}` });
  const { status, json } = await facade.kube(gadgets, {
    body: { metadata: { name: `${name}-b` }, spec: { serial: `s-${name}` } },
  });
  assert.equal(status, 422);
  assert.deepEqual(json.details.causes, [
    { reason: 'FieldValueDuplicate', message: `Duplicate value: "s-${name}"`, field: 'spec.serial' },
  ]);
});

test('unknown and duplicate fields: left out and told, refused, or left out in silence', async () => {
  const text = `{"metadata":{"name":"${name}"},"spec":{"color":"a","color":"b","wrong":1,"ports":[{"name":"x","port":1,"other":{}}]}}`;
  const strict = await facade.kube(`${gadgets}?fieldValidation=Strict`, { body: text });
  assert.equal(strict.status, 400);
  for (const part of [
    'unknown field "spec.wrong"',
    'unknown field "spec.ports[0].other"',
    'duplicate field "spec.color"',
  ]) {
    assert.ok(strict.json.message.includes(part), strict.json.message);
  }
  assert.match(strict.json.message, /^Gadget in version "v1" cannot be handled as a Gadget: strict decoding error: /);
  const ignored = await facade.kube(`${gadgets}?fieldValidation=Ignore&dryRun=All`, { body: text });
  assert.equal(ignored.headers.get('warning'), null);
  const warned = await facade.kube(gadgets, { body: text });
  assert.equal(warned.status, 201);
  assert.deepEqual(warned.json.spec, { color: 'b', ports: [{ name: 'x', port: 1 }] });
  assert.match(warned.headers.get('warning')!, /299 - "unknown field \\"spec.wrong\\""/);
  assert.match(warned.headers.get('warning')!, /299 - "duplicate field \\"spec.color\\""/);
});

test('a dry run stores nothing', async () => {
  const { status, json } = await facade.kube(`${gadgets}?dryRun=All`, { body: { metadata: { name }, spec: {} } });
  assert.equal(status, 201);
  assert.equal(json.metadata.name, name);
  assert.equal((await facade.kube(`${gadgets}/${name}`)).status, 404);
  const wrong = await facade.kube(`${gadgets}?dryRun=Some`, { body: { metadata: { name }, spec: {} } });
  assert.equal(wrong.status, 422);
});

test('PUT needs the resource version, and refuses a stale one', async () => {
  const created = await made({ color: 'a' });
  const without = { ...created, metadata: { name } };
  const missing = await facade.kube(`${gadgets}/${name}`, { method: 'PUT', body: without });
  assert.equal(missing.status, 422);
  assert.deepEqual(missing.json.details.causes[0], {
    reason: 'FieldValueInvalid',
    message: 'Invalid value: 0: must be specified for an update',
    field: 'metadata.resourceVersion',
  });
  const put = await facade.kube(`${gadgets}/${name}`, { method: 'PUT', body: { ...created, spec: { color: 'b' } } });
  assert.equal(put.status, 200);
  assert.equal(put.json.metadata.generation, 2);
  const stale = await facade.kube(`${gadgets}/${name}`, { method: 'PUT', body: created });
  assert.equal(stale.status, 409);
  assert.equal(stale.json.reason, 'Conflict');
  assert.equal(
    stale.json.message,
    `Operation cannot be fulfilled on gadgets.shop.example.com "${name}": the object has been modified; please apply your changes to the latest version and try again`,
  );
  const other = { ...put.json, metadata: { ...put.json.metadata, uid: created.metadata.uid.replace(/^./, 'x') } };
  assert.equal((await facade.kube(`${gadgets}/${name}`, { method: 'PUT', body: other })).status, 409);
  const renamed = { ...put.json, metadata: { ...put.json.metadata, name: 'else' } };
  assert.equal((await facade.kube(`${gadgets}/${name}`, { method: 'PUT', body: renamed })).status, 400);
  const absent = { ...put.json, metadata: { ...put.json.metadata, name: 'absent' } };
  assert.equal((await facade.kube(`${gadgets}/absent`, { method: 'PUT', body: absent })).status, 404);
});

test('a write that changes nothing keeps the resource version', async () => {
  const created = await made({ color: 'a' });
  const put = await facade.kube(`${gadgets}/${name}`, { method: 'PUT', body: created });
  assert.deepEqual(put.json, created);
  const patched = await facade.kube(`${gadgets}/${name}`, { method: 'PATCH', headers: merge, body: {} });
  assert.deepEqual(patched.json, created);
});

test('merge patches, with the resource version as a precondition', async () => {
  const created = await made({ color: 'a', size: 3 });
  const body = { spec: { size: null, note: 'n' } };
  const patched = await facade.kube(`${gadgets}/${name}`, { method: 'PATCH', headers: merge, body });
  assert.deepEqual(patched.json.spec, { color: 'a', note: 'n' });
  const stale = { metadata: { resourceVersion: created.metadata.resourceVersion }, spec: { note: 'm' } };
  const refused = await facade.kube(`${gadgets}/${name}`, { method: 'PATCH', headers: merge, body: stale });
  assert.equal(refused.status, 409);
});

test('JSON patches see what clients see', async () => {
  const created = await made({ color: 'a' });
  const patch = (body: unknown) => facade.kube(`${gadgets}/${name}`, { method: 'PATCH', headers: jsonPatch, body });
  const uid = { op: 'test', path: '/metadata/uid', value: created.metadata.uid };
  const held = await patch([uid, { op: 'add', path: '/metadata/labels', value: { x: 'y' } }]);
  assert.equal(held.status, 200);
  assert.deepEqual(held.json.metadata.labels, { x: 'y' });
  const failed = await patch([{ op: 'test', path: '/spec/color', value: 'b' }]);
  assert.equal(failed.status, 422);
  assert.equal(failed.json.reason, 'Invalid');
  assert.equal((await patch([{ op: 'remove', path: '/spec/absent' }])).status, 422);
  assert.equal((await patch([{ op: 'unheard-of', path: '/spec' }])).status, 400);
});

test('concurrent patches that expect nothing all hold', async () => {
  await made({ note: 'n'.repeat(400_000) });
  const keys = Array.from({ length: 12 }, (_, i) => `k${i}`);
  const replies = await Promise.all(
    keys.map((key) => {
      const body = { metadata: { labels: { [key]: 'v' } } };
      return facade.kube(`${gadgets}/${name}`, { method: 'PATCH', headers: merge, body });
    }),
  );
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]));
  const { json } = await facade.kube(`${gadgets}/${name}`);
  assert.deepEqual(Object.keys(json.metadata.labels).sort(), keys.sort());
});

test('a strategic merge patch is refused in words that kubectl prints', async () => {
  await made();
  const headers = { 'content-type': 'application/strategic-merge-patch+json' };
  const { status, json } = await facade.kube(`${gadgets}/${name}`, { method: 'PATCH', headers, body: {} });
  assert.equal(status, 415);
  assert.equal(json.reason, 'UnsupportedMediaType');
  assert.match(
    json.message,
    /accepted media types include: application\/json-patch\+json, application\/merge-patch\+json/,
  );
});

test('YAML in and out', async () => {
  const headers = { 'content-type': 'application/yaml', accept: 'application/yaml' };
  const body = `metadata: {name: ${name}}\nspec:\n  color: red\n  color: blue\n  size: 0x10\n`;
  const { status, text, headers: answered } = await facade.kube(gadgets, { headers, body });
  assert.equal(status, 201);
  assert.equal(answered.get('content-type'), 'application/yaml');
  assert.match(text, /^apiVersion: shop\.example\.com\/v1\nkind: Gadget\nmetadata:\n {2}name: /);
  assert.match(text, /spec:\n {2}color: blue\n {2}size: 16\n/);
  assert.match(answered.get('warning')!, /duplicate field \\"spec.color\\"/);
  const inexact = await facade.kube(gadgets, {
    headers,
    body: `metadata: {name: x}\nspec: {size: 123456789012345678901}\n`,
  });
  assert.equal(inexact.status, 422);
  const refused = async (text: string) => {
    const { status, json } = await facade.kube(gadgets, {
      headers: { 'content-type': 'application/yaml' },
      body: text,
    });
    assert.equal(json.kind, 'Status');
    return [status, json.reason, json.message];
  };
  assert.deepEqual((await refused('a: [')).slice(0, 2), [400, 'BadRequest']);
  const [, , message] = await refused('a: 1\n---\na: 2\n');
  assert.match(message, /^error converting YAML to JSON: body:\d+:\d+ .*multiple documents/);
  // A body of which the event loop reads nothing but the JSON.
  const long = await facade.kube(`${gadgets}?dryRun=All`, {
    headers,
    body: `metadata:\n  name: long\n  annotations: {note: "${'x'.repeat(100_000)}"}\nspec: {color: red, size: 1}\n`,
  });
  assert.equal(long.status, 201);
  assert.deepEqual((await refused(`# ${'x'.repeat(1024 * 1024)}\n`)).slice(0, 2), [413, 'RequestEntityTooLarge']);
});

test('deletion tells the uid of what is gone; with finalizers the object stays', async () => {
  const created = await made();
  const gone = await facade.kube(`${gadgets}/${name}`, { method: 'DELETE' });
  assert.equal(gone.status, 200);
  assert.deepEqual(gone.json, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, group: 'shop.example.com', kind: 'gadgets', uid: created.metadata.uid },
  });
  const again = await made({}, { finalizers: ['shop.example.com/keep'] });
  assert.notEqual(again.metadata.uid, created.metadata.uid);
  const held = await facade.kube(`${gadgets}/${name}`, { method: 'DELETE' });
  assert.equal(held.status, 200);
  assert.equal(held.json.kind, 'Gadget');
  assert.equal(held.json.metadata.deletionGracePeriodSeconds, 0);
  assert.ok(held.json.metadata.deletionTimestamp);
  assert.deepEqual((await facade.kube(`${gadgets}/${name}`, { method: 'DELETE' })).json, held.json);
  const freed = { metadata: { finalizers: null } };
  await facade.kube(`${gadgets}/${name}`, { method: 'PATCH', headers: merge, body: freed });
  assert.equal((await facade.kube(`${gadgets}/${name}`)).status, 404);
});

test('each unknown field has a warning, as far as a head has room', async () => {
  const warned = async (count: number) => {
    const names = Array.from({ length: count }, (_, i) => [`unknown${i}`, 1]);
    const body = { metadata: { name }, spec: Object.fromEntries(names) };
    const { status, headers } = await facade.kube(`${gadgets}?dryRun=All`, { body });
    assert.equal(status, 201);
    return headers.get('warning')!.split(', ').length;
  };
  assert.equal(await warned(30), 30);
  const most = await warned(5_000);
  assert.ok(most > 50 && most < 150, String(most));
});

test('no finalizer is added to what is being deleted', async () => {
  const path = `${widgets}/${name}`;
  await facade.kube(widgets, { body: { metadata: { name, finalizers: ['example.com/a'] }, spec: {} } });
  await facade.kube(path, { method: 'DELETE' });
  const body = { metadata: { finalizers: ['example.com/a', 'example.com/b'] } };
  const { status, json } = await facade.kube(path, { method: 'PATCH', headers: merge, body });
  assert.equal(status, 422);
  assert.deepEqual(json.details.causes, [
    {
      reason: 'FieldValueForbidden',
      message:
        'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers "example.com/b"',
      field: 'metadata.finalizers',
    },
  ]);
});

test('preconditions of a deletion, in its body or its query', async () => {
  const { metadata } = await made();
  const remove = (preconditions: object) =>
    facade.kube(`${gadgets}/${name}`, {
      method: 'DELETE',
      body: { kind: 'DeleteOptions', apiVersion: 'v1', preconditions },
    });
  const queried = (query: string) => facade.kube(`${gadgets}/${name}?${query}`, { method: 'DELETE' });
  for (const reply of [
    await remove({ uid: 'another' }),
    await remove({ resourceVersion: '1' }),
    await queried('uid=another'),
    await queried('resourceVersion=1'),
  ]) {
    assert.deepEqual([reply.status, reply.json.reason], [409, 'Conflict']);
    assert.match(
      reply.json.message,
      new RegExp(`^Operation cannot be fulfilled on gadgets\\.shop\\.example\\.com "${name}": Precondition failed: `),
    );
  }
  const dry = { dryRun: ['All'], propagationPolicy: 'Background' };
  assert.equal((await facade.kube(`${gadgets}/${name}`, { method: 'DELETE', body: dry })).status, 200);
  const policy = await facade.kube(`${gadgets}/${name}?propagationPolicy=Sometimes`, { method: 'DELETE' });
  assert.equal(policy.status, 422);
  assert.equal((await remove({ uid: metadata.uid, resourceVersion: metadata.resourceVersion })).status, 200);
});

test('options of a deletion that are of another type, or no boolean, are refused', async () => {
  await made();
  const bodies = [
    { dryRun: 'All' },
    { preconditions: 'x' },
    { preconditions: { resourceVersion: 5 } },
    { preconditions: { uid: 5 } },
    { orphanDependents: 'true' },
    { propagationPolicy: 1 },
  ];
  for (const body of bodies) {
    const { status, json } = await facade.kube(`${gadgets}/${name}`, { method: 'DELETE', body });
    assert.deepEqual([status, json.reason], [400, 'BadRequest'], JSON.stringify(body));
  }
  const path = `${gadgets}/${name}?orphanDependents`;
  assert.equal((await facade.kube(`${path}=perhaps`, { method: 'DELETE' })).status, 400);
  const nothing = { preconditions: null, dryRun: null, orphanDependents: null, propagationPolicy: null };
  const { json } = await facade.kube(`${path}=True`, { method: 'DELETE', body: nothing });
  assert.deepEqual(json.metadata?.finalizers, ['orphan']);
});

test('a collection is deleted object by object, by its selector', async () => {
  for (const one of ['a', 'b', 'c']) {
    const labels = { set: one === 'c' ? 'kept' : name };
    await facade.kube(gadgets, { body: { metadata: { name: `${name}-${one}`, labels }, spec: {} } });
  }
  const { status, json } = await facade.kube(`${gadgets}?labelSelector=set=${name}`, { method: 'DELETE' });
  assert.equal(status, 200);
  assert.equal(json.kind, 'GadgetList');
  assert.deepEqual(
    json.items.map((one: any) => one.metadata.name),
    [`${name}-a`, `${name}-b`],
  );
  assert.equal((await facade.kube(`${gadgets}/${name}-a`)).status, 404);
  assert.equal((await facade.kube(`${gadgets}/${name}-c`)).status, 200);
});

test('objects of a namespaced model, and its sub-resources', async () => {
  const body = { metadata: { name }, spec: { replicas: 2 }, status: { replicas: 9 } };
  const created = await facade.kube(widgets, { body });
  assert.equal(created.status, 201, created.text);
  assert.equal(created.json.metadata.namespace, 'default');
  assert.equal(created.json.status, undefined);
  assert.equal((await facade.kube(allWidgets, { body })).status, 405);
  assert.equal((await facade.kube(`${allWidgets}/${name}`)).status, 404);
  assert.equal((await facade.kube(`/apis/shop.example.com/v1/namespaces/default/gadgets`)).status, 404);
  const status = { status: { replicas: 1, selector: 'a=b' }, spec: { replicas: 7 } };
  const patched = await facade.kube(`${widgets}/${name}/status`, { method: 'PATCH', headers: merge, body: status });
  assert.deepEqual(patched.json.spec, { replicas: 2 });
  assert.deepEqual(patched.json.status, { replicas: 1, selector: 'a=b' });
  assert.equal(patched.json.metadata.generation, 1);
  const { json: scale } = await facade.kube(`${widgets}/${name}/scale`);
  assert.equal(scale.kind, 'Scale');
  assert.equal(scale.apiVersion, 'autoscaling/v1');
  assert.deepEqual(scale.spec, { replicas: 2 });
  assert.deepEqual(scale.status, { replicas: 1, selector: 'a=b' });
  const put = { ...scale, spec: { replicas: 4 } };
  const scaled = await facade.kube(`${widgets}/${name}/scale`, { method: 'PUT', body: put });
  assert.deepEqual(scaled.json.spec, { replicas: 4 });
  assert.equal((await facade.kube(`${widgets}/${name}/scale`, { method: 'PUT', body: put })).status, 409);
  const more = { spec: { replicas: 5 } };
  const byPatch = await facade.kube(`${widgets}/${name}/scale`, { method: 'PATCH', headers: merge, body: more });
  assert.deepEqual(byPatch.json.spec, { replicas: 5 });
  const { json } = await facade.kube(`${widgets}/${name}`);
  assert.equal(json.spec.replicas, 5);
  assert.equal(json.metadata.generation, 3);
  for (const metadata of [{ name: 'other' }, { name, namespace: 'other' }]) {
    const other = { ...scale, metadata };
    const sent = { method: 'PATCH', headers: merge, body: { metadata } };
    assert.equal((await facade.kube(`${widgets}/${name}/scale`, { method: 'PUT', body: other })).status, 400);
    assert.equal((await facade.kube(`${widgets}/${name}/scale`, sent)).status, 400);
  }
  const negative = { spec: { replicas: -1 } };
  const refused = await facade.kube(`${widgets}/${name}/scale`, { method: 'PATCH', headers: merge, body: negative });
  assert.equal(refused.status, 422);
  assert.equal((await facade.kube(`${widgets}/${name}/scale`, { method: 'DELETE' })).status, 405);
  assert.equal((await facade.kube(`${gadgets}/x/scale`)).status, 404);
});

test('metadata alone, and a table of one row', async () => {
  const { metadata } = await made({ color: 'a' });
  const as = (form: string) => ({ accept: `application/json;as=${form};g=meta.k8s.io;v=v1` });
  const partial = await facade.kube(`${gadgets}/${name}`, { headers: as('PartialObjectMetadata') });
  assert.deepEqual(partial.json, { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata });
  const table = await facade.kube(`${gadgets}/${name}`, { headers: as('Table') });
  assert.equal(table.json.kind, 'Table');
  assert.equal(table.json.rows.length, 1);
  assert.equal(table.json.rows[0].cells[0], name);
});

test('methods that a place does not have', async () => {
  for (const [method, path] of [
    ['PUT', gadgets],
    ['PATCH', gadgets],
    ['POST', `${gadgets}/x`],
  ] as const) {
    const { status, json, headers } = await facade.kube(path, { method, body: {} });
    assert.equal(status, 405, `${method} ${path}`);
    assert.equal(json.reason, 'MethodNotAllowed');
    assert.ok(headers.get('allow'));
  }
});
