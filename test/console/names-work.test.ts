/** Roles and names of what appears while somebody works: signing in, refusals, problems, conflicts, results (names.test.ts has the rest). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { definePlugin } from 'kindred';
import type { Locator, Page } from 'playwright-core';
import { findings, withConsole } from './browser.ts';
import { Author, Book, books } from './object-kit.ts';

const type = 'books.library.example.com';
const library = definePlugin({
  start: ({ schemeManager }) => void [Author, Book].forEach((model) => void schemeManager.register(model)),
});
const merge = { 'content-type': 'application/merge-patch+json' };

for (const language of ['en-US', 'zh-CN'] as const) {
  const say = (en: string, zh: string) => (language === 'en-US' ? en : zh);
  const button = (where: Page | Locator, en: string, zh: string) =>
    where.getByRole('button', { name: say(en, zh), exact: true });
  const dialog = (page: Page, en: string, zh: string) => page.getByRole('dialog', { name: say(en, zh), exact: true });
  const region = (page: Page, en: string, zh: string) => page.getByRole('region', { name: say(en, zh), exact: true });
  const textbox = (where: Page | Locator, en: string, zh = en) =>
    where.getByRole('textbox', { name: say(en, zh), exact: true });
  const withBooks = (context: Parameters<typeof withConsole>[0], use: Parameters<typeof withConsole>[1]) =>
    withConsole(context, use, { plugins: [{ name: 'library', plugin: library }] });

  test(`console: signing in, and again over the page, has its names in ${language}`, async (context) => {
    await withBooks(context, async ({ tab, admin, token }) => {
      const page = await tab('/console/', { as: null, language });
      const title = say('Sign in to Kindred', '登录 Kindred');
      await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
      const field = page.getByLabel(say('Token', '令牌'), { exact: true });
      assert.equal(await field.getAttribute('type'), 'password');
      await field.fill('knd_wrong');
      await button(page, 'Sign in', '登录').click();
      assert.match((await page.getByRole('alert').textContent())!, language === 'en-US' ? /token/ : /令牌/);
      await field.fill(token!);
      await field.press('Enter');
      await page.getByRole('heading', { level: 1, name: say('Overview', '概览'), exact: true }).waitFor();
      const tokens = '/api/v1alpha1/personalaccesstokens';
      const { body } = await admin('GET', `${tokens}?labelSelector=console.platform.run/session`);
      for (const { metadata } of body.items) await admin('DELETE', `${tokens}/${metadata.name}`);
      const again = dialog(page, 'Sign in to Kindred', '登录 Kindred');
      await again.getByLabel(say('Token', '令牌'), { exact: true }).fill(token!);
      assert.deepEqual(await findings(page), []);
      await button(again, 'Sign in', '登录').click();
      await again.waitFor({ state: 'detached' });
      await button(page, 'Account', '账户').click();
      await page.getByRole('menuitem', { name: say('Sign out', '退出登录'), exact: true }).click();
      await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
    });
  });

  test(`console: members of a form, its problems and a conflict have their names in ${language}`, async (context) => {
    await withBooks(context, async ({ tab, admin }) => {
      const spec = { title: 'Emma', tags: ['a', 'b'], prices: { eur: 1 }, cover: { kind: 'color', color: 'red' } };
      assert.equal((await admin('POST', books, { metadata: { name: 'emma' }, spec })).status, 201);
      const page = await tab(`/console/objects/${type}/emma`, { language });
      await textbox(page, 'title').waitFor();
      for (const [role, en, zh] of [
        ['group', 'spec', 'spec'],
        ['group', 'tags', 'tags'],
        ['textbox', 'tags 2', 'tags 2'],
        ['button', 'Move up tags 2', '上移 tags 2'],
        ['button', 'Move down tags 1', '下移 tags 1'],
        ['button', 'Remove tags 1', '移除 tags 1'],
        ['button', 'Add to prices', '向 prices 添加'],
        ['textbox', 'prices key 1', 'prices 键 1'],
        ['textbox', 'prices value 1', 'prices 值 1'],
        ['group', 'cover', 'cover'],
        ['combobox', 'cover kind', 'cover 类型'],
        ['button', 'Clear cover', '清空 cover'],
      ] as const) {
        await page
          .getByRole(role, { name: say(en, zh), exact: true })
          .first()
          .waitFor();
      }
      await button(page, 'Add label', '添加标签').click();
      const labels = page.getByRole('group', { name: 'labels', exact: true });
      await textbox(labels, 'Key 1', '键 1').fill('shelf');
      await textbox(labels, 'Value 1', '值 1').fill('a');

      await textbox(page, 'title').fill('');
      await button(page, 'Save', '保存').click();
      const problem = region(page, 'Problems', '问题').getByRole('link', { name: /^spec\.title[:：]/ });
      await problem.click();
      const title = textbox(page, 'title');
      await title.and(page.locator(':focus')).waitFor();
      assert.equal(await title.getAttribute('aria-invalid'), 'true');
      assert.ok(await title.getAttribute('aria-describedby'));
      assert.deepEqual(await findings(page), []);

      await title.fill('Emma, mine');
      await page
        .getByRole('status', { name: say('Connection', '连接') })
        .getByText(say('Live', '实时'))
        .waitFor();
      await admin('PATCH', `${books}/emma`, { spec: { title: 'EMMA' } }, merge);
      const newer = region(page, 'Newer version', '较新版本');
      await button(newer, 'Show', '查看').click();
      await dialog(page, 'Newer version', '较新版本').waitFor();
      await page.keyboard.press('Escape');
      await button(newer, 'Take over', '采用').click();
      const conflict = dialog(page, 'Resolve conflict', '解决冲突');
      await button(conflict, 'Back to editing', '返回编辑').click();
      await button(page, 'Save', '保存').click();
      await button(dialog(page, 'Review changes', '检查变更'), 'Save changes', '保存变更').click();
      const choice = conflict.getByRole('radiogroup', { name: '/spec/title', exact: true });
      await choice.getByRole('radio', { name: say('Theirs “EMMA”', '对方的 “EMMA”'), exact: true }).waitFor();
      await button(conflict, 'Discard my changes', '放弃我的变更').waitFor();
      await button(conflict, 'Back to editing', '返回编辑').waitFor();
      const mergeAndSave = button(conflict, 'Merge and save', '合并并保存');
      assert.equal(await mergeAndSave.isDisabled(), true);
      assert.deepEqual(await findings(page), []);
      await choice.getByRole('radio', { name: say('Mine “Emma, mine”', '我的 “Emma, mine”'), exact: true }).check();
      await mergeAndSave.click();
      await page.getByText(say('Version 2', '版本 2'), { exact: true }).waitFor();

      await title.fill('Emma, once more');
      await admin('DELETE', `${books}/emma`);
      await page.getByRole('alert').getByText(say('was deleted', '已被删除')).waitFor();
      assert.equal(await title.inputValue(), 'Emma, once more');
      assert.deepEqual(await findings(page), []);
    });
  });

  test(`console: results, waiting changes and empty lists have their names in ${language}`, async (context) => {
    await withBooks(context, async ({ tab, admin }) => {
      const page = await tab(`/console/objects/${type}?sort=metadata.name,asc`, { language });
      await page.getByText(say('No objects yet', '还没有对象'), { exact: true }).waitFor();
      assert.deepEqual(await findings(page), []);
      const connection = page.getByRole('status', { name: say('Connection', '连接') });
      await connection.getByText(say('Live', '实时'), { exact: true }).waitFor();
      for (const name of ['a', 'b', 'c']) {
        await admin('POST', books, { metadata: { name }, spec: { title: name } });
      }
      await page.getByRole('link', { name: 'c', exact: true }).focus();
      await admin('DELETE', `${books}/a`);
      await button(page, 'Apply 1 change', '应用 1 处变更').waitFor();
      await admin('DELETE', `${books}/b`);
      await button(page, 'Apply 2 changes', '应用 2 处变更').click();
      await page
        .getByRole('status', { name: say('Total', '总数') })
        .getByText(say('1 object', '1 个对象'))
        .waitFor();
      await page.getByRole('checkbox', { name: say('Select c', '选择 c'), exact: true }).check();
      await button(page, 'Delete…', '删除…').click();
      await button(dialog(page, 'Delete 1 object', '删除 1 个对象'), 'Delete', '删除').click();
      const results = dialog(page, 'Results', '结果');
      await results
        .getByRole('status')
        .getByText(say('1 done, 0 failed', '1 个成功，0 个失败'), { exact: true })
        .waitFor();
      await results.getByRole('table').getByRole('row', { name: /^c / }).waitFor();
      assert.deepEqual(await findings(page), []);
      await button(results, 'Close', '关闭').click();
      await textbox(page, 'Field selector', '字段选择器').fill('spec.title=x');
      await page.keyboard.press('Enter');
      await page.getByText(say('No object matches', '没有匹配的对象'), { exact: true }).waitFor();
      await button(page, 'Live', '实时更新').click();
      await connection.getByText(say('Paused', '已暂停'), { exact: true }).waitFor();
    });
  });

  test(`console: refusals, tokens and plugins have their names in ${language}`, async (context) => {
    await withBooks(context, async ({ tab, person }) => {
      const { token } = await person('rita', ['books-library-example-com-view']);
      const other = await tab('/console/plugins', { as: token, language });
      await other.getByRole('heading', { level: 2, name: say('Not allowed', '没有权限'), exact: true }).waitFor();
      await other.getByRole('link', { name: say('Why?', '为什么？'), exact: true }).waitFor();
      await other.getByText(/list.*plugins|plugins.*list/).waitFor();

      const page = await tab('/console/access/tokens', { language });
      await button(page, 'New token', '新建令牌').click();
      const made = dialog(page, 'New token', '新建令牌');
      await textbox(made, 'User', '用户').fill('rita');
      await button(made, 'Create', '创建').click();
      const created = dialog(page, 'Token created', '令牌已创建');
      assert.notEqual(await textbox(created, 'Token', '令牌').getAttribute('readonly'), null);
      await button(created, 'Copy', '复制').waitFor();
      assert.deepEqual(await findings(page), []);
      await button(created, 'Done', '完成').click();
      const table = page.getByRole('table', { name: say('Tokens', '令牌'), exact: true });
      const revoke = table.getByRole('button', { name: say('Revoke token-', '吊销 token-') });
      const name = (await revoke.textContent())!.trim().replace(say('Revoke ', '吊销 '), '');
      await revoke.click();
      await button(dialog(page, `Revoke ${name}?`, `吊销 ${name}？`), 'Revoke', '吊销').click();
      await revoke.waitFor({ state: 'detached' });

      await page.getByRole('link', { name: say('Plugins', '插件'), exact: true }).click();
      const row = page
        .getByRole('table', { name: say('Plugins', '插件') })
        .getByRole('row')
        .filter({ hasText: 'library' });
      await row.getByRole('link', { name: 'library', exact: true }).waitFor();
      await row.getByText('STARTED', { exact: true }).waitFor();
      await row.getByRole('switch', { name: say('Enable library', '启用 library'), exact: true }).click();
      await button(dialog(page, 'Disable library?', '停用 library？'), 'Disable', '停用').click();
      await row.getByText('STOPPED', { exact: true }).waitFor();
    });
  });
}
