import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bookOf, booksList, booksPath, findings, withConsole } from './browser.ts';

const type = 'books.library.example.com';

test('console: a watch shows each change with its difference, holds back what comes while it is paused, and begins where it is told', async (context) => {
  await withConsole(context, async ({ tab, admin }) => {
    await admin('POST', booksPath, bookOf('before', 'Before', 1900));
    const page = await tab(`/console/watch/${type}`);
    const log = page.getByRole('log', { name: 'Events' });
    const events = log.getByRole('article');
    await page.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor();
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    await events.first().getByText('"title":"Emma"').waitFor();
    await admin('PUT', `${booksPath}/emma`, bookOf('emma', 'EMMA', 1815));
    const changed = events.first();
    await changed.getByText('MODIFIED').waitFor();
    await changed.getByText('/spec/title', { exact: true }).click();
    const changes = changed.getByRole('region', { name: 'Changes' });
    await changes.locator('del', { hasText: 'title: Emma' }).waitFor();
    await changes.locator('ins', { hasText: 'title: EMMA' }).waitFor();
    assert.equal(await changed.locator('time').count(), 1);
    assert.deepEqual(await findings(page), []);

    await page.getByRole('button', { name: 'Pause' }).click();
    await admin('DELETE', `${booksPath}/emma`);
    await page.getByText('1 event came while the log is paused.').waitFor();
    assert.equal(await events.count(), 2);
    await page.getByRole('button', { name: 'Resume' }).click();
    await events.first().getByText('DELETED').waitFor();
    // The page may write to the clipboard, and not read it.
    await page.evaluate('navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }');
    await page.getByRole('button', { name: 'NDJSON' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const lines = (await page.evaluate<string>('copied')).split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).type),
      ['DELETED', 'MODIFIED', 'ADDED'],
    );
    await page.getByRole('button', { name: 'Clear' }).click();
    assert.equal(await events.count(), 0);

    await page.getByRole('textbox', { name: 'Since revision' }).fill('0');
    await page.getByRole('textbox', { name: 'Field selector' }).fill('spec.year=1900');
    await page.keyboard.press('Enter');
    await page.waitForURL(/since=0/);
    await events.first().getByText('before', { exact: true }).waitFor();
    assert.equal(await events.count(), 1);
    await page.getByRole('button', { name: 'Show request' }).click();
    const command = `kindred watch ${type} --field-selector spec.year=1900 --since 0`;
    await page.getByRole('dialog').getByText(command, { exact: true }).waitFor();
  });
});

test('console: a watch since a revision that is no longer kept says so, and goes on from now', async (context) => {
  await withConsole(context, async ({ tab, admin }) => {
    await admin('POST', booksPath, bookOf('before', 'Before', 1900));
    // Greater than the newest one of the store.
    const page = await tab(`/console/watch/${type}?since=999999`);
    await page.getByText('Some changes are no longer kept.').waitFor();
    await page.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor();
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const events = page.getByRole('log', { name: 'Events' }).getByRole('article');
    await events.first().getByText('emma', { exact: true }).waitFor();
    assert.equal(await events.count(), 1);
    assert.equal(await page.getByRole('alert').count(), 0);
  });
});

test('console: a tab without one of the few streams reads every 10 s, and gets one that becomes free', async (context) => {
  await withConsole(context, async ({ tab, admin, url }) => {
    const other = await tab('/console/about');
    await other.evaluate(`new Promise((held) => {
      let left = 4;
      globalThis.release = [];
      for (let slot = 0; slot < 4; slot++) {
        navigator.locks.request('kindred-stream-' + slot, () => {
          if (--left === 0) held();
          return new Promise((done) => globalThis.release.push(done));
        });
      }
    })`);
    const page = await other.context().newPage();
    await page.goto(`${url}/console/watch/${type}`);
    const connection = page.getByRole('status', { name: 'Connection' });
    await connection.getByText('Every 10 s').waitFor();
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const events = page.getByRole('log', { name: 'Events' }).getByRole('article');
    await events.first().getByText('emma', { exact: true }).waitFor();
    await connection.getByText('Every 10 s').waitFor();

    const object = await other.context().newPage();
    await object.goto(`${url}${booksList}/emma?tab=events`);
    await object.getByRole('listitem').filter({ hasText: 'Version 0' }).waitFor();
    await object.getByRole('status', { name: 'Connection' }).getByText('Every 10 s').waitFor();

    await other.evaluate('release.forEach((done) => done())');
    await connection.getByText('Live').waitFor();
    await admin('POST', booksPath, bookOf('ulysses', 'Ulysses', 1922));
    await events.first().getByText('ulysses', { exact: true }).waitFor();
    assert.equal(await events.count(), 2);
  });
});
