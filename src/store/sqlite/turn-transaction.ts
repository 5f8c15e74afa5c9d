import type { DatabaseSync, StatementSync } from 'node:sqlite';

/**
 * One read transaction for the objects that are read in one turn of the event loop: to begin and end one for each takes a quarter
 * of the time of a read (docs/decisions/performance.md). It begins at the second, as most turns of a service at rest have one.
 */
export class TurnTransaction {
  readonly #db: DatabaseSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #turnEnds = (): void => {
    this.#reads = 0;
    this.end();
  };
  /** In this turn, before the transaction was open. */
  #reads = 0;
  #isOpen = false;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#begin = db.prepare('BEGIN');
    this.#commit = db.prepare('COMMIT');
  }

  beforeRead(): void {
    if (this.#isOpen) return;
    this.#reads++;
    if (this.#reads === 1) setImmediate(this.#turnEnds);
    else {
      this.#begin.run();
      this.#isOpen = true;
    }
  }

  /** The next read is of the state that is committed by then: to be called before anybody is told of a commit. */
  end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // SQLite ends it by itself when a read fails for good.
    if (this.#db.isOpen && this.#db.isTransaction) this.#commit.run();
  }
}
