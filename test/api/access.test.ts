import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Request } from './harness.ts';
import { check, notes, person, persons, withApi } from './harness.ts';

describe('permissions are checked before existence', () => {
  const api = withApi({ auth: {} });
  const withToken = (request: Request): Request => ({
    ...request,
    headers: { ...request.headers, authorization: `Bearer ${api.token}` },
  });
  const requests: readonly Request[] = [
    { path: persons },
    { path: `${persons}?size=0` },
    { path: `${persons}?watch=true` },
    { path: persons, method: 'HEAD' },
    { path: `${persons}/ada` },
    { path: `${persons}/ada/status` },
    { path: persons, body: '{' },
    { path: persons, body: '{', headers: { 'content-type': 'text/plain' } },
    { path: persons, body: '{}', headers: { 'content-type': 'application/x-ndjson' } },
    { path: `${persons}/ada`, method: 'PUT', body: {} },
    { path: `${persons}/ada`, method: 'PATCH', body: {} },
    { path: `${persons}/ada`, method: 'DELETE' },
    { path: `${persons}/ada`, method: 'PROPFIND' },
    { path: notes },
    { path: '/apis/none.example.com/v1/nothings/x' },
    { path: '/nothing' },
    { path: '/apis' },
    { path: '/apis/demo.example.com/v1alpha1' },
    { path: '/v3/api-docs' },
    { path: '/v3/api-docs/apis_aggregated.api_v1alpha1' },
    { path: '/metrics' },
  ];

  for (const request of requests) {
    test(`permissions: without a token a 401, before anything else: ${request.method ?? (request.body === undefined ? 'GET' : 'POST')} ${request.path}`, async () => {
      const reply = await api.send(request);
      check(reply, { status: 401, headers: { 'www-authenticate': /^Bearer/ } });
      if (request.method !== 'HEAD') assert.equal(reply.json.code, 'Unauthenticated');
    });
  }

  test('errors: a wrong token is a 401 too', async () => {
    const reply = await api.send({ path: persons, headers: { authorization: 'Bearer nonsense' } });
    check(reply, { status: 401, headers: { 'www-authenticate': /^Bearer/ }, body: { code: 'Unauthenticated' } });
  });

  test('permissions: anonymous are /livez, the status of /readyz, and the page of the API', async () => {
    check(await api.send({ path: '/livez' }), { status: 200 });
    const ready = await api.send({ path: '/readyz' });
    check(ready, { status: 200 });
    assert.deepEqual(ready.json, { status: 'ready' });
    check(await api.send({ path: '/swagger-ui.html' }), { status: 200 });
    assert.deepEqual((await api.send({ path: '/readyz', headers: { authorization: 'Bearer wrong' } })).json, {
      status: 'ready',
    });
  });

  test('command-line: /readyz in full for those who may see it', async () => {
    const ready = await api.send(withToken({ path: '/readyz' }));
    assert.deepEqual(Object.keys(ready.json), ['status', 'models', 'plugins']);
  });

  test('permissions: with a token the routes answer, and what is not there is a 404', async () => {
    check(await api.send(withToken({ path: persons, body: person('ada') })), { status: 201 });
    check(await api.send(withToken({ path: persons })), { status: 200, names: ['ada'] });
    check(await api.send(withToken({ path: '/nothing' })), { status: 404 });
    check(await api.send(withToken({ path: '/metrics' })), { status: 200 });
  });

  test('permissions: without the right a 403 before 404, 400 and 415; with resourceNames a list holds the named objects alone', async () => {
    const admin = (request: Request) => api.send(withToken(request));
    const rules = [
      { apiGroups: ['demo.example.com'], resources: ['persons'], resourceNames: ['ada'], verbs: ['list', 'get'] },
    ];
    for (const request of [
      { path: persons, body: person('bob') },
      { path: '/api/v1alpha1/users', body: { metadata: { name: 'reader' }, spec: { displayName: 'Reader' } } },
      { path: '/api/v1alpha1/roles', body: { metadata: { name: 'one-person' }, rules } },
      {
        path: '/api/v1alpha1/rolebindings',
        body: {
          metadata: { name: 'reader' },
          roleRef: { kind: 'Role', name: 'one-person' },
          subjects: [{ kind: 'User', name: 'reader' }],
        },
      },
    ]) {
      const reply = await admin(request);
      assert.equal(reply.status, 201, reply.text);
    }
    const made = await admin({
      path: '/api/v1alpha1/personalaccesstokens',
      body: { metadata: { generateName: 'reader-' }, spec: { user: 'reader' } },
    });
    assert.equal(made.status, 201, made.text);
    const headers = { authorization: `Bearer ${made.json.status.token}` };
    const as = (request: Request) => api.send({ ...request, headers: { ...request.headers, ...headers } });
    check(await as({ path: persons }), { status: 200, names: ['ada'], body: { total: 1 } });
    check(await as({ path: `${persons}?fieldSelector=name=bob` }), { status: 200, names: [], body: { total: 0 } });
    assert.equal((await as({ path: persons, headers: { accept: 'application/x-ndjson' } })).text.split('\n').length, 2);
    check(await as({ path: `${persons}/ada` }), { status: 200 });
    const forbidden = { status: 403, body: { code: 'Forbidden' } };
    for (const request of [
      { path: `${persons}/bob` },
      { path: `${persons}/nobody` },
      { path: `${persons}?explain=true` },
      { path: `${persons}?watch=true` },
      { path: `${notes}?size=0` },
      { path: persons, body: '{' },
      { path: persons, body: '{', headers: { 'content-type': 'text/plain' } },
      { path: '/nothing' },
      { path: '/metrics' },
    ]) {
      check(await as(request), forbidden);
    }
  });
});
