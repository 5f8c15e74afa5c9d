/** Stored objects that are rewritten to another version, beside writers, kills and other replicas. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseAdapters } from '../servers.ts';
import { rewrites } from './rewrites.ts';

for (const adapter of databaseAdapters()) {
  describe(`objects that are rewritten on ${adapter.name}`, () => {
    const run = async (options: { kills: number; rate: number }) => {
      const database = await adapter.create();
      try {
        const replicas = adapter.kind === 'sqlite' ? 1 : 2;
        const common = { database: database.url, objects: 2_000, writers: 4, replicas };
        const { violations, writes } = await rewrites({ ...common, ...options });
        assert.deepEqual(violations, []);
        assert.ok(writes > 0);
      } finally {
        await database.drop();
      }
    };

    it('model evolution: beside four writers no version moves, no change is told, and contents are equal', () =>
      run({ kills: 0, rate: 2_000 }));

    it('model evolution: a rewrite goes on after all replicas were killed', () => run({ kills: 1, rate: 500 }));
  });
}
