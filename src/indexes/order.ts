/**
 * All items of a field by key, those of one key by name: a list in leaves of at most 512, with the number of items before each leaf,
 * so that the item at any rank, the rank of any key and an insertion cost a few steps in a list of millions.
 */
import { grown, none } from './arrays.ts';
import type { Column, Keys } from './column.ts';

export const leafSize = 512;
/** Items in a leaf after a bulk fill: room for later insertions. */
const filled = 448;
/** Two neighbours with together at most this many items become one. */
const merged = 320;
/** Fill at which a shrinking leaf looks for a neighbour to join. */
const sparse = new Set([128, 64, 32, 16, 8, 4, 2, 1, 0]);

/** The name of the object an item belongs to. */
export interface Names {
  readonly names: readonly string[];
  /** Slot by item; absent when items are slots. */
  readonly owners?: Uint32Array;
}

/** Names are ASCII, for which the order of UTF-16 units is that of code points. */
export function compareNames(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

export class Order {
  size = 0;
  /** Leaf `l` is `items[l * leafSize]` and the following `counts[l]`. */
  items = new Uint32Array(leafSize);
  counts = new Uint16Array(1);
  /** Leaves in order. */
  directory = new Uint32Array(1);
  leaves = 0;
  /** Neighbours of the item inserted last; `none` at the ends. */
  previous = none;
  next = none;
  readonly keys: Keys;
  readonly #names: Names;
  /**
   * Key and name of the first item of each leaf, so that a search goes through little memory. A removal leaves them: the leaf
   * before ends below them still.
   */
  readonly #firstKeys: Column;
  readonly #firstNames: string[] = [];
  /** Leaf by item. */
  #leafOf: Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer> = new Uint16Array(16);
  /** Items before the leaf at each place of the directory, and the place of each leaf; true below `#clean`. */
  #starts = new Uint32Array(1);
  #places = new Uint32Array(1);
  #clean = 0;
  #used = 0;
  #free: number[] = [];

  constructor(keys: Keys, names: Names) {
    this.keys = keys;
    this.#names = names;
    this.#firstKeys = keys.another();
  }

  #nameOf(item: number): string {
    const { names, owners } = this.#names;
    return names[owners ? owners[item]! : item]!;
  }

  #setFirst(leaf: number): void {
    const item = this.items[leaf * leafSize]!;
    this.#firstKeys.set(leaf, this.keys.get(item));
    this.#firstNames[leaf] = this.#nameOf(item);
  }

  /** Items before the leaf at each place of the directory. */
  get starts(): Uint32Array {
    if (this.#clean < this.leaves) this.#refresh();
    return this.#starts;
  }

  /** Place in the directory of the leaf that holds an item. */
  placeOf(item: number): number {
    if (this.#clean < this.leaves) this.#refresh();
    return this.#places[this.#leafOf[item]!]!;
  }

  /** For loops over many items: the place is `places[leafOf[item]]`. Only good until the next change. */
  get tables(): { leafOf: Uint16Array | Uint32Array; places: Uint32Array } {
    if (this.#clean < this.leaves) this.#refresh();
    return { leafOf: this.#leafOf, places: this.#places };
  }

  /** Place in the directory of the leaf with this rank; rank < size. */
  placeAt(rank: number): number {
    const { starts } = this;
    let low = 0;
    let high = this.leaves;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (starts[middle]! <= rank) low = middle;
      else high = middle;
    }
    return low;
  }

  /** The item with this rank; rank < size. */
  at(rank: number): number {
    const place = this.placeAt(rank);
    return this.items[this.directory[place]! * leafSize + rank - this.#starts[place]!]!;
  }

  /** The items of the leaf at a place of the directory; only good until the next change. */
  leaf(place: number): Uint32Array {
    const leaf = this.directory[place]!;
    return this.items.subarray(leaf * leafSize, leaf * leafSize + this.counts[leaf]!);
  }

  /** True when the leaf at this place begins with the key with which the leaf before it ends. */
  isCut(place: number): boolean {
    return this.keys.compare(this.#last(place - 1), this.#first(place)) === 0;
  }

  /** Number of items whose key is smaller than `key`, with `orEqual` also those of that key; items without a key count as smaller than any. */
  rankOf(key: unknown, orEqual: boolean): number {
    if (this.size === 0) return 0;
    const { keys, items, directory } = this;
    const firstKeys = this.#firstKeys;
    const limit = orEqual ? 1 : 0;
    let low = 0;
    let high = this.leaves;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (firstKeys.compareTo(directory[middle]!, key) < limit) low = middle;
      else high = middle;
    }
    const base = directory[low]! * leafSize;
    let from = 0;
    let to = this.counts[directory[low]!]!;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (keys.compareTo(items[base + middle]!, key) < limit) from = middle + 1;
      else to = middle;
    }
    return this.starts[low]! + from;
  }

  /** Ranks of the first item with the key of this one and of the first behind them. */
  runOf(item: number): readonly [low: number, high: number] {
    const key = this.keys.get(item);
    return [this.rankOf(key, false), this.rankOf(key, true)];
  }

  /** Rank behind everything up to this key and name, whether they are there or not. */
  rankAfter(key: unknown, name: string): number {
    if (this.size === 0) return 0;
    const place = this.#placeFor(key, name, 1);
    return this.starts[place]! + this.#indexFor(place, key, name, 1);
  }

  /** The last leaf whose first item compares with a key and name as less than `limit`, or the first leaf. */
  #placeFor(key: unknown, name: string, limit: 0 | 1): number {
    const { directory } = this;
    const firstKeys = this.#firstKeys;
    const firstNames = this.#firstNames;
    let low = 0;
    let high = this.leaves;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      const leaf = directory[middle]!;
      if ((firstKeys.compareTo(leaf, key) || compareNames(firstNames[leaf]!, name)) < limit) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Number of items in a leaf that compare as less than `limit`. */
  #indexFor(place: number, key: unknown, name: string, limit: 0 | 1): number {
    const { keys, items } = this;
    const leaf = this.directory[place]!;
    const base = leaf * leafSize;
    let low = 0;
    let high = this.counts[leaf]!;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const item = items[base + middle]!;
      if ((keys.compareTo(item, key) || compareNames(this.#nameOf(item), name)) < limit) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** By key, then by name. */
  compare(a: number, b: number): number {
    return this.keys.compare(a, b) || compareNames(this.#nameOf(a), this.#nameOf(b));
  }

  insert(item: number): void {
    this.#leafOf = grown(this.#leafOf, item + 1);
    this.size++;
    if (this.leaves === 0) this.#openLeaf(0);
    const key = this.keys.get(item);
    const name = this.#nameOf(item);
    const place = this.#placeFor(key, name, 0);
    this.#insertAt(place, this.#indexFor(place, key, name, 0), item);
  }

  #insertAt(place: number, at: number, item: number): void {
    const full = this.counts[this.directory[place]!]! === leafSize;
    if (full) {
      this.#openLeaf(place + 1);
      // Keys that only grow (times of creation) leave full leaves behind.
      const kept = at === leafSize && place + 2 === this.leaves ? leafSize : leafSize / 2;
      this.#move(place, place + 1, kept);
      if (at > kept || (at === kept && kept === leafSize)) return this.#insertAt(place + 1, at - kept, item);
    }
    const leaf = this.directory[place]!;
    const base = leaf * leafSize;
    const count = this.counts[leaf]!;
    this.items.copyWithin(base + at + 1, base + at, base + count);
    this.items[base + at] = item;
    this.counts[leaf] = count + 1;
    this.#leafOf[item] = leaf;
    if (at === 0) this.#setFirst(leaf);
    if (place + 1 < this.#clean) this.#clean = place + 1;
    this.previous = at > 0 ? this.items[base + at - 1]! : place > 0 ? this.#last(place - 1) : none;
    this.next = at < count ? this.items[base + at + 1]! : place + 1 < this.leaves ? this.#first(place + 1) : none;
  }

  #first(place: number): number {
    return this.items[this.directory[place]! * leafSize]!;
  }

  #last(place: number): number {
    const leaf = this.directory[place]!;
    return this.items[leaf * leafSize + this.counts[leaf]! - 1]!;
  }

  remove(item: number): void {
    const leaf = this.#leafOf[item]!;
    const base = leaf * leafSize;
    const count = this.counts[leaf]! - 1;
    let at = base;
    while (this.items[at] !== item) at++;
    this.items.copyWithin(at, at + 1, base + count + 1);
    this.counts[leaf] = count;
    this.size--;
    const place = this.#places[leaf]!;
    if (place < this.#clean) this.#clean = place + 1;
    if (sparse.has(count)) this.#join(leaf);
  }

  #join(leaf: number): void {
    if (this.#clean < this.leaves) this.#refresh();
    const place = this.#places[leaf]!;
    const count = this.counts[leaf]!;
    if (count === 0) return this.#closeLeaf(place);
    for (const left of [place - 1, place]) {
      if (left < 0 || left + 1 >= this.leaves) continue;
      const sum = this.counts[this.directory[left]!]! + this.counts[this.directory[left + 1]!]!;
      if (sum > merged) continue;
      this.#moveBack(left);
      return this.#closeLeaf(left + 1);
    }
  }

  /** Moves what lies behind `kept` to the (empty) leaf at another place. */
  #move(place: number, to: number, kept: number): void {
    const source = this.directory[place]!;
    const target = this.directory[to]!;
    const moved = this.counts[source]! - kept;
    this.items.copyWithin(target * leafSize, source * leafSize + kept, source * leafSize + kept + moved);
    for (let i = 0; i < moved; i++) this.#leafOf[this.items[target * leafSize + i]!] = target;
    this.counts[source] = kept;
    this.counts[target] = moved;
    if (moved > 0) this.#setFirst(target);
  }

  /** Appends the items of the following leaf. */
  #moveBack(place: number): void {
    const target = this.directory[place]!;
    const source = this.directory[place + 1]!;
    const end = target * leafSize + this.counts[target]!;
    const moved = this.counts[source]!;
    this.items.copyWithin(end, source * leafSize, source * leafSize + moved);
    for (let i = 0; i < moved; i++) this.#leafOf[this.items[end + i]!] = target;
    this.counts[target]! += moved;
  }

  #openLeaf(place: number): void {
    const leaf = this.#free.pop() ?? this.#used++;
    this.items = grown(this.items, (leaf + 1) * leafSize);
    this.counts = grown(this.counts, leaf + 1);
    this.#places = grown(this.#places, leaf + 1);
    if (leaf === 0x10000 && this.#leafOf instanceof Uint16Array) this.#leafOf = Uint32Array.from(this.#leafOf);
    this.directory = grown(this.directory, this.leaves + 1);
    this.#starts = grown(this.#starts, this.leaves + 1);
    this.directory.copyWithin(place + 1, place, this.leaves);
    this.directory[place] = leaf;
    this.counts[leaf] = 0;
    this.leaves++;
    if (place < this.#clean) this.#clean = place;
  }

  #closeLeaf(place: number): void {
    this.#free.push(this.directory[place]!);
    this.directory.copyWithin(place, place + 1, this.leaves);
    this.leaves--;
    this.#clean = Math.min(this.#clean, place, this.leaves);
  }

  #refresh(): void {
    for (let place = this.#clean; place < this.leaves; place++) {
      const before = place - 1;
      this.#starts[place] = place === 0 ? 0 : this.#starts[before]! + this.counts[this.directory[before]!]!;
      this.#places[this.directory[place]!] = place;
    }
    this.#clean = this.leaves;
  }

  /** Fills an empty list with items that are in order already. */
  fill(sorted: Uint32Array, count: number): void {
    const leaves = Math.ceil(count / filled);
    this.items = new Uint32Array(Math.max(1, leaves) * leafSize);
    this.counts = new Uint16Array(Math.max(1, leaves));
    this.directory = new Uint32Array(Math.max(1, leaves));
    this.#starts = new Uint32Array(Math.max(1, leaves));
    this.#places = new Uint32Array(Math.max(1, leaves));
    this.#leafOf = leaves > 0x10000 ? new Uint32Array(count) : new Uint16Array(count);
    this.size = count;
    this.leaves = leaves;
    this.#used = leaves;
    this.#clean = 0;
    for (let leaf = 0; leaf < leaves; leaf++) {
      const from = leaf * filled;
      const to = Math.min(from + filled, count);
      this.items.set(sorted.subarray(from, to), leaf * leafSize);
      this.counts[leaf] = to - from;
      this.directory[leaf] = leaf;
      for (let i = from; i < to; i++) {
        const item = sorted[i]!;
        if (item >= this.#leafOf.length) this.#leafOf = grown(this.#leafOf, item + 1);
        this.#leafOf[item] = leaf;
      }
      this.#setFirst(leaf);
    }
  }
}
