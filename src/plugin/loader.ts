/**
 * Brings a plugin's code into the process. A *package* is a folder with a `package.json`; a *generation* counts how often
 * its code was loaded, because Node keeps every module it has loaded and a reload needs fresh ones.
 */

import { existsSync, readFileSync, realpathSync } from 'node:fs';
import type { ResolveFnOutput, ResolveHookContext } from 'node:module';
import { createRequire, registerHooks } from 'node:module';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { LoadedCode } from './loaded-code.ts';
import type { Manifest } from './manifest.ts';
import { syntaxProblem, transformProblem } from './syntax-problem.ts';

type NextResolve = (specifier: string, context?: Partial<ResolveHookContext>) => ResolveFnOutput;

export interface LoaderOptions {
  /** Plugin sources in TypeScript are transformed, decorators included. */
  readonly dev: boolean;
}

const texts = {
  noPackage: localized('There is no plugin package "{source}": neither a folder nor an installed npm package'),
  noEntry: localized('{folder}: the package\'s "main" or "exports" leads to no file: {reason}'),
} satisfies Record<string, Text>;

/** Where the running copy of this package lies: its root folder, with a separator at its end. */
const home = fileURLToPath(new URL('../..', import.meta.url));
/** URLs of the service's own modules begin so. */
const ownFolders = ['src', 'dist'].map((folder) => `${pathToFileURL(join(home, folder)).href}/`);
const runsFromSource = import.meta.url.endsWith('.ts');
const generationParameter = 'kindred-generation';
const entryPrefix = 'kindred-plugin:';
const typescript = /\.[cm]?ts$/;

/** `kindred` and `kindred/*`, each with the URL of the running copy's own module. */
function ownModules(): ReadonlyMap<string, string> {
  const { name, exports } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
    name: string;
    exports: Record<string, string | { default: string }>;
  };
  const modules = new Map<string, string>();
  for (const [path, target] of Object.entries(exports)) {
    const file = typeof target === 'string' ? target : target.default;
    const own = runsFromSource ? file.replace('./dist/', './src/').replace(/\.js$/, '.ts') : file;
    modules.set(name + path.slice(1), pathToFileURL(join(home, own)).href);
  }
  return modules;
}

/** The folder of a plugin package: a path, or the name of an npm package installed at `base` or above. @throws InvalidPlugin */
export function findPackage(source: string, base: string): string {
  const folder = resolve(base, source);
  if (existsSync(join(folder, 'package.json'))) return realpathSync(folder);
  const isPath = source.startsWith('.') || resolve(source) === source;
  for (let at = base; !isPath; at = dirname(at)) {
    const installed = join(at, 'node_modules', source);
    if (existsSync(join(installed, 'package.json'))) return realpathSync(installed);
    if (dirname(at) === at) break;
  }
  if (existsSync(folder)) return realpathSync(folder);
  throw new KindredError('InvalidPlugin', texts.noPackage, { params: { source } });
}

type Transform = (source: string, file: string) => string;

/** Loads plugins until it is closed; code that a plugin imports later than that finds no `kindred`. */
export class PluginLoader {
  readonly #options: LoaderOptions;
  readonly #own = ownModules();
  /** URL of each plugin's folder with `/` at its end → generation. */
  readonly #folders = new Map<string, number>();
  readonly #hooks: { deregister(): void };
  /** Undefined until it is looked for; null: not installed, then Node strips the types by itself. */
  #transform: Transform | null | undefined;
  readonly #code = new LoadedCode((url) => ownFolders.some((folder) => url.startsWith(folder)));
  /** URL of the module that a plugin's folder leads to. */
  readonly #entries = new Map<string, string>();
  /** Of each plugin's folder the module that was loaded last. */
  readonly #loadedLast = new Map<string, string>();

  constructor(options: LoaderOptions) {
    this.#options = options;
    this.#hooks = registerHooks({
      resolve: (specifier, context, next) => {
        const resolved = this.#resolve(specifier, context, next);
        this.#code.imported(context.parentURL, resolved.url);
        return resolved;
      },
      load: (url, context, next) => {
        const root = this.#rootOf(url);
        if (root !== undefined) this.#loadedLast.set(root, fileURLToPath(url.split('?')[0]!));
        this.#code.loaded(url);
        const file = this.#options.dev ? this.#sourceFile(url) : undefined;
        const transform = file === undefined ? null : this.#transformer(file);
        if (file === undefined || transform === null) return next(url, context);
        const source = transform(readFileSync(file, 'utf8'), file);
        return { format: file.endsWith('.cts') ? 'commonjs' : 'module', source, shortCircuit: true };
      },
    });
  }

  /** The default export of the package, freshly evaluated each time. @throws InvalidPlugin, or whatever the code throws */
  async load(folder: string, manifest: Manifest): Promise<unknown> {
    const root = `${pathToFileURL(folder).href}/`;
    const generation = (this.#folders.get(root) ?? -1) + 1;
    this.#folders.set(root, generation);
    if (generation > 0) forgetCommonJs(folder);
    const entry = this.#entry(folder, manifest);
    this.#entries.set(folder, entry);
    const url = new URL(entry);
    if (generation > 0) url.searchParams.set(generationParameter, String(generation));
    try {
      return ((await import(url.href)) as { default?: unknown }).default;
    } catch (error) {
      const file = this.#loadedLast.get(root) ?? fileURLToPath(entry);
      throw syntaxProblem(error, { file, dev: this.#options.dev, transforms: Boolean(this.#transform) }) ?? error;
    }
  }

  /** The same for the same code of the plugin, that of all modules it has imported so far; undefined before it is loaded. */
  codeOf(folder: string): string | undefined {
    const entry = this.#entries.get(folder);
    return entry && this.#code.hash(entry, folder);
  }

  close(): void {
    this.#hooks.deregister();
  }

  /**
   * What `main` or `exports` lead to. The condition `development` of `exports` names the source: it is run with `dev`, and
   * while the package is not built yet.
   */
  #entry(folder: string, manifest: Manifest): string {
    const packageJson = join(folder, 'package.json');
    try {
      // With a separator at its end the folder is asked for, not a file beside it of the same name (folder.js, folder.json).
      if (!manifest.hasExports) return pathToFileURL(createRequire(packageJson).resolve(folder + sep)).href;
      // A package may import itself by its name: Node's own rules for "exports" and its conditions decide.
      const [built, source] = ['', 'development'].map((condition) =>
        import.meta.resolve(
          `${entryPrefix}${encodeURIComponent(manifest.packageName)}?${condition}?${pathToFileURL(packageJson).href}`,
        ),
      ) as [string, string];
      const wanted = this.#options.dev ? [source, built] : [built, source];
      const found = wanted.find((entry) => existsSync(fileURLToPath(entry)));
      if (found === undefined) throw new Error(`there is no ${fileURLToPath(built)}`);
      return found;
    } catch (cause) {
      const reason = (cause as Error).message.split('\n')[0];
      throw new KindredError('InvalidPlugin', texts.noEntry, { params: { folder, reason }, cause });
    }
  }

  #resolve(specifier: string, context: ResolveHookContext, next: NextResolve): ResolveFnOutput {
    const own = this.#own.get(specifier);
    if (own) return { url: own, shortCircuit: true, format: formatOf(own) };
    if (specifier.startsWith(entryPrefix)) {
      const [name, condition, parentURL] = specifier.slice(entryPrefix.length).split('?') as [string, string, string];
      const conditions = [...(context.conditions ?? []), ...(condition === '' ? [] : [condition])];
      // Node.js keeps what a name led to for each parent, whatever the conditions were.
      return next(decodeURIComponent(name), { ...context, conditions, parentURL: `${parentURL}?${condition}` });
    }
    const root = context.parentURL && this.#rootOf(context.parentURL);
    if (!root) return next(specifier, context);
    return this.#fresh(this.#resolveFrom(specifier, context, next), root);
  }

  #resolveFrom(specifier: string, context: ResolveHookContext, next: NextResolve): ResolveFnOutput {
    try {
      return next(specifier, context);
    } catch (error) {
      // TypeScript's convention: "./book.js" in a source means the file book.ts beside it.
      const source = specifier.replace(/\.([cm]?)js$/, '.$1ts');
      if (!this.#options.dev || source === specifier || !specifier.startsWith('.')) throw error;
      return next(source, context);
    }
  }

  /** The same file under the URL of this generation, if it belongs to the plugin itself. */
  #fresh<R extends { url: string }>(resolved: R, root: string): R {
    const generation = this.#folders.get(root) ?? 0;
    if (generation === 0 || this.#rootOf(resolved.url) !== root) return resolved;
    const url = new URL(resolved.url);
    url.searchParams.set(generationParameter, String(generation));
    return { ...resolved, url: url.href };
  }

  /** The plugin folder that a URL lies in, dependencies installed below it left out. */
  #rootOf(url: string): string | undefined {
    if (!url.startsWith('file:')) return undefined;
    for (const root of this.#folders.keys()) {
      if (url.startsWith(root) && !url.slice(root.length).includes('node_modules/')) return root;
    }
    return undefined;
  }

  /** The file of a plugin's TypeScript module. */
  #sourceFile(url: string): string | undefined {
    if (!this.#rootOf(url)) return undefined;
    const file = fileURLToPath(new URL(url));
    return typescript.test(file) ? file : undefined;
  }

  #transformer(file: string): Transform | null {
    if (this.#transform === undefined) this.#transform = findTransform(file) ?? null;
    return this.#transform;
  }
}

function formatOf(url: string): string {
  if (url.endsWith('.json')) return 'json';
  return typescript.test(url) ? 'module-typescript' : 'module';
}

function forgetCommonJs(folder: string): void {
  const { cache } = createRequire(import.meta.url);
  for (const file of Object.keys(cache)) {
    if (file.startsWith(folder + sep) && !file.includes(`${sep}node_modules${sep}`)) delete cache[file];
  }
}

/** Node strips types but lowers no decorators; esbuild does both. It comes with tsx too. */
function findTransform(file: string): Transform | undefined {
  for (const from of [file, join(home, 'package.json')]) {
    const near = createRequire(from);
    for (const find of [() => near('esbuild'), () => createRequire(near.resolve('tsx/package.json'))('esbuild')]) {
      try {
        const { transformSync } = find() as { transformSync(source: string, options: object): { code: string } };
        return (source, file) => transformed(transformSync, source, file);
      } catch {
        // Not installed there: the next place.
      }
    }
  }
  return undefined;
}

function transformed(
  transformSync: (source: string, options: object) => { code: string },
  source: string,
  file: string,
): string {
  const options = {
    sourcefile: file,
    loader: 'ts',
    format: file.endsWith('.cts') ? 'cjs' : 'esm',
    target: 'es2024',
    sourcemap: 'inline',
    sourcesContent: false,
    logLevel: 'silent',
    tsconfigRaw: {
      compilerOptions: { experimentalDecorators: false, useDefineForClassFields: true, verbatimModuleSyntax: true },
    },
  };
  try {
    return transformSync(source, options).code;
  } catch (error) {
    throw transformProblem(error, file);
  }
}
