import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import type { MigrateProgress } from '../../src/store/migrate.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open.ts';
import type { TestAdapter } from '../servers.ts';
import { databaseAdapters } from '../servers.ts';

const claim = (key: string) => ({ hash: createHash('sha256').update(key).digest(), index: 'slug', key });

async function filled(adapter: TestAdapter) {
  const database = await adapter.create();
  const store = await openStore(database.url);
  for (const kind of ['Article', 'Author', 'Empty']) {
    const model = await store.modelNumber('demo.example.com', kind);
    if (kind === 'Empty') continue;
    for (let batch = 0; batch < 4; batch++) {
      const writes = Array.from({ length: 30 }, (_, i) => {
        const name = `n${batch * 30 + i}`;
        return { type: 'create', model, name, bytes: Buffer.from(`${kind} ${name}`), claim: [claim(name)] } as const;
      });
      await store.commit(writes, batch);
    }
    await store.commit(
      [
        { type: 'update', model, name: 'n1', bytes: Buffer.from('new') },
        { type: 'delete', model, name: 'n2', bytes: Buffer.from('end'), release: [{ hash: claim('n2').hash }] },
      ],
      9,
    );
  }
  const revision = await store.revision();
  for (const holder of ['me', 'you', 'me']) {
    const lease = await store.acquireLease('controller', holder, 1_000, 1);
    await store.releaseLease(lease!);
  }
  await store.close();
  return { database, revision };
}

const adapters = databaseAdapters();
const pairs = adapters.map((from, i) => [from, adapters[(i + 1) % adapters.length]!] as const);

for (const [from, to] of pairs) {
  describe(`migrate from ${from.name} to ${to.name}`, () => {
    it('moves everything: revisions, ids, unique values, the change log', async () => {
      const { database, revision } = await filled(from);
      const target = await to.create();
      const steps: MigrateProgress[] = [];
      const result = await migrate(database.url, target.url, { batch: 16, onProgress: (step) => steps.push(step) });
      assert.deepEqual(
        { ...result, hash: undefined },
        { revision, rows: 238, claims: 238, changes: 244, hash: undefined },
      );
      assert.deepEqual(steps.filter((step) => step.step === 'rows').at(-1), { step: 'rows', done: 238, total: 238 });
      const store = await openStore(target.url);
      const model = await store.modelNumber('demo.example.com', 'Author');
      assert.equal(await store.revision(), revision);
      assert.deepEqual(await store.commit([{ type: 'create', model, name: 'n1', bytes: Buffer.from('') }], 1), [
        { ok: false, reason: 'exists' },
      ]);
      const [next] = await store.commit(
        [{ type: 'create', model, name: 'n2', bytes: Buffer.from(''), claim: [claim('n2')] }],
        1,
      );
      assert.ok(next?.ok && next.revision === revision + 1);
      assert.equal((await store.changes(revision - 1, 10)).length, 2);
      const lease = await store.acquireLease('controller', 'me', 1_000, 1);
      assert.equal(lease?.token, 4, 'a fencing token is never given out again');
      await store.close();
      await assert.rejects(migrate(database.url, target.url), /holds data of its own/);
      await database.drop();
      await target.drop();
    });

    it('goes on after an interruption, with the same result', async () => {
      const { database } = await filled(from);
      const target = await to.create();
      let steps = 0;
      const interrupt = (): void => {
        if (++steps === 9) throw new Error('interrupted');
      };
      await assert.rejects(migrate(database.url, target.url, { batch: 16, onProgress: interrupt }), /interrupted/);
      const result = await migrate(database.url, target.url, { batch: 16 });
      const other = await to.create();
      const whole = await migrate(database.url, other.url);
      assert.deepEqual(result, whole);
      for (const one of [database, target, other]) await one.drop();
    });
  });
}
