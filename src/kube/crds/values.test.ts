import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { atOnce } from '../../runtime/parts.ts';
import { DefinitionMistakes, FieldPath } from './path.ts';
import { readStructural } from './structural.ts';
import { pruneUnknown, setDefaults } from './values.ts';

const names = ['a', 'b', 'c', '__proto__'];

const { schema: schemas, value: values } = fc.letrec<{ schema: any; value: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    fc.record(
      { type: fc.constant('integer'), default: fc.integer(), nullable: fc.boolean() },
      { requiredKeys: ['type'] },
    ),
    fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(fc.constantFrom(...names), tie('schema'), { maxKeys: 3 }),
        // What a default lacks comes from those below it.
        default: fc.constant({}),
        nullable: fc.boolean(),
        'x-kubernetes-preserve-unknown-fields': fc.constant(true),
      },
      { requiredKeys: ['type'] },
    ),
    fc.record({ type: fc.constant('object'), additionalProperties: fc.oneof(fc.constant(true), tie('schema')) }),
    fc.record(
      { type: fc.constant('array'), items: tie('schema'), default: fc.constant([]) },
      { requiredKeys: ['type', 'items'] },
    ),
  ),
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, 1, 'x', true),
    fc.dictionary(fc.constantFrom(...names, 'd'), tie('value'), { maxKeys: 4 }),
    fc.array(tie('value'), { maxLength: 3 }),
  ),
}));

test('a value that was pruned and has its defaults is pruned and gets nothing again', () => {
  fc.assert(
    fc.property(schemas, values, (schema, given) => {
      const mistakes = new DefinitionMistakes();
      const structural = atOnce(readStructural(schema, FieldPath.of('schema'), mistakes));
      const value = structuredClone(given);
      pruneUnknown(value, structural);
      setDefaults(value, structural);
      const once = JSON.stringify(value);
      assert.deepEqual(pruneUnknown(value, structural), []);
      setDefaults(value, structural);
      assert.equal(JSON.stringify(value), once);
    }),
    { numRuns: 2_000 },
  );
});

test('null counts as absent where it is not allowed, but for items of lists', () => {
  const integer = { type: 'integer' };
  const schema = {
    type: 'object',
    properties: {
      plain: integer,
      nullable: { ...integer, nullable: true },
      initial: { ...integer, default: 1 },
      inside: { type: 'object', properties: { plain: integer } },
      any: { 'x-kubernetes-preserve-unknown-fields': true },
      map: { type: 'object', additionalProperties: integer },
      list: { type: 'array', items: { type: 'object', nullable: true, properties: { plain: integer } } },
      ['__proto__']: { type: 'object', properties: { initial: { ...integer, default: 1 } } },
      free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
  };
  const structural = atOnce(readStructural(schema, FieldPath.of('schema'), new DefinitionMistakes()));
  const value = JSON.parse(
    '{"plain":null,"nullable":null,"initial":null,"inside":{"plain":null},"any":null,"map":{"a":null,"b":1},"list":[null,{"plain":null}],"__proto__":null,"free":{"any":null}}',
  );
  setDefaults(value, structural);
  assert.equal(
    JSON.stringify(value),
    '{"nullable":null,"initial":1,"inside":{},"map":{"b":1},"list":[null,{}],"free":{"any":null}}',
  );
  assert.equal(({} as { initial?: number }).initial, undefined);
});
