/**
 * The long run: node test/client/import-run.ts --runs 200 --objects 10000 [--seed N] [--only RUN]
 * Each run imports so many objects through a proxy that refuses, cuts, delays and loses answers at random. Prints a
 * table; exit code 1 when an object was lost, doubled or reported wrongly.
 */
import { parseArgs } from 'node:util';
import { Random } from '../query/random.ts';
import { importRun } from './import-runs.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '200' },
    objects: { type: 'string', default: '10000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    /** Number of the one run that is to be done again. */
    only: { type: 'string' },
  },
});
const [runs, objects, seed] = [Number(values.runs), Number(values.objects), Number(values.seed)];
const started = Date.now();
const tally = { runs: 0, complete: 0, named: 0, wrong: 0 };
const faults = new Map<string, number>();
console.log(`seed ${seed}`);
for (let run = 1; run <= runs; run++) {
  if (values.only !== undefined && run !== Number(values.only)) continue;
  const result = await importRun(objects, new Random(seed * 100_003 + run));
  tally.runs++;
  for (const [kind, count] of result.faults) faults.set(kind, (faults.get(kind) ?? 0) + count);
  if (result.wrong !== undefined) {
    tally.wrong++;
    console.log(
      `run ${run}: ${result.wrong} (exit code ${result.code}); again: --seed ${seed} --objects ${objects} --only ${run}`,
    );
    console.log(result.outcome.stderr.slice(0, 2_000));
  } else if (result.code === 0) tally.complete++;
  else tally.named++;
  if (run % 10 === 0) console.log(`${run} runs, ${Math.round((Date.now() - started) / 1000)} s`);
}
console.table({
  runs: tally.runs,
  'objects in each': objects,
  ...Object.fromEntries([...faults].sort().map(([kind, count]) => [`fault: ${kind}`, count])),
  'exit 0, all there': tally.complete,
  'exit 1, the difference named': tally.named,
  wrong: tally.wrong,
});
process.exitCode = tally.wrong > 0 ? 1 : 0;
