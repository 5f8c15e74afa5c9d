// Exists so that nobody has to believe that the specification is tested: it writes docs/spec-coverage.md from the titles of the tests.
// With --check it only says whether the file is current and every `spec:` title names a row.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { specSections } from './spec-rows.ts';

export interface TestTitle {
  /** Path below the root of the repository. */
  readonly file: string;
  readonly title: string;
}

const pages = readdirSync(resolve(import.meta.dirname, '../docs/reference'))
  .filter((file) => file.endsWith('.md'))
  .map((file) => file.slice(0, -'.md'.length));
const page = `(?:${pages.join('|')})`;
const titleSyntax = new RegExp(`^(?:spec: .+? - .+|${page}: .+)`, 's');
const prefixSyntax = new RegExp(`^(?:spec: .+? - |${page}: )`, 's');

/**
 * The titles in one file: every text that has the form of one, wherever it stands (tests are often made from records);
 * "…" stands for what is only known when the test runs.
 */
export function titlesIn(file: string, text: string): TestTitle[] {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);
  const found: TestTitle[] = [];
  const take = (title: string): void => {
    if (titleSyntax.test(title)) found.push({ file, title });
  };
  new Visitor({
    Literal({ value }) {
      if (typeof value === 'string') take(value);
    },
    TemplateLiteral({ quasis }) {
      take(quasis.map(({ value }) => value.cooked ?? value.raw).join('…'));
    },
  }).visit(program);
  return found;
}

/** The page, and the `spec:` titles that name no row. */
export function coverage(titles: readonly TestTitle[]): { page: string; stray: readonly TestTitle[] } {
  const used = new Set<TestTitle>();
  const sections: string[] = [];
  let covered = 0;
  let all = 0;
  for (const { section, rows, tables = {} } of specSections) {
    const prefixes = new Map(
      [[section, ''], ...Object.entries(tables)].map(([name, prefix]) => [name!.toLowerCase(), prefix!]),
    );
    const lines = rows.map(({ row, issue, match }) => {
      const proofs = titles.filter(({ title }) => proves(title, prefixes, match));
      for (const proof of proofs) used.add(proof);
      all++;
      if (proofs.length > 0) covered++;
      return `| ${cell(row)} | ${proofs.length > 0 ? proofs.map(link).join('<br>') : 'open'} | ${issue} |`;
    });
    sections.push(`## ${section}\n\n| Row | Tests | Issue |\n|---|---|---|\n${lines.join('\n')}\n`);
  }
  const reference = pages
    .map((name) => ({ name, own: titles.filter(({ title }) => title.startsWith(`${name}: `)) }))
    .filter(({ own }) => own.length > 0)
    .map(({ name, own }) => `## [${name}](reference/${name}.md)\n\n${own.map((one) => `- ${link(one)}`).join('\n')}\n`);
  const text = [
    '# Specification and tests',
    'Which test proves which row of the specification; made by `npm run spec-coverage` from the titles of the tests.',
    `${covered} of ${all} rows have a test. A row that is open names the issue that closes it.`,
    ...sections.map((one) => one.trimEnd()),
    '# Reference and tests',
    ...reference.map((one) => one.trimEnd()),
  ];
  const stray = titles.filter((one) => one.title.startsWith('spec: ') && !used.has(one));
  return { page: `${text.join('\n\n')}\n`, stray };
}

/** `prefixes`: the names that the section goes by in titles, in lower case, each with what its texts begin with. */
function proves(title: string, prefixes: ReadonlyMap<string, string>, match: RegExp): boolean {
  // Only what names a page or `spec:` at its start is about a whole title.
  if (/\^\w|spec:/.test(match.source) && match.exec(title)?.index === 0) return true;
  const parts = /^spec: (.+?) - (.+)$/s.exec(title);
  if (!parts) return false;
  const prefix = prefixes.get(parts[1]!.toLowerCase());
  return prefix !== undefined && match.test(prefix + parts[2]!);
}

function link({ file, title }: TestTitle): string {
  return `[${cell(title.replace(prefixSyntax, ''))}](../${file})`;
}

function cell(text: string): string {
  return text.replace(/[\\`*_{}[\]<>|]/g, (sign) => `\\${sign}`).replace(/\s+/g, ' ');
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..');
  const files = ['src', 'test', 'scripts']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, withFileTypes: true }).map((entry) => ({ folder, entry })),
    )
    .filter(
      ({ entry }) => entry.isFile() && entry.name.endsWith('.test.ts') && !entry.parentPath.includes('node_modules'),
    )
    .map(({ entry }) =>
      join(entry.parentPath, entry.name)
        .slice(root.length + 1)
        .replaceAll('\\', '/'),
    )
    .sort();
  const titles = files.flatMap((file) => titlesIn(file, readFileSync(join(root, file), 'utf8')));
  const { page, stray } = coverage(titles);
  const target = join(root, 'docs', 'spec-coverage.md');
  for (const { file, title } of stray) console.error(`${file}: names no row of scripts/spec-rows.ts: "${title}"`);
  if (process.argv.includes('--check')) {
    const current = readFileSync(target, 'utf8') === page;
    if (!current) console.error('docs/spec-coverage.md is not current: run "npm run spec-coverage"');
    if (!current || stray.length > 0) process.exitCode = 1;
  } else {
    writeFileSync(target, page);
  }
  console.log(`spec coverage: ${titles.length} titles, ${stray.length} without a row`);
}
