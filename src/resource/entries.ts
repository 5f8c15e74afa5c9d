/** Index entries of one object, from index functions that may fail. */
import type { Violation } from '../errors.ts';
import { KindredError } from '../errors.ts';
import { deepFreeze } from '../model/declaration.ts';
import type { IndexEntry } from '../model/index-entry.ts';
import { entryOf } from '../model/index-spec.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';

type Indexed = Pick<Scheme, 'indexes'>;

/**
 * The entry of an object that is about to be stored. Index functions are somebody else's code: what they get, they
 * cannot change. @throws Invalid
 */
function strictEntry(scheme: Indexed, object: ExtensionObject): IndexEntry {
  return entryOf(scheme, scheme.indexes.length > 0 ? deepFreeze(object) : object);
}

const nothing: readonly Violation[] = Object.freeze([]);

/** The entry of an object as it is; an index whose function refuses it has no value for it, and there is a violation. */
export function lenientEntry(
  scheme: Indexed,
  object: ExtensionObject,
  name: string,
): { entry: IndexEntry; violations: readonly Violation[] } {
  try {
    return { entry: strictEntry(scheme, object), violations: nothing };
  } catch (error) {
    if (!(error instanceof KindredError)) throw error;
    return { entry: entryWithGaps(scheme, object, name), violations: error.errors ?? nothing };
  }
}

/** The entry of a stored object, whatever it is; there is a problem where it is not what today's indexes ask for. */
export function storedEntry(
  scheme: Indexed,
  object: ExtensionObject,
  name: string,
): { entry: IndexEntry; violations: readonly Violation[]; problem?: string } {
  try {
    const { entry, violations } = lenientEntry(scheme, object, name);
    if (violations.length === 0) return { entry, violations };
    return { entry, violations, problem: violations.map((one) => one.message).join('; ') };
  } catch (error) {
    return { entry: entryWithGaps(scheme, object, name), violations: nothing, problem: String(error) };
  }
}

function entryWithGaps(scheme: Indexed, object: ExtensionObject, name: string): IndexEntry {
  const keys = scheme.indexes.map((definition) => {
    try {
      return entryOf({ indexes: [definition] }, object).keys[0]!;
    } catch {
      return [];
    }
  });
  return { ...entryOf({ indexes: [] }, object), name, keys };
}
