/** Rows put straight into a database: what it takes without the service. */
import { randomBytes } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import mysql from 'mysql2/promise';
import pg from 'pg';

/** Of a row, about 900 bytes. */
export const body = Buffer.from(JSON.stringify({ content: randomBytes(440).toString('hex') }));

/** A table of a database without the service, for its own ceiling. */
export interface Raw {
  /** One durable transaction. */
  insert(ids: readonly number[]): Promise<void>;
  close(): Promise<void>;
}

async function rawSqlite(url: string): Promise<Raw> {
  const db = new DatabaseSync(`${url.slice('sqlite:'.length)}.raw`);
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE raw (id INTEGER PRIMARY KEY, name TEXT, bytes BLOB)',
  );
  const statement = db.prepare('INSERT INTO raw VALUES (?, ?, ?)');
  return {
    async insert(ids) {
      db.exec('BEGIN');
      for (const id of ids) statement.run(id, `object-${id}`, body);
      db.exec('COMMIT');
    },
    close: async () => db.close(),
  };
}

async function rawPostgres(url: string): Promise<Raw> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('CREATE TABLE raw (id bigint PRIMARY KEY, name text, bytes bytea)');
  return {
    insert: async (ids) => {
      await client.query({
        name: 'raw',
        text: 'INSERT INTO raw SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[])',
        values: [ids, ids.map((id) => `object-${id}`), ids.map(() => body)],
      });
    },
    close: () => client.end(),
  };
}

async function rawMysql(url: string): Promise<Raw> {
  const connection = await mysql.createConnection(url);
  await connection.query(
    'CREATE TABLE raw (id BIGINT PRIMARY KEY, name VARBINARY(1024), bytes LONGBLOB) ENGINE = InnoDB',
  );
  return {
    insert: async (ids) => {
      await connection.query('INSERT INTO raw VALUES ?', [ids.map((id) => [id, `object-${id}`, body])]);
    },
    close: () => connection.end(),
  };
}

export const raws = { sqlite: rawSqlite, postgres: rawPostgres, mariadb: rawMysql };
