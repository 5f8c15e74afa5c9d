/**
 * Bodies of list pages, kept while their model is unchanged: a table that many clients show is put together once for each change.
 * A page is kept when it is asked for a second time without a change in between, so that pages that are asked for once, and those of a
 * model that always changes, cost no memory and no copy. Only for pages that every caller sees the same.
 */
import { LRUCache } from 'lru-cache';
import type { ListParameters } from '../../query/list-parameters.ts';

/** What an entry without a body counts, in bytes. */
const entrySize = 200;

interface Entry {
  /** Changes of the model when it was asked for. */
  readonly changes: number;
  readonly body: Buffer | undefined;
}

export class PageCache {
  /** By the parsed query of one model, which is the same object for the same query string. */
  readonly #pages: LRUCache<ListParameters, Entry> | undefined;

  /** @param maxBytes of all bodies together; with 0 none is kept */
  constructor(maxBytes: number) {
    if (maxBytes === 0) return;
    this.#pages = new LRUCache({ maxSize: maxBytes, sizeCalculation: ({ body }) => entrySize + (body?.length ?? 0) });
  }

  /** The body of the page; undefined when it is not kept, or the model has changed. */
  get(list: ListParameters, changes: number): Buffer | undefined {
    const entry = this.#pages?.get(list);
    return entry?.changes === changes ? entry.body : undefined;
  }

  /** Notes that a page is asked for; true when that is not the first time since the last change. */
  isRepeated(list: ListParameters, changes: number): boolean {
    if (this.#pages?.get(list)?.changes === changes) return true;
    this.#pages?.set(list, { changes, body: undefined });
    return false;
  }

  /** @param body memory of its own, which nobody writes to */
  keep(list: ListParameters, changes: number, body: Buffer): void {
    this.#pages?.set(list, { changes, body });
  }
}
