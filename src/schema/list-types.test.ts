import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Violations } from '../errors.ts';
import { SchemaDocument } from './document.ts';
import { nodeLoader } from './node-loader.ts';
import { normalizeSchema } from './read.ts';

function documentOf(schema: object): SchemaDocument {
  const source = { model: 'City', path: '/spec', warnings: [] };
  const document = new SchemaDocument(normalizeSchema(schema, source), { ...source, closed: true, loader: nodeLoader });
  document.checkListTypes();
  return document;
}

const list = (items: object, more: object) => ({ type: 'array', items, ...more });
const map = (items: object, ...keys: string[]) =>
  list(items, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys });
const port = {
  type: 'object',
  required: ['port'],
  properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' }, tags: { type: 'array' } },
};

describe('list types', () => {
  const refused: { what: string; schema: object; says: RegExp }[] = [
    {
      what: 'an unknown list type',
      schema: list({}, { 'x-kubernetes-list-type': 'bag' }),
      says: /\/spec\/x-kubernetes-list-type must be atomic, set or map; got "bag"/,
    },
    {
      what: 'an unknown map type',
      schema: { type: 'object', 'x-kubernetes-map-type': 'x' },
      says: /must be atomic or granular/,
    },
    { what: 'a key twice', schema: map(port, 'port', 'port'), says: /each once/ },
    { what: 'no keys', schema: list(port, { 'x-kubernetes-list-type': 'map' }), says: /beside a list type of "map"/ },
    {
      what: 'keys of a set',
      schema: list({ type: 'string' }, { 'x-kubernetes-list-type': 'set', 'x-kubernetes-list-map-keys': ['a'] }),
      says: /beside a list type of "map"/,
    },
    { what: 'a key that the items lack', schema: map(port, 'host'), says: /names "host", which is no string/ },
    { what: 'a key that is a list', schema: map({ ...port, required: ['tags'] }, 'tags'), says: /no string, number/ },
    {
      what: 'an optional key',
      schema: map({ ...port, required: [] }, 'port'),
      says: /neither require nor have a default/,
    },
    {
      what: 'a set of objects',
      schema: list({ type: 'object' }, { 'x-kubernetes-list-type': 'set' }),
      says: /needs items that are strings/,
    },
    { what: 'a list type of an object', schema: { type: 'object', 'x-kubernetes-list-type': 'set' }, says: /"array"/ },
    { what: 'a map type of a list', schema: list({}, { 'x-kubernetes-map-type': 'atomic' }), says: /"object"/ },
  ];
  for (const { what, schema, says } of refused) {
    it(`schema: ${what} is refused`, () => {
      assert.throws(() => documentOf(schema), says);
    });
  }

  it('schema: keys may be required, or have a default, also behind a reference', () => {
    documentOf(map(port, 'port', 'protocol'));
    documentOf({
      type: 'object',
      properties: { ports: map({ $ref: '#/$defs/port' }, 'port') },
      $defs: { port },
    });
    documentOf(list({ type: 'object', 'x-kubernetes-map-type': 'atomic' }, { 'x-kubernetes-list-type': 'set' }));
  });

  const invalid: { what: string; schema: object; value: unknown; says: string }[] = [
    {
      what: 'a value twice in a set',
      schema: list({ type: 'string' }, { 'x-kubernetes-list-type': 'set' }),
      value: ['a', 'b', 'a'],
      says: '/spec/2 x-kubernetes-list-type must not repeat a: item 0 has it already',
    },
    {
      what: 'an item with the keys of another',
      schema: map(port, 'port', 'protocol'),
      value: [
        { port: 80, protocol: 'TCP' },
        { port: 80, protocol: 'UDP' },
        { port: 80, protocol: 'TCP', tags: [] },
      ],
      says: '/spec/2 x-kubernetes-list-type must not repeat {"port":80,"protocol":"TCP"}: item 0 has it already',
    },
  ];
  for (const { what, schema, value, says } of invalid) {
    it(`schema: ${what} is invalid`, () => {
      const found = documentOf(schema).validate(value, '/spec', new Violations());
      assert.deepEqual(
        found.listed.map(({ pointer, keyword, message }) => `${pointer} ${keyword} ${message}`),
        [says],
      );
    });
  }

  it('schema: lists without a type may repeat items, and items that are no objects are refused for that', () => {
    assert.equal(documentOf(list({ type: 'string' }, {})).validate(['a', 'a'], '').count, 0);
    const found = documentOf(map(port, 'port')).validate([1, 1], '/spec');
    assert.deepEqual(
      found.listed.map(({ pointer, keyword }) => `${pointer} ${keyword}`),
      ['/spec/0 type', '/spec/1 type'],
    );
  });
});
