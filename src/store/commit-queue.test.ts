import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CommittedWrite } from './commit-queue.ts';
import { CommitQueue } from './commit-queue.ts';
import { notReady, unknownOutcome } from './failure.ts';
import type { Store, Write, WriteResult } from './store.ts';

/** A store whose commits are answered by hand. */
function manualStore() {
  const batches: {
    writes: readonly Write[];
    answer(result?: readonly WriteResult[]): void;
    fail(error: Error): void;
  }[] = [];
  let revision = 0;
  const store = {
    commit: (writes: readonly Write[]) =>
      new Promise<readonly WriteResult[]>((resolve, reject) => {
        const answer = (results?: readonly WriteResult[]): void =>
          resolve(results ?? writes.map(() => ({ ok: true, id: ++revision, revision })));
        batches.push({ writes, answer, fail: reject });
      }),
  } as unknown as Store;
  return { store, batches };
}

/** A monotonic time that the test advances, and a clock that it can set. */
function manualTime() {
  let now = 0;
  let ahead = 0;
  let timers: { at: number; callback: () => void }[] = [];
  return {
    now: () => now + ahead,
    monotonicNow: () => now,
    timers: {
      after: (milliseconds: number, callback: () => void) => {
        const timer = { at: now + milliseconds, callback };
        timers.push(timer);
        return () => {
          timers = timers.filter((one) => one !== timer);
        };
      },
    },
    setClock(milliseconds: number) {
      ahead = milliseconds;
    },
    pass(milliseconds: number) {
      now += milliseconds;
      const due = timers.filter((timer) => timer.at <= now);
      timers = timers.filter((timer) => timer.at > now);
      for (const timer of due) timer.callback();
    },
    pending: () => timers.length,
  };
}

const write = (name: string, size = 1): Write => ({ type: 'create', model: 1, name, bytes: new Uint8Array(size) });
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
const names = (batch: { writes: readonly Write[] } | undefined): string[] =>
  (batch?.writes ?? []).map((one) => one.name);

function withCode(code: string): (error: unknown) => boolean {
  return (error) => (error as { code?: string }).code === code;
}

describe('CommitQueue', () => {
  it('gathers what arrives while a commit is under way into the next one', async () => {
    const { store, batches } = manualStore();
    const queue = new CommitQueue(store, { now: () => 5 });
    const first = [queue.commit(write('a')), queue.commit(write('b'))];
    await turn();
    assert.deepEqual(names(batches[0]), ['a', 'b']);
    const second = [queue.commit(write('c')), queue.commit(write('d'))];
    await turn();
    assert.equal(batches.length, 1);
    batches[0]!.answer();
    assert.deepEqual(await Promise.all(first), [
      { ok: true, id: 1, revision: 1 },
      { ok: true, id: 2, revision: 2 },
    ]);
    assert.deepEqual(names(batches[1]), ['c', 'd']);
    batches[1]!.answer();
    await Promise.all(second);
    assert.equal(queue.length, 0);
  });

  it('tells how long the oldest write has been there, waiting or under way', async () => {
    const { store, batches } = manualStore();
    const { pass, ...time } = manualTime();
    const queue = new CommitQueue(store, time);
    assert.equal(queue.age, 0);
    const first = queue.commit(write('a'));
    pass(3);
    assert.equal(queue.age, 3);
    await turn();
    const second = queue.commit(write('b'));
    pass(4);
    assert.equal(queue.age, 7);
    batches[0]!.answer();
    await first;
    assert.equal(queue.age, 4);
    await turn();
    batches[1]!.answer();
    await second;
    await turn();
    assert.equal(queue.age, 0);
  });

  it('begins the next commit in the same turn when the store has the answer and as many writes wait', async () => {
    const { store, batches } = manualStore();
    let asked = 0;
    let isThere = false;
    const receive = () => {
      asked++;
      if (isThere) batches.at(-1)!.answer();
      return isThere;
    };
    const queue = new CommitQueue({ commit: store.commit, receive }, { now: () => 5 });
    const writes = [queue.commit(write('a')), queue.commit(write('b'))];
    await turn();
    writes.push(queue.commit(write('c')));
    assert.equal(asked, 0);
    writes.push(queue.commit(write('d')));
    assert.equal(asked, 1);
    isThere = true;
    writes.push(queue.commit(write('e')));
    await Promise.all(writes.slice(0, 2));
    assert.deepEqual(names(batches[1]), ['c', 'd', 'e']);
    batches[1]!.answer();
    await Promise.all(writes);
  });

  it('leaves turns to the event loop when writes go on without it', async () => {
    const { store, batches } = manualStore();
    const receive = () => {
      batches.at(-1)!.answer();
      return true;
    };
    const queue = new CommitQueue({ commit: store.commit, receive }, { now: () => 5 });
    const writer = async (): Promise<void> => {
      for (let i = 0; i < 50; i++) await queue.commit(write('a'));
    };
    const first = writer();
    await turn();
    let isOver = false;
    const writers = Promise.all([first, writer()]).then(() => {
      isOver = true;
    });
    let turns = 0;
    while (!isOver) {
      await turn();
      turns++;
      // As the event loop would.
      batches.at(-1)!.answer();
    }
    await writers;
    assert.ok(turns > 25, `${turns} turns for ${batches.length} commits`);
  });

  it('gives the store the next batch before it tells of the one before', async () => {
    const { store, batches } = manualStore();
    const sent: number[] = [];
    const queue = new CommitQueue(store, { now: () => 0, onCommitted: () => sent.push(batches.length) });
    const first = queue.commit(write('a'));
    await turn();
    const second = queue.commit(write('b'));
    batches[0]!.answer();
    await first;
    batches[1]!.answer();
    await second;
    assert.deepEqual(sent, [2, 2]);
  });

  it('tells of a large batch in several turns of the event loop, in order', async () => {
    for (const [cost, most] of [
      [0, 32],
      [1, 8],
    ] as const) {
      const { store, batches } = manualStore();
      const told: number[] = [];
      let time = 0;
      const queue = new CommitQueue(store, {
        now: () => 0,
        monotonicNow: () => time,
        onCommitted: (batch) => {
          for (const { result } of batch) told.push(result.revision);
          time += cost * batch.length;
        },
      });
      let answered = 0;
      const all = Array.from({ length: 150 }, (_, i) => queue.commit(write(`w${i}`)).then(() => answered++));
      await turn();
      batches[0]!.answer();
      const turns: number[] = [];
      while (answered < 150) {
        const before = answered;
        await new Promise((resolve) => setImmediate(resolve));
        assert.equal(answered, told.length);
        turns.push(answered - before);
      }
      await Promise.all(all);
      assert.equal(Math.max(...turns), most, `a write takes ${cost} ms: others have their turn in between`);
      assert.deepEqual(
        told,
        Array.from({ length: 150 }, (_, i) => i + 1),
      );
    }
  });

  it('cuts batches by count and by bytes, and sends a single large write alone', async () => {
    const { store, batches } = manualStore();
    const queue = new CommitQueue(store, { now: () => 0, maxWrites: 2, maxBytes: 10 });
    const all = ['a', 'b', 'c'].map((name) => queue.commit(write(name)));
    all.push(queue.commit(write('large', 100)), queue.commit(write('d', 6)), queue.commit(write('e', 6)));
    for (let i = 0; i < 5; i++) {
      await turn();
      batches[i]!.answer();
    }
    await Promise.all(all);
    assert.deepEqual(batches.map(names), [['a', 'b'], ['c'], ['large'], ['d'], ['e']]);
  });

  it('tells of successful writes in revision order before their promises resolve', async () => {
    const { store, batches } = manualStore();
    const order: string[] = [];
    const told: (readonly CommittedWrite[])[] = [];
    const queue = new CommitQueue(store, {
      now: () => 7,
      onCommitted: (batch, time) => {
        assert.equal(time, 7);
        told.push(batch);
        order.push('told');
      },
    });
    const all = ['a', 'b', 'c'].map((name) => queue.commit(write(name)).then(() => order.push(name)));
    await turn();
    batches[0]!.answer([
      { ok: true, id: 4, revision: 4 },
      { ok: false, reason: 'exists' },
      { ok: true, id: 5, revision: 5 },
    ]);
    await Promise.all(all);
    assert.deepEqual(order, ['told', 'a', 'b', 'c']);
    assert.deepEqual(
      told[0]!.map(({ write: one, result }) => [one.name, result.revision]),
      [
        ['a', 4],
        ['c', 5],
      ],
    );
  });

  it('refuses a write when too many wait, and takes further ones later', async () => {
    const { store, batches } = manualStore();
    const queue = new CommitQueue(store, { now: () => 0, maxWaiting: 2, maxWaitingBytes: 10 });
    const all = [queue.commit(write('a'))];
    await turn();
    all.push(queue.commit(write('b', 6)));
    await assert.rejects(queue.commit(write('c', 6)), withCode('NotReady'));
    all.push(queue.commit(write('d', 4)));
    await assert.rejects(queue.commit(write('e', 0)), withCode('NotReady'));
    batches[0]!.answer();
    await turn();
    batches[1]!.answer();
    await Promise.all(all);
    assert.deepEqual(batches.map(names), [['a'], ['b', 'd']]);
  });

  it('answers UnknownOutcome after the time-out, NotReady to what was not sent, and still tells of the commit', async () => {
    const { store, batches } = manualStore();
    const time = manualTime();
    const told: string[] = [];
    const queue = new CommitQueue(store, {
      ...time,
      onCommitted: (batch) => told.push(...batch.map((one) => one.write.name)),
    });
    const sent = assert.rejects(queue.commit(write('sent')), withCode('UnknownOutcome'));
    await turn();
    time.pass(4_000);
    const waiting = assert.rejects(queue.commit(write('waiting')), withCode('NotReady'));
    time.pass(6_000);
    await sent;
    const late = queue.commit(write('late'));
    time.pass(4_000);
    await waiting;
    assert.deepEqual(told, []);
    batches[0]!.answer();
    await turn();
    assert.deepEqual(told, ['sent']);
    assert.deepEqual(names(batches[1]), ['late']);
    batches[1]!.answer();
    await late;
    await queue.stop();
    assert.equal(time.pending(), 0);
  });

  it('waits for the same time when the clock is set meanwhile', async () => {
    for (const clock of [3_600_000, -3_600_000]) {
      const { store, batches } = manualStore();
      const time = manualTime();
      const queue = new CommitQueue(store, time);
      const answers: string[] = [];
      const ends = ({ code }: { code: string }) => void answers.push(code);
      const sent = queue.commit(write('sent')).catch(ends);
      await turn();
      time.pass(4_000);
      const waiting = queue.commit(write('waiting')).catch(ends);
      time.setClock(clock);
      assert.equal(queue.age, 4_000);
      time.pass(6_000);
      await turn();
      assert.deepEqual(answers, ['UnknownOutcome']);
      time.pass(4_000);
      await turn();
      assert.deepEqual(answers, ['UnknownOutcome', 'NotReady']);
      batches[0]!.answer();
      await Promise.all([sent, waiting]);
    }
  });

  it('gives the bytes of writes back that timed out while they waited', async () => {
    const { store, batches } = manualStore();
    const time = manualTime();
    const queue = new CommitQueue(store, { ...time, maxWaitingBytes: 10 });
    const sent = assert.rejects(queue.commit(write('sent')), withCode('UnknownOutcome'));
    await turn();
    for (let round = 0; round < 3; round++) {
      const waiting = ['a', 'b'].map((name) => assert.rejects(queue.commit(write(name, 5)), withCode('NotReady')));
      await assert.rejects(queue.commit(write('one more', 1)), withCode('NotReady'));
      time.pass(10_000);
      await Promise.all(waiting);
    }
    await sent;
    const taken = [queue.commit(write('c', 5)), queue.commit(write('d', 5))];
    batches[0]!.answer();
    await turn();
    assert.deepEqual(names(batches[1]), ['c', 'd']);
    batches[1]!.answer();
    await Promise.all(taken);
  });

  it('hands a failure to every member, and waits for the mirror to catch up when the outcome is unknown', async () => {
    const { store, batches } = manualStore();
    let caughtUp = (): void => undefined;
    let unknown = 0;
    const queue = new CommitQueue(store, {
      now: () => 0,
      onUnknown: () => {
        unknown++;
        return new Promise<void>((resolve) => {
          caughtUp = resolve;
        });
      },
    });
    const away = ['a', 'b'].map((name) => assert.rejects(queue.commit(write(name)), withCode('NotReady')));
    await turn();
    batches[0]!.fail(notReady('away'));
    await Promise.all(away);
    assert.equal(unknown, 0);

    const open = assert.rejects(queue.commit(write('c')), withCode('UnknownOutcome'));
    await turn();
    const next = queue.commit(write('d'));
    batches[1]!.fail(unknownOutcome('broken'));
    await turn();
    assert.equal(unknown, 1);
    assert.equal(batches.length, 2);
    caughtUp();
    await open;
    await turn();
    batches[2]!.answer();
    await next;
  });

  it('stop answers what was accepted and refuses the rest', async () => {
    const { store, batches } = manualStore();
    const queue = new CommitQueue(store, { now: () => 0 });
    const accepted = queue.commit(write('a'));
    let stopped = false;
    const stop = queue.stop().then(() => {
      stopped = true;
    });
    await assert.rejects(queue.commit(write('b')), withCode('NotReady'));
    await turn();
    assert.equal(stopped, false);
    batches[0]!.answer();
    await stop;
    assert.deepEqual(await accepted, { ok: true, id: 1, revision: 1 });
    await new CommitQueue(store, { now: () => 0 }).stop();
  });

  it('tells once that nothing more comes of a write: after the mirror, and not when its caller was answered', async () => {
    const { store, batches } = manualStore();
    const time = manualTime();
    const told: string[] = [];
    const queue = new CommitQueue(store, {
      ...time,
      onCommitted: (batch) => told.push(`mirrored ${batch.map(({ write }) => write.name)}`),
      onUnknown: async () => void told.push('log read'),
    });
    const commit = (name: string) =>
      queue
        .commit(write(name), (result) =>
          told.push(`${name} ${result ? (result.ok ? 'applied' : result.reason) : 'not'}`),
        )
        .catch(({ code }) => told.push(`${name} ${code}`));
    const first = commit('a');
    await turn();
    const second = commit('b');
    time.pass(10_000);
    await Promise.all([first, second]);
    assert.deepEqual(told.splice(0), ['b not', 'a UnknownOutcome', 'b NotReady']);
    batches[0]!.answer();
    await turn();
    assert.deepEqual(told.splice(0), ['mirrored a', 'a applied']);
    const [third, fourth] = [commit('c'), commit('d')];
    await turn();
    batches[1]!.answer([
      { ok: true, id: 2, revision: 2 },
      { ok: false, reason: 'exists' },
    ]);
    await Promise.all([third, fourth]);
    assert.deepEqual(told.splice(0), ['mirrored c', 'c applied', 'd exists']);
    const fifth = commit('e');
    await turn();
    batches[2]!.fail(unknownOutcome('x'));
    await fifth;
    assert.deepEqual(told.splice(0), ['log read', 'e not', 'e UnknownOutcome']);
    await queue.stop();
    await commit('f');
    assert.deepEqual(told, ['f not', 'f NotReady']);
  });
});
