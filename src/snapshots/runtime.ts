/** What makes keys and arrays of objects besides the plugins: the code of the service and Node.js. */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { endianness } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder with the modules of the service. */
const home = fileURLToPath(new URL('..', import.meta.url));

/** Folders with code that runs elsewhere. */
const ofBrowsers = ['console', 'swagger-ui'];

/** The same for the same code on the same Node.js and kind of machine. */
export function runtimeHash(): string {
  const hash = createHash('sha256').update(JSON.stringify([process.versions, process.arch, endianness()]));
  const part = Buffer.allocUnsafe(65_536);
  for (const file of modulesIn(home).sort()) {
    hash.update(`${relative(home, file)}\n`);
    const descriptor = openSync(file, 'r');
    for (let count = readSync(descriptor, part); count > 0; count = readSync(descriptor, part)) {
      hash.update(part.subarray(0, count));
    }
    closeSync(descriptor);
  }
  return hash.digest('hex');
}

function modulesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ofBrowsers.includes(entry.name) ? [] : modulesIn(path);
    const isModule = /\.[jt]s$/.test(entry.name) && !/\.(test|d)\.ts$/.test(entry.name);
    return isModule ? [path] : [];
  });
}
