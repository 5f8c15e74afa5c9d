/**
 * Strict JSON (RFC 8259) from the bytes of a request body, contract section 2: well-formed UTF-8 without a byte order
 * mark, every member name once, bounded depth and size, no number that JavaScript would change.
 *
 * A body that is in order costs `JSON.parse` and one pass over its text; only a suspicion starts `diagnose`, which reads
 * the text again token by token to say what is wrong and where.
 */
import { isUtf8 } from 'node:buffer';
import type { Text, Violation } from '../errors.ts';
import { escapeToken, invalid, KindredError, violation } from '../errors.ts';

export interface JsonLimits {
  /** Deepest nesting; an empty object has depth 1. Default 64. */
  readonly maxDepth?: number;
  /** Members of all objects together. Default 10,000. */
  readonly maxMembers?: number;
}

const texts = {
  empty: {
    en: 'The request body is empty; a JSON text was expected',
    zh: '请求体为空；应为 JSON 文本',
  },
  utf8: {
    en: 'The request body is not UTF-8: invalid byte at position {position}',
    zh: '请求体不是有效的 UTF-8：位置 {position} 处的字节无效',
  },
  mark: {
    en: 'The request body starts with a byte order mark; JSON is sent without one',
    zh: '请求体以字节顺序标记开头；JSON 不应包含它',
  },
  syntax: {
    en: 'Malformed JSON at line {line}, column {column}: {expected} expected, {found} found',
    zh: 'JSON 格式有误，第 {line} 行第 {column} 列：应为{expected}，实际为{found}',
  },
  duplicate: {
    en: 'The member name {name} is there twice in one object, the second time at line {line}, column {column}; every name is allowed once',
    zh: '同一对象中成员名 {name} 出现了两次，第二次位于第 {line} 行第 {column} 列；每个名称只能出现一次',
  },
  deep: {
    en: 'JSON nested too deeply at line {line}, column {column}: at most {limit} levels are allowed',
    zh: 'JSON 嵌套过深，位于第 {line} 行第 {column} 列：最多允许 {limit} 层',
  },
  members: {
    en: 'Too many members in the JSON text: at most {limit} are allowed, exceeded at line {line}, column {column}',
    zh: 'JSON 成员过多：最多允许 {limit} 个，在第 {line} 行第 {column} 列超出',
  },
  number: {
    en: 'The number {token} cannot be kept exactly; the nearest one that can is {nearest}',
    zh: '数字 {token} 无法精确保存；最接近的可保存值为 {nearest}',
  },
} satisfies Record<string, Text>;

/**
 * The value of a JSON text. Members named `__proto__` or `constructor` are own, plain members.
 * @throws KindredError BadRequest with `position` (byte offset from 0), `line` and `column` (from 1, in characters) for
 *   an empty or malformed text, bad UTF-8, a byte order mark, a member name given twice, a text over a limit;
 *   Invalid with a violation (keyword `precision`) for each number whose decimal value JavaScript cannot give back.
 */
export function parseJson(bytes: Buffer, limits: JsonLimits = {}): unknown {
  const maxDepth = limits.maxDepth ?? 64;
  const maxMembers = limits.maxMembers ?? 10_000;
  if (bytes.length === 0) throw refused(texts.empty, '', 0);
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) throw refused(texts.mark, '', 0);
  if (!isUtf8(bytes)) {
    const position = firstBadByte(bytes);
    throw refused(texts.utf8, bytes.toString('utf8', 0, position), undefined, { position });
  }
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    diagnose(text, maxDepth, maxMembers);
    throw new KindredError('BadRequest', { en: 'Malformed JSON', zh: 'JSON 格式有误' }, {}, {}, { cause });
  }
  const members = membersOf(text, maxDepth, maxMembers);
  if (members === suspicious || (members > 1 && members !== countMembers(value))) diagnose(text, maxDepth, maxMembers);
  return text.includes('-0') && negativeZero.test(text) ? JSON.parse(JSON.stringify(value)) : value;
}

/** `-0` is stored as `0`: read as it too, so that it equals what is stored. A text that only looks like it does no harm. */
const negativeZero = /(?:^|[[:,\s])-0(?:\.0+)?(?:[eE][+-]?\d+)?(?:$|[\],}\s])/;

const suspicious = -1;

/** Number of members in a well-formed text, or `suspicious` when it is over a limit or holds a number that may be inexact. */
function membersOf(text: string, maxDepth: number, maxMembers: number): number {
  let depth = 0;
  let members = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) {
      i = endOfString(text, i);
    } else if (code === 0x3a) {
      if (++members > maxMembers) return suspicious;
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxDepth) return suspicious;
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
      if ((exponent || i - start > 15) && !isExact(text.slice(start, i))) return suspicious;
      i--;
    }
  }
  return members;
}

/** Index of the quotation mark that closes the string opened at `start`, in a well-formed text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let slash = end - 1;
    while (text.charCodeAt(slash) === 0x5c) slash--;
    if ((end - slash) % 2 === 1) return end;
  }
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
  return Number.isFinite(number) && decimalOf(token) === decimalOf(String(number));
}

/** Sign, significant digits and exponent of a decimal, the same for every spelling of one value. */
function decimalOf(token: string): string {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(token)!;
  const all = whole! + fraction;
  let first = 0;
  while (first < all.length && all.charCodeAt(first) === 0x30) first++;
  if (first === all.length) return '0';
  let end = all.length;
  while (all.charCodeAt(end - 1) === 0x30) end--;
  return `${sign}${all.slice(first, end)}e${Number(exponent) - fraction.length + (all.length - end)}`;
}

/** Throws what is wrong with the text; returns when nothing is. */
function diagnose(text: string, maxDepth: number, maxMembers: number): void {
  const inexact: Violation[] = [];
  const space = /[ \t\n\r]*/y;
  const escapeSequence = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
  const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
  let at = 0;
  let members = 0;

  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  const fail = (en: string, zh: string): never => {
    const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
    const found = at < text.length ? JSON.stringify(character) : undefined;
    throw refused(
      {
        en: texts.syntax.en.replace('{expected}', en).replace('{found}', found ?? 'the end'),
        zh: texts.syntax.zh.replace('{expected}', zh).replace('{found}', found ?? '文本末尾'),
      },
      text,
      at,
      { expected: en },
    );
  };
  const accept = (character: string): boolean => {
    match(space);
    if (text[at] !== character) return false;
    at++;
    return true;
  };
  const value = (pointer: string, depth: number): void => {
    match(space);
    const open = text[at];
    if (open === '{' || open === '[') {
      if (depth >= maxDepth) throw refused(texts.deep, text, at, { limit: maxDepth });
      at++;
      if (open === '{') object(pointer, depth + 1);
      else array(pointer, depth + 1);
    } else if (open === '"') {
      string();
    } else {
      const token = match(scalar);
      if (token === undefined) fail('a JSON value', ' JSON 值');
      else if (/[\d]$/.test(token) && !isExact(token)) {
        const nearest = Number(token);
        inexact.push(
          violation(pointer, 'precision', texts.number, {
            token,
            nearest: Number.isFinite(nearest) ? nearest : 'none',
          }),
        );
      }
    }
  };
  /** Reads a string; its token with the quotation marks. */
  const string = (): string => {
    const start = at++;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code < 0x20) fail('an escaped control character', '转义后的控制字符');
      if (code === 0x22) return text.slice(start, ++at);
      if (code !== 0x5c) continue;
      escapeSequence.lastIndex = at;
      if (!escapeSequence.test(text)) fail('a valid escape sequence', '有效的转义序列');
      at = escapeSequence.lastIndex - 1;
    }
    return fail('a closing quotation mark', '结束引号');
  };
  const object = (pointer: string, depth: number): void => {
    if (accept('}')) return;
    const names = new Set<string>();
    do {
      match(space);
      const start = at;
      if (text[at] !== '"') fail('a member name in quotation marks', '带引号的成员名');
      const name = JSON.parse(string()) as string;
      if (names.has(name)) throw refused(texts.duplicate, text, start, { name: JSON.stringify(name) });
      names.add(name);
      if (++members > maxMembers) throw refused(texts.members, text, start, { limit: maxMembers });
      if (!accept(':')) fail('":"', '“:”');
      value(`${pointer}/${escapeToken(name)}`, depth);
    } while (accept(','));
    if (!accept('}')) fail('"," or "}"', '“,”或“}”');
  };
  const array = (pointer: string, depth: number): void => {
    if (accept(']')) return;
    let index = 0;
    do value(`${pointer}/${index++}`, depth);
    while (accept(','));
    if (!accept(']')) fail('"," or "]"', '“,”或“]”');
  };

  match(space);
  if (at === text.length) throw refused(texts.empty, text, 0);
  value('', 0);
  match(space);
  if (at < text.length) fail('the end of the text', '文本末尾');
  if (inexact.length > 0) throw invalid(inexact);
}

/** `at`: index into `text`; undefined for its end. */
function refused(
  text: Text,
  source: string,
  at: number | undefined,
  params: Readonly<Record<string, unknown>> = {},
): KindredError {
  const before = source.slice(0, at);
  const lastBreak = before.lastIndexOf('\n');
  const place = {
    position: Buffer.byteLength(before),
    line: before.split('\n').length,
    column: [...before.slice(lastBreak + 1)].length + 1,
  };
  const { expected } = params as { expected?: string };
  return new KindredError('BadRequest', text, { ...place, ...params }, { ...place, ...(expected && { expected }) });
}

/** The first byte at which the bytes differ from their repaired text: in the first invalid sequence. */
function firstBadByte(bytes: Buffer): number {
  const repaired = Buffer.from(bytes.toString('utf8'));
  let at = 0;
  while (bytes[at] === repaired[at]) at++;
  return at;
}
