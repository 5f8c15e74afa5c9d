/** The class form of declaring a model: `@GVK` and `@Schema`, standard (TC39) decorators (docs/reference/declaration.md). */

import { rulesKeyword } from '../cel/rule-compiler.ts';
import { localized } from '../locales/localized.ts';
import { invalidModel, Mistakes } from '../schema/invalid-model.ts';
import type { ValidationRule } from './attributes.ts';
import type { Declaration } from './declaration.ts';
import { declare } from './declaration.ts';
import type { GVKAttributes } from './gvk.ts';
import { apiVersionOf } from './gvk.ts';
import { metadataSchema, namespacedMetadataSchema } from './metadata.ts';
import type { AbstractExtension } from './object.ts';
import { isExtensionClass } from './object.ts';

// Compilers read Symbol.metadata when the first decorated class is made; no engine has it yet.
(Symbol as { metadata?: symbol }).metadata ??= Symbol.for('Symbol.metadata');

/** A JSON type name, a decorated class, a function that gives one (for classes that are not made yet), or a JSON Schema. */
// biome-ignore lint/complexity/noBannedTypes: classes and lazy functions are both meant
type SchemaType = 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object' | Function | object;

/** The specification's table "Schema constraints on model fields", and the rest of OpenAPI's simple keywords. */
export interface SchemaAttributes {
  type?: SchemaType;
  items?: SchemaType;
  additionalProperties?: boolean | SchemaType;
  /** `REQUIRED`: the field must be there. Fields are optional otherwise; only `spec` is required unless `NOT_REQUIRED`. */
  requiredMode?: 'REQUIRED' | 'NOT_REQUIRED' | 'AUTO';
  title?: string;
  description?: string;
  example?: unknown;
  /** Title and description by language. */
  'x-titles'?: Readonly<Record<string, string>>;
  'x-descriptions'?: Readonly<Record<string, string>>;
  /** Type of the object whose name the value is: its plural, with `.<group>` unless that is empty. */
  'x-reference'?: string;
  /** A text of several lines. */
  'x-multiline'?: boolean;
  /** Set on writes when the field is absent. */
  default?: unknown;
  nullable?: boolean;
  /** In Unicode code points. */
  minLength?: number;
  maxLength?: number;
  /** ECMA 262 with the `u` flag; never anchored by itself. */
  pattern?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  multipleOf?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  /** A TypeScript enum or a list of values. */
  enum?: readonly (string | number)[] | Record<string, string | number>;
  /** `x-kubernetes-validations` of the field: `self` is its value. */
  rules?: readonly ValidationRule[];
}

const fieldsKey = Symbol.for('kindred.fields');
const gvkKey = Symbol.for('kindred.gvk');

interface ClassMetadata {
  [fieldsKey]?: Map<string, SchemaAttributes>;
  [gvkKey]?: GVKAttributes;
}

/**
 * Makes a class that extends `AbstractExtension` a model; one that does not is `InvalidModel` when it is registered.
 *
 * @example
 * ```ts
 * @GVK({ group: 'library.example.com', version: 'v1alpha1', kind: 'Shelf', singular: 'shelf', plural: 'shelves' })
 * class Shelf extends AbstractExtension {
 *   @Schema({ type: 'string' }) location?: string;
 * }
 * void Shelf;
 * ```
 */
export function GVK(
  attributes: GVKAttributes,
): (type: abstract new (...a: any[]) => AbstractExtension, context: ClassDecoratorContext) => void {
  return (_type, context) => {
    (context.metadata as ClassMetadata)[gvkKey] = attributes;
  };
}

/**
 * Makes a field part of the model; a field without it is none.
 *
 * @example
 * ```ts
 * class ShelfSpec {
 *   @Schema({ type: 'string', minLength: 1, requiredMode: 'REQUIRED' }) room!: string;
 *   @Schema({ type: 'integer', minimum: 0 }) floor?: number;
 * }
 * void ShelfSpec;
 * ```
 */
export function Schema(
  attributes: SchemaAttributes = {},
): (value: undefined, context: ClassFieldDecoratorContext) => void {
  return (_value, { name, metadata }) => {
    const own = metadata as ClassMetadata;
    if (!Object.hasOwn(own, fieldsKey)) own[fieldsKey] = new Map(own[fieldsKey]);
    own[fieldsKey]!.set(String(name), attributes);
  };
}

/** The declaration of a decorated class; undefined for anything else. Throws `InvalidModel`. */
export function classDeclaration(type: unknown): Declaration | undefined {
  if (typeof type !== 'function') return undefined;
  const gvk = attributesOf(type);
  if (!gvk) return undefined;
  if (!isExtensionClass(type)) {
    invalidModel(localized('The class {type} has @GVK but does not extend AbstractExtension'), { type: type.name });
  }
  const mistakes = new Mistakes();
  const fields = metadataOf(type)?.[fieldsKey] ?? new Map<string, SchemaAttributes>();
  const spec = fields.get('spec');
  const specRequired = spec?.requiredMode !== 'NOT_REQUIRED';
  if ([...fields.keys()].every((name) => name === 'spec' || name === 'status')) {
    const status = fields.get('status');
    return declare({
      mistakes,
      gvk,
      ...(spec && { spec: documentOf(spec, `${type.name}.spec`, mistakes) }),
      ...(status && { status: documentOf(status, `${type.name}.status`, mistakes) }),
      specRequired,
      indexSpecs: () => [],
      versions: gvk.versions,
    });
  }
  const converter = new ClassConverter(undefined, mistakes);
  const schema = converter.fieldsOf(type, { except: ['apiVersion', 'kind', 'metadata'], optional: ['status'] });
  if (spec && specRequired) schema.required = [...new Set([...((schema.required as string[]) ?? []), 'spec'])];
  return declare({
    mistakes,
    gvk,
    schema: converter.withDefinitions(schema),
    specRequired: false,
    indexSpecs: () => [],
    versions: gvk.versions,
  });
}

/** The class's own `@GVK`; heirs have theirs. */
function attributesOf(type: object): GVKAttributes | undefined {
  const symbol = (Symbol as unknown as { metadata: symbol }).metadata;
  const metadata = Object.hasOwn(type, symbol) ? metadataOf(type) : undefined;
  return metadata && Object.hasOwn(metadata, gvkKey) ? metadata[gvkKey] : undefined;
}

function metadataOf(type: unknown): ClassMetadata | undefined {
  const symbol = (Symbol as unknown as { metadata: symbol }).metadata;
  return (type as Record<symbol, ClassMetadata | undefined>)[symbol];
}

type PlainSchema = Record<string, unknown>;

/** The class of a field becomes the root of the document, so that a class that leads back to itself is `#` there. */
function documentOf(attributes: SchemaAttributes, where: string, mistakes: Mistakes): PlainSchema {
  const converted = mistakes.in(() => {
    const type = resolveType(attributes.type, where);
    const root = typeof type === 'function' && !attributes.nullable ? type : undefined;
    const converter = new ClassConverter(root, mistakes);
    return converter.withDefinitions(converter.schemaOf(attributes, where, root));
  });
  return converted ?? {};
}

const typeNames: readonly unknown[] = ['string', 'integer', 'number', 'boolean', 'array', 'object'];

const plainKeywords = [
  ['title', 'description', 'example', 'default', 'format', 'x-titles', 'x-descriptions', 'x-reference', 'x-multiline'],
  ['minLength', 'maxLength', 'pattern'],
  ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ['minItems', 'maxItems', 'uniqueItems'],
] as const;

const keywordTypes: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(plainKeywords[1].map((keyword) => [keyword, ['string']])),
  ...Object.fromEntries(plainKeywords[2].map((keyword) => [keyword, ['integer', 'number']])),
  ...Object.fromEntries([...plainKeywords[3], 'items'].map((keyword) => [keyword, ['array']])),
  additionalProperties: ['object'],
};

const attributeNames: readonly string[] = [
  'type',
  'items',
  'additionalProperties',
  'requiredMode',
  'nullable',
  'enum',
  'rules',
  ...plainKeywords.flat(),
];

/** Turns the classes of one document into JSON Schema; those that lead back to themselves become definitions. */
class ClassConverter {
  readonly #root: unknown;
  /** Names of the classes that became definitions, with their schemas. */
  readonly #names = new Map<unknown, string>();
  readonly #definitions: PlainSchema = {};
  readonly #mistakes: Mistakes;

  constructor(root: unknown, mistakes: Mistakes) {
    this.#root = root;
    this.#mistakes = mistakes;
  }

  withDefinitions(schema: PlainSchema): PlainSchema {
    return this.#names.size === 0 ? schema : { ...schema, $defs: this.#definitions };
  }

  /** @param inline a class that is written out here, not referred to */
  schemaOf(attributes: SchemaAttributes, where: string, inline?: unknown): PlainSchema {
    checkAttributes(attributes, where, this.#mistakes);
    const type = resolveType(attributes.type, where);
    const schema: PlainSchema = {};
    if (typeof type === 'function') checkDecorated(type, where);
    if (typeof type === 'function')
      Object.assign(schema, type === inline ? this.fieldsOf(type) : this.#classSchema(type));
    else if (typeof type === 'string') schema.type = type;
    else if (type !== undefined) Object.assign(schema, type);
    for (const keyword of plainKeywords.flat()) {
      if (attributes[keyword] !== undefined) schema[keyword] = attributes[keyword];
    }
    if (attributes.items !== undefined) {
      schema.type ??= 'array';
      schema.items = this.schemaOf({ type: attributes.items }, `${where}.items`);
    }
    if (attributes.additionalProperties !== undefined) {
      const additional = attributes.additionalProperties;
      schema.additionalProperties =
        typeof additional === 'boolean'
          ? additional
          : this.schemaOf({ type: additional }, `${where}.additionalProperties`);
    }
    if (attributes.enum !== undefined) schema.enum = valuesOf(attributes.enum);
    if (attributes.rules !== undefined) schema[rulesKeyword] = attributes.rules;
    if (attributes.nullable !== undefined) schema.nullable = attributes.nullable;
    return schema;
  }

  /** The object schema of a class's own and inherited fields. */
  fieldsOf(
    type: { readonly name: string },
    { except = [], optional = [] }: { except?: readonly string[]; optional?: readonly string[] } = {},
  ): PlainSchema {
    const metadata = metadataOf(type);
    const properties: PlainSchema = {};
    const required: string[] = [];
    if (isExtensionClass(type) && except.length === 0) {
      const gvk = attributesOf(type);
      properties.apiVersion = gvk ? { type: 'string', const: apiVersionOf(gvk) } : { type: 'string' };
      properties.kind = gvk ? { type: 'string', const: gvk.kind } : { type: 'string' };
      properties.metadata = gvk?.scope === 'Namespaced' ? namespacedMetadataSchema : metadataSchema;
    }
    for (const [name, attributes] of metadata?.[fieldsKey] ?? []) {
      if (except.includes(name)) {
        invalidModel(localized('@Schema on {type}.{name}: every object has this field already'), {
          type: type.name,
          name,
        });
      }
      Object.defineProperty(properties, name, {
        value: this.#mistakes.in(() => this.schemaOf(attributes, `${type.name}.${name}`)) ?? {},
        enumerable: true,
        configurable: true,
        writable: true,
      });
      if (attributes.requiredMode === 'REQUIRED' && !optional.includes(name)) required.push(name);
    }
    return { type: 'object', properties, ...(required.length > 0 && { required }) };
  }

  #classSchema(type: { readonly name: string }): PlainSchema {
    if (type === this.#root) return { $ref: '#' };
    const known = this.#names.get(type);
    if (known) return { $ref: `#/$defs/${known}` };
    if (!leadsBack(type)) return this.fieldsOf(type);
    const name = this.#freeName(type.name || 'Type');
    this.#names.set(type, name);
    this.#definitions[name] = this.fieldsOf(type);
    return { $ref: `#/$defs/${name}` };
  }

  #freeName(name: string): string {
    const taken = new Set(this.#names.values());
    for (let i = 1; ; i++) {
      const candidate = i === 1 ? name : `${name}${i}`;
      if (!taken.has(candidate)) return candidate;
    }
  }
}

/** A class without any decorated field, such as `Date`, would stand for an object without members. */
function checkDecorated(type: { readonly name: string }, where: string): void {
  if (isExtensionClass(type) || (metadataOf(type)?.[fieldsKey]?.size ?? 0) > 0) return;
  invalidModel(
    localized(
      '@Schema on {where}: the class "{type}" has no field with @Schema; a type is a name such as "string", a decorated class or a JSON Schema',
    ),
    { where, type: type.name },
  );
}

/** True when a class's fields reach the class itself again. */
function leadsBack(type: { readonly name: string }): boolean {
  const seen = new Set<unknown>();
  const open: unknown[] = [type];
  for (let current = open.pop(); current !== undefined; current = open.pop()) {
    for (const [name, attributes] of metadataOf(current)?.[fieldsKey] ?? []) {
      for (const part of [attributes.type, attributes.items, attributes.additionalProperties]) {
        const next = typeof part === 'boolean' ? undefined : resolveType(part, name);
        if (typeof next !== 'function') continue;
        if (next === type) return true;
        if (!seen.has(next)) {
          seen.add(next);
          open.push(next);
        }
      }
    }
  }
  return false;
}

const primitives = new Map<unknown, string>([
  [String, 'string'],
  [Number, 'number'],
  [Boolean, 'boolean'],
]);

/** A type name, a class, a JSON Schema or undefined; a lazy function is called. */
// biome-ignore lint/complexity/noBannedTypes: any class is meant
function resolveType(type: SchemaType | undefined, where: string): string | Function | PlainSchema | undefined {
  if (type === undefined) return undefined;
  if (typeof type === 'string') {
    if (typeNames.includes(type)) return type;
    invalidModel(
      localized(
        '@Schema on {where}: the type must be one of {names}, a class, a function that gives one, or a JSON Schema; got "{type}"',
      ),
      { where, names: typeNames.join(', '), type },
    );
  }
  if (typeof type !== 'function') return type as PlainSchema;
  const primitive = primitives.get(type);
  if (primitive) return primitive;
  if (Object.hasOwn(type, 'prototype')) return type;
  const given = (type as () => SchemaType | undefined)();
  if (typeof given === 'function' && !primitives.has(given) && Object.hasOwn(given, 'prototype')) return given;
  if (given === undefined || (typeof given === 'function' && !primitives.has(given))) {
    invalidModel(
      localized('@Schema on {where}: the function given as type must return a class, a type name or a JSON Schema'),
      { where },
    );
  }
  return resolveType(given, where);
}

/** The values that a TypeScript enum serialises to; of a numeric one without its reverse names. */
function valuesOf(values: readonly (string | number)[] | Record<string, string | number>): unknown[] {
  if (Array.isArray(values)) return [...values];
  const names = values as Record<string, string | number>;
  return Object.keys(names)
    .filter((name) => !(String(Number(name)) === name && names[String(names[name])] === Number(name)))
    .map((name) => names[name]);
}

function checkAttributes(attributes: SchemaAttributes, where: string, mistakes: Mistakes): void {
  for (const name of Object.keys(attributes)) mistakes.in(() => checkAttribute(name, attributes.type, where));
  const { requiredMode } = attributes;
  if (requiredMode === undefined || ['REQUIRED', 'NOT_REQUIRED', 'AUTO'].includes(requiredMode)) return;
  mistakes.in(() =>
    invalidModel(
      localized('@Schema on {where}: requiredMode must be REQUIRED, NOT_REQUIRED or AUTO; got {requiredMode}'),
      { where, requiredMode },
    ),
  );
}

function checkAttribute(name: string, type: SchemaType | undefined, where: string): void {
  if (!attributeNames.includes(name)) {
    invalidModel(localized('@Schema on {where} knows no attribute "{name}"; it knows {names}'), {
      where,
      name,
      names: attributeNames.join(', '),
    });
  }
  const types = keywordTypes[name];
  if (types && typeof type === 'string' && !types.includes(type)) {
    invalidModel(localized('@Schema on {where}: "{name}" applies to {types}, the type is "{type}"'), {
      where,
      name,
      types: types.join(', '),
      type,
    });
  }
}
