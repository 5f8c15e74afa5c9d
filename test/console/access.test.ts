import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { defineModel, definePlugin, Type } from 'kindred';
import { Book, bookOf, booksList, booksPath, failing, findings, withConsole } from './browser.ts';

const merge = { 'content-type': 'application/merge-patch+json' };

test('console: a new token is shown once and works until it is revoked', async (context) => {
  await withConsole(context, async ({ tab, as, admin }) => {
    const page = await tab('/console/access/tokens');
    await page.getByRole('button', { name: 'New token' }).click();
    const dialog = page.getByRole('dialog', { name: 'New token' });
    await dialog.getByRole('textbox', { name: 'User' }).fill('admin');
    await dialog.getByRole('listbox', { name: 'Roles' }).selectOption('super-role');
    assert.deepEqual(await findings(page), []);
    await dialog.getByRole('button', { name: 'Create' }).click();
    const created = page.getByRole('dialog', { name: 'Token created' });
    const token = await created.getByRole('textbox', { name: 'Token' }).inputValue();
    assert.equal((await as(token)('GET', '/api/v1alpha1/users')).status, 200);
    await created.getByRole('button', { name: 'Done' }).click();
    await created.waitFor({ state: 'detached' });
    assert.ok(!(await page.content()).includes(token));

    const { body } = await admin('GET', '/api/v1alpha1/personalaccesstokens');
    const { name } = body.items.find((one: any) => one.spec.roles?.length).metadata;
    await page
      .getByRole('table', { name: 'Tokens' })
      .getByRole('button', { name: `Revoke ${name}` })
      .click();
    const revoking = page.getByRole('dialog', { name: `Revoke ${name}?` });
    await revoking.getByRole('button', { name: 'Revoke', exact: true }).click();
    await revoking.waitFor({ state: 'detached' });
    assert.equal((await as(token)('GET', '/api/v1alpha1/users')).status, 401);
  });
});

test('console: the explainer names role and binding, or what would be needed', async (context) => {
  await withConsole(context, async ({ tab, person }) => {
    await person('rita', ['books-library-example-com-view']);
    const page = await tab('/console/access/explain');
    await page.getByRole('textbox', { name: 'User' }).fill('rita');
    await page.getByRole('textbox', { name: 'Type' }).fill('books.library.example.com');
    await page.getByRole('combobox', { name: 'Verb' }).selectOption('list');
    await page.getByRole('button', { name: 'Explain' }).click();
    const answer = page.getByRole('region', { name: 'Answer' });
    await answer.getByText('Allowed', { exact: true }).waitFor();
    await answer.getByRole('link', { name: 'books-library-example-com-view' }).first().waitFor();
    await page.getByRole('combobox', { name: 'Verb' }).selectOption('delete');
    await page.getByRole('button', { name: 'Explain' }).click();
    await answer.getByText('Not allowed', { exact: true }).waitFor();
    await answer.getByText('"delete"').waitFor();
  });
});

test('console: a plugin is disabled after a question, and enabled again', async (context) => {
  await withConsole(context, async ({ tab }) => {
    const page = await tab('/console/plugins');
    const row = page.getByRole('table', { name: 'Plugins' }).getByRole('row').filter({ hasText: 'library' });
    await row.getByText('STARTED', { exact: true }).waitFor();
    await row.getByRole('switch', { name: 'Enable library' }).click();
    const dialog = page.getByRole('dialog', { name: 'Disable library?' });
    await dialog.getByText('Book').waitFor();
    assert.deepEqual(await findings(page), []);
    await dialog.getByRole('button', { name: 'Disable' }).click();
    await row.getByText('STOPPED', { exact: true }).waitFor();
    await row.getByRole('switch', { name: 'Enable library' }).click();
    await row.getByText('STARTED', { exact: true }).waitFor();
  });
});

test('console: the audit log is followed, filtered, paused, and for who may read it only', async (context) => {
  await withConsole(context, async ({ tab, admin, person }) => {
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const { token, send } = await person('rita', ['books-library-example-com-view']);
    assert.equal((await send('DELETE', `${booksPath}/emma`)).status, 403);
    const page = await tab('/console/audit');
    await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor();
    const table = page.getByRole('table', { name: 'Audit log' });
    const refused = table.getByRole('row').filter({ hasText: 'rita' }).filter({ hasText: 'refused' });
    await refused.getByText('Forbidden').waitFor();
    assert.deepEqual(await findings(page), []);

    await page.getByRole('combobox', { name: 'Verb' }).selectOption('create');
    await page.getByRole('textbox', { name: 'Type' }).fill('books.library.example.com');
    await page.getByRole('button', { name: 'Apply' }).click();
    await refused.waitFor({ state: 'detached' });
    assert.equal(new URL(page.url()).search, '?type=books.library.example.com&verb=create');
    await table.getByRole('link', { name: 'books.library.example.com/emma' }).waitFor();

    await page.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await admin('POST', booksPath, bookOf('ulysses', 'Ulysses', 1922));
    await page.getByText('1 entry came while the log is paused.').waitFor();
    assert.equal(await table.getByRole('link', { name: /ulysses/ }).count(), 0);
    await page.getByRole('button', { name: 'Resume' }).click();
    await table.getByRole('link', { name: 'books.library.example.com/ulysses' }).click();
    await page.getByRole('heading', { level: 1, name: 'ulysses' }).waitFor();

    const other = await tab('/console/audit', { as: token });
    await other.getByRole('heading', { level: 2, name: 'Not allowed' }).waitFor();
    assert.equal(
      await other.getByRole('link', { name: 'Why?' }).getAttribute('href'),
      '/console/access/explain?verb=get&path=/v3/audit',
    );
    await other.goto(new URL('/console/', other.url()).href);
    await other.getByRole('heading', { level: 2, name: 'Needs attention' }).waitFor();
    assert.equal(await other.getByRole('heading', { level: 2, name: 'Recent changes' }).count(), 0);
  });
});

test('console: settings, about and plugins say how the service is operated, to those who may know', async (context) => {
  await withConsole(context, async ({ tab, person }) => {
    const page = await tab('/console/settings');
    const settings = page.getByRole('table', { name: 'Settings' });
    await page.getByRole('textbox', { name: 'Filter' }).fill('list.maxsize');
    await settings.getByRole('row').filter({ hasText: 'list.maxSize' }).getByText('1000').first().waitFor();
    assert.equal(await settings.getByRole('row').count(), 2);

    await page.getByRole('link', { name: 'About', exact: true }).click();
    await page.getByText(process.version).waitFor();
    await page.getByText('Every model is ready.').waitFor();
    const licences = await page.getByRole('link', { name: /^Licences/ }).getAttribute('href');
    const { status, text } = await page.request.get(new URL(licences!, page.url()).href).then(async (response) => {
      return { status: response.status(), text: await response.text() };
    });
    assert.equal(status, 200);
    for (const name of ['vue', '@codemirror/view', 'reka-ui', 'Lucide']) assert.ok(text.includes(`## ${name}`), name);

    await page.getByRole('link', { name: 'Plugins', exact: true }).click();
    await page.getByRole('table', { name: 'Plugins' }).getByRole('link', { name: 'library' }).click();
    await page.getByRole('tab', { name: 'Log' }).click();
    await page.getByRole('log', { name: 'Log' }).getByText('Plugin started').waitFor();
    await page.getByRole('tab', { name: 'Config' }).click();
    await page.getByText('This plugin has no configuration.').waitFor();

    const { token } = await person('rita', ['books-library-example-com-view']);
    const other = await tab('/console/settings', { as: token });
    await other.getByRole('heading', { level: 2, name: 'Not allowed' }).waitFor();
    await other.getByRole('link', { name: 'About', exact: true }).click();
    await other.getByText('You may not get /v3/about.').waitFor();
  });
});

test('console: an object shows the controllers that act on its model', async (context) => {
  await withConsole(
    context,
    async ({ tab, admin, person }) => {
      await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
      const page = await tab(`${booksList}/emma?tab=status`);
      const controllers = page.getByRole('table', { name: 'Controllers' });
      await controllers.getByText('library/shelver').waitFor();
      await controllers.getByText('no room on the shelf').waitFor({ timeout: 15_000 });
      assert.deepEqual(await findings(page), []);
      const { token } = await person('rita', ['books-library-example-com-view']);
      const other = await tab(`${booksList}/emma?tab=status`, { as: token });
      await other.getByText('It has no status yet.').waitFor();
      assert.equal(await other.getByRole('table', { name: 'Controllers' }).count(), 0);
    },
    { plugins: [{ name: 'library', plugin: failing }] },
  );
});

test('console: a declared object that was edited is told, and leads to its plugin', async (context) => {
  const atlas = resolve(import.meta.dirname, '../../examples/atlas');
  await withConsole(
    context,
    async ({ tab, admin }) => {
      const page = await tab('/console/plugins/atlas?tab=objects');
      const table = page.getByRole('table', { name: 'Objects' });
      const row = (name: string) =>
        table.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
      await row('europe').getByText('Version 0').waitFor();
      assert.equal(await page.getByText('edited since').count(), 0);
      const path = '/apis/atlas.example.com/v1alpha1/regions/europe';
      const edited = await admin('PATCH', path, { spec: { description: 'Edited' } }, merge);
      assert.equal(edited.status, 200);
      await page.reload();
      await row('europe').getByText('edited since').waitFor();
      assert.equal(await row('asia').getByText('edited since').count(), 0);
      assert.deepEqual(await findings(page), []);
      await row('europe').getByRole('link', { name: 'europe', exact: true }).click();
      await page.getByRole('link', { name: 'Declared by the plugin atlas' }).click();
      await page.getByRole('heading', { level: 1, name: 'atlas' }).waitFor();
    },
    { plugins: [atlas] },
  );
});

test('console: a role shows the rules that it has from others, and the overview goes six hours back', async (context) => {
  await withConsole(context, async ({ tab, admin }) => {
    const rule = (resource: string) => [{ apiGroups: [''], resources: [resource], verbs: ['get'] }];
    const annotations = { 'rbac.platform.run/dependencies': '["inner"]' };
    for (const body of [
      { metadata: { name: 'inner' }, rules: rule('configmaps') },
      { metadata: { name: 'middle', annotations }, rules: rule('secrets') },
      {
        metadata: { name: 'added', labels: { 'rbac.platform.run/aggregate-to-middle': 'true' } },
        rules: rule('users'),
      },
    ]) {
      assert.equal((await admin('POST', '/api/v1alpha1/roles', body)).status, 201);
    }
    const page = await tab('/console/access/roles');
    const middle = page.locator('section', { has: page.getByRole('heading', { name: 'middle' }) });
    await middle.getByRole('row').filter({ hasText: 'configmaps' }).getByRole('link', { name: 'inner' }).waitFor();
    await middle.getByRole('row').filter({ hasText: 'users' }).getByRole('link', { name: 'added' }).waitFor();
    assert.deepEqual(await findings(page), []);

    await page.goto(new URL('/console/?range=6h', page.url()).href);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    const ranges = page.getByRole('list', { name: 'Range' });
    await ranges.getByRole('link', { name: '15m' }).click({ timeout: 15_000 });
    await page.getByRole('heading', { level: 2, name: 'Objects read per second' }).waitFor();
    assert.deepEqual(await findings(page), []);
  });
});

test('console: a right that is withdrawn during work is shown with its reason, and its actions go', async (context) => {
  await withConsole(context, async ({ tab, admin, person }) => {
    const { token } = await person('rita', ['users-view', 'users-manage']);
    const page = await tab('/console/access/users', { as: token });
    await page.getByRole('link', { name: 'New user' }).waitFor();
    const { body } = await admin(
      'GET',
      '/api/v1alpha1/rolebindings?fieldSelector=subjects.name=rita,roleRef.name=users-manage',
    );
    await admin('DELETE', `/api/v1alpha1/rolebindings/${body.items[0].metadata.name}`);
    await page.getByRole('button', { name: 'Disable admin' }).click();
    const notice = page.getByRole('region', { name: 'Notifications' }).getByRole('alert');
    await notice.getByText('Forbidden').waitFor();
    await notice.getByRole('button', { name: 'Copy details' }).waitFor();
    assert.equal(
      await notice.getByRole('link', { name: 'Why?' }).getAttribute('href'),
      '/console/access/explain?verb=patch&type=users&name=admin',
    );
    await page.getByRole('link', { name: 'New user' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Disable admin' }).waitFor({ state: 'detached' });
    assert.deepEqual(await findings(page), []);
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await notice.waitFor({ state: 'detached' });
  });
});

test('console: Esc loses neither a new token nor the form that makes it', async (context) => {
  await withConsole(context, async ({ tab }) => {
    const page = await tab('/console/access/tokens');
    const open = page.getByRole('button', { name: 'New token' });
    await open.click();
    const dialog = page.getByRole('dialog', { name: 'New token' });
    await dialog.getByRole('listbox', { name: 'Roles' }).selectOption('super-role');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await open.click();
    assert.equal(await dialog.getByRole('listbox', { name: 'Roles' }).inputValue(), 'super-role');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const created = page.getByRole('dialog', { name: 'Token created' });
    const token = await created.getByRole('textbox', { name: 'Token' }).inputValue();
    await page.keyboard.press('Escape');
    await created.waitFor({ state: 'detached' });
    assert.deepEqual(await findings(page), []);
    await page.getByRole('button', { name: 'Show the new token' }).click();
    assert.equal(await created.getByRole('textbox', { name: 'Token' }).inputValue(), token);
    await created.getByRole('button', { name: 'Done' }).click();
    await created.waitFor({ state: 'detached' });
    assert.equal(await page.getByRole('button', { name: 'Show the new token' }).count(), 0);
    assert.ok(!(await page.content()).includes(token));
  });
});

test('console: what the screens of access do not show they say, and ask the service for those of one user', async (context) => {
  await withConsole(context, async ({ tab, url }) => {
    const page = await tab('/console/access/tokens?user=nobody');
    await page.getByText('No token.').waitFor();
    assert.equal(await page.getByRole('table').count(), 0);
    await page.route('**/api/v1alpha1/users?**', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), total: 1234 } });
    });
    await page.goto(`${url}/console/access/users`);
    await page.getByText('The first 1 of 1,234, by name.').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await page.getByRole('main').getByRole('link', { name: 'Open the list' }).click();
    await page.waitForURL(/\/console\/objects\/users$/);
  });
});

test('console: who may not switch plugins sees no switch', async (context) => {
  await withConsole(context, async ({ tab, person }) => {
    const { token } = await person('rita', ['plugins-plugin-platform-run-view']);
    const page = await tab('/console/plugins', { as: token });
    await page.getByRole('table', { name: 'Plugins' }).getByText('STARTED').waitFor();
    assert.equal(await page.getByRole('switch').count(), 0);
    assert.equal(await page.getByRole('columnheader', { name: 'Enabled' }).count(), 0);
    await page.getByRole('link', { name: 'library' }).click();
    await page.getByRole('heading', { level: 1, name: 'library' }).waitFor();
    await page.getByRole('tab', { name: 'State' }).waitFor();
    assert.equal(await page.getByRole('switch').count(), 0);
  });
});

test('console: the events of an object name the missing verb; its references are counted, also when there are none', async (context) => {
  const Shelf = defineModel({
    gvk: { group: 'library.example.com', version: 'v1alpha1', kind: 'Shelf', singular: 'shelf', plural: 'shelves' },
    spec: Type.Object({ book: Type.String({ 'x-reference': 'books.library.example.com' }) }),
    indexes: (index) => [index.single('spec.book', String, (shelf) => shelf.spec.book)],
  });
  const library = definePlugin({
    start({ schemeManager }) {
      schemeManager.register(Book);
      schemeManager.register(Shelf);
    },
  });
  await withConsole(
    context,
    async ({ tab, admin, person }) => {
      await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
      const page = await tab(`${booksList}/emma?tab=related`);
      await page.getByRole('tabpanel').getByRole('link', { name: 'Shelf' }).waitFor();
      await page.getByRole('tabpanel').getByText('0', { exact: true }).waitFor();
      assert.equal(await page.getByText('The model says of no member').count(), 0);
      const rules = [{ apiGroups: ['library.example.com'], resources: ['books'], verbs: ['get', 'list'] }];
      await admin('POST', '/api/v1alpha1/roles', { metadata: { name: 'readers' }, rules });
      const { token } = await person('rita', ['readers']);
      const other = await tab(`${booksList}/emma?tab=events`, { as: token });
      await other.getByText('You may not watch books.library.example.com.').waitFor();
      assert.equal(await other.getByText('New changes appear here.').count(), 0);
    },
    { plugins: [{ name: 'library', plugin: library }] },
  );
});
