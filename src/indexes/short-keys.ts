/**
 * *Short keys* of the items of an order: 16 bits each, side by side, so that a search in a leaf stays in a few lines of cache.
 * A smaller item never has a larger short key; only items with the same one have to be compared. (PostgreSQL has the same idea:
 * abbreviated keys.) In each leaf they spread over what the leaf held when they were made: over the numbers between its first and
 * its last key, of texts from where these differ. A leaf with few different keys has a table of them instead; there the short key
 * is the place in the table, and tells one key from all others.
 */
import { compareText } from '../model/key.ts';
import { grown } from './arrays.ts';
import type { Column, Keys } from './column.ts';
import { textNumber } from './column.ts';

const largestShortKey = 0xffff;
/** Up to so many different keys of a leaf are kept in a table. */
const maxDistinct = 16;
/**
 * Searches in a leaf before its short keys are made, which costs as much as a hundred; up to `spread` more, so that not all
 * leaves pay at once.
 */
const searches = { least: 128, spread: 56 };
/** A leaf that was halved so often has them made anew. */
const maxSplits = 4;
/** Leaves with fewer items have no short keys. */
const minItems = 32;

export class ShortKeys {
  /** By place in the items of the order. */
  values = new Uint16Array(0);
  readonly #keys: Keys;
  readonly #leafSize: number;
  /** By leaf: the number that stands for 0, and steps for each unit above it; 0 where all numbers are the same. */
  #bases = new Float64Array(1);
  #scales = new Float64Array(1);
  /** By leaf: what its first and last text had in common. */
  readonly #prefixes: string[] = [];
  /** By leaf: searches until its short keys are made; 0: it has them. */
  #searchesLeft = new Uint8Array(0);
  /** By leaf: number of different keys, where they are few; else 0. */
  #distinct = new Uint8Array(0);
  /** By leaf: how often it was halved since its short keys were made. */
  #splits = new Uint8Array(1);
  /** These keys: `maxDistinct` places for each leaf. */
  readonly #keyTable: Column;

  constructor(keys: Keys, leafSize: number) {
    this.#keys = keys;
    this.#leafSize = leafSize;
    this.#keyTable = keys.emptyLike();
  }

  /** Makes room for so many leaves. */
  grow(leaves: number): void {
    const known = this.#searchesLeft.length;
    this.#searchesLeft = grown(this.#searchesLeft, leaves);
    for (let leaf = known; leaf < this.#searchesLeft.length; leaf++) this.discard(leaf);
    this.#distinct = grown(this.#distinct, leaves);
    this.values = grown(this.values, leaves * this.#leafSize);
    this.#splits = grown(this.#splits, leaves);
    this.#bases = grown(this.#bases, leaves);
    this.#scales = grown(this.#scales, leaves);
    while (this.#prefixes.length < leaves) this.#prefixes.push('');
  }

  /** The leaf has no short keys until they are made anew. */
  discard(leaf: number): void {
    this.#searchesLeft[leaf] = searches.least + (leaf % searches.spread);
  }

  /** Moves those behind the first `kept` of a leaf to an empty one. They stay good, if coarser each time. */
  split(leaf: number, other: number, kept: number, moved: number): void {
    const from = leaf * this.#leafSize + kept;
    this.values.copyWithin(other * this.#leafSize, from, from + moved);
    const distinct = this.#distinct[leaf]!;
    const isTable = this.#searchesLeft[leaf] === 0 && distinct > 0;
    if (moved === 0 && !isTable) this.discard(leaf);
    else if (moved === 0) this.#splits[leaf] = 0;
    else if (this.#searchesLeft[leaf] !== 0 || ++this.#splits[leaf]! === maxSplits) this.#searchesLeft[leaf] = 1;
    this.#distinct[other] = distinct;
    this.#searchesLeft[other] = this.#searchesLeft[leaf]!;
    this.#splits[other] = this.#splits[leaf]!;
    this.#bases[other] = this.#bases[leaf]!;
    this.#scales[other] = this.#scales[leaf]!;
    this.#prefixes[other] = this.#prefixes[leaf]!;
    if (this.#searchesLeft[leaf] !== 0) return;
    for (let run = 0; run < distinct; run++)
      this.#keyTable.set(other * maxDistinct + run, this.#keyTable.get(leaf * maxDistinct + run));
  }

  /** To be called before a search: makes the short keys of a leaf that is searched often enough. False: it has none. */
  ensure(leaf: number, items: Uint32Array, count: number): boolean {
    if (this.#searchesLeft[leaf] === 0) return true;
    if (count < minItems || --this.#searchesLeft[leaf]! > 0) return false;
    this.#splits[leaf] = 0;
    const from = leaf * this.#leafSize;
    const to = from + count;
    const starts = this.#equalRangesOf(items, from, to);
    this.#distinct[leaf] = starts.length;
    if (starts.length > 0) this.#makeByTable(leaf, items, starts, to);
    else this.#makeByKey(leaf, items, from, to);
    return true;
  }

  /** Where equal ranges begin; empty when these are not few. */
  #equalRangesOf(items: Uint32Array, from: number, to: number): number[] {
    const starts = [from];
    for (let i = from + 1; i < to; i++) {
      if (this.#keys.compare(items[i - 1]!, items[i]!) === 0) continue;
      if (starts.length === maxDistinct) return [];
      starts.push(i);
    }
    return starts;
  }

  #makeByKey(leaf: number, items: Uint32Array, from: number, to: number): void {
    const keys = this.#keys;
    const first = keys.get(items[from]!);
    const last = keys.get(items[to - 1]!);
    const skipped = this.#setPrefix(leaf, keys.isText ? first : undefined, last);
    this.#setScale(leaf, keys.numberOf(first, skipped), keys.numberOf(last, skipped));
    for (let i = from; i < to; i++) this.values[i] = this.#scaled(leaf, keys.number(items[i]!, skipped));
  }

  #makeByTable(leaf: number, items: Uint32Array, starts: readonly number[], to: number): void {
    for (let i = 0; i < starts.length; i++) {
      this.#keyTable.set(leaf * maxDistinct + i, this.#keys.get(items[starts[i]!]!));
      this.values.fill(atTable(i), starts[i]!, starts[i + 1] ?? to);
    }
  }

  /** Adds that of a new item at a place; those up to `end` move on. */
  insert(leaf: number, at: number, end: number, key: unknown): void {
    if (this.#searchesLeft[leaf] !== 0) return;
    this.values.copyWithin(at + 1, at, end);
    this.values[at] = this.shortKeyOf(leaf, key);
  }

  /** Takes out that at a place; those up to `end` move back. */
  remove(leaf: number, at: number, end: number): void {
    if (this.#searchesLeft[leaf] === 0) this.values.copyWithin(at, at + 1, end);
  }

  /** True when the items at this place and the next are known to have different keys. */
  knownDistinct(leaf: number, at: number): boolean {
    return this.#searchesLeft[leaf] === 0 && this.values[at] !== this.values[at + 1];
  }

  /** True when all items of a leaf with this short key have the same key. */
  isExact(leaf: number, short: number): boolean {
    return this.#distinct[leaf]! > 0 && (short & 1) === 1;
  }

  /** The short key of `key` in this leaf. Items before those that have it are smaller, items behind them greater. */
  shortKeyOf(leaf: number, key: unknown): number {
    const distinct = this.#distinct[leaf]!;
    if (distinct === 0) return this.#scaledText(leaf, key, this.#keys.isText);
    for (let i = 0; i < distinct; i++) {
      const difference = this.#keyTable.compareTo(leaf * maxDistinct + i, key);
      if (difference >= 0) return difference === 0 ? atTable(i) : atTable(i) - 1;
    }
    return atTable(distinct) - 1;
  }

  /** Gives its length. */
  #setPrefix(leaf: number, first: unknown, last: unknown): number {
    const prefix = first === undefined ? '' : commonPrefix(first as string, last as string);
    this.#prefixes[leaf] = prefix;
    return prefix.length;
  }

  #setScale(leaf: number, first: number, last: number): void {
    const scale = largestShortKey / (last - first);
    this.#bases[leaf] = first;
    this.#scales[leaf] = scale > 0 && Number.isFinite(scale) ? scale : 0;
  }

  #scaledText(leaf: number, key: unknown, isText: boolean): number {
    if (!isText) return this.#scaled(leaf, this.#keys.numberOf(key, 0));
    if (key === undefined) return 0;
    const prefix = this.#prefixes[leaf]!;
    if ((key as string).startsWith(prefix)) return this.#scaled(leaf, textNumber(key as string, prefix.length));
    return compareText(key as string, prefix) < 0 ? 0 : largestShortKey;
  }

  #scaled(leaf: number, number: number): number {
    const steps = (number - this.#bases[leaf]!) * this.#scales[leaf]!;
    // No number (no key, or an infinite one) is no step.
    return steps >= largestShortKey ? largestShortKey : steps > 0 ? Math.trunc(steps) : 0;
  }
}

/** Short key of the key at a place of a leaf's table; those between two of them are for keys that came later. */
function atTable(place: number): number {
  return 2 * place + 1;
}

/** What both begin with. */
export function commonPrefix(a: string, b: string): string {
  const length = Math.min(a.length, b.length);
  let common = 0;
  while (common < length && a.charCodeAt(common) === b.charCodeAt(common)) common++;
  return a.slice(0, common);
}

/** First place from `from` on, before `to`, whose value is not smaller than this one. */
export function lowerBound(values: Uint16Array | Float64Array, from: number, to: number, value: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** First place from `from` on, before `to`, whose value is larger than this one. */
export function upperBound(values: Uint16Array | Float64Array, from: number, to: number, value: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
