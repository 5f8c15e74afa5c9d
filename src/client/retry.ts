/** Trying again: how long to wait, for how long in all, and after which failures. */
import { KindredError } from '../errors.ts';
import { delayAfter } from '../runtime/backoff.ts';

/** Waits between attempts: doubled after each failure, each with jitter, on top of what the service asks for (`Retry-After`). */
export interface BackoffOptions {
  /** Milliseconds before the second attempt; default 250. */
  minDelay?: number;
  /** Default 10,000. */
  maxDelay?: number;
  /** Default `Math.random`. */
  random?: () => number;
}

export interface RetryPolicy extends BackoffOptions {
  /** Milliseconds from a failure on, without any success, after which the last failure is thrown; 0: there is no second attempt. */
  patience?: number;
  /** When it aborts, no further attempt is made and the last failure is thrown; what is under way goes on. */
  stop?: AbortSignal;
  /** Told of each wait, with the failure before it and how many milliseconds it takes. */
  onWait?: (error: KindredError, milliseconds: number) => void;
}

/** Milliseconds to wait after so many failures in a row, the last of them being `error`. */
export function waitAfter(failures: number, options: BackoffOptions, error?: unknown): number {
  const { minDelay = 250, maxDelay = 10_000, random = Math.random } = options;
  return retryAfterOf(error) + delayAfter(failures, { minDelay, maxDelay }) * (0.5 + random() / 2);
}

/** Milliseconds that an answer asks to wait (RFC 9110, 10.2.3: seconds or a date); 0 when it does not say. */
export function retryAfterOf(error: unknown, now = Date.now()): number {
  const headers = error instanceof KindredError ? (error.headers ?? {}) : {};
  const [, text] = Object.entries(headers).find(([name]) => name.toLowerCase() === 'retry-after') ?? [];
  if (text === undefined) return 0;
  const milliseconds = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return milliseconds > 0 ? milliseconds : 0;
}

/** Whether the service certainly did nothing, so that the same request may be sent again (docs/reference/errors.md). */
export function isNotApplied(
  error: unknown,
): error is KindredError & { code: 'NotReady' | 'IndexBuilding' | 'ModelOutdated' | 'TooManyRequests' } {
  return (
    error instanceof KindredError &&
    ['NotReady', 'IndexBuilding', 'ModelOutdated', 'TooManyRequests'].includes(error.code)
  );
}

/**
 * The waits of attempts that belong together, such as the requests of one import: they go on as long as one of them
 * succeeds now and then, and end together when none did for `patience`.
 *
 * @example
 * ```ts
 * const patience = new Patience({ patience: 60_000 });
 * await client.create(Book, { metadata: { name: 'emma' }, spec: { title: 'Emma' } });
 * patience.progress();
 * ```
 */
export class Patience {
  readonly #policy: RetryPolicy;
  /** When the first failure since the last success was. */
  #since: number | undefined;
  #isOver = false;

  /** @param policy `patience` is 30 seconds when it is not given */
  constructor(policy: RetryPolicy = {}) {
    this.#policy = policy;
  }

  /** An attempt was given up, and none succeeded since then. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** An attempt succeeded: the time counts from the next failure. */
  progress(): void {
    this.#since = undefined;
    this.#isOver = false;
  }

  /**
   * Resolves when the next attempt is due.
   * @param failures how often in a row this attempt has failed
   * @throws `error` when patience is at its end, or would be before the time that the service asks to wait is over; the
   * signal's reason when it aborts
   */
  async wait(error: KindredError, failures: number, signal?: AbortSignal): Promise<void> {
    const { patience = 30_000, stop, onWait } = this.#policy;
    const now = performance.now();
    this.#since ??= now;
    const left = this.#since + patience - now;
    if (left <= 0 || retryAfterOf(error) > left || stop?.aborted) {
      this.#isOver = true;
      throw error;
    }
    const delay = Math.min(waitAfter(failures, this.#policy, error), left);
    onWait?.(error, delay);
    const either = stop && signal ? AbortSignal.any([stop, signal]) : (stop ?? signal);
    await sleep(delay, either).catch((reason: unknown) => {
      throw signal?.aborted ? reason : error;
    });
  }
}

/**
 * Calls `attempt` until it succeeds, or fails in a way that another attempt cannot mend.
 * @throws that failure, or the last one when patience is at its end; the signal's reason when it aborts
 */
export async function retrying<R>(
  attempt: () => Promise<R>,
  isWorthAnother: (error: KindredError) => boolean,
  patience: Patience,
  signal?: AbortSignal,
): Promise<R> {
  for (let failures = 1; ; failures++) {
    try {
      const result = await attempt();
      patience.progress();
      return result;
    } catch (error) {
      if (!(error instanceof KindredError && isWorthAnother(error))) throw error;
      await patience.wait(error, failures, signal);
    }
  }
}

export interface RetryOptions {
  /** How often `attempt` is called at most; default 5. */
  attempts?: number;
  /** Milliseconds to wait before the second attempt, doubled for each further one, each with jitter; default 10. */
  delay?: number;
  signal?: AbortSignal;
  /** Default `Math.random`. */
  random?: () => number;
}

/**
 * Calls `attempt` again while it throws `VersionConflict`: read, change and write inside it.
 *
 * @example
 * ```ts
 * await retryOnConflict(async () => {
 *   const book = await client.get(Book, 'emma');
 *   book.spec.year = 1816;
 *   await client.update(Book, book);
 * });
 * ```
 * @throws what the last attempt threw
 */
export async function retryOnConflict<R>(attempt: () => Promise<R>, options: RetryOptions = {}): Promise<R> {
  const { attempts = 5, delay = 10, random = Math.random, signal } = options;
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      if (failures >= attempts || !(error instanceof KindredError) || error.code !== 'VersionConflict') throw error;
      await sleep(waitAfter(failures, { minDelay: delay, random }), signal);
    }
  }
}

/** Resolves after so many milliseconds; rejects with the signal's reason when that comes first. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
