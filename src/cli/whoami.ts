import { Command } from 'commander';
import type { SessionState } from '../client/client.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import type { Format } from './output.ts';
import { formatOption, print, valueFormats } from './output.ts';

interface Flags extends ConnectionFlags {
  output: Format;
}

export function whoamiCommand(io: Io): Command {
  const command = new Command('whoami')
    .description('print who the service takes you for, and your roles')
    .addOption(formatOption(valueFormats, 'table'))
    .addHelpText('after', '\nFor example: kindred whoami -o json')
    .action(async ({ output, ...flags }: Flags) => {
      const client = connect(flags, io);
      const { authentication, identity } = await client.session.get();
      // The session names nobody for a token that does not hold; any other route says why.
      if (authentication && !identity) await client.request('GET', '/v3/models');
      await print(io, output, { authentication, ...(identity && { identity }) }, () =>
        textOf(authentication, identity),
      );
    });
  return withConnection(command, io);
}

function textOf(authentication: boolean, identity: SessionState['identity']): string {
  if (!authentication) return 'The service runs without authentication: everybody may do everything\n';
  if (!identity) return 'Nobody: no token was sent\n';
  const { name, kind, roles, expiresAt } = identity;
  const lines = [`${kind}: ${name}`, `Roles: ${roles.join(', ') || 'none'}`];
  if (expiresAt !== undefined) lines.push(`The token ends: ${expiresAt}`);
  return `${lines.join('\n')}\n`;
}
