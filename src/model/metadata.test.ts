import assert from 'node:assert/strict';
import { test } from 'node:test';
import { annotationsLimit, checkMetadata, checkReservedKeys } from './metadata.ts';
import type { Metadata } from './object.ts';

const found = (metadata: unknown): string[] =>
  checkMetadata(metadata).listed.map(({ pointer, keyword }) => `${pointer} ${keyword}`);

test('spec: Metadata - name is checked by the naming rules', () => {
  assert.deepEqual(found({ name: 'a-1' }), []);
  assert.deepEqual(found({ name: 'A' }), ['/metadata/name pattern']);
  assert.deepEqual(found({ name: 'a'.repeat(254) }), ['/metadata/name maxLength']);
  assert.deepEqual(found({ name: 7 }), ['/metadata/name type']);
  assert.deepEqual(found({ name: '' }), ['/metadata/name pattern']);
});

test('objects: neither name nor generateName is a violation of /metadata/name, no metadata one of /metadata', () => {
  assert.deepEqual(found({}), ['/metadata/name required']);
  assert.deepEqual(found({ name: null }), ['/metadata/name required']);
  assert.deepEqual(found(undefined), ['/metadata required']);
  assert.deepEqual(found([]), ['/metadata type']);
  assert.equal(checkMetadata({}, { nameRequired: false }).count, 0);
});

test('objects: generateName leaves room for 8 characters; an empty name beside it counts as absent', () => {
  assert.deepEqual(found({ generateName: 'a-', name: '' }), []);
  assert.deepEqual(found({ generateName: `${'a'.repeat(245)}` }), []);
  assert.deepEqual(found({ generateName: `${'a'.repeat(246)}` }), ['/metadata/generateName maxLength']);
  for (const generateName of ['-a', 'A', 'a.b', '']) {
    assert.deepEqual(found({ generateName }), ['/metadata/generateName pattern'], generateName);
  }
});

test('objects: null for any member of metadata counts as absent', () => {
  const nulls = {
    creationTimestamp: null,
    deletionTimestamp: null,
    version: null,
    finalizers: null,
    labels: null,
    annotations: null,
  };
  assert.deepEqual(found({ name: 'a', generateName: null, ...nulls }), []);
});

test('objects: metadata is closed, a member that is unknown is named, __proto__ too', () => {
  assert.deepEqual(found(JSON.parse('{"name":"a","nam/e":1,"__proto__":{}}')), [
    '/metadata/nam~1e additionalProperties',
    '/metadata/__proto__ additionalProperties',
  ]);
});

test('spec: Metadata - version is an integer, timestamps are texts', () => {
  assert.deepEqual(found({ name: 'a', version: 0, creationTimestamp: 'x' }), []);
  for (const version of ['1', 1.5, -1, 2 ** 53])
    assert.deepEqual(found({ name: 'a', version }), ['/metadata/version type']);
  assert.deepEqual(found({ name: 'a', creationTimestamp: 1, deletionTimestamp: {} }), [
    '/metadata/creationTimestamp type',
    '/metadata/deletionTimestamp type',
  ]);
});

test('spec: Metadata - finalizers are strings of at most 253 characters', () => {
  assert.deepEqual(found({ name: 'a', finalizers: ['x', 'y'.repeat(253), 'x'] }), []);
  assert.deepEqual(found({ name: 'a', finalizers: ['', 1, 'y'.repeat(254)] }), [
    '/metadata/finalizers/0 minLength',
    '/metadata/finalizers/1 type',
    '/metadata/finalizers/2 maxLength',
  ]);
  assert.deepEqual(found({ name: 'a', finalizers: 'x' }), ['/metadata/finalizers type']);
});

test('spec: Metadata - labels and annotations map strings to strings, bad keys and values at their pointers', () => {
  assert.deepEqual(found({ name: 'a', labels: { 'a.b/c': 'x', d: '' }, annotations: { e: ' any text ' } }), []);
  assert.deepEqual(
    found({
      name: 'a',
      labels: { 'A/c': 'x', d: 'a b', e: 1, f: 'x'.repeat(64) },
      annotations: { 'g h': 'x', i: null },
    }),
    [
      '/metadata/labels/A~1c pattern',
      '/metadata/labels/d pattern',
      '/metadata/labels/e type',
      '/metadata/labels/f maxLength',
      '/metadata/annotations/g h pattern',
      '/metadata/annotations/i type',
    ],
  );
  assert.deepEqual(found({ name: 'a', labels: [], annotations: 'x' }), [
    '/metadata/labels type',
    '/metadata/annotations type',
  ]);
});

test('objects: annotations have at most 256 KiB together', () => {
  assert.deepEqual(found({ name: 'a', annotations: { a: 'x'.repeat(annotationsLimit - 1) } }), []);
  assert.deepEqual(found({ name: 'a', annotations: { a: 'ä'.repeat(annotationsLimit / 2) } }), [
    '/metadata/annotations maxLength',
  ]);
});

const keys = (
  origin: 'http' | 'plugin' | 'host',
  labels: Record<string, string>,
  stored?: Record<string, string>,
): string[] =>
  checkReservedKeys(
    { name: 'a', labels } as Metadata,
    stored && ({ name: 'a', labels: stored } as Metadata),
    origin,
    'platform.run',
  ).listed.map(({ pointer, keyword }) => `${pointer} ${keyword}`);

test('spec: Naming rules - keys without a prefix and keys with reserved prefixes must not be used by plugins', () => {
  const labels = {
    plain: 'x',
    'platform.run/a': 'x',
    'a.platform.run/b': 'x',
    'demo.example.com/c': 'x',
    'myplatform.run/d': 'x',
  };
  assert.deepEqual(keys('plugin', labels), [
    '/metadata/labels/plain reserved',
    '/metadata/labels/platform.run~1a reserved',
    '/metadata/labels/a.platform.run~1b reserved',
  ]);
  assert.deepEqual(keys('http', labels), [
    '/metadata/labels/platform.run~1a reserved',
    '/metadata/labels/a.platform.run~1b reserved',
  ]);
  assert.deepEqual(keys('host', labels), []);
});

test('objects: reserved keys that are stored pass unchanged and may be removed, a change is refused', () => {
  const stored = { 'platform.run/a': 'x', plain: 'y' };
  assert.deepEqual(keys('plugin', stored, stored), []);
  assert.deepEqual(keys('plugin', {}, stored), []);
  assert.deepEqual(keys('plugin', { 'platform.run/a': 'z', plain: 'z' }, stored), [
    '/metadata/labels/platform.run~1a reserved',
    '/metadata/labels/plain reserved',
  ]);
});

test('objects: exempt reserved keys are open to all callers', () => {
  const exempt = {
    'platform.run/do-not-overwrite': 'true',
    'rbac.platform.run/dependencies': 'x',
    'rbac.platform.run/aggregate-to-viewer': 'true',
    'rbac.platform.run/role-template': 'true',
    'kube.platform.run/indexes': '[]',
  };
  assert.deepEqual(keys('plugin', exempt), []);
  assert.deepEqual(keys('http', exempt), []);
  assert.deepEqual(
    keys('http', {
      'kube.platform.run/other': 'x',
      'plugin.platform.run/plugin-name': 'x',
      'rbac.platform.run/other': 'x',
    }),
    [
      '/metadata/labels/kube.platform.run~1other reserved',
      '/metadata/labels/plugin.platform.run~1plugin-name reserved',
      '/metadata/labels/rbac.platform.run~1other reserved',
    ],
  );
});
