/** What a JSON Schema is made of: which keywords hold schemas, and which of those apply to the same place of an object. */
import { escapeToken } from '../errors.ts';

export type JsonSchema = boolean | SchemaObject;
export type SchemaObject = { readonly [keyword: string]: unknown };

/** Hold one schema, a list of schemas, schemas by name. */
export const schemaKeywords: readonly string[] = [
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'items',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
  'contentSchema',
];
export const listKeywords: readonly string[] = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
export const mapKeywords: readonly string[] = [
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
  'dependencies',
];

/** Every direct sub-schema of a schema, with its pointer from there. */
export function subschemas(schema: SchemaObject): { path: string; keyword: string; schema: JsonSchema }[] {
  const found: { path: string; keyword: string; schema: JsonSchema }[] = [];
  for (const keyword of schemaKeywords) {
    if (isSchema(schema[keyword])) found.push({ path: `/${keyword}`, keyword, schema: schema[keyword] });
  }
  for (const keyword of listKeywords) {
    if (!Array.isArray(schema[keyword])) continue;
    for (const [i, one] of schema[keyword].entries()) {
      if (isSchema(one)) found.push({ path: `/${keyword}/${i}`, keyword, schema: one });
    }
  }
  for (const keyword of mapKeywords) {
    const map = schema[keyword];
    if (!isObject(map)) continue;
    for (const [name, one] of Object.entries(map)) {
      if (isSchema(one)) found.push({ path: `/${keyword}/${escapeToken(name)}`, keyword, schema: one });
    }
  }
  return found;
}

/** Keywords whose sub-schemas apply to the same place of the object as the schema itself. */
export const inPlaceKeywords: readonly string[] = [
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentSchemas',
  'dependencies',
];
/** Those of them that make several schemas count members together. */
export const sharingKeywords = [
  '$ref',
  '$dynamicRef',
  'allOf',
  'anyOf',
  'oneOf',
  'if',
  'dependentSchemas',
  'dependencies',
];
export const unevaluatedKeywords = ['unevaluatedItems', 'unevaluatedProperties'];

/** Say nothing about a value where they stand. */
export const describingKeywords: readonly string[] = [
  'title',
  'description',
  'default',
  'example',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  '$comment',
  '$defs',
  'definitions',
  '$id',
  '$anchor',
  '$dynamicAnchor',
  '$schema',
  'externalDocs',
  'xml',
];

/** A `$ref` beside which nothing else says anything about the value. */
export function isPureReference(schema: SchemaObject): boolean {
  const others = Object.keys(schema).filter((keyword) => keyword !== '$ref');
  return typeof schema.$ref === 'string' && others.every((keyword) => describingKeywords.includes(keyword));
}

/** Where the meta-schemas of the dialect are. */
export const dialect = 'https://json-schema.org/draft/2020-12/';

export function isObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A schema that only certain values satisfy, as in a member that names the alternative. */
export function tellsApart(schema: unknown): boolean {
  return isObject(schema) && ('const' in schema || 'enum' in schema);
}

export function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'boolean' || isObject(value);
}

/** A copy whose references, unless below an `$id` of their own, are what `change` makes of them. */
export function rewritten(schema: JsonSchema, change: (ref: string) => string, isRoot: boolean): JsonSchema {
  // Below an $id references are relative to it.
  if (typeof schema !== 'object' || typeof schema.$id === 'string') return schema;
  const copy: Record<string, unknown> = { ...schema };
  if (isRoot) delete copy.$schema;
  if (typeof copy.$ref === 'string') copy.$ref = change(copy.$ref);
  const map = (value: unknown): unknown => (isSchema(value) ? rewritten(value, change, false) : value);
  for (const keyword of schemaKeywords) if (keyword in copy) copy[keyword] = map(copy[keyword]);
  for (const keyword of listKeywords) if (Array.isArray(copy[keyword])) copy[keyword] = copy[keyword].map(map);
  for (const keyword of mapKeywords) {
    const value = copy[keyword];
    if (isObject(value))
      copy[keyword] = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, map(one)]));
  }
  return copy;
}
