import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JsonPath } from './jsonpath.ts';

const object = {
  spec: { replicas: 3, 'a.b': 'dotted', list: ['x', 'y', { z: 1 }] },
  status: {
    conditions: [
      { type: 'Ready', status: 'True', code: 7, fine: true },
      { type: 'Old', status: 'False', code: 8, fine: false },
    ],
  },
};

const cases: [string, unknown[]][] = [
  ['.spec.replicas', [3]],
  ['{.spec.replicas}', [3]],
  ["['spec']['a.b']", ['dotted']],
  ['.spec.a\\.b', ['dotted']],
  ['.spec.list[0]', ['x']],
  ['.spec.list[-1].z', [1]],
  ['.spec.list[9]', []],
  ['.status.conditions[*].type', ['Ready', 'Old']],
  ['.status.conditions[?(@.type=="Ready")].status', ['True']],
  [".status.conditions[?(@.type!='Ready')].status", ['False']],
  ['.status.conditions[?(@.code==8)].type', ['Old']],
  ['.status.conditions[?(@.fine==true)].type', ['Ready']],
  ['.spec.none.more', []],
  ['.spec.constructor', []],
];

for (const [path, expected] of cases) {
  test(`the JSONPath ${path}`, () => assert.deepEqual(JsonPath.parse(path)?.values(object), expected));
}

test('what is no JSONPath of a column', () => {
  for (const path of ['', 'spec', '.', '..a', '.a[', '.a[?(@.b)]', '{.a} and {.b}']) {
    assert.equal(JsonPath.parse(path), undefined, path);
  }
});
