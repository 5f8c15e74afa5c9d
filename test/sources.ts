/**
 * `node --import ./test/sources.ts FILE` runs sources: `kindred` is src/ of this checkout, and TypeScript that is more than types
 * (decorators, enums) is allowed in tests. Node.js strips the types itself, so that lines and columns stay what they are.
 *
 * A process that read and compiled everything itself would take 1.5 s for it. So what Node.js has compiled is kept in
 * node_modules/.cache, for the programs that it starts too, and the 370 files of TypeBox are one, as they are in dist/.
 */
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire, enableCompileCache, registerHooks, setSourceMapsSupport } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The options of a Node.js that runs sources. */
export const fromSources = ['--import', import.meta.url];

const root = fileURLToPath(new URL('../', import.meta.url));
const home = pathToFileURL(root).href;
const sources = `${home}src/`;
const cache = join(root, 'node_modules/.cache/kindred');
const tsconfig = json(join(root, 'tsconfig.json')) as { compilerOptions: { paths: Record<string, [string]> } };
const own = Object.entries(tsconfig.compilerOptions.paths).map(([name, [file]]) => [name, new URL(file, home).href]);
const packageNames = new Map(own as [string, string][]);
const near = createRequire(import.meta.url);
const moreThanTypes = /^ *(@[A-Za-z]+\(|(export )?(const )?enum |constructor\(\s*(private|public|readonly) )/m;

// Coverage counts only what the process compiles itself.
if (!process.env.NODE_V8_COVERAGE) {
  process.env.NODE_COMPILE_CACHE ??= join(cache, 'compiled');
  enableCompileCache();
}

registerHooks({
  resolve(specifier, context, next) {
    const { parentURL } = context;
    if (!parentURL?.startsWith(home) || parentURL.includes('/node_modules/')) return next(specifier, context);
    const url = specifier === 'typebox' ? typeBox() : packageNames.get(specifier);
    if (url) return { url, shortCircuit: true };
    // There are no links below src/ to follow.
    if (!/^\.\.?\/.*\.ts$/.test(specifier) || !parentURL.startsWith(sources)) return next(specifier, context);
    return { url: new URL(specifier, parentURL).href, shortCircuit: true };
  },
  load(url, context, next) {
    const loaded = next(url, context);
    if (loaded.format !== 'module-typescript' || !url.startsWith(home)) return loaded;
    if (url.startsWith(sources) && !url.endsWith('.test.ts')) return loaded;
    const text = String(loaded.source);
    return moreThanTypes.test(text) ? { ...loaded, format: 'module', source: lower(text, fileURLToPath(url)) } : loaded;
  },
});

function lower(text: string, sourcefile: string): string {
  const { transformSync } = near('esbuild') as typeof import('esbuild');
  setSourceMapsSupport(true);
  const compilerOptions = { useDefineForClassFields: true, verbatimModuleSyntax: true };
  const options = { loader: 'ts', target: 'es2024', sourcemap: 'inline', tsconfigRaw: { compilerOptions } } as const;
  return transformSync(text, { ...options, sourcefile }).code;
}

function typeBox(): string {
  const { version } = json(join(root, 'node_modules/typebox/package.json')) as { version: string };
  const folder = join(cache, `typebox-${version}`);
  const file = join(folder, 'index.mjs');
  if (!existsSync(file)) {
    const { buildSync } = near('esbuild') as typeof import('esbuild');
    const made = `${folder}-${process.pid}`;
    const options = { absWorkingDir: root, bundle: true, format: 'esm', platform: 'node' } as const;
    buildSync({ ...options, entryPoints: ['typebox'], outfile: join(made, 'index.mjs') });
    try {
      renameSync(made, folder);
    } catch (error) {
      rmSync(made, { recursive: true });
      // Another process may have been first.
      if (!existsSync(file)) throw error;
    }
  }
  return pathToFileURL(file).href;
}

function json(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}
