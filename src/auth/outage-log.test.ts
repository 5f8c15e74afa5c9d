import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KindredError } from '../errors.ts';
import { OutageLog } from './outage-log.ts';

test('an outage is logged once when it begins, once for each further kind of failure, and once when it is over', () => {
  const told: string[] = [];
  const log = {
    warn: (details: { err?: Error; what?: string }, message: string) => told.push(`${message} ${details.what ?? ''}`),
  };
  const outage = new OutageLog(log, { begins: 'failing', over: 'over' });
  const away = (reason: string): KindredError => new KindredError('NotReady', { en: reason, zh: reason });
  outage.succeeded('a');
  for (let i = 0; i < 5; i++) {
    outage.failed('a', away(`reason ${i}`), { what: 'a' });
    outage.failed('b', away('other'), { what: 'b' });
  }
  assert.deepEqual(told.splice(0), ['failing a']);
  outage.failed('b', new Error('both names are taken'), { what: 'b' });
  outage.failed('b', new Error('both names are taken'), { what: 'b' });
  assert.deepEqual(told.splice(0), ['failing b']);
  outage.succeeded('a');
  assert.deepEqual(told, []);
  outage.succeeded('b');
  outage.succeeded('b');
  assert.deepEqual(told.splice(0), ['over ']);
  outage.failed('a', away('again'), { what: 'a' });
  assert.deepEqual(told, ['failing a']);
});
