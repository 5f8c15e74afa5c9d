import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { UsageError } from './io.ts';
import type { SettingName } from './settings.ts';
import { defaultOf, nested, resolveSettings, settings, variableOf } from './settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindred-settings-'));
after(() => rmSync(folder, { recursive: true }));

function config(text: string, name = 'config.yaml'): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

test('command-line: a flag wins over the environment, the environment over the config file', async () => {
  const file = config('port: 1\nhost: file\ndatabase: sqlite:file\nlist: { maxSize: 5 }\n');
  const env = { KINDRED_PORT: '2', KINDRED_HOST: 'env', KINDRED_LIST_MAX_SIZE: '' };
  const { values } = await resolveSettings({ flags: { port: '3' }, env, file });
  assert.deepEqual(values, { port: 3, host: 'env', database: 'sqlite:file', 'list.maxSize': 5 });
});

test('command-line: the config file is YAML or JSON, with durations as texts or milliseconds', async () => {
  const yaml = await resolveSettings({
    file: config('watch: { bookmarkInterval: 15s }\nchangeLog.maxAge: 1h\nquery: { timeout: 250 }'),
  });
  assert.deepEqual(yaml.values, {
    'watch.bookmarkInterval': 15_000,
    'changeLog.maxAge': 3_600_000,
    'query.timeout': 250,
  });
  const json = await resolveSettings({
    file: config('{"plugin": "a", "cors": ["https://a", "https://b"]}', 'config.json'),
  });
  assert.deepEqual(json.values, { plugin: ['a'], cors: ['https://a', 'https://b'] });
});

test('command-line: a group of the config file that can be switched off may be false or true itself', async () => {
  const { values } = await resolveSettings({ file: config('indexSnapshots: false\nmcp: true\n') });
  assert.deepEqual(values, { 'indexSnapshots.enabled': false, 'mcp.enabled': true });
});

test('plugins: plugins.<name> of the config file is the configuration of a plugin, beside the settings of all', async () => {
  const file = config('plugins:\n  atlas: { size: 3 }\n  startTimeout: 5s\n');
  const { values, pluginConfigs } = await resolveSettings({ file });
  assert.deepEqual(values, { 'plugins.startTimeout': 5_000 });
  assert.deepEqual(pluginConfigs, { atlas: { size: 3 } });
  assert.deepEqual((await resolveSettings({ file: config('plugins: ./all') })).values, { pluginsDir: './all' });
});

const wrong = [
  { name: 'an unknown name', text: 'prot: 1', message: /^\S+config\.yaml: unknown name prot; did you mean port\?$/ },
  {
    name: 'an unknown member',
    text: 'list: { maxsize: 1 }',
    message: /unknown name list\.maxsize; did you mean list\.maxSize\?$/,
  },
  {
    name: 'a name like no other',
    text: 'bogus: 1',
    message: /unknown name bogus; "kindred serve --help" lists all names$/,
  },
  {
    name: 'a duration that is none',
    text: 'changeLog: { maxAge: soon }',
    message: /changeLog\.maxAge needs a duration such as 15s or 1h, or milliseconds, not "soon"$/,
  },
  { name: 'a number that is none', text: 'port: x', message: /: port needs a whole number .*, not "x"$/ },
  { name: 'a port that no address has', text: 'port: 65536', message: /port needs a whole number from 0 to 65535/ },
  {
    name: 'a database that is none',
    text: 'database: oracle://u:secret@h',
    message: /database needs sqlite:<file>.*, not oracle:\/\/$/,
  },
  {
    name: 'a database without a kind',
    text: 'database: u:secret@h',
    message: /needs sqlite:<file>.*, not what was given$/,
  },
  {
    name: 'a file instead of a database URL',
    text: 'database: ./x.db',
    message: /database needs sqlite:<file>.*; for the file \.\/x\.db write sqlite:\.\/x\.db$/,
  },
  { name: 'a switch that is none', text: 'dev: 3', message: /dev needs true or false, not 3$/ },
  { name: 'no process', text: 'workers: 0', message: /workers needs a whole number of at least 1, not 0$/ },
  {
    name: 'no time',
    text: 'query: { timeout: 0 }',
    message: /query\.timeout needs a duration above 0 such as .*, not 0$/,
  },
  {
    name: 'a level that is none',
    text: 'log: { level: loud }',
    message: /log\.level needs one of trace, .*, not "loud"$/,
  },
  { name: 'no names at all', text: '- 1', message: /must hold names with values/ },
  { name: 'a group without members', text: 'list: 3', message: /list needs names with values/ },
  { name: 'broken YAML', text: 'a: [', message: /config\.yaml:1:5 is neither YAML nor JSON: [^:]*[^:]$/ },
];
for (const { name, text, message } of wrong) {
  test(`command-line: the config file is refused in one line - ${name}`, async () => {
    await assert.rejects(resolveSettings({ file: config(text) }), (error) => {
      assert.ok(error instanceof UsageError);
      assert.equal(error.mistakes.length, 1);
      assert.match(error.mistakes[0]!, message);
      return true;
    });
  });
}

test('command-line: the smallest allowed values are accepted', async () => {
  const { values } = await resolveSettings({
    file: config('workers: 1\nquery: { timeout: 1 }\ncache: { maxBytes: 0 }\nchangeLog: { maxAge: 0 }'),
  });
  assert.deepEqual(values, { workers: 1, 'query.timeout': 1, 'cache.maxBytes': 0, 'changeLog.maxAge': 0 });
});

test('command-line: all mistakes are reported at once, each with its place', async () => {
  const file = config('bogus: 1\nport: x\nlist: { maxSize: y, min: 1 }\nhost: ""');
  const given = {
    flags: { workers: '0' },
    assignments: ['list.maxsize=7', 'dev', 'write.timeout=never'],
    env: { KINDRED_WATCH_BOOKMARK_INTERVAL: '1x' },
    file,
  };
  await assert.rejects(resolveSettings(given), (error) => {
    assert.ok(error instanceof UsageError);
    assert.deepEqual(
      error.mistakes.map((one) => one.replace(file, 'FILE').split(' needs ')[0]),
      [
        'FILE: unknown name bogus; "kindred serve --help" lists all names',
        'FILE: unknown name list.min; "kindred serve --help" lists all names',
        '--set: unknown name list.maxsize; did you mean list.maxSize?',
        '--set',
        'FILE: host',
        'FILE: port',
        '--workers',
        'FILE: list.maxSize',
        'KINDRED_WATCH_BOOKMARK_INTERVAL',
        '--set write.timeout',
      ],
    );
    return true;
  });
});

test('command-line: every setting has a variable and can be set by a flag', async () => {
  assert.equal(variableOf('insecureNoAuth'), 'KINDRED_INSECURE_NO_AUTH');
  assert.equal(variableOf('pluginsDir'), 'KINDRED_PLUGINS');
  const { values } = await resolveSettings({ assignments: ['list.maxSize=7'], env: { KINDRED_LIST_MAX_SIZE: '8' } });
  assert.deepEqual(nested(values), { list: { maxSize: 7 } });
});

const withoutDefault: readonly SettingName[] = [
  'pluginsDir',
  'cacheDir',
  'indexSnapshots.dir',
  'console.publicUrl',
  'tls.cert',
  'tls.key',
];
for (const name of Object.keys(settings) as SettingName[]) {
  test(`command-line: the default that --help shows can be given as it is shown - ${name}`, async () => {
    const shown = defaultOf(name);
    const { kind } = settings[name];
    if (withoutDefault.includes(name) || kind === 'texts' || kind === 'any') return assert.equal(shown, '');
    const { values } = await resolveSettings({ assignments: [`${name}=${shown}`] });
    assert.notEqual(values[name], undefined);
  });
}

test('command-line: the defaults that --help shows are those of the service', () => {
  const shown = [
    'port',
    'list.maxSize',
    'changeLog.maxAge',
    'webhook.giveUpAfter',
    'http.keepAlive',
    'plugins.startTimeout',
  ];
  assert.deepEqual(
    shown.map((name) => defaultOf(name as SettingName)),
    ['8090', '1000', '1h', '1d', '72s', '1m'],
  );
});
