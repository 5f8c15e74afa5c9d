import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { Type } from 'typebox';
import { SchemaDocument } from '../../schema/document.ts';
import { nodeLoader } from '../../schema/node-loader.ts';
import { normalizeSchema } from '../../schema/read.ts';
import { componentsOf } from './schema.ts';

/** Whether a value is valid for the service, and for a validator that reads the components. */
function verdicts(schema: object, closed: boolean): (value: unknown) => { service: boolean; described: boolean } {
  const context = { model: 'Test', path: '' };
  const document = new SchemaDocument(normalizeSchema(schema, { ...context, warnings: [] }), {
    ...context,
    closed,
    loader: nodeLoader,
  });
  const components = componentsOf(document.embedded('#') as object, 'Test', { closed });
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema({ $id: 'doc:/', components: { schemas: Object.fromEntries(components) } });
  const validate = ajv.compile({ $ref: 'doc:/#/components/schemas/Test' });
  return (value) => ({ service: document.validate(value, '').count === 0, described: validate(value) as boolean });
}

const address = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

const cases: { name: string; schema: object; components: string[]; valid: unknown[]; invalid: unknown[] }[] = [
  {
    name: 'an object without references',
    schema: { type: 'object', properties: { a: { type: 'integer' }, b: address } },
    components: ['Test'],
    valid: [{}, { a: 1, b: { city: 'Rome' } }],
    invalid: [{ c: 1 }, { b: {} }, { b: { city: 'Rome', zip: 1 } }],
  },
  {
    name: 'definitions, one of them twice',
    schema: {
      type: 'object',
      properties: { home: { $ref: '#/$defs/Address' }, work: { $ref: '#/$defs/Address' } },
      $defs: { Address: address, Unused: {} },
    },
    components: ['Test', 'Test.Address'],
    valid: [{ home: { city: 'Rome' } }],
    invalid: [{ home: { city: 1 } }, { work: { city: 'Rome', zip: 1 } }],
  },
  {
    name: 'itself',
    schema: { type: 'object', properties: { next: { $ref: '#' }, n: { type: 'integer' } } },
    components: ['Test'],
    valid: [{ next: { next: { n: 1 } } }],
    invalid: [{ next: { next: { n: 'x' } } }, { next: { x: 1 } }],
  },
  {
    name: 'a part of itself that is no definition',
    schema: { type: 'object', properties: { a: { type: 'integer' }, 'b/c': { $ref: '#/properties/a' } } },
    components: ['Test', 'Test.a'],
    valid: [{ a: 1, 'b/c': 2 }],
    invalid: [{ 'b/c': 'x' }],
  },
  {
    name: '$id and anchors',
    schema: {
      type: 'object',
      properties: { tree: { $ref: 'Node' }, leaf: { $ref: '#leaf' } },
      $defs: {
        Node: { $id: 'Node', type: 'object', properties: { children: { type: 'array', items: { $ref: '#' } } } },
        Leaf: { $anchor: 'leaf', type: 'string' },
      },
    },
    components: ['Test', 'Test.Leaf', 'Test.Node'],
    valid: [{ tree: { children: [{ children: [] }] }, leaf: 'x' }],
    invalid: [{ tree: { children: [1] } }, { leaf: 1 }, { tree: { other: 1 } }],
  },
  {
    name: 'TypeBox, cyclic',
    schema: Type.Object({
      root: Type.Cyclic({ Node: Type.Object({ id: Type.String(), nodes: Type.Array(Type.Ref('Node')) }) }, 'Node'),
    }),
    components: ['Test', 'Test.root.Node'],
    valid: [{ root: { id: 'a', nodes: [{ id: 'b', nodes: [] }] } }],
    invalid: [{ root: { id: 'a', nodes: [{ id: 1, nodes: [] }] } }, { root: { id: 'a', nodes: [], x: 1 } }],
  },
  {
    name: 'schemas that apply together close the place together',
    schema: {
      type: 'object',
      properties: { kind: { type: 'string' } },
      allOf: [{ $ref: '#/$defs/Named' }, { properties: { age: { type: 'integer' } } }],
      $defs: { Named: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } },
    },
    components: ['Test', 'Test.Named'],
    valid: [{ name: 'a' }, { name: 'a', kind: 'b', age: 1 }],
    invalid: [{ kind: 'b' }, { name: 'a', other: 1 }],
  },
  {
    name: 'a definition that stands alone in one place and beside others in another',
    schema: {
      type: 'object',
      properties: {
        one: { $ref: '#/$defs/Named' },
        two: { allOf: [{ $ref: '#/$defs/Named' }, { properties: { age: {} } }] },
      },
      $defs: { Named: { type: 'object', properties: { name: { type: 'string' } } } },
    },
    components: ['Test', 'Test.Named'],
    valid: [{ one: { name: 'a' }, two: { name: 'a', age: 1 } }],
    invalid: [{ one: { name: 'a', age: 1 } }, { two: { other: 1 } }],
  },
  {
    name: 'alternatives',
    schema: {
      oneOf: [
        { type: 'object', properties: { a: {} }, required: ['a'] },
        { type: 'object', properties: { b: {} }, required: ['b'] },
      ],
    },
    components: ['Test'],
    valid: [{ a: 1 }, { b: 1 }],
    invalid: [{ a: 1, c: 1 }, {}],
  },
  {
    name: 'a member that two schemas of one place describe',
    schema: {
      type: 'object',
      properties: { b: { type: 'object', properties: { c: {} } }, d: { properties: { e: {} } } },
      allOf: [{ properties: { b: { properties: { y: {} } } } }],
    },
    components: ['Test'],
    valid: [{ b: { c: 1, y: 1 }, d: { e: 1 } }],
    invalid: [{ d: { x: 1 } }, { x: 1 }],
  },
  {
    name: 'open objects',
    schema: {
      type: 'object',
      properties: { a: { type: 'object' }, b: { properties: { c: {} }, additionalProperties: true } },
      additionalProperties: { type: 'integer' },
    },
    components: ['Test'],
    valid: [{ a: { x: 1 }, b: { c: 1, d: 1 }, z: 1 }],
    invalid: [{ z: 'x' }],
  },
  {
    name: 'members with names of keywords',
    schema: {
      type: 'object',
      properties: { $ref: { type: 'string' }, default: { type: 'integer' }, properties: address },
    },
    components: ['Test'],
    valid: [{ $ref: '#/nowhere', default: 1, properties: { city: 'x' } }],
    invalid: [{ $ref: 1 }, { properties: {} }],
  },
];

for (const { name, schema, components, valid, invalid } of cases) {
  test(`api-description: schemas as components - ${name}`, () => {
    const document = new SchemaDocument(normalizeSchema(schema, { model: 'Test', path: '', warnings: [] }), {
      model: 'Test',
      path: '',
      closed: true,
      loader: nodeLoader,
    });
    assert.deepEqual(
      [...componentsOf(document.embedded('#') as object, 'Test', { closed: true }).keys()].sort(),
      components,
    );
    const judge = verdicts(schema, true);
    for (const value of valid)
      assert.deepEqual(judge(value), { service: true, described: true }, JSON.stringify(value));
    for (const value of invalid)
      assert.deepEqual(judge(value), { service: false, described: false }, JSON.stringify(value));
  });
}

test('api-description: the description has the defaults of members that clients send', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'integer', default: 3, description: 'How many' }, default: { default: 'x' } },
  };
  const [sent] = componentsOf(schema, 'Test', { closed: true, sent: true }).values();
  assert.deepEqual(sent!.properties, {
    a: { type: 'integer', description: 'How many. Default: 3' },
    default: { description: 'Default: "x"' },
  });
});

/** Whether a value is valid for the service once its defaults are set, and for a validator that reads what clients are told to send. */
function verdictsOfSent(schema: object): (value: unknown) => { service: boolean; described: boolean } {
  const context = { model: 'Test', path: '' };
  const document = new SchemaDocument(normalizeSchema(schema, { ...context, warnings: [] }), {
    ...context,
    closed: true,
    loader: nodeLoader,
  });
  const setDefaults = document.defaults();
  const components = componentsOf(document.embedded('#') as object, 'Test', { closed: true, sent: true });
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema({ $id: 'doc:/', components: { schemas: Object.fromEntries(components) } });
  const validate = ajv.compile({ $ref: 'doc:/#/components/schemas/Test' });
  return (value) => {
    const described = validate(structuredClone(value)) as boolean;
    const filled = structuredClone(value);
    setDefaults?.(filled);
    return { service: document.validate(filled, '').count === 0, described };
  };
}

const withDefault = { type: 'integer', default: 1 };
const sentCases: { name: string; schema: object; valid: unknown[]; invalid: unknown[] }[] = [
  {
    name: 'at every depth',
    schema: {
      type: 'object',
      properties: {
        n: withDefault,
        m: { type: 'integer' },
        list: {
          type: 'array',
          items: { type: 'object', properties: { n: withDefault, m: { type: 'integer' } }, required: ['n', 'm'] },
        },
      },
      required: ['n', 'm'],
    },
    valid: [{ m: 1 }, { m: 1, list: [{ m: 2 }] }],
    invalid: [{}, { n: 1 }, { m: 1, list: [{ n: 1 }] }],
  },
  {
    name: 'given by a definition',
    schema: {
      type: 'object',
      properties: { n: { $ref: '#/$defs/N' }, or: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/N' }] } },
      required: ['n', 'or'],
      $defs: { N: withDefault },
    },
    valid: [{}, { n: 2, or: null }],
    invalid: [{ n: 'x' }],
  },
  {
    name: 'given beside the schema that requires them',
    schema: {
      type: 'object',
      properties: { n: withDefault, m: { type: 'integer' } },
      allOf: [{ $ref: '#/$defs/Both' }, { anyOf: [{ required: ['n'] }, { required: ['m'] }] }],
      $defs: { Both: { required: ['n', 'm'] } },
    },
    valid: [{ m: 1 }],
    invalid: [{}, { n: 1 }],
  },
  {
    name: 'that hold in one alternative only',
    schema: {
      type: 'object',
      required: ['n'],
      oneOf: [
        { properties: { n: withDefault, a: {} }, required: ['a'] },
        { properties: { n: { type: 'integer' }, b: {} }, required: ['b'] },
      ],
    },
    valid: [{ n: 1, a: 1 }],
    invalid: [{ a: 1 }, { b: 1 }],
  },
];

for (const { name, schema, valid, invalid } of sentCases) {
  test(`api-description: what has a default need not be sent - defaults ${name}`, () => {
    const judge = verdictsOfSent(schema);
    for (const value of valid)
      assert.deepEqual(judge(value), { service: true, described: true }, JSON.stringify(value));
    for (const value of invalid)
      assert.deepEqual(judge(value), { service: false, described: false }, JSON.stringify(value));
  });
}

const name = fc.constantFrom('a', 'b', 'c');
const { schema } = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<object>(
      { type: 'integer' },
      { type: 'string' },
      { $ref: '#/$defs/X' },
      { $ref: '#/$defs/Y' },
      { type: 'object' },
    ),
    fc.record({ type: fc.constant('object'), properties: fc.dictionary(name, tie('schema')) }),
    fc.record({ properties: fc.dictionary(name, tie('schema')), additionalProperties: fc.boolean() }),
    fc.record({
      allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
      properties: fc.dictionary(name, tie('schema')),
    }),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
    fc.record({ type: fc.constant('array'), items: tie('schema') }),
  ),
}));
const documents = fc.record({ root: schema, x: schema, y: schema }).map(({ root, x, y }) => ({
  ...root,
  $defs: { X: { type: 'object', properties: { x } }, Y: { type: 'object', properties: { y } } },
}));
const { value: values } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<unknown>(1, 'x', null),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', 'x', 'y'), tie('value'), { maxKeys: 3 }),
    fc.array(tie('value'), { maxLength: 2 }),
  ),
}));

const requiring = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom<object>(withDefault, { type: 'integer' }, { $ref: '#/$defs/X' }, { required: ['a'] }),
    fc.record({
      properties: fc.dictionary(name, tie('schema')),
      required: fc.uniqueArray(name, { maxLength: 3 }),
      additionalProperties: fc.constant(true),
    }),
    fc.record({
      allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
      required: fc.uniqueArray(name, { maxLength: 3 }),
    }),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
  ),
}));
const requiringDocuments = fc
  .record({ root: requiring.schema, x: requiring.schema })
  .map(({ root, x }) => ({ ...root, $defs: { X: { properties: { x }, required: ['a', 'x'] } } }));

test('api-description: what the service accepts once defaults are set may be sent, whatever the schema', (context) => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
  let accepted = 0;
  fc.assert(
    fc.property(requiringDocuments, fc.array(values, { minLength: 5, maxLength: 10 }), (document, samples) => {
      let judge: ReturnType<typeof verdictsOfSent>;
      try {
        judge = verdictsOfSent(document);
      } catch (error) {
        fc.pre(!String(error).includes('circle'));
        throw error;
      }
      for (const sample of samples) {
        let verdict: { service: boolean; described: boolean };
        try {
          verdict = judge(sample);
        } catch (error) {
          // A default that is set again within itself.
          fc.pre(error instanceof Error && error.constructor.name !== 'EndlessDefault');
          throw error;
        }
        assert.ok(verdict.described || !verdict.service, `${JSON.stringify(sample)} is accepted and may not be sent`);
        if (verdict.service) accepted++;
      }
    }),
    { seed, numRuns: 200 },
  );
  assert.ok(accepted > 50, `${accepted} accepted: the property would hold of nothing`);
  context.diagnostic(`seed ${seed}: ${accepted} accepted`);
});

test('api-description: what the service accepts is valid by the description, whatever the schema', (context) => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
  let accepted = 0;
  let agreed = 0;
  let judged = 0;
  fc.assert(
    fc.property(documents, fc.array(values, { minLength: 5, maxLength: 10 }), (document, samples) => {
      let judge: ReturnType<typeof verdicts>;
      try {
        judge = verdicts(document, true);
      } catch (error) {
        fc.pre(!String(error).includes('circle'));
        throw error;
      }
      for (const sample of samples) {
        const { service, described } = judge(sample);
        assert.ok(described || !service, `${JSON.stringify(sample)} is accepted and described as invalid`);
        judged++;
        if (service) accepted++;
        if (service === described) agreed++;
      }
    }),
    { seed, numRuns: 150 },
  );
  assert.ok(accepted > 50, `${accepted} of ${judged} accepted: the property would hold of nothing`);
  assert.ok(agreed > judged * 0.9, `${agreed} of ${judged} judged alike`);
  context.diagnostic(`seed ${seed}: ${judged} judged, ${accepted} accepted, ${agreed} alike`);
});
