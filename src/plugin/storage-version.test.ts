import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../testing/fake-clock.ts';
import { until } from '../testing/until.ts';
import type { Finalize, Migration, ModelStateObject, Status } from './model-state.ts';
import { nextStep, progressIn, StorageVersion } from './storage-version.ts';

const now = Date.parse('2026-11-23T12:00:00.000Z');
const later = '2026-11-23T12:30:00.000Z';
const contract = { hub: 'v2', versions: { v1: {}, v2: {} } };
const running: Migration = { done: 1, total: 3, after: 7, failing: 0, samples: [] };
const migrating = { done: 3, total: 3, changed: 1, after: 7, failing: 0, samples: [] };
const former = { contract, storageVersion: 'v1', storedVersions: ['v1'] };
const finalized = { contract, storageVersion: 'v2', storedVersions: ['v1', 'v2'], formerVersion: 'v1' };
const rewritten = { ...finalized, migration: { ...running, revision: 9 } };
const alone = { contract, storageVersion: 'v2', storedVersions: ['v2'] };

const cases: [string, Finalize | undefined, Parameters<typeof nextStep>[0]['status'], ReturnType<typeof nextStep>][] = [
  ['the former version: the clock starts', undefined, former, { do: 'start clock' }],
  ['the clock runs', 'auto', { ...former, finalizesAt: later }, { do: 'wait', for: 1_800_000 }],
  ['its time is over', 'auto', { ...former, finalizesAt: '2026-11-23T12:00:00.000Z' }, { do: 'finalize' }],
  ['hold stops it', 'hold', { ...former, finalizesAt: later }, { do: 'stop clock' }],
  ['hold without a clock', 'hold', former, { do: 'wait' }],
  ['now does not wait for it', 'now', { ...former, finalizesAt: later }, { do: 'finalize' }],
  ['now is done', 'now', finalized, { do: 'obeyed', finalize: 'auto' }],
  ['finalized: objects are rewritten', 'auto', finalized, { do: 'rewrite' }],
  ['also while it is held', 'hold', { ...finalized, migration: running }, { do: 'rewrite' }],
  ['all are rewritten: the change log has the former version', 'auto', rewritten, { do: 'forget versions' }],
  ['nothing is left', 'auto', alone, { do: 'wait' }],
  [
    'nothing is changed before the model is finalized',
    'hold',
    { ...former, contract: { ...contract, migrate: 'a hash' } },
    { do: 'wait' },
  ],
  ['then it is', 'auto', { ...alone, contract: { ...contract, migrate: 'a hash' } }, { do: 'migrate' }],
  [
    'also while something cannot be rewritten',
    'auto',
    { ...finalized, contract: { ...contract, migrate: 'a hash' }, migration: { ...running, failing: 1 } },
    { do: 'migrate' },
  ],
  [
    'it is over',
    'auto',
    { ...alone, contract: { ...contract, migrate: 'a hash' }, contentMigration: { ...migrating, isOver: true } },
    { do: 'wait' },
  ],
  ['a rollback of what was never stored otherwise', 'rollback', alone, { do: 'obeyed', finalize: 'hold' }],
  ['a rollback', 'rollback', rewritten, { do: 'roll back' }],
  ['a rollback before the end of the rewrite', 'rollback', finalized, { do: 'roll back' }],
  [
    'a rollback to a version that the model has no more',
    'rollback',
    { ...rewritten, formerVersion: 'v0' },
    { do: 'obeyed', finalize: 'hold' },
  ],
  ['a rollback rewrites', 'rollback', { ...finalized, storageVersion: 'v1', formerVersion: 'v2' }, { do: 'rewrite' }],
  [
    'a rollback is done',
    'rollback',
    { ...rewritten, storageVersion: 'v1', formerVersion: 'v2' },
    { do: 'obeyed', finalize: 'hold' },
  ],
  ['a rollback before the model is finalized', 'rollback', former, { do: 'obeyed', finalize: 'hold' }],
  [
    'one version, beside objects that another declaration left',
    'auto',
    { ...finalized, contract: { hub: 'v2', versions: { v2: {} } } },
    { do: 'wait' },
  ],
  [
    'a state of an earlier version of the service: any version may be stored',
    'auto',
    { contract, storageVersion: 'v2' },
    { do: 'rewrite' },
  ],
];

for (const [title, finalize, status, expected] of cases) {
  test(`storage version: ${title}`, () => {
    assert.deepEqual(nextStep({ spec: finalize ? { finalize } : {}, status }, now), expected);
  });
}

test('storage version: progress of another store does not count, and a migration that is over stays so', () => {
  const status = { ...former, migration: { ...running, after: 9 }, contentMigration: migrating } as unknown as Status;
  assert.deepEqual(progressIn(undefined, status), status);
  assert.deepEqual(progressIn('telemetry', status), former);
  const over = { ...migrating, isOver: true };
  assert.deepEqual(progressIn('telemetry', { ...status, contentMigration: over }), {
    ...former,
    contentMigration: over,
  });
  const there = { ...status, migration: { ...status.migration!, store: 'telemetry' } };
  assert.deepEqual(progressIn('telemetry', there), { ...former, migration: there.migration });
});

test('storage version: nothing moves when another contract became active since that was decided', async () => {
  const state = { spec: { finalize: 'now' }, status: { ...former, generation: 2 } } as unknown as ModelStateObject & {
    status: Status;
  };
  let status = state.status;
  const moved: (Status | undefined)[] = [];
  const lease = { name: '', holder: '', token: 1 };
  const storage = new StorageVersion(
    {
      store: { shared: false, acquireLease: async () => lease, releaseLease: async () => undefined },
      timers: new FakeClock(),
      feed: { newest: async () => undefined },
    } as unknown as ConstructorParameters<typeof StorageVersion>[0],
    {
      memory: { hold: () => () => undefined },
      state: async () => state,
      others: async () => {
        status = { ...status, generation: 3 };
        return [];
      },
      write: async (next: (status: Status, spec: object) => Status | undefined) =>
        void moved.push(next(status, state.spec)),
    } as unknown as ConstructorParameters<typeof StorageVersion>[1],
  );
  storage.look();
  await until(() => moved.length > 0);
  await storage.stop();
  assert.equal(moved[0], undefined);
});

test('a look that fails is made again after one second, then after twice the time, up to ten seconds', async () => {
  const clock = new FakeClock();
  let looks = 0;
  const storage = new StorageVersion(
    { timers: clock, logger: { warn: () => undefined } } as unknown as ConstructorParameters<typeof StorageVersion>[0],
    {
      kind: 'Note',
      state: async () => {
        looks++;
        throw new Error('away');
      },
    } as unknown as ConstructorParameters<typeof StorageVersion>[1],
  );
  storage.look();
  for (const [i, delay] of [1_000, 2_000, 4_000, 8_000, 10_000, 10_000].entries()) {
    await until(() => looks === i + 1);
    await clock.advance(delay - 1);
    assert.equal(looks, i + 1);
    await clock.advance(1);
  }
  await until(() => looks === 7);
  await storage.stop();
});
