/** Plugins from start to stop: states, order, what is taken down, what outlives a restart. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { PluginContext } from 'kindred';
import { defineModel, definePlugin, GroupVersion, Plugin, route, Scheme, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import {
  Book,
  bookSource,
  books,
  cleanUp,
  folderOf,
  harnessOf,
  pluginOf,
  setEnabled,
  untilState,
  writeFiles,
} from './kit.ts';

const start = (work: (context: PluginContext) => void | Promise<void>) => definePlugin({ start: work });

const Page = defineModel({
  gvk: { group: 'reader.example.com', version: 'v1', kind: 'Page', singular: 'page', plural: 'pages' },
  spec: Type.Object({ n: Type.Integer() }),
});

const hello = {
  groupVersion: () => GroupVersion.parse('api.library.example.com/v1'),
  endpoint: () =>
    route()
      .GET('/greetings', () => ({ hello: 'world' }))
      .build(),
};
const greetings = '/apis/api.library.example.com/v1/greetings';

const statusOf = async (harness: Harness, path: string) => (await harness.fetch(path)).status;

describe('plugin lifecycle', () => {
  afterEach(cleanUp);

  it('plugins: the context is complete, for definePlugin and on `this` of a class before start()', async () => {
    const seen: Record<string, PluginContext> = {};
    class Classic extends Plugin {
      override start() {
        seen.classic = this;
      }
    }
    const harness = await harnessOf({
      pluginConfig: { classic: { colour: 'red' } },
      plugins: [
        { name: 'classic', plugin: Classic, version: '2.0.0' },
        {
          name: 'plain',
          plugin: start((context) => {
            seen.plain = context;
          }),
        },
      ],
    });
    for (const name of ['classic', 'plain']) {
      const context = seen[name]!;
      assert.equal(context.name, name);
      for (const member of ['registerController', 'registerEndpoint', 'registerAuthenticator'] as const) {
        assert.equal(typeof context[member], 'function');
      }
      for (const level of ['debug', 'info', 'warn', 'error'] as const)
        context.logger[level]('%s and', 'text', { more: 1 });
      assert.ok(Array.isArray(context.schemeManager.schemes()));
    }
    assert.deepEqual(seen.classic!.config, { colour: 'red' });
    assert.equal(seen.classic!.version, '2.0.0');
    assert.equal(seen.plain!.config, undefined);
    const { spec, status } = await pluginOf(harness, 'classic');
    assert.deepEqual(spec, { enabled: true, displayName: 'classic', version: '2.0.0' });
    assert.deepEqual(status, { state: 'STARTED' });
  });

  it('plugins: plugins are objects of the model Plugin: listed, watched, switched off and on through the API', async () => {
    const harness = await harnessOf({
      plugins: [
        {
          name: 'library',
          plugin: start(({ schemeManager, registerEndpoint }) => {
            schemeManager.register(Book);
            registerEndpoint(hello);
          }),
        },
      ],
    });
    const watch = await harness.fetch('/apis/plugin.platform.run/v1alpha1/plugins?watch=true');
    const states: string[] = [];
    const reader = watch.body!.pipeThrough(new TextDecoderStream()).getReader();
    const reading = (async () => {
      for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
        for (const line of value!.split('\n').filter(Boolean)) {
          const { type, object } = JSON.parse(line) as { type: string; object?: { status: { state: string } } };
          if (type === 'MODIFIED' && states.at(-1) !== object!.status.state) states.push(object!.status.state);
        }
      }
    })();
    await harness.client.create(Book, { metadata: { name: 'emma' }, spec: { title: 'Emma' } });
    assert.deepEqual([await statusOf(harness, books), await statusOf(harness, greetings)], [200, 200]);
    await setEnabled(harness, 'library', false);
    await untilState(harness, 'library', 'STOPPED');
    assert.deepEqual([await statusOf(harness, books), await statusOf(harness, greetings)], [404, 404]);
    await setEnabled(harness, 'library', true);
    await untilState(harness, 'library', 'STARTED');
    assert.deepEqual([await statusOf(harness, `${books}/emma`), await statusOf(harness, greetings)], [200, 200]);
    await harness.until(() => states.at(-1) === 'STARTED' && states.includes('STOPPED'));
    await reader.cancel();
    await reading;
    const list = (await (
      await harness.fetch('/apis/plugin.platform.run/v1alpha1/plugins?fieldSelector=status.state=STARTED')
    ).json()) as { total: number };
    assert.equal(list.total, 1);
  });

  it('plugins: a stored spec.enabled outlives a restart; the process stopping is no plugin stop', async () => {
    const log: string[] = [];
    const plugin = definePlugin({
      start: () => void log.push('start'),
      stop: () => void log.push('stop'),
    });
    const harness = await harnessOf({ persistent: true, plugins: [{ name: 'library', plugin }] });
    await harness.restart();
    assert.deepEqual(log.splice(0), ['start', 'stop', 'start']);
    assert.equal((await pluginOf(harness, 'library')).status!.state, 'STARTED');
    await setEnabled(harness, 'library', false);
    await untilState(harness, 'library', 'STOPPED');
    log.length = 0;
    await harness.restart();
    assert.deepEqual(log, []);
    assert.equal((await pluginOf(harness, 'library')).status!.state, 'STOPPED');
    await setEnabled(harness, 'library', true);
    await untilState(harness, 'library', 'STARTED');
    assert.deepEqual(log, ['start']);
  });

  it('plugins: "enabled": false of the package keeps it from starting until somebody switches it on', async () => {
    const harness = await harnessOf({ plugins: [{ name: 'library', plugin: start(() => {}), enabled: false }] });
    assert.deepEqual((await pluginOf(harness, 'library')).spec.enabled, false);
    assert.equal((await pluginOf(harness, 'library')).status!.state, 'STOPPED');
    await setEnabled(harness, 'library', true);
    await untilState(harness, 'library', 'STARTED');
  });

  it('plugins: plugins start in the order of their dependencies and stop in the other one', async () => {
    const log: string[] = [];
    const logged = (name: string, turns: number, dependencies?: Record<string, string>) => ({
      name,
      version: '1.0.0',
      dependencies,
      plugin: definePlugin({
        async start() {
          await new Promise((resolve) => setImmediate(resolve));
          log.push(`+${name}`);
        },
        // The more depend on others the longer they take: what they depend on must not be stopped meanwhile.
        async stop() {
          for (let i = 0; i < turns; i += 1) await new Promise((resolve) => setImmediate(resolve));
          log.push(`-${name}`);
        },
      }),
    });
    const plugins = [logged('c', 50, { b: '^1.0.0' }), logged('b', 20, { a: '*' }), logged('a', 0)];
    const harness = await harnessOf({ plugins });
    assert.deepEqual(log.splice(0), ['+a', '+b', '+c']);
    await setEnabled(harness, 'a', false);
    await untilState(harness, 'a', 'STOPPED');
    assert.deepEqual(log.splice(0), ['-c', '-b', '-a']);
    const waiting = await untilState(harness, 'c', 'FAILED');
    assert.equal(waiting.status!.reason, 'DependencyNotStarted');
    assert.match(waiting.status!.message!, /"b"/);
    await setEnabled(harness, 'a', true);
    await untilState(harness, 'c', 'STARTED');
    assert.deepEqual(log.splice(0), ['+a', '+b', '+c']);
    const alone = await harnessOf({ plugins });
    await alone.stop();
    assert.deepEqual(log.splice(3), ['-c', '-b', '-a']);
  });

  it('spec: Model definition - stop() may unregister the scheme symmetrically', async () => {
    const plugin = definePlugin({
      start: ({ schemeManager }) => void schemeManager.register(Book),
      stop({ schemeManager }) {
        schemeManager.unregister(Scheme.buildFromType(Book));
        schemeManager.unregister(Scheme.buildFromType(Book));
      },
    });
    const harness = await harnessOf({ plugins: [{ name: 'library', plugin }] });
    await setEnabled(harness, 'library', false);
    assert.deepEqual((await untilState(harness, 'library', 'STOPPED')).status, { state: 'STOPPED' });
    assert.equal(await statusOf(harness, books), 404);
  });

  it('plugins: only the owner can unregister a model; what a plugin forgets is taken down at its stop', async () => {
    const harness = await harnessOf({
      plugins: [
        { name: 'library', plugin: start(({ schemeManager }) => void schemeManager.register(Book)) },
        {
          name: 'thief',
          plugin: start(({ schemeManager }) => schemeManager.unregister(Scheme.buildFromType(Book))),
          dependencies: { library: '*' },
        },
      ],
    });
    assert.equal((await pluginOf(harness, 'thief')).status!.state, 'STARTED');
    assert.equal(await statusOf(harness, books), 200);
    await setEnabled(harness, 'library', false);
    await untilState(harness, 'library', 'STOPPED');
    assert.equal(await statusOf(harness, books), 404);
  });

  it('plugins: a failure undoes everything that was done', async () => {
    let context!: PluginContext;
    let reconciled = 0;
    const harness = await harnessOf({
      plugins: [
        {
          name: 'library',
          plugin: start((given) => {
            context = given;
            given.schemeManager.register(Book);
            given.registerEndpoint(hello);
            given.registerController({
              setupWith: (builder) => builder.extension(Book).build(),
              reconcile: async () => {
                reconciled += 1;
              },
            });
            throw new Error('after all that');
          }),
        },
        { name: 'second', plugin: start(({ schemeManager }) => void setTimeout(() => schemeManager.register(Book))) },
      ],
    });
    assert.equal((await pluginOf(harness, 'library')).status!.state, 'FAILED');
    assert.equal(await statusOf(harness, greetings), 404);
    await harness.until(async () => (await statusOf(harness, books)) === 200);
    await harness.client.create(Book, { metadata: { name: 'emma' }, spec: { title: 'Emma' } });
    assert.equal(reconciled, 0);
    assert.throws(() => context.registerEndpoint(hello), /"library" is stopped/);
    assert.throws(() => context.schemeManager.register(Book), /"library" is stopped/);
  });

  it('controllers: a controller of a stopped plugin never runs again', async () => {
    let calls = 0;
    const plugin = start(({ schemeManager, registerController }) => {
      schemeManager.register(Book);
      registerController({
        setupWith: (builder) => builder.extension(Book).minDelay(1).maxDelay(2).build(),
        reconcile: async () => {
          calls += 1;
          throw new Error('again and again');
        },
      });
    });
    const harness = await harnessOf({ pluginHost: { stopTimeout: 200 }, plugins: [{ name: 'library', plugin }] });
    await harness.client.create(Book, { metadata: { name: 'emma' }, spec: { title: 'Emma' } });
    await harness.until(() => calls > 3);
    await setEnabled(harness, 'library', false);
    await untilState(harness, 'library', 'STOPPED');
    const after = calls;
    const clock = Date.now() + 50;
    await harness.until(() => Date.now() > clock);
    assert.equal(calls, after);
  });

  it('plugins: routes of a plugin whose indexes are being built answer 503 with the progress, those of a stopped one 404', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const plugin = start(async ({ schemeManager, registerEndpoint }) => {
      schemeManager.register(Book);
      registerEndpoint(hello);
      await held;
    });
    const harness = await harnessOf({ plugins: [{ name: 'library', plugin, enabled: false }] });
    assert.equal(await statusOf(harness, greetings), 404);
    await setEnabled(harness, 'library', true);
    const response = await harness.until(async () => {
      const answer = await harness.fetch(greetings);
      return answer.status === 503 && answer;
    });
    const problem = (await (response as Response).json()) as { code: string; progress: number };
    assert.equal(problem.code, 'NotReady');
    assert.ok(problem.progress >= 0 && problem.progress <= 1);
    assert.equal((await untilState(harness, 'library', 'STARTING')).status!.state, 'STARTING');
    release();
    await untilState(harness, 'library', 'STARTED');
    assert.equal(await statusOf(harness, greetings), 200);
  });

  it('plugins: of two plugins with one name the second is FAILED', async () => {
    const harness = await harnessOf({
      plugins: [
        { name: 'library', plugin: start(({ schemeManager }) => void schemeManager.register(Book)) },
        { name: 'library', plugin: start(() => assert.fail('the second was started')) },
      ],
    });
    const { status } = await pluginOf(harness, 'library');
    assert.deepEqual([status!.state, status!.reason], ['STARTED', 'DuplicateName']);
    const { plugins } = (await (await harness.fetch('/readyz')).json()) as {
      plugins: { state: string; reason?: string }[];
    };
    assert.deepEqual(
      plugins.map(({ state }) => state),
      ['STARTED', 'FAILED'],
    );
  });

  it('a plugin that is deleted through the API is there again, one that is not installed says so', async () => {
    const harness = await harnessOf({ plugins: [{ name: 'library', plugin: start(() => {}) }] });
    const path = '/apis/plugin.platform.run/v1alpha1/plugins';
    assert.equal((await harness.fetch(`${path}/library`, { method: 'DELETE' })).status, 200);
    await untilState(harness, 'library', 'STARTED');
    assert.equal(
      (await harness.fetch(path, { method: 'POST', json: { metadata: { name: 'ghost' }, spec: { enabled: true } } }))
        .status,
      201,
    );
    const ghost = await harness.until(async () => {
      const plugin = await pluginOf(harness, 'ghost');
      return plugin.status && plugin;
    });
    assert.partialDeepStrictEqual((ghost as Awaited<ReturnType<typeof pluginOf>>).status, {
      state: 'STOPPED',
      reason: 'NotInstalled',
    });
  });

  it('plugins: a Plugin object takes no status from a client', async () => {
    const harness = await harnessOf({ plugins: [{ name: 'library', plugin: start(() => {}) }] });
    const plugin = await pluginOf(harness, 'library');
    const path = '/apis/plugin.platform.run/v1alpha1/plugins/library';
    await harness.fetch(path, { method: 'PUT', json: { ...plugin, status: { state: 'FAILED' } } });
    assert.deepEqual((await pluginOf(harness, 'library')).status, { state: 'STARTED' });
    assert.equal(
      (await harness.fetch(path, { method: 'PUT', json: { ...plugin, spec: { colour: 'red' } } })).status,
      422,
    );
    // Whoever may write the sub-resource is corrected.
    const lie = await harness.fetch(`${path}/status`, {
      method: 'PUT',
      json: { ...plugin, status: { state: 'FAILED' } },
    });
    assert.equal(lie.status, 200);
    assert.deepEqual((await untilState(harness, 'library', 'STARTED')).status, { state: 'STARTED' });
  });

  it('plugins: context.client acts as the plugin: all verbs on its own models, else what roles bound to it allow', async () => {
    let client!: PluginContext['client'];
    const harness = await harnessOf({
      auth: {},
      plugins: [
        { name: 'library', plugin: start(({ schemeManager }) => void schemeManager.register(Book)) },
        {
          name: 'reader',
          plugin: start((context) => {
            context.schemeManager.register(Page);
            client = context.client;
          }),
        },
      ],
    });
    await client.create(Page, { metadata: { name: 'one' }, spec: { n: 1 } });
    await client.patch(Page, 'one', { spec: { n: 2 } });
    await client.delete(Page, 'one');
    await assert.rejects(client.list(Book), { code: 'Forbidden' });
    const role = {
      metadata: { name: 'librarian' },
      rules: [{ apiGroups: ['library.example.com'], resources: ['books'], verbs: ['list'] }],
    };
    const binding = {
      metadata: { name: 'reader-reads' },
      roleRef: { kind: 'Role', name: 'librarian' },
      subjects: [{ kind: 'Plugin', name: 'reader' }],
    };
    assert.equal((await harness.fetch('/api/v1alpha1/roles', { method: 'POST', json: role })).status, 201);
    assert.equal((await harness.fetch('/api/v1alpha1/rolebindings', { method: 'POST', json: binding })).status, 201);
    await harness.until(async () => (await client.list(Book)).total === 0);
    await assert.rejects(client.create(Book, { metadata: { name: 'emma' }, spec: { title: 'Emma' } }), {
      code: 'Forbidden',
    });
  });

  it('objects: a plugin may not add label keys without a prefix or with the reserved one', async () => {
    let client!: PluginContext['client'];
    await harnessOf({
      plugins: [
        {
          name: 'library',
          plugin: start((context) => {
            context.schemeManager.register(Book);
            client = context.client;
          }),
        },
      ],
    });
    for (const key of ['shelf', 'platform.run/shelf']) {
      const labels = { [key]: '1' };
      await assert.rejects(client.create(Book, { metadata: { name: 'emma', labels }, spec: { title: 'Emma' } }), {
        code: 'Invalid',
      });
    }
    await client.create(Book, {
      metadata: { name: 'emma', labels: { 'library.example.com/shelf': '1' } },
      spec: { title: 'Emma' },
    });
  });

  it('permissions: a plugin registers an authenticator, which goes with the plugin', async () => {
    const harness = await harnessOf({
      auth: {},
      plugins: [
        {
          name: 'badges',
          plugin: start(({ registerAuthenticator }) =>
            registerAuthenticator(async (request) => {
              const badge = request.headers.get('x-badge');
              return badge ? { name: badge, roles: ['super-role'] } : undefined;
            }),
          ),
        },
      ],
    });
    const asked = async () =>
      (await fetch(`${harness.url}/api/v1alpha1/users`, { headers: { 'x-badge': 'ada' } })).status;
    assert.equal(await asked(), 200);
    await setEnabled(harness, 'badges', false);
    await untilState(harness, 'badges', 'STOPPED');
    assert.equal(await asked(), 401);
  });

  it('two services in one process keep their plugins apart', async () => {
    const one = await harnessOf({
      plugins: [{ name: 'library', plugin: start(({ schemeManager }) => void schemeManager.register(Book)) }],
    });
    const two = await harnessOf({
      plugins: [{ name: 'library', plugin: start(({ schemeManager }) => void schemeManager.register(Book)) }],
    });
    await one.client.create(Book, { metadata: { name: 'emma' }, spec: { title: 'Emma' } });
    await one.stop();
    assert.equal(await two.client.count(Book), 0);
    assert.equal((await pluginOf(two, 'library')).status!.state, 'STARTED');
  });
});

describe('plugin packages', () => {
  afterEach(cleanUp);

  const packageOf = (more: object = {}) => ({
    name: '@example/library',
    version: '1.4.0',
    type: 'module',
    main: 'index.js',
    ...more,
  });
  const index = `import { definePlugin } from 'kindred';
import { Book } from './book.js';
export default definePlugin({ start({ schemeManager }) { schemeManager.register(Book); } });
`;

  it('plugins: a folder is loaded wherever it lies, `kindred` being the running copy', async () => {
    const folder = folderOf({ 'package.json': packageOf(), 'index.js': index, 'book.js': bookSource });
    const harness = await harnessOf({ plugins: [folder] });
    const { spec, status } = await pluginOf(harness, 'example-library');
    assert.deepEqual(
      [spec, status],
      [{ enabled: true, displayName: 'example-library', version: '1.4.0' }, { state: 'STARTED' }],
    );
    assert.equal(await statusOf(harness, books), 200);
  });

  it('command-line: --plugins DIR: every folder in it that is a package; one that is named by --plugin too is loaded once', async () => {
    const root = folderOf({
      'a/package.json': packageOf({ name: 'a' }),
      'a/index.js': "import { definePlugin } from 'kindred';\nexport default definePlugin({ start() {} });\n",
      'b/package.json': '{ "name": ',
      'notes/readme.txt': 'no plugin',
      'file.txt': 'no plugin',
    });
    const harness = await harnessOf({ plugins: [`${root}/a`], pluginFolder: root });
    const { plugins } = (await (await harness.fetch('/readyz')).json()) as {
      plugins: { name: string; state: string; reason?: string }[];
    };
    assert.deepEqual(
      plugins.map(({ name, state, reason }) => [name, state, reason]),
      [
        ['a', 'STARTED', undefined],
        ['b', 'FAILED', 'InvalidPackage'],
      ],
    );
    assert.match((await pluginOf(harness, 'b')).status!.message!, /package\.json is not valid JSON/);
    await assert.rejects(
      harnessOf({ pluginFolder: `${root}/absent` }),
      /The folder of plugins .*absent" cannot be read/,
    );
  });

  it('plugins: "exports" with conditions, and CommonJS, lead to the default export', async () => {
    const conditional = folderOf({
      'package.json': packageOf({
        name: 'conditional',
        main: undefined,
        exports: { '.': { types: './no.d.ts', import: './lib/index.js' } },
      }),
      'lib/index.js': index,
      'lib/book.js': bookSource,
    });
    const common = folderOf({
      'package.json': { name: 'common', version: '1.0.0', main: 'index.js' },
      'index.js': `const { defineModel, definePlugin, Type } = require('kindred');
const Leaf = defineModel({
  gvk: { group: 'common.example.com', version: 'v1', kind: 'Leaf', singular: 'leaf', plural: 'leaves' },
  spec: Type.Object({}),
});
exports.__esModule = true;
exports.default = definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Leaf) });
`,
    });
    const harness = await harnessOf({ plugins: [conditional, common] });
    for (const name of ['conditional', 'common'])
      assert.deepEqual((await pluginOf(harness, name)).status, { state: 'STARTED' });
    assert.equal(await statusOf(harness, '/apis/common.example.com/v1/leaves'), 200);
  });

  it('plugins: an installed npm package is found by its name', async () => {
    const folder = folderOf({
      'node_modules/@example/library/package.json': packageOf(),
      'node_modules/@example/library/index.js': index,
      'node_modules/@example/library/book.js': bookSource,
      'node_modules/@example/library/sub/.keep': '',
    });
    const { findPackage } = await import('../../src/plugin/loader.ts');
    const { realpathSync } = await import('node:fs');
    assert.equal(
      findPackage('@example/library', `${folder}/deep/down`),
      realpathSync(`${folder}/node_modules/@example/library`),
    );
    assert.throws(() => findPackage('@example/absent', folder), /neither a folder nor an installed npm package/);
  });

  it('plugins: a plugin is loaded anew by POST …/plugins/{name}/reload, with fresh modules', async () => {
    const folder = folderOf({ 'package.json': packageOf(), 'index.js': index, 'book.js': bookSource });
    const harness = await harnessOf({ plugins: [folder] });
    writeFiles(folder, {
      'package.json': packageOf({ version: '1.5.0' }),
      'book.js': bookSource.replaceAll('books', 'volumes'),
    });
    const response = await harness.fetch(
      '/apis/console.api.plugin.platform.run/v1alpha1/plugins/example-library/reload',
      { method: 'POST' },
    );
    assert.equal(response.status, 200);
    assert.partialDeepStrictEqual(await response.json(), { spec: { version: '1.5.0' }, status: { state: 'STARTED' } });
    assert.deepEqual(
      [await statusOf(harness, books), await statusOf(harness, books.replace('books', 'volumes'))],
      [404, 200],
    );
    assert.equal(
      (await harness.fetch('/apis/console.api.plugin.platform.run/v1alpha1/plugins/absent/reload', { method: 'POST' }))
        .status,
      404,
    );
  });

  it('plugins: code that is no JavaScript fails the plugin with the file', async () => {
    const folder = folderOf({
      'package.json': packageOf(),
      'index.js': "import './book.js';\n",
      'book.js': '\nexport default {;\n',
    });
    const harness = await harnessOf({ plugins: [folder] });
    const { state, reason, message } = (await pluginOf(harness, 'example-library')).status!;
    assert.deepEqual([state, reason], ['FAILED', 'InvalidPlugin']);
    assert.match(message!, /book\.js cannot be loaded: /);
  });

  it('command-line: --dev loads TypeScript with decorators and loads a plugin again when a source changes', async () => {
    const source = (plural: string) => `import { AbstractExtension, GVK, Plugin, Schema } from 'kindred';
class NoteSpec { @Schema({ type: 'string', requiredMode: 'REQUIRED' }) text!: string; }
@GVK({ group: 'library.example.com', version: 'v1', kind: 'Note', singular: 'note', plural: '${plural}' })
class Note extends AbstractExtension { @Schema({ requiredMode: 'REQUIRED', type: () => NoteSpec }) spec!: NoteSpec; }
export default class Notes extends Plugin { override start(): void { this.schemeManager.register(Note); } }
`;
    const folder = folderOf({
      'package.json': packageOf({ main: 'index.ts', name: 'notes' }),
      'index.ts': source('notes'),
    });
    const harness = await harnessOf({ plugins: [folder], pluginHost: { dev: true } });
    const notes = '/apis/library.example.com/v1/notes';
    assert.equal(await statusOf(harness, notes), 200);
    writeFiles(folder, { 'index.ts': 'export default {{{' });
    const { state, message } = await harness.until(async () => {
      const { status } = await pluginOf(harness, 'notes');
      return status?.reason === 'InvalidPlugin' ? status : undefined;
    });
    assert.equal(state, 'STARTED', 'what was loaded before goes on');
    assert.match(message!, /index\.ts|Unexpected|Expected/);
    writeFiles(folder, { 'index.ts': source('memos') });
    await harness.until(async () => (await statusOf(harness, notes.replace('notes', 'memos'))) === 200);
    assert.deepEqual(
      [await statusOf(harness, notes), await statusOf(harness, notes.replace('notes', 'memos'))],
      [404, 200],
    );
  });
});
