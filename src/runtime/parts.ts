/** Work on values of any size, as generators: whoever runs one may do something else at each `yield`. */

export type Parts<T> = Generator<void, T, void>;

/** Does a work without a turn for others. */
export function atOnce<T>(work: Parts<T>): T {
  for (;;) {
    const part = work.next();
    if (part.done) return part.value;
  }
}
