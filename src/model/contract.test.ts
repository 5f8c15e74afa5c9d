import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChangeClass } from '../schema/compare.ts';
import { changeClasses } from '../schema/compare.ts';
import { canonicalText } from '../schema/json-value.ts';
import type { ContractChange } from './contract.ts';
import { compareContracts, contractHash, contractOf, needsData, schemeOfContract, strongest } from './contract.ts';
import { defineModel } from './define.ts';
import type { IndexSpecs } from './index-spec.ts';
import { IndexSpec, IndexSpecs as Specs, simpleAttribute } from './index-spec.ts';
import { Scheme } from './scheme.ts';

const gvk = { group: 'demo.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' };

const string = { type: 'string' };
const integer = { type: 'integer' };
const number = { type: 'number' };
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const list = (items: object, more: object = {}) => ({ type: 'array', items, ...more });
const conditional = (then: object): object =>
  JSON.parse(JSON.stringify({ if: string, THEN: then }).replace('THEN', 'then'));

const ruled = (...rules: object[]): object => ({ ...string, 'x-kubernetes-validations': rules });

/** Schemas of one member, before and after, with the strongest class of their changes; undefined: none. */
const pairs: readonly (readonly [ChangeClass | undefined, object, object])[] = [
  [undefined, string, string],
  [undefined, { type: ['string'] }, string],
  [undefined, { type: 'string', minLength: 1 }, { minLength: 1, type: 'string' }],
  [undefined, object({ a: string, b: integer }), object({ b: integer, a: string })],
  ['docs', string, { ...string, description: 'A text' }],
  ['docs', { ...string, description: 'a' }, { ...string, description: 'b' }],
  ['docs', { ...string, title: 'a' }, string],
  ['docs', string, { ...string, examples: ['a'] }],
  ['docs', string, { ...string, $comment: 'a' }],
  ['docs', string, { ...string, deprecated: true }],
  ['docs', { anyOf: [string, integer] }, { anyOf: [string, integer], description: 'either' }],
  ['narrowing', string, ruled({ rule: 'self.size() < 9' })],
  ['widening', ruled({ rule: 'true' }), string],
  ['narrowing', ruled({ rule: 'true' }), ruled({ rule: "self != ''" })],
  ['docs', ruled({ rule: 'true' }), ruled({ rule: 'true', message: 'yes' })],
  ['behaviour', ruled({ rule: 'true' }), ruled({ rule: 'true', reason: 'FieldValueForbidden' })],
  [undefined, ruled({ rule: 'true' }, { rule: '1 == 1' }), ruled({ rule: '1 == 1' }, { rule: 'true' })],
  ['widening', integer, number],
  ['narrowing', number, integer],
  ['widening', string, { type: ['string', 'null'] }],
  ['narrowing', { type: ['string', 'null'] }, string],
  ['breaking', string, integer],
  ['breaking', string, { type: 'array' }],
  ['breaking', integer, { type: 'boolean' }],
  ['widening', string, {}],
  ['narrowing', {}, string],
  ['breaking', object({}), string],
  ['narrowing', { type: ['string', 'integer'] }, { type: ['integer', 'boolean'] }],
  ['widening', { enum: ['a'] }, { enum: ['a', 'b'] }],
  ['narrowing', { enum: ['a', 'b'] }, { enum: ['a'] }],
  ['narrowing', { enum: ['a', 'b'] }, { enum: ['a', 'c'] }],
  ['narrowing', string, { type: 'string', enum: ['a'] }],
  ['widening', { type: 'string', enum: ['a'] }, string],
  [undefined, { enum: ['a', 'b'] }, { enum: ['b', 'a'] }],
  [undefined, { enum: ['a', 'b'] }, { anyOf: [{ const: 'a' }, { const: 'b' }] }],
  ['widening', { anyOf: [{ const: 'a' }] }, { anyOf: [{ const: 'a' }, { const: 'b' }] }],
  ['narrowing', { anyOf: [{ const: 'a' }, { const: 'b' }] }, { anyOf: [{ const: 'a' }] }],
  ['narrowing', string, { type: 'string', const: 'a' }],
  ['narrowing', { const: 'a' }, { const: 'b' }],
  ['widening', { type: 'string', const: 'a' }, string],
  ...(['minLength', 'minItems', 'minProperties', 'minimum', 'exclusiveMinimum'] as const).flatMap(
    (keyword) =>
      [
        ['narrowing', {}, { [keyword]: 2 }],
        ['narrowing', { [keyword]: 2 }, { [keyword]: 3 }],
        ['widening', { [keyword]: 3 }, { [keyword]: 2 }],
        ['widening', { [keyword]: 3 }, {}],
      ] as const,
  ),
  ...(['maxLength', 'maxItems', 'maxProperties', 'maximum', 'exclusiveMaximum'] as const).flatMap(
    (keyword) =>
      [
        ['narrowing', {}, { [keyword]: 2 }],
        ['narrowing', { [keyword]: 3 }, { [keyword]: 2 }],
        ['widening', { [keyword]: 2 }, { [keyword]: 3 }],
        ['widening', { [keyword]: 2 }, {}],
      ] as const,
  ),
  ['narrowing', string, { ...string, pattern: '^a' }],
  ['narrowing', { ...string, pattern: '^a' }, { ...string, pattern: '^b' }],
  ['widening', { ...string, pattern: '^a' }, string],
  ['narrowing', string, { ...string, format: 'email' }],
  ['narrowing', { ...string, format: 'email' }, { ...string, format: 'uuid' }],
  ['widening', { ...string, format: 'email' }, string],
  ['narrowing', integer, { ...integer, multipleOf: 2 }],
  ['narrowing', { ...integer, multipleOf: 2 }, { ...integer, multipleOf: 3 }],
  ['widening', { ...integer, multipleOf: 4 }, { ...integer, multipleOf: 2 }],
  ['widening', { ...integer, multipleOf: 2 }, integer],
  ['narrowing', list(string), list(string, { uniqueItems: true })],
  ['widening', list(string, { uniqueItems: true }), list(string)],
  ['narrowing', { type: 'array' }, list(string)],
  ['widening', list(string), { type: 'array' }],
  ['breaking', list(string), list(integer)],
  ['widening', list(integer), list(number)],
  ['narrowing', { type: 'array' }, { type: 'array', contains: string }],
  ['widening', { type: 'array', contains: string }, { type: 'array' }],
  ['unknown', { prefixItems: [string] }, { prefixItems: [string, string] }],
  ['breaking', { prefixItems: [string] }, { prefixItems: [integer] }],
  ['widening', object({ a: string }), object({ a: string, b: string })],
  ['breaking', object({ a: string, b: string }), object({ a: string })],
  [
    'narrowing',
    object({ a: string }, { additionalProperties: true }),
    object({ a: string, b: string }, { additionalProperties: true }),
  ],
  [
    'widening',
    object({ a: string }, { additionalProperties: true }),
    object({ a: string, b: {} }, { additionalProperties: true }),
  ],
  [
    'widening',
    object({ a: string, b: string }, { additionalProperties: true }),
    object({ a: string }, { additionalProperties: true }),
  ],
  ['widening', object({ a: string }), object({ a: string }, { additionalProperties: true })],
  ['narrowing', object({ a: string }, { additionalProperties: true }), object({ a: string })],
  ['narrowing', { type: 'object' }, object({ a: string })],
  [undefined, object({ a: string }), object({ a: string }, { additionalProperties: false })],
  ['widening', object({ a: string }), object({ a: string }, { additionalProperties: string })],
  ['breaking', object({}, { additionalProperties: string }), object({}, { additionalProperties: integer })],
  ['narrowing', object({ a: string }), object({ a: string }, { required: ['a'] })],
  ['narrowing', object({ a: string }), object({ a: string, b: string }, { required: ['b'] })],
  ['widening', object({ a: string }, { required: ['a'] }), object({ a: string })],
  ['needs-default', object({ a: string }), object({ a: string, b: { ...string, default: 'x' } }, { required: ['b'] })],
  ['behaviour', object({ a: { ...string, default: 'x' } }), object({ a: { ...string, default: 'y' } })],
  ['behaviour', object({ a: string }), object({ a: { ...string, default: 'y' } })],
  ['behaviour', object({ a: { ...string, default: 'y' } }), object({ a: string })],
  ['needs-default', object({ a: string }), object({ a: { ...string, default: 'y' } }, { required: ['a'] })],
  ['narrowing', { type: 'object' }, { type: 'object', propertyNames: { maxLength: 1 } }],
  ['widening', { type: 'object', propertyNames: { maxLength: 1 } }, { type: 'object' }],
  ['narrowing', { type: 'object' }, { type: 'object', patternProperties: { '^a': string } }],
  ['widening', { type: 'object', patternProperties: { '^a': string } }, { type: 'object' }],
  [
    'breaking',
    { type: 'object', patternProperties: { '^a': string } },
    { type: 'object', patternProperties: { '^a': integer } },
  ],
  ['widening', object({}), object({}, { patternProperties: { '^a': string } })],
  ['breaking', object({}, { patternProperties: { '^a': string } }), object({})],
  ['narrowing', { type: 'object' }, { type: 'object', dependentRequired: { a: ['b'] } }],
  ['widening', { type: 'object', dependentRequired: { a: ['b'] } }, { type: 'object' }],
  ['unknown', { anyOf: [string] }, { anyOf: [string, integer] }],
  ['unknown', { allOf: [string] }, { allOf: [{ ...string, maxLength: 1 }] }],
  ['unknown', { oneOf: [string, integer] }, { oneOf: [string] }],
  ['unknown', {}, { not: string }],
  ['unknown', conditional({ maxLength: 1 }), conditional({ maxLength: 2 })],
  ['unknown', { dependentSchemas: { a: object({ b: string }) } }, { dependentSchemas: { a: object({ c: string }) } }],
  [
    undefined,
    { anyOf: [{ ...string, description: 'a' }, integer] },
    { anyOf: [{ ...string, description: 'b' }, integer] },
  ],
];

/** A schema whose member `x` is this one. */
const placed: Readonly<Record<string, (schema: object) => object>> = {
  'a member': (x) => object({ x }),
  'an item of a list of objects': (x) => object({ all: list(object({ x })) }),
  'a referenced definition': (x) => ({ ...object({ all: { $ref: '#/$defs/one' } }), $defs: { one: object({ x }) } }),
};

function modelOf(spec: object, indexes?: (specs: IndexSpecs) => void): Scheme {
  return Scheme.buildFromType(defineModel({ gvk, spec: spec as never }), indexes);
}

function changesOf(before: Scheme, after: Scheme): ContractChange[] {
  return compareContracts(contractOf(before), contractOf(after));
}

test('200 pairs of schemas have the class of their strongest change, wherever they stand', () => {
  let count = 0;
  for (const [place, put] of Object.entries(placed)) {
    for (const [expected, before, after] of pairs) {
      const changes = changesOf(modelOf(put(before)), modelOf(put(after)));
      const about = `${place}: ${JSON.stringify(before)} → ${JSON.stringify(after)}: ${JSON.stringify(changes)}`;
      assert.equal(strongest(changes), expected, about);
      assert.equal(
        needsData(changes),
        ['needs-default', 'narrowing', 'unknown', 'breaking'].includes(String(expected)),
        about,
      );
      for (const { place: at } of changes) assert.match(at, /^\/spec\/(x|all\/(\*\/)?x)(\/|$)/, about);
      count++;
    }
  }
  assert(count >= 200, `${count} pairs`);
});

/** Numbers in [0, 1) that the seed alone decides. */
function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function randomValue(random: () => number, depth = 0): unknown {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  const kind = random();
  if (depth < 2 && kind < 0.35)
    return Object.fromEntries(
      ['a', 'b', 'c'].filter(() => random() < 0.5).map((name) => [name, randomValue(random, depth + 1)]),
    );
  if (depth < 2 && kind < 0.6)
    return Array.from({ length: Math.floor(random() * 5) }, () => randomValue(random, depth + 1));
  return pick(['a', 'b', 'ab', 'abcd', '', 'a@example.com', 0, 1, 2, 3, 4, 2.5, -1, true, false, null]);
}

test('what leaves stored objects alone never refuses what was accepted, in 1,000 objects of each pair', () => {
  const seed = Number(process.env.KINDRED_TEST_SEED ?? Date.now() % 1_000_000_000);
  const random = randomOf(seed);
  let accepted = 0;
  for (const [expected, before, after] of pairs) {
    if (needsData(expected ? [{ class: expected }] : [])) continue;
    const [was, is] = [modelOf(object({ x: before })).validator, modelOf(object({ x: after })).validator];
    for (let i = 0; i < 1_000; i++) {
      const stored = {
        apiVersion: 'demo.example.com/v1',
        kind: 'Thing',
        metadata: { name: 'a' },
        spec: { x: randomValue(random) },
      };
      if (was.validate(stored).count > 0) continue;
      accepted++;
      assert.equal(is.validate(stored).count, 0, `seed ${seed}: ${JSON.stringify([before, after, stored.spec])}`);
    }
  }
  assert(accepted > 5_000, `${accepted} objects were accepted`);
});

test('a change is described with its place', () => {
  const before = object({ email: string, old: string, role: { enum: ['a', 'b'] } });
  const after = object({ email: { ...string, format: 'email' }, 'new~/': string, role: { enum: ['a', 'c'] } });
  assert.deepEqual(
    changesOf(modelOf(before), modelOf(after)).map(({ place, what, class: of }) => `${place} ${what}: ${of}`),
    [
      '/spec/email format added: narrowing',
      '/spec/old member removed: breaking',
      '/spec/role enum values added: "c": widening',
      '/spec/role enum values removed: "b": narrowing',
      '/spec/new~0~1 optional member added: widening',
    ],
  );
});

test('indexes are compared by key type, options and the text of their functions', () => {
  const index = (build: (specs: IndexSpecs) => void) => modelOf({}, build);
  const single = (
    change: (one: ReturnType<typeof Specs.single<StringConstructor>>) => unknown,
    fn = (one: any) => one.spec.a,
  ) =>
    index((specs) => {
      const one = Specs.single('spec.a', String).indexFunc(fn);
      change(one);
      specs.add(one);
    });
  const plain = single(() => {});
  const told = (before: Scheme, after: Scheme) =>
    changesOf(before, after).map(({ place, what, class: of }) => `${place} ${what}: ${of}`);
  assert.deepEqual(
    told(
      plain,
      single(() => {}),
    ),
    [],
  );
  assert.deepEqual(
    told(
      index(() => {}),
      plain,
    ),
    ['index spec.a added: index'],
  );
  assert.deepEqual(
    told(
      plain,
      index(() => {}),
    ),
    ['index spec.a removed: index'],
  );
  assert.deepEqual(
    told(
      index(() => {}),
      single((one) => one.unique()),
    ),
    ['index spec.a added: index', 'index spec.a unique added: narrowing'],
  );
  assert.deepEqual(
    told(
      plain,
      single((one) => one.unique()),
    ),
    ['index spec.a unique added: narrowing'],
  );
  assert.deepEqual(
    told(
      single((one) => one.unique()),
      plain,
    ),
    ['index spec.a unique removed: widening'],
  );
  assert.deepEqual(
    told(
      plain,
      single((one) => one.nullable(false)),
    ),
    ['index spec.a no longer nullable: narrowing'],
  );
  assert.deepEqual(
    told(
      single((one) => one.nullable(false)),
      plain,
    ),
    ['index spec.a nullable: widening'],
  );
  assert.deepEqual(
    told(
      plain,
      single((one) => one.order('DESC')),
    ),
    ['index spec.a order ASC → DESC: behaviour'],
  );
  assert.deepEqual(
    told(
      plain,
      single(
        () => {},
        (one) => one.spec.b,
      ),
    ),
    ['index spec.a function changed: index'],
  );
  assert.deepEqual(
    told(
      single((one) => one.unique()),
      single(
        (one) => one.unique(),
        (one) => one.spec.b,
      ),
    ),
    ['index spec.a function changed: narrowing'],
  );
  type Options = { unique?: true; nullable?: false };
  const keyed = (declared: (one: any, options: Options) => unknown) => (options: Options) =>
    Scheme.buildFromType(defineModel({ gvk, spec: {}, indexes: (one: any) => [declared(one, options)] } as never));
  const fn = (one: any) => one.spec.a;
  const text = keyed((one, options) => one.single('spec.a', String, fn, options));
  const number = keyed((one, options) => one.single('spec.a', Number, fn, options));
  const many = keyed((one, options) => one.multi('spec.a', String, fn, options));
  for (const [options, of] of [
    [{}, 'index'],
    [{ unique: true }, 'narrowing'],
    [{ nullable: false }, 'narrowing'],
  ] as const) {
    assert.deepEqual(told(text(options), number(options)), [`index spec.a key type string → number: ${of}`]);
    assert.deepEqual(told(text(options), many(options)), [`index spec.a has many values now: ${of}`]);
    assert.deepEqual(told(many(options), text(options)), [`index spec.a has one value now: ${of}`]);
  }
  const older = (fn: (one: any) => unknown) =>
    index((specs) =>
      specs.add(new IndexSpec({ name: 'spec.a', indexFunc: simpleAttribute(defineModel({ gvk, spec: {} }), fn) })),
    );
  assert.deepEqual(
    told(
      older((one) => one.spec.a),
      older((one) => one.spec.a),
    ),
    [],
  );
  assert.deepEqual(
    told(
      older((one) => one.spec.a),
      older((one) => one.spec.b),
    ),
    ['index spec.a function changed: index'],
  );
});

test('versions, names, sub-resources and the spec itself are compared', () => {
  const build = (more: object, declared: object) =>
    Scheme.buildFromType(defineModel({ gvk: { ...gvk, ...more }, ...declared } as never));
  const told = (before: Scheme, after: Scheme) =>
    changesOf(before, after).map(({ place, what, class: of }) => `${place} ${what}: ${of}`);
  const status = { spec: {}, status: object({}) };
  assert.deepEqual(told(build({}, { spec: {} }), build({ version: 'v2' }, { spec: {} })), [
    'v2 new version: widening',
    'v1 no longer served: breaking',
  ]);
  assert.deepEqual(told(build({}, { spec: {} }), build({ plural: 'thingies' }, { spec: {} })), [
    'names plural things → thingies: breaking',
  ]);
  assert.deepEqual(told(build({}, { spec: {} }), build({}, status)), ['/status status added: widening']);
  assert.deepEqual(told(build({}, status), build({}, { ...status, subresources: { status: true } })), [
    'status has a route of its own: behaviour',
  ]);
  assert.deepEqual(told(build({}, { spec: { ...object({}), '~optional': true } }), build({}, { spec: object({}) })), [
    '/spec required member added: narrowing',
  ]);
  assert.deepEqual(told(build({}, { schema: object({ a: string }) }), build({}, { schema: object({ a: integer }) })), [
    '/a type string → integer: breaking',
  ]);
});

test('schemas that contain themselves are compared once', () => {
  const tree = (leaf: object) => ({
    $ref: '#/$defs/node',
    $defs: { node: object({ leaf, children: list({ $ref: '#/$defs/node' }) }) },
  });
  assert.deepEqual(
    changesOf(modelOf(tree(string)), modelOf(tree(integer))).map(({ place, what }) => `${place} ${what}`),
    ['/spec/leaf type string → integer'],
  );
  const either = (leaf: object) => ({
    anyOf: [{ $ref: '#/$defs/node' }, string],
    $defs: { node: object({ leaf, next: { $ref: '#/$defs/node' } }) },
  });
  assert.equal(strongest(changesOf(modelOf(either(string)), modelOf(either(integer)))), 'unknown');
  assert.equal(strongest(changesOf(modelOf(either(string)), modelOf(either(string)))), undefined);
});

/** As stored by services that knew one version of a model. */
const hashOfOne = 'dbf5f18bb2e8320d7fc1b47191c309538cca7fd7ddcae730567ee25fd82f6ceb';

test('a model with a single version has the contract that it had before there were several', () => {
  const spec = object({ a: string }, { required: ['a'] });
  const status = object({ b: integer });
  const declared = { gvk: { ...gvk, subresources: { status: true } }, spec, status };
  assert.equal(contractHash(contractOf(Scheme.buildFromType(defineModel(declared)))), hashOfOne);
  const none = Scheme.buildFromType(defineModel({ ...declared, versions: {} }));
  assert.equal(contractHash(contractOf(none)), hashOfOne);
});

test('a contract is canonical, and its schemas are data that validate as the declaration does', () => {
  const spec = object({ a: string, b: { ...integer, default: 1 } }, { required: ['a'] });
  const first = contractOf(modelOf(spec));
  assert.equal(
    contractHash(first),
    contractHash(contractOf(modelOf(object({ b: { default: 1, ...integer }, a: string }, { required: ['a'] })))),
  );
  assert.notEqual(contractHash(first), contractHash(contractOf(modelOf(object({ a: string })))));
  const again = schemeOfContract(JSON.parse(canonicalText(first)));
  assert.equal(contractHash(contractOf(again)), contractHash(first));
  const optional = Scheme.buildFromType(defineModel({ gvk, schema: object({ a: string }) }));
  assert.equal(contractHash(contractOf(schemeOfContract(contractOf(optional)))), contractHash(contractOf(optional)));
  const without = Scheme.buildFromType(defineModel({ gvk, spec: { ...spec, '~optional': true } as never }));
  assert.equal(schemeOfContract(contractOf(without)).specRequired, false);
});

test('classes are in order', () => {
  assert.equal(strongest(changeClasses.map((one) => ({ class: one }))), 'breaking');
  assert.equal(strongest([]), undefined);
});
