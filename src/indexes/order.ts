/**
 * All items of a field by key, those of one key by item: a list in leaves of at most 512, with the number of items before each leaf,
 * so that the item at any rank, the rank of any key and an insertion cost a few steps in a list of millions. Items are numbers, so
 * that a search among equal keys reads nothing but the list; names put them in order when a page is made (`query/page/pager.ts`).
 */
import { compareText } from '../model/key.ts';
import { grown, none } from './arrays.ts';
import type { Column, Keys } from './column.ts';
import type { IndexMemory } from './memory/index-memory.ts';
import { commonPrefix, lowerBound, ShortKeys, upperBound } from './short-keys.ts';
import type { SlotSet } from './slot-set.ts';
import type { Pieces } from './snapshot/piece.ts';

export const leafSize = 512;
/** Items in a leaf after a bulk fill: room for later insertions. */
export const bulkFill = 448;
/** Two neighbours with together at most this many items become one. */
const mergeLimit = 320;
/** Fill at which a shrinking leaf looks for a neighbour to join. */
const mergeChecks = new Set([128, 64, 32, 16, 8, 4, 2, 1, 0]);

/** A guessed place in a leaf is mostly wrong by fewer items than this: by about 10, where numbers are spread evenly. */
const spread = 16;

/** Full leaves are divided between two keys only where each part keeps at least this many items. */
const leastPart = 64;

export class Order {
  size = 0;
  /** Leaf `l` is `items[l * leafSize]` and the following `counts[l]`. */
  items: Uint32Array = new Uint32Array(leafSize);
  counts = new Uint16Array(1);
  /** Leaves in order. */
  directory = new Uint32Array(1);
  leaves = 0;
  /** Neighbours of the item inserted last, where their keys may be the same; else `none`. */
  previous = none;
  next = none;
  readonly keys: Keys;
  /**
   * Key and number of the first item of each leaf, so that a search goes through little memory. A removal leaves them: the leaf
   * before ends below them still.
   */
  readonly #separators: Column;
  #separatorItems = new Uint32Array(1);
  /** Numbers for these keys by place of the directory, of texts behind what all but the first leaf's have in common. */
  #separatorNumbers = new Float64Array(1);
  #separatorPrefix = '';
  /** Leaf by item. */
  #leafOf: Uint16Array | Uint32Array = new Uint16Array(16);
  /** Items before the leaf at each place of the directory; true below `#validStarts`. */
  #starts = new Uint32Array(1);
  #validStarts = 0;
  /** Place of each leaf; true for places below `#validPlaces`. */
  #places = new Uint32Array(1);
  #validPlaces = 0;
  readonly #shortKeys: ShortKeys;
  #used = 0;
  #free: number[] = [];
  readonly #memory: IndexMemory;

  constructor(keys: Keys, memory: IndexMemory) {
    this.keys = keys;
    this.#memory = memory;
    this.#separators = keys.emptyLike();
    this.#shortKeys = new ShortKeys(keys, leafSize);
    this.#shortKeys.grow(1);
  }

  /** Gives the key. */
  #storeSeparator(leaf: number): unknown {
    const item = this.items[leaf * leafSize]!;
    const key = this.keys.get(item);
    this.#separators.set(leaf, key);
    this.#separatorItems[leaf] = item;
    return key;
  }

  #setSeparator(place: number): void {
    const key = this.#storeSeparator(this.directory[place]!);
    this.#separatorNumbers[place] = this.#separatorNumber(key);
    if (place === 0 || !this.keys.isText) return;
    // What all have in common gets shorter with such a key, and longer as leaves are divided.
    const isOutside = key !== undefined && !(key as string).startsWith(this.#separatorPrefix);
    if (isOutside || (this.leaves & (this.leaves - 1)) === 0) this.#renumberSeparators();
  }

  /** Makes the numbers of first keys anew. */
  #renumberSeparators(): void {
    const { directory, leaves } = this;
    const separators = this.#separators;
    if (this.keys.isText && leaves > 1) {
      const first = separators.get(directory[1]!);
      const last = separators.get(directory[leaves - 1]!);
      this.#separatorPrefix = first === undefined ? '' : commonPrefix(first as string, last as string);
    }
    for (let place = 0; place < leaves; place++) {
      this.#separatorNumbers[place] = this.#separatorNumber(separators.get(directory[place]!));
    }
  }

  /** A smaller key never has a larger number. */
  #separatorNumber(key: unknown): number {
    if (key === undefined) return Number.NEGATIVE_INFINITY;
    const prefix = this.#separatorPrefix;
    if (prefix !== '' && !(key as string).startsWith(prefix)) {
      return compareText(key as string, prefix) < 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
    }
    const number = this.keys.numberOf(key, prefix.length);
    return Number.isNaN(number) ? Number.NEGATIVE_INFINITY : number;
  }

  /** Places of the directory, from 1 on, whose first keys have this key's number: behind all smaller, before all larger. */
  #placesOfNumber(key: unknown): readonly [from: number, to: number] {
    const numbers = this.#separatorNumbers;
    const number = this.#separatorNumber(key);
    const from = lowerBound(numbers, 1, this.leaves, number);
    return [from, numbers[from] === number ? upperBound(numbers, from, this.leaves, number) : from];
  }

  /** Items before the leaf at each place of the directory. */
  get starts(): Uint32Array {
    if (this.#validStarts < this.leaves) this.#refresh();
    return this.#starts;
  }

  /** Place in the directory of the leaf that holds an item. */
  placeOf(item: number): number {
    if (this.#validPlaces < this.leaves) this.#refreshPlaces();
    return this.#places[this.#leafOf[item]!]!;
  }

  /** For loops over many items: the place is `places[leafOf[item]]`. Only good until the next change. */
  get tables(): { leafOf: Uint16Array | Uint32Array; places: Uint32Array } {
    if (this.#validPlaces < this.leaves) this.#refreshPlaces();
    return { leafOf: this.#leafOf, places: this.#places };
  }

  /** How many of the slots are in the leaf at each place of the directory; with one element more. */
  countByPlace({ words, slots, count }: SlotSet): Uint32Array {
    const found = new Uint32Array(this.leaves + 1);
    const { leafOf, places } = this.tables;
    if (words) {
      const byLeaf = this.#memory.countByLeaf(words, leafOf, this.#used);
      for (let place = 0; place < this.leaves; place++) found[place] = byLeaf[this.directory[place]!]!;
    } else for (let i = 0; i < count; i++) found[places[leafOf[slots[i]!]!]!]!++;
    return found;
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

  /** Visits the items from one rank to another, leaf by leaf: `items[from]` up to, without it, `items[to]`. For loops over many; what collects a page walks the leaves itself. */
  spans(low: number, high: number, visit: (items: Uint32Array, from: number, to: number) => void): void {
    if (low >= high) return;
    const { items, counts, directory } = this;
    let place = this.placeAt(low);
    let at = low - this.starts[place]!;
    for (let left = high - low; left > 0; place++, at = 0) {
      const leaf = directory[place]!;
      const base = leaf * leafSize;
      const end = Math.min(counts[leaf]!, at + left);
      left -= end - at;
      visit(items, base + at, base + end);
    }
  }

  /** The items of the leaf at a place of the directory; only good until the next change. */
  leaf(place: number): Uint32Array {
    const leaf = this.directory[place]!;
    return this.items.subarray(leaf * leafSize, leaf * leafSize + this.counts[leaf]!);
  }

  /** True when the leaf at this place begins with the key with which the leaf before it ends. */
  continuesKey(place: number): boolean {
    return this.keys.compare(this.#last(place - 1), this.#first(place)) === 0;
  }

  /** Number of items whose key is smaller than `key`, with `orEqual` also those of that key; items without a key count as smaller than any. */
  rankOf(key: unknown, orEqual: boolean): number {
    if (this.size === 0) return 0;
    const { keys, items, directory } = this;
    const separators = this.#separators;
    const limit = orEqual ? 1 : 0;
    let [low, high] = this.#placesOfNumber(key);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (separators.compareTo(directory[middle]!, key) < limit) low = middle + 1;
      else high = middle;
    }
    const place = low - 1;
    const leaf = directory[place]!;
    let [from, to, equal] = this.#rangeOfShortKey(leaf, key);
    if (equal && orEqual) from = to;
    while (from < to && !equal) {
      const middle = (from + to) >>> 1;
      if (keys.compareTo(items[middle]!, key) < limit) from = middle + 1;
      else to = middle;
    }
    return this.starts[place]! + from - leaf * leafSize;
  }

  /**
   * Where in the items those of a leaf begin and end that have the short key of this one: behind all smaller, before all larger.
   * With `equal`, all of them have this key, and no others.
   */
  #rangeOfShortKey(leaf: number, key: unknown): readonly [from: number, to: number, equal: boolean] {
    const count = this.counts[leaf]!;
    const base = leaf * leafSize;
    const end = base + count;
    const shortKeys = this.#shortKeys;
    if (!shortKeys.ensure(leaf, this.items, count)) return [base, end, false];
    const { values } = shortKeys;
    const short = shortKeys.shortKeyOf(leaf, key);
    const from = lowerBound(values, base, end, short);
    const to = from < end && values[from] === short ? upperBound(values, from, end, short) : from;
    return [from, to, shortKeys.isExact(leaf, short)];
  }

  /** Ranks of the first item with the key of this one and of the first behind them. */
  equalRange(item: number): readonly [low: number, high: number] {
    const key = this.keys.get(item);
    return [this.rankOf(key, false), this.rankOf(key, true)];
  }

  /** Rank behind everything up to this key and item, whether they are there or not. */
  rankAfter(key: unknown, item: number): number {
    if (this.size === 0) return 0;
    const place = this.#placeFor(key, item);
    return this.starts[place]! + this.#indexFor(place, key, item);
  }

  /** The last leaf whose separator is not behind this key and item, or the first leaf. */
  #placeFor(key: unknown, item: number): number {
    const { directory } = this;
    const separators = this.#separators;
    const items = this.#separatorItems;
    let [low, high] = this.#placesOfNumber(key);
    const isOneKey =
      high - low > 2 &&
      separators.compareTo(directory[low]!, key) === 0 &&
      separators.compareTo(directory[high - 1]!, key) === 0;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const leaf = directory[middle]!;
      const difference = isOneKey ? 0 : separators.compareTo(leaf, key);
      if (difference < 0 || (difference === 0 && items[leaf]! <= item)) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Number of items in a leaf up to this key and item. */
  #indexFor(place: number, key: unknown, item: number): number {
    const { keys, items } = this;
    const leaf = this.directory[place]!;
    let [low, high, equal] = this.#hasOnly(place, key)
      ? [leaf * leafSize, leaf * leafSize + this.counts[leaf]!, true]
      : this.#rangeOfShortKey(leaf, key);
    const isBefore = (other: number): boolean => {
      const difference = equal ? 0 : keys.compareTo(other, key);
      return difference < 0 || (difference === 0 && other <= item);
    };
    // Numbers that only grow, of new objects or times of creation, come behind all others.
    if ((equal || place + 1 === this.leaves) && low < high && isBefore(items[high - 1]!)) low = high;
    if (high - low > 2 * spread && !keys.isText) {
      const guess = this.#guess(place, key, low, high);
      if (isBefore(items[guess]!)) {
        low = guess + 1;
        if (low + spread < high && !isBefore(items[low + spread]!)) high = low + spread;
      } else {
        high = guess;
        if (low < high - spread && isBefore(items[high - spread]!)) low = high - spread + 1;
      }
    }
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(items[middle]!)) low = middle + 1;
      else high = middle;
    }
    return low - leaf * leafSize;
  }

  /** True when the first keys of a leaf and of the next tell that all items of the leaf have this key. */
  #hasOnly(place: number, key: unknown): boolean {
    const numbers = this.#separatorNumbers;
    const next = place + 1;
    if (next === this.leaves || numbers[place] !== numbers[next]) return false;
    const separators = this.#separators;
    return (
      separators.compareTo(this.directory[place]!, key) === 0 && separators.compareTo(this.directory[next]!, key) === 0
    );
  }

  /**
   * Where a number would be between two items of a leaf without short keys, were the numbers between the first keys of the leaf
   * and of the next spread evenly: each look at another item reads memory that is in no cache.
   */
  #guess(place: number, key: unknown, low: number, high: number): number {
    const numbers = this.#separatorNumbers;
    const first = numbers[place]!;
    const part = (this.#separatorNumber(key) - first) / (numbers[place + 1]! - first);
    return part >= 0 && part < 1 ? low + Math.trunc(part * (high - low)) : (low + high) >>> 1;
  }

  /** By key, then by item. */
  compare(a: number, b: number): number {
    return this.keys.compare(a, b) || a - b;
  }

  insert(item: number, key: unknown = this.keys.get(item)): void {
    this.#leafOf = this.#memory.grown(this.#leafOf, item + 1);
    this.size++;
    if (this.leaves === 0) this.#openLeaf(0);
    const place = this.#placeFor(key, item);
    this.#insertAt(place, this.#indexFor(place, key, item), item, key);
  }

  #insertAt(place: number, at: number, item: number, key: unknown): void {
    const full = this.counts[this.directory[place]!]! === leafSize;
    if (full) {
      this.#openLeaf(place + 1);
      const kept = this.#cutFor(place, at, item);
      this.#moveTail(place, place + 1, kept);
      if (at > kept || (at === kept && kept === leafSize)) return this.#insertAt(place + 1, at - kept, item, key);
    }
    const leaf = this.directory[place]!;
    const base = leaf * leafSize;
    const count = this.counts[leaf]!;
    const { items } = this;
    this.#memory.move(items, base + at + 1, base + at, base + count);
    items[base + at] = item;
    this.counts[leaf] = count + 1;
    this.#leafOf[item] = leaf;
    if (at === 0) this.#setSeparator(place);
    if (place + 1 < this.#validStarts) this.#validStarts = place + 1;
    const shortKeys = this.#shortKeys;
    shortKeys.insert(leaf, base + at, base + count, key);
    if (at === 0) this.previous = place > 0 ? this.#last(place - 1) : none;
    else this.previous = shortKeys.knownDistinct(leaf, base + at - 1) ? none : items[base + at - 1]!;
    if (at === count) this.next = place + 1 < this.leaves ? this.#first(place + 1) : none;
    else this.next = shortKeys.knownDistinct(leaf, base + at) ? none : items[base + at + 1]!;
  }

  /** How many items a full leaf keeps, when a new one comes behind the first `at`. */
  #cutFor(place: number, at: number, item: number): number {
    // The next ones come behind it, where keys or the items of one key only grow: full leaves are left behind.
    if (at === leafSize) return leafSize;
    if (at < leastPart || at > leafSize - leastPart) return leafSize / 2;
    const { items, keys } = this;
    const before = this.directory[place]! * leafSize + at - 1;
    const isEndOfKey = keys.compare(items[before]!, item) === 0 && keys.compare(items[before + 1]!, item) !== 0;
    return isEndOfKey ? at : leafSize / 2;
  }

  #first(place: number): number {
    return this.items[this.directory[place]! * leafSize]!;
  }

  #last(place: number): number {
    const leaf = this.directory[place]!;
    return this.items[leaf * leafSize + this.counts[leaf]! - 1]!;
  }

  remove(item: number): void {
    const place = this.placeOf(item);
    const leaf = this.directory[place]!;
    const base = leaf * leafSize;
    const count = this.counts[leaf]! - 1;
    const at = base + this.#memory.find(this.items, base, base + count + 1, item);
    if (at < base) throw new Error(`the item ${item} is not in its leaf`);
    this.#memory.move(this.items, at, at + 1, base + count + 1);
    this.#shortKeys.remove(leaf, at, base + count + 1);
    this.counts[leaf] = count;
    this.size--;
    if (place + 1 < this.#validStarts) this.#validStarts = place + 1;
    if (mergeChecks.has(count)) this.#merge(place);
  }

  #merge(place: number): void {
    if (this.counts[this.directory[place]!] === 0) return this.#closeLeaf(place);
    for (const left of [place - 1, place]) {
      if (left < 0 || left + 1 >= this.leaves) continue;
      const sum = this.counts[this.directory[left]!]! + this.counts[this.directory[left + 1]!]!;
      if (sum > mergeLimit) continue;
      this.#absorbNext(left);
      return this.#closeLeaf(left + 1);
    }
  }

  /** Moves what lies behind `kept` to the (empty) leaf at another place. */
  #moveTail(place: number, to: number, kept: number): void {
    const source = this.directory[place]!;
    const target = this.directory[to]!;
    const moved = this.counts[source]! - kept;
    this.#memory.move(this.items, target * leafSize, source * leafSize + kept, source * leafSize + kept + moved);
    for (let i = 0; i < moved; i++) this.#leafOf[this.items[target * leafSize + i]!] = target;
    this.counts[source] = kept;
    this.counts[target] = moved;
    this.#shortKeys.split(source, target, kept, moved);
    if (moved > 0) this.#setSeparator(to);
  }

  /** Appends the items of the following leaf. */
  #absorbNext(place: number): void {
    const target = this.directory[place]!;
    const source = this.directory[place + 1]!;
    const end = target * leafSize + this.counts[target]!;
    const moved = this.counts[source]!;
    this.#memory.move(this.items, end, source * leafSize, source * leafSize + moved);
    for (let i = 0; i < moved; i++) this.#leafOf[this.items[end + i]!] = target;
    this.counts[target]! += moved;
    this.#shortKeys.discard(target);
  }

  #openLeaf(place: number): void {
    const leaf = this.#free.pop() ?? this.#used++;
    this.items = this.#memory.grown(this.items, (leaf + 1) * leafSize);
    this.counts = grown(this.counts, leaf + 1);
    this.#places = grown(this.#places, leaf + 1);
    this.#separatorItems = grown(this.#separatorItems, leaf + 1);
    this.#shortKeys.grow(leaf + 1);
    if (leaf === 0x10000 && this.#leafOf instanceof Uint16Array) {
      const wider = this.#memory.array(Uint32Array, this.#leafOf.length);
      wider.set(this.#leafOf);
      this.#memory.free(this.#leafOf);
      this.#leafOf = wider;
    }
    this.directory = grown(this.directory, this.leaves + 1);
    this.#starts = grown(this.#starts, this.leaves + 1);
    this.directory.copyWithin(place + 1, place, this.leaves);
    this.directory[place] = leaf;
    this.#separatorNumbers = grown(this.#separatorNumbers, this.leaves + 1);
    this.#separatorNumbers.copyWithin(place + 1, place, this.leaves);
    this.counts[leaf] = 0;
    this.leaves++;
    this.#validStarts = Math.min(this.#validStarts, place);
    this.#validPlaces = Math.min(this.#validPlaces, place);
  }

  #closeLeaf(place: number): void {
    this.#shortKeys.discard(this.directory[place]!);
    this.#free.push(this.directory[place]!);
    this.directory.copyWithin(place, place + 1, this.leaves);
    this.#separatorNumbers.copyWithin(place, place + 1, this.leaves);
    this.leaves--;
    this.#validStarts = Math.min(this.#validStarts, place);
    this.#validPlaces = Math.min(this.#validPlaces, place);
  }

  #refresh(): void {
    for (let place = this.#validStarts; place < this.leaves; place++) {
      const before = place - 1;
      this.#starts[place] = place === 0 ? 0 : this.#starts[before]! + this.counts[this.directory[before]!]!;
    }
    this.#validStarts = this.leaves;
  }

  #refreshPlaces(): void {
    for (let place = this.#validPlaces; place < this.leaves; place++) this.#places[this.directory[place]!] = place;
    this.#validPlaces = this.leaves;
  }

  /**
   * Copies the items from a rank on, also when items come and go between two pieces: one that stays is met exactly once.
   */
  *pieces(of: string, portion: number, from: number): Pieces {
    // What comes after this piece is new, and not part of the copy.
    if (from === this.size) return void (yield { of, values: new Uint32Array(0) });
    for (let rank = from; rank < this.size; ) {
      const values = new Uint32Array(Math.min(portion, this.size - rank));
      let at = 0;
      this.spans(rank, rank + values.length, (items, begin, end) => {
        values.set(items.subarray(begin, end), at);
        at += end - begin;
      });
      const last = values[at - 1]!;
      const key = this.keys.get(last);
      yield { of, values };
      rank = this.rankAfter(key, last);
    }
  }

  /**
   * Fills the list with items that are in order already, instead of what it held.
   * @param leafOf the leaf of each item, when it is known
   */
  fill(sorted: Uint32Array, count: number, leafOf?: Uint16Array | Uint32Array): void {
    const memory = this.#memory;
    const leaves = Math.ceil(count / bulkFill);
    memory.free(this.items);
    memory.free(this.#leafOf);
    this.items = memory.array(Uint32Array, Math.max(1, leaves) * leafSize);
    this.counts = new Uint16Array(Math.max(1, leaves));
    this.directory = new Uint32Array(Math.max(1, leaves));
    this.#starts = new Uint32Array(Math.max(1, leaves));
    this.#places = new Uint32Array(Math.max(1, leaves));
    this.#leafOf = leafOf
      ? memory.copy(leafOf)
      : leaves > 0x10000
        ? memory.array(Uint32Array, count)
        : memory.array(Uint16Array, count);
    this.size = count;
    this.leaves = leaves;
    this.#used = leaves;
    this.#free = [];
    this.#validStarts = 0;
    this.#validPlaces = 0;
    this.#separatorNumbers = new Float64Array(Math.max(1, leaves));
    this.#separatorPrefix = '';
    this.#separatorItems = new Uint32Array(Math.max(1, leaves));
    this.#shortKeys.grow(leaves);
    for (let leaf = 0; leaf < leaves; leaf++) {
      const from = leaf * bulkFill;
      const to = Math.min(from + bulkFill, count);
      this.items.set(sorted.subarray(from, to), leaf * leafSize);
      this.counts[leaf] = to - from;
      this.directory[leaf] = leaf;
      for (let i = from; i < to && !leafOf; i++) {
        const item = sorted[i]!;
        if (item >= this.#leafOf.length) this.#leafOf = memory.grown(this.#leafOf, item + 1);
        this.#leafOf[item] = leaf;
      }
      this.#storeSeparator(leaf);
      this.#shortKeys.discard(leaf);
    }
    this.#renumberSeparators();
  }
}
