import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operationsBetween } from './merge.ts';

const changes: [before: unknown, after: unknown, operations: object[]][] = [
  [{ a: 1 }, { a: 1 }, []],
  [{ a: 1, b: 2 }, { b: 2 }, [{ op: 'remove', path: '/a' }]],
  [{ a: 1 }, { a: null }, [{ op: 'replace', path: '/a', value: null }]],
  [{ a: {} }, { a: { 'b/c~d': 1 } }, [{ op: 'add', path: '/a/b~1c~0d', value: 1 }]],
  [{ a: [1, 2] }, { a: [1, 3] }, [{ op: 'replace', path: '/a', value: [1, 3] }]],
  [{ a: { b: { c: 1 } } }, { a: { b: { c: 2 } } }, [{ op: 'replace', path: '/a/b/c', value: 2 }]],
  [{ a: [1] }, { a: { b: 1 } }, [{ op: 'replace', path: '/a', value: { b: 1 } }]],
];
for (const [before, after, operations] of changes) {
  test(`the operations between ${JSON.stringify(before)} and ${JSON.stringify(after)}`, () => {
    assert.deepEqual(operationsBetween(before, after), operations);
  });
}
