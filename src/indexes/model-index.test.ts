import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { IndexDefinition, IndexEntry } from '../model/index-entry.ts';
import { codecOf } from '../model/key.ts';
import { firstDeclared } from './field.ts';
import { ModelIndex } from './model-index.ts';
import type { SlotSet } from './slot-set.ts';

const definition = (name: string, more: Partial<IndexDefinition>): IndexDefinition => ({
  name,
  codec: codecOf(String),
  multi: false,
  unique: false,
  nullable: true,
  order: 'ASC',
  indexFunc: () => undefined,
  ...more,
});
const color = definition('color', {});
const code = definition('code', { unique: true });
const tags = definition('tags', { multi: true });
const colorField = firstDeclared;

interface Item {
  readonly color: string | undefined;
  readonly code: string | undefined;
  readonly tags: readonly string[];
}

const keys = (value: string | undefined): readonly string[] => (value === undefined ? [] : [value]);

function entryOf(name: string, item: Item): IndexEntry {
  return { name, created: 0, deleted: null, labels: {}, keys: [keys(item.color), keys(item.code), item.tags] };
}

const maybe = (...values: string[]) => fc.option(fc.constantFrom(...values), { nil: undefined, freq: 3 });
const anyItem: fc.Arbitrary<Item> = fc.record({
  color: maybe('red', 'green', 'blue'),
  code: maybe('a', 'b', 'c', 'd', 'e', 'f'),
  tags: fc.uniqueArray(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 }),
});
const operation = fc.record({ name: fc.nat({ max: 700 }), item: fc.option(anyItem, { nil: undefined, freq: 3 }) });

/** Names of the objects for which the test holds, in order. */
function namesOf(items: ReadonlyMap<string, Item>, test: (item: Item) => boolean): string[] {
  return [...items].flatMap(([name, item]) => (test(item) ? [name] : [])).sort();
}

function namesIn(index: ModelIndex, slots: SlotSet): string[] {
  return [...index.names.entries()].flatMap(([slot, name]) => (slots.has(slot) ? [name] : [])).sort();
}

function compare(index: ModelIndex, items: ReadonlyMap<string, Item>): void {
  assert.equal(index.size, items.size, 'the number of objects');
  const field = index.fields[colorField]!;
  const without = namesIn(index, field.withoutKey);
  assert.deepEqual(
    without,
    namesOf(items, (item) => item.color === undefined),
    'the objects without a value',
  );
  for (const key of ['red', 'green', 'blue']) {
    const expected = namesOf(items, (item) => item.color === key);
    assert.deepEqual(index.holders(color, key), expected, `the objects of ${key} in the order`);
    const postings = field.postings(key, ...field.rankRange(key, key, true, true), index.limit);
    const kept = namesIn(index, postings);
    assert.deepEqual(kept, expected, `the set of ${key}`);
    assert.equal(postings.count, expected.length, `the count of the set of ${key}`);
  }
  for (const tag of ['x', 'y', 'z']) {
    const expected = namesOf(items, (item) => item.tags.includes(tag));
    assert.deepEqual(index.holders(tags, tag), expected, `the objects with the tag ${tag}`);
  }
  const duplicates = ['a', 'b', 'c', 'd', 'e', 'f'].flatMap((key) => {
    const names = namesOf(items, (item) => item.code === key);
    return names.length > 1 ? [{ key, names }] : [];
  });
  const found = index.duplicates().map(({ key, names }) => ({ key: key as string, names }));
  assert.deepEqual(
    found.sort((a, b) => (a.key < b.key ? -1 : 1)),
    duplicates,
    'the values that several objects have',
  );
}

test('the indexes follow every change as a plain map of the objects does', () => {
  fc.assert(
    fc.property(fc.array(operation, { minLength: 50, maxLength: 300, size: 'max' }), (operations) => {
      const index = new ModelIndex([color, code, tags]);
      const items = new Map<string, Item>();
      let revision = 0;
      const put = (name: string, item: Item): void => {
        revision++;
        index.put(entryOf(name, item), revision, revision);
        items.set(name, item);
      };
      // Enough objects of one key that its set is kept.
      for (let i = 0; i < 400; i++) put(`n${i}`, { color: i % 8 === 0 ? undefined : 'red', code: undefined, tags: [] });
      compare(index, items);
      for (const { name, item } of operations) {
        if (item) put(`n${name}`, item);
        else if (items.delete(`n${name}`)) assert.notEqual(index.remove(`n${name}`), undefined);
      }
      compare(index, items);
    }),
    { numRuns: 40 },
  );
});
