import assert from 'node:assert/strict';
import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { after, describe, it } from 'node:test';
import { openStore } from '../../src/store/open.ts';
import type { Store, Write } from '../../src/store/store.ts';
import { startProxy } from '../replicas/proxy.ts';
import type { DatabaseServer } from '../servers.ts';
import { databaseAdapters, mariadbServer, postgresServer } from '../servers.ts';

/** A way to the server that can be cut at the commit. */
class Cutter {
  /** What happens when a commit comes by: it passes, is swallowed or held, or passes while its answer does not; then the line is cut. */
  atCommit: 'pass' | 'swallow' | 'hold' | 'lose answer' = 'pass';
  /** Sends what was held, and resolves when it was answered. */
  deliver: () => Promise<void> = async () => undefined;
  /** Refuse further connections once the line was cut. */
  stayCut = false;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  #cut = false;

  private constructor(target: { host: string; port: number }) {
    this.#server = createServer((client) => {
      if (this.#cut && this.stayCut) {
        client.destroy();
        return;
      }
      const upstream = connect(target);
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          this.#sockets.delete(socket);
          client.destroy();
          if (!this.#cut) upstream.destroy();
        });
      }
      let silent = false;
      let held = false;
      client.on('data', (chunk) => {
        if (this.atCommit === 'pass' || !/COMMIT(?!T)/.test(chunk.toString('latin1'))) {
          upstream.write(chunk);
          return;
        }
        silent = this.atCommit === 'lose answer';
        held = this.atCommit === 'hold';
        if (held) {
          this.deliver = () =>
            new Promise((resolve) => {
              upstream.once('data', () => resolve());
              upstream.write(chunk);
            });
        }
        this.#cut = true;
        this.atCommit = 'pass';
        if (silent) upstream.write(chunk, () => setTimeout(() => this.#cutFrom(client), 100));
        else this.#cutFrom(client);
      });
      upstream.on('data', (chunk) => {
        if (!silent && !held) client.write(chunk);
      });
      client.on('close', () => {
        if (!held) setTimeout(() => upstream.destroy(), silent ? 500 : 0);
      });
    });
  }

  #cutFrom(client: Socket): void {
    if (this.stayCut) for (const socket of this.#sockets) socket.destroy();
    else client.destroy();
  }

  static async before(url: string): Promise<{ proxy: Cutter; url: string }> {
    const target = new URL(url);
    const proxy = new Cutter({ host: target.hostname, port: Number(target.port) });
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    target.port = String((proxy.#server.address() as { port: number }).port);
    return { proxy, url: target.href };
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const creation = (model: number, name: string): Write => ({ type: 'create', model, name, bytes: Buffer.from(name) });

async function names(store: Store, model: number): Promise<string[]> {
  return (await store.scan(model, 0, 100)).map((row) => row.name);
}

async function eventually<T>(task: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + 20_000;
  for (;;) {
    try {
      return await task();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Milliseconds that a busy machine may add; the next longer time-out is further away than that. */
const busy = 1_500;

/** The promise must be refused with the code within the milliseconds that were promised. */
async function refusedWithin(milliseconds: number, code: string, task: Promise<unknown>): Promise<void> {
  const started = performance.now();
  await assert.rejects(task, { code });
  const took = performance.now() - started;
  assert.ok(took <= milliseconds + busy, `${took} ms`);
}

const unsafe: Record<
  DatabaseServer['kind'],
  { make: (database: string) => string; mend: (database: string) => string }
> = {
  postgres: {
    make: (database) => `ALTER DATABASE ${database} SET synchronous_commit = off`,
    mend: (database) => `ALTER DATABASE ${database} RESET synchronous_commit`,
  },
  mariadb: {
    make: () => 'SET GLOBAL innodb_flush_log_at_trx_commit = 2',
    mend: () => 'SET GLOBAL innodb_flush_log_at_trx_commit = 1',
  },
};

for (const adapter of databaseAdapters().filter((one) => one.kind !== 'sqlite')) {
  const kind = adapter.kind as DatabaseServer['kind'];
  const server = (): Promise<DatabaseServer> => (kind === 'postgres' ? postgresServer() : mariadbServer());

  describe(`${adapter.name} as a server`, () => {
    it('errors: away, it answers NotReady within 2 s, and is used again when it is back', async () => {
      const database = await adapter.create();
      const store = await openStore(database.url);
      const model = await store.modelNumber('g', 'K');
      await store.commit([creation(model, 'a')], 1);
      const running = await server();
      await running.kill();
      try {
        await refusedWithin(2_000, 'NotReady', Promise.resolve(store.revision()));
        await refusedWithin(2_000, 'NotReady', store.commit([creation(model, 'b')], 1));
      } finally {
        await running.start();
      }
      await eventually(() => store.commit([creation(model, 'c')], 1));
      assert.deepEqual(await names(store, model), ['a', 'c']);
      await store.close();
      await database.drop();
    });

    it('api: frozen, it answers NotReady to a read within 2 s', async () => {
      const database = await adapter.create();
      const store = await openStore(database.url);
      await store.revision();
      const running = await server();
      running.signal('SIGSTOP');
      try {
        await refusedWithin(2_000, 'NotReady', Promise.resolve(store.revision()));
      } finally {
        running.signal('SIGCONT');
      }
      assert.equal(await eventually(async () => store.revision()), 0);
      await store.close();
      await database.drop();
    });

    it('api: frozen, it answers NotReady within 2 s to reads that wait for a connection', async () => {
      const database = await adapter.create();
      const store = await openStore(database.url, { poolSize: 1 });
      await store.revision();
      const running = await server();
      running.signal('SIGSTOP');
      try {
        const reads = Array.from({ length: 4 }, () => Promise.resolve(store.revision()));
        await Promise.all(reads.map((read) => refusedWithin(2_000, 'NotReady', read)));
      } finally {
        running.signal('SIGCONT');
      }
      assert.equal(await eventually(async () => store.revision()), 0);
      await store.close();
      await database.drop();
    });

    it('errors: a connection that breaks after another process was quicker is NotReady', async () => {
      const database = await adapter.create();
      const proxy = await startProxy(database.url);
      const [store, other] = [await openStore(proxy.url), await openStore(database.url)];
      const model = await store.modelNumber('g', 'K');
      await store.commit([creation(model, 'a')], 1);
      await other.commit([creation(model, 'b')], 1);
      proxy.breakAt('ROLLBACK');
      const late = store.commit([creation(model, 'c')], 1);
      // In several round trips, nothing is rolled back.
      if (kind === 'postgres') await assert.rejects(late, { code: 'NotReady' });
      else await late;
      proxy.heal();
      if (kind === 'postgres') await eventually(() => store.commit([creation(model, 'c')], 1));
      assert.deepEqual(await names(store, model), ['a', 'b', 'c']);
      await store.close();
      await other.close();
      await proxy.close();
      await database.drop();
    });

    it('errors: frozen, it answers NotReady to writes and leases within their time, and is used again when it is back', async () => {
      const database = await adapter.create();
      const store = await openStore(database.url);
      const model = await store.modelNumber('g', 'K');
      await store.commit([creation(model, 'a')], 1);
      const lease = await store.acquireLease('work', 'me', 60_000, 1);
      const guessing = await openStore(database.url);
      await guessing.commit([creation(model, 'c')], 1);
      const running = await server();
      running.signal('SIGSTOP');
      try {
        const fence = { lease: 'work', token: lease!.token };
        await Promise.all([
          refusedWithin(12_000, 'NotReady', store.commit([{ ...creation(model, 'b'), fence }], 1)),
          // The COMMIT is on its way already when one round trip does it all.
          kind === 'postgres' &&
            refusedWithin(19_000, 'UnknownOutcome', guessing.commit([creation(model, 'unknown')], 1)),
          refusedWithin(12_000, 'NotReady', store.acquireLease('work', 'me', 60_000, 2)),
          refusedWithin(12_000, 'NotReady', store.releaseLease(lease!)),
        ]);
      } finally {
        running.signal('SIGCONT');
      }
      await eventually(() => store.commit([creation(model, 'd')], 1));
      assert.deepEqual(
        (await names(store, model)).filter((name) => name !== 'unknown'),
        ['a', 'c', 'd'],
      );
      await guessing.close();
      assert.equal((await store.acquireLease('work', 'me', 60_000, 3))?.holder, 'me');
      await store.close();
      await database.drop();
    });

    it('a listener goes on being called after the server was away', async () => {
      const database = await adapter.create();
      const [store, other] = [await openStore(database.url), await openStore(database.url)];
      const model = await store.modelNumber('g', 'K');
      let calls = 0;
      const stop = store.onCommit(() => calls++);
      const running = await server();
      await running.kill();
      await running.start();
      await eventually(() => other.commit([creation(model, 'a')], 1));
      await eventually(async () => assert.ok(calls > 0));
      const before = calls;
      await eventually(() => other.commit([creation(model, 'b')], 1));
      await eventually(async () => assert.ok(calls > before));
      stop();
      await Promise.all([store.close(), other.close()]);
      await database.drop();
    });

    it('settings that can lose acknowledged writes are refused, unless allowed', async () => {
      const database = await adapter.create();
      const running = await server();
      const name = new URL(database.url).pathname.slice(1);
      await running.query(unsafe[kind].make(name));
      try {
        await assert.rejects(
          openStore(database.url),
          /can lose acknowledged writes \((synchronous_commit|innodb_flush)/,
        );
        const warnings: string[] = [];
        const store = await openStore(database.url, {
          allowUnsafeDurability: true,
          warn: (message) => warnings.push(message),
        });
        await store.close();
        assert.match(warnings.join(), /can lose acknowledged writes/);
      } finally {
        await running.query(unsafe[kind].mend(name));
      }
      await (await openStore(database.url)).close();
      await database.drop();
    });

    if (kind === 'postgres') {
      it('tables that Citus distributes are refused, others of the database are not', async () => {
        const database = await adapter.create();
        const running = await server();
        const name = new URL(database.url).pathname.slice(1);
        await (await openStore(database.url)).close();
        await running.query('CREATE TABLE visits (id int)', name);
        const isReal = process.env.POSTGRES_EXTENSION === 'citus';
        const port = new URL(database.url).port;
        await running.query(
          isReal
            ? `SELECT citus_set_coordinator_host('127.0.0.1', ${port}); SELECT citus_set_node_property('127.0.0.1', ${port}, 'shouldhaveshards', true)`
            : `CREATE TABLE pg_dist_partition (logicalrelid regclass, partmethod "char", colocationid int, repmodel "char")`,
          name,
        );
        const distribute = (table: string, column: string) =>
          running.query(
            isReal
              ? `SELECT create_distributed_table('${table}', '${column}')`
              : `INSERT INTO pg_dist_partition VALUES ('${table}'::regclass, 'h', 1, 's')`,
            name,
          );
        await distribute('visits', 'id');
        await running.query('CREATE TABLE my_kindred_x (id int)', name);
        await distribute('my_kindred_x', 'id');
        await running.query('CREATE SCHEMA other', name);
        await running.query('CREATE TABLE other.kindred_changes (id int)', name);
        await distribute('other.kindred_changes', 'id');
        await running.query(
          isReal
            ? "SELECT citus_add_local_table_to_metadata('kindred_meta')"
            : "INSERT INTO pg_dist_partition VALUES ('kindred_meta'::regclass, 'n', 0, 's')",
          name,
        );
        await (await openStore(database.url)).close();
        await distribute('kindred_changes', 'revision');
        await assert.rejects(
          openStore(database.url),
          /Citus distributes tables of the service \(kindred_changes\): keep them local to the coordinator/,
        );
        await running.query(
          isReal
            ? "SELECT undistribute_table('kindred_changes')"
            : "DELETE FROM pg_dist_partition WHERE logicalrelid = 'kindred_changes'::regclass",
          name,
        );
        await (await openStore(database.url)).close();
        await database.drop();
      });
    }

    describe('when the connection breaks at the commit', () => {
      const proxies: Cutter[] = [];
      after(() => Promise.all(proxies.map((proxy) => proxy.close())));

      async function through(): Promise<{
        store: Store;
        proxy: Cutter;
        model: number;
        direct: Store;
        drop(): Promise<void>;
      }> {
        const database = await adapter.create();
        const { proxy, url } = await Cutter.before(database.url);
        proxies.push(proxy);
        const [store, direct] = [await openStore(url), await openStore(database.url)];
        const model = await store.modelNumber('g', 'K');
        await store.commit([creation(model, 'first')], 1);
        const drop = async (): Promise<void> => {
          await Promise.all([store.close(), direct.close()]);
          await database.drop();
        };
        return { store, proxy, model, direct, drop };
      }

      it('a commit whose answer was lost is found, and answered as applied', async () => {
        const { store, proxy, model, direct, drop } = await through();
        proxy.atCommit = 'lose answer';
        assert.deepEqual(await store.commit([creation(model, 'a')], 1), [{ ok: true, id: 2, revision: 2 }]);
        assert.deepEqual(await names(direct, model), ['first', 'a']);
        assert.deepEqual(await store.commit([creation(model, 'b')], 1), [{ ok: true, id: 3, revision: 3 }]);
        await drop();
      });

      it('a commit that never arrived is answered as not applied', async () => {
        const { store, proxy, model, direct, drop } = await through();
        proxy.atCommit = 'swallow';
        await assert.rejects(store.commit([creation(model, 'a')], 1), { code: 'NotReady' });
        assert.deepEqual(await names(direct, model), ['first']);
        assert.deepEqual(await store.commit([creation(model, 'a')], 1), [{ ok: true, id: 2, revision: 2 }]);
        await drop();
      });

      it('a commit that never arrived is not taken for that of another replica which has its revision', async () => {
        const { store, proxy, model, direct, drop } = await through();
        proxy.atCommit = 'swallow';
        proxy.stayCut = true;
        const writing = assert.rejects(store.commit([creation(model, 'a')], 1), { code: 'NotReady' });
        // Waits until the server has noticed that the other one is gone.
        assert.deepEqual(await direct.commit([creation(model, 'b')], 1), [{ ok: true, id: 2, revision: 2 }]);
        proxy.stayCut = false;
        await writing;
        assert.deepEqual(await names(direct, model), ['first', 'b']);
        assert.deepEqual(await store.commit([creation(model, 'c')], 1), [{ ok: true, id: 3, revision: 3 }]);
        await drop();
      });

      if (kind === 'postgres') {
        it('a batch in one round trip that arrives late is not committed after it was answered as not applied', async () => {
          const { store, proxy, model, direct, drop } = await through();
          proxy.atCommit = 'hold';
          await assert.rejects(store.commit([creation(model, 'a')], 1), { code: 'NotReady' });
          await proxy.deliver();
          assert.deepEqual(await names(direct, model), ['first']);
          assert.deepEqual(await store.commit([creation(model, 'a')], 1), [{ ok: true, id: 2, revision: 2 }]);
          await drop();
        });
      }

      it('a commit of which nothing can be learnt is of unknown outcome', async () => {
        const { store, proxy, model, direct, drop } = await through();
        proxy.atCommit = 'lose answer';
        proxy.stayCut = true;
        await assert.rejects(store.commit([creation(model, 'a')], 1), { code: 'UnknownOutcome' });
        assert.deepEqual(
          (await direct.changes(1, 10)).map((change) => change.name),
          ['a'],
        );
        await drop();
      });
    });
  });
}
