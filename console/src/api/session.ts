/** Who is signed in. The page keeps no token: signing in trades it for a cookie that scripts cannot read. */
import { computed, shallowRef } from 'vue';
import { client } from './client.ts';

export interface Session {
  /** False: everybody may do everything. */
  readonly authentication: boolean;
  readonly identity?: {
    readonly name: string;
    readonly kind: string;
    readonly roles: readonly string[];
    readonly expiresAt?: string;
  };
  readonly signIn: {
    readonly token: boolean;
    readonly issuers: readonly { readonly name: string; readonly displayName: string; readonly url: string }[];
  };
}

/** Undefined until the service has answered. */
export const session = shallowRef<Session>();

export const isSignedIn = computed(() => session.value?.authentication === false || !!session.value?.identity);

export async function readSession(): Promise<Session> {
  session.value = await client.request<Session>('GET', '/v3/session');
  return session.value;
}

/** Throws what the service says of a wrong token or a code that was used. */
export async function signIn(credential: { token: string } | { code: string }): Promise<void> {
  await client.request('POST', '/v3/session', { body: credential });
  await readSession();
}

export async function signOut(): Promise<void> {
  await client.request('DELETE', '/v3/session');
}
