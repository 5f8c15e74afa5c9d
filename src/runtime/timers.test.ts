import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../testing/fake-clock.ts';
import { endsWithin, pause } from './timers.ts';

test('a pause ends with its time, or at once with its signal, and leaves no timer', async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const ended: string[] = [];
  void pause(clock, 1_000).then(() => ended.push('time'));
  void pause(clock, 5_000, stop.signal).then(() => ended.push('signal'));
  await clock.advance(999);
  assert.deepEqual(ended, []);
  await clock.advance(1);
  stop.abort();
  await clock.advance(0);
  assert.deepEqual(ended, ['time', 'signal']);
  await pause(clock, 5_000, stop.signal);
  assert.equal(clock.pending, 0);
});

test('work is known to have ended in time, to go on, or to have failed; what fails later is nobody’s', async () => {
  const clock = new FakeClock();
  assert.equal(await endsWithin(clock, 10, Promise.resolve('done')), true);
  await assert.rejects(endsWithin(clock, 10, Promise.reject(new Error('early'))), /early/);
  const late = Promise.withResolvers<void>();
  const waiting = endsWithin(clock, 10, late.promise);
  await clock.advance(10);
  assert.equal(await waiting, false);
  late.reject(new Error('late'));
  await clock.advance(0);
  assert.equal(clock.pending, 0);
});
