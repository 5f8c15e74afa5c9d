import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, it } from 'node:test';
import { KindredError } from '../errors.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import type { ListOptions } from '../query/query.ts';
import type { AppliedChange } from '../resource/change.ts';
import type { FeedSubscriber } from '../resource/feed.ts';
import type { Lease } from '../store/store.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { ControllerDependencies } from './controller.ts';
import { RunningController } from './controller.ts';
import type { Fence, LeaseStore } from './lease.ts';
import { Leader } from './lease.ts';
import type { ControllerSpec, ReconcileRequest, Reconciler } from './reconciler.ts';
import { ControllerBuilder, Result, setUp } from './reconciler.ts';

class Book {}
class Author {}
const schemes = new Map<unknown, Scheme>(
  [Book, Author].map((type) => [type, { groupVersionKind: { group: 'g', version: 'v1', kind: type.name } } as Scheme]),
);

type Item = ExtensionObject & { spec?: { author?: string; n?: number } };

/** Objects of two models, and a feed of what happens to them. */
class World {
  readonly objects = new Map<unknown, Map<string, Item>>([
    [Book, new Map()],
    [Author, new Map()],
  ]);
  readonly #listeners = new Set<FeedSubscriber>();
  readonly clock = new FakeClock();
  /** Called in the middle of a listing. */
  whileListing = () => {};

  readonly feed = {
    subscribe: (listener: FeedSubscriber) => {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    },
  };

  get listeners(): number {
    return this.#listeners.size;
  }

  put(type: unknown, name: string, spec: Item['spec'] = {}): void {
    const items = this.objects.get(type)!;
    const before = items.get(name);
    const object = { apiVersion: 'g/v1', kind: 'K', metadata: { name }, spec } as Item;
    items.set(name, object);
    this.#tell(type, before ? 'update' : 'create', name, object, before);
  }

  remove(type: unknown, name: string): void {
    const object = this.objects.get(type)!.get(name)!;
    this.objects.get(type)!.delete(name);
    this.#tell(type, 'delete', name, object, object);
  }

  #tell(type: unknown, kind: AppliedChange['type'], name: string, object: Item, before: Item | undefined): void {
    const change = {
      type: kind,
      name,
      time: this.clock.now(),
      model: { scheme: schemes.get(type)! },
      object: () => object,
      objectBefore: () => before,
    } as unknown as AppliedChange;
    for (const listener of this.#listeners) listener.change?.(change);
  }

  readonly client = {
    listNames: async (type: unknown, options?: ListOptions) => {
      const names = [...this.objects.get(type)!.keys()];
      await Promise.resolve();
      this.whileListing();
      return options
        ? names.filter((name) => name.startsWith((options as unknown as { prefix: string }).prefix))
        : names;
    },
    listAll: async function* (this: World, type: unknown) {
      yield* [...this.objects.get(type)!.values()];
    }.bind(this),
  } as unknown as ControllerDependencies['client'];
}

/** A lease store of one process, or of several. */
class Leases implements LeaseStore {
  readonly #leases = new Map<string, Lease & { expires: number }>();
  cut = false;
  readonly shared: boolean;

  constructor(shared: boolean) {
    this.shared = shared;
  }

  async acquireLease(name: string, holder: string, ttl: number, now: number): Promise<Lease | undefined> {
    if (this.cut) throw new Error('the database is away');
    const there = this.#leases.get(name);
    const free = !there || there.expires <= now;
    if (!free && there.holder !== holder) return undefined;
    const lease = { name, holder, token: (there?.token ?? 0) + (free ? 1 : 0), expires: now + ttl };
    this.#leases.set(name, lease);
    return lease;
  }

  async releaseLease({ name, holder, token }: Lease): Promise<void> {
    const there = this.#leases.get(name);
    if (there?.holder === holder && there.token === token) there.expires = 0;
  }

  tokenOf(name: string): number | undefined {
    return this.#leases.get(name)?.token;
  }
}

interface Setting {
  world?: World;
  leases?: Leases;
  holder?: string;
  configure?: (builder: ControllerBuilder) => ControllerBuilder;
  reconcile?: Reconciler['reconcile'];
}

function make({ world = new World(), leases = new Leases(false), holder = 'one', configure, reconcile }: Setting = {}) {
  const calls: string[] = [];
  const atOnce = new Map<string, number>();
  let overlapped = false;
  let most = 0;
  const troubles: (string | undefined)[] = [];
  const observed: { outcome: string; latency: number; duration: number }[] = [];
  const fences = new AsyncLocalStorage<Fence>();
  const reconciler = {
    setupWith: (builder: ControllerBuilder) =>
      (configure?.(builder.extension(Book)) ?? builder.extension(Book)).build(),
    reconcile: async (request: ReconcileRequest) => {
      const { name } = request;
      calls.push(name);
      const running = (atOnce.get(name) ?? 0) + 1;
      atOnce.set(name, running);
      if (running > 1) overlapped = true;
      most = Math.max(
        most,
        [...atOnce.values()].reduce((sum, n) => sum + n, 0),
      );
      try {
        return await reconcile?.(request);
      } finally {
        atOnce.set(name, atOnce.get(name)! - 1);
      }
    },
  };
  const spec: ControllerSpec = { ...setUp(reconciler), name: 'books' };
  const controller = new RunningController({
    spec,
    reconciler,
    id: 'library/books',
    feed: world.feed,
    schemeOf: (type) => schemes.get(type)!,
    client: world.client,
    store: leases,
    holder,
    timers: world.clock,
    run: (fence, work) => fences.run(fence, work),
    logger: { warn: () => {} },
    onTrouble: (trouble) => troubles.push(trouble && `${trouble.reason}: ${trouble.message}`),
    observe: (call) => observed.push(call),
  });
  const settle = () => world.clock.advance(0);
  const take = () => calls.splice(0);
  return {
    world,
    leases,
    controller,
    take,
    settle,
    troubles,
    observed,
    fences,
    overlapped: () => overlapped,
    most: () => most,
  };
}

describe('controller', () => {
  it('spec: Events - called when an object is created, updated or deleted, with the name only', async () => {
    let seen: ReconcileRequest | undefined;
    const { world, controller, take, settle } = make({
      reconcile: async (request) => {
        seen = request;
      },
    });
    await controller.start();
    await settle();
    for (const act of [() => world.put(Book, 'a'), () => world.put(Book, 'a'), () => world.remove(Book, 'a')]) {
      act();
      await settle();
      assert.deepEqual(take(), ['a']);
    }
    assert.deepEqual(Object.keys(seen!), ['name', 'signal']);
    await controller.stop(10);
    assert.equal(world.listeners, 0);
    assert.equal(world.clock.pending, 0);
  });

  it('controllers: nothing is lost between listing at the start and subscribing', async () => {
    const world = new World();
    world.put(Book, 'old');
    world.whileListing = () => {
      world.whileListing = () => {};
      world.put(Book, 'new');
    };
    const { controller, take, settle } = make({ world });
    await controller.start();
    await settle();
    assert.deepEqual(take().sort(), ['new', 'old']);
    await controller.stop(10);
  });

  it('controllers: syncAllOnStart(false) reconciles changes only, syncAllListOptions narrows the listing', async () => {
    const world = new World();
    for (const name of ['a1', 'a2', 'b1']) world.put(Book, name);
    const quiet = make({ world, configure: (builder) => builder.syncAllOnStart(false) });
    await quiet.controller.start();
    await quiet.settle();
    assert.deepEqual(quiet.take(), []);
    world.put(Book, 'a1');
    await quiet.settle();
    assert.deepEqual(quiet.take(), ['a1']);
    await quiet.controller.stop(10);

    const some = make({
      world,
      configure: (builder) => builder.syncAllListOptions({ prefix: 'a' } as unknown as ListOptions),
    });
    await some.controller.start();
    await some.settle();
    assert.deepEqual(some.take().sort(), ['a1', 'a2']);
    await some.controller.stop(10);
  });

  it('controllers: per name never two at once, bursts collapse, workerCount is the most at once', async () => {
    const open: (() => void)[] = [];
    const { world, controller, take, settle, overlapped, most } = make({
      configure: (builder) => builder.workerCount(2),
      reconcile: () => new Promise<void>((resolve) => open.push(resolve)),
    });
    await controller.start();
    await settle();
    for (let i = 0; i < 100; i += 1) world.put(Book, 'a');
    for (const name of ['b', 'c']) world.put(Book, name);
    await settle();
    assert.deepEqual(take(), ['a', 'b']);
    for (let i = 0; i < 100; i += 1) world.put(Book, 'a');
    open.shift()!();
    await settle();
    assert.deepEqual(take(), ['c']);
    while (open.length > 0) {
      open.shift()!();
      await settle();
    }
    assert.deepEqual(take(), ['a']);
    assert.equal(overlapped(), false);
    assert.equal(most(), 2);
    await controller.stop(10);
  });

  it('controllers: a throw is retried with back-off from minDelay to maxDelay, reset by success', async () => {
    let failing = true;
    const { world, controller, take, settle, troubles } = make({
      configure: (builder) => builder.minDelay(10).maxDelay(100),
      reconcile: async () => {
        if (failing) throw new Error('not yet');
      },
    });
    await controller.start();
    world.put(Book, 'a');
    await settle();
    assert.equal(take().length, 1);
    const times: number[] = [];
    for (const wait of [10, 20, 40, 80, 100, 100]) {
      await world.clock.advance(wait - 1);
      assert.deepEqual(take(), []);
      await world.clock.advance(1);
      times.push(take().length);
    }
    assert.deepEqual(times, [1, 1, 1, 1, 1, 1]);
    assert.match(troubles[0]!, /^ReconcileFailed: controller "books": reconcile of "a" failed 5 times: not yet$/);
    const { lastError, retries, calls } = controller.status();
    assert.deepEqual({ ...lastError, time: 0 }, { name: 'a', message: 'not yet', time: 0 });
    assert.deepEqual([retries, calls.failed], [6, 7]);
    failing = false;
    await world.clock.advance(100);
    assert.equal(troubles.at(-1), undefined);
    failing = true;
    take();
    world.put(Book, 'a');
    await settle();
    await world.clock.advance(10);
    assert.equal(take().length, 2);
    await controller.stop(10);
  });

  it('controllers: Result.requeue calls again after its time, without one by back-off', async () => {
    const results = [Result.requeue(500), Result.requeue(), Result.requeue(), Result.done()];
    const { world, controller, take } = make({
      configure: (builder) => builder.minDelay(10),
      reconcile: async () => results.shift(),
    });
    await controller.start();
    world.put(Book, 'a');
    await world.clock.advance(499);
    assert.equal(take().length, 1);
    await world.clock.advance(1);
    assert.equal(take().length, 1);
    await world.clock.advance(10);
    assert.equal(take().length, 1);
    await world.clock.advance(19);
    assert.equal(take().length, 0);
    await world.clock.advance(1);
    assert.equal(take().length, 1);
    await world.clock.advance(1_000_000);
    assert.equal(take().length, 0);
    assert.throws(() => Result.requeue(-1), KindredError);
    await controller.stop(10);
  });

  it('controllers: onAdd, onUpdate and onDelete choose; one that throws lets the change through', async () => {
    const { world, controller, take, settle } = make({
      configure: (builder) =>
        builder
          .onAdd((book: Item) => book.spec?.n === 1)
          .onUpdate((old: Item, now: Item) => {
            if (now.spec?.n === 13) throw new Error('unlucky');
            return old.spec?.n !== now.spec?.n;
          })
          .onDelete((book: Item) => book.metadata.name === 'a'),
    });
    await controller.start();
    await settle();
    world.put(Book, 'a', { n: 1 });
    world.put(Book, 'b', { n: 2 });
    await settle();
    assert.deepEqual(take(), ['a']);
    world.put(Book, 'a', { n: 1 });
    world.put(Book, 'b', { n: 3 });
    await settle();
    assert.deepEqual(take(), ['b']);
    world.put(Book, 'a', { n: 13 });
    await settle();
    assert.deepEqual(take(), ['a']);
    world.remove(Book, 'a');
    world.remove(Book, 'b');
    await settle();
    assert.deepEqual(take(), ['a']);
    await controller.stop(10);
  });

  it('controllers: watches() asks about the object as it was and as it is, and about all at the start', async () => {
    const world = new World();
    world.put(Author, 'x', { author: 'first' });
    const { controller, take, settle } = make({
      world,
      configure: (builder) => builder.watches(Author, async (author: unknown) => [(author as Item).spec!.author!]),
    });
    await controller.start();
    await settle();
    assert.deepEqual(take(), ['first']);
    world.put(Author, 'x', { author: 'second' });
    await settle();
    assert.deepEqual(take().sort(), ['first', 'second']);
    world.remove(Author, 'x');
    await settle();
    assert.deepEqual(take(), ['second']);
    await controller.stop(10);
  });

  it('a mapping that throws for one object at the start is asked again for that one alone', async () => {
    const world = new World();
    world.put(Book, 'b');
    for (const name of ['x', 'y', 'z']) world.put(Author, name);
    let fails = true;
    const asked: string[] = [];
    const { controller, take, settle, troubles } = make({
      world,
      configure: (builder) =>
        builder.watches(Author, async (author: unknown) => {
          const { name } = (author as Item).metadata;
          asked.push(name);
          if (name === 'y' && fails) throw new Error('not now');
          return [`of-${name}`];
        }),
    });
    await controller.start();
    await settle();
    assert.deepEqual(take().sort(), ['b', 'of-x', 'of-z']);
    assert.match(troubles[0]!, /^WatchFailed: .*not now$/);
    asked.length = 0;
    await world.clock.advance(60_000);
    assert.deepEqual([...new Set(asked)], ['y']);
    assert.ok(asked.length < 20, `asked ${asked.length} times`);
    assert.deepEqual(take(), []);
    await controller.whenQuiet(0);
    fails = false;
    await world.clock.advance(10_000);
    assert.deepEqual(take(), ['of-y']);
    await controller.stop(10);
    assert.equal(world.clock.pending, 0);
  });

  it('a mapping that throws for a change is asked again for the object as it was and as it is', async () => {
    const world = new World();
    world.put(Author, 'x', { author: 'first' });
    let fails = false;
    const { controller, take, settle } = make({
      world,
      configure: (builder) =>
        builder.syncAllOnStart(false).watches(Author, async (author: unknown) => {
          if (fails) throw new Error('not now');
          return [(author as Item).spec!.author!];
        }),
    });
    await controller.start();
    await settle();
    fails = true;
    world.put(Author, 'x', { author: 'second' });
    await world.clock.advance(20_000);
    assert.deepEqual(take(), []);
    fails = false;
    await world.clock.advance(10_000);
    assert.deepEqual(take().sort(), ['first', 'second']);
    await controller.stop(10);
    assert.equal(world.clock.pending, 0);
  });

  it('controllers: syncAllListOptions limits the calls at the start, not those for changes that went past unseen', async () => {
    const world = new World();
    for (const name of ['a1', 'b1']) world.put(Book, name);
    const { controller, take, settle } = make({
      world,
      configure: (builder) => builder.syncAllListOptions({ prefix: 'a' } as unknown as ListOptions),
    });
    await controller.start();
    await settle();
    assert.deepEqual(take(), ['a1']);
    controller.resync();
    await settle();
    assert.deepEqual(take().sort(), ['a1', 'b1']);
    await controller.stop(10);
  });

  it('controllers: an object that is deleted while too many changes wait is not forgotten', async () => {
    const world = new World();
    world.put(Book, 'b');
    const { controller, take, settle } = make({
      world,
      configure: (builder) => builder.onDelete(() => true).watches(Author, () => []),
    });
    await controller.start();
    await settle();
    take();
    world.remove(Book, 'b');
    for (let i = 0; i <= 50_000; i += 1) world.put(Author, 'x');
    await settle();
    await settle();
    assert.deepEqual(take(), ['b']);
    await controller.stop(10);
  });

  it('a controller is quiet when both of two listings are over', async () => {
    const world = new World();
    world.put(Book, 'b');
    const gate = Promise.withResolvers<void>();
    const { controller, settle } = make({
      world,
      configure: (builder) => builder.syncAllOnStart(false).watches(Author, () => gate.promise.then(() => [])),
    });
    await controller.start();
    await settle();
    world.objects.get(Author)!.set('slow', { metadata: { name: 'slow' } } as Item);
    controller.resync();
    await settle();
    world.objects.get(Author)!.clear();
    controller.resync();
    await settle();
    let quiet = false;
    const waiting = controller.whenQuiet(60_000).then(() => {
      quiet = true;
    });
    await settle();
    assert.equal(quiet, false);
    gate.resolve();
    await settle();
    await waiting;
    await controller.stop(10);
  });

  it('controllers: stop aborts the signal, waits for running calls but not for ever, and begins none', async () => {
    let signal: AbortSignal | undefined;
    const { world, controller, take, settle } = make({
      reconcile: (request) => {
        signal = request.signal;
        return new Promise(() => {});
      },
    });
    await controller.start();
    world.put(Book, 'a');
    world.put(Book, 'b');
    await settle();
    let stopped = false;
    const stop = controller.stop(5_000).then(() => {
      stopped = true;
    });
    await settle();
    assert.equal(signal!.aborted, true);
    await world.clock.advance(4_999);
    assert.equal(stopped, false);
    await world.clock.advance(1);
    await stop;
    world.put(Book, 'c');
    await settle();
    assert.deepEqual(take(), ['a']);
  });

  it('controllers: a call that does not end is named', async () => {
    const { world, controller, troubles } = make({ reconcile: () => new Promise(() => {}) });
    await controller.start();
    world.put(Book, 'a');
    await world.clock.advance(30_000);
    assert.match(troubles[0]!, /^ReconcileHangs: controller "books": reconcile of "a" has not ended after 30 s$/);
    const stop = controller.stop(1);
    await world.clock.advance(1);
    await stop;
  });

  it('controllers: a call that outlives its controller is not told of the next one', async () => {
    const { world, controller, troubles } = make({ reconcile: () => new Promise(() => {}) });
    await controller.start();
    world.put(Book, 'a');
    await world.clock.advance(1_000);
    const stop = controller.stop(1);
    await world.clock.advance(60_000);
    await stop;
    assert.deepEqual(troubles, []);
  });

  it('controllers: metrics tell queue depth, latency, duration, retries and the last error', async () => {
    let release = () => {};
    const { world, controller, settle, observed } = make({
      reconcile: () =>
        new Promise<void>((resolve) => {
          release = resolve;
        }),
    });
    await controller.start();
    world.put(Book, 'a');
    world.put(Book, 'b');
    await settle();
    assert.deepEqual([controller.status().running, controller.status().queueDepth], [1, 1]);
    await world.clock.advance(70);
    release();
    await settle();
    release();
    await settle();
    assert.deepEqual(
      observed.map(({ outcome, latency, duration }) => ({ outcome, latency, duration })),
      [
        { outcome: 'done', latency: 0, duration: 70 },
        { outcome: 'done', latency: 70, duration: 0 },
      ],
    );
    assert.deepEqual([controller.status().running, controller.status().queueDepth], [0, 0]);
    await controller.whenQuiet(0);
    await controller.stop(10);
  });

  it('controllers: changes that went past unseen are made good by looking at everything again', async () => {
    const world = new World();
    const { controller, take, settle } = make({ world, configure: (builder) => builder.syncAllOnStart(false) });
    await controller.start();
    world.put(Book, 'a');
    await settle();
    take();
    world.objects.get(Book)!.set('unseen', { metadata: { name: 'unseen' } } as Item);
    controller.resync();
    await settle();
    assert.deepEqual(take().sort(), ['a', 'unseen']);
    await controller.stop(10);
  });

  it('a mapping that is slower than the changes costs a new listing, not memory', async () => {
    const world = new World();
    world.put(Book, 'b');
    const { controller, take, settle } = make({
      world,
      configure: (builder) => builder.watches(Author, (author: unknown) => [`of-${(author as Item).metadata.name}`]),
    });
    await controller.start();
    await settle();
    take();
    for (let i = 0; i <= 50_000; i += 1) world.put(Author, 'x');
    await settle();
    await settle();
    assert.deepEqual(take().sort(), ['b', 'of-x']);
    await controller.stop(10);
  });
});

describe('leader lease', () => {
  it('controllers: exactly one replica runs a controller; when it dies another takes over within 15 s', async () => {
    const world = new World();
    const leases = new Leases(true);
    const one = make({ world, leases, holder: 'one' });
    const two = make({ world, leases, holder: 'two' });
    await one.controller.start();
    await two.controller.start();
    await world.clock.advance(60_000);
    world.put(Book, 'a');
    await one.settle();
    assert.deepEqual([one.take(), two.take()], [['a'], []]);
    assert.deepEqual([one.controller.status().leading, two.controller.status().leading], [true, false]);

    // What was deleted while nobody led is reconciled too.
    const died = world.clock.now();
    leases.acquireLease = ((original) => async (name: string, holder: string, ttl: number, now: number) => {
      if (holder === 'one') throw new Error('this replica is cut off');
      return original.call(leases, name, holder, ttl, now);
    })(leases.acquireLease);
    world.remove(Book, 'a');
    world.put(Book, 'b');
    while (!two.controller.status().leading && world.clock.now() - died < 20_000) await world.clock.advance(100);
    assert.ok(world.clock.now() - died <= 15_000, `${world.clock.now() - died} ms`);
    await two.settle();
    assert.deepEqual(two.take().sort(), ['a', 'b']);
    assert.equal(one.controller.status().leading, false);
    await one.controller.stop(10);
    await two.controller.stop(10);
    assert.equal(world.clock.pending, 0);
  });

  it('controllers: a holder that stops gives the lease up, the next one has a greater token', async () => {
    const world = new World();
    const leases = new Leases(true);
    const tokens: number[] = [];
    const reconcilerOf = (holder: string) => {
      const made: ReturnType<typeof make> = make({
        world,
        leases,
        holder,
        reconcile: async () => {
          tokens.push(made.fences.getStore()!.token);
        },
      });
      return made;
    };
    const one = reconcilerOf('one');
    const two = reconcilerOf('two');
    await one.controller.start();
    await two.controller.start();
    world.put(Book, 'a');
    await one.settle();
    await one.controller.stop(10);
    await world.clock.advance(2_000);
    assert.equal(two.controller.status().leading, true);
    assert.deepEqual(tokens, [1, 2]);
    await two.controller.stop(10);
  });

  it('a store of one process: the lease of a killed process is taken at once', async () => {
    const leases = new Leases(false);
    const clock = new FakeClock();
    const made: Fence[] = [];
    const leader = () =>
      new Leader({
        store: leases,
        name: 'l',
        holder: `${made.length}`,
        timers: clock,
        onAcquired: (fence) => made.push(fence),
        onLost: () => assert.fail(),
        onError: (error) => assert.fail(String(error)),
      });
    const first = leader();
    await first.start();
    await leader().start();
    assert.equal(made.length, 2);
    assert.equal(clock.pending, 0);
    await first.stop();
  });

  /** The lease runs out, and this replica takes it again when `meanwhile` has happened. */
  async function lapse({ world, leases, controller }: ReturnType<typeof make>, meanwhile = () => {}): Promise<void> {
    leases.cut = true;
    await world.clock.advance(60_000);
    assert.equal(controller.status().leading, false);
    meanwhile();
    leases.cut = false;
    await world.clock.advance(2_000);
    assert.equal(controller.status().leading, true);
  }

  it('a controller that stops begins nothing when it loses its lease meanwhile and takes it again', async () => {
    const called = Promise.withResolvers<void>();
    const { world, leases, controller, settle } = make({
      leases: new Leases(true),
      reconcile: () => called.promise,
    });
    await controller.start();
    world.put(Book, 'a');
    await settle();
    const stopped = controller.stop(300_000);
    assert.equal(controller.status().leading, false);
    leases.cut = true;
    await world.clock.advance(60_000);
    leases.cut = false;
    await world.clock.advance(10_000);
    assert.equal(controller.status().leading, false);
    called.resolve();
    await stopped;
    assert.equal(controller.status().leading, false);
  });

  it('controllers: what was queued, failed or asked for another call when the lease was lost is not forgotten', async () => {
    const waits = { failed: 30_000, asked: 100_000 };
    let away = false;
    const made = make({
      leases: new Leases(true),
      configure: (builder) => builder.syncAllOnStart(false).minDelay(waits.failed),
      reconcile: async ({ name, signal }) => {
        if (name === 'running' && away) await new Promise((resolve) => signal.addEventListener('abort', resolve));
        if (name === 'failed' && away) throw new Error('away');
        return name === 'asked' ? Result.requeue(waits.asked) : Result.done();
      },
    });
    const { world, controller, take } = made;
    await controller.start();
    for (const name of ['failed', 'running', 'queued']) world.put(Book, name);
    world.put(Book, 'asked');
    await made.settle();
    away = true;
    take();
    for (const name of ['failed', 'running', 'queued']) world.remove(Book, name);
    await made.settle();
    assert.deepEqual(take(), ['failed', 'running']);
    await lapse(made, () => {
      away = false;
    });
    assert.deepEqual(take().sort(), ['failed', 'queued', 'running']);
    await world.clock.advance(waits.asked);
    assert.deepEqual(take(), ['asked']);
    await controller.stop(10);
    assert.equal(world.clock.pending, 0);
  });

  it('controllers: changes while nobody leads are reconciled also with syncAllOnStart(false)', async () => {
    const world = new World();
    world.put(Author, 'x', { author: 'first' });
    world.put(Book, 'other');
    const made = make({
      world,
      leases: new Leases(true),
      configure: (builder) =>
        builder.syncAllOnStart(false).watches(Author, (author: unknown) => [(author as Item).spec!.author!]),
    });
    await made.controller.start();
    await lapse(made, () => {
      world.put(Book, 'created');
      world.put(Author, 'x', { author: 'second' });
    });
    assert.deepEqual(made.take().sort(), ['created', 'first', 'second']);
    await lapse(made, () => {
      for (let i = 0; i <= 50_000; i += 1) world.put(Book, 'often');
    });
    assert.deepEqual(made.take().sort(), ['created', 'often', 'other', 'second']);
    await made.controller.stop(10);
  });

  it('controllers: changes that wait for a mapping and a listing under way outlive the lease', async () => {
    const world = new World();
    const gates: (() => void)[] = [];
    const made = make({
      world,
      leases: new Leases(true),
      configure: (builder) =>
        builder.syncAllOnStart(false).watches(Author, async (author: unknown) => {
          await new Promise<void>((resolve) => gates.push(resolve));
          return [`of-${(author as Item).metadata.name}`];
        }),
    });
    await made.controller.start();
    for (const name of ['x', 'y']) world.put(Author, name);
    await made.settle();
    world.objects.get(Book)!.set('unseen', { metadata: { name: 'unseen' } } as Item);
    world.whileListing = () => {
      throw new Error('away');
    };
    made.controller.resync();
    await lapse(made, () => {
      world.whileListing = () => {};
    });
    for (let i = 0; i < 20; i += 1) {
      gates.shift()?.();
      await made.settle();
    }
    assert.deepEqual([...new Set(made.take())].sort(), ['of-x', 'of-y', 'unseen']);
    await made.controller.stop(10);
  });

  it('controllers: calls for one name never overlap, also when the lease was lost in between', async () => {
    const open: (() => void)[] = [];
    const made = make({
      leases: new Leases(true),
      reconcile: () => new Promise<void>((resolve) => open.push(resolve)),
    });
    made.world.put(Book, 'a');
    await made.controller.start();
    await made.settle();
    await lapse(made);
    assert.deepEqual(made.take(), ['a']);
    open.shift()!();
    await made.settle();
    assert.deepEqual([made.take(), made.overlapped()], [['a'], false]);
    open.shift()!();
    await made.controller.stop(10);
  });

  it('a leader that cannot renew stands down before another can take over', async () => {
    const world = new World();
    const leases = new Leases(true);
    const one = make({ world, leases });
    await one.controller.start();
    leases.cut = true;
    await world.clock.advance(10_000);
    assert.equal(one.controller.status().leading, false);
    leases.cut = false;
    await world.clock.advance(2_000);
    assert.equal(one.controller.status().leading, true);
    await one.controller.stop(10);
  });
});

describe('controller builder', () => {
  const refused: { what: string; build: (builder: ControllerBuilder) => unknown; says: RegExp }[] = [
    { what: 'no model', build: (builder) => builder.build(), says: /builder\.extension/ },
    { what: 'a name that is none', build: (builder) => builder.name('Big Name'), says: /"Big Name"/ },
    { what: 'a delay of 0', build: (builder) => builder.minDelay(0), says: /minDelay .* not 0/ },
    {
      what: 'a first delay over the longest',
      build: (builder) => builder.extension(Book).minDelay(20).maxDelay(10).build(),
      says: /20 ms.*10 ms/,
    },
    { what: 'half a worker', build: (builder) => builder.workerCount(0.5), says: /workerCount .* 0\.5/ },
    { what: 'a matcher that is no function', build: (builder) => builder.onAdd(true as never), says: /onAdd/ },
  ];
  for (const { what, build, says } of refused) {
    it(`controllers: refuses ${what}`, () => {
      assert.throws(
        () => build(new ControllerBuilder()),
        (error) => error instanceof KindredError && error.code === 'InvalidPlugin' && says.test(error.message),
      );
    });
  }

  it('controllers: defaults are minDelay 5 ms, maxDelay 1000 s, one worker, everything at the start', () => {
    const { minDelay, maxDelay, workerCount, syncAllOnStart } = new ControllerBuilder()
      .extension(Book)
      .build() as ControllerSpec;
    assert.deepEqual(
      { minDelay, maxDelay, workerCount, syncAllOnStart },
      { minDelay: 5, maxDelay: 1_000_000, workerCount: 1, syncAllOnStart: true },
    );
  });

  it('plugins: registerController takes a Reconciler and says so', () => {
    for (const none of [null, {}, { reconcile: async () => {} }, { setupWith: () => ({ name: 'a' }) }]) {
      assert.throws(() => setUp(none as never), /takes a Reconciler/);
    }
  });

  it('refuses a reconciler whose setupWith returns something else', () => {
    assert.throws(() => setUp({ setupWith: () => ({ name: 'a' }), reconcile: async () => {} }), /builder\.build/);
  });
});
