import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atOnce } from '../runtime/parts.ts';
import { reduced, schemaOf } from './openapi-schema.ts';

const open = { 'x-kubernetes-preserve-unknown-fields': true };
const text = { type: 'string' };

describe('JSON Schema as OpenAPI 3.0', () => {
  const cases: [says: string, schema: object, openApi: object][] = [
    ['one value', { const: 'x', description: 'd' }, { enum: ['x'], description: 'd' }],
    ['a type or null', { type: ['string', 'null'] }, { type: 'string', nullable: true }],
    ['several types', { type: ['string', 'integer'] }, {}],
    ['null alone', { type: 'null' }, { nullable: true, enum: [null] }],
    [
      'bounds that are not reached',
      { exclusiveMaximum: 5, minimum: 1 },
      { maximum: 5, exclusiveMaximum: true, minimum: 1 },
    ],
    ['the tighter of two bounds', { maximum: 4, exclusiveMaximum: 5 }, { maximum: 4 }],
    ['an alternative of null', { anyOf: [text, { type: 'null' }] }, { type: 'string', nullable: true }],
    ['alternatives', { oneOf: [text, { type: 'integer' }] }, { oneOf: [text, { type: 'integer' }] }],
    ['a list of anything', { type: 'array' }, { type: 'array', items: {} }],
    ['a tuple', { type: 'array', prefixItems: [text], items: text }, { type: 'array', items: {} }],
    ['members by pattern', { type: 'object', patternProperties: { '^a': text } }, { type: 'object', ...open }],
    ['anything and nothing', { properties: { a: true, b: false } }, { properties: { a: {}, b: { not: {} } } }],
    [
      'members that only an alternative describes',
      { type: 'object', properties: { a: text }, anyOf: [{ properties: { b: text } }] },
      { type: 'object', properties: { a: text }, anyOf: [{ properties: { b: text } }], ...open },
    ],
    [
      'what a default fills in',
      { required: ['a', 'b'], properties: { a: { type: 'integer', default: 1 }, b: text } },
      { required: ['b'], properties: { a: { type: 'integer', default: 1 }, b: text } },
    ],
    [
      'a reference, with words of its own',
      { properties: { a: { $ref: '#/$defs/t', description: 'own' } }, $defs: { t: { ...text, description: 'of t' } } },
      { properties: { a: { ...text, description: 'own' } } },
    ],
    [
      'a reference beside other rules',
      { properties: { a: { $ref: '#/$defs/t', minLength: 2 } }, $defs: { t: text } },
      { properties: { a: { minLength: 2, allOf: [text] } } },
    ],
    [
      'a schema that contains itself',
      { $defs: { n: { properties: { next: { $ref: '#/$defs/n' } } } }, $ref: '#/$defs/n' },
      { properties: { next: open } },
    ],
    ['keywords of Kubernetes', { 'x-kubernetes-list-type': 'set', 'x-other': 1 }, { 'x-kubernetes-list-type': 'set' }],
  ];
  for (const [says, schema, openApi] of cases) test(says, () => assert.deepEqual(atOnce(schemaOf(schema)), openApi));

  test('a recursion with two arms ends', () => {
    const arms = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `n${i}`,
        { properties: { left: { $ref: `#/$defs/n${i + 1}` }, right: { $ref: `#/$defs/n${i + 1}` } } },
      ]),
    );
    const written = atOnce(schemaOf({ $ref: '#/$defs/n0', $defs: { ...arms, n40: {} } }));
    assert.ok(JSON.stringify(written).length < 2_000_000);
  });
});

describe('OpenAPI 3.0 as 2.0', () => {
  const cases: [says: string, schema: object, openApi: object][] = [
    ['alternatives are left out', { ...text, anyOf: [{}], not: {}, default: 'x' }, text],
    [
      'what may be null has no type',
      { type: 'object', nullable: true, properties: {}, description: 'd' },
      { description: 'd' },
    ],
    [
      'a number or a text has no type',
      { anyOf: [{ type: 'integer' }, text], 'x-kubernetes-int-or-string': true, pattern: 'x' },
      { 'x-kubernetes-int-or-string': true, pattern: 'x' },
    ],
    [
      'an open object has no members',
      { type: 'object', properties: { a: text }, ...open },
      { type: 'object', ...open },
    ],
    [
      'neither has one with members beside others',
      { type: 'object', properties: { a: text }, additionalProperties: text, required: ['a'] },
      { type: 'object' },
    ],
    [
      'a map keeps its values',
      { type: 'object', additionalProperties: text },
      { type: 'object', additionalProperties: text },
    ],
    ['an open list has items', { type: 'array', nullable: false, ...open }, { type: 'array', items: {}, ...open }],
    [
      'members and items likewise',
      { properties: { a: { type: 'array', items: { nullable: true, ...text } } }, required: ['a'] },
      { properties: { a: { type: 'array', items: {} } }, required: ['a'] },
    ],
  ];
  for (const [says, schema, openApi] of cases) test(says, () => assert.deepEqual(reduced({ ...schema }), openApi));
});
