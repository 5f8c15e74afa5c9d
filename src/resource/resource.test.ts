import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Queries } from '../query/condition.ts';
import type { IndexedModel } from './indexed-model.ts';
import { ModelResource } from './resource.ts';

const entry = { name: 'a', labels: {}, created: 0, keys: [] };

/** A resource that knows changes of `changed` objects, each of this many bytes. */
function resourceOf(bytes: number) {
  const model = { scheme: { indexes: [] } };
  const memory = { model, epoch: Symbol(), changes: 0 };
  const recent: object[] = [];
  const feed = { applied: 10, recent: (since: number) => recent.slice(since - 10) };
  const parts = { memory, dependencies: { feed } };
  const change = (of: object = model) => {
    feed.applied++;
    recent.push({
      model: of,
      type: 'create',
      bytes: Buffer.alloc(bytes),
      entry: () => entry,
      entryBefore: () => undefined,
    });
    if (of === model) memory.changes++;
  };
  return { resource: new ModelResource({ model, parts } as unknown as IndexedModel), memory, change };
}

const others = Queries.equal('metadata.name', 'b');

test('a list is unchanged by changes of other objects, at most 64 of its model', () => {
  const { resource, change } = resourceOf(1_000);
  const { moment } = resource;
  for (let i = 0; i < 100; i++) change({});
  for (let i = 0; i < 64; i++) change();
  assert.equal(resource.isUnchanged(others, moment), true);
  assert.equal(resource.isUnchanged(Queries.equal('metadata.name', 'a'), moment), false);
  change();
  assert.equal(resource.isUnchanged(others, moment), false);
  assert.equal(resource.isUnchanged(others, resource.moment), true);
});

test('changes of large objects are not looked through', () => {
  const { resource, change } = resourceOf(100_000);
  const { moment } = resource;
  change();
  assert.equal(resource.isUnchanged(others, moment), true);
  change();
  assert.equal(resource.isUnchanged(others, moment), false);
});

test('nothing is known of another memory, or of what no single change tells', () => {
  const { resource, memory, change } = resourceOf(1_000);
  const { moment } = resource;
  change();
  memory.changes++;
  assert.equal(resource.isUnchanged(others, moment), false);
  const later = resource.moment;
  memory.epoch = Symbol();
  assert.equal(resource.isUnchanged(others, later), false);
});
