/**
 * One page of the matches in the order of a sort. The order of the first field is walked from wherever is nearest; when that
 * would be far, the matches are counted along the order, leaf by leaf, and only the leaves of the page are looked at.
 */
import type { Keys } from '../indexes/column.ts';
import type { ModelIndex } from '../indexes/model-index.ts';
import type { Order } from '../indexes/order.ts';
import { leafSize } from '../indexes/order.ts';
import { SlotSet } from '../indexes/slot-set.ts';
import { compareText } from '../model/key.ts';
import type { BoundSort } from './bind.ts';
import type { Evaluation, Matches } from './evaluate.ts';
import type { Work } from './work.ts';

/** `index`: the page is a part of the order; `walk`: along the order, testing; `rank`: matches counted along the order; `sort`: by comparison. */
export type Strategy = 'none' | 'index' | 'walk' | 'rank' | 'sort';

/** Matches along an order; ranks are the order's own. */
interface Members {
  readonly count: number;
  has(slot: number): boolean;
  /** The same as bits, where there are any: a match is a slot whose bit is not `absent`. */
  readonly bits: Uint32Array | undefined;
  readonly absent: 0 | 1;
  /** Rank of the j-th match, j from 0. */
  select(j: number): number;
  /** Matches of lower rank. */
  before(rank: number): number;
}

/** Up to so many objects are sorted by comparison. */
const fewObjects = 128;
/** Matches of one key from which on a run is found by a search. */
const longRun = 64;
/** What finding a place within a leaf costs, in steps of a walk. */
const leafCost = 300;

export class Pager {
  strategy: Strategy = 'none';
  readonly #index: ModelIndex;
  readonly #evaluation: Evaluation;
  readonly #work: Work;

  constructor(index: ModelIndex, evaluation: Evaluation, work: Work) {
    this.#index = index;
    this.#evaluation = evaluation;
    this.#work = work;
  }

  /**
   * Slots of the page, in order.
   * @param ranks where the matches are all objects between two ranks of the first field's order: these
   */
  page(
    given: Matches,
    sort: readonly BoundSort[],
    offset: number,
    limit: number,
    ranks?: readonly [low: number, high: number],
  ): number[] {
    const take = Math.min(limit, given.count - offset);
    if (take <= 0) return [];
    const matches = compact(given);
    const { field, descending } = sort[0]!;
    const order = this.#index.fields[field]!.sorted(descending);
    if (ranks) return this.#along(order, new Contiguous(ranks[0], ranks[1]), 'index', sort, offset, take);
    if (matches.negated && !matches.lazy && matches.set().count === 0) {
      return this.#along(order, new Contiguous(0, order.size), 'index', sort, offset, take);
    }
    if (matches.count <= fewObjects / 2 && !matches.negated) {
      this.strategy = 'sort';
      return this.#sorted(slotsOf(matches.set()), sort).slice(offset, offset + take);
    }
    const scattered = new Scattered(order, matches, this.#evaluation, this.#work);
    const nearest = Math.min(offset, matches.count - offset - take) + take;
    if (scattered.isFar(nearest)) {
      scattered.countLeaves();
      const first = descending ? matches.count - offset - take : offset;
      const slots = this.#window(scattered, sort, first, take, descending);
      if (slots) return slots;
    }
    const found = this.#along(order, scattered, 'walk', sort, offset, take);
    this.strategy = scattered.counted ? 'rank' : 'walk';
    return found;
  }

  #sorted(slots: number[], sort: readonly BoundSort[]): number[] {
    this.#work.spend(slots.length);
    const { names, fields } = this.#index;
    const keys = sort.map(({ field, descending }) => ({ keys: fields[field]!.sortKeys(descending), descending }));
    return slots.sort((a, b) => {
      for (const { keys: column, descending } of keys) {
        const result = column.compare(a, b);
        if (result !== 0) return descending ? -result : result;
      }
      return compareText(names[a]!, names[b]!);
    });
  }

  /** The page from the few matches in its leaves and the runs these cut; undefined when they are not few. */
  #window(
    members: Scattered,
    sort: readonly BoundSort[],
    first: number,
    take: number,
    descending: boolean,
  ): number[] | undefined {
    const window = members.window(first, take, fewObjects);
    if (!window) return undefined;
    this.strategy = 'rank';
    const { slots, before } = window;
    const skip = descending ? before + slots.length - first - take : first - before;
    if (sort.length > 1) this.#sorted(slots, sort);
    else if (descending) reverseRuns(slots, members.keys);
    return slots.slice(skip, skip + take);
  }

  #along(
    order: Order,
    members: Members,
    strategy: Strategy,
    sort: readonly BoundSort[],
    offset: number,
    take: number,
  ): number[] {
    const [{ field, descending }, ...rest] = sort as readonly [BoundSort, ...BoundSort[]];
    const index = this.#index.fields[field]!;
    const found: number[] = [];
    this.strategy = strategy;
    while (found.length < take) {
      const next = offset + found.length;
      const rank = members.select(descending ? members.count - 1 - next : next);
      const wanted = take - found.length;
      if (!descending && rest.length === 0) {
        this.#walk(order, members, rank, order.size, wanted, found);
        continue;
      }
      if (this.#walkRuns(order, members, rank, descending ? -1 : 1, rest, wanted, found) > 0) continue;
      const slot = order.at(rank);
      const [low, high] = order.keys.has(slot) ? order.runOf(slot) : [0, index.missing];
      const earlier = descending ? members.count - members.before(high) : members.before(low);
      this.#inRun(order, members, low, high, rest, next - earlier, wanted, found);
    }
    return found;
  }

  /**
   * Collects matches from a rank on, forwards or backwards, run by run, up to a long run or one that began before.
   * Gives the number of matches.
   */
  #walkRuns(
    order: Order,
    members: Members,
    rank: number,
    step: 1 | -1,
    rest: readonly BoundSort[],
    wanted: number,
    found: number[],
  ): number {
    const { items, counts, directory, keys, starts } = order;
    const behind = rank - step;
    if (behind >= 0 && behind < order.size && keys.compare(order.at(behind), order.at(rank)) === 0) return 0;
    const { bits, absent } = members;
    let place = order.placeAt(rank);
    let base = directory[place]! * leafSize;
    let at = rank - starts[place]!;
    let end = step > 0 ? counts[directory[place]!]! : -1;
    const run: number[] = [];
    let walked = 0;
    let matched = 0;
    while (matched < wanted && run.length < longRun) {
      if (at === end) {
        place += step;
        if (place < 0 || place >= order.leaves) {
          matched += this.#takeRun(run, step, rest, wanted - matched, found);
          break;
        }
        base = directory[place]! * leafSize;
        const count = counts[directory[place]!]!;
        at = step > 0 ? 0 : count - 1;
        end = step > 0 ? count : -1;
      }
      if (run.length > 0 && keys.compare(run[0]!, items[base + at]!) !== 0) {
        matched += this.#takeRun(run, step, rest, wanted - matched, found);
        continue;
      }
      if (bits) {
        const from = at;
        const within = run.length > 0 ? at + step : end;
        while (at !== within && bitOf(bits, items[base + at]!) === absent) at += step;
        walked += Math.abs(at - from);
        if (at === within) continue;
      }
      const slot = items[base + at]!;
      if (bits || members.has(slot)) run.push(slot);
      walked++;
      at += step;
    }
    this.#work.spend(walked);
    return matched;
  }

  /** Moves the matches of one key, at most `wanted`, from the run to what was found; gives their number. */
  #takeRun(run: number[], step: 1 | -1, rest: readonly BoundSort[], wanted: number, found: number[]): number {
    if (run.length === 1) {
      found.push(run.pop()!);
      return 1;
    }
    if (rest.length > 0) this.#sorted(run, rest);
    else if (step < 0) run.reverse();
    const taken = run.splice(0).slice(0, wanted);
    found.push(...taken);
    return taken.length;
  }

  /** The matches between two ranks, in the order of the remaining fields: at most `wanted` of them after the first `skip`. */
  #inRun(
    order: Order,
    members: Members,
    low: number,
    high: number,
    rest: readonly BoundSort[],
    skip: number,
    wanted: number,
    found: number[],
  ): void {
    if (rest.length === 0) {
      const from = skip === 0 ? low : members.select(members.before(low) + skip);
      this.#walk(order, members, from, high, wanted, found);
      return;
    }
    const count = members.before(high) - members.before(low);
    if (count <= fewObjects) {
      const slots: number[] = [];
      this.#walk(order, members, low, high, count, slots);
      found.push(...this.#sorted(slots, rest).slice(skip, skip + wanted));
      return;
    }
    const words = this.#evaluation.bits();
    this.#mark(order, members, low, high, words);
    const set = SlotSet.ofWords(words, count);
    const inner: Matches = { count, negated: false, lazy: false, has: (slot) => set.has(slot), set: () => set };
    for (const slot of this.page(inner, rest, skip, wanted)) found.push(slot);
  }

  /** Collects so many matches from a rank on. */
  #walk(order: Order, members: Members, from: number, to: number, take: number, found: number[]): void {
    const { items, counts, directory } = order;
    const enough = found.length + take;
    let place = order.placeAt(from);
    let at = from - order.starts[place]!;
    for (let left = to - from; left > 0 && found.length < enough; place++, at = 0) {
      const base = directory[place]! * leafSize;
      const end = Math.min(counts[directory[place]!]!, at + left);
      left -= end - at;
      this.#work.spend(end - at);
      for (; at < end && found.length < enough; at++) {
        const slot = items[base + at]!;
        if (members.has(slot)) found.push(slot);
      }
    }
  }

  #mark(order: Order, members: Members, from: number, to: number, words: Uint32Array): void {
    const { items, counts, directory } = order;
    let place = order.placeAt(from);
    let at = from - order.starts[place]!;
    for (let left = to - from; left > 0; place++, at = 0) {
      const base = directory[place]! * leafSize;
      const end = Math.min(counts[directory[place]!]!, at + left);
      left -= end - at;
      this.#work.spend(end - at);
      for (; at < end; at++) {
        const slot = items[base + at]!;
        if (members.has(slot)) words[slot >>> 5]! |= 1 << (slot & 31);
      }
    }
  }
}

/** Few matches in a large bitmap are read from it once. */
function compact(matches: Matches): Matches {
  if (matches.lazy || matches.negated) return matches;
  const { words, count } = matches.set();
  if (!words || count * 16 > words.length) return matches;
  const set = SlotSet.copyOf(words, count);
  return { ...matches, has: (slot) => set.has(slot), set: () => set };
}

/** From ascending to descending keys; objects of one key stay in the order of their names. */
function reverseRuns(slots: number[], keys: Keys): void {
  slots.reverse();
  for (let start = 0; start < slots.length; ) {
    let end = start + 1;
    while (end < slots.length && keys.compare(slots[start]!, slots[end]!) === 0) end++;
    for (let i = start, j = end - 1; i < j; i++, j--) [slots[i], slots[j]] = [slots[j]!, slots[i]!];
    start = end;
  }
}

function slotsOf(set: SlotSet): number[] {
  const slots: number[] = [];
  set.portions((portion, count) => {
    for (let i = 0; i < count; i++) slots.push(portion[i]!);
  });
  return slots;
}

/** All objects between two ranks. */
class Contiguous implements Members {
  readonly count: number;
  readonly bits = undefined;
  readonly absent = 0;
  readonly #low: number;
  readonly #high: number;

  constructor(low: number, high: number) {
    this.#low = low;
    this.#high = high;
    this.count = high - low;
  }

  /** Only objects of matching runs are asked for. */
  has(): boolean {
    return true;
  }

  select(j: number): number {
    return this.#low + j;
  }

  before(rank: number): number {
    return Math.min(Math.max(rank, this.#low), this.#high) - this.#low;
  }
}

/** Matches anywhere in the order: a walk that goes on from where it was, and jumps when the way is long. */
class Scattered implements Members {
  readonly count: number;
  readonly has: (slot: number) => boolean;
  readonly bits: Uint32Array | undefined;
  readonly absent: 0 | 1;
  readonly #order: Order;
  readonly #matches: Matches;
  readonly #evaluation: Evaluation;
  readonly #work: Work;
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
    this.bits = matches.lazy ? undefined : bitsOf(matches.set(), evaluation);
    this.absent = matches.negated ? 1 : 0;
    const { bits, absent } = this;
    this.has = bits ? (slot) => bitOf(bits, slot) !== absent : (slot) => matches.has(slot);
  }

  get keys(): Keys {
    return this.#order.keys;
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
    const order = this.#order;
    const starts = new Uint32Array(order.leaves + 1);
    const { leafOf, places } = order.tables;
    const set = this.#matches.set();
    this.#work.spend(set.count);
    set.portions((slots, count) => {
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
   * The matches, ascending, in the leaves that hold `take` of them from the `first` on, and in those into which their runs reach;
   * undefined when these are more than `most`.
   */
  window(first: number, take: number, most: number): { slots: number[]; before: number } | undefined {
    const order = this.#order;
    const starts = this.#starts!;
    let from = this.#placeOfMatch(first);
    let to = this.#placeOfMatch(first + take - 1);
    while (from > 0 && starts[to + 1]! - starts[from]! <= most && order.isCut(from)) from--;
    while (to + 1 < order.leaves && starts[to + 1]! - starts[from]! <= most && order.isCut(to + 1)) to++;
    if (starts[to + 1]! - starts[from]! > most) return undefined;
    const slots: number[] = [];
    if (!this.#matches.negated && (to - from) * leafSize > this.count * 4) {
      const { leafOf, places } = order.tables;
      this.#matches.set().portions((portion, count) => {
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
    const bits = this.bits ?? bitsOf(this.#matches.set(), this.#evaluation);
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

  before(rank: number): number {
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

function bitsOf({ words, slots, count }: SlotSet, evaluation: Evaluation): Uint32Array {
  if (words) return words;
  const bits = evaluation.bits();
  for (let i = 0; i < count; i++) bits[slots[i]! >>> 5]! |= 1 << (slots[i]! & 31);
  return bits;
}

function bitOf(bits: Uint32Array, slot: number): number {
  return slot >>> 5 < bits.length ? (bits[slot >>> 5]! >>> (slot & 31)) & 1 : 0;
}
