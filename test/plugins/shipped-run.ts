/** `node --import ./test/sources.ts test/plugins/shipped-run.ts --histories 10000 --seed 1` */
import { parseArgs } from 'node:util';
import { Random } from '../query/random.ts';
import { cleanUp } from './kit.ts';
import { shippedRun } from './shipped-runs.ts';

const { values } = parseArgs({
  options: { histories: { type: 'string', default: '10000' }, seed: { type: 'string', default: '1' } },
});
const size = 250;
const total = { edits: 0, applies: 0, conflicts: 0 };
for (let done = 0, seed = Number(values.seed); done < Number(values.histories); done += size, seed++) {
  const run = await shippedRun(size, new Random(seed), `seed ${seed}`);
  for (const key of ['edits', 'applies', 'conflicts'] as const) total[key] += run[key];
  await cleanUp();
  console.log(`${done + size} histories, ${JSON.stringify(total)}`);
}
