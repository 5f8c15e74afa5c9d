/** What happens to the leader of a cluster. Each resolves when all is mended that the fault broke. */
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../src/testing/until.ts';
import type { Cluster, Node } from './cluster.ts';
import { postgresPort } from './cluster.ts';

export interface Fault {
  /** For the report. */
  readonly text: string;
  /** While the fault lasts, the service may show what the new leader never gets: docs/guide/replicas.md says so. */
  readonly mayShowLost?: true;
  /** @param below a random integer from 0, less than the limit */
  make(cluster: Cluster, leader: Node, below: (limit: number) => number): Promise<void>;
}

export const faults = {
  postgres: {
    text: "the leader's PostgreSQL killed",
    async make(cluster, leader) {
      leader.killPostgres();
      // Patroni starts it again, or gives its place away.
      await cluster.whole();
    },
  },
  node: {
    text: "the leader's Patroni and PostgreSQL killed",
    async make(cluster, leader) {
      await gone(cluster, leader);
    },
  },
  pause: {
    text: 'the leader stands still for 8 to 14 s',
    async make(_, leader, below) {
      leader.signal('SIGSTOP');
      await pause(8_000 + below(6_000));
      leader.signal('SIGCONT');
    },
  },
  cut: {
    text: 'the leader cut off from everybody',
    async make(cluster, leader, below) {
      for (const network of ['peers', 'clients'] as const) leader.machine.leave(network);
      await cluster.otherLeader(leader);
      await pause(below(3_000));
      for (const network of ['peers', 'clients'] as const) leader.machine.join(network);
    },
  },
  peers: {
    text: 'the leader cut off from its peers and etcd, not from the service',
    async make(cluster, leader, below) {
      leader.machine.leave('peers');
      await cluster.otherLeader(leader);
      await pause(below(3_000));
      leader.machine.join('peers');
    },
  },
  switchover: {
    text: 'switched over',
    async make(cluster, leader) {
      const answer = await leader.ask('/switchover', {
        method: 'POST',
        body: JSON.stringify({ leader: leader.name }),
        signal: AbortSignal.timeout(60_000),
      });
      if (answer?.status !== 200) throw new Error(`no switchover: ${answer?.status} ${answer?.text}`);
      await cluster.otherLeader(leader);
    },
  },
  stall: {
    text: 'replication stalls, a backend crashes, then the leader is gone',
    async make(cluster, leader, below) {
      leader.machine.silence(postgresPort);
      await waiting(leader);
      await leader.crashBackend();
      // It shows what it had not shown before.
      await until(() => leader.query('SELECT 1'), { timeout: 30_000, interval: 50 });
      await pause(below(3_000));
      await gone(cluster, leader, () => leader.machine.unsilence(postgresPort));
    },
  },
  cancel: {
    text: 'replication stalls, waiting commits cancelled, then the leader is gone',
    mayShowLost: true,
    async make(cluster, leader, below) {
      leader.machine.silence(postgresPort);
      for (let i = 0; i <= below(3); i++) {
        const pids = await waiting(leader);
        await leader.query(pids.map((pid) => `SELECT pg_cancel_backend(${pid})`).join(';'));
        await pause(below(700));
      }
      await gone(cluster, leader, () => leader.machine.unsilence(postgresPort));
    },
  },
} as const satisfies Record<string, Fault>;

export type FaultKind = keyof typeof faults;

/** Milliseconds in which another leader is there, if there is one at all. */
const election = 25_000;

/**
 * The machine's database is gone, another one takes its place, and it comes back as a standby. Nobody takes its place when
 * Patroni knows of no standby that has everything, as after replication stopped: then it comes back as the leader.
 */
async function gone(cluster: Cluster, leader: Node, mend: () => void = () => undefined): Promise<void> {
  await leader.killPatroni();
  leader.killPostgres();
  await cluster.otherLeader(leader, election).catch(() => undefined);
  mend();
  leader.startPatroni();
}

/** Connections of the leader in which a COMMIT of the service waits for a standby, as soon as there are some. */
function waiting(leader: Node): Promise<readonly number[]> {
  const sql = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'kindred'";
  return until(
    async () => {
      const rows = await leader.query(sql);
      return rows.length > 0 ? rows.map(({ pid }) => pid as number) : undefined;
    },
    { timeout: 20_000, interval: 50, what: 'a commit waits for a standby' },
  );
}
