/**
 * Memory of bitmaps, and of the items and leaf numbers of orders, with the loops over them. Long arrays are blocks of one growing
 * WebAssembly memory, where kernels with SIMD (`kernels.wat`) read them. They are typed arrays like any other: the memory is a shared
 * one, although a single thread uses it, since views of such a memory stay good when it grows. Short arrays, and all where there is no
 * such memory, are arrays of their own, and have the loops of `loops.ts`.
 */
import { kernelBytes } from './kernel-bytes.ts';
import * as loops from './loops.ts';

type Numbers = Uint16Array | Uint32Array;

interface NumbersType<A extends Numbers> {
  readonly BYTES_PER_ELEMENT: number;
  new (length: number): A;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): A;
}

/** The exports of `kernels.wat`. */
interface Kernels {
  intersect(a: number, b: number, c: number, to: number, bytes: number): number;
  subtract(a: number, b: number, to: number, bytes: number): number;
  unite(to: number, a: number, bytes: number): void;
  count(a: number, bytes: number): number;
  slots(a: number, b: number, c: number, bytes: number, first: number, to: number): number;
  countByLeaf(words: number, bytes: number, leafOf: number, counts: number): void;
  countAmong(words: number, items: number, bytes: number): number;
  find(items: number, bytes: number, item: number): number;
  move(to: number, from: number, bytes: number): void;
  clear(to: number, bytes: number): void;
}

interface GrowingMemory {
  readonly buffer: SharedArrayBuffer;
  /** Throws a RangeError. */
  grow(pages: number): number;
}

/** What is used of it here. No types that the project has declare it. */
declare const WebAssembly:
  | undefined
  | {
      readonly Memory: new (limits: { initial: number; maximum: number; shared: true }) => GrowingMemory;
      readonly Module: new (bytes: Uint8Array) => object;
      readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
      validate(bytes: Uint8Array): boolean;
    };

/** The memory of an array: it begins at a multiple of the power of two that is not smaller than its size, and has so much room. */
interface Block {
  readonly address: number;
  readonly bytes: number;
}

const pageBytes = 65_536;
/** The memory has 2^20 bytes at first, and 2^31 at most. Only what was written to is memory of the machine. */
const exponents = { first: 20, last: 31 };
/** Sizes are multiples of those of a vector. */
const vectorBytes = 16;
/** Words whose slots are handed out at a time. */
const chunkWords = 256;
/** With room for what the loops write too much. */
const chunkSize = chunkWords * 32 + 4;

export class IndexMemory {
  /** Smaller arrays are never blocks. */
  readonly #leastBytes: number;
  #memory: GrowingMemory | undefined;
  #kernels: Kernels | undefined;
  /** The memory has 2 to the power of this. */
  #exponent = 0;
  /** No block is to be had but those that are free. */
  #isFull: boolean;
  /** Addresses of free blocks by the exponent of their size. */
  readonly #free: Set<number>[] = Array.from({ length: exponents.last + 1 }, () => new Set());
  /** Blocks come back from arrays that nobody has any more, such as those of an index that was replaced. */
  readonly #abandoned = new FinalizationRegistry<Block>((block) => this.#giveBack(block));
  #used = 0;
  /** What `forEachChunk` hands out. */
  #chunk = new Uint32Array(chunkSize) as Uint32Array;
  /** What `countByLeaf` gives. */
  #counts = new Uint32Array(0) as Uint32Array;

  /**
   * @param options.kernels false: no blocks at all
   * @param options.leastBytes default 4,096
   */
  constructor(options: { kernels?: boolean; leastBytes?: number } = {}) {
    this.#isFull = options.kernels === false;
    this.#leastBytes = options.leastBytes ?? 4_096;
  }

  /** Bytes of arrays that are blocks. */
  get used(): number {
    return this.#used;
  }

  /** A zeroed array of at least this length. */
  array<A extends Numbers>(type: NumbersType<A>, length: number): A {
    const bytes = sizeOf(type, length);
    return (bytes < this.#leastBytes ? undefined : this.#block(type, bytes)) ?? new type(length);
  }

  /** A longer array instead of this one, which is not used any more, or the same when it is long enough; what is added is zero. */
  grown<A extends Numbers>(array: A, length: number): A {
    if (length <= array.length) return array;
    const type = array.constructor as NumbersType<A>;
    const size = Math.max(length, Math.ceil(array.length * 1.125) + 16);
    const bytes = sizeOf(type, size);
    if (this.#isBlock(array) && exponentOf(bytes) === exponentOf(array.byteLength)) {
      this.#forget(array);
      return this.#view(type, { address: array.byteOffset, bytes }, array.byteLength);
    }
    const longer = this.array(type, size);
    this.#copy(array, longer);
    this.free(array);
    return longer;
  }

  copy<A extends Numbers>(array: A): A {
    const copy = this.array(array.constructor as NumbersType<A>, array.length);
    this.#copy(array, copy);
    return copy;
  }

  /** Gives back the memory of an array, which is not used any more. */
  free(array: Numbers): void {
    if (this.#isBlock(array) && this.#forget(array)) this.#addFree(array.byteOffset, exponentOf(array.byteLength));
  }

  /** Sets what is from an element on to zero. */
  clear(array: Numbers, from = 0): void {
    const skipped = from * array.BYTES_PER_ELEMENT;
    if (!this.#isBlock(array)) array.fill(0, from);
    else if (skipped < array.byteLength) this.#kernels!.clear(array.byteOffset + skipped, array.byteLength - skipped);
  }

  /** Moves the items from one place up to another. */
  move(items: Uint32Array, to: number, from: number, end: number): void {
    if (!this.#isBlock(items)) items.copyWithin(to, from, end);
    else this.#kernels!.move(items.byteOffset + to * 4, items.byteOffset + from * 4, (end - from) * 4);
  }

  /** What is in all three, into `result`, which may be one of them; gives the count. */
  intersect(a: Uint32Array, b: Uint32Array, c: Uint32Array, result: Uint32Array): number {
    const length = Math.min(a.length, b.length, c.length, result.length);
    const areBlocks = this.#isBlock(a) && this.#isBlock(b) && this.#isBlock(c) && this.#isBlock(result);
    const count = areBlocks
      ? this.#kernels!.intersect(a.byteOffset, b.byteOffset, c.byteOffset, result.byteOffset, length * 4)
      : loops.intersect(a, b, c, result);
    this.clear(result, length);
    return count;
  }

  /** What is in the first and not in the second, into `result`, which may be the first; gives the count. */
  subtract(a: Uint32Array, b: Uint32Array, result: Uint32Array): number {
    const length = Math.min(a.length, result.length);
    const both = Math.min(length, b.length);
    const areBlocks = this.#isBlock(a) && this.#isBlock(b) && this.#isBlock(result);
    const count = areBlocks
      ? this.#kernels!.subtract(a.byteOffset, b.byteOffset, result.byteOffset, both * 4)
      : loops.subtract(a, b, result);
    this.clear(result, length);
    if (both === length) return count;
    // What is behind the end of the second.
    const rest = a.subarray(both, length);
    result.set(rest, both);
    return count + loops.count(rest);
  }

  /** Adds to the first what is in the second, up to the end of the first. */
  unite(words: Uint32Array, others: Uint32Array): void {
    const bytes = Math.min(words.byteLength, others.byteLength);
    if (this.#isBlock(words) && this.#isBlock(others)) this.#kernels!.unite(words.byteOffset, others.byteOffset, bytes);
    else loops.unite(words, others);
  }

  count(words: Uint32Array): number {
    return this.#isBlock(words) ? this.#kernels!.count(words.byteOffset, words.byteLength) : loops.count(words);
  }

  /**
   * Visits the slots that are in all three, ascending, some thousands at a time; the array is only good during the visit, which must
   * not start another.
   */
  forEachChunk(
    a: Uint32Array,
    b: Uint32Array,
    c: Uint32Array,
    visit: (slots: Uint32Array, count: number) => void,
  ): void {
    const length = Math.min(a.length, b.length, c.length);
    const areBlocks = this.#isBlock(a) && this.#isBlock(b) && this.#isBlock(c);
    if (areBlocks && !this.#isBlock(this.#chunk)) this.#chunk = this.array(Uint32Array, chunkSize);
    const chunk = this.#chunk;
    const kernels = areBlocks && this.#isBlock(chunk) ? this.#kernels! : undefined;
    for (let from = 0; from < length; from += chunkWords) {
      const to = Math.min(from + chunkWords, length);
      const [at, bytes] = [from * 4, (to - from) * 4];
      const count = kernels
        ? kernels.slots(a.byteOffset + at, b.byteOffset + at, c.byteOffset + at, bytes, from * 32, chunk.byteOffset)
        : loops.slots(a, b, c, from, to, chunk);
      visit(chunk, count);
    }
  }

  /** How many slots of a bitmap are in each leaf, by number of the leaf; only good until the next call. */
  countByLeaf(words: Uint32Array, leafOf: Uint16Array | Uint32Array, leaves: number): Uint32Array {
    const areBlocks = this.#isBlock(words) && this.#isBlock(leafOf) && leafOf.BYTES_PER_ELEMENT === 2;
    if (this.#counts.length < leaves || (areBlocks && !this.#isBlock(this.#counts))) {
      this.free(this.#counts);
      this.#counts = this.array(Uint32Array, Math.max(leaves * 2, this.#leastBytes));
    }
    const counts = this.#counts;
    this.clear(counts);
    if (areBlocks && this.#isBlock(counts))
      this.#kernels!.countByLeaf(words.byteOffset, words.byteLength, leafOf.byteOffset, counts.byteOffset);
    else loops.countByLeaf(words, leafOf, counts);
    return counts;
  }

  /** How many items from a place up to another are in a bitmap, which has a bit for each of them. */
  countAmong(words: Uint32Array, items: Uint32Array, from: number, to: number): number {
    if (from === to || !this.#isBlock(words) || !this.#isBlock(items)) return loops.countAmong(words, items, from, to);
    return this.#kernels!.countAmong(words.byteOffset, items.byteOffset + from * 4, (to - from) * 4);
  }

  /** Place of an item from one place, a multiple of four, up to another, counted from the first; -1 when it is not there. */
  find(items: Uint32Array, from: number, to: number, item: number): number {
    if (!this.#isBlock(items)) return loops.find(items, from, to, item);
    return this.#kernels!.find(items.byteOffset + from * 4, (to - from) * 4, item);
  }

  #copy<A extends Numbers>(array: A, to: A): void {
    if (!this.#isBlock(array) || !this.#isBlock(to)) to.set(array as never);
    else this.#kernels!.move(to.byteOffset, array.byteOffset, array.byteLength);
  }

  #isBlock(array: Numbers): boolean {
    return array.byteLength >= this.#leastBytes && array.buffer instanceof SharedArrayBuffer;
  }

  #block<A extends Numbers>(type: NumbersType<A>, bytes: number): A | undefined {
    const exponent = exponentOf(bytes);
    while (!this.#isFull && this.#free.every((addresses, size) => size < exponent || addresses.size === 0)) {
      this.#enlarge();
    }
    let size = exponent;
    while (size < this.#free.length && this.#free[size]!.size === 0) size++;
    if (size === this.#free.length) return undefined;
    const [address] = this.#free[size] as Iterable<number> as [number];
    this.#free[size]!.delete(address);
    // What is not needed is free: the second half, the second quarter, and so on.
    while (size > exponent) this.#free[--size]!.add(address + 2 ** size);
    return this.#view(type, { address, bytes }, 0);
  }

  /** The array of a block, of which some bytes are kept and the others are zero. */
  #view<A extends Numbers>(type: NumbersType<A>, block: Block, kept: number): A {
    const { address, bytes } = block;
    const array = new type(this.#memory!.buffer, address, bytes / type.BYTES_PER_ELEMENT);
    if (bytes > kept) this.#kernels!.clear(address + kept, bytes - kept);
    this.#abandoned.register(array, block, array);
    this.#used += bytes;
    return array;
  }

  /** False when the array had given its block back. */
  #forget(array: Numbers): boolean {
    const wasKnown = this.#abandoned.unregister(array);
    if (wasKnown) this.#used -= array.byteLength;
    return wasKnown;
  }

  #giveBack({ address, bytes }: Block): void {
    this.#used -= bytes;
    this.#addFree(address, exponentOf(bytes));
  }

  /** Blocks of one size that together make one of the next size become it. */
  #addFree(address: number, exponent: number): void {
    const size = 2 ** exponent;
    const other = (address / size) % 2 === 0 ? address + size : address - size;
    if (exponent < this.#exponent && this.#free[exponent]!.delete(other))
      return this.#addFree(Math.min(address, other), exponent + 1);
    this.#free[exponent]!.add(address);
  }

  /** Makes the memory, or doubles it; the machine may not have so much, or no WebAssembly. */
  #enlarge(): void {
    try {
      if (!this.#memory) this.#open();
      else if (this.#exponent === exponents.last) this.#isFull = true;
      else {
        const size = 2 ** this.#exponent;
        this.#memory.grow(size / pageBytes);
        this.#exponent++;
        this.#addFree(size, this.#exponent - 1);
      }
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#isFull = true;
    }
  }

  #open(): void {
    const bytes = Buffer.from(kernelBytes, 'base64');
    if (typeof WebAssembly === 'undefined' || !WebAssembly.validate(bytes)) {
      this.#isFull = true;
      return;
    }
    const [initial, maximum] = [2 ** exponents.first / pageBytes, 2 ** exponents.last / pageBytes];
    const memory = new WebAssembly.Memory({ initial, maximum, shared: true });
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { index: { memory } });
    this.#memory = memory;
    this.#kernels = exports as Kernels;
    this.#exponent = exponents.first;
    this.#addFree(0, exponents.first);
  }
}

/** Of all indexes of the process. */
export const indexMemory = new IndexMemory();

function sizeOf(type: NumbersType<Numbers>, length: number): number {
  return Math.ceil((length * type.BYTES_PER_ELEMENT) / vectorBytes) * vectorBytes;
}

/** Of the smallest power of two that is not smaller. */
function exponentOf(bytes: number): number {
  return 32 - Math.clz32(bytes - 1);
}
