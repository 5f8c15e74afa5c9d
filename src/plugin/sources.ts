/** Where plugins come from: the sources that are named, the packages in a folder, and what their manifests say. */

import { existsSync, watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join, resolve, sep } from 'node:path';
import type { Text } from '../errors.ts';
import { KindredError, messageOf } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Timers } from '../runtime/timers.ts';
import type { Trouble } from './instance.ts';
import { findPackage } from './loader.ts';
import type { Manifest } from './manifest.ts';
import { nameFromPackage, parseManifest, readManifest } from './manifest.ts';
import type { CodePlugin } from './source.ts';

const noFolder: Text = localized('The folder of plugins "{folder}" cannot be read: {reason}');

/** The sources that are named, and every folder in `folder` that has a `package.json`. Relative paths start at `base`. */
export async function findSources(
  named: readonly (string | CodePlugin)[],
  folder: string | undefined,
  base: string,
): Promise<(string | CodePlugin)[]> {
  if (folder === undefined) return [...named];
  const names = await readdir(resolve(base, folder)).catch((cause: Error) => {
    throw new KindredError('InvalidPlugin', noFolder, { params: { folder, reason: cause.message }, cause });
  });
  const paths = names.sort().map((name) => join(resolve(base, folder), name));
  return [...named, ...paths.filter((path) => existsSync(join(path, 'package.json')))];
}

/** A source with what its manifest said when it was last read. */
export class PluginPackage {
  readonly source: string | CodePlugin;
  readonly name: string;
  /** Undefined for plugins in code. */
  readonly folder: string | undefined;
  #manifest: Manifest | undefined;
  #broken: Trouble | undefined;

  private constructor(source: string | CodePlugin, folder?: string, manifest?: Manifest, broken?: Trouble) {
    this.source = source;
    this.name = manifest?.name ?? nameOfBroken(source);
    this.folder = folder;
    this.#manifest = manifest;
    this.#broken = broken;
  }

  static async read(source: string | CodePlugin, base: string): Promise<PluginPackage> {
    let folder: string | undefined;
    try {
      if (typeof source !== 'string') return new PluginPackage(source, undefined, codeManifest(source));
      folder = findPackage(source, base);
      return new PluginPackage(source, folder, await readManifest(folder));
    } catch (error) {
      return new PluginPackage(source, folder, undefined, invalidPackage(error));
    }
  }

  /** Undefined when it never could be read. */
  get manifest(): Manifest | undefined {
    return this.#manifest;
  }

  /** Why the package cannot be a plugin at all. */
  get broken(): Trouble | undefined {
    return this.#broken;
  }

  /** For messages. */
  get place(): string {
    return typeof this.source === 'string' ? this.source : 'code';
  }

  /** The package may be another one than when it was last read. */
  async readAgain(): Promise<void> {
    if (this.folder === undefined) return;
    try {
      const manifest = await readManifest(this.folder);
      if (manifest.name !== this.name) return;
      this.#manifest = manifest;
      this.#broken = undefined;
    } catch (error) {
      this.#broken = invalidPackage(error);
    }
  }

  /** The package that runs is an earlier one than what was last read. */
  keep(manifest: Manifest | undefined): void {
    this.#manifest = manifest;
    this.#broken = undefined;
  }

  /** Whether a file is one of the package's. */
  has(file: string): boolean {
    return this.folder !== undefined && file.startsWith(this.folder + sep);
  }
}

function invalidPackage(error: unknown): Trouble {
  return { reason: 'InvalidPackage', message: messageOf(error) };
}

function codeManifest({ name, version, displayName, dependencies, enabled }: CodePlugin): Manifest {
  return parseManifest({ name, version, kindred: { name, displayName, dependencies, enabled } }, `plugin "${name}"`);
}

/** A name for a package that has none: as much of its folder's as a name can have. */
function nameOfBroken(source: string | CodePlugin): string {
  const text = typeof source === 'string' ? basename(source) : String(source.name);
  const name = nameFromPackage(text)
    .slice(0, 63)
    .replace(/^-+|-+$/g, '');
  return name === '' ? 'plugin' : name;
}

/** Editors write a file in several steps. Milliseconds. */
const reloadDelay = 100;

interface WatchDependencies {
  readonly timers: Timers;
  readonly logger: Pick<Logger, 'warn'>;
  readonly onChange: (file: string) => void;
}

/** Tells of changed sources in a folder, once they rest. @returns ends it */
export function watchSources(folder: string, { timers, logger, onChange }: WatchDependencies): () => void {
  let cancel = () => {};
  const watcher = watch(folder, { recursive: true }, (_event, file) => {
    if (file === null || isNoSource(file)) return;
    cancel();
    cancel = timers.after(reloadDelay, () => onChange(file));
  });
  watcher.on('error', (err) => logger.warn({ err, folder }, 'The sources of the plugin are no longer watched'));
  return () => {
    cancel();
    watcher.close();
  };
}

/** Installed packages, hidden files, editors' and databases' own ones. */
function isNoSource(file: string): boolean {
  return (
    file.split(sep).some((part) => part === 'node_modules' || part.startsWith('.')) ||
    /(~|\.(swp|tmp|log|db|db-\w+))$/.test(file)
  );
}
