import type { PerformanceNodeEntry } from 'node:perf_hooks';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/**
 * The growth of the heap between two full collections: a percentage of the bytes in use, with a minimum in bytes. Without a limit, the
 * heap grows to several times its size during an import. Without the minimum, writes cause two full collections a second in a small heap.
 */
const growth = { percent: 30, least: 32 * 2 ** 20 };

/** Limits the growth of the heap for the rest of the process. Each full collection sets a new limit. */
export function limitHeapGrowth(): void {
  const observer = new PerformanceObserver((list) => {
    const collections = list.getEntries() as PerformanceNodeEntry[];
    if (collections.some(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR)) setLimit();
  });
  observer.observe({ entryTypes: ['gc'] });
  setLimit();
}

function setLimit(): void {
  const percent = Math.max(growth.percent, Math.ceil((100 * growth.least) / oldGeneration()));
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

/** Bytes in use. */
function oldGeneration(): number {
  const young = new Set(['new_space', 'new_large_object_space']);
  const old = getHeapSpaceStatistics().filter(({ space_name }) => !young.has(space_name));
  return old.reduce((sum, { space_used_size }) => sum + space_used_size, 0);
}
