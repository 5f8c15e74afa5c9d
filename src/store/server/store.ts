/**
 * The store on a database server, for any number of processes; the databases differ in their `Dialect`. A batch is one
 * transaction on a connection kept for it: the row of the revision is locked, what the batch depends on is read, the
 * batch is decided here (`decide.ts`), written and committed. Statements and isolation are those that engines with the
 * same protocol have; a transaction that was undone for the sake of another one is tried again.
 */
import { randomInt } from 'node:crypto';
import { delayAfter } from '../../runtime/backoff.ts';
import { SerialQueue } from '../../runtime/serial-queue.ts';
import { awaitedTimers, pause } from '../../runtime/timers.ts';
import type { Answers, KnownClaim, Plan } from '../decide.ts';
import { planBatch, planClaimRepair, questionsOf } from '../decide.ts';
import { expired, notReady, unknownOutcome } from '../failure.ts';
import { changesBytes, changeTypes, compactRows, maxSnapshots, restoreGap } from '../limits.ts';
import type { StoreOptions } from '../options.ts';
import type {
  Change,
  ChangesNarrowing,
  Claim,
  HeldClaim,
  Lease,
  LoadPart,
  ModelRow,
  ReplicaRow,
  Rewrite,
  Row,
  SharedFile,
  Snapshot,
  Store,
  Tokens,
  Write,
  WriteResult,
} from '../store.ts';
import { late, ServerConnections, unsure } from './connections.ts';
import type { CommitWatch, Dialect, Query, SqlRow, Value } from './dialect.ts';
import { CommitFailure } from './dialect.ts';
import { Guesses } from './guesses.ts';
import { Poller } from './poller.ts';
import { commitTimeout, longQuery, resolveDelays, resolveTimeout, shortQuery } from './timeouts.ts';

const brokenBefore = 'the connection broke before the commit';

export class SqlServerStore<C extends { release(): void }> implements Store {
  readonly shared = true;
  readonly #dialect: Dialect<C>;
  readonly #description: Readonly<Record<string, string>>;
  readonly #connections: ServerConnections<C>;
  readonly #commits = new SerialQueue();
  readonly #guesses = new Guesses();
  readonly #commitWatch: CommitWatch;
  readonly #numbers = new Map<string, number>();
  /** The row of `kindred_meta` with a key, and its lock. */
  readonly #selectMeta: string;
  readonly #lockMeta: string;
  #openSnapshots = 0;

  constructor(dialect: Dialect<C>, options: StoreOptions, description: Readonly<Record<string, string>>) {
    this.#dialect = dialect;
    this.#description = description;
    this.#connections = new ServerConnections(dialect, options.poolSize ?? 10);
    this.#commitWatch = dialect.commitWatch?.() ?? new Poller(() => this.revision());
    this.#selectMeta = `SELECT value FROM kindred_meta WHERE ${dialect.sql.metaKey} = ?`;
    this.#lockMeta = `${this.#selectMeta} FOR UPDATE`;
  }

  get connections(): number {
    return this.#connections.count;
  }

  async modelNumber(group: string, kind: string): Promise<number> {
    const key = `${group}/${kind}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = await this.#connections.transaction(async (query) => {
      await query(this.#lockMeta, ['oldest']);
      const find = () => query('SELECT number FROM kindred_models WHERE group_name = ? AND kind = ?', [group, kind]);
      const [found] = await find();
      if (found) return found.number as number;
      await query(
        `INSERT INTO kindred_models (number, group_name, kind)
          SELECT coalesce(max(number), 0) + 1, ?, ? FROM kindred_models`,
        [group, kind],
      );
      const [made] = await find();
      return made!.number as number;
    });
    this.#numbers.set(key, number);
    return number;
  }

  async models(only?: number): Promise<readonly ModelRow[]> {
    const rows = await this.#connections.read(
      `SELECT number, group_name, kind, generation, contract, storage_version FROM kindred_models
        ${only === undefined ? '' : 'WHERE number = ?'} ORDER BY number`,
      only === undefined ? [] : [only],
    );
    return rows.map(({ number, group_name, kind, generation, contract, storage_version }) => ({
      number,
      group: String(group_name),
      kind: String(kind),
      generation,
      ...(contract !== null && { contract: String(contract), storageVersion: String(storage_version) }),
    }));
  }

  revision(): Promise<number> {
    return this.#meta('revision');
  }

  oldest(): Promise<number> {
    return this.#meta('oldest');
  }

  async #meta(key: string): Promise<number> {
    const [row] = await this.#connections.read(this.#selectMeta, [key]);
    return row!.value;
  }

  commit(writes: readonly Write[], time: number): Promise<readonly WriteResult[]> {
    return this.#commits.run(() => this.#connections.repeated(() => this.#commitOnce(writes, time)));
  }

  async #commitOnce(writes: readonly Write[], time: number): Promise<readonly WriteResult[]> {
    const dialect = this.#dialect;
    const connection = await this.#connections.acquire(this.#connections.writers);
    const timer = setTimeout(() => dialect.sever(connection, late()), commitTimeout);
    let isUsable = false;
    try {
      const guess = dialect.writeGuess && this.#guesses.of(dialect.sessionOf(connection), writes, time);
      if (guess) {
        try {
          isUsable = await this.#write(connection, guess.plan, (batch) =>
            dialect.writeGuess!(connection, guess, time, batch),
          );
          this.#guesses.succeeded(guess.plan);
          return guess.plan.results;
        } catch (error) {
          this.#guesses.failed();
          if (!dialect.isRefusal(error)) throw error;
          if (!(await this.#connections.rollback(connection))) throw notReady(brokenBefore, error);
        }
      }
      const { answers, plan } = await this.#plan(connection, writes, time);
      if (plan.steps.length === 0) {
        await dialect.query(connection, 'ROLLBACK');
        isUsable = true;
      } else {
        isUsable = await this.#write(connection, plan, (batch) => dialect.write(connection, plan, time, batch));
      }
      this.#guesses.learn(dialect.sessionOf(connection), answers, plan);
      return plan.results;
    } catch (error) {
      isUsable = dialect.isRefusal(error) && (await this.#connections.rollback(connection));
      throw error;
    } finally {
      clearTimeout(timer);
      if (isUsable) connection.release();
      else dialect.discard(connection);
    }
  }

  /** Begins a transaction and decides the batch in it. */
  async #plan(connection: C, writes: readonly Write[], time: number): Promise<{ answers: Answers; plan: Plan }> {
    const { revision, questions, rows, claims, leases, takeovers, generations, changed } = await this.#dialect.read(
      connection,
      questionsOf(writes),
    );
    const answers: Answers = {
      revision,
      questions,
      rows: rows.map(({ model, name, id, revision }) => ({ model, name: String(name), id, revision })),
      claims: claims.map(claimOf),
      leases: leases.map(({ name, token, expires }) => ({ name: String(name), token, expires })),
      takeovers: takeovers.map(({ id, model, revision }) => ({ id, model, revision })),
      generations: generations.map(({ model, generation }) => ({ model, generation })),
      changed: changed.map(({ model, revision }) => ({ model, revision })),
    };
    return { answers, plan: planBatch(writes, time, answers) };
  }

  /**
   * Resolves when the batch is committed, to whether the connection can be used further. Rejects with what the server
   * refused it for, with NotReady (not applied), or with UnknownOutcome.
   */
  async #write(connection: C, plan: Plan, send: (batch: number) => Promise<void>): Promise<boolean> {
    const dialect = this.#dialect;
    const batch = randomInt(2 ** 47);
    try {
      await send(batch);
      return true;
    } catch (error) {
      const cause = (error instanceof CommitFailure ? error.cause : error) as Error;
      // A server that panics may have the commit in its log already: what the error says holds only when the session lives on.
      if (dialect.isRefusal(cause) && (cause === error || (await this.#connections.rollback(connection)))) throw cause;
      dialect.sever(connection, cause);
      if (await this.#wasCommitted(plan.revision, batch, cause)) return false;
      throw dialect.isAnswer(cause) ? cause : notReady(brokenBefore, cause);
    }
  }

  /**
   * Whether the batch that ends with this revision was committed: asked until the database answers, for 8 s at most. The
   * lock on the revision waits for a transaction that the server may still be finishing; a batch in one round trip may not
   * have begun yet, and fails after the question. As this transaction writes, its
   * COMMIT waits for the standbys, which then have the batch too; with a plain SELECT a batch would be acknowledged that a
   * failover loses. Throws `UnknownOutcome` when the database does not answer, when the store is closed meanwhile, and
   * when the change log was compacted.
   */
  async #wasCommitted(revision: number, batch: number, cause: Error): Promise<boolean> {
    const { touch, endGuesses } = this.#dialect.sql;
    const ask = (): Promise<boolean> =>
      this.#connections.transaction(async (query) => {
        const [newest] = await query(this.#lockMeta, ['revision']);
        if (newest!.value < revision) {
          if (endGuesses) await query(endGuesses);
          return false;
        }
        const [found] = await query('SELECT batch FROM kindred_changes WHERE revision = ?', [revision]);
        if (!found) throw unknownOutcome('the change log was compacted meanwhile', cause);
        if (found.batch !== batch) return false;
        if (touch) await query(touch);
        return true;
      }, resolveTimeout);
    const deadline = performance.now() + resolveTimeout;
    for (let failures = 1; ; failures++) {
      try {
        return await ask();
      } catch (error) {
        if ((error as { code?: unknown }).code === 'UnknownOutcome') throw error;
        const delay = delayAfter(failures, resolveDelays);
        if (performance.now() + delay > deadline || this.#connections.isClosed)
          throw unknownOutcome(cause.message, cause);
        await pause(awaitedTimers, delay);
      }
    }
  }

  async get(model: number, ids: readonly number[]): Promise<readonly Row[]> {
    return this.#rows(model, ids, (text, values) => this.#connections.read(text, values));
  }

  /** The rows in the order of the ids, those that are there. */
  async #rows(model: number, ids: readonly number[], query: Query): Promise<readonly Row[]> {
    if (ids.length === 0) return [];
    const text = `SELECT id, revision, name, bytes FROM kindred_objects WHERE id ${this.#dialect.sql.anyOf} AND model = ?`;
    const rows = await query(text, [ids, model]);
    const byId = new Map(rows.map((row) => [row.id, rowOf(row)]));
    return ids.map((id) => byId.get(id)).filter((row) => row !== undefined);
  }

  async scan(model: number, after: number, limit: number): Promise<readonly Row[]> {
    const rows = await this.#connections.read(
      'SELECT id, revision, name, bytes FROM kindred_objects WHERE model = ? AND id > ? ORDER BY id LIMIT ?',
      [model, after, limit],
      longQuery,
    );
    return rows.map(rowOf);
  }

  async count(model: number): Promise<number> {
    const text = 'SELECT count(*) AS count FROM kindred_objects WHERE model = ?';
    const [row] = await this.#connections.read(text, [model], longQuery);
    return row!.count;
  }

  rewrite(model: number, rows: readonly Rewrite[], generation?: number): Promise<number | undefined> {
    if (rows.length === 0) return Promise.resolve(0);
    const dialect = this.#dialect;
    return this.#connections.transaction(async (query) => {
      // An activation waits for the end of this transaction, or this one for that of the activation.
      const [active] = await query('SELECT generation FROM kindred_models WHERE number = ? FOR UPDATE', [model]);
      if (generation !== undefined && active?.generation !== generation) return undefined;
      // A row that a commit has locked gets other bytes anyway, and whoever waits for no row ends nobody in a deadlock.
      const locked = await query(
        `SELECT id, revision FROM kindred_objects WHERE id ${dialect.sql.anyOf} AND model = ? FOR UPDATE SKIP LOCKED`,
        [rows.map(({ id }) => id), model],
      );
      const revisions = new Map(locked.map(({ id, revision }) => [id, revision]));
      const same = rows.filter(({ id, revision }) => revisions.get(id) === revision);
      for (const { text, values } of dialect.rewrite(same)) await query(text, values);
      return same.length;
    });
  }

  purge(model: number): Promise<number> {
    const dialect = this.#dialect;
    return this.#connections.transaction(async (query) => {
      const rows = await query('SELECT id FROM kindred_objects WHERE model = ? ORDER BY id LIMIT ?', [
        model,
        compactRows,
      ]);
      if (rows.length > 0) {
        const ids = rows.map(({ id }) => id);
        await query(`DELETE FROM kindred_objects WHERE id ${dialect.sql.anyOf} AND model = ?`, [ids, model]);
      }
      const claims = await query('SELECT hash FROM kindred_claims WHERE model = ? ORDER BY hash LIMIT ?', [
        model,
        compactRows,
      ]);
      if (claims.length > 0) {
        const { text, values } = dialect.deleteClaims(claims.map(({ hash }) => ({ model, hash })));
        await query(text, values);
      }
      return rows.length + claims.length;
    });
  }

  async snapshot(): Promise<Snapshot> {
    // Waiting for another one to end could take for ever, and whoever opens a snapshot holds the memory still meanwhile.
    if (this.#openSnapshots >= maxSnapshots) throw notReady(`${maxSnapshots} snapshots are open already`);
    this.#openSnapshots++;
    try {
      return await this.#openSnapshot();
    } catch (error) {
      this.#openSnapshots--;
      throw error;
    }
  }

  async #openSnapshot(): Promise<Snapshot> {
    const dialect = this.#dialect;
    const connection = await this.#connections.acquire(this.#connections.snapshots);
    let open = true;
    const ask = async (
      text: string,
      values: readonly Value[] = [],
      timeout = longQuery,
    ): Promise<readonly SqlRow[]> => {
      if (!open) throw notReady('the snapshot is closed');
      try {
        return await dialect.query(connection, text, values, timeout);
      } catch (error) {
        throw dialect.translate(error);
      }
    };
    try {
      for (const statement of dialect.sql.beginSnapshot) await ask(statement, [], shortQuery);
      const asked = performance.now();
      const [row] = await ask(this.#selectMeta, ['revision'], shortQuery);
      if (!(await this.#connections.isBelieved(connection, asked))) throw notReady(unsure);
      return {
        revision: row!.value,
        get: (model, ids) => this.#rows(model, ids, ask),
        close: async () => {
          if (!open) return;
          open = false;
          this.#openSnapshots--;
          if (await this.#connections.rollback(connection, shortQuery)) connection.release();
          else dialect.discard(connection);
        },
      };
    } catch (error) {
      open = false;
      dialect.discard(connection);
      throw error;
    }
  }

  async claims(
    model: number,
    after: Uint8Array | undefined,
    limit: number,
  ): Promise<readonly (Claim & { id: number })[]> {
    const rows = await this.#connections.read(
      `SELECT hash, index_name, ${this.#dialect.sql.claimKey} AS claim_key, id FROM kindred_claims
        WHERE model = ? AND hash > ? ORDER BY hash LIMIT ?`,
      [model, after ?? new Uint8Array(), limit],
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
    generation?: number,
  ): Promise<number | undefined> {
    const all = [...add, ...remove];
    if (all.length === 0) return Promise.resolve(0);
    const dialect = this.#dialect;
    return this.#connections.transaction(async (query) => {
      await query(this.#lockMeta, ['revision']);
      const [active] = await query('SELECT generation FROM kindred_models WHERE number = ?', [model]);
      if (generation !== undefined && active?.generation !== generation) return undefined;
      const rows = await query(`SELECT id, revision FROM kindred_objects WHERE id ${dialect.sql.anyOf} AND model = ?`, [
        all.map((claim) => claim.id),
        model,
      ]);
      const select = dialect.selectClaims(all.map(({ hash }) => ({ model, hash })));
      const claims = await query(select.text, select.values);
      const revisions = new Map(rows.map(({ id, revision }) => [id, revision]));
      const holders = new Map(claims.map(({ hash, id }) => [hash.toString('hex'), id]));
      const plan = planClaimRepair(model, add, remove, {
        revisionOf: (_, id) => revisions.get(id),
        holderOf: (_, hash) => holders.get(Buffer.from(hash).toString('hex')),
      });
      const drop = plan.droppedClaims.length > 0 ? [dialect.deleteClaims(plan.droppedClaims)] : [];
      for (const { text, values } of [...drop, ...dialect.insertClaims(plan.takenClaims)]) await query(text, values);
      return plan.left;
    }, longQuery);
  }

  async changes(
    since: number,
    limit: number,
    { model, bytes = changesBytes }: ChangesNarrowing = {},
  ): Promise<readonly Change[]> {
    const { before, byModel, metaKey } = this.#dialect.sql;
    const rows = await this.#connections.read(
      `SELECT m.value AS oldest, c.revision, c.time, c.type, c.model, c.id, c.name, c.bytes, c.${before} AS bytes_before
        FROM kindred_meta m LEFT JOIN (
          SELECT next.*, sum(octet_length(bytes) + coalesce(octet_length(${before}), 0)) OVER (ORDER BY revision) AS total,
            row_number() OVER (ORDER BY revision) AS place
          FROM (
            SELECT * FROM kindred_changes ${model === undefined ? 'WHERE' : `${byModel} WHERE model = ? AND`} revision > ?
            ORDER BY revision LIMIT ?
          ) AS next
        ) AS c ON c.total <= ? OR c.place = 1
        WHERE m.${metaKey} = 'oldest' ORDER BY c.revision`,
      [...(model === undefined ? [] : [model]), since, limit, Math.min(bytes, changesBytes)],
      longQuery,
    );
    const { oldest } = rows[0]!;
    if (since < oldest) throw expired(since, oldest);
    return rows.filter((row) => row.revision !== null).map(changeOf);
  }

  compact(keep: number, time: number, now = Number.MAX_SAFE_INTEGER): Promise<number> {
    return this.#connections.transaction(async (query) => {
      const [oldest] = await query(this.#lockMeta, ['oldest']);
      const [newest] = await query(this.#selectMeta, ['revision']);
      const rows = await query(
        'SELECT revision, time FROM kindred_changes WHERE revision <= ? AND time <= ? ORDER BY revision LIMIT ?',
        [newest!.value - keep, now, compactRows],
      );
      const kept = rows.findIndex((row) => row.time > time);
      const old = kept === -1 ? rows.at(-1) : rows[kept - 1];
      if (!old) return 0;
      const last = Math.min(old.revision, oldest!.value + compactRows);
      await query('DELETE FROM kindred_changes WHERE revision <= ?', [last]);
      await this.#setMeta(query, last, 'oldest');
      return last - oldest!.value;
    }, longQuery);
  }

  async #setMeta(query: Query, value: number, ...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      await query(`UPDATE kindred_meta SET value = ? WHERE ${this.#dialect.sql.metaKey} = ?`, [value, key]);
    }
  }

  onCommit(listener: () => void): () => void {
    return this.#commitWatch.listen(listener);
  }

  acquireLease(name: string, holder: string, ttl: number, now: number): Promise<Lease | undefined> {
    return this.#connections.transaction(async (query) => {
      await query(this.#dialect.sql.makeLease, [name]);
      const [row] = await query('SELECT holder, token, expires FROM kindred_leases WHERE name = ? FOR UPDATE', [name]);
      const free = row!.expires <= now;
      if (!free && String(row!.holder) !== holder) return undefined;
      const token: number = row!.token + (free ? 1 : 0);
      const text = 'UPDATE kindred_leases SET holder = ?, token = ?, expires = ? WHERE name = ?';
      await query(text, [holder, token, now + ttl, name]);
      return { name, holder, token };
    });
  }

  releaseLease({ name, holder, token }: Lease): Promise<void> {
    return this.#connections.transaction(async (query) => {
      const text = 'UPDATE kindred_leases SET expires = 0 WHERE name = ? AND holder = ? AND token = ?';
      await query(text, [name, holder, token]);
    });
  }

  announce({ id, supports }: ReplicaRow, ttl: number, now: number): Promise<void> {
    return this.#connections.transaction(async (query) => {
      await query('DELETE FROM kindred_replicas WHERE id = ? OR expires <= ?', [id, now]);
      await query('INSERT INTO kindred_replicas VALUES (?, ?, ?)', [id, supports, now + ttl]);
    });
  }

  withdraw(id: string): Promise<void> {
    return this.#connections.transaction(async (query) => {
      await query('DELETE FROM kindred_replicas WHERE id = ?', [id]);
    });
  }

  async replicas(now: number): Promise<readonly ReplicaRow[]> {
    const text = 'SELECT id, supports FROM kindred_replicas WHERE expires > ? ORDER BY id';
    const rows = await this.#connections.read(text, [now]);
    return rows.map(({ id, supports }) => ({ id: String(id), supports: String(supports) }));
  }

  async sharedFile(name: string): Promise<SharedFile | undefined> {
    const text = 'SELECT edition, parts, about FROM kindred_files WHERE name = ?';
    const [row] = await this.#connections.read(text, [name]);
    return row && { edition: row.edition, parts: row.parts, about: String(row.about) };
  }

  async sharedPart(name: string, edition: number, part: number): Promise<Uint8Array | undefined> {
    const text = 'SELECT bytes FROM kindred_file_parts WHERE name = ? AND edition = ? AND part = ?';
    const [row] = await this.#connections.read(text, [name, edition, part], longQuery);
    return row?.bytes;
  }

  sharePart(name: string, edition: number, part: number, bytes: Uint8Array): Promise<void> {
    return this.#connections.transaction(async (query) => {
      await query('DELETE FROM kindred_file_parts WHERE name = ? AND edition = ? AND part = ?', [name, edition, part]);
      await query('INSERT INTO kindred_file_parts VALUES (?, ?, ?, ?)', [name, edition, part, bytes]);
    });
  }

  shareFile(name: string, { edition, parts, about }: SharedFile): Promise<void> {
    return this.#connections.transaction(async (query) => {
      await query('DELETE FROM kindred_files WHERE name = ?', [name]);
      await query('INSERT INTO kindred_files VALUES (?, ?, ?, ?)', [name, edition, parts, about]);
      await query('DELETE FROM kindred_file_parts WHERE name = ? AND edition <> ?', [name, edition]);
    }, longQuery);
  }

  async tokens(): Promise<Tokens> {
    const first = await this.#meta('jump');
    const rows = await this.#connections.read('SELECT name, token FROM kindred_leases ORDER BY name');
    return { first, leases: rows.map((row) => ({ name: String(row.name), token: row.token })) };
  }

  load(part: LoadPart): Promise<void> {
    return this.#connections.transaction(async (query) => {
      for (const { text, values } of this.#dialect.load(part)) await query(text, values);
      if ('tokens' in part) await this.#setMeta(query, part.tokens.first, 'jump');
      if ('revision' in part) {
        await this.#setMeta(query, part.revision, 'revision');
        await this.#setMeta(query, part.oldest, 'oldest');
      }
    }, longQuery);
  }

  jump(): Promise<number> {
    return this.#connections.transaction(async (query) => {
      const [row] = await query(this.#lockMeta, ['revision']);
      const origin: number = row!.value;
      const target = origin + restoreGap;
      await query('INSERT INTO kindred_jumps VALUES (?, ?)', [target, origin]);
      await query('DELETE FROM kindred_changes');
      await query('UPDATE kindred_leases SET token = token + ?, expires = 0', [restoreGap]);
      await this.#setMeta(query, target, 'revision', 'oldest', 'jump');
      return target;
    }, 0);
  }

  describe(): Readonly<Record<string, string | number>> {
    return this.#description;
  }

  async close(): Promise<void> {
    if (this.#connections.isClosed) return;
    this.#connections.stop();
    const stopped = this.#commitWatch.stop();
    await this.#commits.run(async () => undefined);
    await this.#connections.end(stopped);
  }
}

function rowOf({ id, revision, name, bytes }: SqlRow): Row {
  return { id, revision, name: String(name), bytes };
}

function claimOf({ model, hash, index_name, claim_key, id }: SqlRow): KnownClaim {
  return { model, hash, index: String(index_name), key: String(claim_key), id };
}

function changeOf({ revision, time, type, model, id, name, bytes, bytes_before: before }: SqlRow): Change {
  const change = { revision, time, type: changeTypes[type]!, model, id, name: String(name), bytes };
  return before ? { ...change, before } : change;
}
