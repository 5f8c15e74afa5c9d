import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { until } from 'kindred/testing';
import type { ReplicatedServer } from '../servers.ts';
import {
  crashInPlace,
  databaseAdapters,
  mariadbServer,
  postgresServer,
  replicatedServer,
  selectedDatabases,
} from '../servers.ts';
import type { Answer, Replica } from './notes.ts';
import { atEnd, call, cleanUp, create, notes, replica, watch } from './notes.ts';
import type { DatabaseProxy } from './proxy.ts';
import { startProxy } from './proxy.ts';

afterEach(cleanUp);

interface Cluster extends ReplicatedServer {
  /** Leads to the primary, as HAProxy beside Patroni does. */
  readonly proxy: DatabaseProxy;
  /** Two replicas of the service, behind the proxy. */
  readonly replicas: readonly [Replica, Replica];
  /** The primary is gone, the standby takes its place. */
  failOver(): Promise<void>;
}

async function cluster(): Promise<Cluster> {
  const servers = await replicatedServer('postgres');
  atEnd(() => servers.stop());
  await servers.primary.query('CREATE DATABASE live');
  const proxy = await startProxy(servers.primary.url('live'));
  atEnd(() => proxy.close());
  const replicas = [await replica(proxy.url), await replica(proxy.url)] as const;
  return {
    ...servers,
    proxy,
    replicas,
    async failOver() {
      await servers.primary.kill();
      await servers.standby.query('SELECT pg_promote()');
      proxy.lead(servers.standby.url('live'));
    },
  };
}

/** A read that is answered: not 503. */
function answered(at: Replica, path: string): Promise<Answer> {
  return until(
    async () => {
      const answer = await call(at, path);
      return answer.status === 503 ? undefined : answer;
    },
    { timeout: 20_000, what: `an answer to ${path}` },
  );
}

async function created(at: Replica, name: string): Promise<Answer> {
  return until(
    async () => {
      const answer = await create(at, name, { text: name });
      return answer.status === 503 || answer.status === 504 ? undefined : answer;
    },
    { timeout: 30_000, what: `${name} is created` },
  );
}

/** Both replicas show what the database has. */
async function assertTruth(
  { replicas }: Pick<Cluster, 'replicas'>,
  there: readonly string[],
  absent: readonly string[],
): Promise<void> {
  for (const [i, at] of replicas.entries()) {
    for (const name of there) assert.equal((await answered(at, `${notes}/${name}`)).status, 200, `${name} at ${i}`);
    for (const name of absent) assert.equal((await answered(at, `${notes}/${name}`)).status, 404, `${name} at ${i}`);
    const list = await answered(at, notes);
    assert.deepEqual([list.status, list.body.total], [200, there.length], `the list at ${i}`);
  }
}

const skip = selectedDatabases().includes('postgres') ? false : 'PostgreSQL is not among the databases of this run';

describe('failover of PostgreSQL', { skip }, () => {
  it('what the standby does not have is not shown after the primary started again in place, and is nowhere after a failover', async () => {
    const all = await cluster();
    const { primary, link, replicas, waiting } = all;
    const [a, b] = replicas;
    const told = await watch(b);
    assert.equal((await create(a, 'before', { text: 'x' })).status, 201);
    await answered(b, `${notes}/before`);
    link.freeze();
    const phantom = create(a, 'phantom', { text: 'x' });
    await until(async () => (await waiting()).length > 0, { what: 'the commit waits for the standby' });
    await crashInPlace(primary);
    await until(async () => (await waiting()).length > 0, { what: 'the service waits for the standby' });
    const paths = [`${notes}/phantom`, notes, `${notes}/before`, '/readyz'];
    for (const at of replicas) await until(async () => (await call(at, '/readyz')).status === 503);
    const reads = await Promise.all(replicas.flatMap((at) => paths.map((path) => call(at, path))));
    assert.deepEqual(
      reads.map(({ status }) => status),
      reads.map(() => 503),
    );
    await all.failOver();
    assert.equal((await created(a, 'real')).status, 201);
    assert.ok((await phantom).status >= 500);
    await assertTruth(all, ['before', 'real'], ['phantom']);
    await b.service.stop();
    const events = await told();
    const names = events.flatMap((event) => event.object?.metadata.name ?? []);
    assert.ok(!names.includes('phantom'), `${names}`);
    if (events.at(-1)!.error!.code !== 'Expired') assert.deepEqual(names, ['before', 'real']);
  });

  it('a primary that started again in place shows everything once the standby has it', async () => {
    const all = await cluster();
    const { primary, link, replicas, waiting } = all;
    link.freeze();
    const write = create(replicas[0], 'late', { text: 'x' });
    await until(async () => (await waiting()).length > 0, { what: 'the commit waits for the standby' });
    await crashInPlace(primary);
    link.heal();
    // Its author learns that it is there, or that nobody can tell.
    assert.ok([201, 503, 504].includes((await write).status));
    await assertTruth(all, ['late'], []);
    assert.equal((await created(replicas[1], 'next')).status, 201);
    await all.failOver();
    await assertTruth(all, ['late', 'next'], []);
  });

  it('a commit whose wait was cancelled is not acknowledged; a replica that has shown it forgets it after the failover', async () => {
    const all = await cluster();
    const { primary, standby, link, replicas, waiting } = all;
    const [a, b] = replicas;
    assert.equal((await create(a, 'before', { text: 'x' })).status, 201);
    const told = await watch(b);
    link.freeze();
    const write = create(a, 'phantom', { text: 'x' });
    const [pid] = await until(async () => {
      const pids = await waiting();
      return pids.length > 0 ? pids : undefined;
    });
    await primary.query(`SELECT pg_cancel_backend(${pid})`);
    const shown = await until(
      async () => {
        const answer = await answered(b, `${notes}/phantom`);
        return answer.status === 200 ? answer : undefined;
      },
      { what: 'the server shows it, though it is on no standby' },
    );
    await until(async () => (await waiting()).some((other) => other !== pid), {
      what: 'its author waits all the same',
    });
    await all.failOver();
    const real = await created(a, 'real');
    assert.deepEqual([real.status, real.revision], [201, shown.revision]);
    assert.equal((await write).status, 503);
    await assertTruth(all, ['before', 'real'], ['phantom']);
    assert.deepEqual(await standby.query("SELECT 1 FROM kindred_objects WHERE name = 'phantom'", 'live'), []);
    assert.equal((await told()).at(-1)?.error?.code, 'Expired');
    const metrics = await (await fetch(`${b.url}/metrics`)).text();
    assert.match(metrics, /^kindred_read_anew_total\{because="history",store="default"\} 1$/m);
    const changed = await call(a, `${notes}/real`, { method: 'PUT', json: { spec: { text: 'y' } } });
    assert.equal(changed.status, 200);
    assert.deepEqual((await call(b, `${notes}/real`)).body.spec, { text: 'y' });
  });
});

for (const adapter of databaseAdapters().filter(({ kind }) => kind !== 'sqlite')) {
  describe(`api: a database that lost writes under running replicas, on ${adapter.name}`, () => {
    /** Replicas that have shown a write which their database then loses, as with a failover that was not synchronous. */
    async function afterLoss() {
      const database = await adapter.create();
      atEnd(() => database.drop());
      const proxy = await startProxy(database.url);
      atEnd(() => proxy.close());
      const replicas = [await replica(proxy.url), await replica(proxy.url)] as const;
      assert.equal((await create(replicas[0], 'before', { text: 'x' })).status, 201);
      const { revision: lost } = await create(replicas[0], 'phantom', { text: 'x', code: 'taken' });
      for (const at of replicas) assert.equal((await call(at, `${notes}/phantom`)).status, 200);
      const told = await Promise.all(replicas.map(watch));
      proxy.cut();
      const server = await (adapter.kind === 'postgres' ? postgresServer() : mariadbServer());
      const newest = adapter.kind === 'postgres' ? "key = 'revision'" : "id = 'revision'";
      for (const sql of [
        `DELETE FROM kindred_objects WHERE id = ${lost}`,
        `DELETE FROM kindred_claims WHERE id = ${lost}`,
        `DELETE FROM kindred_changes WHERE revision = ${lost}`,
        `UPDATE kindred_meta SET value = ${lost - 1} WHERE ${newest}`,
      ]) {
        await server.query(sql, new URL(database.url).pathname.slice(1));
      }
      return { replicas, lost, proxy, told };
    }

    it('they forget it at their next connection, before anything is written', async () => {
      const { replicas, proxy } = await afterLoss();
      proxy.heal();
      await assertTruth({ replicas }, ['before'], ['phantom']);
    });

    it('they forget a write whose revision is given to another write; its unique values are free', async () => {
      const { replicas, lost, proxy, told } = await afterLoss();
      proxy.heal();
      const real = await until(async () => {
        const answer = await create(replicas[0], 'real', { text: 'y', code: 'taken' });
        return answer.status === 503 ? undefined : answer;
      });
      assert.deepEqual([real.status, real.revision], [201, lost]);
      await assertTruth({ replicas }, ['before', 'real'], ['phantom']);
      for (const events of told) assert.equal((await events()).at(-1)?.error?.code, 'Expired');
    });
  });
}
