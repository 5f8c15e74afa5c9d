/** The store that a URL names. */
import { openSqlite } from './sqlite/store.ts';
import type { Store } from './store.ts';

export interface StoreOptions {
  /** Accept a server whose settings can lose acknowledged writes. Default false. */
  readonly allowUnsafeDurability?: boolean;
  /** Connections to a server, at most. Default 10. */
  readonly poolSize?: number;
  /** Told in one line each what an operator should know: a connection lost and found again, settings that are unsafe. */
  readonly warn?: (message: string) => void;
}

/** Opens a store from elsewhere, which passes `storeContract` of `kindred/testing`. What it throws should be an error of one line. */
export type StoreOpener = (options: StoreOptions) => Promise<Store>;

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
      return (await import('./postgres/store.ts')).openPostgres(url, options);
    case 'mysql':
    case 'mariadb':
      return (await import('./mysql/store.ts')).openMysql(url, options);
  }
  throw new Error(
    `the database URL starts with "${scheme}:", expected sqlite:<file>, sqlite::memory:, postgres://… or mysql://…`,
  );
}

/** The file of a `sqlite:` URL; `:memory:` is one. */
export function sqliteFile(url: string): string {
  const file = url.replace(/^sqlite:(?:\/\/(?=\/))?/, '');
  if (file === '') throw new Error('the database URL sqlite: names no file, expected sqlite:<file> or sqlite::memory:');
  return file;
}
