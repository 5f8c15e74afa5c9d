import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { ConnectionOptions, KindredClient } from '../client/client.ts';
import { createClient } from '../client/client.ts';
import { describe } from './describe.ts';
import { parseDuration } from './duration.ts';
import type { Io } from './io.ts';
import { UsageError } from './io.ts';

export interface ConnectionFlags {
  server: string;
  token?: string;
}

/** Of commands that write much. */
export interface RetryFlags {
  /** Milliseconds. */
  retryFor: number;
}

const defaultServer = 'http://127.0.0.1:8090';
const defaultRetry = '2m';

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

/** Adds `--retry-for` to a command. */
export function withRetry(command: Command): Command {
  return command.addOption(
    new Option('--retry-for <duration>', 'how long to try again without any success when the service asks to wait')
      .argParser(duration)
      .default(parseDuration(defaultRetry), defaultRetry),
  );
}

export function connect(flags: ConnectionFlags, io: Io, options: Partial<ConnectionOptions> = {}): KindredClient {
  if (!/^https?:\/\//.test(flags.server) || !URL.canParse(flags.server)) {
    throw new UsageError(`--server needs a URL such as ${defaultServer}, not "${flags.server}"`);
  }
  const token = flags.token ?? io.env.KINDRED_TOKEN;
  return createClient({
    url: flags.server,
    ...(token && { token }),
    retry: { onWait: sayOnce(io) },
    ...options,
  });
}

/** Says why nothing happens for a while. */
export function sayOnce(io: Io): (error: unknown) => void {
  let said = false;
  return (error) => {
    if (!said) io.stderr.write(describe(error).replace(/\n$/, '; trying again\n'));
    said = true;
  };
}

function duration(text: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined) throw new InvalidArgumentError('It needs a duration such as 30s or 5m; 0 is never.');
  return milliseconds;
}
