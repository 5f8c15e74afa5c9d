/**
 * Servers with standbys. A COMMIT waits until a standby has it, and shows it to nobody before; but a server that started
 * again after a crash shows all that its log has. That is not believed before a later commit has waited, which has the
 * others before it in the log: otherwise a failover could lose what was shown, and give its revision to something else.
 * A former primary that does not know yet that another server was promoted cannot finish such a commit, as no standby
 * follows it. So one is also made when a connection did not answer, and when connections lead to another server than before.
 */

import type { Gate, Run } from './dialect.ts';

/** Decides which connections may be read from. */
export class Admission<Connection> {
  readonly #gate: Gate<Connection>;
  /** The run that a commit has shown to be the primary. Undefined before the first one, and when it did not answer since. */
  #primary: Run | undefined;
  #confirming: readonly Confirmation[] = [];
  /** Commits that have waited so far. */
  #confirmations = 0;
  #count = 0;

  constructor(gate: Gate<Connection>) {
    this.#gate = gate;
  }

  /** Connections admitted so far. */
  get count(): number {
    return this.#count;
  }

  /** For each connection once. When it throws, the connection is of no use. @returns for `isPrimary` and `doubt` */
  async admit(connection: Connection): Promise<Run> {
    await this.#gate.refuseStandby(connection);
    const run = await this.#gate.runOf(connection);
    const admitted = this.#primary && isSame(run, this.#primary) ? this.#primary : await this.#confirm(run, connection);
    this.#count++;
    return admitted;
  }

  /** False when another server is the primary since, or it has to be confirmed anew: the connection is of no use any more. */
  isPrimary(run: Run): boolean {
    return run === this.#primary;
  }

  /** A connection that was admitted did not answer: another server may have been promoted meanwhile. */
  doubt(run: Run): void {
    if (this.isPrimary(run)) this.#primary = undefined;
  }

  #confirm(run: Run, connection: Connection): Promise<Run> {
    const underWay = this.#confirming.find((one) => isSame(one.run, run));
    if (underWay) return underWay.done;
    const before = this.#confirmations;
    const done = this.#gate.confirm(connection).then(() => {
      // The answer may come after another server was promoted, and confirmed.
      if (this.#confirmations !== before) throw new Error('another server became the primary meanwhile');
      this.#confirmations++;
      this.#primary = run;
      return run;
    });
    const confirmation = { run, done };
    this.#confirming = [...this.#confirming, confirmation];
    const end = (): void => {
      this.#confirming = this.#confirming.filter((one) => one !== confirmation);
    };
    done.then(end, end);
    return done;
  }
}

/** A commit that waits for the standbys. */
interface Confirmation {
  readonly run: Run;
  readonly done: Promise<Run>;
}

function isSame(a: Run, b: Run): boolean {
  return a.server === b.server && Math.abs(a.started - b.started) <= 1;
}

/** Why a server that takes no writes is refused. */
export function isStandby(): Error {
  return new Error('this server is a standby, or set to read-only: the service needs the primary');
}
