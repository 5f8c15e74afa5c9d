/** Milliseconds between two warnings. */
const interval = 10_000;

/** Counts what is refused by what there was too much of, and tells of it now and then. */
export class Refusals<Kind extends string> {
  readonly #counts: Record<Kind, number>;
  readonly #warn: (refused: number) => void;
  #unreported = 0;
  #reportedAt = Number.NEGATIVE_INFINITY;

  /** @param warn told at the first one, and then of all those since, at most once in ten seconds */
  constructor(kinds: readonly Kind[], warn: (refused: number) => void) {
    this.#counts = Object.fromEntries(kinds.map((kind) => [kind, 0])) as Record<Kind, number>;
    this.#warn = warn;
  }

  /** Since the start. */
  get counts(): Readonly<Record<Kind, number>> {
    return this.#counts;
  }

  /** @param now milliseconds, never going back */
  add(kind: Kind, now: number): void {
    this.#counts[kind]++;
    this.#unreported++;
    if (now - this.#reportedAt < interval) return;
    this.#warn(this.#unreported);
    this.#unreported = 0;
    this.#reportedAt = now;
  }
}
