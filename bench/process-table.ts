/**
 * What somebody would write by hand instead: one table in SQLite and routes of Fastify over it, for the same articles and the
 * same requests. Each write is durable before its response. It has no change log, no watches, no selectors beside the two here,
 * no permissions, and checks what a JSON schema can say.
 */
import { DatabaseSync } from 'node:sqlite';
import fastify from 'fastify';
import { article, collection, nameOf, spec } from './articles.ts';
import { meter } from './meter.ts';
import { answer } from './remote.ts';

type Sent = ReturnType<typeof article>;

const db = new DatabaseSync(process.argv[2]!);
db.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE articles (
    name TEXT PRIMARY KEY, slug TEXT NOT NULL UNIQUE, title TEXT NOT NULL, views INTEGER NOT NULL, category TEXT NOT NULL,
    published TEXT NOT NULL, tags TEXT NOT NULL, body TEXT NOT NULL, env TEXT NOT NULL, team TEXT NOT NULL,
    created TEXT NOT NULL, version INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX by_category ON articles (category, published);
  CREATE INDEX by_category_and_env ON articles (category, env, views);
  CREATE INDEX by_views ON articles (views);
  CREATE INDEX by_published ON articles (published);
`);
const insert = db.prepare('INSERT INTO articles VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)');
const replace =
  db.prepare(`UPDATE articles SET slug = ?, title = ?, views = ?, category = ?, published = ?, tags = ?, body = ?,
  env = ?, team = ?, version = version + 1 WHERE name = ?`);
const one = db.prepare('SELECT * FROM articles WHERE name = ?');
const drop = db.prepare('DELETE FROM articles WHERE name = ?');
const newest = db.prepare('SELECT * FROM articles WHERE category = ? ORDER BY published DESC LIMIT ? OFFSET ?');
const countNewest = db.prepare('SELECT count(*) AS total FROM articles WHERE category = ?');
const byViews = db.prepare('SELECT * FROM articles WHERE category = ? AND env = ? ORDER BY views LIMIT ? OFFSET ?');
const countByViews = db.prepare('SELECT count(*) AS total FROM articles WHERE category = ? AND env = ?');

const valuesOf = ({ metadata: { labels }, spec }: Sent) => [
  spec.slug,
  spec.title,
  spec.views,
  spec.category,
  spec.publishedAt,
  JSON.stringify(spec.tags),
  spec.body,
  labels.env,
  labels.team,
];

function create(sent: Sent): void {
  insert.run(sent.metadata.name, ...valuesOf(sent), new Date().toISOString());
}

/** As the service shows it. */
function shown(row: Record<string, any>) {
  const { name, env, team, created, version, slug, title, views, category, published, tags, body } = row;
  return {
    apiVersion: 'bench.example.com/v1',
    kind: 'Article',
    metadata: { name, labels: { env, team }, creationTimestamp: created, version },
    spec: { slug, title, views, category, publishedAt: published, tags: JSON.parse(tags), body },
  };
}

const text = { type: 'string' };
const body = {
  type: 'object',
  required: ['metadata', 'spec'],
  properties: {
    metadata: {
      type: 'object',
      required: ['name', 'labels'],
      properties: {
        name: text,
        labels: { type: 'object', required: ['env', 'team'], properties: { env: text, team: text } },
      },
    },
    spec,
  },
};
const app = fastify();
app.get<{ Params: { name: string } }>(`${collection}/:name`, (request, reply) => {
  const row = one.get(request.params.name);
  return row ? shown(row) : reply.code(404).send();
});
app.get<{ Querystring: Record<string, string> }>(collection, ({ query }) => {
  const { fieldSelector, labelSelector, page = '1', size = '20' } = query;
  const category = fieldSelector!.slice('spec.category='.length);
  const env = labelSelector?.slice('env='.length);
  const [limit, offset] = [Number(size), (Number(page) - 1) * Number(size)];
  const rows = env === undefined ? newest.all(category, limit, offset) : byViews.all(category, env, limit, offset);
  const { total } = (env === undefined ? countNewest.get(category) : countByViews.get(category, env)) as {
    total: number;
  };
  return { items: rows.map(shown), page: Number(page), size: limit, total, totalPages: Math.ceil(total / limit) };
});
app.post<{ Body: Sent }>(collection, { schema: { body } }, (request, reply) => {
  create(request.body);
  return reply.code(201).send(shown(one.get(request.body.metadata.name)!));
});
app.put<{ Params: { name: string }; Body: Sent }>(`${collection}/:name`, { schema: { body } }, (request, reply) => {
  const { name } = request.params;
  if (replace.run(...valuesOf(request.body), name).changes === 0) return reply.code(404).send();
  return shown(one.get(name)!);
});
const listening = app.listen({ host: '127.0.0.1', port: 0 });

function together(from: number, to: number, act: (number: number) => unknown): void {
  db.exec('BEGIN');
  for (let number = from; number < to; number++) act(number);
  db.exec('COMMIT');
}

answer(
  {
    ...meter(),
    ready: () => listening,
    fill: ({ from, to }: { from: number; to: number }) => together(from, to, (number) => create(article(number))),
    remove: ({ from, to }: { from: number; to: number }) => together(from, to, (number) => drop.run(nameOf(number))),
  },
  async () => {
    await app.close();
    db.close();
  },
);
