/**
 * Work that many may ask for and that takes long, such as sending what happened long ago: it is done in *pieces*, few at
 * a time, and whoever asks has a turn, however much the others ask for.
 */
import { sliceLength } from '../runtime/time-slice.ts';

interface Piece {
  begin(): Promise<void>;
}

export interface BackgroundOptions {
  /** Pieces that are under way at the same time, at most: more than one only while they wait for the store. */
  readonly width: number;
  /** Milliseconds, never going back. */
  readonly now: () => number;
}

export class Background {
  readonly #options: BackgroundOptions;
  /** Pieces that wait, by who asked; the first name is the next to have a turn. */
  readonly #waiting = new Map<string, Piece[]>();
  #underWay = 0;
  /** End of the slice of this turn of the event loop; undefined when nothing was done in it yet. */
  #sliceEnd: number | undefined;

  constructor(options: BackgroundOptions) {
    this.#options = options;
  }

  /** True when a piece should come to its end: together they have held the event loop for long enough. */
  get isOver(): boolean {
    this.#sliceEnd ??= this.#openSlice();
    return this.#options.now() >= this.#sliceEnd;
  }

  /**
   * Calls `piece` when it is its turn, and resolves to what it gives.
   * @param who those with another name do not wait until all pieces of this one are done
   */
  run<T>(who: string, piece: () => T | Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const begin = () => Promise.try(piece).then(resolve, reject);
      const waiting = this.#waiting.get(who);
      if (waiting) waiting.push({ begin });
      else this.#waiting.set(who, [{ begin }]);
      this.#work();
    });
  }

  #work(): void {
    while (this.#waiting.size > 0 && this.#underWay < this.#options.width && !this.isOver) {
      this.#underWay++;
      void this.#next()
        .begin()
        .finally(() => {
          this.#underWay--;
          this.#work();
        });
    }
  }

  #next(): Piece {
    const [who, pieces] = this.#waiting.entries().next().value!;
    this.#waiting.delete(who);
    const piece = pieces.shift()!;
    if (pieces.length > 0) this.#waiting.set(who, pieces);
    return piece;
  }

  #openSlice(): number {
    setImmediate(() => {
      this.#sliceEnd = undefined;
      this.#work();
    });
    return this.#options.now() + sliceLength;
  }
}
