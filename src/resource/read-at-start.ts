import { isPassing } from '../errors.ts';
import { retry } from '../runtime/retry.ts';
import type { Timers } from '../runtime/timers.ts';
import { awaitedTimers } from '../runtime/timers.ts';

/** For which a start waits for a store that is away, in milliseconds. */
const patience = 5_000;

/** What `read` gives, tried again while the store is away, for 5 s at most. @throws what `read` threw last */
export async function readAtStart<R>(
  read: () => Promise<R>,
  timers: Pick<Timers, 'after'> = awaitedTimers,
): Promise<R> {
  let isLate = false;
  const cancel = timers.after(patience, () => {
    isLate = true;
  });
  const failed = (error: unknown) => {
    if (isLate || !isPassing(error)) throw error;
  };
  try {
    return (await retry({ timers, minDelay: 50, maxDelay: 1_000, failed }, read)) as R;
  } finally {
    cancel();
  }
}
