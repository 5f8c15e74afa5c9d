/**
 * What clients recorded: an *operation* is one request with its answer, a *stream* what one watch told, the *log* every
 * change of the history as a watch from its beginning tells it once all is quiet.
 */

export interface Item {
  readonly name: string;
  readonly version: number;
  /** Names the operation that wrote it last. */
  readonly value: string;
  readonly slug?: string;
}

export type Request =
  | { readonly kind: 'create'; readonly name: string; readonly value: string; readonly slug?: string }
  /** Replaces; with `version` only that version. */
  | {
      readonly kind: 'put';
      readonly name: string;
      readonly value: string;
      readonly slug?: string;
      readonly version?: number;
    }
  /** Changes the value alone. */
  | { readonly kind: 'patch'; readonly name: string; readonly value: string }
  | { readonly kind: 'delete'; readonly name: string }
  | { readonly kind: 'get'; readonly name: string }
  | { readonly kind: 'list'; readonly slug?: string };

export type Outcome =
  | {
      readonly kind: 'ok';
      readonly revision: number;
      readonly item?: Item;
      /** Of a list, by name. */
      readonly items?: readonly Item[];
      readonly total?: number;
    }
  /** `revision` with NotFound alone. */
  | { readonly kind: 'refused'; readonly code: string; readonly revision?: number; readonly currentVersion?: number }
  /** Certainly not applied: the service said so, or there was no connection. */
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown' };

export interface Operation {
  readonly client: number;
  /** Milliseconds on the clock of the recording process. */
  readonly start: number;
  readonly end: number;
  readonly request: Request;
  readonly outcome: Outcome;
}

export interface Event {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  readonly item: Item;
}

export interface Stream {
  /** Exclusive. */
  readonly since: number;
  /** Objects with this slug only. */
  readonly slug?: string;
  readonly events: readonly (Event | { readonly type: 'BOOKMARK'; readonly revision: number })[];
  /** Everything up to this revision must have come; undefined: the stream was cut, what came is a beginning. */
  readonly through?: number;
  /** The service could not go on from where it was cut. */
  readonly expired?: true;
}

export interface History {
  /** Revision before the first operation. */
  readonly base: number;
  /** Revision after the last one. */
  readonly newest: number;
  readonly operations: readonly Operation[];
  readonly log: readonly Event[];
  readonly streams: readonly Stream[];
}

export type WriteRequest = Exclude<Request, { kind: 'get' | 'list' }>;

export function isWrite(request: Request): request is WriteRequest {
  return request.kind !== 'get' && request.kind !== 'list';
}

/** What a write makes of one object; `refused` with the code of the service. Uniqueness is not looked at. */
export function step(
  state: Item | undefined,
  request: WriteRequest,
): { readonly item: Item | undefined; readonly answer: Item } | { readonly refused: string } {
  if (request.kind === 'create') {
    if (state) return { refused: 'AlreadyExists' };
    const item = itemOf(request.name, 0, request.value, request.slug);
    return { item, answer: item };
  }
  if (!state) return { refused: 'NotFound' };
  const version = state.version + 1;
  switch (request.kind) {
    case 'delete':
      return { item: undefined, answer: { ...state, version } };
    case 'patch': {
      const item = { ...state, version, value: request.value };
      return { item, answer: item };
    }
    case 'put': {
      if (request.version !== undefined && request.version !== state.version) return { refused: 'VersionConflict' };
      const item = itemOf(request.name, version, request.value, request.slug);
      return { item, answer: item };
    }
  }
}

export function itemOf(name: string, version: number, value: string, slug: string | undefined): Item {
  return { name, version, value, ...(slug !== undefined && { slug }) };
}

export function sameItem(a: Item | undefined, b: Item | undefined): boolean {
  return a === b || (a?.name === b?.name && a?.version === b?.version && a?.value === b?.value && a?.slug === b?.slug);
}
