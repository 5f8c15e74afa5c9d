import assert from 'node:assert/strict';
import { test } from 'node:test';
import { childrenOf, rootsOf } from './schema-tree.ts';

test('console: a schema is described without JSON: what is closed, read or written only, and each schema that it combines', () => {
  const schema = {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        additionalProperties: false,
        unevaluatedProperties: false,
        properties: {
          id: { type: 'string', readOnly: true },
          key: { type: 'string', writeOnly: true, readOnly: false },
          tags: { type: 'array', uniqueItems: false, contains: { const: 'new' }, minContains: 2 },
        },
        patternProperties: { '^x-': { type: 'string' } },
        dependentRequired: { card: ['address', 'owner'] },
        dependentSchemas: { card: { required: ['bank'] } },
        not: { required: ['id', 'key'] },
        if: { required: ['key'] },
        // biome-ignore lint/suspicious/noThenProperty: the keyword
        then: { required: ['tags'] },
        propertyNames: { maxLength: 8 },
      },
    },
  };
  const [spec] = rootsOf(schema);
  assert.deepEqual(spec!.constraints, [
    { keyword: 'closed', value: '' },
    { keyword: 'dependentRequired', value: 'card: address, owner' },
  ]);
  const children = childrenOf(spec!, schema);
  assert.deepEqual(
    children.map(({ kind, name, constraints }) => [kind, name, constraints.map(({ keyword }) => keyword).join(' ')]),
    [
      ['member', 'id', 'readOnly'],
      ['member', 'key', 'writeOnly'],
      ['member', 'tags', 'minContains'],
      ['values', '^x-', ''],
      ['branch', 'not', 'required'],
      ['branch', 'if', 'required'],
      ['branch', 'then', 'required'],
      ['branch', 'propertyNames', 'maxLength'],
      ['beside', 'card', 'required'],
    ],
  );
  assert.deepEqual(
    childrenOf(children[2]!, schema).map(({ name }) => name),
    ['contains'],
  );
});
