import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { KindredError } from '../errors.ts';
import { ConsolePage } from './console.ts';
import type { Exchange } from './server/exchange.ts';

interface Sent {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** What the page answers, with a manifest of these files; each text has its compressed forms beside it. */
function pageOf(t: TestContext, files: Record<string, string> | undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-console-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'assets'));
  const build = (built: Record<string, string>) => {
    const listed = Object.keys(built).map((path) => {
      const isText = !path.endsWith('.wasm');
      for (const suffix of isText ? ['', '.br', '.gz'] : [''])
        writeFileSync(join(folder, path + suffix), built[path] + suffix);
      return {
        path,
        type: 'text/x',
        sha256: Buffer.from(path).toString('hex').padEnd(64, '0'),
        encodings: isText ? ['br', 'gzip'] : [],
      };
    });
    writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ files: listed }));
  };
  if (files) build(files);
  const page = new ConsolePage(pathToFileURL(`${folder}/`));
  const get = async (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Sent> => {
    let sent: Sent | undefined;
    const send = (status: number, list: string[], body?: Buffer) => {
      const pairs = Array.from({ length: list.length / 2 }, (_, i) => [list[2 * i]!.toLowerCase(), list[2 * i + 1]!]);
      assert.equal(new Set(pairs.map(([name]) => name)).size, pairs.length, 'a header stands there twice');
      sent = { status, headers: Object.fromEntries(pairs), body: body?.toString() };
    };
    await page.serve({ method, path, request: { headers }, send } as unknown as Exchange);
    return sent!;
  };
  return { get, build };
}

const files = { 'index.html': 'page', 'favicon.svg': 'icon', 'assets/app-1.js': 'script', 'assets/re-2.wasm': 'bytes' };

test('a file is sent as it is, an asset for a year, the page and what is no asset only as long as it is the newest', async (t) => {
  const { get } = pageOf(t, files);
  const asset = await get('/console/assets/app-1.js');
  assert.deepEqual([asset.status, asset.body], [200, 'script']);
  assert.equal(asset.headers['cache-control'], 'public, max-age=31536000, immutable');
  for (const [path, body] of [
    ['/console/', 'page'],
    ['/console/favicon.svg', 'icon'],
    ['/console/index.html', 'page'],
  ] as const) {
    const sent = await get(path);
    assert.deepEqual([sent.status, sent.body, sent.headers['cache-control']], [200, body, 'no-cache']);
  }
});

test('a path below that is no file is the page; an absent asset, and the way out of the folder, is not', async (t) => {
  const { get } = pageOf(t, files);
  for (const path of [
    'models',
    'objects/cities.atlas.example.com/paris',
    'manifest.json',
    '../package.json',
    '%2e%2e/x',
  ]) {
    assert.equal((await get(`/console/${path}`)).body, 'page', path);
  }
  for (const path of ['assets/', 'assets/app-2.js', 'assets/../index.html', 'assets/app-1.js.br']) {
    assert.equal((await get(`/console/${path}`)).status, 404, path);
  }
});

test('the smallest form that the browser takes is sent, each with a tag of its own', async (t) => {
  const { get } = pageOf(t, files);
  const tags = new Set<string>();
  for (const [accept, encoding] of [
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0.5, gzip', 'gzip'],
    ['br;q=0, gzip;q=0', undefined],
    ['*', 'br'],
    ['*;q=0.1, br;q=0', 'gzip'],
    ['identity, gzip;q=0.5', undefined],
    ['', undefined],
    [undefined, undefined],
  ] as const) {
    const { headers, body } = await get(
      '/console/assets/app-1.js',
      accept === undefined ? {} : { 'accept-encoding': accept },
    );
    assert.equal(headers['content-encoding'], encoding, String(accept));
    assert.equal(body, `script${encoding === 'br' ? '.br' : encoding === 'gzip' ? '.gz' : ''}`);
    assert.equal(headers.vary, 'Accept-Encoding');
    assert.equal(headers['content-type'], 'text/x');
    tags.add(headers.etag!);
  }
  assert.equal(tags.size, 3);
  assert.equal((await get('/console/assets/re-2.wasm', { 'accept-encoding': 'br' })).body, 'bytes');
});

test('a file that the browser has is not sent again', async (t) => {
  const { get } = pageOf(t, files);
  const { headers } = await get('/console/', { 'accept-encoding': 'br' });
  const again = await get('/console/', { 'accept-encoding': 'br', 'if-none-match': headers.etag! });
  assert.deepEqual([again.status, again.body, again.headers.etag], [304, undefined, headers.etag]);
  assert.equal((await get('/console/', { 'accept-encoding': 'gzip', 'if-none-match': headers.etag! })).status, 200);
});

test('the address without a slash, and that of the service, lead to the page', async (t) => {
  const { get } = pageOf(t, undefined);
  assert.deepEqual([(await get('/console')).status, (await get('/console')).headers.location], [308, '/console/']);
  assert.deepEqual([(await get('/')).status, (await get('/')).headers.location], [302, '/console/']);
});

test('files that are not built are a 404 with a text, until they are', async (t) => {
  const { get, build } = pageOf(t, undefined);
  const sent = await get('/console/');
  assert.equal(sent.status, 404);
  assert.match(sent.headers['content-type']!, /^text\/plain/);
  assert.match(sent.body!, /npm run build/);
  build(files);
  assert.equal((await get('/console/')).body, 'page');
});

test('it is read and nothing else', async (t) => {
  const { get } = pageOf(t, files);
  await assert.rejects(
    get('/console/', {}, 'POST'),
    (error) => error instanceof KindredError && error.code === 'MethodNotAllowed',
  );
  assert.equal((await get('/console/', {}, 'HEAD')).status, 200);
});
