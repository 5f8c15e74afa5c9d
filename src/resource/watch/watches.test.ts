import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { holdBack } from '../../../test/resource/held-store.ts';
import { perTurn } from '../../../test/resource/per-turn.ts';
import { MapMedium } from '../../../test/spec/map-store.ts';
import { KindredError } from '../../errors.ts';
import { Queries } from '../../query/condition.ts';
import { until } from '../../testing/until.ts';
import { Background } from '../background.ts';
import { Feed } from '../feed.ts';
import type { ModelResource } from '../resource.ts';
import type { Sink, WatchEvent, WatchRequest } from './events.ts';
import { Watches } from './watches.ts';

/** A client that takes events when the test says. */
class Client implements Sink {
  readonly events: string[] = [];
  /** Events that wait for it, and how many may, for a replay and at all. */
  waiting = 0;
  limit = { behind: 4, full: 10 };
  isTaking = true;
  onEvent: (() => void) | undefined;
  #drained: (() => void)[] = [];

  event(event: WatchEvent): void {
    if (!this.isTaking) this.waiting++;
    const initial = event.initial ? ' initial' : '';
    const name = event.type === 'BOOKMARK' ? '' : ` ${JSON.parse(event.bytes.toString()).name}`;
    this.events.push(`${event.type} ${event.revision}${name}${initial}`);
    this.onEvent?.();
  }

  get isBehind(): boolean {
    return this.waiting >= this.limit.behind;
  }

  get isFull(): boolean {
    return this.waiting >= this.limit.full;
  }

  async drained(): Promise<void> {
    if (this.isBehind) await new Promise<void>((resolve) => this.#drained.push(resolve));
  }

  end(error: KindredError): void {
    this.events.push(`ERROR ${error.code}`);
  }

  /** Takes what waits. */
  take(): void {
    this.waiting = 0;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  get changes(): string[] {
    return this.events.filter((event) => !event.startsWith('BOOKMARK'));
  }

  get bookmarks(): string[] {
    return this.events.filter((event) => event.startsWith('BOOKMARK'));
  }
}

const cleanUps: (() => unknown)[] = [];
afterEach(() => {
  for (const one of cleanUps.splice(0)) one();
});

/** The watches of one process over a store that others write to. */
async function world({ bookmarkInterval = 1_000_000 } = {}) {
  const medium = new MapMedium();
  const held = holdBack(await medium.open());
  const number = await held.store.modelNumber('demo.example.com', 'Thing');
  const otherNumber = await held.store.modelNumber('demo.example.com', 'Other');
  const modelOf = (of: number) => {
    const scheme = { indexes: [] };
    const registered = {
      kind: 'Thing',
      scheme,
      since: 0,
      listView: (bytes: Buffer) => bytes,
      current: (bytes: Buffer) => bytes,
    };
    const model = {
      kind: 'Thing',
      scheme,
      model: registered,
      memory: { number: of, followedSince: 0, isClosed: false, model: registered, apply: () => {} },
      indexed: { assertReady: () => {} },
      assertBuilt: () => {},
      /** Of `sendInitial`: what is listed, in portions. */
      list: [] as string[][],
      /** Waited for before a list is opened. */
      opening: Promise.resolve(),
      opened: 0,
      closed: 0,
      export: async () => {
        model.opened++;
        await model.opening;
        return {
          revision: feed.applied,
          objects: (async function* () {
            for (const portion of model.list)
              yield portion.map((name) => ({ id: 1, revision: 1, name, bytes: Buffer.from(JSON.stringify({ name })) }));
          })(),
          close: async () => {
            model.closed++;
          },
        };
      },
    };
    return model;
  };
  const things = modelOf(number);
  const others = modelOf(otherNumber);
  const byNumber = new Map([things, others].map((model) => [model.memory.number, model as unknown as ModelResource]));
  let cost = 0;
  let time = 0;
  const monotonicNow = () => {
    time += cost;
    return time;
  };
  const feed = new Feed({
    store: held.store,
    memoryOf: (of) => byNumber.get(of)?.memory,
    monotonicNow,
    logger: { error: () => {} },
  });
  const background = new Background({ width: 2, now: monotonicNow });
  const watches = new Watches({ feed, background, bookmarkInterval });
  await feed.start();
  cleanUps.push(() => {
    watches.stop();
    feed.stop();
  });
  let written = 0;
  return {
    medium,
    held,
    feed,
    watches,
    things,
    /** From now on each look at the clock takes so many milliseconds. */
    takes(milliseconds: number) {
      cost = milliseconds;
    },
    /** Another process makes so many objects; resolves when they are applied here. */
    async write(count: number, of: 'thing' | 'other' = 'thing'): Promise<void> {
      const model = of === 'thing' ? number : otherNumber;
      const writes = Array.from({ length: count }, () => {
        const name = `n${++written}`;
        return { type: 'create' as const, model, name, bytes: Buffer.from(JSON.stringify({ name })) };
      });
      await (await medium.open()).commit(writes, 1);
      await feed.newest();
    },
    async watch(client: Client, request: Partial<WatchRequest> = {}) {
      const resource = byNumber.get(number)!;
      const all = { where: Queries.all(), sort: [], identity: 'ada', ...request };
      const watch = await watches.open(resource, all, client);
      watch.start();
      return watch;
    },
  };
}

/** What a client sees of objects that were created from one revision to another. */
const added = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `ADDED ${from + i} n${from + i}`);

async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await nextTurn();
}

test('watch: a client that is too far behind goes on by a replay: nothing is lost, nothing comes twice, nobody waits', async () => {
  const { watch, write } = await world();
  const [slow, quick] = [new Client(), new Client()];
  await watch(slow);
  await watch(quick);
  await settled();
  await write(5);
  slow.isTaking = false;
  await write(20);
  // More than is kept in memory.
  await write(1_500);
  assert.deepEqual(quick.changes, added(1, 1_525));
  await settled();
  assert.deepEqual(slow.changes, added(1, 15), 'no more than may wait');
  slow.limit = { behind: 100, full: 200 };
  for (let taken = 15; slow.changes.length < 1_525; taken = slow.changes.length) {
    slow.take();
    await until(() => slow.changes.length > taken);
    assert.deepEqual(slow.changes, added(1, slow.changes.length));
    assert.ok(slow.waiting <= slow.limit.full);
  }
  slow.isTaking = true;
  slow.take();
  await write(3);
  await until(() => slow.changes.length >= 1_528);
  assert.deepEqual(slow.changes, added(1, 1_528));
  assert.deepEqual(quick.changes, added(1, 1_528));
});

test('watch: changes in the turn in which a replay ends are sent once', async () => {
  const { watch, write } = await world();
  for (let early = 0; early < 12; early++) {
    const client = new Client();
    await watch(client);
    await settled();
    client.isTaking = false;
    const base = client.events.length;
    await write(30);
    client.isTaking = true;
    client.take();
    for (let turn = 0; turn < early; turn++) await nextTurn();
    await write(1);
    await until(() => client.events.length - base >= 31);
    const numbers = client.changes.map((event) => Number(event.split(' ')[1]));
    assert.deepEqual(
      numbers,
      numbers.map((_, i) => numbers[0]! + i),
    );
    assert.equal(numbers.length, 31);
  }
});

test('watch: a client whose place is no longer in the log is ended with Expired', async () => {
  const { watch, write, medium } = await world();
  const client = new Client();
  await watch(client);
  await settled();
  client.isTaking = false;
  await write(2_000);
  const store = await medium.open();
  while ((await store.compact(5, 10)) > 0);
  client.isTaking = true;
  client.take();
  await until(() => client.events.at(-1)!.startsWith('ERROR'));
  assert.deepEqual(client.events, [...added(1, 10), 'ERROR Expired']);
});

test('watch: bookmarks come while a replay waits, with the revision up to which everything was sent', async () => {
  const { watch, write, held } = await world({ bookmarkInterval: 20 });
  await write(1_000);
  const client = new Client();
  const log = held.hold('changes');
  const opening = watch(client, { since: 100 });
  await settled();
  log.one();
  await opening;
  await until(() => client.bookmarks.length >= 3);
  assert.deepEqual(new Set(client.events), new Set(['BOOKMARK 100']));
  log.release();
  await until(() => client.changes.length === 900);
  assert.deepEqual(client.changes, added(101, 1_000));
  await until(() => client.bookmarks.at(-1) === 'BOOKMARK 1000');
  let told = 100;
  for (const event of client.events) {
    const revision = Number(event.split(' ')[1]);
    if (event.startsWith('BOOKMARK')) assert.equal(revision, told, 'neither ahead of what was sent nor behind');
    told = revision;
  }
});

test('a client that has not taken what waits for it gets no bookmarks on top', async () => {
  const { watch, write } = await world({ bookmarkInterval: 20 });
  const [full, idle] = [new Client(), new Client()];
  await watch(full);
  await settled();
  full.isTaking = false;
  await write(30);
  assert.equal(full.isFull, true);
  const before = full.bookmarks.length;
  await watch(idle);
  await until(() => idle.bookmarks.length >= 3);
  assert.equal(full.bookmarks.length, before);
});

test('watch: there is no bookmark in the list: it would be mistaken for its end', async () => {
  const { watch, write, things } = await world({ bookmarkInterval: 20 });
  await write(3);
  things.list = [['a', 'b', 'c', 'd', 'e', 'f'], ['g']];
  const [client, idle] = [new Client(), new Client()];
  client.isTaking = false;
  await watch(client, { sendInitial: true });
  await watch(idle);
  await until(() => idle.bookmarks.length >= 3);
  assert.deepEqual(
    client.events,
    ['a', 'b', 'c', 'd'].map((name) => `ADDED 3 ${name} initial`),
  );
  await write(2);
  client.isTaking = true;
  client.take();
  await until(() => client.events.includes('ADDED 5 n5'));
  const upToLast = client.events.slice(4, client.events.indexOf('ADDED 5 n5') + 1);
  const rest = ['e', 'f', 'g'].map((name) => `ADDED 3 ${name} initial`);
  assert.deepEqual(upToLast, [...rest, 'BOOKMARK 3 initial', ...added(4, 5)]);
});

test('replays of one model at the same place share what is read of the log, and read no other model', async () => {
  const { watch, write, held } = await world();
  for (let i = 0; i < 20; i++) {
    await write(50);
    await write(50, 'other');
  }
  const before = held.asked.changes;
  const clients = Array.from({ length: 10 }, () => new Client());
  await Promise.all(clients.map((client) => watch(client, { since: 0 })));
  for (const client of clients) await until(() => client.changes.length === 1_000);
  for (const client of clients) assert.deepEqual(client.changes, clients[0]!.changes);
  // One look for each that the revision is kept; then 1,000 changes in portions of 250, the last of them from memory.
  assert.ok(held.asked.changes - before <= 10 + 4, `${held.asked.changes - before} questions`);
});

test('many replays hold the event loop no longer than one, and each identity has its turn', async () => {
  const { watch, write, takes } = await world();
  await write(1_000);
  takes(0.1);
  const turns = perTurn();
  const listening = (): Client => {
    const client = new Client();
    client.onEvent = turns.count;
    return client;
  };
  const many = Array.from({ length: 40 }, listening);
  for (const client of many) await watch(client, { since: 0, identity: 'many' });
  const one = listening();
  await watch(one, { since: 0, identity: 'one' });
  while (one.changes.length < 1_000) await nextTurn();
  turns.stop();
  // 5 ms, at one look at the clock for each event; a piece that is begun has at least one.
  assert.ok(Math.max(...turns.counts) <= 55, `${Math.max(...turns.counts)} events in a turn`);
  const done = many.filter(({ changes }) => changes.length === 1_000).length;
  assert.ok(done < 40, 'the one did not wait for all of the others');
  takes(0);
  for (const client of many) await until(() => client.changes.length === 1_000);
});

test('a replay tells nothing that a read would not show as well', async () => {
  const { watch, write, held, medium, feed, things } = await world();
  await write(10);
  await write(1_000, 'other');
  const client = new Client();
  const ahead: string[] = [];
  client.onEvent = () => {
    const event = client.events.at(-1)!;
    if (Number(event.split(' ')[1]) > feed.applied) ahead.push(event);
  };
  // The log is read when others have written more than this process knows.
  const log = held.hold('changes', { before: true });
  const opening = watch(client, { since: 5 });
  await settled();
  log.one();
  await opening;
  await settled();
  const name = 'n1011';
  medium.apply({ type: 'create', model: things.memory.number, name, bytes: Buffer.from(JSON.stringify({ name })) }, 1);
  log.release();
  await until(() => client.changes.length >= 5);
  await settled();
  assert.deepEqual(ahead, []);
  await feed.newest();
  await until(() => client.changes.length === 6);
  assert.deepEqual(client.changes, [...added(6, 10), ...added(1_011, 1_011)]);
});

test('who goes away while a replay waits is sent nothing more', async () => {
  const { watch, write, held, watches } = await world();
  await write(2_000);
  const [client, other] = [new Client(), new Client()];
  const log = held.hold('changes');
  const opening = watch(client, { since: 0 });
  await settled();
  log.one();
  const watching = await opening;
  await settled();
  watching.close();
  log.release();
  await watch(other, { since: 0 });
  await until(() => other.changes.length === 2_000);
  assert.deepEqual([client.events, watches.size], [[], 1]);
});

test('watch: a stop ends watches that wait for their replay, for their list or for their client', async () => {
  const { watch, write, held, watches, things } = await world();
  await write(2_000);
  const [behind, stuck, listing, live] = [new Client(), new Client(), new Client(), new Client()];
  await watch(live);
  stuck.isTaking = false;
  await watch(stuck, { since: 1 });
  things.list = [['a', 'b', 'c', 'd', 'e']];
  listing.isTaking = false;
  await watch(listing, { sendInitial: true });
  await until(() => stuck.events.length > 3 && listing.events.length > 3);
  const log = held.hold('changes');
  const opening = watch(behind, { since: 0 });
  await settled();
  log.one();
  await opening;
  await settled();
  watches.stop();
  for (const client of [behind, stuck, listing, live]) {
    assert.equal(client.events.at(-1), 'ERROR ShuttingDown');
    client.isTaking = true;
    client.take();
  }
  log.release();
  await settled();
  for (const client of [behind, stuck, listing, live]) assert.equal(client.events.at(-1), 'ERROR ShuttingDown');
  assert.equal(watches.size, 0);
});

test('watch: a list that a watch asked for is closed, also when the watch ends before its first object', async () => {
  const { watch, things } = await world();
  things.list = [['a']];
  await watch(new Client(), { sendInitial: true });
  await until(() => things.closed === 1);
  const { promise, resolve } = Promise.withResolvers<void>();
  things.opening = promise;
  const early = await watch(new Client(), { sendInitial: true });
  await until(() => things.opened === 2);
  early.close();
  resolve();
  await until(() => things.closed === 2);
});

test('watch: a replay that meets an outage goes on where it was', async () => {
  const { watch, write, held } = await world();
  await write(2_000);
  const client = new Client();
  let isAway = false;
  client.onEvent = () => {
    if (client.events.length !== 300) return;
    isAway = true;
    held.fail('changes', new KindredError('NotReady', { en: 'away', zh: 'away' }));
  };
  await watch(client, { since: 0 });
  await until(() => isAway);
  await settled();
  held.fail('changes', undefined);
  await until(() => client.changes.length === 2_000);
  assert.deepEqual(client.changes, added(1, 2_000));
});

test('watch: a revision that is not there yet, or no longer, is Expired', async () => {
  const { watch, write, medium } = await world();
  await write(30);
  await (await medium.open()).compact(5, 10);
  for (const since of [0, 24, 31])
    await assert.rejects(watch(new Client(), { since }), { code: 'Expired' }, `${since}`);
  const client = new Client();
  await watch(client, { since: 25 });
  await until(() => client.changes.length === 5);
  const newest = new Client();
  await watch(newest, { since: 30 });
  await write(1);
  await until(() => newest.changes.length === 1);
  assert.deepEqual(newest.changes, added(31, 31));
});

test('watch: a revision that another replica wrote can be resumed from at once', async () => {
  const { watch, medium, held } = await world();
  const bytes = Buffer.from('{"name":"n1"}');
  const number = await held.store.modelNumber('demo.example.com', 'Thing');
  medium.apply({ type: 'create', model: number, name: 'n1', bytes }, 1);
  const client = new Client();
  await watch(client, { since: 1 });
  await settled();
  assert.deepEqual(client.events, []);
});
