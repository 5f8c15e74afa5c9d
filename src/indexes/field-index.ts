/**
 * The index of one field. Its *items* are what its order holds: slots where every object has one key at most, else one item
 * for each value of each object (an occurrence). The items of one key are an *equal range* of the order. The objects of one key
 * are its *postings*: a set of slots, which is kept, and follows every change, once a query has asked for a large one.
 */
import { grown, none } from './arrays.ts';
import type { Column, Keys } from './column.ts';
import { BooleanColumn, ExtremeKeys, NumberColumn, ValueColumn } from './column.ts';
import type { Field } from './field.ts';
import type { IndexMemory } from './memory/index-memory.ts';
import { Order } from './order.ts';
import type { Scratch } from './scratch.ts';
import { SlotSet } from './slot-set.ts';
import type { FieldShape } from './snapshot/arrange.ts';
import type { Pieces } from './snapshot/piece.ts';
import { numberPieces } from './snapshot/piece.ts';
import type { Sections } from './snapshot/texts.ts';
import { sectionOf } from './snapshot/texts.ts';
import type { Steps } from './sort.ts';
import { areSorted, sortByComparison, sortByNumber, sortByText } from './sort.ts';
import { TextColumn } from './text-column.ts';

/** Smaller postings are read from the order each time. */
const leastKept = 256;

export interface IndexDependencies {
  /** Name by slot. */
  readonly names: TextColumn;
  readonly scratch: Scratch;
  readonly memory: IndexMemory;
}

export abstract class FieldIndex {
  readonly field: Field;
  /** By item. */
  readonly column: Column;
  /** All items with a key; slots without one are in it, at its beginning, from the first sort that needs them on. */
  abstract readonly order: Order;
  /** Slot by item; undefined when items are slots. */
  slotOfItem: Uint32Array<ArrayBuffer> | undefined;
  /** Objects without a key. */
  readonly withoutKey: SlotSet;
  protected readonly dependencies: IndexDependencies;
  /** Of a unique index: keys that more than one object had, by their identity. */
  readonly #conflicts = new Map<unknown, unknown>();
  readonly #postings = new Map<unknown, SlotSet>();

  constructor(field: Field, column: Column, dependencies: IndexDependencies) {
    this.field = field;
    this.column = column;
    this.dependencies = dependencies;
    this.withoutKey = new SlotSet(dependencies.memory);
  }

  /** Adds a new object. */
  abstract insert(slot: number, keys: readonly unknown[]): void;

  /** Gives the object these keys instead of those it has. */
  abstract update(slot: number, keys: readonly unknown[]): void;

  abstract remove(slot: number): void;

  /** True when one of the object's keys is accepted. */
  abstract some(slot: number, accepts: (key: unknown) => boolean): boolean;

  /** True when the object has these keys and no others. */
  abstract hasExactly(slot: number, keys: readonly unknown[]): boolean;

  /** All slots as a sort by this field sees them: by the smallest key, for a descending sort by the largest. */
  abstract sortOrder(descending: boolean): Order;

  /** The keys of `sortOrder`. */
  abstract sortKeys(descending: boolean): Keys;

  /** Bulk: as `insert`, without the order. */
  abstract append(slot: number, keys: readonly unknown[]): void;

  /** Bulk: this many objects are expected, about so many times as many as there are. */
  abstract makeRoom(slots: number, times: number): void;

  /** Bulk: makes the order of everything appended. */
  abstract finish(): Steps;

  /** Copies what `restore` begins with, but the keys of the names, which are the names. @param limit slots are below it */
  abstract pieces(of: string, limit: number, portion: number): Pieces;

  /** Bulk: begins with what was arranged of a copy. The names are there. */
  abstract restore(of: string, sections: Sections): Steps;

  get shape(): FieldShape {
    const { multi, unique, codec } = this.field;
    const keys = this.column instanceof NumberColumn ? 'numbers' : codec.type === 'string' ? 'texts' : 'formatted';
    return { multi, unique, keys };
  }

  protected *restoreOrder(of: string, sections: Sections): Steps {
    const sorted = sectionOf<Uint32Array<ArrayBuffer>>(sections, `${of}order`);
    this.order.fill(sorted, sorted.length, sectionOf<Uint16Array<ArrayBuffer>>(sections, `${of}leaves`));
    yield;
    const without = sectionOf<Uint32Array<ArrayBuffer>>(sections, `${of}without`);
    this.withoutKey.take(SlotSet.copyOf(this.dependencies.memory, without));
    if (!this.field.unique) return;
    for (const item of sectionOf(sections, `${of}conflicts`)) {
      const key = this.column.get(item);
      this.#conflicts.set(this.#identity(key), key);
    }
  }

  /** Ranks in `order` of the first item in the range of keys and of the first behind it. */
  rankRange(
    from: unknown,
    to: unknown,
    fromInclusive: boolean,
    toInclusive: boolean,
  ): readonly [low: number, high: number] {
    const { order } = this;
    const low = from === undefined ? this.firstWithKey : order.rankOf(from, !fromInclusive);
    return [low, Math.max(low, to === undefined ? order.size : order.rankOf(to, toInclusive))];
  }

  /** Rank in `order` of the first item with a key. */
  abstract readonly firstWithKey: number;

  /** Sets the bits of the objects between two ranks of `order`. */
  mark(low: number, high: number, words: Uint32Array): void {
    markRanks(this.order, this.slotOfItem, low, high, words);
  }

  /** The objects of one key, whose equal range this is; kept from now on when there are many. */
  postings(key: unknown, low: number, high: number, limit: number): SlotSet {
    const id = this.#identity(key);
    return this.#postings.get(id) ?? this.#read(id, low, high, limit);
  }

  /** The postings of a key, if they are kept. */
  keptPostings(key: unknown): SlotSet | undefined {
    return this.#postings.size > 0 ? this.#postings.get(this.#identity(key)) : undefined;
  }

  #read(id: unknown, low: number, high: number, limit: number): SlotSet {
    const { order, slotOfItem } = this;
    const { memory, scratch } = this.dependencies;
    if (high - low < leastKept) {
      const slots = new Uint32Array(Math.max(high - low, 4));
      for (let rank = low; rank < high; rank++) {
        const item = order.at(rank);
        slots[rank - low] = slotOfItem ? slotOfItem[item]! : item;
      }
      slots.subarray(0, high - low).sort();
      return new SlotSet(memory, slots, high - low);
    }
    const words = scratch.take(limit);
    markRanks(order, slotOfItem, low, high, words);
    const set = SlotSet.copyOf(memory, words, high - low);
    scratch.release(words);
    this.#postings.set(id, set);
    return set;
  }

  /** Unique values that several objects have. */
  conflicts(): { key: unknown; names: string[] }[] {
    const found: { key: unknown; names: string[] }[] = [];
    for (const [id, key] of this.#conflicts) {
      const names = this.holders(key);
      if (names.length > 1) found.push({ key, names });
      else this.#conflicts.delete(id);
    }
    return found;
  }

  /** Names of the objects with this key, in order. */
  holders(key: unknown): string[] {
    const [low, high] = this.rankRange(key, key, true, true);
    const names: string[] = [];
    for (let rank = low; rank < high; rank++) {
      const item = this.order.at(rank);
      names.push(this.dependencies.names.get(this.slotOfItem ? this.slotOfItem[item]! : item)!);
    }
    return names.sort(compareNames);
  }

  /** Every key of every object, by slot or by item; what changes meanwhile may come with its old or its new keys. */
  *keys(): Generator<{ readonly slot: number; readonly key: unknown }, void, void> {
    const { column } = this;
    const limit = this.slotOfItem?.length ?? this.dependencies.names.length;
    for (let item = 0; item < limit; item++) {
      const key = column.get(item);
      if (key !== undefined) yield { slot: this.slotOfItem ? this.slotOfItem[item]! : item, key };
    }
  }

  /** A key in the form in which equal ones are the same for a `Map`. */
  #identity(key: unknown): unknown {
    return this.field.codec.type === 'own' && key !== undefined ? this.field.codec.format(key) : key;
  }

  protected addPosting(slot: number, key: unknown): void {
    if (this.#postings.size > 0) this.#postings.get(this.#identity(key))?.add(slot);
  }

  protected removePosting(slot: number, item: number): void {
    if (this.#postings.size === 0) return;
    const id = this.#identity(this.column.get(item));
    const postings = this.#postings.get(id);
    if (!postings?.remove(slot) || postings.count >= leastKept / 2) return;
    this.#postings.delete(id);
    if (postings.words) this.dependencies.memory.free(postings.words);
  }

  protected insertItem(item: number, key: unknown): void {
    const { order, column } = this;
    order.insert(item, key);
    if ((column instanceof NumberColumn && !this.field.unique) || !column.has(item)) return;
    for (const neighbour of [order.previous, order.next]) {
      if (neighbour === none || column.compare(neighbour, item) !== 0) continue;
      column.share(item, neighbour);
      this.#addConflict(item);
      return;
    }
  }

  protected appendKey(item: number, key: unknown): void {
    const { column } = this;
    if (column instanceof TextColumn && key !== undefined) column.append(item, key as string);
    else column.set(item, key);
  }

  /** @param items ascending */
  protected *sortItems(items: Uint32Array, count: number): Steps {
    const { column } = this;
    const isShared = column instanceof TextColumn && (yield* column.sortShared(items, count));
    if (!isShared && !(yield* areSorted(items, count, column))) yield* this.#sort(items, count);
    // Equal numbers, and texts that are kept once, matter only where they must not be.
    if ((isShared || column instanceof NumberColumn) && !this.field.unique) return;
    for (let i = 1; i < count; i++) {
      if (column.compare(items[i - 1]!, items[i]!) === 0) {
        column.share(items[i]!, items[i - 1]!);
        this.#addConflict(items[i]!);
      }
      if (i % 8192 === 0) yield;
    }
    if (column instanceof TextColumn) yield* column.pack();
  }

  *#sort(items: Uint32Array, count: number): Steps {
    const { column } = this;
    if (column instanceof NumberColumn) yield* sortByNumber(items, count, column.values);
    else if (column instanceof TextColumn) yield* sortByText(items, count, column);
    else yield* sortByComparison(items, count, (a, b) => column.compare(a, b));
  }

  #addConflict(item: number): void {
    if (!this.field.unique) return;
    const key = this.column.get(item);
    this.#conflicts.set(this.#identity(key), key);
  }
}

function markRanks(
  order: Order,
  slotOfItem: Uint32Array | undefined,
  low: number,
  high: number,
  words: Uint32Array,
): void {
  order.spans(low, high, (items, from, to) => {
    for (let at = from; at < to; at++) {
      const slot = slotOfItem ? slotOfItem[items[at]!]! : items[at]!;
      words[slot >>> 5]! |= 1 << (slot & 31);
    }
  });
}

function slotsOf(set: SlotSet): Uint32Array {
  const slots = new Uint32Array(set.count);
  let at = 0;
  set.forEachChunk((chunk, count) => {
    slots.set(chunk.subarray(0, count), at);
    at += count;
  });
  return slots;
}

/** Names are ASCII, for which the order of UTF-16 units is that of code points. */
function compareNames(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function columnOf(field: Field): Column {
  switch (field.codec.type) {
    case 'number':
    case 'date':
      return new NumberColumn();
    case 'boolean':
      return new BooleanColumn();
    case 'string':
      return new TextColumn();
    default:
      return new ValueColumn(field.codec);
  }
}

export class SingleIndex extends FieldIndex {
  readonly order: Order;
  /** True: `order` has the slots without a key, too. */
  #hasAllSlots = false;
  /** The keys are those that somebody else keeps. */
  readonly #hasForeignKeys: boolean;

  /** @param names for the index of the names, which somebody else keeps */
  constructor(field: Field, dependencies: IndexDependencies, names?: TextColumn) {
    const column = names ?? columnOf(field);
    super(field, column, dependencies);
    this.order = new Order(column, dependencies.memory);
    this.#hasForeignKeys = names !== undefined;
  }

  get firstWithKey(): number {
    return this.#hasAllSlots ? this.withoutKey.count : 0;
  }

  insert(slot: number, keys: readonly unknown[]): void {
    if (keys.length === 0) this.withoutKey.add(slot);
    if (!this.#hasForeignKeys) this.column.set(slot, keys[0]);
    if (keys.length === 0) {
      if (this.#hasAllSlots) this.order.insert(slot);
      return;
    }
    this.addPosting(slot, keys[0]);
    this.insertItem(slot, keys[0]);
  }

  update(slot: number, keys: readonly unknown[]): void {
    if (this.column.equals(slot, keys[0])) return;
    this.remove(slot);
    this.insert(slot, keys);
  }

  remove(slot: number): void {
    if (this.withoutKey.remove(slot)) {
      if (this.#hasAllSlots) this.order.remove(slot);
      return;
    }
    this.order.remove(slot);
    this.removePosting(slot, slot);
    if (!this.#hasForeignKeys) this.column.set(slot, undefined);
  }

  some(slot: number, accepts: (key: unknown) => boolean): boolean {
    return this.column.has(slot) && accepts(this.column.get(slot));
  }

  hasExactly(slot: number, keys: readonly unknown[]): boolean {
    return this.column.equals(slot, keys[0]);
  }

  sortOrder(): Order {
    if (!this.#hasAllSlots && this.withoutKey.count > 0) {
      const { order } = this;
      const sorted = new Uint32Array(this.withoutKey.count + order.size);
      sorted.set(slotsOf(this.withoutKey));
      for (let place = 0, rank = this.withoutKey.count; place < order.leaves; place++) {
        sorted.set(order.leaf(place), rank);
        rank += order.leaf(place).length;
      }
      order.fill(sorted, sorted.length);
      this.#hasAllSlots = true;
    }
    return this.order;
  }

  sortKeys(): Keys {
    return this.column;
  }

  append(slot: number, keys: readonly unknown[]): void {
    this.appendOne(slot, keys.length === 0 ? undefined : keys[0]);
  }

  /** Bulk: as `append`, of one key, or (undefined) of none. */
  appendOne(slot: number, key: unknown): void {
    if (key === undefined) this.withoutKey.add(slot);
    if (!this.#hasForeignKeys) this.appendKey(slot, key);
  }

  makeRoom(slots: number, times: number): void {
    if (!this.#hasForeignKeys) this.column.makeRoom(slots, times);
  }

  *finish(): Steps {
    const { column } = this;
    const items = new Uint32Array(this.dependencies.names.length);
    let count = 0;
    for (let slot = 0; slot < items.length; slot++) {
      if (column.has(slot)) items[count++] = slot;
      if (slot % 8192 === 0) yield;
    }
    yield* this.sortItems(items, count);
    this.order.fill(items, count);
  }

  *pieces(of: string, limit: number, portion: number): Pieces {
    if (!this.#hasForeignKeys) yield* this.column.pieces(`${of}keys`, limit, portion);
    yield* this.order.pieces(`${of}order`, portion, this.firstWithKey);
  }

  *restore(of: string, sections: Sections): Steps {
    if (!this.#hasForeignKeys) yield* this.column.restore(`${of}keys`, sections);
    yield* this.restoreOrder(of, sections);
  }
}

export class MultiIndex extends FieldIndex {
  readonly order: Order;
  override slotOfItem: Uint32Array<ArrayBuffer> = new Uint32Array(16);
  readonly #smallest: ExtremeKeys;
  readonly #largest: ExtremeKeys;
  /** By smallest and by largest key; from the first sort that needs them on, since most indexes of many values are never sorted by. */
  #ascending: Order | undefined;
  #descending: Order | undefined;
  /** The object's next larger value, by item. */
  #nextItem = new Uint32Array(16);
  readonly #free: number[] = [];
  #used = 0;

  constructor(field: Field, dependencies: IndexDependencies) {
    const column = columnOf(field);
    super(field, column, dependencies);
    this.order = new Order(column, dependencies.memory);
    this.#smallest = new ExtremeKeys(column);
    this.#largest = new ExtremeKeys(column);
  }

  readonly firstWithKey = 0;

  insert(slot: number, keys: readonly unknown[]): void {
    this.#chain(slot, this.#ordered(keys), this.#addKey);
    this.#ascending?.insert(slot);
    this.#descending?.insert(slot);
  }

  update(slot: number, keys: readonly unknown[]): void {
    const after = this.#ordered(keys);
    if (this.#has(slot, after)) return;
    const isAt = (item: number, key: unknown) => key !== undefined && item !== none && this.column.equals(item, key);
    const sameFirst = isAt(this.#smallest.itemOfSlot[slot]!, after[0]);
    const sameLast = isAt(this.#largest.itemOfSlot[slot]!, after.at(-1));
    if (!sameFirst) this.#ascending?.remove(slot);
    if (!sameLast) this.#descending?.remove(slot);
    this.#removeItems(slot);
    this.#chain(slot, after, this.#addKey);
    if (!sameFirst) this.#ascending?.insert(slot);
    if (!sameLast) this.#descending?.insert(slot);
  }

  remove(slot: number): void {
    this.#ascending?.remove(slot);
    this.#descending?.remove(slot);
    this.#removeItems(slot);
  }

  /** The keys in order; they themselves where they are already. */
  #ordered(keys: readonly unknown[]): readonly unknown[] {
    const { compare } = this.field.codec;
    for (let i = 1; i < keys.length; i++) if (compare(keys[i - 1], keys[i]) > 0) return keys.toSorted(compare);
    return keys;
  }

  /** One key after the other, so that a text which others have is kept once. */
  readonly #addKey = (item: number, key: unknown): void => {
    this.column.set(item, key);
    this.addPosting(this.slotOfItem[item]!, key);
    this.insertItem(item, key);
  };

  #removeItems(slot: number): void {
    const first = this.#smallest.itemOfSlot[slot]!;
    if (first === none) this.withoutKey.remove(slot);
    for (let item = first; item !== none; item = this.#nextItem[item]!) {
      this.order.remove(item);
      this.removePosting(slot, item);
      this.column.set(item, undefined);
      this.#free.push(item);
    }
    this.#smallest.set(slot, none);
    this.#largest.set(slot, none);
  }

  some(slot: number, accepts: (key: unknown) => boolean): boolean {
    for (let item = this.#smallest.itemOfSlot[slot]!; item !== none; item = this.#nextItem[item]!) {
      if (accepts(this.column.get(item))) return true;
    }
    return false;
  }

  hasExactly(slot: number, keys: readonly unknown[]): boolean {
    return this.#has(slot, this.#ordered(keys));
  }

  #has(slot: number, keys: readonly unknown[]): boolean {
    let item = this.#smallest.itemOfSlot[slot]!;
    for (const key of keys) {
      if (item === none || !this.column.equals(item, key)) return false;
      item = this.#nextItem[item]!;
    }
    return item === none;
  }

  sortOrder(descending: boolean): Order {
    if (descending) this.#descending ??= this.#sortedBy(this.#largest);
    else this.#ascending ??= this.#sortedBy(this.#smallest);
    return descending ? this.#descending! : this.#ascending!;
  }

  sortKeys(descending: boolean): Keys {
    return descending ? this.#largest : this.#smallest;
  }

  /** All slots by their smallest or largest key: those without a key, then the slots of the items with that key. */
  #sortedBy(keys: ExtremeKeys): Order {
    const { slotOfItem, order, column } = this;
    const { itemOfSlot } = keys;
    const sorted = new Uint32Array(this.withoutKey.count + order.size);
    sorted.set(slotsOf(this.withoutKey));
    let count = this.withoutKey.count;
    let start = count;
    let last = none;
    order.spans(0, order.size, (items, from, to) => {
      for (let at = from; at < to; at++) {
        const item = items[at]!;
        const slot = slotOfItem[item]!;
        if (itemOfSlot[slot] !== item) continue;
        if (last !== none && column.compare(last, item) !== 0) {
          sorted.subarray(start, count).sort();
          start = count;
        }
        last = item;
        sorted[count++] = slot;
      }
    });
    sorted.subarray(start, count).sort();
    const result = new Order(keys, this.dependencies.memory);
    result.fill(sorted, count);
    return result;
  }

  append(slot: number, keys: readonly unknown[]): void {
    this.#chain(slot, this.#ordered(keys), this.#appendKey);
  }

  readonly #appendKey = (item: number, key: unknown): void => this.appendKey(item, key);

  makeRoom(slots: number, times: number): void {
    const items = Math.ceil(this.#used * times);
    this.slotOfItem = grown(this.slotOfItem, items);
    this.#nextItem = grown(this.#nextItem, items);
    this.column.makeRoom(items, times);
    this.#smallest.makeRoom(slots);
    this.#largest.makeRoom(slots);
  }

  #chain(slot: number, keys: readonly unknown[], keep: (item: number, key: unknown) => void): void {
    let last = none;
    let first = none;
    for (const key of keys) {
      const item = this.#free.pop() ?? this.#used++;
      this.slotOfItem = grown(this.slotOfItem, item + 1);
      this.#nextItem = grown(this.#nextItem, item + 1);
      this.slotOfItem[item] = slot;
      keep(item, key);
      this.#nextItem[item] = none;
      if (last === none) first = item;
      else this.#nextItem[last] = item;
      last = item;
    }
    this.#smallest.set(slot, first);
    this.#largest.set(slot, last);
    if (first === none) this.withoutKey.add(slot);
  }

  *finish(): Steps {
    const items = new Uint32Array(this.#used);
    for (let item = 0; item < items.length; item++) {
      items[item] = item;
      if (item % 8192 === 0) yield;
    }
    yield* this.sortItems(items, items.length);
    this.order.fill(items, items.length);
  }

  *pieces(of: string, limit: number, portion: number): Pieces {
    const used = this.#used;
    yield* this.column.pieces(`${of}keys`, used, portion);
    yield* numberPieces(`${of}first`, limit, portion, () => this.#smallest.itemOfSlot, none);
    yield* numberPieces(`${of}next`, used, portion, () => this.#nextItem);
    yield* this.order.pieces(`${of}order`, portion, 0);
  }

  *restore(of: string, sections: Sections): Steps {
    yield* this.column.restore(`${of}keys`, sections);
    this.slotOfItem = sectionOf(sections, `${of}owners`);
    this.#nextItem = sectionOf(sections, `${of}next`);
    this.#smallest.itemOfSlot = sectionOf(sections, `${of}first`);
    this.#largest.itemOfSlot = sectionOf(sections, `${of}last`);
    this.#used = this.#nextItem.length;
    for (let item = this.#used - 1; item >= 0; item--) {
      if (!this.column.has(item)) this.#free.push(item);
      if (item % 65_536 === 0) yield;
    }
    yield* this.restoreOrder(of, sections);
  }
}
