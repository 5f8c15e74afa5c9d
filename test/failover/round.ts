/** One fault of the cluster under clients of three replicas, and what is wrong with what they were answered. */
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../src/testing/until.ts';
import { check } from '../histories/check.ts';
import type { Item, Operation } from '../histories/history.ts';
import { isWrite, sameItem } from '../histories/history.ts';
import { withoutLost } from '../histories/lost.ts';
import type { Recorded, Replica } from '../histories/record.ts';
import { readItems, record } from '../histories/record.ts';
import type { Cluster, Node } from './cluster.ts';
import type { Fault } from './faults.ts';

export interface Round {
  readonly history: Recorded;
  /** In words; empty when nothing is wrong. */
  readonly violations: readonly string[];
  readonly acknowledged: number;
  readonly unknown: number;
  readonly moved: boolean;
  /** The longest time in which no write, and no read, was answered with success; milliseconds. */
  readonly withoutWrites: number;
  readonly withoutReads: number;
  /** From the fault to the moment in which Patroni showed another leader; undefined when there was none. */
  readonly election: number | undefined;
}

const clients = 8;
/** Milliseconds between an answer and the next request of the client. */
const pace = 15;

export async function failoverRound(
  cluster: Cluster,
  replicas: readonly Replica[],
  name: string,
  fault: Fault,
  below: (limit: number) => number,
): Promise<Round> {
  const before = await cluster.whole();
  await cluster.outgrowFormerLeaders(before);
  await ready(replicas);
  let began = 0;
  let mended = 0;
  let election: number | undefined;
  let after: Node = before;
  const history = await record({
    replicas,
    history: name,
    operations: 0,
    clients,
    pace,
    faults: false,
    async meanwhile() {
      await pause(500 + below(1_000));
      began = performance.now();
      let isOver = false;
      const watching = (async () => {
        while (!isOver && election === undefined) {
          const leader = await cluster.leader();
          if (leader && leader !== before) election = performance.now() - began;
          else await pause(100);
        }
      })();
      await fault.make(cluster, before, below);
      after = await cluster.whole();
      mended = performance.now();
      isOver = true;
      await watching;
      await ready(replicas);
      await pause(1_000);
    },
  });
  const lost = fault.mayShowLost ? { from: began, to: mended } : undefined;
  const { violations } = check(lost ? withoutLost(history, lost) : history);
  const stored = await storedItems(after, name);
  for (const [i, replica] of replicas.entries()) {
    const items = await readItems(replica, name);
    if (items.length !== stored.length || items.some((item, n) => !sameItem(item, stored[n])))
      violations.push(`replica ${i} has ${JSON.stringify(items)}, the database ${JSON.stringify(stored)}`);
  }
  const isOk = ({ outcome }: Operation): boolean => outcome.kind === 'ok';
  const writes = history.operations.filter(({ request }) => isWrite(request));
  const reads = history.operations.filter(({ request }) => !isWrite(request));
  return {
    history,
    violations,
    acknowledged: writes.filter(isOk).length,
    unknown: writes.filter(({ outcome }) => outcome.kind === 'unknown').length,
    moved: after !== before,
    withoutWrites: longestGap(writes.filter(isOk)),
    withoutReads: longestGap(reads.filter(({ outcome }) => outcome.kind !== 'none')),
    election,
  };
}

/** Every replica reads and writes again. */
async function ready(replicas: readonly Replica[]): Promise<void> {
  const isReady = async ({ port }: Replica): Promise<boolean> => {
    const signal = AbortSignal.timeout(5_000);
    return (await fetch(`http://127.0.0.1:${port}/readyz`, { signal })).status === 200;
  };
  for (const replica of replicas) {
    await until(() => isReady(replica), { timeout: 90_000, interval: 100, what: 'a replica is ready' });
  }
}

/** Between two answers, in milliseconds. */
function longestGap(operations: readonly Operation[]): number {
  const ends = operations.map(({ end }) => end).sort((a, b) => a - b);
  return Math.max(0, ...ends.slice(1).map((end, i) => end - ends[i]!));
}

async function storedItems(leader: Node, history: string): Promise<Item[]> {
  const rows = await leader.query(
    `SELECT convert_from(bytes, 'UTF8') AS text FROM kindred_objects o JOIN kindred_models m ON m.number = o.model
      WHERE m.kind = 'Item' AND name LIKE '${history}-%' ORDER BY name`,
    'kindred',
  );
  return rows.map(({ text }) => {
    const { metadata, spec } = JSON.parse(text as string);
    const slug = spec.slug?.slice(history.length + 1);
    const own = metadata.name.slice(history.length + 1);
    return { name: own, version: metadata.version, value: spec.value, ...(slug && { slug }) };
  });
}
