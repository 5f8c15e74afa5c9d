import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { ConnectionOptions, KindredClient } from '../client/client.ts';
import { createClient } from '../client/client.ts';
import { parseDuration } from '../model/duration.ts';
import { contextNamed, currentContext, readContexts } from './contexts.ts';
import { describe } from './describe.ts';
import type { Io } from './io.ts';
import { UsageError } from './io.ts';

export interface ConnectionFlags {
  server?: string;
  token?: string;
  context?: string;
}

/** Of commands that write much. */
export interface RetryFlags {
  /** Milliseconds. */
  retryFor: number;
}

const defaultServer = 'http://127.0.0.1:8090';
const defaultRetry = '2m';

/** Adds `--server`, `--token` and `--context` to a command that talks to a running service; the first two also by environment. */
export function withConnection(command: Command, io: Io): Command {
  return command
    .addOption(
      // Without a value: what is given here wins over a context, a default does not.
      new Option(
        '--server <url>',
        `address of the service, also KINDRED_SERVER (default: "${io.env.KINDRED_SERVER || defaultServer}")`,
      ),
    )
    .addOption(
      // Never as a default: `--help` would print it.
      new Option('--token <token>', 'access token, also KINDRED_TOKEN'),
    )
    .addOption(
      new Option('--context <name>', 'service and token that "kindred login" keeps (default: the current context)'),
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
  return serviceAt(io, endpointOf(flags, io), options);
}

interface Endpoint {
  readonly server: string;
  readonly token?: string | undefined;
}

/** Flags win, then the context that is named, the environment, and the current context. */
export function endpointOf(flags: ConnectionFlags, io: Io): Endpoint {
  const isNamed = flags.context !== undefined;
  const env = isNamed ? {} : { server: io.env.KINDRED_SERVER || undefined, token: io.env.KINDRED_TOKEN };
  const [server, token] = [flags.server ?? env.server, flags.token ?? env.token];
  if (server !== undefined && token !== undefined) return { server, token };
  const contexts = readContexts(io);
  const context = isNamed ? contextNamed(contexts, flags.context!) : currentContext(contexts);
  const at = server ?? context?.server ?? defaultServer;
  // A token goes to no other service than the one it was given for.
  const isOfContext = context !== undefined && bare(at) === bare(context.server);
  return { server: at, token: token ?? (isOfContext ? context.token : undefined) };
}

/** Of the service, without a slash at its end. */
export function addressOf(flags: ConnectionFlags, io: Io): string {
  return bare(endpointOf(flags, io).server);
}

function bare(url: string): string {
  return url.replace(/\/+$/, '');
}

/** @throws UsageError when the address is none */
export function serviceAt(
  io: Io,
  { server, token }: Endpoint,
  options: Partial<ConnectionOptions> = {},
): KindredClient {
  if (!/^https?:\/\//.test(server) || !URL.canParse(server)) {
    throw new UsageError(`--server needs a URL such as ${defaultServer}, not "${server}"`);
  }
  return createClient({
    url: server,
    ...(token && { token }),
    retry: { onWait: sayOnce(io) },
    fetch: withWarnings(io),
    ...options,
  });
}

/** Says what the service warns of in an answer that is no error. */
function withWarnings(io: Io): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await globalThis.fetch(input, init);
    const warning = response.headers.get('kindred-warning');
    if (warning !== null) {
      const name = new URL(response.url).pathname
        .replace(/\/status$/, '')
        .split('/')
        .at(-1);
      io.stderr.write(`kindred: warning: ${name}: ${warning}\n`);
    }
    return response;
  };
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
