/**
 * Sorting of many items for a bulk build: stable, and cut into steps (each `yield` is a place where the event loop may be let free).
 * Numbers and texts go by radix on 64 bits, other keys by merging.
 */
export type Steps = Generator<void, void, void>;

const digits = 11;
const buckets = 1 << digits;
/** Items between two yields. */
const step = 8192;
/** Fewer items are sorted by comparison. */
const small = 48;

/** Whether items, which are ascending, are in the order of their keys already: names and times of creation mostly are. */
export function* areSorted(
  items: Uint32Array,
  count: number,
  keys: { compare(a: number, b: number): number },
): Generator<void, boolean, void> {
  for (let i = 1; i < count; i++) {
    if (keys.compare(items[i - 1]!, items[i]!) > 0) return false;
    if (i % step === 0) yield;
  }
  return true;
}

/** By number, ascending. */
export function* sortByNumber(items: Uint32Array, count: number, values: Float64Array): Steps {
  const keys = new RadixKeys(count);
  const bits = new Uint32Array(2);
  const number = new Float64Array(bits.buffer);
  for (let i = 0; i < count; i++) {
    number[0] = values[items[i]!]!;
    // The bits of a double order like integers once negative ones are inverted and positive ones get the top bit.
    const negative = bits[1]! >>> 31;
    keys.high[i] = negative ? ~bits[1]! : bits[1]! | 0x80000000;
    keys.low[i] = negative ? ~bits[0]! : bits[0]!;
    if (i % step === step - 1) yield;
  }
  yield* keys.sort(items, 0, count);
}

/** Texts as bytes, in the order of which they are sorted. */
export interface ByteTexts {
  bytesOf(item: number): Uint8Array;
  firstByteOf(item: number): number;
  byteLengthOf(item: number): number;
  compare(a: number, b: number): number;
}

/** Ascending. */
export function* sortByText(items: Uint32Array, count: number, texts: ByteTexts): Steps {
  const keys = new RadixKeys(count);
  // A stack instead of recursion: texts may have long common parts.
  const ranges: [from: number, to: number, depth: number][] = [[0, count, 0]];
  for (let range = ranges.pop(); range; range = ranges.pop()) {
    const [from, to, depth] = range;
    if (to - from < small) {
      sortFew(items, from, to, texts);
      continue;
    }
    const common = yield* commonLength(items, from, to, texts, depth);
    if (common === undefined) continue;
    for (let i = from; i < to; i++) packBytes(keys, i, texts, items[i]!, common);
    yield;
    yield* keys.sort(items, from, to);
    for (let start = from; start < to; ) {
      let end = start + 1;
      while (end < to && keys.high[end] === keys.high[start] && keys.low[end] === keys.low[start]) end++;
      if (end - start > 1) ranges.push([start, end, common + packed]);
      start = end;
    }
    yield;
  }
}

function sortFew(items: Uint32Array, from: number, to: number, texts: ByteTexts): void {
  for (let i = from + 1; i < to; i++) {
    const item = items[i]!;
    let at = i;
    while (at > from && texts.compare(items[at - 1]!, item) > 0) {
      items[at] = items[at - 1]!;
      at--;
    }
    items[at] = item;
  }
}

/** Number of bytes that all texts have in common; undefined when they are equal. */
function* commonLength(
  items: Uint32Array,
  from: number,
  to: number,
  texts: ByteTexts,
  depth: number,
): Generator<void, number | undefined, void> {
  const bytes = texts.bytesOf(items[from]!);
  const first = texts.firstByteOf(items[from]!);
  const length = texts.byteLengthOf(items[from]!);
  let common = length;
  let equal = true;
  for (let i = from + 1; i < to; i++) {
    const others = texts.bytesOf(items[i]!);
    const start = texts.firstByteOf(items[i]!);
    const end = Math.min(common, texts.byteLengthOf(items[i]!));
    let at = Math.min(depth, end);
    while (at < end && bytes[first + at] === others[start + at]) at++;
    common = at;
    equal &&= at === length && texts.byteLengthOf(items[i]!) === length;
    if (i % step === step - 1) yield;
  }
  return equal ? undefined : common;
}

/** Bytes of a text in a key. */
const packed = 6;

/** Six bytes, of which none is 0xff; 0 stands behind the end. */
function packBytes(keys: RadixKeys, i: number, texts: ByteTexts, item: number, skipped: number): void {
  const bytes = texts.bytesOf(item);
  const first = texts.firstByteOf(item);
  const end = first + texts.byteLengthOf(item);
  let high = 0;
  let low = 0;
  for (let k = 0, at = first + skipped; k < packed; k++, at++) {
    const byte = at < end ? bytes[at]! + 1 : 0;
    if (k < 3) high = (high << 8) | byte;
    else low = (low << 8) | byte;
  }
  keys.high[i] = high;
  keys.low[i] = low;
}

/** 64-bit keys by position and the arrays that sorting them needs. */
class RadixKeys {
  high: Uint32Array;
  low: Uint32Array;
  readonly #highSpare: Uint32Array;
  readonly #lowSpare: Uint32Array;
  readonly #itemsSpare: Uint32Array;

  constructor(count: number) {
    this.high = new Uint32Array(count);
    this.low = new Uint32Array(count);
    this.#highSpare = new Uint32Array(count);
    this.#lowSpare = new Uint32Array(count);
    this.#itemsSpare = new Uint32Array(count);
  }

  /** Least significant digit first; a digit that all keys share is skipped. */
  *sort(items: Uint32Array, from: number, to: number): Steps {
    const offsets = new Uint32Array(buckets);
    for (let shift = 0; shift < 64; shift += digits) {
      offsets.fill(0);
      for (let i = from; i < to; i++) offsets[this.#digit(i, shift)]!++;
      if (offsets[this.#digit(from, shift)] === to - from) continue;
      yield;
      let sum = from;
      for (let digit = 0; digit < buckets; digit++) {
        const count = offsets[digit]!;
        offsets[digit] = sum;
        sum += count;
      }
      for (let i = from; i < to; i++) {
        const target = offsets[this.#digit(i, shift)]!++;
        this.#itemsSpare[target] = items[i]!;
        this.#highSpare[target] = this.high[i]!;
        this.#lowSpare[target] = this.low[i]!;
        if (i % step === step - 1) yield;
      }
      items.set(this.#itemsSpare.subarray(from, to), from);
      this.high.set(this.#highSpare.subarray(from, to), from);
      this.low.set(this.#lowSpare.subarray(from, to), from);
      yield;
    }
  }

  #digit(i: number, shift: number): number {
    if (shift >= 32) return (this.high[i]! >>> (shift - 32)) & (buckets - 1);
    const bits = this.low[i]! >>> shift;
    return (shift + digits > 32 ? bits | (this.high[i]! << (32 - shift)) : bits) & (buckets - 1);
  }
}

/** By comparison, ascending. */
export function* sortByComparison(items: Uint32Array, count: number, compare: (a: number, b: number) => number): Steps {
  let source: Uint32Array = items.subarray(0, count);
  let target: Uint32Array = new Uint32Array(count);
  let work = 0;
  for (let width = 1; width < count; width *= 2) {
    for (let from = 0; from < count; from += width * 2) {
      const middle = Math.min(from + width, count);
      const to = Math.min(from + width * 2, count);
      let left = from;
      let right = middle;
      for (let at = from; at < to; at++) {
        const takeLeft = left < middle && (right >= to || compare(source[left]!, source[right]!) <= 0);
        target[at] = takeLeft ? source[left++]! : source[right++]!;
        if (++work % step === 0) yield;
      }
    }
    [source, target] = [target, source];
  }
  if (source.buffer !== items.buffer) items.set(source);
}
