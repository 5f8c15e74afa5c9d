/**
 * Whoever committed last knows the revision, and with it all that changes only together with the revision. A batch that
 * depends on nothing else is decided without asking and sent in one round trip, from BEGIN to COMMIT; the database makes
 * it fail when somebody has committed since.
 */
import type { Answers, Guess, Known, Plan } from '../decide.ts';
import { guessBatch } from '../decide.ts';
import type { Write } from '../store.ts';

/** After so many failures nothing is guessed until this process has committed twice with nobody in between. */
const maxFailures = 2;

export class Guesses {
  #known: (Known & { readonly session: object }) | undefined;
  #failures = 0;

  /**
   * @param session that of the connection: another one may lead to a database that has lost commits, and then the same
   * revision is not the same state
   */
  of(session: object, writes: readonly Write[], time: number): Guess | undefined {
    if (this.#failures >= maxFailures || this.#known?.session !== session) return undefined;
    return guessBatch(writes, time, this.#known);
  }

  succeeded({ revision }: Plan): void {
    this.#known = { ...this.#known!, revision };
  }

  failed(): void {
    this.#failures++;
    this.#known = undefined;
  }

  /** What was read under the lock, and committed with it. */
  learn(session: object, { revision, questions, generations }: Answers, plan: Plan): void {
    const before = this.#known?.session === session && this.#known.revision === revision ? this.#known : undefined;
    if (before) this.#failures = 0;
    const known = new Map(before?.generations);
    for (const { model, generation } of generations) known.set(model, generation);
    for (const { model, to } of plan.activations) known.set(model, to);
    this.#known = { session, revision: plan.revision, questions, generations: known };
  }
}
