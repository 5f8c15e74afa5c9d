/** A short run of what run.ts does at length. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { databaseAdapters } from '../servers.ts';
import { check } from './check.ts';
import { Replica, record } from './record.ts';

const adapter = databaseAdapters().find(({ kind }) => kind === 'postgres');

it('api: what clients of three replicas are answered has one order, while replicas are killed and paused', {
  skip: adapter ? false : 'PostgreSQL is not among the databases of this run',
}, async () => {
  const database = await adapter!.create();
  const replicas = [0, 1, 2].map(() => new Replica(database.url));
  try {
    await replicas[0]!.start();
    await Promise.all(replicas.slice(1).map((replica) => replica.start()));
    const history = await record({ replicas, history: 'h1', operations: 600, faults: true });
    assert.ok(history.kills > 0 && history.pauses > 0);
    assert.ok(history.log.length > 20, `${history.log.length} changes`);
    assert.deepEqual(check(history).violations, []);
  } finally {
    for (const replica of replicas) await replica.kill();
    await database.drop();
  }
});
