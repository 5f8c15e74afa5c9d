/** `examples/shopping-list` as its README says, in two browsers: one list, changed by both, across a restart of the service. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { createClient } from 'kindred/client';
import type { Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import { Item } from '../../examples/shopping-list/item.ts';
import { live } from '../auth/live.ts';
import { contextOf, executablePath, findings, flags } from '../console/browser.ts';

const example = resolve(import.meta.dirname, '../../examples/shopping-list');
const folder = mkdtempSync(join(tmpdir(), 'kindred-shopping-'));
after(() => rmSync(folder, { recursive: true }));

async function bundled(): Promise<{ code: Uint8Array; inputs: string[] }> {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(example, 'page.ts')],
    absWorkingDir: resolve(example, '../..'),
    ...{ bundle: true, format: 'esm', minify: true, write: false, metafile: true, logLevel: 'silent' },
  });
  return { code: outputFiles[0]!.contents, inputs: Object.keys(metafile.inputs) };
}

test('examples: the page of the shopping list brings nothing of Node.js and nothing of the service along', async () => {
  const { code, inputs } = await bundled();
  const ours = inputs.filter((file) => !/^(node_modules\/typebox|src\/client|examples\/shopping-list)\//.test(file));
  assert.deepEqual(ours.sort(), [
    'src/errors.ts',
    'src/model/browser-entry.ts',
    'src/model/full-name.ts',
    'src/model/typebox.ts',
    'src/runtime/backoff.ts',
    'src/runtime/parts.ts',
    'src/runtime/read-json.ts',
  ]);
  assert.ok(gzipSync(code).length < 40_000, `${gzipSync(code).length} bytes`);
});

test('examples: two browsers show and change one shopping list, across a restart', async (context) => {
  if (!existsSync(executablePath)) return context.skip(`NO BROWSER: ${executablePath} is missing`);
  const { code } = await bundled();
  const app = createServer(({ url }, response) => {
    if (url === '/build/page.js') response.setHeader('content-type', 'text/javascript').end(code);
    else response.setHeader('content-type', 'text/html').end(readFileSync(join(example, 'index.html')));
  });
  await once(app.listen(0, '127.0.0.1'), 'listening');
  const origin = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
  const options = {
    database: `sqlite:${join(folder, 'shopping.db')}`,
    plugins: [example],
    cors: [origin],
    auth: {},
  } as const;
  let service = await live(options);
  const { token, url } = service;
  const nobody = await service.person('nobody', []);
  const browser = await chromium.launch({ executablePath, args: flags });
  const complaints: string[] = [];
  try {
    const open = async (width: number, theme: 'light' | 'dark'): Promise<Page> => {
      const tab = await (await contextOf(browser, { width, theme })).newPage();
      tab.setDefaultTimeout(15_000);
      tab.on('pageerror', ({ message }) => complaints.push(message));
      await tab.goto(`${origin}/?service=${encodeURIComponent(url)}`);
      return tab;
    };
    const signIn = async (tab: Page, with_: string): Promise<void> => {
      await tab.getByLabel('Token').fill(with_);
      await tab.getByRole('button', { name: 'Sign in' }).click();
    };
    const add = async (tab: Page, name: string, amount = ''): Promise<void> => {
      await tab.getByLabel('What').fill(name);
      await tab.getByLabel('How many').fill(amount);
      await tab.getByRole('button', { name: 'Add' }).click();
    };
    const shows = async (tab: Page, ...lines: string[]): Promise<void> => {
      const rows = tab.getByRole('listitem').locator('label');
      await rows.nth(lines.length - 1).waitFor();
      await tab.waitForFunction(
        (wanted) =>
          globalThis.JSON.stringify(
            [...(globalThis as any).document.querySelectorAll('li label')].map(({ textContent }) => textContent),
          ) === wanted,
        JSON.stringify(lines),
      );
    };
    const [narrow, wide] = [await open(390, 'light'), await open(1440, 'dark')];

    await signIn(narrow, 'kindred_pat_nobody');
    assert.match(await says(narrow), /unknown token/);
    await signIn(narrow, nobody.token);
    assert.match(await says(narrow), /may not do this/);
    for (const tab of [narrow, wide]) {
      await signIn(tab, token!);
      await tab.getByText('0 items').waitFor();
    }

    await add(narrow, 'Milk');
    await shows(wide, 'Milk × 1');
    await add(wide, 'Bread', '2');
    await shows(narrow, 'Bread × 2', 'Milk × 1');
    await narrow.getByRole('checkbox', { name: 'Bread' }).check();
    await shows(wide, 'Milk × 1', 'Bread × 2');
    assert.ok(await wide.getByRole('checkbox', { name: 'Bread × 2' }).isChecked());

    await add(narrow, 'Eggs', '100');
    assert.match(await says(narrow), /spec\/amount must be at most 99/);
    await add(narrow, 'Milk');
    assert.match(await says(narrow), /Milk/);

    for (const tab of [narrow, wide]) {
      assert.deepEqual(await findings(tab), []);
      assert.ok((await tab.evaluate<number>('document.documentElement.scrollWidth - innerWidth')) <= 0);
    }

    await service.service.stop();
    service = await live({ ...options, port: Number(new URL(url).port) });
    const items = createClient({ url, token: token! }).for(Item);
    for (let i = 1; i <= 9; i++) await items.create({ metadata: { name: `jam-${i}` }, spec: { name: `Jam ${i}` } });
    await wide.getByText('11 items').waitFor();
    await wide.getByRole('button', { name: 'Next' }).click();
    await shows(wide, 'Bread × 2');
    await wide.getByRole('button', { name: 'Remove Bread' }).click();
    await narrow.getByText('10 items').waitFor();

    // The token stays for the tab, and goes with "Sign out".
    await narrow.reload();
    await narrow.getByText('10 items').waitFor();
    await narrow.getByRole('button', { name: 'Sign out' }).click();
    await narrow.reload();
    await narrow.getByLabel('Token').waitFor();
    assert.deepEqual(complaints, []);
  } finally {
    await browser.close();
    await service[Symbol.asyncDispose]();
    app.close();
    app.closeAllConnections();
  }
});

async function says(tab: Page): Promise<string> {
  const alert = tab.getByRole('alert').filter({ hasText: /./ });
  await alert.waitFor();
  return alert.innerText();
}
