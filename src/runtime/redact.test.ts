import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hidden, withoutSecrets } from './redact.ts';

for (const [title, value, shown] of [
  [
    'a plain value',
    { greeting: 'hello', limit: 3, on: true, none: null },
    { greeting: 'hello', limit: 3, on: true, none: null },
  ],
  [
    'a password',
    { password: 'p', db: { passphrase: 'x', pin_password: 1234 } },
    { password: hidden, db: { passphrase: hidden, pin_password: hidden } },
  ],
  [
    'whatever stands below a secret',
    { secrets: { a: 'b', list: ['c', 1] } },
    { secrets: { a: hidden, list: [hidden, hidden] } },
  ],
  ['a switch about a secret', { administratorToken: false }, { administratorToken: false }],
  [
    'keys',
    { apiKey: 'a', 'api-key': 'b', key: 'c', keyboard: 'us' },
    { apiKey: hidden, 'api-key': hidden, key: hidden, keyboard: 'us' },
  ],
  ['a URL with a password', { url: 'https://ada:pw@example.com/x' }, { url: 'https://ada:…@example.com/x' }],
  ['a URL with a token', ['https://example.com/?a=1&access_token=x#y'], ['https://example.com/?a=1&access_token=…#y']],
  [
    'a key by its looks',
    ['-----BEGIN PRIVATE KEY-----\nx', 'knd_abc', 'eyJhbGciOi.eyJzdWIiOiI.sig'],
    [hidden, hidden, hidden],
  ],
  [
    'a long random text',
    ['aB3dE5gH7jK9mN1pQ3sT5vX7', 'f'.repeat(40), 'a plain sentence of many words'],
    [hidden, hidden, 'a plain sentence of many words'],
  ],
  ['what is no data', { run: () => 1, at: new Date(0), big: 5n }, { run: '(function)', at: '(object)', big: '5' }],
] as const) {
  test(`secrets: ${title}`, () => assert.deepEqual(withoutSecrets(value), shown));
}

test('secrets: a cycle and a large value end', () => {
  const cycle: Record<string, unknown> = {};
  cycle.again = cycle;
  assert.ok(JSON.stringify(withoutSecrets(cycle)).includes('…'));
  const large = JSON.stringify(withoutSecrets({ list: Array.from({ length: 100_000 }, (_, i) => i) }));
  assert.ok(large.length < 10_000);
});
