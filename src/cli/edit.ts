import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import type { KindredClient } from '../client/client.ts';
import { KindredError } from '../client/client.ts';
import { parseYaml } from '../runtime/yaml.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import { describe } from './describe.ts';
import { exactIntegers } from './exact-json.ts';
import type { Io } from './io.ts';
import { Exit, UsageError, write } from './io.ts';
import { operationsBetween } from './merge.ts';
import type { NamespaceFlags } from './namespace.ts';
import { withNamespace } from './namespace.ts';
import type { ResultFormat } from './output.ts';
import { formatOption, printResult, resultFormats, withoutManagedFields, yamlOf } from './output.ts';
import { namedTargets, targetHelp } from './targets.ts';
import type { ResourceType } from './types.ts';
import { Types } from './types.ts';

interface Flags extends ConnectionFlags, NamespaceFlags {
  output: ResultFormat;
}

const conflict =
  'It was changed while you edited it. Look at it with "kindred get", and edit it again; the file has what you typed.';

export function editCommand(io: Io): Command {
  const command = new Command('edit')
    .description('change objects in an editor')
    .argument('[what...]', targetHelp)
    .addOption(formatOption(resultFormats, 'table'))
    .addHelpText(
      'after',
      '\nFor example: kindred edit countries/fr\nThe editor is that of KUBE_EDITOR, VISUAL or EDITOR, otherwise vi. What you typed is kept in a file when it cannot be written.',
    )
    .action(async (what: string[], flags: Flags) => {
      const client = connect(flags, io);
      const targets = await namedTargets(new Types(client), what, flags);
      let failures = 0;
      for (const { type, names } of targets) {
        for (const name of names) if (!(await edited(io, client, type, name, flags.output))) failures++;
      }
      if (failures > 0) throw new Exit(1);
    });
  return withConnection(withNamespace(command), io);
}

/** @returns false when what was typed could not be written; this is told */
async function edited(
  io: Io,
  client: KindredClient,
  { model, label }: ResourceType,
  name: string,
  format: ResultFormat,
): Promise<boolean> {
  const stored = await client.get(model, name);
  const text = yamlOf(withoutManagedFields(stored));
  const head = `# ${label}/${name}: saved and closed, this becomes the object; an unchanged or empty file changes nothing.\n`;
  // Nobody else may read it: it may be a Secret.
  const folder = await mkdtemp(join(io.env.TMPDIR ?? tmpdir(), 'kindred-edit-'));
  const file = join(folder, `${name.replaceAll('/', '_')}.yaml`);
  let isKept = false;
  const keep = (error: unknown, more = ''): boolean => {
    isKept = true;
    io.stderr.write(`${describe(error)}${more === '' ? '' : `  ${more}\n`}  What you typed is kept in ${file}\n`);
    return false;
  };
  try {
    await writeFile(file, head + text, { mode: 0o600 });
    await openEditor(io, file);
    const typed = await readFile(file, 'utf8');
    if (typed.replace(/^\s*#.*$/gm, '').trim() === '') return await unchanged(io, label, name);
    const [before, after] = [parsed(text, file), parsed(typed, file)];
    // Every write says which version it is about: what others did meanwhile is not lost.
    const version = { op: 'add', path: '/metadata/version', value: stored.metadata.version };
    const operations = operationsBetween(before, after).filter(({ path }) => path !== version.path);
    if (operations.length === 0) return await unchanged(io, label, name);
    const object = await client.patch(model, name, [version, ...operations], 'json');
    await printResult(io, format, object, { label, done: 'edited' });
    return true;
  } catch (error) {
    if (error instanceof KindredError) return keep(error, error.code === 'VersionConflict' ? conflict : '');
    if (error instanceof NotYaml) return keep(error);
    throw error;
  } finally {
    if (!isKept) await rm(folder, { recursive: true, force: true });
  }
}

async function unchanged(io: Io, label: string, name: string): Promise<true> {
  await write(io.stdout, `${label}/${name} unchanged\n`);
  return true;
}

class NotYaml extends Error {}

function parsed(text: string, file: string): unknown {
  const { value: read, mistake } = parseYaml(text, file, { intAsBigInt: true });
  if (mistake !== undefined) throw new NotYaml(mistake);
  const value = exactIntegers(read);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new NotYaml(`${file} holds no object`);
  return value;
}

/** @throws UsageError when it cannot be started, or says that it failed */
async function openEditor(io: Io, file: string): Promise<void> {
  const { env } = io;
  const editor = env.KUBE_EDITOR || env.VISUAL || env.EDITOR || 'vi';
  const isWindows = process.platform === 'win32';
  // An editor may come with arguments, `code --wait`: the shell takes them apart.
  const child = isWindows
    ? spawn(`${editor} "${file}"`, { stdio: 'inherit', shell: true })
    : spawn('/bin/sh', ['-c', `trap : INT; ${editor} "$1"`, 'sh', file], {
        stdio: 'inherit',
        env: { ...process.env, ...env },
      });
  // Ctrl+C is the editor's: neither this process nor the shell, which waits for the editor, ends by it.
  const ignore = (): void => {};
  process.on('SIGINT', ignore);
  const exit = once(child, 'exit').finally(() => process.off('SIGINT', ignore));
  const [code, signal] = (await exit) as [number | null, string | null];
  if (code !== 0) throw new UsageError(`the editor "${editor}" ended with ${signal ?? `exit code ${code}`}`);
}
