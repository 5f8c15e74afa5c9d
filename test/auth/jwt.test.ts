import assert from 'node:assert/strict';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import type { JWK } from 'jose';
import { exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose';
import Provider from 'oidc-provider';
import { JwtAuthenticator } from '../../src/auth/authentication/jwt.ts';
import { KindredError } from '../../src/errors.ts';
import { expect, live, until } from './live.ts';

/** A real OpenID Connect provider; its keys can be changed and it can be taken away, as its operator would. */
class IssuerProcess {
  url = '';
  requests = 0;
  #server: Server | undefined;
  #port = 0;

  async start(jwks: JWK[]): Promise<void> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.url = `http://127.0.0.1:${this.#port}`;
    const provider = new Provider(this.url, {
      jwks: { keys: jwks as never },
      clients: [
        {
          client_id: 'robot',
          client_secret: 'a secret of the test',
          id_token_signed_response_alg: 'ES256',
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
        },
      ],
      features: {
        clientCredentials: { enabled: true },
        devInteractions: { enabled: false },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => 'urn:kindred',
          getResourceServerInfo: (_context, resource) => ({
            scope: 'use',
            audience: resource,
            accessTokenFormat: 'jwt' as const,
            accessTokenTTL: 300,
            jwt: { sign: { alg: 'ES256' as const } },
          }),
        },
      },
      extraTokenClaims: () => ({
        email: 'robot@example.com',
        email_verified: true,
        realm: { roles: ['reader', 'writer'] },
      }),
      clientBasedCORS: () => false,
    });
    const handle = provider.callback();
    server.on('request', (request, response) => {
      this.requests++;
      // No connection outlives a request, so a restart of the issuer meets none half open.
      response.setHeader('connection', 'close');
      handle(request, response);
    });
    this.#server = server;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  /** An access token by the client credentials grant. */
  async token(resource = 'urn:kindred'): Promise<string> {
    const answer = await fetch(`${this.url}/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa('robot:a%20secret%20of%20the%20test')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'use', resource }),
    });
    const body = (await answer.json()) as { access_token: string };
    assert.equal(answer.status, 200, JSON.stringify(body));
    return body.access_token;
  }
}

async function newKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, use: 'sig', alg: 'ES256' };
}

const issuer = new IssuerProcess();
let firstKey: JWK;

before(async () => {
  firstKey = await newKey('first');
  await issuer.start([firstKey]);
});
after(() => issuer.stop());

const options = { audience: 'urn:kindred', keysCooldown: 0 };
const authenticator = (more: object = {}, now = () => Date.now(), isLocalUser = (_name: string) => false) =>
  new JwtAuthenticator([{ url: issuer.url, ...options, ...more }], now, isLocalUser);

/** Signed by the issuer's own key: what a real issuer might send but oidc-provider does not. */
async function signed(
  claims: Record<string, unknown>,
  key: JWK = firstKey,
  alg = 'ES256',
  header: object = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const payload = { iss: issuer.url, aud: 'urn:kindred', sub: 'ada', iat: now, exp: now + 300, ...claims };
  return new SignJWT(payload).setProtectedHeader({ alg, kid: key.kid!, ...header }).sign(await importJWK(key, alg));
}

async function refused(promise: Promise<unknown> | unknown, message: RegExp): Promise<void> {
  await assert.rejects(Promise.resolve(promise), (error: unknown) => {
    assert.ok(error instanceof KindredError);
    assert.equal(error.code, 'Unauthenticated');
    assert.equal(error.headers?.['WWW-Authenticate'], 'Bearer error="invalid_token"');
    assert.match(error.message, message);
    return true;
  });
}

test('permissions: a token of an OpenID Connect issuer is accepted by its URL alone; claims give user and roles', async () => {
  const token = await issuer.token();
  const jwt = authenticator({ claims: { user: 'email', roles: 'realm.roles' } });
  assert.equal(jwt.accepts(token), true);
  const principal = await jwt.authenticate(token);
  assert.equal(principal.name, 'robot@example.com');
  assert.deepEqual(principal.roles, ['reader', 'writer', 'authenticated']);
  assert.ok(principal.expiresAt! > Date.now());
});

test('permissions: without a roles claim in the options, no role comes from a token', async () => {
  const principal = await authenticator().authenticate(await issuer.token());
  assert.equal(principal.name, 'robot');
  assert.deepEqual(principal.roles, ['authenticated']);
});

test('permissions: a mapping names the roles; other values of the claim give none', async () => {
  const roleMapping = { reader: ['persons-view'], constructor: ['super-role'] };
  const jwt = authenticator({ claims: { roles: 'realm.roles' }, roleMapping, userPrefix: 'oidc:' });
  const principal = await jwt.authenticate(await issuer.token());
  assert.equal(principal.name, 'oidc:robot');
  assert.deepEqual(principal.roles, ['persons-view', 'authenticated']);
});

test('permissions: a token for another audience is refused', async () => {
  await refused(authenticator().authenticate(await issuer.token('urn:another')), /claim "aud"/);
});

test('permissions: an expired token is refused, within the clock skew it is not', async () => {
  const exp = Math.floor(Date.now() / 1000) - 10;
  await refused(authenticator({ clockSkew: 0 }).authenticate(await signed({ exp })), /expired/);
  assert.equal((await authenticator({ clockSkew: 30_000 }).authenticate(await signed({ exp }))).name, 'ada');
  await refused(authenticator({ clockSkew: 5_000 }).authenticate(await signed({ exp })), /expired/);
  const nbf = Math.floor(Date.now() / 1000) + 20;
  await refused(authenticator({ clockSkew: 5_000 }).authenticate(await signed({ nbf })), /claim "nbf"/);
});

test('permissions: a verified token is not accepted after its expiry', async () => {
  let now = Date.now();
  const jwt = authenticator({ clockSkew: 0 }, () => now);
  const token = await signed({ exp: Math.floor(now / 1000) + 20 });
  assert.equal((await jwt.authenticate(token)).name, 'ada');
  now += 30_000;
  await refused(jwt.authenticate(token), /expired/);
});

test('permissions: a token without expiry, with a bad signature, with another algorithm or none is refused', async () => {
  const jwt = authenticator();
  await refused(jwt.authenticate(await signed({ exp: undefined })), /claim "exp"/);
  const good = await signed({});
  await refused(jwt.authenticate(`${good.slice(0, -6)}AAAAAA`), /signature/);
  const stranger = await newKey('first');
  await refused(jwt.authenticate(await signed({}, stranger)), /signature/);
  const [, payload] = good.split('.');
  const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
  await refused(jwt.authenticate(none), /signature/);
  const secret = { kty: 'oct', kid: 'first', k: Buffer.from(JSON.stringify(firstKey)).toString('base64url') };
  await refused(jwt.authenticate(await signed({}, secret, 'HS256')), /signature/);
});

test('permissions: no token can carry a name of the service itself, or none', async () => {
  const jwt = authenticator();
  for (const sub of ['system', 'system:anonymous', 'system:plugin:atlas']) {
    await refused(jwt.authenticate(await signed({ sub })), /belongs to the service/);
  }
  await refused(jwt.authenticate(await signed({ sub: 7 })), /no name/);
  await refused(authenticator({ claims: { user: 'nobody' } }).authenticate(await signed({})), /no name/);
});

const emails: readonly { name: string; claims: object; options?: object; refused?: RegExp }[] = [
  { name: 'one that the issuer has verified', claims: { email: 'a@corp', email_verified: true } },
  {
    name: 'one that it has not',
    claims: { email: 'ceo@corp', email_verified: false },
    refused: /"email_verified" is not true/,
  },
  { name: 'one of which it says nothing', claims: { email: 'ceo@corp' }, refused: /"email_verified" is not true/ },
  { name: 'a text instead of true', claims: { email: 'ceo@corp', email_verified: 'true' }, refused: /is not true/ },
  {
    name: 'one that is not, where the option says so',
    claims: { email: 'a@corp', email_verified: false },
    options: { requireVerifiedEmail: false },
  },
  {
    name: 'a nested one, verified beside it',
    claims: { profile: { email: 'a@corp', email_verified: true } },
    options: { claims: { user: 'profile.email' } },
  },
  {
    name: 'a nested one, verified elsewhere',
    claims: { profile: { email: 'a@corp' }, email_verified: true },
    options: { claims: { user: 'profile.email' } },
    refused: /"profile.email_verified" is not true/,
  },
  {
    name: 'another claim as the name',
    claims: { upn: 'a@corp', email_verified: false },
    options: { claims: { user: 'upn' } },
  },
];
for (const one of emails) {
  test(`permissions: an e-mail address as the name of a user: ${one.name} is ${one.refused ? 'refused' : 'accepted'}`, async () => {
    const jwt = authenticator({ claims: { user: 'email' }, ...one.options });
    const answer = Promise.resolve(jwt.authenticate(await signed({ ...one.claims })));
    if (one.refused) await refused(answer, one.refused);
    else assert.equal((await answer).name, 'a@corp');
  });
}

test('permissions: a token for another purpose, which its type tells, is refused', async () => {
  const of = async (typ: unknown) => authenticator().authenticate(await signed({}, firstKey, 'ES256', { typ }));
  for (const typ of ['JWT', 'jwt', 'at+jwt', 'application/at+jwt']) assert.equal((await of(typ)).name, 'ada', typ);
  for (const typ of ['logout+jwt', 'application/logout+jwt', 'secevent+jwt', 'dpop+jwt', 'JOSE', '']) {
    await refused(of(typ), /type .* is not for access/);
  }
});

test('permissions: a token does not name a User of this service, unless a prefix keeps them apart or an option allows it', async () => {
  const local = new Set(['admin', 'oidc:ada']);
  const has = (name: string) => local.has(name);
  const token = await signed({ sub: 'admin' });
  await refused(authenticator({}, Date.now, has).authenticate(token), /"admin" belongs to a User/);
  const prefixed = authenticator({ userPrefix: 'oidc:' }, Date.now, has);
  assert.equal((await prefixed.authenticate(token)).name, 'oidc:admin');
  assert.equal((await prefixed.authenticate(await signed({}))).name, 'oidc:ada');
  assert.equal((await authenticator({ localUsers: true }, Date.now, has).authenticate(token)).name, 'admin');
});

test('permissions: a token that was verified a moment ago is refused once its name belongs to a User', async () => {
  const local = new Set<string>();
  const jwt = authenticator({}, Date.now, (name) => local.has(name));
  const token = await signed({});
  assert.equal((await jwt.authenticate(token)).name, 'ada');
  local.add('ada');
  await refused(
    Promise.try(() => jwt.authenticate(token)),
    /belongs to a User/,
  );
  local.delete('ada');
  assert.equal((await jwt.authenticate(token)).name, 'ada');
});

/** Ways to have a token checked with a key of one's own. */
const ownKeys: readonly { name: string; header: (key: JWK) => object }[] = [
  { name: 'jwk', header: ({ d: _secret, ...jwk }) => ({ jwk }) },
  { name: 'jku', header: () => ({ jku: `${issuer.url}/own-keys` }) },
  { name: 'x5u', header: () => ({ x5u: `${issuer.url}/own-certificate` }) },
  { name: 'x5c', header: () => ({ x5c: ['MIIB'] }) },
];
for (const { name, header } of ownKeys) {
  test(`permissions: a key that the token itself brings in "${name}" is not believed, nor fetched`, async () => {
    const own = await newKey('first');
    const jwt = authenticator();
    await jwt.authenticate(await signed({}));
    const before = issuer.requests;
    await refused(jwt.authenticate(await signed({}, own, 'ES256', header(own))), /signature/);
    assert.equal(issuer.requests, before);
  });
}

test('permissions: a header that must be understood and is not ("crit") makes a token worthless', async () => {
  const [, payload] = (await signed({})).split('.');
  const head = { alg: 'ES256', kid: 'first', crit: ['exp2'], exp2: 1 };
  const text = `${Buffer.from(JSON.stringify(head)).toString('base64url')}.${payload}.${'A'.repeat(86)}`;
  await refused(authenticator().authenticate(text), /signature/);
});

test('permissions: tokens with keys that nobody knows cause no more than one fetch in the cooldown', async () => {
  const jwt = authenticator({ keysCooldown: 60_000 });
  await jwt.authenticate(await signed({}));
  const before = issuer.requests;
  const stranger = await newKey('x');
  for (let i = 0; i < 50; i++) {
    await refused(jwt.authenticate(await signed({}, { ...stranger, kid: `unknown-${i}` })), /signature/);
  }
  assert.equal(issuer.requests, before);
});

test('permissions: only tokens of the issuers that are named are looked at; nothing is fetched for others', async () => {
  const jwt = authenticator();
  const before = issuer.requests;
  assert.equal(jwt.accepts(await signed({ iss: 'http://127.0.0.1:1/evil' })), false);
  assert.equal(jwt.accepts('a.b.c'), false);
  assert.equal(jwt.accepts('knd_abc'), false);
  assert.equal(issuer.requests, before);
});

test('permissions: keys are fetched once and kept; the cache holds a token for a minute', async () => {
  const jwt = authenticator();
  await jwt.authenticate(await signed({ sub: 'one' }));
  const before = issuer.requests;
  for (let i = 0; i < 20; i++) await jwt.authenticate(await signed({ sub: `user-${i}` }));
  const token = await signed({});
  await jwt.authenticate(token);
  assert.equal(issuer.requests, before);
  assert.ok(!(jwt.authenticate(token) instanceof Promise), 'known already');
});

test('permissions: after the issuer has rotated its keys, new tokens are accepted and those of a withdrawn key are not', async () => {
  let now = Date.now();
  const jwt = authenticator({ keysMaxAge: 1 }, () => now);
  const old = await issuer.token();
  assert.equal((await jwt.authenticate(old)).name, 'robot');
  const second = await newKey('second');
  await issuer.stop();
  await issuer.start([second, firstKey]);
  assert.equal((await jwt.authenticate(await issuer.token())).name, 'robot', 'new key, known by nobody yet');
  assert.equal((await jwt.authenticate(await signed({}))).name, 'ada', 'the old key is still published');
  await issuer.stop();
  await issuer.start([second]);
  now += 61_000;
  await refused(jwt.authenticate(old), /signature/);
  await issuer.stop();
  await issuer.start([firstKey]);
});

test('permissions: while the issuer is away its tokens are answered 503 with Retry-After, and again accepted when it is back', async () => {
  const token = await issuer.token();
  let now = Date.now();
  const jwt = authenticator({ keysCooldown: 1_000, timeout: 500 }, () => now);
  await issuer.stop();
  for (let i = 0; i < 2; i++) {
    await assert.rejects(Promise.resolve(jwt.authenticate(token)), (error: unknown) => {
      assert.ok(error instanceof KindredError);
      assert.equal(error.code, 'NotReady');
      assert.ok(error.headers?.['Retry-After']);
      return true;
    });
  }
  await issuer.start([firstKey]);
  now += 1_001;
  assert.equal((await jwt.authenticate(token)).name, 'robot');
});

test('permissions: an issuer without audience, or over plain http from afar, is refused at once', () => {
  assert.throws(
    () => new JwtAuthenticator([{ url: 'https://a.example', audience: [] }], Date.now, () => false),
    /needs an audience/,
  );
  assert.throws(
    () => new JwtAuthenticator([{ url: 'http://a.example', audience: 'x' }], Date.now, () => false),
    /https/,
  );
});

const core = '/api/v1alpha1';
const throughIssuer = (more: object = {}) =>
  live({ auth: { issuers: [{ url: issuer.url, ...options, claims: { roles: 'roles' }, ...more }] } });

test('permissions: a token that is made with a JWT ends within 30 days, or within what the option says', async () => {
  await using world = await throughIssuer();
  const send = world.as(await signed({ roles: ['personalaccesstokens-manage'] }));
  const make = (sender: typeof send, expiresAt?: number) =>
    sender('POST', `${core}/personalaccesstokens`, {
      metadata: { generateName: 't-' },
      spec: { user: 'ada', ...(expiresAt && { expiresAt: new Date(expiresAt).toISOString() }) },
    });
  const day = 24 * 3_600_000;
  assert.match((await expect(403, make(send))).body.detail, /created with a JWT must expire/);
  await expect(403, make(send, Date.now() + 31 * day));
  const made = await expect(201, make(send, Date.now() + 30 * day));
  const token = world.as(made.body.status.token);
  assert.equal((await expect(200, token('GET', '/apis'))).status, 200);
  await using free = await throughIssuer({ tokenMaxAge: false });
  await expect(201, make(free.as(await signed({ roles: ['personalaccesstokens-manage'] }))));
});

test('permissions: who is known by a JWT may do nothing under a name from the moment a User has it', async () => {
  await using world = await throughIssuer();
  const token = await signed({ roles: ['users-view'] });
  const response = await fetch(`${world.url}${core}/users?watch=true`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(response.status, 200);
  await expect(201, world.admin('POST', `${core}/users`, { metadata: { name: 'ada' } }));
  let told: string | undefined;
  void response.text().then((text) => {
    told = text;
  });
  await until(() => told !== undefined, 'the stream ends');
  assert.equal(JSON.parse(told!.trim().split('\n').at(-1)!).error.code, 'Forbidden');
  const refusal = await expect(401, world.as(token)('GET', `${core}/users`));
  assert.match(refusal.body.detail, /belongs to a User of this service/);
});
