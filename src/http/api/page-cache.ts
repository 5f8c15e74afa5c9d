/**
 * Bodies of list pages, kept while no change concerns them: a table that many clients show is put together once for each change of what
 * it may show. A page is kept when it is asked for a second time without such a change in between, so that pages that are asked for once,
 * and those of objects that always change, cost no memory and no copy. Only for pages that every caller sees the same.
 */
import { LRUCache } from 'lru-cache';
import type { ListParameters } from '../../query/list-parameters.ts';
import type { Moment } from '../../resource/moment.ts';
import type { ModelResource } from '../../resource/resource.ts';

/** What an entry without a body counts, in bytes. */
const entrySize = 200;

interface Entry {
  /** Until when no change concerned it. */
  moment: Moment;
  readonly body: Buffer | undefined;
}

type Listed = Pick<ModelResource, 'moment' | 'isUnchanged'>;

export class PageCache {
  /** By the parsed query of one model, which is the same object for the same query string. */
  readonly #pages: LRUCache<ListParameters, Entry> | undefined;

  /** @param maxBytes of all bodies together; with 0 none is kept */
  constructor(maxBytes: number) {
    if (maxBytes === 0) return;
    this.#pages = new LRUCache({ maxSize: maxBytes, sizeCalculation: ({ body }) => entrySize + (body?.length ?? 0) });
  }

  /** The body of the page; undefined when it is not kept. Forgets a page that a change concerned. */
  get(list: ListParameters, resource: Listed): Buffer | undefined {
    const entry = this.#pages?.get(list);
    if (!entry) return undefined;
    if (!resource.isUnchanged(list.where, entry.moment)) {
      this.#pages!.delete(list);
      return undefined;
    }
    entry.moment = resource.moment;
    return entry.body;
  }

  /** Notes that a page was read in this turn; true when that is not the first time since a change concerned it. */
  isRepeated(list: ListParameters, resource: Listed): boolean {
    if (this.#pages?.has(list)) return true;
    this.#pages?.set(list, { moment: resource.moment, body: undefined });
    return false;
  }

  /** @param body of a page that was read in this turn: memory of its own, which nobody writes to */
  keep(list: ListParameters, resource: Listed, body: Buffer): void {
    this.#pages?.set(list, { moment: resource.moment, body });
  }
}
