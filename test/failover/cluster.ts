/** Three machines with PostgreSQL, Patroni and etcd, and HAProxy before them, from Debian's packages. */
import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { until } from '../../src/testing/until.ts';
import { asNobody, Machine, makeNetworks, nobody } from './network.ts';

export const postgresPort = 5432;
const ports = { patroni: 8008, etcd: 2379, etcdPeers: 2380, haproxy: 5000 };

const programs = { patroni: '/usr/bin/patroni', etcd: '/usr/bin/etcd', haproxy: '/usr/sbin/haproxy' };

/** Milliseconds after which an operator helps a cluster that is not whole. */
const operatorDelay = 60_000;

/** Milliseconds between two looks at the cluster. */
const interval = 100;

/** Settings of Patroni, in seconds. */
export interface Timing {
  readonly ttl: number;
  readonly loopWait: number;
  readonly retryTimeout: number;
}

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
}

/** A standby, as the leader's server knows it. */
interface Follower {
  readonly name: string;
  readonly sync_state: string;
}

/** Throws a plain error that names the packages that are missing. */
export function requirePackages(): void {
  const missing = Object.values(programs).filter((program) => !existsSync(program));
  if (missing.length === 0 && postgresPrograms()) return;
  throw new Error(
    `missing ${[...missing, ...(postgresPrograms() ? [] : ['PostgreSQL'])].join(', ')}: apt-get install --no-install-recommends postgresql patroni python3-etcd etcd-server haproxy iproute2`,
  );
}

/** The folder of the newest PostgreSQL that Debian has here. */
function postgresPrograms(): string | undefined {
  const all = '/usr/lib/postgresql';
  const versions = existsSync(all) ? readdirSync(all).map(Number).filter(Boolean) : [];
  return versions.length > 0 ? join(all, String(Math.max(...versions)), 'bin') : undefined;
}

/** One machine of the cluster with its processes. */
export class Node {
  readonly machine: Machine;
  readonly #folder: string;
  readonly #timing: Timing;
  readonly #all: readonly string[];
  #patroni: ChildProcess | undefined;
  #etcd: ChildProcess | undefined;

  /** @param all addresses of the machines, for one another */
  constructor(machine: Machine, folder: string, timing: Timing, all: readonly string[]) {
    this.machine = machine;
    this.#folder = folder;
    this.#timing = timing;
    this.#all = all;
    mkdirSync(folder);
    chownSync(folder, nobody, nobody);
  }

  get name(): string {
    return this.machine.name;
  }

  get host(): string {
    return this.machine.address('clients');
  }

  startEtcd(): void {
    const { name } = this;
    const own = this.machine.address('peers');
    const members = this.#all.map((address, i) => `m${i + 1}=http://${address}:${ports.etcdPeers}`);
    this.#etcd = this.#start('etcd', [
      programs.etcd,
      '--enable-v2',
      `--name=${name}`,
      `--data-dir=${join(this.#folder, 'etcd')}`,
      `--listen-peer-urls=http://${own}:${ports.etcdPeers}`,
      `--initial-advertise-peer-urls=http://${own}:${ports.etcdPeers}`,
      `--listen-client-urls=http://${own}:${ports.etcd}`,
      `--advertise-client-urls=http://${own}:${ports.etcd}`,
      `--initial-cluster=${members.join(',')}`,
    ]);
  }

  startPatroni(): void {
    const file = join(this.#folder, 'patroni.json');
    writeFileSync(file, JSON.stringify(this.#settings()));
    this.#patroni = this.#start('patroni', [programs.patroni, file]);
  }

  /** Kills the server with its connections at once, as the kernel does that is out of memory. */
  killPostgres(): void {
    for (const pid of this.#postgresPids()) send(pid, 'SIGKILL');
  }

  async killPatroni(): Promise<void> {
    const gone = new Promise((resolve) => this.#patroni!.once('exit', resolve));
    this.#patroni!.kill('SIGKILL');
    await gone;
  }

  /** The whole machine stands still, or goes on. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    for (const child of [this.#patroni!, this.#etcd!]) child.kill(signal);
    // Of the first process twice: what it made before it stopped is there now.
    for (let i = 0; i < 2; i++) for (const pid of this.#postgresPids()) send(pid, signal);
  }

  /** Runs SQL as the administrator; resolves to the rows. */
  async query(sql: string, database = 'postgres'): Promise<readonly any[]> {
    const client = new pg.Client({
      connectionString: `postgres://postgres@${this.host}:${postgresPort}/${database}`,
      connectionTimeoutMillis: 2_000,
      query_timeout: 20_000,
    });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      client.end().catch(() => undefined);
    }
  }

  /** One process of the server is killed; the server ends all connections and starts again in place. */
  async crashBackend(): Promise<void> {
    const client = new pg.Client({ connectionString: `postgres://postgres@${this.host}:${postgresPort}/postgres` });
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    send(rows[0]!.pid, 'SIGKILL');
    await ended;
  }

  /** Undefined when it does not answer. */
  async ask(path: string, init?: RequestInit): Promise<{ status: number; text: string } | undefined> {
    try {
      const signal = AbortSignal.timeout(2_000);
      const response = await fetch(`http://${this.host}:${ports.patroni}${path}`, { signal, ...init });
      return { status: response.status, text: await response.text() };
    } catch {
      return undefined;
    }
  }

  #start(name: string, program: readonly string[]): ChildProcess {
    const log = openSync(join(this.#folder, `${name}.log`), 'a');
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8', HOME: this.#folder };
    return this.machine.start(program, { cwd: this.#folder, env, stdio: ['ignore', log, log] });
  }

  /** The server's first process, and those that it made. */
  #postgresPids(): number[] {
    const file = join(this.#folder, 'data/postmaster.pid');
    if (!existsSync(file)) return [];
    const first = Number(readFileSync(file, 'utf8').split('\n')[0]);
    return [first, ...childrenOf(first)];
  }

  #settings(): object {
    const { ttl, loopWait, retryTimeout } = this.#timing;
    const own = this.machine.address('peers');
    const trusted = ['local all all trust', 'host all all all trust', 'host replication all all trust'];
    return {
      scope: 'kindred',
      name: this.name,
      restapi: { listen: `0.0.0.0:${ports.patroni}`, connect_address: `${own}:${ports.patroni}` },
      // By the API of etcd 2: by that of etcd 3, Patroni 3.0.2 overwrites the lock of another leader after it stood still.
      etcd: { hosts: this.#all.map((address) => `${address}:${ports.etcd}`) },
      bootstrap: {
        dcs: {
          ttl,
          loop_wait: loopWait,
          retry_timeout: retryTimeout,
          synchronous_mode: true,
          synchronous_mode_strict: true,
          postgresql: {
            use_pg_rewind: true,
            parameters: { wal_log_hints: 'on', max_connections: 200, wal_retrieve_retry_interval: '1s' },
          },
        },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C' }],
      },
      postgresql: {
        listen: `0.0.0.0:${postgresPort}`,
        connect_address: `${own}:${postgresPort}`,
        data_dir: join(this.#folder, 'data'),
        bin_dir: postgresPrograms(),
        pgpass: join(this.#folder, 'pgpass'),
        authentication: {
          superuser: { username: 'postgres', password: 'postgres' },
          replication: { username: 'replicator', password: 'replicator' },
        },
        pg_hba: trusted,
        parameters: { unix_socket_directories: this.#folder },
      },
    };
  }
}

export class Cluster {
  readonly nodes: readonly Node[];
  readonly #folder: string;

  /** @param folder empty; for all that the servers keep */
  constructor(folder: string, timing: Timing) {
    this.#folder = folder;
    chownSync(folder, nobody, nobody);
    makeNetworks();
    const machines = [1, 2, 3].map((number) => new Machine(number));
    const all = machines.map((machine) => machine.address('peers'));
    this.nodes = machines.map((machine) => new Node(machine, join(folder, machine.name), timing, all));
  }

  /** Resolves when there is a leader with a synchronous standby, and a database for the service. */
  async start(): Promise<void> {
    for (const node of this.nodes) node.startEtcd();
    for (const node of this.nodes) node.startPatroni();
    const leader = await this.whole();
    await leader.query('CREATE DATABASE kindred');
    this.#startProxy();
  }

  /** The database URL of the service, with every host. */
  get hosts(): string {
    return `postgres://postgres@${this.nodes.map(({ host }) => `${host}:${postgresPort}`).join(',')}/kindred`;
  }

  /** The same by HAProxy. */
  get proxy(): string {
    return `postgres://postgres@127.0.0.1:${ports.haproxy}/kindred`;
  }

  /** The node that Patroni shows as the one that takes writes; undefined while there is none, or several. */
  async leader(): Promise<Node | undefined> {
    const answers = await Promise.all(this.nodes.map((node) => node.ask('/primary')));
    const leaders = this.nodes.filter((_, i) => answers[i]?.status === 200);
    return leaders.length === 1 ? leaders[0] : undefined;
  }

  /** Resolves to the leader when it is another than this. */
  otherLeader(than: Node, timeout = 90_000): Promise<Node> {
    return until(
      async () => {
        const answers = await Promise.all(this.nodes.map((node) => (node === than ? undefined : node.ask('/primary'))));
        return this.nodes.find((_, i) => answers[i]?.status === 200);
      },
      { timeout, interval, what: `another leader than ${than.name}` },
    );
  }

  /** Resolves to the leader when both others follow it, one of them synchronously. After a minute, an operator helps. */
  whole(): Promise<Node> {
    const begun = performance.now();
    const helped = new Set<string>();
    return until(
      async () => {
        const leader = await this.leader();
        const answer = await leader?.ask('/cluster');
        if (!leader || answer?.status !== 200) return undefined;
        const { members } = JSON.parse(answer.text) as { members: readonly Member[] };
        const following: readonly Follower[] = await leader
          .query("SELECT application_name AS name, sync_state FROM pg_stat_replication WHERE state = 'streaming'")
          .catch(() => []);
        const isRunning = members.every(({ state }) => state === 'running' || state === 'streaming');
        const isSynchronous =
          members.some(({ role }) => role === 'sync_standby') &&
          following.some(({ sync_state: state }) => state === 'sync');
        const isWhole = members.length === this.nodes.length && following.length === this.nodes.length - 1;
        if (isWhole && isRunning && isSynchronous) return leader;
        if (performance.now() - begun > operatorDelay) await this.#help(leader, members, following, helped);
        return undefined;
      },
      { timeout: 180_000, interval, what: 'a whole cluster' },
    );
  }

  /**
   * Makes the leader's log longer than that of any former leader. A former leader that follows again reports the end of its own log
   * before it is rewound, and PostgreSQL then acknowledges commits up to there that no standby has (docs/guide/replicas.md).
   */
  async outgrowFormerLeaders(leader: Node): Promise<void> {
    // A record first, since an empty segment is not left. Twice, for an end in the next segment.
    for (let i = 0; i < 2; i++) {
      await leader.query("SELECT pg_logical_emit_message(false, 'failover', '')");
      await leader.query('SELECT pg_switch_wal()');
    }
  }

  /**
   * Reinitializes standbys that follow nobody. A former leader whose log ends in a partial record waits for the rest of it, which the new
   * leader never received, and Patroni does not run pg_rewind on a server that is starting.
   */
  async #help(
    leader: Node,
    members: readonly Member[],
    following: readonly Follower[],
    helped: Set<string>,
  ): Promise<void> {
    for (const { name, state } of members) {
      if (name === leader.name || helped.has(name) || following.some((one) => one.name === name)) continue;
      helped.add(name);
      console.log(`${name} follows nobody, in the state "${state}": reinitialized`);
      const node = this.nodes.find((one) => one.name === name)!;
      await node.ask('/reinitialize', { method: 'POST', body: JSON.stringify({ force: true }) });
    }
  }

  #startProxy(): void {
    const file = join(this.#folder, 'haproxy.cfg');
    const servers = this.nodes.map(
      ({ name, host }) => `  server ${name} ${host}:${postgresPort} check port ${ports.patroni}`,
    );
    writeFileSync(
      file,
      `defaults
  mode tcp
  timeout connect 1s
  timeout check 1s
  timeout client 30m
  timeout server 30m
listen primary
  bind 127.0.0.1:${ports.haproxy}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join('\n')}
`,
    );
    const log = openSync(join(this.#folder, 'haproxy.log'), 'a');
    const [setpriv, ...more] = asNobody;
    spawn(setpriv!, [...more, programs.haproxy, '-db', '-f', file], { stdio: ['ignore', log, log] });
  }
}

function childrenOf(parent: number): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(parent)], { encoding: 'utf8' });
  return stdout.split('\n').map(Number).filter(Boolean);
}

/** To a process that may have ended in the meantime. */
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
