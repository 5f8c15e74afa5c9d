import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { holdBack } from '../../test/resource/held-store.ts';
import { MapMedium } from '../../test/spec/map-store.ts';
import { KindredError } from '../errors.ts';
import type { CommittedWrite } from '../store/commit-queue.ts';
import type { Store, Write } from '../store/store.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { until } from '../testing/until.ts';
import { AppliedChange } from './change.ts';
import type { ModelWrite } from './feed.ts';
import { Feed } from './feed.ts';
import type { ModelMemory } from './memory.ts';
import type { RegisteredModel } from './registered-model.ts';

const piece = (text: string) => {
  const larger = Buffer.alloc(256 * 1024);
  return larger.subarray(1_000, 1_000 + larger.write(text, 1_000));
};
const registered = { parse: (bytes: Buffer) => JSON.parse(bytes.toString()) } as unknown as RegisteredModel;
const change = () =>
  new AppliedChange(
    {
      revision: 7,
      time: 0,
      type: 'update',
      model: 1,
      id: 3,
      name: 'a',
      bytes: piece('{"now":true}'),
      before: piece('{"now":false}'),
    },
    registered,
  );

test('a change that is kept does not keep the larger pieces of memory that its bytes came in', () => {
  const { bytes, before } = change();
  assert.deepEqual([bytes.toString(), before!.toString()], ['{"now":true}', '{"now":false}']);
  for (const kept of [bytes, before!]) assert(kept.buffer.byteLength <= 8_192, `${kept.buffer.byteLength} bytes`);
});

test('a change that gave up its parsed form makes it again when it is asked', () => {
  const one = change();
  const object = one.object();
  assert.equal(one.object(), object);
  one.shrink();
  assert.notEqual(one.object(), object);
  assert.deepEqual([one.object(), one.objectBefore()], [{ now: true }, { now: false }]);
});

test('a collection of what is new frees what a change of this process brought, once it was applied', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
  const one = await replica({ shared: false });
  await one.feed.start();
  const objects: WeakRef<object>[] = [];
  for (let batch = 0; batch < 300; batch++) {
    // What is there now counts as old from here on.
    if (batch === 20) collect();
    const committed = await one.own(Array.from({ length: 8 }, (_, i) => `${batch}-${i}`));
    for (const { write } of committed) {
      const object = { batch };
      objects.push(new WeakRef(object));
      Object.assign(write, { object });
    }
    one.feed.committed(committed, 1);
    await nextTurn();
  }
  for (let i = 0; i < 2; i++) collect({ type: 'minor' });
  // The newest are kept for watches that are about to join.
  const kept = objects.slice(20 * 8, -500).filter((object) => object.deref());
  assert.equal(kept.length, 0);
  one.feed.stop();
});

/** A feed of one process over a medium that others write to as well. */
async function replica(options: { shared?: boolean; medium?: MapMedium } = {}) {
  const medium = options.medium ?? new MapMedium();
  const mine = await medium.open();
  const store = options.shared === false ? new Proxy(mine, { get: unshared }) : mine;
  const model = await mine.modelNumber('demo.example.com', 'Thing');
  const held = holdBack(store);
  const clock = new FakeClock();
  const errors: string[] = [];
  /** What the memory has, in the order in which it was applied. */
  const memory: string[] = [];
  const things = {
    number: model,
    isClosed: false,
    model: registered,
    apply: ({ revision, name }: AppliedChange) => memory.push(`${revision} ${name}`),
  };
  const thingMemory = things as unknown as ModelMemory;
  let time = 0;
  let cost = 0;
  const feed = new Feed({
    store: held.store,
    memoryOf: (number) => (number === model ? thingMemory : undefined),
    monotonicNow: () => {
      time += cost;
      return time;
    },
    logger: { error: (_, message) => errors.push(message) },
    timers: clock,
  });
  const creation = (name: string, of = model, bytes = '{}'): Write => ({
    type: 'create',
    model: of,
    name,
    bytes: Buffer.from(bytes),
  });
  return {
    medium,
    held,
    clock,
    feed,
    memory,
    things,
    errors,
    model,
    creation,
    /** From now on each look at the clock takes so many milliseconds. */
    takes(milliseconds: number) {
      cost = milliseconds;
    },
    /** Another process writes. @param isTold false: nobody is told of it */
    async foreign(writes: readonly Write[], isTold = true): Promise<void> {
      if (isTold) await (await medium.open()).commit(writes, 1);
      else for (const write of writes) medium.apply(write, 1);
    },
    /** This process writes; the feed is told when `committed` is called. */
    async own(names: readonly string[]): Promise<readonly CommittedWrite[]> {
      const writes = names.map((name) => ({ ...creation(name), memory: thingMemory }) as unknown as ModelWrite);
      const results = writes.map((write) => medium.apply(write, 1));
      return writes.map((write, i) => ({ write, result: results[i] as CommittedWrite['result'] }));
    },
  };
}

function unshared(target: Store, name: string | symbol): unknown {
  if (name === 'shared') return false;
  const value = Reflect.get(target, name);
  return typeof value === 'function' ? value.bind(target) : value;
}

/** Everything that waits for nothing but its turn has had it. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await nextTurn();
}

const numbered = (count: number, from = 1) => Array.from({ length: count }, (_, i) => `${from + i} n${from + i}`);
const away = () => new KindredError('NotReady', { en: 'The database cannot be reached', zh: '数据库不可用' });

describe('a start', () => {
  test('waits for a store that is away', async () => {
    const { feed, foreign, memory, creation, held, clock } = await replica();
    await foreign([creation('n1')]);
    held.fail('revision', away());
    const started = feed.start();
    await clock.advance(1_500);
    held.fail('revision', undefined);
    held.fail('changes', away());
    await clock.advance(1_000);
    held.fail('changes', undefined);
    await clock.advance(1_000);
    await started;
    assert.equal(feed.applied, 1);
    await foreign([creation('n2')]);
    await feed.newest();
    assert.deepEqual(memory, ['2 n2']);
    feed.stop();
  });

  test('fails after 3 s, and at once when the store has another reason', async () => {
    const { feed, held, clock } = await replica();
    held.fail('revision', away());
    let isOver = false;
    const started = feed.start().finally(() => {
      isOver = true;
    });
    started.catch(() => {});
    await clock.advance(2_900);
    assert.equal(isOver, false);
    await clock.advance(1_200);
    await assert.rejects(started, { code: 'NotReady' });
    held.fail('revision', new Error('broken'));
    await assert.rejects(feed.start(), /broken/);
    assert.equal(clock.pending, 0);
  });

  test('tries no more once it is stopped, and follows nothing', async () => {
    const waiting = await replica();
    waiting.held.fail('revision', away());
    const started = waiting.feed.start();
    started.catch(() => {});
    waiting.feed.stop();
    await waiting.clock.advance(1_000);
    await assert.rejects(started, { code: 'NotReady' });
    assert.equal(waiting.clock.pending, 0);

    const answered = await replica();
    const answer = answered.held.hold('revision');
    const late = answered.feed.start();
    await settled();
    answered.feed.stop();
    answer.release();
    await late;
    assert.equal(answered.clock.pending, 0);
  });
});

describe('what other processes write', () => {
  test('is applied to the last change, in order, however much there is at once', async () => {
    const { feed, foreign, memory, creation, held } = await replica();
    await feed.start();
    await foreign(numbered(2_500).map((_, i) => creation(`n${i + 1}`)));
    await feed.newest();
    assert.deepEqual(memory, numbered(2_500));
    assert.equal(feed.applied, 2_500);
    assert.equal(held.asked.changes, 4, 'the last change, and three portions of 1,000');
    feed.stop();
  });

  test('is applied in slices: other work has its turn in between', async () => {
    const { feed, foreign, memory, creation, takes } = await replica();
    await feed.start();
    takes(1);
    await foreign(numbered(50).map((_, i) => creation(`n${i + 1}`)));
    const counts: number[] = [];
    while (memory.length < 50) {
      await nextTurn();
      counts.push(memory.length);
    }
    const steps = counts.map((count, i) => count - (counts[i - 1] ?? 0));
    assert.ok(Math.max(...steps) <= 5, `5 ms at most: ${steps}`);
    assert.deepEqual(memory, numbered(50));
    feed.stop();
  });

  test('is told to subscribers in order, each when it is applied, until they leave', async () => {
    const { feed, foreign, creation } = await replica();
    await feed.start();
    const told: number[][] = [];
    const leave = feed.subscribe({ change: ({ revision }) => told.push([revision, feed.applied]) });
    await foreign([creation('a'), creation('b')]);
    await feed.newest();
    leave();
    await foreign([creation('c')]);
    await feed.newest();
    assert.deepEqual(told, [
      [1, 1],
      [2, 2],
    ]);
    feed.stop();
  });

  test('counts as applied when it is of a model that is not registered', async () => {
    const { feed, foreign, creation, memory, medium } = await replica();
    const other = await (await medium.open()).modelNumber('demo.example.com', 'Other');
    await feed.start();
    await foreign([creation('a', other), creation('b'), creation('c', other)]);
    await feed.newest();
    assert.deepEqual([memory, feed.applied], [['2 b'], 3]);
    feed.stop();
  });

  test('is noticed by a heartbeat without a notification', async () => {
    const { feed, foreign, creation, memory, clock } = await replica();
    await feed.start();
    await foreign([creation('a')], false);
    await clock.advance(499);
    assert.deepEqual(memory, []);
    await clock.advance(1);
    await settled();
    assert.deepEqual(memory, ['1 a']);
    feed.stop();
    assert.equal(clock.pending, 0, 'no timer is left');
  });

  test('is read again, at growing pauses, while the log is away; the log says so once', async () => {
    const { feed, foreign, creation, memory, clock, held, errors } = await replica();
    await feed.start();
    const before = held.asked.changes;
    held.fail('changes', away());
    await foreign([creation('a')]);
    await settled();
    for (const pause of [10, 20, 40, 80]) {
      await clock.advance(pause - 1);
      const asked = held.asked.changes;
      await clock.advance(1);
      assert.equal(held.asked.changes, asked + 1, `after ${pause} ms`);
    }
    assert.equal(held.asked.changes, before + 5);
    assert.equal(errors.length, 1);
    held.fail('changes', undefined);
    await clock.advance(160);
    assert.deepEqual(memory, ['1 a']);
    feed.stop();
  });

  test('is waited for when the log has not yet what is known to be committed', async () => {
    const { feed, foreign, creation, memory, clock, held } = await replica();
    await feed.start();
    const late = held.hold('changes');
    const reached = feed.at(1);
    await settled();
    await foreign([creation('a')], false);
    // The answer is of before.
    late.release();
    await settled();
    assert.deepEqual(memory, []);
    await clock.advance(10);
    await reached;
    assert.deepEqual(memory, ['1 a']);
    feed.stop();
  });
});

describe('a read', () => {
  test('api: sees every write acknowledged before it, also when a question was under way by then', async () => {
    const { feed, foreign, creation, memory, held } = await replica();
    await feed.start();
    const answers = held.hold('revision');
    const early = feed.current()!;
    await settled();
    await foreign([creation('a')], false);
    let seen: string[] | undefined;
    const late = feed.current()!.then(() => {
      seen = [...memory];
    });
    answers.one();
    await early;
    await settled();
    assert.equal(seen, undefined, 'the answer to a question from before the write is not enough');
    answers.release();
    await late;
    assert.deepEqual(seen, ['1 a']);
    feed.stop();
  });

  test('shares the next question with all who ask meanwhile', async () => {
    const { feed, held } = await replica();
    await feed.start();
    const before = held.asked.revision;
    const answers = held.hold('revision');
    const reads = Array.from({ length: 20 }, () => feed.current());
    await settled();
    answers.one();
    await settled();
    const more = Array.from({ length: 20 }, () => feed.current());
    await settled();
    answers.release();
    await Promise.all([...reads, ...more]);
    assert.equal(held.asked.revision, before + 3, 'the first, those who came during it, those who came during that');
    feed.stop();
  });

  test('goes on when the question before it failed', async () => {
    const { feed, held } = await replica();
    await feed.start();
    const answers = held.hold('revision', { before: true });
    held.fail('revision', away());
    const first = feed.current()!;
    const second = feed.current()!;
    await settled();
    answers.one();
    await assert.rejects(first, { code: 'NotReady' });
    held.fail('revision', undefined);
    await settled();
    answers.release();
    await second;
    await feed.current();
    feed.stop();
  });

  test('api: is refused after 1.8 s without an answer, and not before', async () => {
    const { feed, held, clock } = await replica();
    await feed.start();
    const answers = held.hold('revision');
    const refused: KindredError[] = [];
    feed.current()!.catch((error: KindredError) => refused.push(error));
    await clock.advance(1_799);
    assert.equal(refused.length, 0);
    await clock.advance(1);
    assert.deepEqual([refused[0]?.code, refused[0]?.headers?.['retry-after']], ['NotReady', '1']);
    answers.release();
    feed.stop();
  });

  test('waits for nothing on a store of one process', async () => {
    const { feed, held } = await replica({ shared: false });
    await feed.start();
    const before = held.asked.revision;
    assert.equal(feed.current(), undefined);
    assert.equal(held.asked.revision, before);
    feed.stop();
  });

  test('health: unreachable while the store does not answer, and no longer than that', async () => {
    const { feed, held, clock } = await replica();
    await feed.start();
    assert.equal(feed.reachable, true);
    held.fail('revision', away());
    await clock.advance(500);
    assert.equal(feed.reachable, false);
    held.fail('revision', undefined);
    await clock.advance(500);
    assert.equal(feed.reachable, true);
    const answers = held.hold('revision');
    await clock.advance(500 + 1_800);
    assert.equal(feed.reachable, false, 'a question without an answer');
    answers.release();
    feed.stop();
  });
});

describe('what this process writes', () => {
  test('is applied from what its writer knows: the log is not read', async () => {
    const { feed, own, memory, held } = await replica();
    await feed.start();
    const before = held.asked.changes;
    feed.committed(await own(['n1', 'n2']), 1);
    assert.deepEqual(memory, numbered(2));
    assert.equal(held.asked.changes, before);
    feed.stop();
  });

  test('waits for what others committed before it, and nothing comes twice', async () => {
    const { feed, own, foreign, creation, memory } = await replica();
    await feed.start();
    const first = await own(['n1']);
    await foreign([creation('n2')], false);
    const third = await own(['n3']);
    feed.committed(third, 1);
    assert.deepEqual(memory, [], 'not before the others');
    feed.committed(first, 1);
    assert.deepEqual(memory, ['1 n1']);
    await feed.at(3);
    assert.deepEqual(memory, numbered(3));
    feed.stop();
  });

  test('is not applied again when the log told of it before the answer to the commit came', async () => {
    const { feed, own, memory } = await replica();
    await feed.start();
    const batch = await own(['n1', 'n2']);
    await feed.newest();
    assert.deepEqual(memory, numbered(2));
    feed.committed(batch, 1);
    await feed.newest();
    assert.deepEqual(memory, numbered(2));
    feed.committed(await own(['n3']), 1);
    assert.deepEqual(memory, numbered(3));
    feed.stop();
  });

  test('counts for the model as it is now when that was registered anew meanwhile', async () => {
    const { feed, own, memory, things } = await replica();
    await feed.start();
    const former = { ...things, isClosed: true, apply: () => memory.push('to the former model') };
    const batch = (await own(['n1'])).map(({ write, result }) => ({ write: { ...write, memory: former }, result }));
    feed.committed(batch, 1);
    assert.deepEqual(memory, ['1 n1']);
    feed.stop();
  });
});

describe('an export', () => {
  test('api: sees the revision of its snapshot and nothing later, although changes come while it is opened', async () => {
    const { feed, foreign, own, creation, memory, held } = await replica();
    await feed.start();
    await foreign([creation('n1')], false);
    const opening = held.hold('snapshot');
    const inside: [number, number][] = [];
    const released = Promise.withResolvers<void>();
    const exported = feed.hold(
      () => held.store.snapshot(),
      async () => {
        inside.push([feed.applied, memory.length]);
        await released.promise;
        inside.push([feed.applied, memory.length]);
      },
    );
    await settled();
    assert.equal(opening.waiting, 1);
    await foreign([creation('n2'), creation('n3')]);
    feed.committed(await own(['n4']), 1);
    await settled();
    opening.release();
    await settled();
    await foreign([creation('n5')]);
    feed.committed(await own(['n6']), 1);
    await settled();
    released.resolve();
    await exported;
    assert.deepEqual(inside, [
      [1, 1],
      [1, 1],
    ]);
    await Promise.all([feed.at(6), until(() => memory.length === 6)]);
    assert.deepEqual(memory, numbered(6));
    feed.stop();
  });

  test('a write of a process that has the store alone is not over before reads show it, however long an export holds it back', async () => {
    const { feed, own, held, clock } = await replica({ shared: false });
    await feed.start();
    const released = Promise.withResolvers<void>();
    const exported = feed.hold(
      () => held.store.snapshot(),
      () => released.promise,
    );
    await settled();
    feed.committed(await own(['n1']), 1);
    let isShown = false;
    const shown = feed.shown(1).then(() => {
      isShown = true;
    });
    await clock.advance(10_000);
    await settled();
    assert.deepEqual([isShown, feed.applied], [false, 0]);
    released.resolve();
    await Promise.all([exported, shown]);
    assert.equal(feed.applied, 1);
    feed.stop();
  });

  test('a write on a shared store is over after 2 s although an export holds it back: reads wait for it themselves', async () => {
    const { feed, own, held, clock } = await replica();
    await feed.start();
    const released = Promise.withResolvers<void>();
    const exported = feed.hold(
      () => held.store.snapshot(),
      () => released.promise,
    );
    await settled();
    feed.committed(await own(['n1']), 1);
    const shown = feed.shown(1);
    await settled();
    await clock.advance(1_800);
    await shown;
    assert.equal(feed.applied, 0);
    const read = assert.rejects(feed.current()!, { code: 'NotReady' });
    await settled();
    await clock.advance(1_800);
    await read;
    released.resolve();
    await exported;
    feed.stop();
  });

  test('waits until the memory has the revision of its snapshot', async () => {
    const { feed, foreign, creation, memory, held } = await replica();
    await feed.start();
    const log = held.hold('changes');
    await foreign(numbered(3).map((_, i) => creation(`n${i + 1}`)));
    let inside: number | undefined;
    const exported = feed.hold(
      () => held.store.snapshot(),
      () => {
        inside = feed.applied;
      },
    );
    await settled();
    assert.equal(inside, undefined);
    log.release();
    await exported;
    assert.deepEqual([inside, memory.length], [3, 3]);
    feed.stop();
  });

  for (const turns of [0, 1, 2, 3, 4]) {
    test(`that ends after ${turns} turns, while the log is being applied, leaves no change out`, async () => {
      const { feed, foreign, creation, memory, takes } = await replica();
      await feed.start();
      // One change in a turn.
      takes(50);
      const exported = feed.hold(
        async () => ({ revision: 1 }),
        async () => {
          for (let i = 0; i < turns; i++) await nextTurn();
        },
      );
      await foreign(numbered(6).map((_, i) => creation(`n${i + 1}`)));
      await exported;
      await feed.at(6);
      assert.deepEqual(memory, numbered(6));
      feed.stop();
    });
  }

  test('that fails, when it is opened or later, holds nothing back afterwards', async () => {
    const { feed, foreign, creation, memory, clock } = await replica();
    await feed.start();
    const newest = async (count: number) => {
      const reached = feed.newest();
      await Promise.all([reached, clock.advance(1_800), until(() => memory.length === count)]);
    };
    await assert.rejects(
      feed.hold(
        () => Promise.reject(away()),
        () => {},
      ),
      { code: 'NotReady' },
    );
    await foreign([creation('n1')]);
    await newest(1);
    const inside = feed.hold(
      async () => ({ revision: 1 }),
      () => {
        throw new Error('no');
      },
    );
    await assert.rejects(inside, /no/);
    await foreign([creation('n2')]);
    await newest(2);
    assert.deepEqual(memory, numbered(2));
    feed.stop();
  });

  test('comes after the one before it, with a turn for others in between', async () => {
    const { feed } = await replica();
    await feed.start();
    const order: string[] = [];
    const all = ['a', 'b', 'c'].map((name) =>
      feed.hold(
        async () => ({ revision: 0 }),
        () => {
          order.push(name);
        },
      ),
    );
    const counts: number[] = [];
    while (order.length < 3) {
      await nextTurn();
      counts.push(order.length);
    }
    await Promise.all(all);
    assert.deepEqual(order, ['a', 'b', 'c']);
    assert.ok(
      counts.every((count, i) => count - (counts[i - 1] ?? 0) <= 1),
      `${counts}`,
    );
    feed.stop();
  });
});

describe('the memory of the last changes', () => {
  /** For every revision: nothing, or everything after it. */
  function check(feed: Feed): number {
    let oldest = -1;
    for (let since = 0; since <= feed.applied; since++) {
      const recent = feed.recent(since)?.map(({ revision }) => revision);
      if (!recent) {
        assert.equal(oldest, -1, `${since} is gone, and an older one is there`);
        continue;
      }
      if (oldest < 0) oldest = since;
      const all = Array.from({ length: feed.applied - since }, (_, i) => since + 1 + i);
      assert.deepEqual(recent, all, `after ${since}`);
    }
    return oldest;
  }

  test('has all changes after a revision or says that it has not, also at the one just dropped', async () => {
    const { feed, own } = await replica();
    await feed.start();
    const oldest: number[] = [];
    for (let at = 1; at <= 1_100; at++) {
      feed.committed(await own([`n${at}`]), 1);
      if (at % 256 > 254 || at % 256 < 2) oldest.push(check(feed));
    }
    assert.equal(oldest[0], 0);
    assert.ok(oldest.at(-1)! >= 512, 'what is kept is bounded');
    assert.ok(feed.applied - oldest.at(-1)! >= 256, 'at least half of that is there');
    feed.stop();
  });

  test('is bounded by bytes too', async () => {
    const { feed, foreign, creation, model } = await replica();
    await feed.start();
    const large = JSON.stringify('x'.repeat(2 ** 20));
    for (let at = 1; at <= 12; at++) await foreign([creation(`n${at}`, model, large)]);
    await feed.newest();
    const oldest = check(feed);
    assert.ok(oldest >= 4 && oldest <= 11, `${oldest}`);
    feed.stop();
  });

  test('begins where the process began', async () => {
    const { feed, foreign, creation } = await replica();
    await foreign([creation('n1'), creation('n2')]);
    await feed.start();
    assert.deepEqual([feed.recent(1), feed.recent(2)], [undefined, []]);
    feed.stop();
  });
});

describe('the log', () => {
  test('is read in portions, of all registered models or of one', async () => {
    const { feed, foreign, creation, medium, model } = await replica();
    const other = await (await medium.open()).modelNumber('demo.example.com', 'Other');
    await feed.start();
    await foreign([1, 2, 3, 4, 5, 6].map((i) => creation(`n${i}`, i % 2 === 0 ? model : other)));
    await feed.newest();
    const read = async (since: number, limit: number, of?: number) => {
      const { changes, through } = await feed.changes(since, limit, of === undefined ? {} : { model: of });
      return [changes.map(({ revision }) => revision), through];
    };
    assert.deepEqual(await read(0, 3), [[2], 3]);
    assert.deepEqual(await read(3, 10), [[4, 6], 6]);
    assert.deepEqual(await read(0, 2, model), [[2, 4], 4]);
    assert.deepEqual(await read(5, 10, other), [[], 6], 'there is none up to what is applied');
    feed.stop();
  });

  test('says of a model without changes no more than was applied before the question', async () => {
    const { feed, foreign, creation, held, model } = await replica();
    await feed.start();
    const answers = held.hold('changes', { only: (_since, _limit, narrow) => narrow !== undefined });
    const reading = feed.changes(0, 10, { model });
    await settled();
    // The answer is of before.
    await foreign([creation('n1')], false);
    await feed.newest();
    answers.release();
    assert.deepEqual([await reading, feed.applied], [{ changes: [], unregistered: [], through: 0 }, 1]);
    feed.stop();
  });

  test('that reaches back no longer has everything read anew, once; who waits goes on', async () => {
    const { feed, foreign, creation, memory, medium } = await replica();
    await feed.start();
    let resyncs = 0;
    feed.subscribe({ resync: () => resyncs++ });
    await foreign(
      numbered(30).map((_, i) => creation(`n${i + 1}`)),
      false,
    );
    await (await medium.open()).compact(5, 10);
    await feed.newest();
    assert.deepEqual([memory, feed.applied, resyncs], [[], 30, 1]);
    assert.deepEqual([feed.recent(29), feed.recent(30)], [undefined, []]);
    await foreign([creation('n31')]);
    await feed.newest();
    assert.deepEqual([memory, resyncs], [['31 n31'], 1]);
    feed.stop();
  });

  test('is not read any more once the feed is stopped', async () => {
    const { feed, foreign, creation, held, clock, memory } = await replica();
    await feed.start();
    const log = held.hold('changes');
    await foreign([creation('n1')]);
    await settled();
    feed.stop();
    log.release();
    await settled();
    const { changes } = held.asked;
    await foreign([creation('n2')]);
    await clock.advance(10_000);
    assert.deepEqual([held.asked.changes, memory, clock.pending], [changes, [], 0]);
  });
});

describe('a new connection to the database', () => {
  test('to the same history changes nothing; who reads waits until that is known', async () => {
    const { feed, foreign, creation, held, memory } = await replica();
    await feed.start();
    await foreign([creation('n1')]);
    await feed.newest();
    const log = held.hold('changes');
    held.connections++;
    let isRead = false;
    const read = feed.current()!.then(() => {
      isRead = true;
    });
    await settled();
    assert.equal(isRead, false);
    log.release();
    await read;
    await foreign([creation('n2')]);
    await feed.newest();
    assert.deepEqual([memory, feed.readAnew], [numbered(2), { log: 0, history: 0 }]);
    feed.stop();
  });

  for (const [title, lose] of [
    ['that has another change in the place of the last', (medium: MapMedium) => medium.changes.pop()],
    ['that lost the last changes', (medium: MapMedium) => medium.changes.splice(-2)],
  ] as const) {
    test(`to a history ${title} has everything read anew`, async () => {
      const { feed, foreign, creation, held, medium, memory } = await replica();
      await feed.start();
      await foreign([creation('n1'), creation('n2'), creation('n3')]);
      await feed.newest();
      let resyncs = 0;
      feed.subscribe({ resync: () => resyncs++ });
      lose(medium);
      medium.revision = medium.changes.length;
      if (medium.revision === 2) await foreign([creation('other')], false);
      held.connections++;
      await feed.newest();
      assert.deepEqual([resyncs, feed.readAnew.history, feed.applied], [1, 1, medium.revision]);
      await foreign([creation('after')]);
      await feed.newest();
      assert.equal(memory.at(-1), `${medium.revision} after`);
      feed.stop();
    });
  }
});
