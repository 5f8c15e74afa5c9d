/** What a screen says when something is missing, slow, away or refused, and how it comes back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bookOf, booksList, booksPath, findings, withConsole } from './browser.ts';

const type = 'books.library.example.com';

test('console: while indexes are built the list says how far they are, and comes by itself', async (context) => {
  await withConsole(context, async ({ tab, admin }) => {
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const page = await tab('/console/');
    await page.route(`**/v3/models/${type}`, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), state: 'building', progress: 0.42 } });
    });
    await page.route(`**${booksPath}?**`, (route) =>
      route.fulfill({
        status: 503,
        headers: { 'retry-after': '1', 'content-type': 'application/problem+json' },
        json: { code: 'NotReady', status: 503, detail: 'The indexes are being built' },
      }),
    );
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Book' }).click();
    await page.getByText('The indexes of this model are being built (42 %)').waitFor();
    assert.deepEqual(await findings(page), []);
    await page.unroute(`**/v3/models/${type}`);
    await page.getByText('Trying again in').waitFor();
    await page.unroute(`**${booksPath}?**`);
    await page.getByRole('link', { name: 'emma' }).waitFor();
    await page.getByText('Trying again in').waitFor({ state: 'detached' });
  });
});

test('console: a degraded model names the objects that do not fit', async (context) => {
  await withConsole(context, async ({ tab, admin }) => {
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const page = await tab('/console/');
    await page.route(`**/v3/models/${type}`, async (route) => {
      const response = await route.fetch();
      const problems = [{ name: 'emma', reason: 'spec.year is not a number' }];
      await route.fulfill({ response, json: { ...(await response.json()), state: 'degraded', problems } });
    });
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Book' }).click();
    const banner = page.getByRole('note');
    await banner.getByText('emma: spec.year is not a number').waitFor();
    await page.getByRole('link', { name: 'emma' }).waitFor();
    assert.deepEqual(await findings(page), []);
    await banner.getByRole('link', { name: 'More' }).click();
    await page.getByRole('list', { name: 'Problems' }).getByRole('link', { name: 'emma' }).waitFor();
  });
});

test('console: a model that other replicas serve by another contract comes by itself', async (context) => {
  await withConsole(context, async ({ tab, admin }) => {
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const page = await tab('/console/');
    const json = { code: 'ModelOutdated', status: 503, detail: 'Other replicas serve Book by another contract' };
    let isOutdated = true;
    await page.route(`**${booksPath}?**`, (route) =>
      isOutdated
        ? route.fulfill({ status: 503, contentType: 'application/problem+json', headers: { 'retry-after': '1' }, json })
        : route.continue(),
    );
    await page.route(`**/v3/models/${type}`, async (route) => {
      if (!isOutdated) return route.continue();
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), state: 'outdated' } });
    });
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Book' }).click();
    await page.getByText('Trying again in').waitFor();
    await page.getByRole('link', { name: 'About the model' }).click();
    await page.getByText('outdated', { exact: true }).waitFor();
    await page.goBack();
    isOutdated = false;
    await page.getByRole('link', { name: 'emma' }).waitFor();
  });
});

test('console: a service that is away leaves what was read, disables saving, and comes back by itself', async (context) => {
  await withConsole(context, async ({ tab, admin }) => {
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const page = await tab(`/console/objects/${type}/emma`);
    const title = page.getByRole('textbox', { name: 'title' });
    await title.fill('Emma, typed before');
    await page.context().setOffline(true);
    const away = page.getByText('The service does not answer');
    await away.waitFor();
    await page.getByRole('status', { name: 'Connection' }).getByText('Offline').waitFor();
    assert.ok(await page.getByRole('button', { name: 'Save' }).isDisabled());
    await title.fill('Emma, typed while it is away');
    assert.deepEqual(await findings(page), []);
    await page.context().setOffline(false);
    await away.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Save' }).click();
    const review = page.getByRole('dialog', { name: 'Review changes' });
    await review.getByRole('button', { name: 'Save changes' }).click();
    await review.waitFor({ state: 'detached' });
    assert.equal((await admin('GET', `${booksPath}/emma`)).body.spec.title, 'Emma, typed while it is away');
  });
});

test('console: a stream whose revision is gone starts anew, and no more than "Connection" says so', async (context) => {
  await withConsole(context, async ({ tab, admin }) => {
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const page = await tab('/console/');
    let refused = 0;
    await page.route(`**${booksPath}?*watch=true*`, async (route) => {
      if (++refused > 1) return route.continue();
      const error = { code: 'Expired', status: 410, detail: 'The changes are no longer kept' };
      await route.fulfill({
        contentType: 'application/x-ndjson',
        body: `${JSON.stringify({ type: 'ERROR', error })}\n`,
      });
    });
    await page.goto(`${new URL(page.url()).origin}${booksList}`);
    await page.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor();
    assert.ok(refused > 1);
    await admin('POST', booksPath, bookOf('ulysses', 'Ulysses', 1922));
    await page.getByRole('link', { name: 'ulysses' }).waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
  });
});

test('console: a busy service is asked again when it says so; a query above the limits is refused in words', async (context) => {
  await withConsole(context, async ({ tab, admin }) => {
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const page = await tab('/console/');
    let asked = 0;
    await page.route(`**${booksPath}?**`, (route) => {
      if (route.request().url().includes('watch=true')) return route.continue();
      if (++asked > 1) return route.continue();
      return route.fulfill({
        status: 429,
        headers: { 'retry-after': '2', 'content-type': 'application/problem+json' },
        json: { code: 'TooManyRequests', status: 429, detail: 'Too many requests' },
      });
    });
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Book' }).click();
    await page.getByText(/Trying again in \d s/).waitFor();
    assert.deepEqual(await findings(page), []);
    await page.getByRole('link', { name: 'emma' }).waitFor();
    await page.unrouteAll();

    await page.route(`**${booksPath}?**`, (route) => {
      if (/explain=|watch=/.test(route.request().url())) return route.continue();
      const json = { code: 'QueryLimit', status: 503, detail: 'The page is too large', requestId: 'r-1' };
      return route.fulfill({ status: 503, contentType: 'application/problem+json', json });
    });
    const selector = page.getByRole('textbox', { name: 'Field selector' });
    await selector.fill('spec.year>1800');
    await selector.press('Enter');
    const alert = page.getByRole('alert');
    await alert.getByText('QueryLimit').waitFor();
    await alert.getByText('r-1').waitFor();
    await alert.getByRole('button', { name: 'Copy details' }).waitFor();
    await page.getByRole('region', { name: 'Plan' }).getByText('Touched rows').waitFor();
    await page.getByRole('link', { name: 'emma' }).waitFor();
    assert.deepEqual(await findings(page), []);
  });
});

test('console: back leads to the row that was opened, and unknown parameters are named', async (context) => {
  await withConsole(context, async ({ tab, admin, url }) => {
    for (let at = 0; at < 60; at++) {
      await admin('POST', booksPath, bookOf(`book-${String(at).padStart(2, '0')}`, `Title ${at}`, 1900 + at));
    }
    const page = await tab(`${booksList}?sort=metadata.name,asc`);
    await page.getByRole('link', { name: 'book-41' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'book-41' }).waitFor();
    assert.equal(await page.evaluate('document.activeElement.tagName'), 'H1');
    await page.goBack();
    await page.locator('a:focus', { hasText: 'book-41' }).waitFor();
    assert.ok(await page.getByRole('link', { name: 'book-41' }).isVisible());

    await page.goto(`${url}${booksList}?color=red&sort=metadata.name`);
    await page.getByText('parameters that this page does not know: color').waitFor();
    await page.getByRole('link', { name: 'book-00' }).waitFor();
  });
});

test('console: in a window of 320 px the navigation folds into "Menu", and every action is within reach', async (context) => {
  await withConsole(context, async ({ tab, admin }) => {
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const page = await tab('/console/', { width: 320 });
    const menu = page.getByRole('button', { name: 'Menu' });
    const navigation = page.getByRole('navigation', { name: 'Main' });
    assert.equal(await navigation.isVisible(), false);
    await menu.click();
    assert.equal(await menu.getAttribute('aria-expanded'), 'true');
    assert.deepEqual(await findings(page), []);
    await navigation.getByRole('link', { name: 'Book' }).click();
    await page.getByRole('heading', { level: 1, name: 'Book' }).waitFor();
    assert.equal(await navigation.isVisible(), false);
    await page.getByRole('checkbox', { name: 'Select emma' }).check();
    for (const name of ['Set labels…', 'Delete…', 'Export…', 'Clear selection']) {
      const button = page.getByRole('region', { name: 'Selection' }).getByRole('button', { name });
      await button.scrollIntoViewIfNeeded();
      const box = (await button.boundingBox())!;
      assert.ok(box.x >= 0 && box.x + box.width <= 320, `${name} is outside of the window`);
    }
    await page.getByRole('link', { name: 'emma' }).click();
    await page.getByRole('textbox', { name: 'title' }).fill('Emma, narrow');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog', { name: 'Review changes' }).getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Version 1', { exact: true }).waitFor();
    assert.deepEqual(await findings(page), []);
  });
});
