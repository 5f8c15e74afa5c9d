/** Time that stands still until a test moves it. */
import type { Timers } from '../runtime/timers.ts';

interface Alarm {
  readonly due: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * @example
 * ```ts
 * const clock = new FakeClock();
 * clock.after(1_000, () => console.log('a second later'));
 * await clock.advance(1_000);
 * ```
 */
export class FakeClock implements Timers {
  #now: number;
  #order = 0;
  readonly #alarms = new Set<Alarm>();

  /** @param start milliseconds since the epoch; default 2026-01-01T00:00:00Z */
  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  after(milliseconds: number, run: () => void): () => void {
    const alarm = { due: this.#now + Math.max(0, milliseconds), order: this.#order++, run };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  }

  /** How many timers wait. */
  get pending(): number {
    return this.#alarms.size;
  }

  /**
   * Moves the time on by so many milliseconds. Timers fire one by one in the order in which they are due, each with the
   * time at which it is; between them, and at the end, everything has its turn that waits for nothing but its turn.
   */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds;
    await turn();
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#alarms.delete(next);
      this.#now = Math.max(this.#now, next.due);
      next.run();
      await turn();
    }
    this.#now = end;
    await turn();
  }

  #next(end: number): Alarm | undefined {
    let next: Alarm | undefined;
    for (const alarm of this.#alarms) {
      if (alarm.due > end) continue;
      if (!next || alarm.due < next.due || (alarm.due === next.due && alarm.order < next.order)) next = alarm;
    }
    return next;
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}
