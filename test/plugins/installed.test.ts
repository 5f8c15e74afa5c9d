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
const pluginHost = { dev: true };
const options = { database: 'sqlite::memory:', port: 0, auth: false as const, plugins: process.argv.slice(2), pluginHost };
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

async function statesWithDev(...folders: string[]): Promise<{ name: string; state: string; message?: string }[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...folders], { cwd: home, timeout: 60_000 });
  return JSON.parse(stdout);
}

test('contract 14: --dev without a compiler loads TypeScript whose types can be stripped, and says what the rest needs', async () => {
  const packageOf = (name: string) => ({ name, version: '1.0.0', type: 'module', main: 'index.ts' });
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
  const [first, second] = await statesWithDev(typed, decorated);
  assert.deepEqual(first, { name: 'typed', state: 'STARTED' });
  assert.equal(second?.state, 'FAILED');
  assert.match(second?.message ?? '', /index\.ts.*cannot be loaded: .*enum.*npm install --save-dev esbuild/);
});
