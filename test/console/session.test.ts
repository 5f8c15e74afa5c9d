import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { clientId, clientSecret, LoginIssuer } from '../auth/issuer.ts';
import { bookOf, booksList, booksPath, findings, withConsole } from './browser.ts';

test('console: a token signs in and is kept nowhere; a wrong one is refused in words; signing out ends it', async (context) => {
  await withConsole(context, async ({ tab, token, url, takeComplaints }) => {
    const page = await tab(booksList, { as: null });
    await page.getByRole('heading', { name: 'Sign in to Kindred' }).waitFor();
    assert.deepEqual(await findings(page), []);
    const field = page.getByLabel('Token');
    await field.fill('knd_wrong');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').waitFor();
    assert.equal(await field.inputValue(), '');
    await field.fill(token!);
    await field.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Book' }).waitFor();
    assert.equal(new URL(page.url()).pathname, booksList);
    const kept = await page.evaluate<string>(
      'JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])',
    );
    assert.ok(!kept.includes(token!) && !kept.includes('kindred-session'), kept);

    await page.getByRole('button', { name: 'Account' }).click();
    assert.deepEqual(await findings(page), []);
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Kindred' }).waitFor();
    await page.goto(`${url}/console/models`);
    await page.getByRole('heading', { name: 'Sign in to Kindred' }).waitFor();
    assert.deepEqual(takeComplaints(), []);
  });
});

test('console: a one-time link signs in by itself, is out of the address at once, and works once', async (context) => {
  await withConsole(context, async ({ tab, as, token }) => {
    const { body } = await as(token!)('POST', '/v3/session/codes');
    const page = await tab(`/console/models#code=${body.code}`, { as: null });
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
    assert.ok(!page.url().includes(body.code));
    const again = await tab(`/console/models#code=${body.code}`, { as: null });
    await again.getByRole('heading', { name: 'Sign in to Kindred' }).waitFor();
    await again.getByRole('alert').waitFor();
  });
});

test('console: a session that ends during work is begun again over the page', async (context) => {
  await withConsole(context, async (at) => {
    await at.admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    const page = await at.tab(booksList);
    await page.getByRole('link', { name: 'emma' }).waitFor();
    const selector = page.getByRole('textbox', { name: 'Field selector' });
    await selector.fill('spec.year>1800');
    const { body } = await at.admin(
      'GET',
      '/api/v1alpha1/personalaccesstokens?labelSelector=console.platform.run/session',
    );
    for (const { metadata } of body.items)
      await at.admin('DELETE', `/api/v1alpha1/personalaccesstokens/${metadata.name}`);
    const dialog = page.getByRole('dialog', { name: 'Sign in to Kindred' });
    await dialog.getByLabel('Token').fill(at.token!);
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'emma' }).waitFor();
    assert.equal(await selector.inputValue(), 'spec.year>1800');
  });
});

test('console: without authentication nobody signs in, and the page says so', async (context) => {
  await withConsole(
    context,
    async ({ tab }) => {
      const page = await tab('/console/');
      await page.getByText('Authentication is off').waitFor();
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      await page.getByRole('heading', { level: 2, name: 'First steps' }).waitFor();
    },
    { auth: false },
  );
});

test('console: language and theme are chosen by the menu and kept; the palette and the keys lead to screens', async (context) => {
  await withConsole(context, async ({ tab }) => {
    const page = await tab('/console/');
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitemradio', { name: '简体中文' }).click();
    await page.getByRole('heading', { level: 1, name: '概览' }).waitFor();
    await page.getByRole('button', { name: '账户' }).click();
    await page.getByRole('menuitemradio', { name: '深色' }).click();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: '概览' }).waitFor();
    assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark');

    await page.keyboard.press('Control+k');
    const command = page.getByRole('combobox', { name: '命令' });
    await command.fill('English');
    await page.getByRole('option', { name: /^English/ }).waitFor();
    assert.deepEqual(await findings(page), []);
    await command.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();

    await page.keyboard.press('g');
    await page.keyboard.press('m');
    const heading = page.getByRole('heading', { level: 1, name: 'Models' });
    await heading.waitFor();
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Models');
    await page.keyboard.press('?');
    const shortcuts = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await shortcuts.waitFor();
    assert.deepEqual(await findings(page), []);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitemcheckbox', { name: 'Single-key shortcuts' }).click();
    await page.keyboard.press('Escape');
    await heading.click();
    await page.keyboard.press('?');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Command' }).waitFor();
    // The palette would hide it.
    const behind = page.getByRole('dialog', { name: 'Keyboard shortcuts', includeHidden: true });
    assert.equal(await behind.count(), 0);
  });
});

test('console: who puts off signing in again is not asked by screens that read by themselves', async (context) => {
  await withConsole(context, async (at) => {
    const page = await at.tab('/console/plugins');
    await page.getByRole('switch', { name: 'Enable library' }).waitFor();
    const sessions = '/api/v1alpha1/personalaccesstokens?labelSelector=console.platform.run/session';
    for (const { metadata } of (await at.admin('GET', sessions)).body.items)
      await at.admin('DELETE', `/api/v1alpha1/personalaccesstokens/${metadata.name}`);
    const dialog = page.getByRole('dialog', { name: 'Sign in to Kindred' });
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('alert').getByText('You are no longer signed in.').waitFor();
    const again = () => page.waitForResponse((response) => response.status() === 401);
    await again();
    await again();
    assert.equal(await dialog.count(), 0);
    assert.deepEqual(await findings(page), []);
    // What the reader does asks at once.
    await page.getByRole('switch', { name: 'Enable library' }).click();
    await page.getByRole('dialog', { name: 'Disable library?' }).getByRole('button', { name: 'Disable' }).click();
    await dialog.getByLabel('Token').fill(at.token!);
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('You are no longer signed in.').waitFor({ state: 'detached' });
  });
});

test('console: a path that is no page says so in its title', async (context) => {
  await withConsole(context, async ({ tab }) => {
    const page = await tab('/console/no/such/page');
    assert.equal(await page.title(), 'Not found · Kindred');
  });
});

for (const language of ['en-US', 'zh-CN'] as const) {
  const say = (en: string, zh: string) => (language === 'en-US' ? en : zh);
  test(`console: who signs in at an issuer comes back to the page that was asked for; who cancels is told, in ${language}`, async (context) => {
    let url = '';
    await using issuer = await LoginIssuer.start(() => url);
    const login = { clientId, clientSecret, displayName: 'Example' };
    const claims = { user: 'email' };
    await withConsole(
      context,
      async (at) => {
        url = at.url;
        const page = await at.tab('/console/access/explain?verb=list', { as: null, language });
        issuer.person = undefined;
        const button = page.getByRole('button', {
          name: say('Sign in with Example', '使用 Example 登录'),
          exact: true,
        });
        await button.click();
        await page.getByRole('alert').getByText(say('You were not signed in', '未登录')).waitFor();
        assert.deepEqual(await findings(page), []);
        issuer.person = { sub: 'a-1', email: 'ada@example.com', email_verified: true };
        await button.press('Space');
        await page.getByRole('heading', { level: 1, name: say('Explain access', '解释权限') }).waitFor();
        assert.equal(new URL(page.url()).search, '?verb=list');
        await page.getByRole('button', { name: say('Account', '账户') }).click();
        await page.getByRole('menuitem', { name: say('Sign out', '退出登录') }).click();
        await page.getByRole('heading', { level: 1, name: say('Sign in to Kindred', '登录 Kindred') }).waitFor();
        const elsewhere = at.takeComplaints().filter((one) => !one.startsWith(`asked elsewhere: ${issuer.url}`));
        assert.deepEqual(elsewhere, []);
      },
      {
        auth: { issuers: [{ url: issuer.url, audience: 'urn:kindred', claims, login }] },
        logger: pino({ level: 'silent' }),
      },
    );
  });
}
