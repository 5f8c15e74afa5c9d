/** Tables of the PostgreSQL store and their versions. Plain tables and indexes only: engines that speak the protocol have them too. */
import type { Tables } from '../server/dialect.ts';

const migrations = [
  [
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
  ],
  ['CREATE INDEX kindred_changes_by_model ON kindred_changes (model, revision)'],
  [
    `
  ALTER TABLE kindred_models ADD COLUMN generation int NOT NULL DEFAULT 0, ADD COLUMN contract text,
    ADD COLUMN storage_version text;
  CREATE TABLE kindred_replicas (id text COLLATE "C" PRIMARY KEY, supports text NOT NULL, expires bigint NOT NULL);
  `,
  ],
  ['ALTER TABLE kindred_meta ADD COLUMN questions bigint NOT NULL DEFAULT 0'],
  [
    `
  CREATE TABLE kindred_files (
    name text COLLATE "C" NOT NULL, edition bigint NOT NULL, parts int NOT NULL, about text NOT NULL, PRIMARY KEY (name)
  );
  CREATE TABLE kindred_file_parts (
    name text COLLATE "C" NOT NULL, edition bigint NOT NULL, part int NOT NULL, bytes bytea NOT NULL,
    PRIMARY KEY (name, edition, part)
  );
  ALTER TABLE kindred_file_parts ALTER COLUMN bytes SET STORAGE EXTERNAL;
  `,
  ],
];

/** Any constant that nobody else is likely to take. */
const migrationLock = 727_264_101;

export const tables: Tables = {
  lock: `SELECT pg_advisory_lock(${migrationLock}), 1 AS locked`,
  unlock: `SELECT pg_advisory_unlock(${migrationLock})`,
  version: 'CREATE TABLE IF NOT EXISTS kindred_version (version int PRIMARY KEY)',
  migrations,
};
