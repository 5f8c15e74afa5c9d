/**
 * The matches in the order of a sort, page by page. The order of the first field is walked from wherever is nearest; when that
 * would be far, the matches are counted along the order, leaf by leaf, and only the leaves of the page are looked at. Among equal
 * keys the matches come in the order of the further fields, and in that of the names at last, which no order keeps but that of
 * the names: few are compared, many are the matches of a pager of their own.
 */
import { nameField } from '../../indexes/field.ts';
import type { ModelIndex } from '../../indexes/model-index.ts';
import type { Order } from '../../indexes/order.ts';
import { leafSize } from '../../indexes/order.ts';
import { SlotSet } from '../../indexes/slot-set.ts';
import type { BoundSort } from '../bind.ts';
import type { Evaluation, Matches } from '../evaluate.ts';
import type { Work } from '../work.ts';
import type { RankedMatches } from './contiguous.ts';
import { Contiguous } from './contiguous.ts';
import { bitOf, Scattered } from './scattered.ts';

/** `index`: the page is a part of the order; `walk`: along the order, testing; `rank`: matches counted along the order; `sort`: by comparison. */
export type Strategy = 'none' | 'index' | 'walk' | 'rank' | 'sort';

/** Up to so many objects, and equal ranges of so many items, are sorted by comparison. */
const fewObjects = 128;

/** Matches that are collected along the order at a time. */
const atOnce = 1024;

const byName: BoundSort = { field: nameField, descending: false };
const onlyName: readonly BoundSort[] = [byName];
const none: readonly BoundSort[] = [];

/** The matches of one key, in the order of the remaining fields. */
interface EqualRange {
  /** Matches before them in the order of the sort. */
  readonly earlier: number;
  readonly count: number;
  readonly pager: Pager;
}

export class Pager {
  strategy: Strategy = 'none';
  readonly #index: ModelIndex;
  readonly #evaluation: Evaluation;
  readonly #work: Work;
  readonly #matches: Matches;
  readonly #first: BoundSort;
  /** The remaining fields; empty when the first is the name. */
  readonly #rest: readonly BoundSort[];
  readonly #order: Order;
  /** Where the matches are in the order; undefined until a page is not sorted by comparison. */
  #ranked: Contiguous | Scattered | undefined;
  /** The long equal range that a page was taken from last. */
  #equal: EqualRange | undefined;
  /** Bits of the matches, when they are this pager's own. */
  readonly #owned: Uint32Array | undefined;

  /** @param range where the matches are all objects between two ranks of the first field's order: these */
  constructor(
    index: ModelIndex,
    evaluation: Evaluation,
    work: Work,
    matches: Matches,
    sort: readonly BoundSort[],
    range?: readonly [low: number, high: number],
    owned?: Uint32Array,
  ) {
    this.#index = index;
    this.#evaluation = evaluation;
    this.#work = work;
    this.#matches = this.#compact(matches);
    this.#first = sort[0]!;
    this.#rest = restOf(sort);
    this.#order = index.fields[this.#first.field]!.sortOrder(this.#first.descending);
    this.#owned = owned;
    if (range) this.#ranked = new Contiguous(range[0], range[1]);
    else if (matches.negated && !matches.lazy && matches.set().count === 0) {
      this.#ranked = new Contiguous(0, this.#order.size);
    }
  }

  /** Slots of the page, in order. */
  page(offset: number, limit: number): number[] {
    const matches = this.#matches;
    const take = Math.min(limit, matches.count - offset);
    if (take <= 0) return [];
    if (this.#ranked instanceof Contiguous) {
      this.strategy = 'index';
      return this.#along(this.#ranked, offset, take);
    }
    if (matches.count <= fewObjects / 2 && !matches.negated) {
      this.strategy = 'sort';
      return this.#sorted(slotsOf(matches.set()), [this.#first, ...this.#rest]).slice(offset, offset + take);
    }
    this.#ranked ??= new Scattered(this.#order, matches, this.#evaluation, this.#work, this.#index);
    const scattered = this.#ranked;
    if (scattered.isFar(Math.min(offset, matches.count - offset - take) + take)) {
      // A count looks at each leaf of the order; of fewer matches, those of a page near the beginning are found by comparison.
      if (matches.count <= this.#order.leaves && offset + take <= fewObjects / 2 && !matches.negated) {
        this.strategy = 'sort';
        return this.#smallest(slotsOf(matches.set()), offset + take).slice(offset);
      }
      scattered.countLeaves();
      const slots = this.#window(scattered, offset, take);
      if (slots) return slots;
    }
    const found = this.#along(scattered, offset, take);
    this.strategy = scattered.counted ? 'rank' : 'walk';
    return found;
  }

  /** Gives back what was borrowed for these matches; they are no longer good. */
  release(): void {
    this.#equal?.pager.release();
    if (this.#ranked instanceof Scattered) this.#ranked.release();
    if (this.#owned) this.#evaluation.giveBack(this.#owned);
  }

  #sorted(slots: number[], sort: readonly BoundSort[]): number[] {
    this.#work.spend(slots.length);
    return slots.sort(this.#comparison(sort));
  }

  /** The first so many in order. */
  #smallest(slots: number[], wanted: number): number[] {
    this.#work.spend(slots.length);
    const compare = this.#comparison([this.#first, ...this.#rest]);
    const found: number[] = [];
    // New objects mostly have the larger slots, so that of the newest first few come late.
    if (this.#first.descending) slots.reverse();
    for (const slot of slots) {
      if (found.length === wanted) {
        if (compare(slot, found[wanted - 1]!) > 0) continue;
        found.pop();
      }
      let [low, high] = [0, found.length];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (compare(found[middle]!, slot) < 0) low = middle + 1;
        else high = middle;
      }
      found.splice(low, 0, slot);
    }
    return found;
  }

  #comparison(sort: readonly BoundSort[]): (a: number, b: number) => number {
    const { fields } = this.#index;
    const columns = sort.map(({ field, descending }) => ({ keys: fields[field]!.sortKeys(descending), descending }));
    return (a, b) => {
      for (const { keys, descending } of columns) {
        const result = keys.compare(a, b);
        if (result !== 0) return descending ? -result : result;
      }
      return 0;
    };
  }

  /** The page from the few matches in its leaves and the equal ranges these cut; undefined when they are not few. */
  #window(scattered: Scattered, offset: number, take: number): number[] | undefined {
    const { descending } = this.#first;
    const first = descending ? scattered.count - offset - take : offset;
    const window = scattered.window(first, take, fewObjects);
    if (!window) return undefined;
    this.strategy = 'rank';
    const { slots, before } = window;
    if (descending) slots.reverse();
    const skip = descending ? before + slots.length - first - take : first - before;
    let from = skip;
    while (from > 0 && this.#order.keys.compare(slots[from - 1]!, slots[skip]!) === 0) from--;
    this.#arrange(slots, from, skip + take);
    return slots.slice(skip, skip + take);
  }

  /**
   * Puts the equal ranges among some of the slots, which are in the order of the first field, in the order of the others.
   * Stops before a long one; gives where.
   */
  #arrange(slots: number[], from: number, to: number): number {
    if (this.#rest.length === 0) return to;
    const { keys } = this.#order;
    let start = from;
    while (start < to) {
      let end = start + 1;
      while (end < slots.length && keys.compare(slots[start]!, slots[end]!) === 0) end++;
      if (end - start > fewObjects) return start;
      if (end - start > 1) {
        const equal = this.#sorted(slots.slice(start, end), this.#rest);
        for (let i = 0; i < equal.length; i++) slots[start + i] = equal[i]!;
      }
      start = end;
    }
    return to;
  }

  #along(matches: RankedMatches, offset: number, take: number): number[] {
    const found: number[] = [];
    while (found.length < take) {
      const next = offset + found.length;
      const wanted = take - found.length;
      const equal = this.#equal;
      if (equal && next >= equal.earlier && next < equal.earlier + equal.count) {
        for (const slot of equal.pager.page(next - equal.earlier, wanted)) found.push(slot);
        continue;
      }
      const rank = matches.select(this.#first.descending ? matches.count - 1 - next : next);
      if (!this.#walk(matches, rank, wanted, found)) this.#inRange(matches, rank, next, wanted, found);
    }
    return found;
  }

  /**
   * Collects matches from a rank on in the direction of the sort, at most so many, up to a long equal range.
   * False when that begins at the rank, or the rank is within an equal range.
   */
  #walk(matches: RankedMatches, rank: number, most: number, found: number[]): boolean {
    const order = this.#order;
    const first = found.length;
    const take = Math.min(most, atOnce);
    const next = this.#collect(matches, rank, take, found);
    if (this.#rest.length === 0) return true;
    const step = this.#first.descending ? -1 : 1;
    let end = first;
    if (!this.#isEqual(rank - step, found[first]!)) {
      const last = found[found.length - 1]!;
      if (this.#isEqual(next + step * fewObjects, last)) {
        while (found.length > first && order.keys.compare(found[found.length - 1]!, last) === 0) found.pop();
      } else {
        for (let at = next; this.#isEqual(at, last); at += step)
          if (matches.has(order.at(at))) found.push(order.at(at));
      }
      end = this.#arrange(found, first, Math.min(found.length, first + take));
    }
    found.length = end;
    return end > first;
  }

  /** Collects so many matches from a rank on in the direction of the sort; gives the rank behind them. */
  #collect(matches: RankedMatches, rank: number, take: number, found: number[]): number {
    const { items, counts, directory, starts, leaves, size } = this.#order;
    const { bits, absent, range } = matches;
    const isAll = matches instanceof Contiguous;
    const step = this.#first.descending ? -1 : 1;
    const enough = found.length + take;
    let place = this.#order.placeAt(rank);
    let base = directory[place]! * leafSize;
    let at = base + rank - starts[place]!;
    for (;;) {
      const from = at;
      const end = step > 0 ? base + counts[directory[place]!]! : base - 1;
      if (bits) {
        for (; at !== end && found.length < enough; at += step) {
          if (bitOf(bits, items[at]!) !== absent) found.push(items[at]!);
        }
      } else if (isAll) {
        for (; at !== end && found.length < enough; at += step) found.push(items[at]!);
      } else if (range) {
        const { values, low, high } = range;
        for (; at !== end && found.length < enough; at += step) {
          const value = values[items[at]!]!;
          if (value >= low && value <= high) found.push(items[at]!);
        }
      } else {
        for (; at !== end && found.length < enough; at += step) if (matches.has(items[at]!)) found.push(items[at]!);
      }
      this.#work.spend(Math.abs(at - from));
      if (found.length === enough) return starts[place]! + at - base;
      place += step;
      if (place < 0 || place >= leaves) return step > 0 ? size : -1;
      base = directory[place]! * leafSize;
      at = step > 0 ? base : base + counts[directory[place]!]! - 1;
    }
  }

  /** Whether there is an item at this rank, with the key of this one. */
  #isEqual(rank: number, slot: number): boolean {
    const order = this.#order;
    return rank >= 0 && rank < order.size && order.keys.compare(order.at(rank), slot) === 0;
  }

  /** Collects matches of the equal range around a rank, in the order of the remaining fields. */
  #inRange(matches: RankedMatches, rank: number, next: number, wanted: number, found: number[]): void {
    const order = this.#order;
    const { field, descending } = this.#first;
    const slot = order.at(rank);
    const { withoutKey } = this.#index.fields[field]!;
    const [low, high] = order.keys.has(slot) ? order.equalRange(slot) : [0, withoutKey.count];
    const from = matches.countBefore(low);
    const to = matches.countBefore(high);
    const count = to - from;
    const earlier = descending ? matches.count - to : from;
    if (count > fewObjects) {
      this.#equal?.pager.release();
      this.#equal = { earlier, count, pager: this.#pagerOf(matches, low, high, count) };
      return;
    }
    const slots: number[] = [];
    this.#collect(matches, matches.select(descending ? to - 1 : from), count, slots);
    const skip = next - earlier;
    for (const one of this.#sorted(slots, this.#rest).slice(skip, skip + wanted)) found.push(one);
  }

  /** Few matches in a large bitmap are read from it once. */
  #compact(matches: Matches): Matches {
    if (matches.lazy || matches.negated) return matches;
    const { words, count } = matches.set();
    if (!words || count * 16 > words.length) return matches;
    const set = SlotSet.copyOf(this.#index.memory, words, count);
    return { ...matches, has: (slot) => set.has(slot), set: () => set };
  }

  /** The matches between two ranks, which have the same key. */
  #pagerOf(matches: RankedMatches, low: number, high: number, count: number): Pager {
    const index = this.#index;
    const field = index.fields[this.#first.field]!;
    let set: SlotSet | undefined;
    let owned: Uint32Array | undefined;
    const slot = this.#order.at(low);
    // The postings of a multi-value field are of all its keys, not of the smallest or the largest.
    if (!this.#order.keys.has(slot)) set = field.withoutKey;
    else if (!field.slotOfItem) {
      this.#work.spend(high - low);
      set = field.postings(field.column.get(slot), low, high, index.limit);
    }
    if (!(matches instanceof Contiguous)) {
      const { bits } = matches;
      if (set?.words && bits) {
        owned = this.#evaluation.usedBits();
        if (matches.absent === 1) index.memory.subtract(set.words, bits, owned);
        else index.memory.intersect(set.words, bits, bits, owned);
        set = SlotSet.ofWords(index.memory, owned, count);
      } else set = undefined;
    }
    set ??= new SlotSet(index.memory, this.#slotsBetween(matches, low, high, count), count);
    const found = set;
    const inner: Matches = { count, negated: false, lazy: false, has: (slot) => found.has(slot), set: () => found };
    return new Pager(index, this.#evaluation, this.#work, inner, this.#rest, undefined, owned);
  }

  /** Items of one key stand by slot. */
  #slotsBetween(matches: RankedMatches, low: number, high: number, count: number): Uint32Array<ArrayBuffer> {
    const slots = new Uint32Array(count);
    let found = 0;
    this.#order.spans(low, high, (items, from, to) => {
      this.#work.spend(to - from);
      for (let at = from; at < to; at++) {
        slots[found] = items[at]!;
        if (matches.has(items[at]!)) found++;
      }
    });
    return slots;
  }
}

/** The fields behind the first, up to the name, which comes last where the sort does not have it. */
function restOf(sort: readonly BoundSort[]): readonly BoundSort[] {
  if (sort[0]!.field === nameField) return none;
  if (sort.length === 1) return onlyName;
  for (let i = 1; i < sort.length; i++) if (sort[i]!.field === nameField) return sort.slice(1, i + 1);
  return [...sort.slice(1), byName];
}

function slotsOf(set: SlotSet): number[] {
  const slots: number[] = [];
  set.forEachChunk((chunk, count) => {
    for (let i = 0; i < count; i++) slots.push(chunk[i]!);
  });
  return slots;
}
