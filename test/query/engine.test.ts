import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { KindredError } from '../../src/errors.ts';
import { ModelIndex } from '../../src/indexes/model-index.ts';
import type { IndexDefinition, IndexEntry } from '../../src/model/index-entry.ts';
import { codecOf } from '../../src/model/key.ts';
import { bindSort } from '../../src/query/bind.ts';
import type { Plan, QueryLimits, QueryResult } from '../../src/query/execute.ts';
import { execute, explain, runIds } from '../../src/query/execute.ts';
import type { Condition } from '../../src/query/query.ts';
import { ListOptions, PageRequest, Queries } from '../../src/query/query.ts';

function definition(name: string, type: any, more: Partial<IndexDefinition> = {}): IndexDefinition {
  return {
    name,
    codec: codecOf(type),
    multi: false,
    unique: false,
    nullable: true,
    order: 'ASC',
    indexFunc: () => undefined,
    ...more,
  };
}

const definitions = [
  definition('spec.title', String, { unique: true }),
  definition('spec.age', Number, { order: 'DESC' }),
  definition('spec.tags', String, { multi: true }),
  definition('spec.done', Boolean),
];

const still: QueryLimits = { now: () => 0, timeLimit: 1000 };
let revision = 0;

function entry(name: string, more: Partial<IndexEntry> & { keys?: unknown[][] } = {}): IndexEntry {
  return { name, created: 1000, deleted: null, labels: {}, keys: [[], [], [], []], ...more };
}

function indexOf(entries: readonly IndexEntry[]): ModelIndex {
  const index = new ModelIndex(definitions);
  for (const one of entries) index.put(one, ++revision, revision);
  return index;
}

const people = indexOf([
  entry('ada', { created: 1, keys: [['Ada'], [36], ['x', 'b'], [true]], labels: { env: 'prod' } }),
  entry('bob', { created: 2, keys: [['Bob'], [5], ['a', 'z'], [false]], labels: { env: 'test', team: '' } }),
  entry('cy', { created: 3, keys: [[], [], [], []] }),
  entry('dan', { created: 3, deleted: 9, keys: [['Dan'], [36], ['c'], [false]], labels: { env: 'prod' } }),
]);

function ask(
  index: ModelIndex,
  where: Condition,
  sort: { field: string; direction?: 'asc' | 'desc' }[] = [{ field: 'name' }],
  page: Partial<{ offset: number; limit: number; names: ReadonlySet<string> }> = {},
): QueryResult {
  const result = execute(index, { where, sort, offset: 0, limit: 100, ...page }, still);
  assert(!(result instanceof Promise));
  return result;
}

function names(where: Condition, sort?: { field: string; direction?: 'asc' | 'desc' }[], index = people): string {
  return ask(index, where, sort)
    .refs.map((ref) => ref.name)
    .join(' ');
}

const select = (fieldSelector: string, labelSelector = '') =>
  ListOptions.parse({ fieldSelector, labelSelector }).condition;

const sortCases: readonly (readonly [
  title: string,
  sort: { field: string; direction?: 'asc' | 'desc' }[],
  expected: string,
])[] = [
  ['lists: sort by default is creationTimestamp,desc, ended by metadata.name,asc', [], 'cy dan bob ada'],
  [
    'lists: objects without a value come first in a sort asc',
    [{ field: 'spec.title', direction: 'asc' }],
    'cy ada bob dan',
  ],
  [
    'lists: objects without a value come last in a sort desc',
    [{ field: 'spec.title', direction: 'desc' }],
    'dan bob ada cy',
  ],
  [
    'lists: equal keys are in the order of the names, in a sort desc too',
    [{ field: 'spec.age', direction: 'desc' }],
    'ada dan bob cy',
  ],
  ["lists: a sort without a direction has the index's own order", [{ field: 'spec.age' }], 'ada dan bob cy'],
  [
    'lists: a sort asc by a multi-value index goes by the smallest value',
    [{ field: 'spec.tags', direction: 'asc' }],
    'cy bob ada dan',
  ],
  [
    'lists: a sort desc by a multi-value index goes by the largest value',
    [{ field: 'spec.tags', direction: 'desc' }],
    'bob ada dan cy',
  ],
  [
    'lists: sort by several fields',
    [
      { field: 'spec.done', direction: 'asc' },
      { field: 'spec.age', direction: 'asc' },
    ],
    'cy bob dan ada',
  ],
  ['lists: sort by metadata.name', [{ field: 'metadata.name', direction: 'desc' }], 'dan cy bob ada'],
  [
    'lists: sort by metadata.deletionTimestamp',
    [{ field: 'metadata.deletionTimestamp', direction: 'desc' }],
    'dan ada bob cy',
  ],
];

describe('sort', () => {
  for (const [title, sort, expected] of sortCases)
    test(title, () => assert.equal(names(Queries.all(), sort), expected));

  test('lists: sort by a field that is no index is a 400 naming the indexes there are', () => {
    const allowed = [
      'metadata.name',
      'metadata.creationTimestamp',
      'metadata.deletionTimestamp',
      'spec.title',
      'spec.age',
      'spec.tags',
      'spec.done',
    ];
    for (const field of ['spec.other', 'metadata.labels']) {
      assert.throws(
        () => bindSort([{ field }], definitions),
        (error) => {
          assert(error instanceof KindredError);
          assert.deepEqual(
            [error.code, error.status, error.parameter, error.allowed],
            ['InvalidParameter', 400, 'sort', allowed],
          );
          return true;
        },
      );
    }
  });

  test('lists: sort with a field given twice is a 400, by its short name too', () => {
    assert.throws(() => bindSort([{ field: 'spec.age' }, { field: 'spec.age', direction: 'asc' }], definitions), {
      parameter: 'sort',
    });
    assert.throws(
      () => bindSort([{ field: 'name' }, { field: 'metadata.name' }], definitions),
      (error) => {
        assert(error instanceof KindredError && error.parameter === 'sort');
        assert((error.allowed as string[]).includes('spec.age') && error.message.includes('spec.age'), error.message);
        return true;
      },
    );
  });

  test('directions and the default are filled in', () => {
    assert.deepEqual(bindSort([], definitions), [{ field: 'metadata.creationTimestamp', direction: 'desc' }]);
    assert.deepEqual(bindSort([{ field: 'spec.age' }, { field: 'name' }], definitions), [
      { field: 'spec.age', direction: 'desc' },
      { field: 'metadata.name', direction: 'asc' },
    ]);
  });
});

const whereCases: readonly (readonly [title: string, where: Condition, expected: string])[] = [
  ['lists: name is short for metadata.name', select('name=(ada,cy)'), 'ada cy'],
  ['lists: != includes objects without the value', select('spec.age!=36'), 'bob cy'],
  ['lists: != includes objects without the label', select('', 'env!=prod'), 'bob cy'],
  ['lists: notin includes objects without the label', select('', 'env notin (prod,test)'), 'cy'],
  ['lists: a label with the empty value', select('', 'team='), 'bob'],
  ['lists: on a multi-value index a positive operator matches when one value does', select('spec.tags=x'), 'ada'],
  ['lists: ranges never match an object without a value', select('spec.age<100'), 'ada bob dan'],
  ['lists: text operators never match an object without a value', select('spec.title*='), 'ada bob dan'],
  ['lists: text operators are case-sensitive', select('spec.title*=A'), 'ada'],
  ['lists: starts with and ends with', select('spec.title^=B,spec.title$=b'), 'bob'],
  ['lists: values are converted to the key type', select('spec.done=true,spec.age>=3.6e1'), 'ada'],
  ['lists: metadata.deletionTimestamp is present', select('metadata.deletionTimestamp'), 'dan'],
  [
    'lists: metadata.creationTimestamp in a range',
    select('metadata.creationTimestamp>1970-01-01T00:00:00.002Z'),
    'cy dan',
  ],
  ['queries: Queries.between of one multi-value key', Queries.between('spec.tags', 'y', 'zz'), 'bob'],
  [
    'queries: Queries.and, or, not',
    Queries.or(
      Queries.equal('spec.age', 5),
      Queries.and(Queries.isNotNull('spec.title'), Queries.labelEqual('env', 'prod')).not(),
    ),
    'bob cy',
  ],
  ['queries: Queries.in without values', Queries.in('spec.age', []), ''],
  ['queries: Queries.notIn without values', Queries.notIn('spec.age', []), 'ada bob cy dan'],
  [
    'queries: Queries.lessThan and greaterThan are exclusive, or not',
    Queries.lessThan('spec.age', 36).or(
      Queries.greaterThan('spec.age', 36, true).and(Queries.labelExists('team').not()),
    ),
    'ada bob dan',
  ],
  ['queries: Queries.isNull', Queries.isNull('spec.tags'), 'cy'],
  [
    'queries: Queries.labelIn, labelExists',
    Queries.labelIn('env', ['test', 'none']).or(Queries.labelExists('team')),
    'bob',
  ],
];

describe('conditions', () => {
  for (const [title, where, expected] of whereCases) test(title, () => assert.equal(names(where), expected));

  test('lists: the law of complement', () => {
    const terms = [
      ['spec.age=36', 'spec.age!=36'],
      ['spec.tags=(a,c)', 'spec.tags!=(a,c)'],
      ['spec.tags in (x)', 'spec.tags notin (x)'],
      ['spec.title', '!spec.title'],
      ['metadata.deletionTimestamp', '!metadata.deletionTimestamp'],
    ] as const;
    for (const [term, negation] of terms) {
      const both = [names(select(term)), names(select(negation))].join(' ').split(' ').filter(Boolean);
      assert.deepEqual(both.sort(), ['ada', 'bob', 'cy', 'dan'], term);
    }
    for (const [term, negation] of [
      ['env=prod', 'env!=prod'],
      ['env=(prod,x)', 'env!=(prod,x)'],
      ['team', '!team'],
    ] as const) {
      const both = [names(select('', term)), names(select('', negation))].join(' ').split(' ').filter(Boolean);
      assert.deepEqual(both.sort(), ['ada', 'bob', 'cy', 'dan'], term);
    }
  });

  const refused: readonly (readonly [
    title: string,
    selector: string,
    term: string,
    column: number,
    expected: RegExp,
  ])[] = [
    [
      'lists: a field selector on a field that is no index',
      'spec.age=1,spec.other=2',
      'spec.other=2',
      12,
      /one of metadata.name/,
    ],
    ['lists: metadata.labels is no selector field', 'metadata.labels=a', 'metadata.labels=a', 1, /one of/],
    ['lists: a value that does not convert', 'spec.age=old', 'spec.age=old', 1, /a number/],
    [
      'lists: a value of a list that does not convert',
      'spec.done=(true,maybe)',
      'spec.done=(true,maybe)',
      1,
      /true or false/,
    ],
    ['lists: a text operator on an index of numbers', 'spec.age^=3', 'spec.age^=3', 1, /index of strings/],
  ];
  for (const [title, selector, term, column, expected] of refused) {
    test(`${title} is a 400`, () => {
      assert.throws(
        () => names(select(selector)),
        (error) => {
          assert(error instanceof KindredError);
          assert.deepEqual(
            [error.code, error.status, error.term, error.column],
            ['InvalidSelector', 400, term, column],
          );
          assert.match(error.expected!, expected);
          return true;
        },
      );
    });
  }

  test('queries: values in code are checked against the key type', () => {
    for (const where of [
      Queries.equal('spec.age', '36'),
      Queries.contains('spec.age', '3'),
      Queries.equal('spec.nothing', 1),
      Queries.lessThan('spec.age', undefined as never),
    ]) {
      assert.throws(() => names(where), { code: 'InvalidSelector', status: 400 });
    }
  });

  test('conditions nested without end are refused, not run', () => {
    let where = Queries.equal('spec.age', 1);
    for (let i = 0; i < 5000; i++) where = Queries.not(where.and(Queries.labelExists('a')));
    assert.throws(() => names(where), { code: 'InvalidSelector' });
  });

  test('an index called name hides the short form of metadata.name', () => {
    const index = new ModelIndex([definition('name', String)]);
    index.put({ ...entry('a'), keys: [['b']] }, 1, 1);
    assert.equal(names(select('name=b'), undefined, index), 'a');
  });
});

describe('ListOptions and PageRequest', () => {
  test('queries: ListOptions.builder: labels always hold, andQuery narrows, orQuery widens', () => {
    const options = ListOptions.builder()
      .fieldSelector('spec.age=5')
      .orQuery(Queries.equal('spec.title', 'Dan'))
      .orQuery(Queries.isNull('spec.title'))
      .labelSelector('env')
      .build();
    assert.equal(names(options.condition), 'bob dan');
    assert.equal(
      names(
        ListOptions.builder().fieldSelector('spec.age=36').andQuery(Queries.equal('spec.done', true)).build().condition,
      ),
      'ada',
    );
    assert.equal(names(ListOptions.builder().build().condition), 'ada bob cy dan');
    const narrowed = ListOptions.builder(options).andQuery(Queries.equal('spec.title', 'Dan')).build();
    assert.equal(names(narrowed.condition), 'dan');
    assert.equal(names(options.condition), 'bob dan');
    const wider = ListOptions.builder(ListOptions.parse({ labelSelector: 'env' })).build();
    assert.equal(names(wider.condition), names(ListOptions.builder().labelSelector('env').build().condition));
    assert.throws(() => ListOptions.builder().fieldSelector('=').build(), { code: 'InvalidSelector' });
  });

  test('queries: PageRequest.of takes a page, a size and a sort', () => {
    const { page, size, sort } = PageRequest.of(2, 5, 'spec.age,desc');
    assert.deepEqual({ page, size, sort }, { page: 2, size: 5, sort: ['spec.age,desc'] });
    assert.throws(() => PageRequest.of(0, 5), { code: 'InvalidParameter', parameter: 'page' });
    assert.throws(() => PageRequest.of(1, 1.5), { code: 'InvalidParameter', parameter: 'size' });
  });
});

test('permissions: with names only these are held and counted', () => {
  const only = { names: new Set(['bob', 'dan', 'nobody']) };
  assert.deepEqual(
    [ask(people, Queries.all(), [], only).total, ask(people, select('spec.age=36'), [], only).total],
    [2, 1],
  );
  assert.equal(ask(people, Queries.all(), [], { names: new Set() }).total, 0);
});

test('lists: a label that only earlier objects have takes the later ones out of a conjunction', () => {
  const objects = Array.from({ length: 2000 }, (_, i) =>
    entry(`o-${i}`, {
      labels: { ...(i % 8 === 0 && { every: 'eighth' }), ...(i < 500 && { first: 'quarter' }) },
    }),
  );
  const index = indexOf(objects);
  const where = Queries.and(
    Queries.notEqual('metadata.name', 'o-8'),
    Queries.labelEqual('every', 'eighth'),
    Queries.labelEqual('first', 'quarter'),
  );
  const found = ask(index, where);
  assert.equal(found.total, 62);
  const expected = Array.from({ length: 63 }, (_, i) => `o-${i * 8}`).filter((name) => name !== 'o-8');
  assert.deepEqual(
    found.refs.map((ref) => ref.name),
    expected.sort(),
  );
});

test('api: a page past the end has no items and the true total', () => {
  assert.deepEqual(ask(people, Queries.all(), [], { offset: 20, limit: 20 }), { total: 4, refs: [] });
  assert.deepEqual(ask(people, Queries.all(), [], { offset: Number.MAX_SAFE_INTEGER, limit: 1000 }), {
    total: 4,
    refs: [],
  });
  assert.deepEqual(ask(people, Queries.all(), [], { limit: 0 }), { total: 4, refs: [] });
});

describe('ModelIndex', () => {
  test('find gives slot, id and revision, until the object is removed', () => {
    const index = indexOf([]);
    index.put(entry('a'), 5, 7);
    assert.deepEqual(index.find('a'), { slot: 0, id: 5, revision: 7 });
    index.put(entry('a'), 5, 9);
    assert.deepEqual([index.find('a'), index.size], [{ slot: 0, id: 5, revision: 9 }, 1]);
    index.remove('a');
    index.remove('a');
    assert.deepEqual([index.find('a'), index.size], [undefined, 0]);
    index.put(entry('b'), 11, 11);
    assert.deepEqual([index.limit, index.size], [1, 1], 'the slot is used again');
  });

  test('unique values that several objects have are reported until they are repaired', async () => {
    const entries = ['a', 'b', 'c'].map((name) =>
      entry(name, { keys: [[name === 'c' ? 'other' : 'same'], [], [], []] }),
    );
    const built = new ModelIndex(definitions);
    await built.build(once(entries.map((one, i) => ({ entry: one, id: i + 1, revision: i + 1 }))), {
      onProgress: () => {},
    });
    for (const index of [indexOf(entries), built]) {
      assert.deepEqual(index.duplicates(), [{ index: 'spec.title', key: 'same', names: ['a', 'b'] }]);
      assert.deepEqual(index.holders(definitions[0]!, 'same'), ['a', 'b']);
      index.put(entry('a'), 1, 100);
      assert.deepEqual(index.duplicates(), []);
    }
  });

  test('objects that are being deleted are listed', () => {
    assert.deepEqual(people.deletingNames(), ['dan']);
  });

  test('queries: a bulk build tells its progress and leaves the event loop free', async () => {
    const index = new ModelIndex(definitions);
    const seen: number[] = [];
    let turns = 0;
    let done = false;
    const other = (async () => {
      for (; !done; turns++) await nextTurn();
    })();
    async function* rows() {
      for (let at = 0; at < 20_000; at += 1000) {
        yield Array.from({ length: 1000 }, (_, i) => ({
          entry: entry(`o-${at + i}`, { keys: [[`t${i}`], [i % 7], [`x${i % 50}`], []] }),
          id: at + i,
          revision: at + i,
        }));
      }
    }
    await index.build(rows(), { onProgress: (count) => seen.push(count), slice: 1 });
    done = true;
    await other;
    assert.deepEqual(
      seen,
      Array.from({ length: 20 }, (_, i) => (i + 1) * 1000),
    );
    assert(turns > 10);
  });
});

async function* once<T>(rows: readonly T[]): AsyncGenerator<readonly T[]> {
  yield rows;
}

describe('a page that is found by counting matches along the order', () => {
  const count = 6_000;
  const index = indexOf(
    Array.from({ length: count }, (_, i) =>
      entry(`o-${i}`, { keys: [[`title ${i}`], [i], i % 13 === 0 ? ['rare'] : [], [true]] }),
    ),
  );
  const rare = Math.ceil(count / 13);

  for (const direction of ['asc', 'desc'] as const) {
    for (const [what, text, total] of [
      ['the matches', 'spec.tags=rare', rare],
      ['all others', 'spec.tags!=rare', count - rare],
    ] as const) {
      test(`lists: is whole wherever it begins and ends in a leaf: ${what}, ${direction}`, () => {
        const where = select(text);
        const sort = [{ field: 'spec.age', direction }];
        const all = Array.from({ length: count }, (_, i) => i).filter((i) => (i % 13 === 0) === (total === rare));
        if (direction === 'desc') all.reverse();
        const strategies = new Set<string>();
        for (let offset = 0; offset < total; offset += total === rare ? 1 : 7) {
          for (const limit of [1, 2, 20]) {
            const query = { where, sort, offset, limit };
            const { refs } = execute(index, query, still) as QueryResult;
            const expected = all.slice(offset, offset + limit).map((i) => `o-${i}`);
            if (refs.map((ref) => ref.name).join() !== expected.join())
              assert.deepEqual(
                refs.map((ref) => ref.name),
                expected,
                `offset ${offset}, limit ${limit}`,
              );
            strategies.add((explain(index, query, still) as Plan).strategy);
          }
        }
        assert.ok(strategies.has('rank'), [...strategies].join());
      });
    }
  }
});

describe('a query that does not fit into one slice', () => {
  const index = indexOf(
    Array.from({ length: 20_000 }, (_, i) =>
      entry(`o-${i}`, { created: i, keys: [[`title ${i}`], [i], [`t${i % 9}`], [i % 2 === 0]] }),
    ),
  );
  const slow = Queries.contains('spec.title', '77');
  const ticking = (step: number): QueryLimits => {
    let time = 0;
    return {
      now: () => {
        time += step;
        return time;
      },
      timeLimit: 1000,
    };
  };

  test('queries: is cut, and still answers one revision, the last', async () => {
    const before = ask(index, slow, []);
    const pending = execute(index, { where: slow, sort: [], offset: 0, limit: 5 }, ticking(5));
    assert(pending instanceof Promise);
    index.put(entry('late', { created: 1e6, keys: [['77'], [], [], []] }), 1, 1);
    index.remove('o-77');
    const { total, refs } = await pending;
    assert.equal(total, before.total);
    assert.equal(refs[0]!.name, 'late');
    assert.deepEqual(ask(index, slow, [], { limit: 5 }).refs, refs);
  });

  test('queries: over its time limit is a QueryLimit', async () => {
    await assert.rejects(
      async () => execute(index, { where: slow, sort: [], offset: 0, limit: 5 }, ticking(400)),
      (error) => {
        assert(error instanceof KindredError);
        assert.deepEqual([error.code, error.status, error.headers?.['retry-after']], ['QueryLimit', 503, '1']);
        return true;
      },
    );
  });

  test('lists: explain tells the indexes, the estimated and touched rows and the time', () => {
    const plan = explain(
      index,
      { where: select('spec.tags=t1,spec.age>=100'), sort: [{ field: 'spec.age' }], offset: 0, limit: 10 },
      ticking(0.001),
    );
    assert(!(plan instanceof Promise));
    const { indexes, estimatedRows, touchedRows, total, time } = plan;
    assert.deepEqual(
      indexes.map(({ name, use }) => `${use} ${name}`),
      ['filter spec.tags', 'filter spec.age', 'sort spec.age'],
    );
    assert(estimatedRows >= total && estimatedRows < 3000, `estimated ${estimatedRows}`);
    assert(touchedRows > 0 && touchedRows < 20_000, `touched ${touchedRows}`);
    assert(time > 0);
  });

  test('an unfiltered page at any depth touches the rows of the page alone', () => {
    const plan = explain(
      index,
      { where: Queries.all(), sort: [{ field: 'spec.age' }], offset: 15_000, limit: 20 },
      still,
    );
    assert(!(plan instanceof Promise));
    assert.equal(plan.strategy, 'index');
    assert(plan.touchedRows < 600, `touched ${plan.touchedRows}`);
  });

  test('the ids of all matches come in order', () => {
    const ids = runIds(
      index,
      { where: select('spec.done=true'), sort: [{ field: 'spec.age' }] },
      still,
    ) as Float64Array;
    const pages = ask(index, select('spec.done=true'), [{ field: 'spec.age' }], { limit: 20_000 }).refs.map(
      (ref) => ref.id,
    );
    assert.deepEqual([...ids], pages);
  });

  const everything = [
    { where: Queries.all(), sort: [{ field: 'spec.tags' }, { field: 'spec.age', direction: 'desc' }] },
    { where: slow, sort: [{ field: 'spec.done' }] },
    { where: select('spec.age>=700'), sort: [{ field: 'spec.age', direction: 'desc' }] },
    { where: select('spec.age!=700'), sort: [], names: new Set(Array.from({ length: 9_000 }, (_, i) => `o-${i * 2}`)) },
  ] as const;

  test('queries: the ids of very many matches are put in order in slices', async () => {
    for (const query of everything) {
      let turns = 0;
      const nextTurn = async () => {
        turns++;
      };
      const pending = runIds(index, query, { ...ticking(9), nextTurn });
      assert(pending instanceof Promise);
      const whole = runIds(index, query, still);
      assert(!(whole instanceof Promise));
      assert.deepEqual([...(await pending)], [...whole]);
      assert(turns > 0);
    }
  });

  test('an index that changes while ids are put in order is a fault of the service, and told', async () => {
    let turns = 0;
    const nextTurn = async () => {
      turns++;
      index.put(entry('changed', { created: turns, keys: [['x'], [turns], [], []] }), 1, 1);
    };
    await assert.rejects(async () => runIds(index, everything[0], { ...ticking(5), nextTurn }), /changed while/);
    index.remove('changed');
  });
});
