/**
 * The long run: node --import tsx test/crash/run.ts --rounds 300 --database sqlite|postgres|mariadb [--kill service|server]
 * Prints what was compared; exit code 1 at the first difference.
 */
import { parseArgs } from 'node:util';
import type { DatabaseKind } from '../servers.ts';
import { databaseAdapters, mariadbServer, postgresServer } from '../servers.ts';
import { crashRound, Witness } from './crash.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '300' },
    database: { type: 'string', default: 'sqlite' },
    kill: { type: 'string', default: 'service' },
  },
});
const kind = values.database as DatabaseKind;
const adapter = databaseAdapters().find((one) => one.kind === kind);
if (!adapter) throw new Error(`no database "${kind}" here: expected sqlite, postgres or mariadb`);
if (values.kill === 'server' && kind === 'sqlite') throw new Error('SQLite has no server to kill');
const database = await adapter.create();
const server = values.kill === 'server' ? await (kind === 'postgres' ? postgresServer() : mariadbServer()) : undefined;
const witness = new Witness();
const rounds = Number(values.rounds);
const started = Date.now();
for (let round = 1; round <= rounds; round++) {
  await crashRound({ url: database.url, ...(server && { server }) }, witness, String(round));
  if (round % 25 === 0 || round === rounds) {
    console.log(
      `${kind}, ${round} kills of the ${values.kill}, ${Math.round((Date.now() - started) / 1000)} s:`,
      witness.tally,
    );
  }
}
console.log('0 lost, 0 doubled, no gap, rows and unique values as the change log says');
await database.drop();
process.exit(0);
