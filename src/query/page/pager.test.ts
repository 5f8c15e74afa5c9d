import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ModelIndex } from '../../indexes/model-index.ts';
import type { IndexDefinition } from '../../model/index-entry.ts';
import { codecOf, compareText } from '../../model/key.ts';
import type { Condition } from '../condition.ts';
import { Queries } from '../condition.ts';
import { execute, runIds } from '../execute.ts';
import type { SortTerm } from '../query.ts';

const definition = (name: string, type: unknown): IndexDefinition => ({
  name,
  codec: codecOf(type as StringConstructor),
  multi: false,
  unique: false,
  nullable: true,
  order: 'ASC',
  indexFunc: () => undefined,
});

interface Row {
  readonly name: string;
  readonly group: string | undefined;
  readonly count: number;
  readonly part: number;
  readonly even: boolean;
}

const limits = { now: () => 0, timeLimit: 1000 };
/** Equal keys in thousands, in hundreds, and few. */
const sorts: readonly (readonly SortTerm[])[] = [
  [{ field: 'group' }],
  [{ field: 'group', direction: 'desc' }],
  [{ field: 'count', direction: 'desc' }],
  [{ field: 'group', direction: 'desc' }, { field: 'count' }],
  [{ field: 'part' }, { field: 'group' }],
  [{ field: 'count' }, { field: 'metadata.name', direction: 'desc' }, { field: 'group' }],
];

function compare(terms: readonly SortTerm[]): (a: Row, b: Row) => number {
  const by = (term: SortTerm, a: Row, b: Row): number => {
    if (term.field === 'metadata.name') return compareText(a.name, b.name);
    if (term.field === 'part') return a.part - b.part;
    if (term.field === 'count') return a.count - b.count;
    return compareText(a.group ?? '', b.group ?? '');
  };
  return (a, b) => {
    for (const term of terms) {
      const result = by(term, a, b);
      if (result !== 0) return term.direction === 'desc' ? -result : result;
    }
    return compareText(a.name, b.name);
  };
}

test('objects with the same key are in the order of their names, on pages of any size and depth and in an export', async () => {
  const index = new ModelIndex([definition('group', String), definition('count', Number), definition('part', Number)]);
  const rows: Row[] = [];
  for (let i = 0; i < 6000; i++) {
    // Names in another order than slots.
    const number = (i * 4001) % 6007;
    const group = i % 4 === 3 ? undefined : `g${i % 4}`;
    rows.push({ name: `n-${number}`, group, count: i % 3 === 0 ? i : i % 9, part: i % 500, even: number % 2 === 0 });
    const { name, count, part, even } = rows[i]!;
    const labels: Record<string, string> = even ? { even: 'yes' } : {};
    const keys = [group === undefined ? [] : [group], [count], [part]];
    index.put({ name, created: 0, deleted: null, labels, keys }, i + 1, i + 1);
  }
  const idOf = new Map(rows.map(({ name }, i) => [name, i + 1]));
  const wheres: readonly (readonly [Condition, (row: Row) => boolean])[] = [
    [Queries.all(), () => true],
    [Queries.labelExists('even'), (row) => row.even],
    [Queries.labelExists('even').not(), (row) => !row.even],
    [Queries.between('count', 0, 4000), (row) => row.count <= 4000],
  ];
  for (const [where, accepts] of wheres) {
    for (const sort of sorts) {
      const expected = rows
        .filter(accepts)
        .sort(compare(sort))
        .map(({ name }) => name);
      for (const limit of [1, 20, 700, 6000]) {
        for (let offset = 0; offset < expected.length; offset += Math.max(limit, 311)) {
          const result = await execute(index, { where, sort, offset, limit }, limits);
          const names = result.refs.map(({ name }) => name);
          assert.deepEqual(names, expected.slice(offset, offset + limit), `${JSON.stringify(sort)} ${offset} ${limit}`);
        }
      }
      let time = 0;
      const sliced = { now: () => ++time, timeLimit: 1e9, slice: 0, portion: 100 };
      const ids = await runIds(index, { where, sort }, sliced);
      assert.deepEqual(
        [...ids],
        expected.map((name) => idOf.get(name)),
        JSON.stringify(sort),
      );
    }
  }
});
