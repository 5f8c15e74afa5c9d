// `node scripts/translations.ts`: puts the code blocks of the English pages into the translated ones. With --check: says which differ.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const block = /^```.*?^```$/gms;

/** Translated pages whose code is not that of their original, with what is wrong; mends them unless told to check. */
export function translate(check: boolean): string[] {
  const wrong: string[] = [];
  for (const file of globSync('docs/zh/**/*.md', { cwd: root }).sort()) {
    const original = readFileSync(join(root, file.replace('docs/zh/', 'docs/')), 'utf8').match(block) ?? [];
    const text = readFileSync(join(root, file), 'utf8');
    const count = text.match(block)?.length ?? 0;
    if (count !== original.length) {
      wrong.push(`${file} has ${count} code blocks, its original ${original.length}`);
      continue;
    }
    let i = 0;
    const mended = text.replace(block, () => original[i++]!);
    if (mended === text) continue;
    if (check) wrong.push(`${file} has other code than its original: node scripts/translations.ts`);
    else writeFileSync(join(root, file), mended);
  }
  return wrong;
}

if (import.meta.main) {
  const wrong = translate(process.argv.includes('--check'));
  for (const line of wrong) console.error(line);
  if (wrong.length > 0) process.exitCode = 1;
}
