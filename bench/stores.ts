/**
 * Writes of one and of two stores on two database servers, beside what each server takes by itself, in turn in one run:
 *   node bench/stores.ts [--database postgres|mariadb] [--rounds 9] [--writes 8000] [--writers 64]
 * One process serves two models. Its writers create objects of one model, in the default store, or half of them of each model.
 * The ceiling is rows of the same bytes put straight into a table, 64 in a transaction. All of it shares the cores of the machine.
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import pino from 'pino';
import { defineModel } from '../src/model/define.ts';
import { Type } from '../src/model/type.ts';
import { createService } from '../src/service.ts';
import type { ServerKind } from '../test/servers.ts';
import { ownServer } from '../test/servers.ts';
import { figure, shown } from './figures.ts';
import type { Raw } from './raw.ts';
import { body, raws } from './raw.ts';

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'postgres' },
    rounds: { type: 'string', default: '9' },
    writes: { type: 'string', default: '8000' },
    writers: { type: 'string', default: '64' },
  },
});
const kind = values.database as ServerKind;
if (kind !== 'postgres' && kind !== 'mariadb') throw new Error('--database: expected postgres or mariadb');
const count = Number(values.writes);
const writers = Number(values.writers);

const servers = [await ownServer(kind, {}), await ownServer(kind, {})] as const;
for (const server of servers) await server.query('CREATE DATABASE bench');
const [first, second] = servers.map((server) => server.url('bench')) as [string, string];
const tables = await Promise.all([raws[kind](first), raws[kind](second)]);

const model = (group: string) =>
  defineModel({
    gvk: { group, version: 'v1', kind: 'Item', singular: 'item', plural: 'items' },
    spec: Type.Object({ content: Type.String() }),
  });
const here = model('here.example.com');
const there = model('there.example.com');
const service = await createService({
  database: first,
  stores: { second: { database: second } },
  placement: [{ model: '*.there.example.com', store: 'second' }],
  port: 0,
  auth: false,
  logger: pino({ level: 'silent' }),
});
for (const one of [here, there]) service.schemeManager.register(one);
await service.start();
const spec = JSON.parse(body.toString()) as { content: string };

let name = 0;
async function create(of: typeof here, writes: number, by: number): Promise<void> {
  let left = writes;
  const write = async () => {
    while (left-- > 0) await service.client.create(of, { metadata: { name: `object-${name++}` }, spec });
  };
  await Promise.all(Array.from({ length: by }, write));
}

let id = 0;
async function insert(table: Raw, writes: number): Promise<void> {
  for (let left = writes; left > 0; left -= 64) {
    await table.insert(Array.from({ length: 64 }, () => id++));
  }
}

const half = count / 2;
const turns: Readonly<Record<string, () => Promise<unknown>>> = {
  'the first server by itself': () => insert(tables[0], count),
  'the second server by itself': () => insert(tables[1], count),
  'both servers at once': () => Promise.all(tables.map((table) => insert(table, half))),
  'one store': () => create(here, count, writers),
  'two stores': () => Promise.all([create(here, half, writers / 2), create(there, half, writers / 2)]),
};
const rates = new Map(Object.keys(turns).map((turn) => [turn, [] as number[]]));
// The first round finds code that is not compiled yet.
for (let round = 0; round <= Number(values.rounds); round++) {
  for (const [turn, work] of Object.entries(turns)) {
    const started = performance.now();
    await work();
    if (round > 0) rates.get(turn)!.push((count / (performance.now() - started)) * 1_000);
  }
}
console.log(`${kind}, ${values.rounds} rounds of ${count} writes, load average ${loadavg()[0]!.toFixed(1)}`);
for (const [turn, all] of rates) console.log(`${turn}: ${shown(figure(all), 0)} rows a second`);
const ratio = (of: string, to: string): string =>
  shown(figure(rates.get(of)!.map((rate, round) => rate / rates.get(to)![round]!)), 2);
console.log(`two stores to one: ${ratio('two stores', 'one store')}`);
console.log(`one store to the first server by itself: ${ratio('one store', 'the first server by itself')}`);
console.log(`two stores to both servers at once: ${ratio('two stores', 'both servers at once')}`);
await service.stop();
await Promise.all(tables.map((table) => table.close()));
for (const server of servers) server.stop();
process.exit(0);
