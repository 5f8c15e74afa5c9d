import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SchemaDocument } from '../../../src/schema/document.ts';
import { nodeLoader } from '../../../src/schema/node-loader.ts';
import { normalizeSchema } from '../../../src/schema/read.ts';
import type { Control, Field, Part } from './plan.ts';
import { Plan } from './plan.ts';

function planOf(schema: unknown, language = 'en'): Plan {
  const source = { model: 'Test', path: '', warnings: [] };
  const root = normalizeSchema(schema, source);
  return new Plan(new SchemaDocument(root, { ...source, closed: true, loader: nodeLoader }), () => language);
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
  {
    name: 'a number of which a part is typed',
    schema: { type: 'integer' },
    value: '-',
    control: { kind: 'number' },
  },
  {
    name: 'a text in the place of a number',
    schema: { type: 'integer' },
    value: '7',
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

test('plan: constants distinguish the kinds, a title or a constant names them, and the value selects one', () => {
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
