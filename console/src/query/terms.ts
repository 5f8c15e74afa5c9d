/** The terms of a selector, as the chips show them: text in, text out. What is well-formed the service's own parser says. */

import { KindredError } from '../../../src/errors.ts';

/** Operators of a term besides those that are symbols. */
export type Operator = '=' | '!=' | 'in' | 'notin' | '>' | '>=' | '<' | '<=' | '^=' | '$=' | '*=' | 'exists' | 'absent';

/** A well-formed selector at the commas that stand neither in quotes nor in a list. */
export function termsOf(selector: string): string[] {
  const terms: string[] = [];
  let start = 0;
  let isQuoted = false;
  let isInList = false;
  for (let at = 0; at < selector.length; at++) {
    const character = selector[at];
    if (isQuoted && character === '\\') at++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (character === '(') isInList = true;
    else if (character === ')') isInList = false;
    else if (character === ',' && !isInList) {
      terms.push(selector.slice(start, at));
      start = at + 1;
    }
  }
  terms.push(selector.slice(start));
  return terms.map((term) => term.trim()).filter((term) => term !== '');
}

export const selectorOf = (terms: readonly string[]): string => terms.join(',');

export function termOf(field: string, operator: Operator, values: readonly string[]): string {
  switch (operator) {
    case 'exists':
      return field;
    case 'absent':
      return `!${field}`;
    case 'in':
    case 'notin':
      return `${field} ${operator} (${values.map(quoted).join(',')})`;
    default:
      return `${field}${operator}${quoted(values[0] ?? '')}`;
  }
}

/** The values of a list as it is typed: with commas or lines between them, and quotes around one that has some itself. */
export function valuesOf(text: string): string[] {
  const values = text.match(/(?:(?<=(?:^|[,\n])\s*)"(?:[^"\\]|\\.)*"|[^,\n])+/g) ?? [''];
  return values.map((value) => {
    const [, quoted] = /^"((?:[^"\\]|\\.)*)"$/.exec(value.trim()) ?? [];
    return quoted?.replace(/\\(.)/g, '$1') ?? value.trim();
  });
}

/** In quotes when the parser would read it as something else. */
function quoted(value: string): string {
  const isPlain = value !== '' && value === value.trim() && !/^[=!<>^$*]|[,()"\\]/.test(value);
  return isPlain ? value : `"${value.replace(/["\\]/g, '\\$&')}"`;
}

export interface Mistake {
  readonly message: string;
  /** From 1, in the text as it was given. */
  readonly column: number;
}

/** What the service's parser refuses in a selector, undefined when it is well-formed. */
export async function mistakeIn(
  text: string,
  kind: 'field' | 'label',
  locale: 'en' | 'zh',
): Promise<Mistake | undefined> {
  const { parseFieldSelector, parseLabelSelector } = await import('../../../src/query/selector.ts');
  try {
    (kind === 'field' ? parseFieldSelector : parseLabelSelector)(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof KindredError)) throw error;
    const { column } = error as unknown as { column: number };
    return { message: String(error.problem(locale).detail), column };
  }
}
