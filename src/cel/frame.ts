/** Why an expression has no value, in the words of CEL; `&&`, `||` and the loops made of them may go on without it. */
export class CelError {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** Ends an evaluation that takes too many steps. */
export class TooCostly {}

/** Ends the evaluation of an expression with an error. */
export function fail(message: string): never {
  throw new CelError(message);
}

/** Steps that going on after an error takes. */
const errorSteps = 80;

/** One evaluation: the values of its variables, and the steps that it may still take. One step is about twenty nanoseconds. */
export class Frame<V = unknown> {
  /** `self`, `oldSelf`, then those of the loops, from the outermost on. */
  readonly variables: V[] = [];
  /** What was made of the lists of an object. */
  readonly lists = new WeakMap<object, V>();
  #left: number;

  constructor(steps: number) {
    this.#left = steps;
  }

  get left(): number {
    return this.#left;
  }

  /** Throws `TooCostly`. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TooCostly();
  }

  /** The error that was thrown; throws anything else. */
  caught(error: unknown): CelError {
    if (!(error instanceof CelError)) throw error;
    this.spend(errorSteps);
    return error;
  }
}
