// Builds dist/ from nothing, so that a file deleted from src/ can never linger in the published package.
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve, sep } from 'node:path';
import type { Plugin } from 'esbuild';
import { build } from 'esbuild';
import { parseSync } from 'oxc-parser';
import { buildConsole } from './build-console.ts';

const root = resolve(import.meta.dirname, '..');
const dist = join(root, 'dist');

/** TypeBox comes along, other packages stay where they are installed. */
const packages: Plugin = {
  name: 'packages',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[^.]/ }, ({ path, kind }) => {
      if (kind === 'entry-point' || path === 'typebox' || path.startsWith('typebox/')) return undefined;
      return { path, external: true };
    });
    onLoad({ filter: /[\\/]typebox[\\/]build[\\/]index\.mjs$/ }, ({ path }) => {
      const license = readFileSync(join(root, 'node_modules/typebox/license'), 'utf8');
      return { contents: `/*!\nTypeBox\n\n${license}*/\n${readFileSync(path, 'utf8')}`, loader: 'js' };
    });
  },
};

/** A module that looks for files beside itself finds them from any file of dist/. */
const ownPlaces: Plugin = {
  name: 'own-places',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!text.includes('import.meta')) return undefined;
      const place = relative(root, path).split(sep).join('/').replace(/^src/, './dist').replace(/ts$/, 'js');
      const url = `new URL('${place}', import.meta.resolve('kindred/package.json')).href`;
      let contents = '';
      let from = 0;
      for (const { start, end } of parseSync(path, text).module.importMetas) {
        const [member] = /^\.\w+/.exec(text.slice(end)) ?? [];
        if (member === '.resolve') continue;
        if (member !== '.url') throw new Error(`${path}: only import.meta.url and .resolve can be built`);
        contents += text.slice(from, start) + url;
        from = end + member.length;
      }
      return { contents: contents + text.slice(from), loader: 'ts' };
    });
  },
};

rmSync(dist, { recursive: true, force: true });

const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'));
const compiler = spawnSync(process.execPath, [join(typescript, 'bin', 'tsc'), '-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
});
if (compiler.error) throw compiler.error;
if (compiler.status !== 0) process.exit(compiler.status ?? 1);

await bundle();
chmodSync(join(dist, 'cli', 'main.js'), 0o755);

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

/**
 * A start loads some 420 modules of ours and 370 of TypeBox. To find, read and link them one by one takes longer than all the
 * rest of a start, so modules that are loaded together become one file. What several entries need is in files beside them: each
 * module exists once, whichever entry a program comes in by.
 */
async function bundle(): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: [
      'src/index.ts',
      'src/cli/main.ts',
      'src/client/client.ts',
      'src/model/entry.ts',
      'src/model/browser-entry.ts',
      'src/testing/index.ts',
      'src/http/server/yaml-worker.ts',
      'src/snapshots/snapshot-worker.ts',
      'src/store/sqlite/writer-worker.ts',
    ],
    outbase: 'src',
    outdir: 'dist',
    chunkNames: 'chunk-[hash]',
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'es2024',
    sourcemap: true,
    sourcesContent: false,
    minifyWhitespace: true,
    lineLimit: 160,
    plugins: [packages, ownPlaces],
  });
  for (const name of readdirSync(dist).filter((file) => file.endsWith('.js'))) {
    const [other] = /[^\0-\x7f]/u.exec(readFileSync(join(dist, name), 'utf8')) ?? [];
    // Node.js keeps the text of a module as long as it runs, and with one such character in two bytes for each.
    if (other) throw new Error(`${name} has "${other}": write it as an escape`);
  }
}
