/** The built console in a browser, over a running service with a plugin of books. What the browser complains of fails the test. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import { after } from 'node:test';
import type { AxeResults } from 'axe-core';
import { defineModel, definePlugin, Type } from 'kindred';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import type { ServiceOptions } from '../../src/options.ts';
import type { Live } from '../auth/live.ts';
import { live } from '../auth/live.ts';

export const executablePath = '/usr/bin/chromium';
const built = resolve(import.meta.dirname, '../../dist/console/manifest.json');
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
let axeSource: string | undefined;

/** A folder for screenshots; none are made without it. */
const screenshots = process.env.SCREENSHOTS;

export const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const Book = defineModel({
  gvk: { group: 'library.example.com', version: 'v1alpha1', kind: 'Book', singular: 'book', plural: 'books' },
  spec: Type.Object({
    title: Type.String({ minLength: 1, maxLength: 100, description: 'As on the cover', examples: ['Emma'] }),
    year: Type.Integer({ minimum: 1450, maximum: 2100 }),
    published: Type.Optional(Type.Boolean()),
    tags: Type.Optional(Type.Array(Type.String())),
  }),
  indexes: (index) => [
    index.single('spec.title', String, (book) => book.spec.title),
    index.single('spec.year', Number, (book) => book.spec.year),
    index.single('spec.published', Boolean, (book) => book.spec.published),
  ],
});

export const booksPath = '/apis/library.example.com/v1alpha1/books';
export const booksList = '/console/objects/books.library.example.com';

const library = definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Book) });

/** As the plugin library, with the controller `shelver`, of which every call fails. */
export const failing = definePlugin({
  start({ schemeManager, registerController }) {
    schemeManager.register(Book);
    registerController({
      setupWith: (builder) => builder.extension(Book).name('shelver').build(),
      async reconcile() {
        throw new Error('no room on the shelf');
      },
    });
  },
});

export const bookOf = (name: string, title: string, year: number) => ({ metadata: { name }, spec: { title, year } });

export interface Look {
  readonly language?: 'en-US' | 'zh-CN';
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
}

export interface Console extends Live {
  readonly browser: Browser;
  /** A tab of its own browser profile; signed in as the administrator, or with a token, or not at all. */
  tab(path: string, options?: Look & { as?: string | null }): Promise<Page>;
  /** Every complaint so far, which the test has looked at. */
  takeComplaints(): string[];
}

let launched: Promise<Browser> | undefined;
after(async () => (await launched)?.close());

/** One browser for all tests of a file: each has profiles of its own in it. Undefined, and the test skipped, where there is none. */
export function browserFor(context: TestContext): Promise<Browser> | undefined {
  if (!existsSync(executablePath)) {
    context.skip(
      `NO BROWSER: ${executablePath} is missing (Debian: apt-get install chromium); nothing was tested in a browser`,
    );
    return undefined;
  }
  assert.ok(existsSync(built), 'the console is not built: npm run build');
  launched ??= chromium.launch({ executablePath, args: flags });
  return launched;
}

/** Runs with a console, and fails when the browser complained; skipped where there is no browser. */
export async function withConsole(
  context: TestContext,
  use: (opened: Console) => Promise<void>,
  options: ServiceOptions = {},
): Promise<void> {
  const browser = await browserFor(context);
  if (!browser) return;
  await using at = await live({ plugins: [{ name: 'library', plugin: library }], auth: {}, ...options });
  const profiles: BrowserContext[] = [];
  const complaints: string[] = [];
  try {
    const tab: Console['tab'] = async (path, { as, ...look } = {}) => {
      const profile = await contextOf(browser, look);
      profiles.push(profile);
      const page = await listen(profile, at.url, complaints);
      if (as === null || at.token === undefined) await page.goto(at.url + path);
      else await page.goto(await signedIn(at, as ?? at.token, path));
      await page.getByRole('heading', { level: 1 }).waitFor();
      return page;
    };
    await use({
      ...at,
      browser,
      tab,
      takeComplaints: () => complaints.splice(0),
      [Symbol.asyncDispose]: at[Symbol.asyncDispose],
    });
    assert.deepEqual(complaints, []);
  } finally {
    await Promise.all(profiles.map((profile) => profile.close()));
  }
}

export function contextOf(
  browser: Browser,
  { language = 'en-US', theme = 'light', width = 1280 }: Look,
): Promise<BrowserContext> {
  return browser.newContext({
    locale: language,
    colorScheme: theme,
    viewport: { width, height: 800 },
    reducedMotion: 'reduce',
    timezoneId: 'UTC',
  });
}

export async function listen(context: BrowserContext, url: string, complaints: string[]): Promise<Page> {
  await context.addInitScript({
    content: `document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) => {
      console.error('refused by the policy: ' + [violatedDirective, blockedURI, sample].join(' '));
    });`,
  });
  const page = await context.newPage();
  page.on('console', (message) => {
    // A refused request is said by the browser too; whether it was expected, the test knows.
    if (!message.text().startsWith('Failed to load resource')) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`thrown: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`) && !/^(blob|data):/.test(request.url())) {
      complaints.push(`asked elsewhere: ${request.url()}`);
    }
  });
  return page;
}

/** A link that signs in and leads to a path of the console. */
async function signedIn(at: Live, token: string, path: string): Promise<string> {
  const { body } = await at.as(token)('POST', '/v3/session/codes');
  return `${at.url}${path}#code=${body.code}`;
}

/** Serious and critical findings of axe, in words. */
export async function findings(page: Page): Promise<string[]> {
  if (await page.evaluate<boolean>("typeof axe === 'undefined'")) {
    // Injected by the test, past the policy of the page.
    const client = await page.context().newCDPSession(page);
    axeSource ??= readFileSync(axe, 'utf8');
    await client.send('Runtime.evaluate', { expression: axeSource });
    await client.detach();
  }
  const { violations } = await page.evaluate<AxeResults>("axe.run(document, { resultTypes: ['violations'] })");
  const found = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  return found.map(
    ({ id, nodes }) =>
      `${id}: ${nodes
        .map(({ html }) => html.slice(0, 160))
        .slice(0, 3)
        .join(' | ')}`,
  );
}

/** For people: kept only when asked for. */
export async function picture(page: Page, name: string): Promise<void> {
  if (screenshots) await page.screenshot({ path: join(screenshots, `${name}.png`) });
}
