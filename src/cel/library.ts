/** The standard functions and operators of CEL, and those for strings, lists and optional values. */
import { fail } from './frame.ts';
import type { Library } from './functions.ts';
import { findAll, matches } from './regex.ts';
import type { TimePart } from './time.ts';
import { Duration, parseDuration, parseTimestamp, Timestamp } from './time.ts';
import type { Frame, Mapping, Value } from './values.ts';
import { compare, equals, kindOf, List, Optional, textSteps, typeValueOf, Uint } from './values.ts';

const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n];

function int(value: bigint): bigint {
  return value < least || value > most ? fail('integer overflow') : value;
}

function notZero(value: bigint, what = 'division by zero'): bigint {
  return value === 0n ? fail(what) : value;
}

function conversion(to: string): never {
  return fail(`type conversion error from 'string' to '${to}'`);
}

/** A whole number from a double, towards zero. */
function whole(value: number): bigint {
  return Number.isFinite(value) && Math.abs(value) < 2 ** 64 ? BigInt(Math.trunc(value)) : fail('integer overflow');
}

function text(value: string, frame: Frame): string {
  frame.spend(textSteps(value));
  return value;
}

function list(items: readonly Value[], frame: Frame): List {
  frame.spend(items.length);
  return new List(items);
}

/** Characters of a text, a code point each. */
function characters(value: string, frame: Frame): readonly string[] | string {
  frame.spend(textSteps(value));
  if (!/[\ud800-\udfff]/.test(value)) return value;
  frame.spend(value.length);
  return Array.from(value);
}

function part(of: readonly string[] | string, from: number, to: number): string {
  return typeof of === 'string' ? of.slice(from, to) : of.slice(from, to).join('');
}

function within(index: bigint, length: number): number {
  return index < 0n || index > length ? fail(`index out of range: ${index}`) : Number(index);
}

/** Position of the first or last occurrence, by characters; -1 when there is none. */
function position(value: string, wanted: string, frame: Frame, isLast: boolean, from?: bigint): bigint {
  const all = characters(value, frame);
  const start = from === undefined ? undefined : within(from, all.length);
  if (typeof all === 'string') {
    return BigInt(isLast ? all.lastIndexOf(wanted, start) : all.indexOf(wanted, start));
  }
  const units = start === undefined ? undefined : part(all, 0, start).length;
  const at = isLast ? value.lastIndexOf(wanted, units) : value.indexOf(wanted, units);
  return at < 0 ? -1n : BigInt(Array.from(value.slice(0, at)).length);
}

function replace(value: string, from: string, to: string, limit: number, frame: Frame): string {
  const parts = from === '' ? [''].concat(Array.from(value), '') : value.split(from);
  const count = Math.min(parts.length - 1, limit);
  frame.spend(textSteps(value) + parts.length + Math.ceil((count * to.length) / 16));
  if (count === parts.length - 1) return parts.join(to);
  const rest = from === '' ? parts.slice(count).join('') : parts.slice(count).join(from);
  return [...parts.slice(0, count), rest].join(to);
}

function split(value: string, separator: string, limit: number, frame: Frame): List {
  frame.spend(textSteps(value));
  if (limit === 0) return new List([]);
  const parts = separator === '' ? Array.from(value) : value.split(separator);
  if (parts.length <= limit) return list(parts, frame);
  return list([...parts.slice(0, limit - 1), parts.slice(limit - 1).join(separator)], frame);
}

function join(items: readonly Value[], separator: string, frame: Frame): string {
  for (const item of items) {
    if (typeof item !== 'string') fail('no such overload');
    frame.spend(1 + ((item.length + separator.length) >> 4));
  }
  return items.join(separator);
}

/** A limit of a call; a negative one is none. */
function limitOf(value: bigint): number {
  return value < 0n ? Number.POSITIVE_INFINITY : Number(value);
}

function ascii(value: string, change: (letters: string) => string, letters: RegExp, frame: Frame): string {
  frame.spend(textSteps(value));
  return value.replace(letters, change);
}

function concatenated(a: List, b: List, frame: Frame): List {
  frame.spend(a.items.length + b.items.length);
  if (!a.keys) return new List([...a.items, ...b.items]);
  const keyOf = (item: Value): Value =>
    a.keys!.length === 0 ? item : new List(a.keys!.map((name) => (item as Mapping).get(name, frame) ?? null));
  const items = [...a.items];
  for (const item of b.items) {
    const at = items.findIndex((one) => equals(keyOf(one), keyOf(item), frame));
    if (at < 0) items.push(item);
    else items[at] = item;
  }
  return new List(items, a.keys);
}

function contains(items: readonly Value[], value: Value, frame: Frame): boolean {
  for (const item of items) if (equals(item, value, frame)) return true;
  return false;
}

function isSorted(items: readonly Value[], frame: Frame): boolean {
  frame.spend(items.length);
  return items.every((item, i) => i === 0 || compare(items[i - 1]!, item)! <= 0);
}

function extreme(items: readonly Value[], sign: 1 | -1, frame: Frame): Value {
  frame.spend(items.length);
  if (items.length === 0) fail(`${sign < 0 ? 'min' : 'max'} called on empty list`);
  return items.reduce((best, item) => (compare(item, best)! * sign > 0 ? item : best));
}

function sum(items: readonly Value[], frame: Frame): Value {
  frame.spend(items.length * 2);
  const [first] = items;
  if (first === undefined) return 0n;
  return items.slice(1).reduce<Value>((total, item) => {
    if (kindOf(total) !== kindOf(item)) return fail('no such overload');
    if (typeof total === 'bigint') return int(total + (item as bigint));
    if (typeof total === 'number') return total + (item as number);
    if (total instanceof Uint) return new Uint(total.value + (item as Uint).value);
    return total instanceof Duration ? new Duration(total.nanos + (item as Duration).nanos) : fail('no such overload');
  }, first);
}

const numbers = ['int', 'uint', 'double'];
const comparisons = {
  '<': (order: number | undefined) => order !== undefined && order < 0,
  '<=': (order: number | undefined) => order !== undefined && order <= 0,
  '>': (order: number | undefined) => order !== undefined && order > 0,
  '>=': (order: number | undefined) => order !== undefined && order >= 0,
};

function orders(): Library {
  const library: Record<string, Library[string]> = {};
  for (const [name, isSo] of Object.entries(comparisons)) {
    const run = (_frame: Frame, a: Value, b: Value) => isSo(compare(a, b));
    for (const a of numbers) for (const b of numbers) library[`${name}(${a}, ${b}): bool`] = run;
    for (const one of ['bool', 'bytes', 'timestamp', 'duration']) library[`${name}(${one}, ${one}): bool`] = run;
    library[`${name}(string, string): bool`] = (frame, a: string, b: string) => isSo(compare(text(a, frame), b));
  }
  return library;
}

const timeParts: Readonly<Record<string, TimePart>> = {
  getFullYear: 'fullYear',
  getMonth: 'month',
  getDate: 'date',
  getDayOfMonth: 'dayOfMonth',
  getDayOfWeek: 'dayOfWeek',
  getDayOfYear: 'dayOfYear',
  getHours: 'hours',
  getMinutes: 'minutes',
  getSeconds: 'seconds',
  getMilliseconds: 'milliseconds',
};

/** What reading a time in a zone takes, in steps. */
const zoneSteps = 5_000;

function times(): Library {
  const library: Record<string, Library[string]> = {};
  for (const [name, of] of Object.entries(timeParts)) {
    library[`timestamp.${name}(): int`] = (_frame, at: Timestamp) => at.part(of);
    library[`timestamp.${name}(string): int`] = (frame, at: Timestamp, zone: string) => {
      frame.spend(zoneSteps);
      return at.part(of, zone);
    };
  }
  return library;
}

function parseInt64(value: string): bigint {
  return /^[+-]?\d{1,19}$/.test(value) ? int(BigInt(value.replace('+', ''))) : conversion('int');
}

function parseDouble(value: string): number {
  const isNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(value) && value.length < 1_000;
  if (isNumber) return Number(value);
  const special = /^([+-]?)(inf|infinity|nan)$/i.exec(value);
  if (!special) return conversion('double');
  if (special[2]!.toLowerCase() === 'nan') return Number.NaN;
  return special[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

function parseBool(value: string): boolean {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(value)) return true;
  return ['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(value) ? false : conversion('bool');
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return fail('invalid UTF-8 in bytes, cannot convert to string');
  }
}

/** `strings.quote` */
function quoted(value: string): string {
  return JSON.stringify(value.toWellFormed());
}

/** What `%s` shows. */
function shown(value: Value, frame: Frame): string {
  frame.spend(2);
  if (typeof value === 'string') return text(value, frame);
  if (value instanceof List) return `[${value.items.map((item) => shown(item, frame)).join(', ')}]`;
  if (value instanceof Uint8Array) return utf8(value);
  if (value instanceof Uint) return String(value.value);
  if (kindOf(value) !== 'map') return String(value);
  const map = value as Mapping;
  return `{${[...map.keys()]
    .map((key) => `${shown(key, frame)}: ${shown(map.get(key, frame)!, frame)}`)
    .sort()
    .join(', ')}}`;
}

function formatted(pattern: string, { items }: List, frame: Frame): string {
  let next = 0;
  const made = pattern.replaceAll(/%(?:%|(?:\.(\d+))?([sdfexXob])|.?)/g, (clause, digits, verb) => {
    if (clause === '%%') return '%';
    if (verb === undefined) return fail(`unrecognized formatting clause "${clause.slice(1)}"`);
    const value = items[next++] ?? fail(`index ${next - 1} out of range`);
    return text(one(verb, value, digits === undefined ? 6 : Math.min(Number(digits), 100), frame), frame);
  });
  return text(made, frame);
}

function one(verb: string, value: Value, digits: number, frame: Frame): string {
  const number = value instanceof Uint ? value.value : value;
  if (verb === 's') return shown(value, frame);
  if (verb === 'f' || verb === 'e') {
    if (typeof number !== 'number' && typeof number !== 'bigint') return fail('no such overload');
    return verb === 'f' ? Number(number).toFixed(digits) : Number(number).toExponential(digits);
  }
  if (typeof value === 'string' && verb.toLowerCase() === 'x') {
    const hex = Buffer.from(value).toString('hex');
    return verb === 'x' ? hex : hex.toUpperCase();
  }
  const integer = typeof number === 'boolean' && verb === 'b' ? BigInt(number) : number;
  if (typeof integer !== 'bigint') return fail(`formatting clause "${verb}" needs an integer`);
  const base = { d: 10, b: 2, o: 8, x: 16, X: 16 }[verb]!;
  return verb === 'X' ? integer.toString(base).toUpperCase() : integer.toString(base);
}

function isZero(value: Value): boolean {
  if (value instanceof List) return value.items.length === 0;
  if (kindOf(value) === 'map') return (value as Mapping).size === 0;
  return value === null || value === false || value === '' || value === 0 || value === 0n;
}

export const standardLibrary = (): Library => ({
  '+(int, int): int': (_, a: bigint, b: bigint) => int(a + b),
  '+(double, double): double': (_, a: number, b: number) => a + b,
  '+(uint, uint): uint': (_, a: Uint, b: Uint) => new Uint(a.value + b.value),
  '+(string, string): string': (frame, a: string, b: string) => text(a, frame) + text(b, frame),
  '+(bytes, bytes): bytes': (frame, a: Uint8Array, b: Uint8Array) => {
    frame.spend(1 + ((a.length + b.length) >> 4));
    return new Uint8Array(Buffer.concat([a, b]));
  },
  '+(list<T>, list<T>): list<T>': (frame, a: List, b: List) => concatenated(a, b, frame),
  '+(duration, duration): duration': (_, a: Duration, b: Duration) => new Duration(a.nanos + b.nanos),
  '+(timestamp, duration): timestamp': (_, a: Timestamp, b: Duration) => new Timestamp(a.nanos + b.nanos),
  '+(duration, timestamp): timestamp': (_, a: Duration, b: Timestamp) => new Timestamp(a.nanos + b.nanos),
  '-(int, int): int': (_, a: bigint, b: bigint) => int(a - b),
  '-(double, double): double': (_, a: number, b: number) => a - b,
  '-(uint, uint): uint': (_, a: Uint, b: Uint) => new Uint(a.value - b.value),
  '-(duration, duration): duration': (_, a: Duration, b: Duration) => new Duration(a.nanos - b.nanos),
  '-(timestamp, duration): timestamp': (_, a: Timestamp, b: Duration) => new Timestamp(a.nanos - b.nanos),
  '-(timestamp, timestamp): duration': (_, a: Timestamp, b: Timestamp) => new Duration(a.nanos - b.nanos),
  '*(int, int): int': (_, a: bigint, b: bigint) => int(a * b),
  '*(double, double): double': (_, a: number, b: number) => a * b,
  '*(uint, uint): uint': (_, a: Uint, b: Uint) => new Uint(a.value * b.value),
  '/(int, int): int': (_, a: bigint, b: bigint) => int(a / notZero(b)),
  '/(double, double): double': (_, a: number, b: number) => a / b,
  '/(uint, uint): uint': (_, a: Uint, b: Uint) => new Uint(a.value / notZero(b.value)),
  '%(int, int): int': (_, a: bigint, b: bigint) => a % notZero(b, 'modulus by zero'),
  '%(uint, uint): uint': (_, a: Uint, b: Uint) => new Uint(a.value % notZero(b.value, 'modulus by zero')),
  '-_(int): int': (_, a: bigint) => int(-a),
  '-_(double): double': (_, a: number) => -a,
  '!_(bool): bool': (_, a: boolean) => !a,
  'in(T, list<T>): bool': (frame, value: Value, { items }: List) => contains(items, value, frame),
  'in(K, map<K, V>): bool': (frame, key: Value, map: Mapping) => map.get(keyOf(key), frame) !== undefined,
  ...orders(),
  ...times(),
  'size(string): int': (frame, value: string) => BigInt(characters(value, frame).length),
  'size(bytes): int': (_, value: Uint8Array) => BigInt(value.length),
  'size(list<T>): int': (_, { items }: List) => BigInt(items.length),
  'size(map<K, V>): int': (frame, map: Mapping) => {
    const { size } = map;
    frame.spend(size);
    return BigInt(size);
  },
  'string.size(): int': (frame, value: string) => BigInt(characters(value, frame).length),
  'bytes.size(): int': (_, value: Uint8Array) => BigInt(value.length),
  'list<T>.size(): int': (_, { items }: List) => BigInt(items.length),
  'map<K, V>.size(): int': (frame, map: Mapping) => {
    const { size } = map;
    frame.spend(size);
    return BigInt(size);
  },
  'string.contains(string): bool': (frame, value: string, other: string) => text(value, frame).includes(other),
  'string.startsWith(string): bool': (frame, value: string, start: string) => value.startsWith(text(start, frame)),
  'string.endsWith(string): bool': (frame, value: string, end: string) => value.endsWith(text(end, frame)),
  'string.matches(string): bool': (frame, value: string, pattern: string) => matches(value, pattern, frame),
  'matches(string, string): bool': (frame, value: string, pattern: string) => matches(value, pattern, frame),
  'dyn(T): dyn': (_, value: Value) => value,
  'type(T): type': (_, value: Value) => typeValueOf(value),
  'int(int): int': (_, value: bigint) => value,
  'int(double): int': (_, value: number) => int(whole(value)),
  'int(uint): int': (_, { value }: Uint) => int(value),
  'int(string): int': (_, value: string) => parseInt64(value),
  'int(timestamp): int': (_, { nanos }: Timestamp) =>
    nanos / 1_000_000_000n - (nanos < 0n && nanos % 1_000_000_000n ? 1n : 0n),
  'int(duration): int': (_, { nanos }: Duration) => nanos,
  'uint(uint): uint': (_, value: Uint) => value,
  'uint(int): uint': (_, value: bigint) => new Uint(value),
  'uint(double): uint': (_, value: number) => new Uint(whole(value)),
  'uint(string): uint': (_, value: string) => new Uint(/^\d{1,20}$/.test(value) ? BigInt(value) : conversion('uint')),
  'double(double): double': (_, value: number) => value,
  'double(int): double': (_, value: bigint) => Number(value),
  'double(uint): double': (_, { value }: Uint) => Number(value),
  'double(string): double': (_, value: string) => parseDouble(value),
  'bool(bool): bool': (_, value: boolean) => value,
  'bool(string): bool': (_, value: string) => parseBool(value),
  'string(string): string': (_, value: string) => value,
  'string(bool): string': (_, value: boolean) => String(value),
  'string(int): string': (_, value: bigint) => String(value),
  'string(uint): string': (_, { value }: Uint) => String(value),
  'string(double): string': (_, value: number) => String(value),
  'string(bytes): string': (frame, value: Uint8Array) => text(utf8(value), frame),
  'string(timestamp): string': (_, value: Timestamp) => String(value),
  'string(duration): string': (_, value: Duration) => String(value),
  'string(ip): string': (_, value: Value) => String(value),
  'string(cidr): string': (_, value: Value) => String(value),
  'bytes(bytes): bytes': (_, value: Uint8Array) => value,
  'bytes(string): bytes': (frame, value: string) => new Uint8Array(Buffer.from(text(value, frame))),
  'timestamp(timestamp): timestamp': (_, value: Timestamp) => value,
  'timestamp(int): timestamp': (_, value: bigint) => new Timestamp(value * 1_000_000_000n),
  'timestamp(string): timestamp': (_, value: string) => parseTimestamp(value) ?? fail(`invalid timestamp: ${value}`),
  'duration(duration): duration': (_, value: Duration) => value,
  'duration(int): duration': (_, value: bigint) => new Duration(value),
  'duration(string): duration': (_, value: string) => parseDuration(value) ?? fail(`invalid duration: ${value}`),
  'duration.getHours(): int': (_, value: Duration) => value.in('h'),
  'duration.getMinutes(): int': (_, value: Duration) => value.in('m'),
  'duration.getSeconds(): int': (_, value: Duration) => value.in('s'),
  'duration.getMilliseconds(): int': (_, value: Duration) => value.in('ms'),
  // Strings.
  'string.charAt(int): string': (frame, value: string, index: bigint) => {
    const all = characters(value, frame);
    return all[within(index, all.length)] ?? '';
  },
  'string.indexOf(string): int': (frame, value: string, other: string) => position(value, other, frame, false),
  'string.indexOf(string, int): int': (frame, value: string, other: string, from: bigint) =>
    position(value, other, frame, false, from),
  'string.lastIndexOf(string): int': (frame, value: string, other: string) => position(value, other, frame, true),
  'string.lastIndexOf(string, int): int': (frame, value: string, other: string, from: bigint) =>
    position(value, other, frame, true, from),
  'string.lowerAscii(): string': (frame, value: string) =>
    ascii(value, (letters) => letters.toLowerCase(), /[A-Z]+/g, frame),
  'string.upperAscii(): string': (frame, value: string) =>
    ascii(value, (letters) => letters.toUpperCase(), /[a-z]+/g, frame),
  'string.replace(string, string): string': (frame, value: string, from: string, to: string) =>
    replace(value, from, to, Number.POSITIVE_INFINITY, frame),
  'string.replace(string, string, int): string': (frame, value: string, from: string, to: string, limit: bigint) =>
    replace(value, from, to, limitOf(limit), frame),
  'string.split(string): list<string>': (frame, value: string, separator: string) =>
    split(value, separator, Number.POSITIVE_INFINITY, frame),
  'string.split(string, int): list<string>': (frame, value: string, separator: string, limit: bigint) =>
    split(value, separator, limitOf(limit), frame),
  'string.substring(int): string': (frame, value: string, from: bigint) => {
    const all = characters(value, frame);
    return part(all, within(from, all.length), all.length);
  },
  'string.substring(int, int): string': (frame, value: string, from: bigint, to: bigint) => {
    const all = characters(value, frame);
    const [start, end] = [within(from, all.length), within(to, all.length)];
    return start > end ? fail(`invalid substring range. start: ${from}, end: ${to}`) : part(all, start, end);
  },
  'string.trim(): string': (frame, value: string) => text(value, frame).trim(),
  'string.reverse(): string': (frame, value: string) => [...characters(value, frame)].reverse().join(''),
  'string.format(list<dyn>): string': (frame, pattern: string, values: List) =>
    formatted(text(pattern, frame), values, frame),
  'strings::quote(string): string': (frame, value: string) => quoted(text(value, frame)),
  'list<string>.join(): string': (frame, { items }: List) => join(items, '', frame),
  'list<string>.join(string): string': (frame, { items }: List, separator: string) => join(items, separator, frame),
  'string.find(string): string': (frame, value: string, pattern: string) => findAll(value, pattern, 1, frame)[0] ?? '',
  'string.findAll(string): list<string>': (frame, value: string, pattern: string) =>
    list(findAll(value, pattern, Number.POSITIVE_INFINITY, frame), frame),
  'string.findAll(string, int): list<string>': (frame, value: string, pattern: string, limit: bigint) =>
    list(findAll(value, pattern, limitOf(limit), frame), frame),
  // Lists.
  'list<T>.isSorted(): bool': (frame, { items }: List) => isSorted(items, frame),
  'list<T>.sum(): T': (frame, { items }: List) => sum(items, frame),
  'list<T>.min(): T': (frame, { items }: List) => extreme(items, -1, frame),
  'list<T>.max(): T': (frame, { items }: List) => extreme(items, 1, frame),
  'list<T>.indexOf(T): int': (frame, { items }: List, value: Value) =>
    BigInt(items.findIndex((item) => equals(item, value, frame))),
  'list<T>.lastIndexOf(T): int': (frame, { items }: List, value: Value) =>
    BigInt(items.findLastIndex((item) => equals(item, value, frame))),
  'sets::contains(list<T>, list<T>): bool': (frame, a: List, b: List) =>
    b.items.every((item) => contains(a.items, item, frame)),
  'sets::intersects(list<T>, list<T>): bool': (frame, a: List, b: List) =>
    b.items.some((item) => contains(a.items, item, frame)),
  'sets::equivalent(list<T>, list<T>): bool': (frame, a: List, b: List) =>
    a.items.every((item) => contains(b.items, item, frame)) && b.items.every((item) => contains(a.items, item, frame)),
  // Optional values.
  'optional::of(T): optional<T>': (_, value: Value) => new Optional(value),
  'optional::ofNonZeroValue(T): optional<T>': (_, value: Value) =>
    isZero(value) ? Optional.none : new Optional(value),
  'optional::none(): optional<T>': () => Optional.none,
  'optional<T>.hasValue(): bool': (_, { value }: Optional) => value !== undefined,
  'optional<T>.value(): T': (_, { value }: Optional) =>
    value === undefined ? fail('optional::none() dereference') : value,
});

/** A key as maps have it: a number that is whole as an integer. */
export function keyOf(value: Value): string | bigint | boolean {
  if (typeof value === 'string' || typeof value === 'bigint' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value);
  return value instanceof Uint ? value.value : fail(`unsupported key type: ${kindOf(value)}`);
}
