import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { FakeClock } from '../testing/fake-clock.ts';
import { Backoff } from './backoff.ts';
import { WorkQueue } from './work-queue.ts';

function make() {
  const clock = new FakeClock();
  let told = 0;
  const queue = new WorkQueue(clock, () => {
    told += 1;
  });
  const takeAll = () => {
    const names: string[] = [];
    for (let next = queue.take(); next; next = queue.take()) names.push(next.name);
    return names;
  };
  return { clock, queue, takeAll, told: () => told };
}

describe('work queue', () => {
  it('controllers: bursts collapse, names are handed out in the order of their addition', () => {
    const { queue, takeAll, told } = make();
    for (const name of ['b', 'a', 'b', 'c', 'a']) queue.add(name);
    assert.equal(queue.length, 3);
    assert.equal(told(), 3);
    assert.deepEqual(takeAll(), ['b', 'a', 'c']);
  });

  it('controllers: a name is never handed out twice at once, and comes again when it was added meanwhile', () => {
    const { queue, takeAll } = make();
    queue.add('a');
    assert.deepEqual(takeAll(), ['a']);
    queue.add('a');
    queue.add('a');
    assert.deepEqual(takeAll(), []);
    queue.done('a');
    assert.deepEqual(takeAll(), ['a']);
    queue.done('a');
    assert.deepEqual(takeAll(), []);
  });

  it('adds after a delay, the earlier of two ends holds, and says how long a name waited', async () => {
    const { clock, queue, takeAll } = make();
    queue.addAfter('a', 100);
    queue.addAfter('b', 50);
    queue.addAfter('a', 200);
    queue.addAfter('b', 20);
    assert.equal(queue.delayed, 2);
    await clock.advance(19);
    assert.deepEqual(takeAll(), []);
    await clock.advance(1);
    assert.deepEqual(takeAll(), ['b']);
    await clock.advance(90);
    assert.deepEqual(queue.take(), { name: 'a', waited: 10 });
    assert.equal(clock.pending, 0);
  });

  it('tells when the first wait ends, and ends all of them on demand', async () => {
    const { clock, queue, takeAll } = make();
    assert.equal(queue.nextDue, undefined);
    queue.addAfter('a', 100);
    queue.addAfter('b', 50);
    assert.equal(queue.nextDue, clock.now() + 50);
    queue.addDelayed();
    assert.equal(queue.nextDue, undefined);
    assert.deepEqual(takeAll(), ['a', 'b']);
    queue.done('a', 70);
    await clock.advance(60);
    assert.deepEqual(takeAll(), [], 'the end of a wait that was cut short');
    await clock.advance(10);
    assert.deepEqual(takeAll(), ['a']);
  });

  it('keeps a delay when the clock is set back', async () => {
    const clock = new FakeClock();
    let back = 0;
    const timers = {
      now: () => clock.now() - back,
      elapsed: () => clock.now(),
      after: (milliseconds: number, run: () => void) => clock.after(milliseconds, run),
    };
    const queue = new WorkQueue(timers, () => {});
    queue.addAfter('a', 100);
    queue.addAfter('b', 200);
    back = 3_600_000;
    assert.equal(queue.nextDue, timers.now() + 100);
    for (const name of ['a', 'b']) {
      await clock.advance(100);
      assert.equal(queue.take()?.name, name);
    }
  });

  it('forgets an earlier wait when the worker says what comes next', async () => {
    const { clock, queue, takeAll } = make();
    queue.add('a');
    takeAll();
    queue.done('a', 1_000);
    queue.add('a');
    takeAll();
    queue.done('a');
    await clock.advance(10_000);
    assert.deepEqual(takeAll(), []);
  });

  it('hands out nothing after it is closed and leaves no timer behind', async () => {
    const { clock, queue, takeAll } = make();
    queue.add('a');
    queue.addAfter('b', 10);
    queue.close();
    queue.add('c');
    queue.addAfter('d', 10);
    await clock.advance(100);
    assert.deepEqual(takeAll(), []);
    assert.equal(clock.pending, 0);
  });

  it('behaves as the two sets and the list of its definition under random operations', async () => {
    const name = fc.constantFrom(...Array.from({ length: 40 }, (_, i) => `n${i}`));
    const wait = fc.record({ op: fc.constant('after' as const), name, ms: fc.integer({ min: 1, max: 300 }) });
    const step = fc.oneof(
      fc.record({ op: fc.constant('add' as const), name }),
      fc.record({ op: fc.constant('take' as const) }),
      fc.record({ op: fc.constant('done' as const), name, after: fc.option(fc.integer({ min: 1, max: 30 })) }),
      { arbitrary: wait, weight: 4 },
      fc.record({ op: fc.constant('advance' as const), ms: fc.integer({ min: 0, max: 20 }) }),
    );
    let mostWaiting = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 100, maxLength: 300, size: 'max' }), async (steps) => {
        const { clock, queue } = make();
        const dirty = new Set<string>();
        const processing = new Set<string>();
        const waits = new Map<string, number>();
        let ready: string[] = [];
        let waitsMade = 0;
        // No two ends at the same moment, so that their order is known.
        const own = (ms: number) => ms + ++waitsMade / 1_024;
        const add = (one: string) => {
          if (dirty.has(one)) return;
          dirty.add(one);
          if (!processing.has(one)) ready.push(one);
        };
        const addAfter = (one: string, due: number) => waits.set(one, Math.min(due, waits.get(one) ?? due));
        for (const one of steps) {
          if (one.op === 'add') {
            queue.add(one.name);
            add(one.name);
          } else if (one.op === 'take') {
            const [expected, ...rest] = ready;
            assert.equal(queue.take()?.name, expected);
            ready = rest;
            if (expected === undefined) continue;
            assert.ok(!processing.has(expected));
            dirty.delete(expected);
            processing.add(expected);
          } else if (one.op === 'done') {
            if (!processing.has(one.name)) continue;
            const after = one.after === null ? undefined : own(one.after);
            queue.done(one.name, after);
            processing.delete(one.name);
            waits.delete(one.name);
            if (dirty.has(one.name)) ready.push(one.name);
            if (after !== undefined) addAfter(one.name, clock.now() + after);
          } else if (one.op === 'after') {
            const after = own(one.ms);
            queue.addAfter(one.name, after);
            addAfter(one.name, clock.now() + after);
            mostWaiting = Math.max(mostWaiting, waits.size);
          } else {
            await clock.advance(one.ms);
            const due = [...waits].filter(([, at]) => at <= clock.now()).sort((x, y) => x[1] - y[1]);
            for (const [waiting] of due) {
              waits.delete(waiting);
              add(waiting);
            }
          }
          assert.equal(queue.length, ready.length);
          assert.equal(queue.processing, processing.size);
          assert.equal(queue.delayed, waits.size);
        }
      }),
      { numRuns: 100, verbose: 1 },
    );
    // The size of fast-check's arrays is small unless it is told: a heap of a few names shows nothing.
    assert.ok(mostWaiting > 20, `${mostWaiting} names waited at once`);
  });

  it('keeps the heap small when one name is put off again and again', async () => {
    const { clock, queue, takeAll } = make();
    for (let i = 0; i < 5_000; i += 1) {
      queue.add('a');
      takeAll();
      queue.done('a', 60_000 - i);
    }
    await clock.advance(60_000);
    assert.deepEqual(takeAll(), ['a']);
    assert.equal(clock.pending, 0);
  });
});

describe('many that wait', () => {
  it('come in order and on time also after the heap was tidied', async () => {
    const { clock, queue, takeAll } = make();
    const names = Array.from({ length: 10 }, (_, i) => `n${i}`);
    for (const [i, name] of names.entries()) queue.addAfter(name, 1_000 * (i + 1));
    // Each earlier wait of one name leaves the one before behind in the heap.
    for (let i = 0; i < 500; i += 1) queue.addAfter('a', 60_000 - i);
    for (const name of names) {
      await clock.advance(1_000);
      assert.deepEqual(takeAll(), [name]);
    }
  });
});

describe('back-off', () => {
  it('controllers: doubles from minDelay to maxDelay and restarts after success', () => {
    const backoff = new Backoff({ minDelay: 5, maxDelay: 1_000_000 });
    const delays = Array.from({ length: 20 }, () => backoff.next('a'));
    assert.deepEqual(delays.slice(0, 5), [5, 10, 20, 40, 80]);
    assert.deepEqual(delays.slice(17), [655_360, 1_000_000, 1_000_000]);
    assert.equal(backoff.next('b'), 5);
    backoff.reset('a');
    assert.equal(backoff.failures('a'), 0);
    assert.equal(backoff.next('a'), 5);
  });
});
