import { Command } from 'commander';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import type { Format } from './output.ts';
import { formatOption, print, valueFormats } from './output.ts';
import { ownManifest } from './own-manifest.ts';

interface Flags extends ConnectionFlags {
  client?: boolean;
  output: Format;
}

/** The smallest of the API descriptions; each has the version of the service. */
const smallest = '/v3/api-docs/apis_public.api_v1alpha1';

export function versionCommand(io: Io): Command {
  const command = new Command('version')
    .description('print the versions of this command and of the service')
    .option('--client', 'only that of this command')
    .addOption(formatOption(valueFormats, 'table'))
    .addHelpText('after', '\nFor example: kindred version -o json')
    .action(async ({ output, client, ...flags }: Flags) => {
      const own = { client: { version: ownManifest().version, node: process.versions.node } };
      const show = (value: typeof own & { server?: { version: string } }) =>
        print(io, output, value, () => {
          const server = value.server ? `Server: ${value.server.version}\n` : '';
          return `Client: ${value.client.version} (Node.js ${value.client.node})\n${server}`;
        });
      if (client) return show(own);
      const read = connect(flags, io).request<{ info: { version: string } }>('GET', smallest);
      const described = await read.catch(async (error: unknown) => {
        // What is known is said all the same.
        await show(own);
        throw error;
      });
      return show({ ...own, server: { version: described.info.version } });
    });
  return withConnection(command, io);
}
