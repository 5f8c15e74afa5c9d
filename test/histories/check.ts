import type { History, Operation } from './history.ts';
import { replay } from './replay.ts';
import { isLinearizable } from './search.ts';

/** Objects of each history that are searched too. */
const sample = 4;

/** Both checkers: the replay on all of it, the search on some objects. */
export function check(history: History): { violations: string[]; searched: number } {
  const violations = replay(history);
  const byName = Map.groupBy(
    history.operations.filter(({ request }) => 'name' in request),
    ({ request }) => (request as { name: string }).name,
  );
  const chosen = [...byName].toSorted(() => Math.random() - 0.5).slice(0, sample);
  for (const [name, operations] of chosen as [string, Operation[]][]) {
    if (!isLinearizable(operations)) violations.push(`no order explains what was answered about ${name}`);
  }
  return { violations, searched: chosen.length };
}
