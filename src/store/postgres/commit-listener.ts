import type { Client } from 'pg';
import { delayAfter } from '../../runtime/backoff.ts';
import { awaitedTimers, pause } from '../../runtime/timers.ts';
import type { CommitWatch } from '../server/dialect.ts';
import { channel } from './statements.ts';

const delays = { minDelay: 50, maxDelay: 2_000 };

/** A connection that the server tells of commits; after a break listeners are called, for they may have missed some. */
export class CommitListener implements CommitWatch {
  readonly #connect: () => Promise<Client>;
  readonly #destroy: (client: Client) => void;
  readonly #warn: (message: string) => void;
  readonly #listeners = new Set<() => void>();
  #running: Promise<void> | undefined;
  #client: Client | undefined;
  #stopped = false;

  constructor(
    connect: () => Promise<Client>,
    destroy: (client: Client) => void,
    warn: (message: string) => void = () => undefined,
  ) {
    this.#connect = connect;
    this.#destroy = destroy;
    this.#warn = warn;
  }

  listen(listener: () => void): () => void {
    if (this.#stopped) return () => undefined;
    const own = (): void => listener();
    this.#listeners.add(own);
    this.#running ??= this.#run();
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size === 0) this.#disconnect();
    };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#listeners.clear();
    this.#disconnect();
    await this.#running;
  }

  #disconnect(): void {
    if (this.#client) this.#destroy(this.#client);
    this.#client = undefined;
  }

  async #run(): Promise<void> {
    let failures = 0;
    let lost = false;
    while (this.#listeners.size > 0) {
      try {
        const client = await this.#connect();
        this.#client = client;
        const ended = new Promise<void>((resolve) => client.once('end', () => resolve()));
        client.on('notification', () => this.#call());
        await client.query(`LISTEN ${channel}`);
        if (lost) this.#warn('the connection that is told of commits is back');
        lost = false;
        failures = 0;
        this.#call();
        if (this.#listeners.size === 0) this.#destroy(client);
        await ended;
      } catch {
        // Nothing to do but to try again.
      }
      if (this.#listeners.size === 0) break;
      if (!lost) this.#warn('the connection that is told of commits broke; connecting again');
      lost = true;
      await pause(awaitedTimers, delayAfter(++failures, delays));
    }
    this.#running = undefined;
  }

  #call(): void {
    for (const listener of this.#listeners) listener();
  }
}
