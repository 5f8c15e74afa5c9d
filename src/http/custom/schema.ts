/**
 * What a custom route declares of its requests, compiled: parameters and body. Schemas are JSON Schemas (TypeBox too),
 * checked by the validator of the models, or Standard Schema validators (https://standardschema.dev) such as Zod's.
 */

import type { Text, Violation } from '../../errors.ts';
import { escapeToken, invalid, KindredError, Violations, violation, violationText } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import { modelDeclaration } from '../../model/define.ts';
import type { ModelType } from '../../model/model-type.ts';
import { Scheme } from '../../model/scheme.ts';
import { SchemaDocument } from '../../schema/document.ts';
import { nodeLoader } from '../../schema/node-loader.ts';
import { normalizeSchema } from '../../schema/read.ts';
import type { Direction, StandardIssue, StandardSchema } from '../../schema/standard-schema.ts';
import { isStandard } from '../../schema/standard-schema.ts';
import type { CustomRequest, OperationDescription, Parameter } from './declaration.ts';
import { pagedType } from './declaration.ts';

export interface RouteChecks {
  /** The values by name. @throws InvalidParameter */
  parameters(request: Pick<CustomRequest, 'query' | 'headers' | 'params'>): Record<string, unknown>;
  /** The body, with defaults and what a Standard Schema made of it. @throws Invalid; undefined: no schema is declared. */
  readonly body: ((value: unknown) => unknown) | undefined;
}

/** @param where the route, for messages. @throws InvalidPlugin, InvalidModel for a schema that cannot be checked or described */
export function compileChecks(where: string, operation: OperationDescription): RouteChecks {
  for (const { schema } of operation.responses) if (!answeredModel(schema)) jsonSchemaOf(where, schema, 'output');
  const parameters = operation.parameters
    .map((one) => ({ name: one.name, in: one.in, read: compileParameter(where, one) }))
    // Of two with one name the value of the later is kept.
    .sort((a, b) => Number(a.in === 'path') - Number(b.in === 'path'));
  const { body } = operation;
  return {
    parameters: (request) => {
      const values = parameters.map(({ name, read }) => [name, read(request)] as const);
      return Object.fromEntries(values.filter(([, value]) => value !== undefined));
    },
    body: body && (isStandard(body.schema) ? standardBody(body.schema) : jsonBody(compile(where, 'body', body.schema))),
  };
}

/** The JSON Schema of a declared schema, with references from its own root; undefined for a Standard Schema that gives none. */
export function jsonSchemaOf(where: string, schema: object, direction: Direction = 'input'): object | undefined {
  if (isStandard(schema)) return standardJsonSchema(schema, direction);
  return compile(where, 'schema', schema).embedded('#') as object;
}

/** The scheme of a model type; undefined for any other schema. @throws InvalidModel for a class that is no model */
function schemeOf(type: object | ModelType): Scheme | undefined {
  if (isStandard(type) || (typeof type !== 'function' && !modelDeclaration(type))) return undefined;
  return Scheme.buildFromType(type as ModelType);
}

/** The model that an answer is an object or a page of; undefined for any other schema. @throws as `schemeOf` */
export function answeredModel(schema: object | ModelType): { scheme: Scheme; paged: boolean } | undefined {
  const type = pagedType(schema);
  const scheme = schemeOf(type ?? schema);
  return scheme && { scheme, paged: type !== undefined };
}

function standardJsonSchema(schema: StandardSchema, direction: Direction): object | undefined {
  try {
    return schema['~standard'].jsonSchema?.[direction]({
      target: 'draft-2020-12',
      libraryOptions: { unrepresentable: 'any' },
    });
  } catch {
    // The libraries throw for what JSON Schema cannot say; the validator itself still works.
    return undefined;
  }
}

function compile(where: string, what: string, schema: object): SchemaDocument {
  try {
    const context = { model: where, path: `/${what}` };
    return new SchemaDocument(normalizeSchema(schema, { ...context, warnings: [] }), {
      ...context,
      closed: true,
      loader: nodeLoader,
    });
  } catch (error) {
    if (!(error instanceof KindredError)) throw error;
    throw new KindredError('InvalidPlugin', localized('{reason}'), { params: { reason: error.message }, cause: error });
  }
}

// ── bodies ───────────────────────────────────────────────────────────────────────────────────────────────

/** Of the 422 for a request body. */
const bodyText: Text = localized(
  'The request body is not what the route takes: {count}{more} {count|violation|violations}, the first at "{pointer}": {en}',
);

function jsonBody(document: SchemaDocument): (value: unknown) => unknown {
  const setDefaults = document.defaults();
  return (value) => {
    setDefaults?.(value);
    const found = document.validate(value, '');
    if (found.count > 0) throw invalid(found, bodyText);
    return value;
  };
}

function standardBody(schema: StandardSchema): (value: unknown) => Promise<unknown> {
  // The library alone decides. Its schema as JSON Schema, where there is one, gives keyword and translation of what it found.
  const described = standardJsonSchema(schema, 'input');
  const document = described && (compiled(described) ?? compiled(withoutPatterns(described)));
  return async (value) => {
    const known = document?.validate(value, '').listed ?? [];
    const result = await schema['~standard'].validate(value);
    if (!result.issues) return result.value;
    const found = new Violations();
    for (const issue of result.issues) {
      if (found.isFull) break;
      for (const one of violationsOf(issue, known)) found.take(one);
    }
    throw invalid(found, bodyText);
  };
}

function compiled(schema: object): SchemaDocument | undefined {
  try {
    return compile('', 'body', schema);
  } catch {
    return undefined;
  }
}

/** The libraries' own patterns, for mail addresses and the like, are not all of the kind that models may have. */
function withoutPatterns(schema: object): object {
  return JSON.parse(
    JSON.stringify(schema, (key, value) => (key === 'pattern' && typeof value === 'string' ? undefined : value)),
  );
}

function violationsOf(issue: StandardIssue, known: readonly Violation[]): Violation[] {
  const path = (issue.path ?? []).map((one) => (typeof one === 'object' ? one.key : one));
  if (Array.isArray(issue.keys) && issue.keys.length > 0) {
    const text = { ...localized('is an unknown member'), en: issue.message };
    return issue.keys.map((key) => violation(pointerOf([...path, key]), 'additionalProperties', text));
  }
  const pointer = pointerOf(path);
  // A pattern beside a format is the library's own form of it.
  const there = known.filter((one) => one.pointer === pointer);
  const same = there.find((one) => one.keyword === 'format') ?? there[0];
  const text: Text = { en: issue.message, zh: same ? violationText(same).zh : issue.message };
  const keyword = same?.keyword ?? (typeof issue.code === 'string' ? issue.code : 'schema');
  return [violation(pointer, keyword, text, { ...same?.params })];
}

function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${escapeToken(String(key))}`).join('');
}

// ── parameters ───────────────────────────────────────────────────────────────────────────────────────────

type Request = Parameters<RouteChecks['parameters']>[0];

const places: Readonly<Record<Parameter['in'], Text>> = {
  query: localized('query parameter'),
  path: localized('path parameter'),
  header: localized('header'),
};

/** Reads and checks one parameter; undefined: it was not given and has no default. */
function compileParameter(where: string, parameter: Parameter): (request: Request) => unknown {
  const document = compile(where, `parameters/${parameter.name}`, parameter.schema);
  const schema = typeof document.root === 'object' ? document.root : {};
  const types = typesOf(schema);
  const many = types.includes('array');
  const refuse = (reason: Text): never => {
    const place = places[parameter.in];
    throw new KindredError(
      'InvalidParameter',
      { en: `The ${place.en} {parameter} ${reason.en}`, zh: `${place.zh} {parameter} ${reason.zh}` },
      { params: { parameter: parameter.name }, parameter: parameter.name },
    );
  };
  return (request) => {
    const texts = valuesOf(request, parameter, many);
    if (texts.length === 0) {
      if (parameter.required) refuse(localized('is required'));
      return structuredClone(schema.default);
    }
    if (texts.length > 1 && !many) refuse(localized('is given twice'));
    const candidates = many ? listsOf(texts, schema) : conversions(texts[0]!, types);
    const found = candidates.map((value) => document.validate(value, '').listed);
    const holds = found.findIndex((violations) => violations.length === 0);
    return holds < 0 ? refuse(violationText(found[0]![0]!)) : candidates[holds];
  };
}

function valuesOf(request: Request, { name, in: place }: Parameter, many: boolean): string[] {
  if (place === 'query') return request.query.getAll(name);
  if (place === 'path') return [request.params[name]!];
  const header = request.headers.get(name);
  if (header === null) return [];
  return many ? header.split(',').map((item) => item.trim()) : [header];
}

/** None without a `type`. */
function typesOf(schema: object): readonly string[] {
  const { type } = schema as { type?: string | string[] };
  return [type ?? []].flat();
}

const numberSyntax = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The values that a text can be for a schema of these types, the likeliest first; the text itself when there is no other. */
function conversions(text: string, types: readonly string[]): unknown[] {
  if (types.length === 0) return [text, ...conversions(text, ['number', 'boolean']).filter((value) => value !== text)];
  const values: unknown[] = [];
  if ((types.includes('number') || types.includes('integer')) && numberSyntax.test(text)) values.push(Number(text));
  if (types.includes('boolean') && (text === 'true' || text === 'false')) values.push(text === 'true');
  if (types.includes('string') || values.length === 0) values.push(text);
  return values;
}

/** The lists that texts can be: the likeliest values of all of them, and the least likely ones. */
function listsOf(texts: readonly string[], schema: object): unknown[][] {
  const { items } = schema as { items?: object | boolean };
  const types = typeof items === 'object' ? typesOf(items) : ['string'];
  return [0, -1].map((place) => texts.map((text) => conversions(text, types).at(place)));
}
