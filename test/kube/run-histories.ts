/**
 * Long runs of histories.ts: `node --import ./test/sources.ts test/kube/run-histories.ts [--changes 100000] [--seed 1]` follows services on
 * SQLite, each for 5,000 changes and two restarts; with `--database URL` it compares two replicas there.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Random } from '../query/random.ts';
import { replicasHistory, watchHistory } from './histories.ts';

const { values } = parseArgs({
  options: {
    changes: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    database: { type: 'string' },
  },
});
const random = new Random(Number(values.seed));
const changes = Number(values.changes);
if (values.database !== undefined) {
  await replicasHistory(values.database, { changes, random });
  console.log(`${changes} changes: two replicas show the same`);
} else {
  const part = Math.min(changes, 5_000);
  const restarts = 2;
  let events = 0;
  for (let done = part; done <= changes; done += part) {
    const folder = mkdtempSync(join(tmpdir(), 'kube-histories-'));
    try {
      events += await watchHistory(`sqlite:${join(folder, 'kindred.db')}`, { changes: part, restarts, random });
    } finally {
      rmSync(folder, { recursive: true });
    }
    const services = done / part;
    console.log(`${done} changes, ${services * restarts} restarts, ${events} events in 10 watches: no difference`);
  }
}
