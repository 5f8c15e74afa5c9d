/**
 * Live pages (docs/reference/watch.md): the window of a sorted list, and then only what changes in it. A *snapshot* is the
 * whole page, a *window* the difference between two states of it. All readers who ask for the same have one page.
 */

import type { Parameters, Text } from '../../errors.ts';
import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import type { Bound } from '../../query/bind.ts';
import { bind } from '../../query/bind.ts';
import type { Background } from '../background.ts';
import type { AppliedChange } from '../change.ts';
import { concerns } from '../change.ts';
import type { ListRequest, ModelResource, Page, Window } from '../resource.ts';
import type { Reader } from './events.ts';
import { isAway } from './replay.ts';
import type { Watches } from './watches.ts';
import type { Outline, WindowChange } from './window-change.ts';
import { difference } from './window-change.ts';

export interface LivePageSink {
  snapshot(page: Page): void;
  window(revision: number, change: WindowContent): void;
  /** The window is still that of the list at this revision. */
  bookmark(revision: number): void;
  /** The client has not taken yet what it was sent. */
  readonly isBehind: boolean;
  /** Resolves when it has, or is gone. */
  drained(): Promise<void>;
  end(error: unknown): void;
}

/** A change of a window with the objects that are new in it; one for all readers that are told the same. */
export interface WindowContent extends Pick<WindowChange, 'total' | 'removed'> {
  readonly inserted: readonly { readonly index: number; readonly object: Buffer }[];
  readonly updated: readonly Buffer[];
}

export interface LivePagesDependencies {
  readonly watches: Pick<Watches, 'join'>;
  readonly background: Background;
  readonly limits: {
    /** Rows of all live pages together. */
    readonly rows: number;
    /** Rows of the live pages of one identity. */
    readonly rowsPerIdentity: number;
  };
}

export interface OpenLivePage {
  /** The revision of its first state. */
  readonly revision: number;
  /** Starts the events. */
  start(): void;
  /** The client is gone. */
  close(): void;
}

const texts = {
  rows: localized('All live pages together may have {limit} rows; ask for a smaller page, or later'),
  rowsPerIdentity: localized(
    'The live pages of "{identity}" may have {limit} rows together; ask for a smaller page, or close another one',
  ),
};

/** Milliseconds between two attempts to read a page while the database is away. */
const awayPause = 500;

export class LivePages {
  readonly #dependencies: LivePagesDependencies;
  readonly #pages = new Map<ModelResource, Map<string, SharedPage>>();
  readonly #rowsOf = new Map<string, number>();
  #rows = 0;

  constructor(dependencies: LivePagesDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws QueryLimit when there are too many rows; InvalidSelector, InvalidParameter, NotReady */
  async open(
    resource: ModelResource,
    request: ListRequest,
    identity: string,
    sink: LivePageSink,
  ): Promise<OpenLivePage> {
    resource.assertBuilt(request.where, request.sort);
    const release = this.#reserve(identity, request.size);
    let first: Window | undefined;
    try {
      first = await this.#dependencies.background.run(identity, () =>
        resource.window(request, ({ ids }) => ids.keys()),
      );
    } catch (error) {
      release();
      throw error;
    }
    let leave: (() => void) | undefined;
    let isClosed = false;
    return {
      revision: first.revision,
      start: () => {
        if (!first || isClosed) return;
        const { revision, outline, items } = first;
        // From here on the outline is enough: the objects would keep memory of the byte cache.
        first = undefined;
        sink.snapshot({ revision, total: outline.total, items: outline.names.map((_, place) => items.get(place)!) });
        const page = this.#pageOf(resource, request);
        leave = page.join(sink, identity, outline);
        page.follow(this.#dependencies.watches);
      },
      close: () => {
        if (isClosed) return;
        isClosed = true;
        leave?.();
        release();
      },
    };
  }

  /** @returns gives the rows back */
  #reserve(identity: string, rows: number): () => void {
    const { limits } = this.#dependencies;
    const mine = (this.#rowsOf.get(identity) ?? 0) + rows;
    if (mine > limits.rowsPerIdentity) {
      throw tooMany(texts.rowsPerIdentity, { identity, limit: limits.rowsPerIdentity });
    }
    if (this.#rows + rows > limits.rows) throw tooMany(texts.rows, { limit: limits.rows });
    this.#rows += rows;
    this.#rowsOf.set(identity, mine);
    return () => {
      this.#rows -= rows;
      const left = this.#rowsOf.get(identity)! - rows;
      if (left > 0) this.#rowsOf.set(identity, left);
      else this.#rowsOf.delete(identity);
    };
  }

  #pageOf(resource: ModelResource, request: ListRequest): SharedPage {
    const key = keyOf(request);
    const pages = this.#pages.get(resource) ?? new Map<string, SharedPage>();
    this.#pages.set(resource, pages);
    const known = pages.get(key);
    if (known) return known;
    const page = new SharedPage(resource, request, this.#dependencies.background, () => {
      pages.delete(key);
      if (pages.size === 0) this.#pages.delete(resource);
    });
    pages.set(key, page);
    return page;
  }

  /** Rows of all live pages that are open. */
  get rows(): number {
    return this.#rows;
  }
}

/** One who reads a page. */
interface Seat {
  readonly sink: LivePageSink;
  readonly identity: string;
  /** What the client has, or will have when it has taken what it was sent. */
  outline: Outline;
  /** The client has yet to take what it was sent. */
  isWaiting: boolean;
  /** Had an event since the last bookmark. */
  isBusy: boolean;
}

/** Those who have the same, and what turns it into the next state. */
interface Group {
  readonly seats: readonly Seat[];
  readonly change: WindowChange | undefined;
}

/**
 * One page with all its readers. Changes that come while the page is being read, or while a client is behind, are taken
 * together: each event leads to the state at its revision.
 */
class SharedPage implements Reader {
  readonly #resource: ModelResource;
  readonly #request: ListRequest;
  #bound: Bound;
  readonly #background: Background;
  readonly #seats = new Set<Seat>();
  readonly #onEnd: () => void;
  #leave: (() => void) | undefined;
  #isDirty = false;
  #isRunning = false;
  #isEnded = false;
  /** The last state that was read. */
  #last: { readonly revision: number; readonly outline: Outline } | undefined;
  #again: NodeJS.Timeout | undefined;

  constructor(resource: ModelResource, request: ListRequest, background: Background, onEnd: () => void) {
    this.#resource = resource;
    this.#request = request;
    this.#bound = bind(request.where, resource.scheme.indexes);
    this.#background = background;
    this.#onEnd = onEnd;
  }

  get size(): number {
    return this.#seats.size;
  }

  /** @returns takes the reader out again */
  join(sink: LivePageSink, identity: string, outline: Outline): () => void {
    const seat: Seat = { sink, identity, outline, isWaiting: false, isBusy: true };
    this.#seats.add(seat);
    this.#awaitTaken(seat);
    // The page may have changed since the reader's snapshot was read.
    this.#refresh();
    return () => {
      this.#seats.delete(seat);
      if (this.#seats.size === 0) this.#stop();
    };
  }

  /** From the first call on the page is told of changes. Whoever has joined is ended when the model is no longer there. */
  follow(watches: Pick<Watches, 'join'>): void {
    this.#leave ??= watches.join(this.#resource, this);
  }

  change(change: AppliedChange): void {
    if (this.#concerns(change)) this.#refresh();
  }

  replaced(): void {
    try {
      this.#bound = bind(this.#request.where, this.#resource.scheme.indexes);
    } catch (error) {
      return this.end(error);
    }
    this.#refresh();
  }

  bookmark(applied: number): void {
    const last = this.#last;
    for (const seat of this.#seats) {
      if (!seat.isBusy && !seat.isWaiting && last && seat.outline === last.outline) {
        seat.sink.bookmark(this.#isDirty || this.#isRunning ? last.revision : applied);
      }
      seat.isBusy = false;
    }
  }

  end(error: unknown): void {
    const seats = [...this.#seats];
    this.#seats.clear();
    this.#stop();
    for (const { sink } of seats) sink.end(error);
  }

  #stop(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearTimeout(this.#again);
    this.#leave?.();
    this.#onEnd();
  }

  #concerns(change: AppliedChange): boolean {
    const { names } = this.#request;
    if (names && !names.has(change.name)) return false;
    return concerns(this.#bound, change);
  }

  #refresh(): void {
    this.#isDirty = true;
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      while (this.#isDirty && !this.#isEnded) {
        this.#isDirty = false;
        const [{ identity }] = [...this.#seats] as [Seat];
        await this.#background.run(identity, () => this.#read());
      }
    } catch (error) {
      if (!isAway(error)) return this.end(error);
      clearTimeout(this.#again);
      if (!this.#isEnded) this.#again = setTimeout(() => this.#refresh(), awayPause).unref();
    } finally {
      this.#isRunning = false;
    }
  }

  async #read(): Promise<void> {
    let groups: readonly Group[] = [];
    const { revision, outline, items } = await this.#resource.window(this.#request, (next) => {
      groups = this.#groups(next);
      return new Set(groups.flatMap(({ change }) => (change ? [...change.inserted, ...change.updated] : [])));
    });
    this.#last = { revision, outline };
    for (const { seats, change } of groups) {
      const content = change && contentOf(change, items);
      for (const seat of seats) {
        seat.outline = outline;
        if (!content) continue;
        seat.isBusy = true;
        seat.sink.window(revision, content);
        this.#awaitTaken(seat);
      }
    }
  }

  #groups(next: Outline): Group[] {
    const free = [...this.#seats].filter(({ isWaiting }) => !isWaiting);
    return [...Map.groupBy(free, ({ outline }) => outline)].map(([outline, seats]) => ({
      seats,
      change: difference(outline, next),
    }));
  }

  #awaitTaken(seat: Seat): void {
    if (!seat.sink.isBehind) return;
    seat.isWaiting = true;
    void seat.sink.drained().then(() => {
      seat.isWaiting = false;
      // A read under way has left this seat out.
      if (this.#seats.has(seat) && (this.#isRunning || seat.outline !== this.#last?.outline)) this.#refresh();
    });
  }
}

function contentOf({ total, removed, inserted, updated }: WindowChange, items: Window['items']): WindowContent {
  return {
    total,
    removed,
    inserted: inserted.map((index) => ({ index, object: items.get(index)! })),
    updated: updated.map((place) => items.get(place)!),
  };
}

/** The same for requests for the same: conditions of a URL are texts. */
function keyOf({ where, sort, names, page, size }: ListRequest): string {
  return JSON.stringify([where, sort, names && [...names].sort(), page, size]);
}

function tooMany(text: Text, params: Parameters): KindredError {
  return new KindredError('QueryLimit', text, { params, headers: { 'retry-after': '1' } });
}
