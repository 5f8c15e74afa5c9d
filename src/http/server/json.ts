/**
 * Strict JSON (RFC 8259) from the bytes of a request body, docs/reference/objects.md: well-formed UTF-8 without a byte order
 * mark, every member name once, bounded depth and size, no number that JavaScript would change.
 *
 * A body that is in order costs one pass over its text and `JSON.parse`; only a suspicion starts a `Diagnosis`, which
 * reads the text again token by token to say what is wrong and where.
 */

import { isUtf8 } from 'node:buffer';
import type { Text } from '../../errors.ts';
import { escapeToken, KindredError, Violations } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import { readJson } from '../../runtime/read-json.ts';

export interface JsonLimits {
  /** Deepest nesting; an empty object has depth 1. Default 64. */
  readonly maxDepth?: number;
  /** Members of all objects together. Default 10,000. */
  readonly maxMembers?: number;
  /** Objects and lists together. Default 100,000. */
  readonly maxContainers?: number;
  /** Told the pointer of a member that is given again; the last one counts. Default: such a text is refused. */
  readonly onDuplicate?: (pointer: string) => void;
}

type Limits = Required<Omit<JsonLimits, 'onDuplicate'>> & Pick<JsonLimits, 'onDuplicate'>;

const texts = {
  empty: localized('The request body is empty; expected JSON'),
  utf8: localized('The request body is not UTF-8: invalid byte at position {position}'),
  mark: localized('The request body starts with a byte order mark; JSON is sent without one'),
  syntax: localized('Malformed JSON at line {line}, column {column}: {expected} expected, {found} found'),
  duplicate: localized(
    'Duplicate member {name} at line {line}, column {column}; each name is allowed once in an object',
  ),
  deep: localized('JSON nested too deeply at line {line}, column {column}: at most {limit} levels are allowed'),
  members: localized(
    'Too many members in the JSON text: at most {limit} are allowed, exceeded at line {line}, column {column}',
  ),
  containers: localized(
    'Too many objects and lists in the JSON text: at most {limit} are allowed, exceeded at line {line}, column {column}',
  ),
  number: localized('The number {token} cannot be kept exactly; the nearest one that can is {nearest}'),
} satisfies Record<string, Text>;

/**
 * The value of a JSON text. Members named `__proto__` or `constructor` are own, plain members.
 * @throws KindredError BadRequest with `position` (byte offset from 0), `line` and `column` (from 1, in characters) for
 *   an empty or malformed text, bad UTF-8, a byte order mark, a member name given twice, a text over a limit;
 *   Invalid with a violation (keyword `precision`) for each number whose decimal value JavaScript cannot give back.
 */
export function parseJson(bytes: Buffer, limits?: JsonLimits): unknown {
  const steps = reading(bytes, limits);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** The same in several turns of the event loop, for a large text. */
export async function parseLargeJson(
  bytes: Buffer,
  limits: JsonLimits,
  nextTurn: () => Promise<void>,
): Promise<unknown> {
  const steps = reading(bytes, limits);
  for (;;) {
    await nextTurn();
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Yields where the rest may as well be done in another turn of the event loop. */
function* reading(bytes: Buffer, limits: JsonLimits = {}): Generator<undefined, unknown> {
  const within = { maxDepth: 64, maxMembers: 10_000, maxContainers: 100_000, ...limits };
  if (bytes.length === 0) throw refused(texts.empty, '', 0);
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) throw refused(texts.mark, '', 0);
  if (!isUtf8(bytes)) {
    const position = firstBadByte(bytes);
    throw refused(texts.utf8, bytes.toString('utf8', 0, position), undefined, { position });
  }
  const text = bytes.toString('utf8');
  const scan = scanned(text, within);
  let value: unknown;
  let cause: unknown;
  try {
    if (scan) value = readJson(text);
  } catch (error) {
    cause = error;
  }
  yield;
  if (!scan || cause || (scan.members > 1 && scan.members !== countMembers(value))) {
    new Diagnosis(text, within).run();
    if (cause) throw new KindredError('BadRequest', localized('Malformed JSON'), { cause });
    yield;
    value = readJson(text);
  }
  yield;
  const hasNegativeZero = scan ? scan.hasNegativeZero : negativeZero.test(text);
  return hasNegativeZero ? readJson(JSON.stringify(value)) : value;
}

/** `-0` is stored as `0`: read as it too, so that it equals what is stored. A text that only looks like it does no harm. */
const negativeZero = /(?:^|[[:,\s])-0(?:\.0+)?(?:[eE][+-]?\d+)?(?:$|[\],}\s])/;

interface Scan {
  readonly members: number;
  readonly hasNegativeZero: boolean;
}

/** Undefined for a text that is over a limit, ends in a string, or has a number that may be inexact. */
function scanned(text: string, { maxDepth, maxMembers, maxContainers }: Limits): Scan | undefined {
  let depth = 0;
  let members = 0;
  let containers = 0;
  let hasNegativeZero = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) {
      i = endOfString(text, i);
      if (i < 0) return undefined;
    } else if (code === 0x3a) {
      if (++members > maxMembers) return undefined;
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxDepth || ++containers > maxContainers) return undefined;
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      const start = i;
      let exponent = false;
      for (i++; i < text.length; i++) {
        const next = text.charCodeAt(i);
        if (next === 0x65 || next === 0x45) exponent = true;
        else if (!((next >= 0x30 && next <= 0x39) || next === 0x2e || next === 0x2d || next === 0x2b)) break;
      }
      // Decimals of up to 15 significant digits survive the way through a double (DBL_DIG).
      if ((exponent || i - start > 15) && !isExact(text.slice(start, i))) return undefined;
      if (code === 0x2d && text.charCodeAt(start + 1) === 0x30) hasNegativeZero ||= Number(text.slice(start, i)) === 0;
      i--;
    }
  }
  return { members, hasNegativeZero };
}

/** Index of the quotation mark that closes the string opened at `start`; -1 when there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slash = end - 1;
    while (text.charCodeAt(slash) === 0x5c) slash--;
    if ((end - slash) % 2 === 1) return end;
  }
  return -1;
}

/** Own members at every depth; the depth is known to be bounded. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const item = value[i];
      if (typeof item === 'object' && item !== null) count += countMembers(item);
    }
    return count;
  }
  const names = Object.keys(value);
  count = names.length;
  for (let i = 0; i < names.length; i++) {
    const member = (value as Record<string, unknown>)[names[i]!];
    if (typeof member === 'object' && member !== null) count += countMembers(member);
  }
  return count;
}

/** Whether the shortest text of the double nearest to this decimal has the same decimal value. */
function isExact(token: string): boolean {
  const number = Number(token);
  if (withoutLastZeros(token) === String(number)) return true;
  const decimal = decimalOf(token);
  return decimal !== undefined && Number.isFinite(number) && decimal === decimalOf(String(number));
}

/** A fraction without the zeros at its end. */
function withoutLastZeros(token: string): string {
  let end = token.length;
  if (token.charCodeAt(end - 1) !== 0x30 || !token.includes('.') || /[eE]/.test(token)) return token;
  while (token.charCodeAt(end - 1) === 0x30) end--;
  return token.slice(0, token.charCodeAt(end - 1) === 0x2e ? end - 1 : end);
}

/** Sign, significant digits and exponent of a decimal, the same for every spelling of one value; undefined for what is no number. */
function decimalOf(token: string): string | undefined {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(token);
  if (!parts) return undefined;
  const [, sign, whole, fraction = '', exponent = '0'] = parts;
  const all = whole! + fraction;
  let first = 0;
  while (first < all.length && all.charCodeAt(first) === 0x30) first++;
  if (first === all.length) return '0';
  let end = all.length;
  while (all.charCodeAt(end - 1) === 0x30) end--;
  return `${sign}${all.slice(first, end)}e${Number(exponent) - fraction.length + (all.length - end)}`;
}

const escapeSequence = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Reads a text token by token to say what is wrong with it, and where. */
class Diagnosis {
  readonly #text: string;
  readonly #limits: Limits;
  readonly #inexact = new Violations();
  /** Member names and indexes on the way to the value that is being read. */
  readonly #path: (string | number)[] = [];
  #at = 0;
  #members = 0;
  #containers = 0;

  constructor(text: string, limits: Limits) {
    this.#text = text;
    this.#limits = limits;
  }

  /** Throws what is wrong; returns when nothing is. */
  run(): void {
    this.#skipSpace();
    if (this.#at === this.#text.length) throw refused(texts.empty, this.#text, 0);
    this.#value();
    this.#skipSpace();
    if (this.#at < this.#text.length) this.#fail('the end of the text', '文本末尾');
    this.#inexact.refuse();
  }

  #value(): void {
    this.#skipSpace();
    switch (this.#text.charCodeAt(this.#at)) {
      case 0x7b:
        return this.#object();
      case 0x5b:
        return this.#array();
      case 0x22:
        this.#string();
        return;
      default:
        if (!this.#number() && !this.#word()) this.#fail('a JSON value', ' JSON 值');
    }
  }

  #enter(): void {
    const { maxDepth, maxContainers } = this.#limits;
    if (this.#path.length >= maxDepth) throw refused(texts.deep, this.#text, this.#at, { limit: maxDepth });
    if (++this.#containers > maxContainers) {
      throw refused(texts.containers, this.#text, this.#at, { limit: maxContainers });
    }
    this.#at++;
    this.#path.push('');
  }

  #object(): void {
    this.#enter();
    if (!this.#take(0x7d)) {
      const names = new Set<string>();
      do this.#member(names);
      while (this.#take(0x2c));
      if (!this.#take(0x7d)) this.#fail('"," or "}"', '“,”或“}”');
    }
    this.#path.pop();
  }

  #member(names: Set<string>): void {
    this.#skipSpace();
    const start = this.#at;
    if (this.#text[start] !== '"') this.#fail('a member name in quotation marks', '带引号的成员名');
    this.#string();
    const name = JSON.parse(this.#text.slice(start, this.#at)) as string;
    const { maxMembers, onDuplicate } = this.#limits;
    const isDuplicate = names.has(name);
    if (isDuplicate && !onDuplicate) throw refused(texts.duplicate, this.#text, start, { name: JSON.stringify(name) });
    names.add(name);
    if (++this.#members > maxMembers) throw refused(texts.members, this.#text, start, { limit: maxMembers });
    if (!this.#take(0x3a)) this.#fail('":"', '“:”');
    this.#path[this.#path.length - 1] = name;
    if (isDuplicate) onDuplicate!(this.#pointer);
    this.#value();
  }

  get #pointer(): string {
    return this.#path.map((one) => `/${escapeToken(String(one))}`).join('');
  }

  #array(): void {
    this.#enter();
    if (!this.#take(0x5d)) {
      let index = 0;
      do {
        this.#path[this.#path.length - 1] = index++;
        this.#value();
      } while (this.#take(0x2c));
      if (!this.#take(0x5d)) this.#fail('"," or "]"', '“,”或“]”');
    }
    this.#path.pop();
  }

  #string(): void {
    const text = this.#text;
    for (this.#at++; this.#at < text.length; this.#at++) {
      const code = text.charCodeAt(this.#at);
      if (code < 0x20) this.#fail('an escaped control character', '转义后的控制字符');
      if (code === 0x22) {
        this.#at++;
        return;
      }
      if (code !== 0x5c) continue;
      escapeSequence.lastIndex = this.#at;
      if (!escapeSequence.test(text)) this.#fail('a valid escape sequence', '有效的转义序列');
      this.#at = escapeSequence.lastIndex - 1;
    }
    this.#fail('a closing quotation mark', '结束引号');
  }

  /** The longest number at this place, what follows is left to whoever reads on; false when there is none. */
  #number(): boolean {
    const text = this.#text;
    const start = this.#at;
    const first = text.charCodeAt(start) === 0x2d ? start + 1 : start;
    let at = endOfDigits(text, first);
    if (at === first) return false;
    if (text.charCodeAt(first) === 0x30) at = first + 1;
    if (text.charCodeAt(at) === 0x2e) {
      const end = endOfDigits(text, at + 1);
      if (end > at + 1) at = end;
    }
    const mark = text.charCodeAt(at);
    const hasMark = mark === 0x65 || mark === 0x45;
    if (hasMark) {
      const sign = text.charCodeAt(at + 1);
      const digits = sign === 0x2b || sign === 0x2d ? at + 2 : at + 1;
      const end = endOfDigits(text, digits);
      if (end > digits) at = end;
    }
    this.#at = at;
    if (hasMark || at - start > 15) this.#checkExact(start);
    return true;
  }

  #checkExact(start: number): void {
    const token = this.#text.slice(start, this.#at);
    if (isExact(token)) return;
    const nearest = Number(token);
    const pointer = this.#pointer;
    const params = { token, nearest: Number.isFinite(nearest) ? nearest : 'none' };
    this.#inexact.add(pointer, 'precision', texts.number, params);
    if (this.#inexact.isFull) this.#inexact.refuse();
  }

  #word(): boolean {
    const word = ['true', 'false', 'null'].find((one) => this.#text.startsWith(one, this.#at));
    if (word !== undefined) this.#at += word.length;
    return word !== undefined;
  }

  #skipSpace(): void {
    const text = this.#text;
    let at = this.#at;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) break;
    }
    this.#at = at;
  }

  /** Takes a character, behind white space. */
  #take(code: number): boolean {
    this.#skipSpace();
    if (this.#text.charCodeAt(this.#at) !== code) return false;
    this.#at++;
    return true;
  }

  #fail(en: string, zh: string): never {
    const character = String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0);
    const found = this.#at < this.#text.length ? JSON.stringify(character) : undefined;
    throw refused(
      {
        en: texts.syntax.en.replace('{expected}', en).replace('{found}', found ?? 'the end'),
        zh: texts.syntax.zh.replace('{expected}', zh).replace('{found}', found ?? '文本末尾'),
      },
      this.#text,
      this.#at,
      { expected: en },
    );
  }
}

function endOfDigits(text: string, start: number): number {
  let at = start;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x30 || code > 0x39) break;
  }
  return at;
}

/** `at`: index into `text`; undefined for its end. */
function refused(
  text: Text,
  source: string,
  at: number | undefined,
  params: Readonly<Record<string, unknown>> = {},
): KindredError {
  const before = source.slice(0, at);
  let line = 1;
  let column = 1;
  for (let i = 0; i < before.length; i++) {
    const code = before.charCodeAt(i);
    const isLowHalf = code >= 0xdc00 && code < 0xe000;
    if (code === 0x0a) {
      line++;
      column = 1;
    } else if (!isLowHalf) column++;
  }
  const place = { position: Buffer.byteLength(before), line, column };
  const { expected } = params as { expected?: string };
  return new KindredError('BadRequest', text, {
    params: { ...place, ...params },
    ...place,
    ...(expected && { expected }),
  });
}

/** The first byte at which the bytes differ from their repaired text: in the first invalid sequence. */
function firstBadByte(bytes: Buffer): number {
  const repaired = Buffer.from(bytes.toString('utf8'));
  let at = 0;
  while (bytes[at] === repaired[at]) at++;
  return at;
}
