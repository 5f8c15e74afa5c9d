/** The five screens of the design, over a service whose data and time are always the same. */
import assert from 'node:assert/strict';
import { defineModel, definePlugin, Type } from 'kindred';
import type { Page } from 'playwright-core';
import type { ServiceOptions } from '../../../src/options.ts';
import { systemTimers } from '../../../src/runtime/timers.ts';
import type { Console } from '../browser.ts';

const group = 'library.example.com';
const version = 'v1alpha1';
const path = `/apis/${group}/${version}`;

const Author = defineModel({
  gvk: { group, version, kind: 'Author', singular: 'author', plural: 'authors' },
  spec: Type.Object({ fullName: Type.String({ minLength: 1 }) }),
});

const Book = defineModel({
  gvk: { group, version, kind: 'Book', singular: 'book', plural: 'books' },
  presentation: { description: 'What the library has, also when it is lent', columns: ['spec.title', 'spec.year'] },
  spec: Type.Object({
    title: Type.String({ minLength: 1, maxLength: 100, description: 'As on the cover', examples: ['Emma'] }),
    year: Type.Integer({ minimum: 1450, maximum: 2100 }),
    published: Type.Optional(Type.Boolean({ default: true })),
    genre: Type.Optional(Type.Union(['novel', 'poetry', 'drama'].map((one) => Type.Literal(one)))),
    author: Type.Optional(Type.String({ 'x-reference': `authors.${group}` })),
    tags: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { maxItems: 5, uniqueItems: true })),
    prices: Type.Optional(Type.Record(Type.String(), Type.Number({ minimum: 0 }))),
  }),
  indexes: (index) => [
    index.single('spec.title', String, (book) => book.spec.title),
    index.single('spec.year', Number, (book) => book.spec.year),
  ],
});

const emma = {
  metadata: { name: 'emma', labels: { 'library.example.com/shelf': 'a' } },
  spec: {
    title: 'Emma',
    year: 1815,
    genre: 'novel',
    author: 'austen',
    tags: ['classic', 'england'],
    prices: { eur: 9.5 },
  },
};
const others = Array.from({ length: 23 }, (_, at) => ({
  metadata: { name: `book-${String(at).padStart(2, '0')}`, labels: { 'library.example.com/shelf': 'b' } },
  spec: { title: `Collected works, volume ${at + 1}`, year: 1801 + at * 7, published: at % 3 > 0 },
}));

const start = Date.UTC(2026, 0, 1);
const hour = 3_600_000;
let time = start;

export const options: ServiceOptions = {
  plugins: [
    {
      name: 'library',
      plugin: definePlugin({
        start({ schemeManager }) {
          schemeManager.register(Author);
          schemeManager.register(Book);
        },
      }),
    },
    {
      name: 'links',
      plugin: definePlugin({
        start() {
          throw new Error('The list of links cannot be read');
        },
      }),
    },
  ],
  timers: { ...systemTimers, now: () => time },
};

/** As `GET /v3/metrics` answers after a quarter of an hour. */
function figures() {
  const samples = Array.from({ length: 90 }, (_, at) => {
    const wave = Math.sin(at / 9) + 1;
    return {
      time: time - (90 - at) * 10_000,
      revision: 4_000 + at * 11,
      writes: Math.round(40 + 60 * wave),
      requests: { '2xx': Math.round(300 + 200 * wave), '3xx': 20, '4xx': at % 7, '5xx': at === 60 ? 4 : 0 },
      commit: { p50: 0.8 + 0.2 * wave, p99: 3 + wave },
      eventLoop: { p50: 0.4, p99: 1 + wave },
      cache: { hits: Math.round(2_000 + 900 * wave), misses: 30 },
      heap: 60_000_000 + at * 200_000,
      rss: 140_000_000 + at * 250_000,
      watches: 3,
    };
  });
  return { interval: 10_000, samples };
}

/** As `GET /v3/audit` answers. */
function changes() {
  const entries = [
    { identity: 'ada', verb: 'update', name: 'emma', outcome: 'done' },
    { identity: 'plugin:library', plugin: 'library', verb: 'patch', name: 'book-03', outcome: 'done' },
    { identity: 'bob', verb: 'delete', name: 'book-07', outcome: 'refused' },
    { identity: 'ada', verb: 'create', name: 'book-22', outcome: 'failed' },
  ];
  return {
    entries: entries.map((entry, at) => {
      const when = new Date(time - (at + 1) * 400_000).toISOString();
      return { ...entry, id: `entry-${at}`, time: when, origin: 'http', group, resource: 'books' };
    }),
  };
}

interface Screen {
  readonly name: string;
  /** Leads from the screen before to this one. */
  open(page: Page, at: Console): Promise<void>;
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

export const screens: readonly Screen[] = [
  {
    name: 'overview',
    async open(page, { url }) {
      await page.goto(`${url}/console/`);
      await page.getByRole('link', { name: 'Plugin links' }).waitFor();
      await page.getByRole('table', { name: 'Audit log' }).getByText('book-22').waitFor();
      await page.locator('canvas').nth(5).waitFor();
    },
  },
  {
    name: 'model',
    async open(page, { url }) {
      await page.goto(`${url}/console/models/books.${group}`);
      await page.getByRole('treeitem', { name: /^prices/ }).waitFor();
    },
  },
  {
    name: 'list',
    async open(page, { url, admin }) {
      const filter = 'fieldSelector=spec.year%3E%3D1810&labelSelector=library.example.com%2Fshelf%3Db';
      await page.goto(`${url}/console/objects/books.${group}?${filter}&sort=spec.year,desc&size=20`);
      await page.getByRole('checkbox', { name: 'Select book-20' }).check();
      await page.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor();
      // One row goes, and one comes from the next page.
      await patched(admin, 'book-05', { metadata: { labels: null } });
      await button(page, 'Apply 2 changes').waitFor();
    },
  },
  {
    name: 'object',
    async open(page, { url, admin }) {
      await page.goto(`${url}/console/objects/books.${group}/emma`);
      await page.getByRole('textbox', { name: 'title' }).fill('Emma, a novel');
      await page.getByRole('textbox', { name: 'year' }).fill('3000');
      await page.getByRole('textbox', { name: 'title' }).focus();
      await page.getByText('✕ must be at most 2100').waitFor();
      await page.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor();
      await patched(admin, 'emma', { spec: { title: 'EMMA', tags: ['classic'] } });
      await page.getByRole('region', { name: 'Newer version' }).waitFor();
    },
  },
  {
    name: 'conflict',
    async open(page) {
      await page.getByRole('textbox', { name: 'year' }).fill('1816');
      await button(page, 'Save').click();
      await page.getByRole('dialog', { name: 'Review changes' }).getByRole('button', { name: 'Save changes' }).click();
      const dialog = page.getByRole('dialog', { name: 'Resolve conflict' });
      await dialog
        .getByRole('radiogroup', { name: '/spec/title' })
        .getByRole('radio', { name: /^Theirs/ })
        .check();
      await button(page, 'Merge and save').and(page.locator(':enabled')).waitFor();
    },
  },
];

async function stored(admin: Console['admin'], plural: string, object: object): Promise<void> {
  const { status, text } = await admin('POST', `${path}/${plural}`, object);
  assert.equal(status, 201, text);
}

async function patched(admin: Console['admin'], name: string, patch: object): Promise<void> {
  const type = { 'content-type': 'application/merge-patch+json' };
  const { status, text } = await admin('PATCH', `${path}/books/${name}`, patch, type);
  assert.equal(status, 200, text);
}

/** Whoever sees the models of the service gets other pictures with each new one. */
const rules = [
  { apiGroups: [group], resources: ['*'], verbs: ['*'] },
  { apiGroups: ['plugin.platform.run'], resources: ['plugins'], verbs: ['get', 'list'] },
  { nonResourceURLs: ['/v3/metrics', '/v3/audit', '/metrics'], verbs: ['get'] },
];

/** A page of somebody who works with books, over a service that has all of them. */
export async function signedIn({ admin, person, tab }: Console): Promise<Page> {
  const { status, text } = await admin('POST', '/api/v1alpha1/roles', { metadata: { name: 'librarian' }, rules });
  assert.equal(status, 201, text);
  const { token } = await person('ada', ['librarian']);
  await stored(admin, 'authors', { metadata: { name: 'austen' }, spec: { fullName: 'Jane Austen' } });
  for (const book of [emma, ...others]) {
    time += hour;
    await stored(admin, 'books', book);
  }
  const page = await tab('/console/about', { as: token });
  await page.clock.setFixedTime(time);
  await page.route('**/v3/metrics?*', (route) => route.fulfill({ json: figures() }));
  await page.route('**/v3/audit?*', (route) => route.fulfill({ json: changes() }));
  return page;
}
