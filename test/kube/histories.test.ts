/** Small runs of histories.ts; `run-histories.ts` makes long ones. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Random } from '../query/random.ts';
import { databaseAdapters } from '../servers.ts';
import { replicasHistory, watchHistory } from './histories.ts';

test('native watches and those of Kubernetes clients tell the same, over restarts', { timeout: 240_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kube-histories-'));
  const seed = Math.floor(Math.random() * 2 ** 31);
  try {
    const database = `sqlite:${join(folder, 'kindred.db')}`;
    await watchHistory(database, { changes: 1_000, restarts: 2, random: new Random(seed) });
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

for (const adapter of databaseAdapters().filter(({ kind }) => kind !== 'sqlite')) {
  test(`two replicas over ${adapter.name} show the same`, { timeout: 240_000 }, async () => {
    const database = await adapter.create();
    const seed = Math.floor(Math.random() * 2 ** 31);
    try {
      await replicasHistory(database.url, { changes: 300, random: new Random(seed) });
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
    } finally {
      await database.drop();
    }
  });
}
