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

/** An item that the client left as it was takes the stored one with it, wherever it stands now. */
function mergedItems(stored: readonly unknown[], base: readonly unknown[], mine: readonly unknown[]): unknown[] {
  // Which stored item an item of the base comes from is not known.
  if (stored.length !== base.length) return [...mine];
  const places = new Map<string, number[]>();
  for (let i = base.length - 1; i >= 0; i--) {
    const text = canonicalText(base[i]);
    const known = places.get(text);
    if (known) known.push(i);
    else places.set(text, [i]);
  }
  return mine.map((item) => {
    const place = places.get(canonicalText(item))?.pop();
    return place === undefined ? item : stored[place];
  });
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
