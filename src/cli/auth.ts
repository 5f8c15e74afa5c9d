import { Command } from 'commander';
import { ifFound } from '../errors.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import { Exit, UsageError } from './io.ts';
import type { NamespaceFlags } from './namespace.ts';
import type { Format } from './output.ts';
import { formatOption, print, valueFormats } from './output.ts';
import { Types } from './types.ts';

interface Answer {
  allowed: boolean;
  reason: string;
}

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'explain', 'impersonate', '*'];

export function authCommand(io: Io): Command {
  return new Command('auth').description('permissions').addCommand(canICommand(io));
}

function canICommand(io: Io): Command {
  const command = new Command('can-i')
    .description('say whether the caller may do something, and why; exit code 0 for yes, 1 for no')
    .argument('<verb>', 'get, list, watch, create, update, patch or delete; on users also impersonate')
    .argument(
      '<type>',
      'plural, plural.group or plural.version.group, also with a sub-resource (cities/status); or a path: /metrics',
    )
    .argument('[name]', 'name of one object')
    .addOption(formatOption(valueFormats, 'table'))
    .action(
      async (
        verb: string,
        text: string,
        name: string | undefined,
        flags: ConnectionFlags & NamespaceFlags & { output: Format },
      ) => {
        if (text === '*') throw new UsageError('ask about one TYPE; kindred whoami shows your roles');
        const client = connect(flags, io);
        const isPath = text.startsWith('/');
        if (!isPath && !verbs.includes(verb)) {
          io.stderr.write(`kindred: "${verb}" is no verb of the service, which has ${verbs.slice(0, -1).join(', ')}\n`);
        }
        const { namespace } = flags;
        const place = { ...(namespace !== undefined && { namespace }), ...(name !== undefined && { name }) };
        const target = isPath ? { path: text } : { type: await typeOf(new Types(client), text) };
        const body = { verb, ...target, ...place };
        const answer = await client.request<Answer>('POST', '/v3/can-i', { body });
        await print(io, flags.output, answer, () => `${answer.allowed ? 'yes' : 'no'}: ${answer.reason}\n`);
        if (!answer.allowed) throw new Exit(1);
      },
    );
  command.option('-n, --namespace <name>', 'in this namespace; without it in all of them');
  return withConnection(command, io);
}

/** By plural and group when discovery shows it; as it is typed otherwise: what the caller may not use is hidden, and can be asked about. */
async function typeOf(types: Types, text: string): Promise<string> {
  const [word = '', ...part] = text.split('/');
  const found = await ifFound(() => types.resolve(word));
  return [found?.label ?? word, ...part].join('/');
}
