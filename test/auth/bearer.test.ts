import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import type { Live } from './live.ts';
import { expect, live } from './live.ts';

const path = '/api/v1alpha1/users';

interface Attempt {
  readonly name: string;
  /** Of the administrator's token: what is sent instead. Headers as they are, names twice included. */
  readonly headers: (token: string) => [string, string][];
  readonly query?: (token: string) => string;
}

const bearer = (text: string): [string, string][] => [['Authorization', text]];

const attempts: readonly Attempt[] = [
  { name: 'no scheme', headers: (token) => bearer(token) },
  { name: 'another scheme', headers: (token) => bearer(`Token ${token}`) },
  { name: 'Basic with the token as password', headers: (token) => bearer(`Basic ${btoa(`admin:${token}`)}`) },
  { name: 'Digest', headers: (token) => bearer(`Digest username="admin", response="${token}"`) },
  { name: 'no space', headers: (token) => bearer(`Bearer${token}`) },
  { name: 'a colon', headers: (token) => bearer(`Bearer: ${token}`) },
  { name: 'a tab', headers: (token) => bearer(`Bearer\t${token}`) },
  { name: 'quotes', headers: (token) => bearer(`Bearer "${token}"`) },
  { name: 'something behind it', headers: (token) => bearer(`Bearer ${token} x`) },
  { name: 'a list of two', headers: (token) => bearer(`Bearer ${token}, Bearer ${token}`) },
  { name: 'the scheme alone', headers: () => bearer('Bearer ') },
  { name: 'an empty header', headers: () => bearer('') },
  { name: 'the last character cut off', headers: (token) => bearer(`Bearer ${token.slice(0, -1)}`) },
  { name: 'a character more', headers: (token) => bearer(`Bearer ${token}A`) },
  { name: 'the token twice', headers: (token) => bearer(`Bearer ${token}${token}`) },
  { name: 'another prefix', headers: (token) => bearer(`Bearer KND_${token.slice(4)}`) },
  { name: 'without its prefix', headers: (token) => bearer(`Bearer ${token.slice(4)}`) },
  { name: 'in other letters', headers: (token) => bearer(`Bearer ${token.toUpperCase()}`) },
  { name: 'padding', headers: (token) => bearer(`Bearer ${token}==`) },
  { name: '50 KB', headers: () => bearer(`Bearer knd_${'A'.repeat(50_000)}`) },
  { name: '50 KB of dots', headers: () => bearer(`Bearer ${'.'.repeat(50_000)}`) },
  { name: 'a JWT of nobody', headers: () => bearer('Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.') },
  { name: 'a cookie', headers: (token) => [['Cookie', `token=${token}; authorization=Bearer ${token}`]] },
  { name: 'another header', headers: (token) => [['X-Authorization', `Bearer ${token}`]] },
  { name: 'the header of a proxy', headers: (token) => [['Proxy-Authorization', `Bearer ${token}`]] },
  { name: 'a name', headers: () => [['X-Remote-User', 'admin']] },
  { name: 'the query', headers: () => [], query: (token) => `?access_token=${token}` },
  { name: 'another query', headers: () => [], query: (token) => `?token=${token}&authorization=Bearer%20${token}` },
];

/** As it is: `fetch` would join headers of the same name. */
function ask(world: Live, headers: [string, string][], query = ''): Promise<{ status: number; challenge: string }> {
  return new Promise((resolve, reject) => {
    const { host, hostname, port } = new URL(world.url);
    const lines = [['Host', host], ...headers].flat();
    const sent = request({ hostname, port, path: path + query, headers: lines }, (response) => {
      response.resume();
      response.on('end', () =>
        resolve({ status: response.statusCode!, challenge: response.headers['www-authenticate'] ?? '' }),
      );
    });
    sent.on('error', reject).end();
  });
}

test('permissions: only a bearer token in its header is a credential', async (t) => {
  await using world = await live();
  const token = world.token!;
  await expect(200, world.admin('GET', path));
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'Bearer  ']) {
    const { status } = await ask(world, bearer(`${scheme} ${token}`));
    assert.equal(status, 200, scheme);
  }
  for (const { name, headers, query } of attempts) {
    await t.test(name, async () => {
      const { status, challenge } = await ask(world, headers(token), query?.(token));
      assert.equal(status, 401);
      assert.match(challenge, /^Bearer/);
    });
  }
  await t.test('two headers', async () => {
    for (const second of [`Bearer ${token}`, 'Bearer x', 'Basic eDp5']) {
      const first = await ask(world, [...bearer(second), ...bearer(`Bearer ${token}`)]);
      const last = await ask(world, [...bearer(`Bearer ${token}`), ...bearer(second)]);
      assert.deepEqual([first.status, last.status], [400, 400]);
    }
  });
});
