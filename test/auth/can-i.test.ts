import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { defineModel } from '../../src/model/define.ts';
import { expect, live } from './live.ts';
import { Book, Shelf } from './models.ts';

const core = '/api/v1alpha1';

/** Another model with the plural of `Shelf`. */
const Rack = defineModel({
  gvk: { group: 'garage.example', version: 'v1', kind: 'Shelf', singular: 'shelf', plural: 'shelves' },
  spec: Type.Object({ title: Type.String() }),
});

const world = (...models: (typeof Book | typeof Shelf | typeof Rack)[]) =>
  live({}, (service) => {
    for (const model of models) service.schemeManager.register(model as typeof Book);
  });

test('permissions: can-i tells nobody which types exist beside those they may use', async () => {
  await using without = await world(Book);
  await using withOne = await world(Book, Shelf);
  await using withTwo = await world(Book, Shelf, Rack);
  const answers = await Promise.all(
    [without, withOne, withTwo].map(async (one) => {
      const { send } = await one.person('ada', ['books-library-example-view']);
      const told: unknown[] = [];
      for (const type of ['shelves', 'shelves.library.example', 'shelves.v1.garage.example', 'shelves/status', 'x']) {
        for (const more of [{}, { name: 'a' }, { user: 'ada' }]) {
          const { status, body } = await send('POST', '/v3/can-i', { verb: 'get', type, ...more });
          told.push([status, body]);
        }
      }
      return told;
    }),
  );
  assert.deepEqual(answers[1], answers[0]);
  assert.deepEqual(answers[2], answers[0]);
  const [status, body] = answers[0]![0] as [number, object];
  assert.deepEqual(
    [status, body],
    [200, { allowed: false, reason: 'there is no type "shelves" that you may use', because: [] }],
  );
});

test('permissions: of types with the same plural, can-i means the one that the caller may use', async () => {
  await using one = await world(Shelf, Rack);
  const ask = { verb: 'get', type: 'shelves' };
  const { send } = await one.person('ada', ['shelves-garage-example-view']);
  assert.equal((await expect(200, send('POST', '/v3/can-i', ask))).body.allowed, true);
  const { body } = await expect(422, one.admin('POST', '/v3/can-i', ask));
  assert.match(body.errors[0].message, /shelves\.library\.example, shelves\.garage\.example/);
});

test('permissions: can-i knows a type by each version that is served, and by no other', async () => {
  const spec = Type.Object({ title: Type.String() });
  const Chart = defineModel({
    gvk: { group: 'library.example', version: 'v2', kind: 'Chart', singular: 'chart', plural: 'charts' },
    spec,
    versions: {
      v1: { spec, toHub: (stored) => stored, fromHub: (hub) => hub },
      v1alpha1: { spec, served: false, toHub: (stored) => stored, fromHub: (hub) => hub },
    },
  });
  await using one = await live({}, (service) => service.schemeManager.register(Chart));
  const { send } = await one.person('ada', ['charts-library-example-view']);
  const ask = async (type: string) =>
    (await expect(200, send('POST', '/v3/can-i', { verb: 'get', type }))).body.allowed;
  assert.deepEqual(await Promise.all(['charts.v2.library.example', 'charts.v1.library.example'].map(ask)), [
    true,
    true,
  ]);
  assert.deepEqual(
    await Promise.all(
      ['charts.v1alpha1.library.example', 'charts.v3.library.example', 'charts.v1.garage.example'].map(ask),
    ),
    [false, false, false],
  );
});

test('permissions: who may do a single thing with a type is told so, whatever they do not see of it', async () => {
  await using one = await world(Book);
  const rules = [{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'], resourceNames: ['bob'] }];
  await expect(201, one.admin('POST', `${core}/roles`, { metadata: { name: 'deputy' }, rules }));
  const { send } = await one.person('ada', ['deputy']);
  const ask = async (name: string) =>
    (await expect(200, send('POST', '/v3/can-i', { verb: 'impersonate', type: 'users', name }))).body.allowed;
  assert.deepEqual([await ask('bob'), await ask('eve')], [true, false]);
});

test('permissions: who may list roles and bindings asks about others, for every type there is', async () => {
  await using one = await world(Book, Shelf);
  await one.person('bob', ['shelves-library-example-view']);
  const { send } = await one.person('auditor', ['roles-view', 'rolebindings-view']);
  const ask = async (type: string) =>
    (await expect(200, send('POST', '/v3/can-i', { verb: 'get', type, user: 'bob' }))).body.allowed;
  assert.deepEqual([await ask('shelves'), await ask('books'), await ask('planets')], [true, false, false]);
});

test('permissions: can-i answers up to a hundred questions at once, in their order, as one by one', async () => {
  await using at = await world(Book, Shelf, Rack);
  const ada = await at.person('ada', ['books-library-example-view']);
  const ask = (body: unknown) => ada.send('POST', '/v3/can-i', body);
  const questions = [
    { verb: 'list', type: 'books' },
    { verb: 'create', type: 'books' },
    { verb: 'get', resource: 'books', group: 'library.example', name: 'one' },
    { verb: 'get', path: '/metrics' },
    { verb: 'get', type: 'nothing' },
  ];
  const alone = await Promise.all(questions.map(async (one) => (await expect(200, ask(one))).body));
  assert.deepEqual((await expect(200, ask({ reviews: questions }))).body, { answers: alone });
  assert.deepEqual((await expect(200, ask({ reviews: [] }))).body, { answers: [] });
  const many = (count: number) => ({ reviews: Array.from({ length: count }, () => questions[0]) });
  assert.equal((await expect(200, ask(many(100)))).body.answers.length, 100);
  const pointers = async (body: unknown) =>
    (await expect(422, ask(body))).body.errors.map((one: { pointer: string }) => one.pointer);
  assert.deepEqual(await pointers(many(101)), ['/reviews']);
  assert.deepEqual(await pointers({ reviews: {} }), ['/reviews']);
  assert.deepEqual(await pointers({ reviews: [], verb: 'get' }), ['/verb']);
  assert.deepEqual(await pointers({ reviews: [questions[0], { verb: 'get' }, 1] }), ['/reviews/1', '/reviews/2']);
  const ambiguous = { reviews: [{ verb: 'list', type: 'shelves' }] };
  assert.deepEqual(
    (await expect(422, at.admin('POST', '/v3/can-i', ambiguous))).body.errors.map((one: any) => one.pointer),
    ['/reviews/0/type'],
  );
  await expect(403, ask({ reviews: [questions[0], { ...questions[0], user: 'admin' }] }));
});
