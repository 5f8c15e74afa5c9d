import assert from 'node:assert/strict';
import { test } from 'node:test';
import { strategicMerge } from './strategic-merge.ts';

const owner = (uid: string, more: object = {}) => ({ uid, name: uid, ...more });

const cases: [what: string, target: object, patch: object, result: object][] = [
  ['members', { data: { a: '1', b: '2' } }, { data: { a: '3', c: '4' } }, { data: { a: '3', b: '2', c: '4' } }],
  ['null takes a member away', { data: { a: '1', b: '2' } }, { data: { a: null } }, { data: { b: '2' } }],
  ['null of what is not there', {}, { data: { a: null, b: '2' } }, { data: { b: '2' } }],
  ['an object for a value', { series: null }, { series: { count: 2 } }, { series: { count: 2 } }],
  ['$patch: replace', { data: { a: '1', b: '2' } }, { data: { $patch: 'replace', c: '3' } }, { data: { c: '3' } }],
  ['$patch: delete', { data: { a: '1' } }, { data: { $patch: 'delete' } }, { data: {} }],
  ['$patch: merge', { data: { a: '1' } }, { data: { $patch: 'merge', b: '2' } }, { data: { a: '1', b: '2' } }],
  [
    '$retainKeys',
    { data: { a: '1', b: '2' } },
    { data: { $retainKeys: ['b', 'c'], c: '3' } },
    { data: { b: '2', c: '3' } },
  ],
  [
    'a list is replaced',
    { spec: { finalizers: ['a'] } },
    { spec: { finalizers: ['b'] } },
    { spec: { finalizers: ['b'] } },
  ],
  [
    'finalizers are a set',
    { metadata: { finalizers: ['a', 'b'] } },
    { metadata: { finalizers: ['b', 'c'], '$setElementOrder/finalizers': ['c', 'a', 'b'] } },
    { metadata: { finalizers: ['a', 'b', 'c'] } },
  ],
  [
    'a value of a set goes',
    { metadata: { finalizers: ['a', 'b'] } },
    { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'], '$setElementOrder/finalizers': ['b'] } },
    { metadata: { finalizers: ['b'] } },
  ],
  [
    'owners are told apart by their uid',
    { metadata: { ownerReferences: [owner('1'), owner('2')] } },
    { metadata: { ownerReferences: [{ uid: '2', controller: true }, owner('3')] } },
    { metadata: { ownerReferences: [owner('1'), owner('2', { controller: true }), owner('3')] } },
  ],
  [
    'an owner goes',
    { metadata: { ownerReferences: [owner('1'), owner('2')] } },
    { metadata: { ownerReferences: [{ uid: '1', $patch: 'delete' }] } },
    { metadata: { ownerReferences: [owner('2')] } },
  ],
  [
    'all owners are others',
    { metadata: { ownerReferences: [owner('1')] } },
    { metadata: { ownerReferences: [{ $patch: 'replace' }, owner('2')] } },
    { metadata: { ownerReferences: [owner('2')] } },
  ],
];

for (const [what, target, patch, result] of cases) {
  test(what, () => {
    const before = structuredClone(target);
    assert.deepEqual(strategicMerge(target, patch), result);
    assert.deepEqual(target, before);
  });
}

test('a member named __proto__ is one like any other', () => {
  const result = strategicMerge({}, JSON.parse('{"data":{"__proto__":{"x":"y"}}}')) as { data: object };
  assert.equal(Object.getPrototypeOf(result.data), Object.prototype);
  assert.deepEqual(Object.keys(result.data), ['__proto__']);
});

test('what is no patch is refused', () => {
  for (const patch of [[], 7, null, { data: { $patch: 'mix' } }, { metadata: { ownerReferences: [{}] } }]) {
    assert.throws(() => strategicMerge({}, patch), { code: 'BadRequest' });
  }
});
