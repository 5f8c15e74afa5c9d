/** Conditions and orders on one index entry: for watches, live pages, and as the plain definition of what the engine computes. */
import { fieldAt, keysOf } from '../indexes/field.ts';
import type { IndexDefinition, IndexEntry } from '../model/index-entry.ts';
import { compareText } from '../model/key.ts';
import type { Bound } from './bind.ts';
import { numberSort } from './bind.ts';
import type { SortTerm } from './query.ts';

export function matches(bound: Bound, entry: IndexEntry): boolean {
  switch (bound.op) {
    case 'all':
      return true;
    case 'and':
      return bound.of.every((one) => matches(one, entry));
    case 'or':
      return bound.of.some((one) => matches(one, entry));
    case 'not':
      return !matches(bound.of, entry);
    case 'null':
      return keysOf(entry, bound.field).length === 0;
    case 'keys':
      return keysOf(entry, bound.field).some(bound.accepts);
    case 'label': {
      if (!Object.hasOwn(entry.labels, bound.key)) return false;
      return bound.values === undefined || bound.values.has(entry.labels[bound.key]!);
    }
  }
}

/** The order of a list (docs/reference/lists.md, "sort"): total, since it ends with the name. Throws InvalidParameter. */
export function compareEntries(
  sort: readonly SortTerm[],
  definitions: readonly IndexDefinition[],
): (a: IndexEntry, b: IndexEntry) => number {
  const keys = numberSort(sort, definitions).map(({ field, descending }) => {
    const { codec } = fieldAt(definitions, field);
    const edge = (entry: IndexEntry) => {
      const [first, ...others] = keysOf(entry, field);
      return others.reduce((best, key) => (codec.compare(key, best) > 0 === descending ? key : best), first);
    };
    return (a: IndexEntry, b: IndexEntry) => {
      const x = edge(a);
      const y = edge(b);
      const result =
        x === undefined || y === undefined ? Number(x !== undefined) - Number(y !== undefined) : codec.compare(x, y);
      return descending ? -result : result;
    };
  });
  return (a, b) => {
    for (const compare of keys) {
      const result = compare(a, b);
      if (result !== 0) return result;
    }
    return compareText(a.name, b.name);
  };
}
