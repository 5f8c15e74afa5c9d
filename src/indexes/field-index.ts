/**
 * The index of one field. Its *items* are what its order holds: slots where every object has one key at most, else one item
 * for each value of each object (an occurrence). The objects of one key are a *run* of the order; of long runs that were asked for,
 * a set of slots is kept and follows every change.
 */
import type { KeyCodec } from '../model/key.ts';
import { grown, none } from './arrays.ts';
import type { Column, Keys } from './column.ts';
import { BooleanColumn, EdgeKeys, NumberColumn, ValueColumn } from './column.ts';
import type { Field } from './field.ts';
import { compareNames, leafSize, Order } from './order.ts';
import type { Scratch } from './scratch.ts';
import { SlotSet } from './slot-set.ts';
import type { Steps } from './sort.ts';
import { sortByComparison, sortByNumber, sortByText } from './sort.ts';

/** Shorter runs are read from the order each time. */
const leastRun = 256;

export interface IndexDependencies {
  /** Name by slot. */
  readonly names: string[];
  readonly scratch: Scratch;
  /** All slots by name. */
  byName(): Order;
}

export abstract class FieldIndex {
  readonly field: Field;
  /** By item. */
  readonly column: Column;
  /** All items with a key; slots without one are in it, at its beginning, from the first sort that needs them on. */
  abstract readonly order: Order;
  /** Slot by item; undefined when items are slots. */
  owners: Uint32Array<ArrayBuffer> | undefined;
  /** Objects without a key. */
  readonly without = new SlotSet();
  protected readonly parts: IndexDependencies;
  /** Of a unique index: keys that more than one object had, by their identity. */
  readonly #conflicts = new Map<unknown, unknown>();
  readonly #runs = new Map<unknown, SlotSet>();

  constructor(field: Field, column: Column, parts: IndexDependencies) {
    this.field = field;
    this.column = column;
    this.parts = parts;
  }

  /** Adds a new object. */
  abstract insert(slot: number, keys: readonly unknown[]): void;

  /** Gives the object these keys instead of those it has. */
  abstract update(slot: number, keys: readonly unknown[]): void;

  abstract remove(slot: number): void;

  /** True when one of the object's keys is accepted. */
  abstract some(slot: number, accepts: (key: unknown) => boolean): boolean;

  /** All slots as a sort by this field sees them: by the smallest key, for a descending sort by the largest. */
  abstract sorted(descending: boolean): Order;

  /** The keys of `sorted`. */
  abstract sortKeys(descending: boolean): Keys;

  /** Bulk: as `insert`, without the order. */
  abstract append(slot: number, keys: readonly unknown[]): void;

  /** Bulk: makes the order of everything appended, given all slots by name. */
  abstract finish(byName: Uint32Array): Steps;

  /** Ranks in `order` of the first item in the range of keys and of the first behind it. */
  ranks(
    from: unknown,
    to: unknown,
    fromInclusive: boolean,
    toInclusive: boolean,
  ): readonly [low: number, high: number] {
    const { order } = this;
    const low = from === undefined ? this.keyless : order.rankOf(from, !fromInclusive);
    return [low, Math.max(low, to === undefined ? order.size : order.rankOf(to, toInclusive))];
  }

  /** Items without a key in `order`. */
  abstract readonly keyless: number;

  /** Sets the bits of the objects between two ranks of `order`. */
  mark(low: number, high: number, words: Uint32Array): void {
    markRanks(this.order, this.owners, low, high, words);
  }

  /** The objects of one key, whose run has these ranks; kept from now on when there are many. */
  run(key: unknown, low: number, high: number, limit: number): SlotSet {
    const id = this.#identity(key);
    return this.#runs.get(id) ?? this.#read(id, low, high, limit);
  }

  /** The objects of one key, if their set is kept. */
  keptRun(key: unknown): SlotSet | undefined {
    return this.#runs.size > 0 ? this.#runs.get(this.#identity(key)) : undefined;
  }

  get missing(): number {
    return this.without.count;
  }

  /** The objects without a key, by name. */
  protected withoutByName(): Uint32Array {
    const byName = this.parts.byName();
    const slots = new Uint32Array(this.missing);
    let count = 0;
    for (let place = 0; count < slots.length; place++) {
      const leaf = byName.leaf(place);
      for (let i = 0; i < leaf.length; i++) if (this.without.has(leaf[i]!)) slots[count++] = leaf[i]!;
    }
    return slots;
  }

  #read(id: unknown, low: number, high: number, limit: number): SlotSet {
    const { order, owners } = this;
    if (high - low < leastRun) {
      const slots = new Uint32Array(Math.max(high - low, 4));
      for (let rank = low; rank < high; rank++) {
        const item = order.at(rank);
        slots[rank - low] = owners ? owners[item]! : item;
      }
      slots.subarray(0, high - low).sort();
      return new SlotSet(slots, high - low);
    }
    const words = this.parts.scratch.take(limit);
    markRanks(order, owners, low, high, words);
    const set = SlotSet.copyOf(words, high - low);
    this.parts.scratch.giveBack(words);
    this.#runs.set(id, set);
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
    const [low, high] = this.ranks(key, key, true, true);
    const names: string[] = [];
    for (let rank = low; rank < high; rank++) {
      const item = this.order.at(rank);
      names.push(this.parts.names[this.owners ? this.owners[item]! : item]!);
    }
    return names;
  }

  /** A key in the form in which equal ones are the same for a `Map`. */
  #identity(key: unknown): unknown {
    return this.field.codec.type === 'own' && key !== undefined ? this.field.codec.format(key) : key;
  }

  protected joined(slot: number, key: unknown): void {
    if (this.#runs.size > 0) this.#runs.get(this.#identity(key))?.add(slot);
  }

  protected left(slot: number, key: unknown): void {
    if (this.#runs.size === 0) return;
    const id = this.#identity(key);
    const run = this.#runs.get(id);
    if (run?.remove(slot) && run.count < leastRun / 2) this.#runs.delete(id);
  }

  protected insertItem(item: number): void {
    const { order, column } = this;
    order.insert(item);
    if ((column instanceof NumberColumn && !this.field.unique) || !column.has(item)) return;
    for (const neighbour of [order.previous, order.next]) {
      if (neighbour === none || column.compare(neighbour, item) !== 0) continue;
      const key = column.get(neighbour);
      // Equal texts share one string.
      column.set(item, key);
      if (this.field.unique) this.#conflicts.set(this.#identity(key), key);
      return;
    }
  }

  protected *sortItems(items: Uint32Array, count: number): Steps {
    const { column } = this;
    if (column instanceof NumberColumn) yield* sortByNumber(items, count, column.values);
    else if (this.field.codec.type === 'string') {
      const { values } = column as ValueColumn;
      yield* sortByText(items, count, (item) => values[item] as string);
    } else yield* sortByComparison(items, count, (a, b) => column.compare(a, b));
    // Equal texts share one string; equal numbers matter only where they must not be.
    if (column instanceof NumberColumn && !this.field.unique) return;
    for (let i = 1; i < count; i++) {
      const key = column.get(items[i - 1]!);
      const next = column.get(items[i]!);
      if (key === next || (this.field.codec.type === 'own' && column.compare(items[i - 1]!, items[i]!) === 0)) {
        column.set(items[i]!, key);
        if (this.field.unique) this.#conflicts.set(this.#identity(key), key);
      }
      if (i % 8192 === 0) yield;
    }
  }
}

function markRanks(order: Order, owners: Uint32Array | undefined, low: number, high: number, words: Uint32Array): void {
  if (low >= high) return;
  const { items, counts, directory } = order;
  let place = order.placeAt(low);
  let at = low - order.starts[place]!;
  for (let left = high - low; left > 0; place++) {
    const leaf = directory[place]!;
    const base = leaf * leafSize;
    const end = Math.min(counts[leaf]!, at + left);
    left -= end - at;
    for (; at < end; at++) {
      const slot = owners ? owners[items[base + at]!]! : items[base + at]!;
      words[slot >>> 5]! |= 1 << (slot & 31);
    }
    at = 0;
  }
}

function columnOf(field: Field, values?: unknown[]): Column {
  switch (field.codec.type) {
    case 'number':
    case 'date':
      return new NumberColumn();
    case 'boolean':
      return new BooleanColumn();
    default:
      return new ValueColumn(
        values ? (compareNames as KeyCodec['compare']) : field.codec.compare,
        field.codec.type === 'string',
        values,
      );
  }
}

export class SingleIndex extends FieldIndex {
  readonly order: Order;
  /** True: `order` has the slots without a key, too. */
  #isWhole = false;

  /** @param values the names by slot, which somebody else keeps, for the index of the names */
  constructor(field: Field, parts: IndexDependencies, values?: unknown[]) {
    const column = columnOf(field, values);
    super(field, column, parts);
    this.order = new Order(column, values ? { names: parts.names } : parts);
  }

  get keyless(): number {
    return this.#isWhole ? this.missing : 0;
  }

  insert(slot: number, keys: readonly unknown[]): void {
    this.append(slot, keys);
    if (keys.length === 0) {
      if (this.#isWhole) this.order.insert(slot);
      return;
    }
    this.joined(slot, keys[0]);
    this.insertItem(slot);
  }

  update(slot: number, keys: readonly unknown[]): void {
    const before = this.column.get(slot);
    const key = keys[0];
    if (before === key) return;
    if (before !== undefined && key !== undefined && this.field.codec.compare(before, key) === 0) return;
    this.remove(slot);
    this.insert(slot, keys);
  }

  remove(slot: number): void {
    if (this.without.remove(slot)) {
      if (this.#isWhole) this.order.remove(slot);
      return;
    }
    this.order.remove(slot);
    this.left(slot, this.column.get(slot));
    this.column.set(slot, undefined);
  }

  some(slot: number, accepts: (key: unknown) => boolean): boolean {
    return this.column.has(slot) && accepts(this.column.get(slot));
  }

  sorted(): Order {
    if (!this.#isWhole && this.missing > 0) {
      const { order } = this;
      const sorted = new Uint32Array(this.missing + order.size);
      sorted.set(this.withoutByName());
      for (let place = 0, rank = this.missing; place < order.leaves; place++) {
        sorted.set(order.leaf(place), rank);
        rank += order.leaf(place).length;
      }
      order.fill(sorted, sorted.length);
      this.#isWhole = true;
    }
    return this.order;
  }

  sortKeys(): Keys {
    return this.column;
  }

  append(slot: number, keys: readonly unknown[]): void {
    if (keys.length === 0) this.without.add(slot);
    this.column.set(slot, keys[0]);
  }

  *finish(byName: Uint32Array): Steps {
    const { column } = this;
    const items = byName.slice();
    let count = byName.length;
    if (this.missing > 0) {
      count = 0;
      for (let i = 0; i < byName.length; i++) {
        if (column.has(byName[i]!)) items[count++] = byName[i]!;
        if (i % 8192 === 0) yield;
      }
    }
    yield;
    yield* this.sortItems(items, count);
    this.order.fill(items, count);
  }
}

export class MultiIndex extends FieldIndex {
  readonly order: Order;
  override owners: Uint32Array<ArrayBuffer> = new Uint32Array(16);
  readonly #smallest: EdgeKeys;
  readonly #largest: EdgeKeys;
  /** By smallest and by largest key; from the first sort that needs them on, since most indexes of many values are never sorted by. */
  #ascending: Order | undefined;
  #descending: Order | undefined;
  /** The object's next larger value, by item. */
  #following = new Uint32Array(16);
  readonly #free: number[] = [];
  #used = 0;

  constructor(field: Field, parts: IndexDependencies) {
    const column = columnOf(field);
    super(field, column, parts);
    const self = this;
    this.order = new Order(column, {
      ...parts,
      get owners() {
        return self.owners;
      },
    });
    this.#smallest = new EdgeKeys(column);
    this.#largest = new EdgeKeys(column);
  }

  readonly keyless = 0;

  insert(slot: number, keys: readonly unknown[]): void {
    this.#addItems(slot, keys);
    this.#ascending?.insert(slot);
    this.#descending?.insert(slot);
  }

  update(slot: number, keys: readonly unknown[]): void {
    const before = this.#keysOf(slot);
    const { compare } = this.field.codec;
    const after = keys.length > 1 ? keys.toSorted(compare) : keys;
    if (before.length === after.length && before.every((key, i) => compare(key, after[i]) === 0)) return;
    const same = (a: unknown, b: unknown) => a !== undefined && b !== undefined && compare(a, b) === 0;
    const sameFirst = same(before[0], after[0]);
    const sameLast = same(before.at(-1), after.at(-1));
    if (!sameFirst) this.#ascending?.remove(slot);
    if (!sameLast) this.#descending?.remove(slot);
    this.#removeItems(slot);
    this.#addItems(slot, after);
    if (!sameFirst) this.#ascending?.insert(slot);
    if (!sameLast) this.#descending?.insert(slot);
  }

  remove(slot: number): void {
    this.#ascending?.remove(slot);
    this.#descending?.remove(slot);
    this.#removeItems(slot);
  }

  #keysOf(slot: number): unknown[] {
    const keys: unknown[] = [];
    for (let item = this.#smallest.edges[slot]!; item !== none; item = this.#following[item]!)
      keys.push(this.column.get(item));
    return keys;
  }

  #addItems(slot: number, keys: readonly unknown[]): void {
    this.append(slot, keys);
    for (let item = this.#smallest.edges[slot]!; item !== none; item = this.#following[item]!) {
      this.joined(slot, this.column.get(item));
      this.insertItem(item);
    }
  }

  #removeItems(slot: number): void {
    const first = this.#smallest.edges[slot]!;
    if (first === none) this.without.remove(slot);
    for (let item = first; item !== none; item = this.#following[item]!) {
      this.order.remove(item);
      this.left(slot, this.column.get(item));
      this.column.set(item, undefined);
      this.#free.push(item);
    }
    this.#smallest.set(slot, none);
    this.#largest.set(slot, none);
  }

  some(slot: number, accepts: (key: unknown) => boolean): boolean {
    for (let item = this.#smallest.edges[slot]!; item !== none; item = this.#following[item]!) {
      if (accepts(this.column.get(item))) return true;
    }
    return false;
  }

  sorted(descending: boolean): Order {
    if (descending) this.#descending ??= this.#sortedBy(this.#largest);
    else this.#ascending ??= this.#sortedBy(this.#smallest);
    return descending ? this.#descending! : this.#ascending!;
  }

  sortKeys(descending: boolean): Keys {
    return descending ? this.#largest : this.#smallest;
  }

  /** All slots by their edge: those without a key by name, then the owners of the items that are one. */
  #sortedBy(keys: EdgeKeys): Order {
    const { owners, order } = this;
    const { edges } = keys;
    const sorted = new Uint32Array(this.parts.byName().size);
    sorted.set(this.withoutByName());
    let count = this.missing;
    for (let place = 0; place < order.leaves; place++) {
      const leaf = order.leaf(place);
      for (let i = 0; i < leaf.length; i++) {
        const slot = owners[leaf[i]!]!;
        if (edges[slot] === leaf[i]) sorted[count++] = slot;
      }
    }
    const result = new Order(keys, this.parts);
    result.fill(sorted, count);
    return result;
  }

  append(slot: number, keys: readonly unknown[]): void {
    let last = none;
    let first = none;
    for (const key of keys.length > 1 ? keys.toSorted(this.field.codec.compare) : keys) {
      const item = this.#free.pop() ?? this.#used++;
      this.owners = grown(this.owners, item + 1);
      this.#following = grown(this.#following, item + 1);
      this.owners[item] = slot;
      this.column.set(item, key);
      this.#following[item] = none;
      if (last === none) first = item;
      else this.#following[last] = item;
      last = item;
    }
    this.#smallest.set(slot, first);
    this.#largest.set(slot, last);
    if (first === none) this.without.add(slot);
  }

  *finish(byName: Uint32Array): Steps {
    const items = new Uint32Array(this.#used);
    const following = this.#following;
    const firsts = this.#smallest.edges;
    let count = 0;
    for (let i = 0; i < byName.length; i++) {
      for (let item = firsts[byName[i]!]!; item !== none; item = following[item]!) items[count++] = item;
      if (i % 8192 === 0) yield;
    }
    yield;
    yield* this.sortItems(items, count);
    this.order.fill(items, count);
  }
}
