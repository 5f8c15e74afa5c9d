import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { Command } from 'commander';
import type { KindredClient } from '../client/client.ts';
import { http } from '../runtime/node-http.ts';
import type { ConnectionFlags } from './connection.ts';
import { addressOf, connect, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import { write } from './io.ts';
import { printable } from './table.ts';

interface Flags extends ConnectionFlags {
  open: boolean;
}

export function consoleCommand(io: Io): Command {
  const command = new Command('console')
    .description('print a link that signs a browser in to the console, and open it')
    .option('--no-open', 'print it only; without a terminal it is never opened')
    .addHelpText('after', '\nThe link works once, within ten minutes.\nFor example: kindred console')
    .action(async ({ open, ...flags }: Flags) => {
      const link = await linkOf(connect(flags, io), addressOf(flags, io));
      await write(io.stdout, `${printable(link)}\n`);
      const page = webPage(link);
      if (page !== undefined && open && io.stdout.isTTY) openBrowser(page);
    });
  return withConnection(command, io);
}

/** A link for whoever the token belongs to, at a service with authentication that listens at this address of its own machine. */
export async function consoleLink(url: string, token: string): Promise<string> {
  // Where all addresses are listened on, a browser goes to that of the own machine.
  const address = url.replace(/^(https?):\/\/(0\.0\.0\.0|\[::\])/, '$1://127.0.0.1');
  // The certificate is for the name that people use, not for this address: nobody is asked for a link that signs in.
  if (address.startsWith('https:')) return `${address}/console/`;
  // `fetch` would bring modules of Node.js into memory, 14 MiB, which a service keeps.
  const asking = http.request(`${address}/v3/session/codes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
  asking.end();
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  const { url: link } = (await json(answer)) as { url?: string };
  return link ?? `${address}/console/`;
}

async function linkOf(client: KindredClient, address: string): Promise<string> {
  const { authentication } = await client.request<{ authentication: boolean }>('GET', '/v3/session');
  // Nobody signs in without authentication: the page alone is what is wanted.
  if (!authentication) return `${address}/console/`;
  return (await client.request<{ url: string }>('POST', '/v3/session/codes')).url;
}

/** Undefined for what no browser is for: a service may answer with the address of a program or a file. */
export function webPage(link: string): string | undefined {
  const url = URL.parse(link);
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url.href : undefined;
}

/** A system without a browser does nothing; the link was printed. */
function openBrowser(link: string): void {
  const commands: Partial<Record<NodeJS.Platform, readonly string[]>> = {
    darwin: ['open'],
    win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  };
  const [program, ...args] = commands[process.platform] ?? ['xdg-open'];
  const browser = spawn(program!, [...args, link], { stdio: 'ignore', detached: true });
  browser.on('error', () => {});
  browser.unref();
}
