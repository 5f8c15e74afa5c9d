import type { Delays } from './backoff.ts';
import { Backoff } from './backoff.ts';
import type { Timers } from './timers.ts';
import { WorkQueue } from './work-queue.ts';

export interface TaskQueueOptions extends Delays {
  readonly timers: Timers;
  /** Tasks at the same time, each of another key. Default: all of them. */
  readonly concurrency?: number;
  /** Told of each failure of a task, and how many its key had in a row; the task is tried again. Not told after `stop`. */
  readonly failed: (error: unknown, key: string, failures: number) => void;
  readonly succeeded?: (key: string) => void;
}

interface Task {
  readonly run: () => Promise<unknown>;
  /** Milliseconds since the epoch. */
  readonly due: number;
}

/** Tasks by key, each tried until it succeeds: never two of one key at once, and of those that wait the latest counts. */
export class TaskQueue {
  readonly #options: TaskQueueOptions;
  readonly #queue: WorkQueue;
  readonly #backoff: Backoff;
  /** What has not begun. */
  readonly #tasks = new Map<string, Task>();
  readonly #running = new Map<string, Promise<void>>();
  #waiters: (() => void)[] = [];
  #stopped = false;

  constructor(options: TaskQueueOptions) {
    this.#options = options;
    // Never inside the call that added a task.
    this.#queue = new WorkQueue(options.timers, () => queueMicrotask(() => this.#work()));
    this.#backoff = new Backoff(options);
  }

  /** @param after milliseconds before which the task does not begin */
  add(key: string, run: () => Promise<unknown>, after = 0): void {
    if (this.#stopped) return;
    const due = this.#options.timers.now() + Math.max(0, after);
    this.#tasks.set(key, { run, due: Math.min(due, this.#tasks.get(key)?.due ?? Infinity) });
    this.#queue.addAfter(key, after);
  }

  /** Resolves when no task, or none of this key, runs, has failed last or is due. */
  async settled(key?: string): Promise<void> {
    while (!this.#stopped && this.#isBusy(key)) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  /** Resolves when each task that is due was tried; what failed may still wait for its next attempt. */
  async tried(): Promise<void> {
    while (!this.#stopped && this.#isUntried) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  /** Resolves when what runs has ended; nothing more begins. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#queue.close();
    this.#wake();
    await Promise.all(this.#running.values());
  }

  #isBusy(key: string | undefined): boolean {
    const now = this.#options.timers.now();
    const keys = key === undefined ? [...this.#running.keys(), ...this.#tasks.keys()] : [key];
    return keys.some(
      (one) =>
        this.#running.has(one) || this.#backoff.failures(one) > 0 || (this.#tasks.get(one)?.due ?? Infinity) <= now,
    );
  }

  get #isUntried(): boolean {
    const now = this.#options.timers.now();
    const due = [...this.#tasks].filter(([, task]) => task.due <= now).map(([key]) => key);
    return [...this.#running.keys(), ...due].some((key) => this.#backoff.failures(key) === 0);
  }

  #work(): void {
    const { concurrency = Infinity } = this.#options;
    while (this.#running.size < concurrency) {
      const next = this.#queue.take();
      if (!next) return;
      const { name } = next;
      const running = this.#run(name).then((after) => {
        this.#running.delete(name);
        this.#queue.done(name, after);
        this.#work();
        this.#wake();
      });
      this.#running.set(name, running);
    }
  }

  /** When the key is due again; undefined: nothing is left to do. */
  async #run(key: string): Promise<number | undefined> {
    const { timers, failed, succeeded } = this.#options;
    const task = this.#tasks.get(key);
    // Its time came while it ran, and it ran for that addition already.
    if (!task) return undefined;
    this.#tasks.delete(key);
    try {
      await task.run();
      this.#backoff.reset(key);
      if (!this.#stopped) succeeded?.(key);
      const latest = this.#tasks.get(key);
      return latest && latest.due - timers.now();
    } catch (error) {
      if (!this.#tasks.has(key)) this.#tasks.set(key, task);
      const after = this.#backoff.next(key);
      if (!this.#stopped) failed(error, key, this.#backoff.failures(key));
      return after;
    }
  }

  #wake(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
