/** Three-way merge of JSON: what one side changed is taken, what both changed differently is a choice. */

import { below, isEqual, isObject } from './pointer.ts';

type Side = 'mine' | 'theirs';

/** What both sides changed, differently. Absent: `undefined`. */
interface Conflict {
  readonly pointer: string;
  readonly base: unknown;
  readonly mine: unknown;
  readonly theirs: unknown;
}

export interface Merge {
  /** With the chosen values; where nothing is chosen yet, theirs. */
  readonly merged: unknown;
  /** What was taken without a choice: a change of one side. What both changed alike is not in it. */
  readonly taken: readonly { readonly pointer: string; readonly side: Side }[];
  readonly conflicts: readonly Conflict[];
}

export interface MergeOptions {
  /** By pointer, what was chosen for a conflict. */
  readonly chosen?: ReadonlyMap<string, unknown>;
  /** Pointers of what is theirs always. */
  readonly theirs?: ReadonlySet<string>;
}

/**
 * A list is one value, unless all items of the three lists are objects with a `name` that is a text and unique in its
 * list: those are merged by name, in their order. Pointers count the items of that order.
 */
export function merge3(base: unknown, mine: unknown, theirs: unknown, options: MergeOptions = {}): Merge {
  const { chosen = new Map<string, unknown>(), theirs: theirsAlways = new Set<string>() } = options;
  const taken: { pointer: string; side: Side }[] = [];
  const conflicts: Conflict[] = [];

  const merge = (base: unknown, mine: unknown, theirs: unknown, pointer: string): unknown => {
    if (theirsAlways.has(pointer) || isEqual(mine, theirs)) return theirs;
    if (isObject(mine) && isObject(theirs)) return mergeObjects(base, mine, theirs, pointer);
    const lists = [base ?? [], mine, theirs].map(byName);
    if (Array.isArray(mine) && Array.isArray(theirs) && lists.every((list) => list !== undefined)) {
      const [was, my, their] = lists as [Named, Named, Named];
      if (isInOrder(was, my) || isInOrder(was, their) || isInOrder(my, their))
        return mergeLists(was, my, their, pointer);
    }
    if (isEqual(base, theirs)) {
      taken.push({ pointer, side: 'mine' });
      return mine;
    }
    if (isEqual(base, mine)) {
      taken.push({ pointer, side: 'theirs' });
      return theirs;
    }
    conflicts.push({ pointer, base, mine, theirs });
    return chosen.has(pointer) ? chosen.get(pointer) : theirs;
  };

  const mergeObjects = (base: unknown, mine: object, theirs: object, pointer: string): unknown => {
    const members: [string, unknown][] = [];
    for (const name of new Set([...Object.keys(theirs), ...Object.keys(mine)])) {
      const value = merge(own(base, name), own(mine, name), own(theirs, name), below(pointer, name));
      if (value !== undefined) members.push([name, value]);
    }
    return Object.fromEntries(members);
  };

  const mergeLists = (base: Named, mine: Named, theirs: Named, pointer: string): unknown => {
    const isMyOrder = isInOrder(base, theirs) && !isInOrder(base, mine);
    if (isMyOrder) taken.push({ pointer, side: 'mine' });
    const names = isMyOrder ? joined(mine, theirs) : joined(theirs, mine);
    const items = names.map((name, i) => merge(base.get(name), mine.get(name), theirs.get(name), below(pointer, i)));
    return items.filter((item) => item !== undefined);
  };

  return { merged: merge(base, mine, theirs, ''), taken, conflicts };
}

type Named = ReadonlyMap<string, unknown>;

/** True when the names that both have stand in the same order. */
function isInOrder(one: Named, other: Named): boolean {
  const common = [...other.keys()].filter((name) => one.has(name));
  return [...one.keys()].filter((name) => other.has(name)).every((name, i) => name === common[i]);
}

/** The names of one list; what only the other has stands behind what it stands behind there. */
function joined(one: Named, other: Named): string[] {
  const names = [...one.keys()];
  let before = -1;
  for (const name of other.keys()) {
    const at = names.indexOf(name);
    if (at < 0) names.splice(++before, 0, name);
    else before = at;
  }
  return names;
}

/** The items by their names; undefined when not all have one of their own. */
function byName(list: unknown): Named | undefined {
  if (!Array.isArray(list)) return undefined;
  const named = new Map<string, unknown>();
  for (const item of list) {
    const name = own(item, 'name');
    if (typeof name !== 'string' || named.has(name)) return undefined;
    named.set(name, item);
  }
  return named;
}

function own(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
