/**
 * Reading a declared schema (docs/reference/declaration.md): JSON Schema 2020-12 or OpenAPI 3.1, from TypeBox, Zod or by hand, Standard Schemas that give theirs, OpenAPI
 * 3.0's `nullable` and boolean `exclusiveMinimum`/`exclusiveMaximum` too. What comes out is plain, frozen JSON Schema
 * 2020-12; what the service cannot enforce exactly is an error that names its path.
 */

import type { Text } from '../errors.ts';
import { escapeToken } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { formats } from './formats.ts';
import { invalidModel, Mistakes } from './invalid-model.ts';
import type { JsonSchema } from './keywords.ts';
import { describingKeywords, isObject } from './keywords.ts';
import { expectedListType, listTypeKeywords } from './list-types.ts';
import { nodeLoader } from './node-loader.ts';
import { compilePattern, PatternError } from './pattern.ts';
import type { StandardSchema } from './standard-schema.ts';
import { exactJsonSchema, isStandard } from './standard-schema.ts';

export interface SchemaSource {
  /** The model, for messages. */
  readonly model: string;
  /** Where the document stands in it: `/spec`, `/status` or ``. */
  readonly path: string;
  /** Takes what is accepted but worth saying. */
  readonly warnings: string[];
}

/** Of annotations that people's forms are made of, and of how lists are merged; others with `x-` may say anything. */
function checkAnnotation(keyword: string, value: unknown, expect: (expected: Text) => never): void {
  if (keyword === 'x-multiline') {
    if (typeof value !== 'boolean') expect(localized('true or false'));
  } else if (keyword === 'x-reference') {
    const isType = typeof value === 'string' && /^[a-z][a-z0-9-]*(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(value);
    if (!isType) expect(localized('a type: plural.group, or the plural alone in the empty group'));
  } else if (listTypeKeywords.includes(keyword)) {
    const expected = expectedListType(keyword, value);
    if (expected) expect(expected);
  } else if (keyword === 'x-kubernetes-validations') {
    if (!Array.isArray(value)) expect(localized('a list of rules'));
  } else if (keyword === 'x-titles' || keyword === 'x-descriptions') {
    const isTexts = isObject(value) && Object.values(value).every((text) => typeof text === 'string');
    if (!isTexts) expect(localized('an object of texts by language, such as { "en": "Title" }'));
  }
}

type Out = Record<string, unknown>;
type Rule = (value: unknown, path: string, reader: SchemaReader) => unknown;

/** A plain, frozen copy in JSON Schema 2020-12. Throws `InvalidModel` that names the path of each mistake. */
export function normalizeSchema(schema: unknown, source: SchemaSource): JsonSchema {
  const mistakes = new Mistakes();
  const read = new SchemaReader(source, mistakes).schema(schema, '', 0);
  mistakes.throw();
  return read;
}

const dialectUri = 'https://json-schema.org/draft/2020-12/schema';
const depthLimit = 100;
const typeNames = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object'];

class SchemaReader {
  readonly #source: SchemaSource;
  readonly #mistakes: Mistakes;
  #depth = 0;

  constructor(source: SchemaSource, mistakes: Mistakes) {
    this.#source = source;
    this.#mistakes = mistakes;
  }

  refuse(path: string, rule: Text, params: Readonly<Record<string, unknown>> = {}): never {
    const { model, path: start } = this.#source;
    return invalidModel(
      { en: `{model}: the schema at {path} ${rule.en}`, zh: `{model}：{path} 处的模式${rule.zh}` },
      { model, path: `${start}${path}` || '/', ...params },
    );
  }

  warn(path: string, text: string): void {
    const { model, path: start, warnings } = this.#source;
    warnings.push(`${model}: the schema at ${start}${path} ${text}`);
  }

  expect(path: string, expected: Text, value: unknown): never {
    return this.refuse(
      path,
      { en: `must be ${expected.en}; got {value}`, zh: `必须为${expected.zh}；实际为 {value}` },
      { value: shown(value) },
    );
  }

  schema(given: unknown, path: string, depth = this.#depth + 1): JsonSchema {
    return this.#mistakes.in(() => this.#read(given, path, depth)) ?? true;
  }

  #read(given: unknown, path: string, depth: number): JsonSchema {
    const value = isStandard(given) ? this.#standard(given, path) : given;
    if (typeof value === 'boolean') return value;
    if (!isObject(value)) return this.expect(path, localized('a schema: an object, true or false'), value);
    if (depth > depthLimit) {
      this.refuse(path, localized('is nested more than {limit} deep, or contains itself'), { limit: depthLimit });
    }
    const before = this.#depth;
    this.#depth = depth;
    const out: Out = {};
    for (const [keyword, given] of Object.entries(value)) {
      if (given === undefined || keyword.startsWith('~')) continue;
      const at = `${path}/${escapeToken(keyword)}`;
      if (keyword.startsWith('x-')) {
        out[keyword] = this.json(given, at);
        this.#mistakes.in(() => checkAnnotation(keyword, given, (expected) => this.expect(at, expected, given)));
        continue;
      }
      this.#mistakes.in(() => {
        out[keyword] = this.#ruleOf(keyword, at)(given, at, this);
      });
    }
    this.#depth = before;
    return Object.freeze(this.#withoutOpenApi30(out, path));
  }

  #ruleOf(keyword: string, at: string): Rule {
    if (Object.hasOwn(rules, keyword)) return rules[keyword]!;
    return this.refuse(
      at,
      localized('is not a keyword of JSON Schema 2020-12 or OpenAPI that the service can enforce'),
    );
  }

  #standard(schema: StandardSchema, path: string): object {
    const written = exactJsonSchema(schema, (text, params) => this.refuse(path, text, params));
    // References begin at the root of the schema that they are written in.
    if (path !== '' && JSON.stringify(written).includes('"$ref":')) {
      this.refuse(path, localized('refers to itself, which it can only as the whole of "spec", "status" or "schema"'));
    }
    return written;
  }

  #withoutOpenApi30(schema: Out, path: string): Out {
    for (const [exclusive, limit] of [
      ['exclusiveMinimum', 'minimum'],
      ['exclusiveMaximum', 'maximum'],
    ] as const) {
      if (typeof schema[exclusive] !== 'boolean') continue;
      if (schema[exclusive] && schema[limit] === undefined) {
        this.refuse(`${path}/${exclusive}`, localized('is true, which needs "{limit}" beside it'), { limit });
      }
      if (schema[exclusive]) {
        schema[exclusive] = schema[limit];
        delete schema[limit];
      } else delete schema[exclusive];
    }
    const { nullable, ...rest } = schema;
    if (nullable === undefined) return schema;
    return nullable ? orNull(rest) : rest;
  }

  /** A copy of any JSON value; what is none is refused. */
  json(value: unknown, path: string, depth = 0): unknown {
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    if (depth <= depthLimit && Array.isArray(value)) {
      return Object.freeze(value.map((one, i) => this.json(one, `${path}/${i}`, depth + 1)));
    }
    const isPlain = isObject(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value));
    if (depth > depthLimit || !isPlain) return this.expect(path, localized('a JSON value'), value);
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return Object.freeze(
      Object.fromEntries(
        members.map(([name, member]) => [name, this.json(member, `${path}/${escapeToken(name)}`, depth + 1)]),
      ),
    );
  }

  list(value: unknown, path: string): readonly unknown[] {
    return Array.isArray(value) ? value : this.expect(path, localized('a list'), value);
  }

  map(value: unknown, path: string, read: (one: unknown, path: string, name: string) => unknown): unknown {
    if (!isObject(value)) return this.expect(path, localized('an object'), value);
    const entries = Object.entries(value).filter(([, one]) => one !== undefined);
    return Object.freeze(
      Object.fromEntries(entries.map(([name, one]) => [name, read(one, `${path}/${escapeToken(name)}`, name)])),
    );
  }

  pattern(source: string, path: string): void {
    try {
      compilePattern(source, nodeLoader.linearEngine);
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      this.refuse(
        path,
        { en: `has a pattern that ${error.text.en}`, zh: `的正则表达式${error.text.zh}` },
        { pattern: source, reason: error.reason },
      );
    }
  }
}

/** The schema, or null. */
function orNull(schema: Out): Out {
  const decidedByType = !['enum', 'const', '$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'not', 'if'].some(
    (keyword) => keyword in schema,
  );
  const types = schema.type === undefined ? undefined : [schema.type].flat();
  if (decidedByType)
    return types === undefined || types.includes('null')
      ? schema
      : { ...schema, type: Object.freeze([...types, 'null']) };
  if (
    Array.isArray(schema.enum) &&
    Object.keys(schema).every((keyword) => ['type', 'enum', 'format', ...describingKeywords].includes(keyword))
  ) {
    return {
      ...schema,
      ...(types && !types.includes('null') && { type: Object.freeze([...types, 'null']) }),
      enum: Object.freeze(schema.enum.includes(null) ? schema.enum : [...schema.enum, null]),
    };
  }
  const outer = Object.fromEntries(Object.entries(schema).filter(([keyword]) => describingKeywords.includes(keyword)));
  const inner = Object.fromEntries(Object.entries(schema).filter(([keyword]) => !describingKeywords.includes(keyword)));
  return { ...outer, anyOf: Object.freeze([Object.freeze(inner), Object.freeze({ type: 'null' })]) };
}

function shown(value: unknown): string {
  if (typeof value === 'function') return `function ${value.name}`;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

const text: Rule = (value, path, reader) =>
  typeof value === 'string' ? value : reader.expect(path, localized('a string'), value);
const flag: Rule = (value, path, reader) =>
  typeof value === 'boolean' ? value : reader.expect(path, localized('true or false'), value);
const anything: Rule = (value, path, reader) => reader.json(value, path);
const one: Rule = (value, path, reader) => reader.schema(value, path);

const number: Rule = (value, path, reader) =>
  typeof value === 'number' && Number.isFinite(value) ? value : reader.expect(path, localized('a number'), value);

const limit: Rule = (value, path, reader) => (typeof value === 'boolean' ? value : number(value, path, reader));

const positive: Rule = (value, path, reader) =>
  typeof value === 'number' && Number.isFinite(value) && value > 0
    ? value
    : reader.expect(path, localized('a number greater than 0'), value);

const count: Rule = (value, path, reader) =>
  Number.isSafeInteger(value) && (value as number) >= 0
    ? value
    : reader.expect(path, localized('an integer, 0 or more'), value);

const several: Rule = (value, path, reader) => {
  const schemas = reader.list(value, path);
  if (schemas.length === 0) reader.expect(path, localized('a list with at least one schema'), value);
  return Object.freeze(schemas.map((schema, i) => reader.schema(schema, `${path}/${i}`)));
};

const named: Rule = (value, path, reader) => reader.map(value, path, (schema, at) => reader.schema(schema, at));

const names: Rule = (value, path, reader) => {
  const list = reader.list(value, path);
  for (const [i, name] of list.entries()) {
    if (typeof name !== 'string') reader.expect(`${path}/${i}`, localized('a string'), name);
    if (list.indexOf(name) !== i) reader.refuse(`${path}/${i}`, localized('repeats "{name}"'), { name });
  }
  return Object.freeze([...list]);
};

const type: Rule = (value, path, reader) => {
  const check = (name: unknown, at: string): void => {
    if (!typeNames.includes(name as string)) {
      reader.expect(at, { en: `one of ${typeNames.join(', ')}`, zh: `${typeNames.join('、')} 之一` }, name);
    }
  };
  if (!Array.isArray(value)) {
    check(value, path);
    return value;
  }
  if (value.length === 0) reader.expect(path, localized('a type or a list with at least one'), value);
  for (const [i, name] of value.entries()) check(name, `${path}/${i}`);
  return names(value, path, reader);
};

const values: Rule = (value, path, reader) => {
  const list = reader.list(value, path);
  if (list.length === 0) reader.expect(path, localized('a list with at least one value'), value);
  return reader.json(list, path);
};

const format: Rule = (value, path, reader) => {
  text(value, path, reader);
  if (!formats.has(value as string)) {
    reader.warn(
      path,
      `names the format "${value}", which is not checked; checked are ${[...formats.keys()].join(', ')}`,
    );
  }
  return value;
};

const pattern: Rule = (value, path, reader) => {
  reader.pattern(text(value, path, reader) as string, path);
  return value;
};

const anchor: Rule = (value, path, reader) =>
  typeof value === 'string' && /^[A-Za-z_][-A-Za-z0-9._]*$/.test(value)
    ? value
    : reader.expect(path, localized('a plain name'), value);

const identifier: Rule = (value, path, reader) =>
  typeof value === 'string' && /^[^#]*#?$/.test(value)
    ? value
    : reader.expect(path, localized('a URI without a fragment'), value);

const rules: Readonly<Record<string, Rule>> = {
  $schema: (value, path, reader) =>
    value === dialectUri || value === `${dialectUri}#`
      ? value
      : reader.expect(
          path,
          { en: `"${dialectUri}", the dialect that the service enforces`, zh: `服务所支持的 "${dialectUri}"` },
          value,
        ),
  $id: identifier,
  $ref: text,
  $anchor: anchor,
  $dynamicRef: text,
  $dynamicAnchor: anchor,
  $defs: named,
  definitions: named,
  $comment: text,
  title: text,
  description: text,
  default: anything,
  example: anything,
  examples: (value, path, reader) =>
    isObject(value) ? anything(value, path, reader) : reader.json(reader.list(value, path), path),
  deprecated: flag,
  readOnly: flag,
  writeOnly: flag,
  externalDocs: anything,
  xml: anything,
  discriminator: anything,
  contentEncoding: text,
  contentMediaType: text,
  contentSchema: one,
  type,
  nullable: flag,
  enum: values,
  const: anything,
  format,
  minLength: count,
  maxLength: count,
  pattern,
  minimum: number,
  maximum: number,
  exclusiveMinimum: limit,
  exclusiveMaximum: limit,
  multipleOf: positive,
  minItems: count,
  maxItems: count,
  uniqueItems: flag,
  prefixItems: several,
  items: one,
  contains: one,
  minContains: count,
  maxContains: count,
  unevaluatedItems: one,
  minProperties: count,
  maxProperties: count,
  required: names,
  properties: named,
  patternProperties: (value, path, reader) =>
    reader.map(value, path, (schema, at, source) => {
      reader.pattern(source, at);
      return reader.schema(schema, at);
    }),
  additionalProperties: one,
  propertyNames: one,
  unevaluatedProperties: one,
  dependentRequired: (value, path, reader) => reader.map(value, path, (list, at) => names(list, at, reader)),
  dependentSchemas: named,
  dependencies: (value, path, reader) =>
    reader.map(value, path, (one, at) => (Array.isArray(one) ? names(one, at, reader) : reader.schema(one, at))),
  allOf: several,
  anyOf: several,
  oneOf: several,
  not: one,
  if: one,
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: one,
  else: one,
};
