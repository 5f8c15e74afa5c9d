import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sample } from './prometheus.ts';
import { Histogram, textOf } from './prometheus.ts';

test('a gauge: a line for each series, the last of samples with the same labels, texts escaped', async () => {
  const text = await textOf({
    name: 'stock',
    help: 'Of a\\b\nand "c"',
    type: 'gauge',
    collect: async (): Promise<Sample[]> => [
      { value: 1 },
      { labels: { of: 'x' }, value: 2 },
      { labels: { of: 'a\\b\n"c"', n: 7 }, value: 0.5 },
      { labels: { of: 'x' }, value: 3 },
    ],
  });
  const lines = ['# HELP stock Of a\\\\b\\nand "c"', '# TYPE stock gauge', 'stock 1', 'stock{of="x"} 3'];
  assert.equal(text, [...lines, 'stock{of="a\\\\b\\n\\"c\\"",n="7"} 0.5'].join('\n'));
});

test('a figure without samples has its head alone', async () => {
  const text = await textOf({ name: 'none', help: 'Nothing', type: 'counter', collect: () => [] });
  assert.equal(text, '# HELP none Nothing\n# TYPE none counter');
});

test('a histogram: a series for each set of labels, its buckets with what is at most as large', async () => {
  const times = new Histogram('time_seconds', 'Time', ['method', 'status']);
  // At a bound, between two, and above all.
  for (const seconds of [0.001, 0.003, 11]) times.observe(seconds, 'GET', 200);
  times.observe(0.25, 'GET', 404);
  const lines = (await textOf(times)).split('\n');
  assert.deepEqual(lines.slice(0, 2), ['# HELP time_seconds Time', '# TYPE time_seconds histogram']);
  const found = lines.filter((line) => line.includes('{method="GET",status="200"'));
  const bounds = [
    '0.0005',
    '0.001',
    '0.0025',
    '0.005',
    '0.01',
    '0.025',
    '0.05',
    '0.1',
    '0.25',
    '0.5',
    '1',
    '2.5',
    '10',
  ];
  const counts = [0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3];
  assert.deepEqual(found, [
    ...[...bounds, '+Inf'].map((le, i) => `time_seconds_bucket{method="GET",status="200",le="${le}"} ${counts[i]}`),
    `time_seconds_sum{method="GET",status="200"} ${0.001 + 0.003 + 11}`,
    'time_seconds_count{method="GET",status="200"} 3',
  ]);
  assert.equal(lines.length, 2 + 2 * (14 + 2));
});
