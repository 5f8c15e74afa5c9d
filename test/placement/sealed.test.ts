/** Replicas that start, and contracts that are to become active, while a move has sealed a model (src/resource/move.ts). */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { defineModel, definePlugin, Type } from 'kindred';
import { until } from 'kindred/testing';
import { move } from '../../src/maintenance.ts';
import type { Store } from '../../src/store/store.ts';
import { databaseAdapters } from '../servers.ts';
import type { Running } from './kit.ts';
import {
  call,
  cleanUp,
  databases,
  makeReading,
  moving,
  Reading,
  readings,
  running,
  stopMove,
  unplaced,
} from './kit.ts';

afterEach(cleanUp);

/** The contract of the next version of the plugin. */
const Next = defineModel({
  gvk: { group: 'telemetry.example.com', version: 'v1', kind: 'Reading', singular: 'reading', plural: 'readings' },
  spec: Type.Object({
    sensor: Type.String(),
    value: Type.Optional(Type.Number()),
    unit: Type.Optional(Type.String()),
  }),
  indexes: (index) => [index.single('spec.sensor', String, (reading) => reading.spec.sensor, { unique: true })],
});

const declaring = (model: object) => ({
  plugins: [
    {
      name: 'telemetry',
      plugin: definePlugin({ start: ({ schemeManager }) => void schemeManager.register(model as typeof Reading) }),
    },
  ],
});

const statePath = '/apis/plugin.platform.run/v1alpha1/modelstates/readings.telemetry.example.com';

const generationAt = async (service: Running) => (await call(service, statePath)).body.status?.generation;

/** Tells how often it was asked for the replicas: once in each look at whether a contract can become active. */
function counting(store: Store): { store: Store; asked: number } {
  const counted = {
    asked: 0,
    store: new Proxy(store, {
      get(target, name: keyof Store) {
        if (name === 'replicas') counted.asked++;
        const value = target[name] as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    }),
  };
  return counted;
}

for (const adapter of databaseAdapters()) {
  if (adapter.kind === 'sqlite') continue;

  describe(`a model that a move has sealed, in two stores, each ${adapter.name}`, () => {
    it('no contract becomes active before the move is over', async () => {
      const both = await databases(adapter);
      const former = await running({ ...unplaced(both), ...declaring(Reading) }, []);
      await makeReading(former, 'r0');
      await until(async () => (await generationAt(former)) === 1);
      await stopMove(both, 'sealed');
      const counted = counting(await both.main.open());
      const next = await running({ ...unplaced(both), database: async () => counted.store, ...declaring(Next) }, []);
      await former.stop();
      const { asked } = counted;
      await until(() => counted.asked > asked + 2);
      assert.equal(await generationAt(next), 1);
      await move({ ...moving(both), to: 'telemetry' });
      await until(async () => (await generationAt(next)) === 2);
      const body = { metadata: { name: 'r1' }, spec: { sensor: 'r1', unit: 'K' } };
      await until(async () => (await call(next, readings, 'POST', body)).status === 201);
    });

    it('a replica that started meanwhile takes writes as soon as the move is given up', async () => {
      const both = await databases(adapter);
      const former = await running({ ...unplaced(both), ...declaring(Reading) }, []);
      await makeReading(former, 'r0');
      await former.stop();
      await stopMove(both, 'sealed');
      const ofPlugin = await running({ ...unplaced(both), ...declaring(Reading) }, []);
      const ofProgram = await running(unplaced(both));
      assert.equal((await makeReading(ofPlugin, 'r1')).status, 503);
      await move({ ...moving(both), to: 'default' });
      await until(async () => (await makeReading(ofPlugin, 'r1')).status === 201);
      await until(async () => (await makeReading(ofProgram, 'r2')).status === 201);
    });
  });
}
