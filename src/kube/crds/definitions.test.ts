import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import { SchemeRegistry } from '../../model/registry.ts';
import { TurnQueue } from '../../runtime/time-slice.ts';
import { systemTimers } from '../../runtime/timers.ts';
import { until } from '../../testing/until.ts';
import type { DefinitionsDependencies } from './definitions.ts';
import { Definitions } from './definitions.ts';
import { definitionModel } from './kind.ts';

const definition = {
  metadata: { name: 'cups.example.com' },
  spec: {
    group: 'example.com',
    names: { plural: 'cups', kind: 'Cup' },
    scope: 'Cluster',
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
  status: { conditions: [{ type: 'NamesAccepted', status: 'True' }] },
};

test('definitions are read again after a resync, as often as the database is away', async () => {
  const registry = new SchemeRegistry({ reservedDomain: 'platform.run', warn: () => {} });
  const model = definitionModel();
  registry.register(model, undefined, '');
  let stored: string[] = [];
  let failures = 0;
  let resync: (() => void) | undefined;
  const warnings: string[] = [];
  const resource = {
    model: {},
    ready: Promise.resolve(),
    names: async () => {
      if (failures-- > 0) throw new KindredError('NotReady', localized('is required'));
      return stored;
    },
    get: async () => ({ stored: { bytes: Buffer.from(JSON.stringify(definition)) } }),
  };
  const definitions = new Definitions({
    registry,
    resources: {
      feed: {
        subscribe: (listener: { resync(): void }) => {
          resync = listener.resync;
          return () => {};
        },
      },
      turns: new TurnQueue(() => performance.now()),
      model: () => resource,
    },
    store: {},
    model,
    hooks: new Map(),
    reservedDomain: 'platform.run',
    replica: 'one',
    timers: systemTimers,
    logger: { warn: (_: object, message: string) => warnings.push(message) },
  } as unknown as DefinitionsDependencies);
  await definitions.start();
  assert.equal(registry.find('example.com', 'v1', 'cups'), undefined);
  stored = ['cups.example.com'];
  failures = 2;
  resync!();
  await until(() => registry.find('example.com', 'v1', 'cups'));
  assert.deepEqual(warnings, Array(2).fill('The definitions could not be read; trying again'));
  await definitions.stop();
});
