import { Command } from 'commander';
import { contextNamed, readContexts, writeContexts } from './contexts.ts';
import type { Io } from './io.ts';
import { write } from './io.ts';
import type { ResultFormat } from './output.ts';
import { formatOption, print, resultFormats } from './output.ts';
import { table } from './table.ts';

export function contextCommand(io: Io): Command {
  return new Command('context')
    .description('the services that you logged in to')
    .addCommand(listCommand(io), { isDefault: true })
    .addCommand(useCommand(io))
    .addCommand(deleteCommand(io))
    .addHelpText('after', '\nFor example: kindred context use kindred.example.com');
}

function listCommand(io: Io): Command {
  return new Command('list')
    .description('print the contexts, without the tokens')
    .addOption(formatOption(resultFormats, 'table'))
    .action(async ({ output }: { output: ResultFormat }) => {
      const { current, all } = readContexts(io);
      if (output === 'name') return write(io.stdout, all.map(({ name }) => `${name}\n`).join(''));
      const items = all.map(({ name, server, token }) => ({
        name,
        server,
        current: name === current,
        loggedIn: token !== undefined,
      }));
      return print(io, output, { items, total: items.length }, () =>
        table(
          ['CURRENT', 'NAME', 'SERVER', 'TOKEN'],
          items.map((one) => [one.current ? '*' : '', one.name, one.server, one.loggedIn ? 'yes' : 'no']),
        ),
      );
    });
}

function useCommand(io: Io): Command {
  return new Command('use')
    .description('make a context the current one')
    .argument('<name>', 'name of the context')
    .action(async (name: string) => {
      const contexts = readContexts(io);
      const { server } = contextNamed(contexts, name);
      await writeContexts(io, { ...contexts, current: name });
      await write(io.stdout, `The current context is "${name}" (${server})\n`);
    });
}

function deleteCommand(io: Io): Command {
  return new Command('delete')
    .description('forget a context and its token')
    .argument('<name>', 'name of the context')
    .action(async (name: string) => {
      const contexts = readContexts(io);
      contextNamed(contexts, name);
      const { current, all } = contexts;
      const rest = { all: all.filter((one) => one.name !== name) };
      await writeContexts(io, current === undefined || current === name ? rest : { ...rest, current });
      await write(io.stdout, `The context "${name}" is forgotten\n`);
    });
}
