import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { it } from 'node:test';
import { AddressNotAllowed, isPublicAddress, publicLookup } from './address.ts';

const isPublic: Record<string, boolean> = {
  '8.8.8.8': true,
  '172.15.255.255': true,
  '172.32.0.1': true,
  '2606:4700::1111': true,
  '2a00:1450:4001::200e': true,
  '0.0.0.0': false,
  '10.1.2.3': false,
  '100.64.0.1': false,
  '127.0.0.1': false,
  '127.255.255.254': false,
  '169.254.169.254': false,
  '172.16.0.1': false,
  '172.31.255.255': false,
  '192.168.1.1': false,
  '198.18.0.1': false,
  '224.0.0.1': false,
  '255.255.255.255': false,
  '::': false,
  '::1': false,
  '::ffff:127.0.0.1': false,
  '::ffff:10.0.0.1': false,
  '::ffff:8.8.8.8': false,
  '64:ff9b::7f00:1': false,
  '2001::1': false,
  '2001:db8::1': false,
  '2002:7f00:1::': false,
  'fc00::1': false,
  'fd12::1': false,
  'fe80::1': false,
  'ff02::1': false,
  'example.com': false,
};

for (const [address, expected] of Object.entries(isPublic)) {
  it(`${address} is ${expected ? '' : 'not '}a public address`, () => assert.equal(isPublicAddress(address), expected));
}

/** What a socket would be given. */
function asked(addresses: readonly string[], all: boolean): Promise<unknown> {
  const lookup = publicLookup(async () => addresses.map((address): LookupAddress => ({ address, family: 4 })));
  return new Promise((resolve, reject) => {
    lookup('name.example.com', { all }, (error, found) => (error ? reject(error) : resolve(found)));
  });
}

it('a socket is given the public ones of the addresses of a name', async () => {
  assert.deepEqual(await asked(['10.0.0.1', '8.8.8.8', '127.0.0.1'], true), [{ address: '8.8.8.8', family: 4 }]);
  assert.equal(await asked(['10.0.0.1', '8.8.8.8'], false), '8.8.8.8');
});

it('a name with none of them leads nowhere', async () => {
  for (const all of [true, false]) await assert.rejects(asked(['10.0.0.1'], all), AddressNotAllowed);
  await assert.rejects(asked([], true), AddressNotAllowed);
});
