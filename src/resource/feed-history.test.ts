import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KindredError } from '../errors.ts';
import type { Change, Store } from '../store/store.ts';
import { until } from '../testing/until.ts';
import type { ModelWrite } from './feed.ts';
import { Feed } from './feed.ts';
import type { ModelMemory } from './memory.ts';

const memory = { isClosed: false, apply: () => undefined } as unknown as ModelMemory;

function change(revision: number, name = `n${revision}`, rest: Partial<Change> = {}): Change {
  return { revision, type: 'create', model: 1, id: revision, name, bytes: Buffer.from(name), time: revision, ...rest };
}

const changes = (newest: number): Change[] => Array.from({ length: newest }, (_, i) => change(i + 1));

/** A database behind connections: `lead` leads further ones to a server with another log. */
class Server {
  readonly shared = true;
  connections: number | undefined = 1;
  log: Change[];
  oldest = 0;
  /** Questions for the log so far, each with its `since`. */
  readonly asked: number[] = [];
  /** Held back while it is there. */
  gate: Promise<void> | undefined;
  isAway = false;
  readonly #listeners = new Set<() => void>();

  constructor(newest: number) {
    this.log = changes(newest);
  }

  lead(log: Change[]): void {
    this.log = log;
    if (this.connections !== undefined) this.connections++;
  }

  announce(): void {
    for (const listener of this.#listeners) listener();
  }

  onCommit(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async revision(): Promise<number> {
    return this.log.at(-1)?.revision ?? this.oldest;
  }

  async changes(since: number, limit: number): Promise<readonly Change[]> {
    this.asked.push(since);
    if (this.isAway) throw new KindredError('NotReady', 'away');
    if (since < this.oldest) throw new KindredError('Expired', 'compacted');
    const answer = this.log.filter(({ revision }) => revision > since).slice(0, limit);
    await this.gate;
    return answer;
  }
}

/** A feed that has applied what the server has. */
async function follow(server: Server) {
  const told: string[] = [];
  let resyncs = 0;
  let retries = 0;
  const feed = new Feed({
    store: server as unknown as Store,
    memoryOf: () => memory,
    monotonicNow: () => performance.now(),
    logger: { error: () => undefined },
    timers: {
      after: (milliseconds, run) => {
        // The others are the question every 500 ms and the limit of a read.
        if (milliseconds !== 500 && milliseconds < 1_500) retries++;
        const timer = setTimeout(run, milliseconds);
        return () => clearTimeout(timer);
      },
    },
  });
  await feed.start();
  feed.subscribe({
    change: ({ revision, name }) => told.push(`${revision} ${name}`),
    resync: () => resyncs++,
  });
  await feed.newest();
  return {
    feed,
    told,
    resyncs: () => resyncs,
    retries: () => retries,
    commit: (revision: number, name: string) => {
      const write = { ...change(revision, name), memory } as unknown as ModelWrite;
      feed.committed([{ write, result: { ok: true, id: revision, revision } }], revision);
    },
  };
}

describe('Feed over a database that lost what was applied', () => {
  const others: [string, Change[]][] = [
    ['the newest is an earlier one', changes(4)],
    ['nothing is there', []],
    ['another name', [...changes(4), change(5, 'real')]],
    ['another identity', [...changes(4), change(5, 'n5', { id: 2, type: 'update' })]],
    ['another content', [...changes(4), change(5, 'n5', { bytes: Buffer.from('real') })]],
    ['another time', [...changes(4), change(5, 'n5', { time: 6 })]],
    ['another type', [...changes(4), change(5, 'n5', { type: 'delete' })]],
    ['another one, and more after it', [...changes(4), change(5, 'real'), change(6), change(7)]],
    ['a gap in its place', [...changes(4), change(7)]],
  ];
  for (const [what, log] of others) {
    it(`reads everything anew before a read is answered: ${what}`, async () => {
      const server = new Server(5);
      const { feed, told, resyncs, retries } = await follow(server);
      assert.deepEqual([feed.applied, resyncs()], [5, 0]);
      server.lead(log);
      await feed.current();
      const newest = log.at(-1)?.revision ?? 0;
      assert.deepEqual([feed.applied, resyncs()], [newest, 1]);
      assert.deepEqual(feed.readAnew, { log: 0, history: 1 });
      assert.deepEqual(feed.recent(newest), []);
      if (newest > 0) assert.equal(feed.recent(newest - 1), undefined, 'what was applied before is forgotten');
      // It goes on from there, and looks for nothing that the database no longer has.
      await new Promise((done) => setImmediate(done));
      assert.equal(retries(), 0);
      server.log.push(change(newest + 1, 'next'));
      await feed.current();
      assert.deepEqual([told, resyncs()], [[`${newest + 1} next`], 1]);
      feed.stop();
    });
  }

  it('recognises what it applied, once for each new connection', async () => {
    const server = new Server(5);
    const { feed, told, resyncs } = await follow(server);
    server.asked.length = 0;
    server.lead(changes(7));
    await feed.current();
    assert.deepEqual(told, ['6 n6', '7 n7']);
    const { length } = server.asked;
    for (let i = 0; i < 5; i++) await feed.current();
    assert.equal(server.asked.length, length);
    server.connections!++;
    for (let i = 0; i < 5; i++) await feed.current();
    assert.deepEqual(server.asked.slice(length), [6], 'the change that was applied last');
    assert.equal(resyncs(), 0);
    feed.stop();
  });

  it('notices that the newest revision went back, where connections are not counted', async () => {
    const server = new Server(5);
    server.connections = undefined;
    const { feed, resyncs } = await follow(server);
    server.lead(changes(3));
    await feed.current();
    assert.deepEqual([feed.applied, resyncs()], [3, 1]);
    feed.stop();
  });

  it('an answer from before its own commit is no step back', async () => {
    const server = new Server(5);
    const { feed, told, resyncs, commit } = await follow(server);
    const asked = feed.current();
    server.log.push(change(6, 'own'));
    commit(6, 'own');
    await asked;
    await feed.current();
    assert.deepEqual([feed.applied, told, resyncs(), feed.readAnew.history], [6, ['6 own'], 0, 0]);
    feed.stop();
  });

  it('tells no commit of its own before it knows that the history is the same', async () => {
    for (const isSame of [true, false]) {
      const server = new Server(5);
      const { feed, told, resyncs, commit } = await follow(server);
      const { promise, resolve } = Promise.withResolvers<void>();
      server.gate = promise;
      server.lead([...(isSame ? changes(5) : [...changes(4), change(5, 'real')]), change(6, 'own')]);
      commit(6, 'own');
      await new Promise((done) => setImmediate(done));
      assert.deepEqual([feed.applied, told], [5, []]);
      resolve();
      await feed.reach(6);
      assert.deepEqual([feed.applied, told, resyncs()], isSame ? [6, ['6 own'], 0] : [6, [], 1]);
      feed.stop();
    }
  });

  it('applies nothing that the server before told', async () => {
    const server = new Server(5);
    const { feed, told, resyncs } = await follow(server);
    const { promise, resolve } = Promise.withResolvers<void>();
    server.gate = promise;
    server.log = [...changes(5), change(6, 'lost')];
    server.announce();
    // Its log is being read when a connection leads to the next one.
    await until(() => server.asked.at(-1) === 5);
    server.lead([...changes(5), change(6, 'real')]);
    server.gate = undefined;
    resolve();
    await feed.current();
    assert.deepEqual([feed.applied, told, resyncs()], [6, ['6 real'], 0]);
    feed.stop();
  });

  it('goes on where the log was compacted up to what was applied', async () => {
    const server = new Server(5);
    const { feed, told, resyncs } = await follow(server);
    server.oldest = 5;
    server.lead([change(6)]);
    await feed.current();
    assert.deepEqual([feed.applied, told, resyncs()], [6, ['6 n6'], 0]);
    feed.stop();
  });

  it('reads everything anew where the log was compacted beyond it, and counts that apart', async () => {
    const server = new Server(5);
    const { feed, resyncs } = await follow(server);
    server.oldest = 8;
    server.lead([change(9)]);
    await feed.current();
    assert.deepEqual([feed.applied, resyncs()], [9, 1]);
    assert.deepEqual(feed.readAnew, { log: 1, history: 0 });
    feed.stop();
  });

  it('is not there for reads as long as it cannot ask', async () => {
    const server = new Server(5);
    const { feed, resyncs } = await follow(server);
    server.isAway = true;
    server.lead([...changes(4), change(5, 'real')]);
    let isCurrent = false;
    const reading = feed.at(5).then(() => {
      isCurrent = true;
    });
    await until(() => server.asked.filter((since) => since === 4).length > 2);
    assert.equal(isCurrent, false);
    server.isAway = false;
    await reading;
    assert.equal(resyncs(), 1);
    feed.stop();
  });

  it('knows nothing of a log that was empty when it started, and compares from the first change on', async () => {
    const server = new Server(0);
    server.oldest = 5;
    const { feed, told, resyncs } = await follow(server);
    assert.equal(feed.applied, 5);
    server.connections!++;
    await feed.current();
    server.log.push(change(6));
    await feed.current();
    assert.deepEqual([told, resyncs()], [['6 n6'], 0]);
    server.lead([change(6, 'real')]);
    await feed.current();
    assert.deepEqual([feed.applied, resyncs()], [6, 1]);
    feed.stop();
  });
});
