/**
 * The long run over two stores: node --import ./test/sources.ts test/histories/placed-run.ts --histories 200 --database postgres|mariadb
 * Three replicas serve a model in each of two database servers; in each history one of the servers is killed and started
 * again, and replicas are killed and paused. What clients were answered about each model is checked as in run.ts.
 */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { until } from '../../src/testing/until.ts';
import type { DatabaseServer, ServerKind } from '../servers.ts';
import { ownServer } from '../servers.ts';
import { check } from './check.ts';
import { itemsPath, placedItemsPath } from './item.ts';
import type { Recorded } from './record.ts';
import { Replica, record } from './record.ts';

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '200' },
    operations: { type: 'string', default: '1500' },
    database: { type: 'string', default: 'postgres' },
    clients: { type: 'string', default: '8' },
  },
});
const kind = values.database as ServerKind;
if (kind !== 'postgres' && kind !== 'mariadb') throw new Error('--database: expected postgres or mariadb');
const servers = [await ownServer(kind, {}), await ownServer(kind, {})] as const;
for (const server of servers) await server.query('CREATE DATABASE live');
const [first, second] = servers.map((server) => server.url('live'));
const program = new URL('./placed-replica.ts', import.meta.url).pathname;
const replicas = [0, 1, 2].map(() => new Replica(first!, program));
process.once('exit', () => {
  for (const replica of replicas) void replica.kill();
});
await replicas[0]!.start(second!);
await Promise.all(replicas.slice(1).map((replica) => replica.start(second!)));
const count = Number(values.histories);
const started = Date.now();
const sum = { operations: 0, changes: 0, unknown: 0, servers: 0, kills: 0, pauses: 0, searched: 0 };
for (let i = 1; i <= count; i++) {
  const options = {
    replicas,
    history: `h${i}`,
    operations: Number(values.operations),
    clients: Number(values.clients),
  };
  const victim = servers[i % 2]!;
  const [main, placed] = await Promise.all([
    record({ ...options, faults: false, meanwhile: () => killed(victim) }),
    // A replica does not start while a server is away.
    record({ ...options, faults: true, path: placedItemsPath, restart }),
  ]);
  judge(i, itemsPath, main);
  judge(i, placedItemsPath, placed);
  sum.servers++;
  if (i % 10 === 0 || i === count)
    console.log(`${kind}, ${i} histories, ${Math.round((Date.now() - started) / 1000)} s:`, JSON.stringify(sum));
}
console.log('0 violations');
for (const replica of replicas) await replica.kill();
for (const server of servers) server.stop();
process.exit(0);

function restart(replica: Replica): Promise<boolean> {
  return until(() => replica.start(second!).then(() => true), {
    timeout: 60_000,
    interval: 200,
    what: 'a replica starts',
  });
}

async function killed(server: DatabaseServer): Promise<void> {
  await pause(200 + Math.random() * 1_000);
  await server.kill();
  await pause(Math.random() * 1_500);
  await server.start();
}

function judge(i: number, path: string, history: Recorded): void {
  const { violations, searched } = check(history);
  sum.operations += history.operations.length;
  sum.changes += history.log.length;
  sum.unknown += history.operations.filter(({ outcome }) => outcome.kind === 'unknown').length;
  sum.kills += history.kills;
  sum.pauses += history.pauses;
  sum.searched += searched;
  if (violations.length === 0) return;
  const file = join(tmpdir(), `kindred-history-placed-${kind}-${Date.now()}.json`);
  writeFileSync(file, JSON.stringify(history));
  console.error(`history ${i} of ${path}: ${violations.length} violations; all of it is in ${file}`);
  for (const violation of violations.slice(0, 20)) console.error(`  ${violation}`);
  process.exit(1);
}
