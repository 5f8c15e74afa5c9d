import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Admission } from './admission.ts';
import type { Exchange } from './exchange.ts';

const limits = { slice: 20, burst: 1_000, standing: 250, writes: 500, crowd: 3 };

/** An admission whose time passes when it is told to; names stand for requests. */
function admission(cost = 0, refusalCost = 0) {
  const writes = { length: 0, age: 0 };
  const begun: string[] = [];
  const refused: string[] = [];
  const gone: string[] = [];
  const warnings: number[] = [];
  let time = 0;
  let asked = 0;
  const nameOf = (exchange: Exchange) => exchange.id;
  const one = new Admission({
    limits,
    writes,
    now: () => time,
    awaitEnd: () => asked++,
    begin: (exchange) => {
      begun.push(nameOf(exchange));
      time += cost;
    },
    refuse: (exchange) => {
      refused.push(nameOf(exchange));
      time += refusalCost;
    },
    warn: (count) => warnings.push(count),
  });
  const socket = { destroyed: false };
  const come = (id: string, method = 'GET', connection = socket, headers = {}): boolean => {
    const finish = () => gone.push(id);
    const isBegun = one.admits({
      id,
      method,
      started: time,
      request: { socket: connection, headers },
      finish,
    } as never);
    if (isBegun) begun.push(id);
    return isBegun;
  };
  const pass = (milliseconds: number) => {
    time += milliseconds;
  };
  /** The line is worked on in the turn after the one that finds it. */
  const turn = async () => {
    one.endTurn();
    await nextTurn();
  };
  return { one, come, pass, turn, writes, begun, refused, gone, warnings, asked: () => asked };
}

describe('requests at once', () => {
  test('are begun as they come for a slice of the turn; the others wait in line', async () => {
    const { one, come, pass, turn, begun, asked } = admission();
    assert.equal(come('a'), true);
    pass(20);
    assert.equal(come('b'), true);
    pass(1);
    assert.equal(come('c'), false);
    pass(-21);
    assert.equal(come('d'), false, 'nobody overtakes');
    assert.equal(one.waiting, 2);
    assert.equal(asked(), 1);
    await turn();
    assert.deepEqual(begun, ['a', 'b', 'c', 'd']);
    assert.equal(one.waiting, 0);
    assert.equal(come('e'), true);
  });

  test('those in line have a slice of every turn', async () => {
    const { one, come, pass, turn, begun } = admission(9);
    come('first');
    pass(21);
    for (const id of 'abcdefgh') come(id);
    await turn();
    assert.equal(begun.slice(1).join(''), 'abc');
    await turn();
    assert.equal(begun.slice(1).join(''), 'abcdef');
    await turn();
    assert.equal(begun.slice(1).join(''), 'abcdefgh');
    assert.equal(one.waiting, 0);
  });

  test('a burst may wait for long, many that wait longer are refused', async () => {
    const { one, come, pass, turn, begun, refused } = admission();
    come('first');
    pass(21);
    for (const id of 'abcdef') come(id);
    pass(1_000);
    await turn();
    assert.equal(begun.slice(1).join(''), 'abcdef');
    assert.deepEqual(refused, []);
    await turn();
    come('second');
    pass(21);
    for (const id of 'ghijkl') come(id);
    pass(1_001);
    await turn();
    assert.equal(begun.slice(-3).join(''), 'jkl', 'three are never too many');
    assert.equal(one.waiting, 3);
    await turn();
    assert.deepEqual(refused, ['g', 'h', 'i']);
    assert.equal(one.waiting, 0);
    assert.deepEqual(one.refused, { requests: 3, writes: 0 });
  });

  test('in a line that has stood for long nobody waits for long', async () => {
    const { come, pass, turn, refused } = admission(21);
    come('first');
    pass(21);
    for (let i = 0; i < 60; i++) come(`old ${i}`);
    for (let i = 0; i < 46; i++) await turn();
    assert.equal(refused.length, 0);
    for (let i = 0; i < 20; i++) come(`new ${i}`);
    pass(251);
    for (let i = 0; i < 5; i++) await turn();
    assert.ok(refused.includes('new 0'), `refused: ${refused.join()}`);
  });

  test('refusals take at most a fifth of the time while others wait', async () => {
    const { come, pass, turn, begun, refused } = admission(4, 1);
    come('first');
    pass(21);
    for (let i = 0; i < 100; i++) come(`late ${i}`);
    pass(1_001);
    for (let i = 0; i < 100; i++) come(`new ${i}`);
    for (let i = 0; i < 4; i++) await turn();
    assert.deepEqual([begun.length - 1, refused.length], [24, 18]);
    assert.ok(begun.slice(1).every((id) => id.startsWith('new')));
  });

  test('a request whose client has left is not begun', async () => {
    const { come, pass, turn, begun, gone } = admission();
    const socket = { destroyed: false };
    come('first');
    pass(21);
    come('left', 'GET', socket);
    come('there');
    socket.destroyed = true;
    await turn();
    assert.deepEqual(begun, ['first', 'there']);
    assert.deepEqual(gone, ['left']);
  });
});

describe('waiting writes', () => {
  test('refuse further ones when they are many and wait for long; reads go on', () => {
    const { one, come, writes, refused } = admission();
    Object.assign(writes, { length: 4, age: 501 });
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']) come(method, method);
    assert.deepEqual(refused, ['POST', 'PUT', 'PATCH', 'DELETE']);
    assert.deepEqual(one.refused, { requests: 0, writes: 4 });
    writes.age = 500;
    assert.equal(come('late', 'POST'), true);
    Object.assign(writes, { length: 3, age: 501 });
    assert.equal(come('few', 'POST'), true);
  });

  test('refuse no request of many lines, which waits by itself', () => {
    const { come, writes, refused } = admission();
    Object.assign(writes, { length: 4, age: 501 });
    const ndjson = { 'content-type': 'application/x-ndjson; charset=utf-8' };
    assert.equal(come('lines', 'POST', undefined, ndjson), true);
    assert.equal(come('no lines', 'PUT', undefined, ndjson), false);
    assert.equal(come('one', 'POST', undefined, { 'content-type': 'application/json' }), false);
    assert.deepEqual(refused, ['no lines', 'one']);
  });
});

test('a warning at once, then one for all of ten seconds', async () => {
  const { come, pass, turn, writes, warnings } = admission();
  Object.assign(writes, { length: 4, age: 501 });
  for (const milliseconds of [5_000, 1, 9_998, 1, 1]) {
    pass(milliseconds);
    come('more', 'PUT');
    await turn();
  }
  assert.deepEqual(warnings, [1, 3]);
});
