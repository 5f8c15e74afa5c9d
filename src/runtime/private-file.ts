/**
 * Files that the service and the command line write are for their owner alone, whatever the umask is: they hold Secrets
 * as they are.
 */
import type { WriteStream } from 'node:fs';
import { chmodSync, closeSync, createWriteStream, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const mode = 0o600;

/**
 * Makes an empty file when there is none. One that is there is not opened: closing it would give back the locks that
 * SQLite holds on it in this process (POSIX, fcntl).
 */
export function touchPrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', mode));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** A stream into a file that is made anew; what it writes is on the disk when it has finished. */
export function createPrivate(file: string): WriteStream {
  rmSync(file, { force: true });
  return createWriteStream(file, { flags: 'wx', flush: true, mode });
}

/** The old file stays until the new one is whole. */
export async function replacePrivate(file: string, text: string): Promise<void> {
  const unfinished = `${file}.${process.pid}`;
  await pipeline(Readable.from([text]), createPrivate(unfinished));
  renameSync(unfinished, file);
}

/**
 * Takes a file that everybody may read from all but its owner. A file that only a group may read too was made so on
 * purpose. @returns whether it was changed
 */
export function takeFromOthers(file: string): boolean {
  // Windows has no such modes: there every file would look as if everybody could read it.
  if (process.platform === 'win32') return false;
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found || (found.mode & 0o007) === 0) return false;
  chmodSync(file, mode);
  return true;
}
