/** The whole way of a person who has no mouse: nothing here clicks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { bookOf, booksPath, withConsole } from './browser.ts';

const furthest = 60;

/** Tab until the focus is there. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let stops = 0; stops < furthest; stops++) {
    await page.keyboard.press('Tab');
    if (await target.and(page.locator(':focus')).count()) return;
  }
  assert.fail(`Tab does not lead to ${target}`);
}

for (const language of ['en-US', 'zh-CN'] as const) {
  const say = (en: string, zh: string) => (language === 'en-US' ? en : zh);
  test(`console: by keyboard alone from signing in to deleting, in ${language}`, async (context) => {
    await withConsole(context, async ({ tab, admin, token }) => {
      for (let at = 10; at < 35; at++) await admin('POST', booksPath, bookOf(`book-${at}`, `Title ${at}`, 1800 + at));
      const page = await tab('/console/', { as: null, language });
      const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
      const total = page.getByRole('status', { name: say('Total', '总数') });
      const { keyboard } = page;
      const button = (en: string, zh: string) => page.getByRole('button', { name: say(en, zh), exact: true });
      const field = (en: string, zh = en) => page.getByRole('textbox', { name: say(en, zh), exact: true });

      if (!(await page.getByLabel(say('Token', '令牌')).and(page.locator(':focus')).count())) {
        await tabTo(page, page.getByLabel(say('Token', '令牌')));
      }
      await keyboard.type(token!);
      await keyboard.press('Enter');
      await heading(say('Overview', '概览'));

      // The first stop leads past the navigation.
      await page.reload();
      await heading(say('Overview', '概览'));
      await tabTo(page, page.getByRole('link', { name: say('Skip to content', '跳到正文') }));
      await keyboard.press('Enter');
      await page.locator('main:focus').waitFor();

      await keyboard.press('Control+k');
      await keyboard.type('books.library');
      await page.getByRole('option', { name: /^Book/ }).first().waitFor();
      await keyboard.press('Enter');
      await heading('Book');
      await heading('Book');
      await total.getByText(say('25 objects', '25 个对象')).waitFor();

      await keyboard.press('/');
      await keyboard.type('spec.year>=1812');
      await keyboard.press('Enter');
      await total.getByText(say('23 objects', '23 个对象')).waitFor();

      const grid = page.getByRole('grid', { name: say('Objects', '对象') });
      await tabTo(page, grid.locator('[tabindex="0"]'));
      await keyboard.press('Control+Home');
      const year = grid.getByRole('columnheader', { name: 'spec.year' });
      const focusedYear = year.locator(':focus').or(year.and(page.locator(':focus')));
      for (let column = 0; column < 6 && !(await focusedYear.count()); column++) await keyboard.press('ArrowRight');
      await keyboard.press('Enter');
      await page.waitForURL(/sort=spec\.year/, { timeout: 5_000 });
      assert.equal(await year.getAttribute('aria-sort'), 'ascending');
      await grid.getByRole('row').nth(1).getByRole('link', { name: 'book-12' }).waitFor();

      await tabTo(page, page.getByRole('combobox', { name: say('Rows per page', '每页行数') }));
      await keyboard.press('ArrowUp');
      await page.waitForURL(/size=20/);
      await tabTo(page, page.getByRole('link', { name: say('Skip to content', '跳到正文') }));
      await keyboard.press('Enter');
      await keyboard.press(']');
      await grid.getByRole('link', { name: 'book-34' }).waitFor();
      assert.equal(await grid.getByRole('rowheader').count(), 3);

      await tabTo(page, grid.locator('[tabindex="0"]'));
      await keyboard.press('Control+End');
      await keyboard.press('Enter');
      await heading('book-34');
      await tabTo(page, field('title'));
      await keyboard.press('Control+a');
      await keyboard.type('By keyboard');
      await keyboard.press('Control+s');
      const review = page.getByRole('dialog', { name: say('Review changes', '检查变更') });
      await review.waitFor();
      await keyboard.press('Control+Enter');
      await review.waitFor({ state: 'detached' });
      assert.equal((await admin('GET', `${booksPath}/book-34`)).body.spec.title, 'By keyboard');

      await tabTo(page, button('Delete…', '删除…'));
      await keyboard.press('Enter');
      await page.getByRole('dialog', { name: say('Delete book-34?', '删除 book-34？') }).waitFor();
      await keyboard.press('Control+Enter');
      await heading('Book');
      assert.equal((await admin('GET', `${booksPath}/book-34`)).status, 404);

      await keyboard.press('n');
      await heading(say('New Book', '新建 Book'));
      await tabTo(page, field('name'));
      await keyboard.type('made-by-keys');
      await tabTo(page, field('title'));
      await keyboard.type('Made by keys');
      await tabTo(page, field('year'));
      await keyboard.type('1984');
      await keyboard.press('Control+s');
      await heading('made-by-keys');
      assert.equal((await admin('GET', `${booksPath}/made-by-keys`)).body.spec.year, 1984);
    });
  });
}
