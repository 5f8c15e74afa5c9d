import type { DatabaseSync, StatementSync } from 'node:sqlite';

/**
 * A read transaction that the reads of one turn of the event loop share. A transaction for each read takes a quarter of its time
 * (docs/decisions/performance.md). The second read begins it, because a turn with a single read would gain nothing.
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

  /** Ends the transaction, so that the next read sees the newest commit. Call this before the result of a commit is delivered. */
  end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // After some errors, SQLite has already rolled it back.
    if (this.#db.isOpen && this.#db.isTransaction) this.#commit.run();
  }
}
