import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { FakeClock } from '../testing/fake-clock.ts';
import { retry } from './retry.ts';
import { TaskQueue } from './task-queue.ts';

function make(concurrency?: number) {
  const clock = new FakeClock();
  const done: string[] = [];
  const broken = new Set<string>();
  const queue = new TaskQueue({
    timers: clock,
    minDelay: 100,
    maxDelay: 300,
    concurrency,
    failed: (error, key, failures) => done.push(`${key} failed ${failures}: ${(error as Error).message}`),
    succeeded: (key) => done.push(`${key} succeeded`),
  });
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const task = (key: string, text: string) => async () => {
    done.push(text);
    await gates.get(text)?.promise;
    if (broken.has(key)) throw new Error('broken');
  };
  const gate = (text: string) => {
    const one = Promise.withResolvers<void>();
    gates.set(text, one);
    return one;
  };
  return { clock, queue, broken, gate, task, take: () => done.splice(0) };
}

describe('task queue', () => {
  it('is settled after a task whose earlier due time came while it ran', async () => {
    const { clock, queue, gate, task, take } = make();
    const running = gate('a2');
    queue.add('a', task('a', 'a1'), 900);
    queue.add('a', task('a', 'a2'));
    await clock.advance(0);
    await clock.advance(1_000);
    running.resolve();
    await clock.advance(0);
    await queue.settled();
    await clock.advance(10_000);
    assert.deepEqual(take(), ['a2', 'a succeeded']);
  });

  it('has tried its tasks when each ran once, although one goes on failing', async () => {
    const { clock, queue, broken, gate, task, take } = make();
    broken.add('a');
    const running = gate('b1');
    queue.add('a', task('a', 'a1'));
    queue.add('b', task('b', 'b1'));
    queue.add('c', task('c', 'c1'), 1_000);
    let isTried = false;
    const tried = queue.tried().then(() => {
      isTried = true;
    });
    await clock.advance(250);
    assert.equal(isTried, false);
    running.resolve();
    await clock.advance(0);
    assert.equal(isTried, true);
    assert.ok(take().includes('a failed 2: broken'));
    await queue.stop();
    await tried;
  });

  it('is settled after a retry that ran longer than the wait before it', async () => {
    const { clock, queue, broken, gate, task, take } = make();
    broken.add('a');
    const [first, second] = [gate('a1'), gate('a2')];
    queue.add('a', task('a', 'a1'));
    await clock.advance(0);
    queue.add('a', task('a', 'a2'));
    first.resolve();
    await clock.advance(0);
    broken.clear();
    await clock.advance(1_000);
    second.resolve();
    await clock.advance(0);
    await queue.settled();
    await clock.advance(10_000);
    assert.deepEqual(take(), ['a1', 'a failed 1: broken', 'a2', 'a succeeded']);
  });

  it('tries a task again, later each time up to a bound, until it succeeds', async () => {
    const { clock, queue, broken, task, take } = make();
    broken.add('a');
    queue.add('a', task('a', 'a1'));
    await clock.advance(0);
    assert.deepEqual(take(), ['a1', 'a failed 1: broken']);
    for (const [delay, failures] of [
      [100, 2],
      [200, 3],
      [300, 4],
    ] as const) {
      await clock.advance(delay - 1);
      assert.deepEqual(take(), []);
      await clock.advance(1);
      assert.deepEqual(take(), ['a1', `a failed ${failures}: broken`]);
    }
    let isSettled = false;
    void queue.settled().then(() => {
      isSettled = true;
    });
    broken.delete('a');
    await clock.advance(299);
    assert.equal(isSettled, false);
    await clock.advance(1);
    assert.deepEqual(take(), ['a1', 'a succeeded']);
    assert.equal(isSettled, true);
    assert.equal(clock.pending, 0);
  });

  it('runs the latest task of a key, never two at once, and forgets none that came meanwhile', async () => {
    const { clock, queue, gate, task, take } = make();
    const first = gate('a1');
    queue.add('a', task('a', 'a1'));
    queue.add('b', task('b', 'b1'));
    await clock.advance(0);
    queue.add('a', task('a', 'a2'));
    queue.add('a', task('a', 'a3'));
    await clock.advance(0);
    assert.deepEqual(take(), ['a1', 'b1', 'b succeeded']);
    first.resolve();
    await queue.settled();
    assert.deepEqual(take(), ['a1', 'a succeeded', 'a3', 'a succeeded'].slice(1));
  });

  it('keeps the time of a task that was put off while another one of its key ran', async () => {
    const { clock, queue, gate, task, take } = make();
    const first = gate('a1');
    queue.add('a', task('a', 'a1'));
    await clock.advance(0);
    queue.add('a', task('a', 'a2'), 1_000);
    await clock.advance(400);
    first.resolve();
    await queue.settled('a');
    assert.deepEqual(take(), ['a1', 'a succeeded']);
    await clock.advance(599);
    assert.deepEqual(take(), []);
    await clock.advance(1);
    assert.deepEqual(take(), ['a2', 'a succeeded']);
  });

  it('runs no more tasks at once than it may, and begins none after its end', async () => {
    const { clock, queue, gate, task, take } = make(1);
    const first = gate('a1');
    queue.add('a', task('a', 'a1'));
    queue.add('b', task('b', 'b1'));
    await clock.advance(0);
    assert.deepEqual(take(), ['a1']);
    const stopped = queue.stop();
    queue.add('c', task('c', 'c1'));
    first.resolve();
    await stopped;
    await queue.settled();
    await clock.advance(1_000);
    assert.deepEqual(take(), []);
    assert.equal(clock.pending, 0);
  });
});

test('an attempt is made again until it succeeds, is given up, or is not wanted any more', async () => {
  const clock = new FakeClock();
  const told: string[] = [];
  let broken = 2;
  const attempt = async () => {
    if (broken-- > 0) throw new Error('away');
    return 'here';
  };
  const options = {
    timers: clock,
    minDelay: 100,
    maxDelay: 1_000,
    failed: (_: unknown, n: number) => told.push(`${n}`),
  };
  const found = retry(options, attempt);
  await clock.advance(300);
  assert.equal(await found, 'here');
  assert.deepEqual(told, ['1', '2']);

  const giveUp = (error: unknown) => {
    throw error;
  };
  broken = 1;
  await assert.rejects(retry({ ...options, failed: giveUp }, attempt), /away/);

  const stop = new AbortController();
  broken = 9;
  const stopped = retry({ ...options, signal: stop.signal }, attempt);
  await clock.advance(0);
  stop.abort();
  assert.equal(await stopped, undefined);
  assert.equal(clock.pending, 0);
});
