/** The console's page in the running service: who reaches it, and how. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Live } from '../auth/live.ts';
import { live } from '../auth/live.ts';

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

/** Not followed. */
const get = (at: Live, path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(at.url + path, { method, headers, redirect: 'manual' });

test('a browser at the address of the service is led to the console, without a token; a program is not', async () => {
  await using at = await live();
  const led = await get(at, '/', html);
  assert.deepEqual([led.status, led.headers.get('location')], [302, '/console/']);
  for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }] as Record<string, string>[]) {
    assert.equal((await get(at, '/', headers)).status, 401);
  }
  assert.equal((await get(at, '/console')).status, 308);
});

test('the page is for everybody, whether it is built or not; every answer keeps it to itself, also a refusal', async () => {
  await using at = await live();
  const posted = await get(at, '/console/', {}, 'POST');
  assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD']);
  const long = await get(at, `/console/${'x'.repeat(20_000)}`);
  assert.equal(long.status, 414);
  const led = await Promise.all([get(at, '/', html), get(at, '/console')]);
  const pages = await Promise.all(
    ['/console/', '/console/objects/users', '/console/assets/none.js'].map((path) => get(at, path, html)),
  );
  for (const { status, url } of pages) assert.ok(status === 200 || status === 404, url);
  for (const { headers } of [posted, long, ...led, ...pages]) {
    assert.equal(
      headers.get('content-security-policy'),
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types vue",
    );
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
    assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin');
    assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin');
    assert.ok(
      headers
        .get('permissions-policy')!
        .split(', ')
        .every((one) => /^[a-z-]+=\(\)$/.test(one)),
    );
  }
});

test('switched off, there is no console', async () => {
  await using at = await live({ console: { enabled: false } });
  assert.equal((await get(at, '/console/', html)).status, 401);
  assert.equal((await get(at, '/console/x', html)).status, 401);
  assert.equal((await get(at, '/', html)).status, 401);
});

test('without authentication a link of any site leads to the page, and to nothing else', async () => {
  await using at = await live({ auth: false });
  const elsewhere = { ...html, 'sec-fetch-site': 'cross-site' };
  assert.equal((await get(at, '/', elsewhere)).status, 302);
  assert.notEqual((await get(at, '/console/', elsewhere)).status, 403);
  assert.equal((await get(at, '/api/v1alpha1/users', elsewhere)).status, 403);
  assert.equal((await get(at, '/v3/models', elsewhere)).status, 403);
  assert.equal((await get(at, '/console/', { ...elsewhere, origin: 'https://evil.example.com' })).status, 403);
});
