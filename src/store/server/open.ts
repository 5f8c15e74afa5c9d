/** Opens a store on a database server: the settings are checked, and the tables brought to the newest version. */

import { shownUrl } from '../../runtime/shown-url.ts';
import type { StoreOptions } from '../options.ts';
import type { Store } from '../store.ts';
import type { ConnectionPool, Dialect, Query, Tables } from './dialect.ts';
import { SqlServerStore } from './store.ts';
import { advice } from './tls.ts';

/** Throws a plain error of one line when the server cannot be reached, or is not what the service needs. */
export async function openServer<C extends { release(): void }>(
  dialect: Dialect<C>,
  url: string,
  options: StoreOptions,
): Promise<Store> {
  const pool = dialect.pool(1);
  try {
    const connection = await dialect.hosts
      .first((host) => primary(dialect, pool, host))
      .catch((cause: Error) => {
        const several = cause instanceof AggregateError ? 'has no host that takes writes: ' : '';
        throw new Error(`the database ${shownUrl(url)} ${several}${cause.message}`, { cause });
      });
    try {
      const query: Query = (text, values) => dialect.query(connection, text, values);
      const { description, problems, warnings } = await dialect.inspect(query);
      refuseUnsafeDurability(problems, options);
      for (const warning of warnings) options.warn?.(warning);
      await migrate(query, dialect.tables, dialect.sql.begin);
      return new SqlServerStore(dialect, options, { database: dialect.database, ...description });
    } finally {
      connection.release();
    }
  } finally {
    await pool.end();
  }
}

/** Brings the tables to the newest version; processes that start together do it one after another. */
async function migrate(query: Query, { lock, unlock, version, migrations }: Tables, begin: string): Promise<void> {
  const [answer] = await query(lock);
  if (answer!.locked !== 1) throw new Error('another process has been changing the tables for more than a minute');
  try {
    await query(version);
    const [row] = await query('SELECT max(version) AS version FROM kindred_version');
    const there: number = row!.version ?? 0;
    if (there > migrations.length) {
      throw new Error(
        `the tables of this database have version ${there}, this program knows ${migrations.length}: use the newer program`,
      );
    }
    for (let next = there + 1; next <= migrations.length; next++) {
      await query(begin);
      try {
        for (const statement of migrations[next - 1]!) await query(statement);
        await query('INSERT INTO kindred_version VALUES (?)', [next]);
        await query('COMMIT');
      } catch (error) {
        await query('ROLLBACK');
        throw error;
      }
    }
  } finally {
    await query(unlock);
  }
}

/** Throws a plain error, or warns when that is allowed. */
function refuseUnsafeDurability(problems: readonly string[], options: StoreOptions): void {
  if (problems.length === 0) return;
  const text = `the database server can lose acknowledged writes (${problems.join(', ')})`;
  if (!options.allowUnsafeDurability) throw new Error(`${text}; change these settings, or allow unsafe durability`);
  options.warn?.(text);
}

/** A connection to the host, which takes writes. Rejects with how it fails, without the name of the database. */
async function primary<C extends { release(): void }>(
  dialect: Dialect<C>,
  pool: ConnectionPool<C>,
  host: number,
): Promise<C> {
  const connection = await pool.acquire(host).catch((cause: unknown) => {
    throw unreachable(cause);
  });
  await dialect.gate.refuseStandby(connection).catch((cause: unknown) => {
    dialect.discard(connection);
    throw new Error(`cannot be used: ${(cause as Error).message}`, { cause });
  });
  return connection;
}

function unreachable(cause: unknown): Error {
  const { message } = cause as Error;
  // What a server itself says has a severity (PostgreSQL) or an SQL state (MySQL).
  const isAnswer = 'severity' in (cause as object) || 'sqlState' in (cause as object);
  const failure = isAnswer ? 'refuses the connection' : 'cannot be reached';
  return new Error(`${failure}: ${message}${advice(message)}`, { cause });
}
