/**
 * Every snippet of the README and of the guide is run, in the order of its page, against a service with the countries and
 * the cities of two of them. `sh` blocks are run by a shell in which `kindred` and `npx kindred` are the command; blocks with a
 * name are files of the page's plugin, `ts` blocks without one and tests are programs; a `json` or `text` block shows what the block before it printed;
 * `console` blocks are for people.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { createClient } from 'kindred/client';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';
import { City } from '../../examples/atlas/city.ts';
import { Country } from '../../examples/atlas/country.ts';
import { cities, countries } from '../../examples/atlas/data.ts';
import { fromSources } from '../sources.ts';
import type { Snippet } from './snippets.ts';
import { difference, snippetsOf } from './snippets.ts';

const root = resolve(import.meta.dirname, '../..');
const atlas = join(root, 'examples/atlas');
const build = join(root, 'build');
mkdirSync(build, { recursive: true });
// Below the repository, so that `kindred` and the types resolve there as they do for the examples.
const folder = mkdtempSync(join(build, 'docs-'));
const filled = join(folder, 'filled.db');
before(fill);
after(() => rmSync(folder, { recursive: true, force: true }));

const documented = 'http://127.0.0.1:8090';
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs/guide'))
    .sort()
    .map((name) => `docs/guide/${name}`),
];
const run = promisify(execFile);

for (const page of pages) {
  const snippets = snippetsOf(readFileSync(join(root, page), 'utf8'));
  const withToken = snippets.some(({ language, text }) => language === 'sh' && text.includes('$TOKEN'));

  test(`every snippet of ${page} runs and answers what it shows`, async () => {
    const home = join(folder, page.replaceAll('/', '-'));
    mkdirSync(home);
    const files = snippets.filter(({ name }) => name !== '');
    for (const { name, text } of files) {
      mkdirSync(dirname(join(home, name)), { recursive: true });
      writeFileSync(join(home, name), `${text}\n`);
    }
    const isPackage = files.some(({ name }) => name === 'package.json');
    if (files.length > 0 && !isPackage)
      writeFileSync(
        join(home, 'package.json'),
        '{"name":"snippets","version":"0.0.0","type":"module","main":"plugin.ts"}',
      );
    else if (!isPackage) writeFileSync(join(home, 'package.json'), '{"type":"module"}');
    for (const name of ['city.ts', 'country.ts']) symlinkSync(join(atlas, name), join(home, name));
    const plugins = files.some(({ name }) => name === 'plugin.ts') ? [atlas, home] : [atlas];
    const database = join(folder, `${page.replaceAll('/', '-')}.db`);
    copyFileSync(filled, database);
    const harness = await startHarness({
      plugins,
      database: `sqlite:${database}`,
      ...(withToken && { auth: {} }),
    });
    try {
      let printed = '';
      for (const [i, snippet] of snippets.entries()) {
        const place = `${page}:${snippet.line}`;
        if (snippet.name !== '' && !snippet.name.endsWith('.test.ts')) continue;
        if (snippet.language === 'sh') printed = await shell(snippet, harness, home, place);
        else if (snippet.language === 'ts') printed = await program(snippet, harness, home, i, place);
        else if (snippet.language === 'json') compareJson(snippet, printed, place);
        else if (snippet.language === 'text') compareText(snippet, printed, place);
        else
          assert.ok(
            ['ts', 'console', 'yaml'].includes(snippet.language),
            `${place}: nothing runs a block of ${snippet.language}`,
          );
      }
    } finally {
      await harness.stop();
    }
  });
}

/** The database with the countries and cities, which the service of each page gets a copy of. */
async function fill(): Promise<void> {
  const harness = await startHarness({ plugins: [atlas], database: `sqlite:${filled}` });
  const client = createClient({ url: harness.url });
  for await (const result of client.import(Country, countries())) assert.ok(result.ok);
  for await (const result of client.import(City, cities(['FR', 'MC']))) assert.ok(result.ok);
  // The pages show what they change themselves, not what the controller of the atlas still counts.
  await harness.until(async () => {
    let counted = 0;
    for await (const { status } of client.listAll(Country)) {
      if (status === undefined) return false;
      counted += status.cities;
    }
    return counted === (await client.for(City).count());
  });
  await harness.stop();
}

const command = [...fromSources, join(root, 'src/cli/main.ts')].map((word) => JSON.stringify(word)).join(' ');
const preamble = `set -euo pipefail
kindred() { node ${command} "$@"; }
npx() { "$@"; }
`;

async function shell({ text }: Snippet, harness: Harness, cwd: string, place: string): Promise<string> {
  return execute('bash', ['-c', preamble + text.replaceAll(documented, harness.url)], harness, cwd, place);
}

async function program({ text }: Snippet, harness: Harness, cwd: string, i: number, place: string): Promise<string> {
  const file = join(cwd, `program-${i}.ts`);
  writeFileSync(file, `${text.replaceAll(documented, harness.url)}\nexport {};\n`);
  return execute('node', [...fromSources, file], harness, cwd, place);
}

async function execute(command: string, args: string[], harness: Harness, cwd: string, place: string): Promise<string> {
  const env = {
    ...process.env,
    TOKEN: harness.token,
    KINDRED_TOKEN: harness.token,
    KINDRED_SERVER: harness.url,
  };
  try {
    return (await run(command, args, { cwd, env, timeout: 60_000 })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${place} failed:\n${stderr}\n${stdout}`, { cause: error });
  }
}

function compareJson({ text }: Snippet, printed: string, place: string): void {
  let answer: unknown;
  try {
    answer = JSON.parse(printed);
  } catch {
    assert.fail(`${place} shows JSON, but printed was: ${printed}`);
  }
  const differs = difference(JSON.parse(text), answer);
  assert.equal(differs, undefined, `${place}: ${differs}`);
}

function compareText({ text }: Snippet, printed: string, place: string): void {
  const differs = difference(text.trimEnd(), printed.trimEnd());
  assert.equal(differs, undefined, `${place}: ${differs}`);
}

test('every snippet in TypeScript is checked by the compiler under strict', async () => {
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: true,
      rootDir: root,
      typeRoots: [join(root, 'node_modules/@types')],
      paths: Object.fromEntries(
        Object.entries({
          kindred: 'index.ts',
          'kindred/client': 'client/client.ts',
          'kindred/model': 'model/entry.ts',
          'kindred/testing': 'testing/index.ts',
        }).map(([name, file]) => [name, [join(root, 'src', file)]]),
      ),
    },
    include: ['**/*.ts'],
    exclude: [],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const { stdout } = await run('tsc', ['-p', folder], { cwd: root }).catch((error: { stdout: string }) => error);
  const own = stdout.split('\n').filter((line) => line.startsWith(relative(root, folder)));
  assert.deepEqual(own, []);
});

const comparisons: [unknown, unknown, string | undefined][] = [
  [{ a: 1 }, { a: 1, b: 2 }, undefined],
  [{ a: 1 }, { a: 2 }, '/a: 2 is not 1'],
  [[1, '…'], [1, 2, 3], undefined],
  [[1, '…'], [1], 'the answer: has 1 items'],
  [[1], [1, 2], 'the answer: has 2 items'],
  ['a…c', 'abbc', undefined],
  ['a…c', 'abb', 'the answer: "abb" is not "a…c"'],
  [{ a: [] }, null, 'the answer: null is no object'],
];
for (const [shown, answer, expected] of comparisons) {
  test(`a shown answer is compared - ${JSON.stringify(shown)} with ${JSON.stringify(answer)}`, () => {
    assert.equal(difference(shown, answer), expected);
  });
}
