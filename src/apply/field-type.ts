/** How each place of an object is merged, as its JSON Schema says (`x-kubernetes-list-type`, `…-list-map-keys`, `…-map-type`). */
import type { JsonSchema, SchemaObject } from '../schema/keywords.ts';
import { isObject, isSchema } from '../schema/keywords.ts';
import { nodeLoader } from '../schema/node-loader.ts';
import type { Pattern } from '../schema/pattern.ts';
import { compilePattern } from '../schema/pattern.ts';
import { References } from '../schema/references.ts';

export interface FieldType {
  /** Of a list: one value, a set of values, or items by their keys. */
  readonly list: 'atomic' | 'set' | 'map';
  /** Members that tell the items of a list of type `map` apart. */
  readonly keys: readonly string[];
  /** An object is one value, not a field for each member. */
  readonly isAtomic: boolean;
  /** What an absent member counts as, for `keys`. */
  readonly initial: unknown;
  readonly items: FieldType;
  member(name: string): FieldType;
}

/** Where no schema says anything: lists are values, objects have a field for each member. */
const untyped: FieldType = {
  list: 'atomic',
  keys: [],
  isAtomic: false,
  initial: undefined,
  get items() {
    return untyped;
  },
  member: () => untyped,
};

const finalizers: FieldType = { ...untyped, list: 'set' };
const ownerReferences: FieldType = {
  ...untyped,
  list: 'map',
  keys: ['uid'],
  items: { ...untyped, isAtomic: true },
};
const metadata: FieldType = {
  ...untyped,
  member: (name) => (name === 'finalizers' ? finalizers : name === 'ownerReferences' ? ownerReferences : untyped),
};

const known = new WeakMap<object, FieldType>();

/** Of whole objects. @param schema of them, with its references relative to its own root; read once */
export function fieldTypeOf(schema: SchemaObject): FieldType {
  let type = known.get(schema);
  if (!type) {
    const types = new Types(schema);
    const root = types.of([schema]);
    type = { ...untyped, member: (name) => (name === 'metadata' ? metadata : root.member(name)) };
    known.set(schema, type);
  }
  return type;
}

/** The types of one document, each made when it is asked for first. */
class Types {
  readonly #root: JsonSchema;
  #known: References | undefined;
  readonly #patterns = new Map<string, Pattern>();
  readonly #numbers = new Map<SchemaObject, number>();
  readonly #types = new Map<string, FieldType>();

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  /** Of a large schema without references they are not worth their time. */
  get #references(): References {
    // The model was checked when it was declared.
    const refuse = (path: string): never => {
      throw new Error(`the reference at ${path} leads nowhere`);
    };
    this.#known ??= new References(this.#root, refuse, nodeLoader.metaSchema);
    return this.#known;
  }

  /** @param schemas that hold at one place */
  of(schemas: readonly JsonSchema[]): FieldType {
    const all = new Set<SchemaObject>();
    for (const schema of schemas) this.#collect(schema, all);
    if (all.size === 0) return untyped;
    const id = [...all].map((schema) => this.#numberOf(schema)).join(' ');
    let type = this.#types.get(id);
    if (!type) {
      type = new SchemaType([...all], this);
      this.#types.set(id, type);
    }
    return type;
  }

  pattern(source: string): Pattern {
    let pattern = this.#patterns.get(source);
    if (!pattern) {
      pattern = compilePattern(source, nodeLoader.linearEngine);
      this.#patterns.set(source, pattern);
    }
    return pattern;
  }

  /** A schema, with all that hold at the same place with it. */
  #collect(schema: JsonSchema, all: Set<SchemaObject>): void {
    if (typeof schema !== 'object' || all.has(schema)) return;
    all.add(schema);
    if (typeof schema.$ref === 'string') this.#collect(this.#references.target(schema, '$ref').schema, all);
    if (typeof schema.$dynamicRef === 'string') {
      this.#collect(this.#references.target(schema, '$dynamicRef').schema, all);
    }
    for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
      const list = schema[keyword];
      if (Array.isArray(list)) for (const one of list) this.#collect(one as JsonSchema, all);
    }
    for (const keyword of ['then', 'else']) {
      if (isSchema(schema[keyword])) this.#collect(schema[keyword], all);
    }
  }

  #numberOf(schema: SchemaObject): number {
    let number = this.#numbers.get(schema);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(schema, number);
    }
    return number;
  }
}

class SchemaType implements FieldType {
  readonly list: FieldType['list'];
  readonly keys: readonly string[];
  readonly isAtomic: boolean;
  readonly initial: unknown;
  readonly #schemas: readonly SchemaObject[];
  readonly #types: Types;
  #items: FieldType | undefined;
  readonly #members = new Map<string, FieldType>();
  readonly #declared: ReadonlySet<string>;
  readonly #hasPatterns: boolean;
  #others: FieldType | undefined;

  constructor(schemas: readonly SchemaObject[], types: Types) {
    this.#schemas = schemas;
    this.#types = types;
    const first = (keyword: string): unknown => schemas.find((schema) => schema[keyword] !== undefined)?.[keyword];
    const list = first('x-kubernetes-list-type');
    const keys = first('x-kubernetes-list-map-keys');
    this.keys = Array.isArray(keys) ? (keys as string[]).toSorted() : [];
    this.list = list === 'set' || (list === 'map' && this.keys.length > 0) ? list : 'atomic';
    this.isAtomic = first('x-kubernetes-map-type') === 'atomic';
    this.initial = first('default');
    this.#declared = new Set(
      schemas.flatMap(({ properties }) => (isObject(properties) ? Object.keys(properties) : [])),
    );
    this.#hasPatterns = schemas.some(({ patternProperties }) => patternProperties !== undefined);
  }

  get items(): FieldType {
    this.#items ??= this.#types.of(this.#schemas.map(({ items }) => items as JsonSchema));
    return this.#items;
  }

  member(name: string): FieldType {
    if (this.#declared.has(name)) {
      let type = this.#members.get(name);
      if (!type) {
        type = this.#typeOf(name);
        this.#members.set(name, type);
      }
      return type;
    }
    // Of other members there is no end.
    if (this.#hasPatterns) return this.#typeOf(name);
    this.#others ??= this.#typeOf(name);
    return this.#others;
  }

  #typeOf(name: string): FieldType {
    return this.#types.of(
      this.#schemas.flatMap(({ properties, patternProperties, additionalProperties }) => {
        const found: JsonSchema[] = [];
        if (isObject(properties) && Object.hasOwn(properties, name)) found.push(properties[name] as JsonSchema);
        for (const [source, schema] of Object.entries((patternProperties as object | undefined) ?? {})) {
          if (this.#types.pattern(source).test(name)) found.push(schema as JsonSchema);
        }
        return found.length > 0 ? found : [additionalProperties as JsonSchema];
      }),
    );
  }
}
