import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { ModelType } from 'kindred';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';
import { parseAllDocuments } from 'yaml';
import { City } from '../../examples/atlas/city.ts';
import { Country } from '../../examples/atlas/country.ts';
import { cities, countries } from '../../examples/atlas/data.ts';
import { Region } from '../../examples/atlas/region.ts';
import { SavedQuery } from '../../examples/atlas/saved-query.ts';
import type { Outcome } from './command.ts';
import { kindred } from './command.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindred-cli-'));
let harness: Harness;

before(async () => {
  harness = await startHarness({ plugins: [join(import.meta.dirname, '../../examples/atlas')] });
  const data = [...countries(), ...cities(['MC', 'AD'])].map((object) => `${JSON.stringify(object)}\n`).join('');
  writeFileSync(join(folder, 'atlas.ndjson'), data);
  const imported = await call('import', join(folder, 'atlas.ndjson'));
  assert.equal(imported.code, 0, imported.stderr);
});
after(async () => {
  await harness.stop();
  rmSync(folder, { recursive: true });
});

function call(...args: string[]): Promise<Outcome> {
  return kindred(args, { env: { KINDRED_SERVER: harness.url } });
}

function callWith(stdin: string, ...args: string[]): Promise<Outcome> {
  return kindred(args, { env: { KINDRED_SERVER: harness.url }, stdin });
}

const thimphu = {
  apiVersion: 'atlas.example.com/v1alpha1',
  kind: 'City',
  metadata: { name: 'city-1252416' },
  spec: {
    geonameId: 1252416,
    name: 'Thimphu',
    country: 'BT',
    featureCode: 'PPLC',
    population: 98676,
    location: { latitude: 27.46609, longitude: 89.64191 },
  },
};

test('command-line: get prints one object as JSON, YAML or a table', async () => {
  const json = await call('get', 'cities', 'city-2993458', '-o', 'json');
  assert.deepEqual(JSON.parse(json.stdout), await harness.client.get(City, 'city-2993458'));
  const yaml = await call('get', 'cities', 'city-2993458', '-o', 'yaml');
  assert.deepEqual(parseAllDocuments(yaml.stdout)[0]?.toJS(), JSON.parse(json.stdout));
  const table = await call('get', 'cities', 'city-2993458');
  assert.match(table.stdout, /^NAME +CITY NAME +COUNTRY .*VERSION\ncity-2993458 +Monaco +MC .* 0\n$/);
  assert.deepEqual([json.code, yaml.code, table.code], [0, 0, 0]);
});

for (const type of ['cities', 'cities.atlas.example.com', 'cities.v1alpha1.atlas.example.com']) {
  test(`command-line: TYPE is a plural, plural.group or plural.version.group - ${type}`, async () => {
    const { code, stdout } = await call('get', type, 'city-2993458', '-o', 'json');
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout).spec.name, 'Monaco');
  });
}

test('command-line: list takes sort, selectors, page and size', async () => {
  const args = ['--field-selector', 'spec.country in (MC,AD)', '--label-selector', 'atlas.example.com/rank=capital'];
  const { code, stdout } = await call(
    'list',
    'cities',
    ...args,
    '--sort',
    'spec.population,asc',
    '--page',
    '2',
    '--size',
    '1',
    '-o',
    'json',
  );
  const page = JSON.parse(stdout);
  assert.equal(code, 0);
  assert.deepEqual(
    page.items.map((city: City) => city.spec.name),
    ['Monaco'],
  );
  assert.deepEqual(
    { ...page, items: [] },
    {
      page: 2,
      size: 1,
      total: 2,
      items: [],
      first: false,
      last: true,
      hasNext: false,
      hasPrevious: true,
      totalPages: 2,
    },
  );
  const table = await call('list', 'cities', ...args, '--sort', 'spec.population,asc');
  assert.deepEqual(
    table.stdout
      .split('\n')
      .slice(1, 3)
      .map((line) => line.split(/ +/)[0]),
    ['city-3041563', 'city-2993458'],
  );
  assert.equal(table.stderr, '2 of 2\n');
});

test('command-line: apply creates, changes and leaves alone, from a file, a folder and standard input', async () => {
  const sources = join(folder, 'sources');
  const { mkdirSync } = await import('node:fs');
  mkdirSync(sources);
  writeFileSync(join(sources, 'a.json'), JSON.stringify(thimphu, null, 2));
  writeFileSync(join(sources, 'b.yaml'), 'apiVersion: atlas.example.com/v1alpha1\nkind: City\n---\n# nothing\n');
  const created = await callWith(JSON.stringify(thimphu), 'apply', '-f', '-');
  assert.deepEqual(created, { code: 0, stdout: 'cities.atlas.example.com/city-1252416 created\n', stderr: '' });
  const unchanged = await call('apply', '-f', join(sources, 'a.json'));
  assert.equal(unchanged.stdout, 'cities.atlas.example.com/city-1252416 unchanged\n');
  writeFileSync(
    join(sources, 'a.json'),
    JSON.stringify({ ...thimphu, spec: { ...thimphu.spec, population: 100_000 } }),
  );
  const mixed = await call('apply', '-f', sources);
  assert.equal(mixed.code, 1);
  assert.equal(mixed.stdout, 'cities.atlas.example.com/city-1252416 updated\n');
  assert.match(mixed.stderr, /b\.yaml:1: .*\n( {2}\/metadata\/name: .*\n)( {2}\/spec.*\n)*$/);
  const stale = await callWith(
    JSON.stringify({ ...thimphu, metadata: { ...thimphu.metadata, version: 7 } }),
    'apply',
    '-f',
    '-',
  );
  assert.equal(stale.code, 1);
  assert.equal((await harness.client.get(City, 'city-1252416')).spec.population, 100_000);
  const deleted = await call('delete', 'cities', 'city-1252416');
  assert.deepEqual(deleted, { code: 0, stdout: 'cities.atlas.example.com/city-1252416 deleted\n', stderr: '' });
  assert.equal((await call('delete', 'cities', 'city-1252416')).code, 1);
});

test('command-line: export and import carry every object over', async () => {
  const file = join(folder, 'export.ndjson');
  const exported = await call('export', '-o', file);
  assert.equal(exported.code, 0, exported.stderr);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  const models = [City, Country, Region, SavedQuery];
  const counts = await Promise.all(models.map((model) => harness.client.count(model as ModelType)));
  assert.equal(
    lines.length,
    counts.reduce((sum, count) => sum + count, 0),
  );
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.partial')),
    [],
  );
  const other = await startHarness({ plugins: [join(import.meta.dirname, '../../examples/atlas')] });
  try {
    // What the plugin declares is there already.
    const imported = await kindred(['import', file, '--server', other.url, '--on-conflict', 'skip']);
    assert.deepEqual([imported.code, imported.stdout], [0, '']);
    const again = await kindred(['export', '--server', other.url]);
    const bare = (line: string) => {
      const { metadata, status, ...object } = JSON.parse(line);
      return { ...object, name: metadata.name, labels: metadata.labels };
    };
    const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
    assert.deepEqual(again.stdout.trimEnd().split('\n').map(bare).sort(byName), lines.map(bare).sort(byName));
  } finally {
    await other.stop();
  }
});

test('command-line: import answers 0 only when every object was acknowledged', async () => {
  const first = join(folder, 'again.ndjson');
  const changed = {
    ...thimphu,
    metadata: { name: 'city-2993458', version: 99 },
    spec: { ...thimphu.spec, geonameId: 2993458, name: 'Monaco!' },
  };
  writeFileSync(first, `${JSON.stringify(changed)}\n`);
  const failed = await call('import', first);
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /^Importing .*\n0 imported, 1 refused\n.*again\.ndjson:1: .*city-2993458.*\n$/);
  const skipped = await call('import', first, '--on-conflict', 'skip');
  assert.equal(skipped.code, 0);
  assert.match(skipped.stderr, /0 imported, 1 skipped\n$/);
  assert.equal((await harness.client.get(City, 'city-2993458')).spec.name, 'Monaco');
  const replaced = await call('import', first, '--on-conflict', 'replace');
  assert.equal(replaced.code, 0, replaced.stderr);
  assert.match(replaced.stderr, /1 imported, 1 of them replaced\n$/);
  assert.equal((await harness.client.get(City, 'city-2993458')).spec.name, 'Monaco!');
});

test('command-line: import reads YAML too, and reports each refused object with its violations', async () => {
  const yaml = `
apiVersion: atlas.example.com/v1alpha1
kind: Country
metadata: { name: nowhere }
spec: { code: nowhere }
---
apiVersion: other.example.com/v1
kind: Thing
`;
  const { code, stderr } = await callWith(yaml, 'import', '-');
  assert.equal(code, 1);
  assert.match(stderr, /0 imported, 2 refused\n/);
  assert.match(stderr, /stdin:2: .*\n( {2}\/spec\/\w+: .*\n)+/);
  assert.match(stderr, /stdin:7: The service has no model Thing \(other\.example\.com\/v1\)\n/);
  assert.doesNotMatch(stderr, /\n {4,}at /);
});

const usage: { name: string; args: string[]; message: RegExp }[] = [
  { name: 'no command', args: [], message: /Usage: kindred/ },
  { name: 'an unknown command', args: ['serv'], message: /unknown command 'serv'/ },
  { name: 'an unknown flag', args: ['list', 'cities', '--sorted'], message: /unknown option '--sorted'/ },
  { name: 'a missing argument', args: ['token', 'revoke'], message: /missing required argument 'name'/ },
  {
    name: 'an unknown format',
    args: ['list', 'cities', '-o', 'xml'],
    message: /Allowed choices are json, yaml, table, wide, name, jsonpath=TEMPLATE, custom-columns=HEAD:PATH,…\.\n/,
  },
  { name: 'a TYPE that is none', args: ['list', 'Cities!'], message: /^kindred: "Cities!" is no TYPE/ },
  { name: 'a page that is no number', args: ['list', 'cities', '--page', 'x'], message: /needs a whole number/ },
  {
    name: 'a server that is no URL',
    args: ['list', 'cities', '--server', 'here'],
    message: /^kindred: --server needs a URL/,
  },
  {
    name: 'a file that is not there',
    args: ['apply', '-f', '/nowhere/at/all'],
    message: /^kindred: \/nowhere\/at\/all cannot be read: there is no such file\n$/,
  },
  {
    name: 'authentication off on an open address',
    args: ['serve', '--insecure-no-auth', '--host', '0.0.0.0'],
    message: /^kindred: --insecure-no-auth is for loopback addresses only.*0\.0\.0\.0\n$/,
  },
  {
    name: 'a name that could lead anywhere',
    args: ['serve', '--insecure-no-auth', '--host', 'example.com'],
    message: /loopback/,
  },
  {
    name: 'workers on SQLite',
    args: ['serve', '--workers', '2', '--insecure-no-auth'],
    message: /^kindred: --workers needs PostgreSQL or MySQL.*\n$/,
  },
  { name: 'a port that is none', args: ['serve', '--port', 'x'], message: /port needs a whole number/ },
  {
    name: 'a time to live that is none',
    args: ['token', 'create', '--user', 'a', '--ttl', 'long'],
    message: /--ttl needs a duration/,
  },
];
for (const { name, args, message } of usage) {
  test(`command-line: wrong use is exit code 2 and one clear line - ${name}`, async () => {
    const { code, stderr } = await call(...args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, message);
  });
}

const refused: { name: string; args: string[]; message: RegExp }[] = [
  {
    name: 'an unknown type',
    args: ['list', 'towns'],
    message:
      /^kindred: The service has no type "towns" that you may use. You may use .*cities\.atlas\.example\.com.*\n$/,
  },
  { name: 'an unknown object', args: ['get', 'cities', 'atlantis'], message: /^kindred: .*atlantis.*\n$/ },
  {
    name: 'an unknown sort field',
    args: ['list', 'cities', '--sort', 'spec.admin'],
    message: /^kindred: .*spec\.admin.*spec\.population.*\n$/,
  },
  { name: 'a page of size 0', args: ['list', 'cities', '--size', '0'], message: /^kindred: .*size.*\n$/ },
  {
    name: 'a service that is not there',
    args: ['list', 'cities', '--server', 'http://127.0.0.1:47'],
    message: /^kindred: The service at http:\/\/127\.0\.0\.1:47 could not be reached: ECONNREFUSED\n$/,
  },
];
for (const { name, args, message } of refused) {
  test(`command-line: what the service refuses is exit code 1 and one clear line - ${name}`, async () => {
    const { code, stdout, stderr } = await call(...args);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, message);
  });
}

const commands = [
  'serve',
  'get',
  'list',
  'describe',
  'explain',
  'label',
  'annotate',
  'diff',
  'edit',
  'wait',
  'model diff',
  'model check',
  'model plan',
  'model status',
  'model finalize',
  'model hold',
  'model rollback',
  'api-resources',
  'version',
  'whoami',
  'login',
  'logout',
  'console',
  'kubeconfig',
  'context list',
  'context use',
  'context delete',
  'completion',
  'delete',
  'patch',
  'finalizer remove',
  'watch',
  'apply',
  'replace',
  'export',
  'import',
  'token create',
  'token list',
  'token revoke',
  'auth can-i',
  'check',
  'backup',
  'restore',
  'migrate',
  'crd import',
  'plugin new',
  'plugin list',
  'plugin enable',
  'plugin disable',
];
for (const command of commands) {
  test(`command-line: --help for each command - ${command}`, async () => {
    const { code, stdout } = await call(...command.split(' '), '--help');
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`^Usage: kindred ${command}`));
  });
}

test('command-line: plugin list, disable and enable', async () => {
  const listed = await call('plugin', 'list');
  assert.match(listed.stdout, /^NAME +VERSION +ENABLED +STATE +REASON\natlas +0\.1\.0 +true +STARTED/);
});
