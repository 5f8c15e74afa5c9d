import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keptFor, Samples, sampleInterval } from './samples.ts';

const figures = () => ({ revision: 7, watches: 2, cacheBytes: 100, cacheReads: { hits: 0, misses: 0 } });

test('a sample has what happened since the one before', (t) => {
  const samples = new Samples(figures, () => 0);
  t.after(() => samples.close());
  for (let i = 1; i <= 100; i++) samples.committed(i, 3);
  for (const status of [200, 201, 304, 404, 500, 101]) samples.answered(status);
  samples.take();
  samples.take();
  const [first, second] = samples.within(keptFor).samples;
  assert.deepEqual(first!.commit, { p50: 50, p99: 99 });
  assert.equal(first!.writes, 300);
  assert.deepEqual(first!.requests, { '2xx': 2, '3xx': 1, '4xx': 1, '5xx': 1 });
  assert.deepEqual([first!.revision, first!.watches, first!.cacheBytes], [7, 2, 100]);
  assert.ok(first!.heap > 0 && first!.rss > 0);
  assert.deepEqual([second!.writes, second!.requests['2xx'], 'commit' in second!], [0, 0, false]);
});

test('samples of one hour are kept', (t) => {
  const samples = new Samples(figures, () => 0);
  t.after(() => samples.close());
  for (let i = 0; i < 800; i++) samples.take();
  assert.equal(samples.within(keptFor).samples.length, 720);
  assert.equal(samples.within(sampleInterval).samples.length, 1);
});

test('for longer than an hour, six samples are one: sums of what happened, the worst quantiles, how things are at the end', (t) => {
  let now = 0;
  const reads = { hits: 0, misses: 0 };
  const samples = new Samples(
    () => ({ revision: now, watches: 1, cacheBytes: 1, cacheReads: { ...reads } }),
    () => now,
  );
  t.after(() => samples.close());
  const taken = 4_400;
  for (let i = 1; i <= taken; i++) {
    now = i * sampleInterval;
    reads.hits += 2;
    reads.misses += 1;
    samples.committed(i % 6 === 2 ? 900 : 1, 3);
    samples.answered(200);
    samples.take();
  }
  const { interval, samples: joined } = samples.within(6 * keptFor);
  assert.deepEqual([interval, joined.length], [30_000, 720]);
  const last = joined.at(-1)!;
  assert.equal(last.revision, (taken - (taken % 6)) * sampleInterval);
  assert.deepEqual([last.writes, last.requests['2xx'], last.cache], [18, 6, { hits: 12, misses: 6 }]);
  assert.deepEqual(last.commit, { p50: 900, p99: 900 });
  assert.equal(samples.within(2 * keptFor).samples.length, 240);
  assert.deepEqual(samples.within(sampleInterval).samples[0]!.cache, { hits: 2, misses: 1 });
});

test('of very many commits the later ones count', (t) => {
  const samples = new Samples(figures, () => 0);
  t.after(() => samples.close());
  for (let i = 0; i < 5_000; i++) samples.committed(i < 3_000 ? 1_000 : 1, 1);
  samples.take();
  const [one] = samples.within(keptFor).samples;
  assert.deepEqual([one!.commit, one!.writes], [{ p50: 1, p99: 1 }, 5_000]);
});
