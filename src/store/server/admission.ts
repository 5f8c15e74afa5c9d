/**
 * Servers with standbys. A COMMIT waits until a standby has it, and shows it to nobody before; but a server that started
 * again after a crash shows all that its log has. That is not believed before a later commit has waited, which has the
 * others before it in the log: otherwise a failover could lose what was shown, and give its revision to something else.
 */

import type { Gate } from './dialect.ts';

/** Decides which connections may be read from. */
export class Admission<Connection> {
  readonly #gate: Gate<Connection>;
  /** By run of a server: what it showed at its start is on the standbys. */
  readonly #confirmed = new Map<string, Promise<void>>();
  #count = 0;

  constructor(gate: Gate<Connection>) {
    this.#gate = gate;
  }

  /** Connections admitted so far. */
  get count(): number {
    return this.#count;
  }

  /** For each connection once. When it throws, the connection is of no use. */
  async admit(connection: Connection): Promise<void> {
    await this.#gate.refuseStandby(connection);
    const run = await this.#gate.runOf(connection);
    let confirmed = this.#confirmed.get(run);
    if (!confirmed) {
      confirmed = this.#gate.confirm(connection);
      this.#confirmed.set(run, confirmed);
      confirmed.catch(() => this.#confirmed.delete(run));
    }
    await confirmed;
    this.#count++;
  }
}

/** Why a server that takes no writes is refused. */
export function isStandby(): Error {
  return new Error('this server is a standby, or set to read-only: the service needs the primary');
}
