/** What a refusal means while the values of older objects are claimed (docs/decisions/model-evolution.md). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkIndexes, indexFactory } from '../model/index-spec.ts';
import { TimeSlice } from '../runtime/time-slice.ts';
import { uniqueKeysOf } from './claims.ts';
import type { CommitDependencies } from './commits.ts';
import { Commits } from './commits.ts';
import type { ModelWrite } from './feed.ts';
import type { Rules } from './rules.ts';

interface World {
  /** Names of the objects that have the value, by the indexes as they are, and once they are the newest. */
  readonly holders: string[];
  readonly newest: string[];
  /** Another contract becomes active while the newest state is asked for. */
  readonly isReplaced?: boolean;
  /** The store keeps a claim on the value. */
  readonly isClaimed?: boolean;
}

const indexes = checkIndexes([indexFactory.single('code', String, () => null, { unique: true })]);

function take({ holders, newest, isReplaced = false, isClaimed = false }: World) {
  const rules = { indexes, uniques: indexes, claiming: new Set(['code']) } as unknown as Rules;
  const model = { rules, kind: 'Part' };
  let held = holders;
  const commits = new Commits({
    memory: { model, index: { find: () => undefined, holders: () => held }, assertReady: () => {} },
    store: { shared: true },
    feed: {
      applied: 7,
      newest: async () => {
        held = newest;
        if (isReplaced) model.rules = { ...rules };
      },
    },
    queue: {
      commit: async () =>
        isClaimed ? { ok: false, reason: 'claimed', index: 'code', key: 'a' } : { ok: true, id: 1, revision: 7 },
    },
  } as unknown as CommitDependencies);
  const entry = { name: 'one', created: 0, deleted: null, labels: {}, keys: [['a']] };
  const taken = uniqueKeysOf(indexes, indexes, entry);
  const write = { type: 'create', name: 'one' } as unknown as ModelWrite;
  const slice = new TimeSlice(() => 0);
  return commits.commit(rules, write, { taken, freed: [] }, {}, slice);
}

const violation = { code: 'UniqueViolation', index: 'code', value: 'a' };
const outdated = { ok: false, reason: 'outdated' };

test('values of older objects: a refusal counts when the newest indexes confirm it under the same rules', async () => {
  assert.equal((await take({ holders: [], newest: [] })).ok, true);
  await assert.rejects(take({ holders: ['other'], newest: ['other'] }), violation);
  assert.equal((await take({ holders: ['other'], newest: [] })).ok, true, 'the holder has given it up');
  assert.deepEqual(await take({ holders: ['other'], newest: ['other'], isReplaced: true }), outdated);
  await assert.rejects(take({ holders: [], newest: ['other'], isClaimed: true }), violation);
  assert.deepEqual(await take({ holders: [], newest: [], isClaimed: true }), outdated, 'a claim that is left over');
  assert.deepEqual(await take({ holders: [], newest: ['other'], isClaimed: true, isReplaced: true }), outdated);
});
