import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { sliceLength, TimeSlice, TurnQueue } from './time-slice.ts';

/** Numbers the turns of the event loop until the test ends. */
function countTurns(context: TestContext): () => number {
  let turn = 0;
  let next = setImmediate(function count() {
    turn++;
    next = setImmediate(count);
  });
  context.after(() => clearImmediate(next));
  return () => turn;
}

test('a slice is over after its length, and renewed begins again', async () => {
  let time = 0;
  const slice = new TimeSlice(() => time);
  assert.equal(slice.isOver, false);
  time = sliceLength - 1;
  assert.equal(slice.isOver, false);
  time = sliceLength;
  assert.equal(slice.isOver, true);
  await slice.renew();
  assert.equal(slice.isOver, false);
  time = 2 * sliceLength;
  assert.equal(slice.isOver, true);
});

test('works that ask at the same time go on one after another, for one slice in each turn', async (context) => {
  let time = 0;
  const queue = new TurnQueue(() => time);
  const turn = countTurns(context);
  const begun: string[] = [];
  /** Three parts that take two milliseconds each. */
  async function work(name: string): Promise<void> {
    for (let part = 1; part <= 3; part++) {
      await queue.next();
      // Behind a few microtasks, as in functions that wait for each other.
      await Promise.resolve().then(() => undefined);
      begun.push(`${name}${part} in ${turn()}`);
      time += 2;
    }
  }
  const works = ['a', 'b', 'c', 'd', 'e', 'f'];
  await Promise.all(works.map(work));
  assert.deepEqual(
    begun.map((one) => one.slice(0, 2)),
    [1, 2, 3].flatMap((part) => works.map((name) => `${name}${part}`)),
  );
  const inTurn = new Map<string, number>();
  for (const one of begun) {
    const [, number] = one.split(' in ') as [string, string];
    inTurn.set(number, (inTurn.get(number) ?? 0) + 1);
  }
  // What was begun within the slice ends as it may: five milliseconds have room for the beginning of three parts.
  assert.ok(
    [...inTurn.values()].every((count) => count <= 3),
    begun.join(),
  );
  assert.ok([...inTurn.values()].some((count) => count === 3));
});

test('a turn of the queue is a later one, also when nobody else waits', async (context) => {
  const queue = new TurnQueue(() => 0);
  const turn = countTurns(context);
  const before = turn();
  await queue.next();
  await queue.next();
  assert.ok(turn() > before);
});
