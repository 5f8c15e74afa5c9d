/** A structural schema as JSON Schema 2020-12, which is what the rest of the service knows of a model. */
import { isRecord } from '../../model/object.ts';
import type { Parts } from '../../runtime/parts.ts';
import type { SchemaObject } from '../../schema/keywords.ts';
import { isEither } from './structural.ts';
import type { Structural } from './structural-type.ts';

type Out = Record<string, unknown>;

/** Say the same in both. */
const kept: ReadonlySet<string> = new Set([
  'title',
  'description',
  'format',
  'pattern',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
]);

/** @param at told which schema a node became */
export function* jsonSchemaOf(
  node: Structural,
  at: (node: Structural, schema: SchemaObject) => void,
): Parts<SchemaObject> {
  const { schema, type, nullable, isIntOrString, properties, additional, items } = node;
  const out: Out = constraintsOf(schema, isIntOrString);
  const types = isIntOrString ? ['integer', 'string'] : type === undefined ? [] : [type];
  if (types.length > 0) {
    const all = nullable ? [...types, 'null'] : types;
    out.type = all.length === 1 ? all[0] : all;
  }
  if (nullable && Array.isArray(out.enum) && !out.enum.includes(null)) out.enum = [...out.enum, null];
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword.startsWith('x-kubernetes-')) out[keyword] = value;
  }
  if (schema.default !== undefined && schema.default !== null) out.default = schema.default;
  if (properties.size > 0) {
    const members: [string, SchemaObject][] = [];
    for (const [name, one] of properties) members.push([name, yield* jsonSchemaOf(one, at)]);
    out.properties = Object.fromEntries(members);
  }
  if (additional === true) out.additionalProperties = true;
  else if (additional) out.additionalProperties = yield* jsonSchemaOf(additional, at);
  else if (node.preserves && type === 'object') out.additionalProperties = true;
  if (items) out.items = yield* jsonSchemaOf(items, at);
  at(node, out);
  yield;
  return out;
}

function constraintsOf(schema: SchemaObject, isIntOrString: boolean): Out {
  const out: Out = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (kept.has(keyword) && value !== null && value !== '') out[keyword] = value;
  }
  if (Array.isArray(schema.required) && schema.required.length > 0) out.required = schema.required;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) out.enum = schema.enum;
  for (const [limit, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (typeof schema[limit] === 'number') out[schema[exclusive] === true ? exclusive : limit] = schema[limit];
  }
  for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const) {
    const list = schema[keyword];
    if (!Array.isArray(list) || (isIntOrString && isEither({ anyOf: list }))) continue;
    const nested = list.filter((one) => !(isIntOrString && isEither(one))).map(nestedOf);
    if (nested.length > 0) out[keyword] = nested;
  }
  if (isRecord(schema.not)) out.not = nestedOf(schema.not);
  return out;
}

/** A constraint below an alternative, whose places are declared outside. */
function nestedOf(given: unknown): Out {
  const schema = given as SchemaObject;
  const out = constraintsOf(schema, false);
  const { properties, items } = schema;
  if (isRecord(properties)) {
    out.properties = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, nestedOf(one)]));
  }
  if (isRecord(items)) out.items = nestedOf(items);
  return out;
}
