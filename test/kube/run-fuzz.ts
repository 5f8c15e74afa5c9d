/** `node --import ./test/sources.ts test/kube/run-fuzz.ts [--runs 100000] [--seed 1]` */
import { parseArgs } from 'node:util';
import { fuzz } from './fuzz.ts';
import { Facade } from './harness.ts';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '100000' }, seed: { type: 'string', default: '1' } },
});
const facade = new Facade();
await facade.start();
try {
  await fuzz(facade, { numRuns: Number(values.runs), seed: Number(values.seed) });
  console.log(`${values.runs} requests: every failure is a Status`);
} finally {
  await facade.stop();
}
