/**
 * The long run: npm run build && node --import ./test/sources.ts test/histories/evolve-run.ts --histories 300 --faults 20 --database postgres|mariadb [--seed N]
 * SQLite is no choice: one process serves it. History i of a run has the seed N + i - 1; `--histories 1 --seed` makes its choices again.
 * Three replicas, of the package that is built, whose plugin changes its version at random. Exit code 1 at the first violation.
 */
import { parseArgs } from 'node:util';
import type { DatabaseKind } from '../servers.ts';
import { databaseAdapters } from '../servers.ts';
import type { Evolved } from './evolve.ts';
import { evolve } from './evolve.ts';

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '300' },
    faults: { type: 'string', default: '20' },
    database: { type: 'string', default: 'postgres' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
  },
});
const kind = values.database as DatabaseKind;
const adapter = databaseAdapters().find((one) => one.kind === kind && kind !== 'sqlite');
if (!adapter) throw new Error(`no database "${kind}" here: expected postgres or mariadb`);
const count = Number(values.histories);
const firstSeed = Number(values.seed);
if (!Number.isInteger(firstSeed)) throw new Error(`--seed ${values.seed}: expected a whole number`);
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
  const seed = firstSeed + i - 1;
  const begun = Date.now();
  const database = await adapter.create();
  let evolved: Evolved;
  try {
    evolved = await evolve({ database: database.url, faults: Number(values.faults), seed, isBuilt: true });
  } catch (error) {
    console.error(`history ${i}, seed ${seed}, after ${secondsSince(begun)} s:`, error);
    process.exit(1);
  }
  const { violations, ...history } = evolved;
  await database.drop();
  for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += history[name];
  console.log(`${kind}, history ${i} of ${count}, seed ${seed}, ${secondsSince(begun)} s:`, JSON.stringify(history));
  if (violations.length === 0) continue;
  console.error(`history ${i}, seed ${seed}: ${violations.length} violations`);
  for (const violation of violations.slice(0, 20)) console.error(`  ${violation}`);
  process.exit(1);
}
console.log(`${kind}, ${count} histories, ${secondsSince(started)} s, 0 violations:`, JSON.stringify(sum));
process.exit(0);

function secondsSince(moment: number): number {
  return Math.round((Date.now() - moment) / 1000);
}
