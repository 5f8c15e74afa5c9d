/** The store that a URL names. */
import type { StoreOpener, StoreOptions } from './options.ts';
import { openSqlite } from './sqlite/store.ts';
import { sqliteFile } from './sqlite-file.ts';
import type { Store } from './store.ts';

/**
 * Opens `sqlite:<file>`, `sqlite::memory:`, `postgres://…` (or `postgresql:`) or `mysql://…` (or `mariadb:`), makes the
 * tables or brings them to the newest version. Throws a plain error of one line when that cannot be.
 */
export async function openStore(database: string | StoreOpener, options: StoreOptions = {}): Promise<Store> {
  if (typeof database === 'function') return database(options);
  const url = database;
  const scheme = url.slice(0, Math.max(url.indexOf(':'), 0));
  switch (scheme) {
    case 'sqlite':
      return openSqlite(sqliteFile(url), { warn: options.warn });
    case 'postgres':
    case 'postgresql':
      return (await import('./postgres/dialect.ts')).openPostgres(url, options);
    case 'mysql':
    case 'mariadb':
      return (await import('./mysql/dialect.ts')).openMysql(url, options);
  }
  throw new Error(
    `the database URL starts with "${scheme}:", expected sqlite:<file>, sqlite::memory:, postgres://… or mysql://…`,
  );
}
