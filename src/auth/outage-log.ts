import { KindredError } from '../errors.ts';
import type { Delays } from '../runtime/backoff.ts';
import type { Logger } from '../runtime/logger.ts';
import { TaskQueue } from '../runtime/task-queue.ts';
import type { Timers } from '../runtime/timers.ts';

interface Texts {
  readonly begins: string;
  readonly over: string;
}

/**
 * Work that is tried again until it succeeds, most often because the database is away: the log is told once for each
 * kind of failure, and once when everything has succeeded.
 */
export class OutageLog {
  readonly #log: Pick<Logger, 'warn'>;
  readonly #texts: Texts;
  readonly #failing = new Set<unknown>();
  readonly #told = new Set<string>();

  constructor(log: Pick<Logger, 'warn'>, texts: Texts) {
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

const everySecond: Delays = { minDelay: 1_000, maxDelay: 1_000 };

/** Tasks whose failures are an outage; by default each is tried again every second. */
export function reportedTasks(
  { timers, logger }: { readonly timers: Timers; readonly logger: Pick<Logger, 'warn'> },
  texts: Texts,
  options: Partial<Delays> & { readonly concurrency?: number } = {},
): TaskQueue {
  const outage = new OutageLog(logger, texts);
  return new TaskQueue({
    timers,
    ...everySecond,
    ...options,
    failed: (error, task) => outage.failed(task, error, { task }),
    succeeded: (task) => outage.succeeded(task),
  });
}
