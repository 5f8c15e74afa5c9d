/**
 * `JSON.parse`, and a way around a fault of V8 in Node.js 24 and 26 (nodejs/node#63785): it compares a name that has an
 * escape as it is written, cut to the length that it has without escapes, with the names of objects that it knows. So it
 * can take `"\n"` for a name that is one backslash. What it reads instead always has a backslash.
 */
import type { Parts } from './parts.ts';
import { atOnce } from './parts.ts';

/** What a number becomes, from its text. */
type NumberOf = (source: string) => unknown;

/**
 * The value of a JSON text, with the names that are written there.
 * @throws SyntaxError as `JSON.parse`
 */
export function readJson(text: string, numberOf: NumberOf = Number): unknown {
  const value: unknown = numberOf === Number ? JSON.parse(text) : JSON.parse(text, reviver(numberOf));
  return hasEscapedName(text) && hasBackslashInName(value) ? atOnce(reading(text, numberOf)) : value;
}

/** As `readJson`, in several turns. */
export function readLargeJson(text: string): Parts<unknown> {
  return reading(text, Number);
}

/** TypeScript knows revivers without their third argument only. */
function reviver(numberOf: NumberOf): (name: string, value: unknown) => unknown {
  const revive = (_name: string, value: unknown, { source }: { source: string }) =>
    typeof value === 'number' ? numberOf(source) : value;
  return revive as (name: string, value: unknown) => unknown;
}

function hasEscapedName(text: string): boolean {
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', at)) {
    at = endOfString(text, at);
    while (isSpace(text.charCodeAt(at))) at++;
    if (text.charCodeAt(at) === 0x3a) return true;
  }
  return false;
}

function hasBackslashInName(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(hasBackslashInName);
  const members = value as Record<string, unknown>;
  return Object.keys(members).some((name) => name.includes('\\') || hasBackslashInName(members[name]));
}

/** The index behind the string that `at` is in. @throws SyntaxError when it has no end */
function endOfString(text: string, at: number): number {
  let end = at;
  for (let code = text.charCodeAt(end); code !== 0x22; code = text.charCodeAt(end)) {
    if (Number.isNaN(code)) throw new SyntaxError('Unterminated string in JSON');
    end += code === 0x5c ? 2 : 1;
  }
  return end + 1;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** Tokens between two places where others may have a turn. */
const portion = 500;

/** Reads a JSON text token by token. @throws SyntaxError */
function* reading(text: string, numberOf: NumberOf): Parts<unknown> {
  /** The objects and lists that are read, from the outermost, and the names of their members that are. */
  const open: object[] = [];
  const names: string[] = [];
  let last: 'start' | 'comma' | 'name' | 'value' = 'start';
  let at = 0;
  for (let count = 1; ; count++) {
    if (count % portion === 0) yield;
    const start = at;
    const into = open.at(-1);
    const isValueDue = into && !Array.isArray(into) ? last === 'name' : last !== 'value';
    let value: unknown;
    switch (text[at]) {
      case ' ':
      case '\n':
      case '\r':
      case '\t':
        at++;
        continue;
      case ',':
        if (!into || last !== 'value') throw unexpected(text, at);
        last = 'comma';
        at++;
        continue;
      case '{':
      case '[':
        if (!isValueDue) throw unexpected(text, at);
        open.push(text[at++] === '{' ? {} : []);
        names.push('');
        last = 'start';
        continue;
      case '}':
      case ']':
        if (last === 'comma' || last === 'name' || Array.isArray(into) !== (text[at] === ']'))
          throw unexpected(text, at);
        value = open.pop();
        if (!value) throw unexpected(text, at);
        names.pop();
        at++;
        break;
      case '"':
        at = endOfString(text, at + 1);
        value = JSON.parse(text.slice(start, at));
        if (isValueDue) break;
        while (isSpace(text.charCodeAt(at))) at++;
        if (!into || last === 'value' || text[at] !== ':') throw unexpected(text, at);
        at++;
        names[names.length - 1] = value as string;
        last = 'name';
        continue;
      default:
        if (!isValueDue) throw unexpected(text, at);
        at = endOfWord(text, at);
        value = wordOf(text.slice(start, at), numberOf);
    }
    last = 'value';
    const outer = open.at(-1);
    if (!outer) {
      while (isSpace(text.charCodeAt(at))) at++;
      if (at < text.length) throw unexpected(text, at);
      return value;
    }
    if (Array.isArray(outer)) outer.push(value);
    else setMember(outer, names.at(-1)!, value);
  }
}

function unexpected(text: string, at: number): SyntaxError {
  const found = at < text.length ? `token ${JSON.stringify(text[at])}` : 'end of input';
  return new SyntaxError(`Unexpected ${found} in JSON at position ${at}`);
}

function endOfWord(text: string, at: number): number {
  let end = at;
  while (/[\w.+-]/.test(text.charAt(end))) end++;
  return end;
}

/** A number, `true`, `false` or `null`. @throws SyntaxError */
function wordOf(word: string, numberOf: NumberOf): unknown {
  const value = JSON.parse(word) as unknown;
  return typeof value === 'number' && numberOf !== Number ? numberOf(word) : value;
}

/** Sets a member of a JSON object. An assignment to `__proto__` would set the prototype. */
export function setMember(object: object, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  else (object as Record<string, unknown>)[name] = value;
}
