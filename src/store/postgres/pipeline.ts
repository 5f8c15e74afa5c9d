/**
 * Prepared statements that go to PostgreSQL in one packet and are answered in one. The driver's own pipeline has the
 * server answer each by itself, and a packet costs both sides more than most of these statements do.
 */
import type { ClientBase, Connection, FieldDef, Submittable } from 'pg';

/** One statement of a sequence: the name under which it was prepared, and its values. */
export interface Call {
  readonly name: string;
  readonly values?: (string | Buffer)[];
  /** Whether the rows of the answer are wanted. Default false. */
  readonly isRead?: boolean;
}

export interface Answer {
  /** The server's command tag: `SELECT 3`, `COMMIT`. */
  readonly tag: string;
  readonly rows: readonly any[];
}

/** Types of the columns here by their object id in PostgreSQL's catalogue. */
const oids = { bytea: 17, int8: 20, int4: 23, numeric: 1700 };

export function parser(oid: number): (value: string) => unknown {
  switch (oid) {
    case oids.bytea:
      return (value) => Buffer.from(value.slice('\\x'.length), 'hex');
    case oids.int8:
    case oids.int4:
    case oids.numeric:
      return Number;
  }
  return (value) => value;
}

/** Prepares statements for the session, texts by name. */
export function prepare(client: ClientBase, texts: Readonly<Record<string, string>>): Promise<unknown> {
  const sequence = new Sequence((connection) => {
    for (const [name, text] of Object.entries(texts)) connection.parse({ name, text, types: [] }, true);
  });
  return sequence.send(client);
}

export function sequenceOf(calls: readonly Call[]): Sequence {
  return new Sequence((connection) => {
    for (const { name, values = [], isRead = false } of calls) {
      connection.bind({ statement: name, values }, true);
      if (isRead) connection.describe({ type: 'P' }, true);
      connection.execute(null, true);
    }
  });
}

interface Field {
  readonly name: string;
  readonly parse: (value: string) => unknown;
}

/** The methods beside `send` are those that the driver calls on a query. */
export class Sequence implements Submittable {
  /** Of the statements that succeeded so far. The server leaves out all that come after one that failed. */
  readonly answers: Answer[] = [];
  /** The driver wraps it when queries have a time limit. */
  callback: ((error: Error | null) => void) | undefined;
  readonly #messages: (connection: Connection) => void;
  #fields: readonly Field[] = [];
  #rows: Record<string, unknown>[] = [];

  constructor(messages: (connection: Connection) => void) {
    this.#messages = messages;
  }

  /** Rejects with the first error of the server, or that of the connection. */
  send(client: ClientBase): Promise<readonly Answer[]> {
    return new Promise((resolve, reject) => {
      this.callback = (error) => (error ? reject(error) : resolve(this.answers));
      client.query(this);
    });
  }

  submit(connection: Connection): void {
    connection.stream.cork();
    this.#messages(connection);
    connection.sync();
    connection.stream.uncork();
  }

  handleRowDescription({ fields }: { fields: readonly FieldDef[] }): void {
    this.#fields = fields.map(({ name, dataTypeID }) => ({ name, parse: parser(dataTypeID) }));
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const row: Record<string, unknown> = {};
    for (let i = 0; i < this.#fields.length; i++) {
      const { name, parse } = this.#fields[i]!;
      const value = fields[i]!;
      row[name] = value === null ? null : parse(value);
    }
    this.#rows.push(row);
  }

  handleCommandComplete({ text }: { text: string }): void {
    this.answers.push({ tag: text, rows: this.#rows });
    this.#rows = [];
    this.#fields = [];
  }

  handleReadyForQuery(): void {
    this.callback?.(null);
  }

  handleError(error: Error): void {
    this.callback?.(error);
  }
}
