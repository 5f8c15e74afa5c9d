/** A service with a model of many kinds of members, and browsers that look at it. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { defineModel } from '../../src/model/define.ts';
import type { Service } from '../../src/service.ts';
import { createService } from '../../src/service.ts';
import { browserFor } from './browser.ts';

/** A folder for screenshots; none are made without it. */
const screenshots = process.env.SCREENSHOTS;

const gvk = { group: 'library.example.com', version: 'v1alpha1' };

export const Book = defineModel({
  gvk: { ...gvk, kind: 'Book', singular: 'book', plural: 'books', subresources: { status: true } },
  spec: {
    type: 'object',
    properties: {
      title: { type: 'string', minLength: 1, maxLength: 100, description: 'As on the title page', examples: ['Emma'] },
      year: { type: 'integer', maximum: 2100, minimum: -3000 },
      published: { type: 'boolean' },
      genre: { enum: ['novel', 'poetry', 'drama'] },
      isbn: { type: 'string', pattern: '^[0-9-]{10,17}$' },
      author: { type: 'string', 'x-reference': 'authors.library.example.com' },
      tags: { type: 'array', items: { type: 'string', minLength: 1 }, maxItems: 5, uniqueItems: true },
      prices: { type: 'object', additionalProperties: { type: 'number', minimum: 0 } },
      cover: {
        oneOf: [
          {
            type: 'object',
            properties: { kind: { const: 'image' }, url: { type: 'string', format: 'uri' }, alt: { type: 'string' } },
            required: ['kind', 'url'],
          },
          {
            type: 'object',
            properties: { kind: { const: 'color' }, color: { type: 'string' }, alt: { type: 'string' } },
            required: ['kind', 'color'],
          },
        ],
      },
      notes: { type: 'string', 'x-multiline': true },
      extra: { type: 'object' },
    },
    required: ['title'],
  },
  status: { type: 'object', properties: { lent: { type: 'boolean' }, reader: { type: 'string' } } },
  indexes: (index) => [
    index.single('spec.title', String, (book) => book.spec.title as string),
    index.single('spec.year', Number, (book) => (book.spec.year as number | undefined) ?? null),
    index.single('spec.isbn', String, (book) => (book.spec.isbn as string | undefined) ?? null, { unique: true }),
    index.single('spec.author', String, (book) => (book.spec.author as string | undefined) ?? null),
  ],
});

export const Author = defineModel({
  gvk: { ...gvk, kind: 'Author', singular: 'author', plural: 'authors' },
  spec: { type: 'object', properties: { fullName: { type: 'string', default: 'Anonymous' } } },
});

/** A form of 300 members, and one of the 80 kinds of a union. */
export const Wide = defineModel({
  gvk: { ...gvk, kind: 'Wide', singular: 'wide', plural: 'wides' },
  spec: {
    type: 'object',
    properties: {
      ...Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`text${i}`, { type: 'string', maxLength: 50 }])),
      union: {
        anyOf: Array.from({ length: 80 }, (_, i) => ({
          type: 'object',
          properties: { kind: { const: `kind${i}` }, name: { type: 'string' }, size: { type: 'integer', maximum: i } },
          required: ['kind'],
        })),
      },
    },
    required: Array.from({ length: 300 }, (_, i) => `text${i}`),
  },
});

export const books = '/apis/library.example.com/v1alpha1/books';

export interface Console {
  readonly url: string;
  readonly token: string;
  readonly service: Service;
  readonly browser: BrowserContext;
  /** A signed-in page on a path below `/console`. */
  open(path: string): Promise<Page>;
  /** A request of somebody else. */
  fetch(path: string, init?: { method?: string; body?: unknown }): Promise<{ status: number; body: any }>;
  /** Stops the service and starts it again on the same port and database. */
  restart(between?: () => Promise<void>): Promise<void>;
  screenshot(page: Page, name: string): Promise<void>;
}

/** Everything that a browser complained about: none is right. */
export const complaints: string[] = [];

export async function withConsole(context: TestContext, use: (opened: Console) => Promise<void>): Promise<void> {
  const launched = await browserFor(context);
  if (!launched) return;
  const folder = await mkdtemp(join(tmpdir(), 'kindred-console-'));
  complaints.length = 0;
  let port = 0;
  let service: Service;
  let url = '';
  let token = '';
  const start = async () => {
    service = await createService({ database: `sqlite:${join(folder, 'k.db')}`, host: '127.0.0.1', port, auth: {} });
    for (const model of [Book, Author, Wide]) service.schemeManager.register(model);
    const started = await service.start();
    url = started.url;
    port = Number(new URL(url).port);
    token ||= started.administratorToken ?? '';
  };
  await start();
  const browser = await launched.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-US' });
  browser.setDefaultTimeout(10_000);
  await browser.addInitScript(`addEventListener('securitypolicyviolation', (event) => {
    console.error('CSP: ' + event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sourceFile + ':' + event.lineNumber);
  });`);
  const watched = new WeakSet<Page>();
  const watch = (page: Page) => {
    if (watched.has(page)) return;
    watched.add(page);
    page.on('console', (message) => {
      const text = message.text();
      // The browser itself says which requests failed: tests make some fail on purpose.
      if (!text.startsWith('Failed to load resource')) complaints.push(`${message.type()}: ${text}`);
    });
    page.on('pageerror', (error) => complaints.push(String(error.stack ?? error)));
    page.on('request', (request) => {
      if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(url))
        complaints.push(`asked for ${request.url()}`);
    });
  };
  const opened: Console = {
    get url() {
      return url;
    },
    get token() {
      return token;
    },
    get service() {
      return service;
    },
    browser,
    async open(path) {
      const page = await browser.newPage();
      watch(page);
      await page.goto(`${url}/console${path}`);
      const field = page.getByLabel(/^(Token|令牌)$/);
      await page.locator('main h1, input[type=password]').first().waitFor();
      if (await field.isVisible()) {
        await field.fill(token);
        await field.press('Enter');
        await field.waitFor({ state: 'detached' });
      }
      return page;
    },
    async fetch(path, { method = 'GET', body } = {}) {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
    },
    async restart(between) {
      await service.stop();
      await between?.();
      await start();
    },
    async screenshot(page, name) {
      if (!screenshots) return;
      mkdirSync(screenshots, { recursive: true });
      await page.screenshot({ path: join(screenshots, `${name}.png`) });
    },
  };
  try {
    await use(opened);
    assert.deepEqual(complaints, []);
  } finally {
    await browser.close();
    await service!.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
