/** Everything that changes a SQLite store, synchronous: in the worker thread for a file, in the main thread for memory. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { RowState } from '../decide.ts';
import { decideRow } from '../decide.ts';
import { changeTypes, compactRows, restoreGap } from '../limits.ts';
import type { Lease, LoadPart, Rewrite, Write, WriteResult } from '../store.ts';
import { firstToken, readMeta } from './tables.ts';

/** The statement that makes a transaction durable failed: `cause` is SQLite's error. */
export class SqliteCommitError extends Error {}

interface Head {
  id: number;
  revision: number;
}

export class SqliteWriter {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  /** What is stored, with the changes of the transaction that is open. */
  readonly #state: RowState = {
    row: (model, name) =>
      this.#sql('SELECT id, revision FROM objects WHERE model = ? AND name = ?').get(model, name) as Head | undefined,
    lease: (name) =>
      this.#sql('SELECT token, expires FROM leases WHERE name = ?').get(name) as
        | { token: number; expires: number }
        | undefined,
    generation: (model) =>
      (this.#sql('SELECT generation FROM models WHERE number = ?').get(model) as { generation: number } | undefined)
        ?.generation,
    changedAt: (model) =>
      (
        this.#sql('SELECT coalesce(max(revision), 0) AS revision FROM changes WHERE model = ?').get(model) as {
          revision: number;
        }
      ).revision,
  };
  #revision: number;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#revision = readMeta(db, 'revision');
  }

  commit(writes: readonly Write[], time: number): WriteResult[] {
    const before = this.#revision;
    try {
      return this.#transaction(() => {
        const results = writes.map((write) => this.#apply(write, time));
        if (this.#revision !== before)
          this.#sql("UPDATE meta SET value = ? WHERE key = 'revision'").run(this.#revision);
        return results;
      });
    } catch (error) {
      this.#revision = before;
      throw error;
    }
  }

  #apply(write: Write, time: number): WriteResult {
    const updated = this.#updateExpected(write, time);
    if (updated) return updated;
    const result = decideRow(write, time, this.#revision + 1, this.#state);
    if (!result.ok) return result;
    const { id, revision } = result;
    if (write.type === 'create') {
      this.#sql('INSERT INTO changes VALUES (?, ?, 0, ?, ?, ?, ?, NULL)').run(
        revision,
        time,
        write.model,
        id,
        write.name,
        write.bytes,
      );
      this.#sql('INSERT INTO objects VALUES (?, ?, ?, ?, ?)').run(id, write.model, write.name, revision, write.bytes);
    } else {
      this.#sql('INSERT INTO changes SELECT ?, ?, ?, ?, ?, ?, ?, bytes FROM objects WHERE id = ?').run(
        revision,
        time,
        changeTypes.indexOf(write.type),
        write.model,
        id,
        write.name,
        write.bytes,
        id,
      );
      if (write.type === 'update') {
        this.#sql('UPDATE objects SET revision = ?, bytes = ? WHERE id = ?').run(revision, write.bytes, id);
      } else {
        this.#sql('DELETE FROM objects WHERE id = ?').run(id);
      }
    }
    this.#revision = revision;
    if (write.activate) {
      const { model, to, contract, storageVersion } = write.activate;
      this.#sql('UPDATE models SET generation = ?, contract = ?, storage_version = ? WHERE number = ?').run(
        to,
        contract,
        storageVersion,
        model,
      );
    }
    return result;
  }

  /** An update that depends on its row alone, which the statement for the log finds by its id. Undefined: nothing was done, ask `decideRow`. */
  #updateExpected(
    { type, model, name, expected, bytes, fence, generation, activate }: Write,
    time: number,
  ): WriteResult | undefined {
    if (type !== 'update' || !expected || fence || generation !== undefined || activate) return undefined;
    const { id } = expected;
    const revision = this.#revision + 1;
    const logged = this.#sql(
      `INSERT INTO changes SELECT ?, ?, 1, model, id, name, ?, bytes FROM objects
      WHERE id = ? AND revision = ? AND model = ? AND name = ?`,
    ).run(revision, time, bytes, id, expected.revision, model, name);
    if (logged.changes === 0) return undefined;
    this.#sql('UPDATE objects SET revision = ?, bytes = ? WHERE id = ?').run(revision, bytes, id);
    this.#revision = revision;
    return { ok: true, id, revision };
  }

  /** @returns how many rows have the new bytes; undefined when the model has another generation */
  rewrite(model: number, rows: readonly Rewrite[], generation: number | undefined): number | undefined {
    return this.#transaction(() => {
      if (generation !== undefined && this.#state.generation(model) !== generation) return undefined;
      const statement = this.#sql('UPDATE objects SET bytes = ? WHERE id = ? AND model = ? AND revision = ?');
      return rows.reduce(
        (count, { id, revision, bytes }) => count + Number(statement.run(bytes, id, model, revision).changes),
        0,
      );
    });
  }

  modelNumber(group: string, kind: string): number {
    return this.#transaction(() => {
      this.#sql('INSERT INTO models (group_name, kind) VALUES (?, ?) ON CONFLICT DO NOTHING').run(group, kind);
      const row = this.#sql('SELECT number FROM models WHERE group_name = ? AND kind = ?').get(group, kind);
      return (row as { number: number }).number;
    });
  }

  purge(model: number): number {
    return this.#transaction(() => {
      const { changes } = this.#sql(
        'DELETE FROM objects WHERE id IN (SELECT id FROM objects WHERE model = ? ORDER BY id LIMIT ?)',
      ).run(model, compactRows);
      return Number(changes);
    });
  }

  compact(keep: number, time: number, now: number): number {
    return this.#transaction(() => {
      const rows = this.#sql(
        'SELECT revision, time FROM changes WHERE revision <= ? AND time <= ? ORDER BY revision LIMIT ?',
      ).all(this.#revision - keep, now, compactRows) as unknown as { revision: number; time: number }[];
      const kept = rows.findIndex((row) => row.time > time);
      const old = kept === -1 ? rows.at(-1) : rows[kept - 1];
      if (!old) return 0;
      const oldest = readMeta(this.#db, 'oldest');
      const last = Math.min(old.revision, oldest + compactRows);
      this.#sql('DELETE FROM changes WHERE revision <= ?').run(last);
      this.#sql("UPDATE meta SET value = ? WHERE key = 'oldest'").run(last);
      return last - oldest;
    });
  }

  acquireLease(name: string, holder: string, ttl: number, now: number): Lease | undefined {
    return this.#transaction(() => {
      const row = this.#sql('SELECT holder, token, expires FROM leases WHERE name = ?').get(name) as
        | { holder: string; token: number; expires: number }
        | undefined;
      const free = !row || row.expires <= now;
      if (!free && row.holder !== holder) return undefined;
      const token = (row?.token ?? firstToken(this.#db)) + (free ? 1 : 0);
      this.#sql('INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?)').run(name, holder, token, now + ttl);
      return { name, holder, token };
    });
  }

  releaseLease(lease: Lease): void {
    this.#transaction(() =>
      this.#sql('UPDATE leases SET expires = 0 WHERE name = ? AND holder = ? AND token = ?').run(
        lease.name,
        lease.holder,
        lease.token,
      ),
    );
  }

  load(part: LoadPart): void {
    this.#transaction(() => {
      if ('models' in part) {
        for (const { number, group, kind, generation, contract = null, storageVersion = null } of part.models) {
          this.#sql('INSERT OR REPLACE INTO models VALUES (?, ?, ?, ?, ?, ?)').run(
            number,
            group,
            kind,
            generation,
            contract,
            storageVersion,
          );
        }
      } else if ('rows' in part) {
        for (const { id, name, revision, bytes } of part.rows) {
          this.#sql('INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)').run(id, part.model, name, revision, bytes);
        }
      } else if ('changes' in part) {
        for (const { revision, time, type, model, id, name, bytes, before } of part.changes) {
          this.#sql('INSERT OR REPLACE INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?)').run(
            revision,
            time,
            changeTypes.indexOf(type),
            model,
            id,
            name,
            bytes,
            before ?? null,
          );
        }
      } else if ('tokens' in part) {
        const { first, leases } = part.tokens;
        if (first > 0) this.#sql('INSERT OR REPLACE INTO jumps VALUES (?, ?)').run(first, first - restoreGap);
        for (const { name, token } of leases) {
          this.#sql("INSERT OR REPLACE INTO leases VALUES (?, '', ?, 0)").run(name, token);
        }
      } else if ('revision' in part) {
        this.#move(part.revision, part.oldest);
      }
    });
  }

  jump(): number {
    return this.#transaction(() => {
      const target = this.#revision + restoreGap;
      this.#sql('INSERT INTO jumps VALUES (?, ?)').run(target, this.#revision);
      this.#sql('DELETE FROM changes').run();
      this.#sql('UPDATE leases SET token = token + ?, expires = 0').run(restoreGap);
      this.#move(target, target);
      return target;
    });
  }

  #move(revision: number, oldest: number): void {
    this.#sql("UPDATE meta SET value = ? WHERE key = 'revision'").run(revision);
    this.#sql("UPDATE meta SET value = ? WHERE key = 'oldest'").run(oldest);
    this.#revision = revision;
  }

  #sql(text: string): StatementSync {
    let statement = this.#statements.get(text);
    if (!statement) {
      statement = this.#db.prepare(text);
      this.#statements.set(text, statement);
    }
    return statement;
  }

  #transaction<T>(body: () => T): T {
    this.#sql('BEGIN IMMEDIATE').run();
    try {
      const result = body();
      try {
        this.#sql('COMMIT').run();
      } catch (cause) {
        throw new SqliteCommitError('commit failed', { cause });
      }
      return result;
    } catch (error) {
      if (this.#db.isTransaction) this.#sql('ROLLBACK').run();
      throw error;
    }
  }
}
