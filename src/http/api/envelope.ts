import type { Page } from '../../resource/resource.ts';
import { largePage } from '../../resource/resource.ts';

const comma = Buffer.from(',');

/** The list envelope (docs/reference/api.md) around the items of a page, which are JSON as they are stored. */
export class Envelope {
  /** Bytes. */
  readonly length: number;
  /** The items are in memory that may be kept, and there is no need to copy them. */
  readonly isLarge: boolean;
  readonly #items: readonly Buffer[];
  // All ASCII.
  readonly #head: string;
  readonly #tail: string;

  constructor(page: number, size: number, { total, items }: Page) {
    const totalPages = Math.ceil(total / size);
    const hasNext = page < totalPages;
    this.#items = items;
    this.#head = `{"page":${page},"size":${size},"total":${total},"items":[`;
    this.#tail = `],"first":${page === 1},"last":${!hasNext},"hasNext":${hasNext},"hasPrevious":${page > 1},"totalPages":${totalPages}}`;
    let bytes = 0;
    for (let i = 0; i < items.length; i++) bytes += items[i]!.length;
    this.isLarge = bytes > largePage;
    this.length = this.#head.length + bytes + Math.max(items.length - 1, 0) + this.#tail.length;
  }

  /** Whole, at the beginning of a buffer of at least `length` bytes; gives these. */
  write(bytes: Buffer): Buffer {
    const items = this.#items;
    let at = bytes.write(this.#head, 0, 'latin1');
    for (let i = 0; i < items.length; i++) {
      if (i > 0) bytes[at++] = 0x2c;
      bytes.set(items[i]!, at);
      at += items[i]!.length;
    }
    bytes.write(this.#tail, at, 'latin1');
    return bytes.length === this.length ? bytes : bytes.subarray(0, this.length);
  }

  *pieces(): Generator<Buffer> {
    yield Buffer.from(this.#head);
    for (const [i, item] of this.#items.entries()) {
      if (i > 0) yield comma;
      yield item;
    }
    yield Buffer.from(this.#tail);
  }
}
