/**
 * The long run: node --import ./test/sources.ts test/histories/run.ts --histories 300 --operations 3000 --database postgres|mariadb
 * Three replicas, killed and paused; each history checked by the replay, a sample of its objects by the search.
 * Exit code 1 at the first violation; the history is then kept in a file.
 */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { DatabaseKind } from '../servers.ts';
import { databaseAdapters } from '../servers.ts';
import { check } from './check.ts';
import { Replica, record } from './record.ts';

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '300' },
    operations: { type: 'string', default: '3000' },
    database: { type: 'string', default: 'postgres' },
    replicas: { type: 'string', default: '3' },
    clients: { type: 'string', default: '16' },
  },
});
const kind = values.database as DatabaseKind;
const adapter = databaseAdapters().find((one) => one.kind === kind && kind !== 'sqlite');
if (!adapter) throw new Error(`no database "${kind}" here: expected postgres or mariadb`);
const database = await adapter.create();
const replicas = Array.from({ length: Number(values.replicas) }, () => new Replica(database.url));
process.once('exit', () => {
  for (const replica of replicas) void replica.kill();
});
await replicas[0]!.start();
await Promise.all(replicas.slice(1).map((replica) => replica.start()));
const count = Number(values.histories);
const started = Date.now();
const sum = { operations: 0, changes: 0, unknown: 0, kills: 0, pauses: 0, searched: 0 };
for (let i = 1; i <= count; i++) {
  const options = { replicas, history: `h${i}`, operations: Number(values.operations), faults: true };
  const history = await record({ ...options, clients: Number(values.clients) });
  const { violations, searched } = check(history);
  if (violations.length > 0) {
    const file = join(tmpdir(), `kindred-history-${kind}-${Date.now()}.json`);
    writeFileSync(file, JSON.stringify(history));
    console.error(`history ${i}: ${violations.length} violations; all of it is in ${file}`);
    for (const violation of violations.slice(0, 20)) console.error(`  ${violation}`);
    process.exit(1);
  }
  sum.operations += history.operations.length;
  sum.changes += history.log.length;
  sum.unknown += history.operations.filter(({ outcome }) => outcome.kind === 'unknown').length;
  sum.kills += history.kills;
  sum.pauses += history.pauses;
  sum.searched += searched;
  if (i % 10 === 0 || i === count) {
    console.log(`${kind}, ${i} histories, ${Math.round((Date.now() - started) / 1000)} s:`, JSON.stringify(sum));
  }
}
console.log('0 violations');
for (const replica of replicas) await replica.kill();
await database.drop();
process.exit(0);
