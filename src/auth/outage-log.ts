import { KindredError } from '../errors.ts';
import type { Logger } from '../runtime/logger.ts';

/**
 * Work that is tried again until it succeeds, most often because the database is away: the log is told once for each
 * kind of failure, and once when everything has succeeded.
 */
export class OutageLog {
  readonly #log: Pick<Logger, 'warn'>;
  readonly #texts: { readonly begins: string; readonly over: string };
  readonly #failing = new Set<unknown>();
  readonly #told = new Set<string>();

  constructor(log: Pick<Logger, 'warn'>, texts: { readonly begins: string; readonly over: string }) {
    this.#log = log;
    this.#texts = texts;
  }

  /** @param task the same value at every attempt */
  failed(task: unknown, error: unknown, details: object = {}): void {
    this.#failing.add(task);
    const kind = error instanceof KindredError ? error.code : String(error);
    if (this.#told.has(kind)) return;
    this.#told.add(kind);
    this.#log.warn({ err: error, ...details }, this.#texts.begins);
  }

  succeeded(task: unknown): void {
    if (!this.#failing.delete(task) || this.#failing.size > 0) return;
    this.#told.clear();
    this.#log.warn({}, this.#texts.over);
  }
}
