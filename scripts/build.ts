// Builds dist/ from nothing, so that a file deleted from src/ can never linger in the published package.
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { build } from 'esbuild';
import { buildConsole } from './build-console.ts';

const root = resolve(import.meta.dirname, '..');
const dist = join(root, 'dist');
rmSync(dist, { recursive: true, force: true });

const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'));
const compiler = spawnSync(process.execPath, [join(typescript, 'bin', 'tsc'), '-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
});
if (compiler.error) throw compiler.error;
if (compiler.status !== 0) process.exit(compiler.status ?? 1);

const command = join(dist, 'cli', 'main.js');
if (existsSync(command)) chmodSync(command, 0o755);

cpSync(join(root, 'src/schema/meta-schemas'), join(dist, 'schema/meta-schemas'), {
  recursive: true,
});

// The API page's assets: the package they come from runs a script at installation, which users are to be spared.
const assets = join(dist, 'http', 'openapi', 'swagger-ui');
mkdirSync(assets);
const swagger = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
for (const name of ['swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js', 'LICENSE', 'NOTICE']) {
  copyFileSync(join(swagger, name), join(assets, name));
}

// TypeBox is 370 modules, and loading them took a sixth of a start: here they are one.
const typebox = join(dist, 'model', 'typebox.js');
rmSync(`${typebox}.map`);
await build({
  entryPoints: [typebox],
  outfile: typebox,
  allowOverwrite: true,
  bundle: true,
  platform: 'neutral',
  format: 'esm',
  target: 'es2024',
  banner: { js: `/*!\n${readFileSync(join(root, 'node_modules/typebox/license'), 'utf8')}*/` },
});

// What `npm create kindred` runs has no packages to install.
await build({
  entryPoints: [join(root, 'create-kindred', 'main.ts')],
  outfile: join(root, 'create-kindred', 'dist', 'main.js'),
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
});

await buildConsole();
