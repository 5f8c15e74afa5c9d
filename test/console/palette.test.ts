/** The palette: what it lists, and for whom. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../src/testing/until.ts';
import { bookOf, booksList, booksPath, findings, withConsole } from './browser.ts';

async function find(page: Page, text: string) {
  await page.keyboard.press('Control+k');
  const dialog = page.getByRole('dialog', { name: 'Command palette' });
  await dialog.getByRole('combobox', { name: 'Command' }).fill(text);
  return dialog;
}

const kept = (page: Page) => page.evaluate<string>('JSON.stringify([localStorage, sessionStorage])');

test('console: nobody finds what somebody else visited or typed', async (context) => {
  await withConsole(context, async ({ tab, as, admin, person, url }) => {
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    await admin('POST', '/api/v1alpha1/secrets', { metadata: { name: 'door' }, stringData: { pin: '1' } });
    const { token } = await person('rita', ['books-library-example-com-view']);
    const signIn = async (page: Page) => {
      const { body } = await as(token)('POST', '/v3/session/codes');
      await page.goto(`${url}/console/#code=${body.code}`);
      await page.getByText('rita', { exact: true }).waitFor();
    };
    const work = async (page: Page) => {
      await page.goto(`${url}/console/objects/secrets/door`);
      await page.getByRole('heading', { level: 1, name: 'door' }).waitFor();
      await page.goto(`${url}${booksList}/emma`);
      await page.getByRole('textbox', { name: 'title' }).fill('A draft');
      await until(async () => (await kept(page)).includes('A draft'));
      assert.match(await kept(page), /door/);
    };

    const page = await tab('/console/');
    await work(page);
    await page.reload();
    assert.equal(await page.getByRole('textbox', { name: 'title' }).inputValue(), 'A draft');
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Kindred' }).waitFor();
    assert.doesNotMatch(await kept(page), /door|emma|draft/);

    // Without signing out.
    const other = await tab('/console/');
    await work(other);
    await signIn(other);
    assert.doesNotMatch(await kept(other), /door|emma|draft/);
    const palette = await find(other, 'door');
    await palette.getByText('Nothing fits.').waitFor();
    await other.keyboard.press('Escape');

    // Her own visits, as long as she may see the model.
    await other.goto(`${url}${booksList}/emma`);
    await other.getByRole('heading', { level: 1, name: 'emma' }).waitFor();
    await find(other, 'emm');
    await palette.getByRole('option', { name: /^emma/ }).first().waitFor();
    const bindings = '/api/v1alpha1/rolebindings';
    for (const { metadata, subjects } of (await admin('GET', bindings)).body.items) {
      if (subjects.some((subject: any) => subject.name === 'rita'))
        await admin('DELETE', `${bindings}/${metadata.name}`);
    }
    await other.goto(`${url}/console/`);
    await other.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await find(other, 'emm');
    await palette.getByText('Nothing fits.').waitFor();
  });
});

test('console: the palette has the actions of a list and of its selection, and the settings', async (context) => {
  await withConsole(context, async ({ tab, admin }) => {
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const page = await tab(`${booksList}?fieldSelector=spec.year%3E1800`);
    await page.getByRole('link', { name: 'emma' }).waitFor();
    const run = async (label: string) => {
      const palette = await find(page, label);
      await palette.getByRole('option', { name: label }).first().waitFor();
      await page.keyboard.press('Enter');
      await palette.waitFor({ state: 'detached' });
    };
    await run('Add filter');
    await page.getByRole('dialog', { name: 'Add filter' }).waitFor();
    await page.keyboard.press('Escape');
    await run('Export');
    await page.getByRole('menuitem', { name: 'NDJSON' }).waitFor();
    assert.deepEqual(await findings(page), []);
    await page.keyboard.press('Escape');
    await run('Views');
    await page.getByRole('menuitem', { name: 'Save this view…' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('checkbox', { name: 'Select emma' }).check();
    await run('Set labels…');
    await page.getByRole('dialog', { name: 'Set labels' }).waitFor();
    await page.keyboard.press('Escape');
    await run('Delete…');
    await page.getByRole('dialog', { name: 'Delete 1 object' }).waitFor();
    await page.keyboard.press('Escape');
    await run('Clear selection');
    await page.getByRole('region', { name: 'Selection' }).waitFor({ state: 'detached' });
    await run('Clear filters');
    await page.waitForURL((url) => url.search === '');
    await run('Compact');
    await until(async () => (await page.evaluate("localStorage.getItem('kindred-density')")) === 'compact');
    await run('Import');
    await page.getByRole('heading', { level: 1, name: 'Import' }).waitFor();
    await run('Sign out');
    await page.getByRole('heading', { name: 'Sign in to Kindred' }).waitFor();
  });
});
