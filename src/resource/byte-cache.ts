/** Bytes that the cache takes at once, and the least when it may not take sixteen times as many. */
const segmentBytes = { most: 256 * 1024, least: 512 };

/**
 * How full compaction may make a new segment: at most 3/4 with live entries of the emptiest segment, and at most 1/2 with
 * recently used entries of the oldest. A larger share keeps more of the cache useful and copies more.
 */
const share = { tidied: 3 / 4, used: 1 / 2 };

/** Objects begin at multiples of this many bytes, so that their places fit into 32 bits for 64 GiB, the most that is kept. */
const unit = 32;

/** Before the bytes of an object: four numbers of 8 bytes. In `mark`, twice the slot, and 1 more once it was used there. */
const header = { id: 0, revision: 1, length: 2, mark: 3, bytes: 32 } as const;

export interface Cached {
  readonly id: number;
  readonly revision: number;
  readonly bytes: Buffer;
}

/** Objects one after the other. What is written here is never changed: whoever has a view of it may keep it. */
class Segment {
  /** From 1. */
  readonly number: number;
  readonly bytes: Buffer;
  readonly numbers: Float64Array;
  /** Whose the objects are, in the order in which they stand here. */
  readonly owners: ObjectCache[] = [];
  /** Where the next object begins. */
  end = 0;
  /** Bytes of the objects that are still found here, headers included. */
  live = 0;

  constructor(number: number, size: number) {
    this.number = number;
    this.bytes = Buffer.allocUnsafeSlow(size);
    this.numbers = new Float64Array(this.bytes.buffer);
  }
}

/**
 * Hot objects of all models as bytes, bounded by bytes. They stand in large segments: memory of its own for each costs
 * allocator and collector as much as small objects are worth. Room is made by giving up the oldest segment; what was
 * used in it is written to the new one, as far as it fills no more than half of that (second chance). When much has been
 * replaced, the segment with the least that is still found goes instead, and all of it is written anew.
 */
export class ByteCache {
  readonly #maxBytes: number;
  readonly #segmentBytes: number;
  /** A place is the number of the segment, then in so many bits how many units of it come before. */
  readonly #unitBits: number;
  /** By number; there is none with the number 0. */
  readonly #segments: (Segment | undefined)[] = [undefined];
  /** Oldest first; the last is being filled. */
  #queue: Segment[] = [];
  #bytes = 0;
  #live = 0;
  /** Objects that were looked for and found, and those that were not here. */
  readonly reads = { hits: 0, misses: 0 };

  /** @param maxBytes of all segments; about 16 bytes for each object come on top */
  constructor(maxBytes: number) {
    this.#maxBytes = Math.min(maxBytes, 2 ** 31 * unit);
    const sixteenth = 2 ** Math.floor(Math.log2(Math.max(maxBytes / 16, 1)));
    this.#segmentBytes = Math.min(Math.max(sixteenth, segmentBytes.least), segmentBytes.most);
    this.#unitBits = Math.log2(this.#segmentBytes / unit);
  }

  /** In use, filled or not. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The part of one model. */
  objectCache(): ObjectCache {
    return new ObjectCache(this);
  }

  /** For object caches: a view of the bytes at a place. */
  view(place: number): Buffer {
    const { bytes, numbers } = this.#segmentOf(place);
    const start = this.#startOf(place);
    const head = start / 8;
    const mark = numbers[head + header.mark]!;
    if (mark % 2 === 0) numbers[head + header.mark] = mark + 1;
    return bytes.subarray(start + header.bytes, start + header.bytes + numbers[head + header.length]!);
  }

  /** For object caches: what is at a place. */
  object(place: number): Cached {
    const { numbers } = this.#segmentOf(place);
    const head = this.#startOf(place) / 8;
    return { id: numbers[head + header.id]!, revision: numbers[head + header.revision]!, bytes: this.view(place) };
  }

  /** For object caches: copies an object, and gives its place; 0 for one that is larger than the whole cache. */
  put(owner: ObjectCache, slot: number, object: Cached): number {
    const size = sizeOf(object.bytes.length);
    if (Math.max(size, this.#segmentBytes) > this.#maxBytes) return 0;
    const last = this.#queue.at(-1);
    const segment = last && last.end + size <= last.bytes.length ? last : this.#open(size);
    return this.#write(segment, owner, slot, object);
  }

  /** For object caches: what is at a place is not found any more. */
  drop(place: number): void {
    const segment = this.#segmentOf(place);
    const size = sizeOf(segment.numbers[this.#startOf(place) / 8 + header.length]!);
    segment.live -= size;
    this.#live -= size;
    if (segment.live === 0 && segment !== this.#queue.at(-1)) this.#remove(segment);
  }

  #segmentOf(place: number): Segment {
    return this.#segments[place >>> this.#unitBits]!;
  }

  /** Index of its first byte in the segment. */
  #startOf(place: number): number {
    return (place & ((1 << this.#unitBits) - 1)) * unit;
  }

  #placeOf(segment: Segment, start: number): number {
    return segment.number * 2 ** this.#unitBits + start / unit;
  }

  #write(segment: Segment, owner: ObjectCache, slot: number, { id, revision, bytes }: Cached): number {
    const { numbers, end } = segment;
    const head = end / 8;
    numbers[head + header.id] = id;
    numbers[head + header.revision] = revision;
    numbers[head + header.length] = bytes.length;
    numbers[head + header.mark] = slot * 2;
    segment.bytes.set(bytes, end + header.bytes);
    segment.owners.push(owner);
    const size = sizeOf(bytes.length);
    segment.end += size;
    segment.live += size;
    this.#live += size;
    return this.#placeOf(segment, end);
  }

  /** A segment to write an object of this size to. */
  #open(size: number): Segment {
    const capacity = Math.max(this.#segmentBytes, size);
    const isFull = () => this.#bytes + capacity > this.#maxBytes;
    const isMuchReplaced = this.#bytes > 2 * this.#live;
    const emptiest = this.#emptiest();
    const isWorthTidying = emptiest && (emptiest.live === 0 || isMuchReplaced || isFull());
    const isTidied = isWorthTidying && emptiest.live <= Math.min(this.#segmentBytes * share.tidied, capacity - size);
    const survivors = new Survivors(
      Math.min(this.#segmentBytes * (isTidied ? share.tidied : share.used), capacity - size),
    );
    if (isTidied) this.#giveUp(emptiest, survivors, true);
    while (isFull()) this.#giveUp(this.#queue[0]!, survivors, false);
    const free = this.#segments.indexOf(undefined, 1);
    const segment = new Segment(free < 0 ? this.#segments.length : free, capacity);
    this.#segments[segment.number] = segment;
    this.#queue.push(segment);
    this.#bytes += capacity;
    for (const { owner, slot, object } of survivors.objects) {
      owner.move(slot, this.#write(segment, owner, slot, object));
    }
    return segment;
  }

  #emptiest(): Segment | undefined {
    let emptiest = this.#queue[0];
    for (const segment of this.#queue) if (segment.live < emptiest!.live) emptiest = segment;
    return emptiest;
  }

  #giveUp(segment: Segment, survivors: Survivors, isWhole: boolean): void {
    const { bytes, numbers, owners } = segment;
    let start = 0;
    for (const owner of owners) {
      const head = start / 8;
      const place = this.#placeOf(segment, start);
      const length = numbers[head + header.length]!;
      const mark = numbers[head + header.mark]!;
      const slot = Math.floor(mark / 2);
      if (owner.placeOf(slot) === place) {
        owner.move(slot, 0);
        if (isWhole || mark % 2 === 1) {
          const content = bytes.subarray(start + header.bytes, start + header.bytes + length);
          const object = { id: numbers[head + header.id]!, revision: numbers[head + header.revision]!, bytes: content };
          survivors.add({ owner, slot, object });
        }
      }
      start += sizeOf(length);
    }
    this.#remove(segment);
  }

  #remove(segment: Segment): void {
    this.#queue = this.#queue.filter((one) => one !== segment);
    this.#segments[segment.number] = undefined;
    this.#bytes -= segment.bytes.length;
    this.#live -= segment.live;
  }
}

/** What leaves one segment for the next, as long as there is room. */
class Survivors {
  readonly objects: { readonly owner: ObjectCache; readonly slot: number; readonly object: Cached }[] = [];
  room: number;

  constructor(room: number) {
    this.room = room;
  }

  add(one: Survivors['objects'][number]): void {
    const size = sizeOf(one.object.bytes.length);
    if (size > this.room) return;
    this.objects.push(one);
    this.room -= size;
  }
}

/**
 * The cached objects of one model by slot of its index. What is here is what the index has: whoever changes an object in the
 * index sets or deletes its slot in the same turn.
 */
export class ObjectCache {
  readonly #cache: ByteCache;
  /** Of each slot; 0: not here. */
  #places = new Uint32Array(0);

  constructor(cache: ByteCache) {
    this.#cache = cache;
  }

  get(slot: number): Cached | undefined {
    const place = this.#find(slot);
    return place ? this.#cache.object(place) : undefined;
  }

  bytes(slot: number): Buffer | undefined {
    const place = this.#find(slot);
    return place ? this.#cache.view(place) : undefined;
  }

  #find(slot: number): number | undefined {
    const place = this.#places[slot];
    if (place) this.#cache.reads.hits++;
    else this.#cache.reads.misses++;
    return place;
  }

  set(slot: number, object: Cached): void {
    this.delete(slot);
    if (slot >= this.#places.length) {
      const places = new Uint32Array(Math.max(slot + 1, 2 * this.#places.length));
      places.set(this.#places);
      this.#places = places;
    }
    this.#places[slot] = this.#cache.put(this, slot, object);
  }

  delete(slot: number): void {
    const place = this.#places[slot];
    if (!place) return;
    this.#places[slot] = 0;
    this.#cache.drop(place);
  }

  clear(): void {
    for (let slot = 0; slot < this.#places.length; slot++) this.delete(slot);
    this.#places = new Uint32Array(0);
  }

  /** For the cache. */
  placeOf(slot: number): number {
    return this.#places[slot] ?? 0;
  }

  /** For the cache. */
  move(slot: number, place: number): void {
    this.#places[slot] = place;
  }
}

/** Bytes that an object takes in a segment. */
function sizeOf(length: number): number {
  return Math.ceil((header.bytes + length) / unit) * unit;
}
