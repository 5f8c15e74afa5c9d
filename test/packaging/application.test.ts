/** What `npm create kindred` makes, with the package as npm packs it: its tests and its types hold, and it serves. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { parse } from 'yaml';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const home = realpathSync(mkdtempSync(join(tmpdir(), 'kindred-application-')));
const create = join(root, 'create-kindred/dist/main.js');
const skip = existsSync(create) && existsSync(join(root, 'dist')) ? false : 'dist/ is not built: npm run build';
const env = { ...process.env, NODE_TEST_CONTEXT: undefined, NODE_OPTIONS: undefined };
const shop = join(home, 'shop');
let service: ChildProcess | undefined;

before(async () => {
  if (skip) return;
  await run(process.execPath, [create, 'shop', '--group', 'shop.example.com'], { cwd: home });
  const packing = ['pack', '--json', '--ignore-scripts', '--pack-destination', home];
  const { stdout } = await run('npm', packing, { cwd: root, env });
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string }];
  const modules = join(shop, 'node_modules');
  mkdirSync(join(modules, 'kindred'), { recursive: true });
  await run('tar', ['-xzf', join(home, filename), '-C', join(modules, 'kindred'), '--strip-components=1']);
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name !== '.package-lock.json' && name !== 'kindred')
      symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
});
after(async () => {
  if (service?.exitCode === null && service.kill()) await once(service, 'exit');
  rmSync(home, { recursive: true, force: true });
});

const script = (name: string) => run('npm', ['run', '--silent', name], { cwd: shop, env, timeout: 120_000 });

test('packaging: the package as it is packed has its types, its pages and no sources', { skip }, () => {
  const files = readdirSync(join(shop, 'node_modules/kindred'), { recursive: true, encoding: 'utf8' });
  for (const file of [
    'dist/index.d.ts',
    'dist/cli/main.js',
    'dist/client/client.js',
    'dist/testing/index.d.ts',
    'LICENSE',
  ]) {
    assert.ok(files.includes(file), file);
  }
  assert.ok(files.some((file) => file.startsWith('dist/console/')));
  assert.deepEqual(
    files.filter((file) => /(?<!\.d)\.ts$|\.test\./.test(file)),
    [],
  );
});

test('packaging: a model and the client bundle for browsers, without anything of Node.js or of the service', {
  skip,
}, async () => {
  const source = `import { createClient } from 'kindred/client';
import { defineModel, Type } from 'kindred/model';
const Note = defineModel({
  gvk: { group: 'notes.example.com', version: 'v1', kind: 'Note', singular: 'note', plural: 'notes' },
  spec: Type.Object({ text: Type.String() }),
  indexes: (index) => [index.single('spec.text', String, (note) => note.spec.text)],
});
export const notes = createClient({ url: 'http://127.0.0.1:8090' }).for(Note);`;
  const { metafile, outputFiles } = await build({
    stdin: { contents: source, resolveDir: shop, loader: 'ts' },
    bundle: true,
    minify: true,
    platform: 'browser',
    format: 'esm',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  // Modules that the same entries need are one file, whose map names them.
  const ofOurs = Object.keys(metafile.inputs).filter((name) => /node_modules\/kindred\//.test(name));
  const sources = ofOurs.flatMap((name) => {
    const { sources } = JSON.parse(readFileSync(`${name}.map`, 'utf8')) as { sources: string[] };
    return sources.map((source) => join(dirname(name), source));
  });
  const own = sources.flatMap((source) => /\/kindred\/(src\/(?!client\/).*)/.exec(source)?.[1] ?? []);
  assert.deepEqual([...new Set(own)].sort(), [
    'src/errors.ts',
    'src/model/browser-entry.ts',
    'src/model/full-name.ts',
    'src/model/typebox.ts',
    'src/runtime/backoff.ts',
    'src/runtime/parts.ts',
    'src/runtime/read-json.ts',
  ]);
  assert.ok(gzipSync(outputFiles[0]!.contents).length < 40_000);
});

test('packaging: an application compiles under strict', { skip }, async () => {
  const { stdout } = await script('typecheck');
  assert.equal(stdout, '');
});

test('packaging: the tests of an application pass', { skip }, async () => {
  const { stdout } = await script('test');
  assert.match(stdout, /^ℹ pass 3\nℹ fail 0$|^# pass 3\n# fail 0$/m);
});

test('packaging: an application serves, with authentication', { skip }, async () => {
  const command = [
    join(shop, 'node_modules/kindred/dist/cli/main.js'),
    'serve',
    '--config',
    'kindred.yaml',
    '--port',
    '0',
  ];
  service = spawn(process.execPath, command, { cwd: shop, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let [token, url] = ['', ''];
  for await (const line of createInterface({ input: service.stdout! })) {
    token ||= /^Administrator token: (\S+)$/.exec(line)?.[1] ?? '';
    url ||= /^Kindred is ready at (\S+)$/.exec(line)?.[1] ?? '';
    if (url) break;
  }
  const tasks = `${url}/apis/shop.example.com/v1alpha1/tasks`;
  assert.equal((await fetch(tasks)).status, 401);
  const response = await fetch(tasks, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(((await response.json()) as { total: number }).total, 1);
});

test('packaging: each database has its URL, its driver and a server to start', { skip }, async () => {
  for (const [database, driver] of [
    ['postgres', 'pg'],
    ['mysql', 'mysql2'],
  ] as const) {
    const made = await run(process.execPath, [create, database, '--database', database], { cwd: home });
    assert.match(made.stdout, /\nnpm test\ndocker compose up --detach database\nnpm run dev\n$/);
    const text = (name: string) => readFileSync(join(home, database, name), 'utf8');
    const { database: url } = parse(text('kindred.yaml')) as { database: string };
    assert.ok(url.startsWith(`${database}://`), url);
    assert.ok(driver in (JSON.parse(text('package.json')) as { dependencies: object }).dependencies);
    const { services } = parse(text('compose.yaml')) as { services: Record<string, { environment: object }> };
    assert.deepEqual(services.service!.environment, { KINDRED_DATABASE: url.replace('127.0.0.1', 'database') });
    assert.doesNotMatch(text('Dockerfile'), /VOLUME/);
  }
});

test('packaging: without a terminal everything that was not said has its default', { skip }, async () => {
  const { stdout } = await run(process.execPath, [create], { cwd: home });
  assert.match(stdout, /^my-app\/package\.json\n[\s\S]*\n\ncd my-app\nnpm install\nnpm test\nnpm run dev\n$/);
  assert.match(readFileSync(join(home, 'my-app/task.ts'), 'utf8'), /group: 'my-app\.example\.com'/);
});

test('packaging: create-kindred warns of a Node.js that is too old for the application', { skip }, async () => {
  const on = async (node: string) => {
    const versions = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${node}' } })`;
    const args = ['--import', `data:text/javascript,${versions}`, create, `on-${node.replaceAll('.', '-')}`];
    return (await run(process.execPath, args, { cwd: home })).stderr;
  };
  const { engines } = JSON.parse(readFileSync(join(shop, 'package.json'), 'utf8')) as { engines: { node: string } };
  assert.equal(engines.node, '>=24.15');
  assert.equal(await on('24.9.0'), 'create-kindred: the application needs Node.js 24.15 or newer, this is 24.9.0\n');
  assert.equal(await on('24.15.0'), '');
});

for (const [what, args, says] of [
  ['a folder that is there already', ['shop'], /^create-kindred: the folder shop is there already\nUsage: /],
  ['a name that is none', ['Shop'], /"Shop" is no/],
  ['an unknown database', ['store', '--database', 'oracle'], /"oracle" is no database: sqlite, postgres or mysql/],
  ['an unknown option', ['store', '--databse', 'sqlite'], /Unknown option '--databse'/],
] as const) {
  test(`packaging: create-kindred refuses ${what}`, { skip }, async () => {
    const failed = run(process.execPath, [create, ...args], { cwd: home });
    await assert.rejects(failed, (error: { code: number; stderr: string }) => {
      assert.equal(error.code, 2);
      assert.match(error.stderr, says);
      return true;
    });
    assert.equal(existsSync(join(home, 'store')), false);
  });
}

// `script` of util-linux runs a command on a terminal.
const terminal = process.platform === 'linux' && existsSync('/usr/bin/script');
test('packaging: on a terminal it asks three questions', {
  skip: skip || (terminal ? false : 'no terminal here'),
}, async () => {
  const asking = spawn('/usr/bin/script', ['-qec', `'${process.execPath}' '${create}'`, '/dev/null'], { cwd: home });
  let said = '';
  const answers = [
    [/application \(my-app\): $/, 'library\n'],
    [/model \(library\.example\.com\): $/, '\n'],
    [/mysql \(sqlite\): $/, 'postgres\n'],
  ] as [RegExp, string][];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: how a terminal moves its cursor
  const control = /\x1b\[[\d;]*[A-Za-z]/g;
  asking.stdout.on('data', (text) => {
    said += String(text).replace(control, '');
    if (answers[0]?.[0].test(said)) asking.stdin.write(answers.shift()![1]);
  });
  const [code] = await once(asking, 'close');
  assert.deepEqual([code, answers.length], [0, 0], said);
  assert.ok(existsSync(join(home, 'library/compose.yaml')));
});
