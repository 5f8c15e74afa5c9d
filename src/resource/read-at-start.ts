import { isPassing } from '../errors.ts';
import { retry } from '../runtime/retry.ts';
import type { Timers } from '../runtime/timers.ts';
import { awaitedTimers } from '../runtime/timers.ts';
import type { Store } from '../store/store.ts';

/** After which a start no longer tries again to read from a store that is away, in milliseconds. */
const patience = 5_000;

export interface StartOptions {
  readonly timers?: Pick<Timers, 'after'>;
  /** True when there is no more use in trying again. */
  readonly isOver?: () => boolean;
}

/** What `read` gives. On a database server that is away for a moment it is tried again, for 5 s. @throws what `read` threw last */
export async function readAtStart<R>(
  { shared }: Pick<Store, 'shared'>,
  read: () => Promise<R>,
  { timers = awaitedTimers, isOver = () => false }: StartOptions = {},
): Promise<R> {
  if (!shared) return read();
  let isLate = false;
  const cancel = timers.after(patience, () => {
    isLate = true;
  });
  const failed = (error: unknown) => {
    if (isLate || isOver() || !isPassing(error)) throw error;
  };
  try {
    return (await retry({ timers, minDelay: 50, maxDelay: 1_000, failed }, read)) as R;
  } finally {
    cancel();
  }
}
