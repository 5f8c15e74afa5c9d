import { Command, CommanderError } from 'commander';
import { describe } from './describe.ts';
import { hintFor } from './hints.ts';
import type { Io } from './io.ts';
import { ClosedPipe, Exit, UsageError } from './io.ts';
import { ownManifest } from './own-manifest.ts';

/** In the order of the help; only the module of the command that is called is loaded. */
const commands: Readonly<Record<string, () => Promise<(io: Io) => Command>>> = {
  serve: async () => (await import('./serve.ts')).serveCommand,
  get: async () => (await import('./get.ts')).getCommand,
  list: async () => (await import('./list.ts')).listCommand,
  describe: async () => (await import('./describe-objects.ts')).describeCommand,
  explain: async () => (await import('./explain.ts')).explainCommand,
  watch: async () => (await import('./watch.ts')).watchCommand,
  apply: async () => (await import('./apply.ts')).applyCommand,
  replace: async () => (await import('./replace.ts')).replaceCommand,
  diff: async () => (await import('./diff.ts')).diffCommand,
  edit: async () => (await import('./edit.ts')).editCommand,
  patch: async () => (await import('./patch.ts')).patchCommand,
  label: async () => (await import('./label.ts')).labelCommand,
  annotate: async () => (await import('./label.ts')).annotateCommand,
  delete: async () => (await import('./delete.ts')).deleteCommand,
  wait: async () => (await import('./wait.ts')).waitCommand,
  finalizer: async () => (await import('./finalizer.ts')).finalizerCommand,
  export: async () => (await import('./export.ts')).exportCommand,
  import: async () => (await import('./import.ts')).importCommand,
  'api-resources': async () => (await import('./api-resources.ts')).apiResourcesCommand,
  version: async () => (await import('./version.ts')).versionCommand,
  whoami: async () => (await import('./whoami.ts')).whoamiCommand,
  login: async () => (await import('./login.ts')).loginCommand,
  logout: async () => (await import('./login.ts')).logoutCommand,
  console: async () => (await import('./console.ts')).consoleCommand,
  context: async () => (await import('./context.ts')).contextCommand,
  kubeconfig: async () => (await import('./kubeconfig.ts')).kubeconfigCommand,
  plugin: async () => (await import('./plugin.ts')).pluginCommand,
  model: async () => (await import('./model.ts')).modelCommand,
  crd: async () => (await import('./crd.ts')).crdCommand,
  token: async () => (await import('./token.ts')).tokenCommand,
  auth: async () => (await import('./auth.ts')).authCommand,
  check: async () => (await import('./check.ts')).checkCommand,
  backup: async () => (await import('./backup.ts')).backupCommand,
  restore: async () => (await import('./restore.ts')).restoreCommand,
  migrate: async () => (await import('./migrate.ts')).migrateCommand,
  mcp: async () => (await import('./mcp.ts')).mcpCommand,
  completion: async () => (await import('./completion.ts')).completionCommand,
};

/** Their 0 says nothing but that they printed: a reader who has seen enough is no failure. */
const onlyPrinting = [
  'get',
  'list',
  'describe',
  'explain',
  'watch',
  'api-resources',
  'version',
  'context list',
  'plugin list',
  'model status',
  'token list',
  'completion',
];

/**
 * Runs one command.
 * @param args without the program's own name
 * @returns the exit code: 0 ok, 1 refused by the service (or it could not be reached), 2 wrong use, 141 a closed pipe
 */
export async function run(args: readonly string[], io: Io): Promise<number> {
  // A reader that went away is answered by the write that meets it; without a listener the event would end the process, also
  // when it comes after the command.
  for (const output of [io.stdout, io.stderr]) output.on('error', ignore);
  try {
    const program = await programFor(io, args[0]);
    await program.parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    const [name, action] = args;
    const isOnlyPrinting = onlyPrinting.some((one) => one === name || one === `${name} ${action}`);
    if (error instanceof ClosedPipe && isOnlyPrinting) return 0;
    if (error instanceof Exit) return error.code;
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    io.stderr.write(describe(error));
    return error instanceof UsageError ? 2 : 1;
  }
}

function ignore(): void {}

const exitCodes = `
Exit codes: 0 done; 1 refused by the service, or not everything was done; 2 wrong use. "diff" ends with 1 for a difference.`;

/** All commands with their options, for the reference. */
export async function everyCommand(): Promise<Command> {
  const { stdin, stdout, stderr } = process;
  return programFor({ stdin, stdout, stderr, env: {} }, undefined);
}

function commandsFor(name: string | undefined): (typeof commands)[string][] {
  // The script of a completion has the words of all commands.
  const isAlone = name !== undefined && name !== 'completion' && Object.hasOwn(commands, name);
  return isAlone ? [commands[name]!] : Object.values(commands);
}

/** With the one command of this name, or with all: for the help, and to say what there is. */
async function programFor(io: Io, name: string | undefined): Promise<Command> {
  const root = new Command('kindred')
    .description('Declare models and get a durable HTTP service for them.')
    .version(ownManifest().version)
    .showHelpAfterError('(--help shows how it is used)')
    .addHelpText('after', exitCodes);
  const called = name === '--version' || name === '-V' ? [] : commandsFor(name);
  const shown = (await Promise.all(called.map((load) => load()))).map((make) => make(io));
  for (const command of shown) root.addCommand(command);
  for (const command of [root, ...shown, ...shown.flatMap((one) => one.commands)]) {
    command.exitOverride().configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, show) =>
        show(text.replace(/^error: (.*)/, (_, message) => `kindred: ${message}${hintFor(message)}`)),
      getOutHelpWidth: () => io.stdout.columns ?? 100,
      getErrHelpWidth: () => io.stderr.columns ?? 100,
    });
  }
  return root;
}
