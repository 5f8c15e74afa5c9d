import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergePatched, operationsBetween } from './merge.ts';

/** The examples of RFC 7396, appendix A. */
const merges: [before: unknown, patch: unknown, after: unknown][] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];
for (const [before, patch, after] of merges) {
  test(`a merge patch: ${JSON.stringify(before)} with ${JSON.stringify(patch)}`, () => {
    assert.deepEqual(mergePatched(before, patch), after);
  });
}

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
