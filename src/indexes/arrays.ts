/** Typed arrays that grow: an eighth more each time, so that appending stays cheap and little memory lies idle. */

type Growable =
  | Uint8Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>;

/** The array itself when it is long enough, else a longer copy; what is new is `filler`. */
export function grown<A extends Growable>(array: A, length: number, filler = 0): A {
  if (length <= array.length) return array;
  const size = Math.max(length, Math.ceil(array.length * 1.125) + 16);
  const longer = new (array.constructor as new (size: number) => A)(size);
  longer.set(array as never);
  if (filler !== 0) longer.fill(filler, array.length);
  return longer;
}

/** Stands for "no slot" and "no item" in arrays of them. */
export const none = 0xffffffff;
