import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineModel } from '../model/define.ts';
import { Scheme } from '../model/scheme.ts';
import { Type } from '../model/type.ts';
import { tryConversions } from '../resource/conversion-trial.ts';
import { generate, seeded } from '../resource/generate.ts';
import { conversionTests } from './conversions.ts';

const gvk = { group: 'people.example.com', version: 'v2', kind: 'Person', singular: 'person', plural: 'persons' };
const v1Spec = Type.Object({ fullName: Type.String(), tags: Type.Array(Type.String()) });
const v2Spec = Type.Object({
  name: Type.Object({
    given: Type.String({ pattern: '^[^ ]*$' }),
    family: Type.Optional(Type.String()),
    title: Type.Optional(Type.Enum(['Dr', 'Prof'])),
  }),
  tags: Type.Array(Type.Object({ text: Type.String(), note: Type.Optional(Type.String()) })),
});

interface V1 {
  fullName: string;
  tags: string[];
}
interface V2 {
  name: { given: string; family?: string; title?: string };
  tags: { text: string; note?: string }[];
}
interface Conversions {
  toHub: (spec: V1) => V2;
  fromHub: (spec: V2) => V1;
}

/** Everything before the first space is the given name. */
const right: Conversions = {
  toHub: ({ fullName, tags }) => {
    const at = fullName.indexOf(' ');
    const name = at < 0 ? { given: fullName } : { given: fullName.slice(0, at), family: fullName.slice(at + 1) };
    return { name, tags: tags.map((text) => ({ text })) };
  },
  fromHub: ({ name: { given, family }, tags }) => ({
    fullName: family === undefined ? given : `${given} ${family}`,
    tags: tags.map(({ text }) => text),
  }),
};

const modelWith = (conversions: Partial<Conversions>) =>
  defineModel({ gvk, spec: v2Spec, versions: { v1: { spec: v1Spec, ...right, ...conversions } as never } });

const report = (conversions: Partial<Conversions>) =>
  tryConversions(Scheme.buildFromType(modelWith(conversions)), 'v1', { runs: 500, seed: 1 });
const broken = (conversions: Partial<Conversions>) =>
  Object.entries(report(conversions).problems).flatMap(([property, problem]) => (problem ? [property] : []));

conversionTests(modelWith({}), { runs: 200, seed: 1 });

test('conversions that are right have no problem, and what a version cannot say is told', () => {
  const { problems, objects, hidden } = report({});
  assert.deepEqual(
    Object.values(problems).filter((one) => one !== undefined),
    [],
  );
  assert.deepEqual(objects, { v1: 500, v2: 500 });
  assert.ok(hidden.includes('/spec/name/title'), hidden.join(' '));
});

test('a hub that says more than its conversion takes apart is caught: a write through the version is read otherwise', () => {
  const spec = Type.Object({ name: Type.Object({ given: Type.String(), family: Type.Optional(Type.String()) }) });
  const { tags: _tags, ...name } = v1Spec.properties;
  const model = defineModel({
    gvk,
    spec,
    versions: {
      v1: {
        spec: Type.Object(name),
        toHub: ({ fullName }: V1) => ({ name: right.toHub({ fullName, tags: [] }).name }),
        fromHub: ({ name }: V2) => ({ fullName: right.fromHub({ name, tags: [] }).fullName }),
      } as never,
    },
  });
  const { problems } = tryConversions(Scheme.buildFromType(model), 'v1', { runs: 500, seed: 1 });
  assert.match(problems.written!.what, /is written through v1, and read as .*: \/spec\/fullName$/);
});

test('a conversion that loses a part of what a client wrote is caught, at a short object', () => {
  const toHub = ({ fullName, tags }: V1): V2 => {
    const [given = '', family] = fullName.split(' ');
    return { name: { given, ...(family !== undefined && { family }) }, tags: tags.map((text) => ({ text })) };
  };
  assert.deepEqual(broken({ toHub }), ['kept', 'written']);
  const { what, content, objects } = report({ toHub }).problems.kept!;
  assert.match(what, /^\/spec\/fullName is another one when it comes back/);
  assert.ok(objects > 1);
  assert.deepEqual((content.spec as V1).tags, []);
});

test('conversions that make invalid objects, fail, change their input or know more than it are caught', () => {
  let calls = 0;
  const cases: [Partial<Conversions>, string][] = [
    [{ toHub: (spec) => ({ ...right.toHub(spec), tags: undefined as never }) }, 'valid'],
    [{ fromHub: ({ name, tags }) => ({ ...right.fromHub({ name, tags }), fullName: name.family! }) }, 'valid'],
    [{ toHub: (spec) => (spec.tags.length > 2 ? [][1]! : right.toHub(spec)) }, 'valid'],
    [
      {
        toHub: (spec) => {
          spec.tags.sort();
          return right.toHub(spec);
        },
      },
      'pure',
    ],
    [{ toHub: (spec) => ({ ...right.toHub(spec), tags: [{ text: String(calls++) }] }) }, 'pure'],
    [{ toHub: (async (spec: V1) => right.toHub(spec)) as never }, 'valid'],
  ];
  for (const [conversions, property] of cases) {
    const found = broken(conversions);
    assert.ok(
      found.includes(property),
      `${property}: found ${found.join(', ')} of ${String(Object.values(conversions)[0])}`,
    );
  }
});

test('what random objects seldom are can be given, and has to be valid', () => {
  const rare = 'x'.repeat(3);
  const toHub = (spec: V1) => right.toHub({ ...spec, fullName: spec.fullName === rare ? '' : spec.fullName });
  const scheme = Scheme.buildFromType(modelWith({ toHub }));
  const without = tryConversions(scheme, 'v1', { runs: 100, seed: 1 });
  assert.equal(without.problems.kept, undefined);
  const examples = { v1: [{ spec: { fullName: rare, tags: [] } }] };
  const found = tryConversions(scheme, 'v1', { runs: 100, seed: 1, examples }).problems.kept;
  assert.deepEqual(found?.content, examples.v1[0]);
  assert.throws(
    () => tryConversions(scheme, 'v1', { runs: 1, seed: 1, examples: { v2: [{ spec: {} }] } }),
    /an example of v2 is invalid: \/spec\/name is required/,
  );
  const spec = Type.Object({ code: Type.String({ pattern: '^[A-Z]{8}-[0-9]{8}$' }) });
  const coded = Scheme.buildFromType(defineModel({ gvk, spec, versions: { v1: { spec } } }));
  assert.throws(
    () => tryConversions(coded, 'v1', { runs: 10, seed: 1 }),
    /no valid object of v1 could be generated from its schema: give some in "examples"/,
  );
});

test('random values satisfy the schemas that they are made of', () => {
  const random = seeded(7);
  const spec = {
    type: 'object',
    $defs: { tree: { type: 'object', properties: { next: { $ref: '#/$defs/tree' } }, additionalProperties: false } },
    properties: {
      tree: { $ref: '#/$defs/tree' },
      count: { type: 'integer', exclusiveMinimum: 0, maximum: 9, multipleOf: 3 },
      ratio: { type: 'number', minimum: 0, maximum: 1 },
      kind: { enum: ['a', 1, null] },
      fixed: { const: 'x' },
      list: { type: 'array', items: { type: ['string', 'null'] }, minItems: 2, maxItems: 3 },
      set: { type: 'array', items: { type: 'boolean' }, uniqueItems: true },
      pair: { prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false, type: 'array' },
      map: { type: 'object', additionalProperties: { type: 'string', maxLength: 3 } },
      either: { oneOf: [{ type: 'string', minLength: 30 }, { type: 'boolean' }] },
      both: { allOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { required: ['a'] }] },
      mail: { type: 'string', format: 'email' },
    },
    required: ['tree', 'count', 'ratio', 'kind', 'fixed', 'list', 'set', 'pair', 'map', 'either', 'both', 'mail'],
    additionalProperties: false,
  };
  const { validator } = Scheme.buildFromType(defineModel({ gvk, spec }));
  for (let i = 0; i < 500; i++) {
    const object = {
      apiVersion: 'people.example.com/v2',
      kind: 'Person',
      metadata: { name: 'a' },
      spec: generate(spec, random),
    };
    assert.deepEqual(validator.validate(object as never).listed, []);
  }
});
