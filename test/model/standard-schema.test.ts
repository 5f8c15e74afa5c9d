/** Standard Schemas in models: taken when JSON Schema says all that they check, refused with a clear sentence otherwise. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { z } from 'zod';
import { KindredError } from '../../src/errors.ts';
import { defineModel } from '../../src/model/define.ts';
import type { ExtensionObject } from '../../src/model/object.ts';
import { Scheme } from '../../src/model/scheme.ts';

const gvk = { group: 'demo.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' };
const objectOf = (rest: object): ExtensionObject => ({
  apiVersion: 'demo.example.com/v1',
  kind: 'Thing',
  metadata: { name: 'a' },
  ...rest,
});

/** Pointers and keywords of what is wrong once defaults are set, and the object as it is then. */
function check(scheme: Scheme, rest: object): { found: string[]; object: ExtensionObject } {
  const object = objectOf(structuredClone(rest));
  scheme.validator.applyDefaults(object);
  return {
    found: scheme.validator.validate(object).listed.map(({ pointer, keyword }) => `${pointer} ${keyword}`),
    object,
  };
}

test('declaration: a Zod schema is taken as it is, with its rules and defaults', () => {
  const spec = z.object({
    text: z.string().min(1).max(5),
    pinned: z.boolean().default(false),
    level: z.enum(['low', 'high']).optional(),
    mail: z.email().optional(),
    list: z.array(z.object({ n: z.int() })).default([]),
  });
  const scheme = Scheme.buildFromType(defineModel({ gvk, spec, status: z.object({ seen: z.boolean() }) }));
  assert.deepEqual(check(scheme, { spec: { text: 'x' } }), {
    found: [],
    object: objectOf({ spec: { text: 'x', pinned: false, list: [] } }),
  });
  const wrong = { text: '', level: 'mid', mail: 'x', list: [{ n: 1.5 }], other: 1 };
  assert.deepEqual(check(scheme, { spec: wrong, status: {} }).found.sort(), [
    '/spec/level enum',
    '/spec/list/0/n type',
    '/spec/mail format',
    '/spec/mail pattern',
    '/spec/other additionalProperties',
    '/spec/text minLength',
    '/status/seen required',
  ]);
  assert.deepEqual(check(scheme, {}).found, ['/spec required']);
});

test('declaration: a Standard Schema that takes undefined makes an optional spec', () => {
  const optional = Scheme.buildFromType(defineModel({ gvk, spec: z.object({ text: z.string() }).optional() }));
  assert.deepEqual([optional.specRequired, check(optional, {}).found], [false, []]);
  const filled = Scheme.buildFromType(defineModel({ gvk, spec: z.object({ n: z.int() }).default({ n: 1 }) }));
  assert.deepEqual(check(filled, {}), { found: [], object: objectOf({ spec: { n: 1 } }) });
});

test('declaration: a Standard Schema may be a part of another schema, and describe a model without a spec', () => {
  const nested = Scheme.buildFromType(
    defineModel({ gvk, spec: Type.Object({ at: z.object({ x: z.int() }) as object }) }),
  );
  assert.deepEqual(check(nested, { spec: { at: { x: 'a' } } }).found, ['/spec/at/x type']);
  const whole = Scheme.buildFromType(defineModel({ gvk, schema: z.object({ title: z.string() }) }));
  assert.deepEqual(check(whole, {}).found, ['/title required']);
});

test('declaration: a schema that refers to itself is one as a whole, not as a part', () => {
  const Node = z.object({
    name: z.string(),
    get children() {
      return z.array(Node).optional();
    },
  });
  const scheme = Scheme.buildFromType(defineModel({ gvk, spec: Node }));
  assert.deepEqual(check(scheme, { spec: { name: 'a', children: [{ name: 1 }] } }).found, [
    '/spec/children/0/name type',
  ]);
  assert.throws(() => defineModel({ gvk, spec: Type.Object({ tree: Node as object }) }), {
    code: 'InvalidModel',
    message: /the schema at \/spec\/properties\/tree refers to itself/,
  });
});

/** What JSON Schema cannot say would not be enforced. */
const refused: { name: string; spec: object; says: RegExp }[] = [
  {
    name: 'a date',
    spec: z.object({ at: z.date() }),
    says: /the schema at \/spec is a schema of zod that cannot be written as JSON Schema.*Date cannot be represented/,
  },
  {
    name: 'a transformation',
    spec: z.object({ n: z.string().transform(Number) }),
    says: /cannot be written as JSON Schema.*Transforms/,
  },
  {
    name: 'a refinement',
    spec: z.object({ n: z.string().refine((text) => text !== 'x') }),
    says: /is a schema of zod with a function of its own \(refine/,
  },
  {
    name: 'a refinement of the whole',
    spec: z.object({ n: z.string() }).superRefine(() => {}),
    says: /with a function of its own/,
  },
  { name: 'a trimmed text', spec: z.object({ n: z.array(z.string().trim()) }), says: /with a function of its own/ },
  {
    name: 'a validator alone',
    spec: { '~standard': { version: 1, vendor: 'other', validate: () => ({ issues: [] }) } },
    says: /the schema at \/spec is a Standard Schema of other that provides no JSON Schema: convert it, with Zod by z\.toJSONSchema\(…\)/,
  },
];

for (const { name, spec, says } of refused) {
  test(`declaration: what cannot be enforced exactly is an error - ${name} of a Standard Schema`, () => {
    assert.throws(
      () => defineModel({ gvk, spec }),
      (error) => error instanceof KindredError && error.code === 'InvalidModel' && says.test(error.message),
    );
  });
}
