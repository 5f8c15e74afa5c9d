/** The documentation site (`npm run docs`): every link leads to a page and a place in it, and browsers show the pages well. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, posix, resolve } from 'node:path';
import { before, test } from 'node:test';
import { buildSite, siteFolder } from '../../scripts/docs.ts';
import { browserFor, contextOf, findings, listen } from '../console/browser.ts';

const root = resolve(import.meta.dirname, '../..');
const isInstalled = existsSync(join(root, 'site/node_modules/vitepress'));
const skip = isInstalled ? false : 'NO SITE: npm ci --prefix site was not run; the documentation site was not built';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

let pages: string[] = [];
before(() => {
  if (!isInstalled) return;
  buildSite();
  pages = globSync('**/*.html', { cwd: siteFolder }).filter((page) => page !== '404.html');
});

const textOf = (page: string): string => readFileSync(join(siteFolder, page), 'utf8');

/** Targets of the links in the body of a page. */
function linksOf(page: string): string[] {
  return [...textOf(page).matchAll(/<a\b[^>]*\bhref="([^"]*)"/g)].map(([, href]) => href!.replaceAll('&amp;', '&'));
}

test('every page of docs/ is in the site', { skip }, () => {
  const files = globSync('docs/**/*.md', { cwd: root }).filter((file) => !file.endsWith('spec-coverage.md'));
  const missing = files
    .map((file) => file.slice('docs/'.length).replace('README.md', 'index.md').replace(/md$/, 'html'))
    .filter((page) => !pages.includes(page));
  assert.deepEqual(missing, []);
  assert.ok(files.length > 50);
});

test('every link inside the site leads to a page and to a place in it', { skip }, () => {
  const wrong: string[] = [];
  let count = 0;
  for (const page of pages) {
    for (const href of linksOf(page)) {
      if (/^\w+:/.test(href)) continue;
      const [path = '', anchor] = href.split('#', 2);
      const to =
        path === '' ? page : posix.join(path.startsWith('/') ? '' : posix.dirname(page), path).replace(/^\//, '');
      const target = to === '' || to.endsWith('/') ? `${to}index.html` : to;
      count++;
      if (!existsSync(join(siteFolder, target))) wrong.push(`${page}: ${href}`);
      else if (anchor && target.endsWith('.html')) {
        const id = decodeURIComponent(anchor);
        if (!textOf(target).includes(`id="${id}"`)) wrong.push(`${page}: ${href} names no place`);
      }
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(count > 1_000, `${count} links`);
});

test('llms.txt names every page, llms-full.txt has their texts', { skip }, () => {
  const index = readFileSync(join(siteFolder, 'llms.txt'), 'utf8');
  for (const page of pages.filter((one) => !one.startsWith('zh/'))) assert.ok(index.includes(`(/${page})`), page);
  assert.ok(statSync(join(siteFolder, 'llms-full.txt')).size > 200_000);
});

const shown = [
  '/',
  '/guide/tutorial.html',
  '/guide/comparison.html',
  '/reference/lists.html',
  '/reference/settings.html',
  '/zh/',
  '/zh/guide/tutorial.html',
];

test('browsers show the pages: wide and narrow, light and dark, in both languages', { skip }, async (context) => {
  const browser = await browserFor(context);
  if (!browser) return;
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url!, 'http://site').pathname);
    const file = join(siteFolder, path.endsWith('/') ? `${path}index.html` : path);
    if (!existsSync(file)) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' });
    response.end(readFileSync(file));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const complaints: string[] = [];
  try {
    for (const theme of ['light', 'dark'] as const) {
      for (const width of [390, 1440]) {
        const tab = await listen(await contextOf(browser, { theme, width }), url, complaints);
        for (const path of shown) {
          await tab.goto(url + path);
          await tab.getByRole('heading', { level: 1 }).waitFor();
          const place = `${path}, ${theme}, ${width} px`;
          assert.deepEqual(await findings(tab), [], place);
          const wider = await tab.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
          assert.ok(wider <= 0, `${place} is ${wider} px too wide`);
          // On a phone a wide table is moved aside; a wide screen shows all of it.
          const cut = await tab.evaluate<number>(
            "[...document.querySelectorAll('.vp-doc table')].filter((one) => one.scrollWidth > one.clientWidth).length",
          );
          assert.ok(width === 390 || cut === 0, `${place}: tables are cut`);
        }
      }
    }
    const tab = await listen(await contextOf(browser, { width: 1440 }), url, complaints);
    for (const [path, words, title] of [
      ['/', 'finalizer', /Finalizers/],
      ['/zh/', '控制器', /控制器/],
    ] as const) {
      await tab.goto(url + path);
      await tab.locator('#local-search button').click();
      await tab.locator('#localsearch-input').fill(words);
      await tab.locator('.results .result').first().waitFor();
      assert.match(await tab.locator('.results').innerText(), title);
    }
    assert.deepEqual(complaints, []);
  } finally {
    await Promise.all(browser.contexts().map((one) => one.close()));
    server.close();
  }
});
