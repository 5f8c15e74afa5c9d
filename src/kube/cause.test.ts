import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Violation } from '../errors.ts';
import { fieldPath } from '../resource/prune.ts';
import { causeOf } from './cause.ts';

const violation = (pointer: string, keyword: string, params: object = {}): Violation => ({
  pointer,
  field: '',
  keyword,
  message: 'told',
  params,
});

test('paths of fields', () => {
  assert.equal(fieldPath('/spec/ports/0/name'), 'spec.ports[0].name');
  assert.equal(fieldPath('/metadata/labels/a~1b'), 'metadata.labels[a/b]');
  assert.equal(fieldPath('/metadata/annotations/plain'), 'metadata.annotations[plain]');
  assert.equal(fieldPath(''), '');
});

const object = { spec: { replicas: -1, note: 'x', list: [1] } };

const cases: readonly [keyword: string, pointer: string, params: object, reason: string, message: string][] = [
  ['required', '/spec/name', {}, 'FieldValueRequired', 'Required value'],
  [
    'type',
    '/spec/note',
    { type: 'integer' },
    'FieldValueTypeInvalid',
    'Invalid value: "string": spec.note in body must be of type integer: "string"',
  ],
  [
    'enum',
    '/spec/note',
    { allowed: '"a", "b"' },
    'FieldValueNotSupported',
    'Unsupported value: "x": supported values: "a", "b"',
  ],
  [
    'pattern',
    '/spec/note',
    { pattern: '^[a-z]+$' },
    'FieldValueInvalid',
    `Invalid value: "x": spec.note in body should match '^[a-z]+$'`,
  ],
  [
    'minimum',
    '/spec/replicas',
    { limit: 0 },
    'FieldValueInvalid',
    'Invalid value: -1: spec.replicas in body should be greater than or equal to 0',
  ],
  [
    'maximum',
    '/spec/replicas',
    { limit: -5 },
    'FieldValueInvalid',
    'Invalid value: -1: spec.replicas in body should be less than or equal to -5',
  ],
  ['maxLength', '/spec/note', { limit: 9 }, 'FieldValueTooLong', 'Too long: may not be more than 9 bytes'],
  ['maxItems', '/spec/list', { limit: 3, count: 4 }, 'FieldValueTooMany', 'Too many: 4: must have at most 3 items'],
  [
    'minItems',
    '/spec/list',
    { limit: 2 },
    'FieldValueInvalid',
    'Invalid value: "array": spec.list in body should have at least 2 items',
  ],
  ['forbidden', '/spec/note', {}, 'FieldValueForbidden', 'Forbidden: told'],
  ['unheardOf', '/spec/note', {}, 'FieldValueInvalid', 'Invalid value: "x": told'],
];

for (const [keyword, pointer, params, reason, message] of cases) {
  test(`the cause of ${keyword}`, () => {
    const field = fieldPath(pointer);
    assert.deepEqual(causeOf(violation(pointer, keyword, params), object), { reason, message, field });
  });
}

test('rules that were not asked are told at no field', () => {
  const { field, message } = causeOf(violation('', 'x-kubernetes-validations'), object);
  assert.equal(field, '<nil>');
  assert.match(message, /^Invalid value: "null": some validation rules were not checked/);
});

test('a long value is shown in part', () => {
  const { message } = causeOf(violation('/a', 'pattern', { pattern: 'x' }), { a: 'y'.repeat(10_000) });
  assert.ok(message.length < 400, message);
});
