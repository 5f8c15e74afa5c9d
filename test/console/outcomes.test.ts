/** What became of a write that did not simply succeed, and of objects that are large or stay for their finalizers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bookOf, booksList, booksPath, findings, withConsole } from './browser.ts';

const emma = `/console/objects/books.library.example.com/emma`;

test('console: a name that is taken is shown at its field, with a link to the other object', async (context) => {
  await withConsole(context, async ({ tab, admin }) => {
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const page = await tab('/console/create/books.library.example.com');
    const name = page.getByRole('textbox', { name: 'name', exact: true });
    await name.fill('emma');
    await page.getByRole('textbox', { name: 'title' }).fill('Emma');
    await page.getByRole('textbox', { name: 'year' }).fill('1815');
    await page.getByRole('button', { name: 'Create' }).click();
    const problems = page.getByRole('region', { name: 'Problems' });
    await problems.getByRole('link', { name: /^metadata\.name: / }).waitFor();
    assert.equal(await name.getAttribute('aria-invalid'), 'true');
    assert.deepEqual(await findings(page), []);
    await problems.getByRole('link', { name: 'Open emma' }).waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'title' }).inputValue(), 'Emma');
  });
});

for (const isStored of [true, false]) {
  test(`console: an answer that does not come is looked after: it was ${isStored ? '' : 'not '}stored`, async (context) => {
    await withConsole(context, async ({ tab, admin }) => {
      await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
      const page = await tab(emma);
      await page.getByRole('textbox', { name: 'title' }).fill('EMMA');
      let writes = 0;
      await page.route(`**${booksPath}/emma`, async (route) => {
        if (route.request().method() !== 'PUT') return route.continue();
        writes++;
        if (isStored) {
          const { spec } = route.request().postDataJSON();
          const { status } = await admin('PUT', `${booksPath}/emma`, { ...bookOf('emma', '', 0), spec });
          assert.equal(status, 200);
        }
        const json = { code: 'UnknownOutcome', status: 504, detail: 'Nobody knows' };
        return route.fulfill({ status: 504, contentType: 'application/problem+json', json });
      });
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Save changes' }).click();
      const said = isStored ? /It was: version 1/ : /It was not: save again/;
      await page.getByRole('region', { name: 'Notifications' }).getByText(said).waitFor();
      assert.equal(writes, 1);
      assert.equal((await admin('GET', `${booksPath}/emma`)).body.spec.title, isStored ? 'EMMA' : 'Emma');
      const review = page.getByRole('dialog', { name: 'Review changes' });
      if (isStored) await review.waitFor({ state: 'detached' });
      else await review.getByRole('button', { name: 'Back to editing' }).click();
      assert.equal(await page.getByRole('textbox', { name: 'title' }).inputValue(), 'EMMA');
    });
  });
}

test('console: a write was stored, too, when the service filled in a default or somebody has changed another member', async (context) => {
  await withConsole(context, async ({ tab, admin }) => {
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const json = { code: 'UnknownOutcome', status: 504, detail: 'Nobody knows' };
    const unknown = { status: 504, contentType: 'application/problem+json', json };
    const page = await tab(emma);
    await page.getByRole('textbox', { name: 'title' }).fill('EMMA');
    await page.route(`**${booksPath}/emma`, async (route) => {
      if (route.request().method() !== 'PUT') return route.continue();
      await admin('PUT', `${booksPath}/emma`, bookOf('emma', 'EMMA', 1816));
      return route.fulfill(unknown);
    });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save changes' }).click();
    const notices = page.getByRole('region', { name: 'Notifications' });
    await notices.getByText(/It was: version 1/).waitFor();

    await page.goto(page.url().replace('/objects/', '/create/').replace('/emma', ''));
    const name = page.getByRole('textbox', { name: 'name', exact: true });
    await name.fill('persuasion');
    await page.getByRole('textbox', { name: 'title' }).fill('Persuasion');
    await page.getByRole('textbox', { name: 'year' }).fill('1817');
    let isStored = false;
    await page.route(`**${booksPath}`, async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      const body = isStored ? route.request().postDataJSON() : bookOf('persuasion', 'Of somebody else', 2000);
      await admin('POST', booksPath, { ...body, metadata: { ...body.metadata, labels: { 'a.example.com/b': 'c' } } });
      return route.fulfill(unknown);
    });
    await page.getByRole('button', { name: 'Create' }).click();
    await notices.getByText(/It was not: create it again/).waitFor();
    isStored = true;
    await name.fill('persuasion-2');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { level: 1, name: 'persuasion-2' }).waitFor();
  });
});

for (const [status, code] of [
  [413, 'PayloadTooLarge'],
  [507, 'StorageFull'],
  [500, 'InternalError'],
  [429, 'TooManyRequests'],
] as const) {
  test(`console: ${code} leaves the draft as it is, and says what support needs to know`, async (context) => {
    await withConsole(context, async ({ tab, admin }) => {
      await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
      const page = await tab(emma);
      await page.getByRole('textbox', { name: 'title' }).fill('EMMA');
      await page.route(`**${booksPath}/emma`, (route) => {
        if (route.request().method() !== 'PUT') return route.continue();
        const json = { code, status, detail: `Because of ${code}`, requestId: 'r-7' };
        const headers = { 'content-type': 'application/problem+json', 'retry-after': '2' };
        return route.fulfill({ status, headers, json });
      });
      await page.getByRole('button', { name: 'Save' }).click();
      const review = page.getByRole('dialog', { name: 'Review changes' });
      await review.getByRole('button', { name: 'Save changes' }).click();
      if (status === 429)
        await page
          .getByText(/Save again in \d s/)
          .first()
          .waitFor();
      else {
        const alert = page.getByRole('alert').filter({ hasText: code });
        await alert.getByText(`Because of ${code}`).waitFor();
        await alert.getByText('r-7').waitFor();
        await alert.getByRole('button', { name: 'Copy details' }).waitFor();
      }
      assert.deepEqual(await findings(page), []);
      await page.keyboard.press('Escape');
      assert.equal(await page.getByRole('textbox', { name: 'title' }).inputValue(), 'EMMA');
      await page.unroute(`**${booksPath}/emma`);
      const save = page.getByRole('button', { name: 'Save', exact: true });
      if (await save.isVisible()) await save.click();
      await review.getByRole('button', { name: 'Save changes' }).click();
      await page.getByText('Version 1', { exact: true }).waitFor();
    });
  });
}

test('console: a deletion lists the finalizers; the object stays in sight, struck through in its list, until they are gone', async (context) => {
  await withConsole(context, async ({ tab, admin }) => {
    const kept = { ...bookOf('emma', 'Emma', 1815) };
    await admin('POST', booksPath, { ...kept, metadata: { name: 'emma', finalizers: ['example.com/archive'] } });
    const page = await tab(emma);
    await page.getByRole('button', { name: 'Delete…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete emma?' });
    await dialog.getByText('example.com/archive').waitFor();
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText(/^Is being deleted/).waitFor();
    assert.deepEqual(await findings(page), []);
    const list = await tab(booksList);
    const row = list.getByRole('row').filter({ has: list.getByRole('link', { name: 'emma' }) });
    await row.getByText('deleting', { exact: true }).waitFor();
    assert.deepEqual(await findings(list), []);
    await page.getByRole('button', { name: 'Remove example.com/archive' }).first().click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save changes' }).click();
    await row.waitFor({ state: 'detached' });
    assert.equal((await admin('GET', `${booksPath}/emma`)).status, 404);
  });
});

test('console: a large object opens as YAML, a long cell is cut, and both can be had whole', async (context) => {
  await withConsole(context, async ({ tab, admin }) => {
    const tags = Array.from({ length: 9_000 }, (_, at) => `tag number ${at} of a large object`);
    const large = bookOf('emma', 'Emma', 1815);
    assert.equal((await admin('POST', booksPath, { ...large, spec: { ...large.spec, tags } })).status, 201);
    const list = await tab(`${booksList}?columns=spec.title,spec.tags`);
    await list.getByRole('link', { name: 'emma' }).waitFor();
    const cells = await list.getByRole('gridcell').allTextContents();
    assert.ok(
      cells.every((text) => text.trim().length <= 220),
      `${Math.max(...cells.map((one) => one.length))}`,
    );
    const page = await tab(emma);
    assert.equal(await page.getByRole('tab', { selected: true }).textContent(), 'YAML');
    await page.getByRole('textbox', { name: 'YAML' }).getByText('title: Emma').waitFor();
    await page.getByRole('tab', { name: 'Form' }).click();
    await page.getByRole('textbox', { name: 'title' }).fill('EMMA');
    assert.ok((await page.getByRole('textbox', { name: /^tags \d/ }).count()) <= 60);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Version 1', { exact: true }).waitFor();
    assert.equal((await admin('GET', `${booksPath}/emma`)).body.spec.tags.length, 9_000);
  });
});

test('console: revoking the token during an edit ends the session at once, and nothing that was typed is lost', async (context) => {
  await withConsole(context, async ({ tab, admin, person, token }) => {
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const rita = await person('rita', ['books-library-example-com-manage']);
    const page = await tab(emma, { as: rita.token });
    await page.getByRole('textbox', { name: 'title' }).fill('Written by rita');
    const path = '/api/v1alpha1/personalaccesstokens';
    const { body } = await admin('GET', `${path}?fieldSelector=spec.user=rita`);
    for (const { metadata } of body.items) {
      if (metadata.name.startsWith('rita-')) await admin('DELETE', `${path}/${metadata.name}`);
    }
    const dialog = page.getByRole('dialog', { name: 'Sign in to Kindred' });
    await dialog.waitFor({ timeout: 5_000 });
    assert.equal(
      await page.getByRole('textbox', { name: 'title', includeHidden: true }).inputValue(),
      'Written by rita',
    );
    await dialog.getByLabel('Token').fill(token!);
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Version 1', { exact: true }).waitFor();
    assert.equal((await admin('GET', `${booksPath}/emma`)).body.spec.title, 'Written by rita');
  });
});
