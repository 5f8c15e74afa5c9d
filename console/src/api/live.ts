/** A live page: its state at first, then how it changes (docs/reference/watch.md). */
import type { ListResult } from 'kindred/client';
import { events } from './changes.ts';
import type { ApiObject } from './object.ts';

export type PageEvent =
  | { readonly type: 'SNAPSHOT'; readonly object: ListResult<ApiObject> }
  | {
      readonly type: 'WINDOW';
      readonly object: {
        readonly total: number;
        readonly removed: readonly string[];
        readonly inserted: readonly { readonly index: number; readonly object: ApiObject }[];
        readonly updated: readonly ApiObject[];
      };
    }
  | { readonly type: 'BOOKMARK' };

/** One stream; it throws when the service ends it. */
export const watchPage = (path: string, parameters: URLSearchParams, signal: AbortSignal, opened: () => void) =>
  events<PageEvent>(path, parameters, signal, opened);
