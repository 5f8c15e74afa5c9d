/** A file system of a few megabytes for one test, which fills up. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmdirSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  readonly folder: string;
  /** An empty folder on it that every user may write to. */
  empty(name: string): string;
  /** From now on there is room for so many bytes more. */
  leave(bytes: number): void;
  unmount(): void;
}

/** Undefined, and said in one loud line, where nothing may be mounted. */
export function smallDisk(bytes: number, leftOut: string): SmallDisk | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-disk-'));
  chmodSync(folder, 0o755);
  const mounted = run('mount', '-t', 'tmpfs', '-o', `mode=755,size=${bytes}`, 'tmpfs', folder);
  if (mounted !== '') {
    rmdirSync(folder);
    console.error(`!!! LEFT OUT: ${leftOut}, because a small file system cannot be mounted here: ${mounted} !!!`);
    return undefined;
  }
  const unmount = (): void => {
    process.off('exit', unmount);
    // Lazily: a server that was killed may not be quite gone.
    run('umount', '--lazy', folder);
    rmdirSync(folder);
  };
  process.once('exit', unmount);
  return {
    folder,
    empty(name) {
      const path = join(folder, name);
      mkdirSync(path);
      chmodSync(path, 0o777);
      return path;
    },
    leave(room) {
      const { blocks, bfree, bsize } = statfsSync(folder);
      const failed = run('mount', '-o', `remount,size=${(blocks - bfree) * bsize + room}`, folder);
      if (failed !== '') throw new Error(`the file system cannot be resized: ${failed}`);
    },
    unmount,
  };
}

/** Empty, or what went wrong. */
function run(program: string, ...args: string[]): string {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  return status === 0 ? '' : (error?.message ?? (stderr.trim() || `${program} ended with ${status}`));
}
