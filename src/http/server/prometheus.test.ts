import assert from 'node:assert/strict';
import { test } from 'node:test';
import { perTurn } from '../../../test/resource/per-turn.ts';
import { TimeSlice } from '../../runtime/time-slice.ts';
import type { Figure, Sample } from './prometheus.ts';
import { Histogram, linesOf } from './prometheus.ts';

const textOf = async (figure: Figure) => (await linesOf(figure, new TimeSlice(() => 0))).join('\n');

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

test('a histogram has a series for each set of labels, and cumulative buckets', async () => {
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

test('many samples are written in slices of the event loop, and a series is of one moment', async () => {
  const times = new Histogram('time_seconds', 'Time', ['route']);
  for (let route = 0; route < 100; route++) times.observe(0.003, `/r${route}`);
  const turns = perTurn();
  const figure: Figure = {
    ...times,
    *collect() {
      for (const sample of times.collect()) {
        turns.count();
        yield sample;
      }
    },
  };
  let looks = 0;
  // Each look at the clock takes 0.1 ms, so that a slice is over after 50 of them.
  const slice = new TimeSlice(() => {
    // Requests go on meanwhile.
    times.observe(0.1, `/r${looks % 100}`);
    return looks++ / 10;
  });
  const lines = await linesOf(figure, slice);
  turns.stop();
  assert.ok(Math.max(...turns.counts) <= 55, `${Math.max(...turns.counts)} samples in a turn`);
  const numberOf = (name: string, labels: string) =>
    Number(lines.find((line) => line.startsWith(`time_seconds_${name}{${labels}}`))!.split(' ')[1]);
  for (let route = 0; route < 100; route++) {
    const labels = `route="/r${route}"`;
    const count = numberOf('count', labels);
    assert.equal(numberOf('bucket', `${labels},le="+Inf"`), count);
    assert.ok(Math.abs(numberOf('sum', labels) - (0.003 + (count - 1) * 0.1)) < 1e-6, `${labels}: ${count}`);
  }
});
