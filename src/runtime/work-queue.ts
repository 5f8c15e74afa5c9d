/**
 * The work queue of a controller, after the one in Kubernetes' client-go: a name is *dirty* from the moment it is added
 * until a worker takes it, *processing* from then until the worker is done. A name that becomes dirty while it is
 * processing is handed out again afterwards, so no name is ever processed twice at once and no addition is lost.
 */
import type { Timers } from './timers.ts';

interface Delayed {
  readonly name: string;
  /** By `Timers.elapsed`. */
  readonly due: number;
}

export class WorkQueue {
  readonly #timers: Timers;
  readonly #onReady: () => void;
  /** Dirty names, each with the time since when. */
  readonly #dirty = new Map<string, number>();
  readonly #processing = new Set<string>();
  /** Dirty names that no worker holds, in the order of their addition, from `#head` on. */
  #ready: string[] = [];
  #head = 0;
  readonly #delayed = new Map<string, Delayed>();
  /** Binary heap by `due`; entries that are no longer in `#delayed` are skipped. */
  #heap: Delayed[] = [];
  #alarm: { due: number; cancel: () => void } | undefined;
  #closed = false;

  /** @param onReady called after a name became ready to be taken */
  constructor(timers: Timers, onReady: () => void) {
    this.#timers = timers;
    this.#onReady = onReady;
  }

  /** Names that are ready to be taken. */
  get length(): number {
    return this.#ready.length - this.#head;
  }

  /** Names in the hands of workers. */
  get processing(): number {
    return this.#processing.size;
  }

  /** Names that wait for their time. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** When the first of these is over, milliseconds since the epoch; undefined when none waits. */
  get nextDue(): number | undefined {
    const due = Math.min(...[...this.#delayed.values()].map((delayed) => delayed.due));
    return due < Infinity ? this.#timers.now() + due - this.#elapsed() : undefined;
  }

  /** Does nothing for a name that is dirty already. */
  add(name: string): void {
    if (this.#closed || this.#dirty.has(name)) return;
    this.#dirty.set(name, this.#timers.now());
    if (this.#processing.has(name)) return;
    this.#ready.push(name);
    this.#onReady();
  }

  /** Adds the name when so many milliseconds have passed; of two waits for one name the earlier end holds. */
  addAfter(name: string, milliseconds: number): void {
    if (this.#closed) return;
    if (!(milliseconds > 0)) {
      this.add(name);
      return;
    }
    const due = this.#elapsed() + milliseconds;
    const waiting = this.#delayed.get(name);
    if (waiting && waiting.due <= due) return;
    if (this.#heap.length > 64 + 2 * this.#delayed.size) this.#compact();
    const delayed = { name, due };
    this.#delayed.set(name, delayed);
    this.#push(delayed);
    this.#arm();
  }

  /** Adds every name that waits for its time. */
  addDelayed(): void {
    const names = [...this.#delayed.keys()];
    this.#delayed.clear();
    for (const name of names) this.add(name);
  }

  /** The next name for a worker, which calls `done` with it later; undefined when none is ready. */
  take(): { readonly name: string /** Milliseconds since it was added. */; readonly waited: number } | undefined {
    if (this.#head === this.#ready.length) return undefined;
    const name = this.#ready[this.#head]!;
    this.#head += 1;
    if (this.#head > 1_024 && this.#head * 2 > this.#ready.length) {
      this.#ready = this.#ready.slice(this.#head);
      this.#head = 0;
    }
    const since = this.#dirty.get(name)!;
    this.#dirty.delete(name);
    this.#processing.add(name);
    return { name, waited: Math.max(0, this.#timers.now() - since) };
  }

  /** The worker is done. Its word on what comes next replaces what an earlier one said: without `after` nothing is waited for. */
  done(name: string, after?: number): void {
    this.#processing.delete(name);
    this.#delayed.delete(name);
    if (this.#closed) return;
    if (this.#dirty.has(name)) {
      this.#ready.push(name);
      this.#onReady();
    }
    if (after !== undefined) this.addAfter(name, after);
  }

  /** Forgets everything and takes nothing more. */
  close(): void {
    this.#closed = true;
    this.#alarm?.cancel();
    this.#alarm = undefined;
    this.#dirty.clear();
    this.#delayed.clear();
    this.#heap = [];
    this.#ready = [];
    this.#head = 0;
  }

  #elapsed(): number {
    return this.#timers.elapsed?.() ?? this.#timers.now();
  }

  #arm(): void {
    const next = this.#heap[0];
    if (!next) return;
    if (this.#alarm && this.#alarm.due <= next.due) return;
    this.#alarm?.cancel();
    const milliseconds = Math.max(0, next.due - this.#elapsed());
    this.#alarm = { due: next.due, cancel: this.#timers.after(milliseconds, () => this.#fire()) };
  }

  #fire(): void {
    this.#alarm = undefined;
    const now = this.#elapsed();
    for (let next = this.#heap[0]; next && (next.due <= now || !this.#isCurrent(next)); next = this.#heap[0]) {
      this.#pop();
      if (!this.#isCurrent(next)) continue;
      this.#delayed.delete(next.name);
      this.add(next.name);
    }
    this.#arm();
  }

  #isCurrent(entry: Delayed): boolean {
    return this.#delayed.get(entry.name) === entry;
  }

  #compact(): void {
    // An array in order is a heap.
    this.#heap = [...this.#delayed.values()].sort((a, b) => a.due - b.due);
  }

  #push(entry: Delayed): void {
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]!.due <= entry.due) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]!.due < heap[child]!.due) child += 1;
      if (heap[child]!.due >= last.due) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}
