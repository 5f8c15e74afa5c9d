/** Streams of the service: one JSON event a line; the event ERROR ends them. */
import { errorFrom } from '../../../src/client/connection.ts';
import { lines } from '../../../src/client/ndjson.ts';
import { readJson } from '../../../src/runtime/read-json.ts';
import { send } from './client.ts';
import type { ApiObject } from './object.ts';

/** A change, or a BOOKMARK, which has no object. */
export interface ChangeEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly revision: number;
  readonly object?: ApiObject;
}

/** Every change of a model's objects that match, after `since`, or from now on: a BOOKMARK at first tells since when. */
export const watchChanges = (path: string, query: URLSearchParams, signal: AbortSignal, opened: () => void) =>
  events<ChangeEvent>(path, query, signal, opened, (headers) =>
    query.has('since') ? [] : [{ type: 'BOOKMARK', revision: Number(headers.get('Kindred-Revision')) }],
  );

/**
 * Throws when the service refuses the stream or ends it.
 * @param opened called when it has begun
 * @param first events that the head of the response tells
 */
export async function* events<E extends { readonly type: string }>(
  path: string,
  parameters: URLSearchParams,
  signal: AbortSignal,
  opened: () => void,
  first: (headers: Headers) => readonly E[] = () => [],
): AsyncGenerator<E, void, undefined> {
  const query = new URLSearchParams(parameters);
  query.set('watch', 'true');
  const response = await send(`${path}?${query}`, { headers: { accept: 'application/x-ndjson' }, signal });
  if (!response.ok) {
    throw errorFrom({ ...((await response.json().catch(() => ({}))) as object), status: response.status });
  }
  opened();
  yield* first(response.headers);
  for await (const line of lines(response.body!)) {
    const event = readJson(line) as E & { readonly error?: Record<string, unknown> };
    if (event.type === 'ERROR') throw errorFrom(event.error ?? {});
    yield event;
  }
}
