import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../testing/fake-clock.ts';
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

/** A webhook of which one attempt may be under way, over a log of creates; each post waits for the test. */
function make() {
  const clock = new FakeClock();
  const posts: { id: string; end(): void }[] = [];
  const saves: { revision: number; end(): void }[] = [];
  const changeOf = (revision: number) => ({
    revision,
    type: 'create',
    name: `o${revision}`,
    time: 1,
    model: {
      scheme: { plural: 'books', groupVersionKind: { group: 'g', version: 'v1', kind: 'Book' } },
      rules: { apiVersion: 'g/v1', shown: () => undefined },
    },
    assertReadable: () => undefined,
    view: () => Buffer.from('{}'),
  });
  const feed = {
    applied: 5,
    at: async () => undefined,
    changes: async (since: number) => ({
      changes: Array.from({ length: feed.applied - since }, (_, i) => changeOf(since + i + 1)),
      through: feed.applied,
    }),
  };
  const run = new WebhookRun({
    name: 'hook',
    spec: { url: 'http://localhost/', resources: ['books.g'], secretName: 'key' },
    status: { lastRevision: 5, failures: 0, dropped: 0, conditions: [] },
    created: 1,
    feed,
    sender: {
      post: ({ headers }: { headers: Record<string, string> }) =>
        new Promise((resolve) => posts.push({ id: headers['webhook-id']!, end: () => resolve(200) })),
    },
    keys: async () => [Buffer.from('key')],
    named: () => ({ scheme: {} }),
    isElsewhere: () => false,
    isSilent: () => false,
    forbids: () => undefined,
    save: ({ lastRevision }: WebhookStatus) =>
      new Promise<void>((resolve) => saves.push({ revision: lastRevision, end: resolve })),
    timers: clock,
    random: () => 0.5,
    options: { minDelay: 10, maxDelay: 100, giveUpAfter: 1_000_000, concurrency: 1 },
    logger: { warn: () => undefined },
  } as unknown as WebhookRunDependencies);
  const change = async () => {
    feed.applied += 1;
    run.wake();
    await clock.advance(0);
  };
  return { clock, posts, saves, run, change };
}

test('webhooks: a change that came while an attempt on demand was under way is delivered when that ends', async () => {
  const { clock, posts, run, change } = make();
  const tested = run.test();
  await clock.advance(0);
  await change();
  assert.equal(posts.length, 1);
  posts[0]!.end();
  await tested;
  await clock.advance(0);
  assert.equal(posts[1]?.id, 'hook-6');
  posts[1]!.end();
  await run.stop(false);
});

test('webhooks: of two writes of the status the second begins when the first has ended', async () => {
  const { clock, posts, saves, run, change } = make();
  for (const i of [0, 1]) {
    await change();
    posts[i]!.end();
    await clock.advance(1_000);
  }
  assert.deepEqual(
    saves.map(({ revision }) => revision),
    [6],
  );
  let isStopped = false;
  const stopping = run.stop(true).then(() => {
    isStopped = true;
  });
  saves[0]!.end();
  await clock.advance(0);
  assert.deepEqual([saves[1]?.revision, isStopped], [7, false]);
  saves[1]!.end();
  await stopping;
});
