/**
 * More than can be answered. Closed: 5 and 50 times the connections, each of which sends again at once, whatever the answer
 * was. Open: five times the requests a second of the best closed load, whether those before are answered or not.
 */
import type { Delay, Usage } from './meter.ts';
import type { Flood, FloodResult, Load, LoadResult } from './process-load.ts';
import { underLoad } from './under-load.ts';

export interface Overload {
  readonly work: string;
  readonly load: 'closed' | 'open';
  readonly connections: number;
  /** Requests a second that were due; of a closed load those that were answered. */
  readonly offered: number;
  /** Answers with 2xx a second. */
  readonly goodput: number;
  /** Of the best goodput with 32 or 160 connections. */
  readonly kept: number;
  /** The same for answers with 2xx by the processor time that the service spends in all: the load has the same cores. */
  readonly keptOfCpu: number;
  /** Milliseconds of answers with 2xx. */
  readonly p50: number;
  readonly p99: number;
  /** Answers with 503 a second, and milliseconds until they came. */
  readonly refused: number;
  readonly refusedP99: number;
  /** Requests a second that were due while every connection was busy. */
  readonly unsent: number;
  /** Milliseconds of the longest stretch in which the event loop of the service got to no timer. */
  readonly stall: number;
}

/** More than that many answers wait for their turn in half a second. */
const openConnections = 4_000;
const factor = 5;

export function measureOverload(works: readonly string[], seconds: number): Promise<Overload[]> {
  return underLoad(10_000, async ({ service, load, url }) => {
    const run = async (list: string, connections: number, arrivals?: number) => {
      await load.ask('open', { url, connections });
      await service.ask('delay');
      const before = await service.ask<Usage>('usage');
      const order: Load = { url, duration: seconds, list, connections };
      const result = arrivals
        ? await load.ask<FloodResult>('flood', { ...order, connections, arrivals } satisfies Flood)
        : { ...(await load.ask<LoadResult>('load', order)), unsent: 0 };
      const after = await service.ask<Usage>('usage');
      const delay = await service.ask<Delay>('delay');
      const { statuses, answered, rate } = result;
      const others = Object.keys(statuses).filter((status) => status !== '200' && status !== '503');
      if (others.length > 0) throw new Error(`${list}: answers with ${others.join(', ')}`);
      const goodput = (rate * (statuses['200'] ?? 0)) / answered;
      const cpu = (after.cpu - before.cpu) / (statuses['200'] ?? 0);
      return { result, goodput, cpu, offered: 'offered' in result ? result.offered : rate, stall: delay.max };
    };
    const rows: Overload[] = [];
    for (const work of works) {
      await run(work, 32);
      const closed = [await run(work, 32), await run(work, 160)] as const;
      const best = closed[0].goodput > closed[1].goodput ? closed[0] : closed[1];
      const row = (load: Overload['load'], connections: number, one: Awaited<ReturnType<typeof run>>): void => {
        const { result, goodput, offered, stall } = one;
        const { p50, p99, refusedP99, unsent, rate } = result;
        const kept = goodput / best.goodput;
        const refused = rate - goodput;
        const keptOfCpu = best.cpu / one.cpu;
        const shape = { work, load, connections };
        rows.push({ ...shape, offered, goodput, kept, keptOfCpu, p50, p99, refused, refusedP99, unsent, stall });
      };
      row('closed', 32, closed[0]);
      row('closed', 160, closed[1]);
      row('closed', 1_600, await run(work, 1_600));
      row('open', openConnections, await run(work, openConnections, factor * best.goodput));
    }
    return rows;
  });
}

/** For the eye. */
export function printed(rows: readonly Overload[]): object[] {
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => {
        if (typeof value !== 'number') return [name, value];
        return [name, name.startsWith('kept') ? Number(value.toFixed(2)) : Math.round(value)];
      }),
    ),
  );
}
