/** Updates of objects that today's model refuses: refused only for the violations that they make. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Model, Scheme, Service } from 'kindred';
import { createService, defineModel, Type } from 'kindred';
import { kindred } from '../cli/command.ts';
import { compareRatchet } from './ratchet-run.ts';

test('an update is accepted exactly when it makes no violation of its own, as an oracle says', async (context) => {
  const seed = Number(process.env.KINDRED_TEST_SEED ?? Date.now() % 1_000_000_000);
  context.diagnostic(`seed ${seed}`);
  const { differences, ...counts } = await compareRatchet({ cases: 4_000, seed });
  context.diagnostic(JSON.stringify(counts));
  assert.deepEqual(differences.slice(0, 3), []);
  assert(counts.ratcheted > 400 && counts.refused > 400, 'both kinds of updates were among them');
});

const gvk = { group: 'ratchet.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' };
const subresources = { status: true };
const things = '/apis/ratchet.example.com/v1/things';
const Older = defineModel({ gvk, subresources, spec: {}, status: {} });

let service: Service;
let url: string;
let registered: Scheme | undefined;

before(async () => {
  service = await createService({ database: 'sqlite::memory:', auth: false, port: 0 });
  ({ url } = await service.start());
});
after(() => service.stop());

/** Objects are stored by the older model; from then on there is the newer one. */
async function upgrade(
  newer: Model<any>,
  objects: Record<string, { spec?: unknown; status?: unknown }>,
): Promise<void> {
  const { schemeManager, client } = service;
  if (registered) schemeManager.unregister(registered);
  const older = schemeManager.register(Older);
  for await (const { metadata } of client.listAll(Older)) await client.delete(Older, metadata.name);
  for (const [name, { spec = {}, status }] of Object.entries(objects)) {
    await client.create(Older, { metadata: { name }, spec });
    if (status !== undefined) await client.updateStatus(Older, { metadata: { name }, spec, status } as never);
  }
  schemeManager.unregister(older);
  registered = schemeManager.register(newer);
  await client.count(newer);
}

async function send(method: string, path: string, json: object) {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const response = await fetch(`${url}${things}/${path}`, {
    method,
    body: JSON.stringify(json),
    headers: { 'content-type': type },
  });
  const body = (await response.json()) as { errors?: { pointer: string; keyword: string }[] };
  return {
    status: response.status,
    warning: response.headers.get('kindred-warning'),
    errors: body.errors?.map(({ pointer, keyword }) => `${pointer} ${keyword}`),
  };
}

const accepted = (warning: string | null) => ({ status: 200, warning, errors: undefined });
const refused = (...errors: string[]) => ({ status: 422, warning: null, errors });

test('objects: an update that leaves stored violations as they are is stored, and says so', async () => {
  const Newer = defineModel({
    gvk,
    subresources,
    spec: Type.Object({
      email: Type.String({ format: 'email' }),
      age: Type.Integer({ maximum: 150 }),
      'näme~/': Type.Optional(Type.String({ maxLength: 1 })),
    }),
    status: Type.Object({ phase: Type.Enum(['up', 'down']), n: Type.Optional(Type.Integer()) }),
  });
  await upgrade(Newer, {
    ada: { spec: { email: 'ada', age: 30 }, status: { phase: 'sleeping' } },
    bob: { spec: { email: 'bob', age: 200, extra: 1, 'näme~/': 'xyz' } },
  });
  const email = '1 stored violation at /spec/email';
  const both = '2 stored violations at /spec/email, /status/phase';
  assert.deepEqual(await send('PUT', 'ada', { spec: { email: 'ada', age: 31 } }), accepted(both));
  assert.deepEqual(await send('PATCH', 'ada', { metadata: { labels: { 'example.com/a': 'b' } } }), accepted(both));
  assert.deepEqual(await send('PATCH', 'ada/status', { status: { n: 1 } }), accepted(both));
  assert.deepEqual(await send('PUT', 'ada/status', { status: { phase: 'up' } }), accepted(email));
  assert.deepEqual(await send('PATCH', 'ada/status', { status: { phase: 'sleeping' } }), refused('/status/phase enum'));
  assert.deepEqual(await send('PATCH', 'ada', { spec: { email: 'adb' } }), refused('/spec/email format'));
  assert.deepEqual(await send('PATCH', 'ada', { spec: { age: 151 } }), refused('/spec/age maximum'));
  assert.deepEqual(await send('PATCH', 'ada', { spec: { age: 32 } }).then(({ warning }) => warning), email);
  assert.deepEqual(await send('PATCH', 'ada', { spec: { age: 32 } }), accepted(null), 'nothing is written');
  assert.deepEqual(await send('PATCH', 'ada', { spec: { email: 'ada@example.com' } }), accepted(null));
  assert.deepEqual(await send('PATCH', 'ada', { spec: { email: 'ada' } }), refused('/spec/email format'));
  assert.deepEqual(
    await send('PATCH', 'bob', { metadata: { annotations: { 'example.com/a': 'b' } } }),
    accepted('4 stored violations at /spec/email, /spec/age, /spec/extra and others'),
  );
  assert.deepEqual(
    await send('PATCH', 'bob', { spec: { email: 'bob@example.com', age: 20, extra: null } }),
    accepted('1 stored violation at /spec/n%C3%A4me~0~1'),
  );
  const eve = { metadata: { name: 'eve' }, spec: { email: 'eve', age: 1 } };
  await assert.rejects(service.client.create(Newer, eve), { code: 'Invalid' }, 'a new object has nothing to leave');
});

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

/** What each schema makes of an update from one spec to another. */
const shapes: readonly {
  readonly title: string;
  readonly schema: object;
  readonly stored: unknown;
  readonly next: unknown;
  readonly errors?: readonly string[];
}[] = [
  { title: 'a value that stays', schema: { type: 'string', maxLength: 1 }, stored: 'abc', next: 'abc' },
  {
    title: 'a value that changes',
    schema: { type: 'string', maxLength: 1 },
    stored: 'abc',
    next: 'abd',
    errors: ['/spec/x maxLength'],
  },
  { title: 'another rule of a value that stays', schema: { type: 'string' }, stored: 1, next: 1 },
  {
    title: 'a required member, absent in both',
    schema: object({ a: {}, b: {} }, { required: ['a'] }),
    stored: { b: 1 },
    next: { b: 2 },
  },
  {
    title: 'a required member that goes',
    schema: object({ a: {}, b: {} }, { required: ['a'] }),
    stored: { a: 1 },
    next: { b: 2 },
    errors: ['/spec/x/a required'],
  },
  { title: 'an unknown member that stays', schema: object({ a: {} }), stored: { a: 1, c: 1 }, next: { a: 2, c: 1 } },
  {
    title: 'an unknown member that changes',
    schema: object({ a: {} }),
    stored: { a: 1, c: 1 },
    next: { a: 1, c: 2 },
    errors: ['/spec/x/c additionalProperties'],
  },
  {
    title: 'an item that moves',
    schema: { type: 'array', items: { type: 'string' } },
    stored: [1, 'a'],
    next: ['a', 'b', 1],
  },
  {
    title: 'an item like one that is wrong',
    schema: { type: 'array', items: { type: 'string' } },
    stored: [1],
    next: [1, 2],
    errors: ['/spec/x/1 type'],
  },
  {
    title: 'a wrong member of an item that moves',
    schema: { type: 'array', items: object({ a: { type: 'string' }, b: {} }) },
    stored: [{ a: 1 }],
    next: [{ a: 'x' }, { a: 1, b: 1 }],
  },
  {
    title: 'a missing member of an item that moves',
    schema: { type: 'array', items: object({ a: {}, b: {} }, { required: ['a'] }) },
    stored: [{ b: 1 }],
    next: [{ a: 1 }, { b: 1 }],
  },
  {
    title: 'a missing member of a new item',
    schema: { type: 'array', items: object({ a: {}, b: {} }, { required: ['a'] }) },
    stored: [{ b: 1 }],
    next: [{ b: 1 }, { b: 2 }],
    errors: ['/spec/x/1/a required'],
  },
  {
    title: 'a list that is too long and changes',
    schema: { type: 'array', maxItems: 1 },
    stored: [1, 2],
    next: [1, 3],
    errors: ['/spec/x maxItems'],
  },
  { title: 'a list that is too long, beside', schema: { type: 'array', maxItems: 1 }, stored: [1, 2], next: [1, 2] },
  {
    title: 'an item twice, another changes',
    schema: { type: 'array', uniqueItems: true },
    stored: [1, 1, 2],
    next: [1, 1, 3],
    errors: ['/spec/x uniqueItems'],
  },
  {
    title: 'too few members',
    schema: object({ a: {}, b: {} }, { minProperties: 2 }),
    stored: { a: 1 },
    next: { a: 2 },
    errors: ['/spec/x minProperties'],
  },
  {
    title: 'alternatives, beside',
    schema: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    stored: true,
    next: true,
  },
  {
    title: 'alternatives are one unit',
    schema: {
      anyOf: [
        object({ k: { const: 'a' }, n: { type: 'integer' } }, { required: ['k'] }),
        object({ k: { const: 'b' } }, { required: ['k'] }),
      ],
    },
    stored: { k: 'a', n: 'x', m: 1 },
    next: { k: 'a', n: 'x' },
    errors: ['/spec/x anyOf'],
  },
  {
    title: 'not is one unit',
    schema: { not: object({ a: { const: 1 } }, { required: ['a'], additionalProperties: true }) },
    stored: { a: 1, b: 1 },
    next: { a: 1, b: 2 },
    errors: ['/spec/x not'],
  },
  {
    title: 'a default is set in a stored object first',
    schema: object({ a: { type: 'integer', default: 1 }, b: {} }, { maxProperties: 1, additionalProperties: true }),
    stored: { b: 1 },
    next: { b: 1 },
  },
  { title: 'a format', schema: { type: 'string', format: 'ipv4' }, stored: 'x', next: 'x' },
  {
    title: 'a type that changes to another wrong one',
    schema: { type: 'integer' },
    stored: 'x',
    next: ['x'],
    errors: ['/spec/x type'],
  },
];

test('objects: each shape of a schema lets pass what stays, and refuses what an update makes', async () => {
  for (const { title, schema, stored, next, errors } of shapes) {
    const Newer = defineModel({ gvk, subresources, spec: object({ x: schema, free: {} }) as never, status: {} });
    await upgrade(Newer, { one: { spec: { x: stored, free: 1 } } });
    const answer = await send('PUT', 'one', { spec: { x: next, free: 2 } });
    assert.deepEqual([answer.status, answer.errors], errors ? [422, [...errors]] : [200, undefined], title);
  }
});

test('objects: who has a thousand violations can still change metadata, and repair them all at once', async () => {
  const items = Array.from({ length: 1_500 }, (_, i) => i);
  const Newer = defineModel({
    gvk,
    subresources,
    spec: Type.Object({ items: Type.Array(Type.String()), free: Type.Optional(Type.Integer()) }),
    status: {},
  });
  await upgrade(Newer, { many: { spec: { items } } });
  assert.equal((await send('PATCH', 'many', { metadata: { labels: { 'example.com/a': 'b' } } })).status, 200);
  assert.equal((await send('PATCH', 'many', { spec: { free: 1 } })).status, 422);
  const last = items.map((one, i) => (i < 600 ? 'x' : one));
  assert.equal((await send('PUT', 'many', { spec: { items: last } })).status, 200);
  assert.deepEqual(await send('PUT', 'many', { spec: { items: ['x'] } }), accepted(null));
});

test('queries: index rules let pass a key that stays missing or shared, and refuse one that becomes so', async () => {
  const Newer = defineModel({
    gvk,
    subresources,
    spec: {},
    status: {},
    indexes: (index) => [
      index.single('spec.team', String, (thing) => thing.spec.team, { nullable: false }),
      index.single('spec.mail', String, (thing) => thing.spec.mail, { unique: true }),
      index.single('spec.age', Number, (thing) => thing.spec.age),
    ],
  });
  await upgrade(Newer, {
    first: { spec: { mail: 'm' } },
    second: { spec: { mail: 'm', team: 't' } },
    third: { spec: { mail: 'n', team: 't', age: 'old' } },
  });
  assert.deepEqual(await send('PATCH', 'first', { spec: { n: 1 } }), accepted('1 stored violation at /spec/team'));
  assert.deepEqual(await send('PATCH', 'first', { spec: { team: 't' } }), accepted(null));
  assert.deepEqual(await send('PATCH', 'first', { spec: { team: null } }), refused('/spec/team index'));
  assert.deepEqual(await send('PATCH', 'second', { spec: { n: 1 } }), accepted(null));
  assert.equal((await send('PATCH', 'third', { spec: { mail: 'm' } })).status, 409);
  assert.deepEqual(await send('PATCH', 'third', { spec: { n: 1 } }), accepted('1 stored violation at /spec/age'));
  assert.deepEqual(await send('PATCH', 'third', { spec: { age: 'older' } }), refused('/spec/age index'));
  assert.deepEqual(await send('PATCH', 'second', { spec: { mail: 'o' } }), accepted(null));
  assert.equal((await send('PATCH', 'third', { spec: { mail: 'm' } })).status, 409, 'the other one has it now');
});

test('command line: an update that leaves stored violations is told on standard error', async () => {
  const Newer = defineModel({
    gvk,
    subresources,
    spec: Type.Object({ email: Type.String({ format: 'email' }) }),
    status: {},
  });
  await upgrade(Newer, { ada: { spec: { email: 'ada' } } });
  const { code, stderr } = await kindred(['label', 'things', 'ada', 'example.com/a=b', '--server', url]);
  assert.deepEqual([code, stderr], [0, 'kindred: warning: ada: 1 stored violation at /spec/email\n']);
});
