/**
 * Sets of fields, in the form in which they are stored (FieldsV1): a tree whose edges are `f:<member>`, `k:<keys>` (an item
 * of a list of type `map`) and `v:<value>` (a member of a list of type `set`). A node without edges is a field of the set
 * itself; one with edges is so when it has the edge `.` too. No set is empty: that is `undefined`.
 */

import type { Parts } from '../runtime/parts.ts';
import { readJson } from '../runtime/read-json.ts';
import { isObject } from '../schema/keywords.ts';
import type { Pace } from './pace.ts';

export interface FieldSet {
  readonly [element: string]: FieldSet;
}

/** One field, with nothing below it. */
export const leaf: FieldSet = Object.freeze({});

/** In a node with edges: it is a field itself. */
export const itself = '.';

type Mutable = { [element: string]: FieldSet };

/** Whether the set has the field of this node, besides those below it. */
export function hasItself(node: FieldSet): boolean {
  if (Object.hasOwn(node, itself)) return true;
  for (const _element in node) return false;
  return true;
}

/** A node of these edges; undefined when it is no field, and there are none. */
export function nodeOf(edges: Mutable, isField: boolean): FieldSet | undefined {
  for (const element in edges) {
    if (element === itself) continue;
    if (isField) edges[itself] = leaf;
    return edges;
  }
  return isField ? leaf : undefined;
}

/** Whether a value that a client sent is a set. */
export function* isFieldSet(given: unknown, pace: Pace): Parts<boolean> {
  if (!isObject(given)) return false;
  for (const element of Object.keys(given)) {
    if (pace.isDue) yield;
    if (!isElement(element) || !(yield* isFieldSet(given[element], pace))) return false;
  }
  return true;
}

function isElement(element: string): boolean {
  if (element === itself || element.startsWith('f:')) return true;
  if (!/^[kv]:/.test(element)) return false;
  try {
    const value = readJson(element.slice(2));
    return element.startsWith('v:') || isObject(value);
  } catch {
    return false;
  }
}

/** Fields that are in either. */
export function* union(a: FieldSet | undefined, b: FieldSet | undefined, pace: Pace): Parts<FieldSet | undefined> {
  if (!a || !b || a === b) return a ?? b;
  const edges: Mutable = { ...a };
  for (const element in b) {
    if (pace.isDue) yield;
    const other = Object.hasOwn(a, element) ? a[element]! : undefined;
    if (element !== itself) edges[element] = other ? (yield* union(other, b[element]!, pace))! : b[element]!;
  }
  return nodeOf(edges, hasItself(a) || hasItself(b));
}

/** Fields of the first that are not in the second. */
export function* difference(a: FieldSet | undefined, b: FieldSet | undefined, pace: Pace): Parts<FieldSet | undefined> {
  if (!a || !b) return a;
  const edges: Mutable = {};
  for (const element in a) {
    if (pace.isDue) yield;
    if (element === itself) continue;
    const rest = Object.hasOwn(b, element) ? yield* difference(a[element]!, b[element]!, pace) : a[element]!;
    if (rest) edges[element] = rest;
  }
  return nodeOf(edges, hasItself(a) && !hasItself(b));
}

/** Fields that are in both. */
export function* intersection(
  a: FieldSet | undefined,
  b: FieldSet | undefined,
  pace: Pace,
): Parts<FieldSet | undefined> {
  if (!a || !b) return undefined;
  const edges: Mutable = {};
  for (const element in a) {
    if (pace.isDue) yield;
    if (element === itself || !Object.hasOwn(b, element)) continue;
    const both = yield* intersection(a[element]!, b[element]!, pace);
    if (both) edges[element] = both;
  }
  return nodeOf(edges, hasItself(a) && hasItself(b));
}

/** The fields of a set as people read them: `.spec.ports[name="http"].port`. */
export function* pathsOf(set: FieldSet, path = ''): Generator<string, void, void> {
  for (const element in set) {
    if (element === itself) continue;
    const below = set[element]!;
    const at = path + textOf(element);
    if (hasItself(below)) yield at;
    yield* pathsOf(below, at);
  }
}

function textOf(element: string): string {
  const rest = element.slice(2);
  if (element.startsWith('f:')) return `.${rest}`;
  if (element.startsWith('v:')) return `[=${rest}]`;
  const keys = Object.entries(readJson(rest) as Record<string, unknown>);
  return `[${keys.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(',')}]`;
}
