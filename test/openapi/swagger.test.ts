import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { defineModel } from '../../src/model/define.ts';
import { Type } from '../../src/model/type.ts';
import type { ServiceOptions } from '../../src/options.ts';
import { createService } from '../../src/service.ts';
import { Person } from '../api/harness.ts';
import { browserFor } from '../console/browser.ts';

/** A folder for screenshots; none are made without it. */
const screenshots = process.env.SCREENSHOTS;

const LinkGroup = defineModel({
  gvk: {
    group: 'core.links.example.com',
    version: 'v1alpha1',
    kind: 'LinkGroupWithALongName',
    singular: 'linkgroup',
    plural: 'linkgroups',
  },
  spec: Type.Object({ displayName: Type.String() }),
});

interface Opened {
  readonly page: Page;
  /** Everything that the browser complained about. */
  readonly complaints: string[];
  /** Addresses that were asked for. */
  readonly requested: string[];
  readonly token: string | undefined;
  readonly url: string;
}

async function open(
  context: TestContext,
  options: ServiceOptions,
  use: (opened: Opened) => Promise<void>,
): Promise<void> {
  const browser = await browserFor(context);
  if (!browser) return;
  const service = await createService({ database: 'sqlite::memory:', port: 0, ...options });
  service.schemeManager.register(Person);
  service.schemeManager.register(LinkGroup);
  const { url, administratorToken: token } = await service.start();
  const profile = await browser.newContext({ viewport: { width: 1000, height: 640 } });
  try {
    const page = await profile.newPage();
    const complaints: string[] = [];
    const requested: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('request', (request) => requested.push(request.url()));
    await page.goto(`${url}/swagger-ui.html`);
    await use({ page, complaints, requested, token, url });
  } finally {
    await profile.close();
    await service.stop();
  }
}

test('spec: API description - viewable at /swagger-ui.html, in a browser: the groups can be chosen, an operation tried out, nothing comes from outside', async (context) => {
  await open(context, { auth: false }, async ({ page, complaints, requested, url }) => {
    const groups = page.locator('#select option');
    await groups.first().waitFor({ state: 'attached' });
    assert.deepEqual(await groups.allTextContents(), [
      'Aggregated API V1alpha1',
      'Extension API V1alpha1',
      'Console API V1alpha1',
      'User-center API V1alpha1',
      'Public API V1alpha1',
    ]);
    assert.ok(await page.locator('#login').isHidden(), 'no token is asked for');
    await page.locator('#select').selectOption({ label: 'Extension API V1alpha1' });
    await page.locator('.info .title', { hasText: 'Extension API V1alpha1' }).waitFor();
    await page.locator('.opblock-tag', { hasText: 'PersonV1alpha1' }).click();
    const operation = page.locator('.opblock', { hasText: 'Creates an object' });
    await operation.locator('.opblock-summary').click();
    await operation.getByRole('button', { name: 'Try it out' }).click();
    const body = { metadata: { name: 'ada' }, spec: { name: 'Ada' } };
    await operation.locator('textarea.body-param__text').fill(JSON.stringify(body));
    await operation.getByRole('button', { name: 'Execute' }).click();
    const answer = operation.locator('.live-responses-table .response');
    await answer.first().waitFor();
    assert.match(await answer.first().innerText(), /^201/);
    const stored = await (await fetch(`${url}/apis/demo.example.com/v1alpha1/persons/ada`)).json();
    assert.equal((stored as { spec: { name: string } }).spec.name, 'Ada');
    for (const address of requested) assert.ok(address.startsWith(url) || address.startsWith('data:'), address);
    assert.deepEqual(complaints, []);
    if (screenshots) {
      await operation.locator('.opblock-summary').click();
      await page.evaluate('document.activeElement.blur(); window.scrollTo(0, 0)');
      await page.mouse.move(0, 0);
      await mkdir(screenshots, { recursive: true });
      await writeFile(join(screenshots, 'swagger-ui.png'), await page.screenshot());
    }
  });
});

test('permissions: /swagger-ui.html asks for a token and sends it when it loads the documents too', async (context) => {
  await open(context, {}, async ({ page, complaints, token, url }) => {
    const login = page.locator('#login');
    await login.waitFor({ state: 'visible' });
    assert.equal(await page.locator('#select').count(), 0);
    await page.locator('#token').fill('wrong');
    await login.getByRole('button').click();
    await page.locator('#refused:not(:empty)').waitFor();
    assert.ok(await login.isVisible());
    await page.locator('#token').fill(token!);
    await login.getByRole('button').click();
    await page.locator('#select').selectOption({ label: 'Extension API V1alpha1' });
    await page.locator('.opblock-tag', { hasText: 'PersonV1alpha1' }).click();
    assert.ok(await login.isHidden());
    const operation = page.locator('.opblock', { hasText: 'Lists the objects of the model Person' });
    await operation.locator('.opblock-summary').click();
    await operation.getByRole('button', { name: 'Try it out' }).click();
    await operation.getByRole('button', { name: 'Execute' }).click();
    const answer = operation.locator('.live-responses-table .response').first();
    await answer.waitFor();
    assert.match(await answer.innerText(), /^200/);
    assert.equal((await fetch(`${url}/apis/demo.example.com/v1alpha1/persons`)).status, 401);
    // The locks say that the token is there.
    await operation.locator('.authorization__btn[aria-label$=" locked"]').waitFor();
    assert.match(await page.locator('.info .description').innerText(), /generated routes of the models/);
    const unexpected = complaints.filter((text) => !text.includes('401'));
    assert.deepEqual(unexpected, [], 'the browser itself reports the two refusals, and nothing else');

    // A reload keeps it, the button forgets it.
    await page.reload();
    await page.locator('#select').waitFor();
    assert.ok(await login.isHidden());
    await page.locator('#forget').click();
    await login.waitFor({ state: 'visible' });
    assert.match(await login.innerText(), /administrator token.*kindred token create/s);
    await page.reload();
    await login.waitFor({ state: 'visible' });
    assert.equal(await page.evaluate('sessionStorage.length'), 0);
  });
});

test('permissions: the session of the browser is enough for /swagger-ui.html, for writes too', async (context) => {
  await open(context, {}, async ({ page, token, url }) => {
    await page.locator('#login').waitFor({ state: 'visible' });
    const body = JSON.stringify(JSON.stringify({ token }));
    const headers = `{ 'content-type': 'application/json' }`;
    const signIn = `fetch('/v3/session', { method: 'POST', headers: ${headers}, body: ${body} }).then((one) => one.status)`;
    assert.equal(await page.evaluate(signIn), 201);
    await page.reload();
    await page.locator('#select').selectOption({ label: 'Extension API V1alpha1' });
    assert.ok(await page.locator('#login').isHidden(), 'no token is asked for');
    await page.locator('.opblock-tag', { hasText: 'PersonV1alpha1' }).click();
    const operation = page.locator('.opblock', { hasText: 'Creates an object' }).first();
    await operation.locator('.opblock-summary').click();
    await operation.getByRole('button', { name: 'Try it out' }).click();
    const object = { metadata: { name: 'eve' }, spec: { name: 'Eve' } };
    await operation.locator('textarea.body-param__text').fill(JSON.stringify(object));
    await operation.getByRole('button', { name: 'Execute' }).click();
    const answer = operation.locator('.live-responses-table .response').first();
    await answer.waitFor();
    assert.match(await answer.innerText(), /^201/);
    const stored = await fetch(`${url}/apis/demo.example.com/v1alpha1/persons/eve`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(stored.status, 200);
  });
});

test('the page of the API fits a telephone', async (context) => {
  await open(context, { auth: false }, async ({ page }) => {
    await page.setViewportSize({ width: 390, height: 800 });
    await page.locator('#select').selectOption({ label: 'Extension API V1alpha1' });
    const tag = page.locator('.opblock-tag', { hasText: 'LinkGroupWithALongNameV1alpha1' });
    await tag.click();
    await page.locator('.opblock-summary').first().click();
    await page.getByRole('button', { name: 'Try it out' }).waitFor();
    const wide = await page.evaluate('document.documentElement.scrollWidth');
    assert.ok((wide as number) <= 390, `${wide} px`);
  });
});

test('the example of an object to create has only a name in its metadata', async (context) => {
  await open(context, { auth: false }, async ({ page }) => {
    await page.locator('#select').selectOption({ label: 'Extension API V1alpha1' });
    await page.locator('.opblock-tag', { hasText: 'PersonV1alpha1' }).click();
    const operation = page.locator('.opblock', { hasText: 'Creates an object' }).first();
    await operation.locator('.opblock-summary').click();
    await operation.getByRole('button', { name: 'Try it out' }).click();
    const body = JSON.parse(await operation.locator('textarea.body-param__text').inputValue()) as { metadata: object };
    assert.deepEqual(body.metadata, { name: 'my-object' });
  });
});
