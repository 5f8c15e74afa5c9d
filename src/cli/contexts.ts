/** Services that were logged in to: `kindred/config.yaml` in the folder for configuration, for its owner alone. */
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { replacePrivate, takeFromOthers } from '../runtime/private-file.ts';
import { parseYaml } from '../runtime/yaml.ts';
import type { Io } from './io.ts';
import { UsageError } from './io.ts';
import { yamlOf } from './output.ts';

export interface Context {
  readonly name: string;
  readonly server: string;
  /** Absent: nobody is logged in. */
  readonly token?: string;
}

export interface Contexts {
  readonly current?: string;
  readonly all: readonly Context[];
}

/** `$XDG_CONFIG_HOME/kindred/config.yaml`, by default below `~/.config`; undefined without a home. */
function contextsFile({ env }: Io): string | undefined {
  const home = env.HOME || env.USERPROFILE;
  const folder = env.XDG_CONFIG_HOME || (home && join(home, '.config'));
  return folder ? join(folder, 'kindred', 'config.yaml') : undefined;
}

/** None when there is no file. @throws UsageError for one that cannot be read */
export function readContexts(io: Io): Contexts {
  const file = contextsFile(io);
  if (file === undefined) return { all: [] };
  const text = textOf(file);
  if (text === undefined) return { all: [] };
  const { value, mistake } = parseYaml(text, file);
  if (mistake !== undefined) throw new UsageError(mistake);
  const { currentContext: current, contexts = [] } = (value ?? {}) as { currentContext?: unknown; contexts?: unknown };
  if (!Array.isArray(contexts) || !contexts.every(isContext) || !['string', 'undefined'].includes(typeof current)) {
    throw new UsageError(`${file} needs currentContext, a name, and contexts, a list of name, server and token`);
  }
  return { all: contexts, ...(typeof current === 'string' && { current }) };
}

function textOf(file: string): string | undefined {
  try {
    takeFromOthers(file);
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new UsageError(`${file} cannot be read: ${message}`);
  }
}

function isContext(value: unknown): value is Context {
  const { name, server, token = '' } = (value ?? {}) as Partial<Context>;
  return [name, server, token].every((one) => typeof one === 'string');
}

/** @returns the file */
export async function writeContexts(io: Io, { current, all }: Contexts): Promise<string> {
  const file = contextsFile(io);
  if (file === undefined) throw new UsageError('XDG_CONFIG_HOME or HOME is needed: the contexts are kept below it');
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const text = yamlOf({ ...(current !== undefined && { currentContext: current }), contexts: all });
  await replacePrivate(file, text);
  return file;
}

/** @throws UsageError for a name that there is not */
export function contextNamed({ all }: Contexts, name: string): Context {
  const found = all.find((one) => one.name === name);
  if (found) return found;
  const known = all.length > 0 ? `there are ${all.map((one) => one.name).join(', ')}` : '"kindred login URL" makes one';
  throw new UsageError(`there is no context "${name}"; ${known}`);
}

/** The current one; undefined without. */
export function currentContext({ current, all }: Contexts): Context | undefined {
  return all.find(({ name }) => name === current);
}
