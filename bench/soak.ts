/** Hours in short: reads, lists, updates, creations and deletions for minutes, and the heap after each collection. */
import { figure } from './figures.ts';
import type { Delay, Memory } from './meter.ts';
import type { LoadResult } from './process-load.ts';
import { underLoad } from './under-load.ts';

export interface Soak {
  readonly slices: readonly { readonly memory: Memory; readonly delay: Delay; readonly rate: number }[];
  /** Bytes: median heap of the second quarter of the run, and of its last. */
  readonly early: number;
  readonly late: number;
  readonly isRising: boolean;
}

const objects = 20_000;
const sliceSeconds = 20;
/** A heap that is this much larger at the end is rising. */
const tolerance = 1.05;

export function soak(minutes: number, progress: (text: string) => void): Promise<Soak> {
  return underLoad(objects, async ({ service, load, url }) => {
    const slices: Soak['slices'][number][] = [];
    const count = Math.max(4, Math.round((minutes * 60) / sliceSeconds));
    for (let slice = 0; slice < count; slice++) {
      await service.ask('delay');
      const loads = (['GET', 'LIST', 'LIST2', 'UPDATE'] as const).map((list) =>
        load.ask<LoadResult>('load', { url, duration: sliceSeconds, list, connections: 8 }),
      );
      const born = objects + slice * 2_000;
      await service.ask('fill', { from: born, to: born + 2_000 });
      await service.ask('remove', { from: born, to: born + 2_000 });
      const rate = (await Promise.all(loads)).reduce((sum, one) => sum + one.rate, 0);
      const delay = await service.ask<Delay>('delay');
      const memory = await service.ask<Memory>('memory', { collect: true });
      slices.push({ memory, delay, rate });
      const [heap, rss] = [memory.heap, memory.rss].map((bytes) => Math.round(bytes / 2 ** 20));
      progress(`slice ${slice + 1} of ${count}: heap ${heap} MiB, resident ${rss} MiB, ${Math.round(rate)} a second`);
    }
    const quarter = Math.floor(count / 4);
    const heapOf = (part: Soak['slices']): number => figure(part.map(({ memory }) => memory.heap)).median;
    const early = heapOf(slices.slice(quarter, 2 * quarter));
    const late = heapOf(slices.slice(-quarter));
    return { slices, early, late, isRising: late > early * tolerance };
  });
}
