import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IndexMemory } from '../../src/indexes/memory/index-memory.ts';
import { ModelIndex } from '../../src/indexes/model-index.ts';
import type { IndexEntry } from '../../src/model/index-entry.ts';
import { bind } from '../../src/query/bind.ts';
import { execute, explain } from '../../src/query/execute.ts';
import { matches } from '../../src/query/match.ts';
import { compareEntries } from './order.ts';
import { Random, RandomModel } from './random.ts';

/** Sizes at which orders have many leaves, sets are bitmaps and pages are found by counting; the oracle filters and sorts. */
test('pages of large models equal filter and sort, whatever the strategy', async (context) => {
  const seed = Number(process.env.KINDRED_TEST_SEED ?? Date.now() % 1_000_000_000);
  context.diagnostic(`seed ${seed}`);
  const strategies = new Map<string, number>();
  const limits = { now: () => 0, timeLimit: 1000 };
  for (let round = 0; round < 6; round++) {
    const random = new Random(seed + round);
    const model = new RandomModel(random, 15_000);
    const entries = new Map<string, IndexEntry>();
    const index = new ModelIndex(model.definitions, undefined, new IndexMemory({ kernels: round < 4, leastBytes: 64 }));
    for (let i = 0; i < 9000; i++) {
      const { entry } = model.object(model.name());
      entries.set(entry.name, entry);
    }
    if (round % 2 === 0) for (const entry of entries.values()) index.put(entry, 1, 1);
    else
      await index.build(once([...entries.values()].map((entry) => ({ entry, id: 1, revision: 1 }))), {
        onProgress: () => {},
      });
    for (let i = 0; i < 40; i++) {
      const { where, sort, names } = model.query();
      const bound = bind(where, model.definitions);
      const expected = [...entries.values()]
        .filter((entry) => matches(bound, entry) && (!names || names.has(entry.name)))
        .sort(compareEntries(sort, model.definitions))
        .map((entry) => entry.name);
      for (let page = 0; page < 12; page++) {
        const limit = random.pick([1, 7, 20, 300]);
        const offset = page === 0 ? 0 : random.below(expected.length + 10);
        const query = { where, sort, names, offset, limit };
        const answer = execute(index, query, limits);
        assert(!(answer instanceof Promise));
        const about = `seed ${seed + round}, query ${i}, offset ${offset}, limit ${limit}`;
        assert.equal(answer.total, expected.length, about);
        assert.equal(answer.refs.map((ref) => ref.name).join(), expected.slice(offset, offset + limit).join(), about);
        const plan = explain(index, query, limits);
        assert(!(plan instanceof Promise));
        strategies.set(plan.strategy, (strategies.get(plan.strategy) ?? 0) + 1);
      }
    }
  }
  context.diagnostic(JSON.stringify([...strategies]));
  for (const strategy of ['none', 'index', 'walk', 'rank', 'sort'])
    assert(strategies.get(strategy)! > 5, `${strategy} was used`);
});

async function* once<T>(rows: readonly T[]): AsyncGenerator<readonly T[]> {
  yield rows;
}
