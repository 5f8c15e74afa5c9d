import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SchemaDocument } from '../../../src/schema/document.ts';
import { nodeLoader } from '../../../src/schema/node-loader.ts';
import { normalizeSchema } from '../../../src/schema/read.ts';
import { problemsOf } from './errors.ts';

const source = { model: 'Test', path: '', warnings: [] };
const schema = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    done: { type: 'boolean', default: false },
    level: { type: 'integer', default: 1, maximum: 3 },
  },
  required: ['name', 'done', 'level'],
};
const document = new SchemaDocument(normalizeSchema(schema, source), { ...source, closed: true, loader: nodeLoader });
const problems = (object: object) => problemsOf(document, object, 'en').map(({ pointer }) => pointer);

test('form: a member with a default may be left out', () => {
  const object = { name: 'a' };
  assert.deepEqual(problems(object), []);
  assert.deepEqual(object, { name: 'a' });
});

test('form: what has no default may not be left out, and what is given is checked', () => {
  assert.deepEqual(problems({ level: 4 }), ['/name', '/level']);
});
