/** An OpenID Connect provider of one's own, at which people sign in without a form. */
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ClientMetadata, KoaContextWithOIDC } from 'oidc-provider';
import Provider from 'oidc-provider';

export interface IssuerSettings {
  /** Members besides those of a confidential client with the redirect URI. */
  readonly client?: Partial<ClientMetadata>;
  /** Claims stand in the ID token, too; else at the address for user information alone. */
  readonly longIdTokens?: boolean;
}

export const clientId = 'kindred-console';
export const clientSecret = 'a secret of the test';

export class LoginIssuer {
  /** Who signs in next, with these claims; undefined: they cancel. */
  person: Record<string, unknown> | undefined = { sub: 'ada', email: 'ada@example.com', email_verified: true };
  readonly url: string;
  /** Every request that came, as method and path. */
  readonly requests: string[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(
    service: () => string,
    { client = {}, longIdTokens = false }: IssuerSettings = {},
  ): Promise<LoginIssuer> {
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const issuer = new LoginIssuer(server);
    let handle: ReturnType<Provider['callback']> | undefined;
    server.on('request', (request, response) => {
      issuer.requests.push(`${request.method} ${request.url!.split('?')[0]}`);
      response.setHeader('connection', 'close');
      // The address of the service is known once it has started.
      handle ??= issuer.#provider(service(), client, longIdTokens);
      handle(request, response);
    });
    return issuer;
  }

  #provider(service: string, client: Partial<ClientMetadata>, longIdTokens: boolean): ReturnType<Provider['callback']> {
    const provider = new Provider(this.url, {
      clients: [
        {
          client_id: clientId,
          client_secret: clientSecret,
          redirect_uris: [`${service}/v3/session/callback`],
          ...client,
        },
      ],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups'] },
      conformIdTokenClaims: !longIdTokens,
      pkce: { required: () => true },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, { uid }) => `/person/${uid}` },
      findAccount: (_context, accountId) => ({ accountId, claims: () => ({ ...this.person, sub: accountId }) }),
      loadExistingGrant: async ({ oidc }: KoaContextWithOIDC) => {
        const grant = new provider.Grant({ clientId: oidc.client!.clientId, accountId: oidc.session!.accountId! });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
      },
      cookies: { keys: ['of the test'] },
    });
    const callback = provider.callback();
    return (request, response) => {
      if (!request.url!.startsWith('/person/')) return callback(request, response);
      const result = this.person
        ? { login: { accountId: this.person.sub as string, remember: false } }
        : { error: 'access_denied', error_description: 'the person said no' };
      return provider.interactionFinished(request, response, result);
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
