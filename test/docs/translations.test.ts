/** Translated pages show the code of their originals, and have their headings and links. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { translate } from '../../scripts/translations.ts';

const root = resolve(import.meta.dirname, '../..');

test('translated pages have the code blocks of their originals', () => {
  assert.deepEqual(translate(true), []);
});

test('translated pages have as many headings of each level as their originals', () => {
  const levels = (file: string) =>
    [
      ...readFileSync(join(root, file), 'utf8')
        .replaceAll(/^```.*?^```$/gms, '')
        .matchAll(/^(#+) /gm),
    ].map(([, level]) => level);
  const pages = globSync('docs/zh/**/*.md', { cwd: root });
  for (const page of pages) assert.deepEqual(levels(page), levels(page.replace('docs/zh/', 'docs/')), page);
  assert.ok(pages.length >= 10);
});
