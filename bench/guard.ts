/**
 * `npm run bench:guard`: fails when the service does markedly less beside the limit than what is on record. It compares
 * processor time for one answer with that of node:http in the same run, which depends less than rates on what else the machine does.
 * `npm run bench:guard -- --write` makes this run the record.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { figure } from './figures.ts';
import type { Work } from './http.ts';
import { measureHttp, works } from './http.ts';

const { values } = parseArgs({
  options: { write: { type: 'boolean', default: false }, tolerance: { type: 'string', default: '0.3' } },
});
const file = join(import.meta.dirname, 'results', 'guard.json');
const { turns } = await measureHttp({ objects: 10_000, starts: 3, rounds: 2, seconds: 1 });
const now = Object.fromEntries(
  works.map((work) => {
    const { median } = figure(turns[work].map(({ limitCpu, serviceCpu }) => limitCpu / serviceCpu));
    return [work, Number(median.toFixed(3))];
  }),
) as Record<Work, number>;
if (values.write || !existsSync(file)) {
  writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`);
  console.table(now);
} else {
  const record = JSON.parse(readFileSync(file, 'utf8')) as Record<Work, number>;
  const rows = works.map((work) => {
    const least = record[work] * (1 - Number(values.tolerance));
    return { work, record: record[work], least: Number(least.toFixed(3)), now: now[work], ok: now[work] >= least };
  });
  console.table(rows);
  if (rows.some(({ ok }) => !ok)) process.exitCode = 1;
}
