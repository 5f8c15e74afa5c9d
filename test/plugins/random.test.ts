/**
 * Random histories: objects come, change and go, with finalizers, while plugins stop and start and the service restarts.
 * Afterwards what the controllers made equals what a computation from scratch gives.
 */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import fc from 'fast-check';
import type { ObjectOf, Reconciler } from 'kindred';
import { defineModel, definePlugin, KindredError, ListOptions, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { cleanUp, harnessOf, pluginOf, setEnabled } from './kit.ts';

const group = 'random.example.com';
const finalizer = 'random.example.com/ledger';

const Shelf = defineModel({
  gvk: { group, version: 'v1', kind: 'Shelf', singular: 'shelf', plural: 'shelves' },
  spec: Type.Object({}),
  status: Type.Optional(Type.Object({ books: Type.Integer(), pages: Type.Integer() })),
});
type Shelf = ObjectOf<typeof Shelf>;

const Volume = defineModel({
  gvk: { group, version: 'v1', kind: 'Volume', singular: 'volume', plural: 'volumes' },
  spec: Type.Object({ shelf: Type.String(), pages: Type.Integer() }),
  indexes: (index) => [index.single('spec.shelf', String, (volume) => volume.spec.shelf)],
});
type Volume = ObjectOf<typeof Volume>;

/** Keeps the status of shelves, and in a ledger outside of the service the pages of every volume. */
function world() {
  const ledger = new Map<string, number>();
  const running = new Map<string, number>();
  const problems: string[] = [];
  let runs = 0;
  let failing = false;

  /** One call at a time for a name, and none while the plugin is stopped. */
  const watched = (
    plugin: { started: boolean },
    kind: string,
    reconcile: Reconciler['reconcile'],
  ): Reconciler['reconcile'] => {
    return async (request) => {
      const key = `${kind} ${request.name}`;
      if (!plugin.started) problems.push(`${key} is reconciled while its plugin is stopped`);
      running.set(key, (running.get(key) ?? 0) + 1);
      if (running.get(key)! > 1) problems.push(`${key} is reconciled twice at once`);
      runs += 1;
      try {
        if (failing && runs % 3 === 0) throw new Error('a bad moment');
        return await reconcile(request);
      } finally {
        running.set(key, running.get(key)! - 1);
      }
    };
  };

  const shelves = { started: false };
  const library = definePlugin({
    start({ schemeManager, registerController, client }) {
      shelves.started = true;
      schemeManager.register(Shelf);
      schemeManager.register(Volume);
      registerController({
        setupWith: (builder) =>
          builder
            .extension(Shelf)
            .workerCount(2)
            .minDelay(1)
            .maxDelay(20)
            .watches(Volume, (volume: Volume) => [volume.spec.shelf])
            .build(),
        reconcile: watched(shelves, 'Shelf', async ({ name }) => {
          const shelf = await client.fetch(Shelf, name);
          if (!shelf) return;
          const status = { books: 0, pages: 0 };
          for await (const volume of client.listAll(
            Volume,
            ListOptions.parse({ fieldSelector: `spec.shelf=${name}` }),
          )) {
            status.books += 1;
            status.pages += (volume as Volume).spec.pages;
          }
          await client.updateStatus(Shelf, { ...shelf, status });
        }),
      });
    },
    stop() {
      shelves.started = false;
    },
  });

  const books = { started: false };
  const accounts = definePlugin({
    start({ registerController, client }) {
      books.started = true;
      registerController({
        setupWith: (builder) => builder.extension(Volume).workerCount(3).minDelay(1).maxDelay(20).build(),
        reconcile: watched(books, 'Volume', async ({ name }) => {
          const volume = await client.fetch(Volume, name);
          if (!volume) return;
          const { metadata } = volume;
          const finalizers = metadata.finalizers ?? [];
          if (metadata.deletionTimestamp) {
            ledger.delete(name);
            await client.update(Volume, {
              ...volume,
              metadata: { ...metadata, finalizers: finalizers.filter((one) => one !== finalizer) },
            });
          } else if (finalizers.includes(finalizer)) ledger.set(name, volume.spec.pages);
          else
            await client.update(Volume, {
              ...volume,
              metadata: { ...metadata, finalizers: [...finalizers, finalizer] },
            });
        }),
      });
    },
    stop() {
      books.started = false;
    },
  });

  return {
    plugins: [
      { name: 'library', plugin: library },
      { name: 'accounts', plugin: accounts, dependencies: { library: '*' } },
    ],
    ledger,
    problems,
    fail: (yes: boolean) => {
      failing = yes;
    },
  };
}

const volume = fc.constantFrom('v1', 'v2', 'v3', 'v4', 'v5');
const shelf = fc.constantFrom('s1', 's2', 's3');
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('put' as const), volume, shelf, pages: fc.integer({ min: 1, max: 999 }) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('drop' as const), volume }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('shelf' as const), shelf }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('tear' as const), shelf }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('switch' as const),
      plugin: fc.constantFrom('library', 'accounts'),
      on: fc.boolean(),
      wait: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fail' as const), yes: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('turn' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** What users do meets conflicts, absent objects and absent models; that is everyday life. */
async function attempt(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof KindredError) || error.status >= 500) throw error;
  }
}

async function act(harness: Harness, { fail }: ReturnType<typeof world>, one: Step): Promise<void> {
  const { client } = harness;
  switch (one.do) {
    case 'put': {
      const spec = { shelf: one.shelf, pages: one.pages };
      return attempt(async () => {
        const there = await client.fetch(Volume, one.volume);
        if (there) await client.patch(Volume, one.volume, { spec });
        else await client.create(Volume, { metadata: { name: one.volume }, spec });
      });
    }
    case 'drop':
      return attempt(() => client.delete(Volume, one.volume));
    case 'shelf':
      return attempt(() => client.create(Shelf, { metadata: { name: one.shelf }, spec: {} }));
    case 'tear':
      return attempt(() => client.delete(Shelf, one.shelf));
    case 'switch': {
      await setEnabled(harness, one.plugin, one.on);
      if (one.wait) await harness.until(async () => !/ING$/.test((await pluginOf(harness, one.plugin)).status!.state));
      return;
    }
    case 'restart':
      return harness.restart();
    case 'fail':
      return fail(one.yes);
    case 'turn':
      return new Promise((resolve) => setImmediate(resolve));
  }
}

async function check(harness: Harness, { ledger, problems, fail }: ReturnType<typeof world>): Promise<void> {
  fail(false);
  for (const name of ['library', 'accounts']) {
    await setEnabled(harness, name, true);
    await harness.until(async () => (await pluginOf(harness, name)).status!.state === 'STARTED');
  }
  const all = async <T>(type: Parameters<typeof harness.client.listAll>[0]) => {
    const found: T[] = [];
    for await (const object of harness.client.listAll(type)) found.push(object as T);
    return found;
  };
  await harness.until(
    async () => {
      const volumes = await all<Volume>(Volume);
      assert.deepEqual(
        volumes.filter(({ metadata }) => metadata.deletionTimestamp).map(({ metadata }) => metadata.name),
        [],
      );
      assert.deepEqual(
        [...ledger].sort(),
        volumes.map(({ metadata, spec }) => [metadata.name, spec.pages] as [string, number]).sort(),
      );
      for (const { metadata, status } of await all<Shelf>(Shelf)) {
        const mine = volumes.filter(({ spec }) => spec.shelf === metadata.name);
        const expected = { books: mine.length, pages: mine.reduce((sum, { spec }) => sum + spec.pages, 0) };
        assert.deepEqual(status, expected, metadata.name);
      }
      return true;
    },
    { what: 'the controllers have caught up', timeout: 5_000 },
  );
  assert.deepEqual(problems, []);
}

/** Milliseconds after which no further history begins. */
const timeLimit = 15_000;

describe('controllers under random histories', () => {
  afterEach(cleanUp);

  it('controllers: their result equals a computation from scratch; never two calls at once for a name, none while stopped', async (t) => {
    const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
    t.diagnostic(`seed ${seed}`);
    let histories = 0;
    let steps = 0;
    const end = performance.now() + timeLimit;
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }),
      async (history) => {
        if (performance.now() > end) return;
        const made = world();
        const harness = await harnessOf({ persistent: true, plugins: made.plugins });
        try {
          for (const one of history) await act(harness, made, one);
          await check(harness, made);
          histories += 1;
          steps += history.length;
        } finally {
          await cleanUp();
        }
      },
    );
    await fc.assert(property, { seed, numRuns: 25, endOnFailure: true });
    t.diagnostic(`${histories} histories, of ${Math.round(steps / Math.max(1, histories))} steps each`);
    assert.ok(histories > 0, 'no history came to its end');
  });
});
