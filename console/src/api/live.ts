/** A live page: its state at first, then how it changes (docs/reference/watch.md). */
import type { ListResult } from 'kindred/client';
import { errorFrom } from '../../../src/client/connection.ts';
import { lines } from '../../../src/client/ndjson.ts';
import { send } from './client.ts';
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
export async function* watchPage(
  path: string,
  parameters: URLSearchParams,
  signal: AbortSignal,
): AsyncGenerator<PageEvent, void, undefined> {
  const query = new URLSearchParams(parameters);
  query.set('watch', 'true');
  const response = await send(`${path}?${query}`, { headers: { accept: 'application/x-ndjson' }, signal });
  if (!response.ok) {
    throw errorFrom({ ...((await response.json().catch(() => ({}))) as object), status: response.status });
  }
  for await (const line of lines(response.body!)) {
    const event = JSON.parse(line) as PageEvent | { readonly type: 'ERROR'; readonly error: Record<string, unknown> };
    if (event.type === 'ERROR') throw errorFrom(event.error);
    yield event;
  }
}
