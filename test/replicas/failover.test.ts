import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { until } from 'kindred/testing';
import pg from 'pg';
import type { DatabaseServer, ReplicatedPostgres } from '../servers.ts';
import { replicatedPostgres, selectedDatabases } from '../servers.ts';
import type { Answer, Replica } from './notes.ts';
import { atEnd, call, cleanUp, create, notes, replica, watch } from './notes.ts';
import type { Proxy } from './proxy.ts';
import { startProxy } from './proxy.ts';

afterEach(cleanUp);

interface Cluster extends ReplicatedPostgres {
  /** Leads to the primary, as HAProxy beside Patroni does. */
  readonly proxy: Proxy;
  /** Two replicas of the service, behind the proxy. */
  readonly replicas: readonly [Replica, Replica];
  /** The primary is gone, the standby takes its place. */
  failOver(): Promise<void>;
}

async function cluster(): Promise<Cluster> {
  const servers = await replicatedPostgres();
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

/** The processes of the server whose COMMIT of ours waits for the standby. */
async function waiting(server: DatabaseServer): Promise<number[]> {
  const rows = await server.query(
    "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'kindred'",
  );
  return rows.map((row) => (row as { pid: number }).pid);
}

/** One process of the server is killed, as by the kernel that is out of memory; the server starts again in place. */
async function crashInPlace(server: DatabaseServer): Promise<void> {
  const client = new pg.Client({ connectionString: server.url('postgres') });
  const ended = new Promise<void>((resolve) => client.on('error', () => resolve()));
  await client.connect();
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
  process.kill(rows[0].pid as number, 'SIGKILL');
  await ended;
  await until(() => server.query('SELECT 1'));
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
async function assertTruth({ replicas }: Cluster, there: readonly string[], absent: readonly string[]): Promise<void> {
  for (const [i, at] of replicas.entries()) {
    for (const name of there) assert.equal((await answered(at, `${notes}/${name}`)).status, 200, `${name} at ${i}`);
    for (const name of absent) assert.equal((await answered(at, `${notes}/${name}`)).status, 404, `${name} at ${i}`);
    const list = await answered(at, notes);
    assert.deepEqual([list.status, list.body.total], [200, there.length], `the list at ${i}`);
  }
}

const skip = selectedDatabases().includes('postgres') ? false : 'PostgreSQL is not among the databases of this run';

describe('contract 3, 14: failover of PostgreSQL', { skip }, () => {
  it('what the standby does not have is not shown after the primary started again in place, and is nowhere after a failover', async () => {
    const all = await cluster();
    const { primary, link, replicas } = all;
    const [a, b] = replicas;
    const told = await watch(b);
    assert.equal((await create(a, 'before', { text: 'x' })).status, 201);
    await answered(b, `${notes}/before`);
    link.freeze();
    const phantom = create(a, 'phantom', { text: 'x' });
    await until(async () => (await waiting(primary)).length > 0, { what: 'the commit waits for the standby' });
    await crashInPlace(primary);
    await until(async () => (await waiting(primary)).length > 0, { what: 'the service waits for the standby' });
    for (const path of [`${notes}/phantom`, notes, `${notes}/before`]) {
      for (const at of replicas) assert.equal((await call(at, path)).status, 503, path);
    }
    await all.failOver();
    const real = await created(a, 'real');
    assert.equal(real.status, 201);
    assert.ok((await phantom).status >= 500);
    await assertTruth(all, ['before', 'real'], ['phantom']);
    await b.service.stop();
    const events = await told();
    const names = events.flatMap((event) => event.object?.metadata.name ?? []);
    assert.ok(!names.includes('phantom'), `${names}`);
    if (events.at(-1)!.error!.code !== 'Expired') assert.deepEqual(names, ['before', 'real']);
  });
});
