import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { KindredError } from '../../src/errors.ts';
import { defineModel } from '../../src/model/define.ts';
import type { ExtensionObject } from '../../src/model/object.ts';
import { Scheme } from '../../src/model/scheme.ts';

const gvk = { group: 'demo.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' };

const schemeOf = (spec: object): Scheme => Scheme.buildFromType(defineModel({ gvk, spec }));

/** Pointers and keywords of what is wrong with a `spec`. */
function found(scheme: Scheme, spec: unknown): string[] {
  const object = { apiVersion: 'demo.example.com/v1', kind: 'Thing', metadata: { name: 'a' }, spec } as ExtensionObject;
  return scheme.validator.validate(object).listed.map(({ pointer, keyword }) => `${pointer} ${keyword}`);
}

const check = (
  title: string,
  schema: object,
  cases: readonly (readonly [value: unknown, ...found: string[]])[],
): void => {
  test(title, () => {
    const scheme = schemeOf(schema);
    for (const [value, ...expected] of cases) assert.deepEqual(found(scheme, value), expected, JSON.stringify(value));
  });
};

check(
  'spec: Schema constraints - minLength / maxLength, in code points',
  { type: 'string', minLength: 2, maxLength: 3 },
  [['a', '/spec minLength'], ['ab'], ['😀😀😀'], ['😀', '/spec minLength'], ['abcd', '/spec maxLength']],
);

check('spec: Schema constraints - minimum / maximum', { type: 'number', minimum: 1, maximum: 2 }, [
  [0.9, '/spec minimum'],
  [1],
  [2],
  [2.1, '/spec maximum'],
  ['1', '/spec type'],
]);

check(
  'spec: Schema constraints - requiredMode: a required field must be there',
  { type: 'object', properties: { a: {}, b: {} }, required: ['a', 'b'] },
  [[{ a: 1, b: null }], [{}, '/spec/a required', '/spec/b required']],
);

for (const [format, good, bad] of [
  ['date', '2024-02-29', '2023-02-29'],
  ['time', '23:59:60Z', '24:00:00Z'],
  ['date-time', '2024-02-29T12:00:00+01:00', '2024-02-29 12:00:00'],
  ['duration', 'P1DT2H', 'P1S'],
  ['email', 'ada@example.com', 'ada@'],
  ['hostname', 'www.example.com', '-a.com'],
  ['ipv4', '192.0.2.1', '192.0.2.01'],
  ['ipv6', '2001:db8::1', '2001:db8::1::2'],
  ['uri', 'https://example.com/a?b#c', '/a'],
  ['uri-reference', '/a?b#c', '/a b'],
  ['uuid', '123e4567-e89b-12d3-a456-426614174000', '123e4567'],
  ['regex', '^a+$', '('],
  ['json-pointer', '/a~1b/0', 'a'],
  ['byte', 'aGVsbG8=', 'aGVsbG8'],
  ['int32', 2147483647, 2147483648],
  ['int64', 9007199254740991, 2 ** 63],
  ['float', 3.4e38, 3.5e38],
  ['double', 1.7e308, Number.POSITIVE_INFINITY],
] as const) {
  check(`spec: Schema constraints - format ${format}`, { format }, [[good], [bad, '/spec format']]);
}

for (const format of ['binary', 'password']) {
  check(`objects: format ${format} admits every string`, { type: 'string', format }, [['any \u0000 text']]);
}

check(
  'objects: no coercion of types, enum values exact',
  { type: 'object', properties: { a: { type: 'integer' }, b: { enum: ['X', 1, { c: [1] }] } } },
  [
    [{ a: 1.0, b: { c: [1] } }],
    [{ a: '1', b: 'x' }, '/spec/a type', '/spec/b enum'],
    [{ a: true, b: '1' }, '/spec/a type', '/spec/b enum'],
  ],
);

check(
  'objects: all violations at once, at every depth',
  {
    type: 'object',
    properties: {
      a: { type: 'array', items: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } },
      'b/c': { type: 'string' },
    },
    required: ['d'],
  },
  [
    [
      { a: [{}, { n: 'x' }, { n: 1, m: 2 }], 'b/c': 1 },
      '/spec/d required',
      '/spec/a/0/n required',
      '/spec/a/1/n type',
      '/spec/a/2/m additionalProperties',
      '/spec/b~1c type',
    ],
  ],
);

const open = { type: 'object' };
const ab = { type: 'object', properties: { a: {}, b: {} } };

check(
  'objects: an object schema with properties is closed, one without is open',
  { ...ab, properties: { a: open, b: { ...ab, additionalProperties: true } } },
  [[{ a: { any: 1 }, b: { any: 1 } }], [{ c: 1 }, '/spec/c additionalProperties']],
);

check(
  'objects: branches of allOf, $ref, dependentSchemas count together',
  {
    properties: { a: {} },
    allOf: [{ properties: { b: {} } }, { $ref: '#/$defs/c' }],
    dependentSchemas: { a: { properties: { d: {} } } },
    $defs: { c: { properties: { c: {} } } },
  },
  [[{ a: 1, b: 2, c: 3, d: 4 }], [{ b: 2, d: 4 }, '/spec/d additionalProperties']],
);

check(
  'objects: of anyOf and oneOf the branches that hold count',
  {
    oneOf: [
      { properties: { kind: { const: 'x' }, x: {} }, required: ['kind'] },
      { properties: { kind: { const: 'y' }, y: {} }, required: ['kind'] },
    ],
  },
  [[{ kind: 'x', x: 1 }], [{ kind: 'y', x: 1 }, '/spec/x additionalProperties']],
);

check(
  'objects: if, then and else count',
  {
    properties: { a: {} },
    if: { properties: { a: { const: 1 } }, required: ['a'] },
    then: { properties: { b: {} } },
    else: { properties: { c: {} } },
  },
  [[{ a: 1, b: 1 }], [{ a: 2, c: 1 }], [{ a: 2, b: 1 }, '/spec/b additionalProperties']],
);

check(
  'objects: members are counted together below shared places too',
  { allOf: [{ properties: { n: { properties: { a: {} } } } }, { properties: { n: { properties: { b: {} } } } }] },
  [[{ n: { a: 1, b: 2 } }], [{ n: { a: 1, c: 2 } }, '/spec/n/c additionalProperties']],
);

check(
  'objects: a not branch is not closed',
  { type: 'object', properties: { a: {}, b: {} }, not: { properties: { a: { const: 1 } }, required: ['a'] } },
  [[{ b: 1 }], [{ a: 1, b: 1 }, '/spec not'], [{ a: 2, b: 1 }]],
);

check(
  'objects: __proto__ and constructor are member names like any other',
  JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}},"required":["__proto__","constructor"]}',
  ),
  [
    [{}, '/spec/__proto__ required', '/spec/constructor required'],
    [JSON.parse('{"__proto__":"a","constructor":"b"}')],
    [
      JSON.parse('{"__proto__":1,"constructor":"b","toString":2}'),
      '/spec/__proto__ type',
      '/spec/toString additionalProperties',
    ],
  ],
);

check(
  'objects: where one alternative is of the value’s shape, its violations are reported too',
  { anyOf: [{ type: 'null' }, { type: 'object', properties: { a: { type: 'string' } } }] },
  [[null], [{ a: 1 }, '/spec anyOf', '/spec/a type']],
);

test('declaration: nullable and boolean exclusiveMinimum of OpenAPI 3.0 are understood', () => {
  const scheme = schemeOf({
    type: 'object',
    properties: {
      a: { type: 'string', nullable: true },
      b: { type: 'string', enum: ['x'], nullable: true },
      c: { $ref: '#/$defs/c', nullable: true },
      d: { type: 'integer', minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
      e: { type: 'string', nullable: false },
    },
    $defs: { c: { type: 'object', properties: { f: { type: 'string' } } } },
  });
  assert.deepEqual(found(scheme, { a: null, b: null, c: null, d: 9, e: '' }), []);
  assert.deepEqual(found(scheme, { a: 1, b: 'y', c: { g: 1 }, d: 1, e: null }), [
    '/spec/a type',
    '/spec/b enum',
    '/spec/c/g additionalProperties',
    '/spec/d exclusiveMinimum',
    '/spec/e type',
  ]);
  const { properties } = (scheme.jsonSchema as any).properties.spec;
  assert.deepEqual(properties.a, { type: ['string', 'null'] });
  assert.deepEqual(properties.d, { type: 'integer', exclusiveMinimum: 1, maximum: 9 });
});

test('declaration: Zod’s toJSONSchema is accepted', () => {
  const scheme = schemeOf(z.toJSONSchema(z.object({ name: z.string().min(1), email: z.email().optional() })));
  assert.deepEqual(found(scheme, { name: 'a', email: 'ada@example.com' }), []);
  assert.deepEqual(found(scheme, { name: '', x: 1 }), ['/spec/name minLength', '/spec/x additionalProperties']);
});

test('declaration: spec and status are documents of their own: # and #/$defs resolve against them', () => {
  const model = defineModel({
    gvk,
    spec: {
      type: 'object',
      properties: { next: { $ref: '#' }, n: { $ref: '#/$defs/n' } },
      $defs: { n: { type: 'integer' } },
    },
    status: { type: 'object', properties: { n: { $ref: '#/$defs/n' } }, $defs: { n: { type: 'string' } } },
  });
  const scheme = Scheme.buildFromType(model);
  const object = {
    apiVersion: 'x',
    kind: 'y',
    metadata: { name: 'a' },
    spec: { n: 1, next: { next: { n: 'x' } } },
    status: { n: 1 },
  };
  assert.deepEqual(
    scheme.validator.validate(object).listed.map((one) => one.pointer),
    ['/spec/next/next/n', '/status/n'],
  );
  const { spec, status } = (scheme.jsonSchema as any).properties;
  assert.equal(spec.properties.next.$ref, '#/properties/spec');
  assert.equal(spec.properties.n.$ref, '#/properties/spec/$defs/n');
  assert.equal(status.properties.n.$ref, '#/properties/status/$defs/n');
});

test('declaration: the 2.12 form: schema describes everything beside apiVersion, kind and metadata', () => {
  const model = defineModel({
    gvk,
    schema: { type: 'object', properties: { title: { type: 'string' }, child: { $ref: '#' } }, required: ['title'] },
  });
  const scheme = Scheme.buildFromType(model);
  const base = { apiVersion: 'demo.example.com/v1', kind: 'Thing', metadata: { name: 'a' } };
  assert.equal(scheme.validator.validate({ ...base, title: 'x', child: { title: 'y' } }).count, 0);
  assert.deepEqual(
    scheme.validator
      .validate({ ...base, child: { x: 1 }, spec: {} })
      .listed.map(({ pointer, keyword }) => `${pointer} ${keyword}`),
    ['/title required', '/child/title required', '/child/x additionalProperties', '/spec additionalProperties'],
  );
  const schema = scheme.jsonSchema as any;
  assert.deepEqual(schema.required, ['apiVersion', 'kind', 'metadata', 'title']);
  assert.equal(schema.properties.child.$ref, '#/$defs/fields');
  assert.equal(schema.$defs.fields.properties.title.type, 'string');
});

test('declaration: spec is required unless declared optional, status never is; other members are unknown', () => {
  const scheme = Scheme.buildFromType(defineModel({ gvk, spec: { type: 'object' }, status: { type: 'object' } }));
  const object = { apiVersion: 'x', kind: 'y', metadata: { name: 'a' }, other: 1 };
  assert.deepEqual(
    scheme.validator.validate(object).listed.map(({ pointer, keyword }) => `${pointer} ${keyword}`),
    ['/spec required', '/other additionalProperties'],
  );
});

test('objects: default is applied to absent members, through references, items and "or null"', () => {
  const scheme = schemeOf({
    type: 'object',
    properties: {
      a: { type: 'integer', default: 1 },
      b: { type: 'object', default: {}, properties: { c: { default: [2] } } },
      d: { type: 'array', items: { $ref: '#/$defs/e' } },
      f: { $ref: '#/$defs/e', nullable: true },
    },
    $defs: { e: { type: 'object', properties: { g: { default: 'x' }, next: { $ref: '#/$defs/e' } } } },
  });
  const object = { apiVersion: 'x', kind: 'y', metadata: { name: 'a' }, spec: { d: [{ next: {} }], f: {} } as any };
  scheme.validator.applyDefaults(object);
  assert.deepEqual(object.spec, { a: 1, b: { c: [2] }, d: [{ g: 'x', next: { g: 'x' } }], f: { g: 'x' } });
  const other = { ...object, spec: { a: null } as any };
  scheme.validator.applyDefaults(other);
  assert.equal(other.spec.a, null);
  assert.notEqual(other.spec.b.c, object.spec.b.c);
});

test('objects: default is taken from what a member refers to, the one beside the reference wins', () => {
  const scheme = schemeOf({
    type: 'object',
    properties: {
      a: { $ref: '#/$defs/n' },
      b: { $ref: '#/$defs/n', default: 3 },
      c: { allOf: [{ type: 'integer' }, { $ref: '#/$defs/n' }] },
      d: { $ref: '#/$defs/m' },
    },
    $defs: { n: { type: 'integer', default: 7 }, m: { $ref: '#/$defs/n' } },
  });
  const object = { apiVersion: 'x', kind: 'y', metadata: { name: 'a' }, spec: {} as any };
  scheme.validator.applyDefaults(object);
  assert.deepEqual(object.spec, { a: 7, b: 3, c: 7, d: 7 });
});

test('objects: the default of spec as a whole stands for an absent spec', () => {
  for (const inner of [{ type: 'integer' }, { type: 'integer', default: 2 }]) {
    const scheme = schemeOf({ type: 'object', properties: { a: { type: 'integer' }, b: inner }, default: { a: 1 } });
    const object: ExtensionObject = { apiVersion: 'demo.example.com/v1', kind: 'Thing', metadata: { name: 'a' } };
    scheme.validator.applyDefaults(object);
    assert.deepEqual(object.spec, 'default' in inner ? { a: 1, b: 2 } : { a: 1 });
    assert.equal(scheme.validator.validate(object).count, 0);
  }
});

/** Declaration errors: what is declared, the path that is named. */
const refused: readonly (readonly [spec: unknown, path: string])[] = [
  [{ type: 'text' }, '/spec/type'],
  [{ type: [] }, '/spec/type'],
  [{ properties: { a: { type: ['string', 'string'] } } }, '/spec/properties/a/type/1'],
  [{ properties: { 'a/b': { enum: [] } } }, '/spec/properties/a~1b/enum'],
  [{ properties: [] }, '/spec/properties'],
  [{ properties: { a: 'string' } }, '/spec/properties/a'],
  [{ required: 'a' }, '/spec/required'],
  [{ required: ['a', 'a'] }, '/spec/required/1'],
  [{ minLength: -1 }, '/spec/minLength'],
  [{ minimum: '1' }, '/spec/minimum'],
  [{ multipleOf: 0 }, '/spec/multipleOf'],
  [{ exclusiveMinimum: true }, '/spec/exclusiveMinimum'],
  [{ items: [{}] }, '/spec/items'],
  [{ allOf: [] }, '/spec/allOf'],
  [{ pattern: '(' }, '/spec/pattern'],
  [{ pattern: '(?=(a+)+b)' }, '/spec/pattern'],
  [{ patternProperties: { '[': {} } }, '/spec/patternProperties/['],
  [{ minlength: 1 }, '/spec/minlength'],
  [{ additionalItems: false }, '/spec/additionalItems'],
  [{ $ref: '#/$defs/a' }, '/spec/$ref'],
  [{ $ref: 'https://example.com/schema' }, '/spec/$ref'],
  [{ $ref: '#' }, '/spec'],
  [{ allOf: [{ $ref: '#/$defs/a' }], $defs: { a: { anyOf: [{ $ref: '#' }] } } }, '/spec'],
  [{ $schema: 'http://json-schema.org/draft-07/schema#' }, '/spec/$schema'],
  [{ properties: { a: { type: 'integer', default: 'x' } } }, '/spec/properties/a/default'],
  [{ properties: { a: { $ref: '#', default: {} } } }, '/spec/properties/a/default'],
  [{ properties: { a: { $ref: '#' } }, default: {} }, '/spec/default'],
  [{ properties: { a: { type: 'array', items: { $ref: '#' }, default: [{}] } } }, '/spec/properties/a/default'],
  [{ const: 1n }, '/spec/const'],
  [{ default: new Date(0) }, '/spec/default'],
  [3, '/spec'],
];

for (const [spec, path] of refused) {
  const shown = JSON.stringify(spec, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
  test(`declaration: an invalid schema names its own path - ${shown}`, () => {
    assert.throws(
      () => defineModel({ gvk, spec: spec as object }),
      (error) => {
        assert(error instanceof KindredError && error.code === 'InvalidModel');
        assert(error.message.includes(`at ${path} `), error.message);
        assert(error.problem('zh').detail !== error.problem('en').detail);
        return true;
      },
    );
  });
}

test('declaration: what contains itself is refused, not followed', () => {
  const schema: Record<string, unknown> = { type: 'object' };
  schema.properties = { a: schema };
  assert.throws(() => defineModel({ gvk, spec: schema }), /contains itself/);
});

test('objects: an unknown format passes with a warning', () => {
  const scheme = schemeOf({ type: 'string', format: 'iban' });
  assert.deepEqual(found(scheme, 'anything'), []);
  assert.match(scheme.warnings.join(), /at \/spec\/format names the format "iban", which is not checked/);
});

test('declaration: defineModel refuses members it does not know, both forms at once, and a schema of no object', () => {
  assert.throws(() => defineModel({ gvk, specs: {} } as never), /no member "specs"/);
  assert.throws(() => defineModel({ gvk, spec: {}, schema: {} } as never), /use one form/);
  for (const declaration of [undefined, null, 'Person']) {
    assert.throws(() => defineModel(declaration as never), { code: 'InvalidModel' });
  }
  for (const indexes of [[], () => undefined, null]) {
    assert.throws(() => defineModel({ gvk, spec: {}, indexes } as never), {
      code: 'InvalidModel',
      message: /"indexes" must be a function that returns an array/,
    });
  }
  assert.throws(() => defineModel({ gvk, schema: { type: 'string' } }), /type must be "object"/);
  assert.throws(
    () => defineModel({ gvk, schema: { properties: { kind: {} } } }),
    /\/properties\/kind cannot be declared/,
  );
  assert.throws(() => defineModel({ gvk: { ...gvk, subresources: { status: true } }, spec: {} }), /no field "status"/);
});

test('messages of violations exist in English and Chinese and name what would be right', () => {
  const [violation] = schemeOf({ enum: ['A', 'B'] }).validator.validate({
    apiVersion: '',
    kind: '',
    metadata: { name: 'a' },
    spec: 'C',
  }).listed;
  assert.equal(violation?.message, 'must be one of "A", "B"');
  const error = new KindredError('Invalid', { en: 'x', zh: 'x' }, { errors: [violation!] });
  assert.deepEqual((error.problem('zh').errors as { message: string }[])[0]?.message, '必须为以下值之一："A", "B"');
});

const tree = (depth: number, inner: unknown): unknown =>
  depth === 0 ? inner : { args: [tree(depth - 1, inner)], op: 'or' };

test('a recursive union is told apart by its constant members, not by trying every combination', () => {
  const branch = (op: string) => ({
    type: 'object',
    properties: { args: { type: 'array', items: { $ref: '#' } }, op: { const: op } },
    required: ['op'],
  });
  const scheme = schemeOf({ oneOf: [branch('and'), branch('or')] });
  assert.deepEqual(found(scheme, tree(30, { op: 'and' })), []);
  assert.equal(found(scheme, tree(30, { op: 'xor' })).length > 0, true);
});

test('a union whose alternatives cannot be told apart is given up after a bounded time', () => {
  const branch = (name: string) => ({
    type: 'object',
    properties: { args: { type: 'array', items: { $ref: '#' } }, op: { type: 'string' } },
    required: [name],
  });
  const scheme = schemeOf({
    anyOf: [
      { ...branch('op'), minProperties: 3 },
      { ...branch('op'), minProperties: 4 },
    ],
  });
  assert.deepEqual(found(scheme, tree(30, { op: 'or' })).slice(-1), ['/spec limit']);
});

test('objects: a member that only an alternative declares which does not hold is unknown', () => {
  const object = (properties: object) => ({ type: 'object', properties });
  const branches = [
    object({ a: { type: 'string' }, b: { type: 'number' } }),
    object({ b: { type: 'string' } }),
    { type: 'integer' },
  ];
  for (const keyword of ['anyOf', 'oneOf']) {
    const scheme = schemeOf({ [keyword]: branches });
    assert.deepEqual(found(scheme, { a: 'x', b: 'y' }), ['/spec/a additionalProperties'], keyword);
    assert.deepEqual(found(scheme, { b: 'y' }), [], keyword);
    assert.deepEqual(found(scheme, { a: 'x', b: 1 }), [], keyword);
  }
});

test('uniqueItems tells a text from an object of the same form', () => {
  const scheme = schemeOf({ type: 'array', uniqueItems: true });
  assert.deepEqual(found(scheme, [{ a: 1, b: 2 }, '{"a":1,"b":2}', 1, '1', true, 'true', null]), []);
  assert.deepEqual(
    found(scheme, [
      { a: 1, b: 2 },
      { b: 2, a: 1.0 },
    ]),
    ['/spec uniqueItems'],
  );
});
