/** Runs one task after another, in the order in which they came. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#last.then(task, task);
    this.#last = done.catch(() => undefined);
    return done;
  }
}
