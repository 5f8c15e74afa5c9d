import { LRUCache } from 'lru-cache';
import type { Stored } from './resource.ts';

/** Hot objects as bytes, bounded by bytes. An entry serves only readers who want just this revision. */
export class ByteCache {
  readonly #cache: LRUCache<number, Stored>;

  /** @param maxBytes of content and about 300 bytes of upkeep for each object */
  constructor(maxBytes: number) {
    this.#cache = new LRUCache({ maxSize: maxBytes, sizeCalculation: (stored) => stored.bytes.byteLength + 300 });
  }

  get(id: number, revision: number): Stored | undefined {
    const stored = this.#cache.get(id);
    return stored?.revision === revision ? stored : undefined;
  }

  set(stored: Stored): void {
    this.#cache.set(stored.id, stored);
  }

  delete(id: number): void {
    this.#cache.delete(id);
  }

  get bytes(): number {
    return this.#cache.calculatedSize;
  }
}
