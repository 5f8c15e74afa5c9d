/** Who is signed in. The page keeps no token: signing in trades it for a cookie that scripts cannot read. */
import type { SessionState } from 'kindred/client';
import { computed, shallowRef } from 'vue';
import { client, refusals } from './client.ts';

/** Undefined until the service has answered. */
export const session = shallowRef<SessionState>();

/** Why the service said nothing of the session, or refused a one-time link. */
export const sessionFailure = shallowRef<unknown>();

export const isSignedIn = computed(() => session.value?.authentication === false || !!session.value?.identity);

/** In both storages of the browser: whose work is kept there. */
const owner = 'kindred-identity';
/** The addresses that somebody visited, and their drafts. */
const work = /^kindred-(identity$|recent$|draft:)/;

function forget(storage: Storage): void {
  for (const key of Object.keys(storage)) if (work.test(key)) storage.removeItem(key);
}

/** Nobody finds the work of somebody else. */
function take(now: SessionState): void {
  if (now.identity) {
    for (const storage of [localStorage, sessionStorage]) {
      if (storage.getItem(owner) !== now.identity.name) forget(storage);
      storage.setItem(owner, now.identity.name);
    }
  }
  session.value = now;
}

/** A session that is over leaves the page as it is, with the question to sign in again over it. */
export async function readSession(): Promise<void> {
  const now = await client.session.get();
  if (session.value?.identity && now.authentication && !now.identity) refusals.value++;
  else take(now);
}

/** Throws what the service says of a wrong token, or of a code that was used. */
export async function signIn(credential: { token: string } | { code: string }): Promise<void> {
  take(await client.session.begin(credential));
}

/** Leaves the page, and with it everything that was read, and what is kept of it here. */
export async function signOut(): Promise<void> {
  await client.session.end();
  // After the screen has kept its draft.
  addEventListener('pagehide', () => [localStorage, sessionStorage].forEach(forget), { once: true });
  location.assign('/console/sign-in');
}

/** The one-time code of the address, taken out of it before the router, which imports this file, reads the address. */
const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
/** The address brought a code to sign in with. */
export const hasCode = code !== undefined;
if (code) history.replaceState(null, '', location.pathname + location.search);

/** At the start: uses the one-time code, and asks who is signed in. */
export async function startSession(): Promise<void> {
  try {
    if (code) await signIn({ code });
    else await readSession();
  } catch (error) {
    sessionFailure.value = error;
    if (code) await readSession().catch(() => undefined);
  }
}
