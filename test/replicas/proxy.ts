/** Stands between a replica and its database: can cut every connection, refuse new ones, and swallow what is sent. */
import type { Socket } from 'node:net';
import { connect, createServer } from 'node:net';

export interface DatabaseProxy {
  /** The URL with the proxy's address in place of the database's. */
  readonly url: string;
  /** Connections that were refused so far. */
  readonly refused: number;
  /** Breaks the connections and refuses new ones. */
  cut(): void;
  /** Takes everything and passes nothing on, as a network that drops packets does. */
  freeze(): void;
  /** Breaks a connection instead of passing on what has this text. */
  breakAt(text: string): void;
  /** As at first. */
  heal(): void;
  /** Breaks the connections and passes further ones on to this database, as a proxy that follows the primary does. */
  lead(databaseUrl: string): void;
  close(): Promise<void>;
}

export async function startProxy(databaseUrl: string): Promise<DatabaseProxy> {
  let target = new URL(databaseUrl);
  const pairs = new Set<readonly [Socket, Socket]>();
  let state: 'open' | 'cut' | 'frozen' = 'open';
  let refused = 0;
  let breaking: string | undefined;
  const server = createServer((inner) => {
    if (state === 'cut') {
      refused++;
      inner.destroy();
      return;
    }
    const outer = connect(Number(target.port), target.hostname);
    const pair = [inner, outer] as const;
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      inner.destroy();
      outer.destroy();
    };
    for (const [from, to] of [pair, [outer, inner] as const]) {
      from.on('data', (data) => {
        if (breaking !== undefined && from === inner && data.includes(breaking)) end();
        else to.write(data);
      });
      from.on('error', end).on('close', end);
    }
    if (state === 'frozen') for (const socket of pair) socket.pause();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.port = String((server.address() as { port: number }).port);
  const cutAll = (): void => {
    for (const [inner] of [...pairs]) inner.destroy();
  };
  return {
    url: url.href,
    get refused() {
      return refused;
    },
    cut() {
      state = 'cut';
      cutAll();
    },
    freeze() {
      state = 'frozen';
      for (const pair of pairs) for (const socket of pair) socket.pause();
    },
    breakAt(text) {
      breaking = text;
    },
    heal() {
      state = 'open';
      breaking = undefined;
      for (const pair of pairs) for (const socket of pair) socket.resume();
    },
    lead(next) {
      target = new URL(next);
      cutAll();
    },
    async close() {
      state = 'cut';
      cutAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
