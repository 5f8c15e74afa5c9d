/**
 * The one stream that a tab has open: of the list or the object that is shown. A tab that was hidden for 30 s closes it,
 * and all tabs of a browser have at most four (a browser has six connections to a service); who gets none reads again
 * every 10 s, until one becomes free. Events are handed on once a frame.
 */
import { onScopeDispose, shallowRef, watchEffect } from 'vue';
import { sleep, waitAfter } from '../../../src/client/retry.ts';
import { isOnline } from './client.ts';
import { problemOf } from './errors.ts';
import { readSession, session } from './session.ts';

export type Connection = 'live' | 'polling' | 'paused' | 'reconnecting' | 'offline';

/** Of the stream that is shown; undefined where no screen has one. */
export const connection = shallowRef<Connection>();

const slots = 4;
const hiddenFor = 30_000;
const pollEvery = 10_000;
const glanceFor = 2_000;
const backoff = { minDelay: 500, maxDelay: 10_000 };

/** `opened` is called when the stream has begun. */
type Start<E> = (signal: AbortSignal, opened: () => void) => AsyncIterable<E>;

export interface Stream<E> {
  /** Whose first event is a whole state; undefined: there is nothing to follow. */
  open(): Start<E> | undefined;
  /** The events of a frame, in their order. */
  apply(events: readonly E[]): void;
  /** In the place of a stream; absent: what a stream sends in `glanceFor`. */
  poll?(): unknown;
  /** What ends it for good: no right any more, no such model. */
  failed(error: unknown): void;
}

const forGood = ['Forbidden', 'NotFound', 'Unauthenticated', 'InvalidParameter', 'InvalidSelector', 'QueryLimit'];

/** Follows the stream while the component is mounted, and starts again when what `open` reads changes. */
export function useStream<E>(stream: Stream<E>): void {
  const isHidden = useHidden();
  watchEffect((onCleanup) => {
    // Who signs in again goes on.
    void session.value;
    const start = stream.open();
    if (!start) {
      connection.value = 'paused';
      return;
    }
    if (isHidden.value) return;
    const controller = new AbortController();
    onCleanup(() => controller.abort());
    void followOrPoll(stream, start, controller.signal);
  });
  onScopeDispose(() => {
    connection.value = undefined;
  });
}

async function followOrPoll<E>(stream: Stream<E>, start: Start<E>, signal: AbortSignal): Promise<void> {
  while (!(await withSlot(signal, () => follow(stream, start, signal)))) {
    if (signal.aborted) return;
    connection.value = isOnline.value ? 'polling' : 'offline';
    try {
      await (stream.poll ? stream.poll() : glance(stream, start, signal));
    } catch (error) {
      if (signal.aborted) return;
      if (forGood.includes(problemOf(error).code)) {
        ended(stream, error);
        return;
      }
    }
    await sleep(pollEvery, signal).catch(() => undefined);
  }
}

/** Hands on at once what a stream sends in a moment. */
async function glance<E>(stream: Stream<E>, start: Start<E>, signal: AbortSignal): Promise<void> {
  const events: E[] = [];
  const glanced = AbortSignal.any([signal, AbortSignal.timeout(glanceFor)]);
  try {
    for await (const event of start(glanced, () => undefined)) events.push(event);
  } catch (error) {
    if (!glanced.aborted) throw error;
  }
  if (!signal.aborted && events.length > 0) stream.apply(events);
}

async function follow<E>(stream: Stream<E>, start: Start<E>, signal: AbortSignal): Promise<void> {
  let failures = 0;
  connection.value = 'reconnecting';
  const opened = () => {
    if (signal.aborted) return;
    connection.value = 'live';
    failures = 0;
  };
  while (!signal.aborted) {
    let failure: unknown;
    const gathered = gather<E>((events) => stream.apply(events), signal);
    try {
      for await (const event of start(signal, opened)) {
        if (signal.aborted) return;
        gathered(event);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (forGood.includes(problemOf(error).code)) {
        ended(stream, error);
        return;
      }
      failure = error;
    }
    // A stream may end without an error when it is given up.
    if (signal.aborted) return;
    connection.value = isOnline.value ? 'reconnecting' : 'offline';
    await sleep(waitAfter(++failures, backoff, failure), signal).catch(() => undefined);
  }
}

/** Who may no longer follow may have been signed out: a stream says "Forbidden" for both. */
function ended<E>(stream: Stream<E>, error: unknown): void {
  connection.value = 'paused';
  stream.failed(error);
  // A service that does not answer is shown by `isOnline`.
  if (problemOf(error).code === 'Forbidden') void readSession().catch(() => undefined);
}

/** Hands on what came during a frame at once. */
function gather<E>(apply: (events: readonly E[]) => void, signal: AbortSignal): (event: E) => void {
  let events: E[] = [];
  return (event) => {
    if (events.push(event) > 1) return;
    requestAnimationFrame(() => {
      const now = events;
      events = [];
      if (!signal.aborted) apply(now);
    });
  };
}

/** Runs with one of the browser's few streams. False: none is free. */
async function withSlot(signal: AbortSignal, run: () => Promise<void>): Promise<boolean> {
  if (!navigator.locks) {
    await run();
    return true;
  }
  for (let slot = 0; slot < slots && !signal.aborted; slot++) {
    const wasFree = await navigator.locks.request(`kindred-stream-${slot}`, { ifAvailable: true }, async (lock) => {
      if (lock && !signal.aborted) await run();
      return lock !== null;
    });
    if (wasFree) return true;
  }
  return false;
}

/** Whether the tab has been out of sight for a while. */
function useHidden() {
  const isHidden = shallowRef(document.hidden);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(timer);
    if (!document.hidden) isHidden.value = false;
    else
      timer = setTimeout(() => {
        isHidden.value = true;
      }, hiddenFor);
  };
  document.addEventListener('visibilitychange', look);
  onScopeDispose(() => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', look);
  });
  return isHidden;
}
