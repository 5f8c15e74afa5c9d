// What the single executable runs first: it puts the files of the service into a folder, once for each build, and starts
// them there. Plugins, worker threads and the packages of the service need real files.
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { getAsset, getAssetKeys, getRawAsset } from 'node:sea';

try {
  const folder = unpacked();
  const main = join(folder, 'dist', 'cli', 'main.js');
  // A worker of `serve --workers` is started as `node` would be: with the path of the program first.
  const args = process.argv.slice(process.argv[2] === main ? 3 : 2);
  process.argv = [process.execPath, main, ...args];
  createRequire(main)(main);
} catch (error) {
  console.error(`kindred: ${(error as Error).message}`);
  process.exitCode = 1;
}

/** The folder with the files of this build. */
function unpacked(): string {
  const home = cacheFolder();
  const folder = join(home, getAsset('build', 'utf8'));
  if (existsSync(folder)) return folder;
  const partial = mkdtempSync(`${folder}-`);
  try {
    for (const name of getAssetKeys()) {
      const path = join(partial, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, new Uint8Array(getRawAsset(name)), { mode: 0o600 });
    }
    renameSync(partial, folder);
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    // Another process of the same build was quicker.
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

/** A folder that nobody else can write to. */
function cacheFolder(): string {
  const { KINDRED_EXECUTABLE_CACHE, XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  const cache = KINDRED_EXECUTABLE_CACHE ?? XDG_CACHE_HOME ?? LOCALAPPDATA ?? join(homedir(), '.cache');
  const folder = join(cache, 'kindred');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  } catch (error) {
    if (KINDRED_EXECUTABLE_CACHE !== undefined) {
      throw new Error(`KINDRED_EXECUTABLE_CACHE: ${(error as Error).message}`);
    }
  }
  // A user without a home, or with one that cannot be written.
  const user = process.getuid?.() ?? createHash('sha256').update(homedir()).digest('hex').slice(0, 8);
  const fallback = join(tmpdir(), `kindred-${user}`);
  mkdirSync(fallback, { recursive: true, mode: 0o700 });
  const { uid, mode } = lstatSync(fallback);
  if (process.getuid && (uid !== process.getuid() || (mode & 0o022) !== 0)) {
    throw new Error(`${fallback} belongs to somebody else: set KINDRED_EXECUTABLE_CACHE to a folder of your own`);
  }
  return fallback;
}
