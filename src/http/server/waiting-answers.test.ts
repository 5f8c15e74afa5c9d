import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { WaitingAnswers } from './waiting-answers.ts';

const limits = { answerBuffer: 1_000, requestTimeout: 30_000 };

/** An answer of which so many bytes wait. */
function answer(writableLength = 0, socket: object | null = {}) {
  const response = new EventEmitter() as unknown as ServerResponse;
  const state = { writableLength, destroyed: false, socket };
  const destroy = () => {
    state.destroyed = true;
    response.emit('close');
    return response;
  };
  Object.defineProperties(response, {
    writableLength: { get: () => state.writableLength },
    destroyed: { get: () => state.destroyed },
    socket: { get: () => state.socket },
    destroy: { value: destroy },
  });
  return { response, state };
}

const isRefused = { code: 'NotReady' };

describe('bytes that wait for clients', () => {
  test('are those of all answers that are followed, until each ends', () => {
    const waiting = new WaitingAnswers(limits);
    const [first, second] = [answer(300), answer(200)];
    waiting.follow(first.response);
    waiting.follow(first.response);
    waiting.follow(second.response);
    assert.equal(waiting.bytes, 500);
    first.state.writableLength = 10;
    assert.equal(waiting.bytes, 210);
    second.response.destroy();
    assert.equal(waiting.bytes, 10);
    waiting.follow(second.response);
    assert.equal(waiting.bytes, 10, 'what has ended is not followed');
  });

  test('waiting responses leave room for more, and a single response may exceed the limit', () => {
    const waiting = new WaitingAnswers(limits);
    waiting.assertRoom(5_000);
    const { response, state } = answer(400);
    waiting.follow(response);
    waiting.assertRoom(600);
    assert.throws(() => waiting.assertRoom(601), isRefused);
    waiting.assertRoom();
    state.writableLength = 1_001;
    assert.throws(() => waiting.assertRoom(), isRefused);
  });

  test('one client may have a quarter of the room, and the rest is for the others', () => {
    const waiting = new WaitingAnswers(limits);
    waiting.assertRoom(900, 'ada');
    const { response, state } = answer(100);
    waiting.follow(response, 'ada');
    const hold = waiting.hold(answer().response, 'ada');
    hold.ask(150);
    assert.throws(() => hold.ask(151), isRefused);
    assert.throws(() => waiting.assertRoom(1, 'ada'), isRefused);
    waiting.assertRoom(0, 'ada');
    waiting.assertRoom(750, 'bob');
    waiting.assertRoom(750);
    assert.throws(() => waiting.assertRoom(751, 'bob'), isRefused);
    state.writableLength = 0;
    hold.set(0);
    waiting.assertRoom(1_000, 'ada');
  });

  test('are counted before they are written, and once when they are asked for again', () => {
    const waiting = new WaitingAnswers(limits);
    const one = answer();
    const hold = waiting.hold(one.response);
    hold.ask(600);
    hold.ask(700);
    assert.equal(waiting.bytes, 700);
    const other = waiting.hold(answer().response);
    assert.throws(() => other.ask(301), isRefused);
    assert.equal(waiting.bytes, 700, 'what was refused is not counted');
    other.ask(300);
    other.set(5_000);
    assert.equal(waiting.bytes, 5_700, 'what is there already counts in any case');
    assert.throws(() => hold.ask(701), isRefused);
    hold.ask(100);
    assert.equal(waiting.bytes, 5_100);
    one.response.destroy();
    assert.equal(waiting.bytes, 5_000);
    hold.ask(900);
    assert.equal(waiting.bytes, 5_000, 'nobody waits for it any more');
  });
});

describe('a complete answer that is not taken', () => {
  test('is cut off after a time', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const waiting = new WaitingAnswers(limits);
    const { response, state } = answer(10);
    waiting.await(response);
    t.mock.timers.tick(29_999);
    assert.equal(state.destroyed, false);
    t.mock.timers.tick(1);
    assert.equal(state.destroyed, true);
    assert.equal(waiting.bytes, 0);
  });

  test('is not when it was taken before', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const waiting = new WaitingAnswers(limits);
    const { response, state } = answer(10);
    waiting.await(response);
    response.emit('close');
    t.mock.timers.tick(60_000);
    assert.equal(state.destroyed, false);
  });

  test('has its time from when its turn on the connection comes', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const waiting = new WaitingAnswers(limits);
    const { response, state } = answer(10, null);
    waiting.await(response);
    t.mock.timers.tick(60_000);
    assert.equal(state.destroyed, false);
    response.emit('socket', {});
    t.mock.timers.tick(29_999);
    assert.equal(state.destroyed, false);
    t.mock.timers.tick(1);
    assert.equal(state.destroyed, true);
  });
});
