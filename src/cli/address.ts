/** The address that the service is to listen on: tried before a database is opened, and what to do when it cannot be had. */
import { once } from 'node:events';
import { createServer } from 'node:net';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Throws the system's error when nothing can listen there. */
export async function tryAddress(address: Address): Promise<void> {
  const server = createServer();
  server.listen(address);
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

const hosts = '--host 127.0.0.1 is for this machine alone, --host 0.0.0.0 for all of its addresses';

/** A system's error from listening, as a sentence that says what can be done; any other error as it is. */
export function listenError(
  error: unknown,
  { host, port }: Address,
  env: Readonly<Record<string, string | undefined>>,
) {
  const { code } = error as NodeJS.ErrnoException;
  const other = `${env.npm_lifecycle_event === 'start' ? 'npm start -- ' : ''}--port ${otherPort(port)}`;
  const sentences: Readonly<Record<string, string>> = {
    EADDRINUSE: `the port ${port} of ${host} is taken by another program: end that one, or choose another port with ${other}`,
    EACCES: `the port ${port} of ${host} is not open to this user: choose another port with ${other}`,
    EADDRNOTAVAIL: `this machine does not have the address ${host}: ${hosts}`,
    ENOTFOUND: `the host name ${host} leads to no address: ${hosts}`,
    EAI_AGAIN: `the host name ${host} cannot be looked up at the moment: ${hosts}`,
  };
  const sentence = code === undefined ? undefined : sentences[code];
  return sentence === undefined ? error : new Error(sentence, { cause: error });
}

function otherPort(port: number): number {
  return port < 1024 ? 8090 : port + 101 <= 65_535 ? port + 101 : 0;
}
