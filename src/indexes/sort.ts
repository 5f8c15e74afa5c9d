/**
 * Sorting of many items for a bulk build: stable, and cut into steps (each `yield` is a place where the event loop may be let free).
 * Numbers and texts go by radix on 64 bits, other keys by merging.
 */
import { compareText } from '../model/key.ts';

export type Steps = Generator<void, void, void>;

const digits = 11;
const buckets = 1 << digits;
/** Items between two yields. */
const step = 8192;
/** Fewer items are sorted by comparison. */
const small = 48;

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

/** By `compareText`, ascending. */
export function* sortByText(items: Uint32Array, count: number, textOf: (item: number) => string): Steps {
  const keys = new RadixKeys(count);
  // A stack instead of recursion: texts may have long common parts.
  const ranges: [from: number, to: number, depth: number][] = [[0, count, 0]];
  for (let range = ranges.pop(); range; range = ranges.pop()) {
    const [from, to, depth] = range;
    if (to - from < small) {
      sortFew(items, from, to, textOf);
      continue;
    }
    const common = yield* commonLength(items, from, to, textOf, depth);
    if (common === undefined) continue;
    let wide = false;
    for (let i = from; i < to && !wide; i++) wide = !packNarrow(keys, i, textOf(items[i]!), common);
    yield;
    for (let i = from; i < to && wide; i++) packWide(keys, i, textOf(items[i]!), common);
    yield;
    yield* keys.sort(items, from, to);
    const covered = common + (wide ? 3 : 6);
    for (let start = from; start < to; ) {
      let end = start + 1;
      while (end < to && keys.high[end] === keys.high[start] && keys.low[end] === keys.low[start]) end++;
      if (end - start > 1) ranges.push([start, end, covered]);
      start = end;
    }
    yield;
  }
}

function sortFew(items: Uint32Array, from: number, to: number, textOf: (item: number) => string): void {
  for (let i = from + 1; i < to; i++) {
    const item = items[i]!;
    const text = textOf(item);
    let at = i;
    while (at > from && compareText(textOf(items[at - 1]!), text) > 0) {
      items[at] = items[at - 1]!;
      at--;
    }
    items[at] = item;
  }
}

/** Number of units that all texts have in common; undefined when they are equal. */
function* commonLength(
  items: Uint32Array,
  from: number,
  to: number,
  textOf: (item: number) => string,
  depth: number,
): Generator<void, number | undefined, void> {
  const first = textOf(items[from]!);
  let common = first.length;
  let equal = true;
  for (let i = from + 1; i < to; i++) {
    const text = textOf(items[i]!);
    if (text !== first) {
      equal = false;
      let at = depth;
      while (at < common && text.charCodeAt(at) === first.charCodeAt(at)) at++;
      common = at;
    }
    if (i % step === step - 1) yield;
  }
  return equal ? undefined : common;
}

/** Six units of eight bits; false when one does not fit. 0 stands behind the end. */
function packNarrow(keys: RadixKeys, i: number, text: string, at: number): boolean {
  let high = 0;
  let low = 0;
  for (let k = 0; k < 6; k++) {
    const unit = at + k < text.length ? text.charCodeAt(at + k) + 1 : 0;
    if (unit > 0xff) return false;
    if (k < 3) high = (high << 8) | unit;
    else low = (low << 8) | unit;
  }
  keys.high[i] = high;
  keys.low[i] = low;
  return true;
}

/** Three units of 17 bits, surrogates last as in `compareText`. */
function packWide(keys: RadixKeys, i: number, text: string, at: number): void {
  const [a, b, c] = [rank(text, at), rank(text, at + 1), rank(text, at + 2)] as const;
  keys.high[i] = (a << 8) | (b >>> 9);
  keys.low[i] = ((b & 0x1ff) << 17) | c;
}

function rank(text: string, at: number): number {
  if (at >= text.length) return 0;
  const unit = text.charCodeAt(at);
  if (unit < 0xd800) return unit + 1;
  return unit < 0xe000 ? unit + 0x2001 : unit - 0x7ff;
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
