// The sizes of the built console beside its budget, and what its sources and bundle may not contain.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ConsoleManifest } from './build-console.ts';

const root = resolve(import.meta.dirname, '..');
const built = join(root, 'dist', 'console');

/** kB after gzip of JavaScript and CSS: what a screen needs, without what is loaded before (`after`). */
const budgets: readonly { name: string; modules: readonly string[]; after: readonly string[]; limit: number }[] = [
  { name: 'first list', modules: ['index.html', 'src/screens/list/ListScreen.vue'], after: [], limit: 180 },
  {
    name: 'object form',
    modules: ['src/screens/object/ObjectScreen.vue'],
    after: ['index.html', 'src/screens/list/ListScreen.vue'],
    limit: 40,
  },
];

interface Forbidden {
  readonly what: string;
  readonly pattern: RegExp;
}

const inSources: readonly Forbidden[] = [
  { what: 'a style attribute, which the content security policy drops', pattern: /\sstyle="/ },
  { what: 'HTML made of text', pattern: /\bv-html\b|\binnerHTML\b|\bouterHTML\b|insertAdjacentHTML/ },
  {
    what: 'a part of Reka UI that renders a style element',
    pattern: /\b(ComboboxViewport|SelectViewport|ScrollArea\w*)\b/,
  },
];
const inBundle: readonly Forbidden[] = [
  { what: 'code made of text', pattern: /(?<![.\w$])eval\((?![\w$,]*\)\s*\{)|\bnew Function\(|[^\w.]Function\("/ },
];

function check(): string[] {
  const problems: string[] = [];
  const { loads } = JSON.parse(readFileSync(join(built, 'manifest.json'), 'utf8')) as ConsoleManifest;
  const all = (modules: readonly string[]) =>
    Object.assign({}, ...modules.map((module) => loads[module] ?? fail(`${module} is not in the bundle`)));
  for (const { name, modules, after, limit } of budgets) {
    const before = all(after);
    const added = Object.entries<number>(all(modules)).filter(([file]) => !(file in before));
    const size = added.reduce((sum, [, bytes]) => sum + bytes, 0) / 1_000;
    console.log(`console: ${name} ${size.toFixed(1)} kB of ${limit} kB`);
    if (size > limit)
      problems.push(`the ${name} of the console is ${size.toFixed(1)} kB after gzip, above ${limit} kB`);
  }
  problems.push(...found(join(root, 'console', 'src'), /\.(vue|ts)$/, inSources));
  problems.push(...found(join(built, 'assets'), /\.js$/, inBundle));
  return problems;
}

function found(folder: string, files: RegExp, forbidden: readonly Forbidden[]): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => files.test(path) && !path.endsWith('.test.ts'))
    .flatMap((path) => {
      const text = readFileSync(join(folder, path), 'utf8');
      return forbidden
        .filter(({ pattern }) => pattern.test(text))
        .map(({ what }) => `${join(folder, path)} has ${what}`);
    });
}

function fail(message: string): never {
  throw new Error(message);
}

const problems = check();
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
