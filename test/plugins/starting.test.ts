/** While a plugin starts, nothing of it answers; after a start that failed, nothing of it is there (docs/reference/declaration.md and plugins.md). */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { PluginContext, Store } from 'kindred';
import { defineModel, definePlugin, GroupVersion, KindredError, Plugin, route, Scheme, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { notReady, unknownOutcome } from '../../src/store/failure.ts';
import { openStore } from '../../src/store/open.ts';
import { Book, bookSource, books, cleanUp, folderOf, harnessOf, setEnabled, untilState } from './kit.ts';

const emma = { metadata: { name: 'emma' }, spec: { title: 'Emma' } };
const ndjson = { 'content-type': 'application/x-ndjson' };
const merge = { 'content-type': 'application/merge-patch+json' };

const requests = [
  { path: books },
  { path: `${books}/emma` },
  { path: `${books}/emma`, method: 'HEAD' },
  { path: `${books}?watch=true` },
  { path: `${books}?explain=true` },
  { path: books, headers: { accept: 'application/x-ndjson' } },
  { path: books, method: 'POST', json: emma },
  { path: books, method: 'POST', headers: ndjson, body: `${JSON.stringify(emma)}\n` },
  { path: `${books}/emma`, method: 'PUT', json: emma },
  { path: `${books}/emma`, method: 'PATCH', headers: merge, json: { spec: { pages: 1 } } },
  { path: `${books}/emma`, method: 'DELETE' },
  { path: '/apis/api.library.example.com/v1/greetings' },
  { path: '/v3/models/books.library.example.com/values?index=metadata.name' },
];

/** A plugin that is switched on by the test, and whose `start()` ends when the test says so. */
function heldPlugin(work: (context: PluginContext) => unknown = () => {}) {
  const gate = Promise.withResolvers<void>();
  const registered = Promise.withResolvers<void>();
  const plugin = definePlugin({
    async start(context) {
      context.schemeManager.register(Book);
      context.registerEndpoint({
        groupVersion: () => GroupVersion.parse('api.library.example.com/v1'),
        endpoint: () =>
          route()
            .GET('/greetings', () => 'hello')
            .build(),
      });
      await Promise.try(work, context).then(() => registered.resolve(), registered.reject);
      await gate.promise;
    },
  });
  return { source: { name: 'library', plugin, enabled: false }, gate, registered: registered.promise };
}

async function assertClosed(harness: Harness): Promise<void> {
  for (const { path, ...request } of requests) {
    const answer = await harness.fetch(path, request);
    const what = `${request.method ?? 'GET'} ${path}`;
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1'], what);
    if (request.method === 'HEAD') continue;
    const problem = (await answer.json()) as { code: string; detail: string; plugins: object[]; progress: number };
    assert.equal(problem.code, 'NotReady', what);
    assert.match(problem.detail, /library/, what);
    assert.deepEqual(problem.plugins, [{ name: 'library', state: 'STARTING' }], what);
    assert.ok(problem.progress >= 0 && problem.progress <= 1, what);
  }
}

describe('a plugin that starts', () => {
  afterEach(cleanUp);

  it('plugins: the routes of its models open when its start is done, and not before; its own client may use them', async () => {
    let total: number | undefined;
    const held = heldPlugin(async ({ client }) => {
      await client.create(Book, { metadata: { name: 'own' }, spec: { title: 'Own' } });
      total = await client.count(Book);
    });
    const harness = await harnessOf({ plugins: [held.source] });
    await setEnabled(harness, 'library', true);
    await held.registered;
    assert.equal(total, 1);
    await assertClosed(harness);
    held.gate.resolve();
    await untilState(harness, 'library', 'STARTED');
    const { items } = (await (await harness.fetch(books)).json()) as { items: { metadata: { name: string } }[] };
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ['own'],
    );
    assert.equal((await harness.fetch(books, { method: 'POST', json: emma })).status, 201);
    assert.equal((await harness.fetch('/apis/api.library.example.com/v1/greetings')).status, 200);
  });

  it('plugins: the client of another plugin, and of a route of it, gets NotReady meanwhile', async () => {
    const held = heldPlugin();
    let other!: PluginContext;
    class Other extends Plugin {
      override start() {
        other = this;
        this.registerEndpoint({
          groupVersion: () => GroupVersion.parse('api.reader.example.com/v1'),
          endpoint: () =>
            route()
              .GET('/books', ({ client }) => client.list(Book))
              .build(),
        });
      }
    }
    const harness = await harnessOf({ plugins: [held.source, { name: 'other', plugin: Other }] });
    await setEnabled(harness, 'library', true);
    await held.registered;
    const notReady = (error: unknown) => error instanceof KindredError && error.code === 'NotReady';
    await assert.rejects(other.client.list(Book), notReady);
    await assert.rejects(other.client.create(Book, emma), notReady);
    assert.equal((await harness.fetch('/apis/api.reader.example.com/v1/books')).status, 503);
    held.gate.resolve();
    await untilState(harness, 'library', 'STARTED');
    assert.equal((await other.client.list(Book)).total, 0);
    assert.equal((await harness.fetch('/apis/api.reader.example.com/v1/books')).status, 200);
  });

  it('plugins: of a start that failed nothing answers, and nothing was written meanwhile', async () => {
    const held = heldPlugin();
    const harness = await harnessOf({ plugins: [held.source, { name: 'second', plugin: later(), enabled: false }] });
    await setEnabled(harness, 'library', true);
    await held.registered;
    await assertClosed(harness);
    held.gate.reject(new Error('not today'));
    await untilState(harness, 'library', 'FAILED');
    for (const { path, ...request } of requests) {
      assert.equal((await harness.fetch(path, request)).status, 404, `${request.method ?? 'GET'} ${path}`);
    }
    // Whatever was stored shows when somebody registers the model.
    await setEnabled(harness, 'second', true);
    await untilState(harness, 'second', 'STARTED');
    assert.equal(((await (await harness.fetch(books)).json()) as { total: number }).total, 0);
  });

  it('plugins: a database that is away for a moment delays the start of a plugin, and does not fail it', async () => {
    const library = folderOf({
      'package.json': { name: 'library', version: '1.0.0', type: 'module', main: 'index.js' },
      'book.js': bookSource,
      'index.js': `import { definePlugin } from 'kindred';
import { Book } from './book.js';
export default definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Book) });
`,
      'extensions/books.yaml': `apiVersion: library.example.com/v1
kind: Book
metadata: { name: emma }
spec: { title: Emma }
`,
    });
    const failures = { 'books.library.example.com': [notReady, unknownOutcome], emma: [notReady, unknownOutcome] };
    const database = async () => {
      const store = await openStore(`sqlite:${folderOf({})}/kindred.db`);
      const commit: Store['commit'] = async (writes, time) => {
        for (const { name } of writes) {
          const failure = failures[name as keyof typeof failures]?.shift();
          if (failure === unknownOutcome) await store.commit(writes, time);
          if (failure) throw failure('away');
        }
        return store.commit(writes, time);
      };
      return new Proxy(store, {
        get(target, name: keyof Store) {
          const value = name === 'commit' ? commit : target[name];
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    };
    const harness = await harnessOf({ database, plugins: [library] });
    await untilState(harness, 'library', 'STARTED');
    assert.deepEqual(failures, { 'books.library.example.com': [], emma: [] });
    assert.equal((await harness.client.get(Book, 'emma')).spec.title, 'Emma');
  });

  it('plugins: a failure after start() leaves nothing open in between', async () => {
    const Page = defineModel({
      gvk: { group: 'library.example.com', version: 'v1', kind: 'Page', singular: 'page', plural: 'pages' },
      spec: Type.Object({}),
    });
    const failures = {
      'a pre-declared object': folderOf({
        'package.json': { name: 'library', version: '1.0.0', type: 'module', main: 'index.js' },
        'book.js': bookSource,
        'index.js': `import { setImmediate as turn } from 'node:timers/promises';
import { definePlugin } from 'kindred';
import { Book } from './book.js';
export default definePlugin({
  async start({ schemeManager }) { schemeManager.register(Book); for (let i = 0; i < 9; i++) await turn(); },
  async stop() { for (let i = 0; i < 9; i++) await turn(); },
});
`,
        'extensions/books.yaml': `apiVersion: library.example.com/v1
kind: Book
metadata: { name: emma }
spec: { title: "" }
`,
      }),
      'a controller': {
        name: 'library',
        plugin: definePlugin({
          async start({ schemeManager, registerController }) {
            schemeManager.register(Book);
            schemeManager.register(Page);
            const reconcile = async () => {};
            registerController({ setupWith: (builder) => builder.extension(Page).build(), reconcile });
            schemeManager.unregister(Scheme.buildFromType(Page));
            for (let i = 0; i < 9; i++) await turn();
          },
          async stop() {
            for (let i = 0; i < 9; i++) await turn();
          },
        }),
      },
    };
    for (const [what, library] of Object.entries(failures)) {
      let other!: PluginContext;
      const watching = definePlugin({
        start: (context) => {
          other = context;
        },
      });
      const harness = await harnessOf({ plugins: [{ name: 'other', plugin: watching }, library] });
      assert.equal((await untilState(harness, 'library', 'FAILED')).status!.state, 'FAILED');
      await setEnabled(harness, 'library', false);
      await untilState(harness, 'library', 'STOPPED');
      const codes = new Set<string>();
      let failed = false;
      const failing = setEnabled(harness, 'library', true)
        .then(() => untilState(harness, 'library', 'FAILED'))
        .then(() => {
          failed = true;
        });
      while (!failed) {
        // One question for every turn of the event loop.
        await turn();
        codes.add(
          await other.client.count(Book).then(
            () => 'answered',
            (error: KindredError) => error.code,
          ),
        );
      }
      await failing;
      assert.deepEqual([...codes].sort(), ['NotFound', 'NotReady'], what);
    }
  });
});

function later() {
  return definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Book) });
}
