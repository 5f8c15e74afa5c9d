/** `login` and `logout`: the token of a service in the file of contexts. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { serviceAt } from './connection.ts';
import { contextNamed, currentContext, readContexts, writeContexts } from './contexts.ts';
import type { Io } from './io.ts';
import { Exit, UsageError, write } from './io.ts';

export function loginCommand(io: Io): Command {
  return new Command('login')
    .description('check a token, and keep it with the address of its service for the next commands')
    .argument('<url>', 'address of the service')
    .option('--name <name>', 'name of the context (default: host and port of the address)')
    .addHelpText(
      'after',
      '\nFor example:\n  kindred login https://kindred.example.com\n  kindred token create --user ci | kindred login https://kindred.example.com\nThe token is asked for without being shown, or read from standard input; without one nobody is logged in, for a service without authentication.',
    )
    .action(async (url: string, flags: { name?: string }) => {
      const before = readContexts(io);
      // Before anybody types a token for it.
      serviceAt(io, { server: url });
      const name = flags.name ?? new URL(url).host;
      warnOfHttp(io, url);
      const token = await tokenFrom(io);
      const context = { name, server: url, ...(token !== '' && { token }) };
      await serviceAt(io, context).request('GET', '/apis');
      const others = before.all.filter((one) => one.name !== name);
      const file = await writeContexts(io, { current: name, all: [...others, context] });
      await write(
        io.stdout,
        `${token === '' ? 'Connected' : 'Logged in'} to ${url}; the context "${name}" is kept in ${file}\n`,
      );
    });
}

function warnOfHttp(io: Io, url: string): void {
  const { protocol, hostname } = new URL(url);
  const isOwn = /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
  if (protocol === 'http:' && !isOwn)
    io.stderr.write('kindred: over http the token can be read on its way; use https\n');
}

export function logoutCommand(io: Io): Command {
  return new Command('logout')
    .description('forget the token of a context')
    .argument('[name]', 'name of the context (default: the current one)')
    .addHelpText('after', '\nFor example: kindred logout kindred.example.com')
    .action(async (name: string | undefined) => {
      const contexts = readContexts(io);
      const chosen = name === undefined ? currentContext(contexts) : contextNamed(contexts, name);
      if (!chosen) throw new UsageError('there is no current context; name one');
      const { token, ...rest } = chosen;
      const all = contexts.all.map((one) => (one.name === chosen.name ? rest : one));
      await writeContexts(io, { ...contexts, all });
      const said =
        token === undefined
          ? 'had no token'
          : 'has no token any more; "kindred token revoke" makes it useless elsewhere';
      await write(io.stdout, `The context "${chosen.name}" ${said}\n`);
    });
}

async function tokenFrom(io: Io): Promise<string> {
  const isTerminal = (io.stdin as { isTTY?: boolean }).isTTY === true;
  const token = (isTerminal ? await asked(io) : await text(io.stdin)).trim();
  if (/\s/.test(token)) throw new UsageError('a token is one word');
  return token;
}

/** One line that is not shown while it is typed. */
function asked(io: Io): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: io.stdin, output: nowhere, terminal: true });
  io.stderr.write('Token: ');
  return new Promise<string>((resolve, reject) => {
    lines.once('line', resolve).once('close', () => resolve(''));
    lines.once('SIGINT', () => reject(new Exit(1)));
  }).finally(() => {
    lines.close();
    io.stderr.write('\n');
  });
}
