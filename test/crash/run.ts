/**
 * The long run: node --import ./test/sources.ts test/crash/run.ts --rounds 300 --database sqlite|postgres|mariadb [--kill service|server|indexes|steps]
 * With `indexes`, the process writes snapshots of its indexes every second, and each start after a kill is compared with a build from scratch.
 * With `steps`, it is killed before and after each call of the store by which another version of a model becomes active, is finalized, and
 * rewrites and changes what is stored; there are as many rounds as calls.
 * Prints what was compared; exit code 1 at the first difference.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { DatabaseKind } from '../servers.ts';
import { databaseAdapters, mariadbServer, postgresServer } from '../servers.ts';
import { crashRound, Witness } from './crash.ts';
import type { IndexTally } from './index-kills.ts';
import { indexKill } from './index-kills.ts';
import { killAtSteps } from './steps.ts';

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
if (values.kill === 'steps') {
  const kills = await killAtSteps(adapter, undefined, (count, call) =>
    console.log(`${kind}, ${count} kills, call ${call}`),
  );
  console.log(`${kind}, ${kills} kills: every object rewritten and changed once, every unique value claimed`);
  process.exit(0);
}
const database = await adapter.create();
const folder = mkdtempSync(join(tmpdir(), 'kindred-crash-'));
const server = values.kill === 'server' ? await (kind === 'postgres' ? postgresServer() : mariadbServer()) : undefined;
const witness = new Witness();
const indexes: IndexTally = { kills: 0, snapshot: 0, build: 0, replayed: 0 };
const rounds = Number(values.rounds);
const started = Date.now();
for (let round = 1; round <= rounds; round++) {
  if (values.kill === 'indexes') await indexKill(database.url, folder, round, indexes);
  else await crashRound({ url: database.url, ...(server && { server }) }, witness, String(round));
  if (round % 25 === 0 || round === rounds) {
    console.log(
      `${kind}, ${round} kills of the ${values.kill}, ${Math.round((Date.now() - started) / 1000)} s:`,
      values.kill === 'indexes' ? indexes : witness.tally,
    );
  }
}
rmSync(folder, { recursive: true, force: true });
if (values.kill === 'indexes') console.log('0 differences between indexes from a snapshot and built ones');
else console.log('0 lost, 0 doubled, no gap, rows and unique values as the change log says');
await database.drop();
process.exit(0);
