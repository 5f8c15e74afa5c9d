import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppliedChange } from './feed.ts';
import type { ModelResource } from './resource.ts';

const piece = (text: string) => {
  const larger = Buffer.alloc(256 * 1024);
  return larger.subarray(1_000, 1_000 + larger.write(text, 1_000));
};
const resource = { parse: (bytes: Buffer) => JSON.parse(bytes.toString()) } as unknown as ModelResource;
const change = () =>
  new AppliedChange(
    {
      revision: 7,
      time: 0,
      type: 'update',
      model: 1,
      id: 3,
      name: 'a',
      bytes: piece('{"now":true}'),
      before: piece('{"now":false}'),
    },
    resource,
  );

test('a change that is kept does not keep the larger pieces of memory that its bytes came in', () => {
  const { bytes, before } = change();
  assert.deepEqual([bytes.toString(), before!.toString()], ['{"now":true}', '{"now":false}']);
  for (const kept of [bytes, before!]) assert(kept.buffer.byteLength < 200, `${kept.buffer.byteLength} bytes`);
});

test('a change that gave up its parsed form makes it again when it is asked', () => {
  const one = change();
  const object = one.object();
  assert.equal(one.object(), object);
  one.shrink();
  assert.notEqual(one.object(), object);
  assert.deepEqual([one.object(), one.objectBefore()], [{ now: true }, { now: false }]);
});
