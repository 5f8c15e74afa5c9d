/**
 * The long run: node test/api/fuzz-run.ts --requests 500000 --seed 1
 * Prints the answers by status as it goes, and ends with exit code 1 and the seed at the first answer that must not be.
 */
import { parseArgs } from 'node:util';
import type { FuzzReport } from './fuzz.ts';
import { fuzz } from './fuzz.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '500000' },
    raw: { type: 'string', default: '20000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
  },
});

let shown = 0;
function show(report: FuzzReport): void {
  if (report.sent < shown) return;
  shown = report.sent + 20_000;
  const refused = `${((100 * report.refused) / report.sent).toFixed(1)} % refused`;
  const turns = `longest turn ${Math.round(report.longestTurn)} ms, slowest eight ${Math.round(report.slowest)} ms`;
  console.log(`${report.sent} sent, ${refused}, ${turns}, ${JSON.stringify(report.statuses)}`);
}

const started = performance.now();
const options = { seed: Number(values.seed), requests: Number(values.requests), raw: Number(values.raw) };
const report = await fuzz({ ...options, onProgress: show });
shown = 0;
show(report);
console.log(`the longest turn was of ${report.longestBatch}`);
const seconds = Math.round((performance.now() - started) / 1000);
console.log(
  `seed ${report.seed}, ${seconds} s, heap ${report.heap.map((bytes) => Math.round(bytes / 1e6)).join(' → ')} MB`,
);
