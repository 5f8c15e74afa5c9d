/** The only way to the service: `kindred/client` with the session's cookie and the language of the page. */
import { createClient } from 'kindred/client';
import { shallowRef } from 'vue';
import { language } from '../text/index.ts';

/** Whether the last request found the service. */
export const isOnline = shallowRef(true);

/** Counts refusals of the session: the frame then asks to sign in again. */
export const refusals = shallowRef(0);

/** `fetch` with what every request of the console says. */
export async function send(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('accept-language', language.value);
  headers.set('kindred-console', '1');
  try {
    const response = await fetch(input, { ...init, headers, credentials: 'same-origin', cache: 'no-store' });
    isOnline.value = true;
    if (response.status === 401 && !new URL(response.url).pathname.startsWith('/v3/session')) refusals.value++;
    return response;
  } catch (error) {
    if (!init.signal?.aborted) isOnline.value = false;
    throw error;
  }
}

/** Nothing is sent again behind the reader's back: who asks says what they do about a refusal (`errors.ts`). */
export const client = createClient({ url: location.origin, fetch: send, retry: false });
