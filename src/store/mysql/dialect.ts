/** MySQL and MariaDB, for `SqlServerStore`. A batch is two round trips: lock and read; write and commit what was decided. */
import type { Socket } from 'node:net';
import { isIP } from 'node:net';
import type { ConnectionOptions, PoolConnection, RowDataPacket, SslOptions } from 'mysql2/promise';
import { awaitedTimers, endsWithin } from '../../runtime/timers.ts';
import type { KnownClaim, Plan, Questions } from '../decide.ts';
import { notReady, storageFull } from '../failure.ts';
import type { StoreOptions } from '../options.ts';
import { late } from '../server/connections.ts';
import type {
  ClaimKey,
  ConnectionPool,
  Dialect,
  Inspection,
  Query,
  RawAnswers,
  Sql,
  SqlRow,
  Statement,
  Value,
} from '../server/dialect.ts';
import { Hosts, hostUrls } from '../server/hosts.ts';
import { openServer } from '../server/open.ts';
import { OpenConnections } from '../server/open-connections.ts';
import { connectTimeout, shortQuery } from '../server/timeouts.ts';
import { securityOf } from '../server/tls.ts';
import type { LoadPart, Rewrite, Store } from '../store.ts';
import { mysqlGate, touch } from './standby.ts';
import {
  activate,
  byModel,
  bytesOf,
  deleteClaims,
  insertClaims,
  literal,
  loadStatements,
  nameLiteral,
  rewriteStatements,
  selectClaims,
  stepStatements,
} from './statements.ts';
import { tables } from './tables.ts';

/** Bytes of SQL that are sent at once, at most; a single row may be longer. Servers take 16 MiB by default. */
const packetBytes = 6 * 2 ** 20;

type Driver = typeof import('mysql2/promise');

export async function openMysql(url: string, options: StoreOptions): Promise<Store> {
  const driver = await import('mysql2/promise').then(
    (module) => module,
    (cause: unknown) => {
      throw new Error('a mysql:// database needs the package "mysql2": npm install mysql2', { cause });
    },
  );
  return openServer<PoolConnection>(new MysqlDialect(driver, url), url, options);
}

function settings(given: string): ConnectionOptions {
  const { url, security } = securityOf(given);
  const { hostname, port, username, password, pathname, searchParams } = url;
  const [unknown] = searchParams.keys();
  if (unknown !== undefined) throw new Error(`${unknown} in the database URL: this database has no such parameter`);
  const host = decodeURIComponent(hostname).replace(/^\[(.+)\]$/, '$1');
  // The driver would hold the certificate against "localhost".
  if (security?.verifyIdentity && isIP(host) !== 0) {
    throw new Error('sslmode=verify-full in the database URL needs the name of the host there, not its address');
  }
  return {
    host,
    port: port === '' ? 3306 : Number(port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    connectTimeout,
    enableKeepAlive: true,
    multipleStatements: true,
    // All values are in the text: the driver need not search it for question marks.
    queryFormat: (text) => text,
    ...(security && { ssl: security as SslOptions }),
  };
}

interface DriverError {
  readonly errno?: number;
  readonly sqlState?: string;
  readonly fatal?: boolean;
  readonly message: string;
}

/** Numbers of server errors, from the servers' reference. */
const errors = {
  full: [20, 1021, 1114],
  /** Writing a file failed; the text has the number of the system's error. */
  notWritten: [3, 1026, 1030, 1180],
  repeatable: [1205, 1213],
  /** Too many connections, shutting down, read-only, out of memory. */
  away: [1037, 1040, 1041, 1053, 1203, 1290, 1792, 1836],
  /** The connection was ended by the server, or the commit itself failed: the outcome is open. */
  open: [3, 20, 1026, 1053, 1180, 1317, 1927, 2006, 2013, 4031],
};

/** The system's error for a disk that is full. */
const noSpace = /\b28\b/;

const sql: Sql = {
  begin: 'START TRANSACTION',
  beginSnapshot: [
    'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ',
    'START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY',
  ],
  metaKey: 'id',
  claimKey: 'key_text',
  before: 'old_bytes',
  anyOf: 'IN (?)',
  // Left to itself the server may read the whole log in the order of the primary key.
  byModel: 'FORCE INDEX (kindred_changes_by_model)',
  makeLease: "INSERT IGNORE INTO kindred_leases SELECT ?, '', value, 0 FROM kindred_meta WHERE id = 'jump'",
  touch,
};

class MysqlDialect implements Dialect<PoolConnection> {
  readonly database = 'mysql';
  readonly tables = tables;
  readonly sql = sql;
  readonly gate = mysqlGate;
  readonly hosts: Hosts;
  readonly connections = new OpenConnections();
  readonly #driver: Driver;
  /** For each host. */
  readonly #settings: readonly ConnectionOptions[];

  constructor(driver: Driver, url: string) {
    this.#driver = driver;
    const urls = hostUrls(url);
    this.hosts = new Hosts(urls);
    this.#settings = urls.map(settings);
  }

  pool(size: number): ConnectionPool<PoolConnection> {
    const pools = this.#settings.map((settings) => {
      const pool = this.#driver.createPool({ ...settings, connectionLimit: size });
      pool.on('connection', (connection) => {
        // The driver's own connection, whatever its types say.
        const { stream } = connection as unknown as { stream: Socket };
        const ended = new Promise<void>((resolve) => stream.once('close', () => resolve()));
        this.connections.add({ ended, destroy: () => stream.destroy() });
      });
      return pool;
    });
    return {
      acquire: async (host) => {
        const given = pools[host]!.getConnection();
        if (await endsWithin(awaitedTimers, connectTimeout, given)) return given;
        // Nobody waits for it any more.
        given.then(
          (connection) => connection.release(),
          () => {},
        );
        throw late();
      },
      end: async () => void (await Promise.all(pools.map((pool) => pool.end()))),
    };
  }

  sessionOf({ connection }: PoolConnection): object {
    return connection;
  }

  async setUp(connection: PoolConnection): Promise<void> {
    // A literal is read the same way whatever the server's own mode is.
    const mode = "SET SESSION sql_mode = 'STRICT_ALL_TABLES'";
    const text = `${mode}; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED`;
    await connection.query({ sql: text, timeout: shortQuery });
  }

  /** The driver's own `destroy` says goodbye and waits for the server. */
  sever(connection: PoolConnection, reason?: Error): void {
    (connection.connection as unknown as { stream: Socket }).stream.destroy(reason);
  }

  discard(connection: PoolConnection): void {
    this.sever(connection);
    connection.destroy();
  }

  async query(
    connection: PoolConnection,
    text: string,
    values: readonly Value[] = [],
    timeout = 0,
  ): Promise<readonly SqlRow[]> {
    let count = 0;
    const bound = values.length === 0 ? text : text.replaceAll('?', () => literalOf(values[count++]!));
    const [rows] = await connection.query<RowDataPacket[]>({ sql: bound, ...(timeout > 0 && { timeout }) });
    return rows;
  }

  async inspect(query: Query): Promise<Inspection> {
    const names = ['innodb_flush_log_at_trx_commit', 'innodb_doublewrite', 'log_bin', 'sync_binlog', 'wsrep_on'];
    const rows = await query(`SHOW GLOBAL VARIABLES WHERE variable_name IN ('${names.join("','")}')`);
    const durability: Record<string, string> = {};
    for (const row of rows) durability[String(row.Variable_name).toLowerCase()] = String(row.Value);
    const problems: string[] = [];
    const check = (name: string, safe: (value: string) => boolean): void => {
      const value = durability[name];
      if (value !== undefined && !safe(value)) problems.push(`${name} = ${value}`);
    };
    check('innodb_flush_log_at_trx_commit', (value) => value === '1');
    check('innodb_doublewrite', (value) => !/^(off|0)$/i.test(value));
    if (/^(on|1)$/i.test(durability.log_bin ?? '')) check('sync_binlog', (value) => value === '1');
    const warnings = /^(on|1)$/i.test(durability.wsrep_on ?? '')
      ? ['this is a Galera cluster: let one node alone take the writes, commits on several can be lost']
      : [];
    const [row] = await query('SELECT version() AS version');
    return { description: { version: String(row!.version), ...durability }, problems, warnings };
  }

  isAnswer(error: unknown): boolean {
    const { errno, sqlState, fatal } = error as DriverError;
    return errno !== undefined && sqlState !== undefined && !fatal;
  }

  isRefusal(error: unknown): boolean {
    return this.isAnswer(error) && !errors.open.includes((error as DriverError).errno!);
  }

  isRepeatable(error: unknown): boolean {
    return errors.repeatable.includes((error as DriverError).errno ?? 0);
  }

  translate(error: unknown): Error {
    const { errno = 0, message } = error as DriverError;
    if (error instanceof Error && error.name === 'KindredError') return error;
    const notWritten = errors.notWritten.includes(errno);
    if (errors.full.includes(errno) || (notWritten && noSpace.test(message))) return storageFull(message, error);
    if (!this.isRefusal(error) || notWritten || errors.away.includes(errno) || this.isRepeatable(error)) {
      return notReady(message, error);
    }
    return error as Error;
  }

  async read(connection: PoolConnection, questions: Questions): Promise<RawAnswers> {
    const { names, hashes, leases, takeovers, generations, changed } = questions;
    const statements = ['START TRANSACTION', "SELECT value FROM kindred_meta WHERE id = 'revision' FOR UPDATE"];
    const ask = (needed: boolean, statement: () => string): number => (needed ? statements.push(statement()) - 1 : -1);
    const rowsAt = ask(names.length > 0, () => {
      const pairs = names.map(({ model, name }) => ({ model, value: bytesOf(name) }));
      return `SELECT model, name, id, revision FROM kindred_objects WHERE ${byModel('name', pairs)}`;
    });
    const claimsAt = ask(hashes.length > 0, () => selectClaims(hashes));
    const leasesAt = ask(
      leases.length > 0,
      () =>
        `SELECT name, token, expires FROM kindred_leases WHERE name IN (${leases.map(nameLiteral).join(',')}) FOR UPDATE`,
    );
    const takeoversAt = ask(
      takeovers.length > 0,
      () => `SELECT id, model, revision FROM kindred_objects WHERE id IN (${takeovers.join(',')})`,
    );
    const generationsAt = ask(
      generations.length > 0,
      () => `SELECT number AS model, generation FROM kindred_models WHERE number IN (${generations.join(',')})`,
    );
    const changedAt = ask(
      changed.length > 0,
      () =>
        `SELECT model, max(revision) AS revision FROM kindred_changes WHERE model IN (${changed.join(',')}) GROUP BY model`,
    );
    const [answers] = await connection.query<RowDataPacket[][]>(statements.join(';'));
    const answer = (position: number): readonly SqlRow[] => answers[position] ?? [];
    return {
      revision: answers[1]![0]!.value,
      rows: answer(rowsAt),
      claims: answer(claimsAt),
      leases: answer(leasesAt),
      takeovers: answer(takeoversAt),
      generations: answer(generationsAt),
      changed: answer(changedAt),
    };
  }

  async write(connection: PoolConnection, plan: Plan, time: number, batch: number): Promise<void> {
    const statements = plan.steps.flatMap((step) => stepStatements(step, time, batch));
    if (plan.droppedClaims.length > 0) statements.push(deleteClaims(plan.droppedClaims));
    statements.push(...insertClaims(plan.takenClaims), ...plan.activations.map(activate));
    statements.push(`UPDATE kindred_meta SET value = ${plan.revision} WHERE id = 'revision'`, 'COMMIT');
    let sending: string[] = [];
    let length = 0;
    for (const statement of statements) {
      if (sending.length > 0 && length + statement.length > packetBytes) {
        await connection.query(sending.join(';'));
        sending = [];
        length = 0;
      }
      sending.push(statement);
      length += statement.length;
    }
    await connection.query(sending.join(';'));
  }

  async commit(connection: PoolConnection): Promise<void> {
    await connection.query('COMMIT');
  }

  selectClaims(claims: readonly ClaimKey[]): Statement {
    return { text: selectClaims(claims) };
  }

  deleteClaims(claims: readonly ClaimKey[]): Statement {
    return { text: deleteClaims(claims) };
  }

  insertClaims(claims: readonly KnownClaim[]): readonly Statement[] {
    return insertClaims(claims).map((text) => ({ text }));
  }

  rewrite(rows: readonly Rewrite[]): readonly Statement[] {
    return rewriteStatements(rows).map((text) => ({ text }));
  }

  load(part: LoadPart): readonly Statement[] {
    return loadStatements(part).map((text) => ({ text }));
  }
}

function literalOf(value: Value): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return nameLiteral(value);
  if (value === null) return 'NULL';
  return value instanceof Uint8Array ? literal(value) : value.join(',');
}
