/** The type that a JSON Schema says a value has, for the rules that see the value. */
import type { JsonSchema, SchemaObject } from '../schema/keywords.ts';
import { isObject, isSchema } from '../schema/keywords.ts';
import type { References } from '../schema/references.ts';
import type { CelType, Field, ListType } from './types.ts';
import { dyn, listOf, mapOf, typeOfKind, unify } from './types.ts';

const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/** The name of a member as an expression writes it; undefined for one that no expression can. */
function escapedName(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`;
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  return name
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__');
}

const metadata: SchemaObject = {
  type: 'object',
  properties: { name: { type: 'string' }, generateName: { type: 'string' } },
};

/** What the root of an object has beside what its schema says. */
const objectProperties: SchemaObject = { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata };

/** Say which values there are; beside a reference they count together with it. */
const shaping = ['type', 'properties', 'items', 'allOf', 'anyOf', 'oneOf'];

/** Reads the types of one schema and of those below it. */
export class SchemaTypes {
  readonly #root: JsonSchema;
  readonly #references: () => References;
  readonly #isObject: boolean;
  readonly #isDeclared: boolean;
  readonly #known = new Map<SchemaObject, CelType>();

  constructor(
    root: JsonSchema,
    references: () => References,
    { isObject, isDeclared }: { isObject: boolean; isDeclared: boolean },
  ) {
    this.#root = root;
    this.#references = references;
    this.#isObject = isObject;
    this.#isDeclared = isDeclared;
  }

  /** A schema without the references that are all it says of the shape of a value. */
  resolve(schema: JsonSchema): SchemaObject | undefined {
    let one: unknown = schema;
    while (isObject(one) && typeof one.$ref === 'string' && !this.#isShaped(one)) one = this.#target(one);
    return isObject(one) ? one : undefined;
  }

  #isShaped(schema: SchemaObject): boolean {
    return shaping.some((keyword) => keyword in schema);
  }

  #target(schema: SchemaObject): JsonSchema {
    return this.#references().target(schema, '$ref').schema;
  }

  of(given: JsonSchema): CelType {
    const schema = this.resolve(given);
    if (!schema) return dyn;
    const known = this.#known.get(schema);
    if (known) return known;
    // Stands in for a schema that contains itself.
    this.#known.set(schema, dyn);
    const type = this.#read(schema);
    this.#known.set(schema, type);
    return type;
  }

  #read(schema: SchemaObject): CelType {
    if (schema['x-kubernetes-int-or-string'] === true) return dyn;
    switch (typeNameOf(schema)) {
      case 'string':
        // A duration is a text of ISO 8601 in JSON Schema, and one of Go in Kubernetes.
        return this.#isDeclared && schema.format === 'duration' ? typeOfKind('string') : stringType(schema.format);
      case 'integer':
        return typeOfKind('int');
      case 'number':
        return typeOfKind('double');
      case 'boolean':
        return typeOfKind('bool');
      case 'null':
        return typeOfKind('null');
      case 'array':
        return this.#list(schema);
      case 'object':
        return this.#object(schema);
      default:
        return this.#alternatives(schema);
    }
  }

  #list(schema: SchemaObject): ListType {
    const { items, prefixItems, maxItems } = schema;
    const element = isSchema(items) && prefixItems === undefined ? this.of(items) : dyn;
    const list = { ...listOf(element), ...(typeof maxItems === 'number' && { most: maxItems }) };
    const kind = schema['x-kubernetes-list-type'];
    if (kind === 'set') return { ...list, keys: [] };
    return kind === 'map' ? { ...list, keys: schema['x-kubernetes-list-map-keys'] as string[] } : list;
  }

  #object(schema: SchemaObject): CelType {
    const properties = this.propertiesOf(schema);
    if (properties.size === 0 && !this.#seesMetadata(schema)) {
      const patterns = isObject(schema.patternProperties) ? Object.values(schema.patternProperties) : [];
      const values = patterns.length === 1 ? patterns[0] : schema.additionalProperties;
      const { maxProperties } = schema;
      const bound = typeof maxProperties === 'number' && { most: maxProperties };
      if (isObject(values)) return { ...mapOf(typeOfKind('string'), this.of(values)), ...bound };
      const isOpen = values === true || (schema.properties === undefined && values === undefined);
      if (isOpen && schema['x-kubernetes-preserve-unknown-fields'] !== true) return mapOf(typeOfKind('string'), dyn);
    }
    const types = this;
    const sees = this.#seesMetadata(schema);
    let fields: ReadonlyMap<string, Field> | undefined;
    return {
      kind: 'object',
      get fields() {
        fields ??= types.#fields(properties, sees);
        return fields;
      },
    };
  }

  #seesMetadata(schema: SchemaObject): boolean {
    return schema['x-kubernetes-embedded-resource'] === true || (this.#isObject && schema === this.resolve(this.#root));
  }

  #fields(properties: ReadonlyMap<string, JsonSchema>, seesMetadata: boolean): ReadonlyMap<string, Field> {
    const all = new Map([...properties, ...(seesMetadata ? Object.entries(objectProperties) : [])]);
    const fields = new Map<string, Field>();
    for (const [name, schema] of all) {
      const key = escapedName(name);
      if (key !== undefined) fields.set(key, { name, type: this.of(schema as JsonSchema) });
    }
    return fields;
  }

  /** Of an object: those that it declares itself, and those of the schemas that apply to the same place. */
  propertiesOf(schema: SchemaObject, depth = 0): Map<string, JsonSchema> {
    const found = new Map<string, JsonSchema>();
    const own = isObject(schema.properties) ? Object.entries(schema.properties) : [];
    for (const [name, one] of own) if (isSchema(one)) found.set(name, one);
    if (depth > 10) return found;
    const add = (one: unknown, isCertain: boolean): void => {
      const branch = isSchema(one) ? this.resolve(one) : undefined;
      if (!branch) return;
      for (const [name, property] of this.propertiesOf(branch, depth + 1)) {
        if (!found.has(name)) found.set(name, isCertain ? property : {});
      }
    };
    if (typeof schema.$ref === 'string') add(this.#target(schema), true);
    for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
      for (const one of Array.isArray(schema[keyword]) ? schema[keyword] : []) add(one, keyword === 'allOf');
    }
    return found;
  }

  #alternatives(schema: SchemaObject): CelType {
    for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
      const branches = schema[keyword];
      if (!Array.isArray(branches) || branches.length === 0) continue;
      const types = branches
        .map((one) => this.of(one as JsonSchema))
        .filter(({ kind }) => kind !== 'null' && !(keyword === 'allOf' && kind === 'dyn'));
      if (types.some(({ kind }) => kind === 'object')) return this.#object(schema);
      const joined = types.slice(1).reduce<CelType | undefined>((known, type) => known && unify(known, type), types[0]);
      return joined ?? dyn;
    }
    if (isObject(schema.properties)) return this.#object(schema);
    return typeof schema.$ref === 'string' ? this.of(this.#target(schema)) : dyn;
  }
}

/** The one type of a schema besides null; undefined when it has several or none. */
export function typeNameOf(schema: SchemaObject): string | undefined {
  const named = schema.type === undefined ? undefined : [schema.type].flat();
  const values = 'const' in schema ? [schema.const] : Array.isArray(schema.enum) ? schema.enum : undefined;
  const names = new Set(named ?? values?.map(nameOfValue) ?? []);
  if (names.size > 1) names.delete('null');
  return names.size === 1 ? String([...names][0]) : undefined;
}

function nameOfValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
}

function stringType(format: unknown): CelType {
  switch (format) {
    case 'byte':
      return typeOfKind('bytes');
    case 'date':
    case 'date-time':
    case 'datetime':
      return typeOfKind('timestamp');
    case 'duration':
      return typeOfKind('duration');
    default:
      return typeOfKind('string');
  }
}
