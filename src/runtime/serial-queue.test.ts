import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SerialQueue } from './serial-queue.ts';

test('a task begins when the one before it has ended, also when that one failed', async () => {
  const queue = new SerialQueue();
  const first = Promise.withResolvers<void>();
  const seen: string[] = [];
  const failing = queue.run(async () => {
    seen.push('first begins');
    await first.promise;
    throw new Error('failed');
  });
  const next = queue.run(async () => {
    seen.push('second begins');
    return 'result';
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(seen, ['first begins']);
  first.resolve();
  await assert.rejects(failing, /failed/);
  assert.equal(await next, 'result');
  assert.deepEqual(seen, ['first begins', 'second begins']);
});
