/**
 * From a bound condition to the objects that match it. A conjunction starts with its smallest part; sets are intersected as bitmaps,
 * and conditions for which that would cost more are tested on what is left. A negation keeps the set of what does not match.
 */
import { nameField } from '../indexes/field.ts';
import type { FieldIndex } from '../indexes/field-index.ts';
import { indexMemory } from '../indexes/memory/index-memory.ts';
import type { ModelIndex } from '../indexes/model-index.ts';
import { SlotSet } from '../indexes/slot-set.ts';
import type { TextColumn } from '../indexes/text-column.ts';
import type { Bound, KeyCondition, KeyRange } from './bind.ts';
import type { NumberRange } from './number-range.ts';
import { numberRangeOf } from './number-range.ts';
import type { Work } from './work.ts';

/** Objects, as a set of slots; with `negated` all others. Only good until the next change, except for sets of its own. */
export interface Matches {
  readonly count: number;
  has(slot: number): boolean;
  readonly negated: boolean;
  /** True while `set` would have to be made first. */
  readonly lazy: boolean;
  set(): SlotSet;
  /** Where the matches are the objects of one range of numbers. */
  readonly range?: NumberRange | undefined;
}

/** A condition in one field that was used, for `explain`. */
export interface Use {
  readonly field: string;
  readonly rows: number;
}

/** Fewer rows are sorted, more are marked in a bitmap. */
const fewRows = 512;
/** Of a longer list of values only so many are looked up to estimate it. */
const sampled = 32;
/** What testing one object costs, in rows of a collection; a text costs more. */
const testCost = 2;
const textCost = 8;
/** Fewer slots than one in so many words are read from bitmaps, more are marked in another. */
const rareBits = 16;

interface Conjunct {
  readonly negated: boolean;
  /** Upper bound of the objects in the set. */
  readonly rows: number;
  readonly set?: SlotSet;
  readonly condition?: KeyCondition;
}

const nonePrepared: ReadonlyMap<KeyCondition, SlotSet> = new Map();
const nothing = new SlotSet(indexMemory, new Uint32Array(0));

export class Evaluation {
  readonly uses: Use[] = [];
  readonly #index: ModelIndex;
  readonly #work: Work;
  /** Sets that were made beforehand, in slices. */
  readonly #prepared: ReadonlyMap<KeyCondition, SlotSet>;
  /** Bitmaps in use until `release`. */
  readonly #borrowed: Uint32Array[] = [];

  constructor(index: ModelIndex, work: Work, prepared: ReadonlyMap<KeyCondition, SlotSet> = nonePrepared) {
    this.#index = index;
    this.#work = work;
    this.#prepared = prepared;
  }

  /** Gives the memory back; the matches are no longer good. */
  release(): void {
    for (const words of this.#borrowed) this.#index.scratch.release(words);
    this.#borrowed.length = 0;
  }

  /** Zeroed bits for all slots, until `release`. */
  bits(): Uint32Array {
    const words = this.usedBits();
    this.#index.memory.clear(words);
    return words;
  }

  /** As `bits`, but for what is in them. */
  usedBits(): Uint32Array {
    const words = this.#index.scratch.takeUsed(this.#index.limit);
    this.#borrowed.push(words);
    return words;
  }

  /** Gives back bits before `release`. */
  giveBack(words: Uint32Array): void {
    this.#borrowed.splice(this.#borrowed.indexOf(words), 1);
    this.#index.scratch.release(words);
  }

  evaluate(bound: Bound, names?: ReadonlySet<string>): Matches {
    const conjuncts: Conjunct[] = [];
    if (!this.#flatten(bound, false, conjuncts)) return this.#matches(nothing, false);
    if (names) conjuncts.push(this.#named(names));
    const [only] = conjuncts;
    if (!only) return this.#matches(nothing, true);
    if (conjuncts.length === 1 && only.condition) return this.#single(only.condition, only.negated);
    return this.#intersect(conjuncts);
  }

  #matches(set: SlotSet, negated: boolean): Matches {
    const count = negated ? this.#index.size - set.count : set.count;
    return { count, negated, lazy: false, has: (slot) => set.has(slot) !== negated, set: () => set };
  }

  /** One condition alone: its count is known from the order, and a set is made only when it is asked for. */
  #single(condition: KeyCondition, negated: boolean): Matches {
    const field = this.#index.fields[condition.field]!;
    const [range] = condition.ranges;
    const exact = condition.ranges.length === 1 && !condition.text && !field.slotOfItem && !isSingleKey(range!);
    if (!exact || this.#prepared.has(condition)) return this.#matches(this.#collect(condition), negated);
    const [low, high] = rankRangeOf(field, range!);
    const numbers = numberRangeOf(field, condition);
    const test = numbers ? testerOf(numbers) : tester(field, condition);
    let made: SlotSet | undefined;
    const set = () => {
      made ??= this.#collect(condition);
      return made;
    };
    const count = negated ? this.#index.size - (high - low) : high - low;
    const has = negated ? (slot: number) => !test(slot) : test;
    return { count, negated, lazy: true, has, set, range: negated ? undefined : numbers };
  }

  #named(names: ReadonlySet<string>): Conjunct {
    const slots: number[] = [];
    for (const name of names) {
      const slot = this.#index.slotOf(name);
      if (slot !== undefined) slots.push(slot);
      this.#work.spend(1);
    }
    this.uses.push({ field: this.#index.fields[nameField]!.field.name, rows: slots.length });
    return { negated: false, rows: slots.length, set: this.#few(Uint32Array.from(slots).sort(), slots.length) };
  }

  /** Takes a conjunction apart; false when nothing can match. */
  #flatten(bound: Bound, negated: boolean, conjuncts: Conjunct[]): boolean {
    switch (bound.op) {
      case 'all':
        return !negated;
      case 'not':
        return this.#flatten(bound.of, !negated, conjuncts);
      case 'and':
      case 'or':
        if ((bound.op === 'and') !== negated) return bound.of.every((one) => this.#flatten(one, negated, conjuncts));
        conjuncts.push(this.#compound(bound.of, negated));
        return true;
      case 'null': {
        const field = this.#index.fields[bound.field]!;
        conjuncts.push(this.#conjunctOf(field.field.name, field.withoutKey, negated));
        return true;
      }
      case 'label': {
        const { labels } = this.#index;
        const sets = bound.values
          ? [...bound.values].map((value) => labels.having(bound.key, value))
          : [labels.having(bound.key)];
        const having = sets.filter((set) => set !== undefined);
        conjuncts.push(
          this.#conjunctOf('metadata.labels', having.length === 1 ? having[0]! : this.#union(having), negated),
        );
        return true;
      }
      case 'keys': {
        const field = this.#index.fields[bound.field]!;
        const prepared = this.#prepared.get(bound) ?? keptPostingsOf(field, bound);
        if (prepared) conjuncts.push(this.#conjunctOf(field.field.name, prepared, negated));
        else {
          const rows = this.#estimate(field, bound);
          this.uses.push({ field: field.field.name, rows });
          conjuncts.push({ negated, rows, condition: bound });
        }
        return true;
      }
    }
  }

  #conjunctOf(field: string, set: SlotSet, negated: boolean): Conjunct {
    this.uses.push({ field, rows: set.count });
    return { negated, rows: set.count, set };
  }

  /** An OR, or the negation of an AND: not all of the opposites. */
  #compound(of: readonly Bound[], negated: boolean): Conjunct {
    const conjuncts: Conjunct[] = [];
    const possible = of.every((one) => this.#flatten(one, !negated, conjuncts));
    if (!possible) return { negated: true, rows: 0, set: nothing };
    if (conjuncts.length === 0) return { negated: false, rows: 0, set: nothing };
    const opposite = this.#intersect(conjuncts);
    const set = opposite.set();
    return { negated: !opposite.negated, rows: set.count, set };
  }

  #intersect(conjuncts: Conjunct[]): Matches {
    const positives = conjuncts.filter((conjunct) => !conjunct.negated).sort((a, b) => a.rows - b.rows);
    const [start] = positives;
    if (!start) return this.#matches(this.#unionOf(conjuncts), true);
    let set = start.set ?? this.#collect(start.condition!);
    const sets: Conjunct[] = [];
    const tests: Conjunct[] = [];
    for (const conjunct of conjuncts) {
      if (conjunct === start) continue;
      const { condition, rows } = conjunct;
      (condition && !this.#isWorthCollecting(condition, rows, set.count) ? tests : sets).push(conjunct);
    }
    const { memory, limit } = this.#index;
    // A bitmap of a scratch memory, once there is one.
    let own: Uint32Array | undefined;
    for (let i = 0; i < sets.length && set.count > 0; i++) {
      const { negated, condition } = sets[i]!;
      const other = sets[i]!.set ?? this.#collect(condition!);
      const [words, others] = [set.words, other.words];
      if (!words || !others) {
        set =
          words && !negated
            ? this.#filter(other, (slot) => set.has(slot))
            : this.#filter(set, (slot) => other.has(slot) !== negated);
        own = set.words;
        continue;
      }
      this.#work.spend(words.length >>> 5);
      if (negated) {
        own = own === words ? words : this.usedBits();
        set = this.#marked(own, memory.subtract(words, others, own));
        continue;
      }
      const next = sets[i + 1]?.negated ? undefined : sets[i + 1]?.set;
      const third = next?.words ?? others;
      if (next?.words) i++;
      const expected = (set.count / limit) * (other.count / limit) * (next?.words ? next.count : limit);
      if (expected * rareBits < words.length) {
        set = SlotSet.inAll(memory, words, others, third, expected * 2);
        own = undefined;
        continue;
      }
      own = own === words ? words : this.usedBits();
      set = this.#marked(own, memory.intersect(words, others, third, own));
    }
    for (const { condition, negated } of tests) {
      if (set.count === 0) break;
      const test = tester(this.#index.fields[condition!.field]!, condition!);
      set = this.#filter(set, negated ? (slot) => !test(slot) : test);
    }
    return this.#matches(set, false);
  }

  /** Whether a set costs less than testing so many objects. */
  #isWorthCollecting({ ranges, text }: KeyCondition, rows: number, tests: number): boolean {
    if (ranges.length === 1 && isSingleKey(ranges[0]!) && tests > fewRows) return true;
    return rows < tests * (text ? textCost : testCost);
  }

  #filter(set: SlotSet, test: (slot: number) => boolean): SlotSet {
    this.#work.spend(set.count);
    let count = 0;
    const { words, slots } = set;
    if (!words) {
      const kept = new Uint32Array(set.count);
      for (let i = 0; i < set.count; i++) if (test(slots[i]!)) kept[count++] = slots[i]!;
      return this.#few(kept, count);
    }
    const result = this.bits();
    for (let at = 0; at < words.length; at++) {
      let kept = 0;
      for (let word = words[at]! | 0; word !== 0; word &= word - 1) {
        const bit = word & -word;
        if (!test(at * 32 + 31 - Math.clz32(bit))) continue;
        kept |= bit;
        count++;
      }
      result[at] = kept;
      if ((at & 255) === 255) this.#work.spend(0);
    }
    return this.#marked(result, count);
  }

  #unionOf(conjuncts: readonly Conjunct[]): SlotSet {
    if (conjuncts.length === 1) return conjuncts[0]!.set ?? this.#collect(conjuncts[0]!.condition!);
    const words = this.bits();
    for (const { set, condition } of conjuncts) {
      if (set) this.#markSet(set, words);
      else this.#markKeys(condition!, words);
    }
    return this.#marked(words);
  }

  #union(sets: readonly SlotSet[]): SlotSet {
    if (sets.length === 0) return nothing;
    const words = this.bits();
    for (const set of sets) this.#markSet(set, words);
    return this.#marked(words);
  }

  #markSet(set: SlotSet, words: Uint32Array): void {
    const { words: bits, slots } = set;
    if (bits) {
      this.#index.memory.unite(words, bits);
      this.#work.spend(bits.length >>> 5);
      return;
    }
    for (let i = 0; i < set.count; i++) words[slots[i]! >>> 5]! |= 1 << (slots[i]! & 31);
    this.#work.spend(set.count);
  }

  /** A set for the time of the query. */
  #few(slots: Uint32Array<ArrayBuffer>, count: number): SlotSet {
    return new SlotSet(this.#index.memory, slots, count);
  }

  #marked(words: Uint32Array, count?: number): SlotSet {
    return SlotSet.ofWords(this.#index.memory, words, count);
  }

  #estimate(field: FieldIndex, { ranges }: KeyCondition): number {
    const every = Math.max(1, Math.floor(ranges.length / sampled));
    let rows = 0;
    for (let i = 0; i < ranges.length; i += every) {
      const [low, high] = rankRangeOf(field, ranges[i]!);
      this.#work.spend(1);
      rows += high - low;
    }
    return rows * every;
  }

  /** The set of one condition. */
  #collect(condition: KeyCondition): SlotSet {
    const prepared = this.#prepared.get(condition);
    if (prepared) return prepared;
    const field = this.#index.fields[condition.field]!;
    const { ranges, text } = condition;
    if (ranges.length === 1 && !text) {
      const [low, high] = rankRangeOf(field, ranges[0]!);
      if (isSingleKey(ranges[0]!)) {
        this.#work.spend(Math.min(high - low, fewRows));
        return field.postings(ranges[0]!.from, low, high, this.#index.limit);
      }
      if (high - low < fewRows && !field.slotOfItem) {
        this.#work.spend(high - low);
        const slots = Uint32Array.from({ length: high - low }, (_, i) => field.order.at(low + i)).sort();
        return this.#few(slots, high - low);
      }
    }
    const words = this.bits();
    this.#markKeys(condition, words);
    return this.#marked(words);
  }

  #markKeys(condition: KeyCondition, words: Uint32Array): void {
    const prepared = this.#prepared.get(condition);
    if (prepared) return this.#markSet(prepared, words);
    const field = this.#index.fields[condition.field]!;
    for (const range of condition.ranges) {
      const [low, high] = rankRangeOf(field, range);
      this.#work.spend(1);
      for (let from = low; from < high; from += this.#work.portion) {
        const to = Math.min(from + this.#work.portion, high);
        markAccepted(field, condition, from, to, words);
        this.#work.spend(to - from);
      }
    }
  }
}

export function isSingleKey({ from, to, fromInclusive, toInclusive }: KeyRange): boolean {
  return from === to && from !== undefined && fromInclusive && toInclusive;
}

/** The postings of a condition on a single key, where the index keeps them. */
function keptPostingsOf(field: FieldIndex, { ranges, text }: KeyCondition): SlotSet | undefined {
  return ranges.length === 1 && !text && isSingleKey(ranges[0]!) ? field.keptPostings(ranges[0]!.from) : undefined;
}

export function rankRangeOf(field: FieldIndex, range: KeyRange): readonly [low: number, high: number] {
  return field.rankRange(range.from, range.to, range.fromInclusive, range.toInclusive);
}

/** Marks the objects between two ranks, with a text only those whose key has it. */
export function markAccepted(
  field: FieldIndex,
  condition: KeyCondition,
  low: number,
  high: number,
  words: Uint32Array,
): void {
  if (!condition.text) return field.mark(low, high, words);
  const { order, slotOfItem } = field;
  const { text, at: where } = condition.text;
  const accepts = (field.column as TextColumn).finder(text, where);
  order.spans(low, high, (items, from, to) => {
    for (let at = from; at < to; at++) {
      const item = items[at]!;
      if (!accepts(item)) continue;
      const slot = slotOfItem ? slotOfItem[item]! : item;
      words[slot >>> 5]! |= 1 << (slot & 31);
    }
  });
}

/** Whether an object satisfies the condition. */
export function tester(field: FieldIndex, condition: KeyCondition): (slot: number) => boolean {
  const range = numberRangeOf(field, condition);
  if (range) return testerOf(range);
  const { accepts } = condition;
  return (slot) => field.some(slot, accepts);
}

function testerOf({ values, low, high }: NumberRange): (slot: number) => boolean {
  return (slot) => values[slot]! >= low && values[slot]! <= high;
}
