/** Matches anywhere in an order: walked to, or counted along it leaf by leaf. */
import type { ModelIndex } from '../../indexes/model-index.ts';
import type { Order } from '../../indexes/order.ts';
import { leafSize } from '../../indexes/order.ts';
import type { SlotSet } from '../../indexes/slot-set.ts';
import type { Evaluation, Matches } from '../evaluate.ts';
import type { NumberRange } from '../number-range.ts';
import type { Work } from '../work.ts';
import type { RankedMatches } from './contiguous.ts';

/** What finding a place within a leaf costs, in steps of a walk. */
const leafCost = 300;

/** Matches anywhere in the order: a walk that goes on from where it was, and jumps when the way is long. */
export class Scattered implements RankedMatches {
  readonly count: number;
  readonly absent: 0 | 1;
  #bits: Uint32Array | undefined;
  readonly #order: Order;
  readonly #matches: Matches;
  readonly #evaluation: Evaluation;
  readonly #work: Work;
  readonly #index: ModelIndex;
  #borrowed: Uint32Array | undefined;
  /** Objects for each match, on average. */
  readonly #gap: number;
  /** Where the walk is: `#found` matches have a lower rank than `#rank`. */
  #rank = 0;
  #found = 0;
  /** Matches before the leaf at each place, and all of them at the end; once they were counted. */
  #starts: Uint32Array | undefined;

  constructor(order: Order, matches: Matches, evaluation: Evaluation, work: Work, index: ModelIndex) {
    this.#order = order;
    this.#index = index;
    this.#matches = matches;
    this.#evaluation = evaluation;
    this.#work = work;
    this.count = matches.count;
    this.#gap = order.size / matches.count;
    this.absent = matches.negated ? 1 : 0;
  }

  /** Made when they are first asked for; none of a set that would have to be made first. */
  get bits(): Uint32Array | undefined {
    if (this.#bits === undefined && !this.#matches.lazy) this.#bits = this.#bitsOf(this.#matches.set());
    return this.#bits;
  }

  get range(): NumberRange | undefined {
    return this.#matches.range;
  }

  has(slot: number): boolean {
    const { bits } = this;
    return bits ? bitOf(bits, slot) !== this.absent : this.#matches.has(slot);
  }

  /** Gives back what was borrowed. */
  release(): void {
    if (this.#borrowed) this.#evaluation.giveBack(this.#borrowed);
    this.#borrowed = undefined;
  }

  #bitsOf({ words, slots, count }: SlotSet): Uint32Array {
    if (words) return words;
    this.#borrowed ??= markedBits(this.#evaluation.bits(), slots, count);
    return this.#borrowed;
  }

  get counted(): boolean {
    return this.#starts !== undefined;
  }

  /** Whether walking past so many matches costs more than counting all of them along the order. */
  isFar(matches: number): boolean {
    const { lazy, negated } = this.#matches;
    const { size, leaves } = this.#order;
    const set = lazy ? undefined : this.#matches.set();
    const counted = set ? set.count : negated ? size - this.count : this.count;
    // A set that has to be made first costs more. A walk over bits hardly waits for memory, and a count does for each leaf number.
    const each = lazy ? counted * 3 : counted * 2 + Math.min(counted, size / 32) * 4;
    return matches * this.#gap > each + (set?.words?.length ?? 0) / 4 + leaves + 2 * leafCost;
  }

  countLeaves(): void {
    if (this.#starts) return;
    const order = this.#order;
    const set = this.#matches.set();
    this.#work.spend(set.count);
    const starts = order.countByPlace(set);
    const { counts, directory } = order;
    let sum = 0;
    for (let place = 0; place < order.leaves; place++) {
      const inLeaf = starts[place]!;
      starts[place] = sum;
      sum += this.#matches.negated ? counts[directory[place]!]! - inLeaf : inLeaf;
    }
    starts[order.leaves] = sum;
    this.#starts = starts;
  }

  /**
   * The matches, ascending by key, in the leaves that hold `take` of them from the `first` on, and in those into which their equal ranges reach;
   * undefined when these are more than `most`.
   */
  window(first: number, take: number, most: number): { slots: number[]; before: number } | undefined {
    const order = this.#order;
    const starts = this.#starts!;
    let from = this.#placeOfMatch(first);
    let to = this.#placeOfMatch(first + take - 1);
    while (from > 0 && starts[to + 1]! - starts[from]! <= most && order.continuesKey(from)) from--;
    while (to + 1 < order.leaves && starts[to + 1]! - starts[from]! <= most && order.continuesKey(to + 1)) to++;
    if (starts[to + 1]! - starts[from]! > most) return undefined;
    const slots: number[] = [];
    if (!this.#matches.negated && (to - from) * leafSize > this.count * 4) {
      const { leafOf, places } = order.tables;
      this.#matches.set().forEachChunk((portion, count) => {
        for (let i = 0; i < count; i++) {
          const place = places[leafOf[portion[i]!]!]!;
          if (place >= from && place <= to) slots.push(portion[i]!);
        }
      });
      slots.sort((a, b) => order.compare(a, b));
      this.#work.spend(this.count);
      return { slots, before: starts[from]! };
    }
    const { items, counts, directory } = order;
    const { absent } = this;
    // Once matches are counted, their set is made.
    const bits = this.bits ?? this.#bitsOf(this.#matches.set());
    for (let place = from; place <= to; place++) {
      if (starts[place + 1] === starts[place]) continue;
      const base = directory[place]! * leafSize;
      const end = base + counts[directory[place]!]!;
      for (let at = base; at < end; at++) if (bitOf(bits, items[at]!) !== absent) slots.push(items[at]!);
      this.#work.spend(leafSize);
    }
    return { slots, before: starts[from]! };
  }

  /** Place of the leaf with the j-th match. */
  #placeOfMatch(j: number): number {
    const starts = this.#starts!;
    let low = 0;
    let high = this.#order.leaves;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (starts[middle]! <= j) low = middle;
      else high = middle;
    }
    return low;
  }

  select(j: number): number {
    const here = Math.abs(j - this.#found);
    const nearest = Math.min(here, j, this.count - j);
    if (nearest * this.#gap > leafCost && this.#starts) this.#jump(this.#placeOfMatch(j));
    else if (nearest < here && nearest === j) this.#jumpTo(0, 0);
    else if (nearest < here) this.#jumpTo(this.#order.size, this.count);
    if (j < this.#found) this.#back(0, j);
    else this.#forth(this.#order.size, j);
    return this.#rank;
  }

  countBefore(rank: number): number {
    const { size } = this.#order;
    const here = Math.abs(rank - this.#rank);
    const nearest = Math.min(here, rank, size - rank);
    if (nearest > leafCost && this.#starts) this.#jump(this.#order.placeAt(rank));
    else if (nearest < here && nearest === rank) this.#jumpTo(0, 0);
    else if (nearest < here) this.#jumpTo(size, this.count);
    if (rank < this.#rank) this.#back(rank, -1);
    else this.#forth(rank, this.count);
    return this.#found;
  }

  #jump(place: number): void {
    this.#jumpTo(this.#order.starts[place]!, this.#starts![place]!);
  }

  #jumpTo(rank: number, found: number): void {
    this.#rank = rank;
    this.#found = found;
  }

  /** Whether so many matches are likely not in one leaf: then all of a leaf are counted at once, without a branch for each item. */
  #isFarIn(matches: number): boolean {
    return this.bits !== undefined && matches * this.#gap > leafSize / 2;
  }

  /** Number of matches from a place in the items of the order up to another. */
  #countAmong(from: number, to: number): number {
    const bits = this.#wholeBits();
    const found = this.#index.memory.countAmong(bits, this.#order.items, from, to);
    return this.absent === 1 ? to - from - found : found;
  }

  /** The bits, with one for each item of the order: a set may end before. */
  #wholeBits(): Uint32Array {
    const bits = this.bits!;
    if (bits.length * 32 >= this.#index.limit) return bits;
    this.#borrowed = this.#evaluation.bits();
    this.#index.memory.unite(this.#borrowed, bits);
    this.#bits = this.#borrowed;
    return this.#borrowed;
  }

  /** Goes on to a rank, or to the j-th match when that comes first. */
  #forth(to: number, j: number): void {
    if (this.#rank >= to) return;
    const { items, counts, directory, starts } = this.#order;
    let place = this.#order.placeAt(this.#rank);
    let at = this.#rank - starts[place]!;
    let found = this.#found;
    for (let left = to - this.#rank; left > 0; place++, at = 0) {
      const base = directory[place]! * leafSize;
      const from = at;
      const end = Math.min(counts[directory[place]!]!, at + left);
      if (this.#isFarIn(j - found)) {
        const passed = this.#countAmong(base + at, base + end);
        if (found + passed <= j) {
          found += passed;
          at = end;
        }
      }
      for (; at < end; at++) {
        if (!this.has(items[base + at]!)) continue;
        if (found === j) {
          this.#work.spend(at - from);
          return this.#jumpTo(starts[place]! + at, found);
        }
        found++;
      }
      left -= end - from;
      this.#work.spend(end - from);
    }
    this.#jumpTo(to, found);
  }

  /** Goes back to a rank, or to the j-th match when that comes first. */
  #back(to: number, j: number): void {
    const { items, counts, directory, starts } = this.#order;
    if (this.#rank <= to) return;
    let place = this.#order.placeAt(this.#rank - 1);
    let at = this.#rank - 1 - starts[place]!;
    let found = this.#found;
    for (let left = this.#rank - to; left > 0; ) {
      const base = directory[place]! * leafSize;
      const from = at;
      const end = Math.max(-1, at - left);
      if (this.#isFarIn(found - 1 - j)) {
        const passed = this.#countAmong(base + end + 1, base + at + 1);
        if (found - passed > j) {
          found -= passed;
          at = end;
        }
      }
      for (; at > end; at--) {
        if (!this.has(items[base + at]!)) continue;
        found--;
        if (found === j) {
          this.#work.spend(from - at);
          return this.#jumpTo(starts[place]! + at, found);
        }
      }
      left -= from - end;
      this.#work.spend(from - end);
      place--;
      if (place >= 0) at = counts[directory[place]!]! - 1;
    }
    this.#jumpTo(to, found);
  }
}

function markedBits(bits: Uint32Array, slots: Uint32Array, count: number): Uint32Array {
  for (let i = 0; i < count; i++) bits[slots[i]! >>> 5]! |= 1 << (slots[i]! & 31);
  return bits;
}

export function bitOf(bits: Uint32Array, slot: number): number {
  return slot >>> 5 < bits.length ? (bits[slot >>> 5]! >>> (slot & 31)) & 1 : 0;
}
