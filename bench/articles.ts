/** The work that is measured: `articles` of about 900 bytes with five indexes and two labels. */
import { defineModel, Type } from 'kindred';

export const spec = Type.Object({
  slug: Type.String({ minLength: 1 }),
  title: Type.String({ maxLength: 200 }),
  views: Type.Integer({ minimum: 0 }),
  category: Type.String(),
  publishedAt: Type.String({ format: 'date-time' }),
  tags: Type.Array(Type.String(), { maxItems: 10 }),
  body: Type.String(),
});

export const Article = defineModel({
  gvk: { group: 'bench.example.com', version: 'v1', kind: 'Article', singular: 'article', plural: 'articles' },
  spec,
  indexes: (index) => [
    index.single('spec.slug', String, (article) => article.spec.slug, { unique: true }),
    index.single('spec.views', Number, (article) => article.spec.views),
    index.single('spec.category', String, (article) => article.spec.category),
    index.single('spec.publishedAt', Date, (article) => article.spec.publishedAt),
    index.multi('spec.tags', String, (article) => article.spec.tags),
  ],
});

export const collection = '/apis/bench.example.com/v1/articles';
export const environments = ['production', 'staging', 'development'] as const;
const categories = 20;

/** A pseudo-random whole number below `limit` that depends on the number and the salt alone. */
export function scattered(number: number, salt: number, limit: number): number {
  let mixed = Math.imul(number ^ Math.imul(salt, 0x9e3779b1), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return ((mixed ^ (mixed >>> 16)) >>> 0) % limit;
}

export const nameOf = (number: number): string => `article-${String(number).padStart(7, '0')}`;

const words = 'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore'.split(
  ' ',
);

/** @param edition makes the content another one, for updates */
export function article(number: number, edition = 0) {
  const pick = (salt: number, limit: number): number => scattered(number, salt + edition * 100, limit);
  const body = Array.from({ length: 100 }, (_, i) => words[pick(20 + i, words.length)]).join(' ');
  return {
    metadata: {
      name: nameOf(number),
      labels: { env: environments[pick(1, 3)]!, team: `team-${pick(2, 50)}` },
    },
    spec: {
      slug: `slug-of-${number}`,
      title: `Title ${number}, edition ${edition}`,
      views: pick(3, 1_000_000),
      category: `category-${pick(4, categories)}`,
      publishedAt: new Date(1_700_000_000_000 + pick(5, 1e9) * 10).toISOString(),
      tags: [...new Set(Array.from({ length: 1 + pick(6, 3) }, (_, i) => `tag-${pick(7 + i, 500)}`))],
      body: body.slice(0, 600),
    },
  };
}

/** 20 of a category, newest first, with the exact total. */
export const listPaths: readonly string[] = Array.from(
  { length: categories },
  (_, i) => `${collection}?fieldSelector=spec.category%3Dcategory-${i}&sort=spec.publishedAt,desc&size=20`,
);

/** 20 of a category and a label, by views, with the exact total. @param page at most what there is */
export function deepListPaths(page: number): readonly string[] {
  return Array.from({ length: categories * environments.length }, (_, i) => {
    const selectors = `fieldSelector=spec.category%3Dcategory-${i % categories}&labelSelector=env%3D${environments[i % 3]}`;
    return `${collection}?${selectors}&sort=spec.views&page=${page}&size=20`;
  });
}
