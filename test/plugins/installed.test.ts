/** The service as its users install it: without the packages that only its own development has. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { bookSource, cleanUp, folderOf } from './kit.ts';

const root = resolve(import.meta.dirname, '../..');
const home = mkdtempSync(join(tmpdir(), 'kindred-installed-'));
const program = join(home, 'states.ts');
for (const name of ['src', 'package.json']) cpSync(join(root, name), join(home, name), { recursive: true });
writeFileSync(
  program,
  `import { createService } from './src/service.ts';
const [mode, ...plugins] = process.argv.slice(2);
const pluginHost = { dev: mode === 'dev' };
const options = { database: 'sqlite::memory:', port: 0, auth: false as const, plugins, pluginHost };
const service = await createService(options);
await service.start();
process.stdout.write(JSON.stringify(service.readiness().plugins));
await service.stop();
`,
);
mkdirSync(join(home, 'node_modules'));
for (const name of readdirSync(join(root, 'node_modules'))) {
  if (name.startsWith('.') || ['esbuild', 'tsx', '@esbuild'].includes(name)) continue;
  symlinkSync(join(root, 'node_modules', name), join(home, 'node_modules', name));
}
after(async () => {
  await cleanUp();
  rmSync(home, { recursive: true, force: true });
});

async function statesOf(
  mode: 'dev' | 'plain',
  ...folders: string[]
): Promise<{ name: string; state: string; message?: string }[]> {
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [program, mode, ...folders], { cwd: home, timeout: 60_000 });
  return JSON.parse(stdout);
}

const packageOf = (name: string) => ({ name, version: '1.0.0', type: 'module', main: 'index.ts' });

test('command-line: --dev without a compiler loads TypeScript whose types can be stripped, and says what the rest needs', async () => {
  const typed = folderOf({
    'package.json': packageOf('typed'),
    'book.ts': bookSource,
    'index.ts': `import { definePlugin, type PluginContext } from 'kindred';
import { Book } from './book.ts';
export default definePlugin({ start: ({ schemeManager }: PluginContext) => void schemeManager.register(Book) });
`,
  });
  const decorated = folderOf({
    'package.json': packageOf('decorated'),
    'index.ts': `import { definePlugin } from 'kindred';
enum Colour { Red = 'RED' }
export default definePlugin({ start() { void Colour.Red; } });
`,
  });
  const [first, second] = await statesOf('dev', typed, decorated);
  assert.deepEqual(first, { name: 'typed', state: 'STARTED' });
  assert.equal(second?.state, 'FAILED');
  assert.match(second?.message ?? '', /index\.ts.*cannot be loaded: .*enum.*npm install --save-dev esbuild/);
});

const decorated = `import { AbstractExtension, GVK, Plugin } from 'kindred';
/*
  @no decorator, but a word in a comment
*/
@GVK({ group: 'a.example.com', version: 'v1', kind: 'A', singular: 'a', plural: 'as' })
class A extends AbstractExtension {}
export default class extends Plugin { override start(): void { this.schemeManager.register(A); } }
`;
const idle = "import { definePlugin } from 'kindred';\nexport default definePlugin({ start(): void {} });\n";

test('plugins: TypeScript that Node.js cannot run fails the plugin with the line and what would help', async () => {
  const sources = {
    decorated,
    enumerated: `import { definePlugin } from 'kindred';\nenum Colour { Red }\nexport default definePlugin({ start() { void Colour.Red; } });\n`,
    misspelled: `import { defineModle, definePlugin } from 'kindred';\nexport default definePlugin({ start(): void { defineModle(); } });\n`,
    slipped: `import { definePlugin } from 'kindred';\nexport default definePlugin({ start(): void { const a: number = ; } });\n`,
  };
  const folders = Object.entries(sources).map(([name, source]) =>
    folderOf({ 'package.json': packageOf(name), 'index.ts': source }),
  );
  const installed = join(
    folderOf({
      'node_modules/installed/package.json': packageOf('installed'),
      'node_modules/installed/index.ts': idle,
    }),
    'node_modules/installed',
  );
  const states = await statesOf('plain', ...folders, installed);
  const said = Object.fromEntries(
    states.map(({ name, state, message }) => [name, `${state} ${message?.replace(/^.*\//, '')}`]),
  );
  const wayOut = 'Node.js only removes types: run the service with --dev, or compile the plugin to JavaScript';
  const { installed: below, ...others } = said;
  assert.deepEqual(others, {
    decorated: `FAILED index.ts:5 cannot be loaded: "@GVK" is a decorator, which Node.js does not know. ${wayOut}`,
    enumerated: `FAILED index.ts:2 cannot be loaded: TypeScript enum is not supported in strip-only mode. ${wayOut}`,
    misspelled:
      "FAILED index.ts:1 cannot be loaded: The requested module 'kindred' does not provide an export named 'defineModle'",
    slipped: 'FAILED index.ts:2 cannot be loaded: Expression expected',
  });
  assert.match(
    states.at(-1)!.message!,
    /index\.ts cannot be loaded: .*node_modules.*Compile the plugin to JavaScript$/,
  );
  assert.ok(below);
});

test('plugins: with --dev and without a compiler decorators say which package is missing', async () => {
  const [state] = await statesOf('dev', folderOf({ 'package.json': packageOf('decorated'), 'index.ts': decorated }));
  assert.match(state!.message!, /index\.ts:5 cannot be loaded: "@GVK" is a decorator.*npm install --save-dev esbuild/);
});
