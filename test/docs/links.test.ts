/** Every link between the pages leads to a file and, where it names one, to a heading; every file that a page names is there. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, resolve } from 'node:path';
import { test } from 'node:test';

const root = resolve(import.meta.dirname, '../..');
const pages = globSync(['*.md', '{docs,.github}/**/*.md', 'bench/*.md', 'examples/*/*.md'], { cwd: root }).sort();

/** Without what stands in code blocks. */
function proseOf(page: string): string {
  return readFileSync(join(root, page), 'utf8').replaceAll(/^```.*?^```$/gms, '');
}

/** As GitHub makes anchors. */
function anchorsOf(page: string): string[] {
  return [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  );
}

for (const page of pages) {
  test(`the links of ${page} lead somewhere`, () => {
    const prose = proseOf(page);
    const links = prose.replaceAll(/`[^`\n]*`(?!\])/g, '').matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)/g);
    for (const [, path, anchor] of links) {
      const file = path === '' ? page : normalize(join(dirname(page), path!));
      assert.ok(existsSync(join(root, file)), `${page} links to ${path}, which is not there`);
      if (anchor)
        assert.ok(anchorsOf(file).includes(anchor), `${page} links to ${file}#${anchor}, which is no heading`);
    }
    // `src/main/` is in packages of plugins.
    for (const [, file] of prose.matchAll(/`((?:src(?!\/main\/)|test|docs|bench|scripts|examples)\/[\w./-]+)`/g))
      assert.ok(existsSync(join(root, file!)), `${page} names ${file}, which is not there`);
  });
}

test('there are pages to check', () => {
  assert.ok(pages.includes('README.md') && pages.includes('docs/reference/README.md'), pages.join());
});
