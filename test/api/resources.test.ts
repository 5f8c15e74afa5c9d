import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiCase, Request } from './harness.ts';
import { jobs, notes, person, persons, runCases, withApi } from './harness.ts';

const ada: Request = { path: persons, body: person('ada', { age: 36, tags: ['math', 'code'] }) };
const envelope = ['page', 'size', 'total', 'items', 'first', 'last', 'hasNext', 'hasPrevious', 'totalPages'];
const notFound = { status: 404, body: { code: 'NotFound', status: 404 } };

const created: ApiCase[] = [
  {
    name: 'spec: Generated resource API - POST answers the created object',
    request: ada,
    status: 201,
    headers: {
      location: `${persons}/ada`,
      etag: /^"[^"]+"$/,
      'content-type': 'application/json',
    },
    body: {
      apiVersion: 'demo.example.com/v1alpha1',
      kind: 'Person',
      metadata: {
        name: 'ada',
        version: 0,
        creationTimestamp: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
        deletionTimestamp: undefined,
      },
      spec: { name: 'Name of ada', age: 36, tags: ['math', 'code'], country: 'nowhere' },
    },
    then: { [`${persons}/ada`]: { metadata: { name: 'ada', version: 0 } } },
  },
  {
    name: 'api: POST ignores the version and the timestamps of the client',
    request: {
      path: persons,
      body: person(
        'bob',
        {},
        { version: 7, creationTimestamp: '2001-01-01T00:00:00.000Z', deletionTimestamp: '2001-01-01T00:00:00.000Z' },
      ),
    },
    status: 201,
    body: { metadata: { version: 0, creationTimestamp: /^2[^0]|^20[^0]/, deletionTimestamp: undefined } },
  },
  {
    name: 'objects: generateName makes a name of it and eight lower-case letters or digits',
    request: { path: persons, body: { metadata: { generateName: 'gen-' }, spec: { name: 'generated' } } },
    status: 201,
    headers: { location: new RegExp(`^${persons}/gen-[a-z0-9]{8}$`) },
    body: { metadata: { name: /^gen-[a-z0-9]{8}$/, generateName: 'gen-' } },
  },
  {
    name: 'errors: a name that is taken is AlreadyExists',
    request: ada,
    status: 409,
    body: { code: 'AlreadyExists', detail: /"ada"/ },
  },
  {
    name: 'spec: Errors - creating an object whose value duplicates that of a unique index fails',
    request: { path: persons, body: person('ada2', { name: 'Name of ada' }) },
    status: 409,
    body: { code: 'UniqueViolation', index: 'spec.name', value: 'Name of ada' },
    then: { [`${persons}/ada2`]: null },
  },
  {
    name: "api: the service's own empty group is served at /api/<version>/<plural>",
    request: { path: notes, body: { metadata: { name: 'first' }, text: 'hello' } },
    status: 201,
    headers: { location: `${notes}/first` },
    body: { apiVersion: 'v1alpha1', kind: 'Note', text: 'hello' },
  },
  {
    name: 'objects: __proto__ and constructor are plain members on their way through',
    request: {
      path: notes,
      body: '{"metadata":{"name":"proto"},"text":"x","extra":{"__proto__":{"a":1},"constructor":{"b":2}}}',
    },
    status: 201,
    body: /"extra":\{"__proto__":\{"a":1\},"constructor":\{"b":2\}\}/,
    then: { [`${notes}/proto`]: /"__proto__":\{"a":1\}/ },
  },
  {
    name: 'api: POST on an object is not offered',
    request: { path: `${persons}/ada`, method: 'POST', body: {} },
    status: 405,
    headers: { allow: 'GET, HEAD, PUT, PATCH, DELETE' },
    body: { code: 'MethodNotAllowed' },
  },
];
runCases('POST', created);

runCases(
  'GET one',
  [
    {
      name: 'spec: Generated resource API - GET <plural>/{name} answers one object',
      request: { path: `${persons}/ada` },
      status: 200,
      headers: { 'content-type': 'application/json', etag: /^"[^"]+"$/ },
      revision: 1,
      body: { kind: 'Person', metadata: { name: 'ada' } },
    },
    {
      name: 'api: a HEAD is as the GET without a body',
      request: { path: `${persons}/ada`, method: 'HEAD' },
      status: 200,
      headers: { 'content-length': /^\d{3}$/, etag: /^"/ },
      revision: 1,
      body: '',
    },
    {
      name: 'api: the 404 of an object carries Kindred-Revision',
      request: { path: `${persons}/nobody` },
      status: 404,
      revision: 1,
      body: { code: 'NotFound', instance: `${persons}/nobody`, detail: /nobody/ },
    },
    {
      name: 'a percent-encoded name is decoded',
      request: { path: `${persons}/%61da` },
      status: 200,
      body: { metadata: { name: 'ada' } },
    },
    {
      name: 'a percent-encoded collection is decoded',
      request: { path: '/apis/demo%2Eexample.com/v1alpha1/person%73/ada' },
      status: 200,
    },
    {
      name: 'errors: a path that is not percent-encoded correctly is a 400',
      request: { path: `${persons}/%zz` },
      status: 400,
      body: { code: 'BadRequest', detail: /percent/ },
    },
    { name: 'a slash in a name is no sub-resource', request: { path: `${persons}/ada%2Fstatus` }, ...notFound },
    { name: 'a trailing slash is another path', request: { path: `${persons}/` }, ...notFound },
    {
      name: 'an empty segment is another path',
      request: { path: '/apis/demo.example.com//v1alpha1/persons' },
      ...notFound,
    },
    { name: 'an unknown model', request: { path: '/apis/demo.example.com/v1alpha1/nothings' }, ...notFound },
    { name: 'another version of a model', request: { path: '/apis/demo.example.com/v1/persons' }, ...notFound },
    { name: 'an unknown route', request: { path: '/nothing' }, ...notFound },
    { name: 'the root', request: { path: '/' }, ...notFound },
    {
      name: 'lists: an unknown query parameter is a 400 on one object too',
      request: { path: `${persons}/ada?pretty=true` },
      status: 400,
      body: { code: 'InvalidParameter', parameter: 'pretty', allowed: [] },
    },
  ],
  [ada],
);

describe('conditional requests', () => {
  const api = withApi();
  const at = `${persons}/ada`;

  test('api: If-None-Match answers 304 for the same entity tag, weak, in a list, or *', async () => {
    const etag = (await api.send(ada)).headers.get('etag')!;
    for (const header of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const reply = await api.send({ path: at, headers: { 'if-none-match': header } });
      assert.equal(reply.status, 304, header);
      assert.equal(reply.text, '');
      assert.equal(reply.headers.get('etag'), etag);
      assert.equal(reply.headers.get('content-length'), null);
    }
    for (const header of ['"x"', 'W/"x", "y"', '']) {
      assert.equal((await api.send({ path: at, headers: { 'if-none-match': header } })).status, 200, header);
    }
  });

  test('api: If-Match is honoured by PUT, PATCH and DELETE: 412 PreconditionFailed', async () => {
    const current = await api.send({ path: at });
    const etag = current.headers.get('etag')!;
    for (const request of [
      { method: 'PUT', path: at, body: current.json },
      { method: 'PATCH', path: at, body: { spec: { age: 1 } } },
      { method: 'DELETE', path: at },
    ]) {
      for (const header of ['"other"', `W/${etag}`, '"a", "b"', '']) {
        const reply = await api.send({ ...request, headers: { 'if-match': header } });
        assert.equal(reply.status, 412, `${request.method} ${header}`);
        assert.equal(reply.json.code, 'PreconditionFailed');
      }
    }
    assert.equal((await api.send({ path: at })).headers.get('etag'), etag);
    const changed = await api.send({
      method: 'PATCH',
      path: at,
      body: { spec: { age: 1 } },
      headers: { 'if-match': `"x", ${etag}` },
    });
    assert.equal(changed.status, 200);
    assert.notEqual(changed.headers.get('etag'), etag);
    assert.equal((await api.send({ method: 'DELETE', path: at, headers: { 'if-match': '*' } })).status, 200);
  });

  test('api: the entity tag differs between two incarnations of a name', async () => {
    const path = `${persons}/twin`;
    const first = await api.send({ path: persons, body: person('twin') });
    await api.send({ method: 'DELETE', path });
    const second = await api.send({ path: persons, body: person('twin') });
    assert.equal(second.json.metadata.version, 0);
    assert.notEqual(first.headers.get('etag'), second.headers.get('etag'));
  });
});

runCases(
  'PUT',
  [
    {
      name: 'spec: Generated resource API - PUT answers the updated object',
      request: {
        method: 'PUT',
        path: `${persons}/ada`,
        body: person('ada', { age: 37 }, { version: 0, labels: { 'a.example.com/x': '1' } }),
      },
      status: 200,
      revision: 2,
      body: { metadata: { version: 1, labels: { 'a.example.com/x': '1' } }, spec: { age: 37, tags: undefined } },
    },
    {
      name: 'spec: Errors - an update that carries a version other than the current one fails',
      request: { method: 'PUT', path: `${persons}/ada`, body: person('ada', { age: 38 }, { version: 0 }) },
      status: 409,
      body: { code: 'VersionConflict', currentVersion: 1 },
      then: { [`${persons}/ada`]: { spec: { age: 37 } } },
    },
    {
      name: 'api: PUT without a version checks none, without labels means none, and fills in the name',
      request: { method: 'PUT', path: `${persons}/ada`, body: { spec: { name: 'Ada', country: 'x' } } },
      status: 200,
      body: { metadata: { name: 'ada', version: 2, labels: undefined }, spec: { name: 'Ada', age: undefined } },
    },
    {
      name: 'api: a PUT that changes nothing writes nothing and answers 200',
      request: { method: 'PUT', path: `${persons}/ada`, body: { spec: { name: 'Ada', country: 'x' } } },
      status: 200,
      revision: 3,
      body: { metadata: { version: 2 } },
    },
    {
      name: "objects: a name other than the path's is a 422 at /metadata/name",
      request: { method: 'PUT', path: `${persons}/ada`, body: person('eve') },
      status: 422,
      body: { code: 'Invalid', errors: [{ pointer: '/metadata/name', field: 'metadata.name', message: /./ }] },
    },
    {
      name: 'api: PUT never creates',
      request: { method: 'PUT', path: `${persons}/nobody`, body: person('nobody') },
      ...notFound,
    },
    {
      name: 'api: PUT on the collection is not offered',
      request: { method: 'PUT', path: persons, body: {} },
      status: 405,
      headers: { allow: 'GET, HEAD, POST' },
    },
  ],
  [ada],
);

runCases(
  'PATCH',
  [
    {
      name: 'api: a merge patch (RFC 7396)',
      request: { method: 'PATCH', path: `${persons}/ada`, body: { spec: { age: null, email: 'ada@example.com' } } },
      status: 200,
      body: { metadata: { version: 1 }, spec: { age: undefined, email: 'ada@example.com', tags: ['math', 'code'] } },
    },
    {
      name: 'api: a JSON patch (RFC 6902)',
      request: {
        method: 'PATCH',
        path: `${persons}/ada`,
        body: [
          { op: 'test', path: '/spec/tags/0', value: 'math' },
          { op: 'add', path: '/spec/tags/-', value: 'x' },
        ],
      },
      status: 200,
      body: { metadata: { version: 2 }, spec: { tags: ['math', 'code', 'x'] } },
    },
    {
      name: 'api: a failed test is PatchTestFailed with the operation',
      request: {
        method: 'PATCH',
        path: `${persons}/ada`,
        body: [
          { op: 'test', path: '/spec/name', value: 'Name of ada' },
          { op: 'test', path: '/spec/name', value: 'no' },
        ],
      },
      status: 409,
      body: { code: 'PatchTestFailed', operation: 1 },
    },
    {
      name: 'api: a malformed patch is a 400',
      request: { method: 'PATCH', path: `${persons}/ada`, body: [{ op: 'jump', path: '/spec' }] },
      status: 400,
      body: { code: 'BadRequest', operation: 0 },
    },
    {
      name: 'api: a path that does not exist is a 422',
      request: { method: 'PATCH', path: `${persons}/ada`, body: [{ op: 'remove', path: '/spec/nothing' }] },
      status: 422,
      body: { code: 'Invalid', operation: 0 },
    },
    {
      name: 'api: a merge patch that is no object is a 422',
      request: {
        method: 'PATCH',
        path: `${persons}/ada`,
        body: '5',
        headers: { 'content-type': 'application/merge-patch+json' },
      },
      status: 422,
      body: { code: 'Invalid' },
    },
    {
      name: 'api: a patch of another type is a 415 with Accept-Patch',
      request: { method: 'PATCH', path: `${persons}/ada`, body: {}, headers: { 'content-type': 'application/json' } },
      status: 415,
      headers: { 'accept-patch': /^(?=.*application\/merge-patch\+json)(?=.*application\/json-patch\+json)/ },
      body: { code: 'UnsupportedMediaType' },
    },
    {
      name: 'objects: metadata.name never changes by PATCH',
      request: { method: 'PATCH', path: `${persons}/ada`, body: { metadata: { name: 'eve' } } },
      status: 422,
      body: { errors: [{ pointer: '/metadata/name' }] },
    },
    {
      name: 'api: a patch that carries another version gets the 409',
      request: { method: 'PATCH', path: `${persons}/ada`, body: { metadata: { version: 0 }, spec: { age: 1 } } },
      status: 409,
      body: { code: 'VersionConflict', currentVersion: 2 },
    },
    {
      name: 'api: a patch that changes nothing keeps the version',
      request: { method: 'PATCH', path: `${persons}/ada`, body: {} },
      status: 200,
      body: { metadata: { version: 2 } },
    },
    { name: 'of no object', request: { method: 'PATCH', path: `${persons}/nobody`, body: {} }, ...notFound },
  ],
  [ada],
);

runCases(
  'DELETE',
  [
    {
      name: 'objects: DELETE without finalizers answers the object as it was marked, and it is gone',
      request: { method: 'DELETE', path: `${persons}/ada` },
      status: 200,
      revision: 3,
      body: { metadata: { name: 'ada', version: 1, deletionTimestamp: /Z$/ } },
      then: { [`${persons}/ada`]: null },
    },
    {
      name: 'objects: with finalizers the object stays, readable and listed',
      request: { method: 'DELETE', path: `${persons}/held` },
      status: 200,
      body: { metadata: { deletionTimestamp: /Z$/, finalizers: ['x.example.com/a'] } },
      then: {
        [`${persons}/held`]: { metadata: { deletionTimestamp: /Z$/ } },
        [persons]: { items: [{ metadata: { name: 'held' } }] },
      },
    },
    {
      name: 'objects: a second DELETE changes nothing',
      request: { method: 'DELETE', path: `${persons}/held` },
      status: 200,
      body: { metadata: { version: 1 } },
    },
    {
      name: 'objects: another change of a deleting object is Deleting',
      request: { method: 'PATCH', path: `${persons}/held`, body: { spec: { age: 3 } } },
      status: 409,
      body: { code: 'Deleting' },
    },
    {
      name: 'objects: the update that removes the last finalizer reclaims it',
      request: { method: 'PATCH', path: `${persons}/held`, body: { metadata: { finalizers: [] } } },
      status: 200,
      body: { metadata: { name: 'held' } },
      then: { [`${persons}/held`]: null },
    },
    { name: 'of no object', request: { method: 'DELETE', path: `${persons}/nobody` }, ...notFound },
    {
      name: 'DELETE on the collection is not offered',
      request: { method: 'DELETE', path: persons },
      status: 405,
      headers: { allow: 'GET, HEAD, POST' },
    },
  ],
  [ada, { path: persons, body: person('held', {}, { finalizers: ['x.example.com/a'] }) }],
);

runCases('the status sub-resource', [
  {
    name: 'api: POST drops the status of a model with the sub-resource',
    request: { path: jobs, body: { metadata: { name: 'j' }, spec: { command: 'run' }, status: { phase: 'x' } } },
    status: 201,
    body: { status: undefined },
  },
  {
    name: 'api: PUT on /status changes the status and nothing else',
    request: {
      method: 'PUT',
      path: `${jobs}/j/status`,
      body: { spec: { command: 'other' }, status: { phase: 'Running' } },
    },
    status: 200,
    body: { metadata: { version: 1 }, spec: { command: 'run' }, status: { phase: 'Running' } },
  },
  {
    name: 'api: PATCH on /status',
    request: { method: 'PATCH', path: `${jobs}/j/status`, body: { status: { tries: 2 } } },
    status: 200,
    body: { status: { phase: 'Running', tries: 2 } },
  },
  {
    name: 'api: the main routes leave the status alone',
    request: { method: 'PUT', path: `${jobs}/j`, body: { spec: { command: 'more' }, status: { phase: 'Gone' } } },
    status: 200,
    body: { spec: { command: 'more' }, status: { phase: 'Running', tries: 2 } },
  },
  {
    name: 'api-description: GET on /status',
    request: { path: `${jobs}/j/status` },
    status: 200,
    body: { status: { phase: 'Running' } },
  },
  {
    name: 'DELETE on /status is not offered',
    request: { method: 'DELETE', path: `${jobs}/j/status` },
    status: 405,
    headers: { allow: 'GET, HEAD, PUT, PATCH' },
  },
  {
    name: 'api: a bad status is a 422 with its pointer',
    request: { method: 'PUT', path: `${jobs}/j/status`, body: { spec: { command: 'x' }, status: { tries: 'many' } } },
    status: 422,
    body: { errors: [{ pointer: '/status/tries', keyword: 'type' }] },
  },
  {
    name: 'api: 404 on models without the sub-resource',
    request: { method: 'PUT', path: `${persons}/ada/status`, body: {} },
    ...notFound,
  },
  { name: 'another sub-resource', request: { path: `${jobs}/j/scale` }, ...notFound },
]);

describe('models come and go', () => {
  test('issue 2: the generated routes appear and disappear with registration', async (t) => {
    const { Api, Person: model } = await import('./harness.ts');
    const { Scheme } = await import('../../src/model/scheme.ts');
    const api = new Api();
    await api.start(() => {});
    t.after(() => api.stop());
    assert.equal((await api.send({ path: persons })).status, 404);
    api.service.schemeManager.register(model);
    await api.service.client.count(model);
    assert.equal((await api.send({ path: persons, body: person('ada') })).status, 201);
    api.service.schemeManager.unregister(Scheme.buildFromType(model));
    assert.equal((await api.send({ path: `${persons}/ada` })).status, 404);
    api.service.schemeManager.register(model);
    await api.service.client.count(model);
    assert.equal((await api.send({ path: `${persons}/ada` })).status, 200);
  });
});

describe('the list envelope', () => {
  const api = withApi();

  test('api: page, size, total, items, first, last, hasNext, hasPrevious, totalPages, exactly', async () => {
    const empty = await api.send({ path: persons });
    assert.deepEqual(Object.keys(empty.json), envelope);
    assert.deepEqual(empty.json, {
      page: 1,
      size: 20,
      total: 0,
      items: [],
      first: true,
      last: true,
      hasNext: false,
      hasPrevious: false,
      totalPages: 0,
    });
    for (const name of ['a', 'b', 'c', 'd', 'e']) await api.send({ path: persons, body: person(name) });
    const pages: [string, object, string[]][] = [
      [
        'page=1&size=2',
        { page: 1, first: true, last: false, hasNext: true, hasPrevious: false, totalPages: 3 },
        ['a', 'b'],
      ],
      [
        'page=2&size=2',
        { page: 2, first: false, last: false, hasNext: true, hasPrevious: true, totalPages: 3 },
        ['c', 'd'],
      ],
      ['page=3&size=2', { page: 3, first: false, last: true, hasNext: false, hasPrevious: true, totalPages: 3 }, ['e']],
      ['page=9&size=2', { page: 9, first: false, last: true, hasNext: false, hasPrevious: true, totalPages: 3 }, []],
      [
        'page=1&size=5',
        { page: 1, first: true, last: true, hasNext: false, hasPrevious: false, totalPages: 1 },
        ['a', 'b', 'c', 'd', 'e'],
      ],
    ];
    for (const [query, flags, names] of pages) {
      const { json, headers } = await api.send({ path: `${persons}?sort=metadata.name&${query}` });
      const { items, size: _size, total, ...rest } = json;
      assert.deepEqual(rest, flags, query);
      assert.equal(total, 5);
      assert.deepEqual(
        items.map((item: { metadata: { name: string } }) => item.metadata.name),
        names,
        query,
      );
      assert.equal(Number(headers.get('kindred-revision')), api.firstRevision + 5);
    }
  });

  test('api: the items are the stored bytes', async () => {
    const one = await api.send({ path: `${persons}/a` });
    const list = await api.send({ path: `${persons}?fieldSelector=name=a` });
    assert.ok(list.text.includes(`"items":[${one.text}]`));
  });

  test('api: HEAD of a list', async () => {
    const reply = await api.send({ path: persons, method: 'HEAD' });
    const { text } = await api.send({ path: persons });
    assert.equal(reply.status, 200);
    assert.equal(Number(reply.headers.get('content-length')), Buffer.byteLength(text));
    assert.equal(reply.text, '');
  });
});
