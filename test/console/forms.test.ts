/** Forms of every model of the examples and of any schema: what is filled in is what the service takes, and all of it is drawn. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { below, isObject, isWithin, valueAt, withValue } from '../../console/src/diff/pointer.ts';
import type { Control, Part } from '../../console/src/form/plan.ts';
import { Plan } from '../../console/src/form/plan.ts';
import { City } from '../../examples/atlas/city.ts';
import { Country } from '../../examples/atlas/country.ts';
import { Region } from '../../examples/atlas/region.ts';
import { SavedQuery } from '../../examples/atlas/saved-query.ts';
import { Link } from '../../examples/link-checker/link.ts';
import * as access from '../../src/auth/models.ts';
import { SchemaDocument } from '../../src/schema/document.ts';
import type { JsonSchema } from '../../src/schema/keywords.ts';
import { nodeLoader } from '../../src/schema/node-loader.ts';
import { normalizeSchema } from '../../src/schema/read.ts';

function planOf(schema: unknown): Plan {
  const source = { model: 'Test', path: '', warnings: [] };
  const root = normalizeSchema(schema, source);
  return new Plan(new SchemaDocument(root, { ...source, closed: true, loader: nodeLoader }), () => 'en');
}

function membersOf(control: Control): readonly Part[] {
  assert.equal(control.kind, 'object');
  return control.kind === 'object' ? control.members : [];
}

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
  const fresh = new Plan(plan.document, () => 'en');
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
      () => 'en',
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
