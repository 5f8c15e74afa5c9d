/** PostgreSQL, for `SqlServerStore`; engines with its protocol too. What a batch does goes in one packet a phase (`pipeline.ts`). */
import type { ClientBase, Pool, PoolClient } from 'pg';
import type { Guess, KnownClaim, Plan, Questions } from '../decide.ts';
import { notReady, storageFull } from '../failure.ts';
import type { StoreOptions } from '../options.ts';
import type {
  ClaimKey,
  CommitWatch,
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
import { CommitFailure } from '../server/dialect.ts';
import { Hosts, hostUrls } from '../server/hosts.ts';
import { openServer } from '../server/open.ts';
import { OpenConnections } from '../server/open-connections.ts';
import { connectTimeout, shortQuery } from '../server/timeouts.ts';
import { securityOf } from '../server/tls.ts';
import type { LoadPart, Rewrite, Store } from '../store.ts';
import { CommitListener } from './commit-listener.ts';
import type { Call } from './pipeline.ts';
import { parser, prepare, sequenceOf } from './pipeline.ts';
import { certainly, postgresGate } from './standby.ts';
import {
  batchStatements,
  claimParameters,
  deleteClaims,
  hashParameters,
  insertClaims,
  loadStatements,
  numbers,
  rewriteStatements,
  selectClaims,
  stepCall,
  texts,
  unchangedCall,
} from './statements.ts';
import { tables } from './tables.ts';

type Driver = typeof import('pg')['default'];

export async function openPostgres(url: string, options: StoreOptions): Promise<Store> {
  const driver = await import('pg').then(
    (module) => module.default,
    (cause: unknown) => {
      throw new Error('a postgres:// database needs the package "pg": npm install pg', { cause });
    },
  );
  return openServer<PoolClient>(new PostgresDialect(driver, url, options), url, options);
}

function settings(given: string): object {
  const { url, security } = securityOf(given);
  const { verifyIdentity, ...tls } = security ?? {};
  return {
    connectionString: url.href,
    ssl: security !== undefined && { ...tls, ...(!verifyIdentity && { checkServerIdentity: () => undefined }) },
    connectionTimeoutMillis: connectTimeout,
    keepAlive: true,
    application_name: 'kindred',
    types: { getTypeParser: parser },
  };
}

interface ServerError {
  readonly code?: string;
  /** Only the server's own errors have one. */
  readonly severity?: string;
  readonly message: string;
}

/** Settings that keep what was acknowledged, with the values that do not. */
const unsafe: Readonly<Record<string, readonly string[]>> = {
  fsync: ['off'],
  synchronous_commit: ['off'],
  full_page_writes: ['off'],
};

const sql: Sql = {
  begin: 'BEGIN ISOLATION LEVEL READ COMMITTED',
  beginSnapshot: ['BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'],
  metaKey: 'key',
  claimKey: 'key',
  before: 'before',
  anyOf: '= ANY (?::bigint[])',
  byModel: '',
  endGuesses: "UPDATE kindred_meta SET questions = questions + 1 WHERE key = 'revision'",
  makeLease: `INSERT INTO kindred_leases SELECT ?, '', value, 0 FROM kindred_meta WHERE key = 'jump'
    ON CONFLICT (name) DO NOTHING`,
};

class PostgresDialect implements Dialect<PoolClient> {
  readonly database = 'postgres';
  readonly tables = tables;
  readonly sql = sql;
  readonly gate = postgresGate;
  readonly hosts: Hosts;
  readonly connections = new OpenConnections();
  readonly #driver: Driver;
  /** For each host. */
  readonly #settings: readonly object[];
  readonly #warn: ((message: string) => void) | undefined;
  /** False on engines without LISTEN and NOTIFY: there the others poll. */
  #notifies = true;

  constructor(driver: Driver, url: string, { warn }: StoreOptions) {
    this.#driver = driver;
    const urls = hostUrls(url);
    this.hosts = new Hosts(urls);
    this.#settings = urls.map(settings);
    this.#warn = warn;
  }

  pool(size: number): ConnectionPool<PoolClient> {
    const pools = this.#settings.map((settings) => {
      const pool: Pool = new this.#driver.Pool({ ...settings, max: size, min: 1, idleTimeoutMillis: 30_000 });
      // A connection that breaks fails the query that uses it, or is replaced by the next one; without listeners the process would end.
      pool.on('error', () => undefined);
      pool.on('connect', (client) => this.#opened(client));
      return pool;
    });
    return {
      acquire: (host) => pools[host]!.connect(),
      end: async () => void (await Promise.all(pools.map((pool) => pool.end()))),
    };
  }

  #opened(client: ClientBase): void {
    client.on('error', () => undefined);
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    this.connections.add({ ended, destroy: () => destroy(client) });
  }

  sessionOf(client: PoolClient): object {
    return client;
  }

  async setUpWriter(client: PoolClient): Promise<void> {
    // Tables that were just made have no statistics: keep the planner from reading them whole.
    for (const setting of ['enable_hashjoin', 'enable_mergejoin', 'enable_seqscan']) {
      await this.query(client, `SET ${setting} = off`, [], shortQuery).catch(() => undefined);
    }
    const { tell, ...everywhere } = batchStatements;
    const timer = setTimeout(() => destroy(client), shortQuery);
    try {
      await prepare(client, this.#notifies ? batchStatements : everywhere);
    } finally {
      clearTimeout(timer);
    }
  }

  sever(client: PoolClient, reason: Error): void {
    destroy(client, reason);
  }

  discard(client: PoolClient): void {
    destroy(client);
    client.release(true);
  }

  async query(client: PoolClient, text: string, values: readonly Value[] = [], timeout = 0): Promise<SqlRow[]> {
    let count = 0;
    const { rows } = await client.query({
      text: text.replaceAll('?', () => `$${++count}`),
      values: values.map((value) => (Array.isArray(value) ? numbers(value) : value)),
      ...(timeout > 0 && { query_timeout: timeout }),
    });
    return rows;
  }

  async inspect(query: Query): Promise<Inspection> {
    const durability: Record<string, string> = {};
    const problems: string[] = [];
    for (const [name, bad] of Object.entries(unsafe)) {
      try {
        const [row] = await query(`SHOW ${name}`);
        const value = String(Object.values(row!)[0]);
        durability[name] = value;
        if (bad.includes(value)) problems.push(`${name} = ${value}`);
      } catch (error) {
        // An engine that does not know the setting.
        if ((error as ServerError).code !== '42704') throw error;
      }
    }
    const [row] = await query('SELECT version() AS version');
    const version: string = row!.version;
    this.#notifies = !/CockroachDB/.test(version);
    await refuseDistributed(query);
    return { description: { version, ...durability }, problems, warnings: [] };
  }

  commitWatch(): CommitWatch | undefined {
    if (!this.#notifies) return undefined;
    const connect = async () => {
      const client = new this.#driver.Client(this.#settings[this.hosts.current]);
      client.on('error', () => undefined);
      await client.connect();
      this.#opened(client);
      return client;
    };
    return new CommitListener(connect, destroy, this.#warn);
  }

  isAnswer(error: unknown): boolean {
    const { code, severity } = error as ServerError;
    return severity !== undefined && code !== undefined;
  }

  isRefusal(error: unknown): boolean {
    return this.isAnswer(error) && !/^(08|57P|40003)/.test((error as ServerError).code!);
  }

  isRepeatable(error: unknown): boolean {
    const { code } = error as ServerError;
    return code === '40001' || code === '40P01';
  }

  translate(error: unknown): Error {
    const { code, message } = error as ServerError;
    if (code === '53100') return storageFull(message, error);
    if (error instanceof Error && error.name === 'KindredError') return error;
    if (!this.isRefusal(error) || /^(53|55P03|25006|57|58)/.test(code ?? '') || this.isRepeatable(error)) {
      return notReady(message, error);
    }
    return error as Error;
  }

  async read(client: PoolClient, questions: Questions): Promise<RawAnswers> {
    const { names, hashes, leases, takeovers, generations, changed } = questions;
    const calls: Call[] = [{ name: 'BEGIN' }, { name: 'lock', isRead: true }];
    const ask = (name: keyof typeof batchStatements, values: Call['values']) =>
      calls.push({ name, values, isRead: true });
    if (names.length > 0) ask('rows', [numbers(names.map((one) => one.model)), texts(names.map((one) => one.name))]);
    if (hashes.length > 0) ask('claims', hashParameters(hashes));
    if (leases.length > 0) ask('leases', [texts(leases)]);
    if (takeovers.length > 0) ask('takeovers', [numbers(takeovers)]);
    if (generations.length > 0) ask('generations', [numbers(generations)]);
    if (changed.length > 0) ask('changed', [numbers(changed)]);
    const answers = await sequenceOf(calls).send(client);
    const rowsOf = (name: string) => answers[calls.findIndex((call) => call.name === name)]?.rows ?? [];
    return {
      revision: rowsOf('lock')[0].value,
      questions: rowsOf('lock')[0].questions,
      rows: rowsOf('rows'),
      claims: rowsOf('claims'),
      leases: rowsOf('leases'),
      takeovers: rowsOf('takeovers'),
      generations: rowsOf('generations'),
      changed: rowsOf('changed'),
    };
  }

  write(client: PoolClient, plan: Plan, time: number, batch: number): Promise<void> {
    return this.#write(client, [{ name: 'move', values: [`${plan.revision}`] }], plan, time, batch);
  }

  writeGuess(client: PoolClient, { known, plan, rows }: Guess, time: number, batch: number): Promise<void> {
    const first: Call[] = [
      { name: 'BEGIN' },
      { name: 'guess', values: [`${known.revision}`, `${known.questions}`, `${plan.revision}`] },
    ];
    if (rows.length > 0) first.push(unchangedCall(rows));
    return this.#write(client, first, plan, time, batch);
  }

  async #write(client: PoolClient, first: Call[], plan: Plan, time: number, batch: number): Promise<void> {
    const calls = [...first, ...plan.steps.map((step) => stepCall(step, time, batch))];
    if (plan.droppedClaims.length > 0) calls.push({ name: 'drop-claims', values: hashParameters(plan.droppedClaims) });
    if (plan.takenClaims.length > 0) calls.push({ name: 'take-claims', values: claimParameters(plan.takenClaims) });
    for (const { model, to, contract, storageVersion } of plan.activations) {
      calls.push({ name: 'activate', values: [`${model}`, `${to}`, contract, storageVersion] });
    }
    if (this.#notifies) calls.push({ name: 'tell', values: [`${plan.revision}`] });
    calls.push({ name: 'COMMIT' });
    const sequence = sequenceOf(calls);
    const isCommitting = (): boolean => sequence.answers.length >= calls.length - 1;
    const answers = await certainly(client, () => sequence.send(client), isCommitting).catch((cause: unknown) => {
      if (!isCommitting()) throw cause;
      throw new CommitFailure('the commit failed', { cause });
    });
    if (answers.at(-1)!.tag !== 'COMMIT') throw new Error('the server did not commit');
  }

  async commit(client: PoolClient): Promise<void> {
    await certainly(client, () => client.query('COMMIT'));
  }

  selectClaims(claims: readonly ClaimKey[]): Statement {
    return { text: selectClaims, values: hashParameters(claims) };
  }

  deleteClaims(claims: readonly ClaimKey[]): Statement {
    return { text: deleteClaims, values: hashParameters(claims) };
  }

  insertClaims(claims: readonly KnownClaim[]): readonly Statement[] {
    return claims.length > 0 ? [{ text: insertClaims, values: claimParameters(claims) }] : [];
  }

  rewrite(rows: readonly Rewrite[]): readonly Statement[] {
    return rewriteStatements(rows);
  }

  load(part: LoadPart): readonly Statement[] {
    return loadStatements(part);
  }
}

/**
 * A statement that changes an object also reads what it was before, for the change log (`statements.ts`). On Citus,
 * the nodes that hold parts of a distributed table have no common snapshot, so that content could be of another moment.
 * Only tables that Citus keeps local to the coordinator are taken: those with no method, of one copy, and with no others beside them.
 */
async function refuseDistributed(query: Query): Promise<void> {
  const [catalog] = await query("SELECT to_regclass('pg_dist_partition') AS name");
  if (catalog!.name === null) return;
  const tables = await query(
    `SELECT relname AS name FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid
     WHERE relname LIKE 'kindred\\_%' AND pg_table_is_visible(pg_class.oid)
       AND NOT (partmethod = 'n' AND repmodel <> 't' AND colocationid = 0)
     ORDER BY 1`,
  );
  if (tables.length === 0) return;
  const names = tables.map(({ name }) => name).join(', ');
  throw new Error(
    `Citus distributes tables of the service (${names}): keep them local to the coordinator, with undistribute_table()`,
  );
}

/** Ends a connection without waiting for the server. */
function destroy(client: ClientBase, reason?: Error): void {
  (client as unknown as { connection: { stream: { destroy(reason?: Error): void } } }).connection.stream.destroy(
    reason,
  );
}
