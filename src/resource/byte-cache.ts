import type { Stored } from './resource.ts';

/** What the cache holds beside the bytes of an object: measured. */
const upkeep = 450;

class Entry implements Stored {
  readonly id: number;
  readonly revision: number;
  readonly name: string;
  readonly bytes: Buffer;
  readonly shelf: Shelf;
  readonly slot: number;
  /** Index in the round. */
  place: number;
  /** Since the hand passed it last. */
  used = false;

  constructor({ id, revision, name, bytes }: Stored, shelf: Shelf, slot: number, place: number) {
    this.id = id;
    this.revision = revision;
    this.name = name;
    this.bytes = bytes;
    this.shelf = shelf;
    this.slot = slot;
    this.place = place;
  }
}

/**
 * Hot objects of all models as bytes, bounded by bytes. What goes is found by a hand that moves round: an object that was
 * used since it passed is spared once (the CLOCK algorithm). A hit costs a look into an array, which a list of the order
 * of use would not; a page of 20 objects asks 20 times.
 */
export class ByteCache {
  readonly #maxBytes: number;
  readonly #round: Entry[] = [];
  #hand = 0;
  #bytes = 0;

  /** @param maxBytes of content and about 450 bytes of upkeep for each object */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** In use, upkeep included. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The part of one model. */
  shelf(): Shelf {
    return new Shelf(this);
  }

  /** For shelves: an entry in the place of the one that is there. Undefined: larger than the whole cache. */
  put(stored: Stored, shelf: Shelf, slot: number, old: Entry | undefined): Entry | undefined {
    if (old) this.drop(old);
    const cost = stored.bytes.length + upkeep;
    if (cost > this.#maxBytes) return undefined;
    while (this.#bytes + cost > this.#maxBytes) this.#evict();
    // Behind the hand: its turn comes after that of all others.
    const { length } = this.#round;
    const place = this.#hand > 0 && this.#hand <= length ? this.#hand - 1 : length;
    const there = this.#round[place];
    if (there) there.place = this.#round.push(there) - 1;
    const entry = new Entry({ ...stored, bytes: ownBytes(stored.bytes) }, shelf, slot, place);
    this.#round[place] = entry;
    this.#bytes += cost;
    return entry;
  }

  /** For shelves. */
  drop(entry: Entry): void {
    this.#bytes -= entry.bytes.length + upkeep;
    const last = this.#round.pop()!;
    if (last === entry) return;
    this.#round[entry.place] = last;
    last.place = entry.place;
  }

  #evict(): void {
    for (;;) {
      if (this.#hand >= this.#round.length) this.#hand = 0;
      const entry = this.#round[this.#hand++]!;
      if (!entry.used) return entry.shelf.delete(entry.slot);
      entry.used = false;
    }
  }
}

/** The cached objects of one model by slot of its index. */
export class Shelf {
  readonly #cache: ByteCache;
  #entries: (Entry | undefined)[] = [];

  constructor(cache: ByteCache) {
    this.#cache = cache;
  }

  /** The object if it is here in just this revision; a slot may have become that of another one. */
  get(slot: number, id: number, revision: number): Stored | undefined {
    const entry = this.#entries[slot];
    if (entry === undefined || entry.revision !== revision || entry.id !== id) return undefined;
    entry.used = true;
    return entry;
  }

  set(slot: number, stored: Stored): void {
    // An element far behind the end would turn the array into a dictionary.
    while (this.#entries.length < slot) this.#entries.push(undefined);
    this.#entries[slot] = this.#cache.put(stored, this, slot, this.#entries[slot]);
  }

  delete(slot: number): void {
    const entry = this.#entries[slot];
    if (!entry) return;
    this.#entries[slot] = undefined;
    this.#cache.drop(entry);
  }

  clear(): void {
    for (const entry of this.#entries) if (entry) this.#cache.drop(entry);
    this.#entries = [];
  }
}

/**
 * The bytes in memory of their own. A piece of a larger buffer would keep all of it: of Node's pool, in which others were
 * written and forgotten, or of what came from a database server in one packet.
 */
function ownBytes(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength <= bytes.length + 64) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  own.set(bytes);
  return own;
}
