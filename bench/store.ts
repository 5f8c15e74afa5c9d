/**
 * Durable writes of each store beside the database's own ceiling, in pairs in the same run:
 *   node bench/store.ts [--rounds 5] [--batches 60] [--out bench/results/store.json]
 * `DATABASES=sqlite,postgres,mariadb` narrows it.
 * The ceiling is the same bytes put straight into a table (id, name, bytes) of the same database by one process, one
 * durable transaction for a batch of the same size. A row of the store is an object, a line of the change log with the
 * same bytes, and on a server one unique value. The processor time is that of this process, so all of it with SQLite.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { CommitQueue } from '../src/store/commit-queue.ts';
import { openStore } from '../src/store/open.ts';
import type { Store, Write, WriteResult } from '../src/store/store.ts';
import { databaseAdapters } from '../test/servers.ts';
import { body, raws } from './raw.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    batches: { type: 'string', default: '60' },
    out: { type: 'string', default: 'bench/results/store.json' },
  },
});
const rounds = Number(values.rounds);
const batches = Number(values.batches);

function creation({ claims }: Store, model: number, number: number): Write {
  const write: Write = { type: 'create', model, name: `object-${number}`, bytes: body };
  if (!claims) return write;
  const key = `slug-${number}`;
  return { ...write, claim: [{ hash: createHash('sha256').update(key).digest(), index: 'spec.slug', key }] };
}

/** Of the row as its writer saw it, as every update of the service is. */
function update(write: Write, result: WriteResult): Write {
  if (!result.ok) throw new Error(result.reason);
  return { ...write, type: 'update', claim: [], expected: { id: result.id, revision: result.revision } };
}

const median = (list: readonly number[]): number => list.toSorted((a, b) => a - b)[list.length >> 1]!;

async function rate(rows: number, work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return (rows / (performance.now() - started)) * 1000;
}

async function throughQueue(store: Store, model: number, from: number, count: number): Promise<number> {
  const queue = new CommitQueue(store, { now: Date.now });
  const latencies: number[] = [];
  let next = from;
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      while (next < from + count) {
        const started = performance.now();
        await queue.commit(creation(store, model, next++));
        latencies.push(performance.now() - started);
      }
    }),
  );
  await queue.stop();
  return latencies.toSorted((a, b) => a - b)[Math.floor(latencies.length * 0.99)]!;
}

/** Of one database and one size of batches: rows a second in each round. */
interface StoreRun {
  readonly database: string;
  readonly batch: number;
  readonly raw: number[];
  readonly create: number[];
  /** Microseconds of processor time of a creation. */
  readonly createCpu: number[];
  readonly update: number[];
}

const runs: StoreRun[] = [];

for (const adapter of databaseAdapters()) {
  const database = await adapter.create();
  const store = await openStore(database.url);
  const raw = await raws[adapter.kind](database.url);
  const model = await store.modelNumber('bench.example.com', 'Article');
  let number = 0;
  for (const size of [32, 256]) {
    const results: StoreRun = { database: adapter.kind, batch: size, raw: [], create: [], createCpu: [], update: [] };
    runs.push(results);
    for (let round = 0; round < rounds; round++) {
      const count = Math.ceil((batches * 32) / size);
      const first = number;
      const work = Array.from({ length: count }, () =>
        Array.from({ length: size }, () => creation(store, model, number++)),
      );
      results.raw.push(
        await rate(count * size, async () => {
          for (let i = 0; i < count; i++) await raw.insert(work[i]!.map((_, k) => first + i * size + k));
        }),
      );
      const created: (readonly WriteResult[])[] = [];
      const before = process.cpuUsage();
      results.create.push(
        await rate(count * size, async () => {
          for (const batch of work) created.push(await store.commit(batch, 1));
        }),
      );
      const { user, system } = process.cpuUsage(before);
      results.createCpu.push((user + system) / (count * size));
      const updates = work.map((batch, at) => batch.map((write, i) => update(write, created[at]![i]!)));
      results.update.push(
        await rate(count * size, async () => {
          for (const batch of updates) await store.commit(batch, 1);
        }),
      );
    }
    const [ceiling, create, updated] = [median(results.raw), median(results.create), median(results.update)];
    const spread = `${Math.round(Math.min(...results.create))} to ${Math.round(Math.max(...results.create))}`;
    console.log(
      `${adapter.kind}, batches of ${size}: raw ${Math.round(ceiling)} rows/s; create ${Math.round(create)} (${spread}; ${(create / ceiling).toFixed(2)} of raw), ${median(results.createCpu).toFixed(1)} µs of processor time each; update ${Math.round(updated)} (${(updated / ceiling).toFixed(2)})`,
    );
  }
  const total = batches * 32 * rounds;
  let late = 0;
  const acknowledged = await rate(total, async () => {
    late = await throughQueue(store, model, number, total);
  });
  console.log(
    `${adapter.kind}, 32 clients through the commit queue: ${Math.round(acknowledged)} acknowledged creates/s, p99 ${late.toFixed(1)} ms`,
  );
  await raw.close();
  await store.close();
  await database.drop();
}
const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version, load: loadavg()[1] };
mkdirSync(dirname(values.out), { recursive: true });
writeFileSync(
  values.out,
  `${JSON.stringify({ machine: { ...machine, time: new Date().toISOString() }, runs }, null, 2)}\n`,
);
process.exit(0);
