/** Signing a browser in and out (docs/reference/console.md): for pages of the service itself, which its cookie is for. */
import type { Connection } from './connection.ts';

/** Who the caller is, and how one signs in. */
export interface SessionState {
  /** False: everybody may do everything. */
  authentication: boolean;
  /** Absent: nobody is signed in. */
  identity?: { name: string; kind: 'User' | 'Plugin'; roles: string[]; expiresAt?: string };
  signIn: { token: boolean; issuers: { name: string; displayName: string; url: string }[] };
}

export interface SessionCalls {
  get(): Promise<SessionState>;
  /** Trades a token or a one-time code for the cookie of the browser. @throws Unauthenticated */
  begin(shown: { token: string } | { code: string }): Promise<SessionState>;
  /** Signs out. */
  end(): Promise<void>;
  /** A one-time code with which a browser signs in as the caller. */
  makeCode(): Promise<{ code: string; url: string; expiresAt: string }>;
}

const path = '/v3/session';
/** Shows that a page of the service sends the request. */
const ownPage = { 'kindred-console': '1' };

export function sessionCalls(connection: Connection): SessionCalls {
  return {
    get: () => connection.json('GET', path),
    begin: (shown) =>
      connection.json('POST', path, {
        headers: { ...ownPage, 'content-type': 'application/json' },
        body: JSON.stringify(shown),
      }),
    end: () => connection.json('DELETE', path, { headers: ownPage }),
    makeCode: () => connection.json('POST', `${path}/codes`, { headers: ownPage }),
  };
}
