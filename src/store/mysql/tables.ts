/** Tables of the MySQL and MariaDB store and their versions. All text is kept as bytes: no collation decides what is equal. */
import type { Connection, RowDataPacket } from 'mysql2/promise';

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
    // MySQL has no CREATE INDEX IF NOT EXISTS.
    `SET @step = IF(
      EXISTS (SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE()
        AND table_name = 'kindred_changes' AND index_name = 'kindred_changes_by_model'),
      'DO 0', 'CREATE INDEX kindred_changes_by_model ON kindred_changes (model, revision)')`,
    'PREPARE step FROM @step',
    'EXECUTE step',
    'DEALLOCATE PREPARE step',
  ],
];

const migrationLock = 'kindred_migration';

/** Brings the tables to the newest version; processes that start together do it one after another. */
export async function migrateMysql(connection: Connection): Promise<void> {
  const [locked] = await connection.query<RowDataPacket[]>('SELECT GET_LOCK(?, 60) AS locked', [migrationLock]);
  if (locked[0]?.locked !== 1) throw new Error('another process has been changing the tables for more than a minute');
  try {
    await connection.query('CREATE TABLE IF NOT EXISTS kindred_version (version INT PRIMARY KEY) ENGINE = InnoDB');
    const [rows] = await connection.query<RowDataPacket[]>('SELECT max(version) AS version FROM kindred_version');
    const version = (rows[0]?.version as number | null) ?? 0;
    if (version > migrations.length) {
      throw new Error(
        `the tables of this database have version ${version}, this program knows ${migrations.length}: use the newer program`,
      );
    }
    for (let next = version + 1; next <= migrations.length; next++) {
      for (const statement of migrations[next - 1]!) await connection.query(statement);
      await connection.query('INSERT INTO kindred_version VALUES (?)', [next]);
    }
  } finally {
    await connection.query('DO RELEASE_LOCK(?)', [migrationLock]);
  }
}

/** The settings that durability depends on, what is wrong with them, and what an operator should know besides. */
export async function durabilityOf(
  connection: Connection,
): Promise<{ settings: Record<string, string>; problems: string[]; warnings: string[] }> {
  const names = ['innodb_flush_log_at_trx_commit', 'innodb_doublewrite', 'log_bin', 'sync_binlog', 'wsrep_on'];
  const [rows] = await connection.query<RowDataPacket[]>('SHOW GLOBAL VARIABLES WHERE variable_name IN (?)', [names]);
  const settings: Record<string, string> = {};
  for (const row of rows) settings[String(row.Variable_name).toLowerCase()] = String(row.Value);
  const problems: string[] = [];
  const check = (name: string, safe: (value: string) => boolean): void => {
    const value = settings[name];
    if (value !== undefined && !safe(value)) problems.push(`${name} = ${value}`);
  };
  check('innodb_flush_log_at_trx_commit', (value) => value === '1');
  check('innodb_doublewrite', (value) => !/^(off|0)$/i.test(value));
  if (/^(on|1)$/i.test(settings.log_bin ?? '')) check('sync_binlog', (value) => value === '1');
  const warnings = /^(on|1)$/i.test(settings.wsrep_on ?? '')
    ? ['this is a Galera cluster: let one node alone take the writes, commits on several can be lost']
    : [];
  return { settings, problems, warnings };
}
