/** Backups, and putting a store back from one. A revision that anyone has seen is never used again: `Store.jump` moves past all of them. */
import { closeSync, createReadStream, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createPrivate } from '../../runtime/private-file.ts';
import { openStore } from '../open.ts';
import { sqliteFile } from '../sqlite-file.ts';
import type { Store } from '../store.ts';
import type { CopyProgress } from './store.ts';
import { copyDatabase } from './store.ts';
import { openForReading, readMeta } from './tables.ts';

/**
 * Copies the SQLite file that a URL names into a new file, as it is at one moment, also while a service uses it. Servers
 * have tools of their own for it (`pg_basebackup`, `mariadb-backup`). Throws a plain error in one line.
 */
export async function backup(url: string, file: string, progress?: CopyProgress): Promise<void> {
  if (!url.startsWith('sqlite:')) {
    throw new Error(
      "only a SQLite file can be backed up here; use the server's own tools (pg_basebackup, mariadb-backup)",
    );
  }
  const source = sqliteFile(url);
  if (!existsSync(source)) throw new Error(`there is no database ${source}`);
  if (existsSync(file)) throw new Error(`${file} is there already; move it away first`);
  await copyDatabase(source, file, progress);
}

/**
 * Puts a file that `backup` or `Store.backup` made at the place that a `sqlite:` URL names, and moves the revision forward. Refuses
 * a place where there is a database, and a backup that is damaged. Resolves to the revision from which the store goes on
 * (earlier ones are Expired), and the number of its objects.
 * @param file the backup
 */
export async function restore(file: string, url: string): Promise<{ revision: number; objects: number }> {
  if (!url.startsWith('sqlite:')) {
    throw new Error(
      'only a SQLite file can be restored here; put a server back with its own tools, then run kindred restore --after',
    );
  }
  const target = resolve(sqliteFile(url));
  if (sqliteFile(url) === ':memory:') throw new Error('there is nothing to restore into with sqlite::memory:');
  if (existsSync(target)) throw new Error(`${target} holds data already; move it away first`);
  if (!existsSync(file)) throw new Error(`there is no backup ${file}`);
  const partial = `${target}.partial`;
  try {
    await pipeline(createReadStream(file), createPrivate(partial));
    const saved = check(partial, file);
    for (const suffix of ['-wal', '-shm']) rmSync(target + suffix, { force: true });
    let objects = 0;
    const revision = await jump(`sqlite:${partial}`, async (store) => {
      for (const { number } of await store.models()) objects += await store.count(number);
    });
    if (objects !== saved) throw new Error(`${saved} objects are in the backup, ${objects} in what was restored`);
    renameSync(partial, target);
    sync(resolve(target, '..'));
    return { revision, objects };
  } finally {
    for (const suffix of ['', '-wal', '-shm', '-lock']) rmSync(partial + suffix, { force: true });
  }
}

/**
 * Moves the revision of a database forward that was put back with its server's own tools, while no service uses it.
 * Resolves to the revision from which it goes on. Throws a plain error in one line when no service ever used it.
 */
export async function afterRestore(url: string): Promise<number> {
  if (url.startsWith('sqlite:') && !existsSync(sqliteFile(url))) {
    throw new Error(`there is no database ${sqliteFile(url)}`);
  }
  return jump(url, async (store) => {
    if ((await store.models()).length === 0) throw new Error('the database holds nothing of this service');
  });
}

async function jump(url: string, check: (store: Store) => void | Promise<void>): Promise<number> {
  const store = await openStore(url);
  try {
    await check(store);
    return await store.jump();
  } finally {
    await store.close();
  }
}

/**
 * Looks at a copy of the backup `file`, since SQLite leaves files of its own beside the one it opens, and counts its
 * objects.
 */
function check(copy: string, file: string): number {
  const { damage, objects } = look(copy, file);
  if (damage !== 'ok') throw new Error(`${file} is damaged: ${damage.replace(/\s*\n\s*/g, ' ')}`);
  return objects;
}

function look(copy: string, file: string): { damage: string; objects: number } {
  try {
    const db = openForReading(copy);
    try {
      readMeta(db, 'revision');
      const { quick_check: damage } = db.prepare('PRAGMA quick_check(1)').get() as { quick_check: string };
      const { objects } = db.prepare('SELECT count(*) AS objects FROM objects').get() as { objects: number };
      return { damage, objects };
    } finally {
      db.close();
    }
  } catch (cause) {
    throw new Error(`${file} is no backup of this service: ${(cause as Error).message}`, { cause });
  }
}

function sync(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
