/** What a client changed in one version of an object, in another version of it: what the client's version cannot say stays. */

import { escapeToken } from '../errors.ts';
import type { ExtensionObject } from '../model/object.ts';
import { setMember } from '../runtime/read-json.ts';
import { canonicalText, isEqual } from '../schema/json-value.ts';
import { isObject } from './lifecycle.ts';

/**
 * @param stored the object as it is
 * @param base what of it comes back when it has gone through the client's version
 * @param mine what the client sent, in the version of the stored object
 */
export function threeWay(stored: unknown, base: unknown, mine: unknown): unknown {
  if (isEqual(mine, base)) return stored;
  if (isObject(stored) && isObject(base) && isObject(mine)) return mergedMembers(stored, base, mine);
  if (Array.isArray(stored) && Array.isArray(base) && Array.isArray(mine)) return mergedItems(stored, base, mine);
  return mine;
}

type Members = Record<string, unknown>;

function mergedMembers(stored: Members, base: Members, mine: Members): Members {
  const merged: Members = {};
  for (const [name, value] of Object.entries(stored)) {
    const isHidden = !Object.hasOwn(base, name) && !Object.hasOwn(mine, name);
    if (isHidden) setMember(merged, name, value);
    else if (Object.hasOwn(mine, name))
      setMember(merged, name, Object.hasOwn(base, name) ? threeWay(value, base[name], mine[name]) : mine[name]);
  }
  for (const [name, value] of Object.entries(mine)) {
    if (Object.hasOwn(stored, name)) continue;
    // What the conversion adds by itself is no change of the client.
    if (!Object.hasOwn(base, name) || !isEqual(base[name], value)) setMember(merged, name, value);
  }
  return merged;
}

/**
 * An item that the client left as it was takes the stored one with it, wherever it stands now. One that the client's version
 * leaves out stays where it is.
 */
function mergedItems(stored: readonly unknown[], base: readonly unknown[], mine: readonly unknown[]): unknown[] {
  const origins = originsOf(stored, base);
  if (!origins) return [...mine];
  const places = new Map<string, number[]>();
  for (let i = base.length - 1; i >= 0; i--) {
    const text = canonicalText(base[i]);
    const known = places.get(text);
    if (known) known.push(origins[i]!);
    else places.set(text, [origins[i]!]);
  }
  const shown = mine.map((item) => {
    const place = places.get(canonicalText(item))?.pop();
    return place === undefined ? item : stored[place];
  });
  const visible = new Set(origins);
  let next = 0;
  const merged = stored.flatMap((item, i) => (visible.has(i) ? shown.slice(next, ++next) : [item]));
  return [...merged, ...shown.slice(next)];
}

/** The places of the stored items from which those of the base come, in their order; undefined where that is not known. */
function originsOf(stored: readonly unknown[], base: readonly unknown[]): readonly number[] | undefined {
  if (stored.length === base.length) return [...base.keys()];
  const first: number[] = [];
  for (let i = 0; i < stored.length && first.length < base.length; i++)
    if (covers(stored[i], base[first.length])) first.push(i);
  const last: number[] = [];
  for (let i = stored.length - 1; i >= 0 && last.length < base.length; i--)
    if (covers(stored[i], base[base.length - 1 - last.length])) last.push(i);
  if (first.length < base.length || !isEqual(first, last.reverse())) return undefined;
  // A conversion that takes out what comes twice hides nothing.
  const visible = new Set(first);
  const texts = new Set(base.map(canonicalText));
  return stored.some((item, i) => !visible.has(i) && texts.has(canonicalText(item))) ? undefined : first;
}

/** Whether a value of the base is what is stored, perhaps without some members. */
function covers(stored: unknown, base: unknown): boolean {
  if (isObject(stored) && isObject(base))
    return Object.keys(base).every((name) => Object.hasOwn(stored, name) && covers(stored[name], base[name]));
  if (Array.isArray(stored) && Array.isArray(base))
    return stored.length === base.length && base.every((item, i) => covers(stored[i], item));
  return isEqual(stored, base);
}

/** The members of an object that its schema and conversions are about. */
export function contentOnly({ apiVersion, kind, metadata, ...content }: ExtensionObject): Members {
  return content;
}

/** Pointers to the values of `a` that `b` has otherwise, or lacks, and to those that `b` has besides. */
export function differencesOf(a: unknown, b: unknown, pointer = ''): string[] {
  if (isEqual(a, b)) return [];
  const inner = isObject(a) && isObject(b);
  if (!inner && !(Array.isArray(a) && Array.isArray(b) && a.length === b.length)) return [pointer];
  const [was, is] = [a as Members, b as Members];
  const names = new Set([...Object.keys(was), ...Object.keys(is)]);
  return [...names].flatMap((name) => differencesOf(was[name], is[name], `${pointer}/${escapeToken(name)}`));
}
