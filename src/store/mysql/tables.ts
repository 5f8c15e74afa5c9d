/** Tables of the MySQL and MariaDB store and their versions. All text is kept as bytes: no collation decides what is equal. */
import type { Tables } from '../server/dialect.ts';

/** Every statement can be repeated: a change of tables commits by itself, so a step may have been interrupted. */
const migrations: readonly (readonly string[])[] = [
  [
    `CREATE TABLE IF NOT EXISTS kindred_meta (id VARBINARY(32) PRIMARY KEY, value BIGINT NOT NULL) ENGINE = InnoDB`,
    `INSERT IGNORE INTO kindred_meta VALUES ('revision', 0), ('oldest', 0), ('jump', 0)`,
    `CREATE TABLE IF NOT EXISTS kindred_models (
      number INT PRIMARY KEY, group_name VARBINARY(1024) NOT NULL, kind VARBINARY(1024) NOT NULL, UNIQUE (group_name, kind)
    ) ENGINE = InnoDB`,
    `CREATE TABLE IF NOT EXISTS kindred_objects (
      id BIGINT PRIMARY KEY, model INT NOT NULL, name VARBINARY(1024) NOT NULL, revision BIGINT NOT NULL,
      bytes LONGBLOB NOT NULL, UNIQUE (model, name), INDEX kindred_objects_by_model (model, id)
    ) ENGINE = InnoDB`,
    `CREATE TABLE IF NOT EXISTS kindred_changes (
      revision BIGINT PRIMARY KEY, time BIGINT NOT NULL, type TINYINT NOT NULL, model INT NOT NULL, id BIGINT NOT NULL,
      name VARBINARY(1024) NOT NULL, bytes LONGBLOB NOT NULL, old_bytes LONGBLOB, batch BIGINT NOT NULL
    ) ENGINE = InnoDB`,
    `CREATE TABLE IF NOT EXISTS kindred_claims (
      model INT NOT NULL, hash VARBINARY(64) NOT NULL, index_name VARBINARY(1024) NOT NULL, key_text LONGBLOB NOT NULL,
      id BIGINT NOT NULL, PRIMARY KEY (model, hash)
    ) ENGINE = InnoDB`,
    `CREATE TABLE IF NOT EXISTS kindred_leases (
      name VARBINARY(1024) PRIMARY KEY, holder VARBINARY(1024) NOT NULL, token BIGINT NOT NULL, expires BIGINT NOT NULL
    ) ENGINE = InnoDB`,
    `CREATE TABLE IF NOT EXISTS kindred_jumps (target BIGINT PRIMARY KEY, origin BIGINT NOT NULL) ENGINE = InnoDB`,
  ],
  [
    // MySQL has no IF NOT EXISTS for indexes and columns.
    `SET @step = IF(
      EXISTS (SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE()
        AND table_name = 'kindred_changes' AND index_name = 'kindred_changes_by_model'),
      'DO 0', 'CREATE INDEX kindred_changes_by_model ON kindred_changes (model, revision)')`,
    'PREPARE step FROM @step',
    'EXECUTE step',
    'DEALLOCATE PREPARE step',
  ],
  [
    `SET @step = IF(
      EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE()
        AND table_name = 'kindred_models' AND column_name = 'generation'),
      'DO 0', 'ALTER TABLE kindred_models ADD COLUMN generation INT NOT NULL DEFAULT 0, ADD COLUMN contract LONGBLOB,
        ADD COLUMN storage_version VARBINARY(1024)')`,
    'PREPARE step FROM @step',
    'EXECUTE step',
    'DEALLOCATE PREPARE step',
    `CREATE TABLE IF NOT EXISTS kindred_replicas (
      id VARBINARY(64) PRIMARY KEY, supports LONGBLOB NOT NULL, expires BIGINT NOT NULL
    ) ENGINE = InnoDB`,
  ],
  [
    `CREATE TABLE IF NOT EXISTS kindred_files (
      name VARBINARY(1024) PRIMARY KEY, edition BIGINT NOT NULL, parts INT NOT NULL, about LONGBLOB NOT NULL
    ) ENGINE = InnoDB`,
    `CREATE TABLE IF NOT EXISTS kindred_file_parts (
      name VARBINARY(1024) NOT NULL, edition BIGINT NOT NULL, part INT NOT NULL, bytes LONGBLOB NOT NULL,
      PRIMARY KEY (name, edition, part)
    ) ENGINE = InnoDB`,
  ],
];

export const tables: Tables = {
  lock: "SELECT GET_LOCK('kindred_migration', 60) AS locked",
  unlock: "DO RELEASE_LOCK('kindred_migration')",
  version: 'CREATE TABLE IF NOT EXISTS kindred_version (version INT PRIMARY KEY) ENGINE = InnoDB',
  migrations,
};
