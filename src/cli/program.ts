import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { applyCommand } from './apply.ts';
import { authCommand } from './auth.ts';
import { backupCommand } from './backup.ts';
import { checkCommand } from './check.ts';
import { deleteCommand } from './delete.ts';
import { describe } from './describe.ts';
import { exportCommand } from './export.ts';
import { getCommand } from './get.ts';
import { importCommand } from './import.ts';
import type { Io } from './io.ts';
import { Exit, UsageError } from './io.ts';
import { listCommand } from './list.ts';
import { migrateCommand } from './migrate.ts';
import { pluginCommand } from './plugin.ts';
import { restoreCommand } from './restore.ts';
import { serveCommand } from './serve.ts';
import { tokenCommand } from './token.ts';
import { watchCommand } from './watch.ts';

/**
 * Runs one command.
 * @param args without the program's own name
 * @returns the exit code: 0 ok, 1 refused by the service (or it could not be reached), 2 wrong use
 */
export async function run(args: readonly string[], io: Io): Promise<number> {
  // A reader that went away is answered by the write that meets it; without a listener the event would end the process.
  for (const output of [io.stdout, io.stderr]) output.on('error', ignore);
  try {
    await program(io).parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof Exit) return error.code;
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    io.stderr.write(describe(error));
    return error instanceof UsageError ? 2 : 1;
  } finally {
    for (const output of [io.stdout, io.stderr]) output.off('error', ignore);
  }
}

function ignore(): void {}

function program(io: Io): Command {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const root = new Command('kindred')
    .description('Declare models and get a durable HTTP service for them.')
    .version(version)
    .showHelpAfterError('(--help shows how it is used)');
  const commands = [
    serveCommand(io),
    getCommand(io),
    listCommand(io),
    watchCommand(io),
    applyCommand(io),
    deleteCommand(io),
    exportCommand(io),
    importCommand(io),
    pluginCommand(io),
    tokenCommand(io),
    authCommand(io),
    checkCommand(io),
    backupCommand(io),
    restoreCommand(io),
    migrateCommand(io),
  ];
  for (const command of commands) root.addCommand(command);
  for (const command of [root, ...commands, ...commands.flatMap((one) => one.commands)]) {
    command.exitOverride().configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, show) => show(text.replace(/^error: /, 'kindred: ')),
      getOutHelpWidth: () => io.stdout.columns ?? 100,
      getErrHelpWidth: () => io.stderr.columns ?? 100,
    });
  }
  return root;
}
