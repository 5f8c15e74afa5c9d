/**
 * The long run: npm run build && node --import ./test/sources.ts test/histories/evolve-run.ts --histories 300 --faults 20 --database postgres|mariadb
 * Three replicas, of the package that is built, whose plugin changes its version at random. Exit code 1 at the first violation.
 */
import { parseArgs } from 'node:util';
import type { DatabaseKind } from '../servers.ts';
import { databaseAdapters } from '../servers.ts';
import { evolve } from './evolve.ts';

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '300' },
    faults: { type: 'string', default: '20' },
    database: { type: 'string', default: 'postgres' },
  },
});
const kind = values.database as DatabaseKind;
const adapter = databaseAdapters().find((one) => one.kind === kind && kind !== 'sqlite');
if (!adapter) throw new Error(`no database "${kind}" here: expected postgres or mariadb`);
const count = Number(values.histories);
const started = Date.now();
const sum = {
  operations: 0,
  changes: 0,
  activations: 0,
  moved: 0,
  replaced: 0,
  killed: 0,
  paused: 0,
  refused: 0,
  outdated: 0,
};
for (let i = 1; i <= count; i++) {
  const database = await adapter.create();
  const { violations, ...history } = await evolve({
    database: database.url,
    faults: Number(values.faults),
    isBuilt: true,
  });
  await database.drop();
  for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += history[name];
  console.log(`${kind}, ${i} histories, ${Math.round((Date.now() - started) / 1000)} s:`, JSON.stringify(sum));
  if (violations.length === 0) continue;
  console.error(`history ${i}: ${violations.length} violations`);
  for (const violation of violations.slice(0, 20)) console.error(`  ${violation}`);
  process.exit(1);
}
console.log('0 violations');
process.exit(0);
