/**
 * Typed index keys. A *value* is what an index function returns, a *key* is the value in the form the index keeps:
 * a `Date` is kept as milliseconds since the epoch, everything else as it is.
 */

/** A value of a built-in key type. */
export type Key = string | number | boolean | bigint | Date;

/** A type of key of one's own: any comparable type. `format` gives the same text for keys that compare as equal. */
interface OwnKeyType<K> {
  compare(a: K, b: K): number;
  parse(text: string): K;
  format(key: K): string;
}

/** `String`, `Number`, `Boolean`, `BigInt`, `Date`, or a type of one's own. */
export type KeyType<K> =
  | StringConstructor
  | NumberConstructor
  | BooleanConstructor
  | BigIntConstructor
  | DateConstructor
  | OwnKeyType<K>;

/** What the function of an index with this key type returns; a `Date` also as RFC 3339 text. */
export type KeyOf<T> = T extends StringConstructor
  ? string
  : T extends NumberConstructor
    ? number
    : T extends BooleanConstructor
      ? boolean
      : T extends BigIntConstructor
        ? bigint
        : T extends DateConstructor
          ? Date | string
          : T extends { parse(text: string): infer K }
            ? K
            : never;

/** What a filter on such an index is given: a whole number does for `BigInt`, and a key type of one's own takes its text. */
export type FilterValue<T> = T extends BigIntConstructor
  ? bigint | number
  : T extends StringConstructor | NumberConstructor | BooleanConstructor | DateConstructor
    ? KeyOf<T>
    : string;

/** By name of an index, its values; without anything known of the model every kind. */
export type ValuesOf<I extends string> = { readonly [Name in I]?: Key };

/** What an index knows of its keys. `key`, `parse` throw a `TypeError` that says what was expected. */
export interface KeyCodec {
  readonly type: 'string' | 'number' | 'boolean' | 'bigint' | 'date' | 'own';
  /** The key of a value that an index function or a query gave. */
  key(value: unknown): unknown;
  /** The key of a text in a selector. */
  parse(text: string): unknown;
  /** Negative, zero or positive; total. */
  compare(a: unknown, b: unknown): number;
  /** Canonical text: equal for keys that compare as equal, and different for all others. */
  format(key: unknown): string;
  /** Of a key type of its own: the texts of its functions. */
  readonly source?: readonly string[];
}

/** By Unicode code point, which is the order of the UTF-8 bytes; UTF-16 code units differ above U+D7FF. */
export function compareText(a: string, b: string): number {
  return compareUnits(a, b, Math.min(a.length, b.length, fewUnits)) || (a === b ? 0 : compareLong(a, b));
}

/** Most texts differ within so many units. */
const fewUnits = 16;
const surrogateOrAbove = /[\ud800-\uffff]/;

/** The engine's own order is that of the units, and several times as fast. */
function compareLong(a: string, b: string): number {
  if (!surrogateOrAbove.test(a)) return a < b ? -1 : 1;
  return compareUnits(a, b, Math.min(a.length, b.length)) || a.length - b.length;
}

function compareUnits(a: string, b: string, length: number): number {
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return 0;
}

function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

const compareNumbers = (a: unknown, b: unknown): number => (a as number) - (b as number) || 0;

function expected(what: string, value: unknown): never {
  const shown = typeof value === 'string' ? JSON.stringify(value) : String(value);
  throw new TypeError(`expected ${what}, got ${shown}`);
}

const stringCodec: KeyCodec = {
  type: 'string',
  key: (value) => (typeof value === 'string' ? value : expected('a string', value)),
  parse: (text) => text,
  compare: (a, b) => compareText(a as string, b as string),
  format: (key) => key as string,
};

/** JSON's number syntax, so that `0x10` and `1e` are refused. */
const numberSyntax = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const numberCodec: KeyCodec = {
  type: 'number',
  key: (value) => (typeof value === 'number' && !Number.isNaN(value) ? value + 0 : expected('a number', value)),
  parse: (text) => {
    if (!numberSyntax.test(text)) return expected('a number', text);
    const value = Number(text) + 0;
    const isExact = Number.isFinite(value) && (!/^-?\d+$/.test(text) || BigInt(value) === BigInt(text));
    return isExact ? value : expected('a number that a double holds exactly', text);
  },
  compare: (a, b) => (a === b ? 0 : (a as number) < (b as number) ? -1 : 1),
  format: (key) => String(key),
};

const booleanCodec: KeyCodec = {
  type: 'boolean',
  key: (value) => (typeof value === 'boolean' ? value : expected('true or false', value)),
  parse: (text) => (text === 'true' ? true : text === 'false' ? false : expected('true or false', text)),
  compare: (a, b) => Number(a) - Number(b),
  format: (key) => String(key),
};

const bigintCodec: KeyCodec = {
  type: 'bigint',
  key: (value) => (typeof value === 'bigint' ? value : expected('a bigint', value)),
  parse: (text) => (/^-?\d+$/.test(text) ? BigInt(text) : expected('a whole number', text)),
  compare: (a, b) => (a === b ? 0 : (a as bigint) < (b as bigint) ? -1 : 1),
  format: (key) => String(key),
};

const dateCodec: KeyCodec = {
  type: 'date',
  key: (value) => {
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? expected('a valid date', value) : value.getTime();
    return typeof value === 'string' ? parseInstant(value) : expected('a Date or an RFC 3339 date-time', value);
  },
  parse: parseInstant,
  compare: compareNumbers,
  format: (key) => String(key),
};

const instantSyntax = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)$/;

/** An RFC 3339 date-time as milliseconds since the epoch, digits below the millisecond as a fraction. */
export function parseInstant(text: string): number {
  const time = plainInstant(text);
  return Number.isNaN(time) ? parseAnyInstant(text) : time;
}

/**
 * What programs write (`2024-01-31T12:00:00.000Z`, or without the milliseconds), in half the time of `Date.parse`; not a number
 * for any other form, for the 31st of a month, and for the 29th of February.
 */
function plainInstant(text: string): number {
  const { length } = text;
  const isPlain =
    (length === 24 ? text[19] === '.' : length === 20) &&
    text[length - 1] === 'Z' &&
    text[4] === '-' &&
    text[7] === '-' &&
    text[10] === 'T' &&
    text[13] === ':' &&
    text[16] === ':';
  if (!isPlain) return Number.NaN;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 2);
  const day = digits(text, 8, 2);
  const hour = digits(text, 11, 2);
  const minute = digits(text, 14, 2);
  const second = digits(text, 17, 2);
  const lastDay = month === 2 ? 28 : 30;
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= lastDay && hour <= 23 && minute <= 59 && second <= 59)) {
    return Number.NaN;
  }
  const days = daysBefore(year, month) + day;
  return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + (length === 24 ? digits(text, 20, 3) : 0);
}

function digits(text: string, at: number, count: number): number {
  let number = 0;
  for (let i = at; i < at + count; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) return Number.NaN;
    number = number * 10 + digit;
  }
  return number;
}

/** Days from the epoch to the one before the first of a month, of the Gregorian calendar. Counted in years that begin in March. */
function daysBefore(year: number, month: number): number {
  const isEarly = month <= 2;
  const years = isEarly ? year - 1 : year;
  const leapDays = Math.floor(years / 4) - Math.floor(years / 100) + Math.floor(years / 400);
  return 365 * years + leapDays + Math.floor((153 * (isEarly ? month + 9 : month - 3) + 2) / 5) - 719_469;
}

function parseAnyInstant(text: string): number {
  const parts = instantSyntax.exec(text);
  if (!parts) return expected('an RFC 3339 date-time', text);
  const [, year, month, day, hour, minute, second, fraction, zone] = parts as unknown as string[];
  const leap = second === '60';
  const whole = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${leap ? '59' : second}${zone!.toUpperCase()}`);
  const monthLength = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  if (Number.isNaN(whole) || Number(day) > (Number(year) < 100 ? 31 : monthLength) || Number(hour) > 23) {
    return expected('an RFC 3339 date-time', text);
  }
  return whole + (leap ? 1000 : 0) + (fraction ? Number(`0.${fraction}`) * 1000 : 0);
}

export function codecOf(type: KeyType<any>): KeyCodec {
  switch (type) {
    case String:
      return stringCodec;
    case Number:
      return numberCodec;
    case Boolean:
      return booleanCodec;
    case BigInt:
      return bigintCodec;
    case Date:
      return dateCodec;
  }
  const own = type as OwnKeyType<unknown>;
  return {
    type: 'own',
    key: (value) => value,
    parse: (text) => own.parse(text),
    compare: (a, b) => own.compare(a, b),
    format: (key) => own.format(key),
    source: [own.compare, own.parse, own.format].map(String),
  };
}
