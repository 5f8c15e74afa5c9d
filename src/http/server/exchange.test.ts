import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { KindredError } from '../../errors.ts';
import type { ExchangeObserver } from './exchange.ts';
import { Exchange } from './exchange.ts';

test('exchange: a header that cannot be written is a failure that is told', async () => {
  const told: unknown[] = [];
  const statuses: number[] = [];
  const observer = {
    monotonicNow: () => 0,
    now: () => 0,
    answers: { end: (response: { end(body?: Buffer): void }, _: unknown, body?: Buffer) => response.end(body) },
    finished: (_: Exchange, status: number) => statuses.push(status),
    unexpected: (_: Exchange, error: { code?: string }) => told.push(error.code),
  } as unknown as ExchangeObserver;
  const server = createServer((request, response) => {
    const exchange = new Exchange(request, response, () => 'id', observer);
    exchange.extra.push('Warning', '299 - "\u2014"');
    exchange.fail(new KindredError('BadRequest', 'wrong', { headers: { Allow: '\u2014' } }));
  }).listen(0);
  await once(server, 'listening');
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  assert.equal(answer.status, 500);
  assert.equal(((await answer.json()) as { code: string }).code, 'InternalError');
  assert.deepEqual([told, statuses], [['ERR_INVALID_CHAR'], [500]]);
  server.close();
});
