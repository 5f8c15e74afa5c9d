/** What `kindred plugin new` makes: it starts as it is, its tests and its types hold, and it can be packed and installed. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { startHarness } from 'kindred/testing';
import { kindred } from './command.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const home = realpathSync(mkdtempSync(join(tmpdir(), 'kindred-new-')));
after(() => rmSync(home, { recursive: true, force: true }));

const garden = join(home, 'garden');
const env = { ...process.env, PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}` };
const script = (name: string) => run('npm', ['run', '--silent', name], { cwd: garden, env, timeout: 60_000 });

async function made(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const before = process.cwd();
  process.chdir(home);
  try {
    return await kindred(['plugin', 'new', ...args]);
  } finally {
    process.chdir(before);
  }
}

/** The plugin starts, and its controller and its route work. */
async function works(folder: string, group: string): Promise<void> {
  const started = await startHarness({ plugins: [folder] });
  try {
    const { plugins } = (await (await started.fetch('/readyz')).json()) as { plugins: { message?: string }[] };
    assert.equal(plugins[0]!.message, undefined);
    assert.equal((await started.fetch(`/apis/${group}/v1alpha1/tasks/welcome`)).status, 200);
    await started.until(async () => {
      const summary = await started.fetch(`/apis/api.${group}/v1alpha1/tasks/-/summary`);
      assert.deepEqual(await summary.json(), { Open: 1, Overdue: 0, Done: 0 });
      return true;
    });
  } finally {
    await started.stop();
  }
}

test('command-line: plugin new says what it made and what comes next', async () => {
  const { code, stdout, stderr } = await made('garden');
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(
    stdout,
    /^garden\/package\.json\n[\s\S]*garden\/README\.md\n[\s\S]*\n\ncd garden\nnpm install\nnpm test\nnpm start\n$/,
  );
});

test('command-line: a plugin that plugin new made starts as it is, before it is built', () =>
  works(garden, 'garden.example.com'));

test('command-line: its model and routes have the group that --group says', async () => {
  assert.equal((await made('orchard', '--group', 'fruit.example.org')).code, 0);
  await works(join(home, 'orchard'), 'fruit.example.org');
});

for (const [what, args, says] of [
  ['a name that is there already', ['garden'], /garden is there already/],
  ['a name that is none', ['Garden'], /"Garden" is no plugin name/],
  ['a group that is none', ['barn', '--group', 'Barn'], /"Barn" is no group/],
] as const) {
  test(`command-line: plugin new refuses ${what}`, async () => {
    const { code, stderr } = await made(...args);
    assert.equal(code, 2);
    assert.match(stderr, says);
  });
}

test('command-line: what plugin new made compiles under strict, without a cast', async () => {
  const config = JSON.parse(readFileSync(join(garden, 'tsconfig.json'), 'utf8')) as { compilerOptions: object };
  // Before the package is published, its types are those of the sources here, which want the types of Node.js alone.
  const paths = { kindred: ['index.ts'], 'kindred/testing': ['testing/index.ts'] };
  const options = {
    ...config.compilerOptions,
    lib: ['esnext'],
    typeRoots: [join(root, 'node_modules/@types')],
    paths: Object.fromEntries(Object.entries(paths).map(([name, [file]]) => [name, [join(root, 'src', file!)]])),
  };
  writeFileSync(join(garden, 'tsconfig.test.json'), JSON.stringify({ compilerOptions: options, include: ['*.ts'] }));
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const compiled = await run(process.execPath, [compiler, '-p', 'tsconfig.test.json'], { cwd: garden }).catch((e) => e);
  assert.equal(compiled.stdout, '');
  assert.doesNotMatch(readFileSync(join(garden, 'plugin.test.ts'), 'utf8'), / as (?!\{ )/);
});

test('plugins: it is built, packed and installed, and starts from there; its tests pass', async () => {
  await script('build');
  const tests = ['--import', join(root, 'node_modules/tsx/dist/loader.mjs'), '--test', '--test-reporter=tap'];
  const tested = await run(process.execPath, tests, {
    cwd: garden,
    env: { ...env, NODE_TEST_CONTEXT: undefined, TSX_TSCONFIG_PATH: join(garden, 'tsconfig.test.json') },
    timeout: 60_000,
  }).catch((error) => error);
  assert.match(tested.stdout, /^# pass 3\n# fail 0$/m, tested.stderr);
  rmSync(join(garden, 'dist'), { recursive: true });

  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', home], { cwd: garden, env });
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string; files: { path: string }[] }];
  assert.deepEqual(packed.files.map(({ path }) => path).sort(), [
    'README.md',
    'dist/plugin.js',
    'dist/plugin.js.map',
    'extensions/welcome.yaml',
    'package.json',
  ]);
  const installed = join(home, 'site/node_modules/garden');
  mkdirSync(installed, { recursive: true });
  await run('tar', ['-xzf', join(home, packed.filename), '-C', installed, '--strip-components=1']);
  await works(installed, 'garden.example.com');
});
