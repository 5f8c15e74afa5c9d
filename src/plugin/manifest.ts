/** A plugin's `package.json` (docs/reference/plugins.md). */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import satisfiesRange from 'semver/functions/satisfies.js';
import valid from 'semver/functions/valid.js';
import validRange from 'semver/ranges/valid.js';
import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { isName } from '../model/names.ts';
import { isRecord } from '../model/object.ts';

export interface Manifest {
  /** At most 63 characters: it is the value of a label. */
  readonly name: string;
  readonly displayName: string;
  readonly version: string;
  /** Range of versions of the service; undefined: any. */
  readonly engine: string | undefined;
  /** Names of other plugins, each with its range. */
  readonly dependencies: Readonly<Record<string, string>>;
  /** Whether the plugin starts before anybody said anything about it. */
  readonly enabled: boolean;
  /** Name of the npm package. */
  readonly packageName: string;
  /** `exports` is there: the package can be imported by its own name. */
  readonly hasExports: boolean;
}

const nameLimit = 63;

const texts = {
  unreadable: localized('{file} cannot be read: {reason}'),
  notJson: localized('{file} is not valid JSON: {reason}'),
  type: localized('{file}: "{member}" must be {expected}'),
  pluginName: localized(
    '{file}: the plugin name "{value}" must be at most 63 characters of a-z, 0-9 and "-", beginning and ending with a letter or digit; "kindred.name" sets it',
  ),
  engine: localized('The plugin needs Kindred {range}; this is {version}'),
} satisfies Record<string, Text>;

/** @throws InvalidPlugin naming the file and the member */
export async function readManifest(folder: string): Promise<Manifest> {
  const file = join(folder, 'package.json');
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    const reason =
      (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : (cause as Error).message;
    throw new KindredError('InvalidPlugin', texts.unreadable, { params: { file, reason }, cause });
  }
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    throw new KindredError('InvalidPlugin', texts.notJson, {
      params: { file, reason: (cause as Error).message },
      cause,
    });
  }
  return parseManifest(content, file);
}

/** @throws InvalidPlugin naming the member */
export function parseManifest(content: unknown, file: string): Manifest {
  const refuse = (member: string, expected: string): never => {
    throw new KindredError('InvalidPlugin', texts.type, { params: { file, member, expected } });
  };
  if (!isRecord(content)) return refuse('', 'an object');
  const packageName = typeof content.name === 'string' && content.name !== '' ? content.name : refuse('name', 'a text');
  const version = content.version ?? '0.0.0';
  if (typeof version !== 'string' || !valid(version)) return refuse('version', 'a semantic version such as "1.0.0"');
  const own = content.kindred ?? {};
  if (!isRecord(own)) return refuse('kindred', 'an object');
  if (own.name !== undefined && typeof own.name !== 'string') return refuse('kindred.name', 'a text');
  const name = own.name ?? nameFromPackage(packageName);
  if (name.length > nameLimit || !isName(name))
    throw new KindredError('InvalidPlugin', texts.pluginName, { params: { file, value: name } });
  const displayName = own.displayName ?? name;
  if (typeof displayName !== 'string') return refuse('kindred.displayName', 'a text');
  const enabled = own.enabled ?? true;
  if (typeof enabled !== 'boolean') return refuse('kindred.enabled', 'true or false');
  const dependencies = own.dependencies ?? {};
  if (!isRecord(dependencies)) return refuse('kindred.dependencies', 'an object of plugin names and version ranges');
  for (const [dependency, range] of Object.entries(dependencies)) {
    if (typeof range !== 'string' || validRange(range) === null) {
      return refuse(`kindred.dependencies.${dependency}`, 'a version range such as "^1.0.0"');
    }
  }
  const engines = content.engines ?? {};
  if (!isRecord(engines)) return refuse('engines', 'an object');
  const engine = engines.kindred;
  if (engine !== undefined && (typeof engine !== 'string' || validRange(engine) === null)) {
    return refuse('engines.kindred', 'a version range such as ">=0.1.0"');
  }
  return {
    name,
    displayName,
    version,
    engine: engine as string | undefined,
    dependencies: dependencies as Record<string, string>,
    enabled,
    packageName,
    hasExports: content.exports !== undefined && content.exports !== null,
  };
}

/** The npm name in lower case, `@` dropped, every other character that no name has as `-`. */
export function nameFromPackage(packageName: string): string {
  return packageName
    .toLowerCase()
    .replaceAll('@', '')
    .replace(/[^a-z0-9-]/g, '-');
}

/** @throws InvalidPlugin when the plugin was made for another version of the service */
export function checkEngine(manifest: Manifest, version: string): void {
  if (manifest.engine === undefined || satisfies(version, manifest.engine)) return;
  throw new KindredError('InvalidPlugin', texts.engine, { params: { range: manifest.engine, version } });
}

/** Pre-releases count as the versions they lead to. */
export function satisfies(version: string, range: string): boolean {
  return satisfiesRange(version, range, { includePrerelease: true });
}
