import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WebhookRunDependencies } from './delivery-loop.ts';
import { WebhookRun } from './delivery-loop.ts';
import type { WebhookStatus } from './model.ts';

test('webhooks: after the database lost changes, a webhook continues after the newest revision, and says so', async () => {
  const asked: number[] = [];
  const warnings: string[] = [];
  const saved: WebhookStatus[] = [];
  const feed = {
    applied: 5,
    at: async () => undefined,
    changes: async (since: number) => {
      asked.push(since);
      return { changes: [], through: feed.applied };
    },
  };
  const run = new WebhookRun({
    name: 'hook',
    spec: { url: 'https://example.com', resources: [], secretName: 'key' },
    status: { lastRevision: 1_000, failures: 0, dropped: 0, conditions: [] },
    created: 2,
    feed,
    named: (plural: string) => ({ plural, group: '' }),
    isElsewhere: () => false,
    save: async (status: WebhookStatus) => void saved.push(status),
    timers: { now: () => 0, after: () => () => undefined },
    logger: { warn: (_details: object, message: string) => void warnings.push(message) },
  } as unknown as WebhookRunDependencies);
  assert.deepEqual(warnings, [
    'the database lost the changes up to revision 1000; the webhook continues after revision 5',
  ]);
  feed.applied = 6;
  run.wake();
  // The feed tells of it before it goes on at the new revision.
  run.resync(4);
  feed.applied = 4;
  await run.stop(true);
  assert.equal(asked[0], 5);
  assert.equal(saved.at(-1)?.conditions.find(({ type }) => type === 'Complete')?.reason, 'ChangesLost');
});
