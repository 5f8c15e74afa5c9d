/** The connections of a store to its server: admitted before they are read from, replaced when they break. */
import { randomInt } from 'node:crypto';
import { awaitedTimers, pause } from '../../runtime/timers.ts';
import { notReady } from '../failure.ts';
import { maxSnapshots } from '../limits.ts';
import { Admission } from './admission.ts';
import type { ConnectionPool, Dialect, Query, SqlRow, Value } from './dialect.ts';
import { commitTimeout, shortQuery } from './timeouts.ts';

/** How often a transaction is tried, at most. */
const attempts = 12;
/** How often something is read, at most. */
const readAttempts = 3;

export class ServerConnections<C extends { release(): void }> {
  /** Snapshots hold a connection for long; a pool of their own keeps them from starving the reads. */
  readonly snapshots: ConnectionPool<C>;
  /** One connection, for batches. */
  readonly writers: ConnectionPool<C>;
  readonly #reads: ConnectionPool<C>;
  readonly #dialect: Dialect<C>;
  readonly #admission: Admission<C>;
  /** Of which run of a server the connections are that are set up and were admitted. */
  readonly #admitted = new WeakMap<object, string>();
  #isClosed = false;

  /** @param size connections for reads and short transactions, at most */
  constructor(dialect: Dialect<C>, size: number) {
    this.#dialect = dialect;
    this.#reads = dialect.pool(size);
    this.snapshots = dialect.pool(maxSnapshots);
    this.writers = dialect.pool(1);
    this.#admission = new Admission(dialect.gate);
  }

  /** Connections admitted so far. */
  get count(): number {
    return this.#admission.count;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Gives out no connection any more. */
  stop(): void {
    this.#isClosed = true;
  }

  /** Waits for what is in use, and for `others`, for 5 s at most. */
  async end(others: Promise<void>): Promise<void> {
    const pools = [this.writers, this.#reads, this.snapshots];
    await this.#dialect.connections.end([others, ...pools.map((pool) => pool.end())]);
  }

  async acquire(pool: ConnectionPool<C>): Promise<C> {
    if (this.isClosed) throw notReady('the store is closed');
    try {
      return await this.#dialect.hosts.first((host) => this.#admittedFrom(pool, host));
    } catch (error) {
      throw this.#dialect.translate(error);
    }
  }

  async #admittedFrom(pool: ConnectionPool<C>, host: number): Promise<C> {
    const dialect = this.#dialect;
    const connection = await pool.acquire(host);
    const former = this.#runOf(connection);
    if (former !== undefined) {
      if (this.#admission.isPrimary(former)) return connection;
      dialect.discard(connection);
      return this.#admittedFrom(pool, host);
    }
    try {
      await dialect.setUp?.(connection);
      const run = await this.#admission.admit(connection);
      if (pool === this.writers) await dialect.setUpWriter?.(connection);
      this.#admitted.set(dialect.sessionOf(connection), run);
      return connection;
    } catch (error) {
      dialect.discard(connection);
      throw error;
    }
  }

  /** Undefined before the connection is admitted. */
  #runOf(connection: C): string | undefined {
    return this.#admitted.get(this.#dialect.sessionOf(connection));
  }

  async read(text: string, values: readonly Value[] = [], timeout = shortQuery): Promise<readonly SqlRow[]> {
    const dialect = this.#dialect;
    for (let attempt = 1; attempt <= readAttempts; attempt++) {
      const connection = await this.acquire(this.#reads);
      const asked = performance.now();
      let rows: readonly SqlRow[];
      try {
        rows = await dialect.query(connection, text, values, timeout);
        connection.release();
      } catch (error) {
        if (dialect.isRefusal(error)) connection.release();
        else dialect.discard(connection);
        throw dialect.translate(error);
      }
      if (await this.isBelieved(connection, asked)) return rows;
    }
    throw notReady(unsure);
  }

  /**
   * Whether to believe what a connection answered to a question that was asked then: a server that stood still answers when
   * it goes on, and another one may be the primary by that time.
   */
  async isBelieved(connection: C, asked: number): Promise<boolean> {
    const run = this.#runOf(connection)!;
    if (this.#admission.answered(run, asked)) return true;
    // It took long, or it is another server: whatever is read from next has been confirmed.
    (await this.acquire(this.#reads)).release();
    return this.#admission.isPrimary(run);
  }

  /**
   * One transaction of a kind that may be tried again: it says nothing of whether it was applied when the connection breaks.
   * @param timeout milliseconds after which the connection is given up; 0: however long it takes
   */
  transaction<T>(body: (query: Query) => Promise<T>, timeout = commitTimeout): Promise<T> {
    const dialect = this.#dialect;
    return this.repeated(async () => {
      const connection = await this.acquire(this.#reads);
      const timer = timeout > 0 ? setTimeout(() => dialect.sever(connection, late()), timeout) : undefined;
      const query: Query = (text, values) => dialect.query(connection, text, values);
      let isUsable = true;
      try {
        await query(dialect.sql.begin);
        const result = await body(query);
        await dialect.commit(connection);
        return result;
      } catch (error) {
        isUsable = await this.rollback(connection);
        throw error;
      } finally {
        clearTimeout(timer);
        if (isUsable) connection.release();
        else dialect.discard(connection);
      }
    });
  }

  /** Runs a transaction again as long as it is undone for the sake of another one; what it throws is translated. */
  async repeated<T>(run: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await run();
      } catch (error) {
        if (!this.#dialect.isRepeatable(error) || attempt === attempts) throw this.#dialect.translate(error);
        await pause(awaitedTimers, randomInt(1, 5 * attempt));
      }
    }
  }

  /** Ends what is left of a transaction; false when the connection cannot be used any more. */
  rollback(connection: C, timeout = 0): Promise<boolean> {
    return this.#dialect.query(connection, 'ROLLBACK', [], timeout).then(
      () => true,
      () => false,
    );
  }
}

/** Why an answer is not believed. */
export const unsure = 'another server may be the primary';

/** Why a connection is given up that does not answer. */
export function late(): Error {
  return new Error('the database did not answer in time');
}
