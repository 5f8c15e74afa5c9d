/**
 * A live page (contract section 13): the window of a sorted list, and then only what changes in it. A *snapshot* is the
 * whole page, a *window* the difference between two states of it.
 */
import { bind } from '../query/bind.ts';
import { matches } from '../query/match.ts';
import type { AppliedChange } from './feed.ts';
import { isAway } from './replay.ts';
import type { ListRequest, ModelResource, Page, Window } from './resource.ts';
import type { Watches } from './watch.ts';

/** Milliseconds between two attempts to read the page while the database is away. */
const awayPause = 500;

/** Applied in this order, they turn the window before into the window now. */
export interface WindowChange {
  readonly total: number;
  /** Names that left, or are inserted again elsewhere. */
  readonly removed: readonly string[];
  /** In ascending order of the place in the window now. */
  readonly inserted: readonly { readonly index: number; readonly object: Buffer }[];
  /** In place, with new content. */
  readonly updated: readonly Buffer[];
}

/** What is kept of a page until the next one. */
type Outline = Pick<Window, 'total' | 'refs'>;

export interface LivePageSink {
  snapshot(page: Page): void;
  window(revision: number, change: WindowChange): void;
  /** The window is still that of the list at this revision. */
  bookmark(revision: number): void;
  /** As `Sink.drained` of a watch. */
  drained(): Promise<void>;
  end(error: unknown): void;
}

/**
 * Starts a live page. Changes that come while the window is being read, or while the client is behind, are taken
 * together: each event leads to the state at its revision.
 * @returns stops it
 */
export function openLivePage(
  watches: Watches,
  resource: ModelResource,
  request: ListRequest,
  sink: LivePageSink,
): () => void {
  const bound = bind(request.where, resource.scheme.indexes);
  // Without its items, which would keep memory of the byte cache.
  let page: Outline | undefined;
  let isDirty = true;
  let isRunning = false;
  let isClosed = false;
  /** Had an event since the last bookmark. */
  let isBusy = false;
  let again: NodeJS.Timeout | undefined;

  function concerns(change: AppliedChange): boolean {
    if (request.names && !request.names.has(change.name)) return false;
    if (change.type !== 'create' && matches(bound, change.entryBefore()!)) return true;
    return change.type !== 'delete' && matches(bound, change.entry());
  }

  async function refresh(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    try {
      while (isDirty && !isClosed) {
        isDirty = false;
        const next = await resource.window(request);
        if (isClosed) return;
        const change = page && difference(page, next);
        if (!page) sink.snapshot(next);
        else if (change) sink.window(next.revision, change);
        isBusy ||= !page || change !== undefined;
        page = { total: next.total, refs: next.refs };
        await sink.drained();
      }
    } catch (error) {
      if (isAway(error)) {
        isDirty = true;
        clearTimeout(again);
        if (!isClosed) again = setTimeout(() => void refresh(), awayPause).unref();
        return;
      }
      close();
      sink.end(error);
    } finally {
      isRunning = false;
    }
  }

  const leave = watches.join(resource, {
    change(change) {
      if (!concerns(change)) return;
      isDirty = true;
      void refresh();
    },
    bookmark(revision) {
      if (!isBusy && !isDirty && !isRunning) sink.bookmark(revision);
      isBusy = false;
    },
    end(error) {
      isClosed = true;
      clearTimeout(again);
      sink.end(error);
    },
  });

  function close(): void {
    isClosed = true;
    clearTimeout(again);
    leave();
  }

  void refresh();
  return close;
}

/** What turns one page into the other; undefined when nothing does. */
export function difference(before: Outline, now: Window): WindowChange | undefined {
  const placeBefore = new Map(before.refs.map((ref, place) => [ref.id, place]));
  const stayed = now.refs.flatMap((ref, index) => {
    const place = placeBefore.get(ref.id);
    return place === undefined ? [] : [{ index, place }];
  });
  const kept = new Set(increasing(stayed.map(({ place }) => place)).map((at) => stayed[at]!.index));
  const keptPlaces = new Set([...kept].map((index) => placeBefore.get(now.refs[index]!.id)));
  const removed = before.refs.filter((_, place) => !keptPlaces.has(place)).map((ref) => ref.name);
  const inserted: { index: number; object: Buffer }[] = [];
  const updated: Buffer[] = [];
  for (const [index, ref] of now.refs.entries()) {
    const object = now.items[index]!;
    if (!kept.has(index)) inserted.push({ index, object });
    else if (before.refs[placeBefore.get(ref.id)!]!.revision !== ref.revision) updated.push(object);
  }
  const isSame = before.total === now.total && removed.length === 0 && inserted.length === 0 && updated.length === 0;
  return isSame ? undefined : { total: now.total, removed, inserted, updated };
}

/** Positions of a longest increasing subsequence: the items that need not move. */
function increasing(values: readonly number[]): number[] {
  const ends: number[] = [];
  const previous: number[] = [];
  for (const [at, value] of values.entries()) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[ends[middle]!]! < value) low = middle + 1;
      else high = middle;
    }
    previous[at] = low > 0 ? ends[low - 1]! : -1;
    ends[low] = at;
  }
  const result: number[] = [];
  for (let at = ends.at(-1) ?? -1; at >= 0; at = previous[at]!) result.push(at);
  return result.reverse();
}
