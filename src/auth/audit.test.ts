import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditEntry } from './audit.ts';
import { AuditLog, mostKept } from './audit.ts';

const entry: AuditEntry = {
  identity: { name: 'ada', roles: [] },
  origin: 'http',
  access: { verb: 'delete', group: 'example.com', resource: 'books/status', name: 'emma' },
};

test('a look through all that can be kept takes a moment', () => {
  const log = new AuditLog({ keep: mostKept }, Date.now);
  for (let i = 0; i < mostKept + 10; i++) log.record(entry);
  const all = { identity: 'ada', type: 'books.example.com', name: 'emma', verb: 'delete' };
  const before = process.cpuUsage();
  assert.equal(
    log
      .newest({ ...all, outcome: 'failed' })
      .take(1)
      .toArray().length,
    0,
  );
  const { user } = process.cpuUsage(before);
  assert.ok(user < 50_000, `${user} µs`);
  assert.equal([...log.newest(all)].length, mostKept);
});
