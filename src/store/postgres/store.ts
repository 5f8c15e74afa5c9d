/**
 * The store in PostgreSQL, for any number of processes. A batch is one transaction on a connection kept for it: the row
 * of the revision is locked, what the batch depends on is read, the batch is decided here (`decide.ts`) and written in a
 * few statements, all of a phase in one packet (`pipeline.ts`). Statements and isolation are those that PostgreSQL-compatible engines
 * have; a serialisation failure is tried again.
 */
import { randomInt } from 'node:crypto';
import type { Client, ClientBase, Pool, PoolClient, QueryResultRow } from 'pg';
import { SerialQueue } from '../../runtime/serial-queue.ts';
import type { Plan } from '../decide.ts';
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
  pause,
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
import type { Call } from './pipeline.ts';
import { parser, prepare, sequenceOf } from './pipeline.ts';
import { certainly, postgresGate } from './standby.ts';
import type { ClaimRow } from './statements.ts';
import {
  Bytes,
  batchStatements,
  channel,
  claimOf,
  claimParameters,
  deleteClaims,
  hashParameters,
  insertClaims,
  loadClaims,
  numbers,
  selectClaims,
  stepCall,
  texts,
} from './statements.ts';
import { durabilityOf, migratePostgres } from './tables.ts';

interface ServerError {
  readonly code?: string;
  readonly severity?: string;
  readonly message: string;
}

export async function openPostgres(url: string, options: StoreOptions): Promise<Store> {
  const pg = await import('pg').then(
    (module) => module.default,
    (cause: unknown) => {
      throw new Error('a postgres:// database needs the package "pg": npm install pg', { cause });
    },
  );
  const config = settings(url);
  const open = new OpenConnections();
  const opened = (client: ClientBase): void => {
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    open.add({ ended, destroy: () => destroy(client) });
  };
  const connections: Connections = {
    pool: (size) => {
      const pool = new pg.Pool({ ...config, max: size, idleTimeoutMillis: 30_000 });
      // A connection that breaks fails the query that uses it, or is replaced by the next one; without listeners the process would end.
      pool.on('error', () => undefined);
      pool.on('connect', (client) => {
        client.on('error', () => undefined);
        opened(client);
      });
      return pool;
    },
    client: async () => {
      const client = new pg.Client(config);
      client.on('error', () => undefined);
      await client.connect();
      opened(client);
      return client;
    },
    end: (endings) => open.end(endings),
  };
  let client: Client;
  try {
    client = await connections.client();
  } catch (cause) {
    throw unreachable(url, cause);
  }
  try {
    const { settings: durability, problems } = await durabilityOf(client);
    refuseUnsafeDurability(problems, options);
    await postgresGate.refuseStandby(client).catch((cause: unknown) => {
      throw unusable(url, cause);
    });
    await migratePostgres(client);
    const { rows } = await client.query('SELECT version() AS version');
    const description = { database: 'postgres', version: (rows[0] as { version: string }).version, ...durability };
    return new PostgresStore(connections, options, description);
  } finally {
    await client.end();
  }
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

interface Connections {
  pool(size: number): Pool;
  client(): Promise<Client>;
  /** Waits for these endings and every connection; those that do not end are destroyed. */
  end(endings: readonly (Promise<unknown> | undefined)[]): Promise<void>;
}

/** True when the server itself refused the statement, which therefore did nothing. Only its errors have a severity. */
function refusedByServer(error: unknown): boolean {
  const { code, severity } = error as ServerError;
  return severity !== undefined && code !== undefined && !/^(08|57P|40003)/.test(code);
}

/** The COMMIT itself failed, whoever says so: `cause` is the error. */
class CommitFailure extends Error {}

function repeatable(error: unknown): boolean {
  const code = (error as ServerError).code;
  return code === '40001' || code === '40P01';
}

/** An error of the server or the connection in our words, for what certainly changed nothing. */
function translate(error: unknown): Error {
  const { code, message } = error as ServerError;
  if (code === '53100') return storageFull(message, error);
  if (error instanceof Error && error.name === 'KindredError') return error;
  if (!refusedByServer(error) || /^(53|55P03|25006|57|58)/.test(code ?? '') || repeatable(error)) {
    return notReady(message, error);
  }
  return error as Error;
}

const driverErrors = { repeatable, translate };

class PostgresStore implements Store {
  readonly shared = true;
  readonly #connections: Connections;
  readonly #warn: (message: string) => void;
  readonly #description: Readonly<Record<string, string>>;
  readonly #pool: Pool;
  /** Snapshots hold a connection for long; a pool of their own keeps them from starving the reads. */
  readonly #snapshotPool: Pool;
  readonly #admission = new Admission(postgresGate);
  readonly #admitted = new WeakSet<ClientBase>();
  readonly #commits = new SerialQueue();
  readonly #poller = new Poller(async () => this.revision());
  readonly #listeners = new Set<() => void>();
  readonly #numbers = new Map<string, number>();
  #writer: Client | undefined;
  #listening: Promise<void> | undefined;
  #listener: Client | undefined;
  readonly #snapshots = new Snapshots();
  #closed = false;

  constructor(connections: Connections, options: StoreOptions, description: Readonly<Record<string, string>>) {
    this.#connections = connections;
    this.#warn = options.warn ?? (() => undefined);
    this.#description = description;
    this.#pool = connections.pool(options.poolSize ?? 10);
    this.#snapshotPool = connections.pool(maxSnapshots);
  }

  get connections(): number {
    return this.#admission.count;
  }

  async modelNumber(group: string, kind: string): Promise<number> {
    const key = `${group}/${kind}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = await this.#transaction(async (client) => {
      await client.query("SELECT value FROM kindred_meta WHERE key = 'oldest' FOR UPDATE");
      const found = await client.query('SELECT number FROM kindred_models WHERE group_name = $1 AND kind = $2', [
        group,
        kind,
      ]);
      if (found.rows[0]) return found.rows[0].number as number;
      const made = await client.query(
        'INSERT INTO kindred_models SELECT coalesce(max(number), 0) + 1, $1, $2 FROM kindred_models RETURNING number',
        [group, kind],
      );
      return made.rows[0]!.number as number;
    });
    this.#numbers.set(key, number);
    return number;
  }

  models(): Promise<readonly ModelRow[]> {
    return this.#read<ModelRow>('SELECT number, group_name AS "group", kind FROM kindred_models ORDER BY number');
  }

  async revision(): Promise<number> {
    return this.#meta('revision');
  }

  async oldest(): Promise<number> {
    return this.#meta('oldest');
  }

  async #meta(key: string): Promise<number> {
    const rows = await this.#read<{ value: number }>('SELECT value FROM kindred_meta WHERE key = $1', [key]);
    return rows[0]!.value;
  }

  commit(writes: readonly Write[], time: number): Promise<readonly WriteResult[]> {
    return this.#commits.run(() => repeated(() => this.#commitOnce(writes, time), driverErrors));
  }

  async #commitOnce(writes: readonly Write[], time: number): Promise<readonly WriteResult[]> {
    if (this.#closed) throw notReady('the store is closed');
    this.#writer ??= await this.#connect();
    const client = this.#writer;
    const timer = setTimeout(() => this.#dropWriter(client), commitTimeout);
    try {
      const plan = await this.#decide(client, writes, time);
      if (plan.steps.length === 0) {
        await client.query('ROLLBACK');
        return plan.results;
      }
      const batch = randomInt(2 ** 47);
      try {
        await this.#write(client, plan, time, batch);
      } catch (error) {
        const cause = error instanceof CommitFailure ? error.cause : error;
        if (await isUndone(client, error)) throw cause;
        this.#dropWriter(client);
        if (await this.#wasCommitted(plan.revision, batch, cause as Error)) return plan.results;
        throw refusedByServer(cause) ? cause : notReady('the connection broke before the commit', cause);
      }
      return plan.results;
    } catch (error) {
      if (!refusedByServer(error) || !(await rolledBack(client))) this.#dropWriter(client);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #connect(): Promise<Client> {
    const client = await this.#connections.client();
    await this.#admit(client, () => destroy(client));
    // Tables that were just made have no statistics: keep the planner from reading them whole.
    for (const setting of ['enable_hashjoin', 'enable_mergejoin', 'enable_seqscan']) {
      await ask(client, `SET ${setting} = off`, [], shortQuery).catch(() => undefined);
    }
    const { tell, ...everywhere } = batchStatements;
    const timer = setTimeout(() => destroy(client), shortQuery);
    try {
      await prepare(client, this.#notifies ? batchStatements : everywhere);
      return client;
    } catch (error) {
      destroy(client);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #dropWriter(client: Client): void {
    if (this.#writer === client) this.#writer = undefined;
    destroy(client);
  }

  /** Locks the revision, reads what the batch depends on and decides what it does. */
  async #decide(client: Client, writes: readonly Write[], time: number): Promise<Plan> {
    const { names, hashes, leases, heirs } = questionsOf(writes);
    const calls: Call[] = [{ name: 'BEGIN' }, { name: 'lock' }];
    if (names.length > 0) {
      calls.push({
        name: 'rows',
        values: [numbers(names.map((one) => one.model)), texts(names.map((one) => one.name))],
      });
    }
    if (hashes.length > 0) calls.push({ name: 'claims', values: hashParameters(hashes) });
    if (leases.length > 0) calls.push({ name: 'leases', values: [texts(leases)] });
    if (heirs.length > 0) calls.push({ name: 'heirs', values: [numbers(heirs)] });
    const answers = await sequenceOf(calls).send(client);
    const rowsOf = (name: string) => answers[calls.findIndex((call) => call.name === name)]?.rows ?? [];
    return planBatch(writes, time, {
      revision: rowsOf('lock')[0].value,
      rows: rowsOf('rows'),
      claims: rowsOf('claims').map(claimOf),
      leases: rowsOf('leases'),
      heirs: rowsOf('heirs'),
    });
  }

  async #write(client: Client, plan: Plan, time: number, batch: number): Promise<void> {
    const calls = plan.steps.map((step) => stepCall(step, time, batch));
    if (plan.droppedClaims.length > 0) calls.push({ name: 'drop-claims', values: hashParameters(plan.droppedClaims) });
    if (plan.takenClaims.length > 0) calls.push({ name: 'take-claims', values: claimParameters(plan.takenClaims) });
    calls.push({ name: 'move', values: [`${plan.revision}`] });
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

  /** False on engines without LISTEN and NOTIFY: there the others poll. */
  get #notifies(): boolean {
    return !/CockroachDB/.test(this.#description.version ?? '');
  }

  /**
   * Whether the batch that ends with this revision was committed. The lock on the revision waits for a transaction that
   * the server may still be finishing, and makes this one a transaction that writes: its COMMIT waits for the standbys,
   * which then have the batch too. With a plain SELECT a batch would be acknowledged that a failover loses.
   */
  async #wasCommitted(revision: number, batch: number, cause: Error): Promise<boolean> {
    const ask = (): Promise<boolean> =>
      this.#transaction(async (client) => {
        const newest = await client.query("SELECT value FROM kindred_meta WHERE key = 'revision' FOR UPDATE");
        if ((newest.rows[0]!.value as number) < revision) return false;
        const found = await client.query('SELECT batch FROM kindred_changes WHERE revision = $1', [revision]);
        if (!found.rows[0]) throw unknownOutcome('the change log was compacted meanwhile', cause);
        return found.rows[0].batch === batch;
      }, resolveTimeout);
    return learnOutcome(ask, () => this.#closed, cause);
  }

  async get(model: number, ids: readonly number[]): Promise<readonly Row[]> {
    if (ids.length === 0) return [];
    return inOrder(ids, await this.#read<Row>(selectRows, [numbers(ids), model]));
  }

  scan(model: number, after: number, limit: number): Promise<readonly Row[]> {
    return this.#read<Row>(
      'SELECT id, revision, name, bytes FROM kindred_objects WHERE model = $1 AND id > $2 ORDER BY id LIMIT $3',
      [model, after, limit],
      longQuery,
    );
  }

  async count(model: number): Promise<number> {
    const rows = await this.#read<{ count: number }>(
      'SELECT count(*) AS count FROM kindred_objects WHERE model = $1',
      [model],
      longQuery,
    );
    return rows[0]!.count;
  }

  snapshot(): Promise<Snapshot> {
    return this.#snapshots.open((closed) => this.#openSnapshot(closed));
  }

  async #openSnapshot(closed: () => void): Promise<Snapshot> {
    const client = await this.#client(this.#snapshotPool);
    let open = true;
    const query = async <R extends QueryResultRow>(
      text: string,
      values: unknown[] = [],
      timeout = shortQuery,
    ): Promise<R[]> => {
      if (!open) throw notReady('the snapshot is closed');
      try {
        return (await ask<R>(client, text, values, timeout)).rows;
      } catch (error) {
        throw translate(error);
      }
    };
    try {
      await query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const rows = await query<{ value: number }>("SELECT value FROM kindred_meta WHERE key = 'revision'");
      return {
        revision: rows[0]!.value,
        get: async (model, ids) =>
          ids.length === 0 ? [] : inOrder(ids, await query<Row>(selectRows, [numbers(ids), model], longQuery)),
        close: async () => {
          if (!open) return;
          open = false;
          closed();
          await ask(client, 'ROLLBACK', [], shortQuery).then(
            () => client.release(),
            (error: Error) => client.release(error),
          );
        },
      };
    } catch (error) {
      open = false;
      client.release(error as Error);
      throw error;
    }
  }

  async claims(
    model: number,
    after: Uint8Array | undefined,
    limit: number,
  ): Promise<readonly (Claim & { id: number })[]> {
    const rows = await this.#read<ClaimRow>(
      `SELECT model, hash, index_name AS index, key, id FROM kindred_claims
        WHERE model = $1 AND hash > $2 ORDER BY hash LIMIT $3`,
      [model, Buffer.from(after ?? []), limit],
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
    return this.#transaction(async (client) => {
      await client.query("SELECT value FROM kindred_meta WHERE key = 'revision' FOR UPDATE");
      const all = [...add, ...remove];
      const rows = await client.query<{ id: number; revision: number }>(
        'SELECT id, revision FROM kindred_objects WHERE id = ANY ($1::bigint[]) AND model = $2',
        [numbers(all.map((claim) => claim.id)), model],
      );
      const hashes = all.map(({ hash }) => ({ model, hash }));
      const claims = await client.query<ClaimRow>(selectClaims, hashParameters(hashes));
      const plan = planMending(model, add, remove, { rows: rows.rows, claims: claims.rows.map(claimOf) });
      if (plan.droppedClaims.length > 0) await client.query(deleteClaims, hashParameters(plan.droppedClaims));
      if (plan.takenClaims.length > 0) await client.query(insertClaims, claimParameters(plan.takenClaims));
      return plan.left;
    }, longQuery);
  }

  async changes(
    since: number,
    limit: number,
    { model, bytes = changesBytes }: ChangesNarrowing = {},
  ): Promise<readonly Change[]> {
    const ofModel = model === undefined ? '' : 'AND model = $4';
    const rows = await this.#read<ChangeRow & { oldest: number }>(
      `SELECT m.value AS oldest, c.revision, c.time, c.type, c.model, c.id, c.name, c.bytes, c.before
        FROM kindred_meta m LEFT JOIN (
          SELECT revision, time, type, model, id, name, bytes, before,
            sum(octet_length(bytes) + coalesce(octet_length(before), 0)) OVER (ORDER BY revision) AS total,
            row_number() OVER (ORDER BY revision) AS position
          FROM (SELECT * FROM kindred_changes WHERE revision > $1 ${ofModel} ORDER BY revision LIMIT $2) AS next
        ) AS c ON c.total <= $3 OR c.position = 1
        WHERE m.key = 'oldest' ORDER BY c.revision`,
      [since, limit, Math.min(bytes, changesBytes), ...(model === undefined ? [] : [model])],
      longQuery,
    );
    const { oldest } = rows[0]!;
    if (since < oldest) throw expired(since, oldest);
    return rows.filter((row) => row.revision !== null).map(changeOf);
  }

  compact(keep: number, time: number): Promise<number> {
    return this.#transaction(async (client) => {
      await client.query("SELECT value FROM kindred_meta WHERE key = 'oldest' FOR UPDATE");
      const { rows } = await client.query<{ revision: number; time: number }>(
        `SELECT revision, time FROM kindred_changes
          WHERE revision <= (SELECT value FROM kindred_meta WHERE key = 'revision') - $1::bigint ORDER BY revision LIMIT $2`,
        [keep, compactRows],
      );
      const kept = rows.findIndex((row) => row.time > time);
      const count = kept === -1 ? rows.length : kept;
      if (count === 0) return 0;
      const last = rows[count - 1]!.revision;
      await client.query('DELETE FROM kindred_changes WHERE revision <= $1', [last]);
      await client.query("UPDATE kindred_meta SET value = $1 WHERE key = 'oldest'", [last]);
      return count;
    }, longQuery);
  }

  onCommit(listener: () => void): () => void {
    const own = (): void => listener();
    this.#listeners.add(own);
    const stopPolling = this.#notifies ? undefined : this.#poller.listen(own);
    if (this.#notifies) this.#listening ??= this.#listen();
    return () => {
      this.#listeners.delete(own);
      stopPolling?.();
      if (this.#listeners.size === 0) this.#stopListening();
    };
  }

  /** Keeps a connection that is told of commits; after a break listeners are called, for they may have missed some. */
  async #listen(): Promise<void> {
    let wait = 50;
    let lost = false;
    while (!this.#closed && this.#listeners.size > 0) {
      try {
        const client = await this.#connections.client();
        this.#listener = client;
        const ended = new Promise<void>((resolve) => client.once('end', () => resolve()));
        client.on('notification', () => this.#call());
        await client.query(`LISTEN ${channel}`);
        if (lost) this.#warn('the connection that is told of commits is back');
        lost = false;
        wait = 50;
        this.#call();
        if (this.#closed || this.#listeners.size === 0) destroy(client);
        await ended;
      } catch {
        // Nothing to do but to try again.
      }
      if (this.#closed || this.#listeners.size === 0) break;
      if (!lost) this.#warn('the connection that is told of commits broke; connecting again');
      lost = true;
      await pause(wait);
      wait = Math.min(wait * 2, 2_000);
    }
    this.#listening = undefined;
  }

  #stopListening(): void {
    if (this.#listener) destroy(this.#listener);
    this.#listener = undefined;
  }

  #call(): void {
    for (const listener of this.#listeners) listener();
  }

  acquireLease(name: string, holder: string, ttl: number, now: number): Promise<Lease | undefined> {
    return this.#transaction(async (client) => {
      const base = await client.query("SELECT value FROM kindred_meta WHERE key = 'jump'");
      await client.query('INSERT INTO kindred_leases VALUES ($1, $2, $3, 0) ON CONFLICT (name) DO NOTHING', [
        name,
        '',
        base.rows[0]!.value,
      ]);
      const { rows } = await client.query<{ holder: string; token: number; expires: number }>(
        'SELECT holder, token, expires FROM kindred_leases WHERE name = $1 FOR UPDATE',
        [name],
      );
      const row = rows[0]!;
      const free = row.expires <= now;
      if (!free && row.holder !== holder) return undefined;
      const token = row.token + (free ? 1 : 0);
      await client.query('UPDATE kindred_leases SET holder = $2, token = $3, expires = $4 WHERE name = $1', [
        name,
        holder,
        token,
        now + ttl,
      ]);
      return { name, holder, token };
    });
  }

  releaseLease(lease: Lease): Promise<void> {
    return this.#transaction(async (client) => {
      await client.query('UPDATE kindred_leases SET expires = 0 WHERE name = $1 AND holder = $2 AND token = $3', [
        lease.name,
        lease.holder,
        lease.token,
      ]);
    });
  }

  async tokens(): Promise<Tokens> {
    const first = await this.#meta('jump');
    return { first, leases: await this.#read('SELECT name, token FROM kindred_leases ORDER BY name') };
  }

  load(part: LoadPart): Promise<void> {
    return this.#transaction(async (client) => {
      if ('models' in part) {
        for (const { number, group, kind } of part.models) {
          await client.query(
            `INSERT INTO kindred_models VALUES ($1, $2, $3)
              ON CONFLICT (number) DO UPDATE SET group_name = excluded.group_name, kind = excluded.kind`,
            [number, group, kind],
          );
        }
      } else if ('rows' in part) {
        const bytes = new Bytes();
        for (const row of part.rows) bytes.add(row.bytes);
        await client.query(
          `INSERT INTO kindred_objects
            SELECT w.id, $2, w.name, w.revision, substring($1::bytea from w.start for w.length)
            FROM unnest($3::bigint[], $4::text[], $5::bigint[], $6::int[], $7::int[]) AS w (id, name, revision, start, length)
            ON CONFLICT (id) DO UPDATE SET name = excluded.name, revision = excluded.revision, bytes = excluded.bytes`,
          [
            bytes.all,
            part.model,
            numbers(part.rows.map((row) => row.id)),
            texts(part.rows.map((row) => row.name)),
            numbers(part.rows.map((row) => row.revision)),
            numbers(bytes.starts),
            numbers(bytes.lengths),
          ],
        );
      } else if ('claims' in part) {
        const claims = part.claims.map((claim) => ({ ...claim, model: part.model }));
        await client.query(loadClaims, claimParameters(claims));
      } else if ('changes' in part) {
        for (const { revision, time, type, model, id, name, bytes, before } of part.changes) {
          await client.query(
            `INSERT INTO kindred_changes VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0) ON CONFLICT (revision) DO NOTHING`,
            [
              revision,
              time,
              changeTypes.indexOf(type),
              model,
              id,
              name,
              Buffer.from(bytes),
              before ? Buffer.from(before) : null,
            ],
          );
        }
      } else if ('tokens' in part) {
        const { first, leases } = part.tokens;
        await client.query("UPDATE kindred_meta SET value = $1 WHERE key = 'jump'", [first]);
        await client.query(
          `INSERT INTO kindred_leases SELECT w.name, '', w.token, 0 FROM unnest($1::text[], $2::bigint[]) AS w (name, token)
            ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = excluded.token, expires = excluded.expires`,
          [texts(leases.map((lease) => lease.name)), numbers(leases.map((lease) => lease.token))],
        );
      } else {
        await client.query("UPDATE kindred_meta SET value = $1 WHERE key = 'revision'", [part.revision]);
        await client.query("UPDATE kindred_meta SET value = $1 WHERE key = 'oldest'", [part.oldest]);
      }
    }, longQuery);
  }

  jump(): Promise<number> {
    return this.#transaction(async (client) => {
      const { rows } = await client.query<{ value: number }>(
        "SELECT value FROM kindred_meta WHERE key = 'revision' FOR UPDATE",
      );
      const origin = rows[0]!.value;
      const target = origin + jumpLength;
      await client.query('INSERT INTO kindred_jumps VALUES ($1, $2)', [target, origin]);
      await client.query('DELETE FROM kindred_changes');
      await client.query('UPDATE kindred_leases SET token = token + $1, expires = 0', [jumpLength]);
      await client.query("UPDATE kindred_meta SET value = $1 WHERE key IN ('revision', 'oldest', 'jump')", [target]);
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
    this.#listeners.clear();
    this.#stopListening();
    await this.#commits.run(async () => undefined);
    await this.#connections.end([this.#writer?.end(), this.#pool.end(), this.#snapshotPool.end(), this.#listening]);
  }

  async #client(pool: Pool): Promise<PoolClient> {
    if (this.#closed) throw notReady('the store is closed');
    try {
      const client = await pool.connect();
      await this.#admit(client, (error) => client.release(error));
      return client;
    } catch (error) {
      throw translate(error);
    }
  }

  async #admit(client: ClientBase, giveUp: (error: Error) => void): Promise<void> {
    if (this.#admitted.has(client)) return;
    try {
      await this.#admission.admit(client);
      this.#admitted.add(client);
    } catch (error) {
      giveUp(error as Error);
      throw error;
    }
  }

  async #read<R extends QueryResultRow>(text: string, values: unknown[] = [], timeout = shortQuery): Promise<R[]> {
    const client = await this.#client(this.#pool);
    try {
      const { rows } = await ask<R>(client, text, values, timeout);
      client.release();
      return rows;
    } catch (error) {
      client.release(refusedByServer(error) ? undefined : (error as Error));
      throw translate(error);
    }
  }

  /**
   * One transaction of a kind that may be tried again: it says nothing of whether it was applied when the connection breaks.
   * @param timeout milliseconds after which the connection is given up; 0: however long it takes
   */
  #transaction<T>(body: (client: ClientBase) => Promise<T>, timeout = commitTimeout): Promise<T> {
    return repeated(async () => {
      const client = await this.#client(this.#pool);
      const timer = timeout > 0 ? setTimeout(() => destroy(client), timeout) : undefined;
      try {
        await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
        const result = await body(client);
        await certainly(client, () => client.query('COMMIT'));
        client.release();
        return result;
      } catch (error) {
        client.release((await rolledBack(client)) ? undefined : (error as Error));
        throw error;
      } finally {
        clearTimeout(timer);
      }
    }, driverErrors);
  }
}

const selectRows = 'SELECT id, revision, name, bytes FROM kindred_objects WHERE id = ANY ($1::bigint[]) AND model = $2';

type ChangeRow = Omit<Change, 'type' | 'before'> & { type: number; before: Buffer | null };

function changeOf({ revision, time, type, model, id, name, bytes, before }: ChangeRow): Change {
  return { revision, time, type: changeTypes[type]!, model, id, name, bytes, ...(before && { before }) };
}

async function ask<R extends QueryResultRow>(
  client: ClientBase,
  text: string,
  values: unknown[],
  timeout: number,
): Promise<{ rows: R[] }> {
  return client.query<R>({ text, values, query_timeout: timeout } as never);
}

/** Whether a batch whose writing failed has certainly done nothing. */
async function isUndone(client: Client, error: unknown): Promise<boolean> {
  if (!(error instanceof CommitFailure)) return refusedByServer(error);
  // A server that panics may have the commit in its log already: what the error says holds only when the session lives on.
  return refusedByServer(error.cause) && rolledBack(client);
}

/** Ends what is left of a transaction; false when the connection cannot be used any more. */
function rolledBack(client: ClientBase): Promise<boolean> {
  return client.query('ROLLBACK').then(
    () => true,
    () => false,
  );
}

function destroy(client: ClientBase): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
