import type { PerformanceNodeEntry } from 'node:perf_hooks';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/**
 * By how much the heap may grow until the next full collection: in percent of what lives in it, and in bytes at least. By itself V8
 * lets it grow to several times that after an import. A small heap that grows by 30 % is collected twice a second under writes.
 */
const growth = { percent: 30, least: 32 * 2 ** 20 };

/** Bounds the growth of the heap from now on, anew after each full collection. */
export function boundHeapGrowth(): void {
  const observer = new PerformanceObserver((list) => {
    const collections = list.getEntries() as PerformanceNodeEntry[];
    if (collections.some(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR)) bound();
  });
  observer.observe({ entryTypes: ['gc'] });
  bound();
}

function bound(): void {
  const percent = Math.max(growth.percent, Math.ceil((100 * growth.least) / oldGeneration()));
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

/** Bytes in use. */
function oldGeneration(): number {
  const young = new Set(['new_space', 'new_large_object_space']);
  const old = getHeapSpaceStatistics().filter(({ space_name }) => !young.has(space_name));
  return old.reduce((sum, { space_used_size }) => sum + space_used_size, 0);
}
