/** Conditions on one index entry: for watches, live pages, and as the plain definition of what the engine computes. */
import { keysOf } from '../indexes/field.ts';
import type { IndexEntry } from '../model/index-entry.ts';
import type { Bound } from './bind.ts';

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
