/** Models in several stores (docs/decisions/placement.md). */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { defineModel, definePlugin, Type } from 'kindred';
import { until } from 'kindred/testing';
import { move } from '../../src/maintenance.ts';
import type { Scheme } from '../../src/model/scheme.ts';
import { putMark } from '../../src/resource/marks.ts';
import { Placement } from '../../src/resource/placement.ts';
import type { Write } from '../../src/store/store.ts';
import { startProxy } from '../replicas/proxy.ts';
import type { HeldStore } from '../resource/held-store.ts';
import { holdBack } from '../resource/held-store.ts';
import type { TestDatabase } from '../servers.ts';
import { databaseAdapters } from '../servers.ts';
import type { Databases, Running } from './kit.ts';
import {
  atEnd,
  call,
  cleanUp,
  databases,
  makeReading,
  makeSite,
  moving,
  placed,
  Reading,
  readings,
  rule,
  running,
  Site,
  sites,
  unplaced,
} from './kit.ts';

afterEach(cleanUp);

/** Names of the objects of a kind that a database holds. */
async function stored(database: TestDatabase, group: string, kind: string): Promise<string[]> {
  const store = await database.open();
  try {
    const row = (await store.models()).find((one) => one.group === group && one.kind === kind);
    return row ? (await store.scan(row.number, 0, 1_000)).map(({ name }) => name) : [];
  } finally {
    await store.close();
  }
}

const v1 = { sensor: Type.String() };
const gvk = { group: 'telemetry.example.com', kind: 'Reading', singular: 'reading', plural: 'readings' };
const First = defineModel({ gvk: { ...gvk, version: 'v1' }, spec: Type.Object(v1) });
const versioned = (more: object = {}) =>
  defineModel({
    gvk: { ...gvk, version: 'v2' },
    spec: Type.Object({ ...v1, unit: Type.Optional(Type.String()), ...more }),
    versions: { v1: { spec: Type.Object(v1), toHub: (reading) => reading, fromHub: ({ sensor }) => ({ sensor }) } },
  });
const Second = versioned();

const declaring = (model: object) => [
  {
    name: 'telemetry',
    plugin: definePlugin({ start: ({ schemeManager }) => void schemeManager.register(model as typeof First) }),
  },
];

const stateName = 'readings.telemetry.example.com';
const statePath = `/apis/plugin.platform.run/v1alpha1/modelstates/${stateName}`;

async function ask(at: Running, finalize: string): Promise<void> {
  await until(async () => {
    const { body } = await call(at, statePath);
    return (await call(at, statePath, 'PUT', { ...body, spec: { finalize } })).status === 200;
  });
}

/** Waits until the request is obeyed and all is rewritten, and gives what the ModelState says then. */
async function settled(at: Running, generation: number) {
  const { status } = await until(async () => {
    const { body } = await call(at, statePath);
    const isDone = body.status.migration?.revision !== undefined && body.spec.finalize === 'hold';
    return isDone && body.status.generation === generation && body;
  });
  const { storageVersion, storedVersions, formerVersion } = status;
  return [storageVersion, formerVersion, storedVersions];
}

/** As a process does that ends before it comes to the ModelState. */
async function moveStorage({ telemetry }: Databases, storageVersion: string): Promise<void> {
  const store = await telemetry.open();
  const row = (await store.models()).find(({ kind }) => kind === gvk.kind)!;
  const { number: model, generation: from, contract = '' } = row;
  const activate = { model, from, to: from + 1, contract, storageVersion };
  const moved = await putMark(store, 'contract', stateName, {}, { activate, now: Date.now() });
  await store.close();
  assert.ok(moved.ok && row.storageVersion !== storageVersion);
}

/** An object of the first version, which the second one reads and stores as before. */
async function upgraded(both: Databases, options: object = {}): Promise<Running> {
  const former = await running({ ...placed(both), plugins: declaring(First) }, []);
  await makeReading(former, 'r0');
  await former.stop();
  const service = await running({ ...placed(both), plugins: declaring(Second), ...options }, []);
  await ask(service, 'hold');
  return service;
}

for (const adapter of databaseAdapters()) {
  describe(`models in two stores, each ${adapter.name}`, () => {
    it('objects are in the store of their model, and are there after a restart', async () => {
      const both = await databases(adapter);
      let service = await running(placed(both));
      for (let i = 0; i < 5; i++) {
        assert.equal((await makeReading(service, `r${i}`)).status, 201);
        assert.equal((await makeSite(service, `s${i}`)).status, 201);
      }
      assert.equal((await makeReading(service, 'again', 'r0')).body.code, 'UniqueViolation');
      assert.equal((await call(service, `${readings}/r4`, 'DELETE')).status, 200);
      await service.stop();
      assert.deepEqual(await stored(both.telemetry, 'telemetry.example.com', 'Reading'), ['r0', 'r1', 'r2', 'r3']);
      assert.deepEqual(await stored(both.main, 'telemetry.example.com', 'Reading'), []);
      assert.deepEqual(await stored(both.telemetry, 'plants.example.com', 'Site'), []);
      assert.equal((await stored(both.main, 'plants.example.com', 'Site')).length, 5);
      service = await running(placed(both));
      assert.equal((await call(service, readings)).body.total, 4);
      assert.equal((await call(service, `${readings}/r3`)).body.spec.sensor, 'r3');
      assert.equal((await call(service, sites)).body.total, 5);
    });

    it('revisions, lists of Kubernetes and watches are those of the store of the model', async () => {
      const service = await running(placed(await databases(adapter)));
      const first = await makeReading(service, 'r0');
      for (let i = 0; i < 20; i++) await makeSite(service, `s${i}`);
      const next = await makeReading(service, 'r1');
      assert.equal(next.revision, first.revision + 1);
      assert.equal((await call(service, readings)).revision, next.revision);
      const since = `${readings}?watch=true&since=${first.revision}`;
      const abort = new AbortController();
      atEnd(async () => abort.abort());
      const watch = await fetch(service.url + since, {
        headers: { accept: 'application/x-ndjson' },
        signal: abort.signal,
      });
      const reader = watch.body!.pipeThrough(new TextDecoderStream()).getReader();
      assert.match((await reader.read()).value!, /"r1"/);
      await makeSite(service, 'late');
      await makeReading(service, 'r2');
      assert.match((await reader.read()).value!, /"r2"/);
      const kube = `/kube${readings}`;
      const page = await call(service, `${kube}?limit=2`);
      assert.equal(Number(page.body.metadata.resourceVersion), next.revision + 1);
      await makeReading(service, 'r3');
      const token = encodeURIComponent(page.body.metadata.continue);
      const rest = await call(service, `${kube}?limit=2&continue=${token}`);
      assert.deepEqual(
        [rest.body.items.map((one: any) => one.metadata.name), rest.body.metadata.resourceVersion],
        [['r2'], page.body.metadata.resourceVersion],
      );
      const exact = `${kube}?resourceVersion=${first.revision}&resourceVersionMatch=Exact`;
      assert.equal((await call(service, exact)).body.items.length, 1);
    });

    it('readiness, metrics and the options name the stores, without passwords', async () => {
      const service = await running(placed(await databases(adapter)));
      const { body } = await call(service, '/readyz');
      assert.deepEqual(body.stores, [
        { name: 'default', state: 'ready' },
        { name: 'telemetry', state: 'ready' },
      ]);
      assert.equal(body.models.find(({ kind }: any) => kind === 'Reading').store, 'telemetry');
      assert.equal(body.models.find(({ kind }: any) => kind === 'Site').store, 'default');
      const metrics = (await call(service, '/metrics')).body as string;
      assert.match(metrics, /kindred_revision\{store="telemetry"\} \d+/);
      assert.match(metrics, /kindred_store_reachable\{store="default"\} 1/);
      const { options } = (await call(service, '/v3/options')).body;
      const shown = options.find(({ name }: any) => name === 'stores').value.telemetry;
      assert.ok(!/:\/\/[^:@/]+:(?!…)[^@]+@/.test(shown), shown);
    });

    it('a placement that contradicts where the objects are is refused at start', async () => {
      const both = await databases(adapter);
      const { placement: _, ...unplaced } = placed(both);
      const before = await running(unplaced);
      await makeReading(before, 'r0');
      await before.stop();
      await assert.rejects(running(placed(both)), {
        message:
          'Reading is placed in "telemetry", its objects are in the default store: kindred model move readings.telemetry.example.com --to telemetry',
      });
      assert.deepEqual(await stored(both.main, 'telemetry.example.com', 'Reading'), ['r0']);
    });

    it('what was placed stays in its store without the rule, and is refused without the store', async () => {
      const both = await databases(adapter);
      const before = await running(placed(both));
      await makeReading(before, 'r0');
      await before.stop();
      const { placement: _, ...unplaced } = placed(both);
      const without = await running(unplaced);
      assert.equal((await call(without, readings)).body.total, 1);
      await without.stop();
      await assert.rejects(running({ ...unplaced, placement: [{ ...rule, store: 'default' }] }), {
        message:
          'Reading is placed in "default", its objects are in the store "telemetry": kindred model move readings.telemetry.example.com --to default',
      });
      await assert.rejects(running({ database: both.main.url }), {
        message: 'The objects of Reading are in the store "telemetry", which the setting "stores" does not name',
      });
    });

    it('a controller writes to both stores with its lease, and another contract of a placed model becomes active', async () => {
      const both = await databases(adapter);
      const plugin = definePlugin({
        name: 'plants',
        start({ schemeManager, registerController, client }) {
          schemeManager.register(Site);
          schemeManager.register(Reading);
          registerController({
            setupWith: (builder) => builder.extension(Site).build(),
            reconcile: async ({ name }) => {
              const site = await client.fetch(Site, name);
              if (!site || (await client.fetch(Reading, name))) return;
              await client.create(Reading, { metadata: { name }, spec: { sensor: site.spec.city } });
            },
          });
        },
      });
      let service = await running({ ...placed(both), plugins: [{ name: 'plants', plugin }] }, []);
      await makeSite(service, 'a', 'Oslo');
      await until(async () => (await call(service, `${readings}/a`)).status === 200);
      const state = async () =>
        (await call(service, '/apis/plugin.platform.run/v1alpha1/modelstates/readings.telemetry.example.com')).body;
      await until(async () => (await state()).status?.generation === 1);
      await service.stop();
      const Next = defineModel({
        gvk: {
          group: 'telemetry.example.com',
          version: 'v1',
          kind: 'Reading',
          singular: 'reading',
          plural: 'readings',
        },
        spec: Type.Object({
          sensor: Type.String(),
          value: Type.Optional(Type.Number()),
          unit: Type.Optional(Type.String()),
        }),
      });
      const next = definePlugin({ name: 'plants', start: ({ schemeManager }) => void schemeManager.register(Next) });
      service = await running({ ...placed(both), plugins: [{ name: 'plants', plugin: next }] }, []);
      await until(async () => (await state()).status.generation === 2);
      const made = await call(service, readings, 'POST', {
        metadata: { name: 'b' },
        spec: { sensor: 'Oslo', unit: 'K' },
      });
      assert.equal(made.status, 201, JSON.stringify(made.body));
    });

    it('a start tells of a storage version that moved in the store of the model alone, whatever contract it declares', async () => {
      const both = await databases(adapter);
      await (await upgraded(both)).stop();
      await moveStorage(both, 'v2');
      let service = await running({ ...placed(both), plugins: declaring(Second) }, []);
      assert.deepEqual(await settled(service, 3), ['v2', 'v1', ['v1', 'v2']]);
      await ask(service, 'rollback');
      assert.deepEqual(await settled(service, 4), ['v1', 'v2', ['v1', 'v2']]);
      await service.stop();
      await moveStorage(both, 'v2');
      const next = versioned({ value: Type.Optional(Type.Number()) });
      service = await running({ ...placed(both), plugins: declaring(next) }, []);
      assert.deepEqual(await settled(service, 6), ['v2', 'v1', ['v1', 'v2']]);
    });

    it('a storage version that moves in the store of the model is told also when something else is asked for meanwhile', async () => {
      const both = await databases(adapter);
      let held!: HeldStore;
      const database = async () => {
        held = holdBack(await both.telemetry.open());
        return held.store;
      };
      const service = await upgraded(both, { stores: { telemetry: { database } } });
      const moving = held.hold('commit', { only: (writes: Write[]) => writes.some(({ activate }) => activate) });
      await ask(service, 'now');
      await until(() => moving.waiting > 0);
      await ask(service, 'hold');
      moving.release();
      assert.deepEqual(await settled(service, 3), ['v2', 'v1', ['v1', 'v2']]);
      assert.equal((await makeReading(service, 'r1')).status, 201);
    });

    it('a process that serves a model goes on where a move brought it, by the rules of before; its next start is refused', async () => {
      const { main } = await databases(adapter);
      const store = await main.open();
      atEnd(() => store.close());
      const scheme = { plural: 'readings', groupVersionKind: { group: 'telemetry.example.com', kind: 'Reading' } };
      const open = () =>
        Placement.open({ rules: [rule], stores: ['telemetry'], store, isPlaceable: () => true, now: () => 1 });
      const serving = await open();
      await serving.settle(scheme as Scheme, { name: 'telemetry' });
      // The move is over before this process has built the indexes there.
      await putMark(store, 'place', 'readings.telemetry.example.com', { store: 'default' }, { now: 1 });
      await serving.refresh();
      await assert.rejects(serving.settle(scheme as Scheme, { name: 'telemetry' }), { code: 'NotReady' });
      await serving.settle(scheme as Scheme, { name: 'default' });
      const next = await open();
      await assert.rejects(next.settle(scheme as Scheme, { name: 'default' }), { reason: 'PlacementContradicted' });
    });

    it('the record of a place refuses what is written by the generation of before', async () => {
      const { main } = await databases(adapter);
      const store = await main.open();
      atEnd(() => store.close());
      const scheme = { plural: 'readings', groupVersionKind: { group: 'telemetry.example.com', kind: 'Reading' } };
      const placement = await Placement.open({
        rules: [rule],
        stores: ['telemetry'],
        store,
        isPlaceable: () => true,
        now: () => 1,
      });
      const model = await store.modelNumber('telemetry.example.com', 'Reading');
      await placement.settle(scheme as Scheme, { name: 'telemetry' });
      const write = { type: 'create', model, name: 'stray', bytes: Buffer.from('{}'), generation: 0 } as const;
      assert.deepEqual(await store.commit([write], 1), [{ ok: false, reason: 'outdated' }]);
    });

    if (adapter.kind === 'sqlite') return;

    it('a store that is away takes its models with it and no others, and is used again when it is back', async () => {
      const both = await databases(adapter);
      const proxy = await startProxy(both.telemetry.url);
      atEnd(() => proxy.close());
      const service = await running(placed({ ...both, telemetry: proxy }));
      await makeReading(service, 'r0');
      proxy.cut();
      const [write, read] = await Promise.all([makeReading(service, 'r1'), call(service, `${readings}/r0`)]);
      assert.deepEqual([write.status, read.status], [503, 503]);
      assert.equal((await makeSite(service, 's0')).status, 201);
      assert.equal((await call(service, sites)).body.total, 1);
      const health = await until(async () => {
        const { status, body } = await call(service, '/readyz');
        return body.stores[1].state === 'unavailable' ? { status, state: body.status } : undefined;
      });
      assert.deepEqual(health, { status: 200, state: 'ready' });
      proxy.heal();
      await until(async () => (await makeReading(service, 'r2')).status === 201, { timeout: 15_000 });
      assert.equal((await call(service, readings)).body.total, 2);
      await until(async () => (await call(service, '/readyz')).body.stores[1].state === 'ready', { timeout: 15_000 });
    });

    it('objects that were rewritten after they were copied are rewritten again where they are then', async () => {
      const both = await databases(adapter);
      const service = await upgraded(both);
      const goesOn = Promise.withResolvers<void>();
      atEnd(async () => goesOn.resolve());
      let isCopied = false;
      const moved = move({
        ...moving(both),
        to: 'default',
        onProgress: ({ step }) => {
          isCopied ||= step === 'follow';
        },
        attempt: async (call) => {
          if (isCopied) await goesOn.promise;
          return call();
        },
      });
      await until(() => isCopied);
      await ask(service, 'now');
      await until(async () => (await call(service, statePath)).body.status.migration?.revision !== undefined);
      goesOn.resolve();
      await moved;
      const store = await both.main.open();
      atEnd(() => store.close());
      const number = await store.modelNumber(gvk.group, gvk.kind);
      await until(async () => {
        const [row] = await store.scan(number, 0, 10);
        return JSON.parse(Buffer.from(row!.bytes).toString()).apiVersion === 'telemetry.example.com/v2';
      });
    });

    it('a replica whose feed passed over a part of the log learns where models are and what is active of them', async () => {
      const both = await databases(adapter);
      const first = await upgraded(both);
      let held!: HeldStore;
      const database = async () => {
        held = holdBack(await both.main.open());
        return held.store;
      };
      const second = await running({ ...unplaced(both), database, plugins: declaring(Second) }, []);
      const main = await both.main.open();
      atEnd(() => main.close());
      // From here on, only what happens unseen changes the ModelState.
      await until(async () => (await call(first, statePath)).body.status.replicas?.length === 2);
      /** The second replica learns of nothing that happens meanwhile, and then not from the log. */
      const unseen = async (happens: () => Promise<unknown>): Promise<void> => {
        const hold = held.hold('revision');
        await happens();
        while ((await main.compact(0, Date.now() + 60_000)) > 0);
        hold.release();
      };
      await unseen(async () => {
        await ask(first, 'now');
        await until(async () => (await call(first, statePath)).body.status.migration?.revision !== undefined);
        await until(async () => (await makeReading(first, 'r1')).status === 201);
      });
      await until(async () => (await makeReading(second, 'r2')).status === 201);
      await unseen(() => move({ ...moving(both), to: 'default' }));
      await until(async () => (await makeReading(second, 'r3')).status === 201);
      assert.equal((await call(second, readings)).body.total, 4);
    });

    it('replicas that begin with the placement together agree on it, and one without it loses nothing', async () => {
      const both = await databases(adapter);
      const { placement: _, stores: _none, ...former } = placed(both);
      const old = await running(former);
      const all = await Promise.all([running(placed(both)), running(placed(both))]);
      // The old one takes the objects to be in the default store: its writes are refused rather than lost.
      const strays = await Promise.all(Array.from({ length: 5 }, (_, i) => makeReading(old, `stray${i}`)));
      const kept = strays.filter(({ status }) => status === 201).length;
      assert.equal(kept, 0, JSON.stringify(strays.map(({ status }) => status)));
      await makeReading(all[0]!, 'r0');
      assert.equal((await call(all[1]!, `${readings}/r0`)).status, 200);
      assert.deepEqual(await stored(both.main, 'telemetry.example.com', 'Reading'), []);
    });
  });
}
