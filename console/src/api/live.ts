/** A live page: its state at first, then how it changes (docs/reference/watch.md). */
import type { ListQuery, PageEvent } from 'kindred/client';
import { client } from './client.ts';
import type { ModelSummary } from './models.ts';
import { clientModelOf } from './models.ts';
import type { ApiObject } from './object.ts';

/** One stream; it throws when the service ends it. */
export async function* watchPage(
  model: ModelSummary,
  query: ListQuery,
  signal: AbortSignal,
  opened: () => void,
): AsyncGenerator<PageEvent<ApiObject>, void, undefined> {
  // `stream.ts` comes back, which knows whether the tab is in sight.
  const events = client.watchPage(clientModelOf(model), query, undefined, { signal, resume: false });
  for await (const event of events) {
    opened();
    yield event as PageEvent<ApiObject>;
  }
}
