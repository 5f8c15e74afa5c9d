/** The roles and names by which people with a screen reader, and tests, find things: exact, in both languages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { bookOf, booksPath, withConsole } from './browser.ts';

type Role = Parameters<Page['getByRole']>[0];
type Named = readonly [role: Role, en: string, zh: string];

const type = 'books.library.example.com';

const frame: readonly Named[] = [
  ['link', 'Skip to content', '跳到正文'],
  ['navigation', 'Main', '主导航'],
  ['button', 'Search or jump to…', '搜索或跳转…'],
  ['status', 'Connection', '连接'],
  ['region', 'Notifications', '通知'],
  ['button', 'Account', '账户'],
];
const navigation: readonly Named[] = [
  ['link', 'Overview', '概览'],
  ['link', 'Models', '模型'],
  ['link', 'Plugins', '插件'],
  ['link', 'Access', '访问控制'],
  ['link', 'Audit log', '审计日志'],
  ['link', 'Webhooks', 'Webhook'],
  ['link', 'Settings', '设置'],
  ['link', 'About', '关于'],
  ['link', 'Book', 'Book'],
];
const account: readonly Named[] = [
  ['menuitemradio', 'English', 'English'],
  ['menuitemradio', '简体中文', '简体中文'],
  ['menuitemradio', 'System theme', '跟随系统'],
  ['menuitemradio', 'Light theme', '浅色'],
  ['menuitemradio', 'Dark theme', '深色'],
  ['menuitemradio', 'Comfortable', '宽松'],
  ['menuitemradio', 'Compact', '紧凑'],
  ['menuitemcheckbox', 'Single-key shortcuts', '单键快捷键'],
  ['menuitem', 'Keyboard shortcuts', '键盘快捷键'],
  ['menuitem', 'Sign out', '退出登录'],
];
const list: readonly Named[] = [
  ['status', 'Total', '总数'],
  ['link', 'New', '新建'],
  ['textbox', 'Field selector', '字段选择器'],
  ['textbox', 'Label selector', '标签选择器'],
  ['list', 'Filters', '筛选条件'],
  ['button', 'Remove filter spec.year>=1800', '移除筛选 spec.year>=1800'],
  ['button', 'Add filter', '添加筛选'],
  ['button', 'Clear filters', '清除筛选'],
  ['button', 'Columns', '列'],
  ['button', 'Views', '视图'],
  ['button', 'Export', '导出'],
  ['button', 'Explain', '执行计划'],
  ['region', 'Plan', '执行计划'],
  ['button', 'Live', '实时更新'],
  ['grid', 'Objects', '对象'],
  ['columnheader', 'metadata.name', 'metadata.name'],
  ['columnheader', 'spec.year', 'spec.year'],
  ['rowheader', 'emma', 'emma'],
  ['checkbox', 'Select all on this page', '选择本页全部'],
  ['checkbox', 'Select emma', '选择 emma'],
  ['navigation', 'Pages', '分页'],
  ['button', 'First page', '首页'],
  ['button', 'Previous page', '上一页'],
  ['button', 'Next page', '下一页'],
  ['button', 'Last page', '末页'],
  ['textbox', 'Page', '页码'],
  ['combobox', 'Rows per page', '每页行数'],
];
const selection: readonly Named[] = [
  ['region', 'Selection', '已选择'],
  ['button', 'Select all 2 that match', '选择全部 2 个匹配项'],
  ['button', 'Set labels…', '设置标签…'],
  ['button', 'Delete…', '删除…'],
  ['button', 'Export…', '导出…'],
  ['button', 'Clear selection', '清除选择'],
];
const columns: readonly Named[] = [
  ['checkbox', 'spec.year', 'spec.year'],
  ['button', 'Move up spec.year', '上移 spec.year'],
  ['button', 'Move down spec.year', '下移 spec.year'],
  ['button', 'Reset', '重置'],
];
const addFilter: readonly Named[] = [
  ['combobox', 'Field', '字段'],
  ['combobox', 'Operator', '运算符'],
  ['button', 'Apply', '应用'],
];
const object: readonly Named[] = [
  ['tablist', 'Object', '对象'],
  ['tab', 'Form', '表单'],
  ['tab', 'YAML', 'YAML'],
  ['tab', 'JSON', 'JSON'],
  ['tab', 'Status', '状态'],
  ['tab', 'Events', '事件'],
  ['tab', 'Related', '关联'],
  ['tab', 'Access', '访问控制'],
  ['button', 'Save', '保存'],
  ['button', 'Delete…', '删除…'],
  ['link', 'Duplicate', '复制'],
  ['textbox', 'name', 'name'],
  ['group', 'labels', 'labels'],
  ['button', 'Add label', '添加标签'],
  ['textbox', 'title', 'title'],
  ['checkbox', 'published', 'published'],
  ['group', 'tags', 'tags'],
  ['button', 'Add to tags', '向 tags 添加'],
];
const review: readonly Named[] = [
  ['region', 'Changes', '变更'],
  ['button', 'Save changes', '保存变更'],
  ['button', 'Back to editing', '返回编辑'],
];
const leave: readonly Named[] = [
  ['button', 'Leave', '离开'],
  ['button', 'Stay', '留下'],
];
const create: readonly Named[] = [
  ['textbox', 'name', 'name'],
  ['textbox', 'generateName', 'generateName'],
  ['tablist', 'Object', '对象'],
  ['button', 'Create', '创建'],
];
const imports: readonly Named[] = [
  ['textbox', 'Documents', '文档'],
  ['button', 'Check', '检查'],
  ['button', 'Import', '导入'],
];
const newToken: readonly Named[] = [
  ['textbox', 'User', '用户'],
  ['combobox', 'Expires', '有效期'],
  ['listbox', 'Roles', '角色'],
  ['button', 'Create', '创建'],
];
const explain: readonly Named[] = [
  ['textbox', 'User', '用户'],
  ['textbox', 'Type', '类型'],
  ['textbox', 'Name', '名称'],
  ['combobox', 'Verb', '动词'],
  ['button', 'Explain', '解释'],
];
const watch: readonly Named[] = [
  ['log', 'Events', '事件'],
  ['button', 'Pause', '暂停'],
  ['button', 'Clear', '清空'],
];

for (const [nth, language] of (['en-US', 'zh-CN'] as const).entries()) {
  test(`console: everything is found by its role and name, in ${language}`, async (context) => {
    await withConsole(context, async ({ tab, admin, url }) => {
      await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
      await admin('POST', booksPath, bookOf('ulysses', 'Ulysses', 1922));
      const named = ([, en, zh]: Named) => (nth === 0 ? en : zh);
      const shows = async (where: Page | Locator, all: readonly Named[]) => {
        for (const one of all) {
          await where
            .getByRole(one[0], { name: named(one), exact: true })
            .first()
            .waitFor({ state: 'attached' });
        }
      };
      const dialogOf = (en: string, zh: string) => page.getByRole('dialog', { name: nth === 0 ? en : zh, exact: true });
      const press = (en: string, zh: string, where: Page | Locator = page) =>
        where
          .getByRole('button', { name: nth === 0 ? en : zh, exact: true })
          .first()
          .click();
      const heading = (en: string, zh: string, level = 1) =>
        page.getByRole('heading', { level, name: nth === 0 ? en : zh, exact: true }).waitFor();

      const page = await tab(
        `/console/objects/${type}?explain=on&size=1&fieldSelector=spec.year%3E%3D1800&sort=spec.year`,
        {
          language,
        },
      );
      await shows(page, [...frame, ...list]);
      await shows(page.getByRole('navigation', { name: nth === 0 ? 'Main' : '主导航' }), navigation);
      assert.equal(
        await page.getByRole('status', { name: nth === 0 ? 'Total' : '总数' }).textContent(),
        nth === 0 ? '2 objects' : '2 个对象',
      );
      await page
        .getByRole('status', { name: nth === 0 ? 'Connection' : '连接' })
        .getByText(nth === 0 ? 'Live' : '实时', { exact: true })
        .waitFor();
      await press('Account', '账户');
      await shows(page, account);
      await page.keyboard.press('Escape');
      await page.getByRole('checkbox', { name: nth === 0 ? 'Select emma' : '选择 emma' }).check();
      await shows(page, selection);
      await page.getByText(nth === 0 ? '1 selected' : '已选择 1 个', { exact: true }).waitFor();
      await press('Delete…', '删除…');
      await shows(dialogOf('Delete 1 object', '删除 1 个对象'), [['button', 'Delete', '删除']]);
      await page.keyboard.press('Escape');
      await press('Set labels…', '设置标签…');
      await shows(dialogOf('Set labels', '设置标签'), [
        ['textbox', 'Key', '键'],
        ['textbox', 'Value', '值'],
        ['button', 'Apply', '应用'],
      ]);
      await page.keyboard.press('Escape');
      await press('Export', '导出');
      await shows(page, [
        ['menuitem', 'NDJSON', 'NDJSON'],
        ['menuitem', 'CSV', 'CSV'],
      ]);
      await page.keyboard.press('Escape');
      await press('Columns', '列');
      await shows(dialogOf('Columns', '列'), columns);
      await page.keyboard.press('Escape');
      await press('Add filter', '添加筛选');
      const filter = dialogOf('Add filter', '添加筛选');
      await shows(filter, addFilter);
      assert.ok((await filter.getByRole('option').allTextContents()).includes(nth === 0 ? 'is absent' : '不存在'));
      await page.keyboard.press('Escape');
      await page.keyboard.press('Control+k');
      const palette = dialogOf('Command palette', '命令面板');
      await shows(palette, [['combobox', 'Command', '命令']]);
      await palette.getByRole('listbox').getByRole('option').first().waitFor();
      await page.keyboard.press('Escape');

      await page.getByRole('link', { name: 'emma', exact: true }).click();
      await heading('emma', 'emma');
      await shows(page, object);
      await page.getByText(nth === 0 ? 'Version 0' : '版本 0', { exact: true }).waitFor();
      await page.getByRole('textbox', { name: 'title', exact: true }).fill('Emma, again');
      await press('Add to tags', '向 tags 添加');
      await shows(page, [
        ['textbox', 'tags 1', 'tags 1'],
        ['button', 'Remove tags 1', '移除 tags 1'],
        ['button', 'Clear tags', '清空 tags'],
      ]);
      await press('Save', '保存');
      await shows(dialogOf('Review changes', '检查变更'), review);
      await page.keyboard.press('Escape');
      await page.getByRole('link', { name: nth === 0 ? 'Models' : '模型', exact: true }).click();
      await shows(dialogOf('Leave without saving?', '不保存就离开？'), leave);
      await press('Leave', '离开');
      await heading('Models', '模型');

      await page.goto(`${url}/console/create/${type}`);
      await heading('New Book', '新建 Book');
      await shows(page, create);
      await page.goto(`${url}/console/import`);
      await heading('Import', '导入');
      await shows(page, imports);
      await page.goto(`${url}/console/watch/${type}`);
      await heading('Watch Book', '监听 Book');
      await shows(page, watch);
      await press('Pause', '暂停');
      await shows(page, [['button', 'Resume', '继续']]);
      await page.goto(`${url}/console/plugins`);
      await shows(page, [
        ['table', 'Plugins', '插件'],
        ['switch', 'Enable library', '启用 library'],
      ]);
      await page.goto(`${url}/console/access/tokens`);
      await heading('Tokens', '令牌');
      await shows(page, [['table', 'Tokens', '令牌']]);
      await press('New token', '新建令牌');
      await shows(dialogOf('New token', '新建令牌'), newToken);
      await page.goto(`${url}/console/access/explain?verb=get&type=users`);
      await heading('Explain access', '解释权限');
      await shows(page, explain);
      await page
        .getByRole('region', { name: nth === 0 ? 'Answer' : '结果' })
        .getByText(nth === 0 ? 'Allowed' : '允许', { exact: true })
        .waitFor();
      await page.goto(`${url}/console/no/such`);
      await heading('Not found', '未找到', 2);
    });
  });
}
