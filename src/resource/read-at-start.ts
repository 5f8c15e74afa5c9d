import { isPassing } from '../errors.ts';
import { retry } from '../runtime/retry.ts';
import type { Timers } from '../runtime/timers.ts';
import { awaitedTimers } from '../runtime/timers.ts';
import type { Store } from '../store/store.ts';

/** Milliseconds after which the next failure is final. They are few, because a signal does not end the wait. */
const patience = 3_000;

/**
 * Reads from the store. While a database server cannot be reached, it tries again; after 3 s, the next failure is final.
 * @param isStopped true when another try has no use
 * @throws what `read` threw last
 */
export async function readAtStart(
  { shared }: Pick<Store, 'shared'>,
  read: () => Promise<void>,
  timers: Pick<Timers, 'after'> = awaitedTimers,
  isStopped: () => boolean = () => false,
): Promise<void> {
  if (!shared) return read();
  let isLate = false;
  const cancel = timers.after(patience, () => {
    isLate = true;
  });
  const failed = (error: unknown) => {
    if (isLate || isStopped() || !isPassing(error)) throw error;
  };
  try {
    await retry({ timers, minDelay: 50, maxDelay: 1_000, failed }, read);
  } finally {
    cancel();
  }
}
