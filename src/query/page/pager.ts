/**
 * One page of the matches in the order of a sort. The order of the first field is walked from wherever is nearest; when that
 * would be far, the matches are counted along the order, leaf by leaf, and only the leaves of the page are looked at.
 */
import type { Keys } from '../../indexes/column.ts';
import type { ModelIndex } from '../../indexes/model-index.ts';
import type { Order } from '../../indexes/order.ts';
import { leafSize } from '../../indexes/order.ts';
import { SlotSet } from '../../indexes/slot-set.ts';
import { compareText } from '../../model/key.ts';
import type { BoundSort } from '../bind.ts';
import type { Evaluation, Matches } from '../evaluate.ts';
import type { Work } from '../work.ts';
import type { RankedMatches } from './contiguous.ts';
import { Contiguous } from './contiguous.ts';
import { bitOf, Scattered } from './scattered.ts';

/** `index`: the page is a part of the order; `walk`: along the order, testing; `rank`: matches counted along the order; `sort`: by comparison. */
export type Strategy = 'none' | 'index' | 'walk' | 'rank' | 'sort';

/** Up to so many objects are sorted by comparison. */
const fewObjects = 128;
/** Matches of one key from which on a run is found by a search. */
const longRun = 64;

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
   * @param range where the matches are all objects between two ranks of the first field's order: these
   */
  page(
    given: Matches,
    sort: readonly BoundSort[],
    offset: number,
    limit: number,
    range?: readonly [low: number, high: number],
  ): number[] {
    const take = Math.min(limit, given.count - offset);
    if (take <= 0) return [];
    const matches = compact(given);
    const { field, descending } = sort[0]!;
    const order = this.#index.fields[field]!.sortOrder(descending);
    if (range) return this.#along(order, new Contiguous(range[0], range[1]), 'index', sort, offset, take);
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
    matches: Scattered,
    sort: readonly BoundSort[],
    first: number,
    take: number,
    descending: boolean,
  ): number[] | undefined {
    const window = matches.window(first, take, fewObjects);
    if (!window) return undefined;
    this.strategy = 'rank';
    const { slots, before } = window;
    const skip = descending ? before + slots.length - first - take : first - before;
    if (sort.length > 1) this.#sorted(slots, sort);
    else if (descending) reverseRuns(slots, matches.keys);
    return slots.slice(skip, skip + take);
  }

  #along(
    order: Order,
    matches: RankedMatches,
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
      const rank = matches.select(descending ? matches.count - 1 - next : next);
      const wanted = take - found.length;
      if (!descending && rest.length === 0) {
        this.#walk(order, matches, rank, order.size, wanted, found);
        continue;
      }
      if (this.#walkRuns(order, matches, rank, descending ? -1 : 1, rest, wanted, found) > 0) continue;
      const slot = order.at(rank);
      const [low, high] = order.keys.has(slot) ? order.equalRange(slot) : [0, index.withoutKey.count];
      const earlier = descending ? matches.count - matches.countBefore(high) : matches.countBefore(low);
      this.#inRun(order, matches, low, high, rest, next - earlier, wanted, found);
    }
    return found;
  }

  /**
   * Collects matches from a rank on, forwards or backwards, run by run, up to a long run or one that began before.
   * Gives the number of matches.
   */
  #walkRuns(
    order: Order,
    matches: RankedMatches,
    rank: number,
    step: 1 | -1,
    rest: readonly BoundSort[],
    wanted: number,
    found: number[],
  ): number {
    const { items, counts, directory, keys, starts } = order;
    const behind = rank - step;
    if (behind >= 0 && behind < order.size && keys.compare(order.at(behind), order.at(rank)) === 0) return 0;
    const { bits, absent } = matches;
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
      if (bits || matches.has(slot)) run.push(slot);
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
    matches: RankedMatches,
    low: number,
    high: number,
    rest: readonly BoundSort[],
    skip: number,
    wanted: number,
    found: number[],
  ): void {
    if (rest.length === 0) {
      const from = skip === 0 ? low : matches.select(matches.countBefore(low) + skip);
      this.#walk(order, matches, from, high, wanted, found);
      return;
    }
    const count = matches.countBefore(high) - matches.countBefore(low);
    if (count <= fewObjects) {
      const slots: number[] = [];
      this.#walk(order, matches, low, high, count, slots);
      found.push(...this.#sorted(slots, rest).slice(skip, skip + wanted));
      return;
    }
    const words = this.#evaluation.bits();
    this.#mark(order, matches, low, high, words);
    const set = SlotSet.ofWords(words, count);
    const inner: Matches = { count, negated: false, lazy: false, has: (slot) => set.has(slot), set: () => set };
    for (const slot of this.page(inner, rest, skip, wanted)) found.push(slot);
  }

  /** Collects so many matches from a rank on. */
  #walk(order: Order, matches: RankedMatches, low: number, high: number, take: number, found: number[]): void {
    const { items, counts, directory } = order;
    const enough = found.length + take;
    let place = order.placeAt(low);
    let at = low - order.starts[place]!;
    for (let left = high - low; left > 0 && found.length < enough; place++, at = 0) {
      const base = directory[place]! * leafSize;
      const end = Math.min(counts[directory[place]!]!, at + left);
      left -= end - at;
      this.#work.spend(end - at);
      for (; at < end && found.length < enough; at++) {
        const slot = items[base + at]!;
        if (matches.has(slot)) found.push(slot);
      }
    }
  }

  #mark(order: Order, matches: RankedMatches, low: number, high: number, words: Uint32Array): void {
    const { items, counts, directory } = order;
    let place = order.placeAt(low);
    let at = low - order.starts[place]!;
    for (let left = high - low; left > 0; place++, at = 0) {
      const base = directory[place]! * leafSize;
      const end = Math.min(counts[directory[place]!]!, at + left);
      left -= end - at;
      this.#work.spend(end - at);
      for (; at < end; at++) {
        const slot = items[base + at]!;
        if (matches.has(slot)) words[slot >>> 5]! |= 1 << (slot & 31);
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
  set.forEachChunk((portion, count) => {
    for (let i = 0; i < count; i++) slots.push(portion[i]!);
  });
  return slots;
}
