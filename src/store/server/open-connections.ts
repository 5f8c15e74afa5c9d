import { closeTimeout } from './timeouts.ts';

/** A connection to the server, whatever the driver. */
interface Connection {
  destroy(): void;
  readonly ended: Promise<void>;
}

/** The connections that one store has open. */
export class OpenConnections {
  readonly #open = new Set<Connection>();

  add(connection: Connection): void {
    this.#open.add(connection);
    void connection.ended.then(() => this.#open.delete(connection));
  }

  /** Waits for these endings and for every connection, for 5 s at most; then destroys what is still open. */
  async end(endings: readonly (Promise<unknown> | undefined)[]): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, closeTimeout);
    });
    const ended = [...this.#open].map((connection) => connection.ended);
    await Promise.race([Promise.allSettled([...endings, ...ended]), late]);
    clearTimeout(timer);
    for (const connection of this.#open) connection.destroy();
  }
}
