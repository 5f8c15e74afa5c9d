/** What of a package is run, and what is said of code that cannot be. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createService } from 'kindred';
import { until } from 'kindred/testing';
import pino from 'pino';
import type { PluginStatus } from './kit.ts';
import { cleanUp, folderOf, harnessOf, pluginOf } from './kit.ts';

const packageOf = (name: string, more: object = {}) => ({
  name,
  version: '1.0.0',
  type: 'module',
  main: './index.js',
  ...more,
});
const idle = "import { definePlugin } from 'kindred';\nexport default definePlugin({ start() {} });\n";

async function statusOf(folder: string, name: string): Promise<PluginStatus> {
  const harness = await harnessOf({ plugins: [folder] });
  const { status } = await pluginOf(harness, name);
  await harness.stop();
  return status!;
}

describe('the entry of a package', () => {
  after(cleanUp);

  it('plugins: of a service that stops while it is loaded is not started any more', async () => {
    const loads = new Map<string, () => void>();
    const starts: string[] = [];
    Object.assign(globalThis, { loads, starts });
    const folder = folderOf({
      'package.json': packageOf('shop'),
      'index.js': `import { definePlugin } from 'kindred';
await new Promise((resolve) => loads.set('shop', resolve));
export default definePlugin({ start() { starts.push('shop'); } });
`,
    });
    const service = await createService({
      ...{ database: 'sqlite::memory:', port: 0, auth: false, plugins: [folder] },
      logger: pino({ level: 'silent' }),
    });
    const starting = assert.rejects(service.start(), /stopped during its start/);
    await until(() => loads.has('shop'));
    const stopping = service.stop();
    loads.get('shop')!();
    await Promise.all([starting, stopping]);
    assert.deepEqual(starts, []);
  });

  const wrong = "throw new Error('the wrong file runs');\n";
  for (const beside of ['shop.js', 'shop.json', 'shop.node']) {
    it(`plugins: is its "main", never ${beside} beside its folder`, async () => {
      const root = folderOf({
        [beside]: wrong,
        'shop/package.json': packageOf('shop'),
        'shop/index.js': idle,
      });
      assert.deepEqual(await statusOf(join(root, 'shop'), 'shop'), { state: 'STARTED' });
    });
  }

  it('plugins: without "main" is index.js in the folder', async () => {
    const root = folderOf({
      'shop.js': wrong,
      'shop/package.json': packageOf('shop', { main: undefined }),
      'shop/index.js': idle,
    });
    assert.deepEqual(await statusOf(join(root, 'shop'), 'shop'), { state: 'STARTED' });
  });

  it('plugins: that leads to no file fails the plugin with the path', async () => {
    for (const entry of [{ main: './dist/plugin.js' }, { exports: './dist/plugin.js' }]) {
      const folder = folderOf({ 'package.json': packageOf('shop', { main: undefined, ...entry }) });
      const { state, reason, message } = await statusOf(folder, 'shop');
      assert.deepEqual([state, reason], ['FAILED', 'InvalidPlugin'], String(message));
      assert.match(message!, /"main" or "exports" leads to no file: .*dist\/plugin\.js/);
    }
  });

  const routeSource = (route: string) => `import { definePlugin, GroupVersion, route } from 'kindred';
const endpoint = {
  groupVersion: () => GroupVersion.parse('api.both.example.com/v1'),
  endpoint: () => route().GET('/${route}', () => 1).build(),
};
export default definePlugin({ start: ({ registerEndpoint }) => registerEndpoint(endpoint) });
`;
  for (const { built, dev, runs } of [
    { built: true, dev: false, runs: 'built' },
    { built: true, dev: true, runs: 'source' },
    { built: false, dev: false, runs: 'source' },
    { built: false, dev: true, runs: 'source' },
  ]) {
    it(`plugins: ${built ? 'built' : 'not built'} ${dev ? 'with' : 'without'} --dev, the ${runs} runs`, async () => {
      const exports = { '.': { development: './plugin.js', default: './dist/plugin.js' } };
      const folder = folderOf({
        'package.json': { name: 'both', version: '1.0.0', type: 'module', main: './dist/plugin.js', exports },
        'plugin.js': routeSource('source'),
        ...(built && { 'dist/plugin.js': routeSource('built') }),
      });
      const harness = await harnessOf({ plugins: [folder], pluginHost: { dev } });
      const statuses = await Promise.all(
        ['built', 'source'].map(async (name) => (await harness.fetch(`/apis/api.both.example.com/v1/${name}`)).status),
      );
      assert.deepEqual(statuses, runs === 'built' ? [200, 404] : [404, 200]);
    });
  }
});

/** Source in index.js, and what the Plugin object says of it. TypeScript is in installed.test.ts: here a loader of the tests is in the way. */
const unloadable: { what: string; source: string; message: RegExp }[] = [
  {
    what: 'a decorator',
    source: `import { Plugin } from 'kindred';\nconst mark = () => {};\n@mark\nexport default class extends Plugin {}\n`,
    message:
      /index\.js:3 cannot be loaded: "@mark" is a decorator, which Node\.js does not know\. Compile the plugin to JavaScript$/,
  },
  {
    what: 'a misspelled import',
    source: `import { defineModle, definePlugin } from 'kindred';\nexport default definePlugin({ start() { defineModle(); } });\n`,
    message: /index\.js:1 cannot be loaded: .*does not provide an export named 'defineModle'$/,
  },
  {
    what: 'a SyntaxError that its own code throws',
    source: `import { definePlugin } from 'kindred';\nJSON.parse('{');\nexport default definePlugin({ start() {} });\n`,
    message: /^Expected property name/,
  },
];

describe('code that cannot be loaded', () => {
  after(cleanUp);

  for (const { what, source, message } of unloadable) {
    it(`plugins: ${what} fails the plugin with the place and what would help`, async () => {
      const status = await statusOf(folderOf({ 'package.json': packageOf('broken'), 'index.js': source }), 'broken');
      assert.equal(status.state, 'FAILED');
      assert.match(status.message!, message);
    });
  }

  it('of two plugins that are loaded at once, each error names its own file', async () => {
    const [one, two] = ['one', 'two'].map((name) =>
      folderOf({
        'package.json': packageOf(name),
        'index.js': "await new Promise((resolve) => setTimeout(resolve, 5));\nawait import('./more.js');\n",
        'more.js': 'export const broken = [;\n',
      }),
    );
    const harness = await harnessOf({ plugins: [one!, two!] });
    for (const [name, folder] of Object.entries({ one, two })) {
      const { message } = (await pluginOf(harness, name)).status!;
      assert.ok(message!.startsWith(join(folder!, 'more.js')), String(message));
    }
  });
});
