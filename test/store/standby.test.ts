import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { until } from 'kindred/testing';
import { openStore } from '../../src/store/open.ts';
import type { Store, Write } from '../../src/store/store.ts';
import type { DatabaseProxy } from '../replicas/proxy.ts';
import { startProxy } from '../replicas/proxy.ts';
import type { ReplicatedPostgres } from '../servers.ts';
import { replicatedPostgres, selectedDatabases } from '../servers.ts';

const skip = selectedDatabases().includes('postgres') ? false : 'PostgreSQL is not among the databases of this run';

describe('contract 14: a PostgreSQL with a standby', { skip }, () => {
  let servers: ReplicatedPostgres;
  let proxy: DatabaseProxy;
  let store: Store;
  let model: number;

  before(async () => {
    servers = await replicatedPostgres();
    await servers.primary.query('CREATE DATABASE live');
    proxy = await startProxy(servers.primary.url('live'));
    store = await openStore(proxy.url);
    model = await store.modelNumber('g', 'K');
  });
  after(async () => {
    await store.close();
    await proxy.close();
    await servers.stop();
  });

  const creation = (name: string): Write => ({ type: 'create', model, name, bytes: Buffer.from(name) });

  /** Cancels the wait of the next COMMIT, as an operator could who ends long queries. */
  async function cancelWait(): Promise<void> {
    const [pid] = await until(async () => {
      const pids = await servers.waiting();
      return pids.length > 0 ? pids : undefined;
    });
    await servers.primary.query(`SELECT pg_cancel_backend(${pid})`);
  }

  async function onStandby(name: string): Promise<boolean> {
    const rows = await servers.standby.query(`SELECT 1 FROM kindred_objects WHERE name = '${name}'`, 'live');
    return rows.length > 0;
  }

  it('a batch whose wait was cancelled is acknowledged when the standby has it', async () => {
    servers.link.freeze();
    let isOnStandby: boolean | undefined;
    const writing = store.commit([creation('a')], 1).then(async (results) => {
      isOnStandby = await onStandby('a');
      return results;
    });
    await cancelWait();
    await until(async () => (await servers.waiting()).length > 0, { what: 'another commit waits in its place' });
    assert.deepEqual([isOnStandby, await onStandby('a')], [undefined, false]);
    servers.link.heal();
    assert.deepEqual(await writing, [{ ok: true, id: 1, revision: 1 }]);
    assert.equal(isOnStandby, true);
  });

  it('a lease whose wait was cancelled is not held', async () => {
    servers.link.freeze();
    const taking = store.acquireLease('work', 'me', 60_000, 1);
    taking.catch(() => undefined);
    await cancelWait();
    await assert.rejects(taking, { code: 'NotReady' });
    servers.link.heal();
    assert.equal((await until(() => store.acquireLease('work', 'me', 60_000, 1))).holder, 'me');
  });

  it('a warning before the COMMIT means nothing', async () => {
    await servers.primary.query(
      `CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'mind'; RETURN NEW; END $$;
       CREATE TRIGGER warn BEFORE UPDATE ON kindred_meta FOR EACH ROW EXECUTE FUNCTION warn()`,
      'live',
    );
    await store.commit([creation('connected')], 1);
    const { connections } = store;
    const [result] = await store.commit([creation('warned')], 1);
    assert.equal(result!.ok, true);
    assert.equal(store.connections, connections, 'the connection was kept, for nothing was in doubt');
    await servers.primary.query('DROP TRIGGER warn ON kindred_meta', 'live');
  });

  it('a standby is refused at the start, in words', async () => {
    await assert.rejects(openStore(servers.standby.url('live')), {
      message: `the database ${servers.standby.url('live')} cannot be used: this server is a standby, or set to read-only: the service needs the primary`,
    });
  });

  it('a connection that leads to a standby later is not read from', async () => {
    const name = 'on-both';
    await store.commit([creation(name)], 1);
    await until(() => onStandby(name));
    proxy.lead(servers.standby.url('live'));
    // What was connected to the primary breaks first.
    await until(async () =>
      Promise.resolve(store.revision()).then(
        () => false,
        (error: Error) => error.message.includes('standby'),
      ),
    );
    for (let i = 0; i < 3; i++) {
      await assert.rejects(Promise.resolve(store.revision()), /nothing was changed \(.*standby/);
      await assert.rejects(store.commit([creation('x')], 1), { code: 'NotReady' });
      await assert.rejects(store.snapshot(), { code: 'NotReady' });
    }
    proxy.lead(servers.primary.url('live'));
    const revision = await until(() => store.revision());
    assert.ok((await store.changes(revision - 1, 1)).some((change) => change.name === name));
  });

  it('a connection counts before anything is read through it', async () => {
    const { connections } = store;
    assert.ok(connections! > 0);
    proxy.lead(servers.primary.url('live'));
    await until(() => store.revision());
    assert.ok(store.connections! > connections!);
  });
});
