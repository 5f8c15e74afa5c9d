/** One sorted page that follows its changes (docs/reference/watch.md, "Live pages"). */

import { KindredError } from '../errors.ts';
import { fullNameOf } from '../model/full-name.ts';
import type { ListResult } from '../resource/extension-client.ts';
import type { Connection } from './connection.ts';
import { errorFrom } from './connection.ts';
import { sleep, waitAfter } from './retry.ts';
import type { ResumeOptions, WatchRequest } from './watch.ts';
import { passing, stream } from './watch.ts';

/** Of a live page; `apply` makes the page of it. Revisions are decimal strings. */
export type PageEvent<T> =
  | { type: 'SNAPSHOT'; revision: string; object: ListResult<T> }
  | { type: 'WINDOW'; revision: string; object: PageWindow<T> }
  | { type: 'BOOKMARK'; revision: string };

/** How a page changes: what goes or moves, what comes and where, what stays with new content. */
export interface PageWindow<T> {
  total: number;
  /** Names. */
  removed: readonly string[];
  /** In ascending order of the index in the new page. */
  inserted: readonly { readonly index: number; readonly object: T }[];
  updated: readonly T[];
}

export interface WatchPageOptions extends ResumeOptions {
  signal?: AbortSignal;
}

interface WireEvent<T> {
  readonly type: 'SNAPSHOT' | 'WINDOW' | 'BOOKMARK' | 'ERROR';
  readonly revision: number;
  readonly object?: ListResult<T> | PageWindow<T>;
  readonly error?: Record<string, unknown>;
}

/** After a break it begins anew with a SNAPSHOT: nothing of what came before counts then. */
export async function* watchPage<T>(
  connection: Connection,
  request: WatchRequest,
): AsyncGenerator<PageEvent<T>, void, undefined> {
  const { resume = true } = request;
  const signal = connection.eitherSignal(request.signal);
  let failures = 0;
  for (;;) {
    let failure: unknown;
    try {
      for await (const event of stream<WireEvent<T>>(connection, request)) {
        if ('opened' in event) continue;
        const { type, revision, object, error } = event;
        if (type === 'ERROR') throw errorFrom(error ?? {});
        failures = 0;
        yield { type, revision: String(revision), ...(object && { object }) } as PageEvent<T>;
      }
      if (!resume) return;
    } catch (error) {
      failure = error;
      if (signal?.aborted) return;
      if (!resume || !isMended(error)) throw error;
    }
    if (signal?.aborted) return;
    const stopped = await sleep(waitAfter(++failures, request, failure), signal).then(
      () => false,
      () => true,
    );
    if (stopped) return;
  }
}

/** By another attempt, which needs no revision that is still kept. */
function isMended(error: unknown): boolean {
  const code = error instanceof KindredError ? error.code : undefined;
  return code === 'Expired' || (code !== 'QueryLimit' && passing(error));
}

/**
 * The page after an event; the given one stays as it is. Undefined without a page, before the first SNAPSHOT.
 *
 * @example
 * ```ts
 * let page: ListResult<Book> | undefined;
 * for await (const event of client.for(Book).watchPage({ sort: ['spec.title'] })) page = apply(page, event);
 * ```
 */
export function apply<T>(page: ListResult<T> | undefined, event: PageEvent<T>): ListResult<T> | undefined {
  if (event.type === 'SNAPSHOT') return { ...event.object, revision: event.revision };
  if (!page) return undefined;
  if (event.type === 'BOOKMARK') return page;
  const { total, removed, inserted, updated } = event.object;
  const gone = new Set(removed);
  const news = new Map(updated.map((object) => [nameOf(object), object]));
  const items = page.items
    .filter((object) => !gone.has(nameOf(object)))
    .map((object) => news.get(nameOf(object)) ?? object);
  for (const { index, object } of inserted) items.splice(index, 0, object);
  const totalPages = Math.ceil(total / page.size);
  const hasNext = page.page < totalPages;
  return { ...page, total, items, last: !hasNext, hasNext, totalPages, revision: event.revision };
}

function nameOf(object: unknown): string {
  return fullNameOf((object as { metadata: { name: string; namespace?: string } }).metadata);
}
