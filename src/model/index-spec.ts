/**
 * Declaring indexes (specification, "Index specification"; docs/reference/declaration.md and queries.md): the builders `IndexSpecs.single`
 * and `IndexSpecs.multi`, the older `IndexSpec` with `simpleAttribute` and `multiValueAttribute`, and what an object gives
 * to the indexes (`entryOf`).
 */

import type { Text, Violation } from '../errors.ts';
import { invalid, messageOf, violation } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { invalidModel, Mistakes } from '../schema/invalid-model.ts';
import { fullNameOf } from './full-name.ts';
import type { IndexDefinition, IndexEntry, Order } from './index-entry.ts';
import { builtInIndexes } from './index-entry.ts';
import type { FilterValue, KeyCodec, KeyOf, KeyType } from './key.ts';
import { codecOf, parseInstant } from './key.ts';
import type { ModelType } from './model-type.ts';
import type { ExtensionObject } from './object.ts';

/** Values that one object may give to one multi-value index. */
const indexValueLimit = 10_000;
/** Values that an index function may give, each as often as it likes. */
const givenLimit = 1_000_000;
/** Up to so many are compared with each other, which costs less than a set. */
const fewKeys = 8;
/** Longest text key, in UTF-16 code units. */
const keyLengthLimit = 1024;

const definitionOf = Symbol.for('kindred.index');

/** Anything that declares one index. */
export interface ValueIndexSpec {
  readonly name: string;
}

/** Members in any order. `unique()` and `nullable()` without an argument mean true; not called, they are false and true. */
export interface SingleValueBuilder<K> extends ValueIndexSpec {
  unique(yes?: boolean): this;
  nullable(yes?: boolean): this;
  order(order: Order): this;
  /** Takes the plain, frozen JSON object. Without it, the name of the index is read as a path of fields. */
  indexFunc<T>(fn: (object: T) => K | null | undefined): this;
}

/** As `SingleValueBuilder`, for a function that gives a set of values. */
export interface MultiValueBuilder<K> extends ValueIndexSpec {
  unique(yes?: boolean): this;
  nullable(yes?: boolean): this;
  order(order: Order): this;
  indexFunc<T>(fn: (object: T) => Iterable<K> | null | undefined): this;
}

/** Result of `simpleAttribute` and `multiValueAttribute`. */
export interface IndexAttribute {
  readonly multiValue: boolean;
}

interface IndexFunction extends IndexAttribute {
  readonly indexFunc: (object: any) => unknown;
  /** What was given to `simpleAttribute` or `multiValueAttribute`. */
  readonly source: (object: any) => unknown;
}

/**
 * Given to `indexes` of `defineModel`; typed by the model. Defaults of the options: not unique, nullable, `ASC`.
 * `of` takes the plain, frozen JSON object.
 */
export interface IndexFactory<T = any> {
  /** One value of an object at most; null and undefined: none. */
  single<Y extends KeyType<any>, const N extends string = string>(
    name: N,
    keyType: Y,
    of: (object: T) => KeyOf<Y> | null | undefined,
    options?: { unique?: boolean; nullable?: boolean; order?: Order },
  ): NamedIndexSpec<N, FilterValue<Y>>;
  /** A set of values of each object, 10,000 at most. */
  multi<Y extends KeyType<any>, const N extends string = string>(
    name: N,
    keyType: Y,
    of: (object: T) => Iterable<KeyOf<Y>> | null | undefined,
    options?: { unique?: boolean; nullable?: boolean; order?: Order },
  ): NamedIndexSpec<N, FilterValue<Y>>;
}

/** Its name and the type of its values are part of the type, so that a typed client knows them. */
interface NamedIndexSpec<N extends string, K> extends ValueIndexSpec {
  readonly name: N;
  /** Never there. */
  readonly $key?: K;
}

class IndexBuilder {
  readonly name: string;
  readonly #keyType: KeyType<any>;
  readonly #multi: boolean;
  #unique = false;
  #nullable = true;
  #order: Order = 'ASC';
  #indexFunc: ((object: any) => unknown) | undefined;

  constructor(name: string, keyType: KeyType<any>, multi: boolean) {
    this.name = name;
    this.#keyType = keyType;
    this.#multi = multi;
  }

  unique(yes = true): this {
    this.#unique = yes;
    return this;
  }

  nullable(yes = true): this {
    this.#nullable = yes;
    return this;
  }

  order(order: Order): this {
    this.#order = order;
    return this;
  }

  indexFunc(fn: (object: any) => unknown): this {
    this.#indexFunc = fn;
    return this;
  }

  [definitionOf](): IndexDefinition {
    return {
      name: this.name,
      codec: checkedCodec(this.name, this.#keyType),
      multi: this.#multi,
      unique: this.#unique,
      nullable: this.#nullable,
      order: this.#order,
      indexFunc: this.#indexFunc ?? pathReader(this.name),
    };
  }
}

/**
 * The older form: the key type is string, and every other value is converted to a string.
 *
 * @example
 * ```ts
 * new IndexSpec({ name: 'spec.title', unique: true, indexFunc: simpleAttribute(Book, (book) => book.spec.title) });
 * ```
 */
export class IndexSpec implements ValueIndexSpec {
  readonly name: string;
  readonly #definition: () => IndexDefinition;

  constructor(spec: { name: string; order?: Order; unique?: boolean; indexFunc: IndexAttribute }) {
    this.name = spec.name;
    this.#definition = () => {
      const attribute = spec.indexFunc as IndexFunction | undefined;
      if (typeof attribute?.indexFunc !== 'function') {
        invalidModel(
          localized('The index "{name}" needs an indexFunc made by simpleAttribute or multiValueAttribute'),
          { name: spec.name },
        );
      }
      return {
        name: spec.name,
        codec: codecOf(String),
        multi: attribute.multiValue,
        unique: spec.unique ?? false,
        nullable: true,
        order: spec.order ?? 'ASC',
        indexFunc: attribute.indexFunc,
        source: attribute.source,
      };
    };
  }

  [definitionOf](): IndexDefinition {
    return this.#definition();
  }
}

/**
 * A single value, converted to a string unless it is null, undefined or a string already.
 *
 * @example
 * ```ts
 * simpleAttribute(Book, (book) => book.spec.year);
 * ```
 */
export function simpleAttribute<T>(_type: ModelType<T>, fn: (object: T) => unknown): IndexAttribute {
  const attribute: IndexFunction = {
    multiValue: false,
    indexFunc: (object: T) => textOf(fn(object)),
    source: fn,
  };
  return attribute;
}

/**
 * A set of values, each converted to a string.
 *
 * @example
 * ```ts
 * multiValueAttribute(Book, (book) => new Set(book.spec.tags));
 * ```
 */
export function multiValueAttribute<T>(
  _type: ModelType<T>,
  fn: (object: T) => Iterable<unknown> | null | undefined,
): IndexAttribute {
  const attribute: IndexFunction = {
    multiValue: true,
    indexFunc: (object: T) => {
      const values = fn(object);
      return values === null || values === undefined ? values : Array.from(values, textOf);
    },
    source: fn,
  };
  return attribute;
}

function textOf(value: unknown): unknown {
  if (value === null || value === undefined || typeof value === 'string') return value;
  return value instanceof Date ? value.toISOString() : String(value);
}

/**
 * The indexes that a registration adds.
 *
 * @example
 * ```ts
 * Scheme.buildFromType(Book, (indexSpecs) => {
 *   indexSpecs.add(IndexSpecs.multi('spec.tags', String).indexFunc((book: Book) => book.spec.tags ?? []));
 * });
 * ```
 */
export class IndexSpecs {
  readonly #specs: ValueIndexSpec[] = [];

  /** Starts a single-value index. The name is recommended to be the path of the field, such as `spec.slug`. */
  static single<T extends KeyType<any>>(name: string, keyType: T): SingleValueBuilder<KeyOf<T>> {
    return new IndexBuilder(name, keyType, false);
  }

  /** Starts a multi-value index. */
  static multi<T extends KeyType<any>>(name: string, keyType: T): MultiValueBuilder<KeyOf<T>> {
    return new IndexBuilder(name, keyType, true);
  }

  add(spec: ValueIndexSpec): this {
    this.#specs.push(spec);
    return this;
  }

  /** What was added, in order. */
  all(): readonly ValueIndexSpec[] {
    return this.#specs;
  }
}

/** The one factory behind `indexes` of `defineModel`. */
export const indexFactory: IndexFactory = {
  single: (name, keyType, of, options) =>
    built(new IndexBuilder(name, keyType, false), of, options) as NamedIndexSpec<typeof name, any>,
  multi: (name, keyType, of, options) =>
    built(new IndexBuilder(name, keyType, true), of, options) as NamedIndexSpec<typeof name, any>,
};

function built(
  builder: IndexBuilder,
  of: (object: any) => unknown,
  { unique = false, nullable = true, order = 'ASC' }: { unique?: boolean; nullable?: boolean; order?: Order } = {},
): ValueIndexSpec {
  return builder.indexFunc(of).unique(unique).nullable(nullable).order(order);
}

const indexNameSyntax = /^[A-Za-z0-9_.-]{1,253}$/;

/** Checks the declared indexes of one model. Throws `InvalidModel` that names each mistaken index and the rule. */
export function checkIndexes(specs: readonly ValueIndexSpec[]): readonly IndexDefinition[] {
  const seen = new Set<string>();
  const mistakes = new Mistakes();
  const check = (spec: ValueIndexSpec): IndexDefinition => {
    const define = (spec as { [definitionOf]?: () => IndexDefinition } | null | undefined)?.[definitionOf];
    if (typeof define !== 'function') {
      invalidModel(
        localized('An index must be made by IndexSpecs.single, IndexSpecs.multi or new IndexSpec; got {value}'),
        { value: spec },
      );
    }
    const definition = define.call(spec);
    checkDefinition(definition);
    if (seen.has(definition.name)) {
      invalidModel(localized('The index "{name}" is declared twice: names are unique among the indexes of one model'), {
        name: definition.name,
      });
    }
    seen.add(definition.name);
    return Object.freeze(definition);
  };
  const definitions = specs.map((spec) => mistakes.in(() => check(spec))!);
  mistakes.throw();
  return definitions;
}

function checkDefinition({ name, order, unique, nullable, indexFunc }: IndexDefinition): void {
  if (typeof name !== 'string' || !indexNameSyntax.test(name)) {
    invalidModel(
      localized(
        'The name of an index must have 1 to 253 characters, each a letter, a digit, "_", "." or "-"; got "{name}"',
      ),
      { name },
    );
  }
  if (name === 'name' || (builtInIndexes as readonly string[]).includes(name)) {
    invalidModel(
      localized(
        'The index "{name}" is built in and cannot be declared again; built in are {builtIn}, and "name" is short for metadata.name',
      ),
      { name, builtIn: builtInIndexes.join(', ') },
    );
  }
  if (order !== 'ASC' && order !== 'DESC') {
    invalidModel(localized('The order of the index "{name}" must be "ASC" or "DESC"; got {order}'), { name, order });
  }
  if (typeof unique !== 'boolean' || typeof nullable !== 'boolean' || typeof indexFunc !== 'function') {
    invalidModel(
      localized('The index "{name}" needs true or false for unique and nullable, and a function as indexFunc'),
      { name },
    );
  }
}

function checkedCodec(name: string, type: KeyType<any>): KeyCodec {
  const builtIn = type === String || type === Number || type === Boolean || type === BigInt || type === Date;
  const own = type as { compare?: unknown; parse?: unknown; format?: unknown } | undefined;
  const complete =
    typeof own?.compare === 'function' && typeof own.parse === 'function' && typeof own.format === 'function';
  if (!builtIn && !complete) {
    invalidModel(
      localized(
        'The key type of the index "{name}" must be String, Number, Boolean, BigInt, Date or { compare, parse, format }',
      ),
      { name },
    );
  }
  return codecOf(type);
}

function pathReader(name: string): (object: any) => unknown {
  const path = String(name).split('.');
  return (object) => {
    let value = object;
    for (const member of path) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) return undefined;
      value = value[member];
    }
    return value;
  };
}

const textCodec = codecOf(String);
const ofMetadata = (member: 'namespace' | 'name'): IndexDefinition =>
  Object.freeze({
    name: `metadata.${member}`,
    codec: textCodec,
    multi: false,
    unique: false,
    nullable: true,
    order: 'ASC',
    indexFunc: ({ metadata }: ExtensionObject) => metadata[member],
  });

/** Those that a namespaced model has besides: there the store and the indexes know an object by its full name. */
export const namespacedIndexes: readonly IndexDefinition[] = [ofMetadata('namespace'), ofMetadata('name')];

const nothing: readonly unknown[] = Object.freeze([]);
const noLabels: Readonly<Record<string, string>> = Object.freeze({});

const threwText: Text = localized('The function of the index "{index}" failed: {reason}');
const missingText: Text = localized('The index "{index}" needs a value, this object has none');
const manyText: Text = localized('The object has more than {limit} values for the index "{index}"');
const longText: Text = localized(
  'A key of the index "{index}" is {length} characters long, at most {limit} are allowed',
);

/**
 * What the indexes keep of an object: every index function called on it, values as keys, each key once.
 * Throws `Invalid` with one violation (keyword `index`, params `{ index }`) for every index whose function throws, gives
 * a value of another type than declared, too many or too long ones, or none though the index is not nullable.
 */
export function entryOf(scheme: { readonly indexes: readonly IndexDefinition[] }, object: ExtensionObject): IndexEntry {
  const { metadata } = object;
  const { indexes } = scheme;
  const keys = new Array<readonly unknown[]>(indexes.length);
  let violations: Violation[] | undefined;
  for (let i = 0; i < indexes.length; i++) {
    const definition = indexes[i]!;
    try {
      const value = definition.indexFunc(object);
      keys[i] =
        value === null || value === undefined
          ? nothing
          : definition.multi
            ? keysOf(definition, value)
            : [checkedKey(definition, value)];
      if (keys[i]!.length === 0 && !definition.nullable) throw new Refusal(missingText, {});
    } catch (error) {
      violations ??= [];
      violations.push(refused(definition, error));
    }
  }
  if (violations) throw invalid(violations);
  return {
    name: fullNameOf(metadata),
    created: metadata.creationTimestamp === undefined ? 0 : parseInstant(metadata.creationTimestamp),
    deleted: metadata.deletionTimestamp ? parseInstant(metadata.deletionTimestamp) : null,
    labels: metadata.labels ?? noLabels,
    ...(metadata.ownerReferences && { owners: metadata.ownerReferences.map(({ uid }) => uid ?? '') }),
    keys,
  };
}

function keysOf(definition: IndexDefinition, value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || typeof (value as Iterable<unknown>)[Symbol.iterator] !== 'function') {
    throw new TypeError(`expected a set or an array of values, got ${shown(value)}`);
  }
  const byText = definition.codec.type === 'own';
  const distinct: unknown[] = [];
  let seen: Set<unknown> | undefined;
  let count = 0;
  for (const one of value as Iterable<unknown>) {
    const key = checkedKey(definition, one);
    if (++count > givenLimit) throw new Refusal(manyText, { limit: givenLimit });
    if (!byText && distinct.length < fewKeys) {
      if (!distinct.includes(key)) distinct.push(key);
      continue;
    }
    seen ??= new Set(distinct);
    const before = seen.size;
    if (seen.add(byText ? definition.codec.format(key) : key).size === before) continue;
    if (distinct.push(key) > indexValueLimit) throw new Refusal(manyText, { limit: indexValueLimit });
  }
  return distinct;
}

function checkedKey(definition: IndexDefinition, value: unknown): unknown {
  if (value === null || value === undefined) throw new TypeError(`expected a value, got ${value}`);
  const key = definition.codec.key(value);
  const text = typeof key === 'string' ? key : definition.codec.type === 'own' ? ownText(definition, key) : undefined;
  if (text !== undefined && text.length > keyLengthLimit) {
    throw new Refusal(longText, { length: text.length, limit: keyLengthLimit });
  }
  return key;
}

function ownText(definition: IndexDefinition, key: unknown): string {
  const text: unknown = definition.codec.format(key);
  if (typeof text !== 'string') throw new TypeError(`format must give a string, got ${shown(text)}`);
  return text;
}

function shown(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}

class Refusal extends Error {
  readonly text: Text;
  readonly params: Readonly<Record<string, unknown>>;

  constructor(text: Text, params: Readonly<Record<string, unknown>>) {
    super(text.en);
    this.text = text;
    this.params = params;
  }
}

function refused(definition: IndexDefinition, error: unknown): Violation {
  const index = definition.name;
  const pointer = pointerOf(index);
  if (error instanceof Refusal) return violation(pointer, 'index', error.text, { index, ...error.params });
  const reason = messageOf(error);
  return violation(pointer, 'index', threwText, { index, reason });
}

/** The field that an index is named after, when it is named after one; the whole object otherwise. */
function pointerOf(index: string): string {
  return /^(?:spec|status|metadata)\./.test(index) ? `/${index.replaceAll('.', '/')}` : '';
}
