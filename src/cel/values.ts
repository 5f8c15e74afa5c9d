/** The values of CEL expressions: what JSON holds, read by its type, and what expressions make of it. */

import type { Cidr, Ip } from './address.ts';
import type { NamedFormat } from './formats.ts';
import type { Frame as AnyFrame } from './frame.ts';
import { fail } from './frame.ts';
import type { Quantity } from './quantity.ts';
import { Duration, parseDuration, parseTimestamp, Timestamp } from './time.ts';
import type { CelType, Field, ListType, SimpleKind } from './types.ts';
import { dyn } from './types.ts';
import type { CelUrl } from './url.ts';

/** One evaluation, with values as its variables. */
export type Frame = AnyFrame<Value>;

/** Integers are bigint, numbers double. */
export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | List
  | Mapping
  | Timestamp
  | Duration
  | TypeValue
  | Optional
  | Ip
  | Cidr
  | CelUrl
  | Quantity
  | NamedFormat;

export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    if (value < 0n || value >= 2n ** 64n) fail('unsigned integer overflow');
    this.value = value;
  }
}

/** A type as a value, what `type(x)` gives. */
export class TypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

export class Optional {
  static readonly none = new Optional(undefined);
  readonly value: Value | undefined;

  constructor(value: Value | undefined) {
    this.value = value;
  }
}

export class List {
  readonly items: readonly Value[];
  /** See `ListType`. */
  readonly keys: readonly string[] | undefined;

  constructor(items: readonly Value[], keys?: readonly string[]) {
    this.items = items;
    this.keys = keys;
  }
}

export type Key = string | bigint | boolean;

/** A map, or an object with declared members. */
export interface Mapping {
  readonly isMapping: true;
  readonly size: number;
  /** Undefined when there is none. */
  get(key: Key, frame: Frame): Value | undefined;
  keys(): Iterable<Key>;
}

export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && 'isMapping' in value;
}

/** What an expression made. */
export class MapValue implements Mapping {
  readonly isMapping = true;
  readonly #entries: ReadonlyMap<Key, Value>;

  constructor(entries: ReadonlyMap<Key, Value>) {
    this.#entries = entries;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  keys(): Iterable<Key> {
    return this.#entries.keys();
  }
}

type Json = Readonly<Record<string, unknown>>;

const noFields: ReadonlyMap<string, Field> = new Map();

/** An object of JSON. A member that is null is as one that is not there; those that are not declared count when objects are compared. */
export class JsonMapping implements Mapping {
  readonly isMapping = true;
  readonly #json: Json;
  /** Declared members, by the name that an expression uses. */
  readonly #fields: ReadonlyMap<string, Field>;
  /** Of members that are not declared. */
  readonly #others: CelType;

  constructor(json: Json, type: CelType) {
    this.#json = json;
    this.#fields = type.kind === 'object' ? type.fields : noFields;
    this.#others = type.kind === 'map' ? type.value : dyn;
  }

  get size(): number {
    return Object.values(this.#json).reduce<number>((sum, value) => sum + (isThere(value) ? 1 : 0), 0);
  }

  get(key: Key, frame: Frame): Value | undefined {
    if (typeof key !== 'string') return undefined;
    const field = this.#fields.get(key);
    return field ? this.member(field.name, field.type, frame) : this.member(key, this.#others, frame);
  }

  member(name: string, type: CelType, frame: Frame): Value | undefined {
    const value = Object.hasOwn(this.#json, name) ? this.#json[name] : undefined;
    return isThere(value) ? fromJson(value, type, frame) : undefined;
  }

  *keys(): Iterable<string> {
    const escaped = new Map([...this.#fields].map(([key, { name }]) => [name, key]));
    for (const name in this.#json) if (isThere(this.#json[name])) yield escaped.get(name) ?? name;
  }
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}

const kindsOf = {
  string: ['string', 'bytes', 'timestamp', 'duration'],
  number: ['int', 'double'],
  boolean: ['bool'],
  list: ['list'],
  object: ['object', 'map'],
};

function expect(type: CelType, kinds: readonly string[]): void {
  if (type.kind !== 'dyn' && type.kind !== 'param' && !kinds.includes(type.kind))
    fail(`value is not of type ${type.kind}`);
}

/** A value of JSON by its type. Throws `CelError` for one of another type, and for a text that is no time where it should be. */
export function fromJson(json: unknown, type: CelType, frame: Frame): Value {
  switch (typeof json) {
    case 'string':
      if (type.kind === 'string') return json;
      expect(type, kindsOf.string);
      return textOf(json, type);
    case 'number':
      if (type.kind === 'double') return json;
      expect(type, kindsOf.number);
      return Number.isInteger(json) && Math.abs(json) < 2 ** 63 ? BigInt(json) : json;
    case 'boolean':
      expect(type, kindsOf.boolean);
      return json;
    default:
  }
  if (json === null || json === undefined) return null;
  if (!Array.isArray(json)) {
    expect(type, kindsOf.object);
    return new JsonMapping(json as Json, type);
  }
  const known = frame.lists.get(json);
  if (known) return known;
  expect(type, kindsOf.list);
  frame.spend(json.length);
  const { element, keys } = type.kind === 'list' ? type : ({ element: dyn } as ListType);
  const list = new List(
    json.map((item) => fromJson(item, element, frame)),
    keys,
  );
  frame.lists.set(json, list);
  return list;
}

function textOf(text: string, { kind }: CelType): Value {
  switch (kind) {
    case 'bytes':
      return new Uint8Array(Buffer.from(text, 'base64'));
    case 'timestamp':
      return parseTimestamp(text) ?? parseTimestamp(`${text}T00:00:00Z`) ?? fail(`invalid timestamp: ${text}`);
    case 'duration':
      return parseDuration(text) ?? fail(`invalid duration: ${text}`);
    default:
      return text;
  }
}

type RuntimeKind = SimpleKind | 'list' | 'map' | 'optional';

export function kindOf(value: Value): RuntimeKind {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    case 'boolean':
      return 'bool';
    default:
  }
  if (value === null) return 'null';
  if (value instanceof List) return 'list';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof Uint) return 'uint';
  if (value instanceof Timestamp) return 'timestamp';
  if (value instanceof Duration) return 'duration';
  if (value instanceof TypeValue) return 'type';
  if (value instanceof Optional) return 'optional';
  return isMapping(value) ? 'map' : value.kind;
}

/** Whether a value may be given where a signature says `type`. */
export function isOf(value: Value, type: CelType): boolean {
  if (type.kind === 'dyn' || type.kind === 'param') return true;
  const kind = kindOf(value);
  return kind === type.kind || (kind === 'map' && type.kind === 'object');
}

export function typeValueOf(value: Value): TypeValue {
  const kind = kindOf(value);
  const name =
    { null: 'null_type', timestamp: 'google.protobuf.Timestamp', duration: 'google.protobuf.Duration' }[
      kind as string
    ] ?? kind;
  return new TypeValue(kind === 'optional' ? 'optional_type' : name);
}

/** Numbers of every kind by their value; lists whose order does not count without it. */
export function equals(a: Value, b: Value, frame: Frame): boolean {
  frame.spend(2);
  if (a === b) return true;
  if (typeof a === 'string' || typeof b === 'string' || (typeof a === 'bigint' && typeof b === 'bigint')) return false;
  const [left, right] = [numberOf(a), numberOf(b)];
  // biome-ignore lint/suspicious/noDoubleEquals: an integer and a double are equal when they are the same number.
  if (left !== undefined && right !== undefined) return left == right;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof List) return b instanceof List && listsEqual(a, b, frame);
  if (isMapping(a)) return isMapping(b) && mappingsEqual(a, b, frame);
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  if (a instanceof Optional) {
    if (!(b instanceof Optional)) return false;
    if (a.value === undefined || b.value === undefined) return a.value === b.value;
    return equals(a.value, b.value, frame);
  }
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos;
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name;
  if (a instanceof Uint || b instanceof Uint) return false;
  return 'kind' in b && a.kind === b.kind && a.equals(b as never);
}

function listsEqual(a: List, b: List, frame: Frame): boolean {
  if (a.items.length !== b.items.length) return false;
  if (!a.keys && !b.keys) return a.items.every((item, i) => equals(item, b.items[i]!, frame));
  const rest = [...b.items];
  return a.items.every((item, i) => {
    // Mostly the order is the same.
    const at = i < rest.length && equals(item, rest[0]!, frame) ? 0 : rest.findIndex((one) => equals(item, one, frame));
    if (at >= 0) rest.splice(at, 1);
    return at >= 0;
  });
}

function mappingsEqual(a: Mapping, b: Mapping, frame: Frame): boolean {
  frame.spend(a.size + b.size);
  if (a.size !== b.size) return false;
  for (const key of a.keys()) {
    const other = b.get(key, frame);
    if (other === undefined || !equals(a.get(key, frame)!, other, frame)) return false;
  }
  return true;
}

function numberOf(value: Value): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  return value instanceof Uint ? value.value : undefined;
}

/** Below 0, 0, above 0; `undefined` for values that have no order, such as a number that is none. */
export function compare(a: Value, b: Value): number | undefined {
  if (typeof a === 'bigint' && typeof b === 'bigint') return a < b ? -1 : a > b ? 1 : 0;
  const [left, right] = [orderOf(a), orderOf(b)];
  if (left === undefined || right === undefined || (typeof left === 'string') !== (typeof right === 'string')) {
    return fail('no such overload');
  }
  if (typeof left === 'string' || typeof right === 'string') return compareTexts(left as string, right as string);
  // biome-ignore lint/suspicious/noDoubleEquals: an integer and a double are equal when they are the same number.
  if (left == right) return 0;
  if (left < right) return -1;
  return left > right ? 1 : undefined;
}

function orderOf(value: Value): bigint | number | string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value instanceof Timestamp || value instanceof Duration) return value.nanos;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  return numberOf(value);
}

/** By code points, as by the bytes of UTF-8. */
function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x === y) continue;
    // Surrogates, which are of code points above all others, come first by their units.
    return orderOfUnit(x) - orderOfUnit(y);
  }
  return a.length - b.length;
}

function orderOfUnit(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** Steps that looking at all of a text takes. */
export function textSteps(text: string): number {
  return 1 + (text.length >> 4);
}
