/** Sessions of browsers: signing in and out, what a session may do and when it ends, and the attacks on it. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { describe, test } from 'node:test';
import type { ServiceOptions } from '../../src/options.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import type { Answer, Live } from './live.ts';
import { expect, live, sender } from './live.ts';

const path = '/v3/session';
const users = '/api/v1alpha1/users';
const tokens = '/api/v1alpha1/personalaccesstokens';
const console1 = { 'kindred-console': '1' };

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kindred-session-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

/** Name and value of the cookie that an answer sets. */
function cookieOf({ headers }: Answer): { cookie: string; attributes: string } {
  const [cookie = '', ...attributes] = (headers.get('set-cookie') ?? '').split('; ');
  return { cookie, attributes: attributes.join('; ') };
}

/** Signs in and gives back what sends requests as that browser. */
async function browser(at: Live, shown: object) {
  const begun = await expect(201, at.anonymous('POST', path, shown));
  const { cookie } = cookieOf(begun);
  const get = (to: string, headers: Record<string, string> = {}) =>
    at.anonymous('GET', to, undefined, { cookie, ...headers });
  const send = (method: string, to: string, body?: unknown, headers: Record<string, string> = {}) =>
    at.anonymous(method, to, body, { cookie, ...console1, ...headers });
  return { begun, cookie, get, send };
}

describe('signing in', () => {
  test('a token makes a session; the answer says who it is', async () => {
    await using at = await live();
    const { begun, get, send } = await browser(at, { token: at.token });
    assert.equal(begun.headers.get('cache-control'), 'no-store');
    assert.deepEqual(begun.body.signIn, { token: true, issuers: [] });
    assert.equal(begun.body.authentication, true);
    assert.equal(begun.body.identity.name, 'admin');
    assert.equal(begun.body.identity.kind, 'User');
    assert.deepEqual(begun.body.identity.roles.toSorted(), ['authenticated', 'super-role']);
    const { cookie, attributes } = cookieOf(begun);
    assert.match(cookie, /^kindred-session=[A-Za-z0-9_-]{43}$/);
    assert.match(attributes, /^Path=\/; HttpOnly; SameSite=Strict; Max-Age=(43200|43199)$/);
    assert.deepEqual((await get(path)).body, begun.body);
    assert.equal((await get(users)).status, 200);
    assert.equal((await send('POST', users, { metadata: { name: 'ada' } })).status, 201);
  });

  test('every caller may ask who they are, also without credentials', async () => {
    await using at = await live();
    const nobody = { authentication: true, signIn: { token: true, issuers: [] } };
    assert.deepEqual((await at.anonymous('GET', path)).body, nobody);
    assert.deepEqual((await at.anonymous('GET', path, undefined, { cookie: 'kindred-session=x' })).body, nobody);
    assert.equal((await at.admin('GET', path)).body.identity.name, 'admin');
  });

  test('without authentication there is nothing to sign in to', async () => {
    await using at = await live({ auth: false });
    const { status, body } = await at.anonymous('GET', path);
    assert.equal(status, 200);
    assert.equal(body.authentication, false);
    assert.deepEqual(body.identity.roles, ['super-role']);
    assert.deepEqual(body.signIn, { token: false, issuers: [] });
    assert.equal((await at.anonymous('POST', path, { token: 'x' })).body.code, 'BadRequest');
    assert.equal((await at.anonymous('POST', '/v3/session/codes')).body.code, 'BadRequest');
    assert.equal((await at.anonymous('DELETE', path)).status, 204);
  });

  for (const [title, body, status] of [
    ['a token that nobody has', { token: 'knd_0000000000000000000000000000000000000000000' }, 401],
    ['no token at all', { token: '' }, 401],
    ['a header in the token', { token: 'x\r\nx-a: b' }, 401],
    ['a code that nobody has', { code: 'AAAAAAAAAAAAAAAAAAAAAA' }, 401],
    ['both', { token: 'a', code: 'b' }, 422],
    ['neither', {}, 422],
    ['a number', { token: 1 }, 422],
    ['another member', { user: 'admin' }, 422],
    ['a list', ['a'], 422],
  ] as const) {
    test(`${title} is refused, and no cookie is set`, async () => {
      await using at = await live();
      const answer = await at.anonymous('POST', path, body);
      assert.equal(answer.status, status, answer.text);
      assert.equal(answer.headers.get('set-cookie'), null);
      if (status === 401) assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/);
    });
  }

  test('only JSON is taken: no form of another site can send that', async () => {
    await using at = await live();
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      const answer = await at.anonymous('POST', path, JSON.stringify({ token: at.token }), { 'content-type': type });
      assert.equal(answer.status, 415);
    }
  });

  test('a page of another site cannot sign anybody in', async () => {
    await using at = await live();
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example.com' },
      { origin: 'null' },
    ] as Record<string, string>[]) {
      const answer = await at.anonymous('POST', path, { token: at.token }, headers);
      assert.equal(answer.status, 403, JSON.stringify(headers));
      assert.equal(answer.headers.get('set-cookie'), null);
    }
    for (const headers of [{ 'sec-fetch-site': 'same-origin' }, { origin: at.url }] as Record<string, string>[]) {
      assert.equal((await at.anonymous('POST', path, { token: at.token }, headers)).status, 201);
    }
  });

  test('signing in again ends the session before', async () => {
    await using at = await live();
    const first = await browser(at, { token: at.token });
    assert.equal((await first.send('POST', path, { token: at.token })).status, 201);
    assert.equal((await first.get(users)).status, 401);
  });

  test('failed attempts of one address are limited, and wait for a while', async () => {
    const timers = new FakeClock();
    await using at = await live({ timers, auth: { rateLimit: { signIn: { perSecond: 0.001, burst: 3 } } } });
    const wrong = () => at.anonymous('POST', path, { code: 'AAAAAAAAAAAAAAAAAAAAAA' });
    for (let i = 0; i < 10; i++) assert.equal((await browser(at, { token: at.token })).begun.status, 201);
    for (let i = 0; i < 3; i++) assert.equal((await wrong()).status, 401);
    const refused = await wrong();
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assert.equal((await at.anonymous('POST', path, { token: at.token })).status, 429);
  });
});

describe('what a session may do', () => {
  test('a read needs no header; a change needs the header of the console', async () => {
    await using at = await live();
    const { get, cookie } = await browser(at, { token: at.token });
    assert.equal((await get(users, { 'sec-fetch-site': 'none' })).status, 200);
    assert.equal((await get(users, { 'sec-fetch-site': 'same-origin' })).status, 200);
    const forged = { metadata: { name: 'forged' } };
    for (const headers of [{}, { 'kindred-console': '0' }, { origin: at.url }] as Record<string, string>[]) {
      const answer = await at.anonymous('POST', users, forged, { cookie, ...headers });
      assert.equal(answer.status, 403, JSON.stringify(headers));
    }
    assert.equal((await at.anonymous('DELETE', `${users}/admin`, undefined, { cookie })).status, 403);
    assert.equal((await at.admin('GET', `${users}/forged`)).status, 404);
  });

  test('a request that another site leads to does not count, whatever it sends', async () => {
    await using at = await live();
    const { get, send } = await browser(at, { token: at.token });
    for (const site of ['cross-site', 'same-site']) {
      assert.equal((await get(users, { 'sec-fetch-site': site })).status, 403);
      assert.equal(
        (await send('POST', users, { metadata: { name: 'forged' } }, { 'sec-fetch-site': site })).status,
        403,
      );
    }
    const none = await send('POST', users, { metadata: { name: 'forged' } }, { 'sec-fetch-site': 'none' });
    assert.equal(none.status, 403);
    assert.equal((await send('DELETE', path, undefined, { 'sec-fetch-site': 'cross-site' })).status, 403);
    assert.equal((await get(users)).status, 200);
  });

  test('CORS grants neither the cookie nor the header of the console', async () => {
    await using at = await live({ cors: ['https://friend.example.com'] });
    const { headers } = await at.anonymous('OPTIONS', users, undefined, {
      origin: 'https://friend.example.com',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'kindred-console',
    });
    assert.equal(headers.get('access-control-allow-origin'), 'https://friend.example.com');
    assert.equal(headers.get('access-control-allow-credentials'), null);
    assert.doesNotMatch(headers.get('access-control-allow-headers') ?? '', /kindred-console/i);
    const signIn = await at.anonymous('POST', path, { token: at.token }, { origin: 'https://friend.example.com' });
    assert.equal(signIn.status, 403);
  });

  test('an Authorization header wins over the cookie, also one that does not hold', async () => {
    await using at = await live();
    const { get } = await browser(at, { token: at.token });
    const ada = await at.person('ada', []);
    assert.equal((await get(path, { authorization: `Bearer ${ada.token}` })).body.identity.name, 'ada');
    assert.equal((await get(users, { authorization: `Bearer ${ada.token}` })).status, 403);
    assert.equal((await get(users, { authorization: 'Bearer nothing' })).status, 401);
  });

  test('a session is no bearer token, a token is no session, and a code is neither', async () => {
    await using at = await live();
    const { cookie } = await browser(at, { token: at.token });
    const secret = cookie.split('=')[1]!;
    const { code } = (await expect(201, at.admin('POST', '/v3/session/codes'))).body;
    for (const bearer of [secret, code, `knd_${secret}`]) assert.equal((await at.as(bearer)('GET', users)).status, 401);
    for (const value of [at.token!, code]) {
      const answer = await at.anonymous('GET', users, undefined, { cookie: `kindred-session=${value}` });
      assert.equal(answer.status, 401);
    }
    for (const shown of [{ token: secret }, { token: code }, { code: secret }, { code: at.token }]) {
      assert.equal((await at.anonymous('POST', path, shown)).status, 401);
    }
  });

  test('a cookie that stands there twice, or under another name, is none', async () => {
    await using at = await live();
    const { cookie } = await browser(at, { token: at.token });
    for (const both of [
      `${cookie}; ${cookie}`,
      `kindred-session=planted; ${cookie}`,
      cookie.replace('kindred-session', '__Host-kindred'),
    ]) {
      assert.equal((await at.anonymous('GET', users, undefined, { cookie: both })).status, 401);
    }
    assert.equal((await at.anonymous('GET', users, undefined, { cookie: `a=b; ${cookie}; c=d` })).status, 200);
  });

  test('it has the roles of its token, follows them, and makes tokens as long as its token is valid', async () => {
    await using at = await live();
    await at.admin('POST', '/api/v1alpha1/roles', {
      metadata: { name: 'reader' },
      rules: [{ apiGroups: [''], resources: ['users'], verbs: ['list'] }],
    });
    const ada = await at.person('ada', ['super-role'], { roles: ['reader'] });
    const scoped = await browser(at, { token: ada.token });
    assert.equal((await scoped.get(users)).status, 200);
    assert.equal((await scoped.send('POST', users, { metadata: { name: 'x' } })).status, 403);
    const stored = (await at.admin('GET', `${tokens}?fieldSelector=spec.user=ada`)).body.items;
    const own = stored.find((one: any) => !one.metadata.labels);
    await expect(
      200,
      at.admin(
        'PATCH',
        `${tokens}/${own.metadata.name}`,
        { spec: { roles: [] } },
        { 'content-type': 'application/merge-patch+json' },
      ),
    );
    assert.equal((await scoped.send('POST', users, { metadata: { name: 'x' } })).status, 201);
    const bindings = (await at.admin('GET', '/api/v1alpha1/rolebindings?fieldSelector=subjects.name=ada')).body.items;
    await expect(200, at.admin('DELETE', `/api/v1alpha1/rolebindings/${bindings[0].metadata.name}`));
    assert.equal((await scoped.get(users)).status, 403);
    const admin = await browser(at, { token: at.token });
    assert.equal(
      (await admin.send('POST', tokens, { metadata: { name: 'endless' }, spec: { user: 'admin' } })).status,
      201,
    );
  });

  test('a token with an end gives a session, and tokens of that session, no longer life', async () => {
    await using at = await live();
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const eve = await at.person('eve', ['super-role'], { expiresAt });
    const { begun, send } = await browser(at, { token: eve.token });
    assert.equal(begun.body.identity.expiresAt, expiresAt);
    assert.match(cookieOf(begun).attributes, /Max-Age=3(600|59\d)$/);
    const later = new Date(Date.now() + 7_200_000).toISOString();
    const refused = await send('POST', tokens, {
      metadata: { name: 'later' },
      spec: { user: 'eve', expiresAt: later },
    });
    assert.equal(refused.status, 403);
  });
});

describe('the end of a session', () => {
  test('signing out ends it at once, and the cookie goes', async () => {
    await using at = await live();
    const { get, send } = await browser(at, { token: at.token });
    assert.equal((await at.anonymous('DELETE', path)).status, 204);
    const out = await send('DELETE', path);
    assert.equal(out.status, 204);
    assert.match(
      out.headers.get('set-cookie') ?? '',
      /^kindred-session=; Path=\/; HttpOnly; SameSite=Strict; Max-Age=0$/,
    );
    assert.equal((await get(users)).status, 401);
  });

  test('it ends with its token, with its user, and when the user is disabled', async () => {
    await using at = await live();
    for (const end of [
      async (name: string) => {
        const [one] = (await at.admin('GET', `${tokens}?fieldSelector=spec.user=${name}`)).body.items.filter(
          (one: any) => !one.metadata.labels,
        );
        await expect(200, at.admin('DELETE', `${tokens}/${one.metadata.name}`));
      },
      (name: string) => expect(200, at.admin('DELETE', `${users}/${name}`)),
      (name: string) =>
        expect(
          200,
          at.admin(
            'PATCH',
            `${users}/${name}`,
            { spec: { disabled: true } },
            { 'content-type': 'application/merge-patch+json' },
          ),
        ),
    ]) {
      const name = `user-${Math.random().toString(36).slice(2)}`;
      const { token } = await at.person(name, ['super-role']);
      const { get } = await browser(at, { token });
      assert.equal((await get(users)).status, 200);
      await end(name);
      assert.equal((await get(users)).status, 401);
    }
  });

  test('it is listed among the tokens with its label, shows no hash, and can be revoked there', async () => {
    await using at = await live();
    const { get } = await browser(at, { token: at.token });
    const { items } = (await at.admin('GET', `${tokens}?labelSelector=console.platform.run/session=browser`)).body;
    assert.equal(items.length, 1);
    assert.equal(items[0].status, undefined);
    await expect(200, at.admin('DELETE', `${tokens}/${items[0].metadata.name}`));
    assert.equal((await get(users)).status, 401);
  });

  test('nobody can make one by hand, or change one', async () => {
    await using at = await live();
    await browser(at, { token: at.token });
    const [session] = (await at.admin('GET', `${tokens}?labelSelector=console.platform.run/session`)).body.items;
    const { name } = session.metadata;
    const longer = { ...session, spec: { ...session.spec, expiresAt: '2099-01-01T00:00:00.000Z' } };
    assert.equal((await at.admin('PUT', `${tokens}/${name}`, longer)).status, 403);
    const kept = { ...session, metadata: { ...session.metadata, finalizers: ['keep.example.com/it'] } };
    assert.equal((await at.admin('PUT', `${tokens}/${name}`, kept)).status, 403);
    const labels = { 'console.platform.run/session': 'browser' };
    assert.equal(
      (await at.admin('POST', tokens, { metadata: { name: 'own', labels }, spec: { user: 'admin' } })).status,
      422,
    );
    const status = { hash: 'x', session: { kind: 'browser' } };
    const made = await at.admin('POST', tokens, { metadata: { name: 'own' }, spec: { user: 'admin' }, status });
    assert.equal(made.status, 201);
    assert.equal((await at.as(made.body.status.token)('GET', users)).status, 200);
  });

  test('it ends after its time, and what has ended is removed', async () => {
    const timers = new FakeClock();
    await using at = await live({ timers, console: { sessionTtl: 60_000 } });
    const { get } = await browser(at, { token: at.token });
    assert.equal((await get(users)).status, 200);
    await timers.advance(60_001);
    assert.equal((await get(users)).status, 401);
    await timers.advance(600_000);
    const left = async () => (await at.admin('GET', `${tokens}?labelSelector=console.platform.run/session`)).body.total;
    for (let i = 0; i < 100 && (await left()) > 0; i++) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(await left(), 0);
  });

  test('a user has a hundred at most: the oldest ends', async () => {
    await using at = await live();
    const first = await browser(at, { token: at.token });
    for (let i = 0; i < 99; i++) await expect(201, at.anonymous('POST', path, { token: at.token }));
    const { total } = (await at.admin('GET', `${tokens}?labelSelector=console.platform.run/session&size=1`)).body;
    assert.equal(total, 100);
    assert.equal((await first.get(users)).status, 200);
    await expect(201, at.anonymous('POST', path, { token: at.token }));
    assert.equal((await first.get(users)).status, 401);
  });
});

describe('one-time codes', () => {
  test('a code signs in as its maker, once', async () => {
    await using at = await live();
    const ada = await at.person('ada', []);
    const made = await expect(201, ada.send('POST', '/v3/session/codes'));
    assert.equal(made.headers.get('cache-control'), 'no-store');
    const { code, url, expiresAt } = made.body;
    assert.match(code, /^[A-Za-z0-9_-]{22}$/);
    assert.equal(url, `${at.url}/console/#code=${code}`);
    assert.ok(Math.abs(Date.parse(expiresAt) - Date.now() - 600_000) < 10_000);
    const answers = await Promise.all(Array.from({ length: 8 }, () => at.anonymous('POST', path, { code })));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, ...Array(7).fill(401)]);
    assert.equal(answers.find(({ status }) => status === 201)!.body.identity.name, 'ada');
  });

  test('a code counts for ten minutes, and no longer than the token behind it', async () => {
    const timers = new FakeClock();
    await using at = await live({ timers });
    const late = (await at.admin('POST', '/v3/session/codes')).body.code;
    const intime = (await at.admin('POST', '/v3/session/codes')).body.code;
    await timers.advance(599_000);
    assert.equal((await at.anonymous('POST', path, { code: intime })).status, 201);
    await timers.advance(2_000);
    assert.equal((await at.anonymous('POST', path, { code: late })).status, 401);
    const ada = await at.person('ada', []);
    const { code } = (await ada.send('POST', '/v3/session/codes')).body;
    await expect(200, at.admin('DELETE', `${users}/ada`));
    assert.equal((await at.anonymous('POST', path, { code })).status, 401);
  });

  test('a session makes codes with its own rights and end', async () => {
    await using at = await live();
    const ada = await at.person('ada', ['super-role'], { expiresAt: new Date(Date.now() + 3_600_000).toISOString() });
    const first = await browser(at, { token: ada.token });
    const { code } = (await expect(201, first.send('POST', '/v3/session/codes'))).body;
    const second = await browser(at, { code });
    assert.ok(second.begun.body.identity.expiresAt <= first.begun.body.identity.expiresAt);
    await expect(204, first.send('DELETE', path));
    assert.equal((await second.get(users)).status, 200);
    const [own] = (await at.admin('GET', `${tokens}?fieldSelector=spec.user=ada`)).body.items.filter(
      (one: any) => !one.metadata.labels,
    );
    await expect(200, at.admin('DELETE', `${tokens}/${own.metadata.name}`));
    assert.equal((await second.get(users)).status, 401);
  });

  test('nobody gets none', async () => {
    await using at = await live();
    assert.equal((await at.anonymous('POST', '/v3/session/codes')).status, 401);
  });
});

describe('where a browser may sign in', () => {
  /** As a proxy, or a browser elsewhere, sends it: fetch sets no Host. */
  async function signIn(options: ServiceOptions, host: string): Promise<{ status: number; cookie: string | null }> {
    await using at = await live(options);
    const body = JSON.stringify({ token: at.token });
    return await new Promise((resolve, reject) => {
      const headers = { host, 'content-type': 'application/json', 'content-length': body.length };
      const sent = request(`${at.url}${path}`, { method: 'POST', headers }, (answer) => {
        answer.resume();
        resolve({ status: answer.statusCode!, cookie: answer.headers['set-cookie']?.[0] ?? null });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  test('plain http on the own machine is taken, elsewhere it is refused unless that is asked for', async () => {
    assert.equal((await signIn({}, 'localhost:8090')).status, 201);
    assert.deepEqual(await signIn({}, 'kindred.example.com'), { status: 403, cookie: null });
    assert.deepEqual(await signIn({}, 'localhost.example.com'), { status: 403, cookie: null });
    const asked = await signIn({ console: { insecureCookie: true } }, 'kindred.example.com');
    assert.equal(asked.status, 201);
    assert.match(asked.cookie ?? '', /^kindred-session=/);
    const plain = { console: { publicUrl: 'http://kindred.example.com' } };
    assert.deepEqual(await signIn(plain, 'localhost'), { status: 403, cookie: null });
  });

  test('with an https address the cookie has the name of the host alone and goes over https alone', async () => {
    const { status, cookie } = await signIn({ console: { publicUrl: 'https://kindred.example.com' } }, 'inner:8090');
    assert.equal(status, 201);
    assert.match(
      cookie ?? '',
      /^__Host-kindred=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=\d+$/,
    );
  });

  test('the public address is that of links, and its pages may sign in', async () => {
    await using at = await live({ console: { publicUrl: 'https://kindred.example.com' } });
    const { url } = (await at.admin('POST', '/v3/session/codes')).body;
    assert.match(url, /^https:\/\/kindred\.example\.com\/console\/#code=/);
    const origin = 'https://kindred.example.com';
    assert.equal((await at.anonymous('POST', path, { token: at.token }, { origin })).status, 201);
  });

  test('an address that is none is refused before anything starts', async () => {
    for (const publicUrl of ['kindred.example.com', 'https://kindred.example.com/below', 'ftp://kindred.example.com']) {
      await assert.rejects(live({ console: { publicUrl } }), /console\.publicUrl/);
    }
  });
});

describe('replicas, the audit log', () => {
  test('another replica knows a session at once, and redeems a code once', async (t) => {
    const database = `sqlite:${join(await temporaryFolder(t), 'kindred.db')}`;
    await using at = await live({ database });
    const { code } = (await at.admin('POST', '/v3/session/codes')).body;
    await at.service.stop();
    await using again = await live({ database });
    assert.equal((await again.anonymous('POST', path, { code })).status, 201);
    assert.equal((await again.anonymous('POST', path, { code })).status, 401);
  });

  test('the audit log has each attempt and no secret', async (t) => {
    const file = join(await temporaryFolder(t), 'audit.ndjson');
    const secrets: string[] = [];
    {
      await using at = await live({ auth: { audit: { file } } });
      const { code } = (await at.admin('POST', '/v3/session/codes')).body;
      const { cookie, send } = await browser(at, { code });
      secrets.push(at.token!, code, cookie.split('=')[1]!);
      await at.anonymous('POST', path, { token: 'wrong-token' });
      await send('DELETE', path);
    }
    const text = await readFile(file, 'utf8');
    for (const secret of [...secrets, 'wrong-token']) assert.ok(!text.includes(secret));
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const attempts = lines.filter((line) => line.path?.startsWith(path));
    assert.deepEqual(
      attempts.map((line) => [line.identity, line.verb, line.path, line.outcome, line.status]),
      [
        ['admin', 'post', '/v3/session/codes', 'done', 201],
        ['admin', 'post', path, 'done', 201],
        ['system:anonymous', 'post', path, 'refused', 401],
        ['admin', 'delete', path, 'done', 204],
      ],
    );
    assert.ok(attempts.every((line) => line.address));
    const made = lines.filter((line) => line.resource === 'personalaccesstokens' && line.name?.startsWith('console-'));
    assert.deepEqual([...new Set(made.map((line) => line.identity))], ['admin']);
  });
});

test('an `authenticated` role of before the console that nobody has changed gets what it allows today', async (t) => {
  const database = `sqlite:${join(await temporaryFolder(t), 'kindred.db')}`;
  const role = '/api/v1alpha1/roles/authenticated';
  const before = [
    { nonResourceURLs: ['/api', '/api/*', '/apis', '/apis/*', '/v3/api-docs', '/v3/api-docs/*'], verbs: ['get'] },
    { nonResourceURLs: ['/v3/can-i'], verbs: ['post'] },
  ];
  const own = [{ nonResourceURLs: ['/v3/can-i'], verbs: ['post'] }];
  let token: string | undefined;
  const withRules = async (rules: object[]) => {
    {
      await using at = await live({ database });
      token ??= at.token;
      const stored = (await at.as(token!)('GET', role)).body;
      await expect(200, at.as(token!)('PUT', role, { ...stored, rules }));
    }
    await using at = await live({ database });
    return (await sender(at.url, token)('GET', role)).body.rules;
  };
  const renewed = await withRules(before);
  assert.ok(renewed[0].nonResourceURLs.includes('/v3/models'));
  assert.deepEqual(await withRules(own), own);
});
