/** The keys of one field by *item*: a slot, or in a multi-value field one occurrence of a value. An item without a key sorts first. */
import type { KeyCodec } from '../model/key.ts';
import { grown, none } from './arrays.ts';
import type { Pieces } from './snapshot/piece.ts';
import { numberPieces, textPieces } from './snapshot/piece.ts';
import type { Sections } from './snapshot/texts.ts';
import { getTexts, sectionOf } from './snapshot/texts.ts';
import type { Steps } from './sort.ts';

export interface Keys {
  /** Undefined: no key. */
  get(item: number): unknown;
  has(item: number): boolean;
  /** By key, items without one first. */
  compare(a: number, b: number): number;
  /** The item's key against this one; no key (undefined) is smaller than every key. */
  compareTo(item: number, key: unknown): number;
  /** An empty column for keys of this type. */
  emptyLike(): Column;
  readonly isText: boolean;
  /**
   * A number for a key: a larger key never has a smaller one, and keys may share one. NaN for no key and for types that have none.
   * @param skipped of a text: units not looked at, which are the same in all that are compared
   */
  numberOf(key: unknown, skipped: number): number;
  /** The number of the item's key. */
  number(item: number, skipped: number): number;
}

export interface Column extends Keys {
  /** Whether the item has this key; undefined: none. */
  equals(item: number, key: unknown): boolean;
  set(item: number, key: unknown): void;
  /** Gives an item the key of another, which is the same: it is kept once. */
  share(item: number, other: number): void;
  /** Copies the keys of the items below a number. */
  pieces(of: string, count: number, portion: number): Pieces;
  /** Bulk: this many items are expected, about so many times as many as there are. */
  makeRoom(items: number, times: number): void;
  /** Fills an empty column. */
  restore(of: string, sections: Sections): Steps;
}

/** A key: neither NaN nor behind the end. */
function isKey(value: number | undefined): boolean {
  return value! >= Number.NEGATIVE_INFINITY;
}

/** Numbers and dates; NaN is no key, and neither is what lies behind the end. */
export class NumberColumn implements Column {
  readonly isText: boolean = false;
  values = new Float64Array(16).fill(Number.NaN);

  get(item: number): unknown {
    const value = this.values[item];
    return isKey(value) ? value : undefined;
  }

  set(item: number, key: unknown): void {
    if (key === undefined && item >= this.values.length) return;
    this.values = grown(this.values, item + 1, Number.NaN);
    this.values[item] = key === undefined ? Number.NaN : (key as number);
  }

  /** Each number is kept as it is. */
  share(): void {}

  makeRoom(items: number): void {
    this.values = grown(this.values, items, Number.NaN);
  }

  has(item: number): boolean {
    return isKey(this.values[item]);
  }

  compare(a: number, b: number): number {
    const x = this.values[a]!;
    const y = this.values[b]!;
    if (x < y) return -1;
    if (x > y) return 1;
    return x === y ? 0 : Number(isKey(x)) - Number(isKey(y));
  }

  compareTo(item: number, key: unknown): number {
    const value = this.values[item]!;
    if (key === undefined) return Number(isKey(value));
    return value === key ? 0 : value > (key as number) ? 1 : -1;
  }

  equals(item: number, key: unknown): boolean {
    return this.compareTo(item, key) === 0;
  }

  emptyLike(): Column {
    return new NumberColumn();
  }

  pieces(of: string, count: number, portion: number): Pieces {
    return numberPieces(of, count, portion, () => this.values, Number.NaN);
  }

  *restore(of: string, sections: Sections): Steps {
    this.values = sectionOf(sections, of);
    yield;
  }

  numberOf(key: unknown): number {
    return key === undefined ? Number.NaN : Number(key);
  }

  number(item: number): number {
    return this.values[item] ?? Number.NaN;
  }
}

/** False and true as 0 and 1. */
export class BooleanColumn extends NumberColumn {
  override get(item: number): unknown {
    const value = this.values[item];
    return isKey(value) ? value === 1 : undefined;
  }

  override set(item: number, key: unknown): void {
    super.set(item, key === undefined ? undefined : Number(key));
  }

  override compareTo(item: number, key: unknown): number {
    return super.compareTo(item, key === undefined ? undefined : Number(key));
  }

  override emptyLike(): Column {
    return new BooleanColumn();
  }
}

type ValueCodec = Pick<KeyCodec, 'type' | 'compare' | 'parse' | 'format'>;

/** Keys of every other type, and a few texts. */
export class ValueColumn implements Column {
  readonly values: unknown[] = [];
  readonly isText: boolean;
  readonly #codec: ValueCodec;
  readonly #compare: KeyCodec['compare'];

  constructor(codec: ValueCodec) {
    this.#codec = codec;
    this.#compare = codec.compare;
    this.isText = codec.type === 'string';
  }

  get(item: number): unknown {
    return this.values[item];
  }

  set(item: number, key: unknown): void {
    // An element far behind the end would turn the array into a dictionary.
    while (this.values.length < item) this.values.push(undefined);
    this.values[item] = key;
  }

  share(item: number, other: number): void {
    this.set(item, this.values[other]);
  }

  has(item: number): boolean {
    return this.values[item] !== undefined;
  }

  compare(a: number, b: number): number {
    const x = this.values[a];
    const y = this.values[b];
    if (x === y) return 0;
    if (x === undefined) return -1;
    return y === undefined ? 1 : this.#compare(x, y);
  }

  compareTo(item: number, key: unknown): number {
    const value = this.values[item];
    if (value === key) return 0;
    if (value === undefined) return -1;
    return key === undefined ? 1 : this.#compare(value, key);
  }

  equals(item: number, key: unknown): boolean {
    return this.compareTo(item, key) === 0;
  }

  /** An array of values has no room before it has them. */
  makeRoom(): void {}

  emptyLike(): Column {
    return new ValueColumn(this.#codec);
  }

  pieces(of: string, count: number, portion: number): Pieces {
    const { values } = this;
    const { format } = this.#codec;
    return textPieces(of, count, portion, (item) => {
      const key = values[item];
      return key === undefined ? undefined : format(key);
    });
  }

  *restore(of: string, sections: Sections): Steps {
    const { values } = this;
    const codes = sectionOf(sections, `${of.replace(/keys$/, '')}codes`);
    const keys: unknown[] = [undefined];
    yield* getTexts(sections, of, (text) => keys.push(this.#keyOf(text!)));
    for (let item = 0; item < codes.length; item++) {
      values.push(keys[codes[item]!]);
      if (item % 65_536 === 0) yield;
    }
  }

  /** The key that was kept as this text. Throws when the type of the keys does not give it back. */
  #keyOf(text: string): unknown {
    const { parse, format } = this.#codec;
    const key = parse(text);
    if (format(key) !== text) throw new Error(`the key ${JSON.stringify(text)} is not what its type makes of it`);
    return key;
  }

  numberOf(key: unknown, skipped: number): number {
    return this.isText && key !== undefined ? textNumber(key as string, skipped) : Number.NaN;
  }

  number(item: number, skipped: number): number {
    return this.numberOf(this.values[item], skipped);
  }
}

/**
 * Packs up to four UTF-16 code units into 32 bits, most significant first. Each byte is the unit + 1, and 0 past the end;
 * a unit from 0xfe on becomes 0xff and ends the prefix.
 */
export function textNumber(text: string, skipped: number): number {
  const end = Math.min(skipped + 4, text.length);
  let number = 0;
  let shift = 24;
  for (let at = skipped; at < end; at++, shift -= 8) {
    const unit = text.charCodeAt(at) + 1;
    if (unit >= 0xff) return (number | (0xff << shift)) >>> 0;
    number |= unit << shift;
  }
  return number >>> 0;
}

/** A multi-value field as a sort sees it: by slot, each with its smallest or its largest key. */
export class ExtremeKeys implements Keys {
  /** Item with that key by slot. */
  itemOfSlot = new Uint32Array(16).fill(none);
  readonly #column: Column;

  constructor(column: Column) {
    this.#column = column;
  }

  makeRoom(slots: number): void {
    this.itemOfSlot = grown(this.itemOfSlot, slots, none);
  }

  set(slot: number, item: number): void {
    this.itemOfSlot = grown(this.itemOfSlot, slot + 1, none);
    this.itemOfSlot[slot] = item;
  }

  has(slot: number): boolean {
    return this.itemOfSlot[slot] !== none;
  }

  compare(a: number, b: number): number {
    const x = this.itemOfSlot[a]!;
    const y = this.itemOfSlot[b]!;
    if (x === none || y === none) return Number(x !== none) - Number(y !== none);
    return this.#column.compare(x, y);
  }

  compareTo(slot: number, key: unknown): number {
    const item = this.itemOfSlot[slot]!;
    if (item === none) return key === undefined ? 0 : -1;
    return this.#column.compareTo(item, key);
  }

  get(slot: number): unknown {
    const item = this.itemOfSlot[slot]!;
    return item === none ? undefined : this.#column.get(item);
  }

  emptyLike(): Column {
    return this.#column.emptyLike();
  }

  get isText(): boolean {
    return this.#column.isText;
  }

  numberOf(key: unknown, skipped: number): number {
    return this.#column.numberOf(key, skipped);
  }

  number(slot: number, skipped: number): number {
    const item = this.itemOfSlot[slot]!;
    return item === none ? Number.NaN : this.#column.number(item, skipped);
  }
}
