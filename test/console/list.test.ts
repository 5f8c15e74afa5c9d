import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import type { Console } from './browser.ts';
import { bookOf, booksList, booksPath, findings, withConsole } from './browser.ts';

async function shelve({ admin }: Console, count: number): Promise<void> {
  const lines = Array.from({ length: count }, (_, at) => {
    return JSON.stringify(bookOf(`book-${String(at).padStart(4, '0')}`, `Title ${at}`, 1800 + (at % 200)));
  });
  const { status } = await admin('POST', booksPath, lines.join('\n'), { 'content-type': 'application/x-ndjson' });
  assert.equal(status, 200);
}

const names = (page: Page) =>
  page
    .getByRole('rowheader')
    .getByRole('link')
    .allTextContents()
    .then((texts) => texts.map((text) => text.trim()));
const rowOf = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
const until = (page: Page, text: string) =>
  page.getByRole('status', { name: 'Total' }).getByText(text, { exact: true }).waitFor();

test('console: a list is filtered, sorted and paged by the service, and its address says how', async (context) => {
  await withConsole(context, async (at) => {
    await shelve(at, 120);
    const page = await at.tab(`${booksList}?sort=metadata.name,asc`);
    await until(page, '120 objects');
    const grid = page.getByRole('grid', { name: 'Objects' });
    assert.equal(await grid.getAttribute('aria-rowcount'), '121');
    assert.equal((await names(page)).length, 50);

    // A filter that the parser refuses stays in its field; nothing is asked for.
    const selector = page.getByRole('textbox', { name: 'Field selector' });
    await selector.fill('spec.year>>1900');
    await selector.press('Enter');
    await page.getByText('malformed at column').waitFor();
    assert.equal(await selector.getAttribute('aria-invalid'), 'true');
    await until(page, '120 objects');

    await selector.fill('spec.year>=1915');
    await selector.press('Enter');
    await until(page, '5 objects');
    assert.equal(new URL(page.url()).searchParams.get('fieldSelector'), 'spec.year>=1915');

    // The other form of the same filter.
    await page.getByRole('button', { name: 'Add filter' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add filter' });
    await dialog.getByRole('combobox', { name: 'Field' }).selectOption('spec.title');
    await dialog.getByRole('combobox', { name: 'Operator' }).selectOption('^=');
    await dialog.getByLabel('Value').fill('Title 11');
    assert.deepEqual(await findings(page), []);
    await dialog.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('list', { name: 'Filters' }).getByText('spec.title^=Title 11').waitFor();
    assert.equal(await selector.inputValue(), 'spec.year>=1915,spec.title^=Title 11');
    await page.getByRole('button', { name: 'Remove filter spec.year>=1915' }).click();
    await until(page, '11 objects');
    await page.goBack();
    await until(page, '5 objects');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await until(page, '120 objects');

    const year = grid.getByRole('columnheader', { name: 'spec.year' });
    await year.getByRole('button').click();
    await page.waitForURL(/sort=spec.year,asc|sort=spec.year%2Casc/);
    assert.equal(await year.getAttribute('aria-sort'), 'ascending');
    await page.getByRole('link', { name: 'book-0000' }).waitFor();
    await year.getByRole('button').click();
    await page.getByRole('link', { name: 'book-0119' }).waitFor();
    assert.equal(await year.getAttribute('aria-sort'), 'descending');

    const pages = page.getByRole('navigation', { name: 'Pages' });
    await pages.getByRole('button', { name: 'Last page' }).click();
    await page.getByRole('link', { name: 'book-0000' }).waitFor();
    assert.equal(await page.getByRole('row').nth(1).getAttribute('aria-rowindex'), '102');
    await pages.getByRole('textbox', { name: 'Page' }).fill('2');
    await pages.getByRole('textbox', { name: 'Page' }).press('Enter');
    await page.getByRole('link', { name: 'book-0069' }).waitFor();
    await page.getByRole('combobox', { name: 'Rows per page' }).selectOption('100');
    await page.getByRole('link', { name: 'book-0119', exact: true }).waitFor();
    assert.equal((await names(page)).length, 100);
  });
});

test('console: changes of others are on the page at once, and nothing moves under the focus', async (context) => {
  await withConsole(context, async (at) => {
    for (const [name, title, year] of [
      ['b', 'B', 1901],
      ['c', 'C', 1902],
    ] as const) {
      await at.admin('POST', booksPath, bookOf(name, title, year));
    }
    const page = await at.tab(`${booksList}?sort=metadata.name,asc`);
    await page.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor();
    await at.admin('POST', booksPath, bookOf('a', 'A', 1900));
    await until(page, '3 objects');
    assert.deepEqual(await names(page), ['a', 'b', 'c']);
    assert.equal(await rowOf(page, 'a').getAttribute('data-changed'), '');
    await rowOf(page, 'a').getByText('changed', { exact: true }).waitFor();

    await page.getByRole('link', { name: 'c', exact: true }).focus();
    await at.admin('DELETE', `${booksPath}/a`);
    await at.admin('PUT', `${booksPath}/b`, bookOf('b', 'B, again', 1901));
    await page.getByRole('button', { name: 'Apply 1 change' }).waitFor();
    await rowOf(page, 'b').getByText('B, again').waitFor();
    await until(page, '2 objects');
    assert.deepEqual(await names(page), ['a', 'b', 'c']);
    await page.keyboard.press('u');
    await page.getByRole('link', { name: 'a', exact: true }).waitFor({ state: 'detached' });
    assert.deepEqual(await names(page), ['b', 'c']);

    await page.getByRole('button', { name: 'Live' }).click();
    await page.getByRole('status', { name: 'Connection' }).getByText('Paused').waitFor();
  });
});

test('console: by keyboard alone rows are selected, labelled and deleted, each with its result', async (context) => {
  await withConsole(context, async (at) => {
    await shelve(at, 6);
    const page = await at.tab(`${booksList}?sort=metadata.name,asc`);
    await until(page, '6 objects');
    await page.getByRole('link', { name: 'book-0001' }).focus();
    await page.keyboard.press('Space');
    await page.keyboard.press('Shift+ArrowDown');
    await page.keyboard.press('Shift+ArrowDown');
    const selection = page.getByRole('region', { name: 'Selection' });
    await selection.getByText('3 selected').waitFor();

    await selection.getByRole('button', { name: 'Set labels…' }).click();
    const labels = page.getByRole('dialog', { name: 'Set labels' });
    await labels.getByLabel('Key').fill('tier');
    await labels.getByLabel('Value').fill('gold');
    await page.keyboard.press('Control+Enter');
    const results = page.getByRole('dialog', { name: 'Results' });
    await results.getByText('3 done, 0 failed').waitFor();
    assert.deepEqual(await findings(page), []);
    await results.getByRole('button', { name: 'Close' }).click();
    const labelled = page.getByRole('textbox', { name: 'Label selector' });
    await labelled.fill('tier=gold');
    await labelled.press('Enter');
    await until(page, '3 objects');

    await page.getByRole('link', { name: 'book-0001' }).focus();
    await page.keyboard.press('Control+a');
    await selection.getByRole('button', { name: 'Delete…' }).click();
    await page
      .getByRole('dialog', { name: 'Delete 3 objects' })
      .getByRole('button', { name: 'Delete', exact: true })
      .click();
    await results.getByText('3 done, 0 failed').waitFor();
    await results.getByRole('button', { name: 'Close' }).click();
    await page.getByText('No object matches').waitFor();
    assert.equal((await at.admin('GET', booksPath)).body.total, 3);
  });
});

test('console: all matches are exported, deleted and counted, whatever the page shows', async (context) => {
  await withConsole(context, async (at) => {
    await shelve(at, 130);
    const page = await at.tab(`${booksList}?fieldSelector=spec.year%3C1810&size=5&columns=spec.title`);
    await until(page, '10 objects');
    await at.admin('POST', booksPath, bookOf('formula', '=1+1', 1801));
    await until(page, '11 objects');
    await page.getByRole('button', { name: 'Export' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'CSV' }).click(),
    ]);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    const lines = Buffer.concat(chunks).toString().trimEnd().split('\r\n');
    assert.equal(lines.length, 12);
    assert.equal(lines[0], 'metadata.name,spec.title');
    assert.ok(lines.includes("formula,'=1+1"));

    await page.getByRole('textbox', { name: 'Field selector' }).fill('');
    await page.getByRole('textbox', { name: 'Field selector' }).press('Enter');
    await until(page, '131 objects');
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
    await page.getByRole('button', { name: 'Select all 131 that match' }).click();
    await page.getByRole('region', { name: 'Selection' }).getByRole('button', { name: 'Delete…' }).click();
    await page
      .getByRole('dialog', { name: 'Delete 131 objects' })
      .getByRole('button', { name: 'Delete', exact: true })
      .click();
    await page.getByRole('dialog', { name: 'Results' }).getByText('131 done, 0 failed').waitFor();
    assert.equal((await at.admin('GET', booksPath)).body.total, 0);
  });
});

test('console: all matches are one click away from one row; a long value is shown whole; what the reader asked for is said', async (context) => {
  await withConsole(context, async (at) => {
    await shelve(at, 30);
    const tags = Array.from({ length: 60 }, (_, one) => `tag ${one}`);
    const long = bookOf('a-long-one', 'Long', 1900);
    await at.admin('POST', booksPath, { ...long, spec: { ...long.spec, tags } });
    const page = await at.tab(`${booksList}?sort=metadata.name,asc&size=20&columns=spec.title,spec.tags`);
    await until(page, '31 objects');
    const total = page.getByRole('status', { name: 'Total' });
    assert.equal(await total.getAttribute('aria-live'), 'off');

    await page.getByRole('link', { name: 'a-long-one' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    const whole = page.getByRole('dialog', { name: 'spec.tags' });
    await whole.getByText('"tag 59"').waitFor();
    assert.deepEqual(await findings(page), []);
    await page.keyboard.press('Escape');
    await whole.waitFor({ state: 'detached' });
    await page.getByRole('gridcell').and(page.locator(':focus')).getByText('tag 0').waitFor();
    await page.getByRole('button', { name: 'Show all of spec.tags' }).click();
    await whole.getByText('"tag 59"').waitFor();
    await page.keyboard.press('Escape');

    await page.getByRole('checkbox', { name: 'Select book-0003' }).check();
    const selection = page.getByRole('region', { name: 'Selection' });
    await selection.getByText('1 selected').waitFor();
    await selection.getByRole('button', { name: 'Select all 31 that match' }).click();
    await selection.getByText('31 selected').waitFor();
    await page.getByRole('checkbox', { name: 'Select book-0003' }).uncheck();
    await selection.getByText('19 selected').waitFor();
    await selection.getByRole('button', { name: 'Clear selection' }).click();

    await page.getByRole('button', { name: 'Next page' }).click();
    await page.getByRole('status').getByText('Page 2 of 2', { exact: true }).waitFor();
    const selector = page.getByRole('textbox', { name: 'Field selector' });
    await selector.fill('spec.year>=1820');
    await selector.press('Enter');
    await page.locator('[aria-live=polite]', { hasText: '11 objects' }).waitFor();

    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Command' }).fill('Announce live');
    await page.keyboard.press('Enter');
    await page.getByText('Live changes are announced, at most every ten seconds.').waitFor();
    await at.admin('POST', booksPath, bookOf('c', 'C', 1990));
    await at.admin('POST', booksPath, bookOf('d', 'D', 1991));
    await page.getByRole('status').getByText('2 objects have changed.').waitFor({ timeout: 15_000 });
  });
});

test('console: a list that is read again after a break moves nothing under the focus', async (context) => {
  await withConsole(context, async (at) => {
    await shelve(at, 3);
    const page = await at.tab(`${booksList}?sort=metadata.name,asc&live=off`);
    await until(page, '3 objects');
    await page.getByRole('link', { name: 'book-0001' }).focus();
    await page.context().setOffline(true);
    await page.getByText('The service does not answer').waitFor();
    await at.admin('POST', booksPath, bookOf('a', 'A', 1900));
    await at.admin('PUT', `${booksPath}/book-0001`, bookOf('book-0001', 'Again', 1801));
    await page.context().setOffline(false);
    await rowOf(page, 'book-0001').getByText('Again').waitFor();
    assert.equal(await rowOf(page, 'book-0001').getAttribute('data-changed'), '');
    await until(page, '4 objects');
    assert.deepEqual(await names(page), ['book-0000', 'book-0001', 'book-0002']);
    await page.keyboard.press('Control+End');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'a', exact: true }).waitFor();
    await page.getByRole('grid').locator(':focus').waitFor();
  });
});

test('console: what is selected stays selected on other pages, and what is deselected is left alone', async (context) => {
  await withConsole(context, async (at) => {
    await shelve(at, 60);
    const page = await at.tab(`${booksList}?sort=metadata.name,asc&size=20`);
    await until(page, '60 objects');
    const selection = page.getByRole('region', { name: 'Selection' });
    const box = (name: string) => page.getByRole('checkbox', { name });
    await box('Select book-0003').check();
    await page.keyboard.press(']');
    await box('Select book-0020').waitFor();
    await box('Select all on this page').check();
    await selection.getByText('21 selected').waitFor();
    await page.keyboard.press('Control+a');
    await selection.getByText('21 selected').waitFor();
    await box('Select all on this page').uncheck();
    await selection.getByText('1 selected').waitFor();

    await selection.getByRole('button', { name: 'Select all 60 that match' }).click();
    await selection.getByRole('button', { name: 'Clear selection' }).and(page.locator(':focus')).waitFor();
    await page.getByRole('button', { name: 'Next page' }).click();
    await box('Select book-0041').waitFor();
    assert.equal(await box('Select book-0041').isChecked(), true);
    await selection.getByText('60 selected').waitFor();
    await box('Select book-0041').uncheck();
    await selection.getByText('19 selected').waitFor();
    await page.getByRole('button', { name: 'Previous page' }).click();
    await box('Select book-0020').waitFor();
    assert.equal(await box('Select book-0020').isChecked(), false);
    await box('Select book-0020').check();
    await selection.getByText('20 selected').waitFor();
    await selection.getByRole('button', { name: 'Delete…' }).click();
    const asked = page.getByRole('dialog', { name: 'Delete 20 objects' });
    await asked.getByRole('button', { name: 'Delete', exact: true }).click();
    const results = page.getByRole('dialog', { name: 'Results' });
    await results.getByText('20 done, 0 failed').waitFor();
    await results.getByRole('button', { name: 'Close' }).click();
    await until(page, '40 objects');
    assert.equal((await at.admin('GET', `${booksPath}/book-0041`)).status, 200);

    await box('Select book-0021').check();
    await selection.getByRole('button', { name: 'Clear selection' }).click();
    await box('Select book-0021').and(page.locator(':focus')).waitFor();
  });
});

test('console: applying one selector leaves the other as it was typed; a filter that goes hands the focus on', async (context) => {
  await withConsole(context, async (at) => {
    await shelve(at, 30);
    const page = await at.tab(booksList);
    await until(page, '30 objects');
    const field = page.getByRole('textbox', { name: 'Field selector' });
    const labels = page.getByRole('textbox', { name: 'Label selector' });
    const focused = page.locator(':focus');
    await labels.fill('tier=(');
    await labels.press('Enter');
    await page.getByText('malformed at column').waitFor();
    await field.fill('spec.year>=1810,spec.year<1820,spec.title^=Title');
    await field.press('Enter');
    await until(page, '10 objects');
    assert.equal(await labels.inputValue(), 'tier=(');
    assert.equal(await labels.getAttribute('aria-invalid'), 'true');

    await page.getByRole('button', { name: 'Remove filter spec.year<1820' }).click();
    await page.getByRole('button', { name: 'Remove filter spec.title^=Title' }).and(focused).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Remove filter spec.year>=1810' }).and(focused).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Add filter' }).and(focused).waitFor();
    await until(page, '30 objects');

    await field.fill('spec.year=1');
    await field.press('Enter');
    await page.getByText('No object matches').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('button', { name: 'Add filter' }).and(focused).waitFor();
    await until(page, '30 objects');
    assert.equal(await labels.inputValue(), '');
  });
});

test('console: results begin with what failed, and those that are not drawn are counted', async (context) => {
  await withConsole(context, async (at) => {
    await shelve(at, 3);
    const page = await at.tab(`${booksList}?sort=metadata.name,asc&live=off`);
    await until(page, '3 objects');
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
    await at.admin('DELETE', `${booksPath}/book-0002`);
    await page.getByRole('button', { name: 'Delete…' }).click();
    const asked = page.getByRole('dialog', { name: 'Delete 3 objects' });
    await asked.getByRole('button', { name: 'Delete', exact: true }).click();
    const results = page.getByRole('dialog', { name: 'Results' });
    await results.getByText('2 done, 1 failed').waitFor();
    const failed = results.getByRole('row').nth(1);
    await failed.getByRole('rowheader', { name: 'book-0002' }).waitFor();
    await results.getByRole('button', { name: 'Close' }).click();

    await page.getByRole('link', { name: 'Import', exact: true }).click();
    const unknown = Array.from({ length: 1_001 }, (_, one) =>
      JSON.stringify({ kind: 'Nothing', metadata: { name: `${one}` } }),
    );
    const book = { apiVersion: 'library.example.com/v1alpha1', kind: 'Book', ...bookOf('emma', 'Emma', 1815) };
    await page.getByRole('textbox', { name: 'Documents' }).fill([JSON.stringify(book), ...unknown].join('\n'));
    await page.getByRole('button', { name: 'Check' }).click();
    const more = page.getByRole('button', { name: 'Show 2 more' });
    await more.waitFor();
    await page.getByText('Nothing/0', { exact: true }).waitFor();
    assert.equal(await page.getByText('Book/emma', { exact: true }).count(), 0);
    await more.click();
    await page.getByText('Book/emma', { exact: true }).waitFor();

    await page.getByRole('link', { name: 'Overview' }).click();
    const leaving = page.getByRole('dialog', { name: 'Leave without saving?' });
    await leaving.getByRole('button', { name: 'Stay' }).click();
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('created', { exact: true }).waitFor();
  });
});

test('console: selected objects are exported without reading the others; deleting ones are shown with their finalizers', async (context) => {
  await withConsole(context, async (at) => {
    await shelve(at, 30);
    const book = bookOf('kept', 'Kept', 1900);
    const finalizers = ['library.example.com/shelf'];
    await at.admin('POST', booksPath, { ...book, metadata: { ...book.metadata, finalizers } });
    await at.admin('DELETE', `${booksPath}/kept`);
    const page = await at.tab(`${booksList}?sort=metadata.name,asc`);
    await rowOf(page, 'kept').getByText('library.example.com/shelf').waitFor();
    await page.getByRole('checkbox', { name: 'Select kept' }).check();
    await page.getByRole('checkbox', { name: 'Select book-0003' }).check();
    await page.getByRole('button', { name: 'Export…' }).click();
    const [request, download] = await Promise.all([
      page.waitForRequest((one) => one.url().includes('metadata.name')),
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'NDJSON' }).click(),
    ]);
    assert.equal(new URL(request.url()).searchParams.get('fieldSelector'), 'metadata.name in (kept,book-0003)');
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    const lines = Buffer.concat(chunks).toString().trimEnd().split('\n');
    assert.deepEqual(lines.map((line) => JSON.parse(line).metadata.name).sort(), ['book-0003', 'kept']);
  });
});

test('console: back to a long list leads to the row that was left', async (context) => {
  await withConsole(context, async (at) => {
    await shelve(at, 400);
    const page = await at.tab(`${booksList}?sort=metadata.name,asc&size=500`);
    await until(page, '400 objects');
    await page.getByRole('link', { name: 'book-0000' }).focus();
    await page.keyboard.press('Control+End');
    await page.getByRole('link', { name: 'book-0399' }).waitFor();
    for (let presses = 0; presses < 5; presses++) await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'book-0394' }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'book-0394' }).and(page.locator(':focus')).waitFor();
  });
});

test('console: a filter of a time is picked', async (context) => {
  await withConsole(context, async (at) => {
    await shelve(at, 3);
    const page = await at.tab(booksList);
    await until(page, '3 objects');
    await page.getByRole('button', { name: 'Add filter' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add filter' });
    await dialog.getByRole('combobox', { name: 'Field' }).selectOption('metadata.creationTimestamp');
    await dialog.getByRole('combobox', { name: 'Operator' }).selectOption('>=');
    await dialog.getByLabel('Pick a time').fill('2001-02-03T04:05:06');
    assert.equal(await dialog.getByRole('textbox', { name: 'Value' }).inputValue(), '2001-02-03T04:05:06.000Z');
    assert.deepEqual(await findings(page), []);
    await dialog.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('list', { name: 'Filters' }).getByText('metadata.creationTimestamp>=2001').waitFor();
    await until(page, '3 objects');

    await page.getByRole('button', { name: 'Add filter' }).click();
    await dialog.getByRole('combobox', { name: 'Field' }).selectOption('spec.title');
    await dialog.getByRole('combobox', { name: 'Operator' }).selectOption('in');
    await dialog.getByLabel('Value').fill('Title 1, "Title, 2"');
    await dialog.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('list', { name: 'Filters' }).getByText('spec.title in (Title 1,"Title, 2")').waitFor();
    await until(page, '1 object');
  });
});

test('console: a reader sees no action that they may not take', async (context) => {
  await withConsole(context, async (at) => {
    await at.admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const { token } = await at.person('rita', ['books-library-example-com-view']);
    const page = await at.tab(booksList, { as: token });
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() >= 400) refused.push(`${response.status()} ${response.url()}`);
    });
    await page.getByRole('link', { name: 'emma' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'New' }).count(), 0);
    await page.getByRole('checkbox', { name: 'Select emma' }).check();
    const selection = page.getByRole('region', { name: 'Selection' });
    await selection.getByRole('button', { name: 'Export…' }).waitFor();
    for (const name of ['Delete…', 'Set labels…'])
      assert.equal(await selection.getByRole('button', { name }).count(), 0);
    const navigation = page.getByRole('navigation', { name: 'Main' });
    assert.equal(await navigation.getByRole('link', { name: 'Secret' }).count(), 0);
    await page.goto(`${at.url}/console/plugins`);
    await page.getByRole('heading', { level: 2, name: 'Not allowed' }).waitFor();
    assert.match(
      (await page.getByRole('link', { name: 'Why?' }).getAttribute('href'))!,
      /^\/console\/access\/explain\?verb=list/,
    );
    // What a reader may not see is not asked for either: browsers write each refusal into their console.
    const places = [
      '',
      'plugins/library',
      'webhooks',
      ...['users', 'roles', 'bindings', 'tokens'].map((one) => `access/${one}`),
    ];
    for (const place of places) {
      await page.goto(`${at.url}/console/${place}`);
      const heading = place === '' ? 'Needs attention' : 'Not allowed';
      await page.getByRole('heading', { level: 2, name: heading }).waitFor();
    }
    assert.deepEqual(refused, []);
  });
});
