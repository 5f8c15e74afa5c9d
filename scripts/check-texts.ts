// Exists so that every text of the service is there in every language: it fails on a line of a catalogue that no text
// uses, and on a text in another language outside of src/locales/. A text without a line is refused by the compiler.
import { resolve } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { readSources } from './check-imports.ts';

/** Files that hold texts in two languages themselves: the codes, which clients need without the catalogue, and the client. */
const own = (path: string) => path === 'errors.ts' || path.startsWith('client/');

/** What is wrong with the texts of these files (path below src/ → text), one sentence each. */
export function checkTexts(files: ReadonlyMap<string, string>, catalogue: ReadonlySet<string>): string[] {
  const problems: string[] = [];
  const used = new Set<string>();
  for (const [path, text] of files) {
    if (path.endsWith('.test.ts') || path.startsWith('locales/') || own(path)) continue;
    new Visitor({
      CallExpression({ callee, arguments: [first], start }) {
        if (callee.type !== 'Identifier' || callee.name !== 'localized') return;
        if (first?.type === 'Literal') used.add(String(first.value));
        else
          problems.push(
            `src/${path}:${lineAt(text, start)}: localized() takes one string as it stands in the catalogue`,
          );
      },
      Property({ key, value, start }) {
        if (key.type === 'Identifier' && key.name === 'zh' && value.type === 'Literal') {
          problems.push(`src/${path}:${lineAt(text, start)}: texts in Chinese stand in src/locales/zh.ts`);
        }
      },
    }).visit(parseSync(path, text).program);
  }
  for (const line of catalogue) if (!used.has(line)) problems.push(`src/locales/zh.ts: no text is "${line}"`);
  return problems;
}

const lineAt = (text: string, offset: number) => text.slice(0, offset).split('\n').length;

if (import.meta.main) {
  const source = resolve(import.meta.dirname, '..', 'src');
  const { zh } = (await import('../src/locales/zh.ts')) as { zh: Readonly<Record<string, string>> };
  const problems = checkTexts(readSources(source), new Set(Object.keys(zh)));
  for (const problem of problems) console.error(problem);
  console.log(`texts: ${Object.keys(zh).length} in the catalogue, ${problems.length} problems`);
  if (problems.length > 0) process.exitCode = 1;
}
