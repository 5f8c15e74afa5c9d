/** The service over every database, and over a store from elsewhere: one scenario over HTTP, the same bytes everywhere. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { PluginContext, StoreOpener } from 'kindred';
import { defineModel, definePlugin, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { startHarness, storeContract } from 'kindred/testing';
import { databaseAdapters } from '../servers.ts';
import { Stream } from '../watch/stream.ts';
import { MapMedium } from './map-store.ts';

const Book = defineModel({
  gvk: { group: 'library.example.com', version: 'v1', kind: 'Book', singular: 'book', plural: 'books' },
  spec: Type.Object({
    title: Type.String({ minLength: 1 }),
    isbn: Type.Optional(Type.String()),
    pages: Type.Optional(Type.Integer({ minimum: 1 })),
    tags: Type.Optional(Type.Array(Type.String())),
    extra: Type.Optional(Type.Unknown()),
  }),
  status: Type.Optional(Type.Object({ shelf: Type.Optional(Type.String()) })),
  indexes: (index) => [
    index.single('spec.title', String, (book) => book.spec.title),
    index.single('spec.isbn', String, (book) => book.spec.isbn, { unique: true }),
    index.single('spec.pages', Number, (book) => book.spec.pages),
    index.multi('spec.tags', String, (book) => book.spec.tags),
  ],
});
const books = '/apis/library.example.com/v1/books';

interface Step {
  readonly name: string;
  readonly path?: string;
  readonly method?: string;
  readonly type?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<{ [name: string]: string }>;
  readonly status: number;
}

const book = (name: string, spec: object, metadata: object = {}): object => ({ metadata: { name, ...metadata }, spec });
const merge = 'application/merge-patch+json';
const lines = 'application/x-ndjson';

const steps: readonly Step[] = [
  {
    name: 'create',
    body: book(
      'emma',
      { title: 'Emma', isbn: '1', pages: 474, tags: ['novel', 'england'] },
      { labels: { shelf: 'a' } },
    ),
    status: 201,
  },
  {
    name: 'create with every kind of text and number',
    body: book('odd', {
      title: '红楼梦 \u{1f4d6} "quoted" \\ \u0000\u2028',
      pages: 2 ** 53 - 1,
      tags: ['ä', 'Z', 'a', '\u{ffff}', '\u{10000}'],
      extra: { deep: [null, true, -0.5, 1e-7, { __proto__: null, constructor: 'plain' }], empty: {}, '': '' },
    }),
    status: 201,
  },
  { name: 'create without optional members', body: book('bare', { title: 'Bare' }), status: 201 },
  { name: 'a name that is taken', body: book('emma', { title: 'Other' }), status: 409 },
  { name: 'a unique value that is taken', body: book('second', { title: 'Other', isbn: '1' }), status: 409 },
  { name: 'all violations at once', body: book('Bad_', { title: '', pages: 0.5, unknown: 1 }), status: 422 },
  { name: 'get', path: '/emma', status: 200 },
  { name: 'get what is not there', path: '/nobody', status: 404 },
  {
    name: 'replace',
    method: 'PUT',
    path: '/emma',
    body: { ...book('emma', { title: 'Emma', isbn: '1', pages: 480 }, { version: 0 }), status: { shelf: 'top' } },
    status: 200,
  },
  {
    name: 'replace an old version',
    method: 'PUT',
    path: '/emma',
    body: book('emma', { title: 'Emma' }, { version: 0 }),
    status: 409,
  },
  {
    name: 'merge patch',
    method: 'PATCH',
    path: '/bare',
    type: merge,
    body: { spec: { isbn: '2', pages: 7 } },
    status: 200,
  },
  {
    name: 'JSON patch',
    method: 'PATCH',
    path: '/bare',
    type: 'application/json-patch+json',
    body: [
      { op: 'test', path: '/spec/isbn', value: '2' },
      { op: 'add', path: '/spec/tags', value: ['novel', 'z'] },
      { op: 'move', from: '/spec/pages', path: '/spec/extra' },
    ],
    status: 200,
  },
  { name: 'a change that changes nothing', method: 'PATCH', path: '/bare', type: merge, body: {}, status: 200 },
  {
    name: 'many at once',
    type: lines,
    body: Array.from({ length: 25 }, (_, i) =>
      JSON.stringify(
        book(`n-${i}`, { title: `T${i % 7}`, isbn: `n${i % 24}`, pages: 100 + (i % 5), tags: [`t${i % 3}`] }),
      ),
    ).join('\n'),
    status: 200,
  },
  { name: 'list, sorted and paged', path: '?sort=spec.pages,desc&sort=spec.title,asc&page=2&size=7', status: 200 },
  { name: 'list in the order of code points', path: '?sort=spec.tags,asc&fieldSelector=spec.tags', status: 200 },
  {
    name: 'list by fields',
    path: '?fieldSelector=spec.pages>=101,spec.tags in (t1,t2),spec.title!=T3&sort=name',
    status: 200,
  },
  { name: 'list by labels', path: '?labelSelector=shelf&sort=name', status: 200 },
  { name: 'a field that is no index', path: '?fieldSelector=spec.extra=1', status: 400 },
  { name: 'export', path: '?sort=name', headers: { accept: lines }, status: 200 },
  {
    name: 'create with finalizers',
    body: book('kept', { title: 'K' }, { finalizers: ['library.example.com/f'] }),
    status: 201,
  },
  { name: 'mark for deletion', method: 'DELETE', path: '/kept', status: 200 },
  {
    name: 'change what is being deleted',
    method: 'PATCH',
    path: '/kept',
    type: merge,
    body: { spec: { title: 'L' } },
    status: 409,
  },
  {
    name: 'let it go',
    method: 'PATCH',
    path: '/kept',
    type: merge,
    body: { metadata: { finalizers: null } },
    status: 200,
  },
  { name: 'delete', method: 'DELETE', path: '/odd', status: 200 },
  { name: 'get what was deleted', path: '/odd', status: 404 },
  { name: 'the unique value of a deleted object', method: 'DELETE', path: '/n-3', status: 200 },
  { name: 'is free again', body: book('again', { title: 'A', isbn: 'n3' }), status: 201 },
  { name: 'a watch from the future', path: '?watch=true&since=999999999', status: 410 },
];

/** What of an answer may differ: when it was, and where in the sequence of all changes the service began. */
function comparable(text: string, first: number): string {
  return text
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>')
    .replace(/"revision":(\d+)/g, (_, revision) => `"revision":first+${Number(revision) - first}`)
    .replace(/(greater than the newest, )\d+/, '$1<revision>');
}

interface Answer {
  readonly name: string;
  readonly status: number;
  readonly headers: Readonly<{ [name: string]: string | null }>;
  readonly text: string;
}

const library = {
  name: 'library',
  plugin: definePlugin({ start: ({ schemeManager }: PluginContext) => void schemeManager.register(Book) }),
};

/** The scenario, a watch of all its changes, and what is there after a restart. */
async function play(database: string | StoreOpener): Promise<readonly Answer[]> {
  const harness = await startHarness({ database, plugins: [library] });
  try {
    const first = Number((await harness.fetch(books)).headers.get('kindred-revision'));
    const answers: Answer[] = [];
    for (const step of steps) answers.push(await ask(harness, step, first));
    const last = Number((await harness.fetch(books)).headers.get('kindred-revision'));
    assert.ok(last - first > 30);
    const stream = await Stream.open(`${harness.url}${books}?watch=true&since=${first}`);
    for (const event of await stream.changes(last - first)) {
      answers.push({ name: 'watch', status: 200, headers: {}, text: comparable(JSON.stringify(event), first) });
    }
    stream.close();
    await harness.restart();
    for (const path of ['/emma', '?sort=name&size=100']) {
      const { text } = await ask(harness, { name: path, path, status: 200 }, first);
      // The start writes the states of plugins, so the revision is no longer that of the scenario.
      answers.push({ name: `after a restart ${path}`, status: 200, headers: {}, text });
    }
    return answers;
  } finally {
    await harness.stop();
  }
}

async function ask(harness: Harness, step: Step, first: number): Promise<Answer> {
  const { name, path = '', body, status } = step;
  const method = step.method ?? (body === undefined ? 'GET' : 'POST');
  const type = step.type ?? 'application/json';
  const response = await harness.fetch(books + path, {
    method,
    headers: { 'x-request-id': 'the-same', ...(body !== undefined && { 'content-type': type }), ...step.headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.equal(response.status, status, `${name}: ${text}`);
  const revision = response.headers.get('kindred-revision');
  const headers = {
    'content-type': response.headers.get('content-type'),
    location: response.headers.get('location'),
    changed: revision && `first+${Number(revision) - first}`,
  };
  return { name, status, headers, text: comparable(text, first) };
}

describe('one scenario over every database', () => {
  const reference = new MapMedium();
  let expected: readonly Answer[];
  before(async () => {
    expected = await play(() => reference.open());
  });

  it('spec: What the service does - storage is medium-independent: a store from elsewhere serves the same API', () => {
    const statuses = expected.slice(0, steps.length).map(({ status }) => status);
    assert.deepEqual(
      statuses,
      steps.map(({ status }) => status),
    );
    assert.ok(reference.changes.length > 30, 'it is the store that has it');
  });

  for (const adapter of databaseAdapters()) {
    it(`spec: What the service does - storage is medium-independent: ${adapter.name} answers the same bytes`, async () => {
      const database = await adapter.create();
      try {
        const answers = await play(database.url);
        for (const [place, answer] of answers.entries()) assert.deepEqual(answer, expected[place], answer.name);
        assert.equal(answers.length, expected.length);
      } finally {
        await database.drop();
      }
    });
  }
});

storeContract({
  name: 'maps in memory, from elsewhere',
  async create() {
    const medium = new MapMedium();
    return { open: () => medium.open(), drop: async () => undefined };
  },
});
