import { UsageError } from './io.ts';

export const databaseForms = 'sqlite:<file>, sqlite::memory:, postgres://… or mysql://…';

/** What is wrong with the URL of a database; undefined when nothing is. Of a URL only the beginning is shown: it may hold a password. */
export function databaseMistake(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value : '';
  if (/^(?:sqlite|postgres|postgresql|mysql|mariadb):/.test(text)) return undefined;
  if (text !== '' && !/[:@]/.test(text)) return `${databaseForms}; for the file ${text} write sqlite:${text}`;
  const [beginning = 'what was given'] = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text) ?? [];
  return `${databaseForms}, not ${beginning}`;
}

/** The URL that was given to a flag. @throws UsageError */
export function databaseUrl(flag: string, url: string): string {
  const mistake = databaseMistake(url);
  if (mistake !== undefined) throw new UsageError(`${flag} needs ${mistake}`);
  return url;
}
