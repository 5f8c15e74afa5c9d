/**
 * Makes the single executable: Node.js, the service, its packages the drivers of PostgreSQL and MySQL, and the API of OpenTelemetry in one file.
 * `npm run executable [-- FILE]`; FILE is `kindred` (`kindred.exe` on Windows) in the current folder by default.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { findPackageJSON, stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const output = resolve(process.argv[2] ?? (process.platform === 'win32' ? 'kindred.exe' : 'kindred'));
/** Optional packages that come along. */
const extras = ['pg', 'mysql2', '@opentelemetry/api'];

const work = mkdtempSync(join(tmpdir(), 'kindred-executable-'));
try {
  const files = [
    ...filesBelow(join(root, 'dist')),
    join(root, 'package.json'),
    join(root, 'LICENSE'),
    ...[...packages()].flatMap(filesBelow),
  ];
  // Named from the folder of the checkout, so that `node_modules` stands where Node.js looks for it.
  const assets = Object.fromEntries(files.map((file) => [relative(root, file).replaceAll(sep, '/'), file]));
  const hash = createHash('sha256');
  for (const [name, file] of Object.entries(assets)) hash.update(name).update('\0').update(readFileSync(file));
  const version = (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version;
  const build = join(work, 'build');
  writeFileSync(build, `${version}-${hash.digest('hex').slice(0, 16)}`);
  const main = join(work, 'main.mjs');
  writeFileSync(main, stripTypeScriptTypes(readFileSync(join(import.meta.dirname, 'executable-main.ts'), 'utf8')));
  const config = join(work, 'config.json');
  writeFileSync(
    config,
    JSON.stringify({
      main,
      mainFormat: 'module',
      output,
      disableExperimentalSEAWarning: true,
      execArgv: ['--max-semi-space-size=8'],
      // Arguments are the command's; Node.js itself is told more by NODE_OPTIONS.
      execArgvExtension: 'env',
      assets: { ...assets, build },
    }),
  );
  execFileSync(process.execPath, ['--build-sea', config], { stdio: ['ignore', 'ignore', 'inherit'] });
  console.log(`${output}: ${Math.round(statSync(output).size / 2 ** 20)} MiB, ${files.length} files`);
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Folders of the packages that run in production, and of the optional ones, with everything that they depend on. */
function packages(): Set<string> {
  const found = new Set<string>();
  const add = (name: string, from: string, isOptional: boolean): void => {
    const manifest = findPackageJSON(name, from);
    if (manifest === undefined) {
      if (isOptional) return;
      throw new Error(`${name} is not installed: run "npm ci"`);
    }
    const folder = dirname(manifest);
    if (found.has(folder)) return;
    found.add(folder);
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as Manifest;
    for (const one of Object.keys(dependencies)) add(one, manifest, one in optionalDependencies);
  };
  const own = join(root, 'package.json');
  const { dependencies = {} } = JSON.parse(readFileSync(own, 'utf8')) as Manifest;
  for (const name of [...Object.keys(dependencies), ...extras]) add(name, own, false);
  return found;
}

interface Manifest {
  readonly dependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
}

/** Without packages inside of a package, which are found by themselves, and without sources and maps. */
function filesBelow(folder: string): string[] {
  return globSync('**/*', { cwd: folder, withFileTypes: true, exclude: (entry) => entry.name === 'node_modules' })
    .filter((entry) => entry.isFile() && !/\.(map|md|d\.[cm]?ts|flow)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}
