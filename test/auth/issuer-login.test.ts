/** Signing in at an OpenID Connect issuer: the flow, what it gives, and the attacks on it. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import type { IssuerOptions } from '../../src/auth/authentication/jwt.ts';
import type { RateLimitOptions } from '../../src/auth/authentication/rate-limit.ts';
import type { ServiceOptions } from '../../src/options.ts';
import type { IssuerSettings } from './issuer.ts';
import { clientId, clientSecret, LoginIssuer } from './issuer.ts';
import type { Live } from './live.ts';
import { live, sender } from './live.ts';

const claims = { user: 'email', roles: 'groups' };

interface Opened extends Live {
  readonly issuer: LoginIssuer;
}

async function opened(
  use: (at: Opened) => Promise<void>,
  {
    issuer: more = {},
    settings = {},
    options = {},
    rateLimit = {},
  }: { issuer?: object; settings?: IssuerSettings; options?: ServiceOptions; rateLimit?: RateLimitOptions } = {},
): Promise<void> {
  let url = '';
  await using issuer = await LoginIssuer.start(() => url, settings);
  const login = { clientId, clientSecret, displayName: 'Example' };
  const issuers: IssuerOptions[] = [{ url: issuer.url, audience: 'urn:kindred', claims, login, ...more }];
  await using at = await live({ auth: { issuers, rateLimit }, ...options });
  url = at.url;
  await use({ ...at, issuer, [Symbol.asyncDispose]: at[Symbol.asyncDispose] });
}

/** A browser: it keeps cookies of each origin, and follows redirects until a page of the console. */
class Browser {
  readonly cookies = new Map<string, Map<string, string>>();
  /** Every cookie as it was set. */
  readonly set: string[] = [];
  readonly visited: string[] = [];

  async visit(address: string, headers: Record<string, string> = {}): Promise<Response> {
    const url = new URL(address);
    this.visited.push(address);
    const jar = this.cookies.get(url.origin) ?? new Map<string, string>();
    this.cookies.set(url.origin, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { ...headers, ...(cookie && { cookie }) } });
    for (const line of response.headers.getSetCookie()) {
      this.set.push(line);
      const [name, value] = line.split(';', 1)[0]!.split(/=(.*)/s) as [string, string];
      if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }

  /** @returns where it ends, and the address of the issuer's answer */
  async follow(address: string): Promise<URL> {
    for (let next = address; ; ) {
      const response = await this.visit(next);
      const location = response.headers.get('location');
      await response.arrayBuffer();
      if (location === null) throw new Error(`${next} answered ${response.status}`);
      next = new URL(location, next).href;
      if (new URL(next).pathname.startsWith('/console/')) return new URL(next);
    }
  }

  session(url: string) {
    const value = this.cookies.get(url)?.get('kindred-session');
    const send = sender(url, undefined);
    return (path: string) =>
      send('GET', path, undefined, value === undefined ? {} : { cookie: `kindred-session=${value}` });
  }
}

async function entrance({ anonymous, url }: Live, to?: string): Promise<string> {
  const { body } = await anonymous('GET', '/v3/session');
  const [issuer] = body.signIn.issuers;
  return `${url}${issuer.url}${to === undefined ? '' : `&return=${encodeURIComponent(to)}`}`;
}

async function audited({ admin }: Live): Promise<any[]> {
  const { body } = await admin('GET', '/v3/audit?type=/v3/session');
  return body.entries;
}

const silent = { logger: pino({ level: 'silent' }) };

describe('signing in at an issuer', () => {
  test('a person comes back with a session, at the path that was asked for, with the roles of the claims', async () => {
    await opened(
      async (at) => {
        at.issuer.person = { sub: 'a-1', email: 'ada@example.com', email_verified: true, groups: ['staff', 'other'] };
        const { body } = await at.anonymous('GET', '/v3/session');
        assert.deepEqual(
          body.signIn.issuers.map(({ name, displayName }: any) => ({ name, displayName })),
          [{ name: at.issuer.url, displayName: 'Example' }],
        );
        const browser = new Browser();
        const end = await browser.follow(await entrance(at, '/objects/users?size=20'));
        assert.equal(end.pathname + end.search, '/console/objects/users?size=20');
        const session = browser.session(at.url);
        const { identity } = (await session('/v3/session')).body;
        assert.equal(identity.name, 'sso:ada@example.com');
        assert.deepEqual(identity.roles.toSorted(), ['authenticated', 'view']);
        const hours = (Date.parse(identity.expiresAt) - Date.now()) / 3_600_000;
        assert.ok(hours > 11.9 && hours <= 12, `${hours} h`);
        assert.match(browser.set.at(-2)!, /^kindred-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43/);
        assert.match(browser.set.at(-1)!, /^kindred-login=; .*Max-Age=0$/);
        assert.match(browser.set[0]!, /^kindred-login=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/);
        // No token and no secret was in an address of the browser.
        const everything = browser.visited.join('\n');
        assert.ok(!/id_token=|access_token=|client_secret/.test(everything));
        const sent = new URL(browser.visited.find((one) => one.startsWith(`${at.issuer.url}/auth`))!).searchParams;
        assert.equal(sent.get('code_challenge_method'), 'S256');
        assert.ok(sent.get('state') && sent.get('nonce') && sent.get('code_challenge'));
        assert.ok(
          !everything.includes(
            JSON.parse(Buffer.from(browser.set[0]!.slice(14).split(';')[0]!, 'base64url').toString()).verifier,
          ),
        );
        const [entry] = await audited(at);
        assert.deepEqual([entry.identity, entry.verb, entry.outcome], ['sso:ada@example.com', 'post', 'done']);
      },
      { issuer: { userPrefix: 'sso:', roleMapping: { staff: ['view'] } } },
    );
  });

  test('claims in the ID token spare the question for more; a public client needs no secret', async () => {
    await opened(
      async (at) => {
        at.issuer.person = { sub: 'a-1', email: 'ada@example.com', email_verified: true, groups: [] };
        const browser = new Browser();
        assert.equal((await browser.follow(await entrance(at))).pathname, '/console/');
        assert.equal((await browser.session(at.url)('/v3/session')).body.identity.name, 'ada@example.com');
        assert.ok(!at.issuer.requests.some((one) => one.endsWith('/me')));
      },
      {
        issuer: { login: { clientId } },
        settings: { longIdTokens: true, client: { token_endpoint_auth_method: 'none', client_secret: undefined } },
      },
    );
  });

  test('a session of an issuer is listed, revoked, and signed out of like any other', async () => {
    await opened(async (at) => {
      const browser = new Browser();
      await browser.follow(await entrance(at));
      const session = browser.session(at.url);
      const tokens = '/api/v1alpha1/personalaccesstokens';
      const { body } = await at.admin('GET', `${tokens}?fieldSelector=spec.user=ada@example.com`);
      assert.equal(body.total, 1);
      assert.equal((await at.admin('DELETE', `${tokens}/${body.items[0].metadata.name}`)).status, 200);
      assert.equal((await session('/v3/session')).body.identity, undefined);
      assert.equal((await session('/api/v1alpha1/users')).status, 401);
    });
  });

  for (const [to, end] of [
    ['//evil.example', '/console/'],
    ['https://evil.example/', '/console/'],
    ['/../swagger-ui.html', '/console/'],
    ['/\\evil.example', '/console//evil.example'],
    [`/objects/users?x=${'y'.repeat(3_000)}`, '/console/'],
  ] as const) {
    test(`after signing in, nobody is led out of the console: ${to.slice(0, 40)}`, async () => {
      await opened(async (at) => {
        const found = await new Browser().follow(await entrance(at, to));
        assert.equal(found.origin, at.url);
        assert.ok(found.pathname.startsWith('/console/'), found.href);
        if (end === '/console/') assert.equal(found.pathname.replace('//evil.example', '/'), end);
      });
    });
  }
});

describe('nobody is signed in', () => {
  const refusals: readonly [what: string, reason: string, setUp: (at: Opened) => unknown, issuer?: object][] = [
    ['when the person cancels', 'denied', ({ issuer }) => (issuer.person = undefined)],
    [
      'when the address is not verified',
      'refused',
      ({ issuer }) => (issuer.person = { sub: 'a', email: 'ada@example.com', email_verified: false }),
    ],
    ['when the claim of the name is missing', 'refused', ({ issuer }) => (issuer.person = { sub: 'a' })],
    [
      'when the name is that of a local user',
      'refused',
      async ({ issuer }) => (issuer.person = { sub: 'admin' }),
      { claims: { user: 'sub' } },
    ],
    ['when the secret is wrong', 'refused', () => undefined, { login: { clientId, clientSecret: 'another' } }],
  ];
  for (const [what, reason, setUp, issuer = {}] of refusals) {
    test(`${what}; the page, the log of attempts and the cookie say so`, async () => {
      await opened(
        async (at) => {
          await setUp(at);
          const browser = new Browser();
          const end = await browser.follow(await entrance(at, '/models'));
          assert.equal(end.pathname, '/console/sign-in');
          assert.equal(end.searchParams.get('refused'), reason);
          assert.equal(end.searchParams.get('return'), '/models');
          assert.ok(!browser.cookies.get(at.url)!.has('kindred-session'));
          assert.ok(!browser.cookies.get(at.url)!.has('kindred-login'));
          const [entry] = await audited(at);
          assert.equal(entry.outcome, 'refused');
          assert.equal(entry.requestId, end.searchParams.get('request'));
        },
        { issuer, options: silent },
      );
    });
  }

  /** Stops before the browser comes back. */
  async function onTheWay(at: Opened): Promise<{ browser: Browser; back: URL }> {
    const browser = new Browser();
    for (let next = await entrance(at); ; ) {
      const response = await browser.visit(next);
      next = new URL(response.headers.get('location')!, next).href;
      if (next.startsWith(`${at.url}/v3/session/callback`)) return { browser, back: new URL(next) };
    }
  }
  const refusalAt = async (browser: Browser, back: URL) =>
    (await browser.follow(back.href)).searchParams.get('refused');

  test('in a browser that did not begin: the answer of an attacker signs nobody in', async () => {
    await opened(
      async (at) => {
        const { back } = await onTheWay(at);
        assert.equal(await refusalAt(new Browser(), back), 'outdated');
      },
      { options: silent },
    );
  });

  test('with another state, without one, or with the code of another attempt', async () => {
    await opened(
      async (at) => {
        const { browser, back } = await onTheWay(at);
        const forged = new URL(back);
        forged.searchParams.set('state', 'forged');
        assert.equal(await refusalAt(browser, forged), 'refused');
        const [one, other] = [await onTheWay(at), await onTheWay(at)];
        const mixed = new URL(one.back);
        mixed.searchParams.set('code', other.back.searchParams.get('code')!);
        assert.equal(await refusalAt(one.browser, mixed), 'refused');
        other.back.searchParams.delete('state');
        assert.equal(await refusalAt(other.browser, other.back), 'refused');
      },
      { options: silent },
    );
  });

  test('twice with the same answer of the issuer', async () => {
    await opened(
      async (at) => {
        const { browser, back } = await onTheWay(at);
        const cookie = browser.cookies.get(at.url)!.get('kindred-login')!;
        assert.equal((await browser.follow(back.href)).pathname, '/console/');
        const again = new Browser();
        again.cookies.set(at.url, new Map([['kindred-login', cookie]]));
        assert.equal(await refusalAt(again, back), 'refused');
        assert.ok(!again.cookies.get(at.url)!.has('kindred-session'));
      },
      { options: silent },
    );
  });

  test('with a cookie that this service did not write', async () => {
    await opened(
      async (at) => {
        const { back } = await onTheWay(at);
        for (const planted of [
          'x',
          Buffer.from('null').toString('base64url'),
          Buffer.from('{}').toString('base64url'),
        ]) {
          const browser = new Browser();
          browser.cookies.set(at.url, new Map([['kindred-login', planted]]));
          assert.notEqual(await refusalAt(browser, back), null);
          assert.ok(!browser.cookies.get(at.url)!.has('kindred-session'));
        }
      },
      { options: silent },
    );
  });

  test('at an issuer that does not answer, or that nobody configured', async () => {
    await opened(
      async (at) => {
        const address = await entrance(at);
        await at.issuer[Symbol.asyncDispose]();
        const end = await new Browser().follow(address);
        assert.equal(end.searchParams.get('refused'), 'unreachable');
        const other = await at.anonymous('GET', '/v3/session/login?issuer=https%3A%2F%2Fevil.example');
        assert.equal(other.status, 422);
        assert.deepEqual(
          other.body.errors.map(({ pointer }: any) => pointer),
          ['/issuer'],
        );
      },
      { options: silent },
    );
  });

  test('over plain http on another machine', async () => {
    await opened(async (at) => {
      const address = await entrance(at);
      const statusAt = (host: string) =>
        new Promise<number | undefined>((resolve, reject) => {
          const sent = request(address, { headers: { host } }, (answer) => {
            answer.resume();
            resolve(answer.statusCode);
          });
          sent.on('error', reject).end();
        });
      assert.equal(await statusAt('kindred.example.com'), 403);
      assert.equal(await statusAt('localhost:8090'), 303);
    });
  });

  test('above the limit of attempts', async () => {
    await opened(
      async (at) => {
        const attempt = async (headers = {}) =>
          (await fetch(`${at.url}/v3/session/callback?code=x`, { redirect: 'manual', headers })).status;
        // To which any page can send its visitors.
        for (let i = 0; i < 5; i++) assert.equal(await attempt(), 303);
        const begun = { cookie: `kindred-login=${Buffer.from('{}').toString('base64url')}` };
        const statuses = [await attempt(begun), await attempt(begun), await attempt(begun)];
        assert.deepEqual(statuses, [303, 303, 429]);
      },
      { options: silent, rateLimit: { signIn: { perSecond: 0.001, burst: 2 } } },
    );
  });
});

test('the options say at which issuers people sign in, and hide the secret', async () => {
  await opened(async (at) => {
    const { text, body } = await at.admin('GET', '/v3/options');
    assert.ok(!text.includes(clientSecret));
    const auth = body.options.find(({ name }: any) => name === 'auth');
    assert.deepEqual(auth.value.issuers[0].login, { clientId, clientSecret: '(hidden)', displayName: 'Example' });
  });
});
