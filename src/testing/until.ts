/** Waiting for a state, never for a time. */

export interface UntilOptions {
  /** Milliseconds after which the wait fails. Default 10,000. */
  timeout?: number;
  /** Milliseconds between two looks. Default 10. */
  interval?: number;
  /** Named in the failure. */
  what?: string;
}

/**
 * Looks again and again until the condition gives something true, and gives that. A condition that throws counts as not
 * yet; its last error is the cause of the failure.
 *
 * @example
 * ```ts
 * const book = await until(async () => (await client.get(Book, 'emma')).status?.phase === 'Ready');
 * ```
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  { timeout = 10_000, interval = 10, what = condition.toString() }: UntilOptions = {},
): Promise<NonNullable<T>> {
  const end = performance.now() + timeout;
  let cause: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value) return value;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() >= end)
      throw new Error(`not so after ${timeout} ms: ${what}`, cause === undefined ? {} : { cause });
    await new Promise((resolve) => setTimeout(resolve, interval));
  }
}
