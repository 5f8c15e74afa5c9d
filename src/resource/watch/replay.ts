/**
 * A *replay* brings a watch from a revision of the log, or from the list, up to the memory. It goes at the pace of the
 * watch's client, and in pieces, so that many replays hold up nobody else.
 */

import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import { retry } from '../../runtime/retry.ts';
import { systemTimers } from '../../runtime/timers.ts';
import type { MaybePromise } from '../../store/store.ts';
import type { Background } from '../background.ts';
import type { Feed, LogPortion } from '../feed.ts';
import type { Stored } from '../registered-model.ts';
import type { ModelResource, Selection } from '../resource.ts';
import type { Watch } from './watch.ts';

const texts = {
  unlisted: localized('The database went away while the list was being sent; list again'),
};

/** What is read of the log at once. */
const portionLimit = { changes: 250, bytes: 512 * 1024 };
/** Portions that are kept for other replays. */
const keptPortions = 8;
/** Milliseconds between two attempts to read while the database is away. */
const awayDelays = { minDelay: 50, maxDelay: 1_000 };

export class Replays {
  readonly #feed: Feed;
  readonly #background: Background;
  readonly #portions: Portions;
  #underWay = 0;

  constructor(feed: Feed, background: Background) {
    this.#feed = feed;
    this.#background = background;
    this.#portions = new Portions(feed);
  }

  /**
   * Tells a watch of everything after its position.
   * @param join called when the watch has been told of all that is applied, before anything else is
   * @throws Expired when the log no longer reaches back to where the watch is, or has what the declaration cannot read
   */
  async catchUp(watch: Watch, join: () => void): Promise<void> {
    this.#underWay++;
    try {
      await this.#patiently(watch, async () => {
        for (let isThere = false; !isThere && !watch.closed; ) {
          await watch.sink.drained();
          isThere = await this.#piece(watch, false, () => this.#advance(watch, join));
        }
      });
    } finally {
      if (--this.#underWay === 0) this.#portions.clear();
    }
  }

  /** The list, and the bookmark that closes it; the watch's position is the list's revision then. */
  async sendInitial(watch: Watch, selection: Selection): Promise<void> {
    let isSent = false;
    const send = async (): Promise<void> => {
      const { revision, objects, close } = await watch.resource.export(selection);
      try {
        for (;;) {
          const { done, value } = await this.#piece(watch, ended, () => objects.next());
          if (done) break;
          isSent = true;
          await this.#sendPortion(watch, revision, value);
        }
      } finally {
        await close();
      }
      if (!watch.closed) watch.sink.event({ type: 'BOOKMARK', revision, initial: true });
      watch.position = revision;
    };
    await this.#patiently(watch, send, (error) => {
      // What is left can only be had at another revision.
      if (isSent) throw new KindredError('Expired', texts.unlisted, { cause: error });
    });
  }

  /** Everything was read anew: what was read before is no longer true. */
  forget(): void {
    this.#portions.clear();
  }

  #piece<T>(watch: Watch, closed: T, body: () => MaybePromise<T>): Promise<T> {
    return this.#background.run(watch.identity, () => (watch.closed ? closed : body()));
  }

  async #sendPortion(watch: Watch, revision: number, portion: readonly Stored[]): Promise<void> {
    const { sink } = watch;
    let at = 0;
    while (at < portion.length && !watch.closed) {
      await sink.drained();
      await this.#piece(watch, undefined, () => {
        do {
          const stored = portion[at++]!;
          sink.event({ type: 'ADDED', revision, bytes: stored.bytes, stored, initial: true });
        } while (at < portion.length && !sink.isBehind && !this.#background.isOver);
      });
    }
  }

  /** True when the watch has joined. */
  #advance(watch: Watch, join: () => void): MaybePromise<boolean> {
    const { resource, position } = watch;
    // In memory, changes from before the model was registered (again) are missing, or belong to its former self.
    const recent = position >= resource.memory.followedSince ? this.#feed.recent(position) : undefined;
    if (!recent) return this.#advanceInLog(watch);
    if (!this.#tell(watch, { changes: recent, through: this.#feed.applied })) return false;
    join();
    return true;
  }

  async #advanceInLog(watch: Watch): Promise<false> {
    const { changes, through } = await this.#portions.after(watch.resource, watch.position);
    // The log may be ahead of the memory; nothing is told that a read would not show as well.
    this.#tell(watch, { changes, through: Math.min(through, this.#feed.applied) });
    return false;
  }

  /** False when it has to go on in another piece. */
  #tell(watch: Watch, { changes, through }: Omit<LogPortion, 'unregistered'>): boolean {
    for (const change of changes) {
      if (change.revision <= watch.position) continue;
      if (watch.closed || change.revision > through) break;
      if (change.model === watch.resource.model) {
        change.assertReadable();
        watch.tell(change);
      }
      watch.position = change.revision;
      if (watch.sink.isBehind || this.#background.isOver) return false;
    }
    watch.position = Math.max(watch.position, through);
    return true;
  }

  /**
   * Tries again while the database is away: a watch that is live waits for it in the same way.
   * @param away called before each pause; may throw to give up
   */
  async #patiently(watch: Watch, work: () => Promise<void>, away?: (error: unknown) => void): Promise<void> {
    const failed = (error: unknown) => {
      if (!isAway(error) || watch.closed) throw error;
      away?.(error);
    };
    await retry({ timers: systemTimers, ...awayDelays, failed }, work);
  }
}

const ended = { done: true, value: undefined } as const;

/** True while the database is away, or the indexes are being built: what was asked for can be had later. */
export function isAway(error: unknown): boolean {
  return error instanceof KindredError && ['NotReady', 'IndexBuilding'].includes(error.code);
}

interface Kept {
  readonly resource: ModelResource;
  readonly since: number;
  /** Undefined until it is read. */
  through: number | undefined;
  readonly portion: Promise<LogPortion>;
}

/** Parts of the log that replays read: those that are at the same place share them, with what was parsed of them. */
class Portions {
  readonly #feed: Feed;
  /** The newest last. */
  #kept: Kept[] = [];

  constructor(feed: Feed) {
    this.#feed = feed;
  }

  clear(): void {
    this.#kept = [];
  }

  /** Also of what lies before `since`, when it was read already. */
  after(resource: ModelResource, since: number): Promise<LogPortion> {
    const known = this.#kept.findLast(
      (kept) =>
        kept.resource === resource &&
        (kept.since === since || (kept.since < since && kept.through !== undefined && since < kept.through)),
    );
    if (known) return known.portion;
    const { changes: limit, bytes } = portionLimit;
    const portion = this.#feed.changes(since, limit, { model: resource.memory.number, bytes });
    const kept: Kept = { resource, since, through: undefined, portion };
    this.#kept = [...this.#kept, kept].slice(-keptPortions);
    portion.then(
      ({ through }) => {
        kept.through = through;
      },
      () => {
        this.#kept = this.#kept.filter((one) => one !== kept);
      },
    );
    return portion;
  }
}
