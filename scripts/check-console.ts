// The sizes of the built console beside its budget, and what its sources and bundle may not contain.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ConsoleManifest } from './build-console.ts';

const root = resolve(import.meta.dirname, '..');
const built = join(root, 'dist', 'console');

/** What a screen needs of JavaScript and CSS, without what is loaded before (`after`). */
interface Budget {
  readonly name: string;
  readonly modules: readonly string[];
  readonly after: readonly string[];
  /** kB after gzip. */
  readonly limit: number;
}

const firstList = ['main.ts', 'screens/list/ListScreen.vue'];
const objectForm = [...firstList, 'screens/object/ObjectScreen.vue'];

export const budgets: readonly Budget[] = [
  { name: 'first list', modules: firstList, after: [], limit: 180 },
  { name: 'object form', modules: objectForm, after: firstList, limit: 40 },
  {
    name: 'editor',
    modules: ['parts/Editor/Editor.vue', 'diff/yaml.ts'],
    after: objectForm,
    limit: 190,
  },
  { name: 'charts', modules: ['parts/uplot.ts'], after: firstList, limit: 30 },
];

/** kB after gzip. */
export function sizeOf({ modules, after }: Budget, loads: ConsoleManifest['loads']): number {
  const all = (names: readonly string[]): Record<string, number> =>
    Object.assign({}, ...names.map((module) => loads[module] ?? fail(`${module} is not in the bundle`)));
  const before = all(after);
  const added = Object.entries(all(modules)).filter(([file]) => !(file in before));
  return added.reduce((sum, [, bytes]) => sum + bytes, 0) / 1_000;
}

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
  for (const budget of budgets) {
    const { name, limit } = budget;
    const size = sizeOf(budget, loads).toFixed(1);
    console.log(`console: ${name} ${size} kB of ${limit} kB`);
    if (Number(size) > limit) problems.push(`the ${name} of the console is ${size} kB after gzip, above ${limit} kB`);
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

if (import.meta.main) {
  const problems = check();
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
