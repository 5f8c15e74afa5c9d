import { KindredError } from '../errors.ts';

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
 * ```ts
 * await retryOnConflict(async () => {
 *   const city = await client.get(City, 'city-2988507');
 *   city.spec.population += 1;
 *   await client.update(City, city);
 * });
 * ```
 * @throws what the last attempt threw
 */
export async function retryOnConflict<R>(attempt: () => Promise<R>, options: RetryOptions = {}): Promise<R> {
  const { attempts = 5, delay = 10, random = Math.random, signal } = options;
  for (let left = attempts - 1, wait = delay; ; left--, wait *= 2) {
    try {
      return await attempt();
    } catch (error) {
      if (left <= 0 || !(error instanceof KindredError) || error.code !== 'VersionConflict') throw error;
      await sleep(wait * (0.5 + random()), signal);
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
