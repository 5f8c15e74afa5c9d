import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from './io.ts';

/**
 * A plugin package that is not there is a mistake of whoever named it; what is wrong inside of one is for the log.
 * @param find the folder of a package by its path or npm name; throws when there is none
 * @throws UsageError
 */
export function checkPluginPaths(paths: readonly string[], find: (source: string) => string): void {
  const mistakes = paths.flatMap((path) => {
    try {
      const folder = find(path);
      if (existsSync(join(folder, 'package.json'))) return [];
      return statSync(folder).isDirectory()
        ? `The plugin package "${path}" has no package.json`
        : `The plugin package "${path}" is a file: unpack it, or install it with npm and give the name of the package`;
    } catch (error) {
      return (error as Error).message;
    }
  });
  if (mistakes.length > 0) throw new UsageError(mistakes);
}

/** @throws UsageError when the folder of plugins cannot be read */
export function checkPluginFolder(folder: string): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  throw new UsageError(found ? `"${folder}" is no folder of plugins` : `There is no folder of plugins "${folder}"`);
}
