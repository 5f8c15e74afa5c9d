/**
 * `npm run test:generators`: four generators of clients get the OpenAPI document of a plugin. A program without casts is
 * compiled against each client under `strict`, and run against the service. The generators are installed at the first run.
 */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { defineModel, definePlugin, Type } from 'kindred';
import { startHarness } from 'kindred/testing';

const run = promisify(execFile);
const here = import.meta.dirname;
const work = join(here, 'build');
const bin = (name: string) => join(here, 'node_modules/.bin', name);

const Book = defineModel({
  gvk: { group: 'library.example.com', version: 'v1', kind: 'Book', singular: 'book', plural: 'books' },
  spec: Type.Object({
    title: Type.String({ minLength: 1 }),
    year: Type.Integer(),
    pages: Type.Optional(Type.Integer()),
  }),
  indexes: (index) => [index.single('spec.year', Number, (book) => book.spec.year)],
});

/** Arguments of each generator, for a document and the folder of the client. */
const generators: Readonly<Record<string, (document: string, url: string) => readonly [string, ...string[]]>> = {
  'openapi-typescript': (document) => ['openapi-typescript', document, '-o', 'client.ts'],
  'hey-api': (document) => ['openapi-ts', '-i', document, '-o', 'client', '-c', '@hey-api/client-fetch'],
  orval: (document, url) => {
    const output = { target: './client/api.ts', client: 'fetch', mode: 'split', baseUrl: url };
    writeFileSync(
      join(work, 'orval/orval.config.mjs'),
      `export default ${JSON.stringify({ kindred: { input: document, output } })};\n`,
    );
    return ['orval', '--config', 'orval.config.mjs'];
  },
  'swagger-typescript-api': (document) => [
    'swagger-typescript-api',
    'generate',
    '-p',
    document,
    '-o',
    'client',
    '-n',
    'api.ts',
  ],
};

if (!existsSync(bin('orval'))) execFileSync('npm', ['ci', '--no-fund', '--no-audit'], { cwd: here, stdio: 'inherit' });
rmSync(work, { recursive: true, force: true });
mkdirSync(work);
const plugin = definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Book) });
const harness = await startHarness({ plugins: [{ name: 'library', plugin }] });
const rows: object[] = [];
try {
  const document = join(work, 'api.json');
  writeFileSync(document, await (await fetch(`${harness.url}/v3/api-docs/apis_aggregated.api_v1alpha1`)).text());
  for (const [name, argumentsOf] of Object.entries(generators)) {
    const cwd = join(work, name);
    mkdirSync(cwd);
    cpSync(join(here, `programs/${name}.ts`), join(cwd, 'program.ts'));
    const [command, ...args] = argumentsOf(document, harness.url);
    await run(bin(command), args, { cwd });
    const compilerOptions = {
      ...{ target: 'es2022', module: 'esnext', moduleResolution: 'bundler', strict: true, outDir: 'out', rootDir: '.' },
      ...{ lib: ['es2022', 'dom', 'dom.iterable'], types: ['node'], skipLibCheck: true },
    };
    writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['**/*.ts'] }));
    await run(bin('tsc'), ['-p', cwd]).catch((error: { stdout: string }) => assert.fail(`${name}:\n${error.stdout}`));
    const { stdout } = await run('node', ['--import', 'tsx', 'program.ts', harness.url], { cwd, timeout: 60_000 });
    assert.equal(stdout.trim(), '1 1816 emma NotFound', name);
    rows.push({ generator: name, compiles: 'strict, no casts', printed: stdout.trim() });
  }
} finally {
  await harness.stop();
  rmSync(work, { recursive: true, force: true });
}
console.table(rows);
