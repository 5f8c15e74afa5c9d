/** Values as fields: what their fields are, what two of them make together, and what differs between them. */

import { escapeToken } from '../errors.ts';
import type { Parts } from '../runtime/parts.ts';
import { setMember } from '../runtime/read-json.ts';
import { canonicalText, isEqual } from '../schema/json-value.ts';
import { isObject } from '../schema/keywords.ts';
import type { FieldSet } from './field-set.ts';
import { difference, hasItself, itself, leaf, nodeOf, union } from './field-set.ts';
import type { FieldType } from './field-type.ts';
import type { Pace } from './pace.ts';

/** What is below a place that is more than one value, by the edges of field sets, in order. */
type Children = ReadonlyMap<string, unknown>;

type Mutable = { [element: string]: FieldSet };

/** Neither a list nor an object: quickly told, since most values are. */
function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

function typeBelow(type: FieldType, element: string): FieldType {
  return element.startsWith('f:') ? type.member(element.slice(2)) : type.items;
}

function* childrenOf(value: unknown, type: FieldType, pace: Pace): Parts<Children | undefined> {
  if (Array.isArray(value)) return type.list === 'atomic' ? undefined : yield* itemsOf(value, type, pace);
  if (!isObject(value) || type.isAtomic) return undefined;
  const children = new Map<string, unknown>();
  for (const name of Object.keys(value)) {
    if (pace.isDue) yield;
    // A member that is undefined is absent.
    if (value[name] !== undefined) children.set(`f:${name}`, value[name]);
  }
  return children;
}

/** Undefined for a list whose items cannot be told apart: such a list is one value, and validation refuses it. */
function* itemsOf(list: readonly unknown[], type: FieldType, pace: Pace): Parts<Children | undefined> {
  const children = new Map<string, unknown>();
  for (let i = 0; i < list.length; i++) {
    if (pace.isDue) yield;
    const value = list[i];
    const element = type.list === 'set' ? `v:${canonicalText(value)}` : keyOf(value, type);
    if (element === undefined || children.has(element)) {
      pace.isAmbiguous = true;
      return undefined;
    }
    children.set(element, value);
  }
  return children;
}

function keyOf(item: unknown, { keys, items }: FieldType): string | undefined {
  if (!isObject(item)) return undefined;
  let text = '';
  for (const key of keys) {
    const value = (Object.hasOwn(item, key) ? item[key] : undefined) ?? items.member(key).initial;
    if (value === undefined || !isScalar(value) || value === null) return undefined;
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${JSON.stringify(value)}`;
  }
  return `k:{${text}}`;
}

/** Pointer of the first item that has no key, or that of another. */
export function* ambiguousItem(value: unknown, type: FieldType, pace: Pace, pointer = ''): Parts<string | undefined> {
  if (isScalar(value)) return undefined;
  if (Array.isArray(value) && type.list !== 'atomic') {
    const seen = new Set<string>();
    for (const [i, item] of value.entries()) {
      if (pace.isDue) yield;
      const element = type.list === 'set' ? `v:${canonicalText(item)}` : keyOf(item, type);
      if (element === undefined || seen.has(element)) return `${pointer}/${i}`;
      seen.add(element);
      const below = yield* ambiguousItem(item, type.items, pace, `${pointer}/${i}`);
      if (below !== undefined) return below;
    }
  } else if (isObject(value) && !type.isAtomic) {
    for (const name of Object.keys(value)) {
      if (pace.isDue) yield;
      const below = yield* ambiguousItem(value[name], type.member(name), pace, `${pointer}/${escapeToken(name)}`);
      if (below !== undefined) return below;
    }
  }
  return undefined;
}

/** A value of the same kind as the first, with these in place of its own. */
function* withChildren(like: unknown, children: Children, pace: Pace): Parts<unknown> {
  if (Array.isArray(like)) return [...children.values()];
  const result: Record<string, unknown> = {};
  for (const [element, value] of children) {
    if (pace.isDue) yield;
    setMember(result, element.slice(2), value);
  }
  return result;
}

/** Every field of a value; undefined for an absent one. */
export function* fieldsOf(value: unknown, type: FieldType, pace: Pace): Parts<FieldSet | undefined> {
  if (value === undefined) return undefined;
  if (isScalar(value)) return leaf;
  const children = yield* childrenOf(value, type, pace);
  if (!children || children.size === 0) return leaf;
  const edges: Mutable = {};
  for (const [element, child] of children) {
    if (pace.isDue) yield;
    pace.spend(element);
    edges[element] = isScalar(child) ? leaf : yield* fieldOf(element, child, type, pace);
  }
  return edges;
}

/** What is below an edge. @param type of the place above it */
function* fieldOf(element: string, value: unknown, type: FieldType, pace: Pace): Parts<FieldSet> {
  const below = (yield* fieldsOf(value, typeBelow(type, element), pace))!;
  // An item of a list of type `map` is a field, besides its members.
  return element.startsWith('k:') && !hasItself(below) ? { [itself]: leaf, ...below } : below;
}

/** Whether both are objects, or both lists. */
function isAlike(a: unknown, b: unknown): boolean {
  return Array.isArray(a) === Array.isArray(b);
}

/**
 * The live value with what the applied one says. Items of the applied list come in its order, others where they were;
 * what does not change is shared with the live value.
 */
export function* merged(live: unknown, applied: unknown, type: FieldType, pace: Pace): Parts<unknown> {
  if (live === undefined || live === applied || isScalar(live) || isScalar(applied)) return applied;
  const a = yield* childrenOf(live, type, pace);
  const b = a && isAlike(live, applied) ? yield* childrenOf(applied, type, pace) : undefined;
  if (!a || !b) return isEqual(live, applied) ? live : applied;
  const order = Array.isArray(live) ? yield* listOrder(a, b, pace) : [...a.keys()];
  const result = new Map<string, unknown>();
  let isSame = true;
  let at = 0;
  for (const element of order) {
    if (pace.isDue) yield;
    const mine = a.get(element);
    const other = b.get(element);
    let value = other === undefined ? mine : other;
    if (mine !== undefined && !isScalar(other)) value = yield* merged(mine, other, typeBelow(type, element), pace);
    isSame &&= mine === value;
    result.set(element, value);
  }
  if (!Array.isArray(live)) {
    for (const [element, value] of b) {
      if (pace.isDue) yield;
      if (a.has(element)) continue;
      isSame = false;
      result.set(element, value);
    }
  } else if (isSame) for (const element of a.keys()) isSame &&= order[at++] === element;
  return isSame ? live : yield* withChildren(live, result, pace);
}

/** Those of the applied list in its order, each with the others before it that were before it in the live list. */
function* listOrder(live: Children, applied: Children, pace: Pace): Parts<string[]> {
  const places = [...live.keys()];
  const placeOf = new Map(places.map((element, place) => [element, place]));
  const order: string[] = [];
  let at = 0;
  for (const element of applied.keys()) {
    if (pace.isDue) yield;
    // A new one stands behind the others that come next.
    let end = placeOf.get(element);
    if (end === undefined) for (end = at; end < places.length && !applied.has(places[end]!); ) end++;
    for (; at < end; at++) if (!applied.has(places[at]!)) order.push(places[at]!);
    order.push(element);
  }
  for (; at < places.length; at++) if (!applied.has(places[at]!)) order.push(places[at]!);
  return order;
}

export interface Difference {
  /** Fields that are new, or have another value. */
  readonly set?: FieldSet;
  /** Fields that are there no more. */
  readonly gone?: FieldSet;
}

const nothing: Difference = {};

/** What makes the one value the other. */
export function* differenceOf(before: unknown, after: unknown, type: FieldType, pace: Pace): Parts<Difference> {
  if (before === after) return nothing;
  const a = yield* childrenOf(before, type, pace);
  const b = yield* childrenOf(after, type, pace);
  if (!a && !b) return isEqual(before, after) ? nothing : { set: leaf };
  if (!a || !b || !isAlike(before, after)) return yield* replacement(before, after, type, pace);
  const set: Mutable = {};
  const gone: Mutable = {};
  for (const [element, value] of b) {
    if (pace.isDue) yield;
    const mine = a.get(element);
    if (mine === value) continue;
    if (isScalar(value) && (mine === undefined || isScalar(mine))) set[element] = leaf;
    else if (mine === undefined) set[element] = yield* fieldOf(element, value, type, pace);
    else {
      const changes = yield* differenceOf(mine, value, typeBelow(type, element), pace);
      if (changes.set) set[element] = changes.set;
      if (changes.gone) gone[element] = changes.gone;
    }
  }
  for (const [element, value] of a) {
    if (pace.isDue) yield;
    if (b.has(element)) continue;
    gone[element] = isScalar(value) ? leaf : yield* fieldOf(element, value, type, pace);
  }
  return made(nodeOf(set, false), nodeOf(gone, false));
}

/** A value of one kind in place of one of another kind. */
function* replacement(before: unknown, after: unknown, type: FieldType, pace: Pace): Parts<Difference> {
  const set = yield* union(leaf, yield* fieldsOf(after, type, pace), pace);
  return made(set, yield* difference(yield* fieldsOf(before, type, pace), set, pace));
}

function made(set: FieldSet | undefined, gone: FieldSet | undefined): Difference {
  return { ...(set && { set }), ...(gone && { gone }) };
}

/**
 * Without the fields of `last` that none of the other sets has. An item goes as a whole when none of them has the item
 * itself. Members of an object that lose all their fields go too.
 */
export function* pruned(
  value: unknown,
  type: FieldType,
  last: FieldSet,
  kept: readonly FieldSet[],
  pace: Pace,
): Parts<unknown> {
  const children = isScalar(value) ? undefined : yield* childrenOf(value, type, pace);
  if (!children) return value;
  const changes = new Map<string, unknown>();
  for (const element in last) {
    if (pace.isDue) yield;
    const child = children.get(element);
    if (child === undefined) continue;
    const keepers = kept.flatMap((set) => (Object.hasOwn(set, element) ? [set[element]!] : []));
    const isKept = element.startsWith('k:') ? keepers.some(hasItself) : keepers.length > 0;
    const rest = isKept ? yield* pruned(child, typeBelow(type, element), last[element]!, keepers, pace) : undefined;
    if (rest !== child) changes.set(element, rest);
  }
  return changes.size === 0 ? value : yield* changedBy(value, children, changes, pace);
}

/** An applied value without fields that it may not set, and without what holds nothing else; undefined when nothing is left. */
export function* withheld(value: unknown, type: FieldType, fields: FieldSet, pace: Pace): Parts<unknown> {
  const children = hasItself(fields) ? undefined : yield* childrenOf(value, type, pace);
  if (!children) return undefined;
  const changes = new Map<string, unknown>();
  let count = children.size;
  for (const element in fields) {
    if (pace.isDue) yield;
    const child = children.get(element);
    if (child === undefined) continue;
    const rest = yield* withheld(child, typeBelow(type, element), fields[element]!, pace);
    if (rest === undefined) count--;
    changes.set(element, rest);
  }
  return count === 0 ? undefined : yield* changedBy(value, children, changes, pace);
}

/** A value with some of its children changed; undefined: gone. */
function* changedBy(value: unknown, children: Children, changes: Children, pace: Pace): Parts<unknown> {
  const result = new Map<string, unknown>();
  for (const [element, child] of children) {
    if (pace.isDue) yield;
    const changed = changes.has(element) ? changes.get(element) : child;
    if (changed !== undefined) result.set(element, changed);
  }
  return yield* withChildren(value, result, pace);
}
