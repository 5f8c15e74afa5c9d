/** `/v3/models` and `/v3/models/<type>`: what is registered, as far as the caller may read it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expect, live } from '../auth/live.ts';
import { Book, books } from '../auth/models.ts';
import { persons, withApi } from './harness.ts';

const api = withApi();

const get = async (path: string, headers: Record<string, string> = {}) => api.send({ path, headers });

test('the models with their state, plugin, objects and verbs', async () => {
  assert.equal(
    (await api.send({ path: persons, body: { metadata: { name: 'ada' }, spec: { name: 'Ada' } } })).status,
    201,
  );
  const { json } = await get('/v3/models');
  const person = json.models.find((one: any) => one.kind === 'Person');
  assert.deepEqual(person, {
    group: 'demo.example.com',
    version: 'v1alpha1',
    kind: 'Person',
    singular: 'person',
    plural: 'persons',
    state: 'ready',
    progress: 1,
    problems: [],
    objects: 1,
    verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'explain'],
    subresources: person.subresources,
  });
  const types = json.models.map(({ group, plural }: any) => `${group}/${plural}`);
  assert.deepEqual(types, types.toSorted());
  assert.ok(types.includes('/users'));
});

test('one model with its schema and its indexes', async () => {
  const { json } = await get('/v3/models/persons.demo.example.com');
  assert.equal(json.kind, 'Person');
  assert.equal(json.schema.properties.spec.type, 'object');
  const names = json.indexes.map((one: any) => one.name);
  assert.deepEqual(names.slice(0, 4), [
    'metadata.name',
    'metadata.creationTimestamp',
    'metadata.deletionTimestamp',
    'metadata.labels',
  ]);
  assert.ok(json.indexes.every((one: any, i: number) => one.builtIn === i < 4));
  const byName = Object.fromEntries(json.indexes.map((one: any) => [one.name, one]));
  assert.deepEqual(byName['metadata.labels'].operators, ['=', '!=', 'in', 'notin', 'exists', 'absent']);
  assert.deepEqual(byName['metadata.creationTimestamp'].operators, [
    '=',
    '!=',
    'in',
    'notin',
    '>',
    '>=',
    '<',
    '<=',
    'exists',
    'absent',
  ]);
  const user = (await get('/v3/models/users')).json.indexes;
  assert.deepEqual(
    user.find((one: any) => one.name === 'spec.disabled'),
    {
      name: 'spec.disabled',
      keyType: 'boolean',
      multi: false,
      unique: false,
      nullable: true,
      order: 'ASC',
      operators: ['=', 'exists', 'absent'],
      builtIn: false,
    },
  );
});

test('every operator that is named is taken by a list of the model', async () => {
  const written: Record<string, (name: string) => string> = {
    exists: (name) => name,
    absent: (name) => `!${name}`,
    in: (name) => `${name} in (1,2)`,
    notin: (name) => `${name} notin (1,2)`,
  };
  const values: Record<string, string> = { boolean: 'true', date: '2026-01-01T00:00:00Z' };
  for (const type of ['persons.demo.example.com', 'users', 'personalaccesstokens']) {
    const { json } = await get(`/v3/models/${type}`);
    const path = json.group === '' ? `/api/${json.version}/${json.plural}` : persons;
    for (const { name, keyType, operators } of json.indexes) {
      if (name === 'metadata.labels') continue;
      for (const operator of operators) {
        const value = values[keyType] ?? '1';
        const term = (written[operator]?.(name) ?? `${name}${operator}${value}`).replace('(1,2)', `(${value})`);
        const { status, text } = await get(`${path}?fieldSelector=${encodeURIComponent(term)}`);
        assert.equal(status, 200, `${term}: ${text}`);
      }
    }
  }
});

test('an entity tag spares what the client has', async () => {
  for (const path of ['/v3/models', '/v3/models/persons.demo.example.com']) {
    const { headers } = await get(path);
    const etag = headers.get('etag')!;
    assert.equal((await get(path, { 'if-none-match': etag })).status, 304);
    assert.equal((await get(path, { 'if-none-match': '"other"' })).status, 200);
  }
  const before = (await get('/v3/models')).headers.get('etag');
  await api.send({ path: persons, body: { metadata: { name: 'bob' }, spec: { name: 'Bob' } } });
  assert.notEqual((await get('/v3/models')).headers.get('etag'), before);
});

test('a path that is no route is not found', async () => {
  for (const type of ['persons', 'nothing.example.com', 'users.', '']) {
    assert.equal((await get(`/v3/models/${type}`)).status, 404, type);
  }
});

test('the values of an index in order, with counts', async () => {
  const values = '/v3/models/persons.demo.example.com/values';
  const people = [
    ['cy', 'a', 30],
    ['di', 'ab', 30],
    ['ed', 'b', 20],
    ['fi', 'ab', undefined],
  ] as const;
  for (const [name, tag, age] of people) {
    const spec = { name: `value ${name}`, tags: [tag, 'all'], age };
    assert.equal((await api.send({ path: persons, body: { metadata: { name }, spec } })).status, 201);
  }
  const read = async (query: string) => (await get(`${values}?${query}`)).json;
  assert.deepEqual(await read('index=spec.age'), {
    values: [
      { value: '20', count: 1 },
      { value: '30', count: 2 },
    ],
    more: false,
  });
  const tags = [
    { value: 'a', count: 1 },
    { value: 'ab', count: 2 },
    { value: 'all', count: 4 },
    { value: 'b', count: 1 },
  ];
  assert.deepEqual(await read('index=spec.tags'), { values: tags, more: false });
  assert.deepEqual(await read('index=spec.tags&limit=2'), { values: tags.slice(0, 2), more: true });
  assert.deepEqual(await read('index=spec.tags&limit=4'), { values: tags, more: false });
  assert.deepEqual(await read('index=spec.tags&prefix=a&limit=3'), { values: tags.slice(0, 3), more: false });
  assert.deepEqual(await read('index=spec.tags&prefix=al'), { values: [tags[2]], more: false });
  assert.deepEqual(await read('index=spec.tags&prefix=zz'), { values: [], more: false });
  const refusals: [string, string][] = [
    ['', 'index'],
    ['index=spec.nothing', 'index'],
    ['index=spec.age&prefix=3', 'prefix'],
    ['index=spec.tags&limit=1001', 'limit'],
    ['index=spec.tags&page=1', 'page'],
  ];
  for (const [query, parameter] of refusals) {
    const { status, json } = await get(`${values}?${query}`);
    assert.deepEqual([status, json.parameter], [400, parameter], query);
  }
  assert.equal((await get('/v3/models/nothing.example.com/values?index=metadata.name')).status, 404);
});

test('permissions: values of an index are for callers who may list all objects', async () => {
  await using at = await live({}, ({ schemeManager }) => schemeManager.register(Book));
  const rule = (more: object) => ({ apiGroups: ['library.example'], resources: ['books'], verbs: ['list'], ...more });
  const role = (name: string, rules: object[]) =>
    expect(201, at.admin('POST', '/api/v1alpha1/roles', { metadata: { name }, rules }));
  await role('all', [rule({})]);
  await role('some', [rule({ resourceNames: ['emma'] })]);
  await role('gets', [rule({ verbs: ['get'] })]);
  const path = '/v3/models/books.library.example/values?index=spec.title';
  await expect(200, (await at.person('ada', ['all'])).send('GET', path));
  await expect(403, (await at.person('bob', ['some'])).send('GET', path));
  await expect(403, (await at.person('eve', ['gets'])).send('GET', path));
  await expect(404, (await at.person('joe', [])).send('GET', path));
  await expect(401, at.anonymous('GET', path));
});

test('permissions: a caller sees the models that they may read, and counts only what they may list', async () => {
  await using at = await live({}, (service) => service.schemeManager.register(Book));
  const type = '/v3/models/books.library.example';
  const kinds = async (send: typeof at.admin) =>
    (await expect(200, send('GET', '/v3/models'))).body.models.map((one: any) => one.kind);
  assert.equal((await at.anonymous('GET', '/v3/models')).status, 401);
  assert.equal((await at.anonymous('GET', type)).status, 401);
  const nobody = await at.person('nobody', []);
  assert.deepEqual(await kinds(nobody.send), []);
  assert.equal((await nobody.send('GET', type)).status, 404);
  for (const name of ['one', 'two']) {
    await expect(201, at.admin('POST', books, { metadata: { name }, spec: { title: name } }));
  }
  const rule = { apiGroups: ['library.example'], resources: ['books'] };
  await at.admin('POST', '/api/v1alpha1/roles', {
    metadata: { name: 'writer' },
    rules: [{ ...rule, verbs: ['create'] }],
  });
  await at.admin('POST', '/api/v1alpha1/roles', {
    metadata: { name: 'some' },
    rules: [{ ...rule, verbs: ['list'], resourceNames: ['one'] }],
  });
  await at.admin('POST', '/api/v1alpha1/roles', { metadata: { name: 'getter' }, rules: [{ ...rule, verbs: ['get'] }] });
  assert.deepEqual(await kinds((await at.person('writer', ['writer'])).send), []);
  const some = (await expect(200, (await at.person('some', ['some'])).send('GET', type))).body;
  assert.deepEqual([some.objects, some.verbs], [undefined, ['list']]);
  const getter = (await expect(200, (await at.person('getter', ['getter'])).send('GET', type))).body;
  assert.deepEqual([getter.objects, getter.verbs], [undefined, ['get']]);
  assert.equal((await at.admin('GET', type)).body.objects, 2);
});
