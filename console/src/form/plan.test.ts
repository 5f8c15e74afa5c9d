import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { City } from '../../../examples/atlas/city.ts';
import { Country } from '../../../examples/atlas/country.ts';
import { Region } from '../../../examples/atlas/region.ts';
import { SavedQuery } from '../../../examples/atlas/saved-query.ts';
import { Link } from '../../../examples/link-checker/link.ts';
import * as access from '../../../src/auth/models.ts';
import { SchemaDocument } from '../../../src/schema/document.ts';
import type { JsonSchema } from '../../../src/schema/keywords.ts';
import { nodeLoader } from '../../../src/schema/node-loader.ts';
import { normalizeSchema } from '../../../src/schema/read.ts';
import { below, isObject, isWithin, valueAt, withValue } from '../diff/pointer.ts';
import type { Control, Field, Part } from './plan.ts';
import { Plan } from './plan.ts';

function planOf(schema: unknown, language = 'en'): Plan {
  const source = { model: 'Test', path: '', warnings: [] };
  const root = normalizeSchema(schema, source);
  return new Plan(new SchemaDocument(root, { ...source, closed: true, loader: nodeLoader }), language);
}

/** The field of a member, as it is drawn for a value. */
function fieldOf(schema: unknown, value?: unknown): Field {
  const plan = planOf({ type: 'object', properties: { a: schema }, required: ['a'] });
  const root = plan.field(plan.root, value === undefined ? {} : { a: value });
  return plan.field(membersOf(root.control)[0]!, value);
}

function membersOf(control: Control): readonly Part[] {
  assert.equal(control.kind, 'object');
  return control.kind === 'object' ? control.members : [];
}

const text = { kind: 'text', lines: 'one', format: undefined, secret: false } as const;
const controls: { name: string; schema: unknown; value?: unknown; control: Partial<Control> & object }[] = [
  { name: 'string', schema: { type: 'string' }, control: text },
  { name: 'string, x-multiline', schema: { type: 'string', 'x-multiline': true }, control: { ...text, lines: 'many' } },
  { name: 'string, maxLength 200', schema: { type: 'string', maxLength: 200 }, control: text },
  { name: 'string, maxLength 201', schema: { type: 'string', maxLength: 201 }, control: { ...text, lines: 'many' } },
  { name: 'string with a line break', schema: { type: 'string' }, value: 'a\nb', control: { ...text, lines: 'many' } },
  { name: 'format', schema: { type: 'string', format: 'date' }, control: { ...text, format: 'date' } },
  { name: 'format password', schema: { type: 'string', format: 'password' }, control: { secret: true } },
  { name: 'writeOnly', schema: { type: 'string', writeOnly: true }, control: { secret: true } },
  { name: 'pattern without a type', schema: { pattern: '^a' }, control: text },
  { name: 'integer', schema: { type: 'integer', minimum: 1 }, control: { kind: 'number', integer: true } },
  { name: 'number', schema: { type: 'number' }, control: { kind: 'number', integer: false } },
  { name: 'minimum without a type', schema: { minimum: 1 }, control: { kind: 'number' } },
  { name: 'boolean', schema: { type: 'boolean' }, control: { kind: 'boolean' } },
  {
    name: 'enum',
    schema: { enum: ['a', 1, true] },
    control: {
      kind: 'choice',
      choices: [
        { value: 'a', label: 'a' },
        { value: 1, label: '1' },
        { value: true, label: 'true' },
      ],
    },
  },
  { name: 'const', schema: { const: 'a' }, control: { kind: 'constant', value: 'a' } },
  {
    name: 'oneOf of consts, by their titles',
    schema: { oneOf: [{ const: 'a', title: 'First' }, { const: 'b' }] },
    control: {
      kind: 'choice',
      choices: [
        { value: 'a', label: 'First' },
        { value: 'b', label: 'b' },
      ],
    },
  },
  {
    name: 'an enum in allOf',
    schema: { allOf: [{ enum: ['a', 'b'] }, { enum: ['b', 'c'] }] },
    control: { kind: 'constant', value: 'b' },
  },
  { name: 'one type and null', schema: { type: ['string', 'null'] }, control: text },
  { name: 'anyOf with null', schema: { anyOf: [{ type: 'integer' }, { type: 'null' }] }, control: { kind: 'number' } },
  { name: 'several types, none chosen', schema: { type: ['string', 'integer'] }, control: { kind: 'unchosen' } },
  {
    name: 'several types, by the value',
    schema: { type: ['string', 'integer'] },
    value: 3,
    control: { kind: 'number' },
  },
  {
    name: 'allOf of a type and a limit',
    schema: { allOf: [{ type: 'string' }, { maxLength: 300 }] },
    control: { lines: 'many' },
  },
  { name: 'an open object', schema: { type: 'object' }, control: { kind: 'yaml', reason: 'open' } },
  { name: 'anything', schema: {}, control: { kind: 'yaml', reason: 'open' } },
  { name: 'true', schema: true, control: { kind: 'yaml', reason: 'open' } },
  { name: 'false', schema: false, control: { kind: 'yaml', reason: 'nothing' } },
  {
    name: 'a value of another type',
    schema: { type: 'string' },
    value: { a: 1 },
    control: { kind: 'yaml', reason: 'mismatch' },
  },
  { name: 'an enum of objects', schema: { enum: [{ a: 1 }] }, control: { kind: 'yaml', reason: 'keyword' } },
  {
    name: 'a list',
    schema: { type: 'array', items: { type: 'string' } },
    control: { kind: 'list', choices: undefined },
  },
  {
    name: 'a list of different values of an enum',
    schema: { type: 'array', items: { enum: ['a', 'b'] }, uniqueItems: true },
    control: {
      kind: 'list',
      choices: [
        { value: 'a', label: 'a' },
        { value: 'b', label: 'b' },
      ],
    },
  },
  {
    name: '$dynamicRef',
    schema: { $dynamicAnchor: 'x', $dynamicRef: '#x', type: 'object' },
    control: { kind: 'yaml' },
  },
];

for (const { name, schema, value, control } of controls) {
  test(`plan: ${name}`, () => {
    // A schema that refers to itself in place is refused before there is a form of it.
    if (name === '$dynamicRef') {
      assert.throws(() => fieldOf(schema));
      return;
    }
    const drawn = fieldOf(schema, value).control as unknown as Record<string, unknown>;
    for (const [key, expected] of Object.entries(control)) assert.deepEqual(drawn[key], expected, key);
  });
}

test('plan: title, description, default and limits come from the schema itself before what it refers to', () => {
  const plan = planOf({
    type: 'object',
    properties: { a: { $ref: '#/$defs/a', title: 'Mine', maxLength: 5 } },
    $defs: {
      a: {
        type: 'string',
        title: 'Theirs',
        description: 'A text',
        default: 'x',
        maxLength: 9,
        'x-titles': { 'zh-CN': '文字' },
      },
    },
  });
  const field = plan.field(membersOf(plan.field(plan.root, {}).control)[0]!, undefined);
  assert.deepEqual(
    [field.label, field.description, field.facts.describing.default, field.facts.limits.maxLength],
    ['Mine', 'A text', 'x', 5],
  );
});

test('plan: texts in the language of the reader', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string', title: 'Title', 'x-titles': { 'zh-CN': '标题' } } },
  };
  const label = (language: string) => {
    const plan = planOf(schema, language);
    return plan.field(membersOf(plan.field(plan.root, {}).control)[0]!, undefined).label;
  };
  assert.deepEqual([label('en'), label('zh-CN')], ['Title', '标题']);
});

test('plan: required members by required, by dependentRequired and by then', () => {
  const plan = planOf({
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' }, c: { type: 'string' } },
    required: ['a'],
    dependentRequired: { a: ['b'] },
    if: { properties: { b: { const: 'x' } }, required: ['b'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['c'] },
  });
  const required = (value: unknown) =>
    membersOf(plan.field(plan.root, value).control)
      .filter((one) => one.required)
      .map((one) => one.name);
  assert.deepEqual(required({}), ['a']);
  assert.deepEqual(required({ a: '' }), ['a', 'b']);
  assert.deepEqual(required({ a: '', b: 'x' }), ['a', 'b', 'c']);
});

test('plan: dependentSchemas add members', () => {
  const plan = planOf({
    type: 'object',
    properties: { a: { type: 'string' } },
    dependentSchemas: { a: { properties: { b: { type: 'integer' } } } },
  });
  const names = (value: unknown) => membersOf(plan.field(plan.root, value).control).map((one) => one.name);
  assert.deepEqual([names({}), names({ a: '' })], [['a'], ['a', 'b']]);
});

test('plan: rows for members whose names are not declared', () => {
  const plan = planOf({
    type: 'object',
    properties: { a: { type: 'string' } },
    patternProperties: { '^x-': { type: 'integer' } },
    additionalProperties: { type: 'boolean' },
    propertyNames: { maxLength: 4 },
  });
  const { control } = plan.field(plan.root, { a: '', 'x-1': 1, other: true });
  assert.ok(control.kind === 'object' && control.rows);
  assert.deepEqual(control.rows.names, ['x-1', 'other']);
  assert.deepEqual(
    [control.rows.allows('b'), control.rows.allows('a'), control.rows.allows('long-name')],
    [true, false, false],
  );
  assert.equal(plan.field(control.rows.part('x-1'), 1).control.kind, 'number');
  assert.equal(plan.field(control.rows.part('b'), true).control.kind, 'boolean');
});

test('plan: an object that admits others beside its members keeps them', () => {
  const plan = planOf({ type: 'object', properties: { a: { type: 'string' } }, additionalProperties: true });
  const { control } = plan.field(plan.root, { a: '', b: 1 });
  assert.ok(control.kind === 'object' && control.openRest);
});

const shapes = {
  type: 'object',
  properties: {
    shape: {
      oneOf: [
        {
          type: 'object',
          properties: { kind: { const: 'circle' }, radius: { type: 'number' }, color: { type: 'string' } },
          required: ['kind', 'radius'],
        },
        {
          type: 'object',
          title: 'A box',
          properties: { kind: { const: 'box' }, width: { type: 'number' }, color: { type: 'string' } },
          required: ['kind', 'width'],
        },
      ],
    },
  },
};

test('plan: kinds are told apart by their constants, called by title or constant, and the value says which it is', () => {
  const plan = planOf(shapes);
  const [part] = membersOf(plan.field(plan.root, {}).control);
  assert.deepEqual(plan.field(part!, undefined).kinds, [{ names: ['circle', 'A box'], chosen: -1, nth: 0 }]);
  assert.equal(plan.field(part!, { kind: 'box', width: 1 }).kinds[0]?.chosen, 1);
  assert.equal(plan.field(part!, { kind: 'box' }).kinds[0]?.chosen, 1);
});

test('plan: another kind keeps what both have, and gives back what was typed before', () => {
  const plan = planOf(shapes);
  const [part] = membersOf(plan.field(plan.root, {}).control);
  const circle = { kind: 'circle', radius: 2, color: 'red' };
  const box = plan.withKind(part!, circle, 0, 1);
  assert.deepEqual(box, { kind: 'box', color: 'red' });
  const wide = { ...(box as object), width: 3, color: 'blue' };
  const again = plan.withKind(part!, wide, 0, 0);
  assert.deepEqual(again, { kind: 'circle', radius: 2, color: 'blue' });
  assert.deepEqual(plan.withKind(part!, again, 0, 1), { kind: 'box', color: 'blue', width: 3 });
});

test('plan: a kind of another type keeps the value for the way back', () => {
  const plan = planOf({ type: 'object', properties: { a: { anyOf: [{ type: 'string' }, { type: 'integer' }] } } });
  const [part] = membersOf(plan.field(plan.root, {}).control);
  assert.deepEqual(plan.field(part!, 'x').kinds[0]?.names, ['string', 'integer']);
  const number = plan.withKind(part!, 'x', 0, 1);
  assert.equal(number, undefined);
  assert.equal(plan.field(part!, number).control.kind, 'number');
  assert.equal(plan.withKind(part!, 5, 0, 0), 'x');
});

test('plan: a new value begins with constants, required objects, unset booleans and rows of minItems', () => {
  const plan = planOf({
    type: 'object',
    properties: {
      kind: { const: 'x' },
      on: { type: 'boolean' },
      auto: { type: 'boolean', default: true },
      in: {
        type: 'object',
        properties: { kind: { const: 'y' }, text: { type: 'string' } },
        required: ['kind', 'text'],
      },
      list: { type: 'array', items: { type: 'string' }, minItems: 2 },
      optional: { type: 'object', properties: { kind: { const: 'z' } }, required: ['kind'] },
    },
    required: ['kind', 'on', 'auto', 'in', 'list'],
  });
  assert.deepEqual(plan.initial(plan.root), { kind: 'x', on: false, in: { kind: 'y' }, list: ['', ''] });
});

test('plan: a schema that contains itself is drawn as deep as the value goes', () => {
  const plan = planOf({
    type: 'object',
    properties: { name: { type: 'string' }, child: { $ref: '#' }, children: { type: 'array', items: { $ref: '#' } } },
  });
  const value = { child: { child: { name: 'x' } } };
  const child = membersOf(plan.field(plan.root, value).control)[1]!;
  const deeper = membersOf(plan.field(child, value.child).control)[1]!;
  assert.deepEqual([deeper.pointer, deeper.inAbsent], ['/child/child', false]);
  const absent = membersOf(plan.field(deeper, undefined).control)[1]!;
  assert.ok(absent.inAbsent);
});

test('plan: what is drawn of a part stays the same object while nothing about it changes', () => {
  const plan = planOf(shapes);
  const parts = (value: unknown) => membersOf(plan.field(plan.root, value).control);
  assert.equal(parts({})[0], parts({ shape: { kind: 'box', width: 1 } })[0]);
});

// ── properties ───────────────────────────────────────────────────────────────────────────────────────────

const leaf = fc.oneof(
  fc.record({ type: fc.constant('string'), minLength: fc.constantFrom(0, 1, 2), maxLength: fc.constantFrom(3, 250) }),
  fc.record({
    type: fc.constantFrom('integer', 'number'),
    minimum: fc.constantFrom(-2, 0, 1),
    maximum: fc.constantFrom(1, 9),
  }),
  fc.record({
    type: fc.constantFrom('integer', 'number'),
    exclusiveMinimum: fc.constant(0),
    exclusiveMaximum: fc.constant(9),
  }),
  fc.record({ type: fc.constantFrom('boolean', ['string', 'null'], ['integer', 'string']) }),
  fc.record({
    type: fc.constant('string'),
    format: fc.constantFrom('date', 'date-time', 'email', 'uuid', 'ipv4', 'unknown'),
  }),
  fc.record({ type: fc.constant('string'), pattern: fc.constantFrom('^[A-Z]{2}$', '^a') }),
  fc.record({ enum: fc.constantFrom(['a', 'b'], [1, 2, 'x'], ['a', null]) }),
  fc.record({ const: fc.constantFrom('a', 1, false) }),
);
const names = fc.constantFrom('a', 'b', 'c', 'd/e');
const schemas = fc.letrec<{ schema: object; object: object }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    leaf,
    tie('object'),
    fc.record({
      type: fc.constant('array'),
      items: tie('schema'),
      minItems: fc.constantFrom(0, 1),
      maxItems: fc.constantFrom(1, 2),
    }),
    fc.record({
      type: fc.constant('array'),
      prefixItems: fc.tuple(leaf, tie('schema')),
      items: fc.constant(false),
      minItems: fc.constant(2),
    }),
    fc.record({
      type: fc.constant('object'),
      additionalProperties: tie('schema'),
      propertyNames: fc.constant({ pattern: '^[a-z]' }),
    }),
    fc.record({ anyOf: fc.tuple(leaf, fc.constant({ type: 'null' })) }),
    fc.record({ anyOf: fc.tuple(tie('object'), leaf) }),
    fc
      .tuple(tie('object'), tie('object'))
      .map(([one, other]) => ({ oneOf: [telling(one, 'one'), telling(other, 'two')] })),
  ),
  object: fc
    .tuple(fc.dictionary(names, tie('schema'), { maxKeys: 3 }), fc.subarray(['a', 'b', 'c', 'd/e']), fc.boolean())
    .map(([properties, required, isSplit]) => {
      const all = { type: 'object', properties, required: required.filter((name) => name in properties) };
      return isSplit ? { allOf: [all, { type: 'object', properties: { extra: { type: 'string' } } }] } : all;
    }),
}));

/** A branch that its own constant tells apart. */
function telling(schema: object, tag: string): object {
  return { allOf: [{ type: 'object', properties: { tag: { const: tag } }, required: ['tag'] }, schema] };
}

/** What people type, as far as the service would take it. */
const typed: readonly unknown[] = [
  '',
  'a',
  'ab',
  'abc',
  'FR',
  'EUR',
  'x',
  'one',
  '2024-02-29',
  '2024-02-29T10:00:00Z',
  '10:00:00Z',
  'ada@example.com',
  '127.0.0.1',
  '::1',
  'https://example.com/',
  'example.com',
  'PT1H',
  '/a',
  '^a$',
  '6f1f3e3a-3c44-4d52-9b6b-6ad5b6b5b5b5',
  'cities.atlas.example.com',
  -1,
  0,
  1,
  2,
  5,
  8,
  60,
  3600,
  0.5,
  true,
  false,
];

/** Fills a form as a person would: chooses kinds, types what a field takes, adds rows; leaves out what need not be there now and then. */
function fill(plan: Plan, part: Part, given: unknown, random: () => number, depth = 0): unknown {
  let value = plan.filled(part, given);
  let field = plan.field(part, value);
  for (let rounds = 0; field.kinds.some((kind) => kind.chosen < 0) && rounds < 5; rounds++) {
    const kind = field.kinds.find(({ chosen }) => chosen < 0)!;
    value = plan.withKind(part, value, kind.nth, Math.floor(random() * kind.names.length));
    field = plan.field(part, value);
  }
  const { control, facts } = field;
  switch (control.kind) {
    case 'constant':
      return control.value;
    case 'choice':
      return control.choices[Math.floor(random() * control.choices.length)]!.value;
    case 'text':
    case 'number':
    case 'boolean': {
      const known = [...typed, ...((facts.describing.examples as unknown[] | undefined) ?? [])];
      const fitting = known.filter((one) => part.schemas.every((schema) => plan.document.accepts(schema, one)));
      const drawn = fitting.filter((one) => plan.field(part, one).control.kind === control.kind);
      return drawn[Math.floor(random() * drawn.length)];
    }
    case 'yaml':
      return control.reason === 'open' ? { any: 'thing' } : undefined;
    case 'list': {
      if (control.choices) return control.choices.filter(() => random() < 0.5).map((choice) => choice.value);
      const count = Math.max(control.items.length, facts.limits.minItems ?? 0, depth < 4 && random() < 0.5 ? 1 : 0);
      let list: unknown[] = Array.isArray(value) ? [...value] : [];
      for (let i = 0; i < count; i++) {
        const drawn = plan.field(part, list).control;
        assert.ok(drawn.kind === 'list');
        const item = drawn.items[i] ?? drawn.added;
        if (!item) break;
        list = list.with.length && i < list.length ? list : [...list, plan.initialItem(item)];
        list[i] = fill(plan, item, list[i] === null ? undefined : list[i], random, depth + 1) ?? null;
      }
      return list;
    }
    case 'object': {
      let object: unknown = isObject(value) ? value : {};
      const done = new Set<string>();
      for (let next = true; next; ) {
        next = false;
        const drawn = plan.field(part, object).control;
        for (const member of membersOf(drawn)) {
          if (done.has(member.name)) continue;
          done.add(member.name);
          next = true;
          if (!member.required && (depth > 3 || random() < 0.4)) continue;
          const before = isObject(object) ? object[member.name] : undefined;
          object = withValue(object, below('', member.name), fill(plan, member, before, random, depth + 1));
          break;
        }
      }
      if (control.rows?.allows('row') && depth < 4 && random() < 0.5) {
        object = withValue(object, '/row', fill(plan, control.rows.part('row'), undefined, random, depth + 1));
      }
      return object;
    }
    default:
      return undefined;
  }
}

/** The places that a form shows, each with all that is in it. */
function drawnPlaces(plan: Plan, part: Part, value: unknown): string[] {
  const { control } = plan.field(part, value);
  if (control.kind === 'object') {
    const parts = [...control.members, ...(control.rows?.names.map((name) => control.rows!.part(name)) ?? [])];
    if (control.openRest || Object.keys(value as object).length === 0) return [part.pointer];
    return parts.flatMap((one) =>
      isObject(value) && Object.hasOwn(value, one.name) ? drawnPlaces(plan, one, value[one.name]) : [],
    );
  }
  if (control.kind === 'list' && !control.choices && (value as unknown[]).length > 0) {
    return control.items.flatMap((item, i) =>
      i < (value as unknown[]).length ? drawnPlaces(plan, item, (value as unknown[])[i]) : [],
    );
  }
  return control.kind === 'unchosen' ? [] : [part.pointer];
}

function leavesOf(value: unknown, pointer = ''): string[] {
  const below_ = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return below_.length === 0 ? [pointer] : below_.flatMap(([name, member]) => leavesOf(member, below(pointer, name)));
}

/** Fills, and checks that the service takes it and that the form shows all of it. */
function checkFilled(plan: Plan, random: () => number, start: unknown = undefined): unknown {
  const value = JSON.parse(JSON.stringify(fill(plan, plan.root, start, random) ?? null));
  const violations = plan.document.validate(value, '').listed;
  assert.deepEqual(
    violations.map((one) => `${one.pointer} ${one.message}`),
    [],
    JSON.stringify(value),
  );
  const fresh = new Plan(plan.document, 'en');
  const drawn = drawnPlaces(fresh, fresh.root, value);
  for (const pointer of leavesOf(value)) {
    assert.ok(
      drawn.some((one) => isWithin(pointer, one)),
      `${pointer} of ${JSON.stringify(value)} is not drawn: ${drawn.join(' ')}`,
    );
    assert.notEqual(valueAt(value, pointer), undefined);
  }
  return value;
}

function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const models: Record<string, { schema: object }> = {
  City,
  Country,
  Region,
  SavedQuery,
  Link,
  ...Object.fromEntries(Object.entries(access).filter(([, model]) => isObject(model) && 'gvk' in model)),
} as never;

for (const [name, model] of Object.entries(models)) {
  test(`plan: property - a filled form of the model ${name} is valid, and all of it is drawn`, () => {
    const schema = model.schema as { properties: Record<string, JsonSchema>; required: string[] };
    const plan = new Plan(
      new SchemaDocument(schema, { model: name, path: '', closed: true, loader: nodeLoader }),
      'en',
    );
    const metadata = { name: 'a' };
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        checkFilled(plan, randomOf(seed), { metadata });
      }),
      { numRuns: 30 },
    );
  });
}

test('plan: property - a filled form of any schema is valid, and all of it is drawn', () => {
  fc.assert(
    fc.property(schemas.object, fc.integer(), (schema, seed) => {
      checkFilled(planOf(schema), randomOf(seed));
    }),
    { numRuns: 1_000 },
  );
});
