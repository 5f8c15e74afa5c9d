/** The static types of CEL expressions. */

export type SimpleKind =
  | 'dyn'
  | 'null'
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'timestamp'
  | 'duration'
  | 'type'
  | 'ip'
  | 'cidr'
  | 'url'
  | 'quantity'
  | 'format';

interface SimpleType {
  readonly kind: SimpleKind;
}

export interface ListType {
  readonly kind: 'list';
  readonly element: CelType;
  /** Of lists whose items are told apart: the names of their keys, none for a set. Their order does not count. */
  readonly keys?: readonly string[];
  /** Items at most; absent: not known. */
  readonly most?: number;
}

export interface MapType {
  readonly kind: 'map';
  readonly key: CelType;
  readonly value: CelType;
  /** Members at most; absent: not known. */
  readonly most?: number;
}

/** An object with declared members. */
interface ObjectType {
  readonly kind: 'object';
  /** By the name that an expression uses, in which what CEL reserves is escaped; built at its first use. */
  readonly fields: ReadonlyMap<string, Field>;
}

export interface Field {
  /** As it stands in JSON. */
  readonly name: string;
  readonly type: CelType;
}

export interface OptionalType {
  readonly kind: 'optional';
  readonly value: CelType;
}

/** Stands for the type of an argument in a signature. */
interface TypeParameter {
  readonly kind: 'param';
  readonly name: string;
}

export type CelType = SimpleType | ListType | MapType | ObjectType | OptionalType | TypeParameter;

const simple = new Map<SimpleKind, CelType>();

export function typeOfKind(kind: SimpleKind): CelType {
  const known = simple.get(kind) ?? Object.freeze({ kind });
  simple.set(kind, known);
  return known;
}

export const dyn = typeOfKind('dyn');
export const bool = typeOfKind('bool');

export const listOf = (element: CelType): ListType => ({ kind: 'list', element });
export const mapOf = (key: CelType, value: CelType): MapType => ({ kind: 'map', key, value });
export const optionalOf = (value: CelType): OptionalType => ({ kind: 'optional', value });

/** As CEL writes it. */
export function nameOf(type: CelType): string {
  switch (type.kind) {
    case 'list':
      return `list(${nameOf(type.element)})`;
    case 'map':
      return `map(${nameOf(type.key)}, ${nameOf(type.value)})`;
    case 'optional':
      return `optional_type(${nameOf(type.value)})`;
    case 'param':
      return type.name;
    case 'null':
      return 'null_type';
    default:
      return type.kind;
  }
}

/** What both types can stand for; undefined when nothing does. */
export function unify(a: CelType, b: CelType): CelType | undefined {
  if (a === b) return a;
  if (a.kind === 'dyn') return a;
  if (b.kind === 'dyn') return b;
  // The element of an empty list, the key and the value of an empty map.
  if (a.kind === 'param') return b;
  if (b.kind === 'param') return a;
  if (a.kind === 'list' && b.kind === 'list') {
    const element = unify(a.element, b.element);
    return element && (a.keys && b.keys ? { ...a, element } : listOf(element));
  }
  if (a.kind === 'map' && b.kind === 'map') {
    const key = unify(a.key, b.key);
    const value = unify(a.value, b.value);
    return key && value && mapOf(key, value);
  }
  if (a.kind === 'optional' && b.kind === 'optional') {
    const value = unify(a.value, b.value);
    return value && optionalOf(value);
  }
  // Members decide at run time: an object is compared with an object of any shape.
  if (isMapLike(a) && isMapLike(b)) return a;
  return a.kind === b.kind && a.kind !== 'list' ? a : undefined;
}

function isMapLike({ kind }: CelType): boolean {
  return kind === 'object' || kind === 'map';
}

/**
 * Whether an argument of type `actual` may be given where a signature says `wanted`; what its parameters stand for is
 * gathered in `bound`.
 */
export function accepts(wanted: CelType, actual: CelType, bound: Map<string, CelType>): boolean {
  switch (wanted.kind) {
    case 'param': {
      const known = bound.get(wanted.name);
      const both = known ? unify(known, actual) : actual;
      if (both) bound.set(wanted.name, both);
      return both !== undefined;
    }
    case 'dyn':
      return true;
    default:
  }
  if (actual.kind === 'dyn' || actual.kind === 'param') return true;
  switch (wanted.kind) {
    case 'list':
      return actual.kind === 'list' && accepts(wanted.element, actual.element, bound);
    case 'map':
      if (actual.kind === 'object') return true;
      return (
        actual.kind === 'map' && accepts(wanted.key, actual.key, bound) && accepts(wanted.value, actual.value, bound)
      );
    case 'optional':
      return actual.kind === 'optional' && accepts(wanted.value, actual.value, bound);
    default:
      return wanted.kind === actual.kind;
  }
}

/** A type of a signature with what its parameters stand for. */
export function substitute(type: CelType, bound: ReadonlyMap<string, CelType>): CelType {
  switch (type.kind) {
    case 'param':
      return bound.get(type.name) ?? dyn;
    case 'list':
      return listOf(substitute(type.element, bound));
    case 'map':
      return mapOf(substitute(type.key, bound), substitute(type.value, bound));
    case 'optional':
      return optionalOf(substitute(type.value, bound));
    default:
      return type;
  }
}

/** Reads a type of a signature: `list<T>`, `map<K, V>`, `optional<T>`, a capital letter for a parameter, a kind. */
export function parseType(text: string): CelType {
  const match = /^(\w+)<(.*)>$/.exec(text);
  if (!match) return /^[A-Z]$/.test(text) ? { kind: 'param', name: text } : typeOfKind(text as SimpleKind);
  const [first, second] = match[2]!.split(', ').map(parseType);
  if (match[1] === 'list') return listOf(first!);
  return match[1] === 'map' ? mapOf(first!, second!) : optionalOf(first!);
}
