/**
 * More than can be answered. Closed: 5 and 50 times the connections, each of which sends again at once, whatever the answer
 * was. Open: five times the requests a second of the best closed load, whether those before are answered or not. The same
 * for `node:http` that answers with the same bytes, takes as long for it as the service at its best, and refuses nobody.
 */
import type { Delay, Usage } from './meter.ts';
import type { Flood, FloodResult, Load, LoadResult } from './process-load.ts';
import type { Remote } from './remote.ts';
import { underLoad } from './under-load.ts';

export interface Overload {
  readonly work: string;
  readonly server: 'service' | 'node:http';
  readonly load: 'closed' | 'open';
  readonly connections: number;
  /** Requests a second that were due; of a closed load those that were answered. */
  readonly offered: number;
  /** Answers with 2xx a second that came within a second after they were due. */
  readonly goodput: number;
  /** Of the best goodput with 32 or 160 connections. */
  readonly kept: number;
  /** The same for such answers by the processor time that the server spends in all: the load has the same cores. */
  readonly keptOfCpu: number;
  /** Milliseconds of answers with 2xx. */
  readonly p50: number;
  readonly p99: number;
  /** Answers with 503 a second, and milliseconds until they came. */
  readonly refused: number;
  readonly refusedP99: number;
  /** Requests a second that were due while every connection was busy. */
  readonly unsent: number;
  /** Milliseconds of the longest stretch in which the event loop got to no timer. */
  readonly stall: number;
}

/** More than that many answers wait for their turn in half a second. */
const openConnections = 4_000;
const factor = 5;

interface Parts {
  readonly server: Remote;
  readonly load: Remote;
  readonly url: string;
  readonly work: string;
  readonly seconds: number;
}

export function measureOverload(works: readonly string[], seconds: number): Promise<Overload[]> {
  return underLoad(10_000, async ({ service, limit, load, url, paths }) => {
    const limitUrl = await limit.ask<string>('url');
    const rows: Overload[] = [];
    for (const work of works) {
      const own = await measureServer({ server: service, load, url, work, seconds });
      const bare: Parts = { server: limit, load, url: limitUrl, work, seconds };
      const bytes = new Uint8Array(await (await fetch(url + paths[work]!)).arrayBuffer());
      await limit.ask('prepare', { bytes });
      const least = await run(bare, 32);
      await limit.ask('prepare', { bytes, delay: Math.max(0, own.cpu - least.cpu) / 1_000 });
      const other = await measureServer(bare);
      rows.push(...own.rows.map((row) => ({ work, server: 'service', ...row }) as const));
      rows.push(...other.rows.map((row) => ({ work, server: 'node:http', ...row }) as const));
    }
    return rows;
  });
}

/** The rows of one server, and its microseconds of processor time for an answer when it is at its best. */
async function measureServer(parts: Parts): Promise<{ cpu: number; rows: Omit<Overload, 'work' | 'server'>[] }> {
  await run(parts, 32);
  const calm = [await run(parts, 32), await run(parts, 160)] as const;
  const best = calm[0].goodput > calm[1].goodput ? calm[0] : calm[1];
  const many = await run(parts, 1_600);
  const open = await run(parts, openConnections, factor * best.goodput);
  const rows = [...calm, many, open].map(({ cpu, ...one }) => {
    return { ...one, kept: one.goodput / best.goodput, keptOfCpu: best.cpu / cpu };
  });
  return { cpu: best.cpu, rows };
}

type Run = Omit<Overload, 'work' | 'server' | 'kept' | 'keptOfCpu'> & { readonly cpu: number };

/** @param arrivals requests a second of an open load; without it the load is closed */
async function run(parts: Parts, connections: number, arrivals?: number): Promise<Run> {
  const { server, load, url, work, seconds } = parts;
  await load.ask('open', { url, connections });
  await server.ask('delay');
  const before = await server.ask<Usage>('usage');
  const order: Load = { url, duration: seconds, list: work, connections };
  const result =
    arrivals === undefined
      ? { ...(await load.ask<LoadResult>('load', order)), unsent: 0 }
      : await load.ask<FloodResult>('flood', { ...order, connections, arrivals } satisfies Flood);
  const after = await server.ask<Usage>('usage');
  const { max: stall } = await server.ask<Delay>('delay');
  const { statuses, answered, rate, p50, p99, refusedP99, unsent, timely: goodput } = result;
  const others = Object.keys(statuses).filter((status) => status !== '200' && status !== '503');
  if (others.length > 0) throw new Error(`${work}: answers with ${others.join(', ')}`);
  return {
    load: arrivals === undefined ? 'closed' : 'open',
    connections,
    offered: 'offered' in result ? result.offered : rate,
    goodput,
    p50,
    p99,
    refused: (rate * (statuses['503'] ?? 0)) / answered,
    refusedP99,
    unsent,
    stall,
    cpu: (after.cpu - before.cpu) / (goodput * seconds),
  };
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
