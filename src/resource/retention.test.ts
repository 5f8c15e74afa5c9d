import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openStore } from '../store/open.ts';
import type { Write } from '../store/store.ts';
import { until } from '../testing/until.ts';
import { startRetention } from './retention.ts';

it('a change by a clock that was ahead does not keep those after it', async (t) => {
  const store = await openStore('sqlite::memory:');
  t.after(() => store.close());
  const model = await store.modelNumber('example.com', 'Note');
  const now = 10_000_000;
  for (const [i, time] of [now - 5_000, now + 86_400_000, now - 4_000, now - 500].entries()) {
    const write: Write = { type: 'create', model, name: `n${i}`, bytes: Buffer.from('{}') };
    await store.commit([write], time);
  }
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.after(startRetention({ store, now: () => now, maxCount: 0, maxAge: 1_000, logger: { warn: () => assert.fail() } }));
  t.mock.timers.tick(10_000);
  t.mock.timers.reset();
  await until(async () => (await store.oldest()) === 3);
});
