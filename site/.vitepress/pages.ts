/** The pages of the site: which files of the repository they are, and in which order they stand. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, posix, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../..');

/** Files besides those below `docs/`, with their pages. */
const others: Readonly<Record<string, string>> = {
  'README.md': 'readme.md',
  'ARCHITECTURE.md': 'architecture.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security.md',
  'bench/README.md': 'benchmark.md',
  'bench/NOTES.md': 'benchmark-notes.md',
};

/** Checked by the tests, not read by people. */
const left = ['docs/spec-coverage.md'];

/** File → page. */
export const pages: ReadonlyMap<string, string> = new Map([
  ...globSync('docs/**/*.md', { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !left.includes(file))
    .sort()
    .map((file): [string, string] => [file, file.slice('docs/'.length).replace(/README\.md$/, 'index.md')]),
  ...Object.entries(others),
]);

/** Texts of the repository that are no page. */
export const otherFiles: readonly string[] = globSync('**/*.md', {
  cwd: root,
  exclude: (name) => ['node_modules', '.git'].includes(name),
})
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => !pages.has(file));

export function titleOf(file: string): string {
  const [, title] = /^# (.+)$/m.exec(readFileSync(join(root, file), 'utf8')) ?? [];
  return title ?? file;
}

interface Item {
  readonly text: string;
  readonly link: string;
}

interface Group {
  readonly text: string;
  readonly items: readonly Item[];
}

function group(text: string, files: readonly string[]): Group {
  const items = files.map((file) => {
    const page = pages.get(file);
    if (page === undefined) throw new Error(`The sidebar names ${file}, which is not there`);
    return { text: titleOf(file), link: `/${page.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')}` };
  });
  return { text, items };
}

const below = (folder: string, first: readonly string[]): string[] => {
  const named = first.map((name) => `${folder}/${name}.md`);
  const rest = [...pages.keys()].filter((file) => posix.dirname(file) === folder && !named.includes(file));
  return [...named, ...rest];
};

/** Every page of the folders is there: those that nobody named come last. */
export const sidebar: readonly Group[] = [
  group('Start', ['docs/index.md', 'docs/guide/installing.md', 'docs/guide/tutorial.md']),
  group(
    'Guide',
    below('docs/guide', guideOrder()).filter((file) => !/installing|tutorial|comparison|guarantees/.test(file)),
  ),
  group('Explanation', ['docs/guide/guarantees.md', 'docs/guide/comparison.md', 'ARCHITECTURE.md']),
  group(
    'Reference',
    below('docs/reference', ['README', 'declaration', 'objects', 'api', 'lists', 'errors', 'queries']),
  ),
  group('Decisions', below('docs/decisions', ['README'])),
  group('Project', ['CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'bench/README.md', 'bench/NOTES.md']),
];

export const chineseSidebar: readonly Group[] = [
  group('文档', below('docs/zh', ['index'])),
  group('指南', below('docs/zh/guide', ['installing', 'tutorial', ...guideOrder().slice(0, 6)])),
];

function guideOrder(): string[] {
  return ['models', 'resource-api', 'indexes-and-queries', 'watch', 'controllers', 'plugins', 'custom-api', 'clients'];
}

/** A link from one file of the repository to another, as a link between their pages; undefined when it leads to no page. */
export function pageLink(from: string, href: string): string | undefined {
  const [path = '', anchor] = href.split('#', 2);
  const to = posix.normalize(posix.join(dirname(from), path));
  const page = pages.get(to) ?? pages.get(posix.join(to, 'README.md'));
  if (page === undefined) return undefined;
  return `/${page}${anchor === undefined ? '' : `#${anchor}`}`;
}
