/**
 * A *piece* is a copy of a part of one array of an index. Objects may change between two pieces: the changed ones are left out when
 * the pieces are arranged (`arrange.ts`), and come from the change log.
 */

export type Numbers =
  | Uint8Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>;

export interface Piece {
  /** The array; its pieces come in order. */
  readonly of: string;
  readonly values: Numbers;
  /** Texts, one behind the other; `values` then has for each its length and one, or 0 where there is none. */
  readonly text?: string;
  /** Or bytes of texts as `TextHeap` has them; `values` then has for each its head and one, or 0 where there is none. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
}

export type Pieces = Generator<Piece, void, void>;

/** Elements of a piece: a copy of so many takes some ten microseconds, of texts about a millisecond. */
export const defaultPortion = 8_192;

/** Copies the first elements of an array; where it is shorter, the rest is `filler`. */
export function* numberPieces<A extends Numbers>(
  of: string,
  count: number,
  portion: number,
  array: () => A,
  filler = 0,
): Pieces {
  for (let at = 0; at === 0 || at < count; at += portion) {
    const length = Math.min(portion, count - at);
    const source = array();
    const values = new (source.constructor as new (size: number) => A)(length);
    const part = source.subarray(at, at + length);
    values.set(part as never);
    if (part.length < length && filler !== 0) values.fill(filler, part.length);
    yield { of, values };
  }
}

export function* textPieces(
  of: string,
  count: number,
  portion: number,
  textOf: (at: number) => string | undefined,
): Pieces {
  for (let at = 0; at === 0 || at < count; at += portion) {
    const values = new Uint32Array(Math.min(portion, count - at));
    const texts: string[] = [];
    for (let i = 0; i < values.length; i++) {
      const text = textOf(at + i);
      if (text === undefined) continue;
      values[i] = text.length + 1;
      texts.push(text);
    }
    yield { of, values, text: texts.join('') };
  }
}

/** Stands in `of` between the place of a field and its arrays. */
export const fieldPrefix = (field: number): string => `fields.${field}.`;
