// Exists so that the direction of imports in ARCHITECTURE.md stays true: it fails on an arrow that is not in the table and on a ring of files, of types too.
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';

/**
 * Who may import whom below src/, besides a file's own row, errors.ts and locales/localized.ts.
 * `model` is a folder with those inside it, `http/server` one that has a row of its own, `runtime/work-queue.ts` one file,
 * `type:model` is for types only, `*` is everything.
 */
export const TABLE: Readonly<Record<string, readonly string[]>> = {
  'errors.ts': [],
  locales: ['type:errors.ts'],
  runtime: [],
  schema: ['runtime/read-json.ts'],
  cel: ['schema'],
  apply: ['schema', 'type:model', 'runtime/read-json.ts', 'runtime/parts.ts'],
  model: ['schema', 'cel', 'runtime/read-json.ts'],
  store: ['runtime'],
  telemetry: [],
  indexes: ['model', 'runtime'],
  query: ['indexes', 'model', 'runtime'],
  snapshots: ['indexes', 'store/sqlite-file.ts'],
  resource: ['schema', 'apply', 'model', 'indexes', 'query', 'store', 'snapshots', 'type:telemetry', 'runtime'],
  controller: ['resource', 'query', 'model', 'store', 'type:telemetry', 'runtime'],
  auth: ['schema', 'model', 'resource', 'runtime'],
  'http/server': ['resource', 'type:model', 'type:telemetry', 'runtime'],
  'http/api': ['http/server', 'auth', 'resource', 'query', 'indexes/field.ts', 'model', 'type:store', 'runtime'],
  'http/custom': ['http/api', 'http/server', 'auth', 'resource', 'query', 'model', 'schema', 'runtime'],
  'http/openapi': ['http/custom', 'http/api', 'http/server', 'resource', 'model', 'schema'],
  http: ['auth', 'resource', 'model', 'type:store', 'type:telemetry', 'runtime', 'http', 'type:kube'],
  kube: [
    'cel',
    'auth',
    'resource',
    'query',
    'indexes/field.ts',
    'model',
    'schema',
    'type:store',
    'runtime',
    'http/api',
    'http/openapi',
    'http/server',
    'controller',
  ],
  mcp: ['type:client', 'type:model', 'http/server', 'http/custom/handler.ts', 'auth', 'type:resource'],
  webhook: ['model', 'query', 'resource', 'controller', 'http/custom', 'type:telemetry', 'runtime'],
  plugin: ['model', 'query', 'resource', 'controller', 'type:store', 'http/custom', 'type:telemetry', 'runtime'],
  // Nothing that a browser has not: this file imports nothing at all.
  client: [
    'type:model',
    'model/full-name.ts',
    'type:query',
    'type:resource',
    'runtime/backoff.ts',
    'runtime/read-json.ts',
  ],
  'options.ts': [
    'type:http',
    'http/server/limits.ts',
    'type:auth',
    'type:plugin',
    'type:webhook',
    'type:store',
    'type:telemetry',
    'runtime',
  ],
  'service-metrics.ts': ['type:resource', 'type:plugin', 'type:webhook', 'type:mcp', 'type:store', 'type:http/server'],
  'service.ts': ['*'],
  'maintenance.ts': ['*'],
  'index.ts': ['*'],
  cli: [
    'client',
    'mcp',
    'service.ts',
    'maintenance.ts',
    'options.ts',
    'runtime',
    'model',
    'snapshots',
    'store/sqlite/thread.ts',
    'auth/kinds.ts',
    'plugin/kind.ts',
    'plugin/loader.ts',
    'kube/crds/check.ts',
    'kube/crds/kind.ts',
    'kube/crds/source.ts',
  ],
  testing: ['*'],
};

/** The package's own public names: inside src/ they would be a way around the table. */
const OWN_NAMES = new Set(['kindred', 'kindred/client', 'kindred/model', 'kindred/testing']);

/** What console/ may import of src/: the client, and what it needs to judge as the service does. */
const OF_CONSOLE = ['client', 'schema', 'runtime/read-json.ts', 'model/names.ts', 'query/selector.ts', 'errors.ts'];

const typeBoxHome = 'model/typebox.ts';

interface Arrow {
  from: string;
  /** A path below src/, or the package's own name. */
  to: string;
  typeOnly: boolean;
  line: number;
}

/** What is wrong with the imports of these files (path below src/ with `/` → text), one sentence each; empty when all is well. */
export function checkImports(files: ReadonlyMap<string, string>): string[] {
  const sources = [...files].filter(([path]) => !path.endsWith('.test.ts'));
  const problems: string[] = [];
  const arrows: Arrow[] = [];
  for (const [path, text] of sources) {
    if (!(rowOf(path) in TABLE)) problems.push(`src/${path}: "${rowOf(path)}" has no row in the table of imports`);
    else arrows.push(...arrowsOf(path, text));
    if (path !== typeBoxHome && /^(import|export)\s+(?!type\b)[^;]*from 'typebox/m.test(text)) {
      problems.push(
        `src/${path}: only src/${typeBoxHome} may load typebox, whose 370 modules each start would pay for`,
      );
    }
  }
  for (const arrow of arrows) {
    const problem = judge(arrow);
    if (problem) problems.push(`src/${arrow.from}:${arrow.line}: ${problem}`);
  }
  for (const ring of rings(arrows)) {
    problems.push(`a ring of imports: ${ring.map((path) => `src/${path}`).join(' → ')}`);
  }
  return problems;
}

/** What is wrong with the imports of console/src/ (path below it → text). */
export function checkConsole(files: ReadonlyMap<string, string>): string[] {
  const problems: string[] = [];
  for (const [path, text] of files) {
    if (path.endsWith('.test.ts')) continue;
    for (const { to, line } of arrowsOf(`console/src/${path}`, scriptOf(path, text))) {
      const isOwn = to.startsWith('console/src/') || to === 'kindred/client';
      const allowed = isOwn || OF_CONSOLE.some((one) => covers(`src/${one}`, to));
      if (!allowed) problems.push(`console/src/${path}:${line}: the console may not import ${to}`);
    }
  }
  return problems;
}

/** Of a component, the script with the lines where they stand; any other file as it is. */
function scriptOf(path: string, text: string): string {
  if (!path.endsWith('.vue')) return text;
  const script = /<script[^>]*>([\s\S]*?)<\/script>/.exec(text);
  if (!script) return '';
  return '\n'.repeat(text.slice(0, script.index).split('\n').length - 1) + script[1];
}

/** The row of the table that a file falls under: the innermost folder that has one, or itself when it stands directly in src/. */
function rowOf(path: string): string {
  const [top, inner] = path.split('/');
  const both = `${top}/${inner}`;
  return both in TABLE ? both : top!;
}

/** Whether a row of the table is this one, or the folder around it. */
const covers = (allowed: string, row: string) => allowed === row || row.startsWith(`${allowed}/`);

/** What every file may import: the error, and the texts in every language. */
const isForAll = (path: string) => path === 'errors.ts' || path === 'locales/localized.ts';

function judge({ from, to, typeOnly }: Arrow): string | undefined {
  if (OWN_NAMES.has(to)) return `imports "${to}": files below src/ import each other by path`;
  if (to.startsWith('../')) return `imports ${to.slice(3)}, which is outside src/`;
  const row = rowOf(from);
  const target = rowOf(to);
  if (to.endsWith('.test.ts')) return `imports the test src/${to}`;
  if (row === target || (isForAll(to) && row !== 'errors.ts')) return undefined;
  const allowed = TABLE[row]!;
  if (allowed.includes('*') || allowed.includes(to)) return undefined;
  if (allowed.some((one) => covers(one, target))) return undefined;
  if (allowed.some((one) => covers(one, `type:${target}`))) {
    return typeOnly ? undefined : `${row} may import only types of ${target} (write "import type"): src/${to}`;
  }
  return `${row} may not import ${target}: src/${to}`;
}

/** The imports and re-exports of one file that lead to files of ours. */
function arrowsOf(path: string, text: string): Arrow[] {
  const { module, program, errors } = parseSync(path.replace(/\.vue$/, '.ts'), text);
  if (errors.length > 0) throw new Error(`src/${path}: ${errors[0]!.message}`);
  const found: { specifier: string; typeOnly: boolean; start: number }[] = [];
  for (const { moduleRequest, start } of module.staticImports) {
    // `import { type A }` keeps the import at run time (verbatimModuleSyntax); only `import type` leaves nothing.
    found.push({ specifier: moduleRequest.value, typeOnly: /^import\s+type\b/.test(text.slice(start)), start });
  }
  for (const { entries, start } of module.staticExports) {
    const from = entries.find((entry) => entry.moduleRequest !== null)?.moduleRequest;
    if (from) found.push({ specifier: from.value, typeOnly: /^export\s+type\b/.test(text.slice(start)), start });
  }
  new Visitor({
    ImportExpression({ source, start }) {
      if (source.type === 'Literal') found.push({ specifier: String(source.value), typeOnly: false, start });
    },
    TSImportType({ source, start }) {
      found.push({ specifier: source.value, typeOnly: true, start });
    },
  }).visit(program);

  const arrows: Arrow[] = [];
  for (const { specifier, typeOnly, start } of found) {
    const line = text.slice(0, start).split('\n').length;
    if (OWN_NAMES.has(specifier)) arrows.push({ from: path, to: specifier, typeOnly, line });
    else if (/^\.\.?(\/|$)/.test(specifier)) {
      const to = posix.normalize(posix.join(posix.dirname(path), specifier));
      arrows.push({ from: path, to, typeOnly, line });
    }
  }
  return arrows;
}

/** One ring for each knot of files that reach each other, as a path that ends where it began. */
function rings(arrows: readonly Arrow[]): string[][] {
  const next = new Map<string, string[]>();
  for (const { from, to } of arrows) next.set(from, [...(next.get(from) ?? []), to]);
  const found: string[][] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const walk = (path: string): void => {
    if (done.has(path)) return;
    const at = trail.indexOf(path);
    if (at >= 0) {
      found.push([...trail.slice(at), path]);
      return;
    }
    trail.push(path);
    for (const to of next.get(path) ?? []) walk(to);
    trail.pop();
    done.add(path);
  };
  for (const path of [...next.keys()].sort()) walk(path);
  return found;
}

/** The sources below a folder: path below it with `/` → text. */
export function readSources(folder: string, kinds = /\.[cm]?tsx?$/): Map<string, string> {
  const files = new Map<string, string>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !kinds.test(entry.name)) continue;
    const file = join(entry.parentPath, entry.name);
    files.set(file.slice(folder.length + 1).replaceAll('\\', '/'), readFileSync(file, 'utf8'));
  }
  return files;
}

if (import.meta.main) {
  const files = readSources(resolve(import.meta.dirname, '..', 'src'));
  const ofConsole = readSources(resolve(import.meta.dirname, '..', 'console', 'src'), /\.(ts|vue)$/);
  const problems = [...checkImports(files), ...checkConsole(ofConsole)];
  for (const problem of problems) console.error(problem);
  console.log(`imports: ${files.size + ofConsole.size} files read, ${problems.length} problems`);
  if (problems.length > 0) process.exitCode = 1;
}
