/**
 * The long run: node --import ./test/sources.ts test/replicas/race-run.ts --rounds 10000 --database postgres|mariadb
 * 64 writers on three replicas, each a process. Exit code 1 at the first round without exactly one winner.
 */
import { Agent } from 'node:http';
import { parseArgs } from 'node:util';
import { Replica } from '../histories/record.ts';
import { databaseAdapters } from '../servers.ts';
import { race } from './race.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '10000' },
    database: { type: 'string', default: 'postgres' },
    writers: { type: 'string', default: '64' },
  },
});
const adapter = databaseAdapters().find((one) => one.kind === values.database && one.kind !== 'sqlite');
if (!adapter) throw new Error(`no database "${values.database}" here: expected postgres or mariadb`);
const database = await adapter.create();
const replicas = Array.from({ length: 3 }, () => new Replica(database.url));
process.once('exit', () => {
  for (const replica of replicas) void replica.kill();
});
for (const replica of replicas) await replica.start();
const urls = replicas.map(({ port }) => `http://127.0.0.1:${port}`);
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const held = new Set<number>();
const rounds = Number(values.rounds);
const started = Date.now();
for (let round = 1; round <= rounds; round++) {
  await race(agent, { urls, writers: Number(values.writers), value: `v${round}` }, held);
  if (round % 500 === 0 || round === rounds) {
    console.log(`${values.database}: ${round} rounds, ${Math.round((Date.now() - started) / 1000)} s`);
  }
}
console.log('exactly one winner each time');
for (const replica of replicas) await replica.kill();
await database.drop();
process.exit(0);
