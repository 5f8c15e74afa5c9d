/** `createService` as an embedding program meets it: what it takes, and what it says of what it does not. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { ServiceOptions } from 'kindred';
import { createService, definePlugin, Plugin } from 'kindred';
import { cleanUp, folderOf } from '../plugins/kit.ts';

after(cleanUp);

const base: ServiceOptions = { database: 'sqlite::memory:', port: 0, auth: false };

async function pluginsOf(plugins: ServiceOptions['plugins']): Promise<[string, string][]> {
  const service = await createService({ ...base, plugins });
  try {
    await service.start();
    return service.readiness().plugins.map(({ name, state }) => [name, state]);
  } finally {
    await service.stop();
  }
}

class TodoList extends Plugin {}
class HTTPRoutes2 extends Plugin {}

test('command-line: plugins in code are handed in as they are when they have a name', async () => {
  const named = definePlugin({ name: 'todo', start() {} });
  const nameless = definePlugin({ start() {} });
  assert.deepEqual(
    await pluginsOf([
      named,
      TodoList,
      HTTPRoutes2,
      { name: 'given', plugin: nameless },
      { name: 'other', plugin: named },
    ]),
    [
      ['todo', 'STARTED'],
      ['todo-list', 'STARTED'],
      ['http-routes2', 'STARTED'],
      ['given', 'STARTED'],
      ['other', 'STARTED'],
    ],
  );
});

const nameless = /plugins\[0\] is a plugin without a name: give it as \{ name: "todo", plugin \}/;
const none = /plugins\[0\] is no plugin: it must be a folder, the name of an installed package, \{ name, plugin \}/;
const wrongPlugins: [string, unknown, RegExp][] = [
  ['definePlugin without a name', definePlugin({ start() {} }), nameless],
  ['a class without a name', (() => class extends Plugin {})(), nameless],
  ['a class that is only a default export', { default: class extends Plugin {} }.default, nameless],
  ['an object that is none', { start() {} }, none],
  ['a class that is none', class Todo {}, none],
  ['nothing', undefined, none],
  ['a plugin without its name', { plugin: definePlugin({ start() {} }) }, none],
];
for (const [what, plugin, says] of wrongPlugins) {
  test(`command-line: ${what} is refused before anything is opened`, async () => {
    const database = join(folderOf({}), 'kindred.db');
    const options = { ...base, database: `sqlite:${database}`, plugins: [plugin] } as ServiceOptions;
    await assert.rejects(createService(options), (error: Error) => says.test(error.message));
    assert.equal(existsSync(database), false);
  });
}

const wrongOptions: [string, object, RegExp][] = [
  ['an unknown option', { databse: 'x' }, /^there is no option "databse"$/],
  [
    'insecureNoAuth',
    { insecureNoAuth: true },
    /^there is no option "insecureNoAuth": "auth: false" switches authentication off$/,
  ],
  ['dev', { dev: true }, /"dev": it is "pluginHost: \{ dev: true \}"/],
  ['a member of a group', { list: { maxSize: 10, size: 20 } }, /^there is no option "list\.size"$/],
  ['several', { hots: 1, http: { bdy: 1 } }, /^there is no option "hots"; there is no option "http\.bdy"$/],
  ['a group that is none', { watch: 5 }, /^the option "watch" needs an object$/],
];
for (const [what, options, says] of wrongOptions) {
  test(`command-line: ${what} is refused by createService, by name`, async () => {
    await assert.rejects(createService({ ...base, ...options }), (error: Error) => says.test(error.message));
  });
}

test('command-line: every option there is, is taken', async () => {
  const all: Required<ServiceOptions> = {
    ...(base as Required<ServiceOptions>),
    plugins: [],
    pluginFolder: folderOf({}),
    host: '127.0.0.1',
    reservedDomain: 'platform.run',
    list: { maxSize: 10 },
    query: { timeout: 1_000 },
    watch: { bookmarkInterval: 1_000, maxBufferBytes: 1_000 },
    webhook: { timeout: 1_000 },
    changeLog: { maxCount: 10, maxAge: 10 },
    write: { timeout: 1_000 },
    cache: { maxBytes: 1_000 },
    patch: { maxOperations: 10, maxGrowth: 10 },
    pluginHost: { startTimeout: 1_000, stopTimeout: 1_000, dev: false },
    pluginConfig: { anything: { goes: true } },
    http: { body: 1_000 },
    cors: ['https://example.com'],
    hosts: ['example.com'],
    accessLog: { success: 'silent' },
    allowUnsafeDurability: true,
  };
  const service = await createService({ ...all, timers: undefined, logger: undefined } as ServiceOptions);
  await service.stop();
});
