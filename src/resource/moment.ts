/** Whether a list would show today what it showed before, without reading it again. */

import type { IndexDefinition } from '../model/index-entry.ts';
import { bind } from '../query/bind.ts';
import type { Condition } from '../query/condition.ts';
import { concerns } from './change.ts';
import type { Feed } from './feed.ts';
import type { ModelMemory } from './memory.ts';

/** When a list was read. */
export interface Moment {
  /** Of the memory. */
  readonly epoch: symbol;
  /** How many changes the memory had counted. */
  readonly changes: number;
  readonly revision: number;
}

/**
 * The most changes of a model that are checked one by one; a list is read again after more. The feed keeps as many of them parsed. The
 * limit of their bytes, before and after each change, bounds the time for the check.
 */
const checkedChanges = { count: 64, bytes: 128 * 1024 };

export function momentOf({ epoch, changes }: ModelMemory, { applied: revision }: Feed): Moment {
  return { epoch, changes, revision };
}

/**
 * False when an object was changed that met the condition before the change or after it, and when that cannot be told.
 * @param list its condition, and the indexes by whose names it was given
 */
export function isUnchanged(
  memory: ModelMemory,
  feed: Feed,
  { where, indexes }: { readonly where: Condition; readonly indexes: readonly IndexDefinition[] },
  { epoch, changes, revision }: Moment,
): boolean {
  if (epoch !== memory.epoch) return false;
  const count = memory.changes - changes;
  if (count === 0) return true;
  if (count > checkedChanges.count) return false;
  const found = feed.recent(revision)?.filter(({ model }) => model === memory.model);
  if (found?.length !== count) return false;
  const bytes = found.reduce((sum, one) => sum + one.bytes.length + (one.before?.length ?? 0), 0);
  if (bytes > checkedChanges.bytes) return false;
  const bound = bind(where, indexes);
  return !found.some((change) => concerns(bound, change));
}
