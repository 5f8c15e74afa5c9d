import assert from 'node:assert/strict';
import { it } from 'node:test';
import { keyOf, signatureOf } from './signature.ts';

// The example of the Standard Webhooks specification and its libraries.
const content = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: 1614265330,
  body: Buffer.from('{"test": 2432232314}'),
};
const secret = Buffer.from('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
const signature = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';

it('signs as Standard Webhooks does', () => {
  assert.equal(signatureOf(content, [keyOf(secret)]), signature);
});

it('signs with every key, the first one first', () => {
  const both = signatureOf(content, [keyOf(secret), Buffer.from('older')]).split(' ');
  assert.equal(both[0], signature);
  assert.match(both[1]!, /^v1,[A-Za-z0-9+/]{43}=$/);
  assert.notEqual(both[1], signature);
});

it('a key without the prefix is taken as it is', () => {
  assert.deepEqual(keyOf(Buffer.from([0, 255, 128])), Buffer.from([0, 255, 128]));
});
