/**
 * A set of slots (dense numbers of objects): a sorted array while it is sparse, a bitmap when more than one slot in 64 is in it.
 * Both forms answer membership and give the exact count at once.
 */
import { grown } from './arrays.ts';

/** What `forEachChunk` hands out at a time, with room for the last word. */
const chunkSize = 4_096;
const chunk = new Uint32Array(chunkSize + 32);

/** Smaller sets are never bitmaps. */
const leastForBitmap = 128;

export class SlotSet {
  count = 0;
  /** The bitmap, or undefined. Slots beyond its end are not in the set. */
  words: Uint32Array<ArrayBuffer> | undefined;
  /** Without a bitmap: the first `count` are the slots, ascending. */
  slots: Uint32Array<ArrayBuffer>;

  constructor(slots: Uint32Array<ArrayBuffer> = new Uint32Array(4), count = 0) {
    this.slots = slots;
    this.count = count;
  }

  /** Takes over the bitmap. */
  static ofWords(words: Uint32Array<ArrayBuffer>, count = countBits(words, words.length)): SlotSet {
    const set = new SlotSet(noSlots, count);
    set.words = words;
    return set;
  }

  /** Takes over the slots, which are ascending. */
  static ofSlots(slots: Uint32Array<ArrayBuffer>): SlotSet {
    const set = new SlotSet(slots, slots.length);
    if (set.count > leastForBitmap && set.count * 64 > slots[set.count - 1]!) set.#toBitmap();
    return set;
  }

  /** A set of its own with what is marked in the bitmap, in the form that suits it. */
  static copyOf(bits: Uint32Array, count = countBits(bits, bits.length)): SlotSet {
    if (count > leastForBitmap && count * 2 > bits.length) return SlotSet.ofWords(bits.slice(), count);
    const slots = new Uint32Array(Math.max(count, 4));
    let found = 0;
    for (let at = 0; found < count; at++) {
      for (let word = bits[at]! | 0; word !== 0; word &= word - 1)
        slots[found++] = at * 32 + 31 - Math.clz32(word & -word);
    }
    return new SlotSet(slots, count);
  }

  has(slot: number): boolean {
    const { words } = this;
    if (words) return slot >>> 5 < words.length && ((words[slot >>> 5]! >>> (slot & 31)) & 1) === 1;
    const at = this.#search(slot);
    return at < this.count && this.slots[at] === slot;
  }

  /** Becomes the other set, which nobody uses any more. */
  take(other: SlotSet): void {
    this.count = other.count;
    this.words = other.words;
    this.slots = other.slots;
  }

  /** False when it was there already. */
  add(slot: number): boolean {
    if (this.words) {
      const at = slot >>> 5;
      if (at >= this.words.length) this.words = grown(this.words, at + 1);
      const bit = 1 << (slot & 31);
      if (this.words[at]! & bit) return false;
      this.words[at]! |= bit;
      this.count++;
      return true;
    }
    const at = this.#search(slot);
    if (at < this.count && this.slots[at] === slot) return false;
    this.slots = grown(this.slots, this.count + 1);
    this.slots.copyWithin(at + 1, at, this.count);
    this.slots[at] = slot;
    this.count++;
    if (this.count > leastForBitmap && this.count * 64 > this.slots[this.count - 1]!) this.#toBitmap();
    return true;
  }

  /** False when it was not there. */
  remove(slot: number): boolean {
    if (this.words) {
      const at = slot >>> 5;
      const bit = 1 << (slot & 31);
      if (at >= this.words.length || !(this.words[at]! & bit)) return false;
      this.words[at]! &= ~bit;
      this.count--;
      if (this.count * 4 < this.words.length || this.count < leastForBitmap / 2) this.#toArray();
      return true;
    }
    const at = this.#search(slot);
    if (at >= this.count || this.slots[at] !== slot) return false;
    this.slots.copyWithin(at, at + 1, this.count);
    this.count--;
    return true;
  }

  /**
   * The slots, ascending, some thousands at a time; the array is only good during the call, which must not start another.
   * The first two bits of a word are extracted branch-free: these branches mispredict about half the time.
   */
  forEachChunk(visit: (slots: Uint32Array, count: number) => void): void {
    const { words } = this;
    if (!words) return visit(this.slots, this.count);
    const slots = chunk;
    let count = 0;
    for (let at = 0; at < words.length; at++) {
      let word = words[at]! | 0;
      slots[count] = at * 32 + 31 - Math.clz32(word & -word);
      count += (word | -word) >>> 31;
      word &= word - 1;
      slots[count] = at * 32 + 31 - Math.clz32(word & -word);
      count += (word | -word) >>> 31;
      word &= word - 1;
      for (; word !== 0; word &= word - 1) slots[count++] = at * 32 + 31 - Math.clz32(word & -word);
      if (count < chunkSize) continue;
      visit(slots, count);
      count = 0;
    }
    visit(slots, count);
  }

  /** Index of the first slot that is not smaller. */
  #search(slot: number): number {
    const { slots } = this;
    let low = 0;
    let high = this.count;
    if (high > 0 && slots[high - 1]! < slot) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (slots[middle]! < slot) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #toBitmap(): void {
    const { slots, count } = this;
    const words = new Uint32Array((slots[count - 1]! >>> 5) + 1);
    for (let i = 0; i < count; i++) words[slots[i]! >>> 5]! |= 1 << (slots[i]! & 31);
    this.words = words;
    this.slots = noSlots;
  }

  #toArray(): void {
    const slots = new Uint32Array(this.count);
    let at = 0;
    this.forEachChunk((chunk, count) => {
      slots.set(chunk.subarray(0, count), at);
      at += count;
    });
    this.slots = slots;
    this.words = undefined;
  }
}

const noSlots = new Uint32Array(0);

export function bitsOf(word: number): number {
  let v = word - ((word >>> 1) & 0x55555555);
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

type Words = Uint32Array;

/** What is in both, into `result`; gives the count. The result may be one of the two. */
export function intersectTwo(a: Words, b: Words, result: Words): number {
  const length = Math.min(a.length, b.length, result.length);
  let count = 0;
  for (let i = 0; i < length; i++) {
    const word = a[i]! & b[i]!;
    result[i] = word;
    count += bitsOf(word);
  }
  result.fill(0, length);
  return count;
}

/** In one pass, which costs hardly more than with two. */
export function intersectThree(a: Words, b: Words, c: Words, result: Words): number {
  const length = Math.min(a.length, b.length, c.length, result.length);
  let count = 0;
  for (let i = 0; i < length; i++) {
    const word = a[i]! & b[i]! & c[i]!;
    result[i] = word;
    count += bitsOf(word);
  }
  result.fill(0, length);
  return count;
}

/** What is in the first and not in the second, into `result`; gives the count. The result may be the first. */
export function subtract(a: Words, b: Words, result: Words): number {
  const length = Math.min(a.length, result.length);
  const both = Math.min(length, b.length);
  let count = 0;
  for (let i = 0; i < both; i++) {
    const word = a[i]! & ~b[i]!;
    result[i] = word;
    count += bitsOf(word);
  }
  for (let i = both; i < length; i++) {
    result[i] = a[i]!;
    count += bitsOf(a[i]!);
  }
  return count;
}

/** Number of one bits in the first `length` words. */
export function countBits(words: Uint32Array, length: number): number {
  let count = 0;
  for (let i = 0; i < length; i++) count += bitsOf(words[i]!);
  return count;
}
