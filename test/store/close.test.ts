import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { openStore } from '../../src/store/open.ts';
import { startProxy } from '../replicas/proxy.ts';
import { databaseAdapters } from '../servers.ts';

for (const adapter of databaseAdapters().filter(({ kind }) => kind !== 'sqlite')) {
  describe(`closing a store on ${adapter.name}`, { timeout: 60_000 }, () => {
    it('ends when the network lets nothing pass any more', async () => {
      const database = await adapter.create();
      const proxy = await startProxy(database.url);
      after(async () => {
        await proxy.close();
        await database.drop();
      });
      const store = await openStore(proxy.url);
      store.onCommit(() => undefined);
      const model = await store.modelNumber('demo.example.com', 'Article');
      const [made] = await store.commit(
        [{ type: 'create', model, name: 'a', bytes: Buffer.from('{}'), claim: [] }],
        Date.now(),
      );
      assert.ok(made?.ok);
      const snapshot = await store.snapshot();
      proxy.freeze();
      await store.close();
      await assert.rejects(async () => snapshot.get(model, [made.id]));
      await snapshot.close();
    });
  });
}
