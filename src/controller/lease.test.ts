import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../testing/fake-clock.ts';
import type { LeaseStore } from './lease.ts';
import { Leader, leaseTimes } from './lease.ts';

/** A leader over a store whose answers the test gives. */
function make({ shared = true } = {}) {
  const clock = new FakeClock();
  const told: string[] = [];
  const questions: { ttl: number; now: number; answer(token: number | undefined): void; fail(): void }[] = [];
  const store: LeaseStore = {
    shared,
    acquireLease: (name, holder, ttl, now) =>
      new Promise((resolve, reject) => {
        questions.push({
          ttl,
          now,
          answer: (token) => resolve(token === undefined ? undefined : { name, holder, token }),
          fail: () => reject(new Error('away')),
        });
      }),
    releaseLease: async ({ token }) => void told.push(`released ${token}`),
  };
  const start = clock.now();
  let stepped = 0;
  const leader = new Leader({
    store,
    name: 'job',
    holder: 'me',
    timers: { now: () => clock.now() + stepped, after: (milliseconds, run) => clock.after(milliseconds, run) },
    onAcquired: ({ token }) => told.push(`acquired ${token} at ${clock.now() - start}`),
    onLost: () => told.push(`lost at ${clock.now() - start}`),
    onError: () => told.push('error'),
  });
  const step = (milliseconds: number) => {
    stepped += milliseconds;
  };
  return { clock, told, questions, leader, step };
}

const { ttl, renew, retry } = leaseTimes;

describe('Leader', () => {
  it('holds the lease for its time after the question, however late the answer came', async () => {
    const { clock, told, questions, leader } = make();
    void leader.start();
    await clock.advance(6_000);
    questions[0]!.answer(1);
    await clock.advance(0);
    assert.deepEqual(told, ['acquired 1 at 6000']);
    for (let at = 6_000; at < ttl + 6_000; at += 100) {
      questions.at(-1)!.fail();
      await clock.advance(100);
    }
    assert.deepEqual(
      told.filter((line) => line !== 'error'),
      ['acquired 1 at 6000', `lost at ${ttl}`],
    );
    assert.equal(leader.fence, undefined);
    const stopping = leader.stop();
    questions.at(-1)!.fail();
    await stopping;
  });

  it('loses the lease when its time is over while a question is still under way', async () => {
    const { clock, told, questions, leader } = make();
    void leader.start();
    questions[0]!.answer(1);
    await clock.advance(renew);
    assert.equal(questions.length, 2);
    await clock.advance(ttl - renew - 1);
    assert.deepEqual(leader.fence, { lease: 'job', token: 1 });
    await clock.advance(1);
    assert.deepEqual([leader.fence, told.at(-1)], [undefined, `lost at ${ttl}`]);
    questions[1]!.answer(1);
    await clock.advance(0);
    assert.equal(told.at(-1), `acquired 1 at ${ttl}`);
    await leader.stop();
    assert.deepEqual([told.at(-1), clock.pending], ['released 1', 0]);
  });

  it('an answer that comes after the time of the lease is not believed', async () => {
    const { clock, told, questions, leader } = make();
    void leader.start();
    await clock.advance(ttl);
    questions[0]!.answer(1);
    await clock.advance(0);
    assert.deepEqual([leader.fence, told], [undefined, []]);
    await clock.advance(retry);
    assert.equal(questions[1]!.now, questions[0]!.now + ttl + retry);
    questions[1]!.answer(1);
    await clock.advance(0);
    assert.deepEqual(told, [`acquired 1 at ${ttl + retry}`]);
    await leader.stop();
  });

  it('renews in time, and says nothing of it', async () => {
    const { clock, told, questions, leader } = make();
    void leader.start();
    for (let i = 0; i < 20; i++) {
      questions.at(-1)!.answer(1);
      await clock.advance(renew);
    }
    assert.deepEqual(told, ['acquired 1 at 0']);
    questions.at(-1)!.answer(2);
    await clock.advance(0);
    // Somebody else had it in between.
    assert.deepEqual(told.slice(1), [`lost at ${20 * renew}`, `acquired 2 at ${20 * renew}`]);
    questions.at(-1)!.answer(2);
    await clock.advance(renew);
    questions.at(-1)!.answer(undefined);
    await clock.advance(0);
    assert.equal(told.at(-1), `lost at ${21 * renew}`);
    const stopping = leader.stop();
    questions.at(-1)!.answer(undefined);
    await stopping;
    assert.equal(clock.pending, 0);
  });

  it("a lease that was somebody else's in between ends in its time too", async () => {
    const { clock, told, questions, leader } = make();
    void leader.start();
    questions[0]!.answer(1);
    await clock.advance(renew);
    questions[1]!.answer(2);
    await clock.advance(renew);
    questions[2]!.fail();
    await clock.advance(retry);
    questions[3]!.fail();
    assert.deepEqual(leader.fence, { lease: 'job', token: 2 });
    await clock.advance(retry);
    assert.equal(questions.length, 5);
    await clock.advance(ttl);
    assert.deepEqual([leader.fence, told.at(-1)], [undefined, `lost at ${renew + ttl}`]);
    const stopping = leader.stop();
    questions[4]!.fail();
    await stopping;
  });

  it('after a clock step past its end the lease is lost before the next question is answered', async () => {
    const { clock, told, questions, leader, step } = make();
    void leader.start();
    questions[0]!.answer(1);
    await clock.advance(0);
    step(ttl);
    await clock.advance(renew);
    assert.equal(questions.length, 2);
    assert.deepEqual([leader.fence, told.at(-1)], [undefined, `lost at ${renew}`]);
    questions[1]!.fail();
    await clock.advance(retry - 1);
    assert.equal(questions.length, 2, 'it asks without a pause');
    await leader.stop();
  });

  it('in a store of one process the lease does not end', async () => {
    const { clock, told, questions, leader } = make({ shared: false });
    void leader.start();
    questions[0]!.answer(1);
    await clock.advance(100 * ttl);
    assert.deepEqual([told, questions.length, clock.pending], [['acquired 1 at 0'], 1, 0]);
    await leader.stop();
  });
});
