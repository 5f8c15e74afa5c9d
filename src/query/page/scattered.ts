/** Matches anywhere in an order: walked to, or counted along it leaf by leaf. */
import type { Order } from '../../indexes/order.ts';
import { leafSize } from '../../indexes/order.ts';
import type { SlotSet } from '../../indexes/slot-set.ts';
import type { Evaluation, Matches } from '../evaluate.ts';
import type { Work } from '../work.ts';
import type { RankedMatches } from './contiguous.ts';

/** What finding a place within a leaf costs, in steps of a walk. */
const leafCost = 300;

/** Matches anywhere in the order: a walk that goes on from where it was, and jumps when the way is long. */
export class Scattered implements RankedMatches {
  readonly count: number;
  readonly has: (slot: number) => boolean;
  readonly bits: Uint32Array | undefined;
  readonly absent: 0 | 1;
  readonly #order: Order;
  readonly #matches: Matches;
  readonly #evaluation: Evaluation;
  readonly #work: Work;
  #borrowed: Uint32Array<ArrayBuffer> | undefined;
  /** Objects for each match, on average. */
  readonly #gap: number;
  /** Where the walk is: `#found` matches have a lower rank than `#rank`. */
  #rank = 0;
  #found = 0;
  /** Matches before the leaf at each place, and all of them at the end; once they were counted. */
  #starts: Uint32Array | undefined;

  constructor(order: Order, matches: Matches, evaluation: Evaluation, work: Work) {
    this.#order = order;
    this.#matches = matches;
    this.#evaluation = evaluation;
    this.#work = work;
    this.count = matches.count;
    this.#gap = order.size / matches.count;
    this.bits = matches.lazy ? undefined : this.#bitsOf(matches.set());
    this.absent = matches.negated ? 1 : 0;
    const { bits, absent } = this;
    this.has = bits ? (slot) => bitOf(bits, slot) !== absent : (slot) => matches.has(slot);
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
    // A set that has to be made first costs more, and a bitmap is read whole.
    const { lazy, negated } = this.#matches;
    const set = lazy ? undefined : this.#matches.set();
    const counted = set ? set.count : negated ? this.#order.size - this.count : this.count;
    const counting = counted * (lazy ? 3 : 1) + (set?.words?.length ?? 0) / 4 + this.#order.leaves;
    return matches * this.#gap > counting + 2 * leafCost;
  }

  countLeaves(): void {
    if (this.#starts) return;
    const order = this.#order;
    const starts = new Uint32Array(order.leaves + 1);
    const { leafOf, places } = order.tables;
    const set = this.#matches.set();
    this.#work.spend(set.count);
    set.forEachChunk((slots, count) => {
      for (let i = 0; i < count; i++) starts[places[leafOf[slots[i]!]!]!]!++;
    });
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

function markedBits(bits: Uint32Array<ArrayBuffer>, slots: Uint32Array, count: number): Uint32Array<ArrayBuffer> {
  for (let i = 0; i < count; i++) bits[slots[i]! >>> 5]! |= 1 << (slots[i]! & 31);
  return bits;
}

export function bitOf(bits: Uint32Array, slot: number): number {
  return slot >>> 5 < bits.length ? (bits[slot >>> 5]! >>> (slot & 31)) & 1 : 0;
}
