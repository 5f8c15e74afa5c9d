/** A short run of what evolve-run.ts does at length. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { databaseAdapters } from '../servers.ts';
import { evolve } from './evolve.ts';

const adapter = databaseAdapters().find(({ kind }) => kind === 'postgres');

it('plugins: while replicas change their version, every write satisfies the contract that is active', {
  skip: adapter ? false : 'PostgreSQL is not among the databases of this run',
}, async () => {
  const database = await adapter!.create();
  const seed = Math.floor(Math.random() * 1e9);
  try {
    const { violations, ...history } = await evolve({ database: database.url, faults: 4, seed });
    assert.deepEqual(violations, [], `seed ${seed}`);
    assert.ok(history.activations > 0 && history.changes > 20, `seed ${seed}: ${JSON.stringify(history)}`);
  } finally {
    await database.drop();
  }
});
