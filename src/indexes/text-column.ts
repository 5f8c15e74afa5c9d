/**
 * Texts by item, without a string for each: a million strings cost twice their memory, and the garbage collector visits each of them.
 * Items with the same text may share an entry. When half of the entries are those of nobody, the others move to a new heap, some with
 * each change, so that no change waits for all.
 */
import { codecOf, compareText } from '../model/key.ts';
import { grown } from './arrays.ts';
import type { Column } from './column.ts';
import { textNumber, ValueColumn } from './column.ts';
import type { Numbers, Piece, Pieces } from './snapshot/piece.ts';
import type { Sections } from './snapshot/texts.ts';
import { sectionOf } from './snapshot/texts.ts';
import type { Steps } from './sort.ts';
import { compareBytes, encodeText, firstByte, hasBytes, TextHeap, wordsOf } from './text-heap.ts';

/** Items that move with each change. */
const movedAtOnce = 64;
/** Items between two yields. */
const step = 8_192;
/** Different texts that a bulk build looks for again, and how many it appends before it sees whether that is worth it. */
const mostShared = 1_024;
const sharingTrial = 8_192;
/** A smaller heap keeps what is nobody's. */
const leastMoved = 4_096;

export class TextColumn implements Column {
  readonly isText = true;
  /** Every item that had a text is smaller. */
  length = 0;
  /** By item: twice the place in a heap, and which one; 0: no text. */
  #places = new Uint32Array(16);
  /** One, and the other while texts move. */
  readonly #heaps: [TextHeap, TextHeap] = [new TextHeap(), new TextHeap()];
  /** The heap that new texts come to. */
  #current: 0 | 1 = 0;
  /** Words that are nobody's, or of which that is not known. */
  #dropped = 0;
  /** Items below it have moved; undefined: none move. */
  #moved: number | undefined;
  /** While texts move: their place in the current heap by the place in the other one. */
  #forward = new Uint32Array(0);
  /** The item whose text is the last of the current heap, and no other's. */
  #last = -1;
  /** During a bulk build: the place of each text; undefined once there are too many of them. */
  #placeOf: Map<string, number> | undefined = new Map();
  #appended = 0;

  static ofPieces(pieces: readonly Piece[]): TextColumn {
    const column = new TextColumn();
    for (const { values, bytes } of pieces) {
      let from = 0;
      for (const value of values) {
        if (value > 0) {
          column.#place(column.length, column.#heaps[0].appendBytes(bytes!, from, value - 1));
          from += (value - 1) >>> 1;
        } else column.length++;
      }
    }
    return column;
  }

  get(item: number): string | undefined {
    const place = this.#places[item];
    return place ? this.#heaps[place & 1]!.textAt(place >>> 1) : undefined;
  }

  /** The items that have a text. */
  *entries(): Generator<readonly [item: number, text: string], void, void> {
    for (let item = 0; item < this.length; item++) {
      const text = this.get(item);
      if (text !== undefined) yield [item, text];
    }
  }

  has(item: number): boolean {
    return this.#places[item]! > 0;
  }

  set(item: number, key: unknown): void {
    if (this.#moved !== undefined) this.#move(movedAtOnce);
    this.#drop(item);
    if (key === undefined) {
      if (item < this.#places.length) this.#places[item] = 0;
      return;
    }
    const text = key as string;
    if (this.#moved === undefined && !this.#heaps[this.#current].hasRoomFor(text) && this.#isMostlyDropped())
      this.#startMoving();
    this.#place(item, this.#heaps[this.#current].append(text));
    this.#last = item;
  }

  /** Bulk: as `set`, of an item that has none. Texts that come again and again are kept once. */
  append(item: number, text: string): void {
    const placeOf = this.#placeOf;
    const known = placeOf?.get(text);
    if (known !== undefined) return this.#place(item, known);
    const place = this.#heaps[this.#current].append(text);
    this.#place(item, place);
    if (!placeOf) return;
    placeOf.set(text, place);
    const isWorthIt = ++this.#appended < sharingTrial || placeOf.size * 8 < this.#appended;
    if (placeOf.size > mostShared || !isWorthIt) this.#placeOf = undefined;
  }

  makeRoom(items: number, times: number): void {
    this.#places = grown(this.#places, items);
    this.#heaps[this.#current].makeRoom(times);
  }

  /**
   * Bulk: sorts items by their texts when all items of a text share it, else gives false. Nothing is appended any more.
   */
  *sortShared(items: Uint32Array, count: number): Generator<void, boolean, void> {
    const placeOf = this.#placeOf;
    this.#placeOf = undefined;
    if (!placeOf) return false;
    const texts = [...placeOf].sort(([a], [b]) => compareText(a, b));
    const rankOf = new Map(texts.map(([, place], rank) => [place * 2 + this.#current, rank]));
    const ranks = new Uint16Array(count);
    const starts = new Uint32Array(texts.length + 1);
    for (let i = 0; i < count; i++) {
      ranks[i] = rankOf.get(this.#places[items[i]!]!)!;
      starts[ranks[i]! + 1]!++;
      if (i % step === 0) yield;
    }
    for (let rank = 0; rank < texts.length; rank++) starts[rank + 1]! += starts[rank]!;
    const sorted = new Uint32Array(count);
    for (let i = 0; i < count; i++) {
      sorted[starts[ranks[i]!]!++] = items[i]!;
      if (i % step === 0) yield;
    }
    items.set(sorted);
    return true;
  }

  /** Takes the text that an item of another column has. */
  copy(item: number, source: TextColumn, from: number): void {
    const place = source.#places[from]!;
    const heap = source.#heaps[place & 1]!;
    this.#place(
      item,
      this.#heaps[this.#current].appendBytes(heap.bytes, firstByte(place >>> 1), heap.words[place >>> 1]!),
    );
  }

  share(item: number, other: number): void {
    const place = this.#places[other]!;
    // An item that has moved must not get an entry that has not.
    if (place === this.#places[item] || (place & 1) !== this.#current) return;
    if (item === this.#last) this.#heaps[this.#current].used = this.#places[item]! >>> 1;
    else this.#drop(item);
    this.#last = -1;
    this.#places = grown(this.#places, item + 1);
    this.#places[item] = place;
    if (item >= this.length) this.length = item + 1;
  }

  #place(item: number, place: number): void {
    this.#places = grown(this.#places, item + 1);
    this.#places[item] = place * 2 + this.#current;
    if (item >= this.length) this.length = item + 1;
  }

  #drop(item: number): void {
    const place = this.#places[item];
    if (item === this.#last) this.#last = -1;
    if (place && (place & 1) === this.#current)
      this.#dropped += 1 + wordsOf(this.#heaps[this.#current].lengthAt(place >>> 1));
  }

  #isMostlyDropped(): boolean {
    const { used } = this.#heaps[this.#current];
    return used > leastMoved && this.#dropped * 2 > used;
  }

  /** Gives back what is nobody's, if it is much. */
  *pack(): Steps {
    if (this.#moved === undefined && this.#isMostlyDropped()) this.#startMoving();
    while (this.#moved !== undefined) {
      this.#move(step);
      yield;
    }
  }

  #startMoving(): void {
    this.#forward = new Uint32Array(this.#heaps[this.#current].used);
    this.#current = this.#current === 0 ? 1 : 0;
    this.#dropped = 0;
    this.#moved = 0;
    this.#last = -1;
  }

  #move(count: number): void {
    const other = this.#current === 0 ? 1 : 0;
    const [from, to] = [this.#heaps[other], this.#heaps[this.#current]];
    const end = Math.min(this.#moved! + count, this.length);
    for (let item = this.#moved!; item < end; item++) {
      const place = this.#places[item]!;
      if (place === 0 || (place & 1) === this.#current) continue;
      const former = place >>> 1;
      if (this.#forward[former] === 0)
        this.#forward[former] = to.appendBytes(from.bytes, firstByte(former), from.words[former]!);
      this.#places[item] = this.#forward[former]! * 2 + this.#current;
      this.#last = -1;
    }
    this.#moved = end;
    if (end < this.length) return;
    this.#moved = undefined;
    this.#heaps[other] = new TextHeap();
    this.#forward = new Uint32Array(0);
  }

  compare(a: number, b: number): number {
    const x = this.#places[a] ?? 0;
    const y = this.#places[b] ?? 0;
    if (x === y) return 0;
    if (x === 0) return -1;
    if (y === 0) return 1;
    const one = this.#heaps[x & 1]!;
    const other = this.#heaps[y & 1]!;
    return compareBytes(
      one.bytes,
      firstByte(x >>> 1),
      one.lengthAt(x >>> 1),
      other.bytes,
      firstByte(y >>> 1),
      other.lengthAt(y >>> 1),
    );
  }

  compareTo(item: number, key: unknown): number {
    const place = this.#places[item] ?? 0;
    if (key === undefined) return place === 0 ? 0 : 1;
    if (place === 0) return -1;
    const { bytes, length } = encode(key as string);
    const heap = this.#heaps[place & 1]!;
    return compareBytes(heap.bytes, firstByte(place >>> 1), heap.lengthAt(place >>> 1), bytes, 0, length);
  }

  equals(item: number, key: unknown): boolean {
    const place = this.#places[item] ?? 0;
    if (place === 0 || key === undefined) return place === 0 && key === undefined;
    return this.#heaps[place & 1]!.isAt(place >>> 1, key as string);
  }

  /** Tells of an item with a text whether it ends with this one, or has it anywhere. Only good until the next change. */
  finder(text: string, where: 'end' | 'anywhere'): (item: number) => boolean {
    const wanted = new Uint8Array(text.length * 3);
    const length = encodeText(text, wanted, 0);
    let known = 0;
    let found = false;
    return (item) => {
      const place = this.#places[item]!;
      if (place === known) return found;
      known = place;
      const heap = this.#heaps[place & 1]!;
      const first = firstByte(place >>> 1);
      const last = first + heap.lengthAt(place >>> 1) - length;
      found = hasBytes(heap.bytes, where === 'end' ? Math.max(first, last) : first, last, wanted, length);
      return found;
    };
  }

  emptyLike(): Column {
    return new ValueColumn(codecOf(String));
  }

  numberOf(key: unknown, skipped: number): number {
    return key === undefined ? Number.NaN : textNumber(key as string, skipped);
  }

  number(item: number, skipped: number): number {
    const place = this.#places[item];
    return place ? this.#heaps[place & 1]!.numberAt(place >>> 1, skipped) : Number.NaN;
  }

  /** For a sort: where the bytes of an item are, and how many. It has a text. */
  bytesOf(item: number): Uint8Array {
    return this.#heaps[this.#places[item]! & 1]!.bytes;
  }

  firstByteOf(item: number): number {
    return firstByte(this.#places[item]! >>> 1);
  }

  byteLengthOf(item: number): number {
    const place = this.#places[item]!;
    return this.#heaps[place & 1]!.lengthAt(place >>> 1);
  }

  /** Of each item the head of its entry and one, or 0. */
  *pieces(of: string, count: number, portion: number): Pieces {
    for (let at = 0; at === 0 || at < count; at += portion) {
      const values = new Uint32Array(Math.min(portion, count - at));
      let length = 0;
      for (let i = 0; i < values.length; i++) {
        const place = this.#places[at + i] ?? 0;
        if (place === 0) continue;
        values[i] = this.#heaps[place & 1]!.words[place >>> 1]! + 1;
        length += (values[i]! - 1) >>> 1;
      }
      const bytes = new Uint8Array(length);
      let to = 0;
      for (let i = 0; i < values.length; i++) {
        if (values[i] === 0) continue;
        const source = this.bytesOf(at + i);
        const first = this.firstByteOf(at + i);
        const end = to + ((values[i]! - 1) >>> 1);
        for (let from = first; to < end; ) bytes[to++] = source[from++]!;
      }
      yield { of, values, bytes };
    }
  }

  /** What `restore` begins with, of so many items. No text moves. */
  sections(of: string, count: number): [name: string, values: Numbers][] {
    const { words, used } = this.#heaps[this.#current];
    return [
      [`${of}.places`, grown(this.#places, count).slice(0, count)],
      [`${of}.texts`, words.slice(0, used)],
    ];
  }

  *restore(of: string, sections: Sections): Steps {
    this.#places = sectionOf(sections, `${of}.places`);
    const words = sectionOf<Uint32Array<ArrayBuffer>>(sections, `${of}.texts`);
    this.#current = (this.#places.find((place) => place > 0) ?? 0) & 1 ? 1 : 0;
    this.#heaps[this.#current] = new TextHeap(words, words.length);
    this.length = this.#places.length;
    yield;
  }
}

/** The key that was compared last: a search compares one with many. */
const encoded = { text: undefined as string | undefined, bytes: new Uint8Array(256), length: 0 };

/** The bytes of a text; only good until the next one. */
export function encode(text: string): Readonly<typeof encoded> {
  if (text === encoded.text) return encoded;
  encoded.bytes = grown(encoded.bytes, text.length * 3);
  encoded.length = encodeText(text, encoded.bytes, 0);
  encoded.text = text;
  return encoded;
}
