import assert from 'node:assert/strict';
import { it } from 'node:test';
import { databaseAdapters } from '../servers.ts';
import { runLivePages } from './live-pages.ts';
import { runSessions } from './sessions.ts';

const seed = Date.now() % 1_000_000;

it('watch: every stream is the slice of the change log that its selection sees, through reconnects, restarts and a log that is compacted', async (t) => {
  t.diagnostic(`seed ${seed}`);
  const result = await runSessions({ sessions: 800, seed, restart: 300, keep: 500 });
  t.diagnostic(JSON.stringify(result));
  assert.equal(result.sessions, 800);
  assert.ok(result.events > 5_000 && result.resumed > 100, JSON.stringify(result));
  assert.ok(result.http > 300 && result.slow > 10 && result.restarts === 2, JSON.stringify(result));
});

it('watch: the events of a live page, applied in order, give the list of the same revision', async (t) => {
  t.diagnostic(`seed ${seed}`);
  const result = await runLivePages({ changes: 2_000, seed });
  assert.ok(result.compared > 200, JSON.stringify(result));
});

for (const adapter of databaseAdapters().filter(({ kind }) => kind !== 'sqlite')) {
  it(`watch: sessions that change the replica on ${adapter.name} see every change once, in order`, async (t) => {
    t.diagnostic(`seed ${seed}`);
    const database = await adapter.create();
    try {
      const result = await runSessions({
        sessions: 120,
        seed,
        width: 100,
        restart: 60,
        keep: 500,
        replicas: 2,
        database: database.url,
      });
      assert.ok(result.sessions === 120 && result.resumed > 50 && result.restarts === 1, JSON.stringify(result));
    } finally {
      await database.drop();
    }
  });
}
