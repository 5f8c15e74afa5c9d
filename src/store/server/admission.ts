/**
 * Servers with standbys. A COMMIT waits until a standby has it, and shows it to nobody before; but a server that started
 * again after a crash shows all that its log has. That is not believed before a later commit has waited, which has the
 * others before it in the log: otherwise a failover could lose what was shown, and give its revision to something else.
 * A former primary that does not know yet that another server was promoted cannot finish such a commit, as no standby
 * follows it. So one is also made when connections lead to another server than before, and when the server answered nothing
 * for a while: it may have stood still, or have been cut off.
 */

import type { Gate } from './dialect.ts';

/** Milliseconds without an answer after which another server may be the primary. Reads ask more often, the feed every 500. */
const silenceLimit = 2_000;

/** Decides which connections may be read from. */
export class Admission<Connection> {
  readonly #gate: Gate<Connection>;
  readonly #now: () => number;
  /** The run that a commit has shown to be the primary. */
  #primary: string | undefined;
  /** When it was confirmed, or the latest question was sent that it has answered since. */
  #answered = 0;
  /** Commits under way, by run. */
  readonly #confirming = new Map<string, Promise<void>>();
  /** Commits that have waited so far. */
  #confirmations = 0;
  #count = 0;

  /** @param now milliseconds of a monotonic clock */
  constructor(gate: Gate<Connection>, now: () => number = () => performance.now()) {
    this.#gate = gate;
    this.#now = now;
  }

  /** Connections admitted so far. */
  get count(): number {
    return this.#count;
  }

  /** For each connection once. When it throws, the connection is of no use. @returns for the other methods */
  async admit(connection: Connection): Promise<string> {
    await this.#gate.refuseStandby(connection);
    const run = await this.#gate.runOf(connection);
    if (!this.isPrimary(run)) await this.#confirm(run, connection);
    this.#count++;
    return run;
  }

  /** False when another server is the primary since, or may be. */
  isPrimary(run: string): boolean {
    return run === this.#primary && this.#now() - this.#answered <= silenceLimit;
  }

  /**
   * What was asked then was answered by the server of the connection.
   * @returns false when the answer is not to be believed, as another server was or may have been the primary meanwhile
   */
  answered(run: string, asked: number): boolean {
    if (!this.isPrimary(run)) return false;
    this.#answered = Math.max(this.#answered, asked);
    return true;
  }

  #confirm(run: string, connection: Connection): Promise<void> {
    const underWay = this.#confirming.get(run);
    if (underWay) return underWay;
    const before = this.#confirmations;
    const end = (): void => void this.#confirming.delete(run);
    const confirming = this.#gate.confirm(connection).then(() => {
      // The answer may come after another server was promoted, and confirmed.
      if (this.#confirmations !== before) throw new Error('another server became the primary meanwhile');
      this.#confirmations++;
      this.#primary = run;
      this.#answered = this.#now();
    });
    this.#confirming.set(run, confirming);
    confirming.then(end, end);
    return confirming;
  }
}

/** Why a server that takes no writes is refused. */
export function isStandby(): Error {
  return new Error('this server is a standby, or set to read-only: the service needs the primary');
}
