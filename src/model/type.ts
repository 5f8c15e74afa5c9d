/**
 * TypeBox's `Type` as far as the service's own schemas need it: the same types, the same JSON, without loading TypeBox. Its 373
 * modules are 10 MiB of memory and a tenth of a second at the start, which only the models that use it are to cost.
 */
import type { Type as TypeBox } from 'typebox';

type Schema = Readonly<Record<string, unknown>>;

const plain = {
  Array: (items: Schema, options?: object): Schema => ({ type: 'array', items, ...options }),
  Boolean: (options?: object): Schema => ({ type: 'boolean', ...options }),
  Enum: (values: readonly string[], options?: object): Schema => ({ enum: values, ...options }),
  Integer: (options?: object): Schema => ({ type: 'integer', ...options }),
  Literal: (value: string | number | boolean): Schema => ({ type: typeof value, const: value }),
  Number: (options?: object): Schema => ({ type: 'number', ...options }),
  Object(properties: Readonly<Record<string, Schema>>, options?: object): Schema {
    const required = Object.keys(properties).filter((name) => !properties[name]!['~optional']);
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
  },
  Optional: (schema: Schema): Schema => ({ ...schema, '~optional': true }),
  Record: (_: Schema, values: Schema, options?: object): Schema => ({
    type: 'object',
    patternProperties: { '^.*$': values },
    ...options,
  }),
  String: (options?: object): Schema => ({ type: 'string', ...options }),
  Unsafe: (schema: Schema): Schema => schema,
  Union: (anyOf: readonly Schema[], options?: object): Schema => ({ anyOf, ...options }),
};

/** `Record` is for keys of `Type.String()` without options. */
export const Type = plain as unknown as Pick<typeof TypeBox, keyof typeof plain>;
