/** More than can be answered: what is still answered well with 5 and 50 times the connections, and how soon the rest is refused. */
import type { LoadResult } from './process-load.ts';
import { underLoad } from './under-load.ts';

export interface Overload {
  readonly list: string;
  readonly connections: number;
  /** Answers with 2xx a second. */
  readonly goodput: number;
  /** Beside that with 32 connections. */
  readonly kept: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly refused: number;
}

export function measureOverload(seconds = 5): Promise<Overload[]> {
  return underLoad(10_000, async ({ load, url }) => {
    const rows: Overload[] = [];
    for (const list of ['GET', 'LIST', 'UPDATE']) {
      let base: number | undefined;
      for (const connections of [32, 32, 160, 1_600]) {
        const { statuses, p50, p99 } = await load.ask<LoadResult>('load', {
          url,
          duration: seconds,
          list,
          connections,
        });
        const good = (statuses['200'] ?? 0) / seconds;
        const refused = Object.entries(statuses).reduce((sum, [status, n]) => sum + (status === '200' ? 0 : n), 0);
        if (base === undefined) {
          base = good;
          continue;
        }
        if (connections === 32) base = good;
        rows.push({ list, connections, goodput: Math.round(good), kept: good / base, p50, p99, refused });
      }
    }
    return rows;
  });
}
