import type { Delays } from './backoff.ts';
import { delayAfter } from './backoff.ts';
import type { Timers } from './timers.ts';
import { pause } from './timers.ts';

export interface RetryOptions extends Delays {
  readonly timers: Pick<Timers, 'after'>;
  readonly signal?: AbortSignal;
  /** Told of each failure, and how many there were in a row; what it throws ends the attempts. */
  readonly failed: (error: unknown, failures: number) => void;
}

/** What `attempt` gives as soon as it succeeds; undefined when the signal aborts first. */
export async function retry<R>(options: RetryOptions, attempt: () => R | Promise<R>): Promise<R | undefined> {
  const { timers, signal, failed } = options;
  for (let failures = 1; !signal?.aborted; failures++) {
    try {
      return await attempt();
    } catch (error) {
      if (signal?.aborted) return undefined;
      failed(error, failures);
      await pause(timers, delayAfter(failures, options), signal);
    }
  }
  return undefined;
}
