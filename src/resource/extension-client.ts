import type { ModelType, New } from '../model/model-type.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { ListOptions, PageRequest, Sort } from '../query/query.ts';

/** One page of a list, exact total included (docs/reference/api.md). */
export interface ListResult<T> {
  page: number;
  size: number;
  /** All matches, at the same revision as the items. */
  total: number;
  items: T[];
  first: boolean;
  last: boolean;
  hasNext: boolean;
  hasPrevious: boolean;
  /** 0 when `total` is 0. */
  totalPages: number;
  /** Of the store: the state that the page shows, as a decimal string. */
  revision?: string;
}

/** Revisions are decimal strings here, JSON integers on the wire. `initial` marks the state a watch began with. */
export type WatchEvent<T> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; revision: string; object: T; initial?: true }
  | { type: 'BOOKMARK'; revision: string; initial?: true };

export interface WatchOptions {
  select?: ListOptions;
  /** Exclusive; without it the watch begins now. */
  since?: string;
  /** The list first, closed by a BOOKMARK with `initial`; not together with `since`. */
  sendInitial?: boolean;
  signal?: AbortSignal;
}

/**
 * The one interface to objects, for controllers, custom routes, plugins, tests and over HTTP (docs/reference/queries.md).
 * Every method throws `KindredError` with the codes and members of docs/reference/errors.md, `Forbidden` when the identity
 * it acts as may not do it, `NotReady` while the indexes of the model are being built elsewhere.
 */
export interface ExtensionClient {
  /** @throws NotFound */
  get<T = ExtensionObject>(type: ModelType<T>, name: string): Promise<T>;
  /** As `get`, undefined when there is no such object. */
  fetch<T>(type: ModelType<T>, name: string): Promise<T | undefined>;
  /**
   * Default: page 1 of 20, newest first. Over HTTP the size and the bytes of a page are limited (`list.maxSize`,
   * `list.maxBytes`). Inside the service they are not: its callers are trusted, and the whole page is parsed in memory at
   * once. Use `listAll` for more than a few thousand objects.
   */
  list<T>(type: ModelType<T>, options?: ListOptions, page?: PageRequest): Promise<ListResult<T>>;
  /** Every match at one revision, streamed. */
  listAll<T>(type: ModelType<T>, options?: ListOptions, sort?: Sort): AsyncIterable<T>;
  listNames(type: ModelType, options?: ListOptions, sort?: Sort): Promise<string[]>;
  count(type: ModelType, options?: ListOptions): Promise<number>;
  /** What has a default may be left out, as `NewOf` of the model says. @throws AlreadyExists, UniqueViolation, Invalid */
  create<T, N = New<T>>(type: ModelType<T, N>, object: NoInfer<N>): Promise<T>;
  /** Full replace; with `metadata.version` in the object the current version must be that one. @throws VersionConflict, NotFound, Deleting, UniqueViolation, Invalid */
  update<T>(type: ModelType<T>, object: T): Promise<T>;
  /** Replaces `status` alone. On a model without the status sub-resource: of the stored object all else stays too. */
  updateStatus<T>(type: ModelType<T>, object: T): Promise<T>;
  /** `merge` (RFC 7396, the default for an object) or `json` (RFC 6902, the default for a list). */
  patch<T>(type: ModelType<T>, name: string, patch: object | readonly object[], kind?: 'merge' | 'json'): Promise<T>;
  /** The object with `deletionTimestamp` set. @throws NotFound, VersionConflict */
  delete<T>(type: ModelType<T>, name: string, options?: { version?: number }): Promise<T>;
  watch<T>(type: ModelType<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
}
