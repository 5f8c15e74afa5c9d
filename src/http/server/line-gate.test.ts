import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { LineGate } from './line-gate.ts';

const limits = { lines: 5, bytes: 100, few: 2, age: 500 };

/** A gate, and the lines that were let in, in order. */
function gateOf() {
  const writes = { age: 0 };
  const gate = new LineGate(limits, writes);
  const entered: string[] = [];
  const enter = (id: string, bytes = 1): void => {
    const wait = gate.enter(bytes);
    if (wait) void wait.then(() => entered.push(id));
    else entered.push(id);
  };
  return { gate, writes, entered, enter };
}

describe('lines of bulk requests', () => {
  test('are worked on up to a number; the others follow in the order in which they came', async () => {
    const { gate, entered, enter } = gateOf();
    for (const id of 'abcdefgh') enter(id);
    assert.equal(entered.join(''), 'abcde');
    gate.leave(1);
    await nextTurn();
    assert.equal(entered.join(''), 'abcdef');
    enter('i');
    gate.leave(1);
    gate.leave(1);
    gate.leave(1);
    await nextTurn();
    assert.equal(entered.join(''), 'abcdefghi');
  });

  test('are worked on up to a number of bytes, which the last may exceed', async () => {
    const { gate, entered, enter } = gateOf();
    enter('a', 99);
    enter('b', 99);
    enter('c', 1);
    assert.equal(entered.join(''), 'ab');
    gate.leave(99);
    await nextTurn();
    assert.equal(entered.join(''), 'abc');
    enter('d', 0);
    assert.equal(entered.join(''), 'abc');
  });

  test('are few while writes wait for the store for long', async () => {
    const { gate, writes, entered, enter } = gateOf();
    writes.age = 500;
    for (const id of 'abc') enter(id);
    assert.equal(entered.join(''), 'abc');
    writes.age = 501;
    enter('d');
    gate.leave(1);
    assert.equal(entered.join(''), 'abc');
    gate.leave(1);
    await nextTurn();
    assert.equal(entered.join(''), 'abcd');
    enter('e');
    writes.age = 0;
    gate.leave(1);
    await nextTurn();
    assert.equal(entered.join(''), 'abcde');
  });

  test('one is always worked on, however large', async () => {
    const { gate, writes, entered, enter } = gateOf();
    writes.age = 10_000;
    enter('a', 1_000_000);
    enter('b', 1_000_000);
    assert.equal(entered.join(''), 'a');
    gate.leave(1_000_000);
    await nextTurn();
    assert.equal(entered.join(''), 'ab');
  });

  test('law: in any order of coming and leaving all are let in, in turn, and the bounds hold', async () => {
    const step = fc.record({ enters: fc.boolean(), bytes: fc.nat(60), age: fc.constantFrom(0, 1_000) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
        const { gate, writes, entered } = gateOf();
        const inside: number[] = [];
        let came = 0;
        const enter = (bytes: number): void => {
          const id = String(came++);
          const isIn = () => {
            entered.push(id);
            inside.push(bytes);
            assert.ok(inside.length <= limits.lines);
            assert.ok(inside.reduce((sum, one) => sum + one, 0) - bytes < limits.bytes);
          };
          const wait = gate.enter(bytes);
          if (wait) void wait.then(isIn);
          else isIn();
        };
        const leave = async () => {
          gate.leave(inside.shift()!);
          await nextTurn();
        };
        for (const { enters, bytes, age } of steps) {
          writes.age = age;
          if (enters) enter(bytes);
          else if (inside.length > 0) await leave();
        }
        while (inside.length > 0) await leave();
        assert.deepEqual(
          entered,
          Array.from({ length: came }, (_, i) => String(i)),
        );
      }),
    );
  });
});
