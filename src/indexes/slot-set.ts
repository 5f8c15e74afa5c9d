/**
 * A set of slots (dense numbers of objects): a sorted array while it is sparse, a bitmap when more than one slot in 64 is in it.
 * Both forms answer membership and give the exact count at once.
 */
import { grown } from './arrays.ts';
import type { IndexMemory } from './memory/index-memory.ts';

/** Smaller sets are never bitmaps. */
const leastForBitmap = 128;

export class SlotSet {
  count = 0;
  /** The bitmap, or undefined; an array of the memory. Slots beyond its end are not in the set. */
  words: Uint32Array | undefined;
  /** Without a bitmap: the first `count` are the slots, ascending. */
  slots: Uint32Array<ArrayBuffer>;
  readonly #memory: IndexMemory;

  constructor(memory: IndexMemory, slots: Uint32Array<ArrayBuffer> = new Uint32Array(4), count = 0) {
    this.#memory = memory;
    this.slots = slots;
    this.count = count;
  }

  /** Takes over the bitmap. */
  static ofWords(memory: IndexMemory, words: Uint32Array, count = memory.count(words)): SlotSet {
    const set = new SlotSet(memory, noSlots, count);
    set.words = words;
    return set;
  }

  /** Takes over the slots, which are ascending. */
  static ofSlots(memory: IndexMemory, slots: Uint32Array<ArrayBuffer>): SlotSet {
    const set = new SlotSet(memory, slots, slots.length);
    if (set.count > leastForBitmap && set.count * 64 > slots[set.count - 1]!) set.#toBitmap();
    return set;
  }

  /** A set of its own with what is marked in the bitmap, in the form that suits it. */
  static copyOf(memory: IndexMemory, bits: Uint32Array, count = memory.count(bits)): SlotSet {
    if (count > leastForBitmap && count * 2 > bits.length) return SlotSet.ofWords(memory, memory.copy(bits), count);
    return SlotSet.inAll(memory, bits, bits, bits, count);
  }

  /** The slots that are in all three bitmaps, as an array. @param expected about how many these are */
  static inAll(memory: IndexMemory, a: Uint32Array, b: Uint32Array, c: Uint32Array, expected: number): SlotSet {
    let slots = new Uint32Array(Math.max(expected, 4));
    let found = 0;
    memory.forEachChunk(a, b, c, (chunk, count) => {
      slots = grown(slots, found + count);
      for (let i = 0; i < count; i++) slots[found++] = chunk[i]!;
    });
    return new SlotSet(memory, slots, found);
  }

  has(slot: number): boolean {
    const { words } = this;
    if (words) return slot >>> 5 < words.length && ((words[slot >>> 5]! >>> (slot & 31)) & 1) === 1;
    const at = this.#search(slot);
    return at < this.count && this.slots[at] === slot;
  }

  /** Becomes the other set, which nobody uses any more. */
  take(other: SlotSet): void {
    if (this.words) this.#memory.free(this.words);
    this.count = other.count;
    this.words = other.words;
    this.slots = other.slots;
  }

  /** False when it was there already. */
  add(slot: number): boolean {
    if (this.words) {
      const at = slot >>> 5;
      if (at >= this.words.length) this.words = this.#memory.grown(this.words, at + 1);
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

  /** The slots, ascending, some thousands at a time; the array is only good during the call, which must not start another. */
  forEachChunk(visit: (slots: Uint32Array, count: number) => void): void {
    const { words } = this;
    if (words) this.#memory.forEachChunk(words, words, words, visit);
    else visit(this.slots, this.count);
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
    const words = this.#memory.array(Uint32Array, (slots[count - 1]! >>> 5) + 1);
    for (let i = 0; i < count; i++) words[slots[i]! >>> 5]! |= 1 << (slots[i]! & 31);
    this.words = words;
    this.slots = noSlots;
  }

  #toArray(): void {
    const words = this.words!;
    this.slots = SlotSet.inAll(this.#memory, words, words, words, this.count).slots;
    this.words = undefined;
    this.#memory.free(words);
  }
}

const noSlots = new Uint32Array(0);
