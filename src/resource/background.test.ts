import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { perTurn } from '../../test/resource/per-turn.ts';
import { Background } from './background.ts';

/** A background whose time passes when a piece says so. */
function timed(width = 2) {
  let time = 0;
  const background = new Background({ width, now: () => time });
  return {
    background,
    pass(milliseconds: number) {
      time += milliseconds;
    },
  };
}

test('run resolves or rejects as its piece does', async () => {
  const { background } = timed();
  assert.equal(await background.run('ada', () => 1), 1);
  assert.equal(await background.run('ada', async () => 2), 2);
  await assert.rejects(
    background.run('ada', () => {
      throw new Error('at once');
    }),
    /at once/,
  );
  await assert.rejects(
    background.run('ada', async () => {
      throw new Error('later');
    }),
    /later/,
  );
  assert.equal(await background.run('ada', () => 3), 3);
});

test('all pieces together hold the event loop for one slice in a turn', async () => {
  const { background, pass } = timed();
  const turns = perTurn();
  const all = Array.from({ length: 100 }, (_, i) =>
    background.run(`user-${i % 7}`, () => {
      pass(1);
      turns.count();
    }),
  );
  await Promise.all(all);
  turns.stop();
  assert.ok(Math.max(...turns.counts) <= 5, `pieces of 1 ms in a turn: ${turns.counts}`);
  assert.ok(turns.counts.length <= 22, 'a slice is used');
});

test('isOver says when a piece should end, also one that waited for the store', async () => {
  const { background, pass } = timed();
  const looks: boolean[] = [];
  await background.run('ada', async () => {
    looks.push(background.isOver);
    pass(4);
    looks.push(background.isOver);
    pass(1);
    looks.push(background.isOver);
    await nextTurn();
    await nextTurn();
    looks.push(background.isOver);
  });
  assert.deepEqual(looks, [false, false, true, false]);
});

test('no more pieces than the width are under way', async () => {
  const { background } = timed(2);
  let underWay = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      background.run('ada', async () => {
        most = Math.max(most, ++underWay);
        for (let turn = 0; turn <= i % 3; turn++) await nextTurn();
        underWay--;
      }),
    ),
  );
  assert.equal(most, 2);
});

test('one with few pieces does not wait for one with many', async () => {
  const { background, pass } = timed(1);
  const order: string[] = [];
  const ask = (who: string, count: number) =>
    Array.from({ length: count }, () =>
      background.run(who, () => {
        pass(5);
        order.push(who);
      }),
    );
  await Promise.all([...ask('much', 50), ...ask('some', 3), ...ask('little', 1)]);
  assert.deepEqual(order.slice(0, 8), ['much', 'much', 'some', 'little', 'much', 'some', 'much', 'some']);
  assert.equal(order.length, 54);
});
