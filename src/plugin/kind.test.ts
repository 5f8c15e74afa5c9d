import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modelStateName } from './kind.ts';

test('the state of a model is named as its CustomResourceDefinition would be, however long its group is', () => {
  assert.equal(modelStateName('persons', 'demo.example.com'), 'persons.demo.example.com');
  assert.equal(modelStateName('users', ''), 'users');
  const long = (end: string) => modelStateName('persons', `${'a'.repeat(60)}.${'b'.repeat(60)}.`.repeat(2) + end);
  assert.match(long('com'), /^persons\.[0-9a-f]{64}$/);
  assert.notEqual(long('com'), long('org'));
});
