/**
 * Signing in at an OpenID Connect issuer in the browser: the authorization code flow with PKCE, state and nonce (OpenID Connect
 * Core 1.0, section 3.1; RFC 9700). Every token stays in this process. What has to be known when the browser comes back
 * travels with it, so that any replica can go on.
 */

import type { Configuration } from 'openid-client';
import type { Text } from '../../errors.ts';
import { invalid, KindredError, violation } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import type { Principal } from './identity.ts';
import type { IssuerLoginOptions, IssuerOptions, JwtAuthenticator } from './jwt.ts';
import { issuerUnreachable } from './jwt.ts';

/** What a browser brings back from the issuer, and nobody else knows. */
export interface PendingLogin {
  /** URL of the issuer. */
  readonly issuer: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** Path of the console that was asked for. */
  readonly return: string;
}

export interface ShownIssuer {
  readonly name: string;
  readonly displayName: string;
  readonly url: string;
}

/** Why nobody was signed in: the person or the issuer said no; nothing is known of the attempt; the issuer does not answer; what it says does not count here. */
export type LoginRefusal = 'denied' | 'outdated' | 'unreachable' | 'refused';

const defaultScopes = ['openid', 'profile', 'email'];
const configurationMaxAge = 3_600_000;

const unknownIssuer: Text = localized('must be the URL of an issuer at which people sign in');

type Client = typeof import('openid-client');
type LoginIssuer = IssuerOptions & { readonly login: IssuerLoginOptions };

export class IssuerLogins {
  readonly #issuers: readonly LoginIssuer[];
  readonly #jwt: JwtAuthenticator;
  readonly #now: () => number;
  readonly #configurations = new Map<string, { readonly at: number; readonly configuration: Configuration }>();

  constructor(options: readonly IssuerOptions[], jwt: JwtAuthenticator, now: () => number) {
    this.#issuers = options.filter((one): one is LoginIssuer => one.login !== undefined);
    this.#jwt = jwt;
    this.#now = now;
  }

  /** One button each. */
  get shown(): readonly ShownIssuer[] {
    return this.#issuers.map(({ url, login }) => ({
      name: url,
      displayName: login.displayName ?? new URL(url).host,
      url: `/v3/session/login?${new URLSearchParams({ issuer: url })}`,
    }));
  }

  /**
   * Where the browser has to go.
   * @param callback address of this service to which the issuer sends the browser back
   * @throws Invalid for an unknown issuer, NotReady for one that does not answer
   */
  async begin(issuer: string, callback: string, to: string): Promise<{ url: URL; pending: PendingLogin }> {
    const options = this.#issuers.find(({ url }) => url === issuer);
    if (!options) throw invalid([violation('/issuer', 'enum', unknownIssuer)]);
    const client = await import('openid-client');
    const configuration = await this.#configuration(client, options);
    const verifier = client.randomPKCECodeVerifier();
    const [state, nonce] = [client.randomState(), client.randomNonce()];
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: callback,
      scope: (options.login.scopes ?? defaultScopes).join(' '),
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    });
    return { url, pending: { issuer, state, nonce, verifier, return: to } };
  }

  /**
   * Who has come back.
   * @param url with which the browser came, at the address of `begin`
   * @throws Unauthenticated, NotReady, or what `openid-client` throws
   */
  async finish(url: URL, pending: PendingLogin): Promise<Principal> {
    const options = this.#issuers.find((one) => one.url === pending.issuer);
    if (!options) throw invalid([violation('/issuer', 'enum', unknownIssuer)]);
    const client = await import('openid-client');
    const configuration = await this.#configuration(client, options);
    const tokens = await client.authorizationCodeGrant(configuration, url, {
      expectedState: pending.state,
      expectedNonce: pending.nonce,
      pkceCodeVerifier: pending.verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims()!;
    if (this.#jwt.hasClaims(options.url, claims) || configuration.serverMetadata().userinfo_endpoint === undefined) {
      return this.#jwt.principalOf(options.url, claims);
    }
    // Many issuers keep the ID token short, and tell the rest here (OpenID Connect Core, section 5.4).
    const more = await client.fetchUserInfo(configuration, tokens.access_token, claims.sub);
    return this.#jwt.principalOf(options.url, { ...more, ...claims });
  }

  async #configuration(client: Client, { url, login, timeout = 5_000, clockSkew = 30_000 }: LoginIssuer) {
    const known = this.#configurations.get(url);
    if (known && this.#now() - known.at < configurationMaxAge) return known.configuration;
    const { clientId, clientSecret } = login;
    const metadata = {
      [client.clockTolerance]: clockSkew / 1000,
      ...(clientSecret !== undefined && { client_secret: clientSecret }),
    };
    const execute = [client.enableNonRepudiationChecks];
    // On a loopback address alone: `JwtAuthenticator` refuses any other.
    if (url.startsWith('http:')) execute.push(client.allowInsecureRequests);
    try {
      const options = { execute, timeout: timeout / 1000 };
      const configuration = await client.discovery(new URL(url), clientId, metadata, undefined, options);
      this.#configurations.set(url, { at: this.#now(), configuration });
      return configuration;
    } catch (error) {
      throw issuerUnreachable(url, error);
    }
  }
}

/** What the person is told; the log has the error. */
export async function refusalOf(error: unknown): Promise<LoginRefusal> {
  const { AuthorizationResponseError, ClientError } = await import('openid-client');
  if (error instanceof AuthorizationResponseError) return 'denied';
  if (error instanceof KindredError) return error.code === 'NotReady' ? 'unreachable' : 'refused';
  // `fetch` fails with a TypeError.
  if (error instanceof TypeError) return 'unreachable';
  return error instanceof ClientError && error.code === 'OAUTH_TIMEOUT' ? 'unreachable' : 'refused';
}
