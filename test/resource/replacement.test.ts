/** Another declaration takes the place of one that serves: its indexes are built while the model goes on. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { keysOf } from '../../src/indexes/field.ts';
import { defineModel } from '../../src/model/define.ts';
import { entryOf } from '../../src/model/index-spec.ts';
import type { Model } from '../../src/model/model-type.ts';
import { SchemeRegistry } from '../../src/model/registry.ts';
import { Type } from '../../src/model/type.ts';
import { Queries } from '../../src/query/query.ts';
import { allowAll, system } from '../../src/resource/access.ts';
import type { Admissions } from '../../src/resource/admission.ts';
import { ResourceRegistry } from '../../src/resource/registry.ts';
import type { ModelResource } from '../../src/resource/resource.ts';
import { storageFull, unknownOutcome } from '../../src/store/failure.ts';
import { openStore } from '../../src/store/open.ts';
import { until } from '../../src/testing/until.ts';

type Indexes = Parameters<typeof defineModel>[0]['indexes'];
const gvk = { group: 'bar.example.com', version: 'v1', kind: 'Widget', singular: 'widget', plural: 'widgets' };
const spec = Type.Object({ size: Type.Integer(), tags: Type.Array(Type.String()) });
const declare = (indexes: Indexes, of: object = spec) => defineModel({ gvk, spec: of, indexes } as never) as Model<any>;

const Bare = declare((index) => [index.single('spec.size', Number, (one: any) => one.spec.size)]);
const Tagged = declare((index) => [
  index.multi('spec.tags', String, (one: any) => one.spec.tags),
  index.single('spec.size', Number, (one: any) => one.spec.size),
  index.single('parity', String, (one: any) => (one.spec.size % 2 === 0 ? 'even' : undefined), { nullable: true }),
]);
const Unique = declare((index) => [index.single('spec.size', Number, (one: any) => one.spec.size, { unique: true })]);

const stops: (() => Promise<void>)[] = [];
after(async () => {
  for (const stop of stops) await stop();
});

async function widgets(count: number, model = Bare, admissions?: Admissions) {
  const store = await openStore('sqlite::memory:');
  const registry = new SchemeRegistry({ reservedDomain: 'platform.run', warn: () => {} });
  const errors: string[] = [];
  const resources = new ResourceRegistry({
    store,
    registry,
    authorizer: allowAll,
    now: Date.now,
    monotonicNow: () => performance.now(),
    limits: {
      queryTimeout: 5_000,
      objectBytes: 2 ** 20,
      patch: { operations: 100, growth: 2 ** 20, depth: 64, members: 1_000, containers: 1_000 },
      cacheBytes: 2 ** 20,
      writeTimeout: 5_000,
      bookmarkInterval: 15_000,
      livePages: { rows: 100, rowsPerIdentity: 100 },
    },
    reservedDomain: 'platform.run',
    ...(admissions && { admissions }),
    logger: { info: () => {}, warn: () => {}, error: (_, message) => void errors.push(message) },
    hooks: new Map(),
  });
  await resources.feed.start();
  const resource = resources.model(registry.register(model, undefined, 'bar'));
  await resource.ready;
  const stop = async () => {
    await resources.stop();
    await store.close();
  };
  stops.push(stop);
  await Promise.all(Array.from({ length: count }, (_, i) => resource.create(widget(i), { caller: system })));
  return { registry, resources, resource, errors };
}

const widget = (i: number, size = i) => ({
  metadata: { name: `w${i}`, labels: { third: String(i % 3) } },
  spec: { size, tags: [`t${size % 5}`, `u${size % 7}`] },
});

const page = { page: 1, size: 10 };
const total = async (resource: ModelResource, where = Queries.all()) => resource.count({ where });

/** Every index has exactly what its function gives of each stored object, and each order is one. */
async function assertRight(resource: ModelResource): Promise<void> {
  const { index } = resource.memory;
  assert.equal(index.definitions, resource.scheme.indexes);
  for (const name of await resource.names({ where: Queries.all(), sort: [] })) {
    const { stored } = await resource.get(name);
    const entry = entryOf(resource.scheme, JSON.parse(stored.bytes.toString()));
    for (const [number, field] of index.fields.entries())
      assert.ok(field.hasExactly(index.slotOf(name)!, keysOf(entry, number)), `${field.field.name} of ${name}`);
  }
  for (const { field, order, column, firstWithKey } of index.fields) {
    for (let rank = firstWithKey + 1; rank < order.size; rank++)
      assert.ok(column.compare(order.at(rank - 1), order.at(rank)) <= 0, field.name);
  }
}

test('an index that is kept is the same one; a new one is refused until it is built, and nothing else is', async () => {
  const { registry, resources, resource } = await widgets(3_000);
  const kept = resource.memory.index.fields[3];
  const scheme = registry.replace(Tagged, undefined, 'bar');
  assert.equal(resources.model(scheme), resource);
  const where = Queries.equal('parity', 'even');
  await assert.rejects(
    async () => resource.list({ where, sort: [], ...page }),
    (error: any) => {
      assert.equal(error.code, 'IndexBuilding');
      assert.equal(error.index, 'parity');
      assert.ok(error.progress >= 0 && error.progress < 1);
      return true;
    },
  );
  const sort = [{ field: 'spec.tags', direction: 'asc' as const }];
  await assert.rejects(async () => resource.list({ where: Queries.all(), sort, ...page }), { code: 'IndexBuilding' });
  await assert.rejects(async () => resource.values({ index: 'spec.tags', limit: 5 }), { code: 'IndexBuilding' });
  assert.equal(await total(resource, Queries.lessThan('spec.size', 10)), 10);
  await resource.create(widget(3_000), { caller: system });
  assert.deepEqual(
    resource.memory.state().indexes.map(({ name }) => name),
    ['spec.tags', 'parity'],
  );
  await resource.indexed.settled;
  assert.equal(resource.memory.index.fields[4], kept);
  assert.equal(await total(resource, where), 1_501);
  assert.deepEqual(resource.memory.state().indexes, []);
  await assertRight(resource);
});

test('replaced under random writes, the indexes are those of a build', async () => {
  let seed = 18;
  const random = () => {
    seed = (seed * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return seed / 2 ** 32;
  };
  const { registry, resource } = await widgets(500);
  for (const model of [Tagged, Bare, Tagged]) {
    registry.replace(model, undefined, 'bar');
    let isOver = false;
    const replaced = resource.indexed.settled.then(() => {
      isOver = true;
    });
    while (!isOver) {
      const i = Math.floor(random() * 600);
      const size = Math.floor(random() * 100);
      const write =
        random() < 0.3
          ? resource.delete(`w${i}`, { caller: system })
          : random() < 0.5
            ? resource.create(widget(i, size), { caller: system })
            : resource.patch(`w${i}`, { spec: widget(i, size).spec }, { caller: system, kind: 'merge' });
      await write.catch((error: any) => assert.ok(['NotFound', 'AlreadyExists'].includes(error.code), error.code));
    }
    await replaced;
    await assertRight(resource);
  }
});

test('watches and live pages stay, but for those of an index that changed', async () => {
  const { registry, resources, resource } = await widgets(50);
  const events: string[] = [];
  const watch = async (name: string, where = Queries.all()) => {
    const sink = {
      event: ({ type, bytes }: any) => {
        if (type !== 'BOOKMARK') events.push(`${name} ${type} ${JSON.parse(bytes.toString()).metadata.name}`);
      },
      isBehind: false,
      isFull: false,
      drained: async () => {},
      end: (error: any) => void events.push(`${name} ended ${error.code}`),
    };
    (await resources.watches.open(resource, { where, sort: [], identity: 'a' }, sink)).start();
  };
  await watch('all');
  await watch('sized', Queries.equal('spec.size', 1_000));
  let windows = 0;
  const live = await resources.livePages.open(resource, { where: Queries.all(), sort: [], ...page }, 'a', {
    snapshot: () => {},
    window: () => void windows++,
    bookmark: () => {},
    isBehind: false,
    drained: async () => {},
    end: (error: any) => void events.push(`page ended ${error.code}`),
  });
  live.start();
  await until(() => resources.watches.size === 3);
  registry.replace(Tagged, undefined, 'bar');
  await resource.indexed.settled;
  await watch('tagged', Queries.equal('spec.tags', 't0'));
  await resource.create(widget(1_000), { caller: system });
  await until(() => windows > 0 && events.length >= 3);
  assert.deepEqual(events.sort(), ['all ADDED w1000', 'sized ADDED w1000', 'tagged ADDED w1000']);
  registry.replace(Bare, undefined, 'bar');
  await resource.indexed.settled;
  assert.deepEqual(
    events.filter((one) => one.includes('ended')),
    ['tagged ended Expired'],
  );
  assert.equal(resources.watches.size, 3);
  live.close();
});

test('a second replacement takes the place of one that is being built', async () => {
  const { registry, resource } = await widgets(2_000);
  registry.replace(Tagged, undefined, 'bar');
  const first = resource.indexed.settled;
  registry.replace(Unique, undefined, 'bar');
  await first;
  assert.deepEqual(
    resource.scheme.indexes.map(({ name }) => name),
    ['spec.size'],
  );
  await assert.rejects(resource.create(widget(9_999, 5), { caller: system }), { code: 'UniqueViolation' });
  await assertRight(resource);
});

test('a model that goes in the middle of its replacement ends it', async () => {
  const { registry, resource, errors } = await widgets(2_000);
  const scheme = registry.replace(Tagged, undefined, 'bar');
  const settled = resource.indexed.settled;
  registry.unregister(scheme, 'bar');
  await assert.rejects(settled, { code: 'NotFound' });
  assert.deepEqual(errors, []);
});

test('a function that says the same and gives something else is found by its keys', async () => {
  const by = (factor: number) =>
    declare((index) => [index.single('spec.size', Number, (one: any) => one.spec.size * factor)]);
  const { registry, resource } = await widgets(100, by(1));
  registry.replace(by(2), undefined, 'bar');
  await resource.indexed.settled;
  assert.equal(await total(resource, Queries.equal('spec.size', 198)), 1);
  await assertRight(resource);
});

test('a declaration that is refused gives its place back to the one that serves, also when others were given up before', async () => {
  const asked: string[][] = [];
  const admissions: Admissions = {
    of: async (scheme, _memory, isReplacing) => {
      if (isReplacing) asked.push(scheme.indexes.map(({ name }) => name));
      if (scheme.indexes.some(({ unique }) => unique)) throw new Error('refused');
      return { rules: undefined, admission: undefined };
    },
    replaced: () => {},
    opened: () => {},
    isSettled: () => true,
  };
  const { registry, resources, resource, errors } = await widgets(100, Bare, admissions);
  const served = resource.scheme;
  for (const first of [undefined, Tagged]) {
    if (first) registry.replace(first, undefined, 'bar');
    const refused = registry.replace(Unique, undefined, 'bar');
    assert.equal(registry.fetch(served.groupVersionKind), refused);
    await assert.rejects(resource.indexed.settled, /refused/);
    await until(() => registry.fetch(served.groupVersionKind) === served);
    assert.deepEqual([resources.model(served), resources.model(refused)], [resource, resource]);
    assert.equal(resource.indexed.serves(served), true);
    await resource.indexed.settled;
  }
  assert.equal(asked.filter((names) => names.length === 1).length, 2, 'a refused one is not tried again');
  assert.equal(errors.length, 2);
  registry.replace(Tagged, undefined, 'bar');
  await resource.indexed.settled;
  await assertRight(resource);
});

test('a build and a replacement are tried again when the database did not answer or was full', async () => {
  const failures: Error[] = [];
  const admissions: Admissions = {
    of: async () => {
      const failure = failures.pop();
      if (failure) throw failure;
      return { rules: undefined, admission: undefined };
    },
    replaced: () => {},
    opened: () => {},
    isSettled: () => true,
  };
  const fail = () => failures.push(unknownOutcome('made by the test'), storageFull('made by the test'));
  fail();
  const { registry, resource, errors } = await widgets(10, Bare, admissions);
  fail();
  resource.indexed.rebuild();
  await resource.ready;
  fail();
  registry.replace(Tagged, undefined, 'bar');
  await resource.indexed.settled;
  await assertRight(resource);
  assert.deepEqual([failures, errors], [[], []]);
});

test('another version, or another owner, cannot replace a declaration', async () => {
  const { registry } = await widgets(0);
  const next = defineModel({ gvk: { ...gvk, version: 'v2' }, spec });
  assert.throws(() => registry.replace(next, undefined, 'bar'), { code: 'InvalidModel' });
  assert.throws(() => registry.replace(Tagged, undefined, 'other'), { code: 'InvalidModel' });
});

test('writes under way meet the declaration that serves when they are stored', async () => {
  const Strict = declare(
    (index) => [index.single('spec.size', Number, (one: any) => one.spec.size)],
    Type.Object({ size: Type.Integer({ maximum: 10 }), tags: Type.Array(Type.String()) }),
  );
  const { registry, resource } = await widgets(10);
  registry.replace(Strict, undefined, 'bar');
  await resource.indexed.settled;
  await assert.rejects(resource.create(widget(11), { caller: system }), { code: 'Invalid' });
  await resource.create(widget(10), { caller: system });
});

test('what was converted before is not served after a conversion changed', async () => {
  const inVersions = (fromHub: (spec: { size: number; tags: string[] }) => object) =>
    defineModel({
      gvk: { ...gvk, version: 'v2' },
      spec,
      versions: {
        v1: {
          spec: Type.Object({ scaled: Type.Integer(), tags: Type.Array(Type.String()) }),
          toHub: ({ scaled, tags }: { scaled: number; tags: string[] }) => ({ size: scaled, tags }),
          fromHub,
        },
      },
    } as never) as Model<any>;
  const Doubled = inVersions(({ size, tags }) => ({ scaled: size * 2, tags }));
  const { registry, resource } = await widgets(3, Doubled);
  const shown = async () => {
    const inFirst = resource.inVersion(resource.scheme.spokes[0]!.scheme);
    const { stored } = await inFirst.get('w2');
    return { scaled: JSON.parse(stored.bytes.toString()).spec.scaled, etag: inFirst.etagOf(stored) };
  };
  const before = await shown();
  assert.equal(before.scaled, 4);
  assert.deepEqual(await shown(), before);
  registry.replace(
    inVersions(({ size, tags }) => ({ scaled: size * 3, tags })),
    undefined,
    'bar',
  );
  await resource.indexed.settled;
  const after = await shown();
  assert.equal(after.scaled, 6);
  assert.notEqual(after.etag, before.etag);
});
