import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Model } from 'kindred';
import { defineModel, definePlugin, Type } from 'kindred';
import { startHarness } from 'kindred/testing';
import { parseSync } from 'oxc-parser';
import { chromium } from 'playwright-core';

const source = resolve(import.meta.dirname, '../../src');
const executablePath = '/usr/bin/chromium';

test('api-description: the client brings nothing of Node.js and nothing of the service along', () => {
  const files = new Set<string>();
  const read = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    const { module } = parseSync(file, stripTypeScriptTypes(readFileSync(file, 'utf8')));
    const imports = [...module.staticImports.map(({ moduleRequest }) => moduleRequest.value)];
    for (const { entries } of module.staticExports) {
      for (const { moduleRequest } of entries) if (moduleRequest) imports.push(moduleRequest.value);
    }
    for (const specifier of imports) {
      assert.match(specifier, /^\.\.?\//, `${file} imports ${specifier}`);
      read(fileURLToPath(new URL(specifier, `file://${file}`)));
    }
  };
  read(join(source, 'client/client.ts'));
  const outside = [...files].filter((file) => !file.startsWith(join(source, 'client/')));
  assert.deepEqual(outside.sort(), [
    join(source, 'errors.ts'),
    join(source, 'model/full-name.ts'),
    join(source, 'runtime/backoff.ts'),
    join(source, 'runtime/parts.ts'),
    join(source, 'runtime/read-json.ts'),
  ]);
});

test('api-description: the client works in a browser: it writes, lists, streams and watches', async (context) => {
  if (!existsSync(executablePath)) {
    context.skip(
      `NO BROWSER: ${executablePath} is missing (Debian: apt-get install chromium); the client was not tried in one`,
    );
    return;
  }
  const Plain = defineModel({
    gvk: { group: 'notes.example.com', version: 'v1', kind: 'Plain', singular: 'plain', plural: 'plains' },
    spec: Type.Object({ text: Type.String() }),
  });
  const plugin = definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Plain) });
  // A real server: a browser lets no page of unknown whereabouts reach a loopback address.
  const app = createServer((request, response) => {
    if (request.url === '/') {
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>app</title>');
    } else if (request.url?.endsWith('.ts')) {
      const code = stripTypeScriptTypes(readFileSync(join(source, request.url), 'utf8'));
      response.setHeader('content-type', 'text/javascript').end(code);
    } else {
      response.writeHead(404).end();
    }
  });
  await once(app.listen(0, '127.0.0.1'), 'listening');
  const origin = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
  const harness = await startHarness({ plugins: [{ name: 'notes', plugin }], cors: [origin], auth: {} });
  const profile = await mkdtemp(join(tmpdir(), 'kindred-chromium-'));
  const flags = [
    '--no-sandbox',
    '--disable-gpu',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-sync',
  ];
  const browser = await chromium.launchPersistentContext(profile, { executablePath, args: flags });
  try {
    const page = await browser.newPage();
    await page.goto(`${origin}/`);
    const outcome = await page.evaluate(
      async ({ url, token, gvk }) => {
        const path: string = '/client/client.ts';
        const { createClient } = (await import(path)) as typeof import('../../src/client/client.ts');
        const plains = createClient({ url, token }).for({ gvk, schema: {} } as Model<{
          metadata: { name: string };
          spec: { text: string };
        }>);
        const events: string[] = [];
        const controller = new AbortController();
        const watched = (async () => {
          for await (const event of plains.watch({ sendInitial: true, signal: controller.signal })) {
            events.push(event.type);
            if (event.type === 'MODIFIED') controller.abort();
          }
        })();
        await plains.create({ metadata: { name: 'a' }, spec: { text: 'x' } });
        const imported: unknown[] = [];
        for await (const result of plains.import([{ metadata: { name: 'b' }, spec: { text: 'y' } }]))
          imported.push(result);
        const { total } = await plains.list({ sort: ['metadata.name,asc'] });
        const names = await plains.listNames(undefined, ['metadata.name,desc']);
        const refused = await plains
          .get('nobody')
          .catch((error: { code: string; status: number }) => [error.status, error.code]);
        while (!events.includes('BOOKMARK')) await new Promise((done) => setTimeout(done, 10));
        await plains.patch('a', { spec: { text: 'z' } });
        await watched;
        return { total, names, imported, refused, last: events.at(-1) };
      },
      { url: harness.url, token: harness.token, gvk: Plain.gvk },
    );
    assert.deepEqual(outcome, {
      total: 2,
      names: ['b', 'a'],
      imported: [{ index: 0, ok: true, name: 'b', version: 0 }],
      refused: [404, 'NotFound'],
      last: 'MODIFIED',
    });
  } finally {
    await browser.close();
    await harness.stop();
    app.close();
    app.closeAllConnections();
    await rm(profile, { recursive: true, force: true });
  }
});
