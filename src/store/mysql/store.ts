/**
 * The store in MySQL or MariaDB, for any number of processes. A batch is one transaction on a connection kept for it, in
 * two round trips: lock the revision and read what the batch depends on; write and commit what was decided (`decide.ts`).
 */
import { randomInt } from 'node:crypto';
import type { Socket } from 'node:net';
import { isIP } from 'node:net';
import type { ConnectionOptions, Pool, PoolConnection, RowDataPacket, SslOptions } from 'mysql2/promise';
import { SerialQueue } from '../../runtime/serial-queue.ts';
import type { KnownClaim, Plan } from '../decide.ts';
import { planBatch, planMending, questionsOf } from '../decide.ts';
import { expired, notReady, storageFull, unknownOutcome } from '../failure.ts';
import { changesBytes, changeTypes, compactRows, jumpLength, maxSnapshots } from '../limits.ts';
import type { StoreOptions } from '../options.ts';
import { Admission } from '../server/admission.ts';
import { Poller } from '../server/poller.ts';
import {
  commitTimeout,
  connectTimeout,
  inOrder,
  learnOutcome,
  longQuery,
  OpenConnections,
  refuseUnsafeDurability,
  repeated,
  resolveTimeout,
  Snapshots,
  securityOf,
  shortQuery,
  unreachable,
  unusable,
} from '../server/server.ts';
import type {
  Change,
  ChangesNarrowing,
  Claim,
  HeldClaim,
  Lease,
  LoadPart,
  ModelRow,
  Row,
  Snapshot,
  Store,
  Tokens,
  Write,
  WriteResult,
} from '../store.ts';
import { mysqlGate, touch } from './standby.ts';
import {
  byModel,
  bytesOf,
  deleteClaims,
  insertClaims,
  literal,
  loadStatements,
  nameLiteral,
  selectRows,
  stepStatements,
} from './statements.ts';
import { durabilityOf, migrateMysql } from './tables.ts';

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
  const config = settings(url);
  let connection: Awaited<ReturnType<Driver['createConnection']>>;
  try {
    connection = await driver.createConnection(config);
  } catch (cause) {
    throw unreachable(url, cause);
  }
  try {
    const { settings: durability, problems, warnings } = await durabilityOf(connection);
    refuseUnsafeDurability(problems, options);
    for (const warning of warnings) options.warn?.(warning);
    await mysqlGate.refuseStandby(connection).catch((cause: unknown) => {
      throw unusable(url, cause);
    });
    await migrateMysql(connection);
    const [rows] = await connection.query<RowDataPacket[]>('SELECT version() AS version');
    const description = { database: 'mysql', version: String(rows[0]!.version), ...durability };
    return new MysqlStore(driver, config, options, description);
  } finally {
    await connection.end();
  }
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

function isOfServer(error: unknown): boolean {
  const { errno, sqlState, fatal } = error as DriverError;
  return errno !== undefined && sqlState !== undefined && !fatal;
}

/** True when the server itself refused the statement: the transaction is certainly undone. */
function refusedByServer(error: unknown): boolean {
  return isOfServer(error) && !errors.open.includes((error as DriverError).errno!);
}

function repeatable(error: unknown): boolean {
  return errors.repeatable.includes((error as DriverError).errno ?? 0);
}

/** An error of the server or the connection in our words, for what certainly changed nothing. */
function translate(error: unknown): Error {
  const { errno = 0, message } = error as DriverError;
  if (error instanceof Error && error.name === 'KindredError') return error;
  const notWritten = errors.notWritten.includes(errno);
  if (errors.full.includes(errno) || (notWritten && noSpace.test(message))) return storageFull(message, error);
  if (!refusedByServer(error) || notWritten || errors.away.includes(errno) || repeatable(error)) {
    return notReady(message, error);
  }
  return error as Error;
}

interface ClaimRow extends RowDataPacket {
  model: number;
  hash: Buffer;
  index_name: Buffer;
  key_text: Buffer;
  id: number;
}

const claimOf = ({ model, hash, index_name, key_text, id }: ClaimRow): KnownClaim => ({
  model,
  hash,
  index: index_name.toString(),
  key: key_text.toString(),
  id,
});

interface ObjectRow extends RowDataPacket {
  model: number;
  id: number;
  revision: number;
  name: Buffer;
  bytes: Buffer;
}

const rowOf = ({ id, revision, name, bytes }: ObjectRow): Row => ({ id, revision, name: name.toString(), bytes });

interface ChangeRow extends RowDataPacket {
  oldest: number;
  revision: number | null;
  time: number;
  type: number;
  model: number;
  id: number;
  name: Buffer;
  bytes: Buffer;
  old_bytes: Buffer | null;
}

function changeOf({ revision, time, type, model, id, name, bytes, old_bytes }: ChangeRow): Change {
  return {
    revision: revision!,
    time,
    type: changeTypes[type]!,
    model,
    id,
    name: name.toString(),
    bytes,
    ...(old_bytes && { before: old_bytes }),
  };
}

const driverErrors = { repeatable, translate };

class MysqlStore implements Store {
  readonly shared = true;
  readonly #description: Readonly<Record<string, string>>;
  readonly #pool: Pool;
  /** Snapshots hold a connection for long; a pool of their own keeps them from starving the reads. */
  readonly #snapshotPool: Pool;
  readonly #writers: Pool;
  readonly #commits = new SerialQueue();
  readonly #poller = new Poller(() => this.revision());
  readonly #numbers = new Map<string, number>();
  readonly #admission = new Admission(mysqlGate);
  /** Connections whose session is set up, and which were admitted. */
  readonly #prepared = new WeakSet<object>();
  readonly #snapshots = new Snapshots();
  readonly #open = new OpenConnections();
  #closed = false;

  constructor(
    driver: Driver,
    config: ConnectionOptions,
    options: StoreOptions,
    description: Readonly<Record<string, string>>,
  ) {
    this.#description = description;
    // All values are in the text: the driver need not search it for question marks.
    const pool = (connectionLimit: number): Pool => {
      const made = driver.createPool({ ...config, connectionLimit, queryFormat: (sql) => sql });
      made.on('connection', (connection) => {
        // The driver's own connection, whatever its types say.
        const { stream } = connection as unknown as { stream: Socket };
        const ended = new Promise<void>((resolve) => stream.once('close', () => resolve()));
        this.#open.add({ ended, destroy: () => stream.destroy() });
      });
      return made;
    };
    this.#pool = pool(options.poolSize ?? 10);
    this.#snapshotPool = pool(maxSnapshots);
    this.#writers = pool(1);
  }

  get connections(): number {
    return this.#admission.count;
  }

  async modelNumber(group: string, kind: string): Promise<number> {
    const key = `${group}/${kind}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const where = `group_name = ${nameLiteral(group)} AND kind = ${nameLiteral(kind)}`;
    const number = await this.#transaction(async (query) => {
      await query("SELECT value FROM kindred_meta WHERE id = 'oldest' FOR UPDATE");
      const find = (): Promise<RowDataPacket[]> => query(`SELECT number FROM kindred_models WHERE ${where}`);
      const [found] = await find();
      if (found) return found.number as number;
      await query(
        `INSERT INTO kindred_models SELECT coalesce(max(number), 0) + 1, ${nameLiteral(group)}, ${nameLiteral(kind)} FROM kindred_models`,
      );
      const [made] = await find();
      return made!.number as number;
    });
    this.#numbers.set(key, number);
    return number;
  }

  async models(): Promise<readonly ModelRow[]> {
    const rows = await this.#read<RowDataPacket>('SELECT number, group_name, kind FROM kindred_models ORDER BY number');
    return rows.map((row) => ({ number: row.number, group: String(row.group_name), kind: String(row.kind) }));
  }

  revision(): Promise<number> {
    return this.#meta('revision');
  }

  oldest(): Promise<number> {
    return this.#meta('oldest');
  }

  async #meta(id: string): Promise<number> {
    const rows = await this.#read<RowDataPacket>(`SELECT value FROM kindred_meta WHERE id = '${id}'`);
    return rows[0]!.value as number;
  }

  commit(writes: readonly Write[], time: number): Promise<readonly WriteResult[]> {
    return this.#commits.run(() => repeated(() => this.#commitOnce(writes, time), driverErrors));
  }

  async #commitOnce(writes: readonly Write[], time: number): Promise<readonly WriteResult[]> {
    const connection = await this.#connection(this.#writers);
    const timer = setTimeout(() => sever(connection, late()), commitTimeout);
    let usable = false;
    try {
      const deciding = this.#decide(connection, writes, time);
      // While the server is busy.
      const contents = new Map(writes.map((write) => [write, literal(write.bytes)]));
      const plan = await deciding;
      if (plan.steps.length === 0) {
        await connection.query('ROLLBACK');
        usable = true;
        return plan.results;
      }
      const batch = randomInt(2 ** 47);
      try {
        await this.#write(connection, plan, contents, time, batch);
        usable = true;
        return plan.results;
      } catch (error) {
        if (refusedByServer(error)) throw error;
        sever(connection);
        if (await this.#wasCommitted(plan.revision, batch, error as Error)) return plan.results;
        throw isOfServer(error) ? error : notReady('the connection broke before the commit', error);
      }
    } catch (error) {
      if (refusedByServer(error)) {
        usable = await connection.query('ROLLBACK').then(
          () => true,
          () => false,
        );
      }
      throw error;
    } finally {
      clearTimeout(timer);
      if (usable) connection.release();
      else discard(connection);
    }
  }

  /** Locks the revision, reads what the batch depends on and decides what it does. */
  async #decide(connection: PoolConnection, writes: readonly Write[], time: number): Promise<Plan> {
    const questions = questionsOf(writes);
    const statements = ['START TRANSACTION', "SELECT value FROM kindred_meta WHERE id = 'revision' FOR UPDATE"];
    const ask = (needed: boolean, statement: () => string): number => (needed ? statements.push(statement()) - 1 : -1);
    const rows = ask(questions.names.length > 0, () => {
      const pairs = questions.names.map(({ model, name }) => ({ model, value: bytesOf(name) }));
      return `SELECT model, name, id, revision FROM kindred_objects WHERE ${byModel('name', pairs)}`;
    });
    const claims = ask(questions.hashes.length > 0, () => {
      const pairs = questions.hashes.map(({ model, hash }) => ({ model, value: hash }));
      return `SELECT model, hash, index_name, key_text, id FROM kindred_claims WHERE ${byModel('hash', pairs)}`;
    });
    const leases = ask(
      questions.leases.length > 0,
      () =>
        `SELECT name, token, expires FROM kindred_leases WHERE name IN (${questions.leases.map(nameLiteral).join(',')}) FOR UPDATE`,
    );
    const heirs = ask(
      questions.heirs.length > 0,
      () => `SELECT id, model, revision FROM kindred_objects WHERE id IN (${questions.heirs.join(',')})`,
    );
    const [answers] = await connection.query<RowDataPacket[][]>(statements.join(';'));
    const answer = (position: number): RowDataPacket[] => (position < 0 ? [] : answers[position]!);
    return planBatch(writes, time, {
      revision: answers[1]![0]!.value as number,
      rows: (answer(rows) as ObjectRow[]).map(({ model, name, id, revision }) => ({
        model,
        name: name.toString(),
        id,
        revision,
      })),
      claims: (answer(claims) as ClaimRow[]).map(claimOf),
      leases: answer(leases).map((row) => ({
        name: String(row.name),
        token: row.token as number,
        expires: row.expires as number,
      })),
      heirs: answer(heirs).map((row) => ({
        id: row.id as number,
        model: row.model as number,
        revision: row.revision as number,
      })),
    });
  }

  async #write(
    connection: PoolConnection,
    plan: Plan,
    contents: ReadonlyMap<Write, string>,
    time: number,
    batch: number,
  ): Promise<void> {
    const statements = plan.steps.flatMap((step) => stepStatements(step, contents, time, batch));
    if (plan.droppedClaims.length > 0) statements.push(deleteClaims(plan.droppedClaims));
    statements.push(...insertClaims(plan.takenClaims));
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

  /**
   * Whether the batch that ends with this revision was committed. The lock on the revision waits for a transaction that
   * the server may still be finishing. What is changed here makes this COMMIT wait for the replicas, which then have the
   * batch too.
   */
  async #wasCommitted(revision: number, batch: number, cause: Error): Promise<boolean> {
    const ask = (): Promise<boolean> =>
      this.#transaction(async (query) => {
        const [newest] = await query("SELECT value FROM kindred_meta WHERE id = 'revision' FOR UPDATE");
        if ((newest!.value as number) < revision) return false;
        const [found] = await query(`SELECT batch FROM kindred_changes WHERE revision = ${revision}`);
        if (!found) throw unknownOutcome('the change log was compacted meanwhile', cause);
        if (found.batch !== batch) return false;
        await query(touch);
        return true;
      }, resolveTimeout);
    return learnOutcome(ask, () => this.#closed, cause);
  }

  async get(model: number, ids: readonly number[]): Promise<readonly Row[]> {
    if (ids.length === 0) return [];
    return inOrder(ids, (await this.#read<ObjectRow>(selectRows(model, ids))).map(rowOf));
  }

  async scan(model: number, after: number, limit: number): Promise<readonly Row[]> {
    const rows = await this.#read<ObjectRow>(
      `SELECT id, revision, name, bytes FROM kindred_objects WHERE model = ${model} AND id > ${after} ORDER BY id LIMIT ${limit}`,
      longQuery,
    );
    return rows.map(rowOf);
  }

  async count(model: number): Promise<number> {
    const rows = await this.#read<RowDataPacket>(
      `SELECT count(*) AS count FROM kindred_objects WHERE model = ${model}`,
      longQuery,
    );
    return rows[0]!.count as number;
  }

  snapshot(): Promise<Snapshot> {
    return this.#snapshots.open((closed) => this.#openSnapshot(closed));
  }

  async #openSnapshot(closed: () => void): Promise<Snapshot> {
    const connection = await this.#connection(this.#snapshotPool);
    let open = true;
    const query = async <R extends RowDataPacket>(sql: string, timeout = shortQuery): Promise<R[]> => {
      if (!open) throw notReady('the snapshot is closed');
      try {
        const [rows] = await connection.query<R[]>({ sql, timeout });
        return rows;
      } catch (error) {
        throw translate(error);
      }
    };
    try {
      await query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      await query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
      const [row] = await query("SELECT value FROM kindred_meta WHERE id = 'revision'");
      return {
        revision: row!.value as number,
        get: async (model, ids) =>
          ids.length === 0 ? [] : inOrder(ids, (await query<ObjectRow>(selectRows(model, ids), longQuery)).map(rowOf)),
        close: async () => {
          if (!open) return;
          open = false;
          closed();
          await connection.query({ sql: 'ROLLBACK', timeout: shortQuery }).then(
            () => connection.release(),
            () => discard(connection),
          );
        },
      };
    } catch (error) {
      open = false;
      discard(connection);
      throw error;
    }
  }

  async claims(
    model: number,
    after: Uint8Array | undefined,
    limit: number,
  ): Promise<readonly (Claim & { id: number })[]> {
    const rows = await this.#read<ClaimRow>(
      `SELECT model, hash, index_name, key_text, id FROM kindred_claims
        WHERE model = ${model} AND hash > ${literal(after ?? new Uint8Array())} ORDER BY hash LIMIT ${limit}`,
      longQuery,
    );
    return rows.map((row) => {
      const { model: _, ...claim } = claimOf(row);
      return claim;
    });
  }

  mendClaims(
    model: number,
    add: readonly (Claim & { id: number; revision: number })[],
    remove: readonly HeldClaim[],
  ): Promise<number> {
    const all = [...add, ...remove];
    if (all.length === 0) return Promise.resolve(0);
    return this.#transaction(async (query) => {
      await query("SELECT value FROM kindred_meta WHERE id = 'revision' FOR UPDATE");
      const rows = await query(
        `SELECT id, revision FROM kindred_objects WHERE id IN (${all.map((claim) => claim.id).join(',')}) AND model = ${model}`,
      );
      const pairs = all.map(({ hash }) => ({ model, value: hash }));
      const claims = await query(
        `SELECT model, hash, index_name, key_text, id FROM kindred_claims WHERE ${byModel('hash', pairs)}`,
      );
      const plan = planMending(model, add, remove, {
        rows: rows.map((row) => ({ id: row.id as number, revision: row.revision as number })),
        claims: (claims as ClaimRow[]).map(claimOf),
      });
      if (plan.droppedClaims.length > 0) await query(deleteClaims(plan.droppedClaims));
      for (const statement of insertClaims(plan.takenClaims)) await query(statement);
      return plan.left;
    }, longQuery);
  }

  async changes(
    since: number,
    limit: number,
    { model, bytes = changesBytes }: ChangesNarrowing = {},
  ): Promise<readonly Change[]> {
    // Left to itself the server may read the whole log in the order of the primary key.
    const table =
      model === undefined
        ? 'kindred_changes WHERE'
        : `kindred_changes FORCE INDEX (kindred_changes_by_model) WHERE model = ${model} AND`;
    const rows = await this.#read<ChangeRow>(
      `SELECT m.value AS oldest, c.revision, c.time, c.type, c.model, c.id, c.name, c.bytes, c.old_bytes
        FROM kindred_meta m LEFT JOIN (
          SELECT next.*, sum(octet_length(bytes) + coalesce(octet_length(old_bytes), 0)) OVER (ORDER BY revision) AS total,
            row_number() OVER (ORDER BY revision) AS place
          FROM (SELECT * FROM ${table} revision > ${since} ORDER BY revision LIMIT ${limit}) AS next
        ) AS c ON c.total <= ${Math.min(bytes, changesBytes)} OR c.place = 1
        WHERE m.id = 'oldest' ORDER BY c.revision`,
      longQuery,
    );
    const { oldest } = rows[0]!;
    if (since < oldest) throw expired(since, oldest);
    return rows.filter((row) => row.revision !== null).map(changeOf);
  }

  compact(keep: number, time: number): Promise<number> {
    return this.#transaction(async (query) => {
      await query("SELECT value FROM kindred_meta WHERE id = 'oldest' FOR UPDATE");
      const [newest] = await query("SELECT value FROM kindred_meta WHERE id = 'revision'");
      const rows = await query(
        `SELECT revision, time FROM kindred_changes WHERE revision <= ${(newest!.value as number) - keep}
          ORDER BY revision LIMIT ${compactRows}`,
      );
      const kept = rows.findIndex((row) => (row.time as number) > time);
      const count = kept === -1 ? rows.length : kept;
      if (count === 0) return 0;
      const last = rows[count - 1]!.revision as number;
      await query(`DELETE FROM kindred_changes WHERE revision <= ${last}`);
      await query(`UPDATE kindred_meta SET value = ${last} WHERE id = 'oldest'`);
      return count;
    }, longQuery);
  }

  onCommit(listener: () => void): () => void {
    return this.#poller.listen(listener);
  }

  acquireLease(name: string, holder: string, ttl: number, now: number): Promise<Lease | undefined> {
    const where = `name = ${nameLiteral(name)}`;
    return this.#transaction(async (query) => {
      await query(
        `INSERT IGNORE INTO kindred_leases SELECT ${nameLiteral(name)}, '', value, 0 FROM kindred_meta WHERE id = 'jump'`,
      );
      const [row] = await query(`SELECT holder, token, expires FROM kindred_leases WHERE ${where} FOR UPDATE`);
      const free = (row!.expires as number) <= now;
      if (!free && String(row!.holder) !== holder) return undefined;
      const token = (row!.token as number) + (free ? 1 : 0);
      await query(
        `UPDATE kindred_leases SET holder = ${nameLiteral(holder)}, token = ${token}, expires = ${now + ttl} WHERE ${where}`,
      );
      return { name, holder, token };
    });
  }

  releaseLease({ name, holder, token }: Lease): Promise<void> {
    return this.#transaction(async (query) => {
      await query(
        `UPDATE kindred_leases SET expires = 0
          WHERE name = ${nameLiteral(name)} AND holder = ${nameLiteral(holder)} AND token = ${token}`,
      );
    });
  }

  async tokens(): Promise<Tokens> {
    const first = await this.#meta('jump');
    const rows = await this.#read<RowDataPacket>('SELECT name, token FROM kindred_leases ORDER BY name');
    return { first, leases: rows.map((row) => ({ name: String(row.name), token: row.token as number })) };
  }

  load(part: LoadPart): Promise<void> {
    return this.#transaction(async (query) => {
      for (const statement of loadStatements(part)) await query(statement);
    }, longQuery);
  }

  jump(): Promise<number> {
    return this.#transaction(async (query) => {
      const [row] = await query("SELECT value FROM kindred_meta WHERE id = 'revision' FOR UPDATE");
      const origin = row!.value as number;
      const target = origin + jumpLength;
      await query(`INSERT INTO kindred_jumps VALUES (${target}, ${origin})`);
      await query('DELETE FROM kindred_changes');
      await query(`UPDATE kindred_leases SET token = token + ${jumpLength}, expires = 0`);
      await query(`UPDATE kindred_meta SET value = ${target} WHERE id IN ('revision', 'oldest', 'jump')`);
      return target;
    }, 0);
  }

  describe(): Readonly<Record<string, string | number>> {
    return this.#description;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#poller.stop();
    await this.#commits.run(async () => undefined);
    await this.#open.end([this.#writers.end(), this.#pool.end(), this.#snapshotPool.end()]);
  }

  async #connection(pool: Pool): Promise<PoolConnection> {
    if (this.#closed) throw notReady('the store is closed');
    let connection: PoolConnection;
    try {
      connection = await pool.getConnection();
    } catch (error) {
      throw translate(error);
    }
    if (this.#prepared.has(connection.connection)) return connection;
    try {
      // A literal is read the same way whatever the server's own mode is.
      const sql = "SET SESSION sql_mode = 'STRICT_ALL_TABLES'; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
      await connection.query({ sql, timeout: shortQuery });
      await this.#admission.admit(connection);
    } catch (error) {
      discard(connection);
      throw translate(error);
    }
    this.#prepared.add(connection.connection);
    return connection;
  }

  async #read<R extends RowDataPacket>(sql: string, timeout = shortQuery): Promise<R[]> {
    const connection = await this.#connection(this.#pool);
    try {
      const [rows] = await connection.query<R[]>({ sql, timeout });
      connection.release();
      return rows;
    } catch (error) {
      if (refusedByServer(error)) connection.release();
      else discard(connection);
      throw translate(error);
    }
  }

  /**
   * One transaction of a kind that may be tried again: it says nothing of whether it was applied when the connection breaks.
   * @param timeout milliseconds after which the connection is given up; 0: however long it takes
   */
  #transaction<T>(
    body: (query: (sql: string) => Promise<RowDataPacket[]>) => Promise<T>,
    timeout = commitTimeout,
  ): Promise<T> {
    return repeated(async () => {
      const connection = await this.#connection(this.#pool);
      const timer = timeout > 0 ? setTimeout(() => sever(connection, late()), timeout) : undefined;
      try {
        await connection.query('START TRANSACTION');
        const result = await body(async (sql) => (await connection.query<RowDataPacket[]>(sql))[0]);
        await connection.query('COMMIT');
        connection.release();
        return result;
      } catch (error) {
        await connection.query('ROLLBACK').then(
          () => connection.release(),
          () => connection.destroy(),
        );
        throw error;
      } finally {
        clearTimeout(timer);
      }
    }, driverErrors);
  }
}

/** What is under way on the connection fails at once; the driver's own `destroy` says goodbye and waits for the server. */
function sever(connection: PoolConnection, reason?: Error): void {
  (connection.connection as unknown as { stream: Socket }).stream.destroy(reason);
}

function late(): Error {
  return new Error('the database did not answer in time');
}

/** For a connection that nothing waits for any more. */
function discard(connection: PoolConnection): void {
  sever(connection);
  connection.destroy();
}
