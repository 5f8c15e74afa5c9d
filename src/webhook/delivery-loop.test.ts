import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expired } from '../store/failure.ts';
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
    changes: async (since: number) => {
      asked.push(since);
      return { changes: [], unregistered: [], through: feed.applied };
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
    options: {},
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
  const saves: (Pick<WebhookStatus, 'dropped' | 'conditions'> & { revision: number; end(): void })[] = [];
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
    /** Of the log. */
    newest: 5,
    /** Revisions of changes of a model that is not registered. */
    missing: [] as number[],
    missingModel: 7,
    isBack: false,
    models: [
      { number: 1, group: 'g' },
      { number: 7, group: 'g' },
      { number: 8, group: 'other' },
    ],
    isRegistered: () => feed.isBack,
    oldestKept: 0,
    oldest: async () => feed.oldestKept,
    changes: async (since: number, limit: number) => {
      if (since < feed.oldestKept) throw expired(since, feed.oldestKept);
      const through = Math.min(Math.max(feed.applied, feed.newest), since + limit);
      const revisions = Array.from({ length: through - since }, (_, i) => since + i + 1);
      const isMissing = (revision: number) => !feed.isBack && feed.missing.includes(revision);
      return {
        changes: revisions.filter((revision) => !isMissing(revision)).map(changeOf),
        unregistered: revisions.filter(isMissing).map((revision) => ({ revision, model: feed.missingModel })),
        through,
      };
    },
  };
  const run = new WebhookRun({
    name: 'hook',
    spec: { url: 'http://localhost/', resources: ['books.g', 'authors.g'], secretName: 'key' },
    status: { lastRevision: 5, failures: 0, dropped: 0, conditions: [] },
    created: 1,
    feed,
    sender: {
      post: ({ headers }: { headers: Record<string, string> }) =>
        new Promise((resolve) => posts.push({ id: headers['webhook-id']!, end: () => resolve(200) })),
    },
    keys: async () => [Buffer.from('key')],
    named: (resource: string) => ({ ...((resource === 'books.g' || feed.isBack) && { scheme: {} }) }),
    models: async () => feed.models,
    isElsewhere: () => false,
    isSilent: () => false,
    forbids: () => undefined,
    save: ({ lastRevision, dropped, conditions }: WebhookStatus) =>
      new Promise<void>((resolve) => saves.push({ revision: lastRevision, dropped, conditions, end: resolve })),
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
  /** Gives the status as it is stored last. */
  const stop = async () => {
    let isStopped = false;
    const stopping = run.stop(true).then(() => {
      isStopped = true;
    });
    while (!isStopped) {
      for (const { end } of saves) end();
      await clock.advance(0);
    }
    await stopping;
    return saves.at(-1)!;
  };
  return { clock, feed, posts, saves, run, change, stop };
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

test('webhooks: changes of a model that is not registered wait for it, in order, and hold up no others', async () => {
  const { clock, feed, posts, saves, run, change, stop } = make();
  feed.missing = [6, 7];
  for (const _ of feed.missing) await change();
  await change();
  assert.deepEqual(
    posts.map(({ id }) => id),
    ['hook-8'],
  );
  assert.equal(run.figures().waiting, 3);
  posts[0]!.end();
  await clock.advance(1_000);
  assert.equal(saves[0]?.revision, 5);
  feed.isBack = true;
  await change();
  for (let i = 1; i < 4; i++) {
    posts[i]!.end();
    await clock.advance(0);
  }
  assert.deepEqual(
    posts.map(({ id }) => id),
    ['hook-8', 'hook-6', 'hook-7', 'hook-9'],
  );
  assert.equal((await stop()).revision, 9);
});

test('webhooks: what was held of a model goes first when the model comes back while the log is read', async () => {
  const { feed, posts, change, run } = make();
  feed.missing = [6, 7];
  await change();
  const { changes } = feed;
  feed.changes = (since, limit) => {
    if (limit > 1) feed.isBack = true;
    return changes(since, limit);
  };
  await change();
  assert.equal(posts[0]?.id, 'hook-6');
  posts[0].end();
  await run.stop(false);
});

test('webhooks: what is held and no longer in the log is given up, so that the next run finds its place there', async () => {
  const { clock, feed, posts, run, change, stop } = make();
  feed.missing = [6, 7, 9];
  for (let i = 0; i < 4; i++) await change();
  posts[0]!.end();
  feed.oldestKept = 7;
  await clock.advance(1_000);
  assert.deepEqual([run.figures().waiting, run.figures().dropped], [1, 2]);
  assert.equal((await stop()).revision, 8);
});

test('webhooks: a webhook that fell behind the log goes on with the oldest changes that it has, and says what is missing', async () => {
  const { clock, feed, posts, change, stop } = make();
  feed.applied = 8;
  feed.oldestKept = 7;
  await change();
  for (let i = 0; i < 2; i++) {
    posts[i]!.end();
    await clock.advance(0);
  }
  assert.deepEqual(
    posts.map(({ id }) => id),
    ['hook-8', 'hook-9'],
  );
  const { revision, conditions } = await stop();
  assert.equal(revision, 9);
  const { reason, message } = conditions.find(({ type }) => type === 'Complete')!;
  const missing = 'the changes after revision 5 up to 7 are no longer kept and were not delivered';
  assert.deepEqual([reason, message], ['ChangesLost', missing]);
});

test('webhooks: changes of no model, and of another group, are passed over', async () => {
  const { feed, run, change, stop } = make();
  feed.missing = [6, 7];
  for (const model of [8, 9]) {
    feed.missingModel = model;
    await change();
    assert.equal(run.figures().waiting, 0);
  }
  assert.equal((await stop()).revision, 7);
});

test('webhooks: a model that comes back without any change is noticed', async () => {
  const { clock, feed, posts, change, stop } = make();
  feed.missing = [6];
  await change();
  feed.isBack = true;
  await clock.advance(1_000);
  assert.equal(posts[0]?.id, 'hook-6');
  posts[0]!.end();
  await clock.advance(0);
  assert.equal((await stop()).revision, 6);
});

test('webhooks: a model that does not come back is given up, with all its changes', async () => {
  const { clock, feed, run, change, stop } = make();
  feed.missing = [6, 7, 8];
  await change();
  await clock.advance(999_000);
  await change();
  assert.equal(run.figures().waiting, 2);
  await clock.advance(1_000);
  assert.deepEqual([run.figures().waiting, run.figures().dropped], [0, 2]);
  await change();
  await clock.advance(1_000);
  assert.deepEqual([run.figures().waiting, run.figures().dropped], [0, 3]);
  const { revision, dropped } = await stop();
  assert.deepEqual([revision, dropped], [8, 3]);
});

test('webhooks: what the memory does not have yet is not told, and a stop does not wait for it', async () => {
  const { clock, feed, posts, change, stop } = make();
  feed.newest = 8;
  await change();
  assert.deepEqual(
    posts.map(({ id }) => id),
    ['hook-6'],
  );
  posts[0]!.end();
  await clock.advance(0);
  assert.equal(posts.length, 1);
  assert.equal((await stop()).revision, 6);
});
