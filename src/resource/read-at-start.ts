import { isPassing } from '../errors.ts';
import { retry } from '../runtime/retry.ts';
import type { Timers } from '../runtime/timers.ts';
import { awaitedTimers } from '../runtime/timers.ts';
import type { Store } from '../store/store.ts';

/** Milliseconds after which the next failure is final. With it, a signal during the wait still ends the process within 10 s. */
const patience = 3_000;

export interface StartOptions {
  readonly timers?: Pick<Timers, 'after'>;
  /** True when there is no more use in trying again. */
  readonly isOver?: () => boolean;
}

/** What `read` gives. While a database server is away, it is tried again; after 3 s, the next failure is final. @throws what `read` threw last */
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
