import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceOf } from './source-address.ts';

const sources: readonly [string, string][] = [
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['2001:db8::6', '2001:db8:0:0::/64'],
  ['2001:db8::3:4:5:6', '2001:db8:0:0::/64'],
  ['::2', '0:0:0:0::/64'],
  ['fe80::fc:ff:fe00:1%eth0', 'fe80:0:0:0::/64'],
];
for (const [address, source] of sources) {
  test(`${address} is of ${source}`, () => assert.equal(sourceOf(address), source));
}
