/**
 * What it costs that every write on a shared store is compared with the generation of its model: CREATE and UPDATE of one process, in
 * turn with the generation and without it. Two processes that do the same differ by more than that. `npm run build && node bench/fence.ts [--database postgres|mariadb] [--pairs 20] [--writes 2000]`.
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { databaseAdapters } from '../test/servers.ts';
import { figure } from './figures.ts';
import { Remote } from './remote.ts';

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'postgres' },
    pairs: { type: 'string', default: '20' },
    writes: { type: 'string', default: '2000' },
  },
});
const adapter = databaseAdapters().find(({ kind }) => kind === values.database && kind !== 'sqlite');
if (!adapter) throw new Error(`no database "${values.database}" here: expected postgres or mariadb`);
const count = Number(values.writes);

interface Spent {
  readonly milliseconds: number;
  readonly cpu: number;
}

const database = await adapter.create();
const service = new Remote('process-fence.ts', [database.url]);
await service.ask('ready');
const tasks = ['create', 'update'] as const;
const ratios = {
  create: { milliseconds: [] as number[], cpu: [] as number[] },
  update: { milliseconds: [] as number[], cpu: [] as number[] },
};
// The first pair finds code that is not compiled yet.
for (let pair = 0; pair <= Number(values.pairs); pair++) {
  for (const task of tasks) {
    const spent = { with: { milliseconds: 0, cpu: 0 }, without: { milliseconds: 0, cpu: 0 } };
    for (const half of [0, 1]) {
      const fence = (pair + half) % 2 === 0;
      const part = 2 * pair + half;
      const order = { from: part * count, count, views: 1_000_000 + part, fence };
      spent[fence ? 'with' : 'without'] = await service.ask<Spent>(task, order);
    }
    if (pair === 0) continue;
    for (const one of ['milliseconds', 'cpu'] as const) ratios[task][one].push(spent.with[one] / spent.without[one]);
  }
}
/** The median, and the range in which it is with 95 % certainty, by the order of the pairs. */
const shown = (all: readonly number[]): string => {
  const sorted = all.toSorted((a, b) => a - b);
  const off = Math.floor(0.98 * Math.sqrt(sorted.length));
  const [low, high] = [sorted[(sorted.length >> 1) - off], sorted[(sorted.length >> 1) + off]];
  return `${figure(all).median.toFixed(3)} (${low?.toFixed(3)} to ${high?.toFixed(3)})`;
};
console.log(`${values.database}, ${values.pairs} pairs of ${count} writes, load average ${loadavg()[0]!.toFixed(1)}`);
for (const task of tasks) {
  const { milliseconds, cpu } = ratios[task];
  console.log(`${task}: with / without the fence: time ${shown(milliseconds)}, processor time ${shown(cpu)}`);
}
await service.end();
await database.drop();
process.exit(0);
