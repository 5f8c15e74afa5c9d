/** A declaration with several mistakes: all of them are told at once (docs/reference/declaration.md). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KindredError } from '../../src/errors.ts';
import { GVK, Schema } from '../../src/model/decorators.ts';
import { defineModel } from '../../src/model/define.ts';
import { IndexSpecs } from '../../src/model/index-spec.ts';
import { AbstractExtension } from '../../src/model/object.ts';
import { Scheme } from '../../src/model/scheme.ts';

const gvk = { group: 'demo.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' };

function mistakesOf(declare: () => unknown): { en: string; zh: string } {
  try {
    declare();
  } catch (error) {
    assert.ok(error instanceof KindredError && error.code === 'InvalidModel', String(error));
    return { en: error.message, zh: String(error.problem('zh').detail) };
  }
  assert.fail('nothing was thrown');
}

/** What each message says of one mistake, in order. */
const cases: { name: string; declare: () => unknown; says: RegExp[] }[] = [
  {
    name: 'GVK attributes',
    declare: () =>
      defineModel({ gvk: { group: 'A', version: '1.0', kind: 'thing', singular: 'Thing', plural: 'watch' }, spec: {} }),
    says: [/"group".*"A"/, /"version".*"1\.0"/, /"kind".*"thing"/, /"singular".*"Thing"/, /"plural".*"watch"/],
  },
  {
    name: 'a schema, at every depth',
    declare: () =>
      defineModel({
        gvk,
        spec: {
          type: 'object',
          properties: {
            a: { type: 'string', pattern: '(' },
            b: { type: 'strin', minLength: -1 },
            c: { type: 'string', fromat: 'email' },
            d: 'text',
            e: { anyOf: [{ type: 'object', properties: { f: { type: 'nunber' } } }, { $ref: 1 }] },
          },
        } as object,
      }),
    says: [
      /\/spec\/properties\/a\/pattern has a pattern/,
      /\/spec\/properties\/b\/type must be one of/,
      /\/spec\/properties\/b\/minLength must be an integer/,
      /\/spec\/properties\/c\/fromat is not a keyword/,
      /\/spec\/properties\/d must be a schema/,
      /\/spec\/properties\/e\/anyOf\/0\/properties\/f\/type must be one of/,
      /\/spec\/properties\/e\/anyOf\/1\/\$ref must be a string/,
    ],
  },
  {
    name: 'all parts of a declaration',
    declare: () =>
      defineModel({
        gvk: { ...gvk, version: '1' },
        spec: { type: 'objekt' },
        status: { minimum: 'x' },
        indexes: (index: any) => [
          index.single('spec.n', Number, () => 1),
          index.single('metadata.name', String, () => 'a'),
          index.single('spec.n', Number, () => 1),
        ],
        indices: [],
      } as never),
    says: [
      /defineModel knows no member "indices"/,
      /"version"/,
      /The model "Thing": the schema at \/spec\/type/,
      /the schema at \/status\/minimum/,
      /"metadata\.name" is built in/,
      /"spec\.n" is declared twice/,
    ],
  },
  {
    name: 'indexes of the registration',
    declare: () =>
      Scheme.buildFromType(defineModel({ gvk, spec: {} }), (specs) =>
        specs.add(IndexSpecs.single('a b', String)).add(IndexSpecs.single('name', String)),
      ),
    says: [/got "a b"/, /"name" is built in/],
  },
  {
    name: 'a class',
    declare: () => {
      class Spec {
        @Schema({ type: 'strin' as never }) a?: string;
        @Schema({ type: 'integer', minLength: 1, requiredMode: 'ALWAYS' as never }) b?: number;
        @Schema({ type: 'string', defaultValue: 'x' } as never) c?: string;
      }
      @GVK({ ...gvk, kind: 'thing' })
      class Thing extends AbstractExtension {
        @Schema({ type: Spec }) spec!: Spec;
      }
      return Scheme.buildFromType(Thing);
    },
    says: [
      /@Schema on Spec\.a: the type must be one of/,
      /@Schema on Spec\.b: "minLength" applies to string/,
      /@Schema on Spec\.b: requiredMode/,
      /@Schema on Spec\.c knows no attribute "defaultValue"/,
      /"kind"/,
    ],
  },
];

for (const { name, declare, says } of cases) {
  test(`declaration: all mistakes are reported at once - ${name}`, () => {
    const { en, zh } = mistakesOf(declare);
    const [head, ...parts] = en.split(/(?:; )?\(\d+\) /);
    assert.equal(head, `${says.length} mistakes: `, en);
    for (const [i, pattern] of says.entries()) assert.match(parts[i]!, pattern);
    assert.match(zh, new RegExp(`^${says.length} 处错误：\\(1\\) .*\\p{Script=Han}`, 'u'));
  });
}

test('declaration: a single mistake is the whole message', () => {
  assert.match(
    mistakesOf(() => defineModel({ gvk: { ...gvk, kind: 'thing' }, spec: {} })).en,
    /^The GVK attribute "kind"/,
  );
});

test('declaration: a schema that contains itself, in two places, is an error soon', () => {
  const schema: { properties: Record<string, object> } = { properties: {} };
  schema.properties.a = schema;
  schema.properties.b = schema;
  assert.match(mistakesOf(() => defineModel({ gvk, spec: schema })).en, /^20 mistakes: .*contains itself/);
});
