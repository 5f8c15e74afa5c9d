// Exists so that the public API never changes unnoticed: docs/reference/public-api.md holds the declaration of each public name, and `--check` fails when the built types differ from it.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseSync } from 'oxc-parser';

const root = resolve(import.meta.dirname, '..');
const report = join(root, 'docs/reference/public-api.md');
const entries = {
  kindred: 'index',
  'kindred/client': 'client/client',
  'kindred/model': 'model/entry',
  'kindred/testing': 'testing/index',
};

/** Every declaration of a file, and where its other names come from. */
interface Declarations {
  /** Text of each declaration, without comments. */
  readonly own: ReadonlyMap<string, string>;
  /** Local name → name and file, for imports and re-exports of files of ours. */
  readonly others: ReadonlyMap<string, { readonly name: string; readonly file: string }>;
  /** Exported names with their local names. */
  readonly exported: ReadonlyMap<string, string>;
  /** Names that an interface extends. */
  readonly bases: ReadonlyMap<string, readonly string[]>;
}

const read = new Map<string, Declarations>();

function declarationsOf(file: string): Declarations {
  const known = read.get(file);
  if (known) return known;
  const source = readFileSync(file, 'utf8');
  const { program, comments } = parseSync(file, source);
  const withoutComments = (start: number, end: number) => {
    let text = '';
    let at = start;
    for (const comment of comments) {
      if (comment.start < start || comment.end > end) continue;
      text += source.slice(at, comment.start);
      at = comment.end;
    }
    return (text + source.slice(at, end))
      .replace(/\n\s*(?=\n)/g, '')
      .replace(/^export (default )?(declare )?|^declare /, '')
      .replace(/import\("[^"]*"\)\./g, '')
      .trim();
  };
  const own = new Map<string, string>();
  const others = new Map<string, { name: string; file: string }>();
  const exported = new Map<string, string>();
  const bases = new Map<string, readonly string[]>();
  const isOurs = (specifier: string) => specifier.startsWith('.');
  const fileOf = (specifier: string) => resolve(dirname(file), specifier.replace(/\.ts$/, '.d.ts'));
  const nameOf = (node: { type: string; name?: string; value?: unknown }) => String(node.name ?? node.value);
  const declare = (node: any, start: number, end: number, isExported: boolean) => {
    const names: string[] =
      node.type === 'VariableDeclaration' ? node.declarations.map((one: any) => one.id.name) : [node.id.name];
    for (const name of names) {
      const before = own.get(name);
      const text = withoutComments(start, end);
      own.set(name, before ? `${before}\n${text}` : text);
      if (isExported) exported.set(name, name);
    }
    if (node.type === 'TSInterfaceDeclaration') {
      const extended = node.extends.map(({ expression }: any) => expression.name as string | undefined);
      bases.set(node.id.name, extended.filter(Boolean));
    }
  };
  for (const node of program.body as any[]) {
    if (node.type === 'ImportDeclaration' && isOurs(node.source.value)) {
      for (const one of node.specifiers)
        others.set(one.local.name, { name: nameOf(one.imported ?? one.local), file: fileOf(node.source.value) });
    } else if (node.type === 'ExportNamedDeclaration' && node.declaration) {
      declare(node.declaration, node.start, node.end, true);
    } else if (node.type === 'ExportNamedDeclaration') {
      for (const one of node.specifiers) {
        const local = nameOf(one.local);
        const name = nameOf(one.exported);
        exported.set(name, node.source ? `re-export ${name}` : local);
        if (!node.source) continue;
        if (isOurs(node.source.value))
          others.set(`re-export ${name}`, { name: local, file: fileOf(node.source.value) });
        else own.set(`re-export ${name}`, `{ ${local} } from '${node.source.value}';`);
      }
    } else if (node.type === 'ExportAllDeclaration' && node.exported) {
      const name = nameOf(node.exported);
      exported.set(name, name);
      own.set(name, `* as ${name} from '${node.source.value}';`);
    } else if (/Declaration$/.test(node.type) && (node.id || node.declarations)) {
      declare(node, node.start, node.end, false);
    }
  }
  const declarations = { own, others, exported, bases };
  read.set(file, declarations);
  return declarations;
}

/** The declaration, and those of the interfaces that it extends: their members are public too. */
function textsOf(name: string, file: string): readonly string[] {
  const { own, others, bases } = declarationsOf(file);
  const text = own.get(name);
  if (text !== undefined) return [text, ...(bases.get(name) ?? []).flatMap((base) => inheritedOf(base, file))];
  const other = others.get(name);
  if (!other) throw new Error(`${relative(root, file)} does not declare ${name}`);
  return textsOf(declarationsOf(other.file).exported.get(other.name) ?? other.name, other.file);
}

/** Interfaces of the language and of packages are reported where they are made. */
function inheritedOf(name: string, file: string): readonly string[] {
  const { own, others } = declarationsOf(file);
  return own.has(name) || others.has(name) ? textsOf(name, file) : [];
}

/** The declarations of the public names of an entry. */
function section(title: string, entry: string): string {
  const file = join(root, 'dist', `${entry}.d.ts`);
  const { exported } = declarationsOf(file);
  const names = [...exported.keys()].toSorted();
  const texts = new Set(names.flatMap((name) => textsOf(exported.get(name)!, file)));
  return `## ${title}\n\n\`\`\`typescript\n${[...texts].join('\n\n')}\n\`\`\`\n`;
}

const text = `# Public API\n\nMade by \`npm run api-report\` from the built types. \`npm test\` fails when a declaration changes and this page does not.\n\n${Object.entries(
  entries,
)
  .map(([title, entry]) => section(title, entry))
  .join('\n')}`;
if (process.argv.includes('--check')) {
  const same = readFileSync(report, 'utf8') === text;
  console.log(
    same
      ? 'public API: as reported'
      : `public API: differs from ${relative(root, report)}; if that is meant, run \`npm run api-report\``,
  );
  process.exitCode = same ? 0 : 1;
} else writeFileSync(report, text);
