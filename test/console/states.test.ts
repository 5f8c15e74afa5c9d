/** What a screen says when something is missing, slow, away or refused, and how it comes back. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { definePlugin } from 'kindred';
import { cleanUp, folderOf, harnessOf, pluginOf, quiet } from '../plugins/kit.ts';
import { bookOf, booksList, booksPath, failing, findings, withConsole } from './browser.ts';

const type = 'books.library.example.com';
const pluginsPath = '/apis/plugin.platform.run/v1alpha1/plugins';
const merge = { 'content-type': 'application/merge-patch+json' };

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
    await page.locator('a:focus', { hasText: 'Overview' }).waitFor();
    await page.keyboard.press('Escape');
    await navigation.waitFor({ state: 'hidden' });
    await menu.and(page.locator(':focus')).waitFor();
    await menu.click();
    await navigation.getByRole('link', { name: 'Overview' }).click();
    await navigation.waitFor({ state: 'hidden' });
    await menu.click();
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

test('console: the first steps make a plugin that starts, and the overview says no more than the caller may see', async (context) => {
  after(cleanUp);
  await withConsole(
    context,
    async ({ tab, person }) => {
      const page = await tab('/console/');
      const declare = page.getByRole('listitem').filter({ hasText: '1. Declare a model' });
      await declare.getByText('npx kindred serve --plugin ./library').waitFor();
      assert.deepEqual(await findings(page), []);
      const paths = await declare.getByRole('heading', { level: 4 }).allTextContents();
      const codes = await declare.locator('pre').allTextContents();
      const folder = folderOf(Object.fromEntries(paths.map((path, at) => [path, codes[at]!])));
      const harness = await harnessOf({ plugins: [join(folder, 'library')] });
      assert.equal((await pluginOf(harness, 'library')).status?.state, 'STARTED');
      assert.equal((await harness.fetch(booksPath)).status, 200);

      const attention = page.locator('section', { has: page.getByRole('heading', { name: 'Needs attention' }) });
      await attention.getByText('Every model that you may see is ready.').waitFor();
      await attention.getByText('Every plugin is started.').waitFor();
      await attention.getByText('No controller fails').waitFor();
      const { token } = await person('rita', ['users-view']);
      const other = await tab('/console/', { as: token });
      const seen = other.locator('section', { has: other.getByRole('heading', { name: 'Needs attention' }) });
      await seen.getByText('Every model that you may see is ready.').waitFor();
      assert.equal(await seen.getByText('plugin').count(), 0);
      assert.equal(await seen.getByText('controller').count(), 0);
    },
    { plugins: [] },
  );
});

test('console: the overview names plugins that are off, and controllers that fail, with the way to them', async (context) => {
  const other = definePlugin({ start: () => undefined });
  await withConsole(
    context,
    async ({ tab, admin }) => {
      await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
      await admin('PATCH', `${pluginsPath}/other`, { spec: { enabled: false } }, merge);
      const page = await tab('/console/');
      const attention = page.locator('section', { has: page.getByRole('heading', { name: 'Needs attention' }) });
      const off = attention.getByRole('listitem').filter({ hasText: 'Plugin other' });
      await off.getByText('STOPPED').waitFor();
      const controller = attention.getByRole('listitem').filter({ hasText: 'Controller library/shelver' });
      await controller.getByText('A call has failed.').waitFor();
      assert.deepEqual(await findings(page), []);
      await controller.getByRole('link').click();
      await page.getByRole('table', { name: 'Controllers' }).getByText('no room on the shelf').waitFor();
    },
    {
      logger: quiet,
      plugins: [
        { name: 'library', plugin: failing },
        { name: 'other', plugin: other },
      ],
    },
  );
});

test('console: the list of a model whose plugin is stopped leads to the plugins, and comes back with it', async (context) => {
  await withConsole(context, async ({ tab, admin }) => {
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const enable = (enabled: boolean) => admin('PATCH', `${pluginsPath}/library`, { spec: { enabled } }, merge);
    const list = await tab(booksList);
    const watch = await tab(`/console/watch/${type}`);
    await list.getByRole('link', { name: 'emma' }).waitFor();
    await watch.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor();
    await enable(false);
    for (const page of [list, watch]) {
      await page.getByRole('heading', { level: 2, name: 'Not found' }).waitFor();
      await page.getByRole('link', { name: 'See the plugins' }).waitFor();
    }
    await enable(true);
    await list.getByRole('link', { name: 'emma' }).waitFor();
    await list.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor();
    await watch.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor();
    assert.equal(await watch.getByRole('alert').count(), 0);
  });
});

test('console: every screen shows where its rows will be while they are read', async (context) => {
  await withConsole(context, async ({ tab, admin, url }) => {
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const page = await tab('/console/');
    for (const [path, request] of [
      ['/', '/v3/models'],
      ['/models', '/v3/models'],
      [`/models/${type}`, `/v3/models/${type}`],
      [`/models/${type}?tab=access`, '/api/v1alpha1/rolebindings?**'],
      ['/plugins', `${pluginsPath}?**`],
      ['/plugins/library', `${pluginsPath}?**`],
      ['/webhooks', '/apis/webhook.platform.run/v1alpha1/webhooks?**'],
      ['/access/users', '/api/v1alpha1/users?**'],
      ['/access/roles', '/api/v1alpha1/roles?**'],
      ['/access/bindings', '/api/v1alpha1/rolebindings?**'],
      ['/access/tokens', '/api/v1alpha1/personalaccesstokens?**'],
      ['/audit', '/v3/audit?**'],
      ['/settings', '/v3/options'],
      ['/about', '/v3/about'],
      [`/objects/${type}/emma?tab=access`, '/v3/can-i'],
    ] as const) {
      const held = Promise.withResolvers<void>();
      await page.route(url + request, async (route) => {
        await held.promise;
        await route.continue();
      });
      await page.goto(`${url}/console${path}`);
      // It is not told to who hears the page, and so has no role.
      const rows = page.locator('.skeleton');
      await rows.first().waitFor();
      held.resolve();
      await rows.first().waitFor({ state: 'detached' });
      await page.unrouteAll({ behavior: 'wait' });
    }
  });
});

test('console: a question about rights that fails is asked again, and is no refusal', async (context) => {
  await withConsole(context, async ({ tab, url }) => {
    const page = await tab('/console/about');
    let failures = 0;
    await page.route('**/v3/can-i', (route) => {
      if (++failures > 2) return route.continue();
      const json = { code: 'InternalError', status: 500, detail: 'Broken' };
      return route.fulfill({ status: 500, contentType: 'application/problem+json', json });
    });
    await page.goto(`${url}/console/create/${type}`);
    const refusal = page.getByRole('heading', { name: 'Not allowed' });
    await page.getByRole('button', { name: 'Create' }).or(refusal).first().waitFor();
    assert.equal(await refusal.count(), 0);
  });
});
