/**
 * JSON Schemas of models as OpenAPI describes them: 3.0 has fewer keywords than JSON Schema 2020-12, and 2.0 is what clients
 * check objects by before they send them, so that what it cannot say is left open in it rather than refused.
 */
import type { JsonSchema } from '../http/openapi/schema.ts';
import { componentsOf } from '../http/openapi/schema.ts';
import type { Parts } from '../runtime/parts.ts';
import { describingKeywords, inPlaceKeywords, isObject, subschemas } from '../schema/keywords.ts';

export type OpenApiSchema = { [keyword: string]: unknown };

const preserveUnknown = 'x-kubernetes-preserve-unknown-fields';
const intOrString = 'x-kubernetes-int-or-string';

/** Nesting of references that are written out in place. */
const mostReferences = 20;
/** Nodes of one model beyond which references are left open: a recursion with two arms doubles at each level. */
const mostNodes = 20_000;

/** As OpenAPI 3.0, without references. */
export function* schemaOf(schema: object): Parts<OpenApiSchema> {
  const hasReferences = /"\$(?:dynamicR|r)ef":/.test(JSON.stringify(schema));
  yield;
  const components = hasReferences ? componentsOf(schema, 'Root', { closed: false }) : new Map<string, JsonSchema>();
  return yield* new Writer(components).whole((components.get('Root') ?? schema) as JsonSchema);
}

/** Have the same meaning in both. */
const kept = new Set([
  'type',
  'format',
  'title',
  'description',
  'default',
  'enum',
  'nullable',
  'multipleOf',
  'maximum',
  'minimum',
  'maxLength',
  'minLength',
  'pattern',
  'maxItems',
  'minItems',
  'uniqueItems',
  'maxProperties',
  'minProperties',
]);

class Writer {
  readonly #components: ReadonlyMap<string, JsonSchema>;
  #nodes = 0;

  constructor(components: ReadonlyMap<string, JsonSchema>) {
    this.#components = components;
  }

  whole(schema: JsonSchema): Parts<OpenApiSchema> {
    return this.#write(schema, []);
  }

  /** @param way names of the components that are being written out */
  *#write(schema: unknown, way: readonly string[]): Parts<OpenApiSchema> {
    this.#nodes++;
    yield;
    if (!isObject(schema)) return schema === false ? { not: {} } : {};
    if (typeof schema.$ref === 'string') return yield* this.#writeReference(schema as JsonSchema, way);
    const result: OpenApiSchema = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (kept.has(keyword) || keyword.startsWith('x-kubernetes-')) result[keyword] = value;
    }
    writeType(schema, result);
    writeBounds(schema, result);
    if ('const' in schema) result.enum = [schema.const];
    yield* this.#writeObject(schema, result, way);
    yield* this.#writeList(schema, result, way);
    yield* this.#writeAlternatives(schema, result, way);
    if (admitsMore(schema)) result[preserveUnknown] = true;
    return result;
  }

  *#writeReference({ $ref, ...beside }: JsonSchema, way: readonly string[]): Parts<OpenApiSchema> {
    const name = ($ref as string).slice(($ref as string).lastIndexOf('/') + 1);
    const target = this.#components.get(name);
    const isTooMuch = way.includes(name) || way.length >= mostReferences || this.#nodes > mostNodes;
    const own = yield* this.#write(beside, way);
    if (!target || isTooMuch) return { ...own, [preserveUnknown]: true };
    const referred = yield* this.#write(target, [...way, name]);
    if (Object.keys(own).every((keyword) => describingKeywords.includes(keyword))) return { ...referred, ...own };
    return { ...own, allOf: [...((own.allOf as OpenApiSchema[] | undefined) ?? []), referred] };
  }

  *#writeObject(schema: JsonSchema, result: OpenApiSchema, way: readonly string[]): Parts<void> {
    const { properties, additionalProperties, required } = schema;
    if (isObject(properties)) {
      const written: [string, OpenApiSchema][] = [];
      for (const [name, one] of Object.entries(properties)) written.push([name, yield* this.#write(one, way)]);
      result.properties = Object.fromEntries(written);
    }
    if (isObject(additionalProperties)) result.additionalProperties = yield* this.#write(additionalProperties, way);
    else if (additionalProperties !== undefined) result.additionalProperties = additionalProperties;
    if (!Array.isArray(required)) return;
    // What a default fills in need not be sent.
    const members = (result.properties ?? {}) as Record<string, OpenApiSchema>;
    const needed = required.filter((name: string) => !(Object.hasOwn(members, name) && hasDefault(members[name]!)));
    if (needed.length > 0) result.required = needed;
  }

  *#writeList(schema: JsonSchema, result: OpenApiSchema, way: readonly string[]): Parts<void> {
    const { items, prefixItems } = schema;
    if (isObject(items) && prefixItems === undefined) result.items = yield* this.#write(items, way);
    else if (result.type === 'array') result.items = {};
  }

  *#writeAlternatives(schema: JsonSchema, result: OpenApiSchema, way: readonly string[]): Parts<void> {
    for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const) {
      const all = schema[keyword];
      if (!Array.isArray(all)) continue;
      const others = all.filter((one) => !isNull(one));
      if (others.length < all.length && keyword !== 'allOf') result.nullable = true;
      const written: OpenApiSchema[] = [];
      for (const one of others) written.push(yield* this.#write(one, way));
      if (written.length === 1 && others.length < all.length) Object.assign(result, { ...written[0]!, ...result });
      else if (written.length > 0) result[keyword] = written;
    }
    if (schema.not !== undefined) result.not = yield* this.#write(schema.not, way);
  }
}

function writeType({ type }: JsonSchema, result: OpenApiSchema): void {
  if (type === 'null') {
    delete result.type;
    Object.assign(result, { nullable: true, enum: [null] });
  }
  if (!Array.isArray(type)) return;
  const others = type.filter((one) => one !== 'null');
  if (others.length < type.length) result.nullable = true;
  if (others.length === 1) result.type = others[0];
  else delete result.type;
}

/** Exclusive bounds are numbers of their own in JSON Schema, and switches beside the bound in OpenAPI. */
function writeBounds(schema: JsonSchema, result: OpenApiSchema): void {
  for (const [bound, exclusive, isTighter] of bounds) {
    const [plain, strict] = [schema[bound], schema[exclusive]];
    if (typeof strict === 'boolean') result[exclusive] = strict;
    if (typeof strict !== 'number' || (typeof plain === 'number' && isTighter(plain, strict))) continue;
    result[bound] = strict;
    result[exclusive] = true;
  }
}

const bounds = [
  ['maximum', 'exclusiveMaximum', (plain: number, strict: number) => plain < strict],
  ['minimum', 'exclusiveMinimum', (plain: number, strict: number) => plain > strict],
] as const;

function isNull(schema: unknown): boolean {
  return isObject(schema) && (schema.type === 'null' || schema.const === null);
}

function hasDefault(schema: OpenApiSchema): boolean {
  return 'default' in schema || ((schema.allOf as OpenApiSchema[] | undefined) ?? []).some(hasDefault);
}

/** Whether an object may have members that neither `properties` nor `additionalProperties` of this schema describe. */
function admitsMore(schema: JsonSchema): boolean {
  const { properties, patternProperties, unevaluatedProperties } = schema;
  if (patternProperties !== undefined) return true;
  if (unevaluatedProperties !== undefined && unevaluatedProperties !== false) return true;
  if (properties === undefined) return false;
  return memberNames(schema).some((name) => !Object.hasOwn(properties as object, name));
}

/** Members that schemas at the same place describe. */
function memberNames(schema: JsonSchema): string[] {
  return subschemas(schema).flatMap(({ keyword, schema: one }) => {
    if (!inPlaceKeywords.includes(keyword) || !isObject(one)) return [];
    // What the reference of an alternative leads to may describe any member.
    const own = '$ref' in one ? [''] : Object.keys((one.properties as object | undefined) ?? {});
    return [...own, ...memberNames(one)];
  });
}

const leftOut = new Set(['anyOf', 'oneOf', 'allOf', 'not', 'nullable', 'default', 'x-kubernetes-validations']);
const children = new Set(['type', 'items', 'properties', 'additionalProperties', 'required', 'format']);

/** What of an OpenAPI 3.0 schema 2.0 can say. */
export function reduced(schema: OpenApiSchema): OpenApiSchema {
  const isAnything = schema.nullable === true || schema[intOrString] === true;
  const isOpen = schema[preserveUnknown] === true || (schema.properties !== undefined && isOpenMap(schema));
  const result: OpenApiSchema = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (leftOut.has(keyword) || (isAnything && (children.has(keyword) || keyword === 'enum'))) continue;
    if (isOpen && children.has(keyword) && keyword !== 'type') continue;
    if (keyword === 'properties') {
      const written = Object.entries(value as Record<string, OpenApiSchema>).map(([name, one]) => [name, reduced(one)]);
      result.properties = Object.fromEntries(written);
    } else if ((keyword === 'items' || keyword === 'additionalProperties') && isObject(value)) {
      result[keyword] = reduced(value as OpenApiSchema);
    } else result[keyword] = value;
  }
  if (result.type === 'array') result.items ??= {};
  return result;
}

function isOpenMap({ additionalProperties }: OpenApiSchema): boolean {
  return additionalProperties !== undefined && additionalProperties !== false;
}
