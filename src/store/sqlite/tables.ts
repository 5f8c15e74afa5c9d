/** Tables of the SQLite store, their versions, and the settings of its connections. */
import { DatabaseSync } from 'node:sqlite';

/** Each element brings the tables from version `index` to `index + 1`; one that was released never changes. */
const migrations: readonly string[] = [
  `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID, STRICT;
  INSERT INTO meta VALUES ('version', 0), ('revision', 0), ('oldest', 0);
  CREATE TABLE models (
    number INTEGER PRIMARY KEY, group_name TEXT NOT NULL, kind TEXT NOT NULL, UNIQUE (group_name, kind)
  ) STRICT;
  CREATE TABLE objects (
    id INTEGER PRIMARY KEY, model INTEGER NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL, bytes BLOB NOT NULL,
    UNIQUE (model, name)
  ) STRICT;
  CREATE INDEX objects_by_model ON objects (model);
  CREATE TABLE changes (
    revision INTEGER PRIMARY KEY, time INTEGER NOT NULL, type INTEGER NOT NULL, model INTEGER NOT NULL,
    id INTEGER NOT NULL, name TEXT NOT NULL, bytes BLOB NOT NULL, before BLOB
  ) STRICT;
  CREATE TABLE claims (
    model INTEGER NOT NULL, hash BLOB NOT NULL, index_name TEXT NOT NULL, key TEXT NOT NULL, id INTEGER NOT NULL,
    PRIMARY KEY (model, hash)
  ) WITHOUT ROWID, STRICT;
  CREATE TABLE leases (
    name TEXT PRIMARY KEY, holder TEXT NOT NULL, token INTEGER NOT NULL, expires INTEGER NOT NULL
  ) WITHOUT ROWID, STRICT;
  CREATE TABLE jumps (target INTEGER PRIMARY KEY, origin INTEGER NOT NULL) STRICT;
  `,
  'CREATE INDEX changes_by_model ON changes (model)',
  'DROP TABLE claims',
  `
  ALTER TABLE models ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE models ADD COLUMN contract TEXT;
  ALTER TABLE models ADD COLUMN storage_version TEXT;
  `,
];

const oldestSqlite = [3, 51, 3];

/** Milliseconds that a statement waits for another connection, from the first one on: that may be recovering the log. */
const busyTimeout = 2_000;

/** Throws a plain error when the SQLite that comes with this Node can damage a database (bug of WAL mode, mended in 3.51.3). */
export function checkSqlite(version: string): void {
  const parts = version.split('.').map(Number);
  for (let i = 0; i < oldestSqlite.length; i++) {
    const difference = (parts[i] ?? 0) - oldestSqlite[i]!;
    if (difference > 0) return;
    if (difference < 0) {
      throw new Error(
        `SQLite ${version} can damage a database in WAL mode; use a Node with SQLite ${oldestSqlite.join('.')} or newer`,
      );
    }
  }
}

export function sqliteVersion(): string {
  const db = new DatabaseSync(':memory:');
  try {
    return (db.prepare('SELECT sqlite_version() AS version').get() as { version: string }).version;
  } finally {
    db.close();
  }
}

/** The connection that writes. Creates the file and brings the tables to the newest version. */
export function openForWriting(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: busyTimeout });
  try {
    db.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA wal_autocheckpoint = 0;
      PRAGMA cache_size = -16384;
      PRAGMA temp_store = MEMORY;
    `);
    migrate(db);
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}

/** A connection that reads what is committed. */
export function openForReading(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { readOnly: true, timeout: busyTimeout });
  try {
    // Reading a page from the system's cache costs no more than touching memory for a larger cache of our own.
    db.exec('PRAGMA cache_size = -2048;');
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}

function migrate(db: DatabaseSync): void {
  const fresh = !db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").get();
  if (fresh && db.prepare('SELECT 1 FROM sqlite_schema').get()) {
    throw new Error('it holds tables of something else; choose another file');
  }
  const version = fresh ? 0 : readMeta(db, 'version');
  if (version > migrations.length) {
    throw new Error(
      `the tables of this database have version ${version}, this program knows ${migrations.length}: use the newer program`,
    );
  }
  if (version === migrations.length) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    for (const step of migrations.slice(version)) db.exec(step);
    db.prepare("UPDATE meta SET value = ? WHERE key = 'version'").run(migrations.length);
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** Beyond every token that was given out before the last jump, also for leases that the backup did not have. */
export function firstToken(db: DatabaseSync): number {
  return (db.prepare('SELECT coalesce(max(target), 0) AS first FROM jumps').get() as { first: number }).first;
}

export function readMeta(db: DatabaseSync, key: 'version' | 'revision' | 'oldest'): number {
  const row = db.prepare('SELECT value FROM meta WHERE key = ?').get(key) as { value: number } | undefined;
  if (!row) throw new Error(`the database has no "${key}": it is damaged, or not a database of this service`);
  return row.value;
}
