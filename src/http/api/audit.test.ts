import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AuditEntry } from '../../auth/audit.ts';
import { AuditLog } from '../../auth/audit.ts';
import type { KindredError } from '../../errors.ts';
import { allowAll } from '../../resource/access.ts';
import { until } from '../../testing/until.ts';
import type { Exchange } from '../server/exchange.ts';
import { createAuditRoute } from './audit.ts';

/** A client that takes what it is sent when the test says so. */
class Response extends EventEmitter {
  readonly writableHighWaterMark = 16_384;
  readonly destroyed = false;
  taken = '';
  waiting = '';

  get writableLength(): number {
    return this.waiting.length;
  }

  get writableNeedDrain(): boolean {
    return this.waiting.length >= this.writableHighWaterMark;
  }

  write(bytes: Buffer): void {
    this.waiting += bytes.toString();
  }

  end(bytes: Buffer): void {
    this.write(bytes);
    this.take();
    this.emit('close');
  }

  take(): void {
    this.taken += this.waiting;
    this.waiting = '';
    this.emit('drain');
  }

  cork() {}
  uncork() {}
  destroy() {}
  setTimeout = () => this;
}

function watch(keep: number) {
  const log = new AuditLog({ keep }, Date.now);
  const response = new Response();
  const route = createAuditRoute({
    log,
    authorizer: allowAll,
    onStop: () => () => {},
    maxBufferBytes: 64 * 1024,
    stallTimeout: 60_000,
    bookmarkInterval: 60_000,
    monotonicNow: () => performance.now(),
  });
  route({
    query: 'watch=true',
    request: { headers: {} },
    response,
    open() {},
    finish() {},
    problem: ({ code }: KindredError) => ({ code }),
  } as unknown as Exchange);
  const events = () =>
    response.taken
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { log, response, events };
}

const entry: AuditEntry = {
  identity: { name: 'ada', roles: [] },
  origin: 'http',
  access: { verb: 'delete', group: 'example.com', resource: 'books', name: 'x'.repeat(500) },
};

test('a client that reads gets every entry in order, however many are made at once', async () => {
  const { log, response, events } = watch(10_000);
  for (let i = 0; i < 2_000; i++) log.record(entry);
  const takes = (count: number) =>
    until(() => {
      response.take();
      return response.taken.split('\n').length > count;
    });
  await takes(2_000);
  log.record(entry);
  await takes(2_001);
  const numbers = events().map((one) => Number(one.entry.id.split('-')[1]));
  assert.deepEqual(
    numbers,
    Array.from({ length: 2_001 }, (_, i) => i),
  );
});

test('what waits for a client is bounded, and it is cut off when entries that it lacks are no longer kept', async () => {
  const { log, response, events } = watch(300);
  for (let i = 0; i < 300; i++) {
    log.record(entry);
    await nextTurn();
  }
  assert.ok(response.waiting.length < 2 * 64 * 1024, `${response.waiting.length} bytes wait`);
  for (let i = 0; i < 300; i++) log.record(entry);
  response.take();
  await until(() => response.taken.includes('ERROR'));
  assert.deepEqual(events().at(-1).error, { code: 'SlowConsumer' });
});
