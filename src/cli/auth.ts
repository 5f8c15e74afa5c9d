import { Command } from 'commander';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import { Exit } from './io.ts';
import type { Format } from './output.ts';
import { formatOption, print } from './output.ts';

interface Answer {
  allowed: boolean;
  reason: string;
}

export function authCommand(io: Io): Command {
  return new Command('auth').description('permissions').addCommand(canICommand(io));
}

function canICommand(io: Io): Command {
  const command = new Command('can-i')
    .description('say whether the caller may do something, and why; exit code 0 for yes, 1 for no')
    .argument('<verb>', 'get, list, watch, create, update, patch or delete; on users also impersonate')
    .argument('<type>', 'plural, plural.group or plural.version.group, also with a sub-resource: cities/status')
    .argument('[name]', 'name of one object')
    .addOption(formatOption('table'))
    .action(
      async (verb: string, text: string, name: string | undefined, flags: ConnectionFlags & { output: Format }) => {
        // The type goes as it is: discovery hides what the caller may not use.
        const answer = await connect(flags, io).request<Answer>('POST', '/v3/can-i', {
          body: { verb, type: text, ...(name !== undefined && { name }) },
        });
        await print(io, flags.output, answer, () => `${answer.allowed ? 'yes' : 'no'}: ${answer.reason}\n`);
        if (!answer.allowed) throw new Exit(1);
      },
    );
  return withConnection(command, io);
}
