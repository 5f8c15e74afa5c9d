/** An index that is built at once is the one that objects make one by one, however many texts are shared and in whatever order they come. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IndexRow } from '../../src/indexes/model-index.ts';
import { ModelIndex } from '../../src/indexes/model-index.ts';
import type { IndexDefinition, IndexEntry } from '../../src/model/index-entry.ts';
import { codecOf } from '../../src/model/key.ts';
import { contentOf } from './process.ts';

const definition = (name: string, more: Partial<IndexDefinition> = {}): IndexDefinition => ({
  name,
  codec: codecOf(String),
  multi: false,
  unique: false,
  nullable: true,
  order: 'ASC',
  indexFunc: () => undefined,
  ...more,
});
const definitions = [
  definition('few'),
  definition('many'),
  definition('late'),
  definition('code', { unique: true }),
  definition('tags', { multi: true }),
  definition('size', { codec: codecOf(Number) as IndexDefinition['codec'] }),
];
const odd = ['', 'a', 'ab', 'é', '\u{1f600}', '\ue000', '\ud800', 'x'.repeat(300)];

/** @param total objects, of which the names are in order or not */
function rowsOf(total: number, isOrdered: boolean): IndexRow[] {
  return Array.from({ length: total }, (_, i) => {
    const number = isOrdered ? i : (i * 7_919) % total;
    const entry: IndexEntry = {
      name: `thing-${String(number).padStart(6, '0')}`,
      created: isOrdered ? i : -i,
      deleted: i % 17 === 0 ? i : null,
      labels: { env: ['prod', 'test'][i % 2]!, ...(i % 5 === 0 && { team: `t${i % 7}` }) },
      keys: [
        i % 11 === 0 ? [] : [i % 3 === 0 ? odd[i % odd.length]! : `kind-${(i * 13) % 40}`],
        [`text-${(i * 31) % total}`],
        // Shared at first, and then each another one.
        [i < total / 2 ? `same-${i % 9}` : `other-${i}`],
        [`code-${i % (total - 3)}`],
        [...new Set([`tag-${i % 50}`, ...(i % 4 === 0 ? [odd[i % odd.length]!] : [])])].slice(i % 3 === 0 ? 1 : 0),
        i % 5 === 0 ? [] : [isOrdered ? i : i % 100],
      ],
    };
    return { entry, id: i + 1, revision: i + 2, length: i % 900 };
  });
}

for (const [total, expected] of [
  [0, 0],
  [1, 0],
  [600, 600],
  [3_000, 3_000],
  [3_000, 100_000],
  [12_000, 2_100],
] as const) {
  for (const isOrdered of [true, false]) {
    test(`${total} objects where ${expected} were expected, names ${isOrdered ? 'in order' : 'in any order'}`, async () => {
      const rows = rowsOf(total, isOrdered);
      const one = new ModelIndex(definitions);
      for (const { entry, id, revision, length } of rows) one.put(entry, id, revision, length);
      const built = new ModelIndex(definitions);
      await built.build(
        (async function* () {
          for (let at = 0; at < total; at += 500) yield rows.slice(at, at + 500);
        })(),
        { onProgress: () => {}, expected },
      );
      assert.deepEqual(contentOf(built), contentOf(one));
      // And it goes on as any other.
      for (const index of [one, built]) {
        for (let i = 0; i < Math.min(total, 300); i++) {
          const { entry, id } = rows[i]!;
          if (i % 3 === 0) index.remove(entry.name);
          else index.put({ ...entry, keys: rows[(i * 5) % total]!.entry.keys }, id, 50_000 + i);
        }
      }
      assert.deepEqual(contentOf(built), contentOf(one));
    });
  }
}
