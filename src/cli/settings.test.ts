import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { UsageError } from './io.ts';
import { nested, parseAssignment, resolveSettings, variableOf } from './settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindred-settings-'));
after(() => rmSync(folder, { recursive: true }));

function config(text: string, name = 'config.yaml'): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

test('contract 14: a flag wins over the environment, the environment over the config file', async () => {
  const file = config('port: 1\nhost: file\ndatabase: sqlite:file\nlist: { maxSize: 5 }\n');
  const env = { KINDRED_PORT: '2', KINDRED_HOST: 'env', KINDRED_LIST_MAX_SIZE: '' };
  const { values } = await resolveSettings({ port: '3' }, env, file);
  assert.deepEqual(values, { port: 3, host: 'env', database: 'sqlite:file', 'list.maxSize': 5 });
});

test('contract 14: the config file is YAML or JSON, with durations as texts or milliseconds', async () => {
  const yaml = await resolveSettings(
    {},
    {},
    config('watch: { bookmarkInterval: 15s }\nchangeLog.maxAge: 1h\nquery: { timeout: 250 }'),
  );
  assert.deepEqual(yaml.values, {
    'watch.bookmarkInterval': 15_000,
    'changeLog.maxAge': 3_600_000,
    'query.timeout': 250,
  });
  const json = await resolveSettings(
    {},
    {},
    config('{"plugin": "a", "cors": ["https://a", "https://b"]}', 'config.json'),
  );
  assert.deepEqual(json.values, { plugin: ['a'], cors: ['https://a', 'https://b'] });
});

test('contract 9: plugins.<name> of the config file is the configuration of a plugin, beside the settings of all', async () => {
  const file = config('plugins:\n  atlas: { size: 3 }\n  startTimeout: 5s\n');
  const { values, pluginConfigs } = await resolveSettings({}, {}, file);
  assert.deepEqual(values, { 'plugins.startTimeout': 5_000 });
  assert.deepEqual(pluginConfigs, { atlas: { size: 3 } });
  assert.deepEqual((await resolveSettings({}, {}, config('plugins: ./all'))).values, { pluginsDir: './all' });
});

const wrong = [
  { name: 'an unknown name', text: 'prot: 1', message: /unknown name prot; known are .*port/ },
  { name: 'an unknown member', text: 'list: { max: 1 }', message: /unknown name list\.max; known are .*list\.maxSize/ },
  {
    name: 'a duration that is none',
    text: 'query: { timeout: soon }',
    message: /query\.timeout needs a duration such as 15s or 1h.* not "soon"/,
  },
  { name: 'a number that is none', text: 'port: x', message: /port needs a whole number .*, not "x"/ },
  { name: 'a port that no address has', text: 'port: 65536', message: /port needs a whole number from 0 to 65535/ },
  {
    name: 'a database that is none',
    text: 'database: oracle:x',
    message: /database needs sqlite:<file>.*not what was given$/,
  },
  { name: 'a switch that is none', text: 'dev: 3', message: /dev needs true or false/ },
  { name: 'no names at all', text: '- 1', message: /must hold names with values/ },
  { name: 'a group without members', text: 'list: 3', message: /list needs names with values/ },
  { name: 'broken YAML', text: 'a: [', message: /neither YAML nor JSON/ },
];
for (const { name, text, message } of wrong) {
  test(`contract 14: the config file is refused in one line - ${name}`, async () => {
    await assert.rejects(
      resolveSettings({}, {}, config(text)),
      (error) => error instanceof UsageError && message.test(error.message),
    );
  });
}

test('contract 14: a wrong variable is named', async () => {
  await assert.rejects(
    resolveSettings({}, { KINDRED_WATCH_BOOKMARK_INTERVAL: '1x' }, undefined),
    /^Error: KINDRED_WATCH_BOOKMARK_INTERVAL: watch/,
  );
});

test('contract 14: every setting has a variable and can be set by a flag', async () => {
  assert.equal(variableOf('insecureNoAuth'), 'KINDRED_INSECURE_NO_AUTH');
  assert.equal(variableOf('pluginsDir'), 'KINDRED_PLUGINS');
  const { values } = await resolveSettings(parseAssignment('list.maxSize=7'), {}, undefined);
  assert.deepEqual(nested(values), { list: { maxSize: 7 } });
  assert.throws(() => parseAssignment('list.max=7'), UsageError);
});
