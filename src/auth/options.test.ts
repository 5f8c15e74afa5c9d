import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkAuthOptions } from './options.ts';

test('command-line: the option auth takes what it documents', () => {
  checkAuthOptions({});
  checkAuthOptions({
    issuers: [
      { url: 'https://a.example', audience: ['a'], claims: { user: 'email' }, roleMapping: { a: ['b'] }, clockSkew: 1 },
      { url: 'https://b.example', audience: 'b', requireVerifiedEmail: false, localUsers: true, tokenMaxAge: 0 },
      { url: 'https://c.example', audience: 'c', tokenMaxAge: false },
    ],
    rateLimit: { perIdentity: false, perAddress: { perSecond: 1, burst: 2 }, exemptLoopback: false, buckets: 3 },
    audit: { file: '-', reads: true },
    administratorToken: false,
  });
});

const wrong: readonly [string, unknown, RegExp][] = [
  ['no object', 7, /option auth must be object/],
  ['an unknown member', { rateLimits: {} }, /option auth\.rateLimits is not known/],
  [
    'an issuer without audience',
    { issuers: [{ url: 'https://a.example' }] },
    /option auth\.issuers\.0\.audience is required/,
  ],
  [
    'an issuer with an unknown member',
    { issuers: [{ url: 'x', audience: 'a', claim: {} }] },
    /auth\.issuers\.0\.claim is not known/,
  ],
  ['an empty audience', { issuers: [{ url: 'x', audience: [] }] }, /auth\.issuers\.0\.audience/],
  ['a token age below 0', { issuers: [{ url: 'x', audience: 'a', tokenMaxAge: -1 }] }, /auth\.issuers\.0\.tokenMaxAge/],
  [
    'a text for the check of e-mail addresses',
    { issuers: [{ url: 'x', audience: 'a', requireVerifiedEmail: 'no' }] },
    /auth\.issuers\.0\.requireVerifiedEmail must be boolean/,
  ],
  ['a text for a switch', { audit: { reads: 'no' } }, /auth\.audit\.reads must be boolean/],
];
for (const [name, options, message] of wrong) {
  test(`command-line: the option auth with ${name} is an error that names it`, () => {
    assert.throws(() => checkAuthOptions(options), message);
  });
}

test('command-line: every mistake of the option auth is reported', () => {
  const options = { audits: {}, audit: { reads: 'no' }, administratorToken: 1 };
  assert.throws(
    () => checkAuthOptions(options),
    ({ message }: Error) => {
      assert.equal(message.split('\n').length, 3, message);
      for (const field of ['auth.audits', 'auth.audit.reads', 'auth.administratorToken'])
        assert.match(message, RegExp(field));
      return true;
    },
  );
});
