import assert from 'node:assert/strict';
import { it } from 'node:test';
import { checkDeleting, createdMetadata, onlyFinalizersWent, updatedMetadata } from './lifecycle.ts';

const stored = { name: 'a', creationTimestamp: '2026-01-01T00:00:00.000Z', version: 3, finalizers: ['x', 'y'] };
const object = { apiVersion: 'v1', kind: 'K', metadata: stored, spec: { a: 1 } };

it('objects: finalizers are a set: duplicates collapse, another order is no change', () => {
  assert.deepEqual(createdMetadata({ name: 'a', finalizers: ['x', 'y', 'x'] }, 'a', 0).finalizers, ['x', 'y']);
  assert.deepEqual(updatedMetadata({ name: 'a', finalizers: ['y', 'x', 'y'] }, stored).finalizers, ['x', 'y']);
  assert.deepEqual(updatedMetadata({ name: 'a', finalizers: ['y', 'z'] }, stored).finalizers, ['y', 'z']);
  assert.equal(updatedMetadata({ name: 'a' }, stored).finalizers, undefined);
});

it('objects: creationTimestamp and version of a client are ignored at creation, carried over at an update', () => {
  const client = { name: 'a', creationTimestamp: '1999-01-01T00:00:00.000Z', version: 9 };
  assert.deepEqual(createdMetadata(client, 'a', 0), {
    name: 'a',
    creationTimestamp: '1970-01-01T00:00:00.000Z',
    version: 0,
  });
  assert.deepEqual(updatedMetadata(client, stored), {
    name: 'a',
    creationTimestamp: stored.creationTimestamp,
    version: 3,
  });
});

it('objects: losing finalizers alone is told apart from any other change', () => {
  const without = (finalizers: string[], more = {}) => ({ ...object, ...more, metadata: { ...stored, finalizers } });
  assert.equal(onlyFinalizersWent(object, without(['x'])), true);
  assert.equal(onlyFinalizersWent(object, without(['z'])), false);
  assert.equal(onlyFinalizersWent(object, without(['x'], { spec: { a: 2 } })), false);
  assert.equal(onlyFinalizersWent(object, object), false);
});

it('objects: while deleting, finalizers are not added and the spec does not change; status, labels and annotations may', () => {
  const deleting = { ...object, metadata: { ...stored, deletionTimestamp: '2026-01-02T00:00:00.000Z' } };
  const change = (more: object, metadata = {}) => ({
    ...deleting,
    ...more,
    metadata: { ...deleting.metadata, ...metadata },
  });
  assert.throws(() => checkDeleting(deleting, change({}, { finalizers: ['x', 'y', 'z'] })), { code: 'Deleting' });
  // As many as before, but one of them is another.
  assert.throws(() => checkDeleting(deleting, change({}, { finalizers: ['x', 'z'] })), { code: 'Deleting' });
  checkDeleting(deleting, change({}, { finalizers: ['y', 'x'] }));
  assert.throws(() => checkDeleting(deleting, change({ spec: { a: 2 } })), { code: 'Deleting' });
  checkDeleting(
    deleting,
    change({ status: { done: true } }, { labels: { a: 'b' }, annotations: { c: 'd' }, finalizers: [] }),
  );
});
