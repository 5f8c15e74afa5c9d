import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Static } from 'typebox';
import { Type as TypeBox } from 'typebox';
import { Type } from './type.ts';
import * as Exported from './typebox.ts';

const described = { description: 'what it is' };
const declared = (make: typeof Type) =>
  make.Object(
    {
      list: make.Array(make.String({ minLength: 1 }), { minItems: 1, ...described }),
      plainList: make.Array(make.Integer()),
      flag: make.Optional(make.Boolean({ default: true, ...described })),
      choice: make.Enum(['A', 'B'], described),
      count: make.Integer({ minimum: 0 }),
      amount: make.Optional(make.Number({ exclusiveMinimum: 0 })),
      either: make.Union([make.Literal(false), make.Literal('text'), make.Literal(1)], described),
      map: make.Record(make.String(), make.String({ format: 'byte' }), described),
      nested: make.Optional(make.Object({ only: make.Optional(make.String()) })),
    },
    { additionalProperties: false },
  );

test('schemas are those of TypeBox, to the byte', () => {
  assert.equal(JSON.stringify(withoutMarks(declared(Type))), JSON.stringify(withoutMarks(declared(TypeBox))));
});

test('an optional schema is one for TypeBox too', () => {
  const whole = TypeBox.Object({ mine: Type.Optional(Type.String()), required: Type.String() });
  assert.deepEqual(whole.required, ['required']);
  const typed: Static<typeof whole> = { required: 'there' };
  assert.equal(typed.mine, undefined);
});

test('Type of the package is TypeBox at run time, every builder of it', () => {
  for (const [name, builder] of Object.entries(TypeBox)) {
    assert.equal((Exported as Record<string, unknown>)[name], builder, name);
  }
  const given = Exported.Object({ done: Exported.Boolean({ default: false }) });
  assert.deepEqual(JSON.parse(JSON.stringify(given)), {
    type: 'object',
    required: ['done'],
    properties: { done: { type: 'boolean', default: false } },
  });
});

/** What reading a declared schema keeps. */
function withoutMarks(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema), (key, value) => (key.startsWith('~') ? undefined : value));
}
