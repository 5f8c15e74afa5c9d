import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes in use. The collection stands still for 35 ms with 18 MiB, and for longer with more. */
const smallHeap = 32 * 2 ** 20;

/**
 * Gives back what only the start needed, if the heap is small: garbage, pages of which little is used, and the bytecode of all
 * functions, which V8 otherwise keeps for six full collections. Of what runs again, V8 makes the bytecode again: 5 ms for the first
 * request (docs/decisions/performance.md).
 */
export function collectStartGarbage(): void {
  if (getHeapStatistics().used_heap_size > smallHeap) return;
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  setFlagsFromString('--no-expose-gc');
  setFlagsFromString('--bytecode-old-age=1');
  // Only this flavor collects as often as it gives memory back.
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  // V8's default.
  setFlagsFromString('--bytecode-old-age=6');
}
