/** The events of a watch, and who takes them: the sink of one client, or a reader for many. */
import type { KindredError } from '../../errors.ts';
import type { Bound } from '../../query/bind.ts';
import { matches } from '../../query/match.ts';
import type { AppliedChange } from '../change.ts';
import type { Stored } from '../registered-model.ts';
import type { Selection } from '../resource.ts';

export interface WatchRequest extends Selection {
  /** Who watches: where many wait for a replay, every identity has its turn. */
  readonly identity: string;
  /** Exclusive; undefined: from now. */
  readonly since?: number;
  /** The list first; not together with `since`. */
  readonly sendInitial?: boolean;
}

export interface ChangeEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  readonly bytes: Buffer;
  /** The change behind it, shared by all watches that see it; absent with `initial`. */
  readonly change?: AppliedChange;
  /** With `initial`. */
  readonly stored?: Stored;
  readonly initial?: true;
}

export interface Bookmark {
  readonly type: 'BOOKMARK';
  readonly revision: number;
  readonly initial?: true;
}

export type WatchEvent = ChangeEvent | Bookmark;

export interface Sink {
  event(event: WatchEvent): void;
  /** The client has not taken yet what a replay waits for. */
  readonly isBehind: boolean;
  /** So much waits for the client that nothing may be added. */
  readonly isFull: boolean;
  /** Resolves when the client is no longer behind, or is gone. */
  drained(): Promise<void>;
  /** The service ends the watch: no more events come. */
  end(error: KindredError): void;
}

/** Another reader of one model's changes: a live page. Told of changes as they are applied; must be quick. */
export interface Reader {
  /** Clients behind it. */
  readonly size: number;
  change(change: AppliedChange): void;
  /** Another declaration of the model serves from this turn on. */
  replaced(): void;
  /** Comes at least every `bookmarkInterval`; everything up to this revision was told. */
  bookmark(revision: number): void;
  /** The service ends the reading: nothing comes any more. */
  end(error: KindredError): void;
}

/** What a selection sees of a change: an object that starts to match is added, one that stops is deleted. */
export function eventTypeOf(bound: Bound, change: AppliedChange): ChangeEvent['type'] | undefined {
  const matchesAll = bound.op === 'all';
  const matched = change.type !== 'create' && (matchesAll || matches(bound, change.entryBefore()!));
  if (change.type === 'delete') return matched ? 'DELETED' : undefined;
  const isMatch = matchesAll || matches(bound, change.entry());
  if (isMatch) return matched ? 'MODIFIED' : 'ADDED';
  return matched ? 'DELETED' : undefined;
}
