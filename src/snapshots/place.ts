/** Where the snapshots of a database lie. */
import { hash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { sqliteFile } from '../store/sqlite-file.ts';

/**
 * The folder of one database; undefined: it has no snapshots.
 * @param database its URL; undefined: a store of the caller's own, which has the folder to itself
 * @param dir that of all databases, if it was given
 */
export function snapshotPath(database: string | undefined, dir: string | undefined): string | undefined {
  const isSqlite = database?.startsWith('sqlite:') === true;
  const file = isSqlite ? sqliteFile(database!) : undefined;
  if (file === ':memory:') return undefined;
  if (dir === undefined) return file === undefined ? undefined : `${resolve(file)}.index`;
  if (database === undefined) return resolve(dir);
  return join(resolve(dir), hash('sha256', file === undefined ? withoutSecrets(database) : resolve(file)).slice(0, 16));
}

/** A password may change, and the database is the same. */
function withoutSecrets(database: string): string {
  const url = URL.parse(database);
  return url ? `${url.protocol}//${url.host}${url.pathname}${url.search}` : database;
}
