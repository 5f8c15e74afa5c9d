/**
 * Names to slots by open addressing, in many small tables: one that grows holds the event loop for a moment only,
 * and there is no limit at 2^24 entries as a `Map` has.
 */
import { grown, none } from './arrays.ts';
import type { Numbers } from './snapshot/piece.ts';
import type { Sections } from './snapshot/texts.ts';
import { sectionOf } from './snapshot/texts.ts';
import type { Steps } from './sort.ts';
import type { TextColumn } from './text-column.ts';
import { encode } from './text-column.ts';

const tables = 256;
const leastSize = 8;
/** In the place of each table that has nothing: a service has many models without objects. Nothing is written to it. */
const empty = new Uint32Array(leastSize);

export class NameTable {
  /** Name by slot. */
  readonly names: TextColumn;
  /** Slot + 1 by place, 0 where it is free. */
  readonly #places = new Array<Uint32Array<ArrayBuffer>>(tables).fill(empty);
  readonly #used = new Uint32Array(tables);
  #hashes = new Uint32Array(16);

  constructor(names: TextColumn) {
    this.names = names;
  }

  /** Slot of the name, `none` when it is not there. */
  find(name: string): number {
    const hash = hashOf(name);
    const places = this.#places[hash & (tables - 1)]!;
    const mask = places.length - 1;
    for (let at = (hash >>> 8) & mask; places[at] !== 0; at = (at + 1) & mask) {
      const slot = places[at]! - 1;
      if (this.#hashes[slot] === hash && this.names.compareTo(slot, name) === 0) return slot;
    }
    return none;
  }

  /** Adds the name, which the slot has already, and which is not there yet. */
  add(slot: number, name: string): void {
    const hash = hashOf(name);
    this.#hashes = grown(this.#hashes, slot + 1);
    this.#hashes[slot] = hash;
    const table = hash & (tables - 1);
    if (this.#places[table] === empty) this.#places[table] = new Uint32Array(leastSize);
    if (++this.#used[table]! * 4 > this.#places[table]!.length * 3) this.#grow(table);
    this.#place(this.#places[table]!, slot);
  }

  /** Bulk: adds all names to an empty table. */
  *addAll(): Steps {
    const { names } = this;
    this.#hashes = new Uint32Array(names.length);
    for (let slot = 0; slot < names.length; slot++) {
      if (slot % 8192 === 0) yield;
      const name = names.get(slot);
      if (name === undefined) continue;
      const hash = hashOf(name);
      this.#hashes[slot] = hash;
      this.#used[hash & (tables - 1)]!++;
    }
    for (let table = 0; table < tables; table++) {
      if (this.#used[table] === 0) continue;
      let size = leastSize;
      while (this.#used[table]! * 4 > size * 3) size *= 2;
      this.#places[table] = new Uint32Array(size);
    }
    for (let slot = 0; slot < names.length; slot++) {
      if (names.has(slot)) this.#place(this.#places[this.#hashes[slot]! & (tables - 1)]!, slot);
      if (slot % 8192 === 0) yield;
    }
  }

  /** What `restore` begins with. */
  sections(): [name: string, values: Numbers][] {
    const places = new Uint32Array(this.#places.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const table of this.#places) {
      places.set(table, at);
      at += table.length;
    }
    return [
      ['table.places', places],
      ['table.sizes', Uint32Array.from(this.#places, ({ length }) => length)],
      ['table.used', this.#used.slice()],
      ['table.hashes', this.#hashes],
    ];
  }

  /** Instead of `addAll`, when the names are there. */
  restore(sections: Sections): void {
    const places = sectionOf<Uint32Array<ArrayBuffer>>(sections, 'table.places');
    let at = 0;
    for (const [table, size] of sectionOf(sections, 'table.sizes').entries()) {
      this.#places[table] = places.slice(at, at + size);
      at += size;
    }
    this.#used.set(sectionOf(sections, 'table.used'));
    this.#hashes = sectionOf<Uint32Array<ArrayBuffer>>(sections, 'table.hashes');
  }

  /** Removes the name of the slot, which is there. */
  remove(slot: number): void {
    const hash = this.#hashes[slot]!;
    const table = hash & (tables - 1);
    const places = this.#places[table]!;
    const mask = places.length - 1;
    let hole = (hash >>> 8) & mask;
    while (places[hole] !== slot + 1) hole = (hole + 1) & mask;
    this.#used[table]!--;
    // Entries behind the hole move up when their search would have passed it.
    for (let at = (hole + 1) & mask; places[at] !== 0; at = (at + 1) & mask) {
      const home = (this.#hashes[places[at]! - 1]! >>> 8) & mask;
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      places[hole] = places[at]!;
      hole = at;
    }
    places[hole] = 0;
  }

  #place(places: Uint32Array, slot: number): void {
    const mask = places.length - 1;
    let at = (this.#hashes[slot]! >>> 8) & mask;
    while (places[at] !== 0) at = (at + 1) & mask;
    places[at] = slot + 1;
  }

  #grow(table: number): void {
    const old = this.#places[table]!;
    const places = new Uint32Array(old.length * 2);
    for (const entry of old) if (entry !== 0) this.#place(places, entry - 1);
    this.#places[table] = places;
  }
}

/** FNV-1a over the bytes, with a last mix so that low and high bits both serve. */
function hashOf(text: string): number {
  const { bytes, length } = encode(text);
  let hash = 0x811c9dc5;
  for (let i = 0; i < length; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
