import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { perTurn } from '../../../test/resource/per-turn.ts';
import { sliceLength } from '../../runtime/time-slice.ts';
import { Burst, BurstQueue } from './bursts.ts';

const frame = (text: string) => Buffer.from(text);

test('streams that send the same frames share one burst and its bytes, others have their own', () => {
  const empty = new Burst();
  const [a, b, c] = [frame('a'), frame('b'), frame('c')];
  const streams = [empty, empty, empty].map((burst) => burst.with(a)).map((burst) => burst.with(b));
  assert.equal(new Set(streams).size, 1);
  const [one, same, other] = [streams[0]!.with(c), streams[1]!.with(c), streams[2]!.with(frame('x'))];
  assert.equal(one.bytes, same.bytes);
  assert.deepEqual([String(one.bytes), String(other.bytes), String(empty.with(b).bytes)], ['abc', 'abx', 'b']);
  assert.deepEqual([one.length, other.length], [3, 3]);
});

test('a frame that goes out alone is not copied', () => {
  const alone = frame('a');
  assert.equal(new Burst().with(alone).bytes, alone);
});

test('a burst has room for up to 64 KiB', () => {
  const burst = new Burst().with(Buffer.alloc(60 * 1024));
  assert.deepEqual(
    [burst.hasRoomFor(Buffer.alloc(4 * 1024)), burst.hasRoomFor(Buffer.alloc(4 * 1024 + 1))],
    [true, false],
  );
});

test('each stream is written to once, at the end of the turn', async () => {
  const queue = new BurstQueue(() => 0);
  let flushed = 0;
  const stream = { flush: () => flushed++ };
  queue.add(stream);
  queue.add(stream);
  assert.equal(flushed, 0);
  await nextTurn();
  assert.equal(flushed, 1);
  queue.add(stream);
  await nextTurn();
  assert.equal(flushed, 2);
});

test('many streams are written to in slices, and those that have something new meanwhile behind them', async () => {
  let time = 0;
  const queue = new BurstQueue(() => time);
  const turns = perTurn();
  const flushed: number[] = [];
  const streams = Array.from({ length: 20 }, (_, number) => ({
    flush: () => {
      time++;
      turns.count();
      flushed.push(number);
      if (flushed.length === 7) queue.add(streams[0]!);
    },
  }));
  for (const stream of streams) queue.add(stream);
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  turns.stop();
  assert.deepEqual(flushed, [...streams.keys(), 0]);
  assert.equal(Math.max(...turns.counts), sliceLength);
});

test('events that were sent are not kept', async () => {
  const queue = new BurstQueue<'sse' | 'ndjson'>(() => 0);
  const empty = queue.empty('sse');
  assert.equal(queue.empty('sse'), empty);
  assert.notEqual(queue.empty('ndjson'), empty);
  queue.add({ flush: () => {} });
  await nextTurn();
  assert.notEqual(queue.empty('sse'), empty);
});
