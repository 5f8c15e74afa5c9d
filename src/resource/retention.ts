/** Keeps the change log bounded (docs/reference/watch.md): at least the newest `maxCount` changes and all of the last `maxAge`. */
import type { Store } from '../store/store.ts';

export interface RetentionDependencies {
  readonly store: Store;
  readonly now: () => number;
  readonly maxCount: number;
  /** Milliseconds. */
  readonly maxAge: number;
  readonly logger: { warn(details: object, message: string): void };
}

/** Milliseconds between looks, and between portions while there is more to remove. */
const interval = 10_000;
const pause = 20;

/** @returns stops it */
export function startRetention({ store, now, maxCount, maxAge, logger }: RetentionDependencies): () => void {
  let timer: NodeJS.Timeout;
  let isStopped = false;

  async function look(): Promise<void> {
    let removed = 0;
    try {
      const time = now();
      removed = await store.compact(maxCount, time - maxAge, time);
    } catch (error) {
      if (!isStopped) logger.warn({ err: error }, 'The change log could not be compacted; trying again');
    }
    if (!isStopped) timer = setTimeout(look, removed > 0 ? pause : interval).unref();
  }

  timer = setTimeout(look, interval).unref();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
