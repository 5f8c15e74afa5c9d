import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { bookOf, booksList, booksPath, findings, withConsole } from './browser.ts';

const webhooksPath = '/apis/webhook.platform.run/v1alpha1/webhooks';

test('console: a webhook shows what it delivered, sends it again, and is tested', async (context) => {
  const received: string[] = [];
  let status = 200;
  const receiver = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      received.push(JSON.parse(Buffer.concat(parts).toString()).type);
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => void receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as { port: number };
  try {
    await withConsole(
      context,
      async ({ tab, admin }) => {
        const key = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64');
        const secret = { metadata: { name: 'signing' }, data: { key } };
        assert.equal((await admin('POST', '/api/v1alpha1/secrets', secret)).status, 201);
        const page = await tab('/console/webhooks');
        await page.getByText('No webhook yet.').waitFor();
        const spec = {
          url: `http://127.0.0.1:${port}/`,
          resources: ['books.library.example.com'],
          secretName: 'signing',
        };
        assert.equal((await admin('POST', webhooksPath, { metadata: { name: 'shelf' }, spec })).status, 201);
        await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
        await page.getByRole('table', { name: 'Webhooks' }).getByRole('link', { name: 'shelf' }).click();
        await page.getByRole('heading', { level: 1, name: 'shelf' }).waitFor();
        const table = page.getByRole('table', { name: 'Deliveries' });
        const added = table.getByRole('row').filter({ hasText: 'ADDED' });
        await added.getByText('accepted').waitFor();
        await added.getByRole('link', { name: 'emma' }).waitFor();
        assert.deepEqual(await findings(page), []);

        await added.getByRole('button', { name: 'Send again' }).click();
        const notices = page.getByRole('region', { name: 'Notifications' });
        await notices.getByText('Sent: accepted · 200').waitFor();
        status = 500;
        await page.getByRole('button', { name: 'Test delivery' }).click();
        await notices.getByText(/^Sent: refused · 500/).waitFor();
        assert.deepEqual(received, ['ADDED', 'ADDED', 'TEST']);
      },
      { webhook: { allowPrivateAddresses: true } },
    );
  } finally {
    receiver.close();
    receiver.closeAllConnections();
  }
});

test('console: a view is kept here, or shared with those who may see views', async (context) => {
  await withConsole(context, async ({ tab, admin, person }) => {
    await admin('POST', booksPath, bookOf('emma', 'Emma', 1815));
    await admin('POST', booksPath, bookOf('ulysses', 'Ulysses', 1922));
    const page = await tab(`${booksList}?fieldSelector=spec.year%3E1900&sort=spec.year,desc&columns=spec.title`);
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('menuitem', { name: 'Save this view…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Save this view…' });
    await dialog.getByLabel('Name of the view').fill('Modern');
    await dialog.getByRole('checkbox', { name: /^Share it/ }).check();
    assert.deepEqual(await findings(page), []);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });

    const { token } = await person('rita', ['books-library-example-com-view', 'views-console-platform-run-view']);
    const other = await tab(booksList, { as: token });
    await other.getByRole('link', { name: 'emma' }).waitFor();
    await other.getByRole('button', { name: 'Views' }).click();
    await other.getByRole('menuitem', { name: 'Modern' }).click();
    await other.getByRole('link', { name: 'emma' }).waitFor({ state: 'detached' });
    const { searchParams } = new URL(other.url());
    assert.equal(searchParams.get('fieldSelector'), 'spec.year>1900');
    assert.equal(searchParams.get('sort'), 'spec.year,desc');
    assert.equal(searchParams.get('columns'), 'spec.title');
    assert.equal(searchParams.get('view'), 'Modern');
    await other.getByRole('button', { name: 'Views' }).click();
    await other.getByRole('menuitem', { name: 'Modern' }).waitFor();
    assert.equal(await other.getByRole('menuitem', { name: 'Delete view Modern' }).count(), 0);

    // The name alone means all that the view says.
    await page.goto(page.url().replace(/\?.*/, '?view=Modern'));
    await page.waitForURL((url) => url.searchParams.get('sort') === 'spec.year,desc');
    await page.getByRole('link', { name: 'emma' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('menuitem', { name: 'Delete view Modern' }).click();
    await page.getByRole('dialog', { name: 'Delete Modern?' }).getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL((url) => !url.searchParams.has('view'));
    assert.equal((await admin('GET', '/apis/console.platform.run/v1alpha1/views')).body.total, 0);
  });
});
