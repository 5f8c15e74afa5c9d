import type { Command } from 'commander';
import { Option } from 'commander';
import type { KindredClient } from '../client/client.ts';
import { createClient } from '../client/client.ts';
import type { Io } from './io.ts';
import { UsageError } from './io.ts';

export interface ConnectionFlags {
  server: string;
  token?: string;
}

const defaultServer = 'http://127.0.0.1:8090';

/** Adds `--server` and `--token` to a command that talks to a running service; each also by environment. */
export function withConnection(command: Command, io: Io): Command {
  return command
    .addOption(
      new Option('--server <url>', 'address of the service, also KINDRED_SERVER').default(
        io.env.KINDRED_SERVER || defaultServer,
      ),
    )
    .addOption(
      // Never as a default: `--help` would print it.
      new Option('--token <token>', 'access token, also KINDRED_TOKEN'),
    );
}

export function connect(flags: ConnectionFlags, io: Io, signal?: AbortSignal): KindredClient {
  if (!/^https?:\/\//.test(flags.server) || !URL.canParse(flags.server)) {
    throw new UsageError(`--server needs a URL such as ${defaultServer}, not "${flags.server}"`);
  }
  const token = flags.token ?? io.env.KINDRED_TOKEN;
  return createClient({ url: flags.server, ...(token && { token }), ...(signal && { signal }) });
}
