/** Tables of the PostgreSQL store and their versions. Plain tables and indexes only: engines that speak the protocol have them too. */
import type { ClientBase } from 'pg';

const migrations: readonly string[] = [
  `
  CREATE TABLE kindred_meta (key text PRIMARY KEY, value bigint NOT NULL);
  INSERT INTO kindred_meta VALUES ('revision', 0), ('oldest', 0), ('jump', 0);
  CREATE TABLE kindred_models (
    number int PRIMARY KEY, group_name text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, UNIQUE (group_name, kind)
  );
  CREATE TABLE kindred_objects (
    id bigint PRIMARY KEY, model int NOT NULL, name text COLLATE "C" NOT NULL, revision bigint NOT NULL,
    bytes bytea NOT NULL, UNIQUE (model, name)
  );
  CREATE INDEX kindred_objects_by_model ON kindred_objects (model, id);
  CREATE TABLE kindred_changes (
    revision bigint PRIMARY KEY, time bigint NOT NULL, type int NOT NULL, model int NOT NULL, id bigint NOT NULL,
    name text COLLATE "C" NOT NULL, bytes bytea NOT NULL, before bytea, batch bigint NOT NULL
  );
  CREATE TABLE kindred_claims (
    model int NOT NULL, hash bytea NOT NULL, index_name text NOT NULL, key bytea NOT NULL, id bigint NOT NULL,
    PRIMARY KEY (model, hash)
  );
  CREATE TABLE kindred_leases (
    name text COLLATE "C" PRIMARY KEY, holder text NOT NULL, token bigint NOT NULL, expires bigint NOT NULL
  );
  CREATE TABLE kindred_jumps (target bigint PRIMARY KEY, origin bigint NOT NULL);
  `,
  'CREATE INDEX kindred_changes_by_model ON kindred_changes (model, revision)',
];

/** Any constant that nobody else is likely to take. */
const migrationLock = 727_264_101;

/** Brings the tables to the newest version; processes that start together do it one after another. */
export async function migratePostgres(client: ClientBase): Promise<void> {
  await client.query('SELECT pg_advisory_lock($1)', [migrationLock]);
  try {
    await client.query('CREATE TABLE IF NOT EXISTS kindred_version (version int PRIMARY KEY)');
    const { rows } = await client.query('SELECT max(version) AS version FROM kindred_version');
    const version = (rows[0] as { version: number | null }).version ?? 0;
    if (version > migrations.length) {
      throw new Error(
        `the tables of this database have version ${version}, this program knows ${migrations.length}: use the newer program`,
      );
    }
    for (let next = version + 1; next <= migrations.length; next++) {
      await client.query('BEGIN');
      try {
        await client.query(migrations[next - 1]!);
        await client.query('INSERT INTO kindred_version VALUES ($1)', [next]);
        await client.query('COMMIT');
      } catch (error) {
        await client.query('ROLLBACK');
        throw error;
      }
    }
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [migrationLock]);
  }
}

/** Settings that keep what was acknowledged, with the values that do not. */
const unsafe: Readonly<Record<string, readonly string[]>> = {
  fsync: ['off'],
  synchronous_commit: ['off'],
  full_page_writes: ['off'],
};

/** The settings that durability depends on, as the server has them; an engine that does not know one leaves it out. */
export async function durabilityOf(
  client: ClientBase,
): Promise<{ settings: Record<string, string>; problems: string[] }> {
  const settings: Record<string, string> = {};
  const problems: string[] = [];
  for (const [name, bad] of Object.entries(unsafe)) {
    try {
      const { rows } = await client.query(`SHOW ${name}`);
      const value = String(Object.values(rows[0] as object)[0]);
      settings[name] = value;
      if (bad.includes(value)) problems.push(`${name} = ${value}`);
    } catch (error) {
      if ((error as { code?: string }).code !== '42704') throw error;
    }
  }
  return { settings, problems };
}
