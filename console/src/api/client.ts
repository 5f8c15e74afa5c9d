/** The only way to the service: `kindred/client` with the session's cookie and the language of the page. */
import { createClient } from 'kindred/client';
import { shallowRef } from 'vue';
import { language } from '../text/index.ts';
import type { Review } from './review.ts';
import { reviewOf } from './review.ts';

/** Whether the last request found the service. */
export const isOnline = shallowRef(true);

/** Counts refusals of the session: the frame then asks to sign in again. */
export const refusals = shallowRef(0);

/** Counts those of them that the reader's own changes met. */
export const refusedChanges = shallowRef(0);

/** What the caller may not do, by the id of the request that was refused; the latest ones. */
export const missingRights = shallowRef<ReadonlyMap<string, Review>>(new Map());
const keptRights = 20;

/** `fetch` with what every request of the console says. */
export async function send(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('accept-language', language.value);
  headers.set('kindred-console', '1');
  try {
    const response = await fetch(input, { ...init, headers, credentials: 'same-origin', cache: 'no-store' });
    isOnline.value = true;
    if (response.status === 401 || response.status === 403) refused(response, init.method ?? 'GET');
    return response;
  } catch (error) {
    if (!init.signal?.aborted) isOnline.value = false;
    throw error;
  }
}

function refused(response: Response, method: string): void {
  const url = new URL(response.url);
  if (response.status === 403) {
    const missing = [
      ...missingRights.value,
      [response.headers.get('x-request-id') ?? '', reviewOf(method, url)] as const,
    ];
    missingRights.value = new Map(missing.slice(-keptRights));
  } else if (!url.pathname.startsWith('/v3/session')) {
    refusals.value++;
    if (method !== 'GET') refusedChanges.value++;
  }
}

/** Nothing is sent again behind the reader's back: who asks says what they do about a refusal (`errors.ts`). */
export const client = createClient({ url: location.origin, fetch: send, retry: false });
