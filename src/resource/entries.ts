/** Index entries of one object, from index functions that may fail. */
import { KindredError } from '../errors.ts';
import { deepFreeze } from '../model/declaration.ts';
import type { IndexEntry } from '../model/index-entry.ts';
import { entryOf } from '../model/index-spec.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';

/**
 * The entry of an object that is about to be stored. Index functions are somebody else's code: what they get, they
 * cannot change. @throws Invalid
 */
export function strictEntry(scheme: Scheme, object: ExtensionObject): IndexEntry {
  return entryOf(scheme, scheme.indexes.length > 0 ? deepFreeze(object) : object);
}

/** The entry of a stored object; where an index function fails on it, that index has no value for it, and there is a problem. */
export function storedEntry(
  scheme: Scheme,
  object: ExtensionObject,
  name: string,
): { entry: IndexEntry; problem?: string } {
  try {
    return { entry: strictEntry(scheme, object) };
  } catch (error) {
    const violations = error instanceof KindredError ? error.errors : undefined;
    const problem = violations?.map((one) => one.message).join('; ') ?? String(error);
    return { entry: lenientEntry(scheme, object, name), problem };
  }
}

function lenientEntry(scheme: Scheme, object: ExtensionObject, name: string): IndexEntry {
  const keys = scheme.indexes.map((definition) => {
    try {
      return entryOf({ indexes: [definition] }, object).keys[0]!;
    } catch {
      return [];
    }
  });
  return { ...entryOf({ indexes: [] }, object), name, keys };
}
