import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { bookOf, booksPath, findings, picture, withConsole } from './browser.ts';

const type = 'books.library.example.com';

/** Each screen with its heading in both languages. */
const screens = [
  { path: '/', en: 'Overview', zh: '概览' },
  { path: '/models', en: 'Models', zh: '模型' },
  { path: `/models/${type}`, en: 'Book', zh: 'Book' },
  { path: `/models/${type}?tab=indexes`, en: 'Book', zh: 'Book' },
  { path: `/models/${type}?tab=requests`, en: 'Book', zh: 'Book' },
  { path: `/models/${type}?tab=access`, en: 'Book', zh: 'Book' },
  { path: `/objects/${type}`, en: 'Book', zh: 'Book' },
  { path: `/objects/${type}?explain=on&fieldSelector=spec.year%3E%3D1800&sort=spec.year`, en: 'Book', zh: 'Book' },
  { path: `/objects/${type}?fieldSelector=spec.year%3D1999`, en: 'Book', zh: 'Book' },
  { path: '/objects/configmaps', en: 'ConfigMap', zh: 'ConfigMap' },
  { path: '/objects/nothing.example.com', en: 'nothing.example.com', zh: 'nothing.example.com' },
  { path: `/watch/${type}`, en: 'Watch Book', zh: '监听 Book' },
  { path: '/plugins', en: 'Plugins', zh: '插件' },
  { path: '/plugins/library', en: 'library', zh: 'library' },
  { path: '/access/users', en: 'Users', zh: '用户' },
  { path: '/access/roles', en: 'Roles', zh: '角色' },
  { path: '/access/bindings', en: 'Bindings', zh: '绑定' },
  { path: '/access/tokens', en: 'Tokens', zh: '令牌' },
  { path: '/access/explain?verb=get&type=users', en: 'Explain access', zh: '解释权限' },
  { path: '/audit', en: 'Audit log', zh: '审计日志' },
  ...['models', 'routes', 'objects', 'controllers', 'config', 'log'].map((tab) => {
    return { path: `/plugins/library?tab=${tab}`, en: 'library', zh: 'library' };
  }),
  { path: '/webhooks', en: 'Webhooks', zh: 'Webhook' },
  { path: '/settings', en: 'Settings', zh: '设置' },
  { path: '/about', en: 'About', zh: '关于' },
  { path: '/no/such/page', en: 'Kindred', zh: 'Kindred' },
];

/** As the browser does on "Back": the page stays, and its router shows the address. */
async function goWithin(page: Page, path: string): Promise<void> {
  const heading = (await page.getByRole('heading', { level: 1 }).elementHandle())!;
  const isOther = new URL(page.url()).pathname !== new URL(path, page.url()).pathname;
  await page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate', { state: null }))`,
  );
  if (isOther) await heading.waitForElementState('hidden');
  else await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}

const looks = [
  { language: 'en-US', theme: 'light', width: 1280 },
  { language: 'zh-CN', theme: 'dark', width: 320 },
  { language: 'en-US', theme: 'dark', width: 320 },
  { language: 'zh-CN', theme: 'light', width: 1280 },
] as const;

for (const look of looks) {
  const { language, theme, width } = look;
  test(`console: every screen in ${language}, ${theme}, ${width} px wide: no finding of axe, nothing refused, nothing too wide`, async (context) => {
    await withConsole(context, async ({ tab, admin, url }) => {
      for (const [name, title, year] of [
        ['emma', 'Emma', 1815],
        ['ulysses', 'Ulysses', 1922],
      ] as const) {
        await admin('POST', booksPath, bookOf(name, title, year));
      }
      const page = await tab('/console/', look);
      for (const { path, en, zh } of screens) {
        // From an empty page in one of the looks; in the others as from the screen before, which takes a third of the time.
        if (look === looks[0]) await page.goto(`${url}/console${path}`);
        else await goWithin(page, `/console${path}`);
        const heading = page.getByRole('heading', { level: 1 });
        await heading.getByText(language === 'en-US' ? en : zh, { exact: true }).waitFor();
        assert.equal(await heading.count(), 1, path);
        await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
        await picture(page, `${path.replace(/\W+/g, '-')}${language}-${theme}-${width}`);
        assert.deepEqual(await findings(page), [], `${path} has findings`);
        const wide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
        assert.ok(wide <= 0, `${path} is ${wide} px too wide`);
        assert.equal(await page.evaluate('document.documentElement.lang'), language === 'en-US' ? 'en' : 'zh-CN');
      }
    });
  });
}
