/**
 * The long run: node --import ./test/sources.ts test/crash/faults-run.ts [--rounds 5] [--database postgres|mariadb]
 * Every I/O fault of the database servers in turn. Prints what was answered; exit code 1 at the first broken promise.
 */
import { parseArgs } from 'node:util';
import { databaseAdapters } from '../servers.ts';
import { faultRound, serverFaults } from './server-faults.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' }, database: { type: 'string' } } });
const here = databaseAdapters().map(({ kind }) => kind);
const faults = serverFaults.filter(
  ({ kind }) => here.includes(kind) && (values.database === undefined || values.database === kind),
);
if (faults.length === 0) throw new Error(`no database "${values.database}" here: expected postgres or mariadb`);
for (let round = 1; round <= Number(values.rounds); round++) {
  for (const fault of faults) {
    const result = await faultRound(fault);
    if (result) console.log(`round ${round}, ${fault.kind}, ${fault.title}:`, result);
  }
}
console.log('0 lost, 0 doubled, nothing there that was refused');
process.exit(0);
