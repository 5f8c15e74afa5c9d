import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, beforeEach, test } from 'node:test';
import { defineModel, definePlugin, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';
import { parse } from 'yaml';
import { run } from '../../src/cli/program.ts';
import type { Outcome, Surroundings } from './command.ts';
import { kindred } from './command.ts';

const gvk = { version: 'v1', kind: 'Box', singular: 'box', plural: 'boxes' };
const shop = 'shop.example.com';
const Box = defineModel({
  gvk: { group: shop, ...gvk },
  spec: Type.Object({ title: Type.String(), weight: Type.Optional(Type.Integer({ minimum: 0 })) }),
  status: Type.Optional(Type.Object({ phase: Type.Optional(Type.String()) })),
  subresources: { status: true },
  indexes: (index) => [index.single('spec.weight', Number, (box) => box.spec.weight)],
});
/** The same words in another group. */
const Lid = defineModel({
  gvk: { group: shop, version: 'v1', kind: 'Lid', singular: 'lid', plural: 'lids' },
  spec: Type.Object({}),
});
const OtherLid = defineModel({
  gvk: { group: 'other.example.com', version: 'v1', kind: 'Lid', singular: 'lid', plural: 'lids' },
  spec: Type.Object({}),
});
/** A type of a plugin with the name of one of the service's own. */
const OwnUser = defineModel({
  gvk: { group: shop, version: 'v1', kind: 'User', singular: 'user', plural: 'users' },
  spec: Type.Object({}),
});

const folder = mkdtempSync(join(tmpdir(), 'kindred-objects-'));
let harness: Harness;
before(async () => {
  const plugin = definePlugin({
    start: ({ schemeManager }) => {
      for (const model of [Box, Lid, OtherLid, OwnUser]) schemeManager.register(model);
    },
  });
  harness = await startHarness({ auth: {}, plugins: [{ name: 'shop', plugin }] });
});
after(async () => {
  await harness.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  for await (const { metadata } of harness.client.listAll(Box)) {
    await harness.client.patch(Box, metadata.name, { metadata: { finalizers: [] } });
    await harness.client.delete(Box, metadata.name);
  }
  for (const [name, weight] of [
    ['a', 2],
    ['c', 1],
    ['b', 3],
  ] as const) {
    const labels = { size: weight > 1 ? 'big' : 'small' };
    await harness.client.create(Box, { metadata: { name, labels }, spec: { title: `Box ${name}`, weight } });
  }
});

function call(...args: string[]): Promise<Outcome> {
  return callIn({}, ...args);
}

function callIn({ env, ...rest }: Surroundings, ...args: string[]): Promise<Outcome> {
  return kindred(args, { env: { KINDRED_SERVER: harness.url, KINDRED_TOKEN: harness.token, ...env }, ...rest });
}

/** First cells of a table. */
function names({ stdout }: Outcome): string[] {
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/)[0]!);
}

for (const type of ['boxes', 'box', 'Box', 'BOXES', `Box.${shop}`, `box.v1.${shop}`, `boxes.${shop}`]) {
  test(`command-line: TYPE is a plural, a singular or a kind - ${type}`, async () => {
    const { code, stdout, stderr } = await call('get', type, 'a', '-o', 'name');
    assert.deepEqual([code, stdout, stderr], [0, `boxes.${shop}/a\n`, '']);
  });
}

test('command-line: a TYPE of several groups needs its group; the own types of the service keep their short names', async () => {
  const { code, stderr } = await call('get', 'lid');
  assert.deepEqual([code, stderr], [2, `kindred: "lid" is in several groups: lids.other.example.com, lids.${shop}\n`]);
  assert.equal((await call('get', `lid.${shop}`)).code, 0);
  assert.deepEqual((await call('get', 'user', '-o', 'name')).stdout, 'users/admin\n');
});

test('command-line: get and list print all objects by name, and how many there are', async () => {
  for (const verb of ['get', 'list']) {
    const { code, stdout, stderr } = await call(verb, 'boxes');
    assert.equal(code, 0);
    assert.match(stdout, /^NAME {3}TITLE {3}WEIGHT {3}AGE {3}VERSION\na {6}Box a {3}2 {8}\d+s {4}0\nb {6}Box b /);
    assert.deepEqual(names({ stdout, stderr, code }), ['NAME', 'a', 'b', 'c']);
    assert.equal(stderr, '3 of 3\n');
  }
});

test('command-line: get without a TYPE names those there are', async () => {
  const { code, stderr } = await call('get');
  assert.equal(code, 2);
  assert.match(
    stderr,
    /^kindred: give a TYPE: boxes\.shop\.example\.com, configmaps, .*webhooks\.webhook\.platform\.run\n$/,
  );
});

const lists: { args: string[]; expected: string[]; said: string }[] = [
  { args: ['-l', 'size=big'], expected: ['a', 'b'], said: '2 of 2\n' },
  { args: ['--selector', 'size=big', '--label-selector', 'size!=x'], expected: ['a', 'b'], said: '2 of 2\n' },
  { args: ['--field-selector', 'spec.weight<3'], expected: ['a', 'c'], said: '2 of 2\n' },
  { args: ['--sort', 'spec.weight,desc'], expected: ['b', 'a', 'c'], said: '3 of 3\n' },
  { args: ['--sort', 'spec.weight', '--size', '2'], expected: ['c', 'a'], said: '2 of 3, page 1 of 2\n' },
  { args: ['--sort', 'spec.weight', '--size', '2', '--page', '2'], expected: ['b'], said: '1 of 3, page 2 of 2\n' },
  { args: ['--page', '2'], expected: [], said: '0 of 3\n' },
  { args: ['--limit', '2'], expected: ['a', 'b'], said: '2 of 3, page 1 of 2\n' },
  { args: ['--limit', '3', '--sort', 'spec.weight'], expected: ['c', 'a', 'b'], said: '3 of 3\n' },
];
for (const { args, expected, said } of lists) {
  test(`command-line: selectors, order and page of a list - ${args.join(' ')}`, async () => {
    for (const verb of ['get', 'list']) {
      const { stdout, stderr } = await call(verb, 'boxes', '--no-headers', ...args);
      assert.deepEqual([stdout.match(/^\S+/gm) ?? [], stderr], [expected, said]);
    }
  });
}

test('command-line: a list of nothing has no heads, and says so beside the output', async () => {
  assert.deepEqual(await call('list', `lids.${shop}`), { code: 0, stdout: '', stderr: `There are no lids.${shop}\n` });
  const selected = await call('get', 'boxes', '-l', 'size=none');
  assert.deepEqual(selected, { code: 0, stdout: '', stderr: `There are no boxes.${shop} that match\n` });
});

test('command-line: a list for programs is one document with the members of a page, streamed or not', async () => {
  const facts = { total: 3, first: true, hasPrevious: false };
  const readers: Record<string, (text: string) => any> = {
    json: (text) => JSON.parse(text),
    yaml: (text) => parse(text),
  };
  for (const [output, read] of Object.entries(readers)) {
    const all = read((await call('list', 'boxes', '-o', output)).stdout);
    assert.deepEqual(
      { ...all, items: all.items.map((box: { metadata: { name: string } }) => box.metadata.name) },
      { ...facts, page: 1, size: 3, items: ['a', 'b', 'c'], last: true, hasNext: false, totalPages: 1 },
    );
    assert.deepEqual(all.items[0], await harness.client.get(Box, 'a'));
    const page = read((await call('list', 'boxes', '--size', '2', '-o', output)).stdout);
    assert.equal(page.items.length, 2);
    assert.deepEqual(
      { ...page, items: [] },
      { ...facts, page: 1, size: 2, items: [], last: false, hasNext: true, totalPages: 2 },
    );
    const none = read((await call('list', `lids.${shop}`, '-o', output)).stdout);
    assert.deepEqual([none.items, none.total, none.totalPages], [[], 0, 0]);
  }
});

test('command-line: a list in YAML is what it was, line breaks and all, and can be applied', async () => {
  const titles = ['two\nlines', ' leading\n  more\n\n\n', '', '- dash: "x"', '\ttab\n', 'ends with a break\n'];
  for (const [i, title] of titles.entries()) {
    await harness.client.create(Box, { metadata: { name: `t-${i}` }, spec: { title } });
  }
  const { stdout } = await call('list', 'boxes', '-o', 'yaml', '--field-selector', '!spec.weight');
  assert.deepEqual(
    parse(stdout).items.map((box: { spec: { title: string } }) => box.spec.title),
    titles,
  );
  const applied = await callIn({ stdin: stdout }, 'apply', '-f', '-');
  assert.deepEqual([applied.code, applied.stdout.match(/updated$/gm)?.length], [0, titles.length]);
});

test('command-line: more objects than are written at once are printed whole and in order', async () => {
  // The longest name is in the first portion: the later ones keep its width.
  const all = Array.from({ length: 1_203 }, (_, i) => `n-${String(i).padStart(5, '0')}${i === 7 ? '-longest' : ''}`);
  for (const name of all) await harness.client.create(Lid, { metadata: { name }, spec: {} });
  const table = await call('list', `lids.${shop}`);
  assert.deepEqual([names(table), table.stderr], [['NAME', ...all], '1203 of 1203\n']);
  const begin = table.stdout.indexOf('AGE');
  const lines = table.stdout.trimEnd().split('\n').slice(1);
  assert.ok(lines.every((line) => /^ \d/.test(line.slice(begin - 1))));
  const document = JSON.parse((await call('list', `lids.${shop}`, '-o', 'json')).stdout);
  assert.deepEqual(
    [document.items.map((one: { metadata: { name: string } }) => one.metadata.name), document.total],
    [all, 1_203],
  );
  const deleted = await call('delete', 'lids.v1.shop.example.com', '--all', '-o', 'name');
  assert.equal(deleted.stdout.trimEnd().split('\n').length, 1_203);
  assert.equal(await harness.client.count(Lid), 0);
});

const templates: { args: string[]; expected: string }[] = [
  { args: ['boxes', '-o', 'jsonpath={.items[*].metadata.name}'], expected: 'a b c' },
  {
    args: ['boxes', '-o', 'jsonpath={range .items[?(@.spec.weight>1)]}{.metadata.name}={.spec.weight}{"\\n"}{end}'],
    expected: 'a=2\nb=3\n',
  },
  { args: ['boxes', '-o', 'jsonpath={.total}: {.items[-1:].metadata.name}'], expected: '3: c' },
  { args: ['box', 'a', '-o', 'jsonpath={.spec.title}'], expected: 'Box a' },
  { args: ['box/a', 'box/c', '-o', 'jsonpath={.items[*].spec.title}'], expected: 'Box a Box c' },
  { args: [`lids.${shop}`, '-o', 'jsonpath=none: {.items[*].metadata.name}{"\\n"}'], expected: 'none: \n' },
  {
    args: ['boxes', '-o', 'custom-columns=NAME:.metadata.name,SIZE:.metadata.labels.size,PHASE:{.status.phase}'],
    expected: 'NAME   SIZE    PHASE\na      big     <none>\nb      big     <none>\nc      small   <none>\n',
  },
  { args: ['box', 'a', '--no-headers', '-o', "custom-columns=A:metadata['name','version']"], expected: 'a,0\n' },
];
for (const { args, expected } of templates) {
  test(`command-line: get prints what a JSONPath leads to - ${args.join(' ')}`, async () => {
    const { code, stdout } = await call('get', ...args);
    assert.deepEqual([code, stdout], [0, expected]);
  });
}

test('command-line: a template that begins with the items is printed while they arrive, whatever their number', async () => {
  const all = Array.from({ length: 1_203 }, (_, i) => `t-${String(i).padStart(5, '0')}`);
  for (const name of all) await harness.client.create(Lid, { metadata: { name }, spec: {} });
  const lids = `lids.${shop}`;
  assert.equal((await call('get', lids, '-o', 'jsonpath={.items[*].metadata.name}')).stdout, all.join(' '));
  assert.equal(
    (await call('get', lids, '-o', 'jsonpath={.items[1200:].metadata.name}')).stdout,
    all.slice(1_200).join(' '),
  );
  const lines = await call('get', lids, '-o', 'jsonpath=<{range .items[*]}{.metadata.name},{end}>');
  assert.equal(lines.stdout, `<${all.map((name) => `${name},`).join('')}>`);
  await call('delete', lids, '--all');
});

test('command-line: several objects are a table, or one document, in the order of their names', async () => {
  assert.deepEqual(names(await call('get', 'box', 'c', 'a')), ['NAME', 'c', 'a']);
  assert.deepEqual(names(await call('get', 'box/c', 'boxes/a')), ['NAME', 'c', 'a']);
  const { items, total } = JSON.parse((await call('get', 'box', 'c', 'a', '-o', 'json')).stdout);
  assert.deepEqual([items.length, items[0].metadata.name, total], [2, 'c', 2]);
});

test('command-line: one object is printed as a row, and as it is in YAML and JSON', async () => {
  const stored = await harness.client.get(Box, 'a');
  assert.match((await call('get', 'box', 'a')).stdout, /^NAME .*\na .*\n$/);
  assert.match((await call('get', 'box/a')).stdout, /^NAME .*\na .*\n$/);
  assert.deepEqual(parse((await call('get', 'box', 'a', '-o', 'yaml')).stdout), stored);
  assert.deepEqual(JSON.parse((await call('get', 'box/a', '-o', 'json')).stdout), stored);
});

test('command-line: several types follow each other, with names that say of which they are', async () => {
  await harness.client.create(Lid, { metadata: { name: 'z' }, spec: {} });
  for (const args of [['box/a', `lid.${shop}/z`], [`box,lid.${shop}`]]) {
    const { stdout } = await call('get', ...args);
    assert.match(stdout, /^NAME .*\nboxes\.shop\.example\.com\/a [\s\S]*\n\nNAME .*\nlids\.shop\.example\.com\/z /);
  }
  const document = JSON.parse((await call('get', 'box/a', `lid.${shop}/z`, '-o', 'json')).stdout);
  assert.deepEqual([document.items.length, document.total], [2, 2]);
  await harness.client.delete(Lid, 'z');
});

test('command-line: missing objects are reported, and the others are printed', async () => {
  const { code, stdout, stderr } = await call('get', 'box', 'a', 'x', 'b');
  assert.equal(code, 1);
  assert.match(stdout, /\na .*\nb /);
  assert.equal(stderr, 'kindred: There is no Box "x"\n');
  const passed = await call('get', 'box', 'x', '--ignore-not-found');
  assert.deepEqual(passed, { code: 0, stdout: '', stderr: '' });
});

test('command-line: on a terminal a table has the columns that its lines have room for', async () => {
  const heads = async (columns: number) =>
    (await callIn({ columns }, 'get', 'boxes')).stdout.split('\n')[0]!.split(/ {2,}/).join(' ');
  assert.equal(await heads(80), 'NAME TITLE WEIGHT AGE VERSION');
  assert.equal(await heads(37), 'NAME TITLE WEIGHT AGE VERSION');
  assert.equal(await heads(36), 'NAME TITLE AGE VERSION');
  assert.equal(await heads(5), 'NAME TITLE AGE VERSION');
});

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const twoBoxes = (...names: string[]) =>
  names.map((name) => `apiVersion: ${shop}/v1\nkind: Box\nmetadata: { name: ${name} }\n`).join('---\n');

test('command-line: get and delete take the objects of a file', async () => {
  const path = file('boxes.yaml', twoBoxes('a', 'b'));
  assert.deepEqual(names(await call('get', '-f', path)), ['NAME', 'a', 'b']);
  const deleted = await call('delete', '-f', path);
  assert.deepEqual([deleted.code, deleted.stdout], [0, `boxes.${shop}/a deleted\nboxes.${shop}/b deleted\n`]);
  assert.deepEqual(await harness.client.listNames(Box), ['c']);
  const again = await call('delete', '-f', path);
  assert.deepEqual([again.code, again.stderr], [1, 'kindred: There is no Box "a"\nkindred: There is no Box "b"\n']);
  assert.equal((await call('delete', '-f', path, '--ignore-not-found')).code, 0);
});

test('command-line: documents that are no objects are reported with their place, and the others are processed', async () => {
  const path = file('mixed.yaml', `kind: Box\n---\n${twoBoxes('a')}---\napiVersion: ${shop}/v1\nkind: Box\n`);
  const { code, stdout, stderr } = await call('delete', '-f', path);
  assert.deepEqual([code, stdout], [1, `boxes.${shop}/a deleted\n`]);
  assert.match(
    stderr,
    /^\S+mixed\.yaml:1: The object has no apiVersion\n\S+mixed\.yaml:7: The object has no metadata\.name\n$/,
  );
});

test('command-line: delete takes several names, selectors, or all', async () => {
  const two = await call('delete', 'box', 'a', 'x', 'b');
  assert.deepEqual(
    [two.code, two.stdout, two.stderr],
    [1, `boxes.${shop}/a deleted\nboxes.${shop}/b deleted\n`, 'kindred: There is no Box "x"\n'],
  );
  await harness.client.create(Box, { metadata: { name: 'd', labels: { size: 'big' } }, spec: { title: 'D' } });
  assert.equal((await call('delete', 'boxes', '-l', 'size=big')).stdout, `boxes.${shop}/d deleted\n`);
  assert.deepEqual(await harness.client.listNames(Box), ['c']);
  const none = await call('delete', 'boxes', '--field-selector', 'spec.weight>100');
  assert.deepEqual([none.code, none.stderr], [0, `There are no boxes.${shop} to delete\n`]);
  assert.equal((await call('delete', 'boxes', '--all', '-o', 'name')).stdout, `boxes.${shop}/c\n`);
  assert.equal(await harness.client.count(Box), 0);
});

test('command-line: patch changes members by a merge patch or a list of operations, in JSON or YAML', async () => {
  const merged = await call('patch', 'box', 'a', 'b', '-p', '{"spec":{"weight":9}}');
  assert.deepEqual([merged.code, merged.stdout], [0, `boxes.${shop}/a patched\nboxes.${shop}/b patched\n`]);
  assert.equal((await harness.client.get(Box, 'b')).spec.weight, 9);
  const operations = file('operations.yaml', '- { op: replace, path: /spec/weight, value: 8 }\n');
  const patched = await call('patch', 'box/a', '--patch-file', operations, '-o', 'json');
  assert.equal(JSON.parse(patched.stdout).spec.weight, 8);
  const status = await call(
    'patch',
    'box',
    'a',
    '--subresource',
    'status',
    '-p',
    'status: { phase: Open }',
    '-o',
    'name',
  );
  assert.deepEqual([status.code, status.stdout], [0, `boxes.${shop}/a\n`]);
  assert.equal((await harness.client.get(Box, 'a')).status?.phase, 'Open');
  const refused = await call('patch', 'box', 'a', 'c', '-p', 'spec: { weight: -1 }');
  assert.equal(refused.code, 1);
  assert.equal(refused.stderr.match(/\/spec\/weight: must be at least 0/g)?.length, 2);
  const failed = await call('patch', 'box', 'a', '-p', '[{"op":"test","path":"/spec/weight","value":1}]');
  assert.equal(failed.code, 1);
});

test('command-line: patch passes large integers on as they are', async () => {
  const { code, stderr } = await call('patch', 'box', 'a', '-p', '{"spec":{"weight":9007199254740993}}');
  const { weight } = (await harness.client.get(Box, 'a')).spec;
  // The service keeps such a number or refuses it; what it must not see is another one.
  if (code === 0) assert.equal(BigInt(weight!), 9007199254740993n);
  else assert.match(stderr, /9007199254740993/);
});

test('command-line: finalizer remove lets go an object that is stuck', async () => {
  await harness.client.patch(Box, 'a', { metadata: { finalizers: ['x.example.com/one', 'x.example.com/two'] } });
  const deleted = await call('delete', 'box', 'a');
  assert.equal(
    deleted.stdout,
    `boxes.${shop}/a is being deleted, waiting for the finalizers x.example.com/one, x.example.com/two\n`,
  );
  const remove = (...args: string[]) => call('finalizer', 'remove', 'box', 'a', ...args);
  const bare = await remove();
  assert.equal(bare.code, 2);
  assert.match(
    bare.stderr,
    /^kindred: name finalizers, or give --all; its finalizers are x\.example\.com\/one, x\.exam/,
  );
  const unknown = await remove('x.example.com/three');
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /does not have x\.example\.com\/three; its finalizers are/);
  const first = await remove('x.example.com/one');
  assert.deepEqual([first.code, first.stdout], [0, `boxes.${shop}/a has the finalizers x.example.com/two\n`]);
  const last = await remove('--all');
  assert.deepEqual([last.code, last.stdout], [0, `boxes.${shop}/a is gone\n`]);
  assert.equal(await harness.client.fetch(Box, 'a'), undefined);
  const none = await call('finalizer', 'remove', 'box', 'b', '--all');
  assert.deepEqual([none.code, none.stdout], [0, `boxes.${shop}/b has no finalizers\n`]);
});

test('command-line: finalizer remove takes nothing off that somebody puts there meanwhile', async () => {
  await harness.client.patch(Box, 'a', { metadata: { finalizers: ['x.example.com/one'] } });
  let isFirst = true;
  const between = createServer(async (request, response) => {
    if (request.method === 'PATCH' && isFirst) {
      isFirst = false;
      await harness.client.patch(Box, 'a', { metadata: { finalizers: ['x.example.com/one', 'x.example.com/late'] } });
    }
    const { host, connection, 'content-length': _, ...headers } = request.headers as Record<string, string>;
    const body = request.method === 'PATCH' ? { body: await text(request) } : {};
    const answer = await fetch(`${harness.url}${request.url}`, { method: request.method!, headers, ...body });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type')! });
    response.end(await answer.text());
  }).listen(0, '127.0.0.1');
  try {
    await once(between, 'listening');
    const KINDRED_SERVER = `http://127.0.0.1:${(between.address() as AddressInfo).port}`;
    const done = await callIn({ env: { KINDRED_SERVER } }, 'finalizer', 'remove', 'box', 'a', 'x.example.com/one');
    assert.deepEqual([done.code, done.stdout], [0, `boxes.${shop}/a has the finalizers x.example.com/late\n`]);
    assert.deepEqual((await harness.client.get(Box, 'a')).metadata.finalizers, ['x.example.com/late']);
  } finally {
    between.close();
    between.closeAllConnections();
  }
});

test('get sorts by what kubectl calls a sort key, and shows labels', async () => {
  for (const path of ['.spec.weight', '{.spec.weight}', 'spec.weight']) {
    const sorted = await call('get', 'boxes', '--sort-by', path, '-o', 'name');
    assert.equal(sorted.stdout, ['c', 'a', 'b'].map((name) => `boxes.${shop}/${name}\n`).join(''));
  }
  const unknown = await call('get', 'boxes', '--sort-by=.spec.size');
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /spec\.size/);
  await harness.client.patch(Box, 'a', { metadata: { labels: { 'x.example.com/shelf': '7', size: null } } });
  await harness.client.patch(Box, 'c', { metadata: { labels: null } });
  const labelled = await call('get', 'boxes', '-L', 'x.example.com/shelf,size', '--show-labels');
  assert.match(labelled.stdout, /^NAME .* VERSION {3}SHELF {3}SIZE {3}LABELS\n/);
  assert.match(labelled.stdout, /^a .* 7 {14}x\.example\.com\/shelf=7\nb .* big {4}size=big\nc .* <none>\n$/m);
});

const usage: { args: string[]; message: RegExp }[] = [
  { args: ['get', 'box/a', 'b'], message: /^kindred: "b" is no TYPE\/NAME; .* cannot be mixed\n$/ },
  { args: ['get', 'box/a/b'], message: /^kindred: "box\/a\/b" is no TYPE\/NAME/ },
  { args: ['get', 'box/'], message: /^kindred: "box\/" is no TYPE\/NAME/ },
  { args: ['get', 'box', 'a', '-l', 'size=big'], message: /^kindred: selectors, .* give no names with them\n$/ },
  { args: ['get', 'box', 'a', '--page', '1'], message: /^kindred: selectors, .* give no names with them\n$/ },
  { args: ['get', 'box', '-f', 'x.yaml'], message: /^kindred: give files with -f, or a TYPE with names, not both\n$/ },
  { args: ['get', 'box', '-o', 'go-template={{.}}'], message: /Allowed choices are json, .* program such as jq\.\n/ },
  { args: ['get', 'box', '-o', 'jsonpath={.items'], message: /the JSONPath \{\.items cannot be read: / },
  { args: ['get', 'box', '-o', 'custom-columns=NAME'], message: /custom-columns needs HEAD:PATH.*, not "NAME"/ },
  {
    args: ['get', 'box', '-o', 'custom-columns=A:{range .a}{end}'],
    message: /the column A needs one JSONPath, not "\{range \.a\}\{end\}"/,
  },
  { args: ['get', 'box', '--limit', '0'], message: /It needs a whole number above 0\.\n/ },
  { args: ['get', 'box', '--limit', '1', '--size', '1'], message: /^kindred: --limit is for the whole list/ },
  {
    args: ['get', 'box', 'a', '--sort-by=.spec.weight'],
    message: /^kindred: selectors, .* give no names with them\n$/,
  },
  { args: ['auth', 'whoami'], message: /unknown command 'whoami'; here: kindred whoami\n/ },
  { args: ['exec', 'box'], message: /unknown command 'exec'; here: nothing runs in containers\n/ },
  { args: ['auth', 'can-i', '--list'], message: /unknown option '--list'; here: kindred whoami shows your roles\n/ },
  { args: ['auth', 'can-i', '*', '*'], message: /ask about one TYPE; kindred whoami shows your roles\n/ },
  { args: ['cluster-info'], message: /unknown command 'cluster-info'; here: kindred context list, kindred version\n/ },
  { args: ['list', 'boxes', 'a'], message: /too many arguments for 'list'.*; here: kindred get TYPE NAME\n/ },
  {
    args: ['list', 'boxes/a'],
    message: /^kindred: list takes a TYPE alone; "kindred get boxes\/a" prints an object\n$/,
  },
  { args: ['delete', 'boxes'], message: /^kindred: delete needs names, or selectors .*\n$/ },
  { args: ['delete', 'boxes', 'a', '--all'], message: /^kindred: delete needs names, .* one of these alone\n$/ },
  {
    args: ['delete', 'boxes', 'a', '-l', 'size=big'],
    message: /^kindred: delete needs names, .* one of these alone\n$/,
  },
  { args: ['patch', 'box', 'a'], message: /^kindred: give a patch with -p, or --patch-file\n$/ },
  {
    args: ['patch', 'box', '-p', '{}'],
    message: /^kindred: give the names of objects too: boxes\.shop\.example\.com NAME…/,
  },
  { args: ['patch', 'box', 'a', '-p', '7'], message: /^kindred: a patch is an object, or a list of operations\n$/ },
  {
    args: ['patch', 'box', 'a', '-p', '{'],
    message: /^kindred: --patch:1:\d+ is neither YAML nor JSON: [^\n]*[^:\n]\n$/,
  },
  {
    args: ['patch', 'box', 'a', '--patch-file', '/nowhere', '-p', '{}'],
    message: /^kindred: give a patch with -p, or --pa/,
  },
  {
    args: ['patch', 'box', 'a', '--patch-file', '/nowhere'],
    message: /^kindred: --patch-file \/nowhere cannot be read: /,
  },
  { args: ['watch', `box,lid.${shop}`], message: /^kindred: one type can be watched at a time\n$/ },
  {
    args: ['apply', 'x.yaml'],
    message: /required option '-f, .* not specified; here: files follow -f, as in -f objects/,
  },
  { args: ['create', '-f', 'x.yaml'], message: /unknown command 'create'; here: kindred apply -f FILE\n/ },
];
for (const { args, message } of usage) {
  test(`command-line: what kubectl takes and this does not is exit code 2, with what to type - ${args.join(' ')}`, async () => {
    const { code, stdout, stderr } = await call(...args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, message);
  });
}

test('command-line: a type that is not there, or not to be seen, is told with the nearest one', async () => {
  const { code, stderr } = await call('get', 'boxs');
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^kindred: The service has no type "boxs" that you may use; did you mean boxes\.shop\.example\.com\? You may use boxes\..*\n$/,
  );
  const { stdout: token } = await call('token', 'create', '--user', 'nobody');
  const asNobody = await callIn({ env: { KINDRED_TOKEN: token.trim() } }, 'get', 'users');
  assert.deepEqual(
    [asNobody.code, asNobody.stderr],
    [1, 'kindred: The service has no type "users" that you may use. You may use none\n'],
  );
});

test('command-line: without a token the command says where one is taken from', async () => {
  for (const KINDRED_TOKEN of [undefined, 'knd_wrong']) {
    const { code, stderr } = await callIn({ env: { KINDRED_TOKEN } }, 'get', 'boxes');
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^kindred: This request needs .*; --token, or the variable KINDRED_TOKEN, says who is asking\n$/,
    );
  }
});

const questions: { args: string[]; code: number; stdout: RegExp; stderr: RegExp }[] = [
  { args: ['delete', 'box', 'a'], code: 0, stdout: /^yes: /, stderr: /^$/ },
  { args: ['update', 'boxes/status'], code: 0, stdout: /^yes: /, stderr: /^$/ },
  { args: ['get', '/metrics'], code: 0, stdout: /^yes: /, stderr: /^$/ },
  {
    args: ['fly', 'boxes'],
    code: 0,
    stdout: /^yes: /,
    stderr: /^kindred: "fly" is no verb of the service, which has get, list, /,
  },
  {
    args: ['delete', 'planets'],
    code: 1,
    stdout: /^no: there is no type "planets" that you may use\n$/,
    stderr: /^$/,
  },
];
for (const { args, code, stdout, stderr } of questions) {
  test(`command-line: auth can-i is about a verb and a type - ${args.join(' ')}`, async () => {
    const answer = await call('auth', 'can-i', ...args);
    assert.equal(answer.code, code);
    assert.match(answer.stdout, stdout);
    assert.match(answer.stderr, stderr);
  });
}

test('command-line: lists of the other commands are pages for programs too', async () => {
  for (const command of [
    ['plugin', 'list'],
    ['token', 'list'],
    ['list', 'plugins'],
  ]) {
    const { items, total } = JSON.parse((await call(...command, '-o', 'json')).stdout);
    assert.deepEqual([Array.isArray(items), items.length], [true, total], command.join(' '));
  }
});

for (const gone of ['stdout', 'stderr'] as const) {
  test(`command-line: a reader that goes away ends a command quietly - ${gone}`, async () => {
    const pipe = new Writable({
      write(_chunk, _encoding, done) {
        setImmediate(() => done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })));
      },
    });
    const open = new Writable({ write: (_chunk, _encoding, done) => done() });
    const closed = new Promise((resolve) => pipe.once('close', resolve));
    const io = { stdin: Readable.from([]), stdout: open, stderr: open, [gone]: pipe, env: {} };
    const flags = ['--server', harness.url, '--token', harness.token!];
    assert.equal(await run(['list', 'boxes', ...flags], io), 0);
    // An error that comes only now must not end the process either.
    await closed;
  });
}
