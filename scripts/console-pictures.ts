// `npm run console:pictures`: the pictures of docs/guide/console.md, made from the atlas that `npm start` serves.
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { chromium } from 'playwright-core';

const root = resolve(import.meta.dirname, '..');
const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8090' },
    browser: { type: 'string', default: '/usr/bin/chromium' },
  },
});
const tokenFile = join(root, '.atlas', 'token');
if (!existsSync(tokenFile)) throw new Error('There is no .atlas/token: run "npm start" first');
const token = readFileSync(tokenFile, 'utf8').trim();

const cities = '/objects/cities.atlas.example.com';
const france = `${cities}?fieldSelector=spec.country%3DFR&sort=spec.population,desc`;

interface Picture {
  readonly name: string;
  readonly path: string;
  readonly theme?: 'dark';
  readonly act?: (page: Page) => Promise<void>;
}

const pictures: readonly Picture[] = [
  {
    name: 'list',
    path: `${france}&size=20`,
    act: (page) => page.getByRole('link', { name: 'city-2988507' }).waitFor(),
  },
  {
    name: 'plan',
    path: `${france}&size=20&explain=on`,
    theme: 'dark',
    act: (page) => page.getByText('Touched rows').waitFor(),
  },
  {
    name: 'object',
    path: `${cities}/city-2988507`,
    act: (page) => page.getByRole('textbox', { name: 'population' }).waitFor(),
  },
  {
    name: 'review',
    path: `${cities}/city-2988507`,
    async act(page) {
      await page.getByRole('textbox', { name: 'population' }).fill('2102650');
      await page.getByRole('textbox', { name: 'alternateName' }).fill('City of Light');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('dialog', { name: 'Review changes' }).getByRole('region', { name: 'Changes' }).waitFor();
    },
  },
  {
    name: 'model',
    path: '/models/cities.atlas.example.com',
    act: (page) => page.getByRole('treeitem').first().waitFor(),
  },
  {
    name: 'overview',
    path: '/',
    act: (page) => page.getByRole('heading', { name: 'Recent changes' }).waitFor(),
  },
];

const browser = await chromium.launch({ executablePath: values.browser, args: ['--no-sandbox', '--disable-gpu'] });
try {
  for (const { name, path, theme, act } of pictures) {
    const context = await browser.newContext({
      locale: 'en-US',
      timezoneId: 'UTC',
      colorScheme: theme ?? 'light',
      viewport: { width: 1200, height: 720 },
      reducedMotion: 'reduce',
    });
    const page = await context.newPage();
    await page.goto(await signedIn(path));
    await page.getByRole('heading', { level: 1 }).waitFor();
    await act?.(page);
    // A live page keeps its stream open: the network of most pictures never becomes idle.
    await page.waitForLoadState('networkidle', { timeout: 2_000 }).catch(() => undefined);
    const file = join(root, 'docs', 'images', `console-${name}.png`);
    const { length } = await page.screenshot({ path: file });
    console.log(`${file}: ${Math.ceil(length / 1_000)} kB`);
    await context.close();
  }
} finally {
  await browser.close();
}

/** A link that signs in and leads to a path of the console. */
async function signedIn(path: string): Promise<string> {
  const response = await fetch(`${values.url}/v3/session/codes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
  if (!response.ok) throw new Error(`${values.url} refused the token of .atlas: ${response.status}`);
  const { url } = (await response.json()) as { url: string };
  return `${values.url}/console${path.replace(/#.*$/, '')}${new URL(url).hash}`;
}
