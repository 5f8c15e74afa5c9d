import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiVersionOf, qualified, resourcePath } from './path.ts';

const of = (path: string) => resourcePath(path.slice(1).split('/'));

test('paths of cluster-scoped objects, collections and sub-resources', () => {
  const at = { group: 'g.io', version: 'v1', plural: 'widgets' };
  assert.deepEqual(of('/apis/g.io/v1/widgets'), at);
  assert.deepEqual(of('/apis/g.io/v1/widgets/a'), { ...at, name: 'a' });
  assert.deepEqual(of('/apis/g.io/v1/widgets/a/status'), { ...at, name: 'a', sub: 'status' });
  assert.deepEqual(of('/api/v1/nodes/a'), { group: '', version: 'v1', plural: 'nodes', name: 'a' });
});

test('paths within a namespace', () => {
  const at = { group: 'g.io', version: 'v1', namespace: 'team', plural: 'widgets' };
  assert.deepEqual(of('/apis/g.io/v1/namespaces/team/widgets'), at);
  assert.deepEqual(of('/apis/g.io/v1/namespaces/team/widgets/a/scale'), { ...at, name: 'a', sub: 'scale' });
});

test('a namespace itself', () => {
  const at = { group: '', version: 'v1', plural: 'namespaces' };
  assert.deepEqual(of('/api/v1/namespaces'), at);
  assert.deepEqual(of('/api/v1/namespaces/team'), { ...at, name: 'team' });
  assert.deepEqual(of('/api/v1/namespaces/team/status'), { ...at, name: 'team', sub: 'status' });
  assert.deepEqual(of('/api/v1/namespaces/team/finalize'), { ...at, name: 'team', sub: 'finalize' });
  assert.deepEqual(of('/api/v1/namespaces/team/pods'), { group: '', version: 'v1', namespace: 'team', plural: 'pods' });
});

test('what is no path of a resource', () => {
  for (const path of ['/apis', '/apis/g.io', '/apis/g.io/v1', '/api/v1', '/other/v1/pods', '/apis//v1/pods']) {
    assert.equal(of(path), undefined, path);
  }
  assert.equal(of('/apis/g.io/v1/widgets/'), undefined);
  assert.equal(of('/apis/g.io/v1/widgets/a/status/more'), undefined);
  assert.equal(of('/apis/g.io/v1/namespaces/team/widgets/a/status/more'), undefined);
});

test('names with their group', () => {
  assert.equal(qualified('widgets', 'g.io'), 'widgets.g.io');
  assert.equal(qualified('pods', ''), 'pods');
  assert.equal(apiVersionOf('g.io', 'v1'), 'g.io/v1');
  assert.equal(apiVersionOf('', 'v1'), 'v1');
});
