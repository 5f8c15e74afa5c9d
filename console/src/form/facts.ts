/**
 * What the schemas of one place say together, for the value at hand: references, `allOf`, `if`/`then`/`else` and dependent
 * schemas are followed, of alternatives the chosen one. Only what a form needs: whether a value is valid, the validator says.
 */

import type { SchemaDocument } from '../../../src/schema/document.ts';
import type { JsonSchema, SchemaObject } from '../../../src/schema/keywords.ts';
import { isSchema } from '../../../src/schema/keywords.ts';
import { ExactNumber, isEqual, isObject, plain } from '../diff/pointer.ts';

interface Alternatives {
  readonly branches: readonly JsonSchema[];
  /** -1: none yet. */
  readonly chosen: number;
}

export interface Option {
  readonly value: unknown;
  /** Says what the value is called. */
  readonly schema?: SchemaObject;
}

export interface Facts {
  /** The outermost schema that says it. */
  readonly describing: SchemaObject;
  /** Types besides null; undefined when every type is allowed. */
  types: readonly string[] | undefined;
  nullable: boolean;
  options: readonly Option[] | undefined;
  readonly properties: Map<string, readonly JsonSchema[]>;
  readonly required: Set<string>;
  readonly patterns: { readonly source: string; readonly schema: JsonSchema }[];
  /** True where a schema has `properties`: members beside them have to be allowed. */
  declaresMembers: boolean;
  /** What other members are; undefined where nothing says it. */
  additional: readonly JsonSchema[] | undefined;
  readonly names: JsonSchema[];
  items: readonly JsonSchema[] | undefined;
  readonly prefix: (readonly JsonSchema[])[];
  /** The tightest of each. */
  readonly limits: Readonly<Record<LimitKeyword, number | undefined>>;
  readonly unique: boolean;
  readonly pattern: string | undefined;
  readonly format: string | undefined;
  readonly alternatives: readonly Alternatives[];
  /** Something that no form can follow, by its keyword. */
  readonly beyond: string | undefined;
}

const upperLimits = ['maxLength', 'maximum', 'maxItems', 'maxProperties', 'exclusiveMaximum'] as const;
const lowerLimits = ['minLength', 'minimum', 'minItems', 'minProperties', 'exclusiveMinimum'] as const;
type LimitKeyword = (typeof upperLimits)[number] | (typeof lowerLimits)[number];

/** Kept of the schema that applies first: its own before what it refers to. */
const describing = [
  'title',
  'description',
  'default',
  'example',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  'contentEncoding',
  'contentMediaType',
];

/** Which alternative of the `nth` list of alternatives a value is of; -1: none. */
export type Choose = (branches: readonly JsonSchema[], value: unknown, nth: number) => number;

export function factsOf(
  document: SchemaDocument,
  schemas: readonly JsonSchema[],
  value: unknown,
  choose: Choose,
): Facts {
  const reader = new Reader(document, plain(value), choose);
  for (const schema of schemas) reader.read(schema, true);
  return reader.result();
}

type Open<T> = { -readonly [K in keyof T]: T[K] };

class Reader {
  readonly facts: Open<Facts> & {
    describing: Record<string, unknown>;
    limits: Partial<Record<LimitKeyword, number>>;
    alternatives: Alternatives[];
  } = {
    describing: {},
    types: undefined,
    nullable: true,
    options: undefined,
    properties: new Map(),
    required: new Set(),
    patterns: [],
    declaresMembers: false,
    additional: undefined,
    names: [],
    items: undefined,
    prefix: [],
    limits: {} as Record<LimitKeyword, number | undefined>,
    unique: false,
    pattern: undefined,
    format: undefined,
    alternatives: [],
    beyond: undefined,
  };
  readonly #document: SchemaDocument;
  readonly #value: unknown;
  readonly #choose: Choose;
  readonly #read = new Set<JsonSchema>();
  #saysNull = false;

  constructor(document: SchemaDocument, value: unknown, choose: Choose) {
    this.#document = document;
    this.#value = value;
    this.#choose = choose;
  }

  result(): Facts {
    this.facts.nullable &&= this.#saysNull;
    return this.facts as Facts;
  }

  /** @param describes false for what is chosen among others: it does not name the place */
  read(schema: JsonSchema, describes: boolean): void {
    if (schema === true || this.#read.has(schema)) return;
    this.#read.add(schema);
    const { facts } = this;
    if (schema === false) {
      facts.types = [];
      facts.nullable = false;
      return;
    }
    if (describes) this.#describe(schema);
    this.#values(schema);
    this.#texts(schema);
    this.#members(schema);
    this.#itemsOf(schema);
    if (typeof schema.$dynamicRef === 'string') facts.beyond ??= '$dynamicRef';
    if (typeof schema.$ref === 'string') this.read(this.#document.targetOf(schema), describes);
    for (const one of listOf(schema.allOf)) this.read(one, describes);
    this.#conditions(schema);
    for (const keyword of ['oneOf', 'anyOf'] as const) this.#alternatives(listOf(schema[keyword]), describes);
  }

  #describe(schema: SchemaObject): void {
    for (const keyword of Object.keys(schema)) {
      if (!describing.includes(keyword) && !keyword.startsWith('x-')) continue;
      this.facts.describing[keyword] ??= schema[keyword];
    }
  }

  #values(schema: SchemaObject): void {
    const { facts } = this;
    if (schema.type !== undefined) {
      const types = [schema.type].flat() as string[];
      this.#takeNull(types.includes('null'));
      facts.types = bothTypes(
        facts.types,
        types.filter((type) => type !== 'null'),
      );
    }
    if ('const' in schema) this.#allow([{ value: schema.const, schema }]);
    else if (Array.isArray(schema.enum)) this.#allow(schema.enum.map((value: unknown) => ({ value })));
  }

  #allow(given: readonly Option[]): void {
    const { facts } = this;
    this.#takeNull(given.some(({ value }) => value === null));
    const options = given.filter(({ value }) => value !== null);
    facts.options = facts.options
      ? facts.options.filter(({ value }) => options.some((one) => isEqual(one.value, value)))
      : options;
  }

  #takeNull(isAllowed: boolean): void {
    if (isAllowed) this.#saysNull = true;
    else this.facts.nullable = false;
  }

  #texts(schema: SchemaObject): void {
    const { limits } = this.facts;
    for (const keyword of upperLimits) {
      const limit = schema[keyword];
      if (typeof limit === 'number') limits[keyword] = Math.min(limit, limits[keyword] ?? limit);
    }
    for (const keyword of lowerLimits) {
      const limit = schema[keyword];
      if (typeof limit === 'number') limits[keyword] = Math.max(limit, limits[keyword] ?? limit);
    }
    if (typeof schema.format === 'string') this.facts.format ??= schema.format;
    if (typeof schema.pattern === 'string') this.facts.pattern ??= schema.pattern;
  }

  #members(schema: SchemaObject): void {
    const { facts } = this;
    facts.declaresMembers ||= isObject(schema.properties);
    for (const [name, one] of schemasOf(schema.properties)) {
      facts.properties.set(name, [...(facts.properties.get(name) ?? []), one]);
    }
    for (const name of (schema.required as readonly string[] | undefined) ?? []) facts.required.add(name);
    for (const [source, one] of schemasOf(schema.patternProperties)) facts.patterns.push({ source, schema: one });
    const additional = schema.additionalProperties ?? schema.unevaluatedProperties;
    if (isSchema(additional)) facts.additional = [...(facts.additional ?? []), additional];
    if (isSchema(schema.propertyNames)) facts.names.push(schema.propertyNames);
  }

  #itemsOf(schema: SchemaObject): void {
    const { facts } = this;
    for (const [i, one] of listOf(schema.prefixItems).entries()) facts.prefix[i] = [...(facts.prefix[i] ?? []), one];
    const items = schema.items ?? schema.unevaluatedItems;
    if (isSchema(items)) facts.items = [...(facts.items ?? []), items];
    if (schema.uniqueItems === true) facts.unique = true;
  }

  #conditions(schema: SchemaObject): void {
    const value = this.#value;
    if (isSchema(schema.if)) {
      const holds = this.#document.accepts(schema.if, value ?? {});
      if (holds) this.read(schema.if, false);
      const next = holds ? schema.then : schema.else;
      if (isSchema(next)) this.read(next, false);
    }
    if (!isObject(value)) return;
    for (const keyword of ['dependentSchemas', 'dependentRequired', 'dependencies']) {
      const map = schema[keyword];
      if (!isObject(map)) continue;
      for (const [name, one] of Object.entries(map)) {
        if (!Object.hasOwn(value, name)) continue;
        if (Array.isArray(one)) for (const other of one as string[]) this.facts.required.add(other);
        else if (isSchema(one)) this.read(one, false);
      }
    }
  }

  #alternatives(given: readonly JsonSchema[], describes: boolean): void {
    if (given.length === 0) return;
    const { facts } = this;
    const branches = given.filter((one) => !isNull(one));
    const { nullable } = facts;
    this.#among(branches, describes);
    if (branches.length < given.length) {
      facts.nullable = nullable;
      this.#saysNull = true;
    }
  }

  #among(branches: readonly JsonSchema[], describes: boolean): void {
    const { facts } = this;
    if (branches.length === 1) {
      this.read(branches[0]!, describes);
      return;
    }
    const options = branches.map((one) => this.#option(one));
    if (options.every((option) => option !== undefined)) {
      this.#allow(options);
      return;
    }
    const chosen = this.#choose(branches, this.#value, facts.alternatives.length);
    facts.alternatives.push({ branches, chosen });
    facts.nullable = false;
    if (chosen >= 0) this.read(branches[chosen]!, false);
  }

  #option(schema: JsonSchema): Option | undefined {
    if (!isObject(schema)) return undefined;
    if ('const' in schema) return { value: schema.const, schema };
    if (Array.isArray(schema.enum) && schema.enum.length === 1) return { value: schema.enum[0], schema };
    return undefined;
  }
}

export function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'string':
    case 'boolean':
      return typeof value === type;
    case 'integer':
    case 'number':
      return typeof value === 'number' || value instanceof ExactNumber;
    case 'array':
      return Array.isArray(value);
    default:
      return isObject(value);
  }
}

function listOf(schemas: unknown): readonly JsonSchema[] {
  return Array.isArray(schemas) ? schemas.filter(isSchema) : [];
}

function schemasOf(map: unknown): [string, JsonSchema][] {
  return isObject(map) ? Object.entries(map).filter((entry): entry is [string, JsonSchema] => isSchema(entry[1])) : [];
}

function isNull(schema: JsonSchema): boolean {
  return isObject(schema) && (schema.type === 'null' || ('const' in schema && schema.const === null));
}

/** An integer is a number too. */
function bothTypes(one: readonly string[] | undefined, other: readonly string[]): readonly string[] {
  if (!one) return other;
  const has = (types: readonly string[], type: string) =>
    types.includes(type) || (type === 'integer' && types.includes('number'));
  return [...new Set([...one.filter((type) => has(other, type)), ...other.filter((type) => has(one, type))])];
}
