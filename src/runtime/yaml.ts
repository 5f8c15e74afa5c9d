/** YAML as people write it in files, flags and variables. JSON is YAML too. */
import { createRequire } from 'node:module';
import type { Document, ParseOptions } from 'yaml';

/** For what few starts need. */
const require = createRequire(import.meta.url);

/** Aliases of one document, at most: a few lines of them can stand for more than fits into memory. */
export const aliasLimit = 100;

/** An error of the YAML library: its text repeats the place and goes on with the lines around it. */
interface Problem {
  readonly message: string;
  readonly linePos?: readonly { readonly line: number; readonly col: number }[];
}

/** What is wrong, without the place. */
export function reasonOf({ message }: Problem): string {
  return message.split('\n')[0]!.replace(/ at line \d+, column \d+:?$/, '');
}

/**
 * The value of the one document in a text, or what is wrong with it: `FILE:2:5 is neither YAML nor JSON: …`, in one line.
 * @param from file, flag or variable that the text came from
 */
export function parseYaml(
  text: string,
  from: string,
  options?: ParseOptions,
): { value?: unknown; mistake?: string; document: Document } {
  const { parseDocument } = require('yaml') as typeof import('yaml');
  const document = parseDocument(text, { uniqueKeys: true, ...options });
  const problem: Problem | undefined = document.errors[0];
  if (!problem) return { value: document.toJS({ maxAliasCount: aliasLimit }) ?? undefined, document };
  const at = problem.linePos?.[0];
  const place = at === undefined ? from : `${from}:${at.line}:${at.col}`;
  return { mistake: `${place} is neither YAML nor JSON: ${reasonOf(problem)}`, document };
}
