/** Time as it is handed in: the machine's, or a fake one in tests. */
export interface Timers {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds that go by whatever is done to the clock. Default: `now`. */
  elapsed?(): number;
  /** Runs once after so many milliseconds; the returned function cancels it. */
  after(milliseconds: number, run: () => void): () => void;
}

/** Node fires a longer timer at once; whoever waits longer looks at the time again when it fires. */
export const longestTimer = 2 ** 31 - 1;

type Waiting = Pick<Timers, 'after'>;

/** The machine's time, for pauses and limits of what somebody awaits: such a timer keeps the process alive. */
export const awaitedTimers: Waiting = {
  after(milliseconds, run) {
    const timer = setTimeout(run, Math.min(milliseconds, longestTimer));
    return () => clearTimeout(timer);
  },
};

/** The machine's time. A timer keeps no process alive. */
export const systemTimers: Timers = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(milliseconds, run) {
    const timer = setTimeout(run, Math.min(milliseconds, longestTimer));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Resolves after so many milliseconds, or as soon as the signal aborts. */
export function pause(timers: Waiting, milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const cancel = timers.after(milliseconds, end);
    signal?.addEventListener('abort', end);
  });
}

/** True when the work has ended within so many milliseconds, false when it goes on; rejects when it failed in that time. */
export async function endsWithin(timers: Waiting, milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const cancel = timers.after(milliseconds, () => late.resolve(false));
  // What fails too late has no listener any more.
  work.catch(() => {});
  try {
    return await Promise.race([work.then(() => true), late.promise]);
  } finally {
    cancel();
  }
}
