/** A SQLite store in memory: one connection, no thread; for tests and trials, gone with the process. */
import type { DatabaseSync } from 'node:sqlite';
import { notReady } from '../failure.ts';
import type { Row, Snapshot } from '../store.ts';
import type { RequestMessage, WriterClient } from './message.ts';
import { perform, unpackBatch, unpackRewrites } from './message.ts';
import { SqliteReader } from './reader.ts';
import { openForWriting } from './tables.ts';
import { translate } from './thread.ts';
import { SqliteCommitError, SqliteWriter } from './writer.ts';

/** A view keeps the rows that were changed since, as they were. */
interface View {
  readonly revision: number;
  readonly replaced: Map<number, Row>;
}

export function memory(): { connection: DatabaseSync; writer: WriterClient; snapshot(): Snapshot } {
  const connection = openForWriting(':memory:');
  const reader = new SqliteReader(connection);
  const writer = new SqliteWriter(connection);
  const views = new Set<View>();

  /** Rows that are about to change. */
  function keep(rows: Iterable<Row | undefined>): void {
    if (views.size === 0) return;
    for (const row of rows) {
      if (!row) continue;
      for (const view of views) {
        if (row.id <= view.revision && !view.replaced.has(row.id)) view.replaced.set(row.id, row);
      }
    }
  }

  const client: WriterClient = {
    async request(name, request) {
      if (!connection.isOpen) throw notReady('the store is closed');
      const message = { id: 0, name, request } as Exclude<RequestMessage, { name: 'close' }>;
      if (message.name === 'commit')
        keep(unpackBatch(message.request.batch).map(({ model, name }) => reader.named(model, name)));
      if (message.name === 'rewrite') {
        const { model, batch } = message.request;
        keep(unpackRewrites(batch).map(({ id }) => reader.row(model, id)));
      }
      try {
        return perform(writer, message) as never;
      } catch (error) {
        const committing = error instanceof SqliteCommitError;
        const { errcode = 0, message } = (committing ? error.cause : error) as { errcode?: number; message: string };
        throw translate({ errcode, message, committing });
      }
    },
    async stop() {},
  };

  function snapshot(): Snapshot {
    const view: View = { revision: reader.meta('revision'), replaced: new Map() };
    views.add(view);
    const get = (model: number, ids: readonly number[]): readonly Row[] => {
      const rows = ids.map((id) => (id > view.revision ? undefined : (view.replaced.get(id) ?? reader.row(model, id))));
      return rows.filter((row) => row !== undefined);
    };
    return {
      revision: view.revision,
      get,
      // As a file, so that trials take the ways that services take.
      lines(model, ids) {
        const rows = get(model, ids);
        const text = rows.map(({ bytes }) => `${Buffer.from(bytes)}\n`).join('');
        return { rows: rows.length, text, length: Buffer.byteLength(text) };
      },
      close: async () => {
        views.delete(view);
      },
    };
  }

  return { connection, writer: client, snapshot };
}
