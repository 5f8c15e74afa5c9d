/** How far the work of an apply goes between two places where others may have a turn, and in all. */
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';

/** Fields and items that are looked at between two places where others may have a turn. */
const portion = 1_000;

/** What the edge of a field takes in JSON besides its name: `"":{},`. */
const edgeBytes = 6;

const tooMany = localized('The names of the fields take more than {limit} bytes');

/** Of one work: `if (pace.isDue) yield` stands in its loops. */
export class Pace {
  /** A list was met whose items cannot be told apart. */
  isAmbiguous = false;
  readonly #limit: number;
  #left = portion;
  #spent = 0;

  /** @param limit bytes of the field sets that the work makes together */
  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
  }

  get isDue(): boolean {
    if (--this.#left > 0) return false;
    this.#left = portion;
    return true;
  }

  /** For one field of a set. @throws PayloadTooLarge */
  spend(element: string): void {
    this.#spent += element.length + edgeBytes;
    if (this.#spent > this.#limit) {
      throw new KindredError('PayloadTooLarge', tooMany, { params: { limit: this.#limit } });
    }
  }
}
