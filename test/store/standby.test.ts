import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from 'kindred/testing';
import { openStore } from '../../src/store/open.ts';
import type { Store, Write } from '../../src/store/store.ts';
import type { DatabaseProxy } from '../replicas/proxy.ts';
import { startProxy } from '../replicas/proxy.ts';
import type { ReplicatedServer, ServerKind } from '../servers.ts';
import { crashInPlace, databaseAdapters, replicatedServer } from '../servers.ts';

for (const adapter of databaseAdapters().filter(({ kind }) => kind !== 'sqlite')) {
  const kind = adapter.kind as ServerKind;

  describe(`command-line: ${adapter.name} with a standby`, () => {
    let servers: ReplicatedServer;
    let proxy: DatabaseProxy;
    let store: Store;
    let model: number;

    before(async () => {
      servers = await replicatedServer(kind);
      await servers.primary.query('CREATE DATABASE live');
      proxy = await startProxy(servers.primary.url('live'));
      store = await openStore(proxy.url);
      model = await store.modelNumber('g', 'K');
    });
    after(async () => {
      await store?.close();
      await proxy?.close();
      await servers?.stop();
    });

    const creation = (name: string): Write => ({ type: 'create', model, name, bytes: Buffer.from(name) });

    async function onStandby(name: string): Promise<boolean> {
      const hex = kind === 'postgres' ? `'${name}'` : `X'${Buffer.from(name).toString('hex')}'`;
      const rows = await servers.standby.query(`SELECT 1 FROM kindred_objects WHERE name = ${hex}`, 'live');
      return rows.length > 0;
    }

    const waitingOne = (): Promise<number> => until(async () => (await servers.waiting())[0]);

    it('a standby is refused at the start, in words', async () => {
      await until(() => servers.standby.query('SELECT 1 FROM kindred_meta', 'live'));
      await assert.rejects(
        openStore(servers.standby.url('live')),
        /^Error: the database \S+ cannot be used: this server is a standby, or set to read-only: the service needs the primary$/,
      );
    });

    it('a connection that leads to a standby later is not read from', async () => {
      const name = 'on-both';
      await store.commit([creation(name)], 1);
      await until(() => onStandby(name));
      proxy.lead(servers.standby.url('live'));
      // What was connected to the primary breaks first.
      await until(() =>
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

    it('a connection counts when it is made, and not when it is used again', async () => {
      await store.revision();
      const { connections } = store;
      assert.ok(connections! > 0);
      await store.revision();
      assert.equal(store.connections, connections);
      proxy.lead(servers.primary.url('live'));
      await until(() => store.revision());
      assert.ok(store.connections! > connections!);
    });

    const crashes: Record<string, () => Promise<void>> = {
      'was killed and started': async () => {
        await servers.primary.kill();
        await servers.primary.start();
      },
      ...(kind === 'postgres' && { 'started again in place': () => crashInPlace(servers.primary) }),
    };
    for (const [what, crash] of Object.entries(crashes)) {
      it(`a server that ${what} is not read from before the standby has what it shows`, () => afterCrash(crash, what));
    }

    async function afterCrash(crash: () => Promise<void>, name: string): Promise<void> {
      servers.link.freeze();
      let wasOnStandby: boolean | undefined;
      const writing = store.commit([creation(name)], 1).then(
        async () => {
          wasOnStandby = await onStandby(name);
        },
        (error: { code: string }) => error.code,
      );
      await waitingOne();
      await crash();
      // Commits of the service wait: for the outcome of the batch, and for what is to be read.
      await waitingOne();
      for (let i = 0; i < 2; i++) await assert.rejects(Promise.resolve(store.revision()), { code: 'NotReady' });
      assert.equal(wasOnStandby, undefined, 'it is not acknowledged');
      servers.link.heal();
      const revision = await until(() => store.revision());
      assert.equal((await store.changes(revision - 1, 1))[0]!.name, name);
      const refused = await writing;
      assert.ok(refused === 'UnknownOutcome' || wasOnStandby, `${refused}`);
      await until(() => onStandby(name));
    }

    it('a second connection to the same server commits nothing', async () => {
      const before = await store.revision();
      await store.commit([creation(`next-${before}`)], 1);
      servers.link.freeze();
      try {
        // Each snapshot has a connection of its own.
        const snapshots = await Promise.all([store.snapshot(), store.snapshot()]);
        for (const snapshot of snapshots) await snapshot.close();
        assert.deepEqual(await servers.waiting(), []);
      } finally {
        servers.link.heal();
      }
    });

    it('a server that stood still is not read from before the standby has a commit: another one may have been promoted', async () => {
      const before = await store.revision();
      servers.link.freeze();
      try {
        // Two connections, of which one is silent.
        const revisions = await Promise.all([store.revision(), store.revision()]);
        assert.deepEqual(revisions, [before, before], 'reads do not wait for the standby');
        proxy.freeze();
        await assert.rejects(Promise.resolve(store.revision()), { code: 'NotReady' });
        await pause(500);
        proxy.heal();
        for (let i = 0; i < 2; i++) await assert.rejects(Promise.resolve(store.revision()), { code: 'NotReady' });
      } finally {
        proxy.heal();
        servers.link.heal();
      }
      assert.equal(await until(() => store.revision()), before);
    });

    it('an answer that takes long is believed as soon as the server has shown to be the primary still', async () => {
      const before = await store.revision();
      const { connections } = store;
      servers.link.freeze();
      let answered: number | undefined;
      try {
        const asked = Promise.resolve(store.scan(model, 0, 1_000)).then((rows) => {
          answered = rows.length;
        });
        proxy.freeze();
        await pause(2_300);
        proxy.heal();
        await waitingOne();
        assert.equal(answered, undefined);
        servers.link.heal();
        await asked;
      } finally {
        proxy.heal();
        servers.link.heal();
      }
      assert.ok(answered! > 0);
      assert.equal(store.connections, connections! + 1);
      assert.equal(await store.revision(), before);
    });

    it('what a server answers after it stood still is not believed', async () => {
      await Promise.all([store.revision(), store.revision()]);
      servers.link.freeze();
      try {
        proxy.freeze();
        const silent = Promise.resolve(store.revision());
        silent.catch(() => undefined);
        await pause(1_000);
        // It is sent before two seconds are over, and answered afterwards.
        const late = Promise.resolve(store.revision());
        late.catch(() => undefined);
        await assert.rejects(silent, { code: 'NotReady' });
        await pause(500);
        proxy.heal();
        await assert.rejects(late, { code: 'NotReady' });
      } finally {
        proxy.heal();
        servers.link.heal();
      }
      await until(() => store.revision());
    });

    /** A batch whose wait an operator ends is acknowledged when the standby has it. */
    async function afterEndedWait(name: string, endWait: () => Promise<unknown>): Promise<void> {
      servers.link.freeze();
      let wasOnStandby: boolean | undefined;
      const writing = store.commit([creation(name)], 1).then(async (results) => {
        wasOnStandby = await onStandby(name);
        return results;
      });
      await endWait();
      // It is acknowledged, or another commit waits in its place.
      await until(async () => wasOnStandby !== undefined || (await servers.waiting()).length > 0);
      assert.deepEqual([wasOnStandby, await onStandby(name)], [undefined, false]);
      servers.link.heal();
      assert.equal((await writing)[0]!.ok, true);
      assert.equal(wasOnStandby, true);
    }

    it('a batch whose connection was ended while it waited is acknowledged when the standby has it', () =>
      afterEndedWait('terminated', async () => {
        const waiting = await waitingOne();
        await servers.primary.query(
          kind === 'postgres' ? `SELECT pg_terminate_backend(${waiting})` : `KILL CONNECTION ${waiting}`,
        );
        await until(async () => !(await servers.waiting()).includes(waiting));
      }));

    if (kind === 'postgres') {
      /** As an operator does who ends long queries. */
      const cancelWait = async (): Promise<void> => {
        const waiting = await waitingOne();
        await servers.primary.query(`SELECT pg_cancel_backend(${waiting})`);
        await until(async () => !(await servers.waiting()).includes(waiting));
      };

      it('a batch whose wait was cancelled is acknowledged when the standby has it', () =>
        afterEndedWait('cancelled', cancelWait));

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
    }

    // The last one: the first primary does not come back.
    it('a URL of both hosts leads to the primary, and to the standby that takes its place', async () => {
      const [first, second] = [servers.standby, servers.primary].map((server) => new URL(server.url('live')));
      const several = await openStore(first!.href.replace(first!.host, `${first!.host},${second!.host}`));
      try {
        const name = 'through-either';
        await several.commit([creation(name)], 1);
        await until(() => onStandby(name));
        const told = new Promise<void>((resolve) => several.onCommit(resolve));
        await servers.primary.kill();
        await assert.rejects(Promise.resolve(several.revision()), { code: 'NotReady' });
        const promotion =
          kind === 'postgres'
            ? ['SELECT pg_promote()']
            : ['STOP SLAVE', 'RESET SLAVE ALL', 'SET GLOBAL read_only = OFF'];
        for (const statement of promotion) await servers.standby.query(statement);
        const revision = await until(() => several.revision());
        assert.equal((await several.changes(revision - 1, 1))[0]!.name, name);
        assert.equal((await several.commit([creation('after-failover')], 1))[0]!.ok, true);
        await told;
      } finally {
        await several.close();
      }
    });
  });
}
