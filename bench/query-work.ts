/** The `articles` work of the query benchmarks: 5 indexes, 2 labels, about 900 bytes an object, of which the engine sees the keys only. */
import type { IndexDefinition, IndexEntry } from '../src/model/index-entry.ts';
import { codecOf } from '../src/model/key.ts';
import type { Condition } from '../src/query/condition.ts';
import { Queries } from '../src/query/condition.ts';
import type { SortTerm } from '../src/query/query.ts';

interface Article {
  readonly spec: { slug: string; views: number; category: string; publishedAt: string; tags: string[] };
}

function definition(name: keyof Article['spec'], type: any, more: Partial<IndexDefinition> = {}): IndexDefinition {
  return {
    name: `spec.${name}`,
    codec: codecOf(type),
    multi: false,
    unique: false,
    nullable: true,
    order: 'ASC',
    indexFunc: (object: Article) => object.spec[name],
    ...more,
  };
}

export const definitions: readonly IndexDefinition[] = [
  definition('slug', String, { unique: true }),
  definition('views', Number),
  definition('category', String),
  definition('publishedAt', Date),
  definition('tags', String, { multi: true }),
];

let state = 42;
function random(): number {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}
export const below = (n: number) => Math.floor(random() * n);

/** As parsed JSON gives it: every string an object of its own. */
export function entryFor(number: number): IndexEntry {
  const tags = new Set(Array.from({ length: 1 + below(3) }, () => `tag-${below(500)}`));
  const created = 1_700_000_000_000 + number;
  return JSON.parse(
    JSON.stringify({
      name: `article-${String(number).padStart(7, '0')}`,
      created,
      deleted: null,
      labels: { env: ['production', 'staging', 'development'][below(3)], team: `team-${below(50)}` },
      keys: [
        [`slug-of-${(number * 7919) % 10_000_019}`],
        [below(1_000_000)],
        [`category-${below(20)}`],
        [created - below(1e10)],
        [...tags],
      ],
    }),
  ) as IndexEntry;
}

export interface Bench {
  readonly name: string;
  readonly where: () => Condition;
  readonly sort: SortTerm[];
  /** Of the total of `where` without a page. */
  readonly page: (pages: number) => number;
  readonly goal?: readonly [p50: number, p99: number];
}

const category = () => Queries.equal('spec.category', `category-${below(20)}`);
export const env = () => Queries.labelEqual('env', ['production', 'staging', 'development'][below(3)]!);
const team = () => Queries.labelEqual('team', `team-${below(50)}`);
export const newest: SortTerm[] = [];
export const first = () => 1;
const any = (pages: number) => 1 + below(pages);
const middle = (pages: number) => Math.ceil(pages / 2);

export const benches: readonly Bench[] = [
  { name: 'no filter, any page', where: Queries.all, sort: newest, page: any, goal: [1, 5] },
  { name: 'LIST: equality, newest first, page 1, total', where: category, sort: newest, page: first, goal: [10, 30] },
  {
    name: 'LIST2: equality and label, by views, page 50, total',
    where: () => category().and(env()),
    sort: [{ field: 'spec.views' }],
    page: (pages) => Math.min(50, pages),
  },
  {
    name: 'AND of three, page 1',
    where: () => category().and(env()).and(Queries.labelExists('team')),
    sort: newest,
    page: first,
    goal: [60, 150],
  },
  {
    name: 'AND of three narrow, page 1',
    where: () => category().and(env()).and(team()),
    sort: newest,
    page: first,
    goal: [60, 150],
  },
  { name: '!=, page 1', where: () => category().not(), sort: newest, page: first, goal: [30, 80] },
  {
    name: 'label, by views, middle page (worst deep)',
    where: env,
    sort: [{ field: 'spec.views', direction: 'desc' }],
    page: middle,
    goal: [700, 1500],
  },
  { name: 'equality, any page', where: category, sort: newest, page: any },
  {
    name: 'multi-value equality, page 1',
    where: () => Queries.equal('spec.tags', `tag-${below(500)}`),
    sort: newest,
    page: first,
  },
  { name: 'range of 1 %, newest first', where: () => rangeOf(10_000), sort: newest, page: first },
  { name: 'range of 50 %, newest first', where: () => rangeOf(500_000), sort: newest, page: first },
  { name: 'range of 50 % and equality', where: () => rangeOf(500_000).and(category()), sort: newest, page: first },
  {
    name: 'unique equality',
    where: () => Queries.equal('spec.slug', `slug-of-${(below(1e6) * 7919) % 10_000_019}`),
    sort: newest,
    page: first,
  },
  { name: 'OR of two', where: () => category().or(team()), sort: newest, page: first },
  {
    name: 'by category and views, no filter, any page',
    where: Queries.all,
    sort: [{ field: 'spec.category' }, { field: 'spec.views', direction: 'desc' }],
    page: any,
  },
  {
    name: 'by category, no filter, page 100',
    where: Queries.all,
    sort: [{ field: 'spec.category' }],
    page: () => 100,
  },
];

function rangeOf(width: number): Condition {
  const from = below(1_000_000 - width);
  return Queries.between('spec.views', from, from + width);
}
