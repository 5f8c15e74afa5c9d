import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KindredError } from '../errors.ts';
import { defineModel } from './define.ts';
import type { ValueIndexSpec } from './index-spec.ts';
import { checkIndexes, entryOf, IndexSpec, IndexSpecs, multiValueAttribute, simpleAttribute } from './index-spec.ts';
import type { ExtensionObject } from './object.ts';

const Thing = defineModel({
  gvk: { group: 'demo.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' },
  spec: {},
});

const object = (spec: unknown, metadata = {}): ExtensionObject => ({
  apiVersion: 'demo.example.com/v1',
  kind: 'Thing',
  metadata: { name: 'a', creationTimestamp: '2026-01-31T13:00:00.000Z', ...metadata },
  spec,
});

const keysOf = (spec: ValueIndexSpec, of: unknown): readonly unknown[] =>
  entryOf({ indexes: checkIndexes([spec]) }, object(of)).keys[0]!;

function refusal(
  spec: ValueIndexSpec,
  of: unknown,
): { pointer: string; keyword: string; message: string; params?: object } {
  try {
    keysOf(spec, of);
  } catch (error) {
    assert(error instanceof KindredError && error.code === 'Invalid' && error.errors?.length === 1);
    return error.errors[0]!;
  }
  throw new Error('was accepted');
}

const refused = (specs: readonly ValueIndexSpec[], message: RegExp): void =>
  assert.throws(
    () => checkIndexes(specs),
    (error) => error instanceof KindredError && error.code === 'InvalidModel' && message.test(error.message),
  );

test('spec: IndexSpec - name is unique among the indexes of one model', () => {
  refused([IndexSpecs.single('spec.a', String), IndexSpecs.multi('spec.a', Number)], /"spec.a" is declared twice/);
});

test('spec: IndexSpec - the four built-in indexes must not be declared again', () => {
  for (const name of [
    'metadata.name',
    'metadata.labels',
    'metadata.creationTimestamp',
    'metadata.deletionTimestamp',
    'name',
  ]) {
    refused([IndexSpecs.single(name, String)], new RegExp(`"${name}" is built in`));
  }
});

test('declaration: index names have letters, digits, "_", ".", "-", at most 253 characters', () => {
  checkIndexes([
    IndexSpecs.single('a', String),
    IndexSpecs.single('A_b.c-9', String),
    IndexSpecs.single('x'.repeat(253), String),
  ]);
  for (const name of ['', 'a b', 'a=b', 'ä', 'x'.repeat(254)])
    refused([IndexSpecs.single(name, String)], /name of an index/);
});

test('spec: IndexSpec - order is ASC by default, ASC or DESC', () => {
  const [byDefault, descending, older] = checkIndexes([
    IndexSpecs.single('a', String),
    IndexSpecs.single('b', String).order('DESC'),
    new IndexSpec({ name: 'c', order: 'DESC', indexFunc: simpleAttribute(Thing, () => null) }),
  ]);
  assert.deepEqual([byDefault?.order, descending?.order, older?.order], ['ASC', 'DESC', 'DESC']);
  refused([IndexSpecs.single('a', String).order('asc' as never)], /order of the index "a"/);
});

test('spec: IndexSpec - unique and nullable: true when called without an argument, false and true when not called', () => {
  const [plain, called, off] = checkIndexes([
    IndexSpecs.single('a', String),
    IndexSpecs.single('b', String).unique().nullable(),
    IndexSpecs.single('c', String).unique(false).nullable(false),
  ]);
  assert.deepEqual([plain?.unique, plain?.nullable], [false, true]);
  assert.deepEqual([called?.unique, called?.nullable], [true, true]);
  assert.deepEqual([off?.unique, off?.nullable], [false, false]);
});

test('spec: IndexSpec - indexFunc of one value may return null, of several gives a set', () => {
  const single = IndexSpecs.single('spec.a', String).indexFunc((o: any) => o.spec.a);
  assert.deepEqual(keysOf(single, { a: 'x' }), ['x']);
  assert.deepEqual(keysOf(single, { a: null }), []);
  const multi = IndexSpecs.multi('spec.a', String).indexFunc((o: any) => o.spec.a);
  assert.deepEqual(keysOf(multi, { a: new Set(['x', 'y']) }), ['x', 'y']);
  assert.deepEqual(keysOf(multi, { a: ['x', 'y', 'x'] }), ['x', 'y']);
  assert.deepEqual(keysOf(multi, {}), []);
});

test('declaration: without indexFunc the name is read as a path of fields', () => {
  assert.deepEqual(keysOf(IndexSpecs.single('spec.a.b', Number), { a: { b: 3 } }), [3]);
  assert.deepEqual(keysOf(IndexSpecs.single('spec.a.b', Number), { a: 'x' }), []);
  assert.deepEqual(keysOf(IndexSpecs.single('spec.constructor', String), {}), []);
});

test('spec: IndexSpec - the older form converts every value to a string', () => {
  const single = new IndexSpec({ name: 'a', indexFunc: simpleAttribute(Thing, (o: any) => o.spec) });
  assert.deepEqual(keysOf(single, 3), ['3']);
  assert.deepEqual(keysOf(single, true), ['true']);
  assert.deepEqual(keysOf(single, null), []);
  const multi = new IndexSpec({ name: 'a', indexFunc: multiValueAttribute(Thing, (o: any) => o.spec) });
  assert.deepEqual(keysOf(multi, [1, '1', 2]), ['1', '2']);
  refused([new IndexSpec({ name: 'a', indexFunc: (() => null) as never })], /"a" needs an indexFunc/);
});

test('declaration: key types are String, Number, Boolean, BigInt, Date or an own one', () => {
  assert.deepEqual(keysOf(IndexSpecs.single('spec', Boolean), true), [true]);
  assert.deepEqual(
    keysOf(
      IndexSpecs.single('spec', BigInt).indexFunc(() => 9n),
      0,
    ),
    [9n],
  );
  assert.deepEqual(keysOf(IndexSpecs.single('spec', Date), '2026-01-31T13:00:00Z'), [Date.UTC(2026, 0, 31, 13)]);
  const own = {
    compare: (a: number[], b: number[]) => a[0]! - b[0]!,
    parse: (text: string) => [Number(text)],
    format: (key: number[]) => String(key[0]),
  };
  assert.deepEqual(keysOf(IndexSpecs.multi('spec', own), [[1], [2], [1]]), [[1], [2]]);
  refused([IndexSpecs.single('a', Symbol as never)], /key type of the index "a"/);
});

test('queries: a function that throws, another type, no value though not nullable: 422 naming the index', () => {
  const throwing = IndexSpecs.single('spec.a', String).indexFunc(() => {
    throw new Error('boom');
  });
  assert.deepEqual(refusal(throwing, {}), {
    pointer: '/spec/a',
    field: 'spec.a',
    keyword: 'index',
    message: 'The function of the index "spec.a" failed: boom',
    params: { index: 'spec.a', reason: 'boom' },
  });
  assert.match(refusal(IndexSpecs.single('spec.a', Number), { a: 'x' }).message, /expected a number, got "x"/);
  assert.match(refusal(IndexSpecs.multi('spec.a', String), { a: 'x' }).message, /expected a set or an array/);
  assert.match(refusal(IndexSpecs.multi('spec.a', String), { a: [null] }).message, /expected a value, got null/);
  for (const builder of [IndexSpecs.single('spec.a', String), IndexSpecs.multi('spec.a', String)]) {
    assert.match(refusal(builder.nullable(false), {}).message, /needs a value/);
  }
});

test('limits: 10,000 values of one object, keys of 1,024 characters', () => {
  const multi = IndexSpecs.multi('spec', Number);
  assert.equal(
    keysOf(
      multi,
      Array.from({ length: 10_000 }, (_, i) => i),
    ).length,
    10_000,
  );
  assert.match(
    refusal(
      multi,
      Array.from({ length: 10_001 }, (_, i) => i),
    ).message,
    /more than 10000 values/,
  );
  assert.deepEqual(keysOf(IndexSpecs.single('spec', String), 'x'.repeat(1024)), ['x'.repeat(1024)]);
  assert.match(refusal(IndexSpecs.single('spec', String), 'x'.repeat(1025)).message, /1025 characters/);
});

test('an entry holds name, timestamps, labels, and the keys in the order of the definitions', () => {
  const indexes = checkIndexes([IndexSpecs.single('spec.a', String), IndexSpecs.single('spec.b', Number)]);
  const entry = entryOf(
    { indexes },
    object({ a: 'x', b: 1 }, { deletionTimestamp: '2026-01-31T13:00:01.500Z', labels: { l: 'v' } }),
  );
  const created = Date.UTC(2026, 0, 31, 13);
  assert.deepEqual(entry, { name: 'a', created, deleted: created + 1500, labels: { l: 'v' }, keys: [['x'], [1]] });
});
