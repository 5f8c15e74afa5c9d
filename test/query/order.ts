/** The order of lists on whole index entries: the plain definition of what the engine computes. */
import { fieldAt, keysOf } from '../../src/indexes/field.ts';
import type { IndexDefinition, IndexEntry } from '../../src/model/index-entry.ts';
import { compareText } from '../../src/model/key.ts';
import { numberSort } from '../../src/query/bind.ts';
import type { SortTerm } from '../../src/query/query.ts';

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
