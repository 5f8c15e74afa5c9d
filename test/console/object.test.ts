/** The screens of one object, in a browser, against the service itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { until } from '../../src/testing/until.ts';
import { slowness } from '../slowness.ts';
import { findings } from './browser.ts';
import type { Console } from './object-kit.ts';
import { Book, books, complaints, withConsole } from './object-kit.ts';

const emma = {
  metadata: { name: 'emma', labels: { 'demo.example.com/shelf': 'a' } },
  spec: {
    title: 'Emma',
    year: 1815,
    tags: ['classic'],
    cover: { kind: 'image', url: 'https://example.com/a', alt: 'A' },
  },
};
const path = '/objects/books.library.example.com/emma';

async function store(console: Console, object: unknown = emma): Promise<void> {
  assert.equal((await console.fetch(books, { method: 'POST', body: object })).status, 201);
}

async function stored(console: Console, name = 'emma'): Promise<any> {
  return (await console.fetch(`${books}/${name}`)).body;
}

/** What somebody else does meanwhile. */
async function change(console: Console, patch: object): Promise<void> {
  const response = await fetch(`${console.url}${books}/emma`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${console.token}`, 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify(patch),
  });
  assert.equal(response.status, 200, await response.text());
}

const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

async function saveAndConfirm(page: Page): Promise<void> {
  await button(page, 'Save').click();
  await page.getByRole('dialog', { name: 'Review changes' }).getByRole('button', { name: 'Save changes' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

test('console: an object is created by its form, with what is wrong shown at its field', (context) =>
  withConsole(context, async (console) => {
    const page = await console.open('/create/books.library.example.com');
    await page.getByRole('heading', { level: 1, name: 'New Book' }).waitFor();
    await field(page, 'name').fill('Emma');
    await button(page, 'Create').click();
    const problems = page.getByRole('region', { name: 'Problems' });
    await problems.getByRole('link', { name: 'spec.title: is required' }).waitFor();
    await problems.getByRole('link', { name: /^metadata\.name: must consist of lower-case letters/ }).click();
    assert.equal(await page.evaluate('document.activeElement.getAttribute("aria-invalid")'), 'true');

    await field(page, 'name').fill('emma');
    await field(page, 'title').fill('Emma');
    await page.getByText('More (10)').click();
    await field(page, 'year').fill('3000');
    await field(page, 'isbn').focus();
    await page.getByText('✕ must be at most 2100').waitFor();
    assert.equal(await field(page, 'year').getAttribute('aria-invalid'), 'true');
    await field(page, 'year').fill('1815');

    await page.getByRole('checkbox', { name: 'published' }).click();
    await page.getByRole('combobox', { name: 'genre' }).selectOption('novel');
    await button(page, 'Add to tags').click();
    await field(page, 'tags 1').fill('classic');
    await button(page, 'Add to tags').click();
    await field(page, 'tags 2').fill('love');
    await button(page, 'Move up tags 2').click();
    await button(page, 'Add to prices').click();
    await field(page, 'prices key 1').fill('eur');
    await field(page, 'prices value 1').fill('9.50');
    await page.getByRole('combobox', { name: 'cover kind' }).selectOption({ label: 'image' });
    await field(page, 'url').fill('https://example.com/a');
    await field(page, 'alt').fill('A');
    await page.getByRole('combobox', { name: 'cover kind' }).selectOption({ label: 'color' });
    assert.equal(await field(page, 'alt').inputValue(), 'A');
    await page.getByRole('combobox', { name: 'cover kind' }).selectOption({ label: 'image' });
    assert.equal(await field(page, 'url').inputValue(), 'https://example.com/a');
    const labels = page.getByRole('group', { name: 'labels' });
    await labels.getByRole('button', { name: 'Add label' }).click();
    await labels.getByRole('textbox', { name: 'Key 1' }).fill('demo.example.com/shelf');
    await labels.getByRole('textbox', { name: 'Value 1' }).fill('a');
    await console.screenshot(page, 'create');
    await button(page, 'Create').click();
    await page.getByRole('heading', { level: 1, name: 'emma' }).waitFor();
    const { spec, metadata } = await stored(console);
    assert.deepEqual(spec, {
      title: 'Emma',
      year: 1815,
      published: true,
      genre: 'novel',
      tags: ['love', 'classic'],
      prices: { eur: 9.5 },
      cover: { kind: 'image', url: 'https://example.com/a', alt: 'A' },
    });
    assert.deepEqual(metadata.labels, { 'demo.example.com/shelf': 'a' });
  }));

test('console: an item or a row that is emptied stays and is typed anew; only its button takes it away', (context) =>
  withConsole(context, async (console) => {
    await store(console, { ...emma, spec: { ...emma.spec, tags: ['a', 'b'], prices: { eur: 9, usd: 5 } } });
    const page = await console.open(path);
    const retype = async (name: string, text: string) => {
      await field(page, name).click();
      await page.keyboard.press('End');
      await page.keyboard.press('Backspace');
      assert.equal(await field(page, name).inputValue(), '');
      await page.keyboard.type(text);
      assert.equal(await field(page, name).inputValue(), text);
    };
    await retype('tags 1', 'old');
    assert.equal(await field(page, 'tags 2').inputValue(), 'b');
    await retype('prices value 1', '12');
    assert.equal(await field(page, 'prices key 1').inputValue(), 'eur');
    assert.equal(await field(page, 'prices value 2').inputValue(), '5');
    await field(page, 'year').press('Control+a');
    await page.keyboard.type('-5');
    assert.equal(await field(page, 'year').inputValue(), '-5');
    await button(page, 'Remove tags 2').click();
    await saveAndConfirm(page);
    const { spec } = await stored(console);
    assert.deepEqual(spec, { ...emma.spec, tags: ['old'], prices: { eur: 12, usd: 5 }, year: -5 });
  }));

test('console: what is wrong comes and goes while no pointer is pressed, so that no click misses', (context) =>
  withConsole(context, async (console) => {
    const page = await console.open('/create/books.library.example.com');
    await page.getByRole('heading', { level: 1, name: 'New Book' }).waitFor();
    await button(page, 'Create').click();
    const problem = page.getByRole('link', { name: 'spec.title: is required' });
    await problem.waitFor();
    await button(page, 'Add label').hover();
    await page.mouse.down();
    await field(page, 'title').fill('Emma');
    await delay(600);
    assert.ok(await problem.isVisible());
    await page.mouse.up();
    await field(page, 'Key 1').waitFor();
    await problem.waitFor({ state: 'detached' });
  }));

test('console: an empty field says what the service puts there, and leaves it to the service', (context) =>
  withConsole(context, async (console) => {
    const page = await console.open('/create/authors.library.example.com');
    await field(page, 'name').fill('jane');
    assert.equal(await field(page, 'fullName').getAttribute('placeholder'), 'default: Anonymous');
    const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/authors'));
    await button(page, 'Create').click();
    const { spec } = (await sent).postDataJSON();
    assert.ok(!('fullName' in (spec ?? {})));
    await page.getByRole('heading', { level: 1, name: 'jane' }).waitFor();
    assert.equal(await field(page, 'fullName').inputValue(), 'Anonymous');
  }));

test('console: an edit is reviewed before it is saved; YAML, JSON and form are one draft; comments stay', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    const page = await console.open(path);
    await field(page, 'title').fill('Emma, a novel');
    await page.getByRole('tab', { name: 'YAML' }).click();
    const yaml = page.getByRole('textbox', { name: 'YAML' });
    await yaml.getByText('title: Emma, a novel').click();
    await page.keyboard.press('End');
    await page.keyboard.type(' # as printed');
    await page.keyboard.press('Enter');
    await page.keyboard.type('year: 1816');
    await page
      .getByRole('region', { name: 'Problems' })
      .getByText(/Map keys must be unique/)
      .waitFor();
    for (let i = 0; i < 'year: 1816'.length; i++) await page.keyboard.press('Backspace');
    await page.keyboard.type('published: true');
    await page.getByRole('tab', { name: 'JSON' }).click();
    await page.getByRole('textbox', { name: 'JSON' }).getByText('"published": true').waitFor();
    await page.getByRole('tab', { name: 'Form' }).click();
    assert.equal(await page.getByRole('checkbox', { name: 'published' }).isChecked(), true);
    await field(page, 'year').fill('1816');
    await page.getByRole('tab', { name: 'YAML' }).click();
    await yaml.getByText('# as printed').waitFor();
    await yaml.getByText('year: 1816').waitFor();
    await page.keyboard.press('Control+s');
    const review = page.getByRole('dialog', { name: 'Review changes' });
    const changes = review.getByRole('region', { name: 'Changes' });
    await changes.locator('del', { hasText: 'title: Emma' }).waitFor();
    await changes.locator('ins', { hasText: 'title: Emma, a novel' }).waitFor();
    await console.screenshot(page, 'review');
    await review.getByRole('button', { name: 'Members' }).click();
    await changes.getByRole('row', { name: '/spec/year 1815 1816' }).waitFor();
    await review.getByRole('button', { name: 'Back to editing' }).click();
    await button(page, 'Save').click();
    await page.keyboard.press('Control+s');
    await page.getByText('Version 1', { exact: true }).waitFor();
    assert.equal(await button(page, 'Save').isDisabled(), true);
    assert.deepEqual((await stored(console)).spec, {
      ...emma.spec,
      title: 'Emma, a novel',
      year: 1816,
      published: true,
    });
  }));

test('console: two people change one object - what fits is merged, the rest is chosen, nothing is lost', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    const mine = await console.open(path);
    const other = await console.open(path);
    await field(mine, 'title').fill('Emma, a novel');
    await button(mine, 'Add to tags').click();
    await field(mine, 'tags 2').fill('mine');
    await field(other, 'title').fill('EMMA');
    await field(other, 'year').fill('1816');
    await saveAndConfirm(other);

    const bar = mine.getByRole('region', { name: 'Newer version' });
    await bar.waitFor();
    assert.equal(await field(mine, 'title').inputValue(), 'Emma, a novel');
    assert.equal(await field(mine, 'year').inputValue(), '1815');
    await button(mine, 'Save').click();
    await mine.getByRole('dialog', { name: 'Review changes' }).getByRole('button', { name: 'Save changes' }).click();
    const dialog = mine.getByRole('dialog', { name: 'Resolve conflict' });
    await dialog.getByText('/spec/tags (yours)').waitFor();
    await dialog.getByText('/spec/year (theirs)').waitFor();
    const save = dialog.getByRole('button', { name: 'Merge and save' });
    assert.equal(await save.isDisabled(), true);
    await console.screenshot(mine, 'conflict');
    const choice = dialog.getByRole('radiogroup', { name: '/spec/title' });
    await choice.getByRole('radio', { name: /^Theirs .*EMMA/ }).check();

    // A third change comes while the choice is open: the conflict begins again, with what was chosen.
    await change(console, { spec: { published: true } });
    await save.click();
    await dialog.getByText('/spec/published (theirs)').waitFor();
    assert.equal(await choice.isVisible(), false);
    await save.click();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual((await stored(console)).spec, {
      ...emma.spec,
      title: 'EMMA',
      year: 1816,
      tags: ['classic', 'mine'],
      published: true,
    });
    await mine.getByText('Version 3', { exact: true }).waitFor();
  }));

test('console: without edits the fields follow what others save; with edits "Take over" merges', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    const page = await console.open(path);
    await field(page, 'title').waitFor();
    await page.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor();
    await change(console, { spec: { title: 'EMMA' } });
    await until(async () => (await field(page, 'title').inputValue()) === 'EMMA');
    await field(page, 'year').fill('1900');
    await change(console, { spec: { published: true } });
    const bar = page.getByRole('region', { name: 'Newer version' });
    await bar.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('dialog', { name: 'Newer version' }).locator('ins', { hasText: 'published: true' }).waitFor();
    await page.keyboard.press('Escape');
    await bar.getByRole('button', { name: 'Take over' }).click();
    await page.getByRole('dialog', { name: 'Resolve conflict' }).getByRole('button', { name: 'Merge' }).click();
    assert.equal(await page.getByRole('checkbox', { name: 'published' }).isChecked(), true);
    assert.equal(await field(page, 'year').inputValue(), '1900');
    await saveAndConfirm(page);
    assert.deepEqual((await stored(console)).spec, { ...emma.spec, title: 'EMMA', year: 1900, published: true });
  }));

test('console: unsaved text survives a reload, the end of the session and a restart of the service', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    const page = await console.open(path);
    await field(page, 'title').fill('Written before');
    await page.reload();
    await page.getByText('These are your unsaved changes from before.').waitFor();
    assert.equal(await field(page, 'title').inputValue(), 'Written before');

    await page.evaluate("fetch('/v3/session', { method: 'DELETE', headers: { 'kindred-console': '1' } })");
    const signIn = page.getByRole('dialog', { name: 'Sign in to Kindred' });
    await signIn.getByLabel('Token').fill(console.token);
    await signIn.getByRole('button', { name: 'Sign in' }).click();
    await signIn.waitFor({ state: 'detached' });
    assert.equal(await field(page, 'title').inputValue(), 'Written before');

    await console.restart(async () => {
      await field(page, 'title').fill('Written during');
      await page
        .getByRole('status', { name: 'Connection' })
        .getByText(/Offline|Reconnecting/)
        .waitFor();
    });
    await page.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor({ timeout: 30_000 });
    assert.equal(await field(page, 'title').inputValue(), 'Written during');
    await saveAndConfirm(page);
    assert.equal((await stored(console)).spec.title, 'Written during');
    assert.equal(
      await page.evaluate("Object.keys(sessionStorage).filter((key) => key.startsWith('kindred-draft')).length"),
      0,
    );
  }));

test('console: the page says when one of its files cannot be loaded, and a reload keeps unsaved changes', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    const page = await console.open(path);
    await field(page, 'title').fill('Typed before the upgrade');
    await page.route('**/assets/ReviewDialog-*.js', (route) => route.fulfill({ status: 404 }));
    await page.getByRole('button', { name: 'Save' }).click();
    const notices = page.getByRole('region', { name: 'Notifications' });
    await notices.getByText('A part of this page could not be loaded. Reload the page.').waitFor();
    // The browser says it, too.
    for (const one of complaints.splice(0)) assert.match(one, /Failed to fetch dynamically imported module/);
    await page.unroute('**/assets/ReviewDialog-*.js');
    await page.reload();
    assert.equal(await field(page, 'title').inputValue(), 'Typed before the upgrade');
    await saveAndConfirm(page);
    assert.equal((await stored(console)).spec.title, 'Typed before the upgrade');
  }));

test('console: leaving unsaved changes asks; a deleted object keeps what was typed, and can be created again', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    const page = await console.open(path);
    await field(page, 'title').fill('Mine');
    await page.getByRole('link', { name: 'Duplicate' }).click();
    const leave = page.getByRole('dialog', { name: 'Leave without saving?' });
    await leave.getByRole('button', { name: 'Stay' }).click();
    assert.equal(await field(page, 'title').inputValue(), 'Mine');
    await console.fetch(`${books}/emma`, { method: 'DELETE' });
    await page.getByText('was deleted').waitFor();
    assert.equal(await field(page, 'title').inputValue(), 'Mine');
    await button(page, 'Create again').click();
    await until(async () => (await stored(console)).spec?.title === 'Mine');
    await button(page, 'Delete…').click();
    const dialog = page.getByRole('dialog', { name: 'Delete emma?' });
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Book' }).waitFor();
    assert.equal((await console.fetch(`${books}/emma`)).status, 404);
  }));

/** What a controller writes. */
async function writeStatus(console: Console, status: object): Promise<void> {
  const body = { ...(await stored(console)), status };
  const response = await console.fetch(`${books}/emma/status`, { method: 'PUT', body });
  assert.equal(response.status, 200, JSON.stringify(response.body));
}

test('console: a status is reviewed, merged with what others wrote, and kept while it is not saved', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    await writeStatus(console, { lent: false, reader: 'ada' });
    const page = await console.open(`${path}?tab=status`);
    await field(page, 'reader').fill('bob');
    await page.getByRole('tab', { name: 'Form' }).click();
    await page.getByRole('tab', { name: 'Status' }).click();
    assert.equal(await field(page, 'reader').inputValue(), 'bob');
    await page.getByRole('link', { name: 'Duplicate' }).click();
    await page.getByRole('dialog', { name: 'Leave without saving?' }).getByRole('button', { name: 'Stay' }).click();
    await page.reload();
    await until(async () => (await field(page, 'reader').inputValue()) === 'bob');

    await page.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor();
    await change(console, { spec: { year: 1816 } });
    await page.getByText('Version 2', { exact: true }).waitFor();
    assert.equal(await page.getByRole('region', { name: 'Newer version' }).count(), 0);
    await writeStatus(console, { lent: true, reader: 'ada' });
    await page.getByRole('region', { name: 'Newer version' }).waitFor();
    await page.keyboard.press('Control+s');
    const review = page.getByRole('dialog', { name: 'Review changes' });
    await review.locator('ins', { hasText: 'reader: bob' }).waitFor();
    await review.getByRole('button', { name: 'Save changes' }).click();
    const conflict = page.getByRole('dialog', { name: 'Resolve conflict' });
    await conflict.getByText('/status/lent (theirs)').waitFor();
    await conflict.getByRole('button', { name: 'Merge and save' }).click();
    await conflict.waitFor({ state: 'detached' });
    const { spec, status } = await stored(console);
    assert.deepEqual([spec.year, status], [1816, { lent: true, reader: 'bob' }]);

    await page.route('**/emma/status', (route) => {
      const errors = [{ pointer: '/status/reader', field: 'status.reader', message: 'is not a reader' }];
      const json = { code: 'Invalid', status: 422, detail: 'Wrong', errors };
      return route.fulfill({ status: 422, contentType: 'application/problem+json', json });
    });
    await field(page, 'reader').fill('eve');
    await button(page, 'Save status').click();
    await review.getByRole('button', { name: 'Save changes' }).click();
    await page.getByRole('region', { name: 'Problems' }).getByText('status.reader: is not a reader').waitFor();
    assert.equal(await field(page, 'reader').getAttribute('aria-invalid'), 'true');
  }));

test('console: a status that is written meanwhile disturbs no edit, and its save asks nothing', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    const page = await console.open(path);
    await field(page, 'title').waitFor();
    await page.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor();
    await writeStatus(console, { lent: true });
    await page.getByText('Version 1', { exact: true }).waitFor();
    assert.equal(await page.getByText('Somebody saved a newer version').count(), 0);
    await field(page, 'title').fill('Mine');
    await writeStatus(console, { lent: false });
    await page.getByText('Version 2', { exact: true }).waitFor();
    assert.equal(await page.getByRole('region', { name: 'Newer version' }).count(), 0);
    await button(page, 'Save').click();
    const review = page.getByRole('dialog', { name: 'Review changes' });
    assert.equal(await review.locator('ins, del').filter({ hasText: 'lent' }).count(), 0);
    // One that the page does not know of yet.
    await page.route(`**${books}?watch*`, (route) => route.abort());
    await writeStatus(console, { lent: true, reader: 'ada' });
    await review.getByRole('button', { name: 'Save changes' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const { spec, status } = await stored(console);
    assert.deepEqual([spec.title, status], ['Mine', { lent: true, reader: 'ada' }]);
  }));

test('console: a text that is no YAML stays when the tab changes and when the page is loaded again', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    const page = await console.open(`${path}?tab=yaml`);
    const yaml = page.getByRole('textbox', { name: 'YAML' });
    await yaml.getByText('title: Emma').click();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.keyboard.type('year: 1816');
    const problem = page.getByRole('region', { name: 'Problems' }).getByText(/Map keys must be unique/);
    await problem.waitFor();
    await page.getByRole('tab', { name: 'Form' }).click();
    assert.notEqual(await field(page, 'title').getAttribute('readonly'), null);
    await problem.click();
    await yaml.getByText('year: 1816').waitFor();
    await page.getByRole('tab', { name: 'JSON' }).click();
    await page.getByRole('textbox', { name: 'JSON' }).waitFor();
    await page.reload();
    await button(page, 'Save').click();
    await yaml.getByText('year: 1816').waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
    await yaml.getByText('year: 1816').click();
    await page.keyboard.press('Control+Shift+k');
    await problem.waitFor({ state: 'detached' });
    await page.getByRole('tab', { name: 'Form' }).click();
    assert.equal(await field(page, 'title').getAttribute('readonly'), null);
    assert.equal(await button(page, 'Save').isDisabled(), true);
  }));

test('console: rows and YAML that the object cannot have stay when the tab changes and when the page is loaded again', (context) =>
  withConsole(context, async (console) => {
    await store(console, { ...emma, spec: { ...emma.spec, prices: { eur: 9 }, extra: { a: 1 } } });
    const page = await console.open(path);
    await button(page, 'Add label').click();
    await field(page, 'Key 2').fill('demo.example.com/shelf');
    await field(page, 'Value 2').fill('b');
    await button(page, 'Add to prices').click();
    await field(page, 'prices key 2').fill('eur');
    const extra = page.getByRole('textbox', { name: 'extra' });
    await extra.click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('a: 2');
    const problems = page.getByRole('region', { name: 'Problems' });
    await problems.getByText(/^spec\.extra: This is not YAML/).waitFor();
    for (const again of [
      async () => {
        await page.getByRole('tab', { name: 'JSON' }).click();
        await page.getByRole('textbox', { name: 'JSON' }).waitFor();
        await page.getByRole('tab', { name: 'Form' }).click();
      },
      () => page.reload(),
    ]) {
      await again();
      await extra.getByText('a: 2').waitFor();
      assert.equal(await field(page, 'Key 2').inputValue(), 'demo.example.com/shelf');
      assert.equal(await field(page, 'Key 2').getAttribute('aria-invalid'), 'true');
      assert.equal(await field(page, 'Value 2').inputValue(), 'b');
      assert.equal(await field(page, 'prices key 2').inputValue(), 'eur');
      for (const name of ['Key 2', 'prices key 2']) {
        const described = await field(page, name).getAttribute('aria-describedby');
        assert.match((await page.locator(`[id="${described}"]`).textContent()) ?? '', /stands here twice/);
      }
      await button(page, 'Save').click();
      await problems.getByText('3 problems').waitFor();
      assert.equal(await page.getByRole('dialog').count(), 0);
    }
    await button(page, 'Remove label 2').click();
    await button(page, 'Remove prices 2').click();
    await extra.getByText('a: 2').click();
    await page.keyboard.press('Control+Shift+k');
    await problems.waitFor({ state: 'detached' });
    assert.equal(await button(page, 'Save').isDisabled(), true);
  }));

test('console: a copy that is being written survives a reload, apart from a new object', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    const page = await console.open('/create/books.library.example.com?from=emma');
    await field(page, 'title').fill('Emma, again');
    await page.reload();
    await page.getByText('These are your unsaved changes from before.').waitFor();
    assert.equal(await field(page, 'title').inputValue(), 'Emma, again');
    assert.equal(await field(page, 'year').inputValue(), '1815');
    const fresh = await console.open('/create/books.library.example.com');
    assert.equal(await field(fresh, 'title').inputValue(), '');
    await button(page, 'Discard them').click();
    await until(async () => (await field(page, 'title').inputValue()) === 'Emma');
  }));

test('console: unsaved changes of an object that was deleted are there after a reload, and leaving them asks', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    const page = await console.open(path);
    await field(page, 'title').fill('Mine');
    await console.fetch(`${books}/emma`, { method: 'DELETE' });
    await page.getByText('was deleted').waitFor();
    await page.getByRole('link', { name: 'Duplicate' }).click();
    await page.getByRole('dialog', { name: 'Leave without saving?' }).getByRole('button', { name: 'Stay' }).click();
    await page.reload();
    await page.getByText('was deleted').waitFor();
    assert.equal(await field(page, 'title').inputValue(), 'Mine');
    await button(page, 'Create again').click();
    await until(async () => (await stored(console)).spec?.title === 'Mine');
  }));

test('console: a later conflict begins without the choices of one that has ended', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    const page = await console.open(path);
    const dialog = page.getByRole('dialog', { name: 'Resolve conflict' });
    const choice = dialog.getByRole('radiogroup', { name: '/spec/title' }).getByRole('radio', { name: /^Theirs/ });
    const bar = page.getByRole('region', { name: 'Newer version' });
    const meet = async (mine: string, theirs: string) => {
      await page.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor();
      await field(page, 'title').fill(mine);
      await change(console, { spec: { title: theirs } });
      await bar.getByRole('button', { name: 'Take over' }).click();
      assert.equal(await choice.isChecked(), false);
      assert.equal(await dialog.getByRole('button', { name: 'Merge', exact: true }).isDisabled(), true);
      await choice.check();
    };
    await meet('one', 'ONE');
    await dialog.getByRole('button', { name: 'Merge', exact: true }).click();
    await meet('two', 'TWO');
    await dialog.getByRole('button', { name: 'Discard my changes' }).click();
    await meet('three', 'THREE');
  }));

test('console: what was reviewed is not sent while the service is away', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    const page = await console.open(path);
    await field(page, 'title').fill('Mine');
    await button(page, 'Save').click();
    const review = page.getByRole('dialog', { name: 'Review changes' });
    const confirm = review.getByRole('button', { name: 'Save changes' });
    await confirm.waitFor();
    await console.restart(async () => {
      await until(() => confirm.isDisabled());
    });
    await until(() => confirm.isEnabled(), { timeout: 30_000 });
    await confirm.click();
    await page.getByText('Version 1', { exact: true }).waitFor();
  }));

test('console: an object of a model that is no longer served was not deleted', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    const page = await console.open(path);
    await field(page, 'title').fill('Mine');
    await page.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor();
    const { schemeManager } = console.service;
    schemeManager.unregister(schemeManager.get(Book.gvk));
    const alert = page.getByRole('alert').filter({ hasText: 'A plugin that declares it may be stopped.' });
    await alert.getByRole('link', { name: 'See the plugins' }).waitFor();
    assert.equal(await page.getByText('was deleted').count(), 0);
    assert.equal(await field(page, 'title').inputValue(), 'Mine');
    schemeManager.register(Book);
    await alert.waitFor({ state: 'hidden' });
    await saveAndConfirm(page);
    assert.equal((await stored(console)).spec.title, 'Mine');
  }));

test('console: each address with a field puts the focus on it, in the form and in the texts', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    const page = await console.open(`${path}#/spec/year`);
    const focused = () => page.evaluate('document.activeElement.value');
    await until(async () => (await focused()) === '1815');
    await page.evaluate("location.hash = '#/spec/title'");
    await until(async () => (await focused()) === 'Emma');
    await page.goto(`${console.url}/console${path}?tab=yaml#/spec/year`);
    const yaml = page.getByRole('textbox', { name: 'YAML' });
    await yaml.and(page.locator(':focus')).waitFor();
    await page.keyboard.press('End');
    await page.keyboard.type('0');
    await yaml.getByText('year: 18150').waitFor();
    for (let i = 0; i < 2; i++) await page.keyboard.press('Backspace');
    await page.keyboard.type('6');
    // Caps Lock makes the key a capital letter.
    await page.evaluate(
      "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'S', ctrlKey: true, bubbles: true }))",
    );
    await page.getByRole('dialog', { name: 'Review changes' }).waitFor();
  }));

test('console: what the service alone knows is shown at its field - a value that is taken', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    await store(console, { metadata: { name: 'persuasion' }, spec: { title: 'Persuasion', isbn: '0-123-45678-9' } });
    const page = await console.open(path);
    await field(page, 'isbn').fill('0-123-45678-9');
    await button(page, 'Save').click();
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page
      .getByRole('region', { name: 'Problems' })
      .getByRole('link', { name: /^spec\.isbn: / })
      .waitFor();
    assert.equal(await field(page, 'isbn').getAttribute('aria-invalid'), 'true');
    assert.equal(await page.evaluate('document.activeElement.value'), '0-123-45678-9');
  }));

test('console: by keyboard alone, an object is opened, changed, reviewed and saved', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    const page = await console.open(path);
    await field(page, 'title').waitFor();
    const isIn = (name: string) =>
      page.evaluate(`document.activeElement.labels?.[0]?.textContent.trim().startsWith('${name}') === true`);
    for (let i = 0; i < 60 && !(await isIn('title')); i++) await page.keyboard.press('Tab');
    assert.ok(await isIn('title'));
    await page.keyboard.press('Control+a');
    await page.keyboard.type('By keyboard');
    await page.keyboard.press('Control+s');
    await page.getByRole('dialog', { name: 'Review changes' }).waitFor();
    await page.keyboard.press('Control+Enter');
    await until(async () => (await stored(console)).spec.title === 'By keyboard');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }));

test('console: documents are checked and imported, each with what became of it', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    const page = await console.open('/import');
    const apiVersion = 'apiVersion: library.example.com/v1alpha1';
    await page
      .getByRole('textbox', { name: 'Documents' })
      .fill(
        [
          `${apiVersion}\nkind: Book\nmetadata: { name: emma }\nspec: { title: EMMA }`,
          `${apiVersion}\nkind: Book\nmetadata: { name: persuasion }\nspec: { title: Persuasion }`,
          `${apiVersion}\nkind: Book\nmetadata: { name: wrong }\nspec: { year: 1 }`,
          `${apiVersion}\nkind: Author\nmetadata: { name: jane }\nspec: { fullName: Jane Austen }`,
          'kind: Nothing',
        ].join('\n---\n'),
      );
    await button(page, 'Check').click();
    const results = page.getByRole('table', { name: 'Results' });
    const row = (name: string) => results.getByRole('row', { name: new RegExp(name) });
    await row('Book/emma').getByText('changed').waitFor();
    await row('Book/persuasion').getByText('new', { exact: true }).waitFor();
    await row('Book/wrong').getByText('refused').waitFor();
    await row('Author/jane').getByText('new', { exact: true }).waitFor();
    assert.equal((await console.fetch(`${books}/persuasion`)).status, 404);
    await console.screenshot(page, 'import');
    await button(page, 'Import').click();
    await row('Book/emma').getByText('updated').waitFor();
    await row('Book/persuasion').getByText('created').waitFor();
    assert.equal((await stored(console)).spec.title, 'EMMA');
    assert.equal((await stored(console, 'persuasion')).spec.title, 'Persuasion');
  }));

test('console: values of a secret are hidden until they are asked for, and are in no draft and no review', (context) =>
  withConsole(context, async (console) => {
    const secret = { metadata: { name: 'door' }, stringData: { pin: 'very-secret' } };
    assert.equal((await console.fetch('/api/v1alpha1/secrets', { method: 'POST', body: secret })).status, 201);
    const stored = Buffer.from('very-secret').toString('base64');
    const page = await console.open('/objects/secrets/door');
    const value = page.getByLabel('data value 1', { exact: true });
    assert.equal(await value.getAttribute('type'), 'password');
    await page.getByRole('button', { name: 'Reveal data value 1' }).click();
    assert.equal(await value.inputValue(), stored);
    await page.getByRole('tab', { name: 'YAML' }).click();
    await page.getByRole('button', { name: 'Reveal YAML' }).waitFor();
    assert.equal((await page.content()).includes(stored), false);
    await page.getByRole('tab', { name: 'Form' }).click();
    await value.fill('b3RoZXI=');
    await button(page, 'Save').click();
    const review = page.getByRole('dialog', { name: 'Review changes' });
    await review.getByRole('row', { name: '/data/pin •••••• ••••••' }).waitFor();
    // A draft is kept at once when the page goes.
    await page.evaluate("dispatchEvent(new Event('pagehide'))");
    assert.equal(
      await page.evaluate("Object.keys(sessionStorage).filter((key) => key.startsWith('kindred-draft')).length"),
      0,
    );
    await review.getByRole('button', { name: 'Save changes' }).click();
    await review.waitFor({ state: 'detached' });
  }));

test('console: who may only read sees a read-only form and no action that would be refused', (context) =>
  withConsole(context, async (console) => {
    await store(console);
    const core = '/api/v1alpha1';
    const rules = [{ apiGroups: ['library.example.com'], resources: ['*'], verbs: ['get', 'list', 'watch'] }];
    const create = async (plural: string, body: object) => {
      const { status, body: created } = await console.fetch(`${core}/${plural}`, { method: 'POST', body });
      assert.equal(status, 201);
      return created;
    };
    await create('roles', { metadata: { name: 'reader' }, rules });
    await create('users', { metadata: { name: 'rita' }, spec: {} });
    const bound = { roleRef: { kind: 'Role', name: 'reader' }, subjects: [{ kind: 'User', name: 'rita' }] };
    await create('rolebindings', { metadata: { name: 'rita' }, ...bound });
    const { status } = await create('personalaccesstokens', { metadata: { name: 'rita' }, spec: { user: 'rita' } });
    const page = await console.browser.newPage();
    await page.goto(`${console.url}/console/sign-in?return=${path}`);
    await page.getByLabel('Token').fill(status.token);
    await page.keyboard.press('Enter');
    await page.getByText('You may not change this object: the form is read-only.').waitFor();
    assert.notEqual(await field(page, 'title').getAttribute('readonly'), null);
    assert.equal(await page.getByRole('checkbox', { name: 'published' }).isDisabled(), true);
    assert.equal(await page.getByRole('button', { name: /^(Save|Delete…|Add )/ }).count(), 0);
    assert.equal(await page.getByRole('link', { name: 'Duplicate' }).count(), 0);
  }));

test('console: a form of 300 fields and 80 kinds takes less than 16 ms for a key', (context) =>
  withConsole(context, async (console) => {
    const page = await console.open('/create/wides.library.example.com');
    await field(page, 'text299').waitFor();
    await page.getByRole('combobox', { name: 'union kind' }).selectOption({ label: 'kind40' });
    const client = await page.context().newCDPSession(page);
    // Processor time of the page, with what runs after the event's own script.
    await client.send('Performance.enable', { timeDomain: 'threadTicks' });
    const spent = async () => {
      const { metrics } = await client.send('Performance.getMetrics');
      return metrics.find(({ name }) => name === 'TaskDuration')!.value * 1_000;
    };
    const medianOfKeys = async () => {
      const works: number[] = [];
      for (const name of ['text150', 'size']) {
        await field(page, name).focus();
        for (const key of '12345678') {
          const before = await spent();
          await page.keyboard.press(key);
          await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
          works.push((await spent()) - before);
        }
      }
      return works.sort((one, other) => one - other)[works.length / 2]!;
    };
    // Others take caches and clock speed even from processor time: the quietest of several tries counts.
    const tries: number[] = [];
    while (tries.length < 5 && !(tries.at(-1)! <= 16)) tries.push(await medianOfKeys());
    context.diagnostic(`work for a key, medians: ${tries.map((one) => one.toFixed(1)).join(', ')} ms`);
    assert.ok(Math.min(...tries) <= 16 * slowness(), `${tries.join(', ')} ms`);
  }));

for (const [language, scheme] of [
  ['en-US', 'light'],
  ['zh-CN', 'dark'],
  ['zh-CN', 'light'],
  ['en-US', 'dark'],
] as const) {
  test(`console: the screens of an object are accessible, in ${language} and ${scheme}`, (context) =>
    withConsole(context, async (console) => {
      await store(console);
      const kept = { 'kindred-language': language.startsWith('zh') ? 'zh-CN' : 'en', 'kindred-theme': scheme };
      await console.browser.addInitScript(
        `for (const [key, value] of Object.entries(${JSON.stringify(kept)})) localStorage.setItem(key, value);`,
      );
      const page = await console.open(path);
      const names =
        language === 'zh-CN'
          ? ['表单', 'YAML', 'JSON', '状态', '事件', '关联', '访问控制']
          : ['Form', 'YAML', 'JSON', 'Status', 'Events', 'Related', 'Access'];
      for (const name of names) {
        await page.getByRole('tab', { name }).click();
        await page.getByRole('tabpanel').waitFor();
        await page.getByRole('tabpanel').locator('input, [role=textbox], p, li, table').first().waitFor();
        await console.screenshot(page, `object-${name}-${language}-${scheme}`);
        assert.deepEqual(await findings(page), [], `${name}, ${language}, ${scheme}`);
      }
      for (const other of ['/create/books.library.example.com', '/import']) {
        await page.goto(`${console.url}/console${other}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        assert.deepEqual(await findings(page), [], `${other}, ${language}, ${scheme}`);
      }
      assert.deepEqual(complaints, []);
    }));
}
