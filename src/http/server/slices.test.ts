import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { TurnQueue } from '../../runtime/time-slice.ts';
import { until } from '../../testing/until.ts';
import { drained, sliceSize, writeSlices } from './slices.ts';

const queue = new TurnQueue(() => performance.now());

describe('a large body', () => {
  const rejections: unknown[] = [];
  let server: Server;
  let pieces: Iterable<Buffer> = [];
  let timeout = 10_000;
  before(async () => {
    server = createServer((_, response) => {
      const writing = writeSlices(response, pieces, { timeout, slice: queue.slice() });
      writing.then(
        () => response.end(),
        (error: unknown) => {
          rejections.push(error);
          response.destroy();
        },
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  after(() => server.close());
  const open = () =>
    new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
      const { port } = server.address() as AddressInfo;
      get({ port, host: '127.0.0.1', agent: false }, resolve).on('error', reject);
    });
  const text = async () => {
    const chunks: Buffer[] = [];
    for await (const chunk of await open()) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  };

  const sizes: readonly (readonly number[])[] = [
    [],
    [0],
    [1, 0, 1],
    [sliceSize - 1],
    [sliceSize],
    [sliceSize + 1, 1],
    [3 * sliceSize + 5],
    [10, sliceSize, 10, 9_000, 8_191, 8_192, 1],
    Array<number>(2_000).fill(700),
    Array<number>(300).fill(9_000),
  ];
  for (const [i, all] of sizes.entries()) {
    test(`arrives as it is: ${all.length} pieces, the first of ${all[0]} bytes`, async () => {
      const body = all.map((size, place) => Buffer.alloc(size, 65 + ((place + i) % 26)));
      pieces = body;
      assert.ok((await text()).equals(Buffer.concat(body)));
    });
  }

  test('is not asked for faster than the client takes it', async () => {
    let made = 0;
    pieces = (function* () {
      for (; made < 200; made++) yield Buffer.alloc(sliceSize, 'x');
    })();
    const response = await open();
    let before = -1;
    while (made !== before) {
      before = made;
      for (let i = 0; i < 50; i++) await nextTurn();
    }
    assert.ok(made < 100, `${made} slices were made for a client that takes none`);
    let length = 0;
    for await (const chunk of response) length += (chunk as Buffer).length;
    assert.equal(length, 200 * sliceSize);
  });

  test('ends with RequestTimeout when the client takes nothing for too long, and not before', async () => {
    timeout = 200;
    pieces = Array<Buffer>(200).fill(Buffer.alloc(sliceSize));
    const response = await open();
    response.on('error', () => {});
    await until(() => rejections.length > 0);
    assert.equal((rejections[0] as { code?: string }).code, 'RequestTimeout');
    response.resume();
    timeout = 10_000;
  });

  test('is given up when the client goes', async () => {
    let isOver = false;
    pieces = (function* () {
      try {
        for (;;) yield Buffer.alloc(sliceSize);
      } finally {
        isOver = true;
      }
    })();
    (await open()).destroy();
    await until(() => isOver);
  });
});

test('bytes that the client has taken are not waited for', async () => {
  await drained({ destroyed: false, writableNeedDrain: false } as never, 1);
  await drained({ destroyed: true, writableNeedDrain: true } as never, 1);
});

test('the time to take a response counts from its turn on the connection', async () => {
  const waiting = Object.assign(new EventEmitter(), { destroyed: false, writableNeedDrain: true });
  let isOver = false;
  const taken = drained(waiting as never, 20).finally(() => {
    isOver = true;
  });
  await pause(60);
  assert.equal(isOver, false);
  waiting.emit('socket', {});
  await assert.rejects(taken, { code: 'RequestTimeout' });
  assert.deepEqual([waiting.listenerCount('drain'), waiting.listenerCount('close')], [0, 0]);
});
