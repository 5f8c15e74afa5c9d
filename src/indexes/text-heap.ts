/**
 * Texts as bytes, one behind the other in one growing array. An entry is a word with its length and the bytes, filled up to words;
 * its *place* is the number of that word. The bytes are in the order of `compareText`: UTF-8, but a surrogate is a unit of its own
 * behind all others, so that every JavaScript text comes back as it was.
 */
import { grown } from './arrays.ts';
import { textNumber } from './column.ts';

/** Bytes of a unit at most. */
const mostBytes = 3;
/** What the bytes of a surrogate begin with. */
const surrogate = 0xf0;

export class TextHeap {
  /** The head of an entry is twice the number of its bytes, and one more unless it is ASCII. Place 0 is none. */
  words: Uint32Array<ArrayBuffer>;
  bytes: Uint8Array<ArrayBuffer>;
  /** Words in use. */
  used: number;

  /** @param words taken over: entries, one behind the other from 1 on */
  constructor(words: Uint32Array<ArrayBuffer> = new Uint32Array(16), used = 1) {
    this.words = words;
    this.bytes = new Uint8Array(words.buffer);
    this.used = used;
  }

  hasRoomFor(text: string): boolean {
    return this.used + 1 + wordsOf(text.length * mostBytes) <= this.words.length;
  }

  /** Gives its place. */
  append(text: string): number {
    const place = this.#open(text.length * mostBytes);
    const length = encodeText(text, this.bytes, firstByte(place));
    return this.#close(place, length * 2 + Number(length !== text.length));
  }

  /** The same for bytes that another heap has, with their head. */
  appendBytes(bytes: Uint8Array, from: number, head: number): number {
    const length = head >>> 1;
    const place = this.#open(length);
    const to = firstByte(place);
    for (let i = 0; i < length; i++) this.bytes[to + i] = bytes[from + i]!;
    return this.#close(place, head);
  }

  /** About so many times as much is to come as there is. */
  makeRoom(times: number): void {
    this.#take(grown(this.words, Math.ceil(this.used * times)));
  }

  #take(words: Uint32Array<ArrayBuffer>): void {
    if (words === this.words) return;
    this.words = words;
    this.bytes = new Uint8Array(words.buffer);
  }

  #open(length: number): number {
    this.#take(grown(this.words, this.used + 1 + wordsOf(length)));
    return this.used;
  }

  #close(place: number, head: number): number {
    this.words[place] = head;
    this.used = place + 1 + wordsOf(head >>> 1);
    return place;
  }

  lengthAt(place: number): number {
    return this.words[place]! >>> 1;
  }

  textAt(place: number): string {
    const head = this.words[place]!;
    const from = firstByte(place);
    const to = from + (head >>> 1);
    return (head & 1) === 0 ? latin1Slice.call(this.bytes, from, to) : decodeText(this.bytes, from, to);
  }

  /** Whether this text is there; without its bytes being made. */
  isAt(place: number, text: string): boolean {
    const head = this.words[place]!;
    if ((head & 1) === 1) return this.textAt(place) === text;
    if (head >>> 1 !== text.length) return false;
    const { bytes } = this;
    const first = firstByte(place);
    for (let i = 0; i < text.length; i++) if (bytes[first + i] !== text.charCodeAt(i)) return false;
    return true;
  }

  /** The number of the text, as `textNumber` has it. */
  numberAt(place: number, skipped: number): number {
    const head = this.words[place]!;
    if ((head & 1) === 1) return textNumber(this.textAt(place), skipped);
    const first = firstByte(place);
    const end = first + Math.min(skipped + 4, head >>> 1);
    let number = 0;
    let shift = 24;
    for (let at = first + skipped; at < end; at++, shift -= 8) number |= (this.bytes[at]! + 1) << shift;
    return number >>> 0;
  }
}

/** A `Uint8Array` has it not, and a `Buffer` of each heap would be one more view of its memory. */
const { latin1Slice } = Buffer.prototype;

export function firstByte(place: number): number {
  return (place + 1) * 4;
}

export function wordsOf(bytes: number): number {
  return (bytes + 3) >>> 2;
}

export function compareBytes(
  a: Uint8Array,
  firstOfA: number,
  lengthOfA: number,
  b: Uint8Array,
  firstOfB: number,
  lengthOfB: number,
): number {
  const length = Math.min(lengthOfA, lengthOfB);
  for (let i = 0; i < length; i++) {
    const difference = a[firstOfA + i]! - b[firstOfB + i]!;
    if (difference !== 0) return difference;
  }
  return lengthOfA - lengthOfB;
}

/** Whether the wanted bytes, of which a text consists, begin anywhere from `first` to `last`. */
export function hasBytes(bytes: Uint8Array, first: number, last: number, wanted: Uint8Array, length: number): boolean {
  for (let at = first; at <= last; at++) {
    let same = 0;
    while (same < length && bytes[at + same] === wanted[same]) same++;
    if (same === length) return true;
  }
  return false;
}

/** Gives the number of bytes. */
export function encodeText(text: string, bytes: Uint8Array, first: number): number {
  let at = first;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes[at++] = unit;
    else if (unit < 0x800) {
      bytes[at++] = 0xc0 | (unit >>> 6);
      bytes[at++] = 0x80 | (unit & 0x3f);
    } else {
      const isSurrogate = unit >= 0xd800 && unit < 0xe000;
      bytes[at++] = isSurrogate ? surrogate : 0xe0 | (unit >>> 12);
      bytes[at++] = 0x80 | ((unit >>> 6) & 0x3f);
      bytes[at++] = 0x80 | (unit & 0x3f);
    }
  }
  return at - first;
}

function decodeText(bytes: Uint8Array, from: number, to: number): string {
  let text = '';
  for (let at = from; at < to; ) {
    const byte = bytes[at++]!;
    let unit = byte;
    if (byte >= 0xe0)
      unit = ((byte === surrogate ? 0xd : byte & 0xf) << 12) | ((bytes[at++]! & 0x3f) << 6) | (bytes[at++]! & 0x3f);
    else if (byte >= 0xc0) unit = ((byte & 0x1f) << 6) | (bytes[at++]! & 0x3f);
    text += String.fromCharCode(unit);
  }
  return text;
}
