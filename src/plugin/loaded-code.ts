/** Which modules import which, and what they held when they were loaded: whether a plugin's code is the one that it was before. */
import { createHash, hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export class LoadedCode {
  readonly #isOwn: (url: string) => boolean;
  /** Files by the file that imports them. */
  readonly #imports = new Map<string, Set<string>>();
  /** SHA-256 of files as they were when they were loaded. */
  readonly #digests = new Map<string, string>();

  /** @param isOwn whether a URL is that of a module of the service, which is left out */
  constructor(isOwn: (url: string) => boolean) {
    this.#isOwn = isOwn;
  }

  imported(parent: string | undefined, url: string): void {
    const [from, to] = [parent && this.#fileOf(parent), this.#fileOf(url)];
    if (!from || !to) return;
    const known = this.#imports.get(from);
    if (known) known.add(to);
    else this.#imports.set(from, new Set([to]));
  }

  loaded(url: string): void {
    const file = this.#fileOf(url);
    if (file) this.#digests.set(file, digestOf(file));
  }

  /** Of a module and all that it leads to. @param base folder from which files are named */
  hash(entry: string, base: string): string {
    const found = new Set([fileURLToPath(entry)]);
    // A set gives what is added while it is gone through.
    for (const file of found) for (const imported of this.#imports.get(file) ?? []) found.add(imported);
    const code = createHash('sha256');
    for (const file of [...found].sort()) {
      // What was loaded before the first plugin has not been seen.
      code.update(`${relative(base, file)} ${this.#digests.get(file) ?? digestOf(file)}\n`);
    }
    return code.digest('hex');
  }

  #fileOf(url: string): string | undefined {
    return url.startsWith('file:') && !this.#isOwn(url) ? fileURLToPath(url.split('?')[0]!) : undefined;
  }
}

/** A file that cannot be read is like no other, not even like itself: it says nothing. */
function digestOf(file: string): string {
  try {
    return hash('sha256', readFileSync(file));
  } catch {
    return crypto.randomUUID();
  }
}
