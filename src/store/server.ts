/** What the stores on a database server have in common: how long they wait, what they do again, how many snapshots they open. */
import { randomInt } from 'node:crypto';
import { notReady, unknownOutcome } from './failure.ts';
import { maxSnapshots } from './layout.ts';
import type { StoreOptions } from './open.ts';
import type { Row, Snapshot } from './store.ts';

/** Milliseconds after which a database that does not answer counts as away. */
export const connectTimeout = 1_500;
export const shortQuery = 1_800;
export const longQuery = 30_000;
export const commitTimeout = 9_000;
/** Milliseconds for learning what became of a batch whose connection broke. */
export const resolveTimeout = 8_000;

const attempts = 12;

/** How a driver's errors are read. */
export interface ErrorReader {
  /** True when the transaction was undone for the sake of another one: it may be tried again. */
  repeatable(error: unknown): boolean;
  /** The error in our words, for what certainly changed nothing. */
  translate(error: unknown): Error;
}

/** Runs a transaction, up to 12 times as long as it is undone for the sake of another one; what it throws is translated. */
export async function repeated<T>(run: () => Promise<T>, { repeatable, translate }: ErrorReader): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (!repeatable(error) || attempt === attempts) throw translate(error);
      await pause(randomInt(1, 5 * attempt));
    }
  }
}

/**
 * Whether a batch whose connection broke was committed: asked until the database answers, for 8 s at most.
 * Throws `UnknownOutcome` after that, when the store is closed meanwhile, and when the question itself throws it.
 */
export async function learnOutcome(ask: () => Promise<boolean>, closed: () => boolean, cause: Error): Promise<boolean> {
  const deadline = Date.now() + resolveTimeout;
  for (let wait = 50; ; wait = Math.min(wait * 2, 1_000)) {
    try {
      return await ask();
    } catch (error) {
      if ((error as { code?: unknown }).code === 'UnknownOutcome') throw error;
      if (Date.now() + wait > deadline || closed()) throw unknownOutcome(cause.message, cause);
      await pause(wait);
    }
  }
}

/** The snapshots that one process has open. */
export class Snapshots {
  #open = 0;

  /** @param make opens it, and calls what it is given when it is closed */
  async open(make: (closed: () => void) => Promise<Snapshot>): Promise<Snapshot> {
    // Waiting for another one to end could take for ever, and whoever opens a snapshot holds the memory still meanwhile.
    if (this.#open >= maxSnapshots) throw notReady(`${maxSnapshots} snapshots are open already`);
    this.#open++;
    const closed = (): void => {
      this.#open--;
    };
    try {
      return await make(closed);
    } catch (error) {
      closed();
      throw error;
    }
  }
}

/** Throws a plain error, or warns when that is allowed, about settings with which an acknowledged write could be lost. */
export function refuseUnsafeDurability(problems: readonly string[], options: StoreOptions): void {
  if (problems.length === 0) return;
  const text = `the database server can lose acknowledged writes (${problems.join(', ')})`;
  if (!options.allowUnsafeDurability) throw new Error(`${text}; change these settings, or allow unsafe durability`);
  options.warn?.(text);
}

export function unreachable(url: string, cause: unknown): Error {
  const shown = url.replace(/\/\/[^@/]*@/, '//');
  return new Error(`the database ${shown} cannot be reached: ${(cause as Error).message}`, { cause });
}

/** The rows in the order of the ids, those that are there. */
export function inOrder(ids: readonly number[], rows: readonly Row[]): Row[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => byId.get(id)).filter((row) => row !== undefined);
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
