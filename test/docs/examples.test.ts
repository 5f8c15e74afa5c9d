/**
 * Every value that the package exports has an example in its docstring, and all examples compile. An example may use the
 * public names without importing them, and what stands in `given`.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { parseSync } from 'oxc-parser';

const root = resolve(import.meta.dirname, '../..');
const build = join(root, 'build');
mkdirSync(build, { recursive: true });
const folder = mkdtempSync(join(build, 'examples-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const entries = {
  kindred: 'src/index.ts',
  'kindred/client': 'src/client/client.ts',
  'kindred/testing': 'src/testing/index.ts',
};

const given = `
const Book = kindred.defineModel({
  gvk: { group: 'library.example.com', version: 'v1alpha1', kind: 'Book', singular: 'book', plural: 'books' },
  spec: kindred.Type.Object({
    title: kindred.Type.String({ minLength: 1 }),
    year: kindred.Type.Optional(kindred.Type.Integer()),
    tags: kindred.Type.Optional(kindred.Type.Array(kindred.Type.String())),
  }),
  status: kindred.Type.Object({ phase: kindred.Type.Optional(kindred.Type.String()) }),
  indexes: (index) => [
    index.single('spec.title', String, (book) => book.spec.title),
    index.single('spec.year', Number, (book) => book.spec.year ?? null, { nullable: true }),
  ],
});
type Book = kindred.ObjectOf<typeof Book>;
declare const client: kindredClient.KindredClient;
declare const harness: kindredTesting.Harness;
const Library = kindred.definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Book) });
`;

interface Documented {
  readonly name: string;
  readonly comment: string;
  readonly file: string;
}

/** Where an exported name is declared, and the comment before it. */
function declarationOf(file: string, name: string): Documented {
  const source = readFileSync(file, 'utf8');
  const { program, comments } = parseSync(file, source);
  const before = (start: number) =>
    comments
      .filter((one) => one.type === 'Block' && one.end <= start)
      .findLast((one) => /^(\s|\/\/.*)*$/.test(source.slice(one.end, start)))?.value ?? '';
  for (const node of program.body) {
    if (node.type === 'ExportNamedDeclaration' && node.declaration) {
      const { declaration } = node;
      const names =
        declaration.type === 'VariableDeclaration'
          ? declaration.declarations.map(({ id }) => (id.type === 'Identifier' ? id.name : ''))
          : 'id' in declaration && declaration.id?.type === 'Identifier'
            ? [declaration.id.name]
            : [];
      const kind: string = declaration.type;
      if (names.includes(name) && !['TSInterfaceDeclaration', 'TSTypeAliasDeclaration'].includes(kind))
        return { name, comment: before(node.start), file };
    } else if (node.type === 'ExportNamedDeclaration' && node.source) {
      const found = node.specifiers.find(({ exported }) => 'name' in exported && exported.name === name);
      if (found && 'name' in found.local) {
        return declarationOf(resolve(dirname(file), node.source.value), found.local.name);
      }
    } else if (node.type === 'ExportAllDeclaration' && node.exported && 'name' in node.exported) {
      if (node.exported.name === name) return { name, comment: before(node.start), file };
    }
  }
  throw new Error(`${file} exports no value "${name}"`);
}

/** The code of each example in a comment. */
function examplesIn(comment: string): string[] {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, ''));
  return [...lines.join('\n').matchAll(/@example\s*\n```ts\n(.*?)\n```/gs)].map(([, code]) => code!);
}

const documented: Documented[] = [];
for (const [specifier, file] of Object.entries(entries)) {
  for (const name of Object.keys((await import(specifier)) as object)) {
    documented.push(declarationOf(join(root, file), name));
  }
}

test('every exported value has an example', () => {
  const without = documented.filter(({ comment }) => examplesIn(comment).length === 0).map(({ name }) => name);
  assert.deepEqual(without, []);
});

test('every example compiles', async () => {
  const preamble = Object.keys(entries).map((specifier) => {
    const name = specifier.replace(/\/(\w)/, (_, letter: string) => letter.toUpperCase());
    return `import * as ${name} from '${specifier}';`;
  });
  const publicNames = new Map<string, string>();
  for (const [specifier, file] of Object.entries(entries)) {
    const { module } = parseSync(file, readFileSync(join(root, file), 'utf8'));
    for (const { entries: exported } of module.staticExports) {
      for (const { exportName, isType } of exported) {
        if (exportName.name && !publicNames.has(exportName.name)) {
          publicNames.set(
            exportName.name,
            `import ${isType ? 'type ' : ''}{ ${exportName.name} } from '${specifier}';`,
          );
        }
      }
    }
  }
  for (const { name, comment } of documented) {
    for (const [i, code] of examplesIn(comment).entries()) {
      const words = new Set(code.match(/\b[A-Za-z]\w+/g));
      const imports = [...publicNames].filter(([one]) => words.has(one) && !/^import .*\b${one}\b/m.test(code));
      const own = imports.map(([, line]) => line);
      const text = [
        ...preamble,
        ...own,
        given,
        'async function example() {',
        code,
        '}',
        'void [Book, client, harness, Library, example];',
      ];
      const isModule = /^(import|export|declare|@|class) ?/m.test(code);
      const body = isModule ? [...preamble, ...own, given, code, 'void [Book, client, harness, Library];'] : text;
      writeFileSync(join(folder, `${name}-${i}.ts`), `${body.join('\n')}\nexport {};\n`);
    }
  }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: '../../tsconfig.json', include: ['*.ts'], exclude: [] }),
  );
  const run = promisify(execFile)(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder]);
  const output = await run.then(({ stdout }) => stdout).catch(({ stdout }: { stdout: string }) => stdout);
  assert.equal(output, '');
});
