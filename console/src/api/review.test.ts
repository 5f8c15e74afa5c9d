import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reviewOf } from './review.ts';

test('a request gives the verb, type and name that it needs', () => {
  const of = (method: string, path: string) => reviewOf(method, new URL(path, 'http://localhost'));
  const type = 'books.library.example.com';
  const books = '/apis/library.example.com/v1alpha1/books';
  assert.deepEqual(of('GET', `${books}?size=20`), { verb: 'list', type });
  assert.deepEqual(of('GET', `${books}?watch=true`), { verb: 'watch', type });
  assert.deepEqual(of('GET', `${books}?explain=true`), { verb: 'explain', type });
  assert.deepEqual(of('GET', `${books}/emma`), { verb: 'get', type, name: 'emma' });
  assert.deepEqual(of('POST', books), { verb: 'create', type });
  assert.deepEqual(of('PUT', `${books}/emma/status`), { verb: 'update', type: `${type}/status`, name: 'emma' });
  const inNamespace = '/apis/library.example.com/v1alpha1/namespaces/north/books/emma';
  assert.deepEqual(of('PATCH', inNamespace), { verb: 'patch', type, name: 'emma', namespace: 'north' });
  assert.deepEqual(of('DELETE', '/api/v1alpha1/users/ada'), { verb: 'delete', type: 'users', name: 'ada' });
  assert.deepEqual(of('GET', '/api/v1/namespaces/north'), { verb: 'get', type: 'namespaces', name: 'north' });
  assert.deepEqual(of('GET', '/v3/audit?limit=20'), { verb: 'get', path: '/v3/audit' });
});
