/** Values of JSON by RFC 6901 pointer. What is absent is `undefined`; a change copies what it goes through and shares the rest. */

import { escapeToken, unescapeToken } from '../../../src/errors.ts';

export type JsonObject = { readonly [name: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

/** A number as it was typed, where JavaScript has no number that prints the same. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  valueOf(): number {
    return Number(this.text);
  }

  toString(): string {
    return this.text;
  }

  /** The text itself in what `JSON.stringify` writes, where the engine can; else the nearest number. */
  toJSON(): unknown {
    const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
    return rawJSON ? rawJSON(this.text) : Number(this.text);
  }
}

/** A copy whose numbers are those that a validator knows. */
export function plain(value: unknown): unknown {
  if (value instanceof ExactNumber) return Number(value.text);
  if (Array.isArray(value)) return sharedMap(value, plain);
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  const members = sharedMap(entries, (entry) => {
    const member = plain(entry[1]);
    return member === entry[1] ? entry : ([entry[0], member] as [string, unknown]);
  });
  return members === entries ? value : Object.fromEntries(members);
}

/** The list itself when no item becomes another. */
function sharedMap<T>(list: readonly T[], change: (item: T) => T): readonly T[] {
  const next = list.map(change);
  return next.every((item, i) => item === list[i]) ? list : next;
}

export function tokensOf(pointer: string): string[] {
  return pointer === '' ? [] : pointer.slice(1).split('/').map(unescapeToken);
}

export function below(pointer: string, token: string | number): string {
  return `${pointer}/${escapeToken(String(token))}`;
}

/** True for the value itself and for what is in it. */
export function isWithin(pointer: string, container: string): boolean {
  return pointer === container || pointer.startsWith(`${container}/`);
}

export function memberOf(value: unknown, token: string): unknown {
  if (Array.isArray(value)) return /^(?:0|[1-9]\d*)$/.test(token) ? value[Number(token)] : undefined;
  return isObject(value) && Object.hasOwn(value, token) ? value[token] : undefined;
}

export function valueAt(root: unknown, pointer: string): unknown {
  return tokensOf(pointer).reduce(memberOf, root);
}

/** The root with another value at a pointer; `undefined` takes the member or item away. Objects on the way are made where they are absent. */
export function withValue(root: unknown, pointer: string, value: unknown): unknown {
  return changed(root, tokensOf(pointer), 0, value);
}

function changed(current: unknown, tokens: readonly string[], depth: number, value: unknown): unknown {
  if (depth === tokens.length) return value;
  const token = tokens[depth]!;
  const before = memberOf(current, token);
  if (before === undefined && value === undefined) return current;
  const next = changed(before, tokens, depth + 1, value);
  if (Array.isArray(current)) {
    const copy = [...current];
    if (next === undefined) copy.splice(Number(token), 1);
    else copy[Number(token)] = next;
    return copy;
  }
  const object = isObject(current) ? current : {};
  if (next !== undefined) return { ...object, [token]: next };
  const { [token]: _, ...others } = object;
  return others;
}

/** The same JSON; the order of members does not matter. */
export function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (one === 0 && other === 0) return true;
  if (one instanceof ExactNumber || other instanceof ExactNumber) {
    return one instanceof ExactNumber && other instanceof ExactNumber && one.text === other.text;
  }
  if (Array.isArray(one)) {
    return (
      Array.isArray(other) && one.length === other.length && one.every((item: unknown, i) => isEqual(item, other[i]))
    );
  }
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isEqual(one[name], other[name]))
  );
}
