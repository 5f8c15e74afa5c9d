import assert from 'node:assert/strict';
import { test } from 'node:test';
import { definePlugin, GroupVersion, route, Type } from 'kindred';
import { Book, bookOf, booksList, booksPath, findings, withConsole } from './browser.ts';

const library = definePlugin({
  start({ schemeManager, registerEndpoint }) {
    schemeManager.register(Book);
    registerEndpoint({
      groupVersion: () => GroupVersion.parse('console.api.library.example.com/v1alpha1'),
      endpoint: () =>
        route()
          .POST(
            '/books/{name}/lend',
            ({ params, body }) => ({ book: params.name, reader: body.reader }),
            (d) =>
              d
                .action({ title: { en: 'Lend', 'zh-CN': '借出' }, on: 'object', confirm: 'It leaves the shelf.' })
                .requestBody(Type.Object({ reader: Type.String({ minLength: 2 }) })),
          )
          .POST(
            '/books',
            () => undefined,
            (d) => d.action({ title: 'Count the shelf', on: 'list' }),
          )
          .build(),
    });
  },
});

test('console: actions of a plugin are buttons that run as the caller, with a form of their body', async (context) => {
  await withConsole(
    context,
    async ({ tab, admin, person }) => {
      await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
      const page = await tab(booksList);
      await page.getByRole('button', { name: 'Count the shelf' }).click();
      await page.getByRole('region', { name: 'Notifications' }).getByText('Count the shelf: done.').waitFor();
      await page.getByRole('link', { name: 'emma' }).click();
      await page.getByRole('button', { name: 'Lend' }).click();
      const dialog = page.getByRole('dialog', { name: 'Lend' });
      await dialog.getByText('It leaves the shelf.').waitFor();
      const reader = dialog.getByRole('textbox', { name: 'reader' });
      await reader.fill('a');
      await dialog.getByRole('button', { name: 'Lend' }).click();
      await dialog.getByText('must have at least 2 characters').waitFor();
      assert.deepEqual(await findings(page), []);
      await reader.fill('ada');
      await page.keyboard.press('Control+Enter');
      await dialog.getByText('ada').waitFor();
      await dialog.getByText('emma').waitFor();

      const { token } = await person('rita', ['books-library-example-com-view']);
      const other = await tab(`${booksList}/emma`, { as: token });
      await other.getByRole('button', { name: 'Show request' }).waitFor();
      assert.equal(await other.getByRole('button', { name: 'Lend' }).count(), 0);
    },
    { plugins: [{ name: 'library', plugin: library }] },
  );
});
